"""Posteriors at a temperature: by hand, in every way to drive a pursuit, and fitted."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import infopursuit as ip
from infopursuit.calibration.temperature import MAX_TEMPERATURE, MIN_TEMPERATURE, TemperatureScaling
from worlds import world_of

HOT = TemperatureScaling(2.5)


def test_a_posterior_at_a_temperature_by_hand():
    p = np.array([0.64, 0.32, 0.04])
    expected = np.sqrt(p) / np.sqrt(p).sum()
    np.testing.assert_allclose(np.exp(TemperatureScaling(2.0).log_posterior(np.log(p), 1)), expected, atol=1e-15)
    np.testing.assert_array_equal(TemperatureScaling(2.0).log_posterior(np.log(p), 0), np.log(p))


@given(st.lists(st.floats(-700, 0), min_size=2, max_size=6), st.floats(MIN_TEMPERATURE, MAX_TEMPERATURE))
def test_the_leader_stays_and_the_sum_is_one(logs, temperature):
    log_p = np.array(logs) - np.logaddexp.reduce(logs)
    q = np.exp(TemperatureScaling(temperature).log_posterior(log_p, 3))
    assert q.sum() == pytest.approx(1)
    assert q[log_p.argmax()] == q.max()


def test_the_impossible_stays_so():
    found = TemperatureScaling(3.0).log_posterior([[np.nan, np.nan], [0.0, -np.inf]], [1, 1])
    assert np.isnan(found[0]).all()
    np.testing.assert_array_equal(np.exp(found[1]), [1, 0])


def test_the_standard_error_is_that_of_small_changes():
    p, step = np.array([0.7, 0.2, 0.1]), 1e-6
    q = np.exp(HOT.log_posterior(np.log(p), 2))
    found = HOT.standard_error(np.full(3, step), p, q, 2)
    for c in range(3):
        moved = p * (1 - p[c] - step) / (1 - p[c])  # the others in proportion
        moved[c] = p[c] + step
        assert np.exp(HOT.log_posterior(np.log(moved), 2))[c] - q[c] == pytest.approx(found[c], rel=1e-4)
    np.testing.assert_array_equal(HOT.standard_error(np.full(3, step), p, p, 0), np.full(3, step))
    assert HOT.standard_error(np.zeros(2), [1.0, 0.0], [1.0, 0.0], 1).tolist() == [0, 0]


@pytest.mark.parametrize("true", [0.6, 1.0, 2.5])
def test_the_temperature_that_made_posteriors_too_sure_is_found(true):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), size=20_000)
    labels = (rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1)
    boast = true * np.log(p)
    boast -= np.logaddexp.reduce(boast, axis=1, keepdims=True)
    assert TemperatureScaling.fit(boast, labels).temperature == pytest.approx(true, rel=0.05)


def test_fitting_where_nothing_is_said_stays_within_bounds():
    sure = np.log([[1 - 1e-9, 1e-9]] * 30)
    assert MIN_TEMPERATURE <= TemperatureScaling.fit(sure, np.zeros(30)).temperature < 1.001
    assert 1 < TemperatureScaling.fit(sure, np.ones(30)).temperature <= MAX_TEMPERATURE
    with pytest.raises(ValueError, match=r"shapes \(30, 2\) and \(3,\)"):
        TemperatureScaling.fit(sure, np.zeros(3))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, True, "1", None, 1e9])
def test_a_temperature_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="temperature"):
        TemperatureScaling(value)


@pytest.mark.parametrize("kind", ["yes_no", "patches", "mixed"])
def test_batch_session_and_belief_agree_and_questions_do_not_change(kind):
    world, rng = world_of(3, kind=kind)
    plain = world.pursuit((("confidence", 1e-6, None), ("max_queries", 4)))
    hot = replace(plain, calibrator=HOT)
    values = world.inputs(rng, 12, unknown=0.2)
    before, after = plain.run_values(values), hot.run_values(values)
    for i in range(len(values)):
        k = min(before.length[i], after.length[i])
        np.testing.assert_array_equal(before.queries[i, :k], after.queries[i, :k])
        history = after.history(i)
        if after.stop_reason[i] != "impossible":
            np.testing.assert_allclose(hot.believe(history), after.posterior[i], atol=1e-12)
            np.testing.assert_allclose(hot.session(history).posterior, after.posterior[i], atol=1e-12)
            answered = sum(answer is not None for _, answer in history)
            own = plain.believe(history)
            with np.errstate(divide="ignore"):
                expected = np.exp(HOT.log_posterior(np.log(own), answered))
            np.testing.assert_allclose(after.posterior[i], expected, atol=1e-12)


def test_a_skipped_question_changes_nothing():
    world, _ = world_of(0, kind="yes_no", zeros=False)
    session = replace(world.pursuit(), calibrator=HOT).session()
    before = session.posterior
    np.testing.assert_array_equal(session.skip().posterior, before)
    session.answer(0)
    before = session.posterior
    np.testing.assert_array_equal(session.skip().posterior, before)


def test_rules_look_at_what_is_believed():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9] * 6, [0.1] * 6])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(list("abcdef")), stopping=ip.Confidence(0.05))
    assert pursuit.run([[1] * 6]).length.tolist() == [2]
    hot = replace(pursuit, calibrator=TemperatureScaling(2.0))
    assert hot.run([[1] * 6]).length.tolist() == [3]
    assert replace(hot, calibrator=None).run([[1] * 6]).length.tolist() == [2]
    with pytest.raises(TypeError, match="calibrator"):
        replace(pursuit, calibrator=2)
