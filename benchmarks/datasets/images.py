"""MNIST, Fashion-MNIST and KMNIST from their official idx files, or else from npz files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets.files import check_array, data_folder, find_file, not_found, read_bytes, read_names
from infopursuit.app.datasets.dataset import Dataset
from infopursuit.estimator.table_files import read_arrays

KEYS = ("x_train", "y_train", "x_test", "y_test")
DIGITS = tuple("0123456789")
KMNIST_OFFICIAL = 60_000
CLOTHES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
LETTERS = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")
PIXELS = "28 x 28 pixels from 0 to 255"
CODH = 'CC BY-SA 4.0 ("KMNIST Dataset" created by CODH, adapted from "Kuzushiji Dataset" by NIJL and others)'
MNIST_PAGE = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FASHION, FASHION_PAGE = "Pictures of clothing", "https://github.com/zalandoresearch/fashion-mnist"
IMAGE_SETS: Mapping[str, tuple[tuple[str, ...], str, str, str]] = {
    "mnist": (DIGITS, f"Handwritten digits, {PIXELS}, in the official split.", "CC BY-SA 3.0", MNIST_PAGE),
    "fashion_mnist": (CLOTHES, f"{FASHION}, {PIXELS}, in the official split.", "MIT", FASHION_PAGE),
    "kmnist": (LETTERS, f"Old Japanese cursive letters (Kuzushiji), {PIXELS}.", CODH, "http://codh.rois.ac.jp/kmnist/"),
}
"""Class names, description, licence and page."""
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
    path = find_file(f"{name}.npz")
    if path is not None:
        npz = read_arrays(path, KEYS, optional=("class_names",))
        return image_set(name, npz, {key: f"{key} of {path}" for key in KEYS}, path)
    few = "Some of the official files are there; the rest goes into" if found else "Or put the official files into"
    files = ", ".join(f"{file}.gz" for key, (file, _) in IDX.items() if key not in found)
    raise not_found(
        f"{name}.npz",
        f"{few} {data_folder() / name}: {files} (as they come, or unpacked). They are at {IMAGE_SETS[name][3]}; "
        f"benchmarks.datasets.download({name!r}) fetches them.",
    )


def image_set(name: str, arrays: Mapping[str, Any], sources: Mapping[str, str], whole: Path) -> Dataset:
    """A data set of `IMAGE_SETS` from its arrays; sources and whole: where they came from, for errors."""
    class_names, description, licence, _ = IMAGE_SETS[name]
    if "class_names" in arrays:
        class_names = read_names(np.ravel(arrays["class_names"]), f"class_names of {whole}")
    for key in ("x_train", "x_test"):
        images = arrays[key]
        if images.dtype != np.uint8 or images.ndim != 3 or images.shape[1:] != (28, 28):
            found = f"shape {images.shape} and dtype {images.dtype}"
            raise ValueError(f"{sources[key]} has {found}; expected (images, 28, 28) of uint8")
    y = {key: check_array(arrays[key], (None,), "iu", sources[key]).astype(np.int64) for key in ("y_train", "y_test")}
    n_train = len(arrays["x_train"])
    if name == "kmnist" and n_train < KMNIST_OFFICIAL:
        description += (
            f" This copy has only {n_train:,} of the official {KMNIST_OFFICIAL:,} training images, so that accuracies "
            f"cannot be compared with published ones."
        )
    x_train, x_test = arrays["x_train"], arrays["x_test"]
    try:
        return Dataset(name, x_train, y["y_train"], x_test, y["y_test"], class_names, description, licence)
    except ValueError as error:
        raise ValueError(f"{whole} does not fit together: {error}") from None


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
