"""`smc`: sequential Monte Carlo. One bank of draws for all histories; few histories ever need draws of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from infopursuit.models.vae import VAE
from infopursuit.posteriors.chains import adapt, mala, start
from infopursuit.posteriors.cloud import Own, SampledBelief
from infopursuit.posteriors.diagnostics import Diagnostics
from infopursuit.posteriors.sampled import SampledPosterior, check_settings
from infopursuit.posteriors.target import target
from infopursuit.queries.queryset import QuerySet

MATTERS = 1e-2
"""The posterior above which a class's draws must be enough."""


@dataclass(frozen=True)
class SMC:
    """Settings of `smc`.

    n_draws: draws of each class in the bank that all histories share, decoded once.
    least_ess: a history gets draws of its own when a class that matters has fewer effective draws than this.
    n_own: how many draws of each class that is.
    n_moves: Metropolis-corrected Langevin steps by which resampled draws are moved apart.
    step_size: of the first of them; adapted as they go.
    """

    kind: ClassVar[str] = "smc"
    n_draws: int = 2000
    least_ess: float = 4.0
    n_own: int = 128
    n_moves: int = 8
    step_size: float = 0.05

    def __post_init__(self) -> None:
        check_settings(self, whole={"n_draws": 1, "n_own": 2, "n_moves": 1}, positive=("step_size",))
        if not self.least_ess >= 0:
            raise ValueError(f"least_ess={self.least_ess} must be 0 or more; 0 never draws anew")

    def build(self, model: VAE, queries: QuerySet, seed: int = 0) -> SMCPosterior:
        """The posterior with these settings."""
        return SMCPosterior(model, queries, self, seed)


class SMCPosterior(SampledPosterior):
    """Weighted draws, resampled and moved when too few of them carry the weight."""

    name: ClassVar[str] = "smc"

    def __init__(self, model: VAE, queries: QuerySet, settings: SMC, seed: int = 0) -> None:
        self.settings = settings
        super().__init__(model, queries, settings.n_draws, seed)

    def _in_need(self, belief: SampledBelief, rows: list[int]) -> list[int]:
        if not rows or self.settings.least_ess <= 0:
            return []
        some = belief.take(np.asarray(rows))
        matters = self.log_class(some).exp().cpu().numpy() > MATTERS
        few = np.any((self.class_ess(some) < self.settings.least_ess) & matters, axis=1)
        return [rows[i] for i in np.flatnonzero(few)]

    def _renew(self, belief: SampledBelief, h: int, key: bytes) -> Own:
        cloud, mine = self.source(belief, h)
        one = belief.take(slice(h, h + 1))
        joint = self.log_joint(one)[0]
        worth = self._worth(self.log_class(one)[0])
        generator = self.generator(b"move" + key)
        n_own = self.settings.n_own
        evidence, parts, accepted = mine.evidence[0], [], []
        for c in range(self.model.n_classes):
            begin, end = int(cloud.offsets[c]), int(cloud.offsets[c + 1])
            weights = mine.log_weights[0, begin:end]
            if c not in worth:
                # its mass is kept on its heaviest draw
                parts.append(cloud.latents[begin:end][weights.argmax()[None]])
                continue
            shift = torch.rand(1, generator=generator, dtype=torch.float64)
            points = (torch.arange(n_own, dtype=torch.float64) + shift) / n_own
            cumulative = torch.softmax(weights.to(torch.float64), dim=0).cumsum(0)
            picked = torch.searchsorted(cumulative, points.to(cumulative.device), right=True).clamp(max=end - begin - 1)
            labels = torch.full((n_own,), c, device=cloud.device)
            density = target(self.model, labels, evidence)
            chains, eta = start(cloud.latents[begin:end][picked], density), self.settings.step_size
            for i in range(self.settings.n_moves):
                chains, acceptance = mala(chains, density, eta, generator)
                eta = adapt(eta, acceptance, i)
                accepted.append(float(acceptance.mean()))
            parts.append(chains.latents)
        info = Diagnostics(float(np.mean(accepted)) if accepted else float("nan"), float(n_own), float("nan"))
        return self._own(parts, joint, evidence, info)
