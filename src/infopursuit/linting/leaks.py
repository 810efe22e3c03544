"""Label leakage: a query, or two together, whose answer gives the label away, and answers that give one class away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from infopursuit.linting.answers import Answers
from infopursuit.linting.black_boxes import Split, answer_matrix, fit_and_predict
from infopursuit.linting.counts import by_class, coarse, left_out_right, pair_counts, skill
from infopursuit.linting.finding import Finding, percent, shortened
from infopursuit.types import UNKNOWN, FloatArray

LEAK = 0.95
"""An answer that puts right this share of what always naming the most frequent class gets wrong gives it away."""
NO_NEWS = 0.8
"""A pair is told only where neither of the two puts this much right alone."""
EASY = 0.85
"""Where all others together put this much right too, the label is easy to tell, or others are copies of the leak."""
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


def find_leaks(answers: Answers, split: Split | None, *, seed: int = 0) -> tuple[list[Finding], dict[str, Any]]:
    """Findings about single queries and about pairs; and the best single query, for whoever wants to know."""
    tables = [by_class(answers.codes[:, s], answers.labels, len(answers.classes)) for s in range(len(answers.subjects))]
    alone = [_judge((s,), table, len(answers.codes), tries=len(tables)) for s, table in enumerate(tables)]
    single = [leak for leak in alone if leak is not None and skill(leak.accuracy, leak.usual) >= LEAK]
    leaking = {s for leak in single for s in leak.subjects}
    pairs, compared = find_pairs(answers, [s for s in range(len(tables)) if s not in leaking], tables, seed)
    involved = leaking | {s for leak in pairs for s in leak.subjects}
    rest = [s for s in range(len(tables)) if s not in involved]
    others = None
    if involved and split is not None and rest:
        predicted = fit_and_predict(answer_matrix(answers, rest), answers.y, split, seed=seed)[1]
        others = float((predicted == answers.y[split.test]).mean())
    found = [_tell_single(answers, leak, others, len(rest)) for leak in single[:10]]
    found += _tell_pairs(answers, pairs, others, len(rest))
    found += _class_findings(answers, tables, leaking)
    best = max((leak for leak in alone if leak is not None), key=lambda leak: leak.accuracy, default=None)
    measured: dict[str, Any] = {"pairs compared": compared}
    if best is not None:
        measured |= {
            "best alone": answers.subjects[best.subjects[0]].name,
            "best alone right": best.accuracy,
            "most frequent class": best.usual,
        }
    return found, measured


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


def _class_findings(answers: Answers, tables: Sequence[FloatArray], leaking: set[int]) -> list[Finding]:
    """Answers that occur for all rows of a class and for no other: one finding for those that stand alone in that."""
    n_classes = len(answers.classes)
    if n_classes < 3:
        return []
    scores = np.array([_class_scores(table) for table in tables])  # (S, C)
    scores[:, answers.class_counts < LEAST_OF_CLASS] = 0.0
    given = [(s, c) for s, c in np.argwhere(scores >= 0.99).tolist() if s not in leaking]
    if not given:
        return []
    second = {
        (s, c): max((scores[t, c] for t in range(len(tables)) if t != s and (t, c) not in given), default=0.0)
        for s, c in given
    }
    found = []
    for severity, chosen in (
        ("warning", [pair for pair in given if second[pair] < 0.7]),
        ("note", [pair for pair in given if second[pair] >= 0.7]),
    ):
        if chosen:
            found.append(_tell_classes(answers, chosen, tables, second, severity))
    return found


def _class_scores(table: FloatArray) -> FloatArray:
    """(C,) how well the answers for which a class is the most frequent mark it: the lesser of the share of them that is
    of the class, and the share of the class that has them."""
    top = table.argmax(axis=1)[:, None] == np.arange(table.shape[1])
    hit = np.where(top, table, 0.0).sum(axis=0)
    claimed = np.where(top, table.sum(axis=1)[:, None], 0.0).sum(axis=0)
    return np.minimum(hit / np.maximum(claimed, 1), hit / np.maximum(table.sum(axis=0), 1))


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
            f"of {first.rows:,} rows. The better of the two alone is right in {percent(first.best_alone)}, always naming "
            f"the most frequent label in {percent(first.usual)}{_against(answers, others, n_others)}.{more}",
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
        f"Ask when {what} {'are' if what == 'both' else 'is'} known: what is written down after the label, or because "
        f"of it, must be left out. Until then no accuracy on this table means anything."
    )


def _tell_classes(
    answers: Answers, pairs: Sequence[tuple[int, int]], tables: Sequence[FloatArray], second: Any, severity: Any
) -> Finding:
    parts = []
    for s, c in pairs[:4]:
        size = int(tables[s][:, c].sum())
        parts.append(f'"{shortened(answers.subjects[s].name, 40)}" for all {size:,} rows of "{answers.classes[c]}"')
    rest = f"; and {len(pairs) - 4:,} more" if len(pairs) > 4 else ""
    next_best = max(second[pair] for pair in pairs) if severity == "warning" else min(second[pair] for pair in pairs)
    compare = (
        f"No other answer comes near (at best {percent(next_best)})."
        if severity == "warning"
        else f"Others tell the same classes nearly as well (at least {percent(next_best)})."
    )
    return Finding(
        "gives a class away",
        severity,
        f"An answer that one class has, and (nearly) no row of another: {'; '.join(parts)}{rest}. {compare}",
        "Right where it defines the class. If it was filled in after the label was known, leave it out.",
        tuple(dict.fromkeys(name for s, _ in pairs for name in answers.query_names((s,)))),
        {
            "given": [[answers.subjects[s].name, str(answers.classes[c])] for s, c in pairs],
            "next_best": [float(second[pair]) for pair in pairs],
        },
    )

