"""Defaults chosen on held-out rows: which strategy, how confident it may be, and when it stops.

Every candidate pursues rows that it was not trained on, past any stop. Its posterior is calibrated by temperature
scaling there, and the candidate with the lowest log loss after partial histories is taken. Of all stopping rules the
shortest is taken that saves most of the log loss that answers can save, and is about as accurate as the best.

The rows on which something is chosen say nothing about how well it works. What is reported as accuracy was measured on
other rows, see `assessment`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from infopursuit.calibration.held_out import relative_doubt
from infopursuit.calibration.temperature import HeldOutRuns, TemperatureScaling
from infopursuit.estimator.assessment import Assessment
from infopursuit.estimator.class_figures import area_under_curve
from infopursuit.pursuit.stopping import Confidence, InformationGain, MaxQueries, Rule
from infopursuit.support.checks import instance, number
from infopursuit.support.types import FloatArray, IntArray

CONFIDENCES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995)
"""Confidences at which a rule may stop, where no class is much more frequent than the others together."""
MIN_GAINS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03)
"""Information gains below which a rule may stop, in nats, where the entropy of the classes is one bit or more."""
MIN_SHARE_SAVED = 0.7
MAX_SHARE_SAVED = 0.95
"""The share that a rule must save of the log loss that answers can save: the first where classes are about equally
frequent, up to the second where one class is rare. Nearly all cases end after one question there, and the others are
those that matter."""
SHARE_SEPARATED = 0.95
"""Where one class is rare: the share that a rule must keep of the area under the ROC curve above that of chance."""
N_ROUNDS = 2
"""Rounds of fitting the temperature where inputs stop, and finding where they stop with it."""
N_PERMUTATIONS = 200
FOLD_VARIANCE = 2.0
"""How much more the statistic of the permutation test varies on tables of noise than under permutations; measured."""
NO_SPREAD = 1e-9
MAX_P_VALUE = 0.05
"""Beyond this p-value the answers are said to tell nothing about the class."""


@dataclass(frozen=True)
class Tuning:
    """What was chosen on held-out rows, and how well that works on rows on which nothing was chosen.

    Parameters
    ----------
    strategy : str
        The strategy that was taken.
    candidates : dict
        The log loss of each strategy after partial histories, in nats, the best first.
    rule : Rule
        When it stops.
    calibrator : TemperatureScaling
        The temperatures of the posterior.
    p_value : float
        How probable answers that tell as much about the class are where they tell nothing, by a
        permutation test.
    assessment : Assessment, optional
        What was measured on rows on which nothing was chosen. None where there are too few rows.
    """

    strategy: str
    candidates: dict[str, float]
    rule: Rule
    calibrator: TemperatureScaling
    p_value: float
    assessment: Assessment | None = None

    def __post_init__(self) -> None:
        instance(self.strategy, "strategy", str, "a name")
        number(self.p_value, "p_value", least=0, most=1)
        for name, loss in self.candidates.items():
            number(loss, f"candidates[{name!r}]", least=0)

    def __repr__(self) -> str:
        measured = "not measured" if self.assessment is None else self.assessment.in_short
        return f"<Tuning: {self.strategy}, {measured}>"

    @property
    def temperature(self) -> float:
        """The temperature of the posterior at the stop."""
        return self.calibrator.temperature

    @property
    def tells_nothing(self) -> bool:
        """Whether the answers tell nothing about the class, so far as the rows show."""
        return self.p_value > MAX_P_VALUE

    @property
    def accuracy(self) -> float | None:
        """The accuracy that was measured on rows on which nothing was chosen."""
        return None if self.assessment is None else self.assessment.accuracy

    @property
    def accuracy_error(self) -> float | None:
        """Its standard error."""
        return None if self.assessment is None else self.assessment.accuracy_error

    @property
    def n_questions(self) -> float | None:
        """Questions asked there on average."""
        return None if self.assessment is None else self.assessment.n_questions

    @property
    def n_rows(self) -> int | None:
        """How many rows these were."""
        return None if self.assessment is None else self.assessment.n_rows

    @property
    def ece(self) -> float | None:
        """The expected calibration error there."""
        return None if self.assessment is None else self.assessment.ece

    def __str__(self) -> str:
        losses = ", ".join(f"{name} {loss:.3f}" for name, loss in self.candidates.items())
        lines = [
            f"strategy: {self.strategy} (held-out log loss after partial histories, nats: {losses})",
            f"stops when {self.rule.describe()}",
        ]
        if self.tells_nothing:
            lines.append(
                f"asks nothing: the answers tell nothing about the class (permutation test, p = {self.p_value:.2g})"
            )
        lines.append("not measured on held-out rows" if self.assessment is None else str(self.assessment))
        return "\n".join(lines)


def tune(runs: dict[str, HeldOutRuns], n: int, rule: Rule | None = None, seed: int = 0) -> Tuning:
    """Choose a strategy, its temperatures and its stopping rule.

    Parameters
    ----------
    runs : dict
        The held-out runs of each strategy.
    n : int
        Questions at most.
    rule : Rule, optional
        A rule that is kept; by default one is chosen.
    seed : int
        Of the permutation test.
    """
    calibrated = {name: strategy_runs.scaled_where_shown() for name, strategy_runs in runs.items()}
    losses = {name: each.mean(each.loss[:, 1:].mean(axis=1)) for name, each in calibrated.items()}
    name = min(losses, key=lambda strategy: losses[strategy])
    best = calibrated[name]
    p_value = permutation_test(best, seed)

    if rule is not None:
        best = best.scaled_where_shown(best.stops_of(rule))
    elif p_value > MAX_P_VALUE:
        rule = MaxQueries(0)
    else:
        for _ in range(N_ROUNDS):
            outcome = choose_rule(best, n)
            best = best.scaled_where_shown(outcome.stops)
        rule = outcome.rule(n)

    return Tuning(
        strategy=name,
        candidates=dict(sorted(losses.items(), key=lambda item: item[1])),
        rule=rule,
        calibrator=best.calibrator,
        p_value=p_value,
    )


def permutation_test(runs: HeldOutRuns, seed: int = 0) -> float:
    """The p-value of the hypothesis that the answers tell nothing about the class.

    The statistic is the mean posterior of the true class, averaged over classes so that a rare class
    counts as much as a frequent one. Permuted labels say how large it is by chance. Held-out runs of
    several folds depend on each other, since each row was trained on in the other folds; so the
    statistic varies more than under permutations, by `FOLD_VARIANCE`.

    Returns
    -------
    float
        One-sided, by a normal approximation.
    """
    posterior = runs.posterior[:, -1]
    scale = 1 / np.maximum(np.array(runs.prior), 1 / len(runs))
    rows = np.arange(len(runs))

    def statistic(order: IntArray) -> float:
        labels = runs.labels[order]
        return float((runs.weights[order] * scale[labels] * posterior[rows, labels]).sum())

    generator = np.random.default_rng((seed, len(runs)))
    permuted = np.array([statistic(generator.permutation(len(runs))) for _ in range(N_PERMUTATIONS)])
    excess = statistic(rows) - permuted.mean()
    spread = permuted.std() * math.sqrt(FOLD_VARIANCE)
    if spread <= NO_SPREAD * abs(permuted.mean()):
        return 1.0  # every row has the same posterior
    return float(ndtr(-excess / spread))


def choose_rule(runs: HeldOutRuns, n: int) -> Outcome:
    """The shortest rule that saves most of the log loss that answers can save, and is about as accurate as the best.

    The log loss is what decides where one class is frequent: every rule is about as accurate there,
    and the probability of the rare class is what one asks for. Accuracy decides where classes are
    many: the last answers save little of the log loss, and settle which class is the most probable.

    Parameters
    ----------
    runs : HeldOutRuns
        Read at the temperatures at which the rule will work.
    n : int
        Questions at most.
    """
    outcomes = rule_outcomes(runs, n)
    most_accurate = max(outcomes, key=lambda outcome: (outcome.accuracy, -outcome.length))
    before = runs.mean(runs.loss[:, 0])
    saved = before - min(outcome.log_loss for outcome in outcomes)
    doubt = relative_doubt(max(runs.prior))
    min_saved = saved * (doubt * MIN_SHARE_SAVED + (1 - doubt) * MAX_SHARE_SAVED)
    informed = [outcome for outcome in outcomes if before - outcome.log_loss >= min_saved]
    if doubt < 1:
        informed = _separating(informed, outcomes, (1 - doubt) * SHARE_SEPARATED)
    good = [outcome for outcome in informed if outcome.as_accurate_as(most_accurate)]
    return min(good or informed, key=lambda outcome: outcome.length)


def _separating(informed: list[Outcome], outcomes: list[Outcome], share: float) -> list[Outcome]:
    """Those of some rules that tell the most frequent class from the others about as well as the best rule.

    Where one class is rare, a rule that ends most cases after a question or two saves nearly all of the log loss, and
    no longer ranks the cases.

    Parameters
    ----------
    informed : list of Outcome
        The rules among which one is chosen.
    outcomes : list of Outcome
        All rules.
    share : float
        The share of the area under the ROC curve above 0.5 that a rule must keep.
    """
    best = max(outcome.separation for outcome in outcomes)
    least = 0.5 + share * (best - 0.5)
    return [outcome for outcome in informed if outcome.separation >= least] or informed


@dataclass(frozen=True)
class Outcome:
    """What a rule does on held-out rows.

    Parameters
    ----------
    runs : HeldOutRuns
    stops : (B,) array of int
        After how many questions each run stops.
    threshold : float
        The confidence at which the rule stops.
    min_gain : float
        The information gain up to which it stops, in nats.
    """

    runs: HeldOutRuns
    stops: IntArray
    threshold: float = 1.0
    min_gain: float = 0.0

    @property
    def correct(self) -> FloatArray:
        """(B,) 1 where the prediction is right, else 0."""
        return np.asarray(self.runs.correct[np.arange(len(self.runs)), self.stops], dtype=np.float64)

    @property
    def accuracy(self) -> float:
        """The weighted share that is right."""
        return self.runs.mean(self.correct)

    @property
    def length(self) -> float:
        """Questions on average."""
        return self.runs.mean(self.stops)

    @property
    def log_loss(self) -> float:
        """The mean of -log p(true class) at the stop, in nats."""
        return self.runs.mean(self.runs.loss[np.arange(len(self.runs)), self.stops])

    @cached_property
    def separation(self) -> float:
        """The area under the ROC curve of the most frequent class against the others; 0.5 where one is absent."""
        runs = self.runs
        at_stop = np.arange(len(runs)), self.stops
        frequent = int(np.argmax(runs.prior))
        log_posterior = runs.calibrator.log_posterior(runs.log_posterior[at_stop], runs.n_answers[at_stop])
        others = (runs.labels != frequent).astype(np.int64)
        unlikely = -np.nan_to_num(log_posterior[:, frequent])
        area = area_under_curve(np.stack([-unlikely, unlikely], axis=1), others, runs.weights)
        return 0.5 if area is None else area

    def as_accurate_as(self, best: Outcome) -> bool:
        """Whether the accuracy is within one standard error of the paired difference."""
        weights = self.runs.weights
        difference = best.correct - self.correct
        mean = self.runs.mean(difference)
        error = np.sqrt((weights**2 * (difference - mean) ** 2).sum()) / weights.sum()
        return bool(mean <= error + 1e-12)

    def rule(self, n: int) -> Rule:
        """The rule, with n questions at most."""
        rule: Rule = Confidence(round(1 - self.threshold, 9))
        if self.min_gain > 0:
            rule = rule | InformationGain(self.min_gain)
        return rule | MaxQueries(n)


def rule_outcomes(runs: HeldOutRuns, n: int) -> list[Outcome]:
    """What every rule that may be chosen does on held-out rows.

    Confidences and gains are scaled to how uncertain the class is before the first answer: where one
    class has 99.9 % of the rows, a confidence of 99 % is reached without an answer, and no question
    can gain more than 0.008 nats.
    """
    prior = np.array(runs.prior)
    doubt = relative_doubt(float(prior.max()))
    entropy = float(-(prior * np.log(prior)).sum())
    confidences = [1 - two_digits(doubt * (1 - confidence)) for confidence in CONFIDENCES]
    min_gains = [two_digits(gain * min(1.0, entropy / math.log(2))) for gain in MIN_GAINS]
    return [
        Outcome(runs, runs.stops(confidence, min_gain, n), confidence, min_gain)
        for confidence in confidences
        for min_gain in min_gains
    ]


def two_digits(value: float) -> float:
    """A number that can be read: with two significant digits."""
    return float(f"{value:.2g}")
