"""Risk control: a confidence threshold whose accuracy is guaranteed, by Learn then Test.

Angelopoulos, Bates, Candes, Jordan and Lei (2021), with fixed-sequence testing and exact binomial bounds:

1. One part of the held-out runs orders the thresholds: from the one with the best bound towards the laxest that seems
   safe there, which asks least. (Stricter is not always more accurate: an input that goes on until the posterior is
   very large may have been led astray.)
2. On another part each is tested in that order, at the full level ``delta``, against "fewer than ``target`` of the
   inputs that it stops are right". The first that is not rejected ends the sequence; the last rejected one is taken.

With probability 1 - delta over the held-out inputs, at least ``target`` of the future inputs *that are stopped by
confidence* are right, if they come from the same distribution. Nothing is guaranteed for each class, for each length,
for inputs that ran out of queries, or after a shift. It is ours because the risk control of MAPIE takes one score for
each input, not the outcome of a sequential rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, expit, logit

if TYPE_CHECKING:
    from infopursuit.calibration.temperature import HeldOutRuns

N_THRESHOLDS = 100
PLANNING_LEVEL = 0.2
"""Error probability of the bound by which a threshold seems safe enough to be tested."""


class NotGuaranteed(ValueError):
    """The accuracy that was asked for cannot be guaranteed. highest: about the highest that can."""

    def __init__(self, message: str, highest: float = 0.0) -> None:
        super().__init__(message)
        self.highest = highest


@dataclass(frozen=True)
class ThresholdResult:
    """Of n_inputs a threshold stops n_stopped, n_right of them right: an accuracy of at least ``bound``."""

    threshold: float
    n_inputs: int
    n_stopped: int
    n_right: int
    bound: float

    @property
    def accuracy(self) -> float:
        """Share of the stopped that was right."""
        return self.n_right / self.n_stopped if self.n_stopped else 0.0


def clopper_pearson_bound(n_right: Any, n: Any, delta: float) -> Any:
    """The exact lower confidence bound of a binomial proportion: the delta-quantile of Beta(n_right, n - n_right + 1).

    >>> round(float(clopper_pearson_bound(99, 99, 0.05)), 4), float(clopper_pearson_bound(0, 5, 0.05))
    (0.9702, 0.0)
    """
    right = np.maximum(n_right, 1)
    return np.where(np.asarray(n_right) > 0, betaincinv(right, np.asarray(n) - n_right + 1, delta), 0.0)


def min_inputs_for_target(target: float, delta: float) -> int:
    """Stopped inputs that are needed where all of them are right: target^n <= delta.

    >>> min_inputs_for_target(0.97, 0.05), min_inputs_for_target(0.99, 0.05)
    (99, 299)
    """
    return math.ceil(math.log(delta) / math.log(target))


def candidate_thresholds(strictest: float, n_classes: int) -> list[float]:
    """Thresholds to try, even in log-odds, from the strictest to the confidence of the uniform posterior."""
    top = min(strictest, 1 - 1e-6)
    log_odds = np.linspace(float(logit(top)), float(logit(min(1 / n_classes, top))), N_THRESHOLDS)
    return [float(value) for value in np.minimum(expit(log_odds), top)]


def evaluate_thresholds(runs: HeldOutRuns, thresholds: Sequence[float], delta: float) -> list[ThresholdResult]:
    """What each threshold gives on some runs."""
    stops = runs.stopping_times(thresholds)  # (B, T)
    right = np.take_along_axis(runs.correct, np.maximum(stops, 0), axis=1) & (stops >= 0)
    n_stopped, n_right = (stops >= 0).sum(axis=0), right.sum(axis=0)
    bounds = clopper_pearson_bound(n_right, n_stopped, delta)
    return [
        ThresholdResult(float(threshold), len(runs), int(n), int(right), float(bound))
        for threshold, n, right, bound in zip(thresholds, n_stopped, n_right, bounds, strict=True)
    ]


def plan_sequence(runs: HeldOutRuns, thresholds: Sequence[float], target: float, delta: float) -> list[float]:
    """The thresholds to test, in order, from runs that the tests will not see.

    The sequence ends where these runs leave doubt, which costs a few queries and makes a lucky choice rarer. Where no
    threshold seems safe, the one with the best bound is tested alone.
    """
    found = evaluate_thresholds(runs, thresholds, delta)
    n_right, n_stopped = np.array([(each.n_right, each.n_stopped) for each in found]).T
    safe = clopper_pearson_bound(n_right, n_stopped, PLANNING_LEVEL) >= target
    if not safe.any():
        return [max(found, key=lambda each: each.bound).threshold]
    first = last = int(np.flatnonzero(safe)[-1])
    while first > 0 and safe[first - 1]:
        first -= 1
    best = max(range(first, last + 1), key=lambda i: found[i].bound)
    return [each.threshold for each in found[best : last + 1]]


def fixed_sequence_test(
    runs: HeldOutRuns, sequence: Sequence[float], target: float, delta: float
) -> list[ThresholdResult]:
    """The thresholds of a sequence whose accuracy is guaranteed: all up to the first whose bound is below target."""
    found = evaluate_thresholds(runs, sequence, delta)
    passed = [each.bound >= target for each in found]
    return found[: passed.index(False)] if False in passed else found


def choose_threshold(
    learn: HeldOutRuns, test: HeldOutRuns, thresholds: Sequence[float], target: float, delta: float
) -> ThresholdResult:
    """Plan on ``learn``, test on ``test``; raises `NotGuaranteed` where no threshold reaches the target."""

    def tested(level: float) -> tuple[ThresholdResult, list[ThresholdResult]]:
        sequence = plan_sequence(learn, thresholds, level, delta)
        first = evaluate_thresholds(test, sequence[:1], delta)[0]
        return first, fixed_sequence_test(test, sequence, level, delta)

    first, found = tested(target)
    if found:
        return found[-1]
    highest, best = target, first
    while not found and highest > 0:
        highest = min(math.floor(1000 * best.bound) / 1000, highest - 0.001)
        if highest > 0:
            best, found = tested(highest)
    raise NotGuaranteed(
        f"target={target:g} cannot be guaranteed with delta={delta:g}: of {first.n_stopped:,} inputs that the "
        f"most promising rule stopped, of {first.n_inputs:,} tested, {first.n_right:,} were right. "
        f"The highest target that can be guaranteed is about {max(highest, 0):g}; more held-out inputs or a larger "
        f"budget may allow more",
        max(highest, 0.0),
    )
