"""The HuffPost recipe on made-up headlines, and the pieces that it rests on against slower ways."""

import numpy as np
import pytest
import torch
from scipy.special import log_softmax

import infopursuit as ip
from benchmarks import datasets
from benchmarks.datasets.news import TOPICS
from benchmarks.experiment import Experiment
from benchmarks.gain_stops import Limits, choose_limits, elbow, guesses_at, stops_at
from benchmarks.recipes import huffpost as recipe
from benchmarks.recipes.log_odds import fit_log_odds
from benchmarks.recipes.presence_network import fit_presence_network
from benchmarks.recipes.word_models import FAMILIES, LOG_ODDS, all_answers, in_memory
from data_fixtures import data_beside  # noqa: F401
from infopursuit.app.datasets.dataset import fold_numbers, parts
from infopursuit.models import Sample, naive_bayes
from infopursuit.models.folds import number_keys
from infopursuit.pursuit.stopping import MaxQueries
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.support.types import Variables

SMALL = recipe.Settings(
    n_folds=2,
    n_words=30,
    gains=(0.1, 0.01, 1e-3, 1e-4),
    doubts=(0.0, 0.1),
    n_trial=20,
    at_a_time=25,
    n_examples=3,
    most_questions=10,
)


def sparse_rows(n=400, n_variables=12, n_classes=3, seed=0):
    """Rare yeses: each class has a few variables of its own, the others are noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    probs = np.full((n_classes, n_variables), 0.05)
    for c in range(n_classes):
        probs[c, 3 * c : 3 * c + 3] = 0.4
    return (rng.random((n, n_variables)) < probs[labels]).astype(np.int64), labels


@pytest.fixture
def fitted():
    values, labels = sparse_rows()
    qs = ip.queries.concepts([f"word {i}" for i in range(values.shape[1])])
    return qs, values, fit_log_odds(Sample.of(qs.variables, values, labels), spread=0.7, conditional=1.0)


@pytest.fixture
def headlines(monkeypatch):
    """Sixteen headlines of each topic, with words of the topic, words of all, and a few of another topic."""
    rng = np.random.default_rng(0)
    usual = ["today", "people", "story", "week"]
    texts, labels = [], []
    for label in range(len(TOPICS)):
        for _ in range(16):
            other = rng.integers(len(TOPICS)) if rng.random() < 0.2 else label
            own = [f"{'abcdefghij'[other]}word{'xyz'[i]}" for i in rng.integers(0, 3, 2)]
            texts.append(" ".join([*own, *rng.choice(usual, 2)]))
            labels.append(label)
    order = rng.permutation(len(texts))
    x, y = np.array(texts, dtype=object)[order], np.array(labels)[order]
    groups = number_keys(x)
    data = datasets.GroupedDataset(
        "huffpost", **parts(fold_numbers(y, groups) == 0, x=x, y=y, groups=groups), class_names=TOPICS
    )
    monkeypatch.setattr(datasets, "load", lambda name: data)
    return data


def test_slopes_of_log_odds_lead_to_a_maximum():
    """No small change of any table makes log p(x, y) + c log p(y | x) + log prior larger."""
    values, labels = sparse_rows(60, 4, 2)
    sample, conditional, spread = Sample.of(ip.queries.concepts(list("abcd")).variables, values, labels), 0.8, 0.9
    model = fit_log_odds(sample, spread, conditional, rounds=500)
    prior, _, tables = model.tables()
    found = np.log(tables[:, 0, 1::2] / tables[:, 0, 0::2])  # (C, A) log-odds

    def objective(odds):
        joint = values @ odds.T - np.logaddexp(0, odds).sum(1) + np.log(prior)
        each = np.arange(len(labels)), labels
        around = odds - odds.mean(0)  # the mean that costs least
        total = joint[each].sum() + conditional * log_softmax(joint, axis=1)[each].sum()
        return total - (around**2).sum() / (2 * spread**2)

    best = objective(found)
    for c, a in np.ndindex(found.shape):
        for step in (-0.05, 0.05):
            moved = found.copy()
            moved[c, a] += step
            assert objective(moved) < best


def test_a_wide_spread_gives_frequencies_and_a_narrow_one_those_of_all_classes():
    values, labels = sparse_rows()
    sample = Sample.of(ip.queries.concepts([str(i) for i in range(12)]).variables, values, labels)
    loose, tight = (fit_log_odds(sample, spread).tables()[2][:, 0, 1::2] for spread in (50.0, 1e-3))
    np.testing.assert_allclose(loose[0], values[labels == 0].mean(0), atol=2e-3)
    np.testing.assert_allclose(tight[0], tight[1], atol=1e-3)
    np.testing.assert_allclose(tight[0], values.mean(0), atol=2e-3)


@pytest.mark.parametrize(
    ("sizes", "value", "settings", "words"),
    [
        ((2, 3), 0, {"spread": 1.0}, "yes/no"),
        ((2, 2), -1, {"spread": 1.0}, "unknown"),
        ((2, 2), 0, {"spread": 0.0}, "spread=0.0"),
        ((2, 2), 0, {"spread": 1.0, "conditional": -1.0}, "conditional=-1.0"),
    ],
)
def test_log_odds_refuse_what_they_cannot_learn(sizes, value, settings, words):
    sample = Sample.of(Variables(sizes), [[0, value], [1, 1]], [0, 1])
    with pytest.raises(ValueError, match=words):
        fit_log_odds(sample, **settings)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_all_answers_at_once_are_all_answers_one_by_one(fitted, family):
    qs, values, _ = fitted
    _, labels = sparse_rows()
    model = family.fit(Sample.of(qs.variables, values, labels), *family.options[0])
    slow = generative_pursuit(model, qs, stopping=MaxQueries(len(qs))).run_values(values[:10]).posterior
    np.testing.assert_allclose(np.exp(all_answers(model, values[:10])), slow, atol=1e-9)
    torch.testing.assert_close(in_memory(model).probs, model.block(slice(0, qs.variables.n_slots)), check_dtype=False)


@pytest.mark.parametrize("limits", [Limits(0.05), Limits(0.01), Limits(0.01, 0.1), Limits(0.002, 0.3)])
def test_stops_read_off_a_longer_trace_are_those_of_a_pursuit(fitted, limits):
    qs, values, model = fitted
    trace = generative_pursuit(model, qs, stopping=Limits(1e-3).rule()).run_values(values[:60])
    own = generative_pursuit(model, qs, stopping=limits.rule()).run_values(values[:60])
    stops = stops_at(trace, limits)
    np.testing.assert_array_equal(stops, own.length)
    np.testing.assert_array_equal(guesses_at(trace, stops), own.predictions)
    assert len(np.unique(stops)) > 1


def test_the_shortest_limits_that_cost_little_are_chosen(fitted):
    qs, values, model = fitted
    trace = generative_pursuit(model, qs, stopping=Limits(1e-6).rule()).run_values(values[:100])
    whole = np.exp(all_answers(model, values[:100]))
    options = [Limits(gain) for gain in (0.2, 0.05, 0.01, 1e-3, 1e-5)]
    dear, cheap = (choose_limits(trace, whole, options, loss) for loss in (0.0, 1.0))
    assert cheap.limits == Limits(0.2)
    assert dear.length > cheap.length
    assert dear.loss <= cheap.loss
    with pytest.raises(ValueError, match="options is empty"):
        choose_limits(trace, whole, [], 0.1)


def test_elbow_of_a_single_point():
    assert elbow([3.0], [0.5]) == 0


def test_a_network_of_presences_learns_rare_words():
    values, labels = sparse_rows(600)
    qs = ip.queries.concepts([str(i) for i in range(12)])
    network = fit_presence_network(qs, values[:400], labels[:400], epochs=20)
    assert (network.predict(values[400:]) == labels[400:]).mean() > 0.6
    assert 1 <= network.epochs <= 20


def test_the_recipe_from_headlines_to_tables(headlines, tmp_path):
    experiment = Experiment("huffpost", tmp_path, progress=False)
    result = recipe.huffpost(experiment, SMALL)
    names = [row["name"] for row in result["rows"]]
    assert names[0] == "Information Pursuit"
    rows = dict(zip(names, result["rows"], strict=True))
    assert rows["Information Pursuit"]["n_inputs"] == rows["MAP using Q"]["n_inputs"] == 160
    assert rows["MAP using Q"]["accuracy"] > 0.5
    assert rows["Information Pursuit"]["accuracy"] > 0.5
    assert rows["Information Pursuit, examples as states"]["n_inputs"] == 2 * SMALL.n_examples
    assert rows["Information Pursuit, paper"]["accuracy"] == 0.7121
    assert result["data"]["headlines"] == 160
    assert [d["what"] for d in result["differences"]][:3] == [
        "Information Pursuit - MAP using Q",
        "MAP using Q - black box using Q",
        "Information Pursuit - decision tree",
    ]
    difference = rows["Information Pursuit"]["accuracy"] - rows["MAP using Q"]["accuracy"]
    assert result["differences"][0]["mean"] == pytest.approx(difference)
    lengths = [point["length"] for point in result["curves"]["Information Pursuit"]]
    assert lengths == sorted(lengths)
    for figure in result["figures"]:
        assert (tmp_path / figure["file"]).stat().st_size > 1000
    said: list[str] = []
    again = recipe.huffpost(Experiment("huffpost", tmp_path, say=said.append, progress=False), SMALL)
    assert again["rows"] == result["rows"]
    parts_kept = {line.split(":")[0] for line in said if "kept from" in line}
    assert {"fold 1 models", "fold 2 tree", "fold 2 pursuit 75"} <= parts_kept


def test_the_vocabulary_comes_from_training_headlines_alone(headlines):
    for fold in recipe._folds(headlines, SMALL, Experiment("huffpost", None)):
        part = list(datasets.folds(headlines, n=2, seed=0))[fold.number - 1]
        assert fold.query_set.names == ip.queries.words(part.x_train, 30).names
        assert len(fold.labels_test) + len(fold.labels_train) == 160


def test_fewer_inputs_are_drawn_in_every_fold(headlines):
    folds = list(recipe._folds(headlines, SMALL, Experiment("huffpost", None, n_inputs=20)))
    assert [len(fold.labels_test) for fold in folds] == [10, 10]
    assert len(np.unique(folds[0].labels_test)) > 3  # not cut off


@pytest.mark.data
@pytest.mark.usefixtures("data_beside")
def test_real_headlines_are_told_apart():
    """A glance at the real data: the model beats plain naive Bayes on rows that it has not seen."""
    try:
        data = datasets.load("huffpost")
    except FileNotFoundError as error:
        pytest.skip(f"no headlines here: {error}; set INFOPURSUIT_DATA to the folder that holds them")
    qs = ip.queries.words(data.x_train[::4], 300)
    values, test = qs.observe(data.x_train[::4]), qs.observe(data.x_test[::4])
    sample = Sample.of(qs.variables, values, data.y_train[::4], n_classes=10)
    ours = all_answers(LOG_ODDS.fit(sample, 0.7, 1.0), test).argmax(1) == data.y_test[::4]
    plain = all_answers(naive_bayes(1.0).fit(sample), test).argmax(1) == data.y_test[::4]
    assert ours.mean() > plain.mean()
    assert ours.mean() > 0.4
