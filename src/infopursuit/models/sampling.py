"""Inputs sampled from a model: a class and a latent state, then every atom independently."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from infopursuit.types import Atoms, FloatArray, IntArray

BATCH = 512
"""Inputs that are sampled at a time."""


def sample_values(model: Any, n: int, seed: int = 0) -> IntArray:
    """(n, A) values of the atoms of inputs that are sampled from a finite model or a VAE.

    >>> from infopursuit.models import TableModel
    >>> sample_values(TableModel([0.5, 0.5], None, [[1.0, 0.0], [1.0, 0.0]]), 2).tolist()
    [[1, 0], [1, 0]]
    """
    rng = np.random.default_rng(seed)
    parts = [np.empty((0, len(model.atoms)), dtype=np.int64)]
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        if hasattr(model, "state_probs"):
            states = rng.choice(model.n_states, size=size, p=softmax(as_array(model.log_prior)))
            probs = state_table(model, states).T
        else:
            probs = _decoded(model, size, seed=int(rng.integers(2**62)))
        parts.append(_values(model.atoms, probs, rng.random((size, len(model.atoms)))))
    return np.concatenate(parts)


def state_table(model: Any, states: IntArray) -> FloatArray:
    """(L, M) the probability of all atom values in some states (M,) of a finite model, as a new array."""
    rows: Any = states
    if not isinstance(model.log_prior, np.ndarray):
        import torch

        rows = torch.as_tensor(states, device=model.log_prior.device)
    return np.array(as_array(model.state_probs(rows)))


def as_array(values: Any) -> FloatArray:
    """A numpy array or a tensor, wherever it is, as float64."""
    values = values.detach().cpu() if hasattr(values, "detach") else values
    return np.asarray(values, dtype=np.float64)


def _decoded(model: Any, n: int, seed: int) -> FloatArray:
    """(n, L) the probability of all atom values at latents that are drawn from the prior of a VAE."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    labels = torch.multinomial(torch.as_tensor(model.class_prior), n, replacement=True, generator=generator)
    labels = labels.to(model.device)
    with torch.no_grad():
        return np.exp(as_array(model.log_probs(model.draw_prior(labels, generator), labels)))


def _values(atoms: Atoms, probs: FloatArray, uniform: FloatArray) -> IntArray:
    """(n, L) probabilities and (n, A) uniform numbers -> (n, A) values: how many cumulative sums lie below."""
    values = np.empty(uniform.shape, dtype=np.int64)
    sizes = np.array(atoms.sizes)
    for size in np.unique(sizes).tolist():
        mine = np.flatnonzero(sizes == size)
        cumulative = probs[:, atoms.offsets[mine][:, None] + np.arange(size)].cumsum(axis=2)  # (n, atoms, size)
        points = uniform[:, mine, None] * cumulative[:, :, -1:]
        values[:, mine] = np.minimum((cumulative <= points).sum(axis=2), size - 1)
    return values
