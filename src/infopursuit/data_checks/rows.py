"""Faults of the rows: duplicates, conflicting labels, class-level rows, identifiers, missing answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency

from infopursuit.data_checks.answers import AnswerTable, column_places, leave_one_out_accuracy, row_ids, skill
from infopursuit.data_checks.report import Finding, count, listed, percent, quoted
from infopursuit.queries.columns import Columns
from infopursuit.queries.fields import as_shares
from infopursuit.queries.tables import Column, read_table
from infopursuit.types import UNKNOWN, IntArray

TEST_SHARE = 0.2
"""Of the random split that findings speak of."""
MAX_SHUFFLED = 20_000
"""Rows that are shuffled within their class to estimate how many distinct rows to expect."""
MIN_NAMES = 30
"""A column of fewer cells is not taken for names although all its cells differ."""
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
            if is_identifier(cells.column(place)):
                found[name] = tuple(queries.names[q] for q, (topic, _) in enumerate(queries.topics) if topic == name)
    else:
        for f, feature in enumerate(table.features):
            known = table.codes[table.known(f), f]
            if len(known) >= MIN_NAMES and len(np.unique(known)) >= 0.9 * len(known):
                found[feature.name] = table.query_names((f,))
    if not found:
        return []
    sentence = (
        f"{listed(list(found))} {'differs' if len(found) == 1 else 'differ'} from row to row, as a name or a row "
        f"number does: {table.n_rows:,} rows, and (nearly) as many values."
    )
    remedy = (
        "Leave it out (--drop on the command line): on new rows it tells nothing, and where rows are sorted by label "
        "it leaks the label."
    )
    about = tuple(query for queries in found.values() for query in queries)
    return [Finding("identifier", "serious", sentence, remedy, about, {"columns": list(found), "rows": table.n_rows})]


def is_identifier(column: Column) -> bool:
    """Whether a column holds texts that hardly repeat, or distinct whole numbers (nearly) without gaps.

    Measurements differ from row to row too, so other numbers are not taken for identifiers.
    """
    codes, _ = column.text()
    known = codes[codes != UNKNOWN]
    distinct = len(np.unique(known))
    if len(known) < MIN_NAMES:
        return False
    if column.kind == "text":
        return distinct >= 0.9 * len(known) and as_shares(column) is None
    if column.kind != "number" or column.values is None or distinct < len(known):
        return False
    numbers = column.values[~np.isnan(column.values)]
    return bool((numbers == np.round(numbers)).all() and np.ptp(numbers) < 1.05 * len(numbers))


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
        found = [_duplicate_rows(table, ids, duplicates)]
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
    """How many distinct rows there are, and how many that occur once."""
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


def _duplicate_rows(table: AnswerTable, ids: IntArray, found: Duplicates) -> Finding:
    n_classes = len(table.classes)
    kinds = np.bincount(np.unique(ids * n_classes + table.y) % n_classes, minlength=n_classes)
    low, high = int(kinds.min()), int(kinds.max())
    meaning = (
        "mostly measures how well rows are looked up, and says little about new rows"
        if found.in_training >= 0.3
        else "is too high"
    )
    return Finding(
        "duplicate rows",
        "serious" if found.copied else "warning",
        f"Only {found.distinct:,} of {found.rows:,} rows are distinct, {low if low == high else f'{low} to {high}'} in "
        f"each class, and {found.once:,} occur once; if cells varied independently within a class, about "
        f"{round(found.expected):,} would be distinct and {round(found.expected_once):,} occur once. A random split "
        f"into 80 % and 20 % has {percent(found.in_training)} of its test rows, label included, in training too: an "
        f"accuracy measured on it {meaning}.",
        "Remove duplicates before splitting, or keep equal rows together (groups=). If they are different cases that "
        "happen to be alike, say so beside the accuracy.",
        (),
        {
            "rows": found.rows,
            "distinct": found.distinct,
            "once": found.once,
            "expected_distinct": found.expected,
            "expected_once": found.expected_once,
            "in_training": found.in_training,
            "min_in_a_class": low,
            "max_in_a_class": high,
        },
    )


def _class_level(table: AnswerTable, duplicates: Duplicates) -> list[Finding]:
    """Whether all rows of (nearly) every class are the same."""
    n, n_classes = len(table.y), len(table.classes)
    sizes = np.bincount(table.y, minlength=n_classes)
    seen = np.unique(table.patterns * n_classes + table.y)
    kinds = np.bincount(seen % n_classes, minlength=n_classes)  # (C,) distinct patterns of each class
    repeated = sizes > 1
    if not repeated.any():
        sentence = (
            f"Each of the {n:,} labels has one row: the table states facts about labels. No rows can be held out, no "
            f"accuracy can be measured, and what needs several rows of a label was not checked."
        )
        remedy = "Fine for a game or an identification key. Test it with answers of people, some of them wrong."
        return [Finding("class-level rows", "note", sentence, remedy, (), {"rows": n, "classes": n})]
    alike = repeated & (kinds == 1)
    share, facts = sizes[alike].sum() / sizes[repeated].sum(), table.states_facts
    large = bool((alike & (sizes >= MIN_OF_CLASS)).any())
    if duplicates.narrow or share < (0.9 if facts else 0.3) or not (large or facts):
        return []
    n_alike, n_patterns = int(alike.sum()), len(np.unique(table.patterns))
    which = "every class has" if n_alike == n_classes else f"{n_alike:,} of {n_classes:,} classes have"
    return [
        Finding(
            "class-level rows",
            "serious" if share >= 0.9 and not facts else "warning",
            f"The rows are facts about classes, not observations: {which} the same answers in each of its rows "
            f"({n:,} rows, {count(n_patterns, 'pattern')} of answers). A random split has "
            f"{percent(duplicates.in_training)} of its test rows in training too, and an accuracy measured on it is "
            f"that of a lookup.",
            "Use answers that were given about each single row. Or declare the table as facts (fit --facts) and test "
            "with answers that are sometimes wrong. Do not report an accuracy on held-out rows.",
            (),
            {
                "rows": n,
                "classes": n_classes,
                "classes_without_variation": n_alike,
                "patterns": n_patterns,
                "in_training": duplicates.in_training,
            },
        )
    ]


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
    origin = (
        ""
        if table.queries.kind == "concepts"
        else f" Of these, {same:,} rows are equal in the data itself;"
        + (" finer queries could tell apart the others." if same < involved else " finer queries would not help.")
    )
    sentence = (
        f"{involved:,} of {n:,} rows have the same answers as a row with another label ({count(kinds, 'pattern')} of "
        f"answers). No classifier on these queries can be right in more than {percent(bound)} of the rows.{origin}"
    )
    remedy = "Add queries that tell these rows apart, correct wrong labels, or report the bound beside the accuracy."
    numbers = {"rows": n, "conflicting": involved, "patterns": kinds, "bound": bound, "same_rows": same}
    severity = "warning" if raw_bound < 0.95 and not narrow else "note"
    return [Finding("conflicting labels", severity, sentence, remedy, (), numbers)]


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
        sentence = (
            f"{table.many(len(mostly))} {'has' if len(mostly) == 1 else 'have'} no answer in at least "
            f"{percent(float(share[mostly].min()))} of {n:,} rows: {listed(table.names(mostly))}."
        )
        remedy = "What is learnt here rests on few rows. Leave it out, or find out why answers are missing."
        numbers = {"rows": n, "missing": share[mostly].tolist()}
        found.append(Finding("mostly missing", "warning", sentence, remedy, table.query_names(mostly), numbers))
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
    """The p-value of the G-test that missingness and class are independent."""
    counts = np.stack([missing, sizes - missing])[:, sizes > 0]
    return float(chi2_contingency(counts, correction=False, lambda_="log-likelihood").pvalue)


def _informative_missingness(table: AnswerTable, features: list[int], missing: IntArray, large: IntArray) -> Finding:
    """missing: (C,) of the feature with the largest difference."""
    sizes = table.class_counts
    shares = missing[large] / sizes[large]
    (high, most), (low, least) = (
        (float(shares[i]), str(table.classes[large[i]])) for i in (shares.argmax(), shares.argmin())
    )
    accuracy = leave_one_out_accuracy(np.stack([missing, sizes - missing]).astype(np.float64))
    usual = float(sizes.max() / sizes.sum())
    sentence = (
        f"Whether {quoted(table.features[features[0]].name)} is known depends on the label: it is missing in "
        f"{percent(high)} of the rows of {quoted(most)} and in {percent(low)} of those of {quoted(least)}."
    )
    if skill(accuracy, usual) > 0.05:
        sentence += (
            f" Missingness alone predicts the label in {percent(accuracy)} of the rows; the most frequent label is "
            f"right in {percent(usual)}."
        )
    if len(features) > 1:
        sentence += f" The same holds, less, for {listed(table.names(features[1:]))}."
    return Finding(
        "informative missingness",
        "serious" if high - low >= LARGE_DIFFERENCE else "warning",
        sentence,
        "Tests that are ordered because of a suspicion leak it. A classifier that sees gaps will use them; here a gap "
        "counts as not asked. Fill in the answers, or leave the query out.",
        table.query_names(features),
        {
            "most_missing": {"class": most, "share": high},
            "least_missing": {"class": least, "share": low},
            "accuracy": accuracy,
            "most_frequent": usual,
        },
    )
