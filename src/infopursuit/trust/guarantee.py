"""When to stop so that what is said is right as often as was asked for, with a finite-sample guarantee.

Learn then Test (Angelopoulos, Bates, Candes, Jordan and Lei, 2021) with fixed-sequence testing and exact binomial
bounds:

1. One part of the held-out inputs says which confidences are worth testing, and in which order: towards the laxest that
   seems safe there, which asks least, from the one among those next to it for which most can be guaranteed. (Stricter
   is not always more accurate: an input that goes on until it is very sure may have been led astray.)
2. On the other part each is tested in that order: "of the inputs that it stops, fewer than ``target`` are right". Given
   how many inputs it stops, the number that is right is binomial, so that the bound of Clopper and Pearson is exact.
   The first that cannot be rejected ends the sequence; the last that was rejected is taken.

Each test may be at the full level ``delta``: a wrong choice needs the first true hypothesis of a sequence that was
fixed beforehand to be rejected, which has a probability of at most ``delta``, however many are tested. A correction
over all of them (Bonferroni) would ask for more. Choosing the laxest confidence that has been right often enough on
the same inputs, without a bound, misses the target in about half of all draws.

It is written out, and not MAPIE's, because what is to be guaranteed here is the accuracy of those that a sequential
rule *stops*, not of a threshold on one score for each input; what is left is a binomial bound and a loop.

What is guaranteed: with probability 1 - delta over the inputs that were drawn for calibration, at least ``target`` of
those future inputs *that are stopped by confidence* are right, where future inputs come from where these came from,
each independent of the others. What is not: the same for each class, for each length, or for one input; anything about
inputs that ran out of budget or questions; anything after the inputs have changed, or for other class frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

from infopursuit.trust.pursued import Pursued

N_TRIED = 100
"""Confidences that are tried."""
DOUBT = 0.2
"""Of an error where a confidence is planned to be tested because its accuracy seems to be the target at the least."""


class NotGuaranteed(ValueError):
    """The accuracy that was asked for cannot be guaranteed. highest: about the highest that can."""

    def __init__(self, message: str, highest: float = 0.0) -> None:
        super().__init__(message)
        self.highest = highest


@dataclass(frozen=True)
class Stopped:
    """What one confidence came to: n_inputs seen, n_stopped of them by it, n_right of those, and their bound."""

    threshold: float
    n_inputs: int
    n_stopped: int
    n_right: int
    bound: float

    @property
    def accuracy(self) -> float:
        """Share of the stopped that was right."""
        return self.n_right / self.n_stopped if self.n_stopped else 0.0


def lower_bound(n_right: Any, n: Any, delta: float) -> Any:
    """The accuracy below which so many right ones of n have a probability of at most delta (Clopper and Pearson).

    >>> round(float(lower_bound(99, 99, 0.05)), 4), float(lower_bound(0, 5, 0.05))
    (0.9702, 0.0)
    """
    right = np.maximum(n_right, 1)  # of none that is right, nothing can be said
    return np.where(np.asarray(n_right) > 0, beta.ppf(delta, right, np.asarray(n) - n_right + 1), 0.0)


def fewest(target: float, delta: float) -> int:
    """Stopped inputs that are needed where all of them are right: target^n <= delta.

    >>> fewest(0.97, 0.05), fewest(0.99, 0.05)
    (99, 299)
    """
    return math.ceil(math.log(delta) / math.log(target))


def thresholds(strictest: float, n_classes: int) -> list[float]:
    """Confidences to try, from the strictest on, even in log-odds, to that of all classes alike."""

    def odds(p: float) -> float:
        return math.log(p) - math.log1p(-p)

    top = min(strictest, 1 - 1e-6)
    least = min(1 / n_classes, top)
    found = 1 / (1 + np.exp(-np.linspace(odds(top), odds(least), N_TRIED)))
    return [float(value) for value in np.minimum(found, top)]


def plan(pursued: Pursued, tried: Sequence[float], target: float, delta: float, patience: int = 0) -> list[float]:
    """The confidences to test, in order, from inputs that the tests will not see.

    Ending where these inputs are in doubt costs a few questions, and makes a choice that only luck has let pass rarer
    still. Where none seems safe, the one for which most can be guaranteed is tested alone.
    """
    found = count(pursued, tried, delta, patience)
    n_right, n_stopped = np.array([(each.n_right, each.n_stopped) for each in found]).T
    safe = (lower_bound(n_right, n_stopped, DOUBT) >= target).tolist()
    if not any(safe):
        return [max(found, key=lambda each: each.bound).threshold]
    first = last = max(i for i, each in enumerate(safe) if each)
    while first > 0 and safe[first - 1]:
        first -= 1
    best = max(range(first, last + 1), key=lambda i: found[i].bound)
    return [each.threshold for each in found[best : last + 1]]


def walk(pursued: Pursued, ordered: Sequence[float], target: float, delta: float, patience: int = 0) -> list[Stopped]:
    """Those of a sequence of confidences whose accuracy is guaranteed: all up to the first whose accuracy is not."""
    found = count(pursued, ordered, delta, patience)
    passed = [each.bound >= target for each in found]
    return found[: passed.index(False)] if False in passed else found


def choose(
    planned: Pursued, tested: Pursued, tried: Sequence[float], target: float, delta: float, patience: int = 0
) -> Stopped:
    """The confidence to stop at; planned: inputs to plan with, tested: inputs to test on."""
    found = walk(tested, plan(planned, tried, target, delta, patience), target, delta, patience)
    if found:
        return found[-1]
    highest = target
    while not found and highest > 0:
        first = count(tested, plan(planned, tried, highest, delta, patience)[:1], delta, patience)[0]
        highest = min(math.floor(1000 * first.bound) / 1000, highest - 0.001)
        if highest > 0:
            found = walk(tested, plan(planned, tried, highest, delta, patience), highest, delta, patience)
    tried_first = count(tested, plan(planned, tried, target, delta, patience)[:1], delta, patience)[0]
    raise NotGuaranteed(
        f"target={target:g} cannot be guaranteed with delta={delta:g}: of {tried_first.n_stopped:,} inputs that the "
        f"most promising rule stopped, of {tried_first.n_inputs:,} tested, {tried_first.n_right:,} were right. "
        f"The highest target that can be guaranteed is about {max(highest, 0):g}; more held-out inputs or a larger "
        f"budget may allow more",
        max(highest, 0.0),
    )


def count(pursued: Pursued, tried: Sequence[float], delta: float, patience: int = 0) -> list[Stopped]:
    """What each confidence comes to."""
    stops = pursued.stops(tried, patience)  # (B, T)
    right = np.take_along_axis(pursued.right, np.maximum(stops, 0), axis=1) & (stops >= 0)
    n_stopped, n_right = (stops >= 0).sum(axis=0), right.sum(axis=0)
    bounds = lower_bound(n_right, n_stopped, delta)
    return [
        Stopped(float(t), len(pursued), int(n), int(r), float(bound))
        for t, n, r, bound in zip(tried, n_stopped, n_right, bounds, strict=True)
    ]
