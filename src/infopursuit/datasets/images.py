"""Small images of ten classes: scikit-learn's digits, MNIST, Fashion-MNIST and KMNIST."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from infopursuit.datasets.dataset import Dataset
from infopursuit.datasets.files import find_file, read_arrays

DIGITS = tuple("0123456789")
GARMENTS = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
KUZUSHIJI = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")
KEYS = ("x_train", "y_train", "x_test", "y_test")
KMNIST_OFFICIAL = 60_000


def digits() -> Dataset:
    """scikit-learn's 1,797 digits of 8 x 8 pixels from 0 to 16; comes along, so that nothing is fetched.

    Four fifths are to learn from, always the same ones, with the same share of every digit in both parts.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    images, labels = bunch.images.astype(np.uint8), bunch.target.astype(np.int64)
    x_train, x_test, y_train, y_test = train_test_split(
        images, labels, test_size=360, stratify=labels, random_state=2022
    )
    return Dataset(
        "digits",
        x_train,
        y_train,
        x_test,
        y_test,
        DIGITS,
        description="Handwritten digits, 8 x 8 pixels from 0 to 16, as scikit-learn carries them: 1,797 images, the "
        "test part of the UCI set. The split is fixed, stratified and random: the same 13 hands wrote both parts.",
        licence="CC BY 4.0 (UCI, Optical Recognition of Handwritten Digits)",
    )


def mnist() -> Dataset:
    """MNIST from ``mnist.npz`` in the data folder: 60,000 and 10,000 digits of 28 x 28 pixels from 0 to 255."""
    text = "Handwritten digits, 28 x 28 pixels from 0 to 255, in the official split."
    return _from_file("mnist", DIGITS, text, "CC BY-SA 3.0")


def fashion_mnist() -> Dataset:
    """Fashion-MNIST from ``fashion_mnist.npz`` in the data folder: 60,000 and 10,000 garments, sized like MNIST."""
    text = "Pictures of clothing, 28 x 28 pixels from 0 to 255, in the official split."
    return _from_file("fashion_mnist", GARMENTS, text, "MIT")


def kmnist() -> Dataset:
    """KMNIST from ``kmnist.npz`` in the data folder: old Japanese letters of 28 x 28 pixels from 0 to 255.

    The description says when the file has fewer than the official 60,000 training images: the copy that this project
    was tried on has the first 7,011 only.
    """
    text = "Old Japanese cursive letters (Kuzushiji), 28 x 28 pixels from 0 to 255."
    licence = 'CC BY-SA 4.0 ("KMNIST Dataset" created by CODH, adapted from "Kuzushiji Dataset" by NIJL and others)'
    return _from_file("kmnist", KUZUSHIJI, text, licence)


LOADERS: Mapping[str, Callable[[], Dataset]] = MappingProxyType(
    {"digits": digits, "fashion_mnist": fashion_mnist, "kmnist": kmnist, "mnist": mnist}
)
NAMES = tuple(LOADERS)
"""What `load` knows."""


def load(name: str) -> Dataset:
    """A data set by its name; ``fashion-mnist`` and ``Fashion_MNIST`` are the same one."""
    loader = LOADERS.get(str(name).strip().lower().replace("-", "_"))
    if loader is None:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(NAMES)}")
    return loader()


def _from_file(name: str, class_names: tuple[str, ...], description: str, licence: str) -> Dataset:
    """A data set of 28 x 28 images from ``name.npz``."""
    path = find_file(f"{name}.npz")
    arrays = read_arrays(path, KEYS, optional=("class_names",))
    names = class_names
    if "class_names" in arrays:
        names = tuple(str(word) for word in np.ravel(arrays["class_names"]))
    for part in ("train", "test"):
        _check_images(arrays[f"x_{part}"], f"x_{part} of {path}")
    n_train = len(arrays["x_train"])
    if name == "kmnist" and n_train < KMNIST_OFFICIAL:
        description += (
            f" This file has only {n_train:,} of the official {KMNIST_OFFICIAL:,} training images, so that accuracies "
            f"cannot be compared with published ones."
        )
    y_train, y_test = (_whole(arrays[f"y_{part}"], f"y_{part} of {path}") for part in ("train", "test"))
    try:
        return Dataset(name, arrays["x_train"], y_train, arrays["x_test"], y_test, names, description, licence)
    except ValueError as error:
        raise ValueError(f"{path} does not fit together: {error}") from None


def _check_images(images: Any, what: str) -> None:
    if images.dtype != np.uint8 or images.ndim != 3 or images.shape[1:] != (28, 28):
        raise ValueError(
            f"{what} has shape {images.shape} and dtype {images.dtype}; expected (images, 28, 28) of uint8"
        )


def _whole(labels: Any, what: str) -> Any:
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        raise ValueError(
            f"{what} has shape {labels.shape} and dtype {labels.dtype}; expected (images,) of whole numbers"
        )
    return labels.astype(np.int64)
