"""Label leakage: a query, or two together, whose answer gives the label away, and answers that give one class away."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from infopursuit.linting.answers import Answers
from infopursuit.linting.black_boxes import Split, answer_matrix, fit_and_predict
from infopursuit.linting.counts import by_class, coarse, left_out_right, pair_counts, skill
from infopursuit.linting.finding import Finding, count, listed, percent, shortened
from infopursuit.types import UNKNOWN, FloatArray, IntArray

LEAK = 0.95
"""An answer that puts right this share of what always naming the most frequent class gets wrong gives it away."""
NO_NEWS = 0.8
"""A pair is told only where neither of the two puts this much right alone."""
EASY = 0.85
"""Where all others together put this much right too, the label is easy to tell, or others are copies of the leak."""
MARK, NEARLY = 0.99, 0.9
"""An answer marks a class from this precision and recall on; all others together do nearly as well from that on."""
SEVERAL = 3
"""More single queries than this that give the label away are told together."""
LEAST_KNOWN, LEAST_ROWS, LEAST_OF_CLASS = 0.1, 30, 8
SURE = 1e-3
"""That chance does as well in any of all pairs must be less probable than this."""
WORK, PAIR_ROWS, MOST_CELLS, MOST_PAIRS = 200_000_000, 5_000, 10, 50
"""Cells of all pairs together, rows that pairs are counted in, cells of one subject, pairs that are looked at again."""


@dataclass(frozen=True)
class Leak:
    """Subjects that give the label away: how often right, on how many rows, and how often the usual class would be."""

    subjects: tuple[int, ...]
    accuracy: float
    usual: float
    rows: int
    best_alone: float = 0.0


def find_leaks(
    answers: Answers, split: Split | None, *, suspects: Collection[int] = (), seed: int = 0
) -> tuple[list[Finding], set[int], dict[str, Any]]:
    """Findings about single queries, pairs, and single classes; the subjects of these and the suspects; and the best
    single query, for whoever wants to know.

    suspects: subjects that give the label away otherwise; like those found here they are left out of the black box that
    findings are compared with.
    """
    tables = [by_class(answers.codes[:, s], answers.labels, len(answers.classes)) for s in range(len(answers.subjects))]
    alone = [_judge((s,), table, len(answers.codes), tries=len(tables)) for s, table in enumerate(tables)]
    single = [leak for leak in alone if leak is not None and skill(leak.accuracy, leak.usual) >= LEAK]
    leaking = {s for leak in single for s in leak.subjects}
    pairs, compared = find_pairs(answers, [s for s in range(len(tables)) if s not in leaking], tables, seed)
    marks = class_marks(answers, tables, leaking)
    given = leaking.union(suspects, *(leak.subjects for leak in pairs), *marks.values())
    rest = [s for s in range(len(tables)) if s not in given]
    others = None
    if (single or pairs or marks) and split is not None and rest:
        others = _confusion(answers, rest, split, seed)
    if len(single) > SEVERAL:
        found = [_tell_several(answers, single, _right(others), len(rest))]
    else:
        found = [_tell_single(answers, leak, _right(others), len(rest)) for leak in single]
    found += _tell_pairs(answers, pairs, _right(others), len(rest))
    if marks:
        found.append(_tell_classes(answers, marks, others))
    best = max((leak for leak in alone if leak is not None), key=lambda leak: leak.accuracy, default=None)
    measured: dict[str, Any] = {"pairs compared": compared}
    if best is not None:
        measured |= {
            "best alone": answers.subjects[best.subjects[0]].name,
            "best alone right": best.accuracy,
            "most frequent class": best.usual,
        }
    return found, given, measured


def _confusion(answers: Answers, subjects: Sequence[int], split: Split, seed: int) -> FloatArray:
    """(C, C) what a black box on some subjects says about held-out rows, and what they are."""
    predicted = fit_and_predict(answer_matrix(answers, subjects), answers.y, split, seed=seed)
    table = np.zeros((len(answers.classes), len(answers.classes)))
    np.add.at(table, (predicted, answers.y[split.test]), 1)
    return table


def _right(confusion: FloatArray | None) -> float | None:
    return None if confusion is None else float(np.trace(confusion) / confusion.sum())


def find_pairs(
    answers: Answers, subjects: Sequence[int], tables: Sequence[FloatArray], seed: int
) -> tuple[list[Leak], int]:
    """Pairs that give the label away while neither of the two does; and how many pairs were compared."""
    n_classes = len(answers.classes)
    rng = np.random.default_rng((seed, 6))
    most = int((WORK / (4 * n_classes)) ** 0.5)
    if len(subjects) > most:
        subjects = sorted(rng.permutation(np.asarray(subjects))[:most].tolist())
    if len(subjects) < 2:
        return [], 0
    largest = max(int(answers.codes[:, s].max()) + 1 for s in subjects)
    cells = max(2, min(largest, MOST_CELLS, int((WORK / n_classes) ** 0.5 / len(subjects))))
    rows = np.arange(len(answers.codes))
    if len(rows) > PAIR_ROWS:
        rows = np.sort(rng.permutation(rows)[:PAIR_ROWS])
    codes = np.stack(
        [coarse(answers.codes[rows, s], cells, ordered=answers.subjects[s].ordered) for s in subjects], axis=1
    )
    usual = answers.class_counts.max() / len(answers.codes)
    right = np.zeros((len(subjects), len(subjects)))
    for block, counts in pair_counts(codes, answers.labels[rows], n_classes, cells, range(len(subjects))):
        known = counts.sum(axis=(1, 3, 4))
        enough = known >= max(LEAST_ROWS, LEAST_KNOWN * len(rows))
        right[list(block)] = np.where(enough, counts.max(axis=4).sum(axis=(1, 3)) / np.maximum(known, 1), 0.0)
    right[np.tril_indices(len(subjects))] = 0.0
    good = np.flatnonzero(right.ravel() >= 1 - (1 - LEAK + 0.05) * (1 - usual))
    best = good[np.argsort(-right.ravel()[good], kind="stable")[:MOST_PAIRS]]
    n_pairs = len(subjects) * (len(subjects) - 1) // 2
    found = []
    for i, j in zip(*np.unravel_index(best, right.shape), strict=True):
        a, b = subjects[int(i)], subjects[int(j)]
        leak = judge_pair(answers, a, b, tables, n_pairs)
        if leak is not None:
            found.append(leak)
    return found, n_pairs


def judge_pair(answers: Answers, a: int, b: int, tables: Sequence[FloatArray], tries: int) -> Leak | None:
    """Whether two subjects together give the label away and neither of them alone nearly does."""
    first, second = answers.codes[:, a].astype(np.int64), answers.codes[:, b].astype(np.int64)
    both = np.where((first == UNKNOWN) | (second == UNKNOWN), UNKNOWN, first * (second.max() + 1) + second)
    table = by_class(both, answers.labels, len(answers.classes))
    best = max(left_out_right(tables[a]), left_out_right(tables[b]))
    leak = _judge((a, b), table, len(answers.codes), tries=tries, best_alone=best)
    if leak is None or skill(leak.accuracy, leak.usual) < LEAK or skill(best, leak.usual) >= NO_NEWS:
        return None
    return leak


def _judge(
    subjects: tuple[int, ...], table: FloatArray, n_rows: int, *, tries: int, best_alone: float = 0.0
) -> Leak | None:
    """How often right, None where too little is known or chance would do as well."""
    n = int(table.sum())
    of_class = np.sort(table.sum(axis=0))
    if n < max(LEAST_ROWS, LEAST_KNOWN * n_rows) or n - of_class[-1] < LEAST_OF_CLASS:
        return None
    accuracy, usual = left_out_right(table), float(of_class[-1] / n)
    by_chance = float(binom.sf(round(accuracy * n) - 1, n, usual))
    return Leak(subjects, accuracy, usual, n, best_alone) if by_chance * tries < SURE else None


# ---- one class ------------------------------------------------------------------------------------------------------


def class_marks(answers: Answers, tables: Sequence[FloatArray], leaking: set[int]) -> dict[int, list[int]]:
    """For classes the subjects with an answer that (nearly) all of their rows have, and (nearly) no other row."""
    if len(answers.classes) < 3:
        return {}
    scores = np.array([_class_scores(table, answers.class_counts) for table in tables])  # (S, C)
    scores[:, answers.class_counts < LEAST_OF_CLASS] = 0.0
    found: dict[int, list[int]] = {}
    for s, c in np.argwhere(scores >= MARK).tolist():
        if s not in leaking:
            found.setdefault(c, []).append(s)
    return found


def _class_scores(table: FloatArray, sizes: IntArray) -> FloatArray:
    """(C,) how well the answers for which a class is the most frequent mark it: the lesser of the share of them that is
    of the class, and the share of the class that has them."""
    top = table.argmax(axis=1)[:, None] == np.arange(table.shape[1])
    hit = np.where(top, table, 0.0).sum(axis=0)
    claimed = np.where(top, table.sum(axis=1)[:, None], 0.0).sum(axis=0)
    marked: FloatArray = np.minimum(hit / np.maximum(claimed, 1), hit / np.maximum(sizes, 1))
    return marked


def _class_scores_of(confusion: FloatArray) -> FloatArray:
    """(C,) the lesser of precision and recall of each class."""
    hit = np.diag(confusion)
    least: FloatArray = np.minimum(
        hit / np.maximum(confusion.sum(axis=1), 1), hit / np.maximum(confusion.sum(axis=0), 1)
    )
    return least


# ---- in words -------------------------------------------------------------------------------------------------------


def _tell_single(answers: Answers, leak: Leak, others: float | None, n_others: int) -> Finding:
    name = answers.subjects[leak.subjects[0]].name
    easy = others is not None and skill(others, leak.usual) >= EASY
    return Finding(
        "leak",
        "warning" if easy else "serious",
        f'The answer about "{shortened(name)}" alone gives the label away: right in {percent(leak.accuracy)} of '
        f"{leak.rows:,} rows, where always naming the most frequent label is right in {percent(leak.usual)}"
        f"{_against(answers, others, n_others)}.",
        _remedy(easy, "it"),
        answers.query_names(leak.subjects),
        {"accuracy": leak.accuracy, "most_frequent": leak.usual, "rows": leak.rows, "others": others},
    )


def _tell_several(answers: Answers, leaks: Sequence[Leak], others: float | None, n_others: int) -> Finding:
    """Many at once: where they are most of all, the label is easy rather than given away."""
    ordered = sorted(leaks, key=lambda leak: -leak.accuracy)
    subjects = [s for leak in ordered for s in leak.subjects]
    usual = ordered[0].usual
    easy = len(leaks) > len(answers.subjects) / 2 or (others is not None and skill(others, usual) >= EASY)
    return Finding(
        "leak",
        "warning" if easy else "serious",
        f"{answers.many(len(leaks))} of {len(answers.subjects):,} give the label away, each alone: "
        f"{listed(answers.names(subjects))} are right in {percent(ordered[-1].accuracy)} to "
        f"{percent(ordered[0].accuracy)} of the rows, where always naming the most frequent label is right in "
        f"{percent(usual)}{_against(answers, others, n_others)}.",
        _remedy(easy, "each"),
        answers.query_names(subjects),
        {"accuracy": [leak.accuracy for leak in ordered], "most_frequent": usual, "others": others},
    )


def _tell_pairs(answers: Answers, pairs: Sequence[Leak], others: float | None, n_others: int) -> list[Finding]:
    if not pairs:
        return []
    first = pairs[0]
    a, b = answers.names(first.subjects)
    more = f" So do {len(pairs) - 1:,} more pairs." if len(pairs) > 1 else ""
    easy = others is not None and skill(others, first.usual) >= EASY
    return [
        Finding(
            "leaking pair",
            "warning" if easy else "serious",
            f'"{shortened(a)}" and "{shortened(b)}" together give the label away: right in {percent(first.accuracy)} '
            f"of {first.rows:,} rows. The better of the two alone is right in {percent(first.best_alone)}, always "
            f"naming the most frequent label in {percent(first.usual)}{_against(answers, others, n_others)}.{more}",
            _remedy(easy, "both"),
            answers.query_names(sorted({s for leak in pairs for s in leak.subjects})),
            {
                "accuracy": first.accuracy,
                "best_alone": first.best_alone,
                "most_frequent": first.usual,
                "rows": first.rows,
                "others": others,
                "pairs": [list(answers.names(leak.subjects)) for leak in pairs],
            },
        )
    ]


def _against(answers: Answers, others: float | None, n_others: int) -> str:
    if others is None:
        return ""
    return f", and a black box on the {answers.many(n_others)} left in {percent(others)} of held-out rows"


def _remedy(easy: bool, what: str) -> str:
    if easy:
        return (
            "The others tell it nearly as well, so the label may simply be easy. Make sure that nothing here was "
            "written down after the label was known."
        )
    return (
        f"Find out when {what} {'are' if what == 'both' else 'is'} written down. What is known only after the label, "
        f"or because of it, must be left out; until then no accuracy on this table means anything."
    )


def _tell_classes(answers: Answers, by_class: dict[int, list[int]], others: FloatArray | None) -> Finding:
    """One finding. others: (C, C) what a black box on all other answers says; where it does nearly as well, an answer
    that marks a class is nothing special."""
    found = np.zeros(len(answers.classes)) if others is None else _class_scores_of(others)
    ordered = sorted(by_class, key=lambda c: found[c])
    worst = ordered[0]
    parts = [
        f'"{shortened(str(answers.classes[c]), 40)}" ({count(int(answers.class_counts[c]), "row")}) by '
        f"{listed(answers.names(by_class[c]), 2)}"
        for c in ordered[:4]
    ]
    rest = f"; and {count(len(ordered) - 4, 'more class', 'more classes')}" if len(ordered) > 4 else ""
    are = "is" if len(by_class) == 1 else "are"
    compare = (
        ""
        if others is None
        else f" Without {'it' if len(by_class) == 1 else 'these'} a black box finds "
        f'"{shortened(str(answers.classes[worst]), 40)}" with {percent(float(found[worst]))} (the lesser of '
        f"precision and recall on held-out rows)."
    )
    return Finding(
        "gives a class away",
        "warning" if others is not None and found[worst] < NEARLY else "note",
        f"{len(by_class):,} of {len(answers.classes):,} classes {are} marked by an answer that (nearly) all of its "
        f"rows have, and (nearly) no other row: {'; '.join(parts)}{rest}.{compare}",
        "Right where the answer defines the class. If it was written down after the label was known, leave it out.",
        tuple(dict.fromkeys(name for c in ordered for s in by_class[c] for name in answers.query_names((s,)))),
        {
            "classes": {str(answers.classes[c]): list(answers.names(by_class[c])) for c in ordered},
            "without": None if others is None else {str(answers.classes[c]): float(found[c]) for c in ordered},
        },
    )
