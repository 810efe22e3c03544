"""The data sets by name: scikit-learn's digits and tumours, and MNIST, Fashion-MNIST and KMNIST from npz files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.datasets.dataset import SPLIT_SEED, Dataset, fold_numbers, parts
from infopursuit.datasets.tables import read_arrays

VARIABLE = "INFOPURSUIT_DATA"
"""The environment variable that names the data folder."""
KEYS = ("x_train", "y_train", "x_test", "y_test")
DIGITS = tuple("0123456789")
KMNIST_OFFICIAL = 60_000


# ---- files ----------------------------------------------------------------------------------------------------------


def data_folder() -> Path:
    """The folder that ``INFOPURSUIT_DATA`` names, or else ``infopursuit`` in the user's cache."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin" and not os.environ.get("XDG_CACHE_HOME"):
        cache = "~/Library/Caches"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "infopursuit"


def find_file(name: str, places: Sequence[str] = ("",), endings: Sequence[str] = ("",)) -> Path | None:
    """The first that exists of a file's places under the data folder; endings such as ".gz" are tried in each."""
    candidates = (data_folder() / place / f"{name}{ending}" for place in places for ending in endings)
    return next((path for path in candidates if path.is_file()), None)


def not_found(name: str, advice: str) -> FileNotFoundError:
    """The error for a missing file: which one, where it was looked for, and where it can be had (``advice``)."""
    folder = data_folder()
    where = f"the folder that {VARIABLE} names" if os.environ.get(VARIABLE) else "the user's cache"
    missing = "" if folder.is_dir() else ", which does not exist"
    return FileNotFoundError(
        f"{name} is not in {folder} ({where}{missing}). Put the file there, or set {VARIABLE} to the folder that "
        f"holds it. {advice} The data sets 'digits' and 'breast_cancer' need no file"
    )


def read_names(names: Any, what: str) -> tuple[str, ...]:
    """The texts of an array, with single blanks."""
    if names.dtype.kind != "U" or names.ndim != 1:
        raise ValueError(f"{what} has shape {names.shape} and dtype {names.dtype}; expected a list of texts")
    return tuple(" ".join(str(name).split()) for name in names)


def check_array(array: Any, shape: Sequence[int | None], kinds: str, what: str) -> Any:
    """The array, or an error; None in the shape stands for any length, kinds are numpy's letters such as "iu"."""
    fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    if not fits or array.dtype.kind not in kinds:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        kind = "numbers" if "f" in kinds else "whole numbers"
        raise ValueError(f"{what} has shape {array.shape} and dtype {array.dtype}; expected ({wanted}) of {kind}")
    return array


# ---- with scikit-learn ----------------------------------------------------------------------------------------------


def breast_cancer() -> Dataset:
    """Breast Cancer Wisconsin (Diagnostic): 569 tumours, 30 measurements; comes with scikit-learn.

    >>> breast_cancer().class_names
    ('malignant', 'benign')
    """
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    x, y = np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target, dtype=np.int64)
    return Dataset(
        "breast_cancer",
        **parts(fold_numbers(y, seed=SPLIT_SEED) == 0, x=x, y=y),
        class_names=tuple(str(name) for name in bunch.target_names),
        description="30 measurements of cell nuclei in breast tumours, as scikit-learn carries them: 569 tumours. The "
        "split is fixed, stratified and random.",
        licence="CC BY 4.0 (UCI, Breast Cancer Wisconsin (Diagnostic))",
        feature_names=tuple(str(name) for name in bunch.feature_names),
    )


def digits() -> Dataset:
    """1,797 digits of 8 x 8 pixels from 0 to 16; comes with scikit-learn. A fixed stratified fifth is to test on."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    images, labels = bunch.images.astype(np.uint8), bunch.target.astype(np.int64)
    split = train_test_split(images, labels, test_size=360, stratify=labels, random_state=SPLIT_SEED)
    x_train, x_test, y_train, y_test = split
    description = (
        "Handwritten digits, 8 x 8 pixels from 0 to 16, as scikit-learn carries them: 1,797 images, the test part of "
        "the UCI set. The split is fixed, stratified and random: the same 13 hands wrote both parts."
    )
    licence = "CC BY 4.0 (UCI, Optical Recognition of Handwritten Digits)"
    return Dataset("digits", x_train, y_train, x_test, y_test, DIGITS, description, licence)


# ---- images of 28 x 28 pixels ---------------------------------------------------------------------------------------


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


def mnist() -> Dataset:
    """MNIST: 60,000 and 10,000 digits of 28 x 28 pixels from 0 to 255, from ``mnist.npz`` of the data folder."""
    return _from_npz("mnist")


def fashion_mnist() -> Dataset:
    """Fashion-MNIST: 60,000 and 10,000 garments, sized like MNIST, from ``fashion_mnist.npz`` of the data folder."""
    return _from_npz("fashion_mnist")


def kmnist() -> Dataset:
    """KMNIST: old Japanese letters of 28 x 28 pixels, officially 60,000 and 10,000, from ``kmnist.npz``.

    The description says so where there are fewer.
    """
    return _from_npz("kmnist")


def _from_npz(name: str) -> Dataset:
    path = find_file(f"{name}.npz")
    if path is None:
        page = IMAGE_SETS[name][3]
        raise not_found(f"{name}.npz", f"It holds the arrays {', '.join(KEYS)}; the images are at {page}.")
    arrays = read_arrays(path, KEYS, optional=("class_names",))
    return image_set(name, arrays, {key: f"{key} of {path}" for key in KEYS}, path)


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


# ---- by name --------------------------------------------------------------------------------------------------------


LOADERS: Mapping[str, Callable[..., Dataset]] = {
    loader.__name__: loader for loader in (breast_cancer, digits, fashion_mnist, kmnist, mnist)
}
NAMES = tuple(LOADERS)
"""What `load` knows."""
ALIASES = {"fashion": "fashion_mnist", "fashionmnist": "fashion_mnist", "kuzushiji_mnist": "kmnist"}


def load(name: str, **options: Any) -> Dataset:
    """A data set by its name; ``fashion-mnist``, ``Fashion_MNIST`` and ``fashion`` are the same one."""
    known = known_name(name)
    if known is None:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(NAMES)}")
    return LOADERS[known](**options)


def known_name(name: Any, loaders: Mapping[str, Any] = LOADERS, aliases: Mapping[str, str] = ALIASES) -> str | None:
    """The name as `NAMES` has it; None where there is no such data set."""
    plain = str(name).strip().lower().replace("-", "_").replace(" ", "_")
    known = aliases.get(plain, plain)
    return known if known in loaders else None
