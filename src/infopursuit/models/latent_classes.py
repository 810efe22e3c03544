"""EM for a mixture of independent atoms in each class."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.sample import Sample
from infopursuit.threads import side_by_side
from infopursuit.types import UNKNOWN, FloatArray

ABREAST = 4
"""Classes that are fitted at the same time, at the most: each has a table of its rows."""


def fit_latent_classes(
    sample: Sample, n_latents: int, smoothing: float = 1.0, seed: int = 0, *, rounds: int = 60, tolerance: float = 1e-5
) -> tuple[FloatArray, FloatArray]:
    """p(z | y) (C, Z) and P(value | z, y) (C, Z, L), at a maximum of the posterior.

    The prior draws each table towards the class's own frequencies as if ``smoothing`` more rows had been seen, and
    p(z | y) towards even shares. A class with fewer rows than latent states still gets a proper mixture: its spare
    states are its frequencies.
    """
    marginals = sample.marginals(smoothing)
    latent = np.empty((sample.n_classes, n_latents))
    tables = np.empty((sample.n_classes, n_latents, sample.atoms.n_slots))

    def one(c: int) -> None:
        rows = np.flatnonzero(sample.labels == c)
        latent[c], tables[c] = _fit_class(
            sample.take(rows), marginals[c], n_latents, smoothing, seed + c, rounds, tolerance
        )

    side_by_side(one, sample.n_classes, most=ABREAST)
    return latent, tables


def _fit_class(
    sample: Sample, marginal: FloatArray, n_latents: int, smoothing: float, seed: int, rounds: int, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    if not len(sample):
        return np.full(n_latents, 1 / n_latents), np.tile(marginal, (n_latents, 1))
    shown = one_hot(sample)  # (N, L)
    weights, base = torch.as_tensor(sample.weights), torch.as_tensor(marginal)
    atom_of = torch.as_tensor(sample.atoms.slot_atom)
    share, table = _start(sample, shown, base, n_latents, seed), base.expand(n_latents, -1)
    before = -torch.inf
    mixing = torch.full((n_latents,), 1 / n_latents, dtype=torch.float64)
    for _ in range(rounds):
        # M step: share (N, Z) are responsibilities times weights
        counts = share.T @ shown  # (Z, L)
        total = torch.zeros((n_latents, len(sample.atoms)), dtype=torch.float64).index_add_(1, atom_of, counts)
        table = (counts + smoothing * base) / (total[:, atom_of] + smoothing)
        mixing = (share.sum(0) + 1) / (share.sum() + n_latents)
        # E step
        joint = shown @ table.log().T + mixing.log()
        log_likelihood = torch.logsumexp(joint, dim=1)
        share = torch.softmax(joint, dim=1) * weights[:, None]
        now = float((log_likelihood * weights).sum() / weights.sum())
        if now - before < tolerance:
            break
        before = now
    return mixing.numpy(), table.numpy()


def _start(sample: Sample, shown: Tensor, base: Tensor, n_latents: int, seed: int) -> Tensor:
    """(N, Z) first responsibilities: rows go to the nearest of Z seeds that lie far apart (k-means++ on
    log-likelihood ratios)."""
    rng = np.random.default_rng(seed)
    surprise = shown * (1 - base)  # rare values tell rows apart best
    distance = torch.full((len(sample),), torch.inf, dtype=torch.float64)
    weights = torch.as_tensor(sample.weights)
    centres = [int(np.searchsorted(np.cumsum(sample.weights), rng.random() * sample.weights.sum()))]
    lengths = (surprise**2).sum(1)
    gaps = [_gap(surprise, lengths, centres[0])]
    for _ in range(1, min(n_latents, len(sample))):
        distance = torch.minimum(distance, gaps[-1])
        pull = (distance * weights).cumsum(0)
        if float(pull[-1]) <= 0:
            break
        centres.append(int(torch.searchsorted(pull, rng.random() * float(pull[-1])).clamp(max=len(sample) - 1)))
        gaps.append(_gap(surprise, lengths, centres[-1]))
    near = torch.nn.functional.one_hot(torch.stack(gaps, dim=1).argmin(1), n_latents).to(torch.float64)
    return (0.9 * near + 0.1 / n_latents) * weights[:, None]


def _gap(places: Tensor, lengths: Tensor, centre: int) -> Tensor:
    """(N,) squared distances from one of the rows; by a product, which reads the rows once."""
    gap = lengths + lengths[centre] - 2 * (places @ places[centre])
    gap[centre] = 0.0
    return gap.clamp_(min=0.0)


def one_hot(sample: Sample) -> Tensor:
    """(N, L) 1 at the slot of every known value."""
    shown = torch.zeros((len(sample), sample.atoms.n_slots), dtype=torch.float64)
    row, atom = np.nonzero(sample.values != UNKNOWN)
    shown[row, sample.values[row, atom] + sample.atoms.offsets[atom]] = 1
    return shown
