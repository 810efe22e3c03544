"""Data sets: inputs and labels to learn from and to test on, two of them by name; and cutting data into folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.models.folds import assign_folds
from infopursuit.support.checks import whole_number
from infopursuit.support.types import IntArray

SPLIT_SEED = 2022
"""Of the splits of data sets that come without an official one."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Inputs and labels in two parts that have nothing in common.

    x_train, x_test: (B, ...) inputs, such as images (B, rows, columns) or texts (B,). y_train, y_test: (B,) class
    indices 0 to C - 1. class_names: (C,) what the classes are called. description: what it is and what to beware of.
    licence: its terms. feature_names: what the columns are called, where there are columns.

    >>> import numpy as np
    >>> Dataset("coins", np.zeros((3, 2)), np.array([0, 1, 0]), np.zeros((1, 2)), np.array([1]), ("heads", "tails"))
    <coins: 3 inputs of 2 to learn from, 1 to test on, 2 classes>
    """

    name: str
    x_train: Any
    y_train: Any
    x_test: Any
    y_test: Any
    class_names: tuple[str, ...]
    description: str = ""
    licence: str = ""
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for part in ("train", "test"):
            x, y = getattr(self, f"x_{part}"), np.asarray(getattr(self, f"y_{part}"))
            refuse(len(x) != len(y), f"x_{part} has {len(x)} inputs, but y_{part} has {len(y)} labels")
            refuse(not len(x), f"x_{part} is empty")
            found = f"y_{part} has shape {y.shape} and dtype {y.dtype}"
            refuse(y.ndim != 1 or y.dtype.kind not in "iu", f"{found}; expected whole numbers, one for each input")
            found = f"y_{part} has labels from {y.min()} to {y.max()}"
            refuse(y.min() < 0 or y.max() >= self.n_classes, f"{found}, but there are {self.n_classes} classes")
        train, test = self.x_train.shape[1:], self.x_test.shape[1:]
        refuse(train != test, f"x_train holds inputs of shape {train}, x_test of {test}")
        if self.feature_names is not None:
            n = len(self.feature_names)
            refuse(train != (n,), f"feature_names names {n} columns, but inputs have shape {train}")

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.class_names)

    def __repr__(self) -> str:
        shape = self.x_train.shape[1:]
        what = "images" if len(shape) == 2 else "inputs"
        if shape:
            what += f" of {' x '.join(str(n) for n in shape)}"
        elif self.x_train.dtype.kind in "OU":
            what = "texts"
        return (
            f"<{self.name}: {len(self.x_train)} {what} to learn from, {len(self.x_test)} to test on, "
            f"{self.n_classes} classes>"
        )


def refuse(wrong: Any, text: str) -> None:
    """Raise an error where something is wrong."""
    if wrong:
        raise ValueError(text)


def fold_numbers(labels: Any, groups: Any = None, *, n: int = 5, seed: int = 0) -> IntArray:
    """(B,) which of n folds each input falls into: shares of the classes as equal as can be, groups undivided.

    The same labels, groups, n and seed give the same folds, so that two methods can be compared fold by fold.

    >>> fold_numbers([0, 0, 0, 0, 1, 1], groups=[7, 7, 8, 9, 5, 6], n=2).tolist()
    [0, 0, 1, 1, 0, 1]
    """
    labels = np.asarray(labels)
    groups = np.arange(len(labels)) if groups is None else np.asarray(groups)
    if labels.ndim != 1 or groups.shape != labels.shape:
        raise ValueError(f"labels have shape {labels.shape} and groups {groups.shape}; expected one of each per input")
    n_groups = len(np.unique(groups))
    whole_number(n, "n", 2, n_groups)  # at most as many as there are groups
    return assign_folds(labels, groups, n, seed=seed)


def parts(is_test: Any, **columns: Any) -> dict[str, Any]:
    """``x=x, y=y`` as ``x_train``, ``x_test``, ``y_train``, ``y_test``: the fields of a `Dataset`."""
    masks = {"train": ~is_test, "test": is_test}
    return {f"{what}_{part}": column[mask] for what, column in columns.items() for part, mask in masks.items()}


# ---- by name --------------------------------------------------------------------------------------------------------


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
    return Dataset("digits", x_train, y_train, x_test, y_test, tuple("0123456789"), description, licence)


LOADERS: Mapping[str, Callable[[], Dataset]] = {"breast_cancer": breast_cancer, "digits": digits}
NAMES = tuple(LOADERS)
"""What `load` knows."""


def is_dataset(name: str) -> bool:
    """Whether `load` knows the name."""
    return name.replace("-", "_") in LOADERS


def load(name: str) -> Dataset:
    """A data set by its name.

    >>> load("digits")
    <digits: 1437 images of 8 x 8 to learn from, 360 to test on, 10 classes>
    """
    if not is_dataset(name):
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(NAMES)}")
    return LOADERS[name.replace("-", "_")]()
