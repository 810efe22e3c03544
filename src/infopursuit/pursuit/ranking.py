"""Which query is best: gain per cost, ties, and fewer states with the same law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.pursuit.histories import BoolArray
from infopursuit.support.types import TIE, UNKNOWN, FloatArray, IntArray

ROUGH_TIE = 2e-6
"""`TIE` of gains that are computed in float32: what differs by less may differ by rounding alone."""
FREE = 1e3
"""Added to the score of a free query that has any gain: more nats than any other can have."""


@dataclass(frozen=True)
class Ranking:
    """Compares queries by utility per cost.

    rates: (Q,) the least cost above 0, divided by the query's own: 1 for the cheapest, infinite for a free query. The
    unit of the costs cancels, and without costs a score is the utility itself. tie: utilities closer than this tie.

    >>> Ranking.of([2, 4, 0]).scores(np.array([[0.1, 0.3, 0.05], [0.1, 0.3, 0.0]])).tolist()
    [[0.1, 0.15, 1000.05], [0.1, 0.15, 0.0]]
    """

    rates: FloatArray
    tie: float = TIE

    @classmethod
    def of(cls, costs: Any, tie: float = TIE) -> Ranking:
        """The ranking of queries with these costs (Q,), all of them finite and 0 or more."""
        given = np.asarray(costs, dtype=np.float64)
        paid = given > 0
        if not paid.any():
            return cls(np.ones(len(given)), tie)
        least = given[paid].min()
        return cls(np.where(paid, least / np.where(paid, given, 1.0), np.inf), tie)

    @cached_property
    def weights(self) -> FloatArray:
        """(Q,) what a utility is multiplied by: the rate, 1 for a free query."""
        return np.where(np.isinf(self.rates), 1.0, self.rates)

    @cached_property
    def near(self) -> FloatArray:
        """(Q,) scores that are no further than this below that of a query tie with it: ``tie`` for its cost."""
        return self.tie * self.weights

    @cached_property
    def _alike(self) -> bool:
        return bool((self.rates == 1).all())

    def scores(self, utilities: FloatArray) -> FloatArray:
        """(H, Q) by which queries are compared, the largest is the best. A free query comes first while it has any
        gain."""
        if self._alike:
            return utilities
        free = np.isinf(self.rates) & (utilities > self.tie)
        return np.asarray(utilities * self.weights + np.where(free, FREE, 0.0))

    def leaders(self, scores: FloatArray) -> tuple[IntArray, IntArray]:
        """(H,) the best query of each row and the second best, -1 where there is none; ties go to the lowest index."""
        known = np.where(np.isnan(scores), -np.inf, scores)
        rows, found = np.arange(len(known)), []
        for _ in range(2):
            top = known.max(axis=1, keepdims=True)
            query = np.argmax(known >= top - self.near[known.argmax(axis=1)][:, None], axis=1)
            found.append(np.where(np.isneginf(top[:, 0]), UNKNOWN, query))
            known[rows, query] = -np.inf
        return found[0], found[1]


def largest(scores: FloatArray, among: IntArray, n: int) -> IntArray:
    """The n indices among some with the largest scores, ties to the lowest, in order of index."""
    order = among[np.argsort(-scores[among], kind="stable")]
    return np.sort(order[:n])


def resample(weights: FloatArray, size: int, uniform: float) -> tuple[IntArray, FloatArray, BoolArray]:
    """Fewer states with the same law (Fearnhead and Clifford, 2003): heavy ones are kept as they are, light ones drawn
    by systematic resampling, so that every weight keeps its expectation, with the least variance for that many states.

    (S,) weights that sum to one -> states (M,), in order, their weights (M,), and which were drawn (M,).
    """
    if len(weights) <= size:
        states = np.flatnonzero(weights > 0)
        return states, weights[states], np.zeros(len(states), dtype=bool)
    heavy = weights > _threshold(weights, size)
    n_light = size - int(heavy.sum())
    kept = np.flatnonzero(heavy)
    cumulative = np.cumsum(np.where(heavy, 0.0, weights))
    step = float(cumulative[-1]) / max(n_light, 1)
    if n_light <= 0 or step <= 0:
        return kept, weights[kept], np.zeros(len(kept), dtype=bool)
    # right: a point on a boundary belongs to the state above it, so that one of weight zero is never drawn
    points = (np.arange(n_light) + uniform) * step
    drawn = np.minimum(np.searchsorted(cumulative, points, side="right"), len(weights) - 1)
    states = np.concatenate([kept, drawn])
    order = np.argsort(states, kind="stable")
    return states[order], np.concatenate([weights[kept], np.full(n_light, step)])[order], order >= len(kept)


def _threshold(weights: FloatArray, size: int) -> float:
    """The weight t with sum(min(w / t, 1)) = size: states above it are kept, those below drawn."""
    # sorting the few states that may matter is much cheaper than sorting all; how few they are shows when they suffice
    for least in (0.1 / size, 1e-3 / size, 1e-6 / size, 1e-10 / size, -1.0):
        # heaviest first; the k heaviest are kept if the next one is lighter than its share of what the k leave over
        top = -np.sort(-weights[weights > least])
        left = 1.0 - np.concatenate([[0.0], np.cumsum(top)])
        share = left[:size] / (size - np.arange(min(size, len(left))))
        following = np.append(top, 0.0)[: len(share)]
        fits = np.flatnonzero(following <= share)
        if len(fits) and share[fits[0]] > least:
            return float(share[fits[0]])
    return 0.0
