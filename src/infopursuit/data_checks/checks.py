"""`lint`: leaks, identifiers, duplicates, conflicting labels, constant and missing answers, imbalance of a table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import binomtest, chi2_contingency
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from infopursuit import queries as builders
from infopursuit.data_checks.report import Finding, LintReport, in_order, quoted
from infopursuit.datasets.dataset import fold_numbers
from infopursuit.datasets.tables import take_rows
from infopursuit.explanation import percent
from infopursuit.queries.columns import Columns, columns
from infopursuit.queries.queryset import QuerySet, Recipe
from infopursuit.queries.tables import MIN_NAMES, identifier, read_table
from infopursuit.queries.words import Words
from infopursuit.types import UNKNOWN, FloatArray, IntArray

MAX_ROWS, MAX_CELLS, BATCH = 100_000, 20_000_000, 5_000
"""Rows that are checked, and answers in all; more rows are sampled. Rows that are read at a time."""
FEW = 3
"""With fewer rows for a label than this on average, a table states facts about labels (as in `fit_table`)."""
TEST_SHARE = 0.2
"""Of the random split that findings speak of."""
LEAK, EASY, SEVERAL = 0.95, 0.85, 3
"""The skill of features that leak the label; that all others together have where the label is easy; more leaks than
this are one finding."""
MIN_KNOWN, MIN_ROWS, MIN_OF_CLASS = 0.1, 30, 8
"""A leak is judged on this share of the rows and this many, of which so many are not of the most frequent class."""
ALPHA = 1e-3
"""The level of all tests, corrected for the number of features."""
MAX_TRAIN, N_FOLDS = 4_000, 5
MOSTLY = 0.9
"""The share of missing answers from which a feature is mostly missing."""
MIN_DIFFERENCE, LARGE_DIFFERENCE, MIN_MISSING_OF_CLASS = 0.2, 0.5, 10
"""Differences of missing shares between classes that are reported, and serious; class sizes."""
DOMINANT, RARE = 0.9, 5
"""The share of the most frequent label, and the rows of a rare one, from which a table is imbalanced."""


def lint(queries: Any, X: Any, y: Any, *, source: str = "", seed: int = 0) -> LintReport:
    """Look for label leakage, useless and redundant queries, missing answers, and faulty rows.

    Parameters
    ----------
    queries: a query set, or a builder such as ``ip.queries.columns()``, which is fitted on X; None guesses from X.
    X, y: inputs that the queries can be asked about, and their labels.
    source: the name of the data in the report.
    seed: of the rows that are sampled and held out.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = np.column_stack([rng.integers(0, 2, (200, 3)), y])
    >>> report = lint(None, X, y)
    >>> report.serious, report.of_kind("leak")[0].queries
    (True, ('x3',))
    """
    builder = builders.guess(X) if queries is None else queries
    if not hasattr(builder, "fit"):
        raise ValueError(f"queries={builder!r}; expected a query set or a builder such as ip.queries.columns()")
    query_set, found = _fit(builder, X, y)
    table = read_answers(query_set, X, y, seed=seed)
    identifiers = find_identifiers(table, query_set, X)
    table = table.without([name for finding in identifiers for name in finding.numbers["features"]])
    rows, duplicated = find_row_faults(table, seed)
    found += [*identifiers, *rows, *find_useless(table), *find_telling_gaps(table), *find_imbalance(table)]
    notes = []
    if len(table.codes) < table.n_rows:
        notes.append(f"A random sample of {len(table.codes):,} of {table.n_rows:,} rows was checked.")
    if table.states_facts or any(f.kind == "class-level rows" and f.severity != "warning" for f in rows):
        notes.append("Label leakage needs rows that vary within a label: not checked.")
    else:
        leaks, best = find_leaks(table.unique() if duplicated else table, seed=seed)
        found, notes = found + leaks, notes + best
    return LintReport(in_order(found), table.n_rows, len(query_set), len(table.classes), tuple(notes), source)


def _fit(builder: Any, X: Any, y: Any) -> tuple[Any, list[Finding]]:
    """The query set, with identifiers, which are looked for later; and a finding for the columns that are constant."""
    if isinstance(builder, Recipe) and builder.build is columns:
        names = read_table(X, builder.options["names"]).names
        builder = replace(builder, options={**builder.options, "keep": names})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fewer than two different", UserWarning)
        query_set = builder.fit(X, y)
    asked = {field.name for field in getattr(query_set, "fields", ())}
    return query_set, _not_asked("constant", [name for name in getattr(query_set, "columns", ()) if name not in asked])


def excluded_findings(reasons: dict[str, str]) -> list[Finding]:
    """What `fit` would not ask about, by the reason for each column: names, row numbers, constant columns."""
    names = [name for name, why in reasons.items() if re.search("name|row number", why)]
    never = [name for name, why in reasons.items() if why in ("the same in every row", "empty")]
    return _not_asked("identifier", names) + _not_asked("constant", never)


def _not_asked(kind: Any, names: list[str]) -> list[Finding]:
    return [Finding.of(kind, "note", names, {"columns": names})] if names else []


# ---- the answers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Rows with labels; a *feature* is what queries are about: a column with its thresholds, a word, a patch.

    names: (S,) of the features. queries: (S,) the names of the queries about each. codes: (B, S) answers about the
    features, -1 for unknown. raw: (B, F) numbers that are equal where the cells of X are. labels: (B,) numbers of
    classes. n_rows: of the data, B of which were sampled. kind: of the queries.
    """

    names: tuple[str, ...]
    queries: tuple[tuple[str, ...], ...]
    codes: Any
    raw: Any
    labels: IntArray
    classes: Any
    n_rows: int
    kind: str

    @cached_property
    def class_counts(self) -> IntArray:
        """(C,) rows of each class."""
        return np.bincount(self.labels, minlength=len(self.classes))

    @cached_property
    def patterns(self) -> IntArray:
        """(B,) equal numbers for rows with equal answers."""
        return row_ids(self.codes)

    @cached_property
    def ids(self) -> IntArray:
        """(B,) equal numbers for rows that are equal in the data."""
        return row_ids(self.raw)

    @property
    def states_facts(self) -> bool:
        """Whether classes have too few rows for anything to be counted within one."""
        return len(self.labels) < FEW * len(self.classes)

    def unique(self) -> AnswerTable:
        """The table with equal rows of a class counted once."""
        first = np.sort(np.unique(self.ids * len(self.classes) + self.labels, return_index=True)[1])
        return replace(self, codes=self.codes[first], raw=self.raw[first], labels=self.labels[first])

    def without(self, names: Collection[str]) -> AnswerTable:
        """The table without some features, unless these are all."""
        kept = [f for f, name in enumerate(self.names) if name not in names]
        if not kept or len(kept) == len(self.names):
            return self
        left, queries = tuple(self.names[f] for f in kept), tuple(self.queries[f] for f in kept)
        raw = self.raw[:, kept] if self.raw.shape[1] == len(self.names) else self.raw
        return replace(self, names=left, queries=queries, codes=self.codes[:, kept], raw=raw)

    def finding(
        self, kind: Any, severity: Any, about: Sequence[int], numbers: dict[str, Any], remedy: str = ""
    ) -> Finding:
        """A finding about some features."""
        queries = [query for f in about for query in self.queries[f]]
        return Finding.of(kind, severity, queries, {"rows": len(self.codes), **numbers}, remedy)

    def named(self, features: Sequence[int]) -> list[str]:
        """Names of features."""
        return [self.names[f] for f in features]


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
    # all thresholds on a column are one feature; a query about several variables is one by itself
    about: dict[int, list[int]] = {}
    for query, variable in enumerate(queries.query_variables[:, 0].tolist()):
        about.setdefault(variable if queries.width == 1 else query, []).append(query)
    most = min(MAX_ROWS, max(MAX_CELLS // len(about), 2_000))
    rows = np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    batches = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
    values = np.concatenate([queries.observe(take_rows(X, batch)).astype(np.int32) for batch in batches])
    codes = np.stack([_encode(values, queries, some) for some in about.values()], axis=1)
    names = [queries.names[some[0]] if len(some) == 1 else queries.topics[some[0]][0] for some in about.values()]
    raw = codes
    if isinstance(queries, Columns):
        cells = read_table(take_rows(X, rows) if len(rows) < n else X)
        places = column_places(queries, cells.names)
        fields = [places[queries.topics[some[0]][0]] for some in about.values()]
        raw = np.stack([cells.column(place).coded()[0] for place in fields], axis=1).astype(np.int32)
    elif isinstance(queries, Words):
        texts = take_rows(X, rows)
        texts = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
        raw = np.unique([str(text) for text in texts], return_inverse=True)[1][:, None]
    of_features = tuple(tuple(queries.names[q] for q in some) for some in about.values())
    return AnswerTable(tuple(names), of_features, codes, raw, labels[rows], classes, n, queries.kind)


def _encode(values: Any, queries: QuerySet, some: Sequence[int]) -> Any:
    """(B,) a number for each combination of answers to some queries about the same variables; -1 for unknown."""
    used = queries.query_variables[some[0]] >= 0
    cells = [queries.answers_of(values, np.full(len(values), query))[:, used] for query in some]
    together = np.concatenate(cells, axis=1)
    number = np.unique(together, axis=0, return_inverse=True)[1].ravel()
    return np.where((together == UNKNOWN).any(axis=1), UNKNOWN, number).astype(np.int32)


def column_places(queries: Columns, names: tuple[str, ...]) -> dict[str, int]:
    """The position in a table of each column that queries are about."""
    fields = [field.name for field in queries.fields]
    order = names if set(fields) <= set(names) else queries.columns
    return {name: order.index(name) for name in fields}


def row_ids(matrix: Any) -> IntArray:
    """(B,) equal numbers for equal rows."""
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in np.ascontiguousarray(matrix)], dtype=np.int64)


