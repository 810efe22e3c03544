"""Redundant queries: copies, negations, what follows from another answer, and near copies; told group by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.linting.answers import Answers
from infopursuit.linting.counts import by_class, coarse, entropy, information, pair_counts, plogp
from infopursuit.linting.finding import Finding, at_least, shortened
from infopursuit.types import UNKNOWN, FloatArray, IntArray

NEAR = 0.85
"""Shared information over the larger entropy, from which on two subjects are near copies: about 98 in 100 answers."""
SLACK = 0.15
"""Pairs whose answers were joined into few cells are looked at again from this much below on."""
WORK, MOST_CELLS, MOST_HOT = 400_000_000, 8, 100_000_000
"""Cells of all pairs together, of one subject, and of the matrix of answers: bounds of time and memory."""
LEAST_ROWS = 20
"""Pairs that are known together in fewer rows than this are not judged."""


@dataclass(frozen=True)
class Cluster:
    """Subjects that tell the same, the one that stands for them first; agreement: the least share of rows in which the
    answer to one tells that to another."""

    subjects: tuple[int, ...]
    agreement: float


def find_redundant(answers: Answers, constant: Sequence[int]) -> list[Finding]:
    """At most three findings: copies, what follows from another answer, near copies."""
    of_interest = [s for s in range(len(answers.subjects)) if s not in set(constant)]
    same = exact_clusters(answers, of_interest)
    copies = {s for cluster in same for s in cluster.subjects[1:]}
    distinct = [s for s in of_interest if s not in copies]
    near, follows = near_clusters(answers, distinct)
    found = []
    if same:
        found.append(_tell_same(answers, same))
    if follows:
        found.append(_tell_follows(answers, follows))
    if near:
        found.append(_tell_near(answers, near))
    return found


def exact_clusters(answers: Answers, subjects: Sequence[int]) -> list[Cluster]:
    """Subjects with the same answers in every row, whatever the answers are called: "yes" for "no" is a copy."""
    groups: dict[bytes, list[int]] = {}
    for s in subjects:
        groups.setdefault(_renamed(answers.codes[:, s]).tobytes(), []).append(s)
    return [Cluster(tuple(group), 1.0) for group in groups.values() if len(group) > 1]


def near_clusters(answers: Answers, subjects: Sequence[int]) -> tuple[list[Cluster], list[tuple[int, int]]]:
    """Groups of near copies, and pairs (a, b) in which the answer to a follows from that to b, which tells more."""
    subjects = _telling_most(answers, subjects)
    if len(subjects) < 2:
        return [], []
    largest = max(int(answers.codes[:, s].max()) + 1 for s in subjects)
    cells = max(2, min(largest, MOST_CELLS, int((WORK / len(subjects) ** 2) ** 0.5)))
    rows = max(2_000, MOST_HOT // (cells * len(subjects)))
    few = answers.codes[:rows, subjects]
    small = np.stack([coarse(few[:, i], cells, ordered=False) for i in range(len(subjects))], axis=1)
    whole = np.array([int(few[:, i].max()) < cells for i in range(len(subjects))])
    close, follows = _compare(small, cells, whole)
    clusters, taken = [], np.zeros(len(subjects), dtype=bool)
    for i in np.argsort(-close.sum(axis=1), kind="stable"):  # the one with most near copies stands for them
        if taken[i]:
            continue
        members, least = [subjects[i]], 1.0
        for j in np.flatnonzero(close[i] & ~taken):
            if j == i:
                continue
            table = joint(few[:, i], few[:, j])
            if shared(table) >= NEAR:
                members.append(subjects[j])
                taken[j] = True
                least = min(least, _agreement(table))
        if len(members) > 1:
            taken[i] = True
            clusters.append(Cluster(tuple(members), least))
    pairs = [(subjects[a], subjects[b]) for a, b in follows if _follows(few[:, a], few[:, b])]
    return clusters, pairs


def joint(a: Any, b: Any) -> FloatArray:
    """(U, V) counts of rows in which both are known."""
    both = (a != UNKNOWN) & (b != UNKNOWN)
    return by_class(np.where(both, a, UNKNOWN), np.where(both, b, 0).astype(np.int64), int(b.max(initial=0)) + 1)


def shared(table: FloatArray) -> float:
    """Information of a table of counts over the larger of its two entropies."""
    largest = max(entropy(table.sum(axis=1)), entropy(table.sum(axis=0)))
    return information(table) / largest if largest > 0 else 0.0


def _compare(codes: Any, cells: int, whole: Any) -> tuple[Any, list[tuple[int, int]]]:
    """(S, S) whether two may be near copies, and pairs in which one may follow from the other."""
    n = codes.shape[1]
    known = (codes != UNKNOWN).sum(axis=0)
    close = np.zeros((n, n), dtype=bool)
    follows: list[tuple[int, int]] = []
    least = np.where(whole[:, None] & whole, NEAR, NEAR - SLACK)
    for block, counts in pair_counts(codes, None, 1, cells, range(n), most=4_000_000):
        table = counts[..., 0].transpose(0, 2, 1, 3).astype(np.float64)  # (f, S, U, V)
        total = table.sum(axis=(2, 3))
        enough = total >= np.maximum(LEAST_ROWS, 0.5 * np.minimum(known[list(block)][:, None], known))
        scale = np.maximum(total, 1.0)
        base = plogp(total)
        h_a = (base - plogp(table.sum(axis=3)).sum(axis=2)) / scale  # (f, S)
        h_b = (base - plogp(table.sum(axis=2)).sum(axis=2)) / scale
        h_ab = (base - plogp(table).sum(axis=(2, 3))) / scale
        largest = np.maximum(h_a, h_b)
        nmi = np.where(largest > 1e-12, (h_a + h_b - h_ab) / np.maximum(largest, 1e-12), 0.0)
        rows = list(block)
        close[rows] = enough & (nmi >= least[rows])
        determined = enough & (h_ab - h_b < 1e-9) & (h_b > h_a + 1e-3) & (h_a > 1e-3) & whole
        follows += [(rows[i], int(j)) for i, j in np.argwhere(determined)]
    np.fill_diagonal(close, False)
    return close, follows


def _follows(a: Any, b: Any) -> bool:
    """Whether that a follows from b is more than chance: b's answers are frequent, and so is a's rarer one."""
    table = joint(b, a)
    of_b, of_a = table.sum(axis=1), table.sum(axis=0)
    frequent = (table > 0).sum(axis=1).max() == 1 and of_b.sum() >= 10 * (of_b > 0).sum()
    return bool(frequent and of_a.sum() - of_a.max() >= 10)


def _telling_most(answers: Answers, subjects: Sequence[int]) -> list[int]:
    """All of them, or as many as can be compared, those whose answers vary most."""
    most = int((WORK / 4) ** 0.5)
    if len(subjects) <= most:
        return list(subjects)
    vary = [entropy(np.bincount(answers.codes[answers.known(s), s].astype(np.int64))) for s in subjects]
    return sorted(subjects[i] for i in np.argsort(vary)[::-1][:most])


def _renamed(column: Any) -> Any:
    """Answers numbered in the order in which they first occur."""
    known = column[column != UNKNOWN]
    if not len(known):
        return column
    if column.max() <= 1:
        return np.where(column == UNKNOWN, UNKNOWN, column != known[0]).astype(column.dtype)
    values, first = np.unique(known, return_index=True)
    place: IntArray = np.empty(int(values[-1]) + 1, dtype=np.int64)
    place[values[np.argsort(first)]] = np.arange(len(values))
    return np.where(column == UNKNOWN, UNKNOWN, place[np.maximum(column, 0)]).astype(column.dtype)


def _agreement(table: FloatArray) -> float:
    return float(min(table.max(axis=1).sum(), table.max(axis=0).sum()) / table.sum())


# ---- in words -------------------------------------------------------------------------------------------------------


def _tell_same(answers: Answers, clusters: Sequence[Cluster]) -> Finding:
    n = len(answers.codes)
    extra = sum(len(cluster.subjects) - 1 for cluster in clusters)
    return Finding(
        "duplicates",
        "warning",
        f"{answers.many(extra)} could be left out without any loss: the answers are those of another one, "
        f"or its opposite, in all {n:,} rows. {_groups(answers, clusters, ' = ')}.",
        "Keep one of each group. Copies cost time, and a model that takes answers to be independent counts them twice "
        "and becomes too sure.",
        _all(answers, clusters),
        {"rows": n, "superfluous": extra, "clusters": [list(answers.names(c.subjects)) for c in clusters]},
    )


def _tell_near(answers: Answers, clusters: Sequence[Cluster]) -> Finding:
    involved = sum(len(cluster.subjects) for cluster in clusters)
    least = min(cluster.agreement for cluster in clusters)
    many = "one group" if len(clusters) == 1 else f"{len(clusters):,} groups"
    return Finding(
        "near duplicates",
        "note",
        f"{answers.many(involved)} in {many} tell nearly the same: the answer to the first of a group "
        f"tells each other one in {at_least(least)} of the rows where both are known. "
        f"{_groups(answers, clusters, ' ~ ')}.",
        "Asking a second one of a group tells little. Keep the one that is easiest to answer; a model that takes "
        "answers to be independent becomes too sure.",
        _all(answers, clusters),
        {
            "agreement": least,
            "clusters": [list(answers.names(c.subjects)) for c in clusters],
            "agreements": [c.agreement for c in clusters],
        },
    )


def _tell_follows(answers: Answers, pairs: Sequence[tuple[int, int]]) -> Finding:
    names = [answers.names(pair) for pair in pairs]
    shown = "; ".join(f'"{shortened(a, 40)}" from "{shortened(b, 40)}"' for a, b in names[:4])
    rest = f"; and {len(names) - 4:,} more" if len(names) > 4 else ""
    what = (
        "the answer to one query follows" if len(pairs) == 1 else f"{len(pairs):,} times the answer to a query follows"
    )
    return Finding(
        "duplicates",
        "note",
        f"In all {len(answers.codes):,} rows {what} from that to a more detailed one: {shown}{rest}.",
        "The more detailed one alone tells as much. Keep the other only where it is easier to answer.",
        tuple(dict.fromkeys(name for a, b in pairs for name in answers.query_names((a, b)))),
        {"rows": len(answers.codes), "pairs": [list(pair) for pair in names]},
    )


def _groups(answers: Answers, clusters: Sequence[Cluster], sign: str, most: int = 4) -> str:
    ordered = sorted(clusters, key=lambda cluster: -len(cluster.subjects))
    shown = []
    for cluster in ordered[:most]:
        names = answers.names(cluster.subjects)
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        shown.append(sign.join(f'"{shortened(name, 40)}"' for name in names[:3]) + more)
    rest = f"; and {len(ordered) - most:,} more groups" if len(ordered) > most else ""
    return "; ".join(shown) + rest


def _all(answers: Answers, clusters: Sequence[Cluster]) -> tuple[str, ...]:
    return tuple(name for cluster in clusters for name in answers.query_names(cluster.subjects))
