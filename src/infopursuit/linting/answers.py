"""What the linter looks at: the answers of some rows, one column for each subject that queries are about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from infopursuit.datasets.dataset import group_numbers
from infopursuit.linting.finding import count
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, IntArray

MOST_ROWS = 200_000
"""Rows whose patterns are compared; more are drawn from."""
MOST_STUDIED, MOST_CELLS = 20_000, 50_000_000
"""Rows whose answers are counted, and answers in all; fewer rows where there are many queries."""
AT_A_TIME = 5_000
"""Rows that are observed at a time."""
FEW = 3
"""With fewer rows than this for a label, on average, a table states facts about labels (as in `fit_table`)."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What one or several queries are about: a column with its thresholds, a word, a patch.

    size: how many answers there are. ordered: whether a higher answer means more. queries: their indices. table: (V,)
    the answer of each value of the atom; None where a query is about several atoms.
    """

    name: str
    size: int
    ordered: bool
    queries: tuple[int, ...]
    table: Any = None


@dataclass(frozen=True, eq=False)
class Answers:
    """Rows with labels.

    values: (N, A) atoms of all rows that are compared. y: (N,) their classes. n_rows: how many rows were given.
    groups: (N,) rows that belong together have the same number, or None. rows: (N,) where they stand in what was given.
    studied: (B,) positions among them of those whose answers are counted. codes: (B, S) their answers about each
    subject, -1 for unknown.
    """

    queries: QuerySet
    classes: Any
    values: Any
    y: IntArray
    groups: IntArray | None
    rows: IntArray
    n_rows: int
    subjects: tuple[Subject, ...]
    studied: IntArray
    codes: Any

    @cached_property
    def labels(self) -> IntArray:
        """(B,) the class of each studied row."""
        return self.y[self.studied]

    @cached_property
    def class_counts(self) -> IntArray:
        """(C,) studied rows of each class."""
        return np.bincount(self.labels, minlength=len(self.classes))

    @cached_property
    def patterns(self) -> IntArray:
        """(N,) the same number for rows with the same answers to all queries, as far as queries tell."""
        if self.queries.width > 1:
            kept = self.values[:, np.unique(self.queries.query_atoms[self.queries.query_atoms >= 0])]
        else:
            kept = _codes(self.values, self.queries, self.subjects)
        return group_numbers(row.tobytes() for row in np.ascontiguousarray(kept))

    @property
    def is_facts(self) -> bool:
        """Whether there are too few rows of a class for anything to be counted within it."""
        return len(self.y) < FEW * len(self.classes)

    def once(self, rows: IntArray) -> Answers:
        """The same with each studied row counted once. rows: (N,) the same number for equal rows."""
        keys = rows[self.studied] * len(self.classes) + self.labels
        first = np.sort(np.unique(keys, return_index=True)[1])
        return replace(self, studied=self.studied[first], codes=self.codes[first])

    def without(self, names: Collection[str]) -> Answers:
        """The same without some subjects, unless these are all."""
        kept = [s for s, subject in enumerate(self.subjects) if subject.name not in names]
        if not kept or len(kept) == len(self.subjects):
            return self
        return replace(self, subjects=tuple(self.subjects[s] for s in kept), codes=self.codes[:, kept])

    def many(self, number: int) -> str:
        """A number of subjects in words."""
        return count(number, "column") if self.queries.kind == "columns" else count(number, "query", "queries")

    def names(self, subjects: Sequence[int]) -> tuple[str, ...]:
        """Names of subjects."""
        return tuple(self.subjects[s].name for s in subjects)

    def query_names(self, subjects: Sequence[int]) -> tuple[str, ...]:
        """Names of all queries about some subjects."""
        return tuple(self.queries.names[q] for s in subjects for q in self.subjects[s].queries)

    def known(self, subject: int) -> Any:
        """(B,) where the answer is known."""
        return self.codes[:, subject] != UNKNOWN


def read_answers(queries: QuerySet, X: Any, y: Any, groups: Any = None, *, seed: int = 0) -> Answers:
    """Observe the rows, a few at a time; more than can be looked at are drawn from."""
    n = n_inputs(X)
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}; expected ({n},), one label for each of the {n} inputs in X")
    if n < 2:
        raise ValueError(f"X has {n} inputs; give two or more")
    if groups is not None and np.shape(groups) != (n,):
        raise ValueError(f"groups has shape {np.shape(groups)}; expected ({n},), one for each input")
    try:
        classes, labels = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError("y holds labels of several types; give all of them as texts or all as numbers") from None
    if len(classes) < 2:
        raise ValueError(f"y has one label only, {classes.tolist()[0]!r}; give rows of two classes or more")
    rng = np.random.default_rng(seed)
    rows = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
    kept = np.int16 if max(queries.atoms.sizes) < 2**15 else np.int32
    values = np.concatenate(
        [
            queries.observe(take(X, rows[start : start + AT_A_TIME])).astype(kept)
            for start in range(0, len(rows), AT_A_TIME)
        ]
    )
    subjects = find_subjects(queries)
    most = min(MOST_STUDIED, max(MOST_CELLS // len(subjects), 2_000))
    studied = np.arange(len(rows))
    if len(rows) > most:
        studied = np.sort(rng.choice(len(rows), most, replace=False))
    return Answers(
        queries=queries,
        classes=classes,
        values=values,
        y=labels[rows].astype(np.int64),
        groups=None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1][rows],
        rows=rows,
        n_rows=n,
        subjects=subjects,
        studied=studied,
        codes=_codes(values[studied], queries, subjects),
    )


def n_inputs(X: Any) -> int:
    """How many rows anything has."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Any, rows: IntArray) -> Any:
    """Some rows of a frame, an array, a sparse matrix or a list."""
    if hasattr(X, "column_names") and hasattr(X, "take"):  # pyarrow
        return X.take(rows)
    return _safe_indexing(X, rows)