# ---- label leakage --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leak:
    """A feature's leave-one-out accuracy on ``rows`` rows, and that of the most frequent class."""

    feature: int
    accuracy: float
    usual: float
    rows: int


def skill(accuracy: float, usual: float) -> float:
    """The share of the errors of always naming the most frequent class that is avoided."""
    return 1 - (1 - accuracy) / max(1 - usual, 1e-12)


def find_leaks(table: AnswerTable, *, seed: int = 0) -> tuple[list[Finding], list[str]]:
    """Features that leak the label, each alone; and a note on the best feature."""
    judged = [leak for f in range(len(table.names)) if (leak := _judge(table, f))]
    judged.sort(key=lambda leak: -leak.accuracy)
    leaks = [leak for leak in judged if skill(leak.accuracy, leak.usual) >= LEAK]
    notes = []
    for best in judged[:1]:
        name, share = quoted(table.names[best.feature]), percent(best.accuracy)
        notes.append(f"The best single feature, {name}, is right in {share} of the rows.")
    if not leaks:
        return [], notes
    leaking = {leak.feature for leak in leaks}
    others = _accuracy(table, [f for f in range(len(table.names)) if f not in leaking], seed)
    groups = [leaks] if len(leaks) > SEVERAL else [[leak] for leak in leaks]
    return [_leak(table, some, others) for some in groups], notes


