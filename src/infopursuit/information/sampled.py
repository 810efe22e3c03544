"""Choosing on draws: histories that share a cloud are chosen for together, others on draws of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infopursuit.information.bank import BankChooser
from infopursuit.information.chooser import Chooser, Proposal
from infopursuit.posteriors.cloud import SampledBelief
from infopursuit.posteriors.sampled import SampledPosterior
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import IntArray


class SampledChooser:
    """The best query after histories whose beliefs are draws.

    exact: never. on_all_draws: whether gains are computed on all draws and for all queries, or on some of them.
    """

    def __init__(self, posterior: SampledPosterior, queries: QuerySet, **settings: Any) -> None:
        self._chooser = Chooser(posterior.cloud, queries, sampled=True, **settings)
        self.exact, self.on_all_draws = False, self._chooser.exact
        self.n_states, self.n_screened = self._chooser.n_states, self._chooser.n_screened
        self._bank: BankChooser | None = None
        if not self._chooser.exact and BankChooser.serves(posterior.shared):
            self._bank = BankChooser(
                posterior.shared, self.n_states, self.n_screened, self._chooser.seed, settings.get("costs")
            )

    def choose(self, belief: SampledBelief, asked: IntArray, keys: Sequence[bytes]) -> Proposal:
        """See `Chooser.choose`."""
        shared = [h for h, own in enumerate(belief.own) if own is None]
        groups = []
        if shared:
            chooser: Any = self._bank or self._chooser
            groups.append(
                (shared, chooser.choose(belief.shared.take(shared), asked[shared], [keys[h] for h in shared]))
            )
        for h, own in enumerate(belief.own):
            if own is not None:
                groups.append(([h], self._chooser.choose(own.belief, asked[[h]], [keys[h]], own.cloud)))
        order = np.argsort(np.concatenate([rows for rows, _ in groups]))
        found = [proposal for _, proposal in groups]
        names = ("query", "gain", "error", "runner_up", "tie", "gains", "largest")
        return Proposal(*(np.concatenate([getattr(p, name) for p in found])[order] for name in names))
