"""Rows that make a measured accuracy meaningless: repeats, contradictions, facts about classes in place of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.linting.answers import Answers
from infopursuit.linting.finding import Finding, count, percent
from infopursuit.linting.raw_rows import same_rows
from infopursuit.types import IntArray

TEST_SHARE = 0.2
"""Of the random split that is spoken of."""
MOST_SHUFFLED = 20_000
"""Rows that are shuffled within their class, to see how many different ones are to be expected."""
LEAST_OF_CLASS = 5
MEANS = (
    ", which makes a measured accuracy too high",
    ": an accuracy measured so is largely that of looking the row up, and says little about new rows",
)
"""What some, and what many, rows on both sides of a split mean."""


@dataclass(frozen=True)
class Repeats:
    """distinct: how many different rows there are; once: how many rows have no equal. expected, expected_once: how many
    there would be if cells varied independently within each class. in_training: the share of the rows of a random test
    part that are, with the same label, also in the training part. narrow: so few columns that repeats are to be
    expected."""

    rows: int
    distinct: int
    once: int
    expected: float
    expected_once: float
    in_training: float
    narrow: bool

    @property
    def unnatural(self) -> bool:
        """Whether rows repeat far more often than they would by themselves."""
        return not self.narrow and self.in_training >= 0.03 and self.distinct <= 0.97 * self.expected

    @property
    def copied(self) -> bool:
        """Whether rows look like copies rather than like cases that happen to be alike: of those there would be more
        that occur once."""
        few = self.expected_once >= 10 and self.once <= 0.2 * self.expected_once
        return self.unnatural and self.in_training >= 0.3 and (few or self.distinct <= 0.5 * self.expected)


def find_row_faults(answers: Answers, matrix: Any, *, seed: int = 0) -> tuple[list[Finding], Repeats]:
    """Facts by class, repeats, contradictions; and what was counted. matrix: as `row_matrix` gives it."""
    repeats = count_repeats(answers, matrix, seed)
    by_class = _facts_by_class(answers, repeats)
    found = [*by_class]
    if not by_class and repeats.unnatural:
        found.append(_tell_repeats(answers, matrix, repeats))
    return found + _contradictions(answers, same_rows(matrix), repeats.narrow), repeats


def count_repeats(answers: Answers, matrix: Any, seed: int) -> Repeats:
    """How often rows repeat, and how often they would if cells varied independently within each class."""
    rows, y = same_rows(matrix), answers.y
    n = len(rows)
    rng = np.random.default_rng((seed, 7))
    some = np.arange(n) if n <= MOST_SHUFFLED else np.sort(rng.choice(n, MOST_SHUFFLED, replace=False))
    shuffled = matrix[some].copy()
    for c in np.unique(y[some]):
        own = y[some] == c
        shuffled[own] = rng.permuted(shuffled[own], axis=0)
    texts = matrix.shape[1] == 1  # nothing to shuffle, and none should repeat
    expected, expected_once = (1.0 * len(some), 1.0 * len(some)) if texts else _different(same_rows(shuffled))
    distinct, once = _different(rows)
    if len(some) < n:  # in as many rows: larger samples have more repeats
        here, here_once = _different(rows[some])
        expected, expected_once = expected * distinct / here, expected_once * once / max(here_once, 1)
    possible = sum(np.log(max(len(np.unique(column)), 1)) for column in matrix[some].T)
    return Repeats(
        rows=n,
        distinct=distinct,
        once=once,
        expected=float(expected),
        expected_once=float(expected_once),
        in_training=in_training(rows, y),
        narrow=not texts and bool(possible < np.log(4 * n)),
    )


def _different(rows: IntArray) -> tuple[int, int]:
    """How many different rows, and how many that occur once."""
    sizes = np.bincount(rows)
    return int((sizes > 0).sum()), int((sizes == 1).sum())


def in_training(rows: IntArray, y: IntArray) -> float:
    """The share of a random test part whose rows are, with the same label, in the training part; expected exactly.

    Of m equal rows all lie in the test part with one of them with probability (T - 1) (T - 2) ... / (n - 1) (n - 2) ...

    >>> round(in_training(np.array([0, 0, 1, 2, 3]), np.array([0, 0, 0, 1, 1])), 3)
    0.4
    """
    n = len(rows)
    tested = max(round(TEST_SHARE * n), 1)
    _, sizes = np.unique(rows * (int(y.max()) + 1) + y, return_counts=True)
    largest = int(sizes.max())
    factors = np.maximum(tested - np.arange(1, largest), 0) / np.maximum(n - np.arange(1, largest), 1)
    apart = np.concatenate([[1.0], np.cumprod(factors)])  # (m,) that no other of m equal rows is in training
    return float((sizes * (1 - apart[sizes - 1])).sum() / n)


def _facts_by_class(answers: Answers, repeats: Repeats) -> list[Finding]:
    """Whether all rows of (nearly) every class are the same."""
    n, n_classes = len(answers.y), len(answers.classes)
    sizes = np.bincount(answers.y, minlength=n_classes)
    seen = np.unique(answers.patterns * n_classes + answers.y)
    kinds = np.bincount(seen % n_classes, minlength=n_classes)  # (C,) different patterns of each class
    repeated = sizes > 1
    if not repeated.any():
        return [_one_row_each(answers)]
    alike = repeated & (kinds == 1)
    share = sizes[alike].sum() / sizes[repeated].sum()
    large = alike & (sizes >= LEAST_OF_CLASS)
    if repeats.narrow or share < 0.3 or (answers.is_facts and share < 0.9) or not (large.any() or answers.is_facts):
        return []
    whole = "every" if alike.sum() == n_classes else f"{int(alike.sum()):,} of {n_classes:,}"
    are = "class has" if alike.sum() == n_classes else "classes have"
    return [
        Finding(
            "facts by class",
            "serious" if share >= 0.9 and not answers.is_facts else "warning",
            f"Answers are known by class only: {whole} {are} the same answers in each of its rows "
            f"({n:,} rows, {count(len(np.unique(answers.patterns)), 'pattern')} of answers). These are facts about "
            f"classes, not observations: nothing varies within a class, a random split has "
            f"{percent(repeats.in_training)} of its test rows in training too, and an accuracy measured on them is "
            f"that of a lookup, the same on any part.",
            "Use answers that were given about each single row. Or say that the table states facts (fit --facts), and "
            "test with answers that are wrong now and then. Do not report an accuracy on held-out rows.",
            (),
            {
                "rows": n,
                "classes": n_classes,
                "classes_without_variation": int(alike.sum()),
                "patterns": len(np.unique(answers.patterns)),
                "in_training": repeats.in_training,
            },
        )
    ]


def _one_row_each(answers: Answers) -> Finding:
    n = len(answers.y)
    return Finding(
        "facts by class",
        "note",
        f"Each of the {n:,} labels has one row, so the table states facts about labels. Nothing can be held out, and "
        f"no accuracy on new cases can be measured; what needs several rows of a label was not looked at.",
        "Fine for a game or a key. Test it with answers of people, some of which are wrong (fit shows 5 % wrong "
        "answers).",
        (),
        {"rows": n, "classes": n},
    )


def _tell_repeats(answers: Answers, matrix: Any, repeats: Repeats) -> Finding:
    rows, n_classes = same_rows(matrix), len(answers.classes)
    kinds = np.bincount(np.unique(rows * n_classes + answers.y) % n_classes, minlength=n_classes)
    each = f"{int(kinds.min())} to {int(kinds.max())}" if kinds.min() < kinds.max() else f"{int(kinds.min())}"
    return Finding(
        "repeated rows",
        "serious" if repeats.copied else "warning",
        f"Only {repeats.distinct:,} of {repeats.rows:,} rows are different, {each} in each class, and {repeats.once:,} "
        f"occur once; if cells varied independently within a class, about {round(repeats.expected):,} would be "
        f"different and {round(repeats.expected_once):,} occur once. A random split into 80 % and 20 % has "
        f"{percent(repeats.in_training)} of its test rows, label included, in training too"
        f"{MEANS[repeats.in_training >= 0.3]}.",
        "Remove repeats before splitting, or keep equal rows on one side (groups=). If the repeats are different cases "
        "that happen to be alike, say so beside the accuracy.",
        (),
        {
            "rows": repeats.rows,
            "distinct": repeats.distinct,
            "once": repeats.once,
            "expected_distinct": repeats.expected,
            "expected_once": repeats.expected_once,
            "in_training": repeats.in_training,
            "fewest_in_a_class": int(kinds.min()),
            "most_in_a_class": int(kinds.max()),
        },
    )


def best_possible(rows: IntArray, y: IntArray) -> tuple[float, int, int]:
    """The share of rows that are right when equal rows get their most frequent label; how many rows have an equal with
    another label; and how many kinds of rows these are.

    >>> best_possible(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    (0.75, 3, 1)
    """
    n_classes = int(y.max()) + 1
    pairs, sizes = np.unique(rows * n_classes + y, return_counts=True)
    kind = pairs // n_classes
    best = np.zeros(int(kind.max()) + 1, dtype=np.int64)
    np.maximum.at(best, kind, sizes)
    labels = np.bincount(kind)
    return float(best.sum() / len(y)), int(sizes[labels[kind] > 1].sum()), int((labels > 1).sum())


def _contradictions(answers: Answers, rows: IntArray, narrow: bool) -> list[Finding]:
    """Rows with the same answers and different labels: they bound what any classifier on these queries can reach."""
    n = len(answers.y)
    bound, involved, kinds = best_possible(answers.patterns, answers.y)
    if bound == 1 or (involved < 0.01 * n and involved < 10 and not answers.is_facts):
        return []
    whole, also, _ = best_possible(rows, answers.y)
    if answers.queries.kind == "concepts":
        origin = ""
    elif also == 0:
        origin = " The rows themselves differ: finer queries could tell them apart, if the difference means anything."
    elif also < involved:
        origin = f" For {also:,} of them the rows themselves are the same; finer queries could tell apart the rest."
    else:
        origin = " The rows themselves are the same in all that is asked about."
    return [
        Finding(
            "contradicting rows",
            "warning" if whole < 0.95 and not narrow else "note",
            f"{involved:,} of {n:,} rows have the same answers as a row with another label ({count(kinds, 'pattern')} "
            f"of answers). No classifier that uses these queries can be right in more than {percent(bound)} of "
            f"all {n:,}.{origin}",
            "Add queries that tell these rows apart, correct labels that are wrong, or accept the bound and say it "
            "beside the accuracy.",
            (),
            {"rows": n, "contradicting": involved, "patterns": kinds, "bound": bound, "same_rows": also},
        )
    ]
