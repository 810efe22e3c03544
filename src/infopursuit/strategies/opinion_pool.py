"""`LogPool`: two beliefs pooled; `OpinionPool`: one of them is generative, and says what the next answer may be.

A generative model knows how answers go together, and is overconfident where it is wrong; a classifier on histories is
calibrated, and has no answers to offer. Pooled, they are more accurate than either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Acquisition, Belief, Budget, Capabilities, Estimate, Unit
from infopursuit.strategies.generative.exact import LatentBelief, class_entropy, log_normalised
from infopursuit.support.checks import number
from infopursuit.support.types import FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.pursuit.information import MutualInformation
    from infopursuit.pursuit.noise import NoiseChannel


@dataclass(frozen=True)
class PoolState:
    """The states of both members about H histories, and the pooled (H, C) log p(y | history) with its error."""

    generative: Any
    other: Any
    log_posterior: FloatArray
    error: FloatArray

    asking: Any = None
    """The state of the member whose network has utilities; None without one."""

    @property
    def unit(self) -> Unit:
        """Of the utilities."""
        unit: Unit = self.asking.unit
        return unit

    @property
    def utilities(self) -> FloatArray:
        """(H, Q) what the first network says about the queries; a gain in nats is the same share of the entropy of the
        class."""
        utilities: FloatArray = self.asking.utilities
        if self.unit != "nats":
            return utilities
        before = class_entropy(self.asking.log_posterior)[:, None]
        now = class_entropy(self.log_posterior)[:, None]
        return np.minimum(utilities * (now / np.maximum(before, 1e-300)), now)


class LogPool(Belief[PoolState]):
    """The log opinion pool of two beliefs: log p(y | history) = sum over members of weight log p_m(y | history),
    normalised.

    Parameters
    ----------
    generative, other: beliefs about the same queries and classes; the first of them that is a network with utilities
        (`NetworkBelief`) says what to ask. See `OpinionPool` for a first one that predicts answers.
    weights: of the two. They need not sum to one: a smaller sum is a higher temperature. See `fit_weights`.
    """

    kind = "log_pool"

    def __init__(self, generative: Belief[Any], other: Belief[Any], weights: tuple[float, float] = (0.5, 0.5)) -> None:
        if generative.n_classes != other.n_classes:
            raise ValueError(
                f"other has {other.n_classes} classes and generative has {generative.n_classes}; they must be the same"
            )
        self.generative = generative
        self.other = other
        self.n_classes = generative.n_classes
        one, two = weights
        self.weights = (number(one, "weights", above=0), number(two, "weights", least=0))

        first, second = generative.capabilities, other.capabilities
        self.capabilities = Capabilities(
            numbers=first.numbers or second.numbers,
            utilities=first.utilities or second.utilities,
            calibrated=True,
            contains_training_data=first.contains_training_data or second.contains_training_data,
            # its classes may be reweighted in a copy
            bytes_per_history=2 * first.bytes_per_history + second.bytes_per_history,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.generative!r}, {self.other!r}, weights={self.weights})"

    def describe(self) -> str:
        """The belief in words."""
        members = (self.generative, self.other)
        one, two = (
            f"{member.describe() if member.model is None else repr(member)} (weight {weight:.3g})"
            for member, weight in zip(members, self.weights, strict=True)
        )
        return f"a log opinion pool of {one} and {two}"

    def init(self) -> PoolState:
        """Nothing is known."""
        return self._state(self.generative.init(), self.other.init())

    def update(self, b: PoolState, parents: IntArray, new: Histories) -> PoolState:
        """One more answer for each history, to both."""
        return self._state(self.generative.update(b.generative, parents, new), self.other.update(b.other, parents, new))

    def _state(self, generative: Any, other: Any) -> PoolState:
        """With the standard error that the first member adds (delta method)."""
        found = self.generative.log_posterior(generative)
        log_p = pooled([found.value, self.other.log_posterior(other).value], self.weights)
        p = np.exp(log_p)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where(found.error > 0, self.weights[0] * found.error / np.exp(found.value), 0.0)
            variance = p**2 * ((1 - 2 * p) * spread**2 + (p**2 * spread**2).sum(axis=1, keepdims=True))
        error = np.sqrt(np.maximum(np.nan_to_num(variance, posinf=0.0), 0.0))
        asking = generative if self.generative.capabilities.utilities else other
        return PoolState(generative, other, log_p, error, asking)

    def log_posterior(self, b: PoolState) -> Estimate:
        """(H, C) log p(y | history)."""
        return Estimate(b.log_posterior, b.error)


class OpinionPool(LogPool):
    """The log opinion pool of a generative belief and another one; the generative one predicts answers.

    Gains are those of the generative member; with ``reweight`` they are those under the pooled classes: I(answer; Y)
    under p(y | history) of the pool and p(answer | y, history) of the generative member. A network should see histories
    like those that it was trained on: those of the generative pursuit, or, where it chooses queries itself
    (`NetworkGain`, `NetworkQuerier`), its own.

    Parameters
    ----------
    generative: a belief about a generative model: `Exact`, `PrunedBelief`, `SMCBelief`, `LangevinBelief`.
    other: any belief with the same classes, such as a `NetworkBelief`.
    weights: of the two, see `LogPool`.
    reweight: whether gains, and predictions of answers, are those under the pooled classes; or nats: only where the
        posterior of the generative member has less entropy. A gain is at most that entropy, so that a member which is
        certain has nothing left to ask, and the pool may have.
    """

    kind = "opinion_pool"

    def __init__(
        self,
        generative: LatentBelief[Any],
        other: Belief[Any],
        weights: tuple[float, float] = (0.5, 0.5),
        *,
        reweight: bool | float = False,
    ) -> None:
        if not isinstance(generative, LatentBelief):
            raise TypeError(
                f"generative is {type(generative).__name__}, which does not predict answers; give a belief about a "
                f"generative model, such as that of generative_pursuit(model, queries), or use LogPool"
            )
        super().__init__(generative, other, weights)
        self.generative: LatentBelief[Any] = generative
        self.model = generative.model
        self.capabilities = replace(self.capabilities, evidence=True, answers=True, gains=True)
        self.reweight = reweight if isinstance(reweight, bool) else number(reweight, "reweight", least=0)

    def log_evidence(self, b: PoolState) -> FloatArray:
        """(H,) log p(answers so far) of the generative member."""
        return np.asarray(self.generative.log_evidence(b.generative))

    def answer_distribution(self, b: PoolState, query: int) -> FloatArray:
        """(H, answers) p(answer | history) of one query, by the generative member."""
        rows = np.ones(len(self.log_evidence(b)), dtype=bool)
        return np.asarray(self.generative.answer_distribution(self.predicting(b, rows), query))

    def gains(self, settings: MutualInformation, costs: FloatArray | None, noise: NoiseChannel | None) -> PoolGains:
        """The mutual information of queries under this belief."""
        return PoolGains(self, self.generative.gains(settings, costs, noise))

    def predicting(self, b: PoolState, rows: BoolArray) -> Any:
        """The state of the generative member that predicts answers in some rows (H,): its own, or with the class
        probabilities of the pool."""
        if not self.reweight:
            return b.generative
        now, wanted = self.generative.log_posterior(b.generative).value, self.log_posterior(b).value
        if self.reweight is not True:
            rows = rows & (class_entropy(now) < self.reweight)
        with np.errstate(invalid="ignore"):
            shift = np.where(np.isfinite(now) & np.isfinite(wanted) & rows[:, None], wanted - now, 0.0)
        return self.generative.reweighed(b.generative, shift, np.flatnonzero(rows).tolist())


class PoolGains(Acquisition[PoolState]):
    """The gains of the generative member, in the state that the pool predicts answers with."""

    unit: ClassVar[Literal["nats"]] = "nats"

    def __init__(self, belief: OpinionPool, function: Acquisition[Any]) -> None:
        self.belief = belief
        self.function = function
        self.is_exact = function.is_exact
        self.tie = function.tie

    def utilities(self, b: PoolState, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) gains."""
        predicting = self.belief.predicting(b, np.asarray(allowed.any(axis=1)))
        return self.function.utilities(predicting, histories, allowed, budget)


