"""Diagnostics: naive formulas, and what is said about bad draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.strategies.generative.exact import weight_ess
from infopursuit.strategies.generative.langevin import Diagnostics, family_ess, sum_variance

FINE = {"acceptance": 0.6, "ess": 500.0}


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


# ---- what is said ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"acceptance": 0.1}, ["Acceptance 0.1", "smaller step_size"]),
        ({"acceptance": 0.99}, ["Acceptance 0.99", "larger step_size"]),
        ({"ess": 3.0}, ["3.0 effective draws", "more draws"]),
        ({"ess": 0.0, "acceptance": 0.0}, ["effective draws", "smaller step_size"]),
    ],
)
def test_trouble_names_what_is_bad_and_the_remedy(changed, words):
    said = " ".join(Diagnostics(**{**FINE, **changed}).troubles())
    assert all(word in said for word in words)
    assert said.count(":") == len(changed)  # and nothing else


@pytest.mark.parametrize("fine", [FINE, {**FINE, "acceptance": 0.2, "ess": 50.0}])
@pytest.mark.parametrize("missing", [[], ["acceptance"], ["ess"], list(FINE)])
def test_no_trouble_where_all_is_fine_or_does_not_apply(fine, missing):
    assert Diagnostics(**{**fine, **dict.fromkeys(missing, math.nan)}).troubles() == []
