"""Calibration tried out: many random halves of the same pursuits, calibrated on one and measured on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from infopursuit.calibration.risk_control import NotGuaranteed
from infopursuit.calibration.temperature import (
    CalibrationReport,
    HeldOutRuns,
    TemperatureScaling,
    calibrate,
    stopping_outcome,
)
from infopursuit.pursuit.stopping import SLACK
from infopursuit.support.progress import Progress
from infopursuit.support.types import FloatArray, IntArray

COVERAGES = (0.9, 0.95)


@dataclass(frozen=True)
class Split:
    """What one calibration came to on the inputs that it has not seen.

    stopped: share stopped by confidence, accuracy of those; expected: the probability of an accuracy of the target or
    more on so many stopped inputs, if that on all inputs is the true one. error: expected calibration error, before
    (the model's own posterior, stopped at the target) and after. after: coverage after each number of questions. stop,
    anytime: coverage at the stop and at all steps at once; size, size_anytime: of the sets at the stop.
    """

    temperature: float
    threshold: float
    stopped: float
    accuracy: float
    expected: float
    length_before: float
    length: float
    error_before: float
    error: float
    after: dict[str, list[float]]
    stop: dict[str, float]
    anytime: dict[str, float]
    size: dict[str, float]
    size_anytime: dict[str, float]


def halves(n: int, seed: int) -> tuple[IntArray, IntArray]:
    """Rows to calibrate on, and the others."""
    order = np.random.default_rng((seed, n, 1)).permutation(n)
    return np.sort(order[: n // 2]), np.sort(order[n // 2 :])


def one_split(pursued: HeldOutRuns, target: float, delta: float, seed: int) -> Split | None:
    """Calibrate on a random half; None where the target cannot be guaranteed."""
    ours, theirs = halves(len(pursued), seed)
    budget = pursued.log_posterior.shape[1] - 1
    try:
        found = calibrate(
            pursued.take(ours), max_queries=budget, target=target, delta=delta, coverage=COVERAGES, seed=seed
        )
    except NotGuaranteed:
        return None
    threshold = 1 - found.epsilon
    before, now = pursued.take(theirs), pursued.take(theirs).scaled(found.calibrator)
    was, is_now = stopping_outcome(before, target), stopping_outcome(now, threshold)
    everybody = stopping_outcome(pursued.scaled(found.calibrator), threshold)
    n = round(is_now.stopped * len(now))
    enough = int(np.ceil(target * n - 1e-9))
    return Split(
        temperature=found.calibrator.temperature,
        threshold=threshold,
        stopped=is_now.stopped,
        accuracy=is_now.accuracy,
        expected=float(binom.sf(enough - 1, n, everybody.accuracy)),
        length_before=was.length,
        length=is_now.length,
        error_before=was.ece,
        error=is_now.ece,
        **_covered(now, found, threshold),
    )


def _covered(pursued: HeldOutRuns, found: CalibrationReport, threshold: float) -> dict[str, Any]:
    ends, each = pursued.ends(threshold), np.arange(len(pursued))
    steps = np.minimum(np.arange(pursued.confidence.shape[1]), ends[:, None])  # (B, K + 1)
    own, right = (np.take_along_axis(a, steps, axis=1) for a in (pursued.true_class_posterior, pursued.correct))
    last = np.exp(pursued.calibrator.log_posterior(pursued.log_posterior[each, ends], pursued.n_answers[each, ends]))
    result: dict[str, Any] = {name: {} for name in ("after", "stop", "anytime", "size", "size_anytime")}
    for rule in found.sets:
        name = f"{rule.coverage:g}"
        hit = right | (own >= np.array(rule.after[0])[: own.shape[1]] - SLACK)  # as in `PredictionSets.contains`
        always = (right | (own >= np.array(rule.anytime[0])[steps] - SLACK)).all(axis=1)
        result["after"][name] = hit.mean(axis=0).tolist()
        result["stop"][name] = float(hit[:, -1].mean())
        result["anytime"][name] = float(always.mean())
        result["size"][name] = float(rule.at_stop(last).sum(axis=1).mean())
        result["size_anytime"][name] = float(rule.contains(last, ends, anytime=True).sum(axis=1).mean())
    return result


def many_splits(
    pursued: HeldOutRuns, target: float, delta: float, n_splits: int, seed: int, *, progress: bool | None = None
) -> dict[str, Any]:
    """All splits of a target, as JSON data, and what they come to together."""
    found = []
    with Progress(f"splits at {target:g}", n_splits, show=progress) as shown:
        for i in range(n_splits):
            found.append(one_split(pursued, target, delta, seed + i))
            shown.advance(1)
    made = [each for each in found if each is not None]
    return {"target": target, "n_splits": n_splits, "n_refused": n_splits - len(made), **_together(made, target)}


def _together(made: Sequence[Split], target: float) -> dict[str, Any]:
    if not made:
        return {"splits": []}
    names = ("temperature", "threshold", "stopped", "accuracy", "length_before", "length", "error_before", "error")
    means = {name: float(np.mean([getattr(each, name) for each in made])) for name in names}
    sets = {}
    for name in made[0].after:
        after = np.mean([each.after[name] for each in made], axis=0)
        sets[name] = {
            "after, least": float(after.min()),
            "after, median": float(np.median(after)),
            **{kind: _mean(made, kind, name) for kind in ("stop", "anytime", "size", "size_anytime")},
        }
    return {
        "n_kept": int(sum(each.accuracy >= target for each in made)),
        "n_expected": float(sum(each.expected for each in made)),
        "least_stopped": float(min(each.stopped for each in made)),
        **means,
        "sets": sets,
        "splits": [{k: v for k, v in asdict(each).items() if k != "after"} for each in made],
    }


def _mean(made: Sequence[Split], kind: str, name: str) -> float:
    return float(np.mean([getattr(each, kind)[name] for each in made]))


def before_and_after(
    pursued: HeldOutRuns, calibrator: TemperatureScaling, target: float, threshold: float
) -> tuple[tuple[FloatArray, Any], tuple[FloatArray, Any]]:
    """(confidence, right) of all inputs where they stop: at the target with the model's own posterior; calibrated."""
    found = []
    for each, limit in ((pursued, target), (pursued.scaled(calibrator), threshold)):
        at, rows = each.ends(limit), np.arange(len(each))
        found.append((each.confidence[rows, at], each.correct[rows, at]))
    return found[0], found[1]
