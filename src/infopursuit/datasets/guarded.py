"""Files of strangers: what is looked at before and while they are read, so that memory and time stay bounded.

The limits of all data files stand here.
"""

from __future__ import annotations

import gzip
import io
import math
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, cast

import numpy as np

MOST_BYTES = 8 * 2**30
"""Of a data file, unpacked: larger ones are refused before they are read, or when they turn out to be."""
MOST_LINE = 64 * 2**20
"""Bytes of one line of a text: a table whose rows are longer has other columns than it seems."""
MOST_COLUMNS = 200_000
MOST_CELLS = 2**28
"""Rows times columns that a Parquet file may claim: a few bytes of it can stand for a billion rows."""

BAD_HEADER = (ValueError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError)
"""What numpy raises where it cannot make sense of the head of an array."""
PACKED = (gzip.BadGzipFile, EOFError, zlib.error)
"""What is raised where something packed is damaged."""


def check_file(path: Path) -> Path:
    """The path, if a file is there: who opens a pipe waits for ever, and a device never ends."""
    if path.is_file():
        return path
    if not path.exists() and not path.is_symlink():
        raise FileNotFoundError(f"{path} does not exist; give a file")
    raise ValueError(f"{path} is no file but a folder, a pipe, a device or a link to nowhere; give a file")


def check_size(path: Path, n_bytes: int, most: int | None = None) -> None:
    """Refuse what would not fit."""
    most = MOST_BYTES if most is None else most
    if n_bytes > most:
        raise ValueError(f"{path} holds {n_bytes / 2**30:.1f} GiB, more than {most / 2**30:g}; give a part of it")


def open_text(path: Path) -> io.BufferedReader:
    """The bytes of a UTF-8 text, unpacked where its name ends in ``.gz``; what cannot be one is refused on the way."""
    check_size(check_file(path), path.stat().st_size)
    packed = path.name.lower().endswith(".gz")
    stream = cast(BinaryIO, gzip.GzipFile(path, "rb")) if packed else path.open("rb")
    return io.BufferedReader(_Watched(stream, path), 2**16)


class _Watched(io.RawIOBase):
    """A stream that counts: bytes in all, bytes since the last line began, and bytes that no text has."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream, self._path = stream, path
        self._total = self._line = 0

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._stream.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        try:
            some = self._stream.read(len(buffer))
        except PACKED as error:
            raise ValueError(f"{self._path} is not a whole gzip file ({error}); fetch it again") from None
        self._look_at(some)
        buffer[: len(some)] = some
        return len(some)

    def _look_at(self, some: bytes) -> None:
        path = self._path
        if self._total == 0 and some.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError(f"{path} is not UTF-8 but UTF-16; save it as UTF-8")
        if b"\0" in some:
            at = self._total + some.index(b"\0")
            raise ValueError(f"{path} has a zero at byte {at}, which no text has; save it as UTF-8 text")
        self._total += len(some)
        check_size(path, self._total)
        # the longest line that begins or goes on here, ended by either sign
        lines = some.replace(b"\r", b"\n").split(b"\n")
        longest = max(self._line + len(lines[0]), *(len(line) for line in lines[1:]), 0)
        if longest > MOST_LINE:
            raise ValueError(f"{path} has a line of more than {MOST_LINE // 2**20} MiB; it is not a table of rows")
        self._line = len(lines[-1]) + (self._line if len(lines) == 1 else 0)


def check_npy(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Refuse an array of an npz file that claims more bytes than the file has, or is made of Python's objects."""
    entry = archive.getinfo(f"{name}.npy")
    with archive.open(entry) as stream:
        try:
            version = np.lib.format.read_magic(stream)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
            shape, _, dtype = read(stream)
        except BAD_HEADER as error:
            raise ValueError(f"{path} holds {name!r} in a form that is not read ({str(error)[:200]})") from None
        if dtype.hasobject:
            what = "objects of Python's may be code; save numbers or texts"
            raise ValueError(f"{path} holds {name!r} in a form that is not read: {what}")
        claimed, size = math.prod(int(n) for n in shape) * dtype.itemsize, entry.file_size
        if min((int(n) for n in shape), default=0) < 0 or claimed > size - stream.tell():
            shown = str(shape)[:80]
            raise ValueError(f"{path} is damaged: {name!r} claims {claimed} bytes in the shape {shown}, but has {size}")
