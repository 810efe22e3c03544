"""What may happen to a job: the model replaced, a file damaged, two at once, no room, no right to write, the end."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit import jobs
from infopursuit.app import cli
from infopursuit.app.datasets.examples import Source
from infopursuit.app.jobs.job import Explainer, _checksum, _make
from traces import assert_same_traces

N, PART = 120, 10


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two models of the same questions, and a folder of four Parquet files."""
    folder = tmp_path_factory.mktemp("accidents")
    rng = np.random.default_rng(0)
    kind = rng.choice(["cat", "cow", "dog"], 400)
    share = np.array([{"cat": 0.2, "cow": 0.5, "dog": 0.8}[k] for k in kind])[:, None]
    X = pd.DataFrame((rng.random((400, 9)) < share).astype(int), columns=[f"q{i}" for i in range(9)])
    for name, epsilon in (("model", 0.2), ("other", 0.1)):
        clf = ip.InformationPursuitClassifier(strategy="empirical", stopping=ip.Confidence(epsilon)).fit(X, kind)
        clf.save(folder / name)
    (folder / "rows").mkdir()
    for i in range(4):
        X[30 * i : 30 * (i + 1)].to_parquet(folder / "rows" / f"{'abcd'[i]}.parquet", compression="snappy")
    jobs.explain(folder / "rows", folder / "model", folder / "undisturbed", part=PART)
    return folder


@pytest.fixture
def rows(made, tmp_path):
    """A folder of its own to damage."""
    return Path(shutil.copytree(made / "rows", tmp_path / "rows"))


def replace_model(folder, other):
    ip.load(other).save(folder)


def command(made, out, *more):
    told = ["explain", made / "rows", "--model", made / "model", "--out", out, "--part", PART, *more]
    return [sys.executable, "-m", "infopursuit", *map(str, told)]


# ---- the model ------------------------------------------------------------------------------------------------------


def test_a_model_that_is_replaced_during_a_job_changes_nothing_and_afterwards_is_refused(made, tmp_path, monkeypatch):
    model, real = Path(shutil.copytree(made / "model", tmp_path / "model")), Explainer.__call__

    def meanwhile(self, unit):
        if unit["number"] == 2:
            replace_model(model, made / "other")
        if unit["number"] == 7:
            raise KeyboardInterrupt
        return real(self, unit)

    monkeypatch.setattr(Explainer, "__call__", meanwhile)
    with pytest.raises(KeyboardInterrupt):
        jobs.explain(made / "rows", model, tmp_path / "out", part=PART)
    monkeypatch.setattr(Explainer, "__call__", real)
    with pytest.raises(ValueError, match="differs in model; give another folder, or forget it"):
        jobs.explain(made / "rows", model, tmp_path / "out", part=PART)
    replace_model(model, made / "model")
    if _checksum(model) == _checksum(made / "model"):  # saved again it has the same bytes
        jobs.explain(made / "rows", model, tmp_path / "out", part=PART)
        assert_same_traces(tmp_path / "out", made / "undisturbed")


def test_a_worker_that_starts_later_refuses_another_model(made, tmp_path):
    model = Path(shutil.copytree(made / "model", tmp_path / "model"))
    given = (str(model), _checksum(model), Source(str(made / "rows"), None, None), str(tmp_path / "out"), "traces")
    assert isinstance(_make(*given), Explainer)
    replace_model(model, made / "other")
    with pytest.raises(ValueError, match="was replaced while the job runs"):
        _make(*given)


# ---- the data -------------------------------------------------------------------------------------------------------


def damage(file, where):
    content = bytearray(file.read_bytes())
    start = 4 if where == "pages" else len(content) - 40
    content[start : start + 30] = b"\xff" * 30
    file.write_bytes(content)


@pytest.mark.parametrize("where", ["pages", "footer"])
def test_a_damaged_file_is_named_and_left_out_when_asked(made, rows, tmp_path, where, capsys):
    damage(rows / "c.parquet", where)
    with pytest.raises(ValueError, match=r"c\.parquet cannot be read as a table"):
        jobs.explain(rows, made / "model", tmp_path / "out", part=PART)
    done = jobs.explain(rows, made / "model", tmp_path / "skipped", part=PART, skip_bad=True)
    assert done.skipped == ("c.parquet",)
    found, whole = (pd.read_parquet(folder) for folder in (tmp_path / "skipped", made / "undisturbed"))
    rest = whole.drop(index=range(60, 90)).reset_index(drop=True)
    assert found["input"].tolist() == list(range(90))
    for column in ("prediction", "length", "stop_reason"):
        assert found[column].tolist() == rest[column].tolist()
    told = ["explain", rows, "--model", made / "model", "--out", tmp_path / "skipped", "--part", PART, "--skip-bad"]
    assert cli.main(list(map(str, told))) == 0
    assert "Left out, because it cannot be read: c.parquet" in capsys.readouterr().out
    shutil.copy(made / "rows" / "c.parquet", rows / "c.parquet")
    with pytest.raises(ValueError, match="differs in data and skipped"):
        jobs.explain(rows, made / "model", tmp_path / "skipped", part=PART, skip_bad=True)


