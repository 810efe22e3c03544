"""Inputs sampled from a model: a class and a latent state, then every variable independently."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.models.finite import softmax
from infopursuit.types import FloatArray, IntArray, Variables

BATCH = 512
"""Inputs that are sampled at a time."""


def sample_values(model: Any, n: int, seed: int = 0) -> IntArray:
    """(n, A) values of the variables of inputs that are sampled from a finite model or a VAE.

    >>> from infopursuit.models import TableModel
    >>> sample_values(TableModel([0.5, 0.5], None, [[1.0, 0.0], [1.0, 0.0]]), 2).tolist()
    [[1, 0], [1, 0]]
    """
    rng = np.random.default_rng(seed)
    parts = [np.empty((0, len(model.variables)), dtype=np.int64)]
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        if hasattr(model, "state_probs"):
            states = rng.choice(model.n_states, size=size, p=softmax(model.log_prior))
            probs = model.state_probs(states).T.astype(np.float64)
        else:
            probs = _decoded(model, size, seed=int(rng.integers(2**62)))
        parts.append(_values(model.variables, probs, rng.random((size, len(model.variables)))))
    return np.concatenate(parts)


def _decoded(model: Any, n: int, seed: int) -> FloatArray:
    """(n, L) the probability of all variable values at latents that are drawn from the prior of a VAE."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    labels = torch.multinomial(torch.as_tensor(model.class_prior), n, replacement=True, generator=generator)
    labels = labels.to(model.device)
    with torch.no_grad():
        log_probs = model.log_probs(model.draw_prior(labels, generator), labels)
        return np.asarray(np.exp(log_probs.to(torch.float64).cpu().numpy()))


def _values(variables: Variables, probs: FloatArray, uniform: FloatArray) -> IntArray:
    """(n, L) probabilities and (n, A) uniform numbers -> (n, A) values: how many cumulative sums lie below."""
    values = np.empty(uniform.shape, dtype=np.int64)
    sizes = np.array(variables.sizes)
    for size in np.unique(sizes).tolist():
        mine = np.flatnonzero(sizes == size)
        cumulative = probs[:, variables.offsets[mine][:, None] + np.arange(size)].cumsum(axis=2)  # (n, variables, size)
        points = uniform[:, mine, None] * cumulative[:, :, -1:]
        values[:, mine] = np.minimum((cumulative <= points).sum(axis=2), size - 1)
    return values
