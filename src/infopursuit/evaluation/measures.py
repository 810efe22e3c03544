"""What is measured of test inputs: accuracy with its interval, accuracy against length, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from infopursuit.calibration.temperature import (
    BIN_EDGES,
    confidence_bins,
    expected_calibration_error,
    first_stopping_times,
)
from infopursuit.pursuit.trace import Trace
from infopursuit.support.types import UNKNOWN, IntArray

LEVEL, Z = 0.95, 1.959964
"""Of all intervals, and the quantile of the normal distribution that belongs to it."""
MIN_PROBABILITY = float(np.finfo(np.float64).tiny)
"""The least probability that a log loss is taken of; a class that the model excludes would make it infinite."""


@dataclass(frozen=True)
class Row:
    """One line of a table of results; ``dataclasses.asdict`` of it is JSON data.

    accuracy: with the interval from low to high. length: mean number of questions, None where all are asked;
    length_error its standard error. n_inputs: test inputs, None for what is quoted. seconds: what it took. note: what
    else a reader must know.
    """

    name: str
    accuracy: float
    low: float | None = None
    high: float | None = None
    length: float | None = None
    length_error: float | None = None
    n_inputs: int | None = None
    seconds: float | None = None
    note: str = ""


def counted(name: str, right: Any, *, length: Any = None, seconds: float | None = None, note: str = "") -> Row:
    """A row from which inputs were classified rightly (B,), and after how many questions (B,).

    >>> row = counted("guess", np.array([True, True, False, True]))
    >>> row.accuracy, round(row.low, 3), round(row.high, 3)
    (0.75, 0.301, 0.954)
    """
    right = np.asarray(right, dtype=bool)
    low, high = accuracy_interval(int(right.sum()), len(right))
    mean, error = None, None
    if length is not None:
        mean, error = float(np.mean(length)), float(np.std(length) / np.sqrt(len(right)))
    took = None if seconds is None else round(seconds, 1)
    return Row(name, float(right.mean()), low, high, mean, error, len(right), took, note)


def accuracy_interval(n_right: int, n: int) -> tuple[float, float]:
    """Wilson's interval of a share."""
    found = binomtest(n_right, n).proportion_ci(LEVEL, method="wilson")
    return float(found.low), float(found.high)


# ---- accuracy against length ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """What stopping at a posterior of 1 - epsilon gives: accuracy and mean length, each with its standard error."""

    epsilon: float
    accuracy: float
    accuracy_error: float
    length: float
    length_error: float
    n_inputs: int


def confidence_curve(trace: Trace, y: Any, epsilons: Sequence[float], patience: int = 0) -> list[Point]:
    """One point for each epsilon, in the order given.

    The trace must come from a smaller epsilon than any asked for: a pursuit that stops earlier asks the same
    questions first.
    """
    points = []
    for epsilon in epsilons:
        stop = stops_at(trace, epsilon, patience)
        guess = trace.classes[trace.posteriors[np.arange(len(trace)), stop].argmax(axis=1)]
        points.append(point_of(epsilon, guess == np.asarray(y), stop))
    return points


def stops_at(trace: Trace, epsilon: float, patience: int = 0) -> IntArray:
    """(B,) after how many questions a pursuit with this epsilon stops; where it is never so sure, as the trace does."""
    skipped = np.zeros(trace.posteriors.shape[:2], dtype=bool)
    skipped[:, 1:] = (trace.answers == UNKNOWN).all(axis=2)
    stop = first_stopping_times(trace.posteriors.max(axis=2), [1 - epsilon], patience, skipped, trace.length)[:, 0]
    return np.where(stop >= 0, stop, trace.length)


def point_of(epsilon: float, right: Any, length: Any) -> Point:
    """A point from which inputs were classified rightly (B,), and after how many questions (B,)."""
    n = len(right)
    accuracy = float(right.mean())
    error, length_error = float(np.sqrt(accuracy * (1 - accuracy) / n)), float(length.std() / np.sqrt(n))
    return Point(float(epsilon), accuracy, error, float(length.mean()), length_error, n)


# ---- calibration ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bin:
    """The inputs with a confidence from low to high, high left out: its mean, the share that was right with the 95 %
    interval from right_low to right_high, how many they are."""

    low: float
    high: float
    confidence: float
    accuracy: float
    right_low: float
    right_high: float
    n_inputs: int


@dataclass(frozen=True)
class Calibration:
    """How well confidences agree with what was right; ``dataclasses.asdict`` of it is JSON data.

    bins: those that have inputs. expected_calibration_error: mean over inputs of |confidence - accuracy| of their bin.
    confidence: mean of the largest posterior. accuracy: share that was right. brier: mean over inputs of the sum over
    classes of (posterior - 1[right class])^2, from 0 to 2. log_loss: mean of -log p(right class), nats.
    """

    bins: tuple[Bin, ...]
    expected_calibration_error: float
    confidence: float
    accuracy: float
    brier: float
    log_loss: float


def calibration(posterior: Any, labels: Any) -> Calibration:
    """Compare posteriors (B, C) with the right classes (B,), given as numbers 0 to C - 1.

    >>> found = calibration([[0.8, 0.2], [0.25, 0.75], [0.25, 0.75]], [0, 1, 0])
    >>> [(bin.low, bin.n_inputs, bin.confidence, bin.accuracy) for bin in found.bins]
    [(0.7, 2, 0.75, 0.5), (0.8, 1, 0.8, 1.0)]
    >>> round(found.expected_calibration_error, 6), round(found.brier, 4)
    (0.233333, 0.4433)
    """
    posterior, labels = np.asarray(posterior, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    if posterior.ndim != 2 or labels.shape != posterior.shape[:1] or not len(labels):
        raise ValueError(
            f"posterior has shape {posterior.shape} and labels {labels.shape}; give (B, C) and (B,), B from 1 on"
        )
    confidence, right = posterior.max(axis=1), posterior.argmax(axis=1) == labels
    truth = np.arange(posterior.shape[1]) == labels[:, None]  # (B, C)
    return Calibration(
        bins=reliability_bins(confidence, right),
        expected_calibration_error=expected_calibration_error(confidence, right),
        confidence=float(confidence.mean()),
        accuracy=float(right.mean()),
        brier=float(((posterior - truth) ** 2).sum(axis=1).mean()),
        log_loss=float(-np.log(np.maximum(posterior[truth], MIN_PROBABILITY)).mean()),
    )


def reliability_bins(confidence: Any, right: Any) -> tuple[Bin, ...]:
    """The bins of a reliability diagram that have inputs, from confidences (B,) and whether these were right (B,)."""
    place, bins = confidence_bins(confidence), []
    for b in np.unique(place).tolist():
        sure, hit = confidence[place == b], right[place == b]
        low, high = accuracy_interval(int(hit.sum()), len(hit))
        shares = float(sure.mean()), float(hit.mean())
        bins.append(Bin(BIN_EDGES[b], BIN_EDGES[b + 1], *shares, low, high, len(hit)))
    return tuple(bins)
