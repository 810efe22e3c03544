"""Calibration: temperature scaling, expected calibration error, and a stopping rule chosen on held-out inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from operator import methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from infopursuit.calibration.conformal import (
    PredictionSets,
    find_sets,
    min_inputs_for_coverage,
    prediction_sets,
    sets_from_spec,
)
from infopursuit.calibration.risk_control import (
    candidate_thresholds,
    choose_threshold,
    min_inputs_for_target,
    plan_sequence,
)
from infopursuit.pursuit.stopping import SLACK, Check, Confidence, MaxQueries, Rule, Watch, check_rules
from infopursuit.support.checks import number, whole_number
from infopursuit.support.display import Brief
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Rows

if TYPE_CHECKING:
    from infopursuit.pursuit.loop import Pursuit
    from infopursuit.pursuit.trace import Trace

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.1, 100.0
FLOOR = 1e-12
"""Of the true class's posterior in a fit: one input that the model holds impossible must not decide alone."""
BIN_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)
"""Of the confidence bins. A pursuit asks until it is confident, so that bins are narrow close to one."""
LEARN_SHARE, TEST_SHARE = 0.3, 0.45
"""Of the held-out inputs: for the temperature and the order of the tests, and for the tests; the rest is for prediction
sets, which need inputs on which nothing was chosen."""
TINY = 1e-300
"""Avoids a division by zero where there are no inputs."""
N_OWN_TEMPERATURES = 3
"""After so many answers the posterior has temperatures of its own; after more it has one for all."""
PENALTY_BY_ANSWERS = 3.0
"""How strongly the temperatures after each number of answers are drawn to the one at the stop: about as much as thirty
inputs say. With 10, the first answers of simulated tables of 200 rows were 2.4 points overconfident instead of 1.6."""
MAX_RISE = 1.1
"""By what factor the temperature may rise with one more answer: with more, an answer that speaks for a class would make
it less probable."""
SHOWN_WEIGHT = 0.25
"""The weight of a posterior that is shown on the way, in a fit of the temperature, relative to that at the stop."""
N_ROUNDS = 3
"""Of fitting a temperature where inputs stop, and finding where they stop with it."""
STRICT = (1e-3, 1e-7)
"""Epsilon of the runs of held-out inputs, as a share of 1 - target: every threshold that may be chosen must stop them
earlier. The second is for models so overconfident that the first does not reach far enough."""


