"""The answers that the data checks look at, one column for each feature, and contingency tables of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import xlogy
from scipy.stats import entropy
from sklearn.utils import _safe_indexing

from infopursuit.acquisition import tables
from infopursuit.queries.columns import Columns
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.tables import read_table
from infopursuit.queries.words import Words
from infopursuit.types import UNKNOWN, FloatArray, IntArray

MAX_ROWS = 200_000
"""Rows that are compared with each other; more are sampled."""
MAX_COUNTED, MAX_CELLS = 20_000, 50_000_000
"""Rows whose answers are counted, and answers in all."""
BATCH = 5_000
FEW = 3
"""With fewer rows for a label than this on average, a table states facts about labels (as in `fit_table`)."""
PAIR_ROWS, MAX_PAIR_CELLS = 5_000, 200_000_000
"""Rows in which answers to pairs of features are counted, and cells of all pairs together."""


@dataclass(frozen=True, eq=False)
class Feature:
    """What queries are about: a column with its thresholds, a word, a patch.

    size: number of answers. ordered: whether a higher answer means more. queries: indices. table: (V,) the answer for
    each value of the variable; None where a query is about several variables.
    """

    name: str
    size: int
    ordered: bool
    queries: tuple[int, ...]
    table: Any = None


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Rows with labels.

    values: (N, A) variables. y: (N,) classes. groups: (N,) numbers, or None. rows: (N,) positions in the data, of
    n_rows rows. counted: (B,) positions of the rows that are counted. codes: (B, S) their answers, -1 for unknown.
    """

    queries: QuerySet
    classes: Any
    values: Any
    y: IntArray
    groups: IntArray | None
    rows: IntArray
    n_rows: int
    features: tuple[Feature, ...]
    counted: IntArray
    codes: Any

    @cached_property
    def labels(self) -> IntArray:
        """(B,) classes of the counted rows."""
        return self.y[self.counted]

    @cached_property
    def class_counts(self) -> IntArray:
        """(C,) counted rows of each class."""
        return np.bincount(self.labels, minlength=len(self.classes))

    @cached_property
    def patterns(self) -> IntArray:
        """(N,) equal numbers for rows with equal answers."""
        variables = self.queries.query_variables
        wide = self.queries.width > 1
        return row_ids(
            self.values[:, np.unique(variables[variables >= 0])]
            if wide
            else _encode(self.values, self.queries, self.features)
        )

    @property
    def states_facts(self) -> bool:
        """Whether classes have too few rows for anything to be counted within one."""
        return len(self.y) < FEW * len(self.classes)

    def unique(self, ids: IntArray) -> AnswerTable:
        """The table with equal rows of a class counted once; ids: (N,) equal numbers for equal rows."""
        keys = ids[self.counted] * len(self.classes) + self.labels
        first = np.sort(np.unique(keys, return_index=True)[1])
        return replace(self, counted=self.counted[first], codes=self.codes[first])

    def without(self, names: Collection[str]) -> AnswerTable:
        """The table without some features, unless these are all."""
        kept = [f for f, feature in enumerate(self.features) if feature.name not in names]
        if not kept or len(kept) == len(self.features):
            return self
        return replace(self, features=tuple(self.features[f] for f in kept), codes=self.codes[:, kept])

    def names(self, features: Sequence[int]) -> tuple[str, ...]:
        """Names of features."""
        return tuple(self.features[f].name for f in features)

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
        """(N, F) numbers that are equal where the cells of X are: table cells, whole texts, or else variables."""
        queries = self.queries
        if isinstance(queries, Columns):
            table = read_table(take(X, self.rows) if len(self.rows) < self.n_rows else X)
            topics = {queries.topics[feature.queries[0]][0] for feature in self.features}
            kept = [place for name, place in column_places(queries, table.names).items() if name in topics]
            return np.stack([table.column(place).text()[0] for place in kept], axis=1).astype(np.int32)
        if isinstance(queries, Words):
            texts = take(X, self.rows)
            texts = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
            return np.unique([str(text) for text in texts], return_inverse=True)[1][:, None].astype(np.int32)
        return self.values[:, np.unique(queries.query_variables[queries.query_variables >= 0])]


