"""Queries that tell nothing: always the same answer, or no more about the label than chance, alone or with others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2

from infopursuit.linting.answers import Answers
from infopursuit.linting.black_boxes import Gap, Split, answer_matrix, fit_and_predict
from infopursuit.linting.counts import by_class, coarse, information, pair_counts, plogp
from infopursuit.linting.finding import Finding, listed
from infopursuit.types import UNKNOWN, FloatArray, IntArray

LEVEL = 0.05
"""The share of false discoveries that is allowed when queries are found to tell something."""
SHUFFLES = 20
"""Shuffled labels that say how much is told by chance."""
WORK, PAIR_ROWS, MOST_CELLS = 150_000_000, 5_000, 6
"""Cells of all pairs together, rows that pairs are counted in, cells of one subject."""
PARTNERS = 3
"""With how many others, those that look best, a query is tried carefully."""


def find_constant(answers: Answers) -> list[int]:
    """Subjects with one known answer only, or none."""
    found = []
    for s in range(len(answers.subjects)):
        known = answers.codes[answers.known(s), s]
        if not len(known) or known.min() == known.max():
            found.append(s)
    return found


def tell_constant(answers: Answers, constant: Sequence[int]) -> list[Finding]:
    """One finding for all of them."""
    if not constant:
        return []
    n = len(answers.codes)
    have = "has" if len(constant) == 1 else "have"
    return [
        Finding(
            "constant",
            "warning",
            f"{answers.many(len(constant))} {have} the same answer in all of the {n:,} rows where it is "
            f"known: {listed(answers.names(constant))}.",
            "Leave such queries out, or look whether the data was read wrongly.",
            answers.query_names(constant),
            {"rows": n, "constant": len(constant)},
        )
    ]


def find_uninformative(
    answers: Answers,
    constant: Sequence[int],
    split: Split | None,
    right: Any,
    leaking: Collection[int],
    *,
    seed: int = 0,
) -> tuple[list[Finding], dict[str, Any]]:
    """Those that tell no more than chance, alone, beside any one other, and all of them together in a black box.

    right: (T,) whether a black box on all answers is right about each row of the split. leaking: subjects that give the
    label away; beside them nothing else can matter, and black boxes are compared without them.
    """
    candidates = [s for s in range(len(answers.subjects)) if s not in set(constant)]
    p = chance_alone(answers, candidates, seed)
    alone = [candidates[i] for i in np.flatnonzero(~discoveries(p))]
    partner, compared = find_partners(answers, alone, candidates, seed)
    useless = [s for s in alone if s not in partner]
    measured: dict[str, Any] = {
        "no more than chance alone": len(alone),
        "but beside another one": {answers.subjects[s].name: answers.subjects[t].name for s, t in partner.items()},
    }
    if not useless:
        return [], measured
    kept = [s for s in candidates if s not in leaking]
    others = [s for s in kept if s not in set(useless)]
    gap = None
    if split is not None and others and len(others) < len(kept):
        y = answers.y[split.test]
        if len(kept) < len(candidates):
            right = fit_and_predict(answer_matrix(answers, kept), answers.y, split, seed=seed) == y
        gap = Gap.of(right, fit_and_predict(answer_matrix(answers, others), answers.y, split, seed=seed) == y)
    tried = [s for s in useless if s not in leaking]
    return [_tell(answers, useless, tried, gap, split, compared)], measured


def chance_alone(answers: Answers, subjects: Sequence[int], seed: int) -> FloatArray:
    """(s,) the probability that as much is told about labels that were shuffled.

    G = 2 n I of shuffled labels is taken as chi-squared; its mean is measured, since with many rare answers it is not
    the number of free cells.
    """
    labels, n_classes = answers.labels, len(answers.classes)
    rng = np.random.default_rng((seed, 4))
    shuffled = [rng.permutation(labels) for _ in range(SHUFFLES)]
    p = np.empty(len(subjects))
    for i, s in enumerate(subjects):
        column = answers.codes[:, s]
        table = by_class(column, labels, n_classes)
        g = 2 * table.sum() * information(table)
        free = max((table.any(axis=1).sum() - 1) * (table.any(axis=0).sum() - 1), 1)
        if g > 6 * free + 60:  # far beyond any doubt; shuffling would only take time
            p[i] = 0.0
            continue
        tables = [by_class(column, other, n_classes) for other in shuffled]
        usual = np.mean([2 * t.sum() * information(t) for t in tables])
        p[i] = chi2.sf(g, max(float(usual), 0.5))
    return p


def discoveries(p: FloatArray, level: float = LEVEL) -> Any:
    """(s,) which are discoveries, at most a share ``level`` of them by chance (Benjamini and Hochberg).

    >>> discoveries(np.array([0.001, 0.5, 0.02])).tolist()
    [True, False, True]
    """
    n = len(p)
    order = np.sort(p)
    passed = np.flatnonzero(order <= level * np.arange(1, n + 1) / n)
    return p <= (order[passed[-1]] if len(passed) else -1.0)


def find_partners(
    answers: Answers, alone: Sequence[int], subjects: Sequence[int], seed: int
) -> tuple[dict[int, int], int]:
    """For queries that tell nothing alone another one beside which they do, as in "either but not both"; and with how
    many others each was tried."""
    if not alone or len(subjects) < 2:
        return {}, 0
    n_classes = len(answers.classes)
    rng = np.random.default_rng((seed, 5))
    partners = list(subjects)
    cells = int((WORK / (len(alone) * len(partners) * n_classes)) ** 0.5)
    if cells < 2:  # too many to try all
        keep = max(int(WORK / (4 * len(alone) * n_classes)), 10)
        partners = sorted(rng.permutation(partners)[:keep].tolist())
    used = sorted(set(alone) | set(partners))
    largest = max(int(answers.codes[:, s].max()) + 1 for s in used)
    cells = max(2, min(cells, MOST_CELLS, largest))
    rows = np.arange(len(answers.codes))
    if len(rows) > PAIR_ROWS:
        rows = np.sort(rng.permutation(rows)[:PAIR_ROWS])
    codes = np.stack([coarse(answers.codes[rows, s], cells, ordered=answers.subjects[s].ordered) for s in used], axis=1)
    place = {s: i for i, s in enumerate(used)}
    labels = answers.labels[rows]
    candidates = np.zeros(len(used), dtype=bool)
    candidates[[place[s] for s in partners]] = True
    found: dict[int, int] = {}
    tries = len(alone) * len(partners)
    for block, counts in pair_counts(codes, labels, n_classes, cells, [place[s] for s in alone], most=4_000_000):
        g, free = _conditional(counts.astype(np.float64))  # (f, S)
        surprise = np.where(candidates, (g - free) / np.sqrt(2 * np.maximum(free, 1)), -np.inf)
        surprise[np.arange(len(block)), list(block)] = -np.inf
        for i, a in enumerate(block):
            for b in np.argsort(-surprise[i])[:PARTNERS].tolist():
                if surprise[i, b] < 4 or used[a] in found:
                    continue
                if _chance_beside(codes[:, a], codes[:, b], labels, n_classes, rng) * tries < LEVEL:
                    found[used[a]] = used[b]
    return found, len(partners) - 1


def _conditional(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(f, U, S, V, C) counts -> (f, S) G of a and the class given b, and how many cells are free."""
    g = 2 * (
        plogp(counts).sum(axis=(1, 3, 4))
        + plogp(counts.sum(axis=(1, 4))).sum(axis=2)
        - plogp(counts.sum(axis=4)).sum(axis=(1, 3))
        - plogp(counts.sum(axis=1)).sum(axis=(2, 3))
    )
    answers = (counts.sum(axis=4) > 0).sum(axis=1)  # (f, S, V)
    classes = (counts.sum(axis=1) > 0).sum(axis=3)
    return g, (np.maximum(answers - 1, 0) * np.maximum(classes - 1, 0)).sum(axis=2).astype(np.float64)


