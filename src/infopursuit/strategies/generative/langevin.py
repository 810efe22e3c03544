"""Langevin kernels: one step of many chains, each row of an (N, D) batch of latents a chain of its own; the density
that a sampler targets, log p(z | y) + log p(evidence | z, y); and how far its draws can be trusted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.networks.autoencoder import VAE
from infopursuit.support.types import FloatArray, IntArray

LogDensity = Callable[[Tensor], Tensor]
"""(N, D) latents -> (N,) log density up to a constant; differentiable, and no row depends on another."""

TARGET = 0.574
"""The acceptance at which MALA moves fastest in many dimensions (Roberts and Rosenthal, 1998)."""
LOWEST_ACCEPTANCE, HIGHEST_ACCEPTANCE = 0.2, 0.98
LOWEST_ESS = 50.0
DECAY, STEADY = 0.6, 10
"""Adaptation shrinks like iteration^-DECAY, a power between 1/2 and 1, so that it forgets its start and settles; and
hardly at all in the first STEADY iterations, or a start that is far too small would outlast the burn-in."""


@dataclass(frozen=True)
class Chains:
    """Where N chains are: latents (N, D), their log density (N,), -inf where anything is not finite, and its gradient
    (N, D), 0 where that is -inf."""

    latents: Tensor
    log_density: Tensor
    gradient: Tensor

    def __len__(self) -> int:
        return len(self.latents)

    def where(self, here: Tensor, others: Chains) -> Chains:
        """These chains where ``here`` (N,) is true, the others elsewhere."""
        pairs = zip(vars(self).values(), vars(others).values(), strict=True)
        return Chains(*(torch.where(here.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in pairs))


def start(latents: Tensor, log_density: LogDensity) -> Chains:
    """Chains at (N, D) latents.

    A chain may start where the density is 0: it walks at random from there, and `mala` accepts the first way in.
    """
    with torch.enable_grad():
        inputs = latents.detach().requires_grad_()
        values = log_density(inputs)
        if values.shape != latents.shape[:1]:
            raise ValueError(
                f"log_density gave shape {tuple(values.shape)} for latents of shape {tuple(latents.shape)}: "
                f"return one number per row, ({len(latents)},)"
            )
        (gradient,) = torch.autograd.grad(values.sum(), inputs)  # rows are independent, so each row gets its own
    inputs, values = inputs.detach(), values.detach()
    sound = values.isfinite() & gradient.isfinite().all(dim=1) & inputs.isfinite().all(dim=1)
    return Chains(inputs, values.where(sound, -torch.inf), gradient.where(sound[:, None], 0.0))


def ula(chains: Chains, log_density: LogDensity, step_size: float, generator: torch.Generator) -> Chains:
    """The paper's unadjusted Langevin step, z' = z + eta grad + sqrt(2 eta) noise, where eta is the step size.

    Biased: on N(0, s^2) it settles at the variance s^2 / (1 - eta / (2 s^2)), so eta has to be small. See `mala`.
    """
    latents, scale = chains.latents, _scale(chains, step_size)
    # noise from the CPU in one number type, so that its numbers are the same on every device and in every type
    noise = torch.randn(latents.shape, generator=generator, dtype=torch.float32).to(latents)
    return start(latents + scale * chains.gradient + torch.sqrt(2 * scale) * noise, log_density)


def mala(
    chains: Chains, log_density: LogDensity, step_size: float, generator: torch.Generator
) -> tuple[Chains, Tensor]:
    """A step of `ula`, accepted with probability min(1, p(z') q(z | z') / (p(z) q(z' | z))), so that there is no bias;
    and these probabilities (N,), 0 for a proposal where anything is not finite."""
    proposed = ula(chains, log_density, step_size, generator)
    forth = _log_proposal(proposed.latents, chains, step_size)
    back = _log_proposal(chains.latents, proposed, step_size)
    log_ratio = proposed.log_density - chains.log_density + back - forth  # (N,)
    # NaN, as from -inf to -inf, is a proposal that cannot be judged
    acceptance = log_ratio.clamp(max=0).exp().nan_to_num(nan=0.0)
    # always drawn, and after the noise, so that what a generator gives next does not depend on what was accepted
    uniform = torch.rand(len(chains), generator=generator, dtype=torch.float32).to(acceptance)
    return proposed.where(uniform < acceptance, chains), acceptance


def adapt(step_size: float, acceptance: float | Tensor, iteration: int, target: float = TARGET) -> float:
    """The next step size: log eta += (1 + iteration / 10)^-0.6 (acceptance - target), Robbins and Monro's rule.

    Draws made while it still changes are not from the posterior: adapt in the burn-in only.

    >>> round(adapt(0.5, torch.tensor([0.0, 1.0]), iteration=0, target=0.4), 3)
    0.553
    """
    mean = float(torch.as_tensor(acceptance, dtype=torch.float64).mean())
    return step_size * math.exp((1 + iteration / STEADY) ** -DECAY * (mean - target))


def _scale(chains: Chains, step_size: float) -> Tensor:
    """eta in the number type of the latents."""
    return torch.as_tensor(step_size, dtype=chains.latents.dtype, device=chains.latents.device)


def _log_proposal(to: Tensor, chains: Chains, step_size: float) -> Tensor:
    """(N,) log q(to | z) = log N(z + eta grad, 2 eta) without its normaliser, which is the same in both directions."""
    scale = _scale(chains, step_size)
    return -((to - chains.latents - scale * chains.gradient).square() / (4 * scale)).sum(dim=1)


def target(model: VAE, labels: Tensor, evidence: FloatArray, least: float) -> LogDensity:
    """The log density of the latents of chains with labels (N,) after a history with evidence (L,).

    A variable's factor is its evidence-weighted probability, summed over its values; those of which nothing is known
    have factor one and are left out. Probabilities have the floor ``least`` that they have in particles, or moves would
    target another law than the weights.
    """
    variables = model.variables
    touched = np.unique(variables.slot_variable[np.flatnonzero(evidence != 0)])
    index = variables.slots[touched]  # (T, V)
    slots = torch.as_tensor(index, device=labels.device)
    log_weights = np.where(index >= 0, evidence[np.maximum(index, 0)], -np.inf)
    weights = torch.as_tensor(log_weights, device=labels.device).to(model.dtype)
    rest = torch.log1p(-least * (slots >= 0).sum(1, dtype=torch.float64)).to(weights)  # (T,)
    floor = torch.tensor(math.log(least), dtype=weights.dtype, device=weights.device)

    def log_density(latents: Tensor) -> Tensor:
        prior = model.log_prior(latents, labels)
        if not len(touched):
            return prior
        if model.features.binary and bool((weights.isneginf().sum(1) == 1).all()):
            # each is known to be yes or no: one logit each, which is cheaper than all values of all variables
            sign = torch.where(weights[:, 1].isneginf(), -1.0, 1.0).to(latents)
            known = weights.amax(1)
            log_yes = torch.nn.functional.logsigmoid(sign * model.logits(latents, labels)[:, touched])
            return prior + (torch.logaddexp(log_yes + rest, floor) + known).sum(1)
        log_probs = model.log_probs(latents, labels)[:, slots.clamp(min=0)]  # (N, T, V)
        log_probs = torch.logaddexp(log_probs + rest[:, None], floor)
        return prior + torch.logsumexp(log_probs + weights, dim=-1).sum(1)

    return log_density


# ---- diagnostics ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Diagnostics:
    """What is known of a sampler's draws.

    acceptance: mean acceptance probability; NaN without a Metropolis step. ess: effective sample size.

    >>> Diagnostics(acceptance=0.57, ess=400.0).troubles()
    []
    >>> Diagnostics(acceptance=float("nan"), ess=12.0).troubles()
    ['Only 12.0 effective draws, below 50: take more draws.']
    """

    acceptance: float
    ess: float

    def troubles(self) -> list[str]:
        """What is wrong and what to do about it, in a sentence each."""
        found = []
        if self.acceptance < LOWEST_ACCEPTANCE:
            found.append(f"Acceptance {self.acceptance:.3g} is below {LOWEST_ACCEPTANCE:g}: use a smaller step_size.")
        if self.acceptance > HIGHEST_ACCEPTANCE:
            found.append(f"Acceptance {self.acceptance:.3g} is above {HIGHEST_ACCEPTANCE:g}: use a larger step_size.")
        if self.ess < LOWEST_ESS:
            found.append(f"Only {self.ess:.1f} effective draws, below {LOWEST_ESS:g}: take more draws.")
        return found


def sum_variance(terms: FloatArray, family: IntArray | None = None) -> FloatArray:
    """Variance of a sum of N like terms, from how much they differ: (..., N) -> (...).

    Of normalised weights it is the relative variance of their mean, about 1 / ess - 1 / N. Draws of one ``family``
    (N,) depend on each other, so that only the sums over families are taken for independent. Where there is a single
    one, nothing can be compared: then the square of the sum stands for it.

    >>> float(sum_variance(np.array([0.25, 0.75])))
    0.25
    >>> float(sum_variance(np.array([0.25, 0.75]), np.array([7, 7])))
    1.0
    """
    excess = terms - terms.mean(axis=-1, keepdims=True)
    n = terms.shape[-1]
    if family is not None:
        order = np.argsort(family, kind="stable")
        names, starts = np.unique(family[order], return_index=True)
        n, excess = len(names), np.add.reduceat(excess[..., order], starts, axis=-1)
    if n < 2:
        return np.asarray(terms.sum(axis=-1) ** 2)
    return np.asarray((excess**2).sum(axis=-1) * n / (n - 1))


def family_ess(draws: Any, family: IntArray) -> FloatArray:
    """Effective sample size for a mean, where draws of one ``family`` (N,) depend on each other: (N, D) -> (D,); from
    the number of families, where all of one are equal, to N, where they have moved apart."""
    if (family == family[0]).all():
        return np.ones(draws.shape[1])
    terms = np.asarray(draws, dtype=np.float64).T / len(draws)  # (D, N)
    with np.errstate(invalid="ignore", divide="ignore"):
        ess = len(draws) * sum_variance(terms) / sum_variance(terms, family)
    return np.asarray(np.clip(np.nan_to_num(ess, nan=1.0), 1, len(draws)))
