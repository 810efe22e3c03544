"""Pursuits that were run farther than they need, and where each would have stopped with another confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.engine import IMPOSSIBLE
from infopursuit.stopping import SLACK
from infopursuit.temper import Temper
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, FloatArray, IntArray


@dataclass(frozen=True)
class Pursued:
    """What calibration needs of B pursuits that were run with the model's own posterior and a strict rule.

    log_posterior: (B, K + 1, C), the last one repeated after the end. silent: (B, K + 1) whether the step before taught
    nothing, so that no rule is looked at. length: (B,) where each ended. labels: (B,) the right classes as numbers.
    epsilon: of the strict rule. temper: of what is believed.
    """

    log_posterior: FloatArray
    silent: Any
    length: IntArray
    labels: IntArray
    epsilon: float
    temper: Temper = field(default_factory=Temper)

    @classmethod
    def of(cls, trace: Trace, labels: Any, epsilon: float) -> Pursued:
        """A trace of strict pursuits and the right classes (B,), given as numbers."""
        silent = np.zeros(trace.posteriors.shape[:2], dtype=bool)
        silent[:, 1:] = (trace.answers == UNKNOWN).all(axis=2)
        cut_off = np.flatnonzero(trace.stopped_because == IMPOSSIBLE)
        silent[cut_off, trace.length[cut_off]] = True
        with np.errstate(divide="ignore"):
            log_posterior = np.log(trace.posteriors)
        return cls(log_posterior, silent, trace.length, np.asarray(labels, dtype=np.int64), epsilon)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Any) -> Pursued:
        """Some of the pursuits."""
        return Pursued(
            self.log_posterior[rows],
            self.silent[rows],
            self.length[rows],
            self.labels[rows],
            self.epsilon,
            self.temper,
        )

    def tempered(self, temper: Temper) -> Pursued:
        """The same with what is believed at another temperature."""
        return replace(self, temper=temper)

    @cached_property
    def n_answers(self) -> IntArray:
        """(B, K + 1) answers so far; none are given after the end."""
        answered = ~self.silent
        answered[:, 0] = False
        return np.asarray(answered.cumsum(axis=1))

    @cached_property
    def confidence(self) -> FloatArray:
        """(B, K + 1) the largest posterior."""
        return np.asarray(1 / np.exp((self.log_posterior - self._top[:, :, None]) / self._heat[:, :, None]).sum(axis=2))

    @cached_property
    def of_right_class(self) -> FloatArray:
        """(B, K + 1) the posterior of the right class."""
        own = self.log_posterior[np.arange(len(self)), :, self.labels]
        return np.asarray(self.confidence * np.exp((own - self._top) / self._heat))

    @cached_property
    def _top(self) -> FloatArray:
        return np.asarray(self.log_posterior.max(axis=2))

    @cached_property
    def _heat(self) -> FloatArray:
        return np.where(self.n_answers > 0, self.temper.temperature, 1.0)

    @cached_property
    def right(self) -> Any:
        """(B, K + 1) whether the most probable class is the right one."""
        return self.log_posterior.argmax(axis=2) == self.labels[:, None]

    @property
    def strictest(self) -> float:
        """The largest confidence that can be asked for: beyond it some would have gone on where these ended.

        They ended with a posterior of at least 1 - epsilon, whose rest, alike for all other classes or all for one,
        whichever gives more, is what a temperature makes large.
        """
        heat, others = self.temper.temperature, self.log_posterior.shape[2] - 1
        rest = max(1.0, others ** (1 - 1 / heat)) * ((self.epsilon + SLACK) / (1 - self.epsilon)) ** (1 / heat)
        return float(1 / (1 + rest))

    def stops(self, thresholds: Sequence[float], patience: int = 0) -> IntArray:
        """(B, T) after how many questions each is stopped by each confidence, -1 where it is never so sure."""
        return first_stops(self.confidence, thresholds, patience, self.silent, self.length)


def first_stops(
    confidence: FloatArray, thresholds: Sequence[float], patience: int, silent: Any, length: IntArray
) -> IntArray:
    """(B, K + 1) confidences -> (B, T) where each threshold has held ``patience`` + 1 times in a row, -1 where never.

    As `stopping.look` has it: after a question without an answer (``silent``) runs neither grow nor end.
    """
    least = np.asarray(thresholds, dtype=np.float64) - SLACK
    stop = np.full((len(confidence), len(least)), -1, dtype=np.int64)
    run = np.zeros_like(stop)
    for k in range(confidence.shape[1]):
        holds = confidence[:, k, None] >= least
        run = np.where(silent[:, k, None], run, np.where(holds, run + 1, 0))
        stop[(run > patience) & (stop < 0) & (length[:, None] >= k)] = k
    return stop
