"""Latent states whose probabilities are laid out twice: by atom, to update weights, and by state, to choose."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import FiniteModel
from infopursuit.posteriors.alike import alike
from infopursuit.types import Atoms, IntArray

DECODED = 512
"""States that are laid out at a time."""


class States(FiniteModel):
    """A finite model whose table is kept by state too.

    by_state: (S, L) the probability of each atom value in each state, or (S, A) P(yes) where all atoms are yes/no.
    """

    kind = "states"

    def __init__(self, atoms: Atoms, log_prior: Tensor, offsets: IntArray, by_state: Tensor) -> None:
        self.by_state = by_state
        self.binary = by_state.shape[1] == len(atoms)
        super().__init__(atoms, log_prior, offsets, by_state.T.contiguous())

    @classmethod
    def alike(cls, model: FiniteModel, size: int, runs: IntArray | None = None) -> States:
        """The states of a model with yes/no atoms, in such an order that runs of ``size`` are `alike`; each class, or
        each of the given runs of states, stays where it is."""
        by_state = torch.empty((model.n_states, len(model.atoms)), dtype=torch.float32)
        for start in range(0, model.n_states, DECODED):
            some = torch.arange(start, min(start + DECODED, model.n_states))
            by_state[some] = model.state_probs(some)[1::2].T.to(torch.float32)
        order = torch.as_tensor(alike(by_state, model.offsets if runs is None else runs, size))
        return cls(model.atoms, model.log_prior[order], model.offsets, by_state[order])

    def _by_slot(self, by_state: Tensor) -> Tensor:
        columns = by_state.T.contiguous()
        return torch.stack([1 - columns, columns], dim=1).flatten(0, 1) if self.binary else columns

    def rows(self, slots: Tensor) -> Tensor:
        """(n, S) the probability of some atom values in all states."""
        if not self.binary:
            return self.probs[slots]
        # slot 2a is "no" and slot 2a + 1 is "yes": |p - 1| and |p - 0|
        return self.probs[slots // 2].sub_((slots % 2 == 0)[:, None].to(self.dtype)).abs_()

    def block(self, slots: slice) -> Tensor:
        """(l, S) the probability of a run of atom values in all states; "no" and "yes" add up to one in float64, so
        that gains do not depend on which atoms are worked on together."""
        if not self.binary or slots.start % 2 or slots.stop % 2:
            return super().block(slots)
        yes = self.probs[slots.start // 2 : slots.stop // 2].to(torch.float64)
        return torch.stack([1 - yes, yes], dim=1).flatten(0, 1)

    def log_product(self, slots: Tensor) -> Tensor:
        """(n,) atom values -> (S,) log of the product of their probabilities; four to a logarithm, which is safe as
        long as none is below 1e-6."""
        table = self.rows(slots)
        factors = [table[start : start + 4].prod(0).log_() for start in range(0, len(table), 4)]
        return torch.stack(factors).sum(0, dtype=torch.float64)

    def state_probs(self, states: Tensor) -> Tensor:
        """(L, M) the probability of all atom values in some states; rows lie together, so that few bytes are read."""
        return self._by_slot(self.by_state[states])


def all_yes_no(model: FiniteModel) -> bool:
    """Whether every atom has two values."""
    return bool((np.array(model.atoms.sizes) == 2).all())