@dataclass(frozen=True)
class TemperatureScaling:
    """Temperature scaling: p becomes p^(1/T), normalised (Guo, Pleiss, Sun and Weinberger, 2017).

    The order of the classes does not change where there is no prior. Before the first answer the
    posterior stays as it is. Unanswered queries do not count as answers.

    Parameters
    ----------
    temperature : float, default 1.0
        T, from 0.1 to 100; above 1 makes the posterior less confident.
    by_answers : tuple of float, default ()
        T after 1, 2, ... answers; the last one holds for all further answers. By default it is
        ``temperature`` after any number of answers.
    prior : tuple of float, default ()
        The frequency of each class. With it the evidence is scaled, not the prior: log p(y | answers)
        - log p(y) is divided by T. A rare class then stays as rare as it is.

    Examples
    --------
    >>> scaled = TemperatureScaling(2.0).log_posterior(np.log([[0.8, 0.2], [0.8, 0.2]]), [0, 3])
    >>> np.exp(scaled).round(3).tolist()
    [[0.8, 0.2], [0.667, 0.333]]
    >>> scaled = TemperatureScaling(2.0, prior=(0.8, 0.2)).log_posterior(np.log([[0.8, 0.2]]), [3])
    >>> np.exp(scaled).round(3).tolist()
    [[0.8, 0.2]]
    """

    temperature: float = 1.0
    by_answers: tuple[float, ...] = ()
    prior: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        def checked(value: float, name: str) -> float:
            return number(value, name, least=MIN_TEMPERATURE, most=MAX_TEMPERATURE)

        object.__setattr__(self, "temperature", checked(self.temperature, "temperature"))
        object.__setattr__(self, "by_answers", tuple(checked(t, "by_answers") for t in self.by_answers))
        object.__setattr__(self, "prior", tuple(number(p, "prior", above=0, below=1) for p in self.prior))

    def log_posterior(self, log_class: Any, n_answers: Any) -> FloatArray:
        """See `Calibrator.log_posterior`; NaN stays NaN."""
        log_class = np.asarray(log_class, dtype=np.float64)
        answered = (np.asarray(n_answers) > 0)[..., None]
        log_prior = np.log(self.prior) if self.prior else 0.0
        with np.errstate(invalid="ignore"):
            scaled = log_prior + (log_class - log_prior) / self._temperatures(n_answers)[..., None]
            scaled = scaled - logsumexp(scaled, axis=-1, keepdims=True)
        return np.asarray(np.where(answered, scaled, log_class))

    def standard_error(self, error: Any, before: Any, after: Any, n_answers: Any) -> FloatArray:
        """See `Calibrator.standard_error`; to first order.

        With the other classes in proportion, T divides the log-odds: dq/dp = q (1 - q) / (T p (1 - p)); 0 where p is 0
        or 1.
        """
        p = np.asarray(before, dtype=np.float64)
        q = np.asarray(after, dtype=np.float64)
        answered = (np.asarray(n_answers) > 0)[..., None]
        inside = (p > 0) & (p < 1)
        # The relative error comes first: the slope alone is more than a float64 holds where p is next to nothing.
        relative = np.divide(error, p, out=np.zeros_like(p), where=inside)
        steepness = self._temperatures(n_answers)[..., None] * (1 - p)
        slope = np.divide(q * (1 - q), steepness, out=np.zeros_like(p), where=inside)
        return np.asarray(np.where(answered, relative * slope, error))

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> TemperatureScaling:
        """What ``dataclasses.asdict`` described; refused where a number cannot be."""
        return cls(spec["temperature"], tuple(spec["by_answers"]), tuple(spec["prior"]))

    def _temperatures(self, n_answers: Any) -> FloatArray:
        """T after each number of answers."""
        n_answers = np.asarray(n_answers)
        if not self.by_answers:
            return np.full(n_answers.shape, self.temperature)
        place = np.clip(n_answers - 1, 0, len(self.by_answers) - 1)
        return np.asarray(np.take(self.by_answers, place), dtype=np.float64)

    @classmethod
    def fit(
        cls,
        log_posterior: Any,
        labels: Any,
        weights: Any = None,
        prior: tuple[float, ...] = (),
        around: float = 1.0,
        penalty: float = 1.0,
    ) -> TemperatureScaling:
        """The T with the least log loss plus penalty * log(T / around)^2, which decides where the inputs say nothing.

        Parameters
        ----------
        log_posterior : (N, C) array of float
            log p(y | history), each after an answer.
        labels : (N,) array of int
            The true classes.
        weights : (N,) array of float, optional
            The weight of each input; all alike by default.
        prior : tuple of float, default ()
            See the class.
        around : float, default 1.0
            The temperature to which the penalty draws.
        penalty : float, default 1.0
            How strongly it draws.
        """
        from scipy.optimize import minimize_scalar  # half a second that a server need not wait for

        log_posterior = np.asarray(log_posterior, dtype=np.float64)
        labels = np.asarray(labels, dtype=np.int64)
        if log_posterior.ndim != 2 or labels.shape != log_posterior.shape[:1]:
            raise ValueError(
                f"log_posterior and labels have shapes {log_posterior.shape} and {labels.shape}; give (N, C) and (N,)"
            )
        weights = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=np.float64)
        floored = np.maximum(log_posterior, math.log(FLOOR))
        rows = np.arange(len(labels))

        def loss(log_t: float) -> float:
            scaled = cls(math.exp(log_t), prior=prior).log_posterior(floored, np.ones(len(labels)))
            return float(-(weights * scaled[rows, labels]).sum()) + penalty * (log_t - math.log(around)) ** 2

        bounds = (math.log(MIN_TEMPERATURE) + 1e-6, math.log(MAX_TEMPERATURE) - 1e-6)
        best = minimize_scalar(loss, bounds=bounds, method="bounded").x
        return cls(round(math.exp(best), 6), prior=prior)


