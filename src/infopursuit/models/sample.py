"""`Sample`: labelled variable values to learn from, distinct rows with weights."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.types import UNKNOWN, FloatArray, IntArray, Observed, Rows, Variables

MAX_WEIGHT = 1e12
"""A larger row weight would round away the others: a float64 has fifteen digits."""


@dataclass(frozen=True, repr=False)
class Sample(Rows):
    """N distinct labelled rows, sorted by class and then by value.

    values: (N, A), -1 for unknown. labels: (N,) in 0..C-1. weights: (N,) positive. numbers: (N, A) the numbers behind
    the values, NaN where there is none; None where they are not used, and rows that differ in nothing else are one.
    """

    variables: Variables
    values: IntArray
    labels: IntArray
    weights: FloatArray
    n_classes: int
    numbers: FloatArray | None = None

    def __post_init__(self) -> None:
        if max(self.variables.sizes) < 2**15:  # 60,000 images of 784 pixels are 90 MB instead of 380
            object.__setattr__(self, "values", self.values.astype(np.int16))

    @classmethod
    def of(
        cls,
        variables: Variables,
        values: Any,
        labels: Any,
        weights: Any = None,
        n_classes: int | None = None,
        numbers: Any = None,
    ) -> Sample:
        """Check, drop rows of no weight, and join repeated rows."""
        values = variables.check(values)
        labels = np.asarray(labels)
        if labels.shape != (len(values),) or labels.dtype.kind not in "iu" or (labels < 0).any():
            wrong = f"labels is {labels.dtype} of shape {labels.shape}"
            raise ValueError(f"{wrong}; expected the class number of each of {len(values)} rows")
        n_classes = n_classes or int(labels.max(initial=0)) + 1
        if (labels >= n_classes).any():
            raise ValueError(f"labels go up to {labels.max()}, but there are only {n_classes} classes")
        weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(values),) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(f"weights must be {len(values)} numbers, none negative; got shape {weights.shape}")
        if weights.max(initial=0.0) > MAX_WEIGHT:
            raise ValueError(f"weights has {weights.max():g}, beside which others are rounded away; max {MAX_WEIGHT:g}")
        if numbers is not None and np.shape(numbers) != values.shape:
            raise ValueError(f"numbers has shape {np.shape(numbers)}; expected that of values, {values.shape}")
        used = weights > 0
        values, labels, weights = values[used], labels[used].astype(np.int64), weights[used]
        if not len(values):
            raise ValueError("there is nothing to learn from: no row has a positive weight")
        # one void scalar for a row sorts whole rows at once; big-endian and shifted, its bytes sort like numbers
        number = np.dtype(">i2" if max(n_classes, *variables.sizes) < 2**15 - 1 else ">i4")
        rows = np.empty((len(values), len(variables) + 1), dtype=number)
        rows[:, 0], rows[:, 1:] = labels + 1, values + 1
        if numbers is not None:
            numbers = np.asarray(numbers, dtype=np.float64)[used]
            rows = np.concatenate([rows.view(np.uint8), _sortable(numbers).view(np.uint8)], axis=1)
        packed = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
        _, first, which = np.unique(packed, return_index=True, return_inverse=True)
        total = np.bincount(which.ravel(), weights=weights).astype(np.float64)
        kept = None if numbers is None else numbers[first]
        return cls(variables, values[first], labels[first], total, n_classes, kept)

    def __len__(self) -> int:
        return len(self.labels)

    def observed(self, rows: Any = slice(None)) -> Observed:
        """Values and numbers of some rows, as inputs of a pursuit."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return Observed(self.values[rows].astype(np.int64), numbers)

    @cached_property
    def _rows_of_class(self) -> list[IntArray]:
        """(C,) the rows of each class, by one sort: to look through all rows for each class is C times as much."""
        ends = np.cumsum(np.bincount(self.labels, minlength=self.n_classes))
        return np.split(np.argsort(self.labels, kind="stable"), ends[:-1])

    @cached_property
    def class_weights(self) -> FloatArray:
        """(C,) the weight of each class."""
        return np.bincount(self.labels, weights=self.weights, minlength=self.n_classes).astype(np.float64)

    @cached_property
    def class_prior(self) -> FloatArray:
        """(C,) class frequencies, smoothed by half a row for each class that occurs nowhere or rarely."""
        total = self.class_weights + 0.5
        return np.asarray(total / total.sum())

    @cached_property
    def keys(self) -> IntArray:
        """(N,) a random number for each row that depends on its content alone, not on the order of rows."""
        rows = np.concatenate([self.labels[:, None], self.values], axis=1).astype("<i4")
        if self.numbers is not None:
            rows = np.concatenate([rows.view(np.uint8), _sortable(self.numbers).view(np.uint8)], axis=1)
        digests = (hashlib.blake2b(row.tobytes(), digest_size=7).digest() for row in rows)
        return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.int64)

    def folds(self, n: int) -> FloatArray:
        """(n, N) the weight of each row that each fold holds out; nothing of classes too small to spare any.

        A row of weight w stands for w rows, which go to one fold after the other. What is frequent is then in the
        training part and in the held-out part alike, as it will be in use. Classes are spread evenly.
        """
        held_out = np.zeros((n, len(self)))
        for rows in self._rows_of_class:
            rows = rows[np.argsort(self.keys[rows], kind="stable")]
            weights = self.weights[rows].round(9)  # sums of weights in another order differ in the last digit
            copies, whole = np.ceil(weights), np.floor(weights)
            if copies.sum() < max(n, 2):
                continue
            turn = (np.arange(n)[:, None] - (np.cumsum(copies) - copies)) % n  # (n, rows) folds after the first copy's
            held_out[:, rows] = whole // n + (turn < whole % n) + (turn == whole % n) * (weights - whole)
        return held_out

    def value_weights(self) -> FloatArray:
        """(C, L) the weight of each variable value in each class; unknown values count nowhere."""
        table = np.zeros((self.n_classes, self.variables.n_slots))
        for c, rows in enumerate(self._rows_of_class):
            slots = self.values[rows] + self.variables.offsets[:-1]
            known = self.values[rows] != UNKNOWN
            weights = np.broadcast_to(self.weights[rows, None], slots.shape)
            table[c] = np.bincount(slots[known], weights=weights[known], minlength=self.variables.n_slots)
        return table

    def marginals(self, smoothing: float = 1.0) -> FloatArray:
        """(C, L) P(value | class), drawn towards all classes' as if ``smoothing`` more rows had been seen."""
        counts = self.value_weights()
        starts, sizes = self.variables.offsets[:-1], np.array(self.variables.sizes)
        everywhere = counts.sum(axis=0)
        total = np.repeat(np.add.reduceat(everywhere, starts), sizes)
        overall = (everywhere + 0.5) / (total + 0.5 * np.repeat(sizes, sizes))
        per_class = np.repeat(np.add.reduceat(counts, starts, axis=1), sizes, axis=1)
        return np.asarray((counts + smoothing * overall) / (per_class + smoothing))


def _sortable(numbers: FloatArray) -> Any:
    """Numbers as big-endian integers whose bytes sort like the numbers, NaN last; the same for 0.0 and -0.0."""
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(2**63)).astype(">u8")
