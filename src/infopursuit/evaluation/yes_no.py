"""Gains of yes/no questions on a model with one state for each class, at a twentieth of the arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from infopursuit.engine import Pursuit
from infopursuit.information.chooser import Chooser
from infopursuit.models.finite import FiniteModel
from infopursuit.posteriors.exact import Belief
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import FloatArray

AT_A_TIME = 128
"""Histories whose tables of a thousand atoms stay in the cache together."""
TINY = 1e-300


class YesNoChooser(Chooser):
    """The same gains as `Chooser`, where they are I(q; Y) = h(sum_y p(y) p(q | y)) - sum_y p(y) h(q | y).

    The entropies h(q | y) never change: a history costs two products and one entropy for each atom, where the joint
    table of each atom and the class has an entry for each class.
    """

    def __init__(self, model: FiniteModel, queries: QuerySet, **settings: Any) -> None:
        super().__init__(model, queries, **settings)
        if model.n_states != model.n_classes or set(model.atoms.sizes) != {2}:
            raise ValueError(
                f"model has {model.n_states} states for {model.n_classes} classes and atoms of up to "
                f"{max(model.atoms.sizes)} values; use Chooser where it is not one state a class and yes/no atoms"
            )
        self._yes = model.probs[1::2].T.to(torch.float64).contiguous()  # (C, A)
        self._entropy = _entropy(self._yes)

    def part_gains(self, belief: Belief, model: FiniteModel) -> FloatArray:
        """(H, P) the gain of each part alone."""
        weights = torch.softmax(belief.log_weights, dim=1)
        gains = torch.empty((len(weights), self._yes.shape[1]), dtype=torch.float64)
        for start in range(0, len(weights), AT_A_TIME):
            some = slice(start, start + AT_A_TIME)
            gains[some] = _entropy(weights[some] @ self._yes) - weights[some] @ self._entropy
        seen = (belief.evidence[:, 0::2] != 0) | (belief.evidence[:, 1::2] != 0)
        gains = gains.clamp_(min=0).masked_fill_(seen, 0.0)
        return np.asarray(gains.numpy()[:, self.queries.parts.atom])


def yes_no_pursuit(model: FiniteModel, queries: QuerySet, **settings: Any) -> Pursuit:
    """A pursuit that chooses by `YesNoChooser`; the settings are those of `Pursuit`."""
    pursuit = Pursuit(model, queries, **settings)
    pursuit.chooser = YesNoChooser(model, queries, exact_gains=True, seed=pursuit.seed)
    return pursuit


def _entropy(yes: torch.Tensor) -> torch.Tensor:
    """h(p) of a yes with probability p, nats."""
    no = 1 - yes
    return -(yes * yes.clamp(min=TINY).log() + no * no.clamp(min=TINY).log())
