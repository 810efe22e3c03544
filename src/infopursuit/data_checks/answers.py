"""The answers that the data checks look at, one column for each feature, and contingency tables of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.datasets.tables import take_rows
from infopursuit.queries.columns import Columns
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.tables import read_table
from infopursuit.queries.words import Words
from infopursuit.types import UNKNOWN, FloatArray, IntArray

MAX_ROWS, MAX_CELLS = 100_000, 20_000_000
"""Rows that are checked, and answers in all; more rows are sampled."""
BATCH = 5_000
FEW = 3
"""With fewer rows for a label than this on average, a table states facts about labels (as in `fit_table`)."""


@dataclass(frozen=True, eq=False)
class Feature:
    """What queries are about: a column with its thresholds, a word, a patch.

    queries: indices. table: (V,) the answer for each value of the variable; None where a query is about several.
    """

    name: str
    queries: tuple[int, ...]
    table: Any = None


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Rows with labels.

    values: (B, A) variables. labels: (B,) classes. rows: (B,) positions in the data, of n_rows rows. codes: (B, S)
    answers about the features, -1 for unknown.
    """

    queries: QuerySet
    classes: Any
    values: Any
    labels: IntArray
    rows: IntArray
    n_rows: int
    features: tuple[Feature, ...]
    codes: Any

    @cached_property
    def class_counts(self) -> IntArray:
        """(C,) rows of each class."""
        return np.bincount(self.labels, minlength=len(self.classes))

    @cached_property
    def patterns(self) -> IntArray:
        """(B,) equal numbers for rows with equal answers."""
        variables = self.queries.query_variables
        return row_ids(self.values[:, np.unique(variables[variables >= 0])] if self.queries.width > 1 else self.codes)

    @property
    def states_facts(self) -> bool:
        """Whether classes have too few rows for anything to be counted within one."""
        return len(self.labels) < FEW * len(self.classes)

    def unique(self, ids: IntArray) -> AnswerTable:
        """The table with equal rows of a class counted once; ids: (B,) equal numbers for equal rows."""
        first = np.sort(np.unique(ids * len(self.classes) + self.labels, return_index=True)[1])
        some = {name: getattr(self, name)[first] for name in ("values", "labels", "rows", "codes")}
        return replace(self, **some)

    def without(self, names: Collection[str]) -> AnswerTable:
        """The table without some features, unless these are all."""
        kept = [f for f, feature in enumerate(self.features) if feature.name not in names]
        if not kept or len(kept) == len(self.features):
            return self
        return replace(self, features=tuple(self.features[f] for f in kept), codes=self.codes[:, kept])

    def names(self, features: Sequence[int]) -> list[str]:
        """Names of features."""
        return [self.features[f].name for f in features]

    def query_names(self, features: Sequence[int]) -> tuple[str, ...]:
        """Names of all queries about some features."""
        return tuple(self.queries.names[q] for f in features for q in self.features[f].queries)

    def known(self, feature: int) -> Any:
        """(B,) where the answer is known."""
        return self.codes[:, feature] != UNKNOWN

    def by_class(self, feature: int) -> FloatArray:
        """(V, C) contingency table of the answers about a feature and the classes."""
        return contingency(self.codes[:, feature], self.labels, len(self.classes))

    def raw_rows(self, X: Any) -> Any:
        """(B, F) numbers that are equal where the cells of X are: table cells, whole texts, or else variables."""
        queries = self.queries
        if isinstance(queries, Columns):
            table = read_table(take_rows(X, self.rows) if len(self.rows) < self.n_rows else X)
            topics = {queries.topics[feature.queries[0]][0] for feature in self.features}
            kept = [place for name, place in column_places(queries, table.names).items() if name in topics]
            return np.stack([table.column(place).text()[0] for place in kept], axis=1).astype(np.int32)
        if isinstance(queries, Words):
            texts = take_rows(X, self.rows)
            texts = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
            return np.unique([str(text) for text in texts], return_inverse=True)[1][:, None].astype(np.int32)
        return self.values[:, np.unique(queries.query_variables[queries.query_variables >= 0])]


