"""`Assessment`: how well a fitted classifier works, measured on rows on which nothing was chosen.

The whole of ``fit`` is repeated on a part of the rows and measured on the others, which it has not seen: nested
cross-validation. Strategy, temperatures, stopping rule and everything else that depends on labels are chosen again each
time, from the rows of that part alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.calibration.temperature import expected_calibration_error
from infopursuit.estimator.class_figures import ClassFigures, class_figures
from infopursuit.models.folds import assign_folds
from infopursuit.support.checks import number, whole_number
from infopursuit.support.types import FloatArray, IntArray

MIN_GROUPS = 40
"""Groups of rows below which nothing is held out to measure on: an interval would say nothing."""
MAX_NESTED = 2_000
"""Rows below which every row is held out once; of more rows one part is held out."""
N_PARTS = 5
"""Parts of the rows that are held out one after the other; one of them where there are many rows."""
MAX_MEASURED = 2_500
"""Rows at most on which one part is measured."""
ENOUGH_ROWS = 20_000
"""From so many rows on the classifier that was measured is the one that is kept: the few rows that were held out would
hardly make it better."""
Z_95 = 1.959964
VARIANCE_FACTOR = 1.15
"""By how much more the accuracies of parts vary than those of independent rows would: the parts were fitted on rows in
common, and the classifier that is measured is not the one that is kept."""
FLOOR = 1e-12
"""The least probability of which a logarithm is taken."""

__all__ = ["Assessment", "Measured", "assessment_of", "held_out_parts"]


@dataclass(frozen=True)
class Measured:
    """What a classifier that was fitted on other rows did on some rows.

    Parameters
    ----------
    rows : (B,) array of int
        Which rows of the training table these are.
    posterior : (B, C) array of float
        The posterior at the stop.
    labels : (B,) array of int
        The true classes.
    weights : (B,) array of float
    groups : (B,) array of int
        Rows of the same group count as one for the standard error.
    lengths : (B,) array of int
        How many questions were asked.
    n_trained : int
        How many rows the classifier was fitted on.
    costs : (B,) array of float, optional
        What they cost, where they cost something.
    """

    rows: IntArray
    posterior: FloatArray
    labels: IntArray
    weights: FloatArray
    groups: IntArray
    lengths: IntArray
    n_trained: int
    costs: FloatArray | None = None


@dataclass(frozen=True, repr=False)
class Assessment:
    """Figures of rows on which nothing was chosen.

    Parameters
    ----------
    n_rows : int
        Rows that were held out and asked about.
    n_effective : float
        Rows of equal weight that would tell as much, copies counted once.
    n_parts : int
        How often everything was fitted again, on the rows that were not held out.
    n_trained : int
        Rows it was fitted on each time, on average.
    accuracy, accuracy_error, low, high : float
        The share of right predictions, its standard error, and its 95 % interval.
    n_questions : float
        Questions on average.
    log_loss : float
        At the stop, in nats.
    prior_log_loss : float
        That of the class frequencies alone.
    confidence : float
        The mean probability of the predicted class.
    ece : float
        The expected calibration error at the stop.
    max_questions : int
        Questions at most.
    by_class : ClassFigures
        Area under the ROC curve, recall, precision, confusion matrix.
    cost : float, optional
        What the questions cost on average, where they cost something.
    """

    n_rows: int
    n_effective: float
    n_parts: int
    n_trained: int
    accuracy: float
    accuracy_error: float
    low: float
    high: float
    n_questions: float
    log_loss: float
    prior_log_loss: float
    confidence: float
    ece: float
    max_questions: int
    by_class: ClassFigures
    cost: float | None = None

    def __post_init__(self) -> None:
        for name in ("n_rows", "n_parts", "n_trained"):
            whole_number(getattr(self, name), name, 1)
        for name in ("accuracy", "accuracy_error", "low", "high", "confidence", "ece"):
            number(getattr(self, name), name, least=0, most=1)
        for name in ("n_effective", "n_questions", "log_loss", "prior_log_loss"):
            number(getattr(self, name), name, least=0)
        whole_number(self.max_questions, "max_questions")
        if self.cost is not None:
            number(self.cost, "cost", least=0)

    def __repr__(self) -> str:
        return f"<Assessment: {self.in_short}>"

    @property
    def in_short(self) -> str:
        """Accuracy and questions in a few words."""
        interval = f"{100 * self.low:.1f} to {100 * self.high:.1f}"
        return f"accuracy {100 * self.accuracy:.1f} % ({interval}) after {self.n_questions:.1f} questions"

    def __str__(self) -> str:
        rows = f"{self.n_rows:,} held-out rows"
        if round(self.n_effective) < self.n_rows:
            rows += f" (as informative as {self.n_effective:,.0f} of equal weight)"
        auc = "" if self.by_class.auc is None else f", AUC {self.by_class.auc:.3f}"
        return (
            f"on {rows}, on which nothing was chosen: {self.in_short}, confidence {100 * self.confidence:.1f} %, "
            f"expected calibration error {100 * self.ece:.1f} %{auc}"
        )

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Assessment:
        """What ``dataclasses.asdict`` described; refused where a number cannot be."""
        return cls(**{**spec, "by_class": ClassFigures.from_spec(spec["by_class"])})


def held_out_parts(groups: IntArray, seed: int = 0) -> list[IntArray]:
    """The rows of each part that is held out to be measured on; none where there are too few rows.

    Labels play no role. Parts with the same shares of the classes as the other rows would not be like
    new rows: on a table of noise, the class that is by chance more frequent in all parts would be
    predicted rightly more often than it can be on new rows.

    Parameters
    ----------
    groups : (B,) array of int
        Rows of the same group are held out together.
    seed : int

    Returns
    -------
    list of (R,) arrays of int
    """
    if len(np.unique(groups)) < MIN_GROUPS:
        return []

    part_of_row = assign_folds(np.zeros(len(groups), np.int64), groups, N_PARTS, seed=seed)
    if len(groups) < MAX_NESTED:
        return [np.flatnonzero(part_of_row == part) for part in range(N_PARTS)]

    rows = np.flatnonzero(part_of_row == 0)
    if len(rows) > MAX_MEASURED:
        # Whole groups, in random order, until there are enough rows.
        shuffled = np.random.default_rng((seed, len(rows))).permutation(rows)
        _, first, group_of_row = np.unique(groups[shuffled], return_index=True, return_inverse=True)
        rows = shuffled[np.argsort(first[group_of_row.ravel()], kind="stable")][:MAX_MEASURED]
    return [np.sort(rows)]


def assessment_of(measured: Sequence[Measured]) -> Assessment:
    """Put together what was measured on each part."""
    weights = np.concatenate([part.weights for part in measured])
    counted = weights > 0
    weights = weights[counted]
    posterior = np.concatenate([part.posterior for part in measured])[counted]
    labels = np.concatenate([part.labels for part in measured])[counted]
    groups = np.concatenate([part.groups for part in measured])[counted]
    lengths = np.concatenate([part.lengths for part in measured])[counted]
    costs = None
    if all(part.costs is not None for part in measured):
        costs = np.concatenate([part.costs for part in measured])[counted]
    n_classes = posterior.shape[1]

    predicted = posterior.argmax(axis=1)
    correct = (predicted == labels).astype(np.float64)
    accuracy = float(np.average(correct, weights=weights))
    n_effective = _effective_rows(correct, weights, groups)
    low, high, error = _interval(accuracy, n_effective)

    confidence = posterior.max(axis=1)
    true_class = posterior[np.arange(len(labels)), labels]
    class_mass = np.bincount(labels, weights=weights, minlength=n_classes)
    shares = class_mass[class_mass > 0] / weights.sum()

    return Assessment(
        n_rows=len(labels),
        n_effective=n_effective,
        n_parts=len(measured),
        n_trained=round(float(np.mean([part.n_trained for part in measured]))),
        accuracy=accuracy,
        accuracy_error=error,
        low=low,
        high=high,
        n_questions=float(np.average(lengths, weights=weights)),
        log_loss=float(np.average(-np.log(np.maximum(true_class, FLOOR)), weights=weights)),
        prior_log_loss=max(0.0, float(-(shares * np.log(shares)).sum())),
        confidence=float(min(1.0, np.average(confidence, weights=weights))),
        ece=min(1.0, expected_calibration_error(confidence, correct, weights)),
        max_questions=int(lengths.max()),
        by_class=class_figures(posterior, labels, weights),
        cost=None if costs is None else float(np.average(costs, weights=weights)),
    )


def _effective_rows(correct: FloatArray, weights: FloatArray, groups: IntArray) -> float:
    """Rows of equal weight that would tell as much about the accuracy; a group counts as one row at least."""
    group_of_row = np.unique(groups, return_inverse=True)[1].ravel()
    mass = np.bincount(group_of_row, weights=weights)
    by_weight = float(mass.sum() ** 2 / (mass**2).sum())

    # Within a group, rows may differ in whether they are right; then it tells more than one row.
    accuracy = float(np.average(correct, weights=weights))
    deviation = np.bincount(group_of_row, weights=weights * (correct - accuracy))
    variance = float((deviation**2).sum() / weights.sum() ** 2)
    if variance <= 0:
        return by_weight
    by_outcome = accuracy * (1 - accuracy) / variance
    return float(min(max(by_weight, by_outcome), len(correct)))


def _interval(accuracy: float, n_effective: float) -> tuple[float, float, float]:
    """The 95 % interval of an accuracy (Wilson's, of fewer rows), and its standard error."""
    n = n_effective / VARIANCE_FACTOR
    z2 = Z_95**2
    centre = (accuracy + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 * math.sqrt(accuracy * (1 - accuracy) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half), half / Z_95
