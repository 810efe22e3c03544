"""Tables of counts, and what they tell: information, what is right when each row is left out, pairs of subjects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from infopursuit.types import UNKNOWN, FloatArray, IntArray


def by_class(column: Any, labels: IntArray, n_classes: int) -> FloatArray:
    """(V, C) how often each known answer and class occur together."""
    known = column != UNKNOWN
    cells = column[known].astype(np.int64) * n_classes + labels[known]
    size = int(column.max(initial=0)) + 1
    return np.bincount(cells, minlength=size * n_classes).reshape(size, n_classes).astype(np.float64)


def entropy(counts: Any) -> float:
    """Nats of the shares of some counts.

    >>> round(entropy([1, 1]), 3)
    0.693
    """
    counts = np.asarray(counts, dtype=np.float64).ravel()
    total = counts.sum()
    return float((np.log(total) * total - plogp(counts).sum()) / total) if total else 0.0


def plogp(counts: Any) -> FloatArray:
    """n log n of each, 0 for 0."""
    counts = np.asarray(counts, dtype=np.float64)
    found: FloatArray = counts * np.log(np.maximum(counts, 1.0))
    return found


def information(table: FloatArray) -> float:
    """Nats that the rows and columns of a table of counts tell about each other.

    >>> information(np.array([[2.0, 0.0], [0.0, 2.0]])).__round__(3)
    0.693
    """
    found = entropy(table.sum(axis=1)) + entropy(table.sum(axis=0)) - entropy(table)
    return max(found, 0.0)


def left_out_right(table: FloatArray) -> float:
    """The share of rows named right by the most frequent class of the other rows with the same answer.

    table: (V, C). An answer that occurs once tells nothing; its row is then judged by the most frequent class of all.

    >>> left_out_right(np.array([[5.0, 0.0], [0.0, 5.0]])), left_out_right(np.eye(4))
    (1.0, 0.0)
    """
    total = table.sum()
    if not total:
        return 0.0
    ordered = np.sort(table, axis=1)
    top, second = ordered[:, -1], ordered[:, -2]
    n = table.sum(axis=1)
    right = np.where(top - 1 > second, top, np.where((top - 1 == second) & (n > 1), top / 2, 0.0))
    usual = int(table.sum(axis=0).argmax())
    right = np.where(n == 1, (table[:, usual] == 1) & (table.sum(axis=0)[usual] > 1), right)
    return float(right.sum() / total)


def skill(accuracy: float, usual: float) -> float:
    """How much of what is wrong when the most frequent class is always named is put right.

    >>> skill(0.9, 0.5)
    0.8
    """
    return 1 - (1 - accuracy) / max(1 - usual, 1e-12)


def coarse(column: Any, cells: int, *, ordered: bool) -> Any:
    """The answers in at most ``cells`` groups: neighbours together where there is an order, else the rarest together.

    >>> coarse(np.array([0, 0, 1, 1, 2, 2, 3, 3]), 2, ordered=True).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    counts = np.bincount(column[column != UNKNOWN].astype(np.int64))
    if len(counts) <= cells:
        return column
    if ordered:
        below = np.cumsum(counts) - counts / 2
        group = np.minimum((below * cells / counts.sum()).astype(np.int64), cells - 1)
    else:
        place = np.empty(len(counts), dtype=np.int64)
        place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
        group = np.minimum(place, cells - 1)
    return np.where(column == UNKNOWN, UNKNOWN, group[np.maximum(column, 0)])


def one_hot(codes: Any, cells: int) -> Any:
    """(B, S * cells) in single precision; zeros where unknown. Counts up to 2**24 are exact."""
    n_rows, n_subjects = codes.shape
    found = np.zeros((n_rows, n_subjects * cells), dtype=np.float32)
    rows, columns = np.nonzero(codes != UNKNOWN)
    found[rows, columns * cells + codes[rows, columns]] = 1.0
    return found


def pair_counts(
    codes: Any, labels: IntArray | None, n_classes: int, cells: int, first: Sequence[int], most: int = 20_000_000
) -> Iterator[tuple[Sequence[int], Any]]:
    """How often answers of two subjects, and classes, occur together, in blocks that fit into memory.

    codes: (B, S) with answers below ``cells``. Gives some of the ``first`` subjects and (f, cells, S, cells, C) counts;
    labels None counts without classes (C is 1).
    """
    n_subjects = codes.shape[1]
    if labels is not None:
        order = np.argsort(labels, kind="stable")
        codes, ends = codes[order], np.searchsorted(labels[order], np.arange(n_classes + 1))
    else:
        n_classes, ends = 1, np.array([0, len(codes)])
    hot = one_hot(codes, cells)
    step = max(1, most // (cells * cells * n_subjects * n_classes))
    for start in range(0, len(first), step):
        block = first[start : start + step]
        columns = (np.asarray(block)[:, None] * cells + np.arange(cells)).ravel()
        found = np.empty((len(columns), n_subjects * cells, n_classes), dtype=np.float32)
        for c in range(n_classes):
            part = hot[ends[c] : ends[c + 1]]
            found[:, :, c] = part[:, columns].T @ part
        yield block, found.reshape(len(block), cells, n_subjects, cells, n_classes)
