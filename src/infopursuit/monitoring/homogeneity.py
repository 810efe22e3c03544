"""Whether two tables of counts come from the same distribution: p-values that hold for few counts and for many."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2

from infopursuit.types import FloatArray

ENOUGH = 10.0
"""Expected counts from which on the chi-square law is near enough, also far out in its tail, where many tests look."""
LARGEST_EXACT = 20_000
"""Terms of an exact test; with more, counts are large and the chi-square law is as good."""
EXACT, CHI_SQUARE, BOUND = "exact", "chi-square", "bound"


def same_distribution(before: Any, now: Any) -> tuple[float, str]:
    """The p-value of two rows of counts (V,) under one distribution, and which test it is.

    Two values: Fisher's exact test. More: the chi-square test of homogeneity, or, where counts are small, each value
    against the others by the exact test, times their number (Bonferroni).

    >>> p, test = same_distribution([10, 0], [0, 10])
    >>> f"{p:.3g}", test
    ('1.08e-05', 'exact')
    """
    before, now = np.asarray(before, dtype=np.float64), np.asarray(now, dtype=np.float64)
    used = (before + now) > 0
    before, now = before[used], now[used]
    n_before, n_now = before.sum(), now.sum()
    if len(before) < 2 or not n_before or not n_now:
        return 1.0, EXACT
    total = before + now
    least = total.min() * min(n_before, n_now) / (n_before + n_now)  # the smallest expected count
    if len(before) == 2 and (total.min() <= LARGEST_EXACT or least < ENOUGH):
        return fisher(before[0], n_before, now[0], n_now), EXACT
    if least >= ENOUGH:
        expected = np.outer([n_before, n_now], total / total.sum())
        statistic = ((np.stack([before, now]) - expected) ** 2 / expected).sum()
        return float(chi2.sf(statistic, len(total) - 1)), CHI_SQUARE
    smallest = min(fisher(a, n_before, b, n_now) for a, b in zip(before, now, strict=True))
    return min(1.0, len(total) * smallest), EXACT


def same_splits(before: Any, now: Any, splits: FloatArray) -> tuple[float, str]:
    """As `same_distribution`, looked at in yes/no splits (n, V) of the values only: the smallest p-value times n.

    For values in an order, such as a number cut at thresholds, this sees a shift that many small cells would hide.
    """
    n_before, n_now = float(np.sum(before)), float(np.sum(now))
    tables = [((n_before - a, a), (n_now - b, b)) for a, b in zip(splits @ before, splits @ now, strict=True)]
    p, test = min(same_distribution(*table) for table in tables)
    return min(1.0, len(tables) * p), test


def fisher(before: float, n_before: float, now: float, n_now: float) -> float:
    """Fisher's exact test, two-sided: ``before`` of ``n_before`` against ``now`` of ``n_now``.

    The sum of the hypergeometric probabilities of all tables with these margins that are no likelier than this one.
    Counts are rounded, since weights need not be whole.
    """
    a, n1, b, n2 = (round(float(count)) for count in (before, n_before, now, n_now))
    m = a + b
    seen = np.arange(max(0, m - n1), min(n2, m) + 1)  # how many of the m could be among the n2
    log = _log_choose(n2, seen) + _log_choose(n1, m - seen) - _log_choose(n1 + n2, m)
    here = log[np.searchsorted(seen, b)]
    return float(min(1.0, np.exp(log[log <= here + 1e-7]).sum()))


def chernoff(mean: float, low: float, high: float, n: int) -> float:
    """A bound on the p-value of the mean of n independent numbers in [0, 1] whose expectation is in [low, high].

    P(mean >= x) <= exp(-n KL(x || high)) for x above ``high``, alike below ``low`` (Hoeffding 1963); twice, for two
    sides.

    >>> round(chernoff(0.7, 0.45, 0.55, 100), 4)
    0.0179
    """
    if low <= mean <= high:
        return 1.0
    edge = high if mean > high else low
    return min(1.0, 2 * float(np.exp(-n * _divergence(mean, edge))))


def adjusted(p: Any) -> FloatArray:
    """p-values corrected for being many (Benjamini and Hochberg 1995).

    Those that are at most q have, on average, a share of at most q false ones among them; where nothing has changed,
    the probability that any is at most q is at most q.

    >>> adjusted([0.01, 0.04, 0.03, 0.5]).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    p = np.asarray(p, dtype=np.float64)
    order = np.argsort(p, kind="stable")[::-1]
    rank = np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1.0, np.minimum.accumulate(p[order] * len(p) / rank))
    return corrected


def total_variation(before: Any, now: Any) -> float:
    """Half the sum of the differences of the shares: how much of the one must be moved to get the other, 0 to 1.

    >>> total_variation([5, 5], [8, 2])
    0.30000000000000004
    """
    p, q = _shares(before, 0.0), _shares(now, 0.0)
    return float(np.abs(p - q).sum() / 2)


def stability_index(before: Any, now: Any) -> float:
    """The population stability index, sum of (q - p) log(q / p): above 0.25 is commonly called a large shift.

    Half a count is added to each value, so that one that was not seen does not make it infinite.
    """
    p, q = _shares(before, 0.5), _shares(now, 0.5)
    return float(((q - p) * np.log(q / p)).sum())


def _shares(counts: Any, more: float) -> FloatArray:
    counts = np.asarray(counts, dtype=np.float64) + more
    total = counts.sum()
    return np.asarray(counts / total) if total else np.full(len(counts), 1 / max(len(counts), 1))


def _log_choose(n: Any, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def _divergence(x: float, p: float) -> float:
    """KL(Bernoulli(x) || Bernoulli(p)), infinite where p rules x out."""
    if (p <= 0 < x) or (p >= 1 > x):
        return np.inf
    first = x * np.log(x / p) if x > 0 else 0.0
    return float(first + ((1 - x) * np.log((1 - x) / (1 - p)) if x < 1 else 0.0))
