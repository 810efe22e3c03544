"""`PrunedGains`: the mutual information of queries on pruned states of yes/no variables, by compiled kernels."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from infopursuit.acquisition import kernels
from infopursuit.acquisition.mutual_information import MutualInformation
from infopursuit.acquisition.ranking import ROUGH_TIE, Ranking
from infopursuit.beliefs.pruned import PrunedBelief, PrunedState
from infopursuit.history import BoolArray, Estimate, Histories, uniform_of
from infopursuit.progress import Progress
from infopursuit.threads import side_by_side
from infopursuit.types import UNKNOWN, FloatArray

AT_A_TIME = 16
"""Histories that one thread works on at a time."""


class PrunedGains:
    """The steps of `FiniteGains` on some states and some queries, in compiled loops.

    Standard errors are those of draws; for a finite model, whose states are given, they are larger than need be.
    """

    unit: ClassVar[Literal["nats"]] = "nats"
    exact = False
    tie = ROUGH_TIE

    def __init__(self, belief: PrunedBelief, settings: MutualInformation, costs: FloatArray | None = None) -> None:
        self.belief, self.states, self.queries, self.settings = belief, belief.states, belief.queries, settings
        self.ranking = Ranking.of(np.ones(len(self.queries)) if costs is None else costs, self.tie)
        self._widths = (self.queries.query_variables >= 0).sum(axis=1)
        self._compile()

    def _compile(self) -> None:
        """Take one step, so that the first question does not wait for the compiler."""
        with Progress("compiling kernels, the first time only", 2) as shown:
            empty, one = Histories.empty(self.queries), np.zeros(1, dtype=np.int64)
            new = empty.extend(one, one, np.full((1, self.queries.width), UNKNOWN))
            b = self.belief.update(self.belief.init(), one, new)
            shown.advance()
            self(b, new, np.ones((1, len(self.queries)), dtype=bool))
            shown.advance()

    def __call__(self, b: PrunedState, h: Histories, allowed: BoolArray) -> Estimate:
        """(H, Q) gains; NaN for queries that are not allowed, or that screening left out."""
        rows = np.flatnonzero(allowed.any(axis=1))
        gains, errors = np.full(allowed.shape, np.nan), np.zeros(allowed.shape)
        tie = np.zeros(len(allowed), dtype=bool)
        if not len(rows):
            return Estimate(gains, errors, tie)
        some, w, closed = b.take(rows), b.weights, ~allowed[rows]
        n, settings = len(rows), self.settings
        best, error, within = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n, dtype=bool)
        mine = np.empty((n, len(self.queries)))
        uniforms = np.array([uniform_of(settings.seed, h.key(row)) for row in rows.tolist()])
        step = max(1, min(AT_A_TIME, -(-n // 2)))

        def work(i: int) -> None:
            part: Any = slice(i * step, (i + 1) * step)
            kernels.choose(
                some.row[part], w.values, w.begin, w.end, w.blocks, w.starts, w.sums, w.totals, self.belief.bounds,
                self.states.offsets, self.states.by_state, some.seen[part], closed[part], self.queries.query_variables,
                self._widths, self.ranking.rates, settings.n_states, settings.n_screened, uniforms[part], best[part],
                error[part], within[part], mine[part],
            )  # fmt: skip

        side_by_side(work, -(-n // step))
        gains[rows], tie[rows] = mine, within
        chosen = best != UNKNOWN
        errors[rows[chosen], best[chosen]] = error[chosen]
        return Estimate(gains, errors, tie)
