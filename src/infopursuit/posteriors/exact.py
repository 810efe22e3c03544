"""The exact posterior of a finite model: one log-weight for each latent state, updated answer by answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import FiniteModel, class_log_sums, segments
from infopursuit.posteriors.diagnostics import weight_ess
from infopursuit.queries.queryset import QuerySet
from infopursuit.threads import side_by_side
from infopursuit.types import UNKNOWN, FloatArray, IntArray

NEVER = -torch.inf
CACHE, CHUNK = 2**20, 2**26
"""Bytes of probabilities that are gathered at a time: where they should stay in the cache, and where they need not."""


@dataclass(frozen=True)
class Belief:
    """What H histories say.

    log_weights: (H, S) log p(y, z, history), unnormalised: their sum is the probability of the history.
    evidence: (H, L) log-weight of each atom value: 0 where still possible, -inf where excluded, in between where an
    answer may have been wrong. soft: whether there may be such a one.
    """

    log_weights: Tensor
    evidence: Tensor
    soft: bool = False

    def __len__(self) -> int:
        return len(self.log_weights)

    def take(self, rows: Tensor | slice) -> Belief:
        """Some of the histories."""
        return Belief(self.log_weights[rows], self.evidence[rows], self.soft)


class ExactPosterior:
    """p(z, y | history) by the paper's recursion (eq. 17), kept over all latent states so that nothing is
    approximated."""

    name: ClassVar[str] = "exact"
    exact: ClassVar[bool] = True
    weighs: ClassVar[bool] = True

    def __init__(self, model: FiniteModel, queries: QuerySet) -> None:
        self.model, self.queries = model, queries
        device = model.device
        self._slots = torch.as_tensor(model.atoms.slots, device=device)
        self._query_atoms = torch.as_tensor(queries.query_atoms, device=device)
        self._query_cells = torch.as_tensor(queries.query_cells, device=device)

    @property
    def row_bytes(self) -> int:
        """What one history may take: a weight for each state, that of its parent, and one to work on."""
        return 24 * self.model.n_states

    def start(self) -> Belief:
        """The belief of the one empty history: the prior."""
        model = self.model
        evidence = torch.zeros((1, model.atoms.n_slots), dtype=torch.float64, device=model.device)
        return Belief(model.log_prior[None], evidence)

    def refresh(self, belief: Belief, keys: Sequence[bytes], rows: Sequence[int] | None = None) -> Belief:
        """Nothing is drawn, so nothing is ever to be drawn anew."""
        return belief

    def update(
        self,
        belief: Belief,
        parents: IntArray,
        queries: IntArray,
        answers: IntArray,
        keys: Sequence[bytes] = (),
        weights: FloatArray | None = None,
    ) -> Belief:
        """Histories ``parents`` (rows of ``belief``), each longer by one answer (H, W), which ``weights`` (H, W, V) say
        the log-probability of, given each cell; None: 0 in the cell itself and -inf in the others."""
        device = self.model.device
        rows = torch.as_tensor(parents, device=device)
        asked, cells = torch.as_tensor(queries, device=device), torch.as_tensor(answers, device=device)
        said = None if weights is None else torch.as_tensor(weights, device=device)
        evidence = belief.evidence[rows]
        log_weights = belief.log_weights[rows]
        seen = torch.full_like(cells, UNKNOWN)  # (H, W) the slot of an atom that is now known, and nothing was before
        for w in range(cells.shape[1]):
            known = torch.nonzero(cells[:, w] != UNKNOWN)[:, 0]
            if len(known):
                slots = self._slots[self._query_atoms[asked[known], w]]  # (n, V)
                own = self._query_cells[asked[known], w][:, : slots.shape[1]]  # (n, V) the cell of each value
                if said is None:
                    shift = torch.where(own == cells[known, w, None], 0.0, NEVER)
                else:
                    shift = said[known, w].gather(1, own.clamp(min=0))
                self._absorb(log_weights, evidence, known, slots, shift.to(evidence.dtype), seen[:, w])
        mine = torch.nonzero((seen != UNKNOWN).any(dim=1))[:, 0].tolist()
        if cells.shape[1] == 1:
            self._multiply(log_weights, mine, seen[:, 0])
        else:
            side_by_side(lambda i: self._multiply_one(log_weights[mine[i]], seen[mine[i]]), len(mine))
        return Belief(log_weights, evidence, belief.soft or weights is not None)

    def log_joint(self, belief: Belief) -> Tensor:
        """(H, C) log p(y, history)."""
        return class_log_sums(belief.log_weights, self.model.offsets)

    def log_class(self, belief: Belief) -> Tensor:
        """(H, C) log p(y | history), eq. 17; NaN where the history is impossible."""
        joint = self.log_joint(belief)
        return joint - torch.logsumexp(joint, dim=1, keepdim=True)

    def class_ess(self, belief: Belief) -> FloatArray:
        """(H, C) effective number of states in each class, (sum w)^2 / sum w^2."""
        parts = [weight_ess(belief.log_weights[:, a:b]) for a, b in segments(self.model.offsets)]
        return np.asarray(torch.stack(parts, dim=1).cpu().numpy())

    def class_errors(self, belief: Belief) -> FloatArray:
        """(H, C) standard errors of p(y | history): none."""
        return np.zeros((len(belief), self.model.n_classes))

    def _multiply_one(self, log_weights: Tensor, slots: Tensor) -> None:
        """Multiply the weights of one history by the probabilities of the values that it has seen, in place."""
        log_weights += self.model.log_product(slots[slots != UNKNOWN])

    def _multiply(self, log_weights: Tensor, rows: list[int], slots: Tensor) -> None:
        """The same for many histories that have seen one value each."""
        mine = torch.as_tensor(rows, device=slots.device)
        # a few rows at a time, so that what is gathered is still in the cache when it is added
        size = max(1, CACHE // (8 * self.model.n_states))
        for start in range(0, len(rows), size):
            some = mine[start : start + size]
            log_weights.index_add_(0, some, self.model.rows(slots[some]).log_().to(log_weights.dtype))

    def _absorb(
        self, log_weights: Tensor, evidence: Tensor, rows: Tensor, slots: Tensor, shift: Tensor, seen: Tensor
    ) -> None:
        """Weigh the values of one atom by how well they agree with its answer, in place in the new rows: ``shift``
        (n, V) is 0 for those that do, -inf for those that are excluded. An atom of which nothing was known, and one
        value is left, is only noted in ``seen``.

        Each state's weight is multiplied by P(atom in what is left) / P(atom in what was left before): 1 for an atom
        that was known already (a pixel under an earlier patch), so that nothing is counted twice.
        """
        before = torch.where(slots >= 0, evidence[rows[:, None], slots.clamp(min=0)], NEVER)  # (n, V)
        after = before + shift
        changed = (after != before).any(dim=1)
        rows, slots, before, after = rows[changed], slots[changed], before[changed], after[changed]
        if not len(rows):
            return
        real = slots >= 0
        fresh = ((before == 0) | ~real).all(dim=1)
        single = fresh & (after.isfinite().sum(dim=1) == 1) & (after.amax(dim=1) == 0)
        if single.any():
            seen[rows[single]] = slots[single].gather(1, after[single].argmax(dim=1, keepdim=True))[:, 0]
        mixed = torch.nonzero(~single)[:, 0]
        size = max(1, CHUNK // (8 * slots.shape[1] * self.model.n_states))
        for start in range(0, len(mixed), size):
            some = mixed[start : start + size]
            left, was = self.model.log_masses(slots[some], torch.stack([after[some], before[some]], dim=1)).unbind(1)
            log_weights[rows[some]] += torch.where(left > NEVER, left - was, NEVER)
        where = real.nonzero(as_tuple=True)
        evidence[rows[where[0]], slots[where]] = after[where]
