"""Faults of the rows: duplicates, conflicting labels, class-level rows, identifiers, missing answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency

from infopursuit.data_checks.answers import AnswerTable, column_places, leave_one_out_accuracy, row_ids
from infopursuit.data_checks.report import Finding, Severity, quoted
from infopursuit.queries.columns import Columns
from infopursuit.queries.tables import MIN_NAMES, identifier, read_table
from infopursuit.types import IntArray

TEST_SHARE = 0.2
"""Of the random split that findings speak of."""
MAX_SHUFFLED = 20_000
"""Rows that are shuffled within their class to estimate how many distinct rows to expect."""
MIN_OF_CLASS = 5
MOSTLY = 0.9
"""The share of missing answers from which a feature is mostly missing."""
MIN_DIFFERENCE, LARGE_DIFFERENCE, MIN_MISSING_OF_CLASS, ALPHA = 0.2, 0.5, 10, 1e-3
"""Differences of missing shares between classes that are reported, and serious; class sizes; the level of the test."""


# ---- identifiers ----------------------------------------------------------------------------------------------------


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


# ---- duplicate rows -------------------------------------------------------------------------------------------------


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


def find_row_faults(table: AnswerTable, matrix: Any, *, seed: int = 0) -> tuple[list[Finding], Duplicates]:
    """Class-level rows, duplicate rows, conflicting labels; matrix: (N, F) as `AnswerTable.raw_rows` gives it."""
    duplicates = count_duplicates(table, matrix, seed)
    ids = row_ids(matrix)
    found = _class_level(table, duplicates)
    if not found and duplicates.unexpected:
        found = [Finding.of("duplicate rows", "serious" if duplicates.copied else "warning", (), asdict(duplicates))]
    return found + _conflicting_labels(table, ids, duplicates.narrow), duplicates


def count_duplicates(table: AnswerTable, matrix: Any, seed: int) -> Duplicates:
    """How often rows repeat, and how often they would if cells varied independently within each class."""
    ids, n = row_ids(matrix), len(matrix)
    rng = np.random.default_rng((seed, 7))
    some = np.arange(n) if n <= MAX_SHUFFLED else np.sort(rng.choice(n, MAX_SHUFFLED, replace=False))
    shuffled = matrix[some].copy()
    for c in np.unique(table.y[some]):
        own = table.y[some] == c
        shuffled[own] = rng.permuted(shuffled[own], axis=0)
    texts = matrix.shape[1] == 1  # nothing to shuffle, and none should repeat
    expected, expected_once = (1.0 * len(some), 1.0 * len(some)) if texts else _distinct(row_ids(shuffled))
    distinct, once = _distinct(ids)
    if len(some) < n:  # larger samples have more repeats
        here, here_once = _distinct(ids[some])
        expected, expected_once = expected * distinct / here, expected_once * once / max(here_once, 1)
    possible = sum(np.log(max(len(np.unique(column)), 1)) for column in matrix[some].T)
    narrow = not texts and bool(possible < np.log(4 * n))
    shared = in_training(ids, table.y)
    return Duplicates(n, int(distinct), int(once), float(expected), float(expected_once), shared, narrow)


def _distinct(ids: IntArray) -> tuple[float, float]:
    sizes = np.bincount(ids)
    return float((sizes > 0).sum()), float((sizes == 1).sum())


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


def _class_level(table: AnswerTable, duplicates: Duplicates) -> list[Finding]:
    """Whether all rows of (nearly) every class are the same."""
    n, n_classes = len(table.y), len(table.classes)
    sizes = np.bincount(table.y, minlength=n_classes)
    seen = np.unique(table.patterns * n_classes + table.y)
    kinds = np.bincount(seen % n_classes, minlength=n_classes)  # (C,) distinct patterns of each class
    repeated = sizes > 1
    if not repeated.any():
        remedy = "Fine for a game or an identification key. Test it with answers of people, some of them wrong."
        return [Finding.of("class-level rows", "note", (), {"labels": n}, remedy)]
    alike = repeated & (kinds == 1)
    share, facts = sizes[alike].sum() / sizes[repeated].sum(), table.states_facts
    large = bool((alike & (sizes >= MIN_OF_CLASS)).any())
    if duplicates.narrow or share < (0.9 if facts else 0.3) or not (large or facts):
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


# ---- conflicting labels ---------------------------------------------------------------------------------------------


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
    n = len(table.y)
    bound, involved, kinds = best_possible(table.patterns, table.y)
    if bound == 1 or (involved < min(0.01 * n, 10) and not table.states_facts):
        return []
    raw_bound, same, _ = best_possible(ids, table.y)
    numbers = {"rows": n, "conflicting": involved, "patterns": kinds, "bound": bound}
    numbers |= {} if table.queries.kind == "concepts" else {"same_rows": same}
    return [Finding.of("conflicting labels", "warning" if raw_bound < 0.95 and not narrow else "note", (), numbers)]


# ---- missing answers ------------------------------------------------------------------------------------------------


def find_missing(table: AnswerTable) -> tuple[list[Finding], list[int]]:
    """Mostly missing features; features whose missingness depends on the label, and the indices of the latter."""
    n, sizes = len(table.codes), table.class_counts
    missing = np.stack(
        [np.bincount(table.labels[~table.known(f)], minlength=len(sizes)) for f in range(len(table.features))]
    )  # (S, C)
    share = missing.sum(axis=1) / n
    found = []
    mostly = [int(f) for f in np.argsort(-share, kind="stable") if share[f] >= MOSTLY]
    if mostly:
        numbers = {"rows": n, "missing": float(share[mostly].min()), "features": table.names(mostly)}
        found.append(Finding.of("mostly missing", "warning", table.query_names(mostly), numbers))
    large = np.flatnonzero(sizes >= MIN_MISSING_OF_CLASS)
    if len(large) < 2:
        return found, []
    spread = np.ptp(missing[:, large] / sizes[large], axis=1)
    informative = [
        int(f)
        for f in np.argsort(-spread, kind="stable")
        if spread[f] >= MIN_DIFFERENCE and _missing_pvalue(missing[f], sizes) * len(missing) < ALPHA
    ]
    if informative:
        found.append(_informative_missingness(table, informative, missing[informative[0]], large))
    return found, informative


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
    severity: Severity = "serious" if shares[high] - shares[low] >= LARGE_DIFFERENCE else "warning"
    return Finding.of("informative missingness", severity, table.query_names(features), numbers)