def confidence_bins(confidence: Any) -> IntArray:
    """(B,) the bin of each confidence; a bin has its lower edge, not its upper one."""
    # rounding must not put 90 % below 90 %
    found = np.searchsorted(BIN_EDGES, np.asarray(confidence) + SLACK, side="right") - 1
    return np.asarray(np.clip(found, 0, len(BIN_EDGES) - 2), dtype=np.int64)


def expected_calibration_error(confidence: Any, correct: Any, weights: Any = None) -> float:
    """ECE = sum over bins of their share of the weight times |mean confidence - accuracy|.

    >>> round(expected_calibration_error([0.8, 0.75, 0.75], [True, True, False]), 6)
    0.233333
    """
    confidence = np.asarray(confidence, dtype=np.float64)
    correct = np.asarray(correct, dtype=np.float64)
    weights = np.ones(len(confidence)) if weights is None else np.asarray(weights, dtype=np.float64)
    off = np.bincount(confidence_bins(confidence), weights * (confidence - correct))
    return float(np.abs(off).sum() / max(weights.sum(), TINY))


@dataclass(frozen=True, repr=False)
class HeldOutRuns(Rows):
    """B pursuits of inputs that the model was not trained on, past any stop that may be chosen.

    Parameters
    ----------
    log_posterior : (B, K + 1, C) array of float
        log p(y | history) after each query, the last one repeated after the end.
    gains : (B, K + 1) array of float
        The largest gain before each further query, 0 at the end.
    n_answers : (B, K + 1) array of int
        Answers so far.
    length : (B,) array of int
        Queries asked.
    labels : (B,) array of int
        The true classes.
    epsilon : float
        Of the strict rule that ended the runs.
    calibrator : TemperatureScaling
        The temperature at which posteriors are read.
    patience : int
        Of the rule to be chosen.
    weights : (B,) array of float
        The weight of each input, 1 on average.
    """

    log_posterior: FloatArray
    gains: FloatArray
    n_answers: IntArray
    length: IntArray
    labels: IntArray
    epsilon: float = 0.0
    calibrator: TemperatureScaling = field(default_factory=TemperatureScaling)
    patience: int = 0
    weights: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.labels):
            object.__setattr__(self, "weights", np.ones(len(self.labels)))

    @classmethod
    def of(
        cls,
        traces: Sequence[Trace],
        labels: Any,
        n: int,
        epsilon: float,
        patience: int = 0,
        weights: Any = None,
    ) -> HeldOutRuns:
        """Collect traces of at most n queries, with the model's own posterior.

        Parameters
        ----------
        traces : sequence of Trace
            Pursuits of B inputs in all.
        labels : (B,) array of int
            The true classes.
        n : int
            Queries at most.
        epsilon, patience
            See the class.
        weights : (B,) array of float, optional
            The weight of each input; all alike by default.
        """

        def joined(arrays: Sequence[Any], mode: Any = "edge") -> Any:
            widths = [((0, 0), (0, n + 1 - a.shape[1]), *[(0, 0)] * (a.ndim - 2)) for a in arrays]
            return np.concatenate([np.pad(a, width, mode) for a, width in zip(arrays, widths, strict=True)])

        answered = [np.pad((trace.answers != UNKNOWN).any(axis=2), ((0, 0), (1, 0))) for trace in traces]
        for trace, steps in zip(traces, answered, strict=True):
            impossible = np.flatnonzero(trace.stop_reason == "impossible")
            steps[impossible, trace.length[impossible]] = False

        with np.errstate(divide="ignore"):
            log_posterior = np.log(joined([trace.posteriors for trace in traces]))
        relative = np.zeros(0) if weights is None else np.asarray(weights) / np.mean(weights)
        return cls(
            log_posterior,
            joined([trace.gains for trace in traces], "constant"),
            joined([steps.cumsum(axis=1) for steps in answered]),
            np.concatenate([trace.length for trace in traces]),
            np.asarray(labels, dtype=np.int64),
            epsilon,
            patience=patience,
            weights=relative,
        )

    def __len__(self) -> int:
        return len(self.labels)

    def scaled(self, calibrator: TemperatureScaling) -> HeldOutRuns:
        """The same runs, read at another temperature."""
        return replace(self, calibrator=calibrator)

    def scaled_at(self, stops: IntArray | None = None) -> HeldOutRuns:
        """The same runs with the temperature that fits best where they stop (B,), or after every query; unchanged where
        none has an answer there."""
        at = self.n_answers > 0
        if stops is not None:
            at &= np.arange(at.shape[1]) == stops[:, None]
        if not at.any():
            return self
        labels = np.broadcast_to(self.labels[:, None], at.shape)[at]
        return self.scaled(TemperatureScaling.fit(self.log_posterior[at], labels))

    def mean(self, values: Any) -> float:
        """The weighted mean of a value of each input."""
        return float(np.average(values, weights=self.weights))

    @cached_property
    def prior(self) -> tuple[float, ...]:
        """(C,) the frequencies of the classes among these inputs, smoothed by half an input."""
        mass = np.bincount(self.labels, weights=self.weights, minlength=self.log_posterior.shape[2]) + 0.5
        return tuple((mass / mass.sum()).tolist())

    def scaled_where_shown(self, stops: IntArray | None = None) -> HeldOutRuns:
        """The same runs with temperatures fitted to the posteriors that are shown, up to the stop.

        One temperature is fitted where runs stop, and then others after 1, 2, 3 and more answers,
        which the penalty of the fit draws to it. The evidence is scaled, not the prior.

        Parameters
        ----------
        stops : (B,) array of int, optional
            After how many queries each run stops; by default every step counts alike.
        """
        steps = np.arange(self.n_answers.shape[1])
        importance = np.ones(self.n_answers.shape)
        if stops is not None:
            importance = np.where(steps == stops[:, None], 1.0, SHOWN_WEIGHT * (steps < stops[:, None]))
        importance = importance * self.weights[:, None]
        labels = np.broadcast_to(self.labels[:, None], importance.shape)

        def fitted(where: Any, around: float, penalty: float) -> float:
            if not where.any():
                return around
            return TemperatureScaling.fit(
                self.log_posterior[where],
                labels[where],
                importance[where],
                self.prior,
                around,
                penalty,
            ).temperature

        answered = (self.n_answers > 0) & (importance > 0)
        at_stop = answered if stops is None else answered & (steps == stops[:, None])
        common = fitted(at_stop, 1.0, 1.0)
        by_answers: list[float] = []
        for k in range(1, N_OWN_TEMPERATURES + 2):
            after_k = self.n_answers == k if k <= N_OWN_TEMPERATURES else self.n_answers >= k
            temperature = fitted(answered & after_k, common, PENALTY_BY_ANSWERS)
            if by_answers:
                temperature = min(temperature, MAX_RISE * by_answers[-1])
            by_answers.append(round(temperature, 6))
        return self.scaled(TemperatureScaling(common, tuple(by_answers), self.prior))

    @cached_property
    def posterior(self) -> FloatArray:
        """(B, K + 1, C) calibrated."""
        return np.exp(self.calibrator.log_posterior(self.log_posterior, self.n_answers))

    @cached_property
    def confidence(self) -> FloatArray:
        """(B, K + 1) the largest posterior."""
        return np.asarray(self.posterior.max(axis=2))

    @cached_property
    def true_class_posterior(self) -> FloatArray:
        """(B, K + 1) the posterior of the true class."""
        return np.asarray(self.posterior[np.arange(len(self)), :, self.labels])

    @cached_property
    def loss(self) -> FloatArray:
        """(B, K + 1) -log p(true class)."""
        return np.asarray(-np.log(np.maximum(self.true_class_posterior, FLOOR)))

    @cached_property
    def correct(self) -> Any:
        """(B, K + 1) whether the most probable class is the true one."""
        return self.posterior.argmax(axis=2) == self.labels[:, None]

    @cached_property
    def unanswered(self) -> Any:
        """(B, K + 1) whether the query before had no answer, so that no rule is checked."""
        return np.pad(np.diff(self.n_answers, axis=1) == 0, ((0, 0), (1, 0)))

    @property
    def max_threshold(self) -> float:
        """The largest confidence that can be asked for: beyond it some runs would have gone on where these ended.

        They ended at 1 - epsilon or more; scaling gains most where all other classes share the rest, or one has it all.
        """
        heat, others = self.calibrator.temperature, self.log_posterior.shape[2] - 1
        rest = max(1.0, others ** (1 - 1 / heat)) * ((self.epsilon + SLACK) / (1 - self.epsilon)) ** (1 / heat)
        return float(1 / (1 + rest))

    def stopping_times(self, thresholds: Sequence[float]) -> IntArray:
        """(B, T) after how many queries each threshold stops each run, -1 where the confidence is never reached."""
        return first_stopping_times(self.confidence, thresholds, self.patience, self.unanswered, self.length)

    def ends(self, threshold: float) -> IntArray:
        """(B,) after how many queries each run stops at a threshold, or ends without reaching it."""
        stop = self.stopping_times([threshold])[:, 0]
        return np.where(stop >= 0, stop, self.length)

    def stops(self, threshold: float, min_gain: float, n: int) -> IntArray:
        """(B,) after how many queries each run stops at a confidence, at a gain, after n queries, or ends."""
        ended = np.arange(self.gains.shape[1]) >= np.minimum(n, self.length)[:, None]
        return np.asarray((ended | (self.confidence >= threshold) | (self.gains <= min_gain)).argmax(axis=1))

    def stops_of(self, rule: Rule) -> IntArray:
        """(B,) after how many queries a given rule stops each run, or where the run ends."""
        watch = Watch.start(rule).take(np.zeros(len(self), np.int64))
        ended: Any = np.arange(self.gains.shape[1]) >= self.length[:, None]
        for k in range(ended.shape[1]):
            check = Check(self.posterior[:, k], self.gains[:, k], np.full(len(self), k))
            watch, reason, _ = check_rules(rule, watch, check, 0, self.unanswered[:, k])
            ended[:, k] |= reason != ""
        return np.asarray(np.where(ended.any(axis=1), ended.argmax(axis=1), ended.shape[1] - 1))


