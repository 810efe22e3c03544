"""Writing files so that a crash, or a full disk, leaves the old one."""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""What the system says where there is no room left: of the disk, of a user's share of it, of the size of a file."""


def write_atomically(file: Path, content: bytes) -> None:
    """All of it or nothing: written beside, flushed to the disk, then renamed."""
    with replacing(file) as beside:
        beside.write_bytes(content)


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A file beside to write to, which takes the place of ``file`` when all went well and else is removed."""
    name = ""
    try:
        beside = file.parent / f".{file.name}-{_here()}-{os.getpid()}-{secrets.token_hex(4)}"
        # not a private temporary file: who may read what is written is for the user's umask to say
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        name = str(beside)
        yield Path(name)
        with open(name, "r+b") as stream:
            os.fsync(stream.fileno())
        os.replace(name, file)
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
def locked(file: Path, refusal: str) -> Iterator[None]:
    """Within it no other process is; `BlockingIOError` where one is. A lock ends with its process, however that ends.

    The file stays. Where a system or a file system has no locks, all go on.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with file.open("a+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            raise BlockingIOError(f"{refusal} (it is process {stream.read(80).strip() or 'unknown'})") from None
        except OSError:
            pass
        stream.truncate(0)
        stream.write(f"{os.getpid()} on {platform.node()}\n")
        stream.flush()
        yield


def sweep_leftovers(folder: Path) -> int:
    """Remove what processes of this machine that were killed have left of files they were writing; how many."""
    n = 0
    if os.name != "posix" or not folder.is_dir():
        return n
    pattern = re.compile(rf"\..+-{re.escape(_here())}-(\d+)-[a-z0-9_]{{8}}")
    for file in folder.iterdir():
        found = pattern.fullmatch(file.name)
        if found and not _alive(int(found[1])):
            file.unlink(missing_ok=True)
            n += 1
    return n


def _here() -> str:
    """The machine's name as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9]", "", platform.node())[:32] or "here"


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


def _flush_folder(folder: Path) -> None:
    """Let the new name reach the disk too, where the system can be asked to."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
