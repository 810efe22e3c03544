"""The experiment on birds, and the parts that it is made of."""

import json

import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.black_box import NetworkSettings
from benchmarks.datasets.birds import Birds, draw_answers
from benchmarks.experiment import Experiment
from benchmarks.pages import section
from benchmarks.recipes import cub as recipe
from benchmarks.recipes.shrinkage import Shrinkage, drawn_towards, expected
from benchmarks.recipes.walks import walk
from infopursuit import queries
from infopursuit.models import Sample, TableModel, naive_bayes
from infopursuit.pursuit.stopping import Confidence, InformationGain, MaxQueries
from infopursuit.strategies.generative.build import generative_pursuit


def related_classes(n_classes=60, n_variables=40, seed=0):
    """(C, A) frequencies with three factors in common."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n_classes, 3)) @ rng.normal(size=(3, n_variables)) - 1
    return 1 / (1 + np.exp(-logits))


def sample_of(truth, n, seed):
    """n images of each class."""
    labels = np.repeat(np.arange(len(truth)), n)
    values = draw_answers(100 * truth, labels, seed)
    return Sample.of(queries.concepts([f"a{i}" for i in range(truth.shape[1])]).variables, values, labels)


def distance(model, truth):
    """Mean divergence of the model's frequencies from the true ones, in nats a variable."""
    guess = model.tables()[2][:, 0, 1::2]
    return float((truth * np.log(truth / guess) + (1 - truth) * np.log((1 - truth) / (1 - guess))).mean())


# ---- borrowing ------------------------------------------------------------------------------------------------------


def test_classes_that_are_related_are_learnt_better_by_borrowing():
    truth = related_classes()
    sample = sample_of(truth, 10, seed=1)
    plain = min(distance(naive_bayes(s).fit(sample), truth) for s in (0.5, 1.0, 2.0, 4.0, 8.0))
    alone, together = (distance(Shrinkage(rank).fit(sample), truth) for rank in (0, 3))
    assert alone < 1.05 * plain
    assert together < 0.7 * alone


def test_where_nothing_is_in_common_borrowing_does_no_harm():
    truth = np.random.default_rng(2).beta(0.5, 1.0, size=(60, 40)).clip(0.01, 0.99)
    sample = sample_of(truth, 10, seed=3)
    assert distance(Shrinkage(5).fit(sample), truth) < 1.1 * distance(Shrinkage(0).fit(sample), truth)


def test_many_rows_are_believed_whatever_is_expected():
    truth = related_classes(20, 8)
    yes, total = 10_000 * truth, np.full(truth.shape, 10_000.0)
    assert np.abs(drawn_towards(yes, total, np.full(truth.shape, 0.5)) - truth).max() < 0.01


def test_an_expectation_does_not_look_at_what_it_is_about():
    truth = related_classes(30, 20)
    yes, total = 30 * truth, np.full(truth.shape, 30.0)
    other = yes.copy()
    other[4, 7] = 30 - yes[4, 7]
    before, after = expected(yes, total, 3), expected(other, total, 3)
    assert after[4, 7] == pytest.approx(before[4, 7], abs=1e-9)
    assert np.abs(after[4] - before[4]).max() > 1e-3  # but the other variables of the class do


def test_borrowing_refuses_what_it_cannot_do():
    truth = related_classes(6, 4)
    with pytest.raises(ValueError, match="rank=4 must be a whole number from 0 to 3"):
        Shrinkage(4).fit(sample_of(truth, 5, seed=0))
    wide = Sample.of(queries.functions({"c": len}, choices={"c": ["a", "b", "c"]}).variables, [[0], [2]], [0, 1])
    with pytest.raises(ValueError, match="yes/no variables"):
        Shrinkage(0).fit(wide)


# ---- walks ------------------------------------------------------------------------------------------


def made_up(n_inputs=80):
    truth = related_classes(12, 15)
    qs = queries.concepts([f"a{i}" for i in range(15)])
    labels = np.arange(n_inputs) % 12
    values = qs.observe(draw_answers(100 * truth, labels, 5))
    return TableModel(np.full(12, 1 / 12), None, truth), qs, values, labels


@pytest.mark.parametrize(("rule", "stop"), [("confidence", Confidence), ("gain", InformationGain)])
def test_a_walk_stops_where_a_pursuit_with_that_rule_does(rule, stop):
    model, qs, values, labels = made_up()
    walks = walk(generative_pursuit(model, qs, stopping=Confidence(1e-6) | MaxQueries(14)), values, labels, 14)
    for epsilon in (0.3, 0.05, 0.01):
        trace = generative_pursuit(model, qs, stopping=stop(epsilon) | MaxQueries(14)).run_values(values)
        np.testing.assert_array_equal(walks.stops(rule, epsilon), trace.length)
        point = walks.point(rule, epsilon)
        assert point.accuracy == pytest.approx((trace.predictions == labels).mean())
        assert point.length == pytest.approx(trace.length.mean())


