"""How far draws can be trusted: effective numbers of draws, agreement between chains, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

LOWEST_ACCEPTANCE, HIGHEST_ACCEPTANCE = 0.2, 0.98
HIGHEST_R_HAT = 1.1
LOWEST_ESS = 50.0


@dataclass(frozen=True)
class Diagnostics:
    """What is known of a sampler's draws; NaN where a number does not apply.

    acceptance: mean acceptance probability; only a Metropolis step has one.
    ess: effective number of draws, `weight_ess` or `chain_ess`.
    r_hat: agreement of the chains, 1 when perfect.

    >>> Diagnostics(acceptance=0.57, ess=400.0, r_hat=1.01).trouble()
    ''
    >>> Diagnostics(acceptance=math.nan, ess=12.0, r_hat=math.nan).trouble()
    'Only 12.0 effective draws, below 50: take more draws.'
    """

    acceptance: float
    ess: float
    r_hat: float

    def trouble(self) -> str:
        """What is wrong and what to do about it, in a sentence each; empty when all is fine."""
        return " ".join(self.troubles())

    def troubles(self) -> list[str]:
        """The sentences of `trouble`."""
        found = []
        if self.acceptance < LOWEST_ACCEPTANCE:
            found.append(f"Acceptance {self.acceptance:.3g} is below {LOWEST_ACCEPTANCE:g}: use a smaller step_size.")
        if self.acceptance > HIGHEST_ACCEPTANCE:
            found.append(
                f"Acceptance {self.acceptance:.3g} is above {HIGHEST_ACCEPTANCE:g}, so the chains hardly move: "
                "use a larger step_size."
            )
        if self.r_hat > HIGHEST_R_HAT:
            found.append(
                f"The chains disagree, R-hat {self.r_hat:.3g} is above {HIGHEST_R_HAT:g}: use a longer burn-in."
            )
        if self.ess < LOWEST_ESS:
            found.append(f"Only {self.ess:.1f} effective draws, below {LOWEST_ESS:g}: take more draws.")
        return found


def weight_ess(log_weights: Tensor, dim: int = -1) -> Tensor:
    """Effective number of weighted draws, (sum w)^2 / sum w^2; 0 where all weights are 0 or one is not a number.

    >>> weight_ess(torch.zeros(4)).item()
    4.0
    """
    weights = torch.exp(log_weights - log_weights.amax(dim=dim, keepdim=True))
    return (weights.sum(dim=dim).square() / weights.square().sum(dim=dim)).nan_to_num(nan=0.0)


def sum_variance(terms: Tensor, family: Tensor | None = None) -> Tensor:
    """Variance of a sum of N like terms, from how much they differ: (..., N) -> (...).

    Of normalised weights it is the relative variance of their mean, about 1 / ess - 1 / N. Draws of one ``family``
    (N,) depend on each other, so that only the sums over families are taken for independent. Where there is a single
    one, nothing can be compared: then the square of the sum stands for it.

    >>> sum_variance(torch.tensor([0.25, 0.75])).item()
    0.25
    >>> sum_variance(torch.tensor([0.25, 0.75]), torch.tensor([7, 7])).item()
    1.0
    """
    excess = terms - terms.mean(dim=-1, keepdim=True)
    n = terms.shape[-1]
    if family is not None:
        names, place = torch.unique(family, return_inverse=True)
        n = len(names)
        sums = torch.zeros((*terms.shape[:-1], n), dtype=terms.dtype, device=terms.device)
        excess = sums.index_add_(-1, place, excess)
    if n < 2:
        return terms.sum(dim=-1).square()
    return excess.square().sum(dim=-1) * n / (n - 1)


def family_ess(draws: Tensor, family: Tensor) -> Tensor:
    """Effective number of draws for a mean, where those of one ``family`` (N,) depend on each other: (N, D) -> (D,).

    Between the number of families, where all of one are equal, and N, where they have moved apart.
    """
    if (family == family[0]).all():
        return torch.ones(draws.shape[1], dtype=torch.float64, device=draws.device)
    terms = draws.to(torch.float64).T / len(draws)  # (D, N)
    ess = len(draws) * sum_variance(terms) / sum_variance(terms, family)
    return ess.nan_to_num(nan=1.0).clamp(1, len(draws))


def r_hat(draws: Tensor) -> Tensor:
    """Split R-hat (Gelman et al., BDA3, eq. 11.4): (n_steps, n_chains[, D]) -> () or (D,); 1 when the chains agree.

    Each chain is cut into halves, so that a chain that drifts disagrees with itself. Infinite where chains differ and
    none of them moves, and where a draw is not finite.
    """
    return _each_dimension(_r_hat, draws)


def chain_ess(draws: Tensor) -> Tensor:
    """Effective number of draws for a mean (Vehtari et al., 2021, section 3.2): (n_steps, n_chains[, D]) -> () or (D,).

    n_steps * n_chains over the autocorrelation time, which adds up correlations by Geyer's initial monotone sequence.
    Chains that disagree count as correlated. Always finite: 1 where all draws are equal, 0 where one is not finite.
    """
    return _each_dimension(_chain_ess, draws)


def _each_dimension(statistic: Callable[[Tensor], float], draws: Tensor) -> Tensor:
    """A statistic of (n_steps, n_chains) for every latent dimension; one at a time, so that memory stays small."""
    if draws.ndim not in (2, 3) or draws.shape[0] < 4 or draws.shape[1] < 1:
        raise ValueError(
            f"draws has shape {tuple(draws.shape)}: give (n_steps, n_chains) or (n_steps, n_chains, D) "
            "with 4 steps or more, so that both halves of a chain have a variance"
        )
    columns = draws.reshape(*draws.shape[:2], -1).unbind(dim=2)
    found = torch.tensor([statistic(column.to(torch.float64)) for column in columns], dtype=torch.float64)
    return found.to(draws.device).reshape(draws.shape[2:])


def _r_hat(draws: Tensor) -> float:
    """(n_steps, n_chains) -> split R-hat."""
    if not draws.isfinite().all():
        return math.inf
    halves = _halves(draws)
    # compared, because rounding gives equal numbers a variance
    if (halves == halves[0]).all():
        return 1.0 if (halves == halves[0, 0]).all() else math.inf
    within, whole = _variances(halves)
    return math.sqrt(whole / within) if within > 0 else math.inf


def _chain_ess(draws: Tensor) -> float:
    """(n_steps, n_chains) -> effective number of draws."""
    if not draws.isfinite().all():
        return 0.0
    halves = _halves(draws)
    if (halves == halves[0, 0]).all():
        return 1.0
    within, whole = _variances(halves)
    correlation = 1 - (within - _autocovariance(halves)) / whole  # (T,)
    correlation[0] = 1
    # sums of neighbours: in truth positive and falling, so that what comes after the first that is not is noise
    pairs = correlation[: len(correlation) // 2 * 2].reshape(-1, 2).sum(dim=1)
    kept = pairs[(pairs > 0).cumprod(dim=0).bool()]
    time = 2 * float(kept.cummin(dim=0).values.sum()) - 1 if len(kept) else 0.0
    # antithetic chains can beat independent draws, but a time near 0 is noise: Stan's bound
    return halves.numel() / max(time, 1 / math.log10(halves.numel()))


def _halves(draws: Tensor) -> Tensor:
    """(n_steps, n_chains) -> (T, 2 n_chains) with T = n_steps // 2; an odd step in the middle is left out.

    Scaled to at most 1, which changes no ratio of variances, so that the squares of chains that ran away are finite.
    """
    size = len(draws) // 2
    halves = torch.cat([draws[:size], draws[-size:]], dim=1)
    largest = halves.abs().max()
    return halves / largest if largest > 0 else halves


def _variances(chains: Tensor) -> tuple[float, float]:
    """(T, M) -> the mean variance within a chain, and the estimate of the whole variance, that between them added."""
    within = float(chains.var(dim=0).mean())
    between = float(chains.mean(dim=0).var())
    return within, within * (len(chains) - 1) / len(chains) + between


def _autocovariance(chains: Tensor) -> Tensor:
    """(T, M) -> (T,) autocovariance at each lag, mean over the chains."""
    size = len(chains)
    # zeros to twice the length, or the Fourier transform would join the end of a chain to its beginning
    spectrum: Tensor = torch.fft.rfft(chains - chains.mean(dim=0), n=2 * size, dim=0).abs().square().mean(dim=1)
    covariance: Tensor = torch.fft.irfft(spectrum, n=2 * size)[:size] / size
    return covariance
