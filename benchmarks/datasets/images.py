"""MNIST, Fashion-MNIST and KMNIST from their official idx files, or else from npz files as the package reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets.files import read_bytes
from infopursuit.datasets.catalog import IMAGE_SETS, data_folder, find_file, image_set, not_found
from infopursuit.datasets.catalog import LOADERS as FROM_NPZ
from infopursuit.datasets.dataset import Dataset

IMAGES, LABELS = 0x803, 0x801
"""The magic numbers: unsigned bytes (8) in three dimensions, and in one."""
IDX = {
    "x_train": ("train-images-idx3-ubyte", IMAGES),
    "y_train": ("train-labels-idx1-ubyte", LABELS),
    "x_test": ("t10k-images-idx3-ubyte", IMAGES),
    "y_test": ("t10k-labels-idx1-ubyte", LABELS),
}
"""The four official files and their magic numbers; all three sets call them the same."""
RAW = {"mnist": "MNIST/raw", "fashion_mnist": "FashionMNIST/raw", "kmnist": "KMNIST/raw"}


def mnist() -> Dataset:
    """MNIST, from the four idx files in ``mnist`` or ``MNIST/raw`` of the data folder, or else from ``mnist.npz``."""
    return _from_files("mnist")


def fashion_mnist() -> Dataset:
    """Fashion-MNIST, from idx files in ``fashion_mnist`` or ``FashionMNIST/raw``, or else from its npz file."""
    return _from_files("fashion_mnist")


def kmnist() -> Dataset:
    """KMNIST, from idx files in ``kmnist`` or ``KMNIST/raw``, or else from ``kmnist.npz``."""
    return _from_files("kmnist")


def _from_files(name: str) -> Dataset:
    looked_for = {key: find_file(file, (name, RAW[name]), (".gz", "")) for key, (file, _) in IDX.items()}
    found = {key: path for key, path in looked_for.items() if path is not None}
    if len(found) == len(IDX):
        arrays = {key: read_idx(path, IDX[key][1]) for key, path in found.items()}
        return image_set(name, arrays, {key: str(path) for key, path in found.items()}, found["x_train"].parent)
    if find_file(f"{name}.npz") is not None:
        return FROM_NPZ[name]()
    few = "Some of the official files are there; the rest goes into" if found else "Or put the official files into"
    files = ", ".join(f"{file}.gz" for key, (file, _) in IDX.items() if key not in found)
    raise not_found(
        f"{name}.npz",
        f"{few} {data_folder() / name}: {files} (as they come, or unpacked). They are at {IMAGE_SETS[name][3]}; "
        f"benchmarks.datasets.download({name!r}) fetches them.",
    )


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
