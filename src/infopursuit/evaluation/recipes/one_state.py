"""Gains where each class is one latent state: H(answer) - sum p(y) H(answer | y), by two matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from infopursuit.engine import Pursuit
from infopursuit.information.chooser import Chooser
from infopursuit.information.gain import entropy
from infopursuit.models.finite import FiniteModel
from infopursuit.posteriors.exact import Belief
from infopursuit.types import FloatArray


class OneStateChooser(Chooser):
    """The same gains as `Chooser`, some ten times faster: H(answer | y) is computed once, not after every history.

    For naive Bayes on yes/no atoms, each asked by one query.
    """

    def __init__(self, pursuit: Pursuit) -> None:
        model = pursuit.model
        if not isinstance(model, FiniteModel) or model.n_states != model.n_classes:
            raise ValueError("model must have one latent state for each class, as naive Bayes has")
        if not pursuit.queries.parts.plain or set(model.atoms.sizes) != {2}:
            raise ValueError("queries must ask yes/no atoms one by one, as ip.queries.concepts does")
        super().__init__(model, pursuit.queries, exact_gains=True, budget=pursuit.budget, seed=pursuit.seed)
        self._yes = model.probs[1::2].T.to(torch.float64)  # (C, A)
        self._doubt = entropy(torch.stack([self._yes, 1 - self._yes]), dim=0)

    def part_gains(self, belief: Belief, model: FiniteModel) -> FloatArray:
        """(H, A) the gain of each atom; one that was asked before may get anything, it is not asked again."""
        weights = torch.softmax(belief.log_weights, dim=1)
        yes = (weights @ self._yes).clamp(0, 1)
        gains = entropy(torch.stack([yes, 1 - yes]), dim=0) - weights @ self._doubt
        return np.asarray(gains.clamp(min=0).numpy())


def one_state_pursuit(*arguments: Any, **options: Any) -> Pursuit:
    """A `Pursuit` with naive Bayes that asks what any other would, and finds it sooner."""
    pursuit = Pursuit(*arguments, **options)
    pursuit.chooser = OneStateChooser(pursuit)
    return pursuit