def read_answers(queries: QuerySet, X: Any, y: Any, *, seed: int = 0) -> AnswerTable:
    """Observe the rows in batches; sample where there are too many."""
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}; expected ({n},), one label for each of the {n} inputs in X")
    if n < 2:
        raise ValueError(f"X has {n} inputs; give two or more")
    try:
        classes, labels = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError("y holds labels of several types; give all of them as texts or all as numbers") from None
    if len(classes) < 2:
        raise ValueError(f"y has one label only, {classes.tolist()[0]!r}; give rows of two classes or more")
    features = find_features(queries)
    most = min(MAX_ROWS, max(MAX_CELLS // len(features), 2_000))
    rows = np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    dtype = np.int16 if max(queries.variables.sizes) < 2**15 else np.int32
    batches = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
    values = np.concatenate([queries.observe(take_rows(X, batch)).astype(dtype) for batch in batches])
    codes = _encode(values, queries, features)
    return AnswerTable(queries, classes, values, labels[rows].astype(np.int64), rows, n, features, codes)


def column_places(queries: Columns, names: tuple[str, ...]) -> dict[str, int]:
    """The position in a table of each column that queries are about."""
    fields = [field.name for field in queries.fields]
    order = names if set(fields) <= set(names) else queries.columns
    return {name: order.index(name) for name in fields}


def row_ids(matrix: Any) -> IntArray:
    """(B,) equal numbers for equal rows."""
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in np.ascontiguousarray(matrix)], dtype=np.int64)


def find_features(queries: QuerySet) -> tuple[Feature, ...]:
    """All thresholds on a column are one feature; a query about several variables is one by itself."""
    if queries.width > 1:
        return tuple(Feature(name, (q,)) for q, name in enumerate(queries.names))
    about: dict[int, list[int]] = {}
    for query, variable in enumerate(queries.query_variables[:, 0].tolist()):
        about.setdefault(variable, []).append(query)
    features = []
    for variable, some in about.items():
        cells = queries.query_cells[some, 0, : queries.variables.sizes[variable]]  # (q, V)
        table = np.unique(cells.T, axis=0, return_inverse=True)[1].ravel()
        name = queries.names[some[0]] if len(some) == 1 else queries.topics[some[0]][0]
        features.append(Feature(name, tuple(some), table))
    return tuple(features)


def _encode(values: Any, queries: QuerySet, features: Sequence[Feature]) -> Any:
    """(B, S) the answer about each feature; of the answers about several variables those that occur are numbered."""
    codes = np.empty((len(values), len(features)), dtype=np.int32)
    for f, feature in enumerate(features):
        query, table = feature.queries[0], feature.table
        if table is not None:
            column = values[:, int(queries.query_variables[query, 0])]
            codes[:, f] = np.where(column == UNKNOWN, UNKNOWN, table[np.maximum(column, 0)])
        else:
            used = queries.query_variables[query] >= 0
            cells = queries.answers_of(values, np.full(len(values), query))[:, used]  # (B, w)
            number = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
            codes[:, f] = np.where((cells == UNKNOWN).any(axis=1), UNKNOWN, number)
    return codes


def contingency(column: Any, labels: IntArray, n_classes: int) -> FloatArray:
    """(V, C) how often each known answer and class occur together."""
    known = column != UNKNOWN
    cells = column[known].astype(np.int64) * n_classes + labels[known]
    size = int(column.max(initial=0)) + 1
    return np.bincount(cells, minlength=size * n_classes).reshape(size, n_classes).astype(np.float64)


def leave_one_out_accuracy(table: FloatArray) -> float:
    """Accuracy of naming the most frequent class among the other rows with the same answer.

    table: (V, C). A row whose answer occurs once gets the most frequent class of all.
    """
    total = table.sum()
    if not total:
        return 0.0
    top, second = np.sort(table, axis=1)[:, :-3:-1].T
    n, sizes = table.sum(axis=1), table.sum(axis=0)
    right = np.where(top - 1 > second, top, np.where((top - 1 == second) & (n > 1), top / 2, 0.0))
    usual = int(sizes.argmax())
    return float(np.where(n == 1, (table[:, usual] == 1) & (sizes[usual] > 1), right).sum() / total)
