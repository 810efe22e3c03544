"""A cloud: draws of the latent, decoded. To everything that asks about probabilities it is a finite model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import FiniteModel
from infopursuit.models.vae import VAE
from infopursuit.posteriors.diagnostics import Diagnostics
from infopursuit.posteriors.exact import Belief
from infopursuit.types import FloatArray, IntArray

DECODED = 512
"""Latents that are decoded at a time."""


class Cloud(FiniteModel):
    """Draws of (y, z), sorted by class, as the states of a finite model.

    latents: (S, D). offsets: (C + 1,) where the draws of each class begin. log_prior: (S,) log of their weights.
    """

    kind = "cloud"

    def __init__(self, model: VAE, latents: Tensor, offsets: IntArray, log_prior: Tensor) -> None:
        self.latents = latents
        labels = torch.repeat_interleave(
            torch.arange(model.n_classes, device=latents.device),
            torch.as_tensor(np.diff(offsets), device=latents.device),
        )
        by_state = decode(model, latents, labels)  # (S, L), or (S, A) P(yes) where all atoms are yes/no
        self.by_state = by_state
        self.binary = model.features.binary
        super().__init__(model.atoms, log_prior, offsets, self._by_slot(by_state))

    def _by_slot(self, by_state: Tensor) -> Tensor:
        columns = by_state.T.contiguous()
        return torch.stack([1 - columns, columns], dim=1).flatten(0, 1) if self.binary else columns

    def state_probs(self, states: Tensor) -> Tensor:
        """(L, M) the probability of all atom values in some states; rows lie together, so that few bytes are read."""
        return self._by_slot(self.by_state[states])


@torch.no_grad()
def decode(model: VAE, latents: Tensor, labels: Tensor) -> Tensor:
    """(S, D) -> (S, L) probabilities of all atom values, or (S, A) of "yes" where all atoms are yes/no."""
    binary = model.features.binary
    table = torch.empty(
        (len(latents), len(model.atoms) if binary else model.atoms.n_slots), dtype=model.dtype, device=model.device
    )
    for start in range(0, len(latents), DECODED):
        some = slice(start, start + DECODED)
        logits = model.logits(latents[some], labels[some])
        # kept off 0 and 1 by what a float32 can tell apart, so that no answer is impossible
        table[some] = logits.sigmoid().clamp(1e-6, 1 - 1e-6) if binary else model.features.slot_log_probs(logits).exp()
    return table


@dataclass(frozen=True)
class Own:
    """The draws that one history has to itself: a cloud, the belief (one row) on it, and how good the draws are."""

    cloud: Cloud
    belief: Belief
    info: Diagnostics


@dataclass(frozen=True)
class SampledBelief:
    """What H histories say, by draws.

    shared: (H rows) weights of the draws that all histories share; what it says of a history with draws of its own is
    out of date. own: those draws, None for histories that use the shared ones. fresh: (H,) whether the draws have
    been looked after since the last answer.
    """

    shared: Belief
    own: tuple[Own | None, ...]
    fresh: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.own)

    def take(self, rows: Any) -> SampledBelief:
        """Some of the histories."""
        index = np.arange(len(self))[rows.cpu().numpy() if isinstance(rows, Tensor) else rows]
        return SampledBelief(
            self.shared.take(rows), tuple(self.own[i] for i in index), tuple(self.fresh[i] for i in index)
        )


def stratified_prior(model: Any, n_draws: int, generator: torch.Generator) -> tuple[Tensor, IntArray, Tensor]:
    """``n_draws`` latents of each class from p(z), the offsets of the classes, and the log weights log p(y) / n."""
    labels = torch.arange(model.n_classes, device=model.device).repeat_interleave(n_draws)
    latents = model.draw_prior(labels, generator)
    with np.errstate(divide="ignore"):
        prior: FloatArray = np.log(model.class_prior) - np.log(n_draws)
    log_prior = torch.as_tensor(prior, device=model.device)[labels]
    return latents, np.arange(model.n_classes + 1) * n_draws, log_prior
