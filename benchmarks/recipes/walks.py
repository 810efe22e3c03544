"""What is left of long pursuits when only accuracy and length matter: every rule of stopping from one set of traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.evaluation.measures import Point, point_of
from infopursuit.pursuit.loop import Pursuit
from infopursuit.support.progress import Progress
from infopursuit.support.types import FloatArray, IntArray

AT_A_TIME = 1024
"""Inputs whose traces are held at a time: with 200 classes a trace is 1,600 bytes a step."""
RULES = ("confidence", "gain")


@dataclass(frozen=True)
class Walks:
    """Pursuits of B inputs that went on for K questions at most.

    doubt: for each rule (B, K + 1) what it compares with epsilon before each question: 1 - the largest posterior, or
    the largest gain in nats. right: (B, K + 1) whether the most probable class is the true one. length: (B,).
    """

    doubt: dict[str, FloatArray]
    right: Any
    length: IntArray

    def stops(self, rule: str, epsilon: float) -> IntArray:
        """(B,) after how many questions a rule stops: as soon as doubt is epsilon or less, or where the walk ends."""
        enough = self.doubt[rule] <= epsilon
        return np.where(enough.any(axis=1), np.minimum(enough.argmax(axis=1), self.length), self.length)

    def at(self, stops: IntArray) -> Any:
        """(B,) whether each input is classified rightly when it stops there."""
        return self.right[np.arange(len(stops)), stops]

    def point(self, rule: str, epsilon: float) -> Point:
        """Accuracy and mean length with a rule."""
        stops = self.stops(rule, epsilon)
        return point_of(epsilon, self.at(stops), stops)

    def epsilons_for(self, rule: str, length: float) -> tuple[float, float]:
        """Two epsilons next to each other, between which a rule comes to ask so many questions on average: with the
        first as many or more, with the second fewer. Labels play no part in it."""
        low, high = 1e-9, 10.0
        for _ in range(60):
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if self.stops(rule, middle).mean() < length else (middle, high)
        return low, high

    def right_at(self, rule: str, length: float) -> FloatArray:
        """(B,) how probably each input is classified rightly when exactly so many questions are asked on average.

        After few questions inputs share histories, and a rule stops many of them at once or none; one that takes
        either of two epsilons at random is of any length in between.
        """
        longer, shorter = (self.stops(rule, epsilon) for epsilon in self.epsilons_for(rule, length))
        gap = float(longer.mean() - shorter.mean())
        share = float(np.clip((length - shorter.mean()) / gap, 0, 1)) if gap > 0 else 1.0
        return np.asarray(share * self.at(longer) + (1 - share) * self.at(shorter), dtype=np.float64)


def walk(pursuit: Pursuit[Any], values: Any, labels: Any, most: int, *, progress: bool | None = None) -> Walks:
    """Pursue variable values (B, A); the pursuit must ask ``most`` questions at the most."""
    n = len(values)
    doubt, gain = np.zeros((n, most + 1)), np.zeros((n, most + 1))
    right, length = np.zeros((n, most + 1), dtype=bool), np.zeros(n, dtype=np.int64)
    with Progress("asking", n, show=progress) as shown:
        for start in range(0, n, AT_A_TIME):
            rows = slice(start, min(start + AT_A_TIME, n))
            trace = pursuit.run_values(values[rows], progress=False)
            # (B, most + 1) after how many questions; beyond the end of a trace it stays as it ended
            step = np.minimum(np.arange(most + 1), trace.posteriors.shape[1] - 1)
            doubt[rows] = 1 - trace.posteriors.max(axis=2)[:, step]
            right[rows] = (trace.classes[trace.posteriors.argmax(axis=2)] == labels[rows, None])[:, step]
            gain[rows, : trace.gains.shape[1]] = trace.gains
            length[rows] = trace.length
            shown.advance(rows.stop - rows.start)
    return Walks({"confidence": doubt, "gain": gain}, right, length)
