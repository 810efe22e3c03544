"""`smc`: sequential Monte Carlo. One bank of draws for all histories; few histories ever need draws of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.autoencoder import VAE
from infopursuit.models.finite import segments
from infopursuit.posteriors.chains import adapt, mala, start
from infopursuit.posteriors.cloud import Own, SampledBelief
from infopursuit.posteriors.diagnostics import Diagnostics, family_ess
from infopursuit.posteriors.sampled import MATTERS, SampledPosterior, check_settings, systematic
from infopursuit.posteriors.target import target
from infopursuit.queries.queryset import QuerySet


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

    def build(self, model: VAE, queries: QuerySet, seed: int = 0, *, soft: bool = False) -> SMCPosterior:
        """The posterior with these settings; ``soft``: answers may be wrong."""
        return SMCPosterior(model, queries, self, seed, soft)


class SMCPosterior(SampledPosterior):
    """Weighted draws, resampled and moved when too few of them carry the weight."""

    name: ClassVar[str] = "smc"

    def __init__(self, model: VAE, queries: QuerySet, settings: SMC, seed: int = 0, soft: bool = False) -> None:
        self.settings = settings
        super().__init__(model, queries, settings.n_draws, seed, soft)

    @property
    def n_own_draws(self) -> int:
        return self.model.n_classes * self.settings.n_own if self.settings.least_ess > 0 else 0

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
        worth = self._worth(self.log_class(one)[0])
        generator = self.generator(b"move" + key)
        parts: list[Tensor] = []
        families: list[Tensor] = []
        accepted, ess = [], []
        for c, (a, b) in enumerate(segments(cloud.offsets)):
            # a class that hardly counts keeps its mass on one draw
            picked = systematic(mine.log_weights[0, a:b], self.settings.n_own if c in worth else 1, generator)
            latents = cloud.latents[a:b][picked]
            if c in worth:
                density = target(self.model, torch.full_like(picked, c), mine.evidence[0])
                chains, eta = start(latents, density), self.settings.step_size
                for i in range(self.settings.n_moves):
                    chains, acceptance = mala(chains, density, eta, generator)
                    eta = adapt(eta, acceptance, i)
                    accepted.append(float(acceptance.mean()))
                latents = chains.latents
                ess.append(float(family_ess(latents, picked).min()))
            parts.append(latents)
            families.append(picked)
        info = Diagnostics(float(np.mean(accepted)), min(ess), float("nan"))
        return self._own(parts, families, one, info)
