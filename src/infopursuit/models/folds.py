"""Folds: which rows are held out together, so that nothing is tested on what it was trained on.

`assign_folds` is the only function of the package that deals rows into folds. The unit that it deals is a *group*: rows
that agree in every answer, or rows that the user says belong together, such as those of one patient.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable

import numpy as np

from infopursuit.support.types import FloatArray, IntArray, Observed

MIN_REPEATS = 20
"""Rows for each distinct input from which on repeated inputs may be separate cases, not copies."""
MAX_DISPERSION = 4.0
"""How much more unevenly copies may be spread over the distinct inputs of a class than if they had been drawn at
random. Rows that were all copied equally often have 0, rows that were drawn again and again about 1."""

__all__ = ["assign_folds", "distinct_inputs", "number_keys", "repeats_are_cases", "row_groups"]


def assign_folds(
    labels: IntArray,
    groups: IntArray,
    n_folds: int,
    *,
    rank: IntArray | None = None,
    seed: int = 0,
    spare: bool = False,
) -> IntArray:
    """Deal groups of rows into folds, with shares of the classes as equal as possible.

    Parameters
    ----------
    labels : (B,) array of int
        The class of each row. A group counts for the class of its first row.
    groups : (B,) array of int
        Rows with the same number go to the same fold.
    n_folds : int
        The number of folds.
    rank : (B,) array of int, optional
        Groups of equal size are dealt in the order of the smallest rank of their rows. By default
        their order is random.
    seed : int, default 0
        Seed of that random order.
    spare : bool, default False
        Never hold out a class that has a single group, so that each training part has every class.

    Returns
    -------
    (B,) array of int
        The fold of each row, -1 for rows that are never held out.

    Examples
    --------
    >>> labels = np.array([0, 0, 0, 0, 1, 1])
    >>> assign_folds(labels, np.array([7, 7, 8, 9, 5, 6]), 2).tolist()
    [0, 0, 1, 1, 0, 1]
    >>> assign_folds(np.array([0, 0, 1]), np.arange(3), 2, rank=np.arange(3), spare=True).tolist()
    [0, 1, -1]
    """
    _, first_row, group_of_row, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    group_of_row = group_of_row.ravel()
    label_of_group = labels[first_row]

    if rank is None:
        shuffled = np.random.default_rng(seed).permutation(len(sizes))
    else:
        rank_of_group = np.full(len(sizes), np.iinfo(np.int64).max)
        np.minimum.at(rank_of_group, group_of_row, rank)
        shuffled = np.argsort(rank_of_group, kind="stable")
    # Large groups are dealt first, so that small ones even out what they leave.
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]

    fold_of_group = np.full(len(sizes), -1, dtype=np.int64)
    size_of_fold = [0] * n_folds
    for label in np.unique(label_of_group):
        members = order[label_of_group[order] == label]
        if spare and len(members) < 2:
            continue

        class_size_of_fold = [0] * n_folds
        for group in members.tolist():
            loads = zip(class_size_of_fold, size_of_fold, range(n_folds), strict=True)
            fold = min(loads)[2]
            fold_of_group[group] = fold
            class_size_of_fold[fold] += int(sizes[group])
            size_of_fold[fold] += int(sizes[group])

    return fold_of_group[group_of_row]


def distinct_inputs(values: IntArray, numbers: FloatArray | None = None) -> IntArray:
    """Number the distinct inputs: rows that agree in every value and number get the same one.

    Examples
    --------
    >>> distinct_inputs(np.array([[0, 1], [1, 1], [0, 1]])).tolist()
    [0, 1, 0]
    """
    rows = np.ascontiguousarray(values)
    if numbers is None:
        return number_keys(row.tobytes() for row in rows)

    # 0.0 and -0.0 are the same number, and so are all NaN.
    normal = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    return number_keys(row.tobytes() + row_numbers.tobytes() for row, row_numbers in zip(rows, normal, strict=True))


def row_groups(observed: Observed, labels: IntArray) -> tuple[IntArray, bool]:
    """Number the groups of rows that are held out together: those that agree in every answer.

    One of them may be a copy of another. Where repeats are separate cases, see
    `repeats_are_cases`, each row is a group of its own.

    Parameters
    ----------
    observed : Observed
        The values and numbers of B rows.
    labels : (B,) array of int
        Their classes.

    Returns
    -------
    groups : (B,) array of int
        The group of each row.
    cases : bool
        Whether repeats are separate cases.
    """
    inputs = distinct_inputs(observed.values, observed.numbers)
    counts = np.ones(len(inputs), dtype=np.int64)
    if repeats_are_cases(inputs, labels, counts, observed.values, observed.numbers):
        return np.arange(len(inputs)), True
    return inputs, False


def repeats_are_cases(
    inputs: IntArray,
    labels: IntArray,
    counts: IntArray,
    values: IntArray,
    numbers: FloatArray | None = None,
) -> bool:
    """Whether rows that repeat each other are separate cases, and not copies.

    They are taken for cases where a table has few distinct inputs, at most one for `MIN_REPEATS` rows, and one of three
    is true. Equal inputs have different labels. The inputs are half of all that the values of its columns could make: a
    table of a few yes/no columns. Or some inputs of a class are repeated far more often than others, as where one
    combination of answers is typical of a class. A row that was copied keeps its label, rows of several numbers are few
    of those that could be, and all rows are copied about equally often.

    Parameters
    ----------
    inputs : (N,) array of int
        The number of each input, see `distinct_inputs`.
    labels : (N,) array of int
    counts : (N,) array of int
        How many rows of equal inputs and labels were joined to one of the N; 1 where none were.
    values : (N, A) array of int
    numbers : (N, A) array of float, optional
        The numbers behind the values.

    Examples
    --------
    >>> values = np.repeat([[0, 1], [1, 0], [1, 1]], 40, axis=0)
    >>> inputs = distinct_inputs(values)
    >>> repeats_are_cases(inputs, np.zeros(120), np.ones(120), values)
    True
    >>> repeats_are_cases(inputs[::4], np.zeros(30), np.ones(30), values[::4])
    False
    """
    n_distinct = len(np.unique(inputs))
    if counts.sum() < MIN_REPEATS * n_distinct:
        return False

    pairs, pair_of_row = np.unique(np.stack([inputs, labels]), axis=1, return_inverse=True)
    if pairs.shape[1] > n_distinct:
        return True

    columns = values if numbers is None else np.where(np.isnan(numbers), values, numbers)
    n_possible = math.prod(len(np.unique(column)) for column in columns.T)
    if 2 * n_distinct >= n_possible:
        return True

    rows_of_pair = np.bincount(pair_of_row.ravel(), weights=counts).astype(np.float64)
    return _dispersion(rows_of_pair, pairs[1]) > MAX_DISPERSION


def _dispersion(counts: FloatArray, labels: IntArray) -> float:
    """The variance of counts within each class, relative to their mean: about 1 where they are Poisson."""
    _, class_of_count = np.unique(labels, return_inverse=True)
    n_of_class = np.bincount(class_of_count)
    means = np.bincount(class_of_count, weights=counts) / n_of_class
    expected = means[class_of_count]
    degrees = max(1, len(counts) - len(n_of_class))
    return float(((counts - expected) ** 2 / expected).sum() / degrees)


def number_keys(keys: Iterable[Hashable]) -> IntArray:
    """Number keys in order of appearance, equal ones alike.

    >>> number_keys(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    number_of_key: dict[Hashable, int] = {}
    return np.array([number_of_key.setdefault(key, len(number_of_key)) for key in keys], dtype=np.int64)