def find_subjects(queries: QuerySet) -> tuple[Subject, ...]:
    """What the queries are about.

    All thresholds on a column are one subject: what they tell together. A query about several atoms is one by itself.
    """
    if queries.width > 1:
        sizes = queries.n_answers.tolist()
        return tuple(Subject(name, sizes[q], False, (q,)) for q, name in enumerate(queries.names))
    topics = queries.topics
    asked: dict[int, list[int]] = {}
    for query, atom in enumerate(queries.query_atoms[:, 0].tolist()):
        asked.setdefault(atom, []).append(query)
    subjects = []
    for atom, about in asked.items():
        cells = queries.query_cells[about, 0, : queries.atoms.sizes[atom]]  # (q, V)
        groups, table = np.unique(cells.T, axis=0, return_inverse=True)
        name = queries.names[about[0]] if len(about) == 1 else topics[about[0]][0]
        ordered = bool(len(about) > 1 and (np.diff(cells, axis=1) >= 0).all())
        subjects.append(Subject(name, len(groups), ordered, tuple(about), table.ravel()))
    return tuple(subjects)


def _codes(values: Any, queries: QuerySet, subjects: Sequence[Subject]) -> Any:
    """(B, S) the answer about each subject; of large ones only those that occur are numbered."""
    codes = np.empty((len(values), len(subjects)), dtype=np.int16 if len(values) < 2**15 else np.int32)
    for s, subject in enumerate(subjects):
        query, table = subject.queries[0], subject.table
        if table is not None:
            atom = int(queries.query_atoms[query, 0])
            column = np.where(values[:, atom] == UNKNOWN, UNKNOWN, table[np.maximum(values[:, atom], 0)])
        else:
            some = np.full(len(values), query)
            cells = queries.answers_of(values, some)[:, queries.query_atoms[query] >= 0]  # (B, w)
            sizes = queries.n_cells[query][queries.query_atoms[query] >= 0]
            column = np.where((cells == UNKNOWN).any(axis=1), UNKNOWN, cells @ _strides(sizes))
        codes[:, s] = column if subject.size <= 16 else _compact(column)
    return codes


def _strides(sizes: IntArray) -> IntArray:
    return np.concatenate([np.cumprod(sizes[::-1])[::-1][1:], [1]])


def _compact(column: IntArray) -> IntArray:
    """The values that occur, numbered in their order; -1 stays."""
    found = np.unique(column)
    return np.searchsorted(found, column) - int(found[0] == UNKNOWN)