def first_stopping_times(
    confidence: FloatArray, thresholds: Sequence[float], patience: int, unanswered: Any, length: IntArray
) -> IntArray:
    """(B, K + 1) confidences -> (B, T) where each threshold has held ``patience`` + 1 times in a row, -1 where never.

    As in `stopping.check_rules`, a query without an answer neither lengthens nor ends a run of checks.
    """
    least = np.asarray(thresholds, dtype=np.float64) - SLACK
    stop = np.full((len(confidence), len(least)), -1, dtype=np.int64)
    held = np.zeros_like(stop)
    for k in range(confidence.shape[1]):
        holds = confidence[:, k, None] >= least
        held = np.where(unanswered[:, k, None], held, np.where(holds, held + 1, 0))
        stop[(held > patience) & (stop < 0) & (length[:, None] >= k)] = k
    return stop


FILE_NAMES = {
    "max_queries": "budget",
    "ece_before": "expected_error_before",
    "ece_after": "expected_error_after",
    "calibrator": "temper",
}
"""Fields whose names in files are older."""


@dataclass(frozen=True, repr=False)
class CalibrationReport(Brief):
    """What calibration chose, and its results on the held-out inputs that it was tested on.

    target, delta: what was asked for. epsilon, patience, max_queries: the rule that was chosen. n_inputs: held-out
    inputs, n_tested those that the guarantee rests on. stopped: share of those that the rule stops. accuracy: share of
    the stopped that was right; accuracy_bound: its lower bound, with probability 1 - delta. ece, length, accuracy_all:
    expected calibration error, mean length and accuracy of all tested inputs, before (the model's own posterior,
    stopped at ``target``) and after. calibrator: the temperature. sets: one `PredictionSets` for each coverage.
    """

    target: float
    delta: float
    epsilon: float
    patience: int
    max_queries: int
    n_inputs: int
    n_tested: int
    stopped: float
    accuracy: float
    accuracy_bound: float
    ece_before: float
    ece_after: float
    length_before: float
    length_after: float
    accuracy_all_before: float
    accuracy_all_after: float
    calibrator: TemperatureScaling
    sets: tuple[PredictionSets, ...]

    def __post_init__(self) -> None:
        for name in ("target", "delta"):
            number(getattr(self, name), name, above=0, below=1)
        for each in fields(self)[2:-2]:
            value = getattr(self, each.name)
            if each.type == "int":
                whole_number(value, each.name)
            else:
                number(value, each.name, least=0, most=math.inf if each.name.startswith("length") else 1)

    def prediction_sets(self, coverage: float | None = None) -> PredictionSets:
        """The sets of a coverage that was calibrated, the first where none is given."""
        if not self.sets:
            raise ValueError("no sets were calibrated; give calibrate(..., coverage=0.95)")
        return find_sets(self.sets, coverage)

    def __str__(self) -> str:
        return (
            f"Stops at a confidence of {100 * (1 - self.epsilon):.2f} %, after at most {self.max_queries} questions: "
            f"{100 * self.stopped:.1f} % of {self.n_tested:,} held-out inputs stop so, {100 * self.accuracy:.2f} % of "
            f"them rightly, {100 * self.accuracy_bound:.2f} % at the least (with {100 * (1 - self.delta):g} % "
            f"certainty). Expected calibration error {100 * self.ece_before:.2f} % before, {100 * self.ece_after:.2f} "
            f"% after; {self.length_before:.1f} questions before, {self.length_after:.1f} after."
        )

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes it again."""
        return {FILE_NAMES.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> CalibrationReport:
        """What `to_spec` described; refused where a number cannot be."""
        found = {each.name: spec[FILE_NAMES.get(each.name, each.name)] for each in fields(cls)}
        found["calibrator"] = TemperatureScaling.from_spec(found["calibrator"])
        found["sets"] = sets_from_spec(found["sets"])
        return cls(**found)


OUTCOMES = ("ece", "length", "accuracy_all")
"""What a report has of all tested inputs, before and after."""


class StoppingOutcome(NamedTuple):
    """What stopping at a threshold gives: the share stopped and its accuracy; of all inputs the mean length, the
    accuracy, and the expected calibration error."""

    stopped: float
    accuracy: float
    length: float
    accuracy_all: float
    ece: float


def stopping_outcome(runs: HeldOutRuns, threshold: float) -> StoppingOutcome:
    """Stop some runs at a confidence, or where they end."""
    stopped = runs.stopping_times([threshold])[:, 0] >= 0
    at, each = runs.ends(threshold), np.arange(len(runs))
    correct, confidence = runs.correct[each, at], runs.confidence[each, at]
    accuracy = float(correct[stopped].mean()) if stopped.any() else 0.0
    ece = expected_calibration_error(confidence, correct)
    return StoppingOutcome(float(stopped.mean()), accuracy, float(at.mean()), float(correct.mean()), ece)


def fit_temperature(runs: HeldOutRuns, target: float, delta: float) -> TemperatureScaling:
    """The temperature fitted to the posteriors at the stop of the laxest rule that is planned with it.

    Where runs stop is what counts: a rule that stops at the first high confidence selects what is overconfident.
    """
    runs, threshold = runs.scaled(TemperatureScaling()), target
    for _ in range(N_ROUNDS):
        runs = runs.scaled_at(runs.ends(threshold))
        tried = candidate_thresholds(runs.max_threshold, runs.log_posterior.shape[2])
        threshold = plan_sequence(runs, tried, target, delta)[-1]
    return runs.calibrator


def run_held_out(
    pursuit: Pursuit[Any],
    values: Any,
    labels: Any,
    *,
    max_queries: int,
    target: float,
    delta: float,
    progress: Any = None,
) -> HeldOutRuns:
    """Pursue held-out inputs, (B, A) or an `Observed`, far enough for `calibrate`, with the model's own posterior."""
    for share in STRICT:
        epsilon = share * (1 - target)
        rule = Confidence(epsilon) | MaxQueries(max_queries)
        strict = replace(pursuit, calibrator=None, stopping=rule, patience=0, novelty=None)
        trace = strict.run_values(values, progress=progress)
        runs = HeldOutRuns.of([trace], labels, trace.queries.shape[1], epsilon, pursuit.patience)
        # whether it is far enough is decided on runs that are not tested
        learn = runs.take(split(len(runs), pursuit.seed)[0])
        if learn.scaled(fit_temperature(learn, target, delta)).max_threshold >= (1 + target) / 2:
            break
    return runs


