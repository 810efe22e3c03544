"""Writing files so that a crash, a full disk or another writer leaves a whole one."""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""What the system says where there is no room left: of the disk, of a user's share of it, of the size of a file."""
TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
"""Errors of a lock that somebody else holds; any other means that the file system has no locks."""
LOCK_INTERVAL = 0.02
"""Seconds between two attempts to take a lock."""
LOCKED_BYTE = 2**30
"""The byte that is locked on Windows, far behind the end: what is locked there cannot be read."""
ABANDONED_SECONDS = 86_400.0
"""A temporary file whose writer cannot be looked up is removed after a day."""


def write_atomically(file: Path, content: bytes) -> None:
    """All of it or nothing: written beside, flushed to the disk, then renamed."""
    with replacing(file) as beside:
        beside.write_bytes(content)


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A file beside to write to, which takes the place of ``file`` when all went well and else is removed."""
    name = ""
    try:
        writer = f"{_host()}-{_process_namespace()}-{os.getpid()}"
        beside = file.parent / f".{file.name}-{writer}-{secrets.token_hex(4)}"
        # not a private temporary file: who may read what is written is for the user's umask to say
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        name = str(beside)
        yield Path(name)
        _flush(Path(name))
        _rename(Path(name), file)
        _flush_folder(file.parent)
    except BaseException as error:
        if name:
            Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL:
            before = "what was there before is untouched" if file.exists() else "nothing of it was kept"
            why = f"{os.strerror(error.errno)}; {before}. Make room, or write elsewhere"
            raise OSError(error.errno, why, str(file)) from error
        raise


@contextmanager
def locked(file: Path, refusal: str, *, wait: float = 0.0) -> Iterator[None]:
    """Hold an exclusive lock, which excludes other processes and other threads of this one.

    The system releases the lock when the process ends, also when it is killed. The file stays, and
    names the process that holds the lock. Where the file system has no locks, or the file cannot be
    opened, nobody is excluded.

    Parameters
    ----------
    file : Path
        The file that is locked. It is created where it is missing; a symbolic link is not followed.
    refusal : str
        The message of the error, to which the process that holds the lock is added.
    wait : float, default=0.0
        Seconds to wait for the lock.

    Raises
    ------
    BlockingIOError
        If the lock is still held elsewhere after ``wait`` seconds.
    """
    handle = _open_lock(file)
    if handle is None:
        yield
        return

    try:
        deadline = time.monotonic() + wait
        while not _take_lock(handle):
            if time.monotonic() >= deadline:
                raise BlockingIOError(f"{refusal} (it is process {_read_holder(handle)})")
            time.sleep(LOCK_INTERVAL)

        try:
            _write_holder(handle, f"{os.getpid()} on {platform.node()}\n")
            yield
        finally:
            _write_holder(handle, "")
            # A child process that was forked meanwhile has the lock too; closing would not be enough.
            with suppress(OSError):
                _lock(handle, release=True)
    finally:
        os.close(handle)


def sweep_leftovers(folder: Path) -> int:
    """Remove the temporary files of writers that were killed; those of other machines are kept.

    Returns
    -------
    int
        The number of removed files.
    """
    if os.name != "posix" or not folder.is_dir():
        return 0

    host = re.escape(_host())
    pattern = re.compile(rf"\..+-{host}(?:-(?P<namespace>\d+))?-(?P<pid>\d+)-[a-z0-9_]{{8}}")
    n_removed = 0
    for file in folder.iterdir():
        writer = pattern.fullmatch(file.name)
        if writer is None:
            continue

        # In another container the same number is another process: only the age tells.
        if writer["namespace"] == _process_namespace():
            abandoned = not _alive(int(writer["pid"]))
        else:
            abandoned = _age(file) > ABANDONED_SECONDS

        if abandoned:
            with suppress(OSError):
                file.unlink()
                n_removed += 1

    return n_removed


def _open_lock(file: Path) -> int | None:
    """Open a lock file: for reading where it belongs to somebody else, None where that fails too."""
    options = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    for access in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        with suppress(OSError):
            return os.open(file, access | options, 0o666)

    return None


def _take_lock(handle: int) -> bool:
    """Try to lock an open file; False where somebody else holds the lock."""
    try:
        _lock(handle)
    except OSError as error:
        return error.errno not in TAKEN

    return True


def _lock(handle: int, *, release: bool = False) -> None:
    """Lock or release an open file without waiting; `OSError` where that is not possible."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK if release else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN if release else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _write_holder(handle: int, text: str) -> None:
    """Replace the content of a lock file, where that is possible: the lock does not depend on it."""
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, text.encode())


def _read_holder(handle: int) -> str:
    """Read which process holds a lock."""
    with suppress(OSError):
        os.lseek(handle, 0, os.SEEK_SET)
        return os.read(handle, 80).decode(errors="replace").strip() or "unknown"

    return "unknown"


def _host() -> str:
    """Return the name of the machine as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9]", "", platform.node())[:32] or "here"


def _process_namespace() -> str:
    """Return the number of the container within which process numbers have a meaning; 0 if unknown."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "0"


def _age(file: Path) -> float:
    """Return the seconds since a file was written; 0 where it is gone."""
    try:
        return time.time() - file.lstat().st_mtime
    except OSError:
        return 0.0


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    try:  # a zombie, which nobody has waited for yet, as after the death of its parent too, writes nothing any more
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return True  # a system that does not tell


def _flush(file: Path) -> None:
    """Let the content of a file reach the disk."""
    with file.open("r+b") as stream:
        os.fsync(stream.fileno())


def _rename(source: Path, target: Path) -> None:
    """Let a file take the place of another, in one step."""
    os.replace(source, target)


def _flush_folder(folder: Path) -> None:
    """Let the new name reach the disk too, where the system can be asked to."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
