"""A cloud: draws of the latent, decoded. To everything that asks about probabilities it is a finite model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.autoencoder import VAE
from infopursuit.models.finite import segments
from infopursuit.posteriors.alike import alike
from infopursuit.posteriors.diagnostics import Diagnostics, sum_variance
from infopursuit.posteriors.exact import Belief
from infopursuit.posteriors.states import States
from infopursuit.progress import Progress
from infopursuit.threads import side_by_side
from infopursuit.types import FloatArray, IntArray

DECODED = 512
"""Latents that are decoded at a time."""
LEAST = 1e-6
"""Every value of an atom has this probability at the least, whatever the decoder says, so that no answer is impossible:
the others give way to it. It is more than the least that a float32 can tell from 0 and 1."""


class Cloud(States):
    """Draws of (y, z), sorted by class, as the states of a finite model.

    latents: (S, D). offsets: (C + 1,) where the draws of each class begin. log_prior: (S,) log of their weights.
    family: (S,) draws of a class with the same number depend on each other: places of one chain, copies of one draw;
    None where all are independent. mass_variance: (C,) relative variance of each class's mass before any of these
    draws was made; None where it was known. block: put draws in such an order that runs of this many are `alike`.
    """

    kind = "cloud"

    def __init__(
        self,
        model: VAE,
        latents: Tensor,
        offsets: IntArray,
        log_prior: Tensor,
        family: Tensor | None = None,
        mass_variance: FloatArray | None = None,
        block: int | None = None,
    ) -> None:
        self.family = family
        self.mass_variance = np.zeros(model.n_classes) if mass_variance is None else mass_variance
        labels = torch.repeat_interleave(
            torch.arange(model.n_classes, device=latents.device),
            torch.as_tensor(np.diff(offsets), device=latents.device),
        )
        by_state = decode(model, latents, labels)  # (S, L), or (S, A) P(yes) where all atoms are yes/no
        if block is not None:
            order = torch.as_tensor(alike(by_state, offsets, block), device=latents.device)
            by_state, latents, log_prior = by_state[order], latents[order], log_prior[order]
            self.family = None if family is None else family[order]
        self.latents = latents
        super().__init__(model.atoms, log_prior, offsets, by_state)

    def variance_of(self, states: Tensor, terms: Tensor) -> float:
        """How much the sum of terms (M,), one for each of some draws, would vary from one cloud to another."""
        each = torch.zeros(self.n_states, dtype=torch.float64, device=self.device).index_add_(0, states, terms)
        total = 0.0
        for c, (a, b) in enumerate(segments(self.offsets)):
            mine, family = each[a:b], None if self.family is None else self.family[a:b]
            total += float(sum_variance(mine, family) + self.mass_variance[c] * mine.sum().square())
        return total


@torch.no_grad()
def decode(model: VAE, latents: Tensor, labels: Tensor) -> Tensor:
    """(S, D) -> (S, L) probabilities of all atom values, or (S, A) of "yes" where all atoms are yes/no."""
    binary = model.features.binary
    sizes = np.array(model.atoms.sizes)[model.atoms.slot_atom]
    rest = 1 - LEAST * (2 if binary else torch.as_tensor(sizes, dtype=model.dtype, device=model.device))
    table = torch.empty(
        (len(latents), len(model.atoms) if binary else model.atoms.n_slots), dtype=model.dtype, device=model.device
    )
    with Progress("decoding draws", len(latents)) as shown:

        @torch.no_grad()  # which holds for the thread that says so
        def some(i: int) -> None:
            mine = slice(i * DECODED, (i + 1) * DECODED)
            logits = model.logits(latents[mine], labels[mine])
            probs = logits.sigmoid() if binary else model.features.slot_log_probs(logits).exp()
            table[mine] = LEAST + rest * probs
            shown.advance(len(probs))

        side_by_side(some, -(-len(latents) // DECODED))
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

    shared: (H rows) weights of the draws that all histories share, a `Belief` or a `BankBelief`; what it says of a
    history with draws of its own is out of date. own: those draws, None for histories that use the shared ones. fresh:
    (H,) whether the draws have been looked after since the last answer.
    """

    shared: Any
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


def drawn(model: VAE, n_draws: int, seed: int = 0) -> Cloud:
    """``n_draws`` states of each class from the prior of a VAE, decoded: a finite model, for those who want one."""
    latents, offsets, log_prior = stratified_prior(model, n_draws, torch.Generator().manual_seed(seed))
    return Cloud(model, latents, offsets, log_prior)


def stratified_prior(model: Any, n_draws: int, generator: torch.Generator) -> tuple[Tensor, IntArray, Tensor]:
    """``n_draws`` latents of each class from p(z), the offsets of the classes, and the log weights log p(y) / n."""
    labels = torch.arange(model.n_classes, device=model.device).repeat_interleave(n_draws)
    latents = model.draw_prior(labels, generator)
    with np.errstate(divide="ignore"):
        prior: FloatArray = np.log(model.class_prior) - np.log(n_draws)
    log_prior = torch.as_tensor(prior, device=model.device)[labels]
    return latents, np.arange(model.n_classes + 1) * n_draws, log_prior
