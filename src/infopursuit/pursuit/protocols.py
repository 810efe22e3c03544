"""What the loop expects of its parts: a belief, an acquisition function, a calibrator, a test of novelty.

Beliefs and acquisition functions are subclasses of `Belief` and `Acquisition`. What a belief can do beyond
p(y | history) is declared by its `Capabilities`; nothing is probed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.support.display import Brief
from infopursuit.support.types import TIE, FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.pursuit.information import MutualInformation
    from infopursuit.pursuit.noise import NoiseChannel
    from infopursuit.pursuit.trace import Trace
    from infopursuit.queries.queryset import QuerySet

__all__ = [
    "Acquisition",
    "Belief",
    "Budget",
    "Calibrator",
    "Capabilities",
    "Estimate",
    "NoveltyTest",
    "Unit",
]

B = TypeVar("B")
Unit = Literal["nats", "score"]
"""Of the utility of a query: an information gain, or a number that only ranks the queries."""


@dataclass(frozen=True, repr=False)
class Estimate(Brief):
    """Numbers with their standard errors.

    Parameters
    ----------
    value : (H, C) or (H, Q) array of float
        Log-probabilities, or utilities; NaN where there is none.
    error : array of float
        Of the same shape: the standard error of ``exp(value)`` for a log-posterior and of ``value``
        for utilities; 0 where exact or not known.
    tie : (H,) array of bool, optional
        Whether the best utility leads the second best by less than two standard errors of the
        difference. None: nowhere.
    """

    value: FloatArray
    error: FloatArray
    tie: BoolArray | None = None

    @classmethod
    def exact(cls, value: Any) -> Estimate:
        """Numbers without an error."""
        array = np.asarray(value, dtype=np.float64)
        return cls(array, np.zeros_like(array))


@dataclass(frozen=True)
class Capabilities:
    """What a belief can do beyond p(y | history).

    Parameters
    ----------
    numbers : bool, default False
        It uses `Histories.numbers`: histories with other numbers in the same cells differ to it.
    noise : bool, default False
        It uses `Histories.log_likelihood`: answers may be wrong or soft. See `Belief.for_noise`.
    evidence : bool, default False
        `Belief.log_evidence` returns log p(answers), which novelty detection needs.
    answers : bool, default False
        `Belief.answer_distribution` predicts answers, which look-ahead needs.
    gains : bool, default False
        `Belief.gains` returns the mutual information of its queries.
    look_ahead : bool, default False
        `Belief.look_ahead` and `Belief.hypotheses` are a faster one-step look-ahead.
    utilities : {"nats", "score"}, optional
        Its states have the utilities of all queries, in this unit, as those of a network do.
    calibrated : bool, default False
        Its posterior was calibrated when it was fitted.
    contains_training_data : bool, default False
        It holds rows of the training data; the model card says so.
    bytes_per_history : int, default 16384
        The memory that one history takes.
    """

    numbers: bool = False
    noise: bool = False
    evidence: bool = False
    answers: bool = False
    gains: bool = False
    look_ahead: bool = False
    utilities: Unit | None = None
    calibrated: bool = False
    contains_training_data: bool = False
    bytes_per_history: int = 2**14


class Belief(ABC, Generic[B]):
    """History -> p(y | history). A state of type B holds what is believed after H histories.

    A subclass has four members: ``n_classes``, `init`, `update` and `log_posterior`. It declares by ``capabilities``
    which of the others it has, too.

    Attributes
    ----------
    n_classes : int
        C.
    capabilities : Capabilities
        What it can do beyond p(y | history).
    model : object or None
        The generative model that it is about.
    settings : object or None
        The settings from which it was built, such as `infopursuit.strategies.SMC`.
    """

    n_classes: int
    capabilities: Capabilities = Capabilities()
    model: Any = None
    settings: Any = None

    @abstractmethod
    def init(self) -> B:
        """The state of the one empty history."""

    @abstractmethod
    def update(self, b: B, parents: IntArray, new: Histories) -> B:
        """Update the posterior of each history with one new answer.

        Parameters
        ----------
        b : B
            The state before, which stays as it was.
        parents : (H',) array of int
            The row of ``b`` that each new history continues.
        new : Histories
            The H' histories after the answer.
        """

    @abstractmethod
    def log_posterior(self, b: B) -> Estimate:
        """(H, C) log p(y | history), NaN where the history is impossible, with standard errors of p(y | history)."""

    def describe(self) -> str:
        """The belief in words, for the model card."""
        return f"that of a `{type(self).__name__}`"

    def for_noise(self, channel: NoiseChannel) -> Belief[Any]:
        """Return the belief to use where answers may be wrong: itself, unless it needs another form for that."""
        return self

    # ---- declared by capabilities ------------------------------------------------------------------------------------

    def log_evidence(self, b: B) -> FloatArray:
        """(H,) log p(answers so far) (``evidence``)."""
        raise NotImplementedError(f"{type(self).__name__} does not know p(answers)")

    def answer_distribution(self, b: B, query: int) -> FloatArray:
        """(H, answers) p(answer | history) of one query, in the order of its joint answers (``answers``)."""
        raise NotImplementedError(f"{type(self).__name__} does not predict answers")

    def unanswered(self, b: B, query: int) -> FloatArray:
        """(H,) the probability that a query gets no answer; 0 by default."""
        return np.zeros(len(self.log_posterior(b).value))

    def gains(
        self, settings: MutualInformation, costs: FloatArray | None, noise: NoiseChannel | None
    ) -> Acquisition[B]:
        """Return the acquisition function for the mutual information of its queries (``gains``)."""
        raise NotImplementedError(f"{type(self).__name__} has no mutual information of its own")

    def look_ahead(self, b: B, allowed: BoolArray) -> Estimate:
        """(H, Q) the expected information gain of each allowed query (``look_ahead``)."""
        raise NotImplementedError(f"{type(self).__name__} has no look-ahead of its own")

    def hypotheses(self, b: B, allowed: BoolArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """(N,) history, query, answer and probability of what may be answered next (``look_ahead``)."""
        raise NotImplementedError(f"{type(self).__name__} has no look-ahead of its own")


@dataclass(frozen=True)
class Budget:
    """What is left before a rule stops the pursuit of some histories.

    Parameters
    ----------
    questions : float
        How many more questions may be asked, this one included; infinite without `MaxQueries`.
    cost : (H,) array of float
        What they may cost together; infinite without `MaxCost`.
    """

    questions: float
    cost: FloatArray

    @classmethod
    def unlimited(cls, n_histories: int) -> Budget:
        """No limit for any of some histories."""
        return cls(np.inf, np.full(n_histories, np.inf))


class Acquisition(ABC, Generic[B]):
    """History -> utility of every allowed query.

    Attributes
    ----------
    unit : {"nats", "score"}
        "nats" where the utility is an information gain, which the rule `InformationGain` needs.
    is_exact : bool
        Whether utilities have no sampling error.
    tie : float
        Utilities that differ by less may differ by rounding alone.
    uses_budget : bool
        Whether utilities depend on the `Budget`.
    """

    unit: ClassVar[Unit]
    is_exact: bool = True
    tie: float = TIE
    uses_budget: ClassVar[bool] = False

    def bind(
        self,
        belief: Belief[B],
        queries: QuerySet,
        costs: FloatArray | None,
        noise: NoiseChannel | None,
    ) -> Acquisition[B]:
        """Return the function for one pursuit; by default it is the same for all.

        Parameters
        ----------
        belief : Belief
        queries : QuerySet
        costs : (Q,) array of float, optional
        noise : NoiseChannel, optional
        """
        return self

    @abstractmethod
    def utilities(self, b: B, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """Compute the utility of each allowed query.

        Parameters
        ----------
        b : B
            The state of the belief about H histories.
        histories : Histories
        allowed : (H, Q) array of bool
            A row without any query needs no work.
        budget : Budget
            What is left to ask.

        Returns
        -------
        Estimate
            (H, Q), NaN for a query that is not allowed.
        """


@runtime_checkable
class Calibrator(Protocol):
    """A map of the posterior after a number of answers."""

    def log_posterior(self, log_class: Any, n_answers: Any) -> FloatArray:
        """(H, C) log p(y | history) after (H,) answers -> (H, C) calibrated, normalised."""

    def standard_error(self, error: Any, before: Any, after: Any, n_answers: Any) -> FloatArray:
        """(H, C) standard errors of the posterior ``before`` -> those of the calibrated one, ``after``."""

    @property
    def prior(self) -> Sequence[float]:
        """The frequency of each class in training; empty where it is not known."""


@runtime_checkable
class NoveltyTest(Protocol):
    """A test of whether an input is of no class that the model knows."""

    def add_pvalues(self, trace: Trace) -> Trace:
        """The same trace with a p-value for each input."""
