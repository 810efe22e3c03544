"""The guarantee on made-up pursuits whose true accuracy is known, with a control that breaks it."""

import numpy as np
import pytest
from overconfident import pursuits
from scipy.stats import binom

from infopursuit.calibration.risk_control import (
    NotGuaranteed,
    candidate_thresholds,
    choose_threshold,
    clopper_pearson_bound,
    evaluate_thresholds,
    fixed_sequence_test,
    min_inputs_for_target,
    plan_sequence,
)
from infopursuit.calibration.temperature import calibrate, stopping_outcome

TARGET, DELTA, N_DRAWS = 0.9, 0.1, 300


@pytest.fixture(scope="module")
def everybody():
    """So many that what a rule comes to on them is what it comes to in truth."""
    return pursuits(60_000, seed=1)


def test_the_bound_is_that_of_the_binomial_tail():
    for right, n in ((8, 10), (50, 50), (1, 7), (970, 1000)):
        bound = clopper_pearson_bound(right, n, DELTA)
        assert binom.sf(right - 1, n, bound) == pytest.approx(DELTA)
    assert clopper_pearson_bound(0, 0, DELTA) == clopper_pearson_bound(0, 9, DELTA) == 0
    for target in (0.8, 0.97):
        n = min_inputs_for_target(target, DELTA)
        assert clopper_pearson_bound(n, n, DELTA) >= target > clopper_pearson_bound(n - 1, n - 1, DELTA)


def draws(n):
    """Small calibration sets, each new."""
    return (pursuits(n, seed=100 + i) for i in range(N_DRAWS))


def test_the_target_is_missed_no_more_often_than_said_and_a_naive_choice_misses_it_far_more_often(everybody):
    tried = candidate_thresholds(0.9999, 4)
    truth = {each.threshold: each.accuracy for each in evaluate_thresholds(everybody, tried, DELTA)}
    ours, naive, chosen = 0, 0, 0
    for drawn in draws(240):
        some, others = drawn.take(slice(0, 100)), drawn.take(slice(100, None))
        laxest = [each.threshold for each in evaluate_thresholds(drawn, tried, DELTA) if each.accuracy >= TARGET]
        naive += bool(laxest) and truth[laxest[-1]] < TARGET
        try:
            found = choose_threshold(some, others, tried, TARGET, DELTA)
        except NotGuaranteed:
            continue
        chosen += 1
        ours += truth[found.threshold] < TARGET
    assert chosen > 0.5 * N_DRAWS  # a rule that is never given is never wrong
    assert ours <= DELTA * N_DRAWS + 2 * np.sqrt(DELTA * (1 - DELTA) * N_DRAWS)
    assert naive > 0.3 * N_DRAWS


def test_the_sequence_without_a_plan_keeps_the_guarantee_too_and_uses_it_up(everybody):
    """With an end that is right at the edge the share of misses is near delta: the bound is not idle."""
    tried = [t for t in candidate_thresholds(0.9999, 4) if t > 0.5]
    truth = {each.threshold: each.accuracy for each in evaluate_thresholds(everybody, tried, DELTA)}
    start = next(i for i, t in enumerate(tried) if t < 0.97)
    missed = 0
    for drawn in draws(150):
        found = fixed_sequence_test(drawn, tried[start:], TARGET, DELTA)
        missed += bool(found) and truth[found[-1].threshold] < TARGET
    assert 0.01 * N_DRAWS < missed <= DELTA * N_DRAWS + 2 * np.sqrt(DELTA * (1 - DELTA) * N_DRAWS)


def test_the_sequence_ends_at_the_first_that_fails():
    drawn = pursuits(400, seed=7)
    tried = candidate_thresholds(0.9999, 4)
    bounds = [each.bound for each in evaluate_thresholds(drawn, tried, DELTA)]
    start = int(np.argmax(bounds))
    passed = fixed_sequence_test(drawn, tried[start:], TARGET, DELTA)
    assert [each.threshold for each in passed] == tried[start : start + len(passed)]
    assert all(bound >= TARGET for bound in bounds[start : start + len(passed)])
    assert bounds[start + len(passed)] < TARGET
    assert fixed_sequence_test(drawn, tried, 0.99999, DELTA) == []


def test_the_plan_goes_from_stricter_to_laxer_and_ends_where_it_is_safe():
    drawn = pursuits(2000, seed=8)
    ordered = plan_sequence(drawn, candidate_thresholds(0.9999, 4), TARGET, DELTA)
    assert ordered == sorted(ordered, reverse=True)
    assert evaluate_thresholds(drawn, ordered[-1:], DELTA)[0].accuracy > TARGET
    assert len(plan_sequence(drawn, candidate_thresholds(0.9999, 4), 0.999999, DELTA)) == 1


def test_what_cannot_be_guaranteed_is_refused_with_what_can():
    drawn = pursuits(800, seed=3)
    parts = (drawn.take(slice(0, 300)), drawn.take(slice(300, None)))
    with pytest.raises(NotGuaranteed, match=r"target=0\.999 cannot be guaranteed with delta=0\.1") as caught:
        choose_threshold(*parts, candidate_thresholds(0.9999, 4), 0.999, DELTA)
    highest = caught.value.highest
    assert 0.9 < highest < 0.999
    assert f"about {highest:g}" in str(caught.value)
    assert choose_threshold(*parts, candidate_thresholds(0.9999, 4), highest, DELTA).bound >= highest


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0])
def test_posteriors_that_are_too_sure_or_not_sure_enough_are_put_right(sharpness, everybody):
    del everybody
    found = calibrate(pursuits(4000, seed=4, sharpness=sharpness), max_queries=12, target=0.9)
    assert found.calibrator.temperature == pytest.approx(sharpness, rel=0.15)
    later = pursuits(20_000, seed=5, sharpness=sharpness).scaled(found.calibrator)
    out = stopping_outcome(later, 1 - found.epsilon)
    assert out.accuracy >= 0.9
    assert out.ece < 0.02
    assert found.ece_after < 0.03
    if sharpness == 3:
        assert found.ece_before > 0.05
        assert found.length_after > found.length_before
    assert out.stopped == pytest.approx(found.stopped, abs=0.05)
    assert "held-out inputs stop so" in str(found)


def test_too_few_inputs_are_refused_with_how_many_are_needed():
    with pytest.raises(ValueError, match=r"X has 50 rows; target=0\.97 .* need (\d+)") as caught:
        calibrate(pursuits(50, 0), max_queries=12)
    needed = int(str(caught.value).split("need ")[1].split(",")[0])
    with pytest.raises(ValueError, match="rows"):
        calibrate(pursuits(needed // 2, 0), max_queries=12)