def _judge(table: AnswerTable, feature: int) -> Leak | None:
    """The accuracy of a feature; None where too little is known or chance would do as well."""
    counts = contingency(table.codes[:, feature], table.labels, len(table.classes))
    n, largest = int(counts.sum()), float(counts.sum(axis=0).max())
    if n < max(MIN_ROWS, MIN_KNOWN * len(table.codes)) or n - largest < MIN_OF_CLASS:
        return None
    accuracy, usual = leave_one_out_accuracy(counts), largest / n
    p = binomtest(round(accuracy * n), n, usual, alternative="greater").pvalue
    return Leak(feature, accuracy, usual, n) if p * len(table.names) < ALPHA else None


def _accuracy(table: AnswerTable, features: Sequence[int], seed: int) -> float | None:
    """The cross-validated accuracy of a forest on the answers about some features."""
    rows = np.random.default_rng((seed, 1)).permutation(len(table.codes))[:MAX_TRAIN]
    if not features or len(rows) < 2 * N_FOLDS:
        return None
    X, y = table.codes[rows][:, features], table.labels[rows]
    folds = PredefinedSplit(fold_numbers(y, n=N_FOLDS, seed=seed))
    return float((cross_val_predict(ExtraTreesClassifier(50, random_state=seed), X, y, cv=folds) == y).mean())


