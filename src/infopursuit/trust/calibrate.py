"""Calibration from beginning to end: how sure to be, when to stop, which classes are in a set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from infopursuit.engine import Pursuit
from infopursuit.stopping import Confidence, MaxQueries
from infopursuit.temper import Temper
from infopursuit.trust.guarantee import choose, fewest, plan, thresholds
from infopursuit.trust.pursued import Pursued
from infopursuit.trust.reliability import expected_error
from infopursuit.trust.sets import SetRule, check_share, fewest_for, set_rule
from infopursuit.types import IntArray

PLANNED, TESTED = 0.3, 0.45
"""Shares of the held-out inputs: for the temperature and the order of the tests, and for the tests; the rest is for
sets, which need inputs on which nothing was chosen."""
ROUNDS = 3
"""Of fitting a temperature where inputs stop, and finding where they stop with it."""
STRICT = (1e-3, 1e-7)
"""Epsilon of the pursuits of held-out inputs, as a share of 1 - target: every rule that may be chosen must stop them
earlier. The second is for models that are so much too sure that the first does not reach far enough."""


@dataclass(frozen=True)
class Calibration:
    """What calibration chose, and what it came to on the held-out inputs that it was tested on.

    target, delta: what was asked for. epsilon, patience, budget: the rule that was chosen. n_inputs: held-out inputs,
    n_tested those that the guarantee rests on. stopped: share of those that the rule stops. accuracy: share of the
    stopped that was right, accuracy_bound what it is at least, with probability 1 - delta. expected_error, length,
    accuracy_all: of all tested inputs, before (the model's own posterior, stopped at ``target``) and after. temper,
    sets: see there.
    """

    target: float
    delta: float
    epsilon: float
    patience: int
    budget: int
    n_inputs: int
    n_tested: int
    stopped: float
    accuracy: float
    accuracy_bound: float
    expected_error_before: float
    expected_error_after: float
    length_before: float
    length_after: float
    accuracy_all_before: float
    accuracy_all_after: float
    temper: Temper
    sets: tuple[SetRule, ...]

    def __post_init__(self) -> None:
        for name in ("target", "delta"):
            check_share(getattr(self, name), name)
        shares = ("epsilon", "stopped", "accuracy", "accuracy_bound", "expected_error_before", "expected_error_after")
        for name in (*shares, "accuracy_all_before", "accuracy_all_after"):
            value = getattr(self, name)
            if type(value) is not float or not 0 <= value <= 1:
                raise ValueError(f"{name} is {value!r}; expected a number from 0 to 1")
        for name in ("length_before", "length_after"):
            value = getattr(self, name)
            if type(value) is not float or not 0 <= value < math.inf:
                raise ValueError(f"{name} is {value!r}; expected a number from 0 on")
        for name in ("patience", "budget", "n_inputs", "n_tested"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise ValueError(f"{name} is {value!r}; expected a whole number from 0 on")

    def rule(self, coverage: float | None = None) -> SetRule:
        """The sets of a coverage that was calibrated, the first where none is given."""
        if not self.sets:
            raise ValueError("no sets were calibrated; give calibrate(..., coverage=0.95)")
        for each in self.sets:
            if coverage is None or math.isclose(each.coverage, coverage):
                return each
        known = ", ".join(f"{each.coverage:g}" for each in self.sets)
        raise ValueError(f"coverage={coverage!r} was not calibrated, but {known}; name it in calibrate(coverage=...)")

    def __str__(self) -> str:
        return (
            f"Stops at a confidence of {100 * (1 - self.epsilon):.2f} %, after {self.budget} questions at the latest: "
            f"{100 * self.stopped:.1f} % of {self.n_tested:,} held-out inputs stop so, {100 * self.accuracy:.2f} % of "
            f"them rightly, {100 * self.accuracy_bound:.2f} % at the least (with {100 * (1 - self.delta):g} % "
            f"certainty). Expected calibration error {100 * self.expected_error_before:.2f} % before, "
            f"{100 * self.expected_error_after:.2f} % after; {self.length_before:.1f} questions before, "
            f"{self.length_after:.1f} after."
        )

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes it again."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Calibration:
        """What `to_spec` described; refused where a number cannot be."""
        rules = tuple(
            SetRule(each["coverage"], *(tuple(tuple(row) for row in each[name]) for name in ("after", "anytime")))
            for each in spec["sets"]
        )
        plain = {f.name: spec[f.name] for f in fields(cls) if f.name not in ("temper", "sets")}
        return cls(**plain, temper=Temper.from_spec(spec["temper"]), sets=rules)


def calibrate(
    pursued: Pursued,
    *,
    budget: int,
    target: float = 0.97,
    delta: float = 0.05,
    coverage: Sequence[float] = (0.95,),
    by_class: bool = False,
    patience: int = 0,
    seed: int = 0,
) -> Calibration:
    """Calibrate on strict pursuits of held-out inputs; see `guarantee` and `sets` for what holds afterwards."""
    check_size(len(pursued), target, delta, coverage)
    parts = split(len(pursued), seed)
    learn, before, last = (pursued.take(part) for part in parts)
    temper = fit_temper(learn, target, delta, patience)
    learn, test, last = learn.tempered(temper), before.tempered(temper), last.tempered(temper)
    tried = thresholds(learn.strictest, pursued.log_posterior.shape[2])
    chosen = choose(learn, test, tried, target, delta, patience)
    was, is_now = outcome(before, target, patience), outcome(test, chosen.threshold, patience)
    return Calibration(
        target=float(target),
        delta=float(delta),
        epsilon=1 - chosen.threshold,
        patience=patience,
        budget=budget,
        n_inputs=len(pursued),
        n_tested=len(test),
        stopped=chosen.n_stopped / len(test),
        accuracy=chosen.accuracy,
        accuracy_bound=chosen.bound,
        expected_error_before=was.expected_error,
        expected_error_after=is_now.expected_error,
        length_before=was.length,
        length_after=is_now.length,
        accuracy_all_before=was.accuracy_all,
        accuracy_all_after=is_now.accuracy_all,
        temper=temper,
        sets=tuple(set_rule(learn, last, each, chosen.threshold, patience, by_class=by_class) for each in coverage),
    )


@dataclass(frozen=True)
class Outcome:
    """What stopping at a confidence comes to: share stopped and how many of those are right; of all inputs the mean
    length, the share that is right, and the expected calibration error."""

    stopped: float
    accuracy: float
    length: float
    accuracy_all: float
    expected_error: float


def outcome(pursued: Pursued, threshold: float, patience: int = 0) -> Outcome:
    """Stop some pursuits at a confidence, or where they end."""
    stop = pursued.stops([threshold], patience)[:, 0]
    at, each = np.where(stop >= 0, stop, pursued.length), np.arange(len(pursued))
    right, sure = pursued.right[each, at], pursued.confidence[each, at]
    return Outcome(
        stopped=float((stop >= 0).mean()),
        accuracy=float(right[stop >= 0].mean()) if (stop >= 0).any() else 0.0,
        length=float(at.mean()),
        accuracy_all=float(right.mean()),
        expected_error=expected_error(sure, right),
    )


def fit_temper(pursued: Pursued, target: float, delta: float, patience: int = 0) -> Temper:
    """The temperature at which posteriors are right where pursuits stop, by the laxest rule that is planned with it.

    Where they stop is what counts: a rule that stops at the first sign of certainty picks out what is too sure.
    """
    temper, threshold = Temper(), target
    each = np.arange(len(pursued))
    for _ in range(ROUNDS):
        believed = pursued.tempered(temper)
        stop = believed.stops([threshold], patience)[:, 0]
        at = np.where(stop >= 0, stop, pursued.length)
        asked = pursued.n_answers[each, at] > 0
        if not asked.any():
            return Temper()
        temper = Temper.fit(pursued.log_posterior[each, at][asked], pursued.labels[asked])
        believed = pursued.tempered(temper)
        tried = thresholds(believed.strictest, pursued.log_posterior.shape[2])
        threshold = plan(believed, tried, target, delta, patience)[-1]
    return temper


def run_strictly(
    pursuit: Pursuit,
    values: Any,
    labels: Any,
    *,
    budget: int,
    target: float,
    delta: float,
    patience: int,
    seed: int,
    progress: bool | None = None,
) -> Pursued:
    """Pursue held-out inputs (B, A) far enough for `calibrate`, with the model's own posterior."""
    for share in STRICT:
        epsilon = share * (1 - target)
        strict = pursuit.with_temper(None).with_stopping(Confidence(epsilon) | MaxQueries(budget))
        pursued = Pursued.of(strict.run_values(values, progress=progress), labels, epsilon)
        # whether it is far enough is looked up where nothing is tested
        learn = pursued.take(split(len(pursued), seed)[0])
        if learn.tempered(fit_temper(learn, target, delta, patience)).strictest >= (1 + target) / 2:
            break
    return pursued


def split(n: int, seed: int) -> list[IntArray]:
    """Rows to plan with, rows to test on, and rows for sets."""
    order = np.random.default_rng((seed, n)).permutation(n)
    return [np.sort(part) for part in np.split(order, [round(PLANNED * n), round((PLANNED + TESTED) * n)])]


def check_size(n: int, target: float, delta: float, coverage: Sequence[float]) -> None:
    """Refuse so few held-out inputs that nothing can be guaranteed, even if all of them are right."""
    for name, value in (("target", target), ("delta", delta), *(("coverage", each) for each in coverage)):
        check_share(value, name)
    to_test, for_sets = fewest(target, delta), max([1, *(fewest_for(each) for each in coverage)])
    _, tested, last = (len(part) for part in split(n, 0))
    if tested < to_test or last < for_sets:
        needed = max(math.ceil((to_test + 1) / TESTED), math.ceil((for_sets + 1) / (1 - PLANNED - TESTED)))
        raise ValueError(
            f"X has {n:,} rows; target={target:g} with delta={delta:g} and "
            f"coverage={', '.join(f'{each:g}' for each in coverage) or 'none'} need {needed:,}, even if all are right: "
            f"give more, or ask for less"
        )
