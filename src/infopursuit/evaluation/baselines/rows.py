"""The rows that a baseline is given: checked, and a part of them held out to choose on."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.queries.queryset import QuerySet
from infopursuit.types import IntArray

MOST_HELD_OUT = 5000
"""More rows than this tell no more about a choice that matters."""
AT_A_TIME = 2000
"""Rows that are checked, encoded or classified at a time."""


def check_rows(query_set: QuerySet, values: Any, labels: Any, which: str) -> tuple[Any, Any]:
    """Atom values (N, A), in the type that they came in, and labels (N,); refused where they do not fit."""
    values, labels = np.asarray(values), np.asarray(labels)
    if labels.ndim != 1 or len(values) != len(labels):
        raise ValueError(
            f"labels_{which} has shape {labels.shape} and values_{which} {values.shape}; give one label for each row"
        )
    if not len(labels):
        raise ValueError(f"values_{which} has no rows; give at least one")
    for start in range(0, len(values), AT_A_TIME):  # a few at a time: the check makes wide integers of narrow ones
        query_set.atoms.check(values[start : start + AT_A_TIME], f"values_{which}")
    return values, labels


def check_training_rows(query_set: QuerySet, values: Any, labels: Any) -> tuple[Any, Any, IntArray]:
    """Values (N, A), the classes (C,), and the class of each row (N,) as a number."""
    values, labels = check_rows(query_set, values, labels, "train")
    classes, targets = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"labels_train holds the one class {classes.tolist()[0]!r}; give rows of two classes or more")
    return values, classes, targets.astype(np.int64)


def hold_out(targets: IntArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Rows to learn from and rows to choose on, the same share of each class; a class of one row is only learnt from.

    The same targets, share and seed give the same rows, so that choices of different baselines are made on the same.

    >>> learn, choose = hold_out(np.array([0] * 10 + [1] * 20), share=0.1, seed=0)
    >>> len(learn), len(choose), (choose < 10).sum().item()
    (27, 3, 1)
    """
    if not 0 < share < 1:
        raise ValueError(f"validation={share} must be a share of the rows above 0 and below 1")
    share = min(share, MOST_HELD_OUT / len(targets))
    generator = np.random.default_rng((seed, 0))
    picked = []
    for target in np.unique(targets):
        rows = generator.permutation(np.flatnonzero(targets == target))
        picked.append(rows[: min(max(round(share * len(rows)), 1), len(rows) - 1)])
    chosen = np.sort(np.concatenate(picked))
    if not len(chosen):
        raise ValueError("labels_train has one row of each class; give two rows or more, to choose on some")
    return np.setdiff1d(np.arange(len(targets)), chosen), chosen
