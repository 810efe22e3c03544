"""`Langevin`: the paper's sampler. Chains for each class, begun at draws of the history before it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from infopursuit.beliefs.diagnostics import Diagnostics, family_ess
from infopursuit.beliefs.langevin_kernels import Chains, LogDensity, adapt, mala, start, ula
from infopursuit.beliefs.particles import ParticleBelief, ParticleState, check_memory, systematic
from infopursuit.checks import number, whole_number
from infopursuit.models.autoencoder import VAE
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import FloatArray, IntArray

KERNELS = ("ula", "mala")


@dataclass(frozen=True)
class Langevin:
    """Settings of Langevin chains.

    n_chains: chains of each class.
    n_steps: steps after the burn-in; all of their draws are kept.
    burn_in: steps before that, in which the step size is adapted (not for "ula").
    step_size: the paper's eta.
    kernel: "ula" (the paper's; biased by the step size), or "mala" (Metropolis-corrected).
    """

    kind: ClassVar[str] = "langevin"
    n_chains: int = 64
    n_steps: int = 8
    burn_in: int = 20
    step_size: float = 0.1
    kernel: str = "mala"

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel={self.kernel!r}; expected one of {', '.join(KERNELS)}")
        for name, least in (("n_chains", 2), ("n_steps", 1), ("burn_in", 0)):
            whole_number(getattr(self, name), name, least)
        number(self.step_size, "step_size", above=0)

    @classmethod
    def paper(cls) -> Langevin:
        """The settings of the paper's code: 256 chains a class, 20 steps of burn-in, 12,000 draws kept."""
        return cls(n_chains=256, n_steps=47, burn_in=20, step_size=0.1, kernel="ula")

    def check(self, model: VAE) -> None:
        """Refuse settings that no memory holds."""
        check_memory(self, model, self.n_chains * self.n_steps)

    def build(self, model: VAE, queries: QuerySet, seed: int = 0, *, noisy: bool = False) -> LangevinBelief:
        """The belief with these settings."""
        # the empty history needs no chain: the prior can be drawn from
        return LangevinBelief(model, queries, self.n_chains * self.n_steps, self.n_chains, seed, self, noisy)


class LangevinBelief(ParticleBelief):
    """Langevin chains for each class and history.

    p(y | history) is updated as in eq. 17 by the mean probability of the answer over the draws before it.
    """

    kind: ClassVar[str] = "langevin"
    purpose: ClassVar[bytes] = b"chains"
    settings: Langevin

    @property
    def n_own_draws(self) -> int:
        return int(self.model.n_classes) * self.settings.n_chains * self.settings.n_steps

    def _in_need(self, b: ParticleState, rows: list[int]) -> list[int]:
        """All of them: chains follow every answer; only the empty history, and those that taught nothing, need none."""
        empty = (b.shared.evidence == 0).all(axis=1)
        return [h for h in rows if not empty[h]]

    def _draw(
        self, latents: Tensor, log_weights: FloatArray, density: LogDensity, generator: torch.Generator, fresh: bool
    ) -> tuple[Tensor, IntArray, Diagnostics]:
        picked = self._begin(log_weights, generator, fresh=fresh)
        draws, acceptance = self._run(start(latents[torch.as_tensor(picked)], density), density, generator)
        # chains that begin at the same place are copies of one until they have moved apart
        family = np.tile(picked, self.settings.n_steps)
        return draws, family, Diagnostics(acceptance, float(family_ess(draws.cpu().numpy(), family).min()))

    def _begin(self, log_weights: FloatArray, generator: torch.Generator, *, fresh: bool) -> IntArray:
        """(n_chains,) the draws before the answer at which the chains begin.

        Taken by their weights, draws are from the new law already, and the burn-in only has to move copies apart. The
        paper's chains go on from their last places, the first ones from draws of the prior, which a model may give in
        some order: so they are taken from all over them.
        """
        n, n_before = self.settings.n_chains, len(log_weights)
        if self.settings.kernel != "ula":
            return systematic(log_weights, n, generator)
        order = np.arange(n)
        return order * n_before // n if fresh else (order - n) % n_before

    def _run(self, chains: Chains, density: LogDensity, generator: torch.Generator) -> tuple[Tensor, float]:
        """Draws of one class, (n_steps * n_chains, D), the last places of the chains last; and the mean acceptance."""
        eta, kept, accepted = self.settings.step_size, [], []
        for i in range(self.settings.burn_in + self.settings.n_steps):
            chains, acceptance = self._move(chains, density, eta, generator)
            if acceptance is not None and i < self.settings.burn_in:
                eta = adapt(eta, acceptance, i)
            elif acceptance is not None:
                accepted.append(float(acceptance.mean()))
            if i >= self.settings.burn_in:
                kept.append(chains.latents)
        return torch.cat(kept), float(np.mean(accepted)) if accepted else math.nan

    def _move(
        self, chains: Chains, density: LogDensity, eta: float, generator: torch.Generator
    ) -> tuple[Chains, Tensor | None]:
        if self.settings.kernel == "mala":
            return mala(chains, density, eta, generator)
        moved = ula(chains, density, eta, generator)
        # a chain that has run away cannot be decoded: it stays where it was
        return moved.where(moved.log_density.isfinite(), chains), None
