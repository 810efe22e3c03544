"""Fewer states with the same law: heavy states are kept as they are, light ones drawn by systematic resampling.

The scheme of Fearnhead and Clifford (2003): a threshold t is found such that keeping every state heavier than t and drawing the
others so that each drawn one weighs t gives the wanted number; every weight keeps its expectation, and no scheme with that
many states has less variance.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from torch import Tensor


def uniform_of(seed: int, history: bytes) -> float:
    """A number in [0, 1) that depends on the seed and the history only: the same in every process and every batch."""
    digest = hashlib.blake2b(history, digest_size=8, key=seed.to_bytes(8, "little", signed=True)).digest()
    return int.from_bytes(digest, "little") / 2**64


def resample(weights: Tensor, size: int, uniform: float) -> tuple[Tensor, Tensor, Tensor]:
    """(S,) weights that sum to one -> states (M,), in order, their weights (M,), and which were drawn rather than kept (M,)."""
    if len(weights) <= size:
        states = torch.nonzero(weights > 0)[:, 0]
        return states, weights[states], torch.zeros(len(states), dtype=torch.bool, device=weights.device)
    threshold = 1.0 / size
    heavy = weights > threshold
    for _ in range(64):  # each round lowers the threshold; it settles after a handful
        rest = size - int(heavy.sum())
        lower = float(weights[~heavy].sum()) / max(rest, 1)
        more = weights > lower
        if torch.equal(more, heavy):
            break
        heavy = more
    n_light = size - int(heavy.sum())
    kept = torch.nonzero(heavy)[:, 0]
    light = torch.where(heavy, 0.0, weights)
    cumulative = light.cumsum(0)
    step = float(cumulative[-1]) / max(n_light, 1)
    if n_light <= 0 or step <= 0:
        return kept, weights[kept], torch.zeros(len(kept), dtype=torch.bool, device=weights.device)
    points = (torch.as_tensor(np.arange(n_light) + uniform, dtype=weights.dtype, device=weights.device)) * step
    # right: a point on a boundary belongs to the state above it, so that one of weight zero is never drawn
    drawn = torch.searchsorted(cumulative, points, right=True).clamp(max=len(weights) - 1)
    states = torch.cat([kept, drawn])
    mass = torch.cat([weights[kept], torch.full_like(points, step)])
    order = torch.argsort(states, stable=True)
    return states[order], mass[order], order >= len(kept)
