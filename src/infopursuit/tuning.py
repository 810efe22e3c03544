"""Defaults chosen on held-out rows: which strategy, how confident it may be, and when it stops.

Every candidate is pursued on rows that it was not trained on, past any stop. Its posterior is calibrated by temperature
scaling there; the candidate with the lowest log loss after partial histories is taken; and of all stopping rules the
shortest whose accuracy is within one standard error of the best one's, and that saves half of the log loss that answers
can save.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np

from infopursuit.calibration import HeldOutRuns, TemperatureScaling, expected_calibration_error
from infopursuit.checks import instance, number, whole_number
from infopursuit.conformal import PredictionSets, min_inputs_for_coverage, prediction_sets
from infopursuit.engine import Pursuit
from infopursuit.history import Acquisition, Belief
from infopursuit.models.learning import Empirical
from infopursuit.models.sample import Sample
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.selection import select_learner
from infopursuit.stopping import Confidence, InformationGain, MaxQueries, Rule
from infopursuit.types import FloatArray, IntArray, Observed

MAX_QUESTIONS = 12
"""Questions at the most, where nothing else is said."""
N_FOLDS = 4
"""Of the rows on which finite models are tested."""
N_ROWS, N_LOOKED_AT, MANY_CLASSES = (400, 2_500), 1_500_000, 32
"""Held-out rows that are pursued, at the least and at the most; answers that a step looks at for all of them; and the
classes from which on there are fewer rows, since a posterior of all classes is computed after each answer."""
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


class Strategy(Protocol):
    """A strategy of your own: what to believe and how to choose, learnt from a sample."""

    def build(self, sample: Sample, queries: QuerySet, seed: int) -> tuple[Belief[Any], Acquisition[Any]]:
        """The belief and the acquisition function."""


@dataclass(frozen=True)
class Candidate:
    """A strategy that may be taken: its pursuit, fitted on the whole sample; and ``folds()``, for each fold of the
    sample a belief and an acquisition function that were not trained on it."""

    name: str
    pursuit: Pursuit[Any]
    sample: Sample
    folds: Callable[[], list[tuple[Any, Any]]] | None

    def run(self, n: int, progress: bool | None = None) -> HeldOutRuns:
        """Pursue held-out rows, n queries at the most."""
        assert self.folds is not None
        folds = self.folds()
        indices = held_out_rows(self.sample.folds(len(folds)), n_pursued(self.pursuit.queries, self.sample.n_classes))
        rule = Confidence(CONFIDENT) | MaxQueries(n)
        traces = []
        with Progress("held-out rows", sum(map(len, indices)), show=progress) as shown:
            for (belief, acquisition), index in zip(folds, indices, strict=True):
                parts = {"belief": belief, "acquisition": acquisition, "bindings": type(self.pursuit.bindings)()}
                pursuit = replace(self.pursuit, **parts, stopping=rule, patience=0, n_novelty_queries=0)
                traces.append(pursuit.run_values(self.sample.observed(index), progress=shown))
        return HeldOutRuns.of(traces, self.sample.labels[np.concatenate(indices)], n, CONFIDENT)


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


def n_pursued(queries: QuerySet, n_classes: int) -> int:
    """How many held-out rows are pursued at the most: fewer where each step looks at many answers or classes."""
    work = int(queries.n_answers.sum()) * max(1.0, n_classes / MANY_CLASSES)
    return int(np.clip(N_LOOKED_AT // work, N_ROWS[0], N_ROWS[1]))


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
        for each in fields(self):
            if each.type == "float":
                number(getattr(self, each.name), each.name, least=0)
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
            f"stops when {self.rule.describe()}\n"
            f"on {self.n_rows:,} held-out rows: accuracy {100 * self.accuracy:.1f} % ± {100 * self.accuracy_error:.1f} "
            f"after {self.n_questions:.1f} questions (the most accurate rule: {100 * self.best_accuracy:.1f} %), "
            f"expected calibration error {100 * self.ece:.1f} % (temperature {self.temperature:.2f}; "
            f"{100 * self.ece_before:.1f} % without)"
        )


def tune(runs: dict[str, HeldOutRuns], n: int, rule: Rule | None = None) -> Tuning:
    """Choose among candidates, and the rule of the chosen one; ``rule``: the rule to keep. n: questions at the most."""
    scaled = {name: each.scaled_at() for name, each in runs.items()}
    losses = {name: float(each.loss[:, 1:].mean()) for name, each in scaled.items()}
    name = min(losses, key=lambda each: losses[each])
    best = scaled[name]
    for _ in range(N_ROUNDS):
        outcomes, before = _outcomes(best, n), best.loss[:, 0]
        top = max(outcomes, key=lambda each: (each.accuracy, -each.length))
        good = [each for each in outcomes if each.as_good_as(top)]
        least = INFORMED * _saved(before, min(outcomes, key=lambda each: each.log_loss).loss)
        informed = [each for each in good if least == 0 or (before - each.loss).mean() >= least]
        chosen = min(informed or good, key=lambda each: each.length)
        best = best.scaled_at(chosen.stops)
    if rule is None:
        stops = best.stops(chosen.threshold, chosen.min_gain, n)
    else:
        best = scaled[name]
        stops = best.stops_of(rule)
    final = _Outcome.of(best, stops)
    # cross-conformal: models differ between folds, and the temperature and the rule were chosen on the same rows, so
    # that coverage holds approximately, not exactly as after `calibrate`
    coverages = [each for each in COVERAGES if len(best) >= min_inputs_for_coverage(each)]
    return Tuning(
        strategy=name,
        candidates=dict(sorted(losses.items(), key=lambda item: item[1])),
        rule=chosen.rule(n) if rule is None else rule,
        temperature=best.calibrator.temperature,
        n_rows=len(best),
        accuracy=final.accuracy,
        accuracy_error=_standard_error(final.correct),
        best_accuracy=max(each.accuracy for each in _outcomes(best, n)),
        n_questions=final.length,
        log_loss=final.log_loss,
        ece=final.ece,
        ece_before=_Outcome.of(replace(best, calibrator=TemperatureScaling()), final.stops).ece,
        sets=tuple(prediction_sets(best, best, each, lambda _: stops) for each in coverages),
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

    stops: IntArray
    correct: Any
    confidence: FloatArray
    loss: FloatArray
    threshold: float
    min_gain: float

    @classmethod
    def of(cls, runs: HeldOutRuns, stops: IntArray, threshold: float = 1.0, min_gain: float = 0.0) -> _Outcome:
        at = (np.arange(len(runs)), stops)
        return cls(stops, runs.correct[at], runs.confidence[at], runs.loss[at], threshold, min_gain)

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


def _outcomes(runs: HeldOutRuns, n: int) -> list[_Outcome]:
    """What every rule that may be chosen does."""
    return [_Outcome.of(runs, runs.stops(t, g, n), t, g) for t in THRESHOLDS for g in MIN_GAINS]
