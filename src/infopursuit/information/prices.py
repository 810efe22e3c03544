"""Gain per cost: what a query is expected to tell for what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.types import TIE, FloatArray

FREE = 1e3
"""Added to the score of a free query that tells anything: more nats than any other can have."""


@dataclass(frozen=True)
class Prices:
    """What queries cost, so that gains can be compared.

    rates: (Q,) the least cost above 0, divided by the query's own: 1 for the cheapest, infinite for what is free. The
    unit in which costs are counted falls out, and without costs a score is the gain itself, to the last bit.

    >>> Prices.of([2, 4, 0]).scores(np.array([[0.1, 0.3, 0.05], [0.1, 0.3, 0.0]])).tolist()
    [[0.1, 0.15, 1000.05], [0.1, 0.15, 0.0]]
    """

    rates: FloatArray

    @classmethod
    def of(cls, costs: Any) -> Prices:
        """The prices of queries with these costs (Q,), all of them finite and 0 or more."""
        given = np.asarray(costs, dtype=np.float64)
        paid = given > 0
        if not paid.any():
            return cls(np.ones(len(given)))
        least = given[paid].min()
        return cls(np.where(paid, least / np.where(paid, given, 1.0), np.inf))

    @cached_property
    def weights(self) -> FloatArray:
        """(Q,) what a gain is multiplied by: the rate, 1 for what is free."""
        return np.where(np.isinf(self.rates), 1.0, self.rates)

    @cached_property
    def near(self) -> FloatArray:
        """(Q,) scores that are no further than this below that of a query tie with it: `TIE` nats for its cost."""
        return TIE * self.weights

    @cached_property
    def _alike(self) -> bool:
        return bool((self.rates == 1).all())

    def scores(self, gains: FloatArray) -> FloatArray:
        """(H, Q) by which queries are compared: the largest is the best. What is free comes first while it tells
        anything."""
        if self._alike:
            return gains
        free = np.isinf(self.rates) & (gains > TIE)
        return np.asarray(gains * self.weights + np.where(free, FREE, 0.0))
