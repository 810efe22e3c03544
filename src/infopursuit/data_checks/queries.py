"""Faults of the queries: label leakage, queries that tell nothing, and redundant ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest, chi2, false_discovery_control
from sklearn.metrics import confusion_matrix

from infopursuit.data_checks.answers import (
    AnswerTable,
    Pairs,
    compare_pairs,
    contingency,
    joint,
    leave_one_out_accuracy,
    mutual_information,
    skill,
)
from infopursuit.data_checks.baselines import Gap, Split, answer_matrix, fit_and_predict, is_right
from infopursuit.data_checks.report import Finding, listed, quoted
from infopursuit.types import UNKNOWN, FloatArray, IntArray

LEAK, PAIR_SKILL, EASY = 0.95, 0.8, 0.85
"""The skill of features that leak the label; that neither feature of a leaking pair has alone; and that all other
features together have where the label is easy."""
MARK, NEARLY = 0.99, 0.9
"""Precision and recall from which an answer leaks a class, and from which all others do nearly as well."""
SEVERAL, MAX_PAIRS = 3, 50
"""More leaks than this are one finding; pairs that are looked at again on all rows."""
MIN_KNOWN, MIN_ROWS, MIN_OF_CLASS = 0.1, 30, 8
ALPHA, FDR, SHUFFLES, PARTNERS = 1e-3, 0.05, 20, 3
"""The level of the test for leaks; the false discovery rate of the test for informative features, the permutations of
labels for it, and the features beside which an uninformative one is tested again."""
NEAR, SLACK = 0.85, 0.15
"""Normalised mutual information of nearly redundant features; how much lower it may be where answers were merged."""
EASY_LABEL = (
    "The other features tell the label nearly as well, so it may simply be easy. Make sure that nothing here was "
    "recorded after the label was known."
)


# ---- label leakage --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leak:
    """Features that leak the label: leave-one-out accuracy on ``rows`` rows, and that of the most frequent class."""

    features: tuple[int, ...]
    accuracy: float
    usual: float
    rows: int
    best_alone: float = 0.0


def find_leaks(
    table: AnswerTable, split: Split | None, *, suspects: Collection[int] = (), seed: int = 0
) -> tuple[list[Finding], set[int], Pairs, dict[str, Any]]:
    """Single features, pairs, and answers that leak one class; all features concerned; all pairs; what was measured.

    suspects: features that leak otherwise. Findings are compared with a baseline on the features that are not involved.
    """
    n = len(table.features)
    tables = [table.by_class(f) for f in range(n)]
    alone = [leak for f in range(n) if (leak := _judge((f,), tables[f], len(table.codes), n))]
    single = sorted((leak for leak in alone if skill(leak.accuracy, leak.usual) >= LEAK), key=lambda k: -k.accuracy)
    leaking = {leak.features[0] for leak in single}
    compared = compare_pairs(table, [f for f in range(n) if f not in leaking], by_class=True, seed=seed)
    pairs = find_pair_leaks(table, compared, tables)
    marks = find_class_leaks(table, tables, leaking)
    given = leaking.union(suspects, *(leak.features for leak in pairs), *marks.values())
    rest = [f for f in range(n) if f not in given]
    others = None  # (C, C) confusion matrix, true classes first
    if (single or pairs or marks) and split is not None and rest:
        predicted = fit_and_predict(answer_matrix(table, rest), table.y, split, seed=seed)
        others = confusion_matrix(table.y[split.test], predicted, labels=range(len(table.classes)))
    found = []
    for some in [single] if len(single) > SEVERAL else [[leak] for leak in single]:
        found.append(_leak(table, some, others))
    if pairs:
        found.append(_leak(table, pairs, others))
    if marks:
        found.append(_class_leak(table, marks, others))
    n_compared = len(compared.features)
    measured: dict[str, Any] = {"pairs_compared": n_compared * (n_compared - 1) // 2}
    if alone:
        best = max(alone, key=lambda leak: leak.accuracy)
        measured |= {"best_feature": table.features[best.features[0]].name, "accuracy": best.accuracy}
        measured["most_frequent"] = best.usual
    return found, given, compared, measured


def _judge(features: tuple[int, ...], counts: FloatArray, n_rows: int, tries: int, best: float = 0.0) -> Leak | None:
    """The accuracy of one contingency table; None where too little is known or chance would do as well."""
    n, largest = int(counts.sum()), float(counts.sum(axis=0).max())
    if n < max(MIN_ROWS, MIN_KNOWN * n_rows) or n - largest < MIN_OF_CLASS:
        return None
    accuracy, usual = leave_one_out_accuracy(counts), largest / n
    p = binomtest(round(accuracy * n), n, usual, alternative="greater").pvalue
    return Leak(features, accuracy, usual, n, best) if p * tries < ALPHA else None


def find_pair_leaks(table: AnswerTable, pairs: Pairs, tables: Sequence[FloatArray]) -> list[Leak]:
    """Pairs that leak the label while neither of the two nearly does."""
    usual = table.class_counts.max() / len(table.codes)
    enough = pairs.known >= max(MIN_ROWS, MIN_KNOWN * pairs.n_rows)
    screened = np.triu(np.where(enough, pairs.accuracy, 0.0), 1)
    places = np.argwhere(screened >= 1 - (1 - LEAK + 0.05) * (1 - usual))
    order = np.argsort(-screened[tuple(places.T)], kind="stable")[:MAX_PAIRS]
    n, found = len(pairs.features), []
    for a, b in np.asarray(pairs.features)[places[order]].tolist():
        first, second = table.codes[:, a].astype(np.int64), table.codes[:, b].astype(np.int64)
        both = np.where((first == UNKNOWN) | (second == UNKNOWN), UNKNOWN, first * (second.max() + 1) + second)
        best = max(leave_one_out_accuracy(tables[a]), leave_one_out_accuracy(tables[b]))
        counts = contingency(both, table.labels, len(table.classes))
        leak = _judge((a, b), counts, len(table.codes), n * (n - 1) // 2, best)
        if leak and skill(leak.accuracy, leak.usual) >= LEAK and skill(best, leak.usual) < PAIR_SKILL:
            found.append(leak)
    return found


def find_class_leaks(table: AnswerTable, tables: Sequence[FloatArray], leaking: set[int]) -> dict[int, list[int]]:
    """For classes the features with an answer that (nearly) all of their rows have, and (nearly) no other row."""
    found: dict[int, list[int]] = {}
    if len(table.classes) < 3:
        return found
    for f in set(range(len(tables))) - leaking:
        named = np.eye(len(table.classes))[tables[f].argmax(axis=1)]  # (V, C) the class that each answer stands for
        scores = _class_scores(tables[f].T @ named, table.class_counts)
        for c in np.flatnonzero((scores >= MARK) & (table.class_counts >= MIN_OF_CLASS)).tolist():
            found.setdefault(c, []).append(f)
    return found


def _class_scores(confusion: Any, sizes: Any) -> FloatArray:
    """(C,) the lesser of precision and recall of each class; confusion: (true, predicted)."""
    hit = np.diag(confusion)
    return np.asarray(np.minimum(hit / np.maximum(confusion.sum(axis=0), 1), hit / np.maximum(sizes, 1)))


def _leak(table: AnswerTable, leaks: Sequence[Leak], confusion: Any) -> Finding:
    first, names = leaks[0], _names(table, [leak.features for leak in leaks])
    single = len(first.features) == 1
    others = None if confusion is None else float(np.trace(confusion) / confusion.sum())
    easy = others is not None and skill(others, first.usual) >= EASY
    easy = easy or (single and len(leaks) > max(len(table.features) / 2, SEVERAL))
    numbers = {
        **({"features": [name for pair in names for name in pair]} if single else {"pairs": names}),
        "accuracy": first.accuracy,
        "best_alone": first.best_alone,
        "most_frequent": first.usual,
        "rows": first.rows,
        "others": others,
    }
    about = table.query_names(sorted({f for leak in leaks for f in leak.features}))
    return Finding.of(
        "leak" if single else "pair leak", "warning" if easy else "serious", about, numbers, EASY_LABEL if easy else ""
    )


def _class_leak(table: AnswerTable, marks: dict[int, list[int]], confusion: Any) -> Finding:
    """confusion: (C, C) of a baseline on all other features; where it does nearly as well, the answer is harmless."""
    scores = np.zeros(len(table.classes)) if confusion is None else _class_scores(confusion, confusion.sum(axis=1))
    ordered = sorted(marks, key=lambda c: scores[c])
    name = {c: quoted(table.classes[c], 40) for c in ordered}
    hardest = ordered[0]
    numbers = {
        "n_marked": len(marks),
        "n_classes": len(table.classes),
        "marks": "; ".join(f"{name[c]} by {listed(table.names(marks[c]), 2)}" for c in ordered[:4])
        + ("; ..." if len(ordered) > 4 else ""),
        "classes": {str(table.classes[c]): list(table.names(marks[c])) for c in ordered},
        "hardest": name[hardest],
        "score": None if confusion is None else float(scores[hardest]),
    }
    about = table.query_names(list(dict.fromkeys(f for c in ordered for f in marks[c])))
    harmless = confusion is None or scores[hardest] >= NEARLY
    return Finding.of("class leak", "note" if harmless else "warning", about, numbers)


# ---- constant and uninformative features ----------------------------------------------------------------------------


def find_constant(table: AnswerTable) -> tuple[list[int], list[Finding]]:
    """Features with one known answer only, or none."""
    known = [table.codes[table.known(f), f] for f in range(len(table.features))]
    constant = [f for f, some in enumerate(known) if not len(some) or some.min() == some.max()]
    numbers = {"rows": len(table.codes), "features": table.names(constant)}
    return constant, [Finding.of("constant", "warning", table.query_names(constant), numbers)] if constant else []


def find_uninformative(
    table: AnswerTable,
    constant: Sequence[int],
    split: Split | None,
    right: Any,
    leaking: Collection[int],
    pairs: Pairs,
    *,
    seed: int = 0,
) -> tuple[list[Finding], dict[str, Any]]:
    """Features that tell no more about the label than chance: alone, beside any other, and all together in a baseline.

    right: (T,) whether a baseline on all answers is right about each test row. leaking: features that leak the label;
    beside them nothing else can matter, so both baselines are compared without them.
    """
    candidates = [f for f in range(len(table.features)) if f not in set(constant)]
    p = independence_pvalues(table, candidates, seed)
    informative = false_discovery_control(p) <= FDR if len(p) else np.zeros(0, dtype=bool)
    alone = [f for f, told in zip(candidates, informative, strict=True) if not told]
    partner = find_partners(table, alone, pairs, set(candidates), seed)
    useless = [f for f in alone if f not in partner]
    names = {table.features[a].name: table.features[b].name for a, b in partner.items()}
    measured = {"uninformative_alone": len(alone), "informative_with": names}
    if not useless:
        return [], measured
    kept = [f for f in candidates if f not in leaking]
    others = [f for f in kept if f not in useless]
    gap = None
    if split is not None and 0 < len(others) < len(kept):
        if len(kept) < len(candidates):
            right = is_right(table, split, kept, seed=seed)
        gap = Gap.of(right, is_right(table, split, others, seed=seed))
    numbers = {"rows": len(table.codes), "features": table.names(useless), **(gap.to_data() if gap else {})}
    remedy = "Keep them: they are needed together." if gap and gap.low > 0.005 else ""
    return [Finding.of("uninformative", "note", table.query_names(useless), numbers, remedy)], measured


def independence_pvalues(table: AnswerTable, features: Sequence[int], seed: int) -> FloatArray:
    """(s,) p-values of the G-test that a feature and the label are independent.

    G = 2 n I is chi-squared; its mean is measured on permuted labels, since with many rare answers it is not the number
    of degrees of freedom.
    """
    rng = np.random.default_rng((seed, 4))
    shuffled = [rng.permutation(table.labels) for _ in range(SHUFFLES)]
    p = np.zeros(len(features))
    for i, f in enumerate(features):
        counts = table.by_class(f)
        g = 2 * counts.sum() * mutual_information(counts)
        free = max((counts.any(axis=1).sum() - 1) * (counts.any(axis=0).sum() - 1), 1)
        if g <= 6 * free + 60:  # beyond that there is no doubt
            tables = [contingency(table.codes[:, f], labels, len(table.classes)) for labels in shuffled]
            usual = np.mean([2 * t.sum() * mutual_information(t) for t in tables])
            p[i] = chi2.sf(g, max(float(usual), 0.5))
    return p


def find_partners(
    table: AnswerTable, alone: Sequence[int], pairs: Pairs, candidates: set[int], seed: int
) -> dict[int, int]:
    """For features that tell nothing alone, another one beside which they do (as in exclusive or)."""
    rng = np.random.default_rng((seed, 6))
    place = {f: i for i, f in enumerate(pairs.features) if f in candidates}
    tries = len(alone) * len(place)
    found: dict[int, int] = {}
    for a in alone:
        excess = pairs.excess[place[a]] if a in place else np.zeros(0)
        likely = [i for i in np.argsort(-excess)[: PARTNERS + 1].tolist() if excess[i] >= 4]
        for b in (pairs.features[i] for i in likely):
            if b != a and b in candidates and a not in found and _conditional_pvalue(table, a, b, rng) * tries < FDR:
                found[a] = b
    return found


def _conditional_pvalue(table: AnswerTable, a: int, b: int, rng: np.random.Generator) -> float:
    """The p-value of the G-test that a and the label are independent given b; a is permuted where b is equal."""
    known = table.known(a) & table.known(b)
    order = np.argsort(table.codes[known, b], kind="stable")
    first, second, labels = (x[known][order] for x in (table.codes[:, a], table.codes[:, b], table.labels))
    ends = np.flatnonzero(np.diff(second)) + 1
    n_classes = len(table.classes)

    def g(column: Any) -> float:
        parts = zip(np.split(column, ends), np.split(labels, ends), strict=True)
        tables = [contingency(part, own, n_classes) for part, own in parts]
        return sum(2 * float(t.sum()) * mutual_information(t) for t in tables)

    permuted = [np.concatenate([rng.permutation(part) for part in np.split(first, ends)]) for _ in range(SHUFFLES)]
    return float(chi2.sf(g(first), max(float(np.mean([g(column) for column in permuted])), 0.5)))


# ---- redundant features ---------------------------------------------------------------------------------------------


def find_redundant(table: AnswerTable, constant: Collection[int] = ()) -> list[Finding]:
    """At most three findings: copies and negations, functions of another feature, near copies."""
    groups: dict[bytes, list[int]] = {}
    for f in sorted(set(range(len(table.features))) - set(constant)):
        groups.setdefault(_renumbered(table.codes[:, f]).tobytes(), []).append(f)
    copies = [group for group in groups.values() if len(group) > 1]
    pairs = compare_pairs(table, [group[0] for group in groups.values()], by_class=False)
    enough = pairs.known >= np.maximum(20, 0.5 * np.minimum.outer(*[np.diag(pairs.known)] * 2))
    near, agreement = _near_copies(table, pairs, enough)
    functions = [
        (pairs.features[a], pairs.features[b])
        for a, b in np.argwhere(pairs.follows & enough & pairs.whole)
        if _is_function(joint(table.codes[:, pairs.features[b]], table.codes[:, pairs.features[a]]))
    ]
    n, found = len(table.codes), []
    if copies:
        extra = sum(len(group) - 1 for group in copies)
        numbers: dict[str, Any] = {"rows": n, "superfluous": extra, "clusters": _names(table, copies)}
        found.append(
            Finding.of("redundant", "warning", table.query_names([f for group in copies for f in group]), numbers)
        )
    if functions:
        about = table.query_names(list(dict.fromkeys(f for pair in functions for f in pair)))
        found.append(Finding.of("redundant", "note", about, {"rows": n, "pairs": _names(table, functions)}))
    if near:
        numbers = {"agreement": agreement, "clusters": _names(table, near)}
        found.append(
            Finding.of("nearly redundant", "note", table.query_names([f for group in near for f in group]), numbers)
        )
    return found


def _near_copies(table: AnswerTable, pairs: Pairs, enough: Any) -> tuple[list[list[int]], float]:
    """Groups around the features with most near copies, and the least share of rows in which one predicts another."""
    close = enough & (pairs.nmi >= np.where(np.logical_and.outer(pairs.whole, pairs.whole), NEAR, NEAR - SLACK))
    np.fill_diagonal(close, False)
    groups, agreement = [], 1.0
    taken = np.zeros(len(close), dtype=bool)
    for i in np.argsort(-close.sum(axis=1), kind="stable"):
        if taken[i]:
            continue
        group = [pairs.features[i]]
        for j in np.flatnonzero(close[i] & ~taken):
            counts = joint(table.codes[:, group[0]], table.codes[:, pairs.features[j]])
            larger = max(mutual_information(np.diag(counts.sum(axis=axis))) for axis in (0, 1))
            if mutual_information(counts) >= NEAR * larger > 0:
                group.append(pairs.features[j])
                taken[j] = True
                predicted = min(counts.max(axis=axis).sum() for axis in (0, 1))
                agreement = min(agreement, float(predicted / counts.sum()))
        if len(group) > 1:
            taken[i] = True
            groups.append(group)
    return sorted(groups, key=len, reverse=True), agreement


def _is_function(counts: FloatArray) -> bool:
    """Whether the columns follow from the rows beyond chance: both have frequent answers."""
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    frequent = (counts > 0).sum(axis=1).max() == 1 and rows.sum() >= 10 * (rows > 0).sum()
    return bool(frequent and columns.sum() - columns.max() >= 10)


def _renumbered(column: Any) -> IntArray:
    values, first, inverse = np.unique(column, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(np.where(values == UNKNOWN, -1, first)))
    return np.asarray(np.where(column == UNKNOWN, UNKNOWN, rank[inverse] - (values[0] == UNKNOWN)), dtype=np.int32)


def _names(table: AnswerTable, groups: Sequence[Sequence[int]]) -> list[list[str]]:
    return [list(table.names(group)) for group in groups]
