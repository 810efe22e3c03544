"""How far draws can be trusted: effective sample size, agreement between chains, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.types import FloatArray, IntArray

LOWEST_ACCEPTANCE, HIGHEST_ACCEPTANCE = 0.2, 0.98
HIGHEST_R_HAT = 1.1
LOWEST_ESS = 50.0


@dataclass(frozen=True)
class Diagnostics:
    """What is known of a sampler's draws; NaN where a number does not apply.

    acceptance: mean acceptance probability; only a Metropolis step has one.
    ess: effective sample size, `weight_ess` or `chain_ess`.
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
        low, high = LOWEST_ACCEPTANCE, HIGHEST_ACCEPTANCE
        hardly = (
            f"Acceptance {self.acceptance:.3g} is above {high:g}, so the chains hardly move: use a larger step_size."
        )
        apart = f"The chains disagree, R-hat {self.r_hat:.3g} is above {HIGHEST_R_HAT:g}: use a longer burn-in."
        checks = {
            f"Acceptance {self.acceptance:.3g} is below {low:g}: use a smaller step_size.": self.acceptance < low,
            hardly: self.acceptance > high,
            apart: self.r_hat > HIGHEST_R_HAT,
            f"Only {self.ess:.1f} effective draws, below {LOWEST_ESS:g}: take more draws.": self.ess < LOWEST_ESS,
        }
        return [said for said, bad in checks.items() if bad]


def weight_ess(log_weights: FloatArray) -> FloatArray:
    """Effective sample size of weighted draws, (sum w)^2 / sum w^2 over the last axis; 0 where all weights are 0 or one
    is not a number.

    >>> float(weight_ess(np.zeros(4)))
    4.0
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
        return np.asarray(np.nan_to_num(weights.sum(axis=-1) ** 2 / (weights**2).sum(axis=-1), nan=0.0))


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
    """Effective sample size for a mean, where draws of one ``family`` (N,) depend on each other: (N, D) -> (D,).

    Between the number of families, where all of one are equal, and N, where they have moved apart.
    """
    if (family == family[0]).all():
        return np.ones(draws.shape[1])
    terms = np.asarray(draws, dtype=np.float64).T / len(draws)  # (D, N)
    with np.errstate(invalid="ignore", divide="ignore"):
        ess = len(draws) * sum_variance(terms) / sum_variance(terms, family)
    return np.asarray(np.clip(np.nan_to_num(ess, nan=1.0), 1, len(draws)))


def r_hat(draws: Any) -> FloatArray:
    """Split R-hat (Gelman et al., BDA3, eq. 11.4): (n_steps, n_chains[, D]) -> () or (D,); 1 when the chains agree.

    Each chain is cut into halves, so that a chain that drifts disagrees with itself. Infinite where chains differ and
    none of them moves, and where a draw is not finite.
    """
    return _each_dimension(_r_hat, draws)


def chain_ess(draws: Any) -> FloatArray:
    """Effective sample size for a mean (Vehtari et al., 2021, section 3.2): (n_steps, n_chains[, D]) -> () or (D,).

    n_steps * n_chains over the autocorrelation time, which adds up correlations by Geyer's initial monotone sequence.
    Chains that disagree count as correlated. Always finite: 1 where all draws are equal, 0 where one is not finite.
    """
    return _each_dimension(_chain_ess, draws)


def _each_dimension(statistic: Callable[[FloatArray], float], draws: Any) -> FloatArray:
    """A statistic of (n_steps, n_chains) for every latent dimension."""
    draws = np.asarray(draws, dtype=np.float64)
    if draws.ndim not in (2, 3) or draws.shape[0] < 4 or draws.shape[1] < 1:
        raise ValueError(
            f"draws has shape {tuple(draws.shape)}: give (n_steps, n_chains) or (n_steps, n_chains, D) "
            "with 4 steps or more, so that both halves of a chain have a variance"
        )
    columns = draws.reshape(*draws.shape[:2], -1)
    return np.array([statistic(columns[:, :, d]) for d in range(columns.shape[2])]).reshape(draws.shape[2:])


def _r_hat(draws: FloatArray) -> float:
    """(n_steps, n_chains) -> split R-hat."""
    if not np.isfinite(draws).all():
        return math.inf
    halves = _halves(draws)
    # compared, because rounding gives equal numbers a variance
    if (halves == halves[0]).all():
        return 1.0 if (halves == halves[0, 0]).all() else math.inf
    within, whole = _variances(halves)
    return math.sqrt(whole / within) if within > 0 else math.inf


def _chain_ess(draws: FloatArray) -> float:
    """(n_steps, n_chains) -> effective sample size."""
    if not np.isfinite(draws).all():
        return 0.0
    halves = _halves(draws)
    if (halves == halves[0, 0]).all():
        return 1.0
    within, whole = _variances(halves)
    correlation = 1 - (within - _autocovariance(halves)) / whole  # (T,)
    correlation[0] = 1
    # sums of neighbours: in truth positive and falling, so that what comes after the first that is not is noise
    pairs = correlation[: len(correlation) // 2 * 2].reshape(-1, 2).sum(axis=1)
    kept = pairs[np.cumprod(pairs > 0).astype(bool)]
    time = 2 * float(np.minimum.accumulate(kept).sum()) - 1 if len(kept) else 0.0
    # antithetic chains can beat independent draws, but a time near 0 is noise: Stan's bound
    return float(halves.size / max(time, 1 / math.log10(halves.size)))


def _halves(draws: FloatArray) -> FloatArray:
    """(n_steps, n_chains) -> (T, 2 n_chains) with T = n_steps // 2; an odd step in the middle is left out.

    Scaled to at most 1, which changes no ratio of variances, so that the squares of chains that ran away are finite.
    """
    size = len(draws) // 2
    halves = np.concatenate([draws[:size], draws[-size:]], axis=1)
    largest = np.abs(halves).max()
    return halves / largest if largest > 0 else halves


def _variances(chains: FloatArray) -> tuple[float, float]:
    """(T, M) -> the mean variance within a chain, and the estimate of the whole variance, that between them added."""
    within = float(chains.var(axis=0, ddof=1).mean())
    between = float(chains.mean(axis=0).var(ddof=1))
    return within, within * (len(chains) - 1) / len(chains) + between


def _autocovariance(chains: FloatArray) -> FloatArray:
    """(T, M) -> (T,) autocovariance at each lag, mean over the chains."""
    size = len(chains)
    # zeros to twice the length, or the Fourier transform would join the end of a chain to its beginning
    spectrum = (np.abs(np.fft.rfft(chains - chains.mean(axis=0), n=2 * size, axis=0)) ** 2).mean(axis=1)
    return np.asarray(np.fft.irfft(spectrum, n=2 * size)[:size] / size)
