"""What the loop expects of its parts: a belief, an acquisition function, a calibrator, and a test of novelty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.support.display import Brief
from infopursuit.support.types import FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.pursuit.trace import Trace

B = TypeVar("B")
B_contra = TypeVar("B_contra", contravariant=True)


@dataclass(frozen=True, repr=False)
class Estimate(Brief):
    """Numbers with their standard errors.

    value: (H, C) log-probabilities or (H, Q) utilities; NaN where there is none. error: of the same shape, the standard
    error of ``exp(value)`` for a log-posterior and of ``value`` for utilities; 0 where exact or not known. tie: (H,)
    whether the best utility leads the second best by less than two standard errors of the difference; None: nowhere.
    """

    value: FloatArray
    error: FloatArray
    tie: BoolArray | None = None

    @classmethod
    def exact(cls, value: Any) -> Estimate:
        """Numbers without an error."""
        array = np.asarray(value, dtype=np.float64)
        return cls(array, np.zeros_like(array))


class Belief(Protocol[B]):
    """History -> p(y | history). A state of type B holds what is believed after H histories.

    A belief may further have: ``row_bytes`` (int), the memory that one history takes; ``uses_numbers`` (bool), whether
    it uses `Histories.numbers`, so that histories with other numbers in the same cells are not the same to it;
    ``accepts_noise`` (bool), whether it uses `Histories.log_likelihood`; ``for_noise(channel)``, the belief to use when
    answers are noisy; what `Predictive` offers.
    """

    @property
    def n_classes(self) -> int:
        """C."""

    def init(self) -> B:
        """The state of the one empty history."""

    def update(self, b: B, parents: IntArray, new: Histories) -> B:
        """The state of ``new``, whose row h is row ``parents[h]`` of ``b`` after one more answer. ``b`` stays as it
        was."""

    def log_posterior(self, b: B) -> Estimate:
        """(H, C) log p(y | history), NaN where the history is impossible, with standard errors of p(y | history)."""


class Acquisition(Protocol[B_contra]):
    """History -> utility of every allowed query.

    It may further have ``bind(belief, queries, costs, noise)``, which returns the function to call for one pursuit: how
    mutual information is computed depends on the belief.
    """

    @property
    def unit(self) -> Literal["nats", "score"]:
        """ "nats" where the utility is an information gain, which the rule `InformationGain` needs; else "score"."""

    def __call__(self, b: B_contra, h: Histories, allowed: BoolArray) -> Estimate:
        """(H, Q) the utility of each query; NaN for a query that is not allowed. A row of ``allowed`` without any
        query needs no work."""


class Calibrator(Protocol):
    """What the engine sees of a calibration: a map of the posterior after a number of answers."""

    def log_posterior(self, log_class: Any, n_answers: Any) -> FloatArray:
        """(H, C) log p(y | history) after (H,) answers -> (H, C) calibrated, normalised."""

    @property
    def prior(self) -> Sequence[float]:
        """The frequency of each class in training; empty where it is not known."""

    def standard_error(self, error: Any, before: Any, after: Any, n_answers: Any) -> FloatArray:
        """(H, C) standard errors of the posterior ``before`` -> those of the calibrated one, ``after``."""


class Predictive(Protocol[B_contra]):
    """Optional abilities of a belief: to predict the next answer, and to say how expected the answers are."""

    def answer_distribution(self, b: B_contra, query: int) -> FloatArray:
        """(H, answers) p(answer | history) of one query, answers in the order of `QuerySet.choices`."""

    def log_evidence(self, b: B_contra) -> FloatArray:
        """(H,) log p(answers so far): what novelty detection rests on."""


@runtime_checkable
class NoveltyTest(Protocol):
    """A test of whether an input is of no class that the model knows."""

    def add_pvalues(self, trace: Trace) -> Trace:
        """The same trace with a p-value for each input."""
