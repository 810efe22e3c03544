"""Gains of yes/no atoms where each class is one latent state: H(answer) - sum over y of p(y) H(answer | y).

H(answer | y) never changes, so that a history costs two products and one entropy for each atom, where the joint table
of each atom and the class has an entry for each class.
"""

from __future__ import annotations

import torch
from torch import Tensor

from infopursuit.information.singles import AT_A_TIME, filled
from infopursuit.models.finite import FiniteModel
from infopursuit.queries.queryset import QuerySet
from infopursuit.threads import side_by_side


class OneState:
    """What does not change from one history to the next. yes: (C, A) P(yes | y); doubt: (C, A) H(answer | y)."""

    def __init__(self, model: FiniteModel) -> None:
        table = model.state_probs(torch.arange(model.n_states, device=model.device))
        self.yes = table[1::2].T.to(torch.float64).contiguous()
        self.doubt = doubt(self.yes)

    @staticmethod
    def serves(model: FiniteModel, queries: QuerySet) -> bool:
        """Whether the model has one state for each class and all atoms are yes/no, asked as they are."""
        one = model.n_states == model.n_classes and bool((model.offsets[1:] - model.offsets[:-1] == 1).all())
        return one and queries.parts.plain and set(model.atoms.sizes) == {2}

    def gains(self, weights: Tensor, evidence: Tensor) -> Tensor:
        """(H, A) the gain of each atom: nothing for one that is known.

        weights: (H, C) p(y | history). evidence: (H, L) as in `Belief`.
        """
        gains = torch.empty((len(weights), self.yes.shape[1]), dtype=torch.float64, device=weights.device)

        def some(i: int) -> None:
            mine = slice(i * AT_A_TIME, (i + 1) * AT_A_TIME)
            p = filled(weights[mine])
            found = doubt((p @ self.yes).clamp_(0, 1)) - p @ self.doubt
            gains[mine] = found[: len(gains[mine])]

        side_by_side(some, -(-len(weights) // AT_A_TIME))
        known = (evidence[:, 0::2] != 0) | (evidence[:, 1::2] != 0)
        return gains.clamp_(min=0).masked_fill_(known, 0.0)


def doubt(yes: Tensor) -> Tensor:
    """The entropy of an answer that is yes with these probabilities, nats.

    >>> doubt(torch.tensor([0.0, 0.5, 1.0])).abs().tolist()
    [0.0, 0.6931471824645996, 0.0]
    """
    no = 1 - yes
    return -(torch.xlogy(yes, yes) + torch.xlogy(no, no))