def pooled(log_posteriors: list[FloatArray], weights: Any) -> FloatArray:
    """(..., C) the logarithmic opinion pool of some log posteriors; NaN where one is impossible.

    >>> np.exp(pooled([np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])], (0.5, 0.5))).round(3).tolist()
    [[0.75, 0.25]]
    """
    found = sum(weight * each for weight, each in zip(weights, log_posteriors, strict=True) if weight)
    return log_normalised(np.atleast_2d(found).reshape(-1, log_posteriors[0].shape[-1])).reshape(np.shape(found))


def fit_weights(log_posteriors: list[FloatArray], labels: IntArray) -> tuple[float, ...]:
    """The weights of the pool with the least log loss on labelled histories: (N, C) for each member, (N,)."""
    floored = [np.maximum(each, np.log(1e-12)) for each in log_posteriors]
    index = np.arange(len(labels))

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        log_p = log_softmax(sum(w * each for w, each in zip(weights, floored, strict=True)), axis=1)
        p = np.exp(log_p)
        slope = [((p * each).sum(axis=1) - each[index, labels]).mean() for each in floored]
        return -float(log_p[index, labels].mean()), np.array(slope)

    start, bounds = np.full(len(floored), 0.5), [(1e-3, 5.0)] * len(floored)
    return tuple(float(each) for each in minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x)
