"""Diagnostics: chains whose autocorrelation is known, naive formulas, and what is said about bad draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from infopursuit.beliefs.diagnostics import Diagnostics, chain_ess, family_ess, r_hat, sum_variance, weight_ess

FINE = {"acceptance": 0.6, "ess": 500.0, "r_hat": 1.01}


def autoregressive(rho, n_steps, n_chains, seed=0):
    """(n_steps, n_chains) x' = rho x + sqrt(1 - rho^2) noise, begun in its stationary law N(0, 1)."""
    noise = np.random.default_rng(seed).normal(size=(n_steps, n_chains))
    noise[1:] *= math.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=0)


# ---- weights --------------------------------------------------------------------------------------------------------


def test_weight_ess_of_weights_that_are_known():
    assert weight_ess(np.zeros(7)) == 7
    assert weight_ess(np.array([0.0, -np.inf, -np.inf])) == 1
    assert weight_ess(np.array([0.0, -np.inf, 0.0])) == 2
    assert weight_ess(np.log([3.0, 1.0])) == pytest.approx(16 / 10)
    assert weight_ess(np.full(5, -np.inf)) == 0
    assert weight_ess(np.array([0.0, np.nan, 0.0])) == 0
    log_weights = np.array([[0.0, 0.0, 0.0], [0.0, -np.inf, -np.inf]])
    np.testing.assert_allclose(weight_ess(log_weights), [3.0, 1.0])


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20), st.floats(-1e6, 1e6))
def test_weight_ess_is_the_formula_and_a_factor_changes_nothing(log_weights, shift):
    weights = np.exp(np.array(log_weights) - max(log_weights))
    naive = weights.sum() ** 2 / np.square(weights).sum()
    log_weights = np.array(log_weights)
    assert weight_ess(log_weights) == pytest.approx(naive, rel=1e-12)
    assert weight_ess(log_weights + shift) == pytest.approx(naive, rel=1e-8)
    assert 1 - 1e-12 <= naive <= len(log_weights) + 1e-9


def test_the_variance_of_normalised_weights_is_that_of_their_mean():
    """Close to 1 / ess - 1 / N, and seen over many sets of draws."""
    weights = np.random.default_rng(0).random((4000, 30)) ** 2
    share = weights / weights.sum(axis=1, keepdims=True)
    reported = sum_variance(share)
    np.testing.assert_allclose(reported, (1 / weight_ess(np.log(share)) - 1 / 30) * 30 / 29)
    means = weights.mean(axis=1)
    assert reported.mean() == pytest.approx((means.std(ddof=1) / means.mean()) ** 2, rel=0.1)


def test_families_are_what_is_independent():
    """Copies of a draw are no further draws; where draws of a family differ as others do, nothing is lost."""
    rng = np.random.default_rng(0)
    ten = rng.normal(size=(2000, 10))
    copies, family = ten.repeat(4, axis=1), np.arange(10).repeat(4)
    np.testing.assert_allclose(sum_variance(copies / 40, family), sum_variance(ten / 10))
    apart = rng.normal(size=(2000, 40))
    one, two = (sum_variance(apart / 40, names).mean() for names in (family, None))
    assert one == pytest.approx(two, rel=0.05)
    assert (sum_variance(np.array([2.0, 3.0]), np.array([1, 1])), sum_variance(np.array([3.0]))) == (25, 9)
    assert sum_variance(np.full(7, 1 / 7)) < 1e-30


def test_family_ess():
    rng = np.random.default_rng(0)
    ten = rng.normal(size=(10, 500))
    family = np.arange(10).repeat(4)
    assert family_ess(ten.repeat(4, axis=0), family).mean() == pytest.approx(10.0, rel=0.1)
    apart = rng.normal(size=(40, 500))
    # of independent draws the ratio of two variances is noisy, and cut off at the number of draws
    assert 30 < family_ess(apart, family).mean() <= 40
    assert family_ess(apart, np.zeros(40)).tolist() == [1.0] * 500
    assert family_ess(np.ones((4, 2)), np.array([0, 0, 1, 1])).tolist() == [1.0, 1.0]


# ---- chains ---------------------------------------------------------------------------------------------------------


def test_independent_draws():
    draws = autoregressive(0.0, 1000, 8)
    assert abs(r_hat(draws) - 1) < 0.005
    assert chain_ess(draws) == pytest.approx(8000, rel=0.1)


@pytest.mark.parametrize("rho", [-0.4, 0.3, 0.6, 0.9])
def test_ess_of_an_autoregressive_chain(rho):
    """n (1 - rho) / (1 + rho), and the standard error that it promises is the one that is seen."""
    draws = autoregressive(rho, 2000, 10)
    truth = 20_000 * (1 - rho) / (1 + rho)
    assert chain_ess(draws) == pytest.approx(truth, rel=0.15)
    assert abs(r_hat(draws) - 1) < 0.02
    means = autoregressive(rho, 2000, 400, seed=1).mean(axis=0)  # of 400 chains: their variance is known to 7 %
    assert 1 / means.var(ddof=1) == pytest.approx(truth / 10, rel=0.25)


