"""Where pursuits stop as the gain and the confidence that stop them vary, from one set of traces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.pursuit.stopping import SLACK, Confidence, InformationGain, Rule
from infopursuit.pursuit.trace import Trace
from infopursuit.support.types import FloatArray, IntArray


@dataclass(frozen=True)
class Limits:
    """Stop where no question is worth more than ``gain`` nats, or where a class has 1 - ``doubt``; 0 never does."""

    gain: float
    doubt: float = 0.0

    def rule(self) -> Rule:
        """As `Pursuit` takes it."""
        return InformationGain(self.gain) | Confidence(self.doubt) if self.doubt else InformationGain(self.gain)


@dataclass(frozen=True)
class Choice:
    """What limits came to on rows held out: mean length, and how much accuracy stopping is expected to cost."""

    limits: Limits
    length: float
    loss: float


def stops_at(trace: Trace, limits: Limits) -> IntArray:
    """(B,) after how many questions a pursuit with these limits stops; where neither is reached, as the trace does.

    The trace must come from limits that are no wider: a pursuit that stops earlier asks the same questions first.
    """
    gains = np.concatenate([trace.gains, np.full((len(trace), 1), np.inf)], axis=1)  # (B, K + 1)
    holds = gains <= limits.gain + SLACK
    if limits.doubt:
        holds |= trace.posteriors.max(axis=2) >= 1 - limits.doubt - SLACK
    first = np.where(holds.any(axis=1), holds.argmax(axis=1), trace.length)
    return np.minimum(first, trace.length)


def guesses_at(trace: Trace, stops: IntArray) -> IntArray:
    """(B,) the class that is most probable after so many questions, by its number."""
    return np.asarray(trace.posteriors[np.arange(len(trace)), stops].argmax(axis=1))


def choose_limits(trace: Trace, whole: FloatArray, options: Iterable[Limits], most_loss: float) -> Choice:
    """The shortest limits that are expected to cost no more accuracy than ``most_loss``; where all do, the dearest.

    whole: (B, C) the posterior after all answers. What stopping costs is the mean of max_y p(y | all) - p(guess | all),
    which varies far less than the share of rows that are right or wrong, and is the same on average where the
    posterior can be trusted.
    """
    choices = []
    for limits in options:
        stops = stops_at(trace, limits)
        kept = whole[np.arange(len(trace)), guesses_at(trace, stops)]
        choices.append(Choice(limits, float(stops.mean()), float((whole.max(axis=1) - kept).mean())))
    if not choices:
        raise ValueError("options is empty; give at least one pair of limits")
    fitting = [choice for choice in choices if choice.loss <= most_loss]
    return min(fitting, key=lambda c: c.length) if fitting else min(choices, key=lambda c: c.loss)


def elbow(length: Any, accuracy: Any) -> int:
    """Index of the point that lies highest above the line from the shortest to the longest, both axes from 0 to 1.

    >>> elbow([0, 10, 20, 100], [0.1, 0.8, 0.85, 1.0])
    1
    """
    x, y = np.asarray(length, dtype=np.float64), np.asarray(accuracy, dtype=np.float64)
    first, last = int(x.argmin()), int(x.argmax())
    if first == last:
        return first
    along = (x - x[first]) / (x[last] - x[first])
    return int(((y - y[first]) - along * (y[last] - y[first])).argmax())