def _leak(table: AnswerTable, leaks: Sequence[Leak], others: float | None) -> Finding:
    first, features = leaks[0], [leak.feature for leak in leaks]
    easy = others is not None and skill(others, first.usual) >= EASY
    easy = easy or len(leaks) > max(len(table.names) / 2, SEVERAL)
    remedy = (
        "The other features tell the label nearly as well, so it may simply be easy. Make sure that nothing here was "
        "recorded after the label was known."
    )
    numbers: dict[str, Any] = {"features": table.named(features), "accuracy": first.accuracy, "rows": first.rows}
    numbers |= {"most_frequent": first.usual, "others": others}
    severity = "warning" if easy else "serious"
    return table.finding("leak", severity, features, numbers, remedy if easy else "")


def contingency(column: Any, labels: IntArray, n_classes: int) -> FloatArray:
    """(V, C) how often each known answer and class occur together."""
    known = column != UNKNOWN
    found = np.zeros((int(column.max(initial=0)) + 1, n_classes))
    np.add.at(found, (column[known], labels[known]), 1)
    return found


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


# ---- useless features -----------------------------------------------------------------------------------------------


def find_identifiers(table: AnswerTable, queries: QuerySet, X: Any) -> list[Finding]:
    """Features that differ from row to row, as names and row numbers do."""
    found = []
    cells = read_table(X) if isinstance(queries, Columns) else None
    places = {} if cells is None else column_places(queries, cells.names)  # type: ignore[arg-type]
    for f, queried in enumerate(table.queries):
        if cells is not None:
            named = bool(identifier(cells.column(places[queries.topics[queries.names.index(queried[0])][0]])))
        else:
            known = table.codes[table.codes[:, f] != UNKNOWN, f]
            named = len(known) >= MIN_NAMES and len(np.unique(known)) >= 0.9 * len(known)
        found += [f] if named else []
    numbers = {"rows": table.n_rows, "features": table.named(found)}
    return [table.finding("identifier", "serious", found, numbers)] if found else []


def find_useless(table: AnswerTable) -> list[Finding]:
    """Constant features, copies and negations of others, and features that are mostly missing."""
    found, constant, groups = [], [], dict[bytes, list[int]]()
    for f, column in enumerate(table.codes.T):
        if len(np.unique(column[column != UNKNOWN])) < 2:
            constant.append(f)
        else:  # the same in all rows, up to the names of answers
            groups.setdefault(_renumbered(column).tobytes(), []).append(f)
    copies = [group for group in groups.values() if len(group) > 1]
    share = (table.codes == UNKNOWN).mean(axis=0)
    mostly = [int(f) for f in np.argsort(-share, kind="stable") if share[f] >= MOSTLY]
    if constant:
        found.append(table.finding("constant", "warning", constant, {"features": table.named(constant)}))
    if mostly:
        numbers = {"missing": float(share[mostly].min()), "features": table.named(mostly)}
        found.append(table.finding("mostly missing", "warning", mostly, numbers))
    if copies:
        together = [f for group in copies for f in group]
        numbers = {"superfluous": len(together) - len(copies), "clusters": [table.named(group) for group in copies]}
        found.append(table.finding("redundant", "warning", together, numbers))
    return found


def _renumbered(column: Any) -> IntArray:
    """Answers numbered in the order in which they first occur; unknown stays what it is."""
    values, first, inverse = np.unique(column, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(np.where(values == UNKNOWN, -1, first)))
    return np.asarray(np.where(column == UNKNOWN, UNKNOWN, rank[inverse] - (values[0] == UNKNOWN)), dtype=np.int32)


