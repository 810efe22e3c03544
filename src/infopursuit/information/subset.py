"""Fewer states with the same law: heavy states are kept as they are, light ones drawn by systematic resampling.

The scheme of Fearnhead and Clifford (2003): a threshold t is found such that keeping every state heavier than t and
drawing the others so that each drawn one weighs t gives the wanted number; every weight keeps its expectation, and no
scheme with that many states has less variance.
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
    """(S,) weights that sum to one -> states (M,), in order, their weights (M,), and which were drawn rather than
    kept (M,)."""
    if len(weights) <= size:
        states = torch.nonzero(weights > 0)[:, 0]
        return states, weights[states], torch.zeros(len(states), dtype=torch.bool, device=weights.device)
    heavy = weights > _threshold(weights, size)
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


def _threshold(weights: Tensor, size: int) -> float:
    """The weight t with sum(min(w / t, 1)) = size: states above it are kept, those below drawn."""
    # sorting the few states that may matter is much cheaper than sorting all; how few they are shows when they suffice
    for least in (0.1 / size, 1e-3 / size, 1e-6 / size, 1e-10 / size, -1.0):
        # heaviest first; the k heaviest are kept if the next one is lighter than its share of what the k leave over
        top = weights[weights > least].sort(descending=True).values.cpu().numpy()
        left = 1.0 - np.concatenate([[0.0], np.cumsum(top)])
        share = left[:size] / (size - np.arange(min(size, len(left))))
        following = np.append(top, 0.0)[: len(share)]
        fits = np.flatnonzero(following <= share)
        if len(fits) and share[fits[0]] > least:
            return float(share[fits[0]])
    return 0.0