def test_nothing_is_left_of_a_folder_of_damaged_files(made, rows, tmp_path):
    for file in rows.iterdir():
        damage(file, "footer")
    with pytest.raises(ValueError, match="no Parquet files that can be read"):
        jobs.explain(rows, made / "model", tmp_path / "out", skip_bad=True)


# ---- the folder -----------------------------------------------------------------------------------------------------


def test_two_jobs_in_one_folder_at_once_and_the_lock_of_a_dead_one(made, tmp_path):
    """The first one stops itself (SIGSTOP) after some parts: it lives, and holds its lock, until it is killed."""
    code = """
import os, signal, sys
from infopursuit.app import cli
from infopursuit.app.jobs.job import Explainer
real = Explainer.__call__
def stopping(self, unit):
    if unit["number"] == 3:
        os.kill(os.getpid(), signal.SIGSTOP)
    return real(self, unit)
Explainer.__call__ = stopping
sys.exit(cli.main(sys.argv[1:]))
"""
    told = command(made, tmp_path / "out")
    with subprocess.Popen([sys.executable, "-c", code, *told[3:]], stderr=subprocess.DEVNULL) as first:
        try:
            assert os.WIFSTOPPED(os.waitpid(first.pid, os.WUNTRACED)[1])
            second = subprocess.run(told, capture_output=True, text=True, check=False)
            assert second.returncode == 2
            assert "is being written to by another job" in second.stderr
            assert f"it is process {first.pid} on " in second.stderr
            assert len(second.stderr.strip().splitlines()) == 1
            with pytest.raises(BlockingIOError, match="another job"):
                jobs.explain(made / "rows", made / "model", tmp_path / "out", part=PART, again=True)
        finally:
            first.kill()
    done = jobs.explain(made / "rows", made / "model", tmp_path / "out", part=PART)
    assert done.n_kept == 3
    assert_same_traces(tmp_path / "out", made / "undisturbed")


@pytest.fixture
def mounted(tmp_path):
    """Mounts a small file system of its own, where that is allowed."""
    place = tmp_path / "mounted"
    place.mkdir()

    def mount(options):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("no right to mount a file system")
        return place

    if shutil.which("mount") is None:
        pytest.skip("no mount")
    yield mount
    subprocess.run(["umount", place], capture_output=True, check=False)


def test_a_full_disk_is_told_in_one_line_and_with_more_room_the_job_goes_on(made, mounted):
    place = mounted("size=40k")
    told = command(made, place / "out")
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "No space left on device" in done.stderr
    assert "Make room, or write elsewhere" in done.stderr
    kept = sorted((place / "out" / "traces.parquet").iterdir())
    assert 0 < len(kept) < N // PART
    assert not [file for file in kept if file.name.startswith(".")]
    subprocess.run(["mount", "-o", "remount,size=4m", place], check=True)
    assert subprocess.run(told, capture_output=True, check=False).returncode == 0
    assert_same_traces(place / "out", made / "undisturbed")