def find_telling_gaps(table: AnswerTable) -> list[Finding]:
    """Features whose missingness depends on the label, in one finding; the largest difference first."""
    sizes, gone = table.class_counts, table.codes == UNKNOWN
    large = np.flatnonzero(sizes >= MIN_MISSING_OF_CLASS)
    missing = np.stack([gone[table.labels == c].sum(axis=0) for c in range(len(sizes))], axis=1)  # (S, C)
    if len(large) < 2:
        return []
    share = missing[:, large] / sizes[large]
    order = np.argsort(-np.ptp(share, axis=1), kind="stable").tolist()
    telling = [f for f in order if np.ptp(share[f]) >= MIN_DIFFERENCE and _depends(missing[f], sizes, len(missing))]
    if not telling:
        return []
    first = telling[0]
    high, low = int(share[first].argmax()), int(share[first].argmin())
    counts = np.stack([missing[first], sizes - missing[first]]).astype(np.float64)
    numbers = {
        "feature": quoted(table.names[first]),
        "most": quoted(table.classes[large[high]]),
        "high": float(share[first, high]),
        "least": quoted(table.classes[large[low]]),
        "low": float(share[first, low]),
        "accuracy": leave_one_out_accuracy(counts),
        "most_frequent": float(sizes.max() / sizes.sum()),
        "others": table.named(telling[1:]) or None,
    }
    serious = np.ptp(share[first]) >= LARGE_DIFFERENCE
    return [table.finding("informative missingness", "serious" if serious else "warning", telling, numbers)]


def _depends(missing: IntArray, sizes: IntArray, n_tests: int) -> bool:
    counts = np.stack([missing, sizes - missing])[:, sizes > 0]
    return bool(chi2_contingency(counts, correction=False, lambda_="log-likelihood").pvalue * n_tests < ALPHA)


# ---- faulty rows ----------------------------------------------------------------------------------------------------


def find_row_faults(table: AnswerTable, seed: int) -> tuple[list[Finding], bool]:
    """Class-level rows, duplicate rows, conflicting labels; and whether rows repeat far more often than by chance.

    What chance does is counted on rows whose cells are shuffled within each class. Copies: of different cases that are
    alike, more would occur once. Narrow: so few columns that rows must repeat.
    """
    n, rng, shuffled = len(table.raw), np.random.default_rng((seed, 7)), table.raw.copy()
    for c in range(len(table.classes)):
        shuffled[table.labels == c] = rng.permuted(shuffled[table.labels == c], axis=0)
    texts = table.raw.shape[1] == 1  # nothing to shuffle, and none should repeat
    (distinct, once), (expected, expected_once) = (
        _distinct(table.ids),
        (n, n) if texts else _distinct(row_ids(shuffled)),
    )
    possible = sum(np.log(max(len(np.unique(column)), 1)) for column in table.raw.T)
    narrow, share = not texts and bool(possible < np.log(4 * n)), in_training(table.ids, table.labels)
    repeated = not narrow and share >= 0.03 and distinct <= 0.97 * expected
    few = expected_once >= 10 and once <= 0.2 * expected_once
    copied = repeated and share >= 0.3 and (few or distinct <= 0.5 * expected)
    found = _class_level(table, narrow, share)
    if not found and repeated:
        numbers = {"distinct": distinct, "once": once, "expected": expected, "expected_once": expected_once}
        severity = "serious" if copied else "warning"
        found = [table.finding("duplicate rows", severity, (), {**numbers, "in_training": share})]
    return found + _conflicting_labels(table, narrow), repeated


def _distinct(ids: IntArray) -> tuple[int, int]:
    """How many different rows there are, and how many without an equal."""
    sizes = np.unique(ids, return_counts=True)[1]
    return len(sizes), int((sizes == 1).sum())