def read_answers(queries: QuerySet, X: Any, y: Any, groups: Any = None, *, seed: int = 0) -> AnswerTable:
    """Observe the rows in batches; sample where there are too many."""
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
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
    rows = np.arange(n) if n <= MAX_ROWS else np.sort(rng.choice(n, MAX_ROWS, replace=False))
    dtype = np.int16 if max(queries.variables.sizes) < 2**15 else np.int32
    batches = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
    values = np.concatenate([queries.observe(take(X, batch)).astype(dtype) for batch in batches])
    features = find_features(queries)
    most = min(MAX_COUNTED, max(MAX_CELLS // len(features), 2_000))
    counted = np.arange(len(rows))
    if len(rows) > most:
        counted = np.sort(rng.choice(len(rows), most, replace=False))
    y, codes = labels[rows].astype(np.int64), _encode(values[counted], queries, features)
    groups = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1][rows]
    return AnswerTable(queries, classes, values, y, groups, rows, n, features, counted, codes)


def take(X: Any, rows: IntArray) -> Any:
    """Some rows of a frame, an array, a sparse matrix or a list."""
    if hasattr(X, "column_names") and hasattr(X, "take"):  # pyarrow
        return X.take(rows)
    return _safe_indexing(X, rows)


def column_places(queries: Columns, names: tuple[str, ...]) -> dict[str, int]:
    """The position in a table of each column that queries are about."""
    fields = [field.name for field in queries.fields]
    order = names if set(fields) <= set(names) else queries.columns
    return {name: order.index(name) for name in fields}


def row_ids(matrix: Any) -> IntArray:
    """(N,) equal numbers for equal rows."""
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in np.ascontiguousarray(matrix)], dtype=np.int64)


def find_features(queries: QuerySet) -> tuple[Feature, ...]:
    """All thresholds on a column are one feature; a query about several variables is one by itself."""
    if queries.width > 1:
        sizes = queries.n_answers.tolist()
        return tuple(Feature(name, sizes[q], False, (q,)) for q, name in enumerate(queries.names))
    about: dict[int, list[int]] = {}
    for query, variable in enumerate(queries.query_variables[:, 0].tolist()):
        about.setdefault(variable, []).append(query)
    features = []
    for variable, some in about.items():
        cells = queries.query_cells[some, 0, : queries.variables.sizes[variable]]  # (q, V)
        answers, table = np.unique(cells.T, axis=0, return_inverse=True)
        name = queries.names[some[0]] if len(some) == 1 else queries.topics[some[0]][0]
        ordered = bool(len(some) > 1 and (np.diff(cells, axis=1) >= 0).all())
        features.append(Feature(name, len(answers), ordered, tuple(some), table.ravel()))
    return tuple(features)


def _encode(values: Any, queries: QuerySet, features: Sequence[Feature]) -> Any:
    """(B, S) the answer about each feature; of many answers only those that occur are numbered."""
    codes = np.empty((len(values), len(features)), dtype=np.int16 if len(values) < 2**15 else np.int32)
    for f, feature in enumerate(features):
        query, table = feature.queries[0], feature.table
        if table is not None:
            column = values[:, int(queries.query_variables[query, 0])]
            column = np.where(column == UNKNOWN, UNKNOWN, table[np.maximum(column, 0)])
        else:
            used = queries.query_variables[query] >= 0
            cells = queries.answers_of(values, np.full(len(values), query))[:, used]  # (B, w)
            flat = np.ravel_multi_index(tuple(np.maximum(cells, 0).T), tuple(queries.n_cells[query][used]))
            column = np.where((cells == UNKNOWN).any(axis=1), UNKNOWN, flat)
        if feature.size > 16:
            found = np.unique(column)
            column = np.searchsorted(found, column) - int(found[0] == UNKNOWN)
        codes[:, f] = column
    return codes


# ---- contingency tables ---------------------------------------------------------------------------------------------


def contingency(column: Any, labels: IntArray, n_classes: int) -> FloatArray:
    """(V, C) how often each known answer and class occur together."""
    known = column != UNKNOWN
    cells = column[known].astype(np.int64) * n_classes + labels[known]
    size = int(column.max(initial=0)) + 1
    return np.bincount(cells, minlength=size * n_classes).reshape(size, n_classes).astype(np.float64)


def joint(a: Any, b: Any) -> FloatArray:
    """(U, V) contingency table of two columns where both are known."""
    both = (a != UNKNOWN) & (b != UNKNOWN)
    return contingency(np.where(both, a, UNKNOWN), np.where(both, b, 0).astype(np.int64), int(b.max(initial=0)) + 1)


def mutual_information(table: FloatArray) -> float:
    """Mutual information of the rows and columns of a contingency table, in nats."""
    return float(tables.mutual_information(table)) if table.any() else 0.0


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


def skill(accuracy: float, usual: float) -> float:
    """The share of the errors of always naming the most frequent class that is avoided."""
    return 1 - (1 - accuracy) / max(1 - usual, 1e-12)


