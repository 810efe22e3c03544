"""When to stop: epsilon and patience chosen on held-out training inputs only, from one set of their pursuits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.evaluation.measures import Point, confidence_curve
from infopursuit.pursuit.trace import Trace


@dataclass(frozen=True)
class Choice:
    """What was chosen, and what it came to on the held-out inputs. elbow: of the curve with that patience."""

    patience: int
    point: Point
    elbow: Point
    curves: dict[int, list[Point]]

    @property
    def epsilon(self) -> float:
        """Stop at a posterior of 1 - epsilon."""
        return self.point.epsilon


def choose_stopping(
    trace: Trace,
    labels: Any,
    epsilons: Sequence[float],
    patiences: Sequence[int],
    length: float,
    *,
    one_standard_error: bool = False,
) -> Choice:
    """The most accurate rule whose mean length on the held-out inputs is not above ``length``.

    Of each patience the longest such rule is considered; of equals the smallest patience is taken. With
    ``one_standard_error``, the shortest rule of all that is within one standard error of the most accurate one. The
    trace must have been run with the smallest epsilon and the largest patience.
    """
    curves = {patience: confidence_curve(trace, labels, epsilons, patience) for patience in sorted(patiences)}
    within = {patience: longest_within(points, length) for patience, points in curves.items()}
    # where no epsilon is short enough with some patience, the one that comes nearest must not win by being long
    fitting = {p: point for p, point in within.items() if point.length <= length} or within
    patience = max(fitting, key=lambda p: (fitting[p].accuracy, -p))
    point = fitting[patience]
    if one_standard_error:
        short = [(p, each) for p, points in curves.items() for each in points if each.length <= length]
        best = max((each for _, each in short), key=lambda each: (each.accuracy, -each.length), default=point)
        near = [pair for pair in short if pair[1].accuracy >= best.accuracy - best.accuracy_error]
        patience, point = min(near, key=lambda pair: (pair[1].length, pair[0]), default=(patience, point))
    return Choice(patience, point, elbow(curves[patience]), curves)


def elbow(points: Sequence[Point]) -> Point:
    """Where a curve bends most: the point that is farthest above the line from the shortest to the longest, both axes
    scaled to one.

    >>> def at(length, accuracy):
    ...     return Point(0.1, accuracy, 0.0, length, 0.0, 1)
    >>> elbow([at(0, 0.1), at(2, 0.8), at(4, 0.85), at(10, 0.9)]).length
    2
    """
    ordered = sorted(points, key=lambda point: point.length)
    length, accuracy = (np.array([getattr(p, name) for p in ordered]) for name in ("length", "accuracy"))
    wide, high = length[-1] - length[0], accuracy.max() - accuracy.min()
    if wide <= 0 or high <= 0:
        return ordered[0]
    above = (accuracy - accuracy.min()) / high - (length - length[0]) / wide
    return ordered[int(above.argmax())]


def longest_within(points: Sequence[Point], length: float) -> Point:
    """The point with the largest mean length that is not above ``length``; the shortest where all are."""
    fitting = [point for point in points if point.length <= length]
    return max(fitting, key=lambda p: p.length) if fitting else min(points, key=lambda p: p.length)


def told(point: Point) -> str:
    """A point in words."""
    return (
        f"{100 * point.accuracy:.2f} % right (standard error {100 * point.accuracy_error:.2f}) "
        f"after {point.length:.2f} questions"
    )
