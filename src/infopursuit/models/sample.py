"""`Sample`: labelled variable values to learn from, distinct rows with weights."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.models.folds import assign_folds, distinct_inputs, repeats_are_cases
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Observed, Rows, Variables

MAX_WEIGHT = 1e12
"""A larger row weight would round away the others: a float64 has fifteen digits."""
NO_WEIGHT = 1e-9
"""Differences of weights up to this share of a weight are rounding errors."""


@dataclass(frozen=True, repr=False)
class Sample(Rows):
    """N distinct labelled rows, sorted by class and then by value.

    Parameters
    ----------
    variables : Variables
        How many values each of the A variables has.
    values : (N, A) array of int
        The value of each variable, -1 where it is unknown.
    labels : (N,) array of int
        The class of each row, 0 to C - 1.
    weights : (N,) array of float
        The weight of each row, positive.
    n_classes : int
        C.
    numbers : (N, A) array of float, optional
        The numbers behind the values, NaN where there is none. Rows that differ in a number are
        different rows.
    counts : (N,) array of int
        How many rows of the table were joined into each row.
    given_groups : (N,) array of int, optional
        Rows that are held out together, where the user said so.
    cases : bool, optional
        Whether rows that repeat each other are separate cases, and not copies; by default it is
        found out. Parts of a sample keep what is said of the whole.
    """

    variables: Variables
    values: IntArray
    labels: IntArray
    weights: FloatArray
    n_classes: int
    numbers: FloatArray | None = None
    counts: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    given_groups: IntArray | None = None
    cases: bool | None = None

    def __post_init__(self) -> None:
        if max(self.variables.sizes) < 2**15:  # 60,000 images of 784 pixels are 90 MB instead of 380
            object.__setattr__(self, "values", self.values.astype(np.int16))
        if len(self.counts) != len(self.labels):
            object.__setattr__(self, "counts", np.ones(len(self.labels), dtype=np.int64))

    @classmethod
    def of(
        cls,
        variables: Variables,
        values: Any,
        labels: Any,
        weights: Any = None,
        n_classes: int | None = None,
        numbers: Any = None,
        groups: IntArray | None = None,
        counts: IntArray | None = None,
        cases: bool | None = None,
    ) -> Sample:
        """Check rows, drop those of no weight, and join those that repeat each other.

        Parameters
        ----------
        variables, values, labels, weights, n_classes, numbers
            As the fields of the class, of B rows that may repeat each other. Each row weighs 1 by
            default.
        groups : (B,) array of int, optional
            Rows with the same number are held out together. By default these are rows that agree
            in every value and number.
        counts : (B,) array of int, optional
            How many rows each row stands for; 1 by default.
        cases : bool, optional
            As the field of the class.
        """
        values = variables.check(values)
        labels = _check_row_labels(labels, len(values))
        n_classes = n_classes or int(labels.max(initial=0)) + 1
        if (labels >= n_classes).any():
            raise ValueError(f"labels go up to {labels.max()}, but there are only {n_classes} classes")
        weights = _check_row_weights(weights, len(values))
        if numbers is not None and np.shape(numbers) != values.shape:
            raise ValueError(f"numbers has shape {np.shape(numbers)}; expected that of values, {values.shape}")

        used = weights > 0
        if not used.any():
            raise ValueError("there is nothing to learn from: no row has a positive weight")
        values = values[used]
        labels = labels[used].astype(np.int64)
        weights = weights[used]
        if numbers is not None:
            numbers = np.asarray(numbers, dtype=np.float64)[used]
        if groups is not None:
            groups = np.asarray(groups, dtype=np.int64)[used]
        row_counts = np.ones(len(values)) if counts is None else counts[used]

        packed = _packed_rows(variables, values, labels, n_classes, numbers, groups)
        _, first, distinct = np.unique(packed, return_index=True, return_inverse=True)
        distinct = distinct.ravel()
        return cls(
            variables,
            values[first],
            labels[first],
            np.bincount(distinct, weights=weights).astype(np.float64),
            n_classes,
            None if numbers is None else numbers[first],
            np.bincount(distinct, weights=row_counts).round().astype(np.int64),
            None if groups is None else groups[first],
            cases,
        )

    def __len__(self) -> int:
        return len(self.labels)

    def observed(self, rows: Any = slice(None)) -> Observed:
        """Values and numbers of some rows, as inputs of a pursuit."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return Observed(self.values[rows].astype(np.int64), numbers)

    def part(self, weights: FloatArray) -> Sample:
        """The rows that have some of these weights (N,), with them as their weights."""
        rows = weights > NO_WEIGHT * self.weights
        counts = np.ceil(self.counts[rows] * weights[rows] / self.weights[rows] - NO_WEIGHT).astype(np.int64)
        return replace(self.take(rows), weights=weights[rows], counts=counts)

    def without_numbers(self) -> Sample:
        """The rows as a finite model sees them: those that differ in numbers only are joined."""
        if self.numbers is None:
            return self
        return Sample.of(
            self.variables,
            self.values,
            self.labels,
            self.weights,
            self.n_classes,
            counts=self.counts,
            cases=self.cases,
        )

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

    @cached_property
    def groups(self) -> IntArray:
        """(N,) the group of each row: groups are held out as a whole. By default they are the distinct inputs."""
        if self.given_groups is not None:
            return self.given_groups
        return distinct_inputs(self.values, self.numbers)

    def groups_of(self, rows: IntArray) -> IntArray | None:
        """(R,) the groups of some rows (R,), which may be there several times; None where each is a separate case."""
        return None if self._repeats_are_cases else self.groups[rows]

    @property
    def n_groups(self) -> int:
        """How many groups of rows there are, or how many rows where their repeats are separate cases."""
        if self._repeats_are_cases:
            return int(self.counts.sum())
        return len(np.unique(self.groups))

    @cached_property
    def _repeats_are_cases(self) -> bool:
        """Whether rows that repeat each other are separate cases, and not copies."""
        if self.given_groups is not None:
            return False
        if self.cases is not None:
            return self.cases
        return repeats_are_cases(self.groups, self.labels, self.counts, self.values, self.numbers)

    def folds(self, n: int) -> FloatArray:
        """The weight of each row that each of n folds holds out.

        A group of rows, and with it all the weight of its rows, is in one fold: what was trained on
        is never tested on. Only where repeats are separate cases (`repeats_are_cases`), these are
        dealt one by one. A class that has a single group is never held out.

        Returns
        -------
        (n, N) array of float
        """
        held_out = np.zeros((n, len(self)))
        if self._repeats_are_cases:
            for rows in self._rows_of_class:
                held_out[:, rows] = self._dealt_copies(rows, n)
            return held_out

        fold = assign_folds(self.labels, self.groups, n, rank=self.keys, spare=True)
        rows = np.flatnonzero(fold >= 0)
        held_out[fold[rows], rows] = self.weights[rows]
        return held_out

    def _dealt_copies(self, rows: IntArray, n: int) -> FloatArray:
        """(n, rows) the weight that each fold holds out of rows of one class, their copies dealt one by one."""
        rows_by_key = np.argsort(self.keys[rows], kind="stable")
        counts = self.counts[rows][rows_by_key]
        if counts.sum() < 2:
            return np.zeros((n, len(rows)))

        # The first copy of a row goes to the fold after that of the last copy of the row before.
        first_fold = np.cumsum(counts) - counts
        turn = (np.arange(n)[:, None] - first_fold) % n  # (n, rows)
        copies = counts // n + (turn < counts % n)
        held_out = np.empty((n, len(rows)))
        held_out[:, rows_by_key] = copies * (self.weights[rows] / self.counts[rows])[rows_by_key]
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


