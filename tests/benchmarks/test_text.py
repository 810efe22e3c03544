"""Texts by questions: the exact belief about nested groups of words, the network on histories, the recipe in small."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import entropy

import infopursuit as ip
from benchmarks import text as recipe
from benchmarks.experiment import Experiment
from benchmarks.recipes.history_network import Demonstrations, Training, demonstrate, fit_network
from benchmarks.recipes.log_odds import fit_log_odds
from benchmarks.recipes.text_queries import with_phrases
from benchmarks.recipes.word_groups import GroupBelief, GroupGain, WordGroups, agglomerate
from infopursuit.app.datasets.dataset import Dataset
from infopursuit.models import Sample
from infopursuit.testing import check_belief, check_strategy

PRIOR = np.array([0.5, 0.3, 0.2])


@pytest.fixture
def groups():
    """Six words, five nested groups, three classes."""
    yes = np.random.default_rng(0).uniform(0.05, 0.6, (3, 6))
    names = ip.queries.concepts([f"word {i}" for i in range(6)])
    queries = WordGroups(names, agglomerate(PRIOR[:, None] * yes), yes.mean(axis=0))
    belief = GroupBelief(ip.models.TableModel(PRIOR, None, yes), queries)
    return yes, queries, ip.Pursuit(queries, belief, GroupGain(belief), ip.MaxQueries(20))


def test_posteriors_and_gains_of_groups_are_those_of_all_64_texts(groups):
    yes, queries, pursuit = groups
    texts = np.array(list(product([0, 1], repeat=6)))
    answers = queries.of_words(texts)
    joint = np.prod(np.where(texts[:, None] == 1, yes, 1 - yes), axis=2) * PRIOR  # (texts, C)
    trace = pursuit.run_values(answers, progress=False)
    assert set(trace.length) == {len(queries)}
    for i in range(0, len(texts), 7):
        left = np.ones(len(texts), dtype=bool)
        for k in range(len(queries)):
            weights = joint[left].sum(axis=0)
            assert trace.posteriors[i, k] == pytest.approx(weights / weights.sum(), abs=1e-9)
            gains = []
            for q in range(len(queries)):
                parts = [joint[left & (answers[:, q] == a)].sum(axis=0) for a in (0, 1)]
                after = sum(p.sum() / weights.sum() * entropy(p) for p in parts if p.sum() > 0)
                gains.append(entropy(weights) - after)
            assert trace.gains[i, k] == pytest.approx(max(gains), abs=1e-6)  # float32
            left &= answers[:, trace.queries[i, k]] == trace.answers[i, k, 0]


def test_the_belief_about_groups_keeps_the_contracts(groups):
    _, queries, pursuit = groups
    check_belief(pursuit.belief, queries)
    check_strategy(pursuit, np.random.default_rng(1).integers(0, 2, (8, 6)))
    assert queries.of_words(np.array([[0, 0, 0, 0, 0, 1]]))[0, 6:].tolist() == [5 in group for group in queries.groups]


def test_overlapping_groups_are_refused():
    names = ip.queries.concepts(["a", "b", "c"])
    queries = WordGroups(names, [np.array([0, 1]), np.array([1, 2])], np.zeros(3))
    with pytest.raises(ValueError, match="groups"):
        _ = queries.below


def test_words_of_one_subject_are_merged_first():
    weights = np.full((2, 6), 0.001)
    weights[0, ::2] = 0.05
    weights[1, 1::2] = 0.05
    found = {tuple(group.tolist()) for group in agglomerate(weights)}
    assert {(0, 2, 4), (1, 3, 5)} <= found


def test_a_network_is_less_sure_of_repeated_words_than_naive_bayes():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 1200)
    values = np.repeat((rng.random((1200, 1)) < np.where(labels, 0.7, 0.3)[:, None]).astype(np.int64), 10, axis=1)
    queries = ip.queries.concepts([f"copy {i}" for i in range(10)])
    model = fit_log_odds(Sample.of(queries.variables, values[:800], labels[:800]), 1.0)
    paths = demonstrate(model, values[:800], 10)
    assert (np.sort(paths, axis=1) == np.arange(10)).all()
    shown = Demonstrations(values[:800], labels[:800], paths, np.zeros(800, np.int64), (model,))
    network = fit_network(model, shown, Training(epochs=12, rate=0.01), say=lambda text: None)
    p = network.predict(values[800:].astype(np.float64))[0][np.arange(400), labels[800:]]
    exact = ip.generative_pursuit(model, queries, stopping=ip.MaxQueries(10)).run_values(values[800:], progress=False)
    naive = exact.posterior[np.arange(400), labels[800:]]
    assert -np.log(p).mean() < 0.69  # ln 2 is that of no answer at all
    assert -np.log(naive).mean() > 1.0


@pytest.fixture
def questions():
    """Made-up questions: what they begin with tells the class, for a third of them only together with a phrase."""
    rng = np.random.default_rng(0)
    starts = (("who wrote", "who was"), ("how many", "how far"), ("where is", "where was"))
    nouns = ["river", "king", "book", "city", "song", "mountain", "paper"]
    texts, labels = [], []
    for _ in range(300):
        label = int(rng.integers(3))
        texts.append(f"{rng.choice(starts[label])} the {' '.join(rng.choice(nouns, 3))} ?")
        labels.append(label)
    x, y = np.array(texts, dtype=object), np.array(labels)
    return Dataset("trec", x[:240], y[:240], x[240:], y[240:], ("HUM", "NUM", "LOC"))


def test_phrases_beginnings_and_length_are_queries(questions):
    queries = with_phrases(questions.x_train, questions.y_train, 20, n_bigrams=20)
    values = queries.observe(["How many songs", "Tell me how many"])
    at = queries.names.index
    assert values[:, at('"how many"')].tolist() == [1, 1]
    assert values[:, at("begins: how many")].tolist() == [1, 0]


def test_the_recipe_on_made_up_questions(questions, tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "texts", lambda name: questions)
    settings = recipe.Settings(n_words=20, most=200, gains=(0.01, 1e-3), doubts=(0.0, 0.05))
    told = recipe.measure(Experiment("text", tmp_path), settings, "trec", ["generative", "groups"])
    for name in ("words generative", "words groups", "phrases generative"):
        found = told[name]["test"]
        assert found["all"] > 0.95
        assert found["stopped"]["length"] < 10
        assert found["stopped"]["right"] > found["after"][0] + 0.3
    made = recipe.tables({"trec": told})
    assert [row["strategy"] for row in made["TREC: with the stopping rule"]] == ["generative", "groups", "generative"]
