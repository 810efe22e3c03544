"""`bank`: the posterior of a finite model with very many states, yes/no atoms only: not exact, but much faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import FiniteModel
from infopursuit.models.union import UnionModel
from infopursuit.posteriors.bank import BLOCK, BankBelief, BankPosterior, Pool
from infopursuit.posteriors.states import States, all_yes_no
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import FloatArray, IntArray

LEAST, MOST_BYTES = 1e-6, 8 * 2**30
"""Probabilities below which products of four are not safe in a float32; memory that the tables may take."""


@dataclass(frozen=True)
class Bank:
    """Settings of `bank`.

    pooled: whether the models of a `UnionModel` keep their shares whatever is answered. What is believed is then the
    mean of what they believe, each by itself (a linear opinion pool), and not Bayes' rule for all of them together, by
    which the one that has made the answers likeliest soon is the only one that counts. Models that are sure of too much
    are less so together.
    """

    pooled: bool = False
    kind: ClassVar[str] = "bank"

    def build(self, model: FiniteModel, queries: QuerySet) -> FiniteBank:
        """The posterior with these settings."""
        return FiniteBank(model, queries, pooled=self.pooled)


class FiniteBank:
    """p(z, y | history) with float32 weights in blocks of states that are alike; blocks that have next to no weight are
    let go. What one answer makes be let go has a weight of 3e-4 at the most, and stays with its class."""

    name: ClassVar[str] = "bank"
    exact: ClassVar[bool] = False
    weighs: ClassVar[bool] = False

    def __init__(self, model: FiniteModel, queries: QuerySet, *, pooled: bool = False) -> None:
        if not all_yes_no(model) or not queries.parts.plain:
            raise ValueError("posterior='bank' needs yes/no atoms and queries that reveal them; use 'exact'")
        if model.device.type != "cpu":
            raise ValueError(f"posterior='bank' works on the CPU, and the model is on {model.device}; use 'exact'")
        size = 8 * model.n_states * len(model.atoms)
        if size > MOST_BYTES:
            raise ValueError(
                f"posterior='bank' would take {size / 2**30:.3g} GiB for {model.n_states} states of "
                f"{len(model.atoms)} atoms, more than {MOST_BYTES / 2**30:g}; use 'exact', or fewer examples"
            )
        if pooled and not isinstance(model, UnionModel):
            raise ValueError(f"pooled=True needs a UnionModel, and the model is {type(model).__name__}")
        self.model, self.queries = model, queries
        pool = Pool(model.shares, *model.runs()) if pooled and isinstance(model, UnionModel) else None
        states = States.alike(model, BLOCK, None if pool is None else pool.runs)
        low, high = float(states.by_state.min()), float(states.by_state.max())
        if low < LEAST / 2 or high > 1 - LEAST / 2:
            raise ValueError(
                f"posterior='bank' needs probabilities from {LEAST:g} to 1 - {LEAST:g}, and the model has "
                f"{min(low, 1 - high):.1g}; use 'exact', or more smoothing"
            )
        self.bank = BankPosterior(states, queries, pool)

    @property
    def row_bytes(self) -> int:
        """What one history may take, its parent included."""
        return self.bank.row_bytes

    def start(self) -> BankBelief:
        """The belief of the one empty history."""
        return self.bank.start()

    def refresh(self, belief: BankBelief, keys: Sequence[bytes], rows: Sequence[int] | None = None) -> BankBelief:
        """Nothing is drawn, so nothing is ever to be drawn anew."""
        return belief

    def update(
        self,
        belief: BankBelief,
        parents: IntArray,
        queries: IntArray,
        answers: IntArray,
        keys: Sequence[bytes] = (),
        weights: FloatArray | None = None,
    ) -> BankBelief:
        """Histories ``parents`` (rows of ``belief``), each longer by one answer (H, W), taken as it is."""
        return self.bank.update(belief, parents, queries, answers)

    def log_joint(self, belief: BankBelief) -> Tensor:
        """(H, C) log p(y, history)."""
        return self.bank.log_joint(belief)

    def log_class(self, belief: BankBelief) -> Tensor:
        """(H, C) log p(y | history), eq. 17; NaN where the history is impossible."""
        joint = self.log_joint(belief)
        return joint - torch.logsumexp(joint, dim=1, keepdim=True)

    def class_ess(self, belief: BankBelief) -> FloatArray:
        """(H, C) effective number of states in each class."""
        return self.bank.class_ess(belief)

    def class_errors(self, belief: BankBelief) -> FloatArray:
        """(H, C) standard errors of p(y | history): nothing is drawn, so none."""
        return np.zeros((len(belief), self.model.n_classes))