def test_a_folder_that_cannot_be_written_to_is_named(made, mounted):
    place = mounted("ro,size=1m")
    done = subprocess.run(command(made, place / "out"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip() == f"infopursuit explain: error: {place / 'out'}: Read-only file system"


# ---- a slow disk ----------------------------------------------------------------------------------------------------

SLOWLY = """
import io, os, pathlib, sys, time
from infopursuit.app import cli

class SlowFile(io.FileIO):
    def write(self, data):
        given = memoryview(data).cast("B")
        for start in range(0, len(given), 512):
            time.sleep(0.01)
            super().write(given[start : start + 512])
        return len(given)

def slowly(call):
    def after_a_while(*arguments):
        time.sleep(0.03)
        return call(*arguments)
    return after_a_while

def open_slowly(self, mode="r", *more, **options):
    return SlowFile(self, "w") if mode == "wb" else fast(self, mode, *more, **options)

fast, pathlib.Path.open = pathlib.Path.open, open_slowly
os.fsync, os.replace = slowly(os.fsync), slowly(os.replace)
sys.exit(cli.main(sys.argv[1:]))
"""
"""A process that waits with every half kilobyte, every flush and every rename."""


@pytest.fixture
def throttled(tmp_path):
    """A disk of its own that takes 60 kB a second (a loop device, limited by the control group of all processes), where
    that is allowed."""
    limit, place, image = (
        Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"),
        tmp_path / "throttled",
        tmp_path / "image",
    )
    with image.open("wb") as stream:
        stream.truncate(8 * 2**20)
    place.mkdir()

    def run(*command):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no disk can be made slow here: {error}")
        return done.stdout.strip()

    if not os.access(limit, os.W_OK):
        pytest.skip("no right to limit what a disk takes")
    device = run("losetup", "-f", "--show", str(image))
    try:
        run("mkfs.ext4", "-q", "-O", "^has_journal", device)
        run("mount", device, str(place))
        number = os.stat(device).st_rdev
        limit.write_text(f"{os.major(number)}:{os.minor(number)} 60000")
        yield place
        limit.write_text(f"{os.major(number)}:{os.minor(number)} 0")
    finally:
        subprocess.run(["umount", place], capture_output=True, check=False)
        subprocess.run(["losetup", "-d", device], capture_output=True, check=False)


def half_written(out, whole):
    """Files beside that have begun and are not as large as the part will be."""
    found = []
    for file in (out / "traces.parquet").glob(".part-*"):
        part = file.name[1:].split(".parquet")[0] + ".parquet"
        try:
            if 0 < file.stat().st_size < (whole / "traces.parquet" / part).stat().st_size:
                found.append(file)
        except FileNotFoundError:  # renamed meanwhile
            continue
    return found


def test_on_a_slow_disk_a_job_goes_on_and_ends_with_the_same_result(made, tmp_path):
    told, seen = command(made, tmp_path / "out"), set()
    with subprocess.Popen([sys.executable, "-c", SLOWLY, *told[3:]], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            seen.add(len(list((tmp_path / "out" / ".job" / "done").glob("*.json"))))
            time.sleep(0.01)
    assert process.returncode == 0
    assert len(seen) > N // PART // 2  # parts were finished one after the other, and not all at the end
    assert_same_traces(tmp_path / "out", made / "undisturbed")


def test_a_kill_in_a_slow_write_leaves_nothing_half_written_that_counts(made, tmp_path):
    out, told = tmp_path / "out", command(made, tmp_path / "out")
    with subprocess.Popen([sys.executable, "-c", SLOWLY, *told[3:]], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            done = len(list((out / ".job" / "done").glob("*.json")))
            if done >= 2 and half_written(out, made / "undisturbed"):
                process.kill()
                break
    assert process.returncode == -signal.SIGKILL
    assert len(half_written(out, made / "undisturbed")) == 1  # it was killed in the middle of a file
    whole, left = pd.read_parquet(made / "undisturbed"), pd.read_parquet(out / "traces.parquet")
    assert len(left) in (PART * done, PART * (done + 1))  # the last part may be renamed and not yet be counted
    assert left["steps"].tolist() == whole["steps"].tolist()[: len(left)]
    again = jobs.explain(made / "rows", made / "model", out, part=PART)
    assert again.n_kept >= done
    assert_same_traces(out, made / "undisturbed")


@pytest.mark.slow
def test_on_a_disk_that_takes_60_kilobytes_a_second(made, throttled):
    out, told = throttled / "out", command(made, throttled / "out")
    with subprocess.Popen(told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while len(list((out / ".job" / "done").glob("*.json"))) < 3 and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    done = jobs.explain(made / "rows", made / "model", out, part=PART)
    assert 3 <= done.n_kept < done.n_parts
    assert_same_traces(out, made / "undisturbed")


# ---- the driver -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_driver_that_is_killed_is_started_again(made, tmp_path, engine):
    if engine == "ray":
        pytest.importorskip("ray")
    told = command(made, tmp_path / "out", "--engine", engine, *(["--workers", "1"] if engine == "ray" else []))
    with subprocess.Popen(told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        while not list((tmp_path / "out" / ".job" / "done").glob("*.json")) and driver.poll() is None:
            time.sleep(0.005)
        driver.send_signal(signal.SIGKILL)
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert_same_traces(tmp_path / "out", made / "undisturbed")
