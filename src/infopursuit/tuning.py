"""Defaults chosen on held-out rows: which strategy, how confident it may be, and when it stops.

Every candidate is pursued on rows that it was not trained on, past any stop. Its posterior is calibrated by temperature
scaling there; the candidate with the lowest log loss after partial histories is taken; and of all stopping rules the
shortest whose accuracy is within one standard error of the best one's, and that saves half of the log loss that answers
can save.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.calibration import TemperatureScaling, expected_calibration_error
from infopursuit.checks import instance, number, whole_number
from infopursuit.conformal import PredictionSets, min_inputs_for_coverage, sets_of_scores
from infopursuit.engine import Pursuit
from infopursuit.models.learning import Empirical
from infopursuit.models.sample import Sample
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.selection import select_learner
from infopursuit.stopping import Check, Confidence, InformationGain, MaxQueries, Rule, Watch, check_rules, describe
from infopursuit.types import UNKNOWN, FloatArray, IntArray, Observed

MAX_QUESTIONS = 12
"""Questions at the most, where nothing else is said."""
N_FOLDS = 4
"""Of the rows on which finite models are tested."""
N_ROWS, N_LOOKED_AT = (400, 2_500), 1_500_000
"""Held-out rows that are pursued, at the least and at the most; and answers that a step looks at for all of them."""
CONFIDENT = 1e-3
"""Of the posterior that nobody need ask beyond."""
THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995)
"""Confidences at which a rule may stop."""
MIN_GAINS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03)
"""Information gains, in nats, below which a rule may stop."""
INFORMED = 0.5
"""Of the log loss that answers can save, the share that a rule must save. Where one class is frequent, accuracy alone
would ask nothing, and every input would get the same probability."""
COVERAGES = (0.95, 0.9, 0.8, 0.99)
"""Of the prediction sets, the first where nothing is asked for."""
N_ROUNDS = 2
"""Of fitting the temperature where inputs stop, and finding where they stop with it."""


@dataclass(frozen=True)
class Candidate:
    """A strategy that may be taken: its pursuit, fitted on the whole sample; and ``folds()``, for each fold of the
    sample a belief and an acquisition function that were not trained on it."""

    name: str
    pursuit: Pursuit[Any]
    sample: Sample
    folds: Callable[[], list[tuple[Any, Any]]] | None


@dataclass
class CandidateBuilder:
    """Fits the strategies that are compared.

    queries, labels, weights, classes, seed: what they are fitted on. parts: of every pursuit. options: of `Pursuit.of`.
    prepare: model -> the model that is used. compared: the finite models that were compared, best first.
    """

    queries: QuerySet
    labels: IntArray
    weights: Any
    classes: Any
    seed: int
    parts: dict[str, Any]
    options: dict[str, Any]
    prepare: Callable[[Any], Any]
    compared: list[Any] = field(default_factory=list)

    def strategy(self, name: str, strategy: Any, observed: Observed) -> Candidate:
        """A strategy that builds its own belief; it sees the numbers."""
        queries, n = self.queries, len(self.classes)
        sample = Sample.of(queries.variables, observed.values, self.labels, self.weights, n, observed.numbers)
        belief, acquisition = strategy.build(sample, queries, self.seed)
        parts = {**self.parts, "learnt": not getattr(belief, "calibrated", False)}  # it may have calibrated itself
        pursuit: Pursuit[Any] = Pursuit(queries, belief, acquisition, seed=self.seed, **parts)
        found = strategy.folds(belief) if hasattr(strategy, "folds") else None
        return Candidate(name, pursuit, sample, None if found is None else lambda: found)

    def generative(
        self, name: str, learner: Any, sample: Sample, empirical: bool, tuned: bool, progress: bool | None
    ) -> Candidate:
        """A generative model that is ready, or the best of a tuple of learners; ``empirical``: whether the training
        rows themselves may be one, ``tuned``: whether it is to be pursued on held-out rows."""
        if not isinstance(learner, tuple):
            if learner.n_classes != len(self.classes):
                raise ValueError(f"strategy is a model of {learner.n_classes} classes, but y has {len(self.classes)}")
            return Candidate(name, self._pursuit(learner), sample, None)
        learners = [each for each in learner if empirical or not isinstance(each, Empirical)]
        best, self.compared = select_learner(learners, sample, self.queries, seed=self.seed, progress=progress)
        shape, held_out = getattr(self.queries, "shape", None), sample.folds(N_FOLDS)

        def folds() -> list[tuple[Any, Any]]:
            parts = (replace(sample, weights=sample.weights - each) for each in held_out)
            fitted = (self._pursuit(best.fit(part.take(part.weights > 1e-9), shape, self.seed)) for part in parts)
            return [(each.belief, each.acquisition) for each in fitted]

        found = self._pursuit(best.fit(sample, shape, self.seed))
        finite = "exact" in found.model.beliefs  # a network is not trained once more for each fold
        whole = tuned and finite and self.queries.tabular and bool(held_out.any(axis=1).all())
        return Candidate(name, found, sample, folds if whole else None)

    def _pursuit(self, model: Any) -> Pursuit[Any]:
        return Pursuit.of(self.prepare(model), self.queries, seed=self.seed, **self.options, **self.parts)


def n_pursued(queries: QuerySet) -> int:
    """How many held-out rows are pursued at the most: fewer where each step looks at many answers."""
    return int(np.clip(N_LOOKED_AT // queries.n_answers.sum(), N_ROWS[0], N_ROWS[1]))


def held_out_rows(held_out: FloatArray, n: int) -> list[IntArray]:
    """For each fold, (folds, N) held-out weights, some rows in proportion to them; n in all at the most."""
    found = []
    for weights in held_out:
        total = np.cumsum(weights)
        size = int(min(n // len(held_out), np.ceil(total[-1])))
        found.append(
            np.searchsorted(total, (np.arange(size) + 0.5) / size * total[-1]) if size else np.zeros(0, np.int64)
        )
    return found


@dataclass(frozen=True)
class HeldOutRuns:
    """N pursuits of rows that the model was not trained on, past any stop to be chosen.

    log_posterior: (N, K + 1, C), the last one repeated after the end. gains: (N, K + 1) the largest gain before each
    further query, 0 at the end. n_answers: (N, K + 1) answers so far. length: (N,) queries asked. labels: (N,).
    """

    log_posterior: FloatArray
    gains: FloatArray
    n_answers: IntArray
    length: IntArray
    labels: IntArray
    calibrator: TemperatureScaling = field(default_factory=TemperatureScaling)

    @classmethod
    def of(cls, candidate: Candidate, n: int, progress: bool | None = None) -> HeldOutRuns:
        """Pursue held-out rows, n queries at the most."""
        assert candidate.folds is not None
        folds = candidate.folds()
        indices = held_out_rows(candidate.sample.folds(len(folds)), n_pursued(candidate.pursuit.queries))
        traces = []
        with Progress("held-out rows", sum(map(len, indices)), show=progress) as shown:
            for (belief, acquisition), index in zip(folds, indices, strict=True):
                pursuit = replace(
                    candidate.pursuit,
                    belief=belief,
                    acquisition=acquisition,
                    stopping=Confidence(CONFIDENT) | MaxQueries(n),
                    patience=0,
                    n_novelty_queries=0,
                    bindings=type(candidate.pursuit.bindings)(),
                )
                traces.append(pursuit.run_values(candidate.sample.observed(index), progress=False))
                shown.advance(len(index))
        return cls(
            np.concatenate([_padded(np.log(np.maximum(t.posteriors, 1e-12)), n + 1) for t in traces]),
            np.concatenate([_padded(t.gains, n + 1, 0.0) for t in traces]),
            np.concatenate([_padded(_n_answers(t), n + 1) for t in traces]),
            np.concatenate([t.length for t in traces]),
            candidate.sample.labels[np.concatenate(indices)],
        )

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def posterior(self) -> FloatArray:
        """(N, K + 1, C) calibrated."""
        return np.exp(self.calibrator.log_posterior(self.log_posterior, self.n_answers))

    @cached_property
    def log_loss(self) -> FloatArray:
        """(N,) the mean of -log p(true class) after 1, 2, ... queries, calibrated."""
        p = self.posterior[np.arange(len(self)), 1:, self.labels]
        return np.asarray(-np.log(np.maximum(p, 1e-12)).mean(axis=1))

    @property
    def loss_before(self) -> FloatArray:
        """(N,) -log p(true class) before any query."""
        return np.asarray(-np.log(np.maximum(self.posterior[np.arange(len(self)), 0, self.labels], 1e-12)))

    def scaled_at(self, stops: IntArray | None = None) -> HeldOutRuns:
        """The same runs with the temperature that fits best where they stop, or after every query."""
        each = np.arange(len(self))
        if stops is None:
            at = self.n_answers > 0
            labels = np.broadcast_to(self.labels[:, None], at.shape)[at]
            return replace(self, calibrator=TemperatureScaling.fit(self.log_posterior[at], labels))
        answered = self.n_answers[each, stops] > 0
        if not answered.any():
            return self
        found = TemperatureScaling.fit(self.log_posterior[each, stops][answered], self.labels[answered])
        return replace(self, calibrator=found)

    def stops(self, threshold: float, min_gain: float, n: int) -> IntArray:
        """(N,) after how many queries a rule stops each run."""
        steps = np.arange(self.gains.shape[1])
        holds = (
            (self.posterior.max(axis=2) >= threshold)
            | (self.gains <= min_gain)
            | (steps >= np.minimum(n, self.length)[:, None])
        )
        return np.asarray(holds.argmax(axis=1))

    def stops_of(self, rule: Rule) -> IntArray:
        """(N,) after how many queries a given rule stops each run, or where the run ends."""
        watch = Watch.start(rule).take(np.zeros(len(self), np.int64))
        ended: Any = np.zeros(self.gains.shape, dtype=bool)
        for k in range(ended.shape[1]):
            check = Check(self.posterior[:, k], self.gains[:, k], np.full(len(self), k))
            skipped = (self.n_answers[:, k] == self.n_answers[:, max(k - 1, 0)]) & (k > 0)
            watch, reason, _ = check_rules(rule, watch, check, 0, skipped)
            ended[:, k] = (reason != "") | (k >= self.length)
        return np.asarray(np.where(ended.any(axis=1), ended.argmax(axis=1), ended.shape[1] - 1))

    def prediction_sets(self, stops: IntArray) -> tuple[PredictionSets, ...]:
        """Cross-conformal prediction sets of runs that stop after (N,) queries.

        Every run is of a row that its model was not trained on, but models differ between folds, and the temperature
        and the rule were chosen on the same rows: coverage holds approximately, not exactly as after `calibrate`.
        """
        steps = np.minimum(np.arange(self.gains.shape[1]), stops[:, None])
        scores = 1 - self.posterior[np.arange(len(self))[:, None], steps, self.labels[:, None]]
        enough = (each for each in COVERAGES if len(self) >= min_inputs_for_coverage(each))
        return tuple(sets_of_scores(scores, scores, each) for each in enough)


def _padded(array: Any, n: int, fill: float | None = None) -> Any:
    """(N, k, ...) -> (N, n, ...): the last entry repeated, or filled."""
    more = n - array.shape[1]
    last = array[:, -1:] if fill is None else np.full((len(array), 1), fill)
    return np.concatenate([array, *[last] * more], axis=1)


def _n_answers(trace: Any) -> IntArray:
    answered = (trace.answers != UNKNOWN).any(axis=2)
    return np.concatenate([np.zeros((len(trace), 1), np.int64), answered.cumsum(axis=1)], axis=1)


@dataclass(frozen=True)
class Tuning:
    """What was chosen on held-out rows, and how it did there.

    strategy: the strategy that was taken. candidates: {strategy: log loss after partial histories}, in nats. rule: the
    stopping rule. temperature: of the posterior. n_rows: held-out rows. accuracy, accuracy_error: of the rule, with
    its standard error; best_accuracy: of the most accurate rule. n_questions: asked on average. log_loss: at the stop.
    ece: expected calibration error at the stop; ece_before: without temperature scaling. sets: prediction sets.
    """

    strategy: str
    candidates: dict[str, float]
    rule: Rule
    temperature: float
    n_rows: int
    accuracy: float
    accuracy_error: float
    best_accuracy: float
    n_questions: float
    log_loss: float
    ece: float
    ece_before: float
    sets: tuple[PredictionSets, ...] = ()

    def __repr__(self) -> str:
        found = f"accuracy {100 * self.accuracy:.1f} % ± {100 * self.accuracy_error:.1f}"
        return f"<Tuning: {self.strategy}, {found} after {self.n_questions:.1f} questions on {self.n_rows:,} rows>"

    def __post_init__(self) -> None:
        instance(self.strategy, "strategy", str, "a name")
        for name in (
            "temperature",
            "accuracy",
            "accuracy_error",
            "best_accuracy",
            "n_questions",
            "log_loss",
            "ece",
            "ece_before",
        ):
            number(getattr(self, name), name, least=0)
        for name, loss in self.candidates.items():
            number(loss, f"candidates[{name!r}]", least=0)
        whole_number(self.n_rows, "n_rows", 1)

    @property
    def calibrator(self) -> TemperatureScaling:
        """The temperature scaling."""
        return TemperatureScaling(self.temperature)

    def __str__(self) -> str:
        others = ", ".join(f"{name} {loss:.3f}" for name, loss in self.candidates.items())
        return (
            f"strategy: {self.strategy} (held-out log loss after partial histories, nats: {others})\n"
            f"stops when {describe(self.rule)}\n"
            f"on {self.n_rows:,} held-out rows: accuracy {100 * self.accuracy:.1f} % ± {100 * self.accuracy_error:.1f} "
            f"after {self.n_questions:.1f} questions (the most accurate rule: {100 * self.best_accuracy:.1f} %), "
            f"expected calibration error {100 * self.ece:.1f} % (temperature {self.temperature:.2f}; "
            f"{100 * self.ece_before:.1f} % without)"
        )


def tune(runs: dict[str, HeldOutRuns], n: int, rule: Rule | None = None) -> Tuning:
    """Choose among candidates, and the rule of the chosen one; ``rule``: the rule to keep. n: questions at the most."""
    scaled = {name: each.scaled_at() for name, each in runs.items()}
    losses = {name: float(each.log_loss.mean()) for name, each in scaled.items()}
    name = min(losses, key=lambda each: losses[each])
    best = scaled[name]
    for _ in range(N_ROUNDS):
        outcomes = [_outcome(best, t, g, n) for t in THRESHOLDS for g in MIN_GAINS]
        top = max(outcomes, key=lambda each: (each.accuracy, -each.length))
        good = [each for each in outcomes if each.as_good_as(top)]
        least = INFORMED * _saved(best.loss_before, min(outcomes, key=lambda each: each.log_loss).loss)
        informed = [each for each in good if least == 0 or (best.loss_before - each.loss).mean() >= least]
        chosen = min(informed or good, key=lambda each: each.length)
        best = best.scaled_at(chosen.stops)
    if rule is None:
        final = _outcome(best, chosen.threshold, chosen.min_gain, n)
    else:
        best = scaled[name]
        final = _outcome_at(best, best.stops_of(rule))
    return Tuning(
        strategy=name,
        candidates=dict(sorted(losses.items(), key=lambda item: item[1])),
        rule=final.rule(n) if rule is None else rule,
        temperature=best.calibrator.temperature,
        n_rows=len(best),
        accuracy=final.accuracy,
        accuracy_error=_standard_error(final.correct),
        best_accuracy=max(_outcome(best, t, g, n).accuracy for t in THRESHOLDS for g in MIN_GAINS),
        n_questions=final.length,
        log_loss=final.log_loss,
        ece=final.ece,
        ece_before=_outcome_at(replace(best, calibrator=TemperatureScaling()), final.stops).ece,
        sets=best.prediction_sets(final.stops),
    )


def _saved(before: FloatArray, after: FloatArray) -> float:
    """The mean of the log loss that answers save, 0 where it is within two standard errors of 0."""
    saved = before - after
    return float(saved.mean()) if saved.mean() > 2 * saved.std() / np.sqrt(len(saved)) else 0.0


def _standard_error(correct: Any) -> float:
    """Of a share, with two successes and two failures added (Agresti and Coull, 1998): not 0 where all are right."""
    n = len(correct) + 4
    share = (float(correct.sum()) + 2) / n
    return float(np.sqrt(share * (1 - share) / n))


@dataclass(frozen=True)
class _Outcome:
    """What a rule does on held-out rows."""

    threshold: float
    min_gain: float
    stops: IntArray
    correct: Any
    confidence: FloatArray
    loss: FloatArray

    @property
    def accuracy(self) -> float:
        return float(self.correct.mean())

    @property
    def length(self) -> float:
        return float(self.stops.mean())

    @property
    def log_loss(self) -> float:
        return float(self.loss.mean())

    @property
    def ece(self) -> float:
        return expected_calibration_error(self.confidence, self.correct)

    def as_good_as(self, best: _Outcome) -> bool:
        """Whether the accuracy is within one standard error of the difference, rows being paired."""
        worse = best.correct.astype(np.float64) - self.correct
        return bool(worse.mean() <= worse.std() / np.sqrt(len(worse)) + 1e-12)

    def rule(self, n: int) -> Rule:
        rule: Rule = Confidence(round(1 - self.threshold, 6))
        if self.min_gain > 0:
            rule = rule | InformationGain(self.min_gain)
        return rule | MaxQueries(n)


def _outcome(runs: HeldOutRuns, threshold: float, min_gain: float, n: int) -> _Outcome:
    return _outcome_at(runs, runs.stops(threshold, min_gain, n), threshold, min_gain)


def _outcome_at(runs: HeldOutRuns, stops: IntArray, threshold: float = 1.0, min_gain: float = 0.0) -> _Outcome:
    each = np.arange(len(runs))
    p = runs.posterior[each, stops]
    loss = -np.log(np.maximum(p[each, runs.labels], 1e-12))
    return _Outcome(threshold, min_gain, stops, p.argmax(axis=1) == runs.labels, p.max(axis=1), loss)
