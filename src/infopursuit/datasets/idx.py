"""The file format of MNIST: idx, bytes behind a short header that says how many there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.datasets.files import read_bytes

IMAGES, LABELS = 0x803, 0x801
"""The magic numbers: unsigned bytes (8) in three dimensions, and in one."""


def read_idx(path: Path, magic: int) -> Any:
    """The array of an idx file, packed with gzip or not; magic says how many dimensions it must have.

    The header is big-endian: the magic number, whose last byte counts the dimensions, then the length of each.
    """
    content = read_bytes(path)
    found = int.from_bytes(content[:4], "big")
    if len(content) < 4 or found != magic:
        raise ValueError(
            f"{path} starts with the magic number {found}; expected {magic}, an idx file of bytes in "
            f"{magic % 256} dimension{'s' if magic % 256 > 1 else ''}"
        )
    start = 4 + 4 * (magic % 256)
    shape = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4))
    size = int(np.prod(shape, dtype=object))
    if len(content) != start + size:
        raise ValueError(
            f"{path} says that it holds {' x '.join(map(str, shape))} bytes, but {max(len(content) - start, 0)} "
            f"follow; fetch it again"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape).copy()