def in_training(ids: IntArray, y: IntArray) -> float:
    """The expected share of a random test part whose rows are, label included, in the training part too.

    Of m equal rows, all lie in the test part with one of them with probability (T - 1) (T - 2) ... / (n - 1) (n - 2)...

    >>> round(in_training(np.array([0, 0, 1, 2, 3]), np.array([0, 0, 0, 1, 1])), 3)
    0.4
    """
    n = len(ids)
    n_test = max(round(TEST_SHARE * n), 1)
    sizes = np.unique(ids * (int(y.max()) + 1) + y, return_counts=True)[1]
    others = np.arange(1, int(sizes.max()))
    apart = np.cumprod(np.concatenate([[1.0], np.maximum(n_test - others, 0) / np.maximum(n - others, 1)]))
    return float((sizes * (1 - apart[sizes - 1])).sum() / n)


def _class_level(table: AnswerTable, narrow: bool, share_in_training: float) -> list[Finding]:
    """Whether all rows of (nearly) every class are the same."""
    n_classes, sizes = len(table.classes), table.class_counts
    kinds = np.bincount(np.unique(table.patterns * n_classes + table.labels) % n_classes, minlength=n_classes)
    repeated = sizes > 1
    if not repeated.any():
        remedy = "Fine for a game or an identification key. Test it with answers of people, some of them wrong."
        return [Finding.of("class-level rows", "note", (), {"labels": len(table.labels)}, remedy)]
    alike = repeated & (kinds == 1)
    share, facts = sizes[alike].sum() / sizes[repeated].sum(), table.states_facts
    if narrow or share < (0.9 if facts else 0.3) or not ((alike & (sizes >= RARE)).any() or facts):
        return []
    n_alike = int(alike.sum())
    numbers = {
        "classes_without_variation": n_alike,
        "which": "every class has" if n_alike == n_classes else f"{n_alike:,} of {n_classes:,} classes have",
        "patterns": len(np.unique(table.patterns)),
        "in_training": share_in_training,
    }
    return [table.finding("class-level rows", "serious" if share >= 0.9 and not facts else "warning", (), numbers)]


def best_possible(ids: IntArray, y: IntArray) -> tuple[float, int, int]:
    """The accuracy of giving equal rows their most frequent label; the rows that have an equal with another label; and
    how many distinct rows these are.

    >>> best_possible(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    (0.75, 3, 1)
    """
    n_classes = int(y.max()) + 1
    pairs, sizes = np.unique(ids * n_classes + y, return_counts=True)
    kind = pairs // n_classes
    best = np.zeros(int(kind.max()) + 1, dtype=np.int64)
    np.maximum.at(best, kind, sizes)
    labels = np.bincount(kind)
    return float(best.sum() / len(y)), int(sizes[labels[kind] > 1].sum()), int((labels > 1).sum())


def _conflicting_labels(table: AnswerTable, narrow: bool) -> list[Finding]:
    """Rows with equal answers and different labels, which bound the accuracy of any classifier on these queries."""
    bound, involved, kinds = best_possible(table.patterns, table.labels)
    if bound == 1 or (involved < min(0.01 * len(table.labels), 10) and not table.states_facts):
        return []
    raw_bound, same, _ = best_possible(table.ids, table.labels)
    same_rows = None if table.kind == "concepts" else same
    severity = "warning" if raw_bound < 0.95 and not narrow else "note"
    numbers = {"conflicting": involved, "patterns": kinds, "bound": bound, "same_rows": same_rows}
    return [table.finding("conflicting labels", severity, (), numbers)]


def find_imbalance(table: AnswerTable) -> list[Finding]:
    """One label that nearly all rows have, or labels of very few rows."""
    sizes = table.class_counts
    largest, rare = int(sizes.argmax()), np.flatnonzero(sizes < RARE)
    share = float(sizes[largest] / len(table.labels))
    if table.states_facts or (share < DOMINANT and not len(rare)):
        return []
    names = [str(c) for c in table.classes[rare]] or None
    return [
        table.finding("imbalance", "note", (), {"most": quoted(table.classes[largest]), "share": share, "rare": names})
    ]
