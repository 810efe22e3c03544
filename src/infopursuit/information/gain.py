"""Entropy, divergence and mutual information of small tables, in nats."""

from __future__ import annotations

import torch
from torch import Tensor


def entropy(p: Tensor, dim: int = -1) -> Tensor:
    """H(p) = -sum p log p over one axis.

    >>> round(float(entropy(torch.tensor([0.5, 0.5]))), 4)
    0.6931
    """
    return -torch.xlogy(p, p).sum(dim)


def kl_divergence(p: Tensor, q: Tensor) -> Tensor:
    """KL(p || q) over the last axis; infinite where p puts weight and q none."""
    return (torch.xlogy(p, p) - torch.xlogy(p, q)).sum(-1).clamp(min=0)


def gain(joint: Tensor) -> Tensor:
    """I(answer; Y) from p(answer, y), eq. 18: (..., K, C) -> (...).

    The table need not be normalised.

    >>> float(gain(torch.tensor([[0.5, 0.0], [0.0, 0.5]]))).__round__(4)
    0.6931
    """
    joint = joint / joint.sum((-1, -2), keepdim=True)
    answer, label = joint.sum(-1), joint.sum(-2)
    terms = torch.xlogy(joint, joint).sum((-1, -2)) + entropy(answer) + entropy(label)
    return terms.clamp(min=0)