def calibrate(
    runs: HeldOutRuns,
    *,
    max_queries: int,
    target: float = 0.97,
    delta: float = 0.05,
    coverage: Sequence[float] = (0.95,),
    by_class: bool = False,
    seed: int = 0,
) -> CalibrationReport:
    """Fit the temperature, choose the confidence threshold, and fit prediction sets, on three parts of the runs.

    Parameters
    ----------
    runs: strict runs of held-out inputs, from `run_held_out`.
    max_queries: the largest number of queries of the chosen rule.
    target, delta: the accuracy of the stopped inputs that is guaranteed, with probability 1 - delta.
    coverage: of the prediction sets; by_class: in each class.
    seed: of the split.
    """
    check_sample_size(len(runs), target, delta, coverage)
    learn, before, last = (runs.take(part) for part in split(len(runs), seed))
    calibrator = fit_temperature(learn, target, delta)
    learn, test, last = (part.scaled(calibrator) for part in (learn, before, last))
    tried = candidate_thresholds(learn.max_threshold, learn.log_posterior.shape[2])
    chosen = choose_threshold(learn, test, tried, target, delta)
    ends = methodcaller("ends", chosen.threshold)
    outcomes = {"before": stopping_outcome(before, target), "after": stopping_outcome(test, chosen.threshold)}
    return CalibrationReport(
        target=float(target),
        delta=float(delta),
        epsilon=1 - chosen.threshold,
        patience=runs.patience,
        max_queries=max_queries,
        n_inputs=len(runs),
        n_tested=len(test),
        stopped=chosen.n_stopped / len(test),
        accuracy=chosen.accuracy,
        accuracy_bound=chosen.bound,
        **{f"{name}_{when}": getattr(outcome, name) for when, outcome in outcomes.items() for name in OUTCOMES},
        calibrator=calibrator,
        sets=tuple(prediction_sets(learn, last, each, ends, by_class=by_class) for each in coverage),
    )


