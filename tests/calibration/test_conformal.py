"""Prediction sets cover as often as they say; a control without the correction, and a look at any time, do not."""

from operator import methodcaller

import numpy as np
import pytest
from overconfident import N_CLASSES, N_STEPS, pursuits

from infopursuit.calibration.conformal import PredictionSets, min_inputs_for_coverage, prediction_sets

COVERAGE = 0.9


def covered(rule, drawn, threshold, anytime):
    """(B, K + 1) whether the right class is in the set; what has stopped keeps what it ended with."""
    stop = drawn.stopping_times([threshold])[:, 0]
    ends = np.where(stop >= 0, stop, drawn.length)
    steps = np.broadcast_to(np.arange(N_STEPS + 1), (len(drawn), N_STEPS + 1))
    own = np.exp(drawn.log_posterior)[np.arange(len(drawn))[:, None], np.minimum(steps, ends[:, None])]
    inside = rule.contains(own, steps, anytime=anytime)
    return inside[np.arange(len(drawn)), :, drawn.labels], inside


@pytest.mark.parametrize("sharpness", [1.0, 3.0])
def test_coverage_at_every_step_and_at_all_steps_at_once(sharpness):
    later = pursuits(4000, seed=9, sharpness=sharpness)
    each, together, looked = [], [], []
    for i in range(60):
        rule = prediction_sets(
            pursuits(200, 10 + i, sharpness), pursuits(99, 500 + i, sharpness), COVERAGE, methodcaller("ends", 0.95)
        )
        hit, _ = covered(rule, later, 0.95, anytime=False)
        each.append(hit.mean(axis=0))
        looked.append(hit.all(axis=1).mean())
        together.append(covered(rule, later, 0.95, anytime=True)[0].all(axis=1).mean())
    # standard errors: 0.004 of the draws, 0.005 of those that come later
    assert (np.mean(each, axis=0) > COVERAGE - 0.02).all()
    assert np.mean(each, axis=0)[1:4].max() < COVERAGE + 0.02  # later on, the likeliest class alone covers more
    assert abs(np.mean(together) - COVERAGE) < 0.02
    assert np.mean(looked) < COVERAGE - 0.05  # looking at all steps at once is not covered by sets for one step


def test_taking_the_posterior_at_its_word_does_not_cover():
    """The control: all classes with a posterior of 1 - coverage, where the model is too sure."""
    later = pursuits(4000, seed=9, sharpness=3.0)
    word = PredictionSets(COVERAGE, *2 * (((1 - COVERAGE,) * (N_STEPS + 1),),))
    assert covered(word, later, 0.95, anytime=False)[0][:, -1].mean() < COVERAGE - 0.02


def test_the_set_at_the_stop_is_that_of_the_last_step():
    rule = prediction_sets(pursuits(200, 1), pursuits(200, 2), COVERAGE, methodcaller("ends", 0.95))
    drawn = pursuits(50, 3)
    _, inside = covered(rule, drawn, 0.95, anytime=False)
    stop = drawn.stopping_times([0.95])[:, 0]
    last = np.exp(drawn.log_posterior)[np.arange(50), np.where(stop >= 0, stop, N_STEPS)]
    np.testing.assert_array_equal(rule.at_stop(last), inside[:, -1])


def unfair(n, seed):
    """Pursuits of a model that holds class 0 to be rarer than it is."""
    drawn = pursuits(n, seed)
    drawn.log_posterior[:, :, 0] -= 1.5
    drawn.log_posterior[:] -= np.logaddexp.reduce(drawn.log_posterior, axis=2, keepdims=True)
    return drawn


def test_sets_of_each_class_cover_each_class():
    later = unfair(20_000, seed=9)
    for by_class in (False, True):
        rule = prediction_sets(unfair(300, 1), unfair(2000, 2), COVERAGE, methodcaller("ends", 0.95), by_class=by_class)
        hit, _ = covered(rule, later, 0.95, anytime=False)
        worst = min(hit[later.labels == c, -1].mean() for c in range(N_CLASSES))
        assert (worst > COVERAGE - 0.03) == by_class
    assert len(rule.after) == N_CLASSES


def test_the_likeliest_class_is_always_in_and_with_too_few_inputs_all_are():
    rule = PredictionSets(0.5, ((1.0, 1.0),), ((0.2, 0.2),))
    assert rule.contains([[0.6, 0.3, 0.1]], [0]).tolist() == [[True, False, False]]
    assert rule.contains([[0.6, 0.3, 0.1]], [7], anytime=True).tolist() == [[True, True, False]]
    few = prediction_sets(
        pursuits(30, 1), pursuits(min_inputs_for_coverage(COVERAGE) - 1, 2), COVERAGE, methodcaller("ends", 0.95)
    )
    assert few.contains([[1.0, 0.0, 0.0, 0.0]], [3]).all()
    enough = prediction_sets(
        pursuits(30, 1), pursuits(min_inputs_for_coverage(COVERAGE), 2), COVERAGE, methodcaller("ends", 0.95)
    )
    assert max(enough.after[0]) > 0


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"coverage": 1.0}, "coverage=1.0"),
        ({"coverage": float("nan")}, "coverage"),
        ({"after": ((0.5, 1.5),)}, "after.*1.5"),
        ({"after": ((0.5, float("nan")),)}, "after.*nan"),
        ({"anytime": ((0.5,), (0.5, 0.5))}, "different lengths"),
        ({"anytime": ()}, "different lengths"),
    ],
)
def test_numbers_that_cannot_be_are_refused(changed, words):
    with pytest.raises(ValueError, match=words):
        PredictionSets(**{"coverage": 0.9, "after": ((0.5, 0.5),), "anytime": ((0.5, 0.5),), **changed})