def coarse(column: Any, cells: int, *, ordered: bool) -> Any:
    """Answers merged into at most ``cells`` groups: neighbours where there is an order, else the rarest.

    >>> coarse(np.array([0, 0, 1, 1, 2, 2, 3, 3]), 2, ordered=True).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    counts = np.bincount(column[column != UNKNOWN].astype(np.int64))
    if len(counts) <= cells:
        return column
    if ordered:
        group = ((np.cumsum(counts) - counts / 2) * cells / counts.sum()).astype(np.int64)
    else:
        group = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    return np.where(column == UNKNOWN, UNKNOWN, np.minimum(group, cells - 1)[np.maximum(column, 0)])


@dataclass(frozen=True)
class Pairs:
    """Statistics (P, P) of pairs of features, counted on some rows with the answers merged into few cells.

    known: rows in which both are known. accuracy: of the most frequent class for each pair of answers. nmi: mutual
    information over the larger entropy. follows: the answer to the first feature is a function of that to the second.
    excess: standardised G-statistic of the first feature and the class, given the second. whole: (P,) not merged.
    """

    features: list[int]
    n_rows: int
    known: Any
    accuracy: Any
    nmi: Any
    follows: Any
    excess: Any
    whole: Any


def compare_pairs(table: AnswerTable, features: Sequence[int], *, by_class: bool, seed: int = 0) -> Pairs:
    """Compare all pairs of features, or of those with the largest entropy where these are too many."""
    n_classes = len(table.classes) if by_class else 1
    features, most = list(features), max(int((MAX_PAIR_CELLS / (4 * n_classes)) ** 0.5), 2)
    if len(features) > most:
        vary = [np.nan_to_num(entropy(table.by_class(f).sum(axis=1))) for f in features]
        features = sorted(features[i] for i in np.argsort(vary)[::-1][:most])
    n, sizes = len(features), [int(table.codes[:, f].max()) + 1 for f in features]
    cells = max(2, min(max(sizes, default=2), 10, int((MAX_PAIR_CELLS / n_classes) ** 0.5 / max(n, 1))))
    rows = np.arange(len(table.codes))
    if len(rows) > PAIR_ROWS:
        rows = np.sort(np.random.default_rng((seed, 5)).permutation(rows)[:PAIR_ROWS])
    codes = [coarse(table.codes[rows, f], cells, ordered=table.features[f].ordered) for f in features]
    labels = table.labels[rows] if by_class else np.zeros(len(rows), dtype=np.int64)
    known, accuracy, nmi, excess = (np.zeros((n, n), dtype=np.float32) for _ in range(4))
    follows = np.zeros((n, n), dtype=bool)
    log = xlogy(np.arange(len(rows) + 1.0), np.arange(len(rows) + 1.0))  # n log n of every count
    for block, counts in pair_counts(np.stack(codes, axis=1), labels, n_classes, cells) if n else ():
        ab, a, b = counts.sum(axis=4), counts.sum(axis=(3, 4)), counts.sum(axis=(1, 4))  # (f,U,S,V), (f,U,S), (f,S,V)
        ac = counts.sum(axis=1)  # (f, S, V, C): the second feature and the class
        total = known[block] = b.sum(axis=2)
        accuracy[block] = counts.max(axis=4).sum(axis=(1, 3)) / np.maximum(total, 1)
        n_ab, n_a, n_b = log[ab].sum(axis=(1, 3)), log[a].sum(axis=1), log[b].sum(axis=2)
        h_a, h_b = (np.maximum(log[total] - each, 0) for each in (n_a, n_b))  # entropies times rows
        larger = np.maximum(h_a, h_b)
        nmi[block] = np.where(larger > 1e-9, (log[total] + n_ab - n_a - n_b) / np.maximum(larger, 1e-9), 0.0)
        follows[block] = (ab.max(axis=1).sum(axis=2) == total) & (h_b > h_a + 1e-3 * total) & (h_a > 1e-3 * total)
        g = 2 * (log[counts].sum(axis=(1, 3, 4)) + n_b - n_ab - log[ac].sum(axis=(2, 3)))
        free = np.maximum((ab > 0).sum(axis=1) - 1, 0) * np.maximum((ac > 0).sum(axis=3) - 1, 0)
        free = free.sum(axis=2)
        excess[block] = (g - free) / np.sqrt(2 * np.maximum(free, 1))
    return Pairs(features, len(rows), known, accuracy, nmi, follows, excess, np.array(sizes) <= cells)


def pair_counts(
    codes: Any, labels: IntArray, n_classes: int, cells: int, most: int = 4_000_000
) -> Iterator[tuple[list[int], Any]]:
    """Counts (f, cells, S, cells, C) of the answers (B, S) to pairs of features, by class, for some first features at
    a time, whose indices come with them."""
    n = codes.shape[1]
    # single precision counts exactly up to 2**24
    hot = (codes[:, :, None] == np.arange(cells)).reshape(len(codes), -1).astype(np.float32)
    parts = [hot[labels == c] for c in range(n_classes)]
    step = max(1, most // (cells * cells * n * n_classes))
    for start in range(0, n, step):
        columns = slice(start * cells, (start + step) * cells)
        found = np.stack([part[:, columns].T @ part for part in parts], axis=-1).astype(np.int32)
        block = list(range(start, min(start + step, n)))
        yield block, found.reshape(len(block), cells, n, cells, n_classes)
