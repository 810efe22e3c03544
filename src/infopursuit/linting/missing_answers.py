"""Answers that are nearly always missing, and answers whose being missing tells the label."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from infopursuit.linting.answers import Answers
from infopursuit.linting.counts import information, left_out_right, skill
from infopursuit.linting.finding import Finding, listed, percent, shortened
from infopursuit.types import FloatArray

MOSTLY = 0.9
"""From this share of missing answers on, a query is told to be mostly missing."""
LEAST_DIFFERENCE, LARGE = 0.2, 0.5
"""Shares of missing answers of two classes that differ by this much are told; by this much they are serious."""
LEAST_OF_CLASS = 10
SURE = 1e-3


def find_missing(answers: Answers) -> tuple[list[Finding], list[int]]:
    """At most two findings: mostly missing, and missing that depends on the label; and the subjects of the latter."""
    missing = missing_by_class(answers)  # (S, C)
    n = len(answers.codes)
    share = missing.sum(axis=1) / n
    found = []
    mostly = np.flatnonzero(share >= MOSTLY).tolist()
    if mostly:
        mostly.sort(key=lambda s: -share[s])
        has = "has" if len(mostly) == 1 else "have"
        least = "" if len(mostly) == 1 else "at least "
        found.append(
            Finding(
                "mostly missing",
                "warning",
                f"{answers.many(len(mostly))} {has} no answer in {least}{percent(float(share[mostly].min()))} of "
                f"{n:,} rows: {listed(answers.names(mostly))}.",
                "What is learnt here rests on few rows. Leave it out, or find out why answers are missing.",
                answers.query_names(mostly),
                {"rows": n, "missing": [float(share[s]) for s in mostly]},
            )
        )
    telling = _telling(answers, missing)
    if telling:
        found.append(_tell(answers, telling, missing))
    return found, telling


def missing_by_class(answers: Answers) -> FloatArray:
    """(S, C) how many rows of each class have no known answer."""
    found = np.empty((len(answers.subjects), len(answers.classes)))
    for s in range(len(answers.subjects)):
        found[s] = np.bincount(answers.labels[~answers.known(s)], minlength=len(answers.classes))
    return found


def _telling(answers: Answers, missing: FloatArray) -> list[int]:
    """Subjects that are missing far more often for one class than for another, beyond chance; the worst first."""
    sizes = answers.class_counts
    large = sizes >= LEAST_OF_CLASS
    if large.sum() < 2:
        return []
    shares = missing[:, large] / sizes[large]
    spread = shares.max(axis=1) - shares.min(axis=1)
    found = []
    for s in np.flatnonzero(spread >= LEAST_DIFFERENCE).tolist():
        table = np.stack([missing[s], sizes - missing[s]])
        chance = float(chi2.sf(2 * table.sum() * information(table), max((sizes > 0).sum() - 1, 1)))
        if chance * len(missing) < SURE:
            found.append(s)
    return sorted(found, key=lambda s: -spread[s])


def _tell(answers: Answers, telling: list[int], missing: FloatArray) -> Finding:
    sizes = answers.class_counts
    worst = telling[0]
    shares = np.where(sizes >= LEAST_OF_CLASS, missing[worst] / np.maximum(sizes, 1), np.nan)
    most, least = int(np.nanargmax(shares)), int(np.nanargmin(shares))
    right = left_out_right(np.stack([missing[worst], sizes - missing[worst]]))
    usual = float(sizes.max() / sizes.sum())
    serious = shares[most] - shares[least] >= LARGE
    more = f" The same holds, less, for {listed(answers.names(telling[1:]))}." if len(telling) > 1 else ""
    guess = (
        f" Whether it is missing names the label right in {percent(right)} of the rows, against {percent(usual)} for "
        f"the most frequent label."
        if skill(right, usual) > 0.05
        else ""
    )
    return Finding(
        "missing tells the label",
        "serious" if serious else "warning",
        f'Whether "{shortened(answers.subjects[worst].name)}" is known depends on the label: it is missing in '
        f'{percent(float(shares[most]))} of the rows of "{answers.classes[most]}" and in '
        f'{percent(float(shares[least]))} of those of "{answers.classes[least]}".{guess}{more}',
        "Tests that are done because of a suspicion give it away. A black box that sees gaps will use them; here a gap "
        "counts as not asked. Fill in the answers, or leave the query out.",
        answers.query_names(telling),
        {
            "most_missing": {"class": str(answers.classes[most]), "share": float(shares[most])},
            "least_missing": {"class": str(answers.classes[least]), "share": float(shares[least])},
            "accuracy": right,
            "most_frequent": usual,
        },
    )