def _chance_beside(a: Any, b: Any, labels: IntArray, n_classes: int, rng: np.random.Generator) -> float:
    """The probability that a tells as much about the label given b when a's answers are shuffled among equal b."""
    known = (a != UNKNOWN) & (b != UNKNOWN)
    a, b, labels = a[known].astype(np.int64), b[known].astype(np.int64), labels[known]
    size = int(a.max()) + 1
    order = np.argsort(b, kind="stable")
    a, b, labels = a[order], b[order], labels[order]

    def given(column: Any) -> float:
        cells = (b * size + column) * n_classes + labels
        table = np.bincount(cells, minlength=(int(b.max()) + 1) * size * n_classes)
        table = table.reshape(1, -1, size, 1, n_classes).transpose(0, 2, 3, 1, 4)  # (1, U, 1, V, C)
        return float(_conditional(table.astype(np.float64))[0][0, 0])

    usual = []
    for _ in range(SHUFFLES):
        mixed = rng.permutation(len(a))
        mixed = mixed[np.argsort(b[mixed], kind="stable")]  # b is in order already: shuffled within its answers
        usual.append(given(a[mixed]))
    return float(chi2.sf(given(a), max(float(np.mean(usual)), 0.5)))


def _tell(
    answers: Answers, useless: Sequence[int], tried: Sequence[int], gap: Gap | None, split: Split | None, compared: int
) -> Finding:
    """tried: those of the useless ones that were left out of a black box; leaks were left out of both."""
    n, names = len(answers.codes), answers.names(useless)
    many = len(useless) > 1
    sentence = (
        f"{answers.many(len(useless))} of {len(answers.subjects):,} "
        f"{'tell' if many else 'tells'} no more about the label than chance in {n:,} rows, neither alone nor beside "
        f"any one of {compared:,} others: {listed(names)}."
    )
    matters = gap is not None and gap.low > 0.005
    if gap is not None and split is not None:
        them = listed(answers.names(tried)) if len(tried) < len(useless) else "all of them" if many else "it"
        sentence += (
            f" With {them} a black box is right on {len(split.test):,} held-out rows as often as without, within the "
            f"noise ({gap})." if not matters else
            f" But with {them} a black box is right more often on {len(split.test):,} held-out rows ({gap}): together "
            f"with several others they do tell something."
        )  # fmt: skip
    remedy = (
        "Keep them: they are needed together."
        if matters
        else "Seldom worth asking: leave it out where answers cost something. With more rows it may prove useful."
    )
    numbers: dict[str, Any] = {"rows": n, "uninformative": len(useless), "tried beside": compared}
    if gap is not None:
        numbers |= {"gap": gap.mean, "gap_low": gap.low, "gap_high": gap.high}
    numbers["share"] = len(useless) / len(answers.subjects)
    return Finding("uninformative", "note", sentence, remedy, answers.query_names(useless), numbers)
