"""Choosing a model: planted cases where one kind must win, and what the choice must not depend on."""

import logging
from itertools import product

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.estimator.selection import partial_log_loss, partial_orders, select_learner
from infopursuit.models import (
    EmpiricalModel,
    Flip,
    Sample,
    TableModel,
    empirical,
    latent_classes,
    learning,
    naive_bayes,
)
from infopursuit.support.types import Variables

ALL = (naive_bayes(), latent_classes(), empirical())


def select_model(learners, sample, queries, *, seed=0):
    """The best of some learners, fitted; and what was compared."""
    learner, compared = select_learner(learners, sample, queries, seed=seed)
    return learner.fit(sample, getattr(queries, "shape", None), seed), compared


def sample_of(values, labels, weights=None):
    values = np.asarray(values)
    return Sample.of(Variables((2,) * values.shape[1]), values, labels, weights)


def concepts(n):
    return ip.queries.concepts([f"question {i}" for i in range(n)])


def paired(n, seed, noise=0.05):
    """Two halves of five answers that agree in class 0 and differ in class 1: each answer alone says nothing."""
    rng = np.random.default_rng(seed)
    labels, kind = rng.integers(2, size=n), rng.integers(2, size=n)
    values = np.repeat(np.stack([kind, kind ^ labels], axis=1), 5, axis=1)
    return values ^ (rng.random(values.shape) < noise), labels


def independent(n, n_variables, seed):
    """Training rows and many fresh ones of answers that are independent given the class."""
    rng = np.random.default_rng(seed)
    probs = rng.uniform(0.2, 0.8, (2, n_variables))
    for size in (n, 2000):
        labels = rng.integers(2, size=size)
        yield sample_of(rng.random((size, n_variables)) < probs[labels], labels)


@pytest.mark.parametrize(("n", "seed"), [(80, 0), (200, 1), (200, 2)])
def test_answers_that_depend_on_each_other_want_a_mixture_or_the_examples(n, seed):
    model, compared = select_model(ALL, sample_of(*paired(n, seed)), concepts(10))
    assert not isinstance(compared[0].learner, learning.NaiveBayes)
    best_plain = min(c.loss for c in compared if isinstance(c.learner, learning.NaiveBayes))
    assert compared[0].loss < best_plain - 0.05
    fresh = sample_of(*paired(1000, 100 + seed))
    orders = partial_orders(fresh, fresh, concepts(10))
    losses = [partial_log_loss(m, concepts(10), fresh, orders) for m in (model, naive_bayes(1.0).fit(fresh))]
    assert losses[0] < losses[1] - 0.1


@pytest.mark.parametrize("n_variables", [2, 3, 4])
def test_few_distinct_rows_that_are_frequent(n_variables):
    """The label is whether the first two answers differ. Holding out all rows of a kind would favour naive Bayes."""
    rng = np.random.default_rng(0)
    values = rng.integers(2, size=(1000, n_variables))
    labels = values[:, 0] ^ values[:, 1] ^ (rng.random(1000) < 0.1)
    model, _ = select_model(ALL, sample_of(values, labels), concepts(n_variables))
    pursuit = ip.generative_pursuit(model, concepts(n_variables), stopping=ip.MaxQueries(n_variables))
    every = np.array(list(product([0, 1], repeat=n_variables)))
    assert pursuit.run(every).predictions.tolist() == (every[:, 0] ^ every[:, 1]).tolist()


def test_independent_answers_and_few_rows_want_naive_bayes_or_something_as_good():
    """Over several worlds, since one choice from sixty rows may go wrong; judged by many fresh rows."""
    chosen, examples = [], []
    for seed in range(6):
        rows, fresh = independent(60, 12, seed)
        orders = partial_orders(rows, fresh, concepts(12))
        plain = [learner.fit(rows) for learner in naive_bayes().candidates(rows)]
        best = min(partial_log_loss(model, concepts(12), fresh, orders) for model in plain)
        for losses, learners in ((chosen, ALL), (examples, (empirical(Flip((0.02, 0.2))),))):
            model, _ = select_model(learners, rows, concepts(12))
            losses.append(partial_log_loss(model, concepts(12), fresh, orders) - best)
    assert np.mean(chosen) < 0.03
    assert np.mean(examples) > 0.1  # there was something to get wrong