def _check_row_labels(labels: Any, n_rows: int) -> IntArray:
    """The class of each row as whole numbers from 0 on."""
    labels = np.asarray(labels)
    if labels.shape != (n_rows,) or labels.dtype.kind not in "iu" or (labels < 0).any():
        raise ValueError(
            f"labels is {labels.dtype} of shape {labels.shape}; expected the class number of each of {n_rows} rows"
        )
    return np.asarray(labels)


def _check_row_weights(weights: Any, n_rows: int) -> FloatArray:
    """The weight of each row, 1 by default."""
    if weights is None:
        return np.ones(n_rows)

    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"weights must be {n_rows} numbers, none negative; got shape {weights.shape}")
    if weights.max(initial=0.0) > MAX_WEIGHT:
        raise ValueError(f"weights has {weights.max():g}, beside which others are rounded away; max {MAX_WEIGHT:g}")
    return np.asarray(weights)


def _packed_rows(
    variables: Variables,
    values: IntArray,
    labels: IntArray,
    n_classes: int,
    numbers: FloatArray | None,
    groups: IntArray | None,
) -> Any:
    """(B,) one void scalar for each row, whose bytes sort like label, values, numbers and group."""
    # Big-endian and shifted by one, the bytes of whole numbers sort like the numbers.
    number_type = np.dtype(">i2" if max(n_classes, *variables.sizes) < 2**15 - 1 else ">i4")
    rows = np.empty((len(values), len(variables) + 1), dtype=number_type)
    rows[:, 0] = labels + 1
    rows[:, 1:] = values + 1

    columns = [rows.view(np.uint8)]
    if numbers is not None:
        columns.append(_sortable(numbers).view(np.uint8))
    if groups is not None:
        columns.append(groups.astype(">i8")[:, None].view(np.uint8))
    packed = np.ascontiguousarray(np.concatenate(columns, axis=1))
    return packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]


def _sortable(numbers: FloatArray) -> Any:
    """Numbers as big-endian integers whose bytes sort like the numbers, NaN last; the same for 0.0 and -0.0."""
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(2**63)).astype(">u8")
