"""The short way to gains with one state a class gives the gains of the long way."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.acquisition.mutual_information import OneState


def naive_bayes(n_classes=7, n_variables=15, seed=0):
    rng = np.random.default_rng(seed)
    table = rng.uniform(0.02, 0.98, (n_classes, n_variables))
    table[0, :3], table[1, :3] = (0.0, 1.0, 1.0), (1.0, 0.0, 1.0)  # certain answers have no entropy, and no NaN
    return ip.models.TableModel(rng.dirichlet(np.ones(n_classes)), None, table)


QUERIES = ip.queries.concepts([f"a{i}" for i in range(15)])


def test_it_asks_the_same_questions_with_the_same_gains(monkeypatch):
    model, values = naive_bayes(), np.random.default_rng(1).integers(0, 2, (60, 15))
    stopping = ip.InformationGain(1e-3) | ip.MaxQueries(12)
    quick = ip.Pursuit.of(model, QUERIES, stopping=stopping).run_values(values)
    monkeypatch.setattr(OneState, "serves", staticmethod(lambda model, queries: False))
    plain = ip.Pursuit.of(model, QUERIES, stopping=stopping).run_values(values)
    np.testing.assert_array_equal(quick.queries, plain.queries)
    np.testing.assert_allclose(quick.gains, plain.gains, atol=1e-12)
    np.testing.assert_allclose(quick.posteriors, plain.posteriors, atol=1e-12)
    assert quick.length.min() < quick.length.max()


def test_an_variable_that_is_known_has_nothing_to_say():
    pursuit = ip.Pursuit.of(naive_bayes(), QUERIES)
    state = pursuit.start()
    state = pursuit.absorb(state, pursuit.branch(5, (1,)), state.watch)
    gains = pursuit.chooser.part_gains(state.belief, pursuit.model)
    assert gains[0, 5] == 0
    assert (np.delete(gains[0], 5) > 0).sum() >= 13


@pytest.mark.parametrize(
    ("model", "queries"),
    [
        (ip.models.TableModel([0.5, 0.5], [[0.5, 0.5]] * 2, [[[0.1, 0.2]] * 2] * 2), ip.queries.concepts(["a", "b"])),
        (ip.models.EmpiricalModel([[0, 2], [1, 1]], [0, 1], sizes=(2, 3)), None),
    ],
)
def test_it_is_left_alone_where_it_does_not_hold(model, queries):
    if queries is None:
        queries = ip.queries.columns().fit(np.array([[0, 2], [1, 1], [0, 0]]))
    assert not OneState.serves(model, queries)
