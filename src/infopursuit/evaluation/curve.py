"""Accuracy against mean length as the confidence that stops a pursuit varies, from one set of traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.calibration import first_stopping_times
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, IntArray


@dataclass(frozen=True)
class Point:
    """What stopping at a posterior of 1 - epsilon gives: accuracy and its standard error, mean length and its
    standard error."""

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


def summary(trace: Trace, y: Any, epsilon: float) -> Point:
    """Accuracy and mean length of the traces as they are."""
    return point_of(epsilon, trace.predictions == np.asarray(y), trace.length)


def point_of(epsilon: float, right: Any, length: Any) -> Point:
    """A point from which inputs were classified rightly (B,), and after how many questions (B,)."""
    n = len(right)
    accuracy = float(right.mean())
    error, length_error = float(np.sqrt(accuracy * (1 - accuracy) / n)), float(length.std() / np.sqrt(n))
    return Point(float(epsilon), accuracy, error, float(length.mean()), length_error, n)
