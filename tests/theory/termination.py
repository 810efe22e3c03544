"""When nothing is left to ask: Lemmas 1 and 2 of Appendix A, on small worlds.

Both go one way only. Sufficiency makes all later gains small, but small gains do not make a history sufficient:
`xor_world` has no gain at the start and everything left to learn. That is why the stopping rule has patience, and why
no patience short of all queries is safe in every world. The paper's eqs. 27 and 31 take the infimum over k >= 1; k = 0
belongs to it too (a label that does not depend on the input needs no question), and that is how the engine counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infopursuit.support.types import TIE, IntArray
from theory.sets import Sets
from theory.world import World, gains, kl_divergence


def homogeneous(world: World, inputs: IntArray, tolerance: float = 1e-12) -> bool:
    """Whether p(y | x) is the same for all these inputs (eq. 26): the pointwise form of sufficiency with epsilon = 0.

    >>> from theory import xor_world
    >>> homogeneous(xor_world(), np.array([0, 3])), homogeneous(xor_world(), np.array([0, 1]))
    (True, False)
    """
    return bool(np.ptp(world.posteriors[inputs], axis=0).max() <= tolerance)


def largest_gain_after(world: World, inputs: IntArray | None = None) -> float:
    """The largest gain of any query, now or after any answers to any further queries, in nats.

    Looks at every set of inputs that some history leaves, so it bounds what any strategy can meet from here on.

    >>> from theory import xor_world
    >>> round(largest_gain_after(xor_world()), 6), largest_gain_after(xor_world(), np.array([0, 3]))
    (0.693147, 0.0)
    """
    sets = Sets(world)
    waiting = [sets.everything if inputs is None else sets.of(inputs)]
    seen = set(waiting)
    largest = 0.0
    while waiting:
        some = waiting.pop()
        largest = max(largest, float(gains(world, sets.rows(some)).max()))
        for _, parts in sets.splits(some):
            waiting.extend(part for part in parts if part not in seen)
            seen.update(parts)
    return largest


def lemma_1_holds(world: World, inputs: IntArray, tolerance: float = TIE) -> bool:
    """Lemma 1: where p(y | x) is the same for all inputs left, every gain is 0, now and after whatever is asked next.

    True also where the condition does not hold: then the lemma says nothing.

    >>> from theory import xor_world
    >>> lemma_1_holds(xor_world(), np.array([0, 3]))
    True
    """
    return not homogeneous(world, inputs) or largest_gain_after(world, inputs) <= tolerance


@dataclass(frozen=True)
class GainBound:
    """What Lemma 2 says about a history S: bounds in nats on all later gains.

    epsilon: the largest KL(p(Y | x) || p(Y | S)) over the inputs left (eq. 30). It bounds all later gains by itself.
    eta: the smallest positive p(y | x) of the whole world.
    same_support: whether p(y | x) has the same support for all inputs left (the lemma's second assumption).
    """

    epsilon: float
    eta: float
    same_support: bool

    @property
    def paper(self) -> float:
        """epsilon / eta, the constant C epsilon that the paper's proof arrives at."""
        return self.epsilon / self.eta

    @property
    def pairwise(self) -> float:
        """4 epsilon / eta, which KL(p(Y | x) || p(Y | x')) of two inputs left cannot exceed (eq. 38 mended).

        Infinite without a common support.
        """
        return 4 * self.epsilon / self.eta if self.same_support else float("inf")


def lemma_2_bound(world: World, inputs: IntArray) -> GainBound:
    """Lemma 2: where KL(p(Y | x) || p(Y | S)) <= epsilon for all inputs left, all later gains are at most C epsilon.

    The lemma is true, with C = 1 and without its assumption about supports. Whatever is asked, it leaves some B
    within S, and p(Y | B) is the r that makes E[KL(p(Y | X) || r) | B] smallest, so

        I(q(X); Y | B) <= I(X; Y | B) = E[KL(p(Y | X) || p(Y | B)) | B] <= E[KL(p(Y | X) || p(Y | S)) | B] <= epsilon.

    The paper's way there has a gap: eq. 38, KL(p(Y | x) || p(Y | x')) <= epsilon / eta, is false (two equally likely
    inputs with P(Y = 1) of 0.45 and 0.55 are a counterexample). Its own steps give 4 epsilon / eta: Pinsker and the
    triangle inequality bound the total variation by delta = sqrt(2 epsilon) (eq. 37), and KL <= chi-squared <= 2
    delta ** 2 / eta, where eta bounds the *second* argument, p(y | x'), from below. Its result, gains of at most
    epsilon / eta, stays true since eta <= 1.

    >>> from theory import xor_world
    >>> bound = lemma_2_bound(xor_world(), np.array([0, 1, 2, 3]))
    >>> round(bound.epsilon, 6), bound.eta, bound.same_support
    (0.693147, 1.0, False)
    """
    posteriors = world.posteriors[inputs]
    divergence = kl_divergence(posteriors, world.posterior(inputs)[None])
    support = posteriors > 0
    eta = float(world.posteriors[world.posteriors > 0].min())
    return GainBound(float(divergence.max()), eta, bool((support == support[0]).all()))
