"""Inputs as a model would make them: a class and a latent, then every atom by itself."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.autoencoder import VAE
from infopursuit.models.finite import FiniteModel
from infopursuit.types import Atoms, FloatArray, IntArray

AT_A_TIME = 512
"""Inputs that are drawn at a time."""


def draw_values(model: FiniteModel | VAE, n: int, seed: int = 0) -> IntArray:
    """(n, A) values of the atoms of inputs that are drawn from a model.

    >>> from infopursuit.models import TableModel
    >>> draw_values(TableModel([0.5, 0.5], None, [[1.0, 0.0], [1.0, 0.0]]), 2).tolist()
    [[1, 0], [1, 0]]
    """
    generator = torch.Generator().manual_seed(seed)
    parts = [np.empty((0, len(model.atoms)), dtype=np.int64)]
    for start in range(0, n, AT_A_TIME):
        size = min(AT_A_TIME, n - start)
        drawn = _finite(model, size, generator) if isinstance(model, FiniteModel) else _decoded(model, size, generator)
        uniform = torch.rand((size, len(model.atoms)), generator=generator, dtype=torch.float64).numpy()
        parts.append(_values(model.atoms, drawn, uniform))
    return np.concatenate(parts)


def _finite(model: FiniteModel, n: int, generator: torch.Generator) -> FloatArray:
    """(n, L) the probabilities of all atom values in states that are drawn by their weight."""
    cumulative = torch.softmax(model.log_prior.cpu(), dim=0).cumsum(0)
    points = torch.rand(n, generator=generator, dtype=torch.float64) * cumulative[-1]
    states = torch.searchsorted(cumulative, points, right=True).clamp(max=model.n_states - 1)
    return _array(model.state_probs(states.to(model.device)).T)


@torch.no_grad()
def _decoded(model: VAE, n: int, generator: torch.Generator) -> FloatArray:
    """(n, L) the same of latents that are drawn from the prior."""
    prior = torch.as_tensor(model.class_prior)
    labels = torch.multinomial(prior, n, replacement=True, generator=generator).to(model.device)
    return _array(model.log_probs(model.draw_prior(labels, generator), labels).exp())


def _values(atoms: Atoms, probs: FloatArray, uniform: FloatArray) -> IntArray:
    """(n, L) probabilities and (n, A) uniform numbers -> (n, A) values: how many cumulative sums lie below."""
    values = np.empty(uniform.shape, dtype=np.int64)
    sizes = np.array(atoms.sizes)
    for size in np.unique(sizes).tolist():
        mine = np.flatnonzero(sizes == size)
        slots = atoms.offsets[mine][:, None] + np.arange(size)
        cumulative = probs[:, slots].cumsum(axis=2)  # (n, atoms, size)
        points = uniform[:, mine, None] * cumulative[:, :, -1:]
        values[:, mine] = np.minimum((cumulative <= points).sum(axis=2), size - 1)
    return values


def _array(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.to(torch.float64).cpu().numpy())