def split(n: int, seed: int) -> list[IntArray]:
    """Rows to learn on, rows to test on, and rows for prediction sets."""
    order = np.random.default_rng((seed, n)).permutation(n)
    return [np.sort(part) for part in np.split(order, [round(LEARN_SHARE * n), round((LEARN_SHARE + TEST_SHARE) * n)])]


def check_sample_size(n: int, target: float, delta: float, coverage: Sequence[float]) -> None:
    """Refuse so few held-out inputs that nothing can be guaranteed, even if all of them are right."""
    for name, value in (("target", target), ("delta", delta), *(("coverage", each) for each in coverage)):
        number(value, name, above=0, below=1)
    to_test = min_inputs_for_target(target, delta)
    for_sets = max([1, *(min_inputs_for_coverage(each) for each in coverage)])
    _, tested, last = (len(part) for part in split(n, 0))
    if tested < to_test or last < for_sets:
        needed = max(math.ceil((to_test + 1) / TEST_SHARE), math.ceil((for_sets + 1) / (1 - LEARN_SHARE - TEST_SHARE)))
        raise ValueError(
            f"X has {n:,} rows; target={target:g} with delta={delta:g} and "
            f"coverage={', '.join(f'{each:g}' for each in coverage) or 'none'} need {needed:,}, even if all are right: "
            f"give more, or ask for less"
        )
