"""Small images of ten classes: scikit-learn's digits, MNIST, Fashion-MNIST and KMNIST."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.datasets.dataset import Dataset
from infopursuit.datasets.files import check_array, data_folder, find_file, not_found, read_arrays, read_names
from infopursuit.datasets.folds import SEED
from infopursuit.datasets.idx import IMAGES, LABELS, read_idx

DIGITS = tuple("0123456789")
GARMENTS = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
KUZUSHIJI = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")
IDX = {
    "x_train": ("train-images-idx3-ubyte", IMAGES),
    "y_train": ("train-labels-idx1-ubyte", LABELS),
    "x_test": ("t10k-images-idx3-ubyte", IMAGES),
    "y_test": ("t10k-labels-idx1-ubyte", LABELS),
}
"""The four official files and their magic numbers; all three sets call them the same."""
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
        images, labels, test_size=360, stratify=labels, random_state=SEED
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
    """MNIST: 60,000 and 10,000 digits of 28 x 28 pixels from 0 to 255.

    From the four official idx files in ``mnist`` (or ``MNIST/raw``) of the data folder, or else from ``mnist.npz``.
    """
    text = "Handwritten digits, 28 x 28 pixels from 0 to 255, in the official split."
    page = "https://ossci-datasets.s3.amazonaws.com/mnist/"
    return _from_files("mnist", "MNIST/raw", page, DIGITS, text, "CC BY-SA 3.0")


def fashion_mnist() -> Dataset:
    """Fashion-MNIST: 60,000 and 10,000 garments, sized like MNIST.

    From the four official idx files in ``fashion_mnist`` (or ``FashionMNIST/raw``) of the data folder, or else from
    ``fashion_mnist.npz``.
    """
    text = "Pictures of clothing, 28 x 28 pixels from 0 to 255, in the official split."
    page = "https://github.com/zalandoresearch/fashion-mnist"
    return _from_files("fashion_mnist", "FashionMNIST/raw", page, GARMENTS, text, "MIT")


def kmnist() -> Dataset:
    """KMNIST: old Japanese letters of 28 x 28 pixels from 0 to 255, officially 60,000 and 10,000.

    From the four official idx files in ``kmnist`` (or ``KMNIST/raw``) of the data folder, or else from ``kmnist.npz``.
    What is there is taken: the npz file that this project was tried on has only the first 7,011 training images. The
    description says so when there are fewer than 60,000.
    """
    text = "Old Japanese cursive letters (Kuzushiji), 28 x 28 pixels from 0 to 255."
    licence = 'CC BY-SA 4.0 ("KMNIST Dataset" created by CODH, adapted from "Kuzushiji Dataset" by NIJL and others)'
    return _from_files("kmnist", "KMNIST/raw", "http://codh.rois.ac.jp/kmnist/", KUZUSHIJI, text, licence)


def _from_files(
    name: str, raw: str, page: str, class_names: tuple[str, ...], description: str, licence: str
) -> Dataset:
    """A data set of 28 x 28 images: the official files if all four are there, else ``name.npz``."""
    looked_for = {key: find_file(file, (name, raw), (".gz", "")) for key, (file, _) in IDX.items()}
    found = {key: path for key, path in looked_for.items() if path is not None}
    npz = find_file(f"{name}.npz")
    if len(found) == len(IDX):
        arrays = {key: read_idx(path, IDX[key][1]) for key, path in found.items()}
        sources, whole = {key: str(path) for key, path in found.items()}, found["x_train"].parent
    elif npz is not None:
        arrays = read_arrays(npz, tuple(IDX), optional=("class_names",))
        sources, whole = {key: f"{key} of {npz}" for key in IDX}, npz
    else:
        raise _nothing_there(name, page, [file for key, (file, _) in IDX.items() if key not in found])
    if "class_names" in arrays:
        class_names = read_names(np.ravel(arrays["class_names"]), f"class_names of {whole}")
    for part in ("train", "test"):
        _check_images(arrays[f"x_{part}"], sources[f"x_{part}"])
    y_train, y_test = (
        check_array(arrays[key], (None,), "iu", sources[key]).astype(np.int64) for key in ("y_train", "y_test")
    )
    n_train = len(arrays["x_train"])
    if name == "kmnist" and n_train < KMNIST_OFFICIAL:
        description += (
            f" This copy has only {n_train:,} of the official {KMNIST_OFFICIAL:,} training images, so that accuracies "
            f"cannot be compared with published ones."
        )
    try:
        return Dataset(name, arrays["x_train"], y_train, arrays["x_test"], y_test, class_names, description, licence)
    except ValueError as error:
        raise ValueError(f"{whole} does not fit together: {error}") from None


def _nothing_there(name: str, page: str, missing: list[str]) -> FileNotFoundError:
    files = ", ".join(f"{file}.gz" for file in missing)
    few = f"Or put the official files into {data_folder() / name}"
    if len(missing) < len(IDX):
        few = f"Some of the official files are there; the rest goes into {data_folder() / name}"
    return not_found(
        f"{name}.npz",
        f"{few}: {files} (as they come, or unpacked). They are at {page}; "
        f"infopursuit.datasets.download({name!r}) fetches them.",
    )


def _check_images(images: Any, what: str) -> None:
    if images.dtype != np.uint8 or images.ndim != 3 or images.shape[1:] != (28, 28):
        raise ValueError(
            f"{what} has shape {images.shape} and dtype {images.dtype}; expected (images, 28, 28) of uint8"
        )
