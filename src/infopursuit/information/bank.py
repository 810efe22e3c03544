"""The best query after histories that share a bank of yes/no draws: `Chooser` with compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infopursuit.information import loops
from infopursuit.information.chooser import Proposal, largest_of
from infopursuit.information.prices import Prices
from infopursuit.information.subset import uniform_of
from infopursuit.posteriors.bank import BankBelief, BankPosterior
from infopursuit.progress import Progress
from infopursuit.threads import side_by_side
from infopursuit.types import UNKNOWN

AT_A_TIME = 16
"""Histories that one thread works on at a time."""
WIDEST = 16
"""Atoms of a query up to which all patterns of answers are gone through."""


class BankChooser:
    """See `Chooser`, whose settings it takes; gains on some draws and some queries only.

    Standard errors are those of draws; for a finite model, whose states are given, they are larger than need be.
    """

    exact = False

    def __init__(self, posterior: BankPosterior, n_states: int, n_screened: int, seed: int, costs: Any = None) -> None:
        self.posterior, self.cloud, self.queries = posterior, posterior.cloud, posterior.queries
        self.n_states, self.n_screened, self.seed = n_states, n_screened, seed
        self.prices = Prices.of(np.ones(len(self.queries)) if costs is None else costs)
        self._widths = (self.queries.query_atoms >= 0).sum(axis=1)
        self._by_state = self.cloud.by_state.numpy()
        self._compile()

    def _compile(self) -> None:
        """Take one step, so that nobody wonders later what takes so long the first time."""
        with Progress("compiling loops, the first time only", 2) as shown:
            nothing, zero = np.full((1, self.queries.width), UNKNOWN), np.zeros(1, dtype=np.int64)
            belief = self.posterior.update(self.posterior.start(), zero, zero, nothing)
            shown.advance()
            self.choose(belief, np.zeros((1, len(self.queries)), dtype=bool), [b""])
            shown.advance()

    @staticmethod
    def serves(posterior: object) -> bool:
        """Whether it can choose for this posterior."""
        return isinstance(posterior, BankPosterior) and posterior.queries.width <= WIDEST

    def choose(self, belief: BankBelief, asked: Any, keys: Sequence[bytes]) -> Proposal:
        """See `Chooser.choose`."""
        n, w = len(belief), belief.weights
        query, runner_up = np.empty((2, n), dtype=np.int64)
        gain, error = np.empty((2, n))
        tie = np.empty(n, dtype=bool)
        gains = np.empty((n, len(self.queries)))
        uniforms = np.array([uniform_of(self.seed, key) for key in keys])
        step = max(1, min(AT_A_TIME, -(-n // 2)))

        def some(i: int) -> None:
            part = slice(i * step, (i + 1) * step)
            loops.choose(
                belief.row[part], w.values, w.begin, w.end, w.blocks, w.starts, w.sums, w.totals, self.posterior.bounds,
                self.cloud.offsets, self._by_state, belief.seen[part], asked[part], self.queries.query_atoms,
                self._widths, self.prices.rates, self.n_states, self.n_screened, uniforms[part], query[part],
                gain[part], error[part], runner_up[part], tie[part], gains[part],
            )  # fmt: skip

        side_by_side(some, -(-n // step))
        return Proposal(query, gain, error, runner_up, tie, gains, largest_of(gains))
