"""Diagnosis by symptoms: the model of what a patient reports, conditions that are left out, two steps, and costs."""

from itertools import product

import numpy as np
import pytest

import infopursuit as ip
from benchmarks import symcat
from benchmarks.symcat import Strategy, World
from data_fixtures import real_data  # noqa: F401
from infopursuit.strategies import LookAhead


@pytest.fixture(scope="module")
def world():
    yes = np.array(
        [[0.9, 0.2, 0.0, 0.4, 0.6], [0.3, 0.8, 0.5, 0.0, 0.1], [0.5, 0.0, 0.7, 0.2, 0.0], [0.0, 0.6, 0.3, 1.0, 0.2]]
    )
    sex = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])
    return World(
        ("a", "b", "c", "d"), ("cough", "fever", "rash", "lump", "pain"), yes, {"sex": (("male", "female"), sex)}
    )


def enumerated(world, reported, answers, prior, sex=None):
    """P(condition | the patient reported this symptom, some answers) over all sets of symptoms."""
    found = np.zeros(len(world.yes))
    for present in product((0, 1), repeat=len(world.symptoms)):
        if present[reported] and all(present[s] == value for s, value in answers.items()):
            likelihood = np.prod(np.where(present, world.yes, 1 - world.yes), axis=1)
            found += likelihood / sum(present) / (1 - np.prod(1 - world.yes, axis=1))
    found *= prior if sex is None else prior * world.context["sex"][1][:, sex]
    return found / found.sum()


@pytest.mark.parametrize("context", ["", "known"])
def test_the_report_model_is_the_sum_over_all_sets_of_symptoms(world, context):
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    patients = symcat.draw(world, 40, 3, prior)
    walk = symcat.walk(world, patients, Strategy(report=True, context=context), prior, 2)
    for i, asked in enumerate(walk.asked):
        answers = {s: patients.symptoms[i, s] for s in asked}
        sex = patients.context[i, 0] if context else None
        exact = enumerated(world, patients.reported[i], answers, prior, sex)
        assert walk.posterior[i] == pytest.approx(exact, abs=1e-9)


def test_conditions_and_symptoms_that_are_left_out_change_nothing(world):
    patients, questions = symcat.draw(world, 60, 4), symcat.Questions(world.symptoms, {})
    walk = symcat.walk(world, patients, Strategy(), None, 3)
    pursuit = ip.generative_pursuit(
        ip.models.TableModel(np.full(4, 0.25), None, world.yes), questions, stopping=ip.MaxQueries(3)
    )
    for reported in np.unique(patients.reported):
        rows = np.flatnonzero(patients.reported == reported)
        trace = pursuit.run_values(patients.symptoms[rows], known=[int(reported)], progress=False)
        assert walk.posterior[rows] == pytest.approx(trace.posterior, abs=1e-9)


def test_declared_errors_are_those_of_answer_noise_with_a_report_that_is_right(world):
    patients, questions = symcat.draw(world, 60, 5), symcat.Questions(world.symptoms, {})
    walk = symcat.walk(world, patients, Strategy(error=0.1), None, 3)
    model = ip.models.TableModel(np.full(4, 0.25), None, world.yes)
    for reported in np.unique(patients.reported).tolist():
        rows = np.flatnonzero(patients.reported == reported)
        noise = ip.AnswerNoise(0.9, {world.symptoms[reported]: 1.0})
        pursuit = ip.generative_pursuit(model, questions, stopping=ip.MaxQueries(3), noise=noise)
        trace = pursuit.run_values(patients.symptoms[rows], known=[reported], progress=False)
        assert walk.posterior[rows] == pytest.approx(trace.posterior, abs=1e-9)


def test_two_steps_by_mutual_information_are_those_of_plain_look_ahead(world):
    questions = symcat.Questions(world.symptoms, {})
    model = ip.models.TableModel(np.full(4, 0.25), None, world.yes)
    gains = []
    for belief in (symcat.Ahead(model, questions), ip.strategies.Exact(model, questions)):
        pursuit = ip.Pursuit(questions, belief, LookAhead(depth=2, n_candidates=5))
        gains.append(pursuit.utilities(pursuit.start()).value[0])
    assert gains[0] == pytest.approx(gains[1], abs=1e-5)
    assert (gains[0] > ip.generative_pursuit(model, questions).utilities(pursuit.start()).value[0]).all()


def test_patients_report_a_symptom_that_they_have(world):
    patients = symcat.draw(world, 4000, 6)
    assert patients.symptoms[np.arange(4000), patients.reported].all()
    mine = patients.take(patients.condition == 3)
    some = 1 - np.prod(1 - world.yes[3])
    expected = world.yes[3] / some
    assert mine.symptoms.mean(axis=0) == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(len(mine)))
    assert mine.context[:, 0].max() == 0


def test_budgets_pay_for_the_questions_before_them(world):
    found = {"rank": np.array([[1, 0, 2], [0, 1, 0]]), "spent": np.array([[1.0, 5.0], [4.0, 5.0]])}
    assert symcat.within(found, 1).tolist() == [True, True]
    assert symcat.within(found, 5).tolist() == [False, True]
    assert symcat.cost_to_reach(found, 1.0) == 1.0
    assert world.costs.tolist() == [1, 1, 1, symcat.EXAMINATION_COST, 1]


def test_conditions_with_equal_rows_share_their_patients(world):
    twins = World(("a", "b", "c"), ("x",), np.array([[0.5], [0.5], [0.2]]), {})
    assert twins.ceiling(1) == pytest.approx(2 / 3)
    assert twins.ceiling(3) == 1


@pytest.mark.data
def test_gain_is_better_than_a_random_order(real_data, tmp_path):  # noqa: F811
    real_data("symcat.npz")
    world = World.load().first(60)
    patients = symcat.draw(world, 150, 7)
    right = [
        (symcat.walk(world, patients, Strategy(kind), None, 5).rank[:, 5] == 0).mean()
        for kind in ("gain", "random order")
    ]
    assert right[0] > right[1] + 0.1
