"""Writing files so that a crash leaves the old one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(file: Path, content: bytes) -> None:
    """All of it or nothing: written beside, flushed to the disk, then renamed."""
    with replacing(file) as beside:
        beside.write_bytes(content)


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A file beside to write to, which takes the place of ``file`` when all went well and else is removed."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    os.close(handle)
    try:
        yield Path(name)
        with open(name, "r+b") as stream:
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
