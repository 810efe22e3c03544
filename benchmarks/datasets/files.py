"""Texts and bytes of official files, with the limits of the package's readers."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

from infopursuit.datasets import tables


def read_bytes(path: Path) -> bytes:
    """All of a file, decompressed if its name ends in ``.gz``."""
    tables.check_size(tables.check_file(path), path.stat().st_size)
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(tables.MAX_BYTES + 1)
    except tables.BAD_GZIP as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}); fetch it again") from None
    tables.check_size(path, len(content))
    return content


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 text with their ends, decompressed if its name ends in ``.gz``."""
    try:
        with tables.open_text(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text in UTF-8 ({error})") from None