def test_a_table_of_facts_is_looked_up():
    """One row for each class: nothing can be held out, and truthful answers find every row."""
    rng = np.random.default_rng(3)
    facts = np.unique(rng.integers(2, size=(30, 12)), axis=0)
    names = [f"animal {i}" for i in range(len(facts))]
    clf = ip.InformationPursuitClassifier(queries=concepts(12)).fit(facts, names)
    assert isinstance(clf.model_, EmpiricalModel)
    assert clf.selection_ == []
    for name, row in zip(names, facts, strict=True):
        session = clf.session()
        while session.question is not None:
            session.answer(int(row[session.question.index]))
        assert session.prediction == name
        assert session.stop_reason in ("confidence", "exhausted")
    assert clf.explain(facts).length.mean() < 12


def test_a_table_of_facts_forgives_a_wrong_answer():
    facts = np.repeat(np.eye(4, dtype=int), 4, axis=1)  # each animal has four marks of its own
    clf = ip.InformationPursuitClassifier(queries=concepts(16), stopping=ip.MaxQueries(16)).fit(facts, list("abcd"))
    wrong = facts.copy()
    wrong[:, 0] = 1 - wrong[:, 0]
    assert clf.predict(wrong).tolist() == list("abcd")


@pytest.mark.parametrize("make", [lambda: paired(90, 5), lambda: _independent_rows(70)], ids=["paired", "independent"])
def test_the_order_of_rows_and_repeating_instead_of_weighting_mean_nothing(make):
    values, labels = make()
    rng = np.random.default_rng(0)
    times, order = rng.integers(1, 4, len(values)), rng.permutation(len(values))
    results = []
    for v, y, w in (
        (values, labels, times),
        (values[order], labels[order], times[order]),
        (np.repeat(values, times, axis=0), np.repeat(labels, times), None),
    ):
        model, compared = select_model(ALL, sample_of(v, y, w), concepts(values.shape[1]), seed=3)
        results.append((compared, model.log_prior.tolist(), model.block(slice(0, model.variables.n_slots)).tolist()))
    assert results[0] == results[1]
    assert results[0] == results[2]


def _independent_rows(n):
    rows, _ = independent(n, 9, 4)
    return rows.values, rows.labels


def test_candidates_come_best_first_and_the_best_is_fitted_on_everything():
    rows = sample_of(*paired(120, 7))
    model, compared = select_model(ALL, rows, concepts(10))
    n_options = sum(len(learner.candidates(rows)) for learner in ALL)
    assert len(compared) == n_options
    assert len({c.learner for c in compared}) == n_options
    finalists, others = compared[:4], compared[4:]
    for group in (finalists, others):  # those left out early have the loss of the first round only
        assert [c.loss for c in group] == sorted(c.loss for c in group)
    again = compared[0].learner.fit(rows)
    np.testing.assert_array_equal(model.log_prior, again.log_prior)


def test_a_single_candidate_is_taken_without_comparison():
    model, compared = select_model((latent_classes(2),), sample_of(*paired(60, 0)), concepts(10))
    assert compared == []
    assert isinstance(model, TableModel)
    assert model.n_latents == 2


def test_what_exceeds_the_memory_is_left_out(monkeypatch):
    rows = sample_of(*paired(60, 0))
    monkeypatch.setattr(learning, "EMPIRICAL_BYTES", 10)
    _, compared = select_model(ALL, rows, concepts(10))
    kinds = {type(c.learner) for c in compared}
    assert kinds == {learning.NaiveBayes, learning.LatentClasses}
    monkeypatch.setattr(learning, "TABLE_WORK", 10)
    _, compared = select_model(ALL, rows, concepts(10))
    assert {type(c.learner) for c in compared} == {learning.NaiveBayes}
    with pytest.raises(ValueError, match=r"strategy: none of .* within the memory"):
        select_model((empirical(),), rows, concepts(10))