def naive_r_hat(draws):
    """The split R-hat by loops."""
    half = len(draws) // 2
    chains = [part for chain in np.asarray(draws).T for part in (chain[:half], chain[-half:])]
    within = np.mean([np.var(chain, ddof=1) for chain in chains])
    between = np.var([np.mean(chain) for chain in chains], ddof=1)
    return np.sqrt(((half - 1) / half * within + between) / within)


def naive_ess(draws):
    """Stan's effective sample size by loops."""
    half = len(draws) // 2
    chains = [part - part.mean() for chain in np.asarray(draws).T for part in (chain[:half], chain[-half:])]
    within = np.mean([np.square(chain).sum() / (half - 1) for chain in chains])
    whole = naive_r_hat(draws) ** 2 * within
    time, last = -1.0, np.inf
    for t in range(0, half - 1, 2):
        covariances = [np.mean([chain[: half - lag] @ chain[lag:] / half for chain in chains]) for lag in (t, t + 1)]
        first, second = (1 - (within - covariance) / whole for covariance in covariances)
        pair = (1.0 if t == 0 else first) + second
        if pair <= 0:
            break
        last = min(last, pair)
        time += 2 * last
    n = 2 * half * draws.shape[1]
    return n / max(time, 1 / np.log10(n))


@pytest.mark.parametrize("n_steps", [4, 5, 6, 7, 31, 60])
@pytest.mark.parametrize("n_chains", [1, 3])
@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.8])
def test_chains_by_loops(n_steps, n_chains, rho):
    draws = autoregressive(rho, n_steps, n_chains, seed=n_steps) + np.arange(n_chains) / 2
    assert r_hat(draws) == pytest.approx(naive_r_hat(draws), rel=1e-9)
    assert chain_ess(draws) == pytest.approx(naive_ess(draws), rel=1e-9)


def test_each_dimension_is_judged_alone():
    good, bad = autoregressive(0.0, 200, 4), autoregressive(0.9, 200, 4) + 5 * np.arange(4)
    both = np.stack([good, bad], axis=2)
    np.testing.assert_allclose(r_hat(both), [r_hat(good), r_hat(bad)])
    np.testing.assert_allclose(chain_ess(both), [chain_ess(good), chain_ess(bad)])
    assert r_hat(good).shape == chain_ess(good).shape == ()


def test_chains_that_disagree():
    draws = autoregressive(0.0, 200, 4)
    assert r_hat(draws + 5 * np.arange(4)) > 3
    assert chain_ess(draws + 5 * np.arange(4)) < 10
    drifting = draws + np.linspace(0, 10, 200)[:, None]  # all chains together, which only the halves can show
    assert r_hat(drifting) > 1.5
    assert chain_ess(drifting) < 50


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300])
def test_chains_that_do_not_move(value):
    frozen = np.full((31, 3), value)
    assert r_hat(frozen) == 1
    assert chain_ess(frozen) == 1
    apart = np.stack([frozen[:, 0], frozen[:, 1] + 0.1, frozen[:, 2] / 2 + 0.2], axis=1)
    assert r_hat(apart) == math.inf
    assert 0 < chain_ess(apart) <= 5


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_draws_that_are_not_finite_are_never_fine(bad):
    draws = autoregressive(0.0, 100, 4)
    draws[50, 2] = bad
    assert r_hat(draws) == math.inf
    assert chain_ess(draws) == 0


@given(st.floats(-250, 250), st.integers(0, 100))
def test_the_scale_of_the_draws_does_not_matter(exponent, seed):
    """Chains that run away pass through numbers whose squares overflow."""
    draws = autoregressive(0.5, 20, 3, seed)
    for statistic in (r_hat, chain_ess):
        np.testing.assert_allclose(statistic(draws * 10.0**exponent), statistic(draws))


@pytest.mark.parametrize("shape", [(3, 4), (10,), (10, 0), (10, 2, 2, 2)])
def test_draws_of_the_wrong_shape_are_named(shape):
    for statistic in (r_hat, chain_ess):
        with pytest.raises(ValueError, match=r"draws has shape .*give \(n_steps, n_chains\)"):
            statistic(np.zeros(shape))


# ---- what is said ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"acceptance": 0.1}, ["Acceptance 0.1", "smaller step_size"]),
        ({"acceptance": 0.99}, ["Acceptance 0.99", "larger step_size"]),
        ({"r_hat": 1.3}, ["R-hat 1.3", "longer burn-in"]),
        ({"r_hat": math.inf}, ["R-hat inf", "longer burn-in"]),
        ({"ess": 3.0}, ["3.0 effective draws", "more draws"]),
        ({"ess": 0.0, "acceptance": 0.0}, ["effective draws", "smaller step_size"]),
    ],
)
def test_trouble_names_what_is_bad_and_the_remedy(changed, words):
    said = Diagnostics(**{**FINE, **changed}).trouble()
    assert all(word in said for word in words)
    assert said.count(":") == len(changed)  # and nothing else


@pytest.mark.parametrize("fine", [FINE, {**FINE, "acceptance": 0.2, "r_hat": 1.1, "ess": 50.0}])
@pytest.mark.parametrize("missing", [[], ["acceptance"], ["ess", "r_hat"], list(FINE)])
def test_no_trouble_where_all_is_fine_or_does_not_apply(fine, missing):
    assert Diagnostics(**{**fine, **dict.fromkeys(missing, math.nan)}).trouble() == ""
