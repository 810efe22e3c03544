"""Cutting data into parts: every class in its share in each, and what belongs together in one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from infopursuit.datasets.dataset import Dataset
from infopursuit.types import IntArray

SEED = 2022
"""Of the splits that data sets without an official one come with."""


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
    _, first, group, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    if n != int(n) or not 2 <= n <= len(sizes):
        raise ValueError(f"n is {n!r}; give a whole number from 2 to {len(sizes)}, the number of groups")
    # large groups first, the small ones even out what they leave; equal ones in random order
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    fold_of = np.empty(len(sizes), dtype=np.int64)
    total = [0] * n
    for label in np.unique(labels):
        # a group with several labels counts for that of its first input
        here = [0] * n
        for g in order[labels[first[order]] == label].tolist():
            fold = min(range(n), key=lambda f: (here[f], total[f]))
            fold_of[g] = fold
            here[fold] += int(sizes[g])
            total[fold] += int(sizes[g])
    return fold_of[group]


def folds(data: Dataset, n: int = 5, *, seed: int = 0) -> Iterator[Dataset]:
    """The data set n times, each time with another n-th of all its inputs to test on.

    Both parts are put together first; where there is an official split, results on folds cannot be compared with
    published ones. The same data, n and seed give the same folds, whoever asks.

    >>> from infopursuit.datasets import breast_cancer
    >>> next(folds(breast_cancer()))
    <breast_cancer: 455 inputs of 30 to learn from, 114 to test on, 2 classes>
    """
    pooled = {
        what: np.concatenate([getattr(data, f"{what}_train"), getattr(data, f"{what}_test")])
        for what in ("x", "y", "groups", "ids")
        if getattr(data, f"{what}_train") is not None
    }
    numbers = fold_numbers(pooled["y"], pooled.get("groups"), n=n, seed=seed)
    return (replace(data, **parts(numbers == fold, **pooled)) for fold in range(n))


def parts(is_test: Any, **columns: Any) -> dict[str, Any]:
    """``x=x, y=y`` as ``x_train``, ``x_test``, ``y_train``, ``y_test``: the fields of a `Dataset`."""
    masks = {"train": ~is_test, "test": is_test}
    return {f"{what}_{part}": column[mask] for what, column in columns.items() for part, mask in masks.items()}


def group_numbers(keys: Iterable[Hashable]) -> IntArray:
    """(B,) the same number for equal keys, such as texts.

    >>> group_numbers(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)
