"""Answers of people about birds: counts behind percentages, leaving an image out, and a pursuit in a made-up world."""

import numpy as np
import pytest

import infopursuit as ip
from benchmarks import cub_answers
from benchmarks.bird_beliefs import (
    Idea,
    Percentages,
    Questions,
    Scores,
    learn,
    own_histories,
    pursuit_of,
    values_of,
)
from benchmarks.datasets.bird_answers import WEIGHT, Answers, read, recover_totals
from data_fixtures import real_data  # noqa: F401
from infopursuit.testing import check_acquisition, check_belief


@pytest.fixture
def answers():
    """Six species, three groups of three attributes, 20 images of each species, of which eight are at hand."""
    rng = np.random.default_rng(0)
    group, truth = np.repeat([0, 1, 2], 3), rng.uniform(0.05, 0.95, (6, 9))
    labels = np.repeat(np.arange(6), 20)
    certainty = rng.integers(1, 5, (120, 3))
    yes = (rng.random((120, 9)) < truth[labels]) * (certainty > 1)[:, group].astype(np.float64)
    weight = WEIGHT[certainty]
    totals = np.stack([weight[labels == c].sum(axis=0) for c in range(6)])
    counts = np.stack([(weight[:, group] * yes)[labels == c].sum(axis=0) for c in range(6)])
    some = np.arange(120) % 20 < 8
    names = (
        [f"a{k}" for k in range(9)],
        ["beak", "wing", "tail"],
        [f"{k}.Small_{'Gull' if k < 3 else 'Wren'}" for k in range(6)],
    )
    percentages = 100 * counts / totals[:, group]
    return Answers(yes[some], certainty[some], labels[some], group, counts, totals, percentages, *map(tuple, names))


def test_denominators_follow_from_percentages(answers):
    own = np.zeros(3)
    for c in range(6):
        for g in range(3):
            found, _ = recover_totals(answers.percentages[c, answers.group == g], 20, 0.0, own, answers.totals[c, g])
            assert found == answers.totals[c, g]
    with pytest.raises(ValueError, match="weighted by certainty"):
        recover_totals(np.array([33.34]), 20, 0.0, np.zeros(1), 40.0)


def test_an_image_is_left_out_of_the_percentages_of_its_species_and_of_no_other(answers):
    nobody = np.zeros(len(answers.labels), dtype=bool)
    idea = Idea("", 1e-9)
    percent = Percentages.of(answers, idea, nobody)
    i, c = 3, answers.labels[3]
    alone = nobody.copy()
    alone[i] = True
    without = Percentages.of(answers, idea, alone)
    np.testing.assert_allclose(percent.own[i], without.all[c], atol=1e-6)
    np.testing.assert_allclose(np.delete(percent.all, c, 0), np.delete(without.all, c, 0), atol=1e-6)
    np.testing.assert_allclose(percent.all * 100, answers.percentages, atol=1e-6)


def test_weights_of_one_are_naive_bayes_and_a_pursuit_satisfies_the_contracts(answers):
    held = answers.fold == 0
    plain = learn(answers, Idea("", weighted=False), held)
    score = plain(answers.yes, answers.known, answers.certainty)
    by_hand = (answers.known * answers.yes) @ np.log(plain.p).T + (answers.known * (1 - answers.yes)) @ np.log1p(
        -plain.p
    ).T
    np.testing.assert_allclose(score, by_hand)
    values = values_of(answers, answers.yes, answers.certainty)
    for by_group in (True, False):
        questions = Questions(answers, by_group)
        scores = learn(
            answers, Idea("", certainty=True, correlated=True), held,
            lambda first, rows, q=questions: own_histories(answers, q, 3, first, rows),
        )  # fmt: skip
        assert isinstance(scores, Scores)
        pursuit = pursuit_of(answers, scores, questions, np.flatnonzero(~held), 3)
        check_belief(pursuit.belief, questions, n_histories=3, n_steps=2)
        check_acquisition(pursuit.acquisition, pursuit.belief, questions, n_histories=2)
        trace = pursuit.run_values(values, progress=False)
        assert isinstance(trace, ip.Trace)
        assert (trace.predictions == np.array(answers.classes)[answers.labels]).mean() > 1 / 6


def test_leaving_out_is_neither_too_weak_nor_too_strong_where_the_truth_is_known(answers):
    found = {row["drawn images"]: float(row["top-1"].split()[0]) for row in cub_answers.made_up_world(answers, 2)}
    assert found["in the percentages"] >= found["in the percentages, left out"]
    assert abs(found["in the percentages, left out"] - found["not in the percentages"]) < 12  # 180 images each


@pytest.mark.data
def test_published_percentages_are_weighted_by_certainty(real_data):  # noqa: F811
    real_data("cub_attributes.npz")
    real_data("cub_image_attributes_1198.npz")
    answers = read()
    assert (answers.counts >= 0).all()
    np.testing.assert_allclose(100 * answers.counts / answers.totals[:, answers.group], answers.percentages, atol=1e-3)
    left, _ = answers.without(np.ones(len(answers.labels), dtype=bool))
    assert (left >= 0).all()  # the images at hand never have more than all images
