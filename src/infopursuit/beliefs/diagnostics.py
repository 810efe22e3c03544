"""How far draws can be trusted: effective sample size, acceptance, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.types import FloatArray, IntArray

LOWEST_ACCEPTANCE, HIGHEST_ACCEPTANCE = 0.2, 0.98
LOWEST_ESS = 50.0


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
