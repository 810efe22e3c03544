"""How well a table works as a questionnaire, before anybody is asked: rows held out, or facts answered back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit import queries as query_builders
from infopursuit.datasets.dataset import fold_numbers, group_numbers
from infopursuit.datasets.tables import take_rows
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.fitting.facts import Facts
from infopursuit.fitting.labelled import LabelledTable
from infopursuit.queries.queryset import QuerySet
from infopursuit.trace import Trace
from infopursuit.types import FloatArray, IntArray

MOST_INPUTS = 2_000
"""Held-out rows, or games, that are tried at most."""
WRONG = 0.05
"""The share of wrong answers of the second round of games."""


@dataclass(frozen=True)
class Trial:
    """How many inputs were tried, how many of them were named right, and how many questions that took."""

    n_inputs: int
    accuracy: float
    standard_error: float
    exact: float
    """The share of inputs for which the very label was named, not one that has the same facts."""
    length: float
    longest: int
    cost: float | None = None
    """What the questions about an input cost, where they have costs."""

    @classmethod
    def of(cls, right: Any, length: Any, *, groups: Any = None, exact: Any = None, cost: Any = None) -> Trial:
        """groups: (B,) inputs that are alike count together for the standard error: they tell the same thing again."""
        right = np.asarray(right, dtype=np.float64)
        groups = np.arange(len(right)) if groups is None else np.unique(groups, return_inverse=True)[1]
        off = np.bincount(groups, weights=right - right.mean())
        error = float(np.sqrt((off**2).sum()) / len(right))
        named = float(right.mean() if exact is None else np.mean(exact))
        paid = None if cost is None else float(np.mean(cost))
        return cls(len(right), float(right.mean()), error, named, float(np.mean(length)), int(np.max(length)), paid)


@dataclass(frozen=True)
class HeldOut:
    """rows: (B,) which rows are held out. groups: (B,) the same number for rows that are alike."""

    rows: Any
    groups: IntArray


def hold_out(table: LabelledTable, share: float, seed: int) -> HeldOut | None:
    """Hold out a share of every label's rows; rows that are alike stay on one side, and no label is left without rows.

    None where there is nothing to spare.
    """
    n_folds = round(1 / share)
    atoms = query_builders.columns(table.X).observe(table.X).astype(np.int32)
    groups = group_numbers(map(bytes, atoms))
    if len(set(groups.tolist())) < n_folds:
        return None
    held = fold_numbers(table.y, groups, n=n_folds, seed=seed) == 0
    kept = np.bincount(table.y[~held], minlength=len(table.classes)) > 0
    held &= kept[table.y]
    return HeldOut(held, groups) if held.any() else None


def try_examples(
    table: LabelledTable,
    held: HeldOut,
    queries: str,
    model: Any,
    settings: Mapping[str, Any],
    seed: int,
    asked: QuerySet | None = None,
) -> Trial:
    """Fit on the other rows, thresholds and all, and ask about those that are held out.

    asked: questions that are made already, where terms name them; their thresholds are those of all rows.
    """
    builder = query_builders.columns(yes_no=queries == "yes-no") if asked is None else asked
    kept = np.flatnonzero(~held.rows)
    clf = InformationPursuitClassifier(builder, model, **settings).fit(take_rows(table.X, kept), table.labels[kept])
    rows = np.flatnonzero(held.rows)
    if len(rows) > MOST_INPUTS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_INPUTS, replace=False))
    trace = clf.explain(take_rows(table.X, rows))
    return Trial.of(trace.predictions == table.labels[rows], trace.length, groups=held.groups[rows], cost=_paid(trace))


def play(pursuit: Pursuit, facts: Facts, seed: int, *, wrong: float = 0.0) -> Trial:
    """Every label, answered as the table states it, several times where shares are drawn or answers are wrong.

    Labels with the same facts count as found when one of them is named.
    """
    n_classes = len(facts.stated)
    drawn = wrong > 0 or bool(((facts.stated > 0) & (facts.stated < 1)).any())
    repeats = max(1, min(20, MOST_INPUTS // n_classes)) if drawn else 1
    values, owners = facts.draw(repeats, seed, wrong)
    if len(owners) > MOST_INPUTS:
        rows = np.random.default_rng(seed).choice(len(owners), MOST_INPUTS, replace=False)
        values, owners = values[rows], owners[rows]
    trace = pursuit.run_values(values)
    group = np.arange(n_classes)
    for twins in facts.twins():
        group[twins] = twins[0]
    found = trace.posterior.argmax(axis=1)
    right, exact = group[found] == group[owners], found == owners
    return Trial.of(right, trace.length, groups=owners, exact=exact, cost=_paid(trace))


def _paid(trace: Trace) -> FloatArray | None:
    return None if trace.query_costs is None else trace.cost
