"""Tests of whether two rows of counts come from the same distribution, and distances between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import rel_entr
from scipy.stats import chi2_contingency, fisher_exact

from infopursuit.types import FloatArray

ENOUGH = 10.0
"""Expected counts from which the chi-square approximation holds, also far out in the tail, where many tests look."""
LARGEST_EXACT = 20_000
EXACT, CHI_SQUARE, BOUND = "exact", "chi-square", "bound"


def same_distribution(before: Any, now: Any) -> tuple[float, str]:
    """The p-value of two rows of counts (V,) under one distribution, and which test it is.

    Two values: Fisher's exact test. More: the chi-square test of homogeneity or, where expected counts are small,
    Fisher's exact test of each value against the others with Bonferroni's correction. Weights are rounded to counts.

    >>> p, test = same_distribution([10, 0], [0, 10])
    >>> f"{p:.3g}", test
    ('1.08e-05', 'exact')
    """
    counts = np.round(np.asarray([before, now], dtype=np.float64))
    counts = counts[:, counts.any(axis=0)]
    sizes, total = counts.sum(axis=1), counts.sum(axis=0)
    if counts.shape[1] < 2 or not sizes.all():
        return 1.0, EXACT
    smallest = total.min() * sizes.min() / sizes.sum()  # expected count
    two = len(total) == 2
    if smallest >= ENOUGH and not (two and total.min() <= LARGEST_EXACT):
        return float(chi2_contingency(counts, correction=False).pvalue), CHI_SQUARE
    columns = counts.T[:1] if two else counts.T
    p = [fisher_exact(np.stack([column, sizes - column]).astype(np.int64)).pvalue for column in columns]
    return min(1.0, len(p) * float(min(p))), EXACT


def same_splits(before: Any, now: Any, splits: FloatArray) -> tuple[float, str]:
    """As `same_distribution`, tested at yes/no splits (n, V) of the values only, with Bonferroni's correction.

    For ordered values, such as a number cut at thresholds, this sees a shift that many small cells would hide.
    """
    n_before, n_now = float(np.sum(before)), float(np.sum(now))
    tables = [((n_before - a, a), (n_now - b, b)) for a, b in zip(splits @ before, splits @ now, strict=True)]
    p, test = min(same_distribution(*table) for table in tables)
    return min(1.0, len(tables) * p), test


def chernoff(mean: float, low: float, high: float, n: int) -> float:
    """A bound on the p-value of the mean of n independent numbers in [0, 1] whose expectation is in [low, high].

    P(mean >= x) <= exp(-n KL(x || high)) for x above ``high``, alike below ``low`` (Hoeffding 1963); doubled for two
    sides.

    >>> round(chernoff(0.7, 0.45, 0.55, 100), 4)
    0.0179
    """
    if low <= mean <= high:
        return 1.0
    edge = high if mean > high else low
    divergence = rel_entr([mean, 1 - mean], [edge, 1 - edge]).sum()
    return min(1.0, 2 * float(np.exp(-n * divergence)))


def total_variation(before: Any, now: Any) -> float:
    """Total variation distance of the shares, 0 to 1; 0 where either has no counts.

    >>> round(total_variation([5, 5], [8, 2]), 12)
    0.3
    """
    before, now = np.asarray(before, dtype=np.float64), np.asarray(now, dtype=np.float64)
    if not before.sum() or not now.sum():
        return 0.0
    return float(np.abs(before / before.sum() - now / now.sum()).sum() / 2)
