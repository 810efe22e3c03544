"""Faults of a table: leaks, identifiers, duplicates, conflicting labels, constant and missing answers, imbalance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest, chi2_contingency
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from infopursuit.data_checks.answers import AnswerTable, column_places, leave_one_out_accuracy, row_ids
from infopursuit.data_checks.report import Finding, quoted
from infopursuit.datasets.dataset import fold_numbers
from infopursuit.queries.columns import Columns
from infopursuit.queries.tables import MIN_NAMES, identifier, read_table
from infopursuit.types import UNKNOWN, IntArray

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


def find_leaks(table: AnswerTable, *, seed: int = 0) -> tuple[list[Finding], dict[str, Any]]:
    """Features that leak the label, each alone; and the best feature with its accuracy."""
    judged = [leak for f in range(len(table.features)) if (leak := _judge(table, f))]
    judged.sort(key=lambda leak: -leak.accuracy)
    leaks, best = [leak for leak in judged if skill(leak.accuracy, leak.usual) >= LEAK], next(iter(judged), None)
    measured = {} if best is None else {"best_feature": table.features[best.feature].name, "accuracy": best.accuracy}
    if not leaks:
        return [], measured
    leaking = {leak.feature for leak in leaks}
    others = _accuracy(table, [f for f in range(len(table.features)) if f not in leaking], seed)
    return [
        _leak(table, some, others) for some in ([leaks] if len(leaks) > SEVERAL else [[k] for k in leaks])
    ], measured


def _judge(table: AnswerTable, feature: int) -> Leak | None:
    """The accuracy of a feature; None where too little is known or chance would do as well."""
    counts = table.by_class(feature)
    n, largest = int(counts.sum()), float(counts.sum(axis=0).max())
    if n < max(MIN_ROWS, MIN_KNOWN * len(table.codes)) or n - largest < MIN_OF_CLASS:
        return None
    accuracy, usual = leave_one_out_accuracy(counts), largest / n
    p = binomtest(round(accuracy * n), n, usual, alternative="greater").pvalue
    return Leak(feature, accuracy, usual, n) if p * len(table.features) < ALPHA else None


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
    easy = easy or len(leaks) > max(len(table.features) / 2, SEVERAL)
    numbers = {
        "features": table.names(features),
        "accuracy": first.accuracy,
        "most_frequent": first.usual,
        "rows": first.rows,
        "others": others,
    }
    remedy = (
        "The other features tell the label nearly as well, so it may simply be easy. Make sure that nothing here was "
        "recorded after the label was known."
    )
    about = table.query_names(features)
    return Finding.of("leak", "warning" if easy else "serious", about, numbers, remedy if easy else "")


# ---- identifiers, constant and redundant features -------------------------------------------------------------------


def find_identifiers(table: AnswerTable, X: Any) -> list[Finding]:
    """Features that differ from row to row, as names and row numbers do."""
    queries = table.queries
    found: dict[str, tuple[str, ...]] = {}
    if isinstance(queries, Columns):
        cells = read_table(X)
        for name, place in column_places(queries, cells.names).items():
            if identifier(cells.column(place)):
                found[name] = tuple(queries.names[q] for q, (topic, _) in enumerate(queries.topics) if topic == name)
    else:
        for f, feature in enumerate(table.features):
            known = table.codes[table.known(f), f]
            if len(known) >= MIN_NAMES and len(np.unique(known)) >= 0.9 * len(known):
                found[feature.name] = table.query_names((f,))
    about = [query for queries in found.values() for query in queries]
    numbers = {"features": list(found), "rows": table.n_rows}
    return [Finding.of("identifier", "serious", about, numbers)] if found else []


def is_constant(table: AnswerTable, feature: int) -> bool:
    """Whether a feature has one known answer only, or none."""
    return len(np.unique(table.codes[table.known(feature), feature])) < 2


def find_constant(table: AnswerTable) -> list[Finding]:
    """Features with one known answer only, or none."""
    constant = [f for f in range(len(table.features)) if is_constant(table, f)]
    numbers = {"rows": len(table.codes), "features": table.names(constant)}
    return [Finding.of("constant", "warning", table.query_names(constant), numbers)] if constant else []


def find_redundant(table: AnswerTable) -> list[Finding]:
    """Groups of features with the same answers in all rows, up to their names: copies and negations."""
    groups: dict[bytes, list[int]] = {}
    for f in range(len(table.features)):
        if not is_constant(table, f):
            groups.setdefault(_renumbered(table.codes[:, f]).tobytes(), []).append(f)
    copies = [group for group in groups.values() if len(group) > 1]
    extra = sum(len(group) - 1 for group in copies)
    numbers = {"rows": len(table.codes), "superfluous": extra, "clusters": [table.names(group) for group in copies]}
    about = table.query_names([f for group in copies for f in group])
    return [Finding.of("redundant", "warning", about, numbers)] if copies else []


def _renumbered(column: Any) -> IntArray:
    """Answers numbered in the order in which they first occur; unknown stays what it is."""
    values, first, inverse = np.unique(column, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(np.where(values == UNKNOWN, -1, first)))
    return np.asarray(np.where(column == UNKNOWN, UNKNOWN, rank[inverse] - (values[0] == UNKNOWN)), dtype=np.int32)


# ---- faulty rows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Duplicates:
    """distinct: different rows; once: rows without an equal; expected, expected_once: the same if cells varied
    independently within each class. in_training: the expected share of a random test part that is, label included, in
    the training part. narrow: so few columns that rows must repeat."""

    rows: int
    distinct: int
    once: int
    expected: float
    expected_once: float
    in_training: float
    narrow: bool

    @property
    def unexpected(self) -> bool:
        """Whether rows repeat far more often than by chance."""
        return not self.narrow and self.in_training >= 0.03 and self.distinct <= 0.97 * self.expected

    @property
    def copied(self) -> bool:
        """Whether rows look like copies: of different cases that are alike, more would occur once."""
        few = self.expected_once >= 10 and self.once <= 0.2 * self.expected_once
        return self.unexpected and self.in_training >= 0.3 and (few or self.distinct <= 0.5 * self.expected)


def count_duplicates(table: AnswerTable, matrix: Any, seed: int) -> Duplicates:
    """How often rows repeat, and how often they would if cells varied independently within each class.

    matrix: (B, F) as `AnswerTable.raw_rows` gives it.
    """
    ids, n = row_ids(matrix), len(matrix)
    rng, shuffled = np.random.default_rng((seed, 7)), matrix.copy()
    for c in range(len(table.classes)):
        own = table.labels == c
        shuffled[own] = rng.permuted(shuffled[own], axis=0)
    texts = matrix.shape[1] == 1  # nothing to shuffle, and none should repeat
    expected, expected_once = (n, n) if texts else _distinct(row_ids(shuffled))
    possible = sum(np.log(max(len(np.unique(column)), 1)) for column in matrix.T)
    narrow = not texts and bool(possible < np.log(4 * n))
    return Duplicates(n, *_distinct(ids), expected, expected_once, in_training(ids, table.labels), narrow)


def _distinct(ids: IntArray) -> tuple[int, int]:
    sizes = np.bincount(ids)
    return int((sizes > 0).sum()), int((sizes == 1).sum())


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


def find_row_faults(table: AnswerTable, ids: IntArray, duplicates: Duplicates) -> list[Finding]:
    """Class-level rows, duplicate rows, conflicting labels; ids: (B,) equal numbers for equal rows."""
    found = _class_level(table, duplicates)
    if not found and duplicates.unexpected:
        found = [Finding.of("duplicate rows", "serious" if duplicates.copied else "warning", (), asdict(duplicates))]
    return found + _conflicting_labels(table, ids, duplicates.narrow)


def _class_level(table: AnswerTable, duplicates: Duplicates) -> list[Finding]:
    """Whether all rows of (nearly) every class are the same."""
    n, n_classes, sizes = len(table.labels), len(table.classes), table.class_counts
    seen = np.unique(table.patterns * n_classes + table.labels)
    kinds = np.bincount(seen % n_classes, minlength=n_classes)  # (C,) distinct patterns of each class
    repeated = sizes > 1
    if not repeated.any():
        remedy = "Fine for a game or an identification key. Test it with answers of people, some of them wrong."
        return [Finding.of("class-level rows", "note", (), {"labels": n}, remedy)]
    alike = repeated & (kinds == 1)
    share, facts = sizes[alike].sum() / sizes[repeated].sum(), table.states_facts
    if duplicates.narrow or share < (0.9 if facts else 0.3) or not ((alike & (sizes >= RARE)).any() or facts):
        return []
    n_alike = int(alike.sum())
    numbers = {
        "rows": n,
        "classes": n_classes,
        "classes_without_variation": n_alike,
        "which": "every class has" if n_alike == n_classes else f"{n_alike:,} of {n_classes:,} classes have",
        "patterns": len(np.unique(table.patterns)),
        "in_training": duplicates.in_training,
    }
    return [Finding.of("class-level rows", "serious" if share >= 0.9 and not facts else "warning", (), numbers)]


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


def _conflicting_labels(table: AnswerTable, ids: IntArray, narrow: bool) -> list[Finding]:
    """Rows with equal answers and different labels, which bound the accuracy of any classifier on these queries."""
    n = len(table.labels)
    bound, involved, kinds = best_possible(table.patterns, table.labels)
    if bound == 1 or (involved < min(0.01 * n, 10) and not table.states_facts):
        return []
    raw_bound, same, _ = best_possible(ids, table.labels)
    numbers = {"rows": n, "conflicting": involved, "patterns": kinds, "bound": bound}
    numbers |= {} if table.queries.kind == "concepts" else {"same_rows": same}
    return [Finding.of("conflicting labels", "warning" if raw_bound < 0.95 and not narrow else "note", (), numbers)]


def find_imbalance(table: AnswerTable) -> list[Finding]:
    """One label that nearly all rows have, or labels of very few rows."""
    sizes = table.class_counts
    largest, rare = int(sizes.argmax()), np.flatnonzero(sizes < RARE)
    if table.states_facts or (sizes[largest] < DOMINANT * len(table.labels) and not len(rare)):
        return []
    share = float(sizes[largest] / len(table.labels))
    names = [str(c) for c in table.classes[rare]] or None
    numbers = {"most": quoted(table.classes[largest]), "share": share, "rare": names}
    return [Finding.of("imbalance", "note", (), numbers)]


# ---- missing answers ------------------------------------------------------------------------------------------------


def find_missing(table: AnswerTable) -> list[Finding]:
    """Mostly missing features, and features whose missingness depends on the label."""
    n, sizes = len(table.codes), table.class_counts
    missing = np.stack(
        [np.bincount(table.labels[~table.known(f)], minlength=len(sizes)) for f in range(len(table.features))]
    )  # (S, C)
    share, found = missing.sum(axis=1) / n, []
    mostly = [int(f) for f in np.argsort(-share, kind="stable") if share[f] >= MOSTLY]
    if mostly:
        numbers = {"rows": n, "missing": float(share[mostly].min()), "features": table.names(mostly)}
        found.append(Finding.of("mostly missing", "warning", table.query_names(mostly), numbers))
    large = np.flatnonzero(sizes >= MIN_MISSING_OF_CLASS)
    if len(large) >= 2:
        spread = np.ptp(missing[:, large] / sizes[large], axis=1)
        telling = [
            int(f)
            for f in np.argsort(-spread, kind="stable")
            if spread[f] >= MIN_DIFFERENCE and _missing_pvalue(missing[f], sizes) * len(missing) < ALPHA
        ]
        found += [_informative_missingness(table, telling, missing[telling[0]], large)] if telling else []
    return found


def _missing_pvalue(missing: IntArray, sizes: IntArray) -> float:
    counts = np.stack([missing, sizes - missing])[:, sizes > 0]
    return float(chi2_contingency(counts, correction=False, lambda_="log-likelihood").pvalue)


def _informative_missingness(table: AnswerTable, features: list[int], missing: IntArray, large: IntArray) -> Finding:
    """missing: (C,) of the feature with the largest difference."""
    sizes = table.class_counts
    shares = missing[large] / sizes[large]
    high, low = int(shares.argmax()), int(shares.argmin())
    numbers = {
        "feature": quoted(table.features[features[0]].name),
        "most": quoted(table.classes[large[high]]),
        "high": float(shares[high]),
        "least": quoted(table.classes[large[low]]),
        "low": float(shares[low]),
        "accuracy": leave_one_out_accuracy(np.stack([missing, sizes - missing]).astype(np.float64)),
        "most_frequent": float(sizes.max() / sizes.sum()),
        "others": table.names(features[1:]) or None,
    }
    serious = shares[high] - shares[low] >= LARGE_DIFFERENCE
    about = table.query_names(features)
    return Finding.of("informative missingness", "serious" if serious else "warning", about, numbers)
