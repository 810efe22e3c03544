"""Two rows of counts: exact where exact is possible, right about chance, and corrected for being many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from infopursuit.monitoring import chernoff, pvalue, total_variation


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 60), st.integers(1, 60))
def test_two_values_take_fishers_exact_test(a, n1, b, n2):
    a, b = min(a, n1), min(b, n2)
    assert pvalue([a, n1 - a], [b, n2 - b]) == pytest.approx(
        stats.fisher_exact([[a, n1 - a], [b, n2 - b]]).pvalue, rel=1e-8
    )


def test_large_counts_take_the_chi_square_law_and_agree_with_the_exact_test():
    p = pvalue([60_000, 40_000], [30_500, 19_500])
    assert p == pytest.approx(stats.fisher_exact([[60_000, 40_000], [30_500, 19_500]]).pvalue, rel=0.05)
    assert p == pytest.approx(stats.chi2_contingency([[60_000, 40_000], [30_500, 19_500]], correction=False).pvalue)


def test_several_values():
    before, now = [200, 100, 50], [80, 60, 40]
    assert pvalue(before, now) == pytest.approx(stats.chi2_contingency([before, now]).pvalue)
    assert pvalue([20, 10, 2], [1, 3, 5]) == pytest.approx(3 * stats.fisher_exact([[2, 30], [5, 4]]).pvalue)


def test_nothing_to_compare_is_no_difference():
    for before, now in (([5, 0], [7, 0]), ([0, 0], [1, 2]), ([1, 2], [0, 0]), ([3], [4])):
        assert pvalue(before, now) == 1.0


def test_a_shift_that_small_cells_hide_shows_at_a_split():
    """Forty numbers, all in the upper six of ten bins: each bin has few, a threshold has many."""
    rng = np.random.default_rng(0)
    before = np.bincount(rng.integers(10, size=200), minlength=10)
    now = np.bincount(rng.integers(4, 10, size=40), minlength=10)
    splits = (np.arange(10) > np.arange(9)[:, None]).astype(float)
    assert pvalue(before, now, splits) < 1e-4 < 0.01 < pvalue(before, now)
    alone = min(pvalue((s @ before, before.sum() - s @ before), (s @ now, 40 - s @ now)) for s in splits)
    assert pvalue(before, now, splits) == pytest.approx(9 * alone)


@pytest.mark.parametrize("n_now", [12, 60, 400])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.97, 0.03), (0.4, 0.3, 0.2, 0.1), (0.7, 0.1, 0.1, 0.05, 0.05)])
def test_false_alarms_are_no_more_frequent_than_said(n_now, shares):
    """500 pairs from one distribution: p <= 0.05 in at most 5 %, within three standard errors."""
    rng = np.random.default_rng(1)
    before, now = rng.multinomial(150, shares, size=500), rng.multinomial(n_now, shares, size=500)
    alarms = np.mean([pvalue(a, b) <= 0.05 for a, b in zip(before, now, strict=True)])
    assert alarms <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


def test_the_bound_on_a_mean_holds():
    """Means of a Beta law and of yes and no, at the very edge of what is allowed; a control beyond it is found."""
    rng = np.random.default_rng(2)
    for draws in (rng.beta(2, 2, size=(4_000, 50)), rng.random((4_000, 50)) < 0.5):
        alarms = np.mean([chernoff(mean, 0.5, 0.5, 50) <= 0.05 for mean in draws.mean(axis=1)])
        assert alarms <= 0.05
    assert chernoff(0.75, 0.45, 0.55, 200) < 1e-6
    assert chernoff(0.5, 0.4, 0.6, 10**6) == 1.0
    assert chernoff(0.1, 0.0, 0.0, 5) == 0.0
    assert chernoff(0.0, 0.5, 0.6, 10) == pytest.approx(2 * 0.5**10)


def test_distances():
    assert total_variation([1, 1], [1, 1]) == 0
    assert total_variation([1, 0], [0, 9]) == 1