def test_accuracy_at_a_length_lies_between_those_of_the_nearest_epsilons():
    model, qs, values, labels = made_up(400)
    walks = walk(generative_pursuit(model, qs, stopping=Confidence(1e-6) | MaxQueries(14)), values, labels, 14)
    for length in (2.0, 4.0, 6.5):
        low, high = (walks.point("gain", epsilon) for epsilon in walks.epsilons_for("gain", length))
        assert high.length < length <= low.length
        share = (length - high.length) / (low.length - high.length)
        mixed = share * low.accuracy + (1 - share) * high.accuracy
        assert walks.right_at("gain", length).mean() == pytest.approx(mixed)
    exact = walks.point("gain", 0.05)
    assert walks.right_at("gain", exact.length).mean() == pytest.approx(exact.accuracy)


# ---- the experiment -------------------------------------------------------------------------------------------------


@pytest.fixture
def few_birds(monkeypatch):
    """Fifteen species, twenty attributes, and settings that take seconds."""
    truth = related_classes(15, 20)
    labels = np.repeat(np.arange(15), 12)
    birds = Birds(
        name="cub",
        x_train=draw_answers(100 * truth, labels, 0),
        y_train=labels,
        x_test=draw_answers(100 * truth, labels[::2], 1),
        y_test=labels[::2],
        class_names=tuple(f"{i:03d}.Bird_{i}" for i in range(15)),
        feature_names=tuple(f"has_{i}" for i in range(20)),
        description="made up",
        simulated=True,
        class_percentages=100 * truth,
    )
    monkeypatch.setattr(datasets, "cub", lambda **_: birds)
    for name, value in {
        "RANKS": (0, 3),
        "MOST": 12,
        "LENGTHS": (2, 4),
        "SLOW_INPUTS": 10,
        "MORE_INPUTS": 40,
        "MORE_IMAGES": (10, 2000),
        "NETWORK": NetworkSettings(widths=(16,), epochs=2),
    }.items():
        monkeypatch.setattr(recipe, name, value)
    return birds


def test_the_experiment(few_birds, tmp_path):
    said = []
    result = recipe.cub(Experiment("cub", tmp_path, say=said.append, progress=False))
    assert result["data"]["simulated"] is True
    names = [row["name"] for row in result["rows"]]
    for wanted in ("Information Pursuit, learnt", "Information Pursuit, true percentages", "MAP using Q, learnt"):
        assert wanted in names
    by_name = {row["name"]: row for row in result["rows"]}
    assert by_name["Information Pursuit, learnt"]["accuracy"] > 0.3  # of fifteen species
    assert by_name["Information Pursuit (paper)"]["accuracy"] == 0.7673
    assert by_name["Information Pursuit (paper)"]["n_inputs"] is None
    assert {"decision tree on Q", "black box using Q"} <= set(names)
    assert len(result["differences"]) == 4  # three at its own length, and the model that takes long
    more = next(table for title, table in result["tables"].items() if title.startswith("What more"))
    assert more[-2]["all questions"] == pytest.approx(more[-1]["all questions"], abs=5)
    written = json.loads((tmp_path / "cub.json").read_text())
    assert written["rows"] == result["rows"]
    for figure in result["figures"]:
        assert (tmp_path / figure["file"]).stat().st_size > 1000
    assert "Information Pursuit, learnt" in section(written, tmp_path)
    again = []
    assert recipe.cub(Experiment("cub", tmp_path, say=again.append, progress=False))["rows"] == result["rows"]
    assert len([line for line in again if "kept from" in line]) == 6


def test_fewer_test_images_are_of_all_species(few_birds, tmp_path):
    answers = recipe._read(Experiment("cub", tmp_path, n_inputs=30))
    assert len(answers.test) == 30
    assert len(np.unique(answers.test_labels)) > 8
    assert not set(answers.learn) & set(answers.choose)


def test_the_loss_of_the_true_percentages_is_the_entropy(few_birds, tmp_path):
    answers = recipe._read(Experiment("cub", tmp_path))
    loss = recipe._loss(answers.true_model, answers.train, answers.labels)
    p = np.asarray(few_birds.class_percentages) / 100
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p)).sum(axis=1)[answers.labels].mean()
    assert loss == pytest.approx(entropy, rel=0.05)