def test_the_choice_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="infopursuit.estimator.selection"):
        _, compared = select_model(ALL, sample_of(*paired(60, 0)), concepts(10))
    assert f"{compared[0].loss:.4f} nats: {compared[0].learner}" in caplog.text


# ---- the loss that decides ------------------------------------------------------------------------------------------


def test_the_loss_is_that_of_a_loop_over_rows_and_lengths():
    rows = sample_of(*paired(40, 1))
    fresh = sample_of(*paired(15, 2), weights=np.random.default_rng(0).uniform(0.5, 3, 15))
    model, queries = latent_classes(2).fit(rows), concepts(10)
    orders = partial_orders(rows, fresh, queries)
    pursuit = ip.generative_pursuit(model, queries)
    total = 0.0
    for row, label, weight, order in zip(fresh.values, fresh.labels, fresh.weights, orders, strict=True):
        history = [(int(q), (int(row[q]),)) for q in order]
        losses = [-np.log(pursuit.believe(tuple(history[:k]))[label]) for k in (1, 2, 4, 8, 10)]
        total += weight * np.mean(losses)
    assert partial_log_loss(model, queries, fresh, orders) == pytest.approx(total / fresh.weights.sum(), abs=1e-10)


def test_unknown_values_teach_nothing():
    rows = sample_of([[1, 1], [1, 0], [0, 0], [0, 1]], [0, 0, 1, 1])
    model = naive_bayes(1.0).fit(rows)
    orders = np.array([[0, 1], [0, 1]])
    unknown = sample_of([[-1, -1], [-1, -1]], [0, 1])
    assert partial_log_loss(model, concepts(2), unknown, orders) == pytest.approx(np.log(2))


def test_a_model_that_calls_what_happens_impossible_gets_the_worst_loss_not_nan():
    model = TableModel([0.5, 0.5], None, [[1.0, 0.5], [1.0, 0.5]])
    rows = sample_of([[0, 0]], [1])
    assert partial_log_loss(model, concepts(2), rows, np.array([[0, 1]])) == 30
    certain = TableModel([0.5, 0.5], None, [[1.0, 0.5], [0.0, 0.5]])
    assert partial_log_loss(certain, concepts(2), sample_of([[1, 0]], [1]), np.array([[0, 1]])) == 30


def test_what_is_asked_of_a_row_is_what_naive_bayes_would_ask_whatever_stands_beside_it():
    rows = sample_of(*paired(60, 0))
    orders = partial_orders(rows, rows, concepts(10))
    assert all(sorted(order) == list(range(10)) for order in orders.tolist())
    some = rows.take(np.arange(len(rows))[::3])
    np.testing.assert_array_equal(partial_orders(rows, some, concepts(10)), orders[::3])
    plain = ip.generative_pursuit(naive_bayes(1.0).fit(rows), concepts(10), stopping=ip.MaxQueries(10))
    np.testing.assert_array_equal(plain.run(rows.values).queries, orders)


def test_patches_are_asked_less_often():
    """One patch tells as much as several pixels."""
    rng = np.random.default_rng(0)
    rows = sample_of(rng.integers(2, size=(30, 30)), rng.integers(2, size=30))
    assert partial_orders(rows, rows, ip.queries.patches((5, 6), size=2)).shape == (len(rows), 8)


def test_queries_that_tell_more_come_earlier():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=300)
    values = rng.integers(2, size=(300, 40))
    values[:, 7] = labels ^ (rng.random(300) < 0.05)
    rows = sample_of(values, labels)
    orders = partial_orders(rows, rows, concepts(40))
    assert orders.shape == (len(rows), 32)  # no longer than a pursuit usually is
    assert (orders[:, 0] == 7).all()


def test_flip_options_are_offered_to_facts_from_the_surest_on():
    """The first candidate is what a table of facts is given, so it must be the one that trusts its answers most."""
    rates = [c.smoothing.rates for c in empirical().candidates(sample_of([[0, 1], [1, 0]], [0, 1]))]
    assert rates == sorted(rates)
    assert all(isinstance(Flip(r), Flip) for r in rates)
