"""Files are written whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import machine
from infopursuit.support import files
from infopursuit.support.files import replacing, sweep_leftovers, write_atomically
from isolated import run_alone


class Crash(BaseException):
    """Not an Exception, like being interrupted."""


def crash(*arguments, **options):
    raise Crash


def test_what_was_written_is_there_and_nothing_else(tmp_path):
    file = tmp_path / "a.bin"
    for content in (b"", b"\x00\xff" * 100_000, b"short"):  # the last is shorter than what was there
        write_atomically(file, content)
        assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o007])
def test_who_may_read_is_for_the_umask_to_say(tmp_path, umask):
    code = """
import sys
from pathlib import Path
from infopursuit.support.files import write_atomically
write_atomically(Path(sys.argv[1]), b"x")
"""
    command = [sys.executable, "-c", code, tmp_path / "a.bin"]
    subprocess.run(command, umask=umask, check=True)
    assert (tmp_path / "a.bin").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_name_without_a_folder_is_written_here(tmp_path):
    code = """
from pathlib import Path
from infopursuit.support.files import write_atomically
write_atomically(Path("here"), b"x")
"""
    run_alone(code, folder=tmp_path)
    assert (tmp_path / "here").read_bytes() == b"x"


@pytest.mark.parametrize("where", ["_flush", "_rename"])
@pytest.mark.parametrize("before", [None, b"old"])
def test_a_crash_in_the_middle_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch, where, before):
    file = tmp_path / "a.bin"
    if before is not None:
        file.write_bytes(before)
    with monkeypatch.context() as patched:
        patched.setattr(files, where, crash)
        with pytest.raises(Crash):
            write_atomically(file, b"new")
    assert (file.read_bytes() if file.exists() else None) == before
    assert len(list(tmp_path.iterdir())) == (before is not None)
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"


def test_all_of_it_is_on_the_disk_before_the_name_is_taken(tmp_path, monkeypatch):
    """Else a power cut after the renaming could leave an empty file under the name."""
    order = []
    flush, rename, flush_folder = files._flush, files._rename, files._flush_folder

    def noted_flush(file):
        order.append(("flush", file.stat().st_size))
        flush(file)

    def noted_rename(source, target):
        order.append(("rename", source.stat().st_size))
        assert source.parent == target.parent  # renaming is atomic within a file system only
        rename(source, target)

    def noted_flush_folder(folder):
        order.append(("flush folder", folder))
        flush_folder(folder)

    monkeypatch.setattr(files, "_flush", noted_flush)
    monkeypatch.setattr(files, "_rename", noted_rename)
    monkeypatch.setattr(files, "_flush_folder", noted_flush_folder)
    write_atomically(tmp_path / "a", b"12345")
    # The folder comes last, so that the new name is on the disk too.
    assert order == [("flush", 5), ("rename", 5), ("flush folder", tmp_path)]


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_atomically(tmp_path / "nowhere" / "a", b"x")


def test_a_measurement_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    file = machine.write_result(tmp_path, "bench", "make bench", {"a": 1})
    before = file.read_bytes()
    with pytest.raises(TypeError):
        machine.write_result(tmp_path, "bench", "make bench", {"a": {1, 2}})  # a set is not JSON
    monkeypatch.setattr(files, "_rename", crash)
    with pytest.raises(Crash):
        machine.write_result(tmp_path, "bench", "make bench", {"a": 2})
    assert file.read_bytes() == before
    assert before.endswith(b"\n}\n")
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_full_disk_is_told_with_the_file_and_the_old_one_stays(tmp_path, before):
    """The limit of a process on the size of files: the system refuses to write on, as where the disk is full."""
    if before is not None:
        (tmp_path / "a.bin").write_bytes(before)
    code = """
import resource, signal, sys
from pathlib import Path
from infopursuit.support.files import write_atomically
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomically(Path(sys.argv[1]), b"x" * 5000)
except OSError as error:
    print(error.filename, "|", error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.bin"], capture_output=True, text=True, check=True)
    kept = "what was there before is untouched" if before else "nothing of it was kept"
    assert done.stdout.startswith(f"{tmp_path / 'a.bin'} | File too large; {kept}. Make room")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([before] if before else [])


KILLED = """
import os, sys
from pathlib import Path
from infopursuit.support.files import replacing
with replacing(Path(sys.argv[1])) as beside:
    beside.write_bytes(b"half")
    os.kill(os.getpid(), 9)
"""


def test_what_killed_processes_left_is_swept_and_nothing_else(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.bin"], check=False)
    assert done.returncode == -9
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"half"]
    for name in (".keep-me", "a.bin", ".a.bin-elsewhere-999999-abcdefgh"):
        (tmp_path / name).write_bytes(b"")
    with replacing(tmp_path / "b") as beside:
        beside.write_bytes(b"mine")
        assert sweep_leftovers(tmp_path) == 1  # that of the killed one; this one is being written
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        ".a.bin-elsewhere-999999-abcdefgh",
        ".keep-me",
        "a.bin",
        "b",
    ]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="zombies are told from /proc")
def test_what_a_zombie_left_is_swept_too(tmp_path):
    """A killed process that nobody has waited for still has its number; where its parent was killed with it and the
    first process of a container waits for none, it has it for ever."""
    zombie = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path / "a.bin"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
    try:
        assert len(list(tmp_path.iterdir())) == 1
        assert sweep_leftovers(tmp_path) == 1
    finally:
        zombie.wait()


@pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="containers are told from /proc")
def test_temporary_files_of_other_containers_are_swept_after_a_day(tmp_path):
    """A process of another container has a number that means nothing here: it may be alive."""
    with replacing(tmp_path / "a") as beside:
        name = beside.name
    _, host, namespace, _, token = name.rsplit("-", 4)
    other = tmp_path / f".a-{host}-{int(namespace) + 1}-999999-{token}"
    other.write_bytes(b"half")
    assert sweep_leftovers(tmp_path) == 0
    os.utime(other, (0, 0))
    assert sweep_leftovers(tmp_path) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
