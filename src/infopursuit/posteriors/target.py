"""The law that a sampler aims at: log p(z | y) + log p(evidence | z, y)."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.autoencoder import VAE
from infopursuit.posteriors.chains import LogDensity
from infopursuit.posteriors.cloud import LEAST


def target(model: VAE, labels: Tensor, evidence: Tensor) -> LogDensity:
    """The log density of the latents of chains with labels (N,) after a history with evidence (L,).

    An atom's factor is its evidence-weighted probability, sum over its values; atoms that nothing is known of have
    factor one and are left out. Probabilities have the floor that they have in a cloud, or moves would aim at another
    law than the weights.
    """
    atoms = model.atoms
    touched = np.unique(atoms.slot_atom[torch.nonzero(evidence != 0)[:, 0].cpu().numpy()])
    slots = torch.as_tensor(atoms.slots[touched], device=evidence.device)  # (T, V)
    weights = torch.where(slots >= 0, evidence[slots.clamp(min=0)], -torch.inf).to(model.dtype)
    rest = torch.log1p(-LEAST * (slots >= 0).sum(1, dtype=torch.float64)).to(weights)  # (T,)
    floor = torch.tensor(math.log(LEAST), dtype=weights.dtype, device=weights.device)

    def log_density(latents: Tensor) -> Tensor:
        prior = model.log_prior(latents, labels)
        if not len(touched):
            return prior
        if model.features.binary and bool((weights.isneginf().sum(1) == 1).all()):
            # each is known to be yes or no: one logit each, which is cheaper than all values of all atoms
            sign = torch.where(weights[:, 1].isneginf(), -1.0, 1.0).to(latents)
            known = weights.amax(1)
            log_yes = torch.nn.functional.logsigmoid(sign * model.logits(latents, labels)[:, touched])
            return prior + (torch.logaddexp(log_yes + rest, floor) + known).sum(1)
        log_probs = model.log_probs(latents, labels)[:, slots.clamp(min=0)]  # (N, T, V)
        log_probs = torch.logaddexp(log_probs + rest[:, None], floor)
        return prior + torch.logsumexp(log_probs + weights, dim=-1).sum(1)

    return log_density
