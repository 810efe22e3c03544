"""Checks: questions that are asked after the stop, to find out whether an input is like those the model was made of.

The pursuit asks where classes differ. That says little about inputs of no class: a coat is as plain inside as the paper
around a digit. After the stop the model knows what it expects elsewhere, and a check asks where it is surest of the
answer, for there a wrong label of an input of another kind shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.information.subset import resample, uniform_of
from infopursuit.models.finite import FiniteModel
from infopursuit.posteriors.exact import ExactPosterior
from infopursuit.posteriors.finite_bank import FiniteBank
from infopursuit.posteriors.sampled import SampledPosterior
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, FloatArray, IntArray

SHARE = 0.85
"""A check is a query that tells at least this share of what the best one does about an input of any other kind."""
N_STATES = 256
"""States that what is expected is computed on, at the most."""
LEAST = 1e-6
"""Answers are not thought less probable than this, so that one that cannot be does not outweigh all others."""
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Ending:
    """Where the pursuits of H histories stopped and their checks begin.

    at: (H,) queries asked by then, -1 while a pursuit goes on. reason: (H,) why it stopped. settled: (H,) the paper's
    L.
    """

    at: IntArray
    reason: Any
    settled: IntArray

    @classmethod
    def none(cls, n: int) -> Ending:
        """Nothing has stopped yet."""
        whole = np.full(n, UNKNOWN, dtype=np.int64)
        return cls(whole, np.full(n, "", dtype=object), whole)

    def take(self, rows: IntArray) -> Ending:
        """Some of the histories."""
        return Ending(self.at[rows], self.reason[rows], self.settled[rows])

    def mark(self, stopped: Any, n_asked: int, reason: Any, settled: IntArray) -> Ending:
        """Those that have ``stopped`` (H,) for the first time end here."""
        new = np.asarray(stopped) & (self.at == UNKNOWN)
        return Ending(
            np.where(new, n_asked, self.at),
            np.where(new, np.array(reason, dtype=object), self.reason),
            np.where(new, settled, self.settled),
        )


def choose_check(posterior: Any, belief: Any, h: int, asked: Any, number: int, seed: int, key: bytes) -> int:
    """The check with this number after history h: one of those that are `telling`, -1 where nothing is left to ask.

    asked: (Q,) not to be asked again. key: the history at the stop, which with the seed decides where checks begin;
    each further one goes on by the golden ratio of the list, so that however many they are, they are spread over it.
    """
    model, log_weights, evidence = _source(posterior, belief, h)
    start = uniform_of(seed, key)
    score = np.where(asked, -1.0, telling(model, log_weights, evidence, posterior.queries, start))
    best = float(score.max())
    if best < 0:
        return UNKNOWN
    fit = np.flatnonzero(score >= SHARE * best)
    return int(fit[int((start + number * GOLDEN) % 1 * len(fit))])


def telling(model: FiniteModel, log_weights: Tensor, evidence: Tensor, queries: QuerySet, uniform: float) -> FloatArray:
    """(Q,) what the answer to each query is expected to tell against the model if the input is of another kind.

    Of another kind no more is known than that each answer may be as probable as any other: the divergence of the
    uniform distribution from what the model expects, summed over the atoms of a query, whatever is known of them left
    out. log_weights: (S,) of the states. evidence: (L,) of the atom values.
    """
    states, weights, _ = resample(torch.softmax(log_weights, dim=0), N_STATES, uniform)
    table = model.state_probs(states)  # (L, M)
    expected = (table @ weights.to(table.dtype)).to(torch.float64).cpu().numpy()  # (L,)
    atoms, parts = model.atoms, queries.parts
    said = evidence.to(torch.float64).cpu().numpy()
    allowed = np.exp(said - np.maximum.reduceat(said, atoms.offsets[:-1])[atoms.slot_atom])  # (L,) the largest is 1
    known = np.add.reduceat(allowed > 0, atoms.offsets[:-1], dtype=np.int64)[atoms.slot_atom] == 1
    expected[known] = allowed[known] > 0
    for atom in np.unique(atoms.slot_atom[(allowed != 1) & ~known]).tolist():  # what a state still expects
        slots = slice(int(atoms.offsets[atom]), int(atoms.offsets[atom + 1]))
        left = table[slots].to(torch.float64) * torch.as_tensor(allowed[slots, None], device=table.device)
        share = (left / left.sum(dim=0).clamp(min=1e-300)) @ weights.to(torch.float64)
        expected[slots] = share.cpu().numpy()
    n_cells, starts = int(parts.offsets[-1]), parts.offsets[:-1]
    cells = np.bincount(parts.entry_cell, weights=expected[parts.entry_slot], minlength=n_cells)
    possible = np.bincount(parts.entry_cell, weights=allowed[parts.entry_slot], minlength=n_cells) > 0
    surprise = np.where(possible, -np.log(np.clip(cells, LEAST, 1.0)), 0.0)
    n_possible = np.maximum(np.add.reduceat(possible.astype(np.int64), starts), 1)
    each = np.where(n_possible > 1, np.add.reduceat(surprise, starts) / n_possible - np.log(n_possible), 0.0)
    return np.asarray(np.where(parts.query_part >= 0, each[parts.query_part], 0.0).sum(axis=1))


def _source(posterior: Any, belief: Any, h: int) -> tuple[FiniteModel, Tensor, Tensor]:
    """The states that one history's belief is about, their log weights (S,), and its evidence (L,)."""
    if isinstance(posterior, SampledPosterior):
        own = belief.own[h]
        if own is not None:
            return own.cloud, own.belief.log_weights[0], own.belief.evidence[0]
        belief = belief.shared
    bank = posterior.bank if isinstance(posterior, FiniteBank) else posterior
    model = posterior.model if isinstance(posterior, ExactPosterior) else bank.cloud
    row = belief.take(slice(h, h + 1))
    return model, row.log_weights[0], row.evidence[0]
