"""Writing files so that a crash leaves the old one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(file: Path, content: bytes) -> None:
    """All of it or nothing: written beside, flushed to the disk, then renamed."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
