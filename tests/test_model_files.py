"""The files of a saved model while several processes save and load."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import infopursuit as ip
from benchmarks import environment
from benchmarks.hardening.concurrent_saves import (
    EMPIRICAL,
    build_model,
    is_intact,
    load_during_saves,
    save_in_pairs,
    savers,
    seed_of,
)
from infopursuit.saving.files import LOCK, MAX_READS, read_model, write_model
from infopursuit.support.files import locked
from infopursuit.support.types import ModelFormatError


@pytest.fixture(scope="module")
def pair():
    """Two processes that save models."""
    with savers() as started:
        yield started


def tensors_of(folder):
    """The tensor file that the manifest names."""
    return folder / json.loads((folder / "manifest.json").read_text())["tensors"]["file"]


def let_age(file):
    """Make a file look as if it had been written long ago."""
    os.utime(file, (0, 0))


# ---- several processes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset_ms", [0, 3, 10, 30])
def test_two_processes_that_save_at_once_leave_one_of_their_models(pair, tmp_path, offset_ms):
    row = save_in_pairs(pair, tmp_path / "model", offset_ms, 5)
    assert (row["saves refused"], row["models lost"]) == (0, 0)


def test_two_processes_lose_no_model_on_a_file_system_without_locks(pair, tmp_path):
    row = save_in_pairs(pair, tmp_path / "model", 0, 5, locks=False)
    assert (row["saves refused"], row["models lost"]) == (0, 0)


@pytest.mark.parametrize("kind", ["table", EMPIRICAL])
def test_loads_during_saves_succeed(pair, tmp_path, kind):
    row = load_during_saves(
        pair,
        tmp_path / "model",
        30,
        lambda folder: seed_of(ip.load(folder)),
        title="",
        kind=kind,
        burst=5,
    )
    assert row["loads"] >= 30
    assert row["different models loaded"] >= 2
    assert row["loads refused"] == 0


def test_threads_that_save_at_once_leave_one_of_their_models(tmp_path):
    seeds = range(16)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda seed: ip.save(build_model(seed), tmp_path), seeds))
    assert is_intact(tmp_path, seeds, check_card=True)


# ---- the lock -------------------------------------------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from infopursuit.support.files import locked
with locked(Path(sys.argv[1]), "taken"):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_save_names_the_process_that_blocks_it_and_works_once_that_is_killed(tmp_path):
    ip.save(build_model(0), tmp_path)
    command = [sys.executable, "-c", HOLDER, tmp_path / LOCK]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment(), **pipes) as holder:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(BlockingIOError) as refused:
            write_model(tmp_path, manifest=b"", tensors=b"", tensor_file="x", card=b"", wait=0.05)
        holder.kill()

    message = str(refused.value)
    assert f"saving a model to {tmp_path} " in message
    assert "save to another folder" in message
    assert f"process {holder.pid} on " in message
    assert is_intact(tmp_path, [0], check_card=True)

    ip.save(build_model(1), tmp_path)
    assert is_intact(tmp_path, [1], check_card=True)


KILLED = """
import sys
from benchmarks.hardening.concurrent_saves import build_model
from benchmarks.hardening.dying import die_at_write
from infopursuit.estimator.storage import save
model = build_model(1)
die_at_write(3, "before")
save(model, sys.argv[1])
"""


def test_a_save_that_is_killed_leaves_the_old_model_and_does_not_block_the_next(tmp_path):
    ip.save(build_model(0), tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False, env=environment())
    assert done.returncode == -signal.SIGKILL
    assert is_intact(tmp_path, [0], check_card=False)
    assert len(list(tmp_path.glob(".manifest.json-*"))) == 1

    ip.save(build_model(2), tmp_path)
    assert is_intact(tmp_path, [2], check_card=True)
    assert not list(tmp_path.glob(".manifest.json-*"))


def test_the_lock_excludes_threads(tmp_path):
    inside = []
    most = []

    def enter(number):
        with locked(tmp_path / LOCK, "taken", wait=60):
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(enter, range(40)))
    assert most == [1] * 40


def test_the_lock_excludes_a_thread_that_does_not_wait(tmp_path):
    with (
        locked(tmp_path / LOCK, "taken"),
        pytest.raises(BlockingIOError, match="taken"),
        locked(tmp_path / LOCK, "taken"),
    ):
        raise AssertionError("both have the lock")

    with locked(tmp_path / LOCK, "taken"):
        assert (tmp_path / LOCK).read_text().startswith(f"{os.getpid()} on ")


def test_a_link_in_place_of_the_lock_is_not_written_to(tmp_path):
    """A folder from elsewhere may have one."""
    target = tmp_path / "precious"
    target.write_text("content")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / LOCK).symlink_to(target)
    ip.save(build_model(0), folder)
    assert target.read_text() == "content"
    assert is_intact(folder, [0], check_card=True)


def test_a_folder_in_place_of_the_lock_does_not_matter(tmp_path):
    (tmp_path / LOCK).mkdir()
    ip.save(build_model(0), tmp_path)
    assert is_intact(tmp_path, [0], check_card=True)


# ---- superseded tensors ---------------------------------------------------------------------------------------------


def test_superseded_tensors_are_kept_for_readers_of_the_old_manifest(tmp_path):
    ip.save(build_model(0), tmp_path)
    old_manifest = (tmp_path / "manifest.json").read_bytes()
    let_age(tensors_of(tmp_path))  # their age counts from the moment at which they are superseded
    ip.save(build_model(1), tmp_path)
    assert len(list(tmp_path.glob("tensors-*"))) == 2

    (tmp_path / "manifest.json").write_bytes(old_manifest)
    assert seed_of(ip.load(tmp_path)) == 0


def test_superseded_tensors_are_removed_after_the_grace_period(tmp_path):
    ip.save(build_model(0), tmp_path)
    old = tensors_of(tmp_path)
    ip.save(build_model(1), tmp_path)
    recent = tensors_of(tmp_path)
    let_age(old)
    let_age(recent)
    ip.save(build_model(2), tmp_path)
    assert sorted(tmp_path.glob("tensors-*")) == sorted([recent, tensors_of(tmp_path)])


def test_tensors_that_are_saved_again_are_not_removed(tmp_path):
    ip.save(build_model(0), tmp_path)
    again = tensors_of(tmp_path)
    ip.save(build_model(1), tmp_path)
    let_age(again)
    ip.save(build_model(0), tmp_path)
    assert seed_of(ip.load(tmp_path)) == 0

    ip.save(build_model(1), tmp_path)
    assert again.exists()


def test_superseded_training_data_is_removed_at_once(tmp_path):
    """Else it would be passed on with a model whose card says that it contains none."""
    ip.save(build_model(0, EMPIRICAL), tmp_path)
    ip.save(build_model(1), tmp_path)
    assert list(tmp_path.glob("tensors-*")) == [tensors_of(tmp_path)]


def test_a_damaged_manifest_is_replaced(tmp_path):
    ip.save(build_model(0), tmp_path)
    for content in (b"", b"[]", b'{"format": "infopursuit.model", "tensors": {"file": "../x"}}'):
        (tmp_path / "manifest.json").write_bytes(content)
        ip.save(build_model(1), tmp_path)
        assert is_intact(tmp_path, [1], check_card=True)


# ---- reading while somebody saves -----------------------------------------------------------------------------------


class Replaced(type(Path())):
    """A folder in which something happens whenever somebody looks for tensors."""

    event = None
    n_reads = 0

    def __truediv__(self, name):
        if name.startswith("tensors-"):
            self.n_reads += 1
            self.event(self.n_reads)
        return Path(self) / name


def watched(folder, event):
    path = Replaced(folder)
    path.event = event
    return path


def test_a_model_that_is_replaced_while_it_is_read_is_read_again(tmp_path):
    ip.save(build_model(0, EMPIRICAL), tmp_path)
    path = watched(tmp_path, lambda n: n == 1 and ip.save(build_model(1), tmp_path))
    files = read_model(path)
    assert files.manifest["classes"]["values"] == ["a1", "b1", "c1"]
    assert path.n_reads == 2


def test_a_model_that_is_replaced_by_itself_is_read_again(tmp_path):
    """The manifest has the same bytes then, and is still another one."""
    ip.save(build_model(0), tmp_path)
    tensors = tensors_of(tmp_path)
    kept = tensors.read_bytes()
    tensors.unlink()

    def save_again(n):
        if n == 1:
            ip.save(build_model(0), tmp_path)
            tensors.unlink()
        else:
            tensors.write_bytes(kept)

    path = watched(tmp_path, save_again)
    assert read_model(path).manifest["classes"]["values"] == ["a0", "b0", "c0"]
    assert path.n_reads == 2


def test_a_model_that_is_replaced_at_every_read_is_refused_in_the_end(tmp_path):
    ip.save(build_model(0, EMPIRICAL), tmp_path)
    path = watched(tmp_path, lambda n: ip.save(build_model(n, EMPIRICAL), tmp_path))
    with pytest.raises(ModelFormatError, match=f"was replaced {MAX_READS} times while it was read"):
        read_model(path)
    assert path.n_reads == MAX_READS


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"")])
def test_damage_is_told_at_the_first_read(tmp_path, damage):
    ip.save(build_model(0), tmp_path)
    damage(tensors_of(tmp_path))
    path = watched(tmp_path, lambda n: None)
    with pytest.raises(ModelFormatError, match=r"is missing; copy the whole folder|has 0 bytes instead of"):
        read_model(path)
    assert path.n_reads == 1
