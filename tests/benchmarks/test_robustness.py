"""Wrong and unknown answers, and a prior that is estimated from patients without labels."""

import numpy as np
import pytest

from benchmarks import robustness, symcat
from benchmarks.robustness import altered, estimate_prior, total_variation
from benchmarks.symcat import Strategy, World


@pytest.fixture(scope="module")
def world():
    yes = np.random.default_rng(0).beta(0.6, 0.9, (6, 14))
    return World(tuple("abcdef"), tuple(f"s{i}" for i in range(14)), yes, {})


def test_answers_change_at_the_stated_rate_and_the_report_stays(world):
    patients = symcat.draw(world, 3000, 0)
    rows = np.arange(len(patients))
    for unknown in (False, True):
        other = altered(patients, 0.1, unknown)
        changed = other.symptoms != patients.symptoms
        assert changed.mean() == pytest.approx(0.1 * 13 / 14, abs=0.005)
        assert not changed[rows, patients.reported].any()
        assert set(np.unique(other.symptoms[changed])) == ({-1} if unknown else {0, 1})


def test_declaring_errors_makes_good_a_part_of_what_they_cost(world):
    patients = symcat.draw(world, 1500, 1)
    wrong = altered(patients, 0.1, unknown=False)
    right = [
        (symcat.walk(world, some, strategy, None, 8).rank[:, 8] == 0).mean()
        for some, strategy in ((patients, Strategy()), (wrong, Strategy()), (wrong, Strategy(error=0.1)))
    ]
    assert right[1] + 0.01 < right[2] < right[0]


def test_all_answers_with_declared_errors_are_those_of_a_pursuit_that_asks_everything(world):
    patients = altered(symcat.draw(world, 200, 4), 0.1, unknown=False)
    even = np.full(6, 1 / 6)
    task = robustness.Task("a", world, even, patients, even, patients, np.ones(200), patients, np.ones(200))
    walk = symcat.walk(world, patients, Strategy(error=0.1), even, 13)
    assert (robustness.all_answered(task, patients, 0.1) == walk.rank[:, 13]).all()


def test_an_unknown_answer_leaves_the_posterior_as_it_was(world):
    patients = altered(symcat.draw(world, 50, 2), 1.0, unknown=True)
    walk = symcat.walk(world, patients, Strategy(), None, 3)
    assert (walk.rank == walk.rank[:, :1]).all()
    assert (walk.asked >= 0).all()


def test_the_estimated_prior_approaches_that_of_the_patients(world):
    even = np.full(6, 1 / 6)
    posterior = symcat.walk(world, symcat.draw(world, 2000, 3, world.skewed), Strategy(), even, 6).posterior
    estimate = estimate_prior(posterior, even, np.ones(2000))
    assert estimate.sum() == pytest.approx(1)
    assert total_variation(estimate, world.skewed) < 0.3 * total_variation(even, world.skewed)


def test_weighted_differences_are_those_of_repeated_patients():
    ours, theirs = np.array([1, 1, 0, 1]), np.array([0, 1, 0, 0])
    assert robustness._points(ours, theirs, np.array([1.0, 1, 1, 1])) == robustness._points(ours, theirs)
    assert robustness._points(ours, theirs, np.array([3.0, 1, 1, 1])).startswith("+66.7")
    assert robustness._recovered(90.0, 80.0, 70.0) == "50 %"
    assert robustness._recovered(70.2, 70.1, 70.0) == ""
