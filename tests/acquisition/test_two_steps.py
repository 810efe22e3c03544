"""Look-ahead of two questions: what it is on exact worlds, and where one-step mutual information is not enough."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infopursuit as ip
from infopursuit.strategies import LookAhead
from infopursuit.testing import check_acquisition, check_strategy
from worlds import random_history, table_model, world_of

SEEDS = st.integers(0, 2**32 - 1)


def indicator_world(d):
    """Column 0 says which of the d yes/no columns after it is the class; every row is one state of an exact model."""
    rows = [(which, *bits) for which in range(d) for bits in product((0, 1), repeat=d)]
    values, y = np.array(rows), np.array([row[1 + row[0]] for row in rows])
    X = np.array([[f"number {row[0]}", *(("no", "yes")[bit] for bit in row[1:])] for row in rows], dtype=object)
    queries = ip.queries.columns(X, names=["which", *(f"column {j}" for j in range(d))])
    of_class = [values[y == c] for c in (0, 1)]
    probs = [np.stack([np.eye(max(2, size))[each[:, a]] for each in of_class]) for a, size in enumerate((d, *[2] * d))]
    n = len(rows) // 2
    return X, y, queries, table_model([0.5, 0.5], np.full((2, n), 1 / n), probs)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_an_indicator_column(d):
    """One step needs 3 - 1/d questions on average, two steps 2, the optimum."""
    X, y, queries, model = indicator_world(d)
    one = ip.generative_pursuit(model, queries, stopping=ip.Confidence(1e-6))
    two = replace(one, acquisition=LookAhead(depth=2))
    for pursuit, n in ((one, 3 - 1 / d), (replace(one, acquisition=LookAhead()), 3 - 1 / d), (two, 2)):
        trace = pursuit.run(X)
        assert trace.length.mean() == pytest.approx(n)
        assert (trace.predictions == y).all()
    assert (two.run(X).queries[:, 0] == 0).all()
    assert two.run(X).gains[:, 0] == pytest.approx(np.log(2))


def state_after(pursuit, history):
    state = pursuit.start()
    for query, answer in history:
        state = pursuit.absorb(state, pursuit.branch(query, answer), state.watch)
    return state


@pytest.mark.parametrize("accuracy", [None, 0.8])
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_two_gains_in_a_row(accuracy, seed):
    """The utility is the gain, and the mean over answers of the largest gain after each: written down naively."""
    world, rng = world_of(seed)
    noise = None if accuracy is None else ip.AnswerNoise(accuracy, max_repeats=1)
    one = world.pursuit(noise=noise, exact_gains=True)
    two = replace(one, acquisition=LookAhead(depth=2, n_candidates=100, at_a_time=int(rng.choice([1, 7, 20_000]))))
    state = state_after(one, random_history(world, rng, int(rng.integers(0, len(world.queries)))))
    first, found = (pursuit.utilities(state).value[0] for pursuit in (one, two))
    np.testing.assert_array_equal(np.isnan(first), np.isnan(found))
    for q in np.flatnonzero(~np.isnan(first)).tolist():
        expected = first[q]
        said = one.belief.answer_distribution(state.belief, q)[0]
        used = world.queries.query_variables[q] >= 0
        for index, cells in enumerate(product(*map(range, world.queries.n_cells[q][used]))):
            if noise is None and said[index] > 1e-12:
                then = one.utilities(state_after_one(one, state, q, cells)).value[0]
                then[q] = np.nan
                expected += said[index] * np.nan_to_num(then).max()
        if noise is None:
            assert found[q] == pytest.approx(expected, abs=1e-8)
        else:
            assert found[q] >= first[q] - 1e-8


def state_after_one(pursuit, state, query, cells):
    return pursuit.absorb(state, pursuit.branch(query, tuple(cells)), state.watch)


def test_screened_queries_stay_below():
    _, _, queries, model = indicator_world(3)
    belief = ip.strategies.Exact(model, queries)
    pursuit = ip.Pursuit(queries, belief, LookAhead(depth=2, n_candidates=2))
    found = pursuit.utilities(pursuit.start()).value[0]
    assert found[1] == pytest.approx(found[2], abs=1e-8)
    assert found[2] > found[3] + 0.01 > 0.02 > found[0] == pytest.approx(0, abs=1e-9)


def test_of_equal_pairs_the_more_informative_comes_first():
    """Two independent columns tell the same in either order."""
    queries = ip.queries.concepts(["weak", "strong"])
    model = ip.models.TableModel([0.5, 0.5], None, [[0.6, 0.1], [0.4, 0.9]])
    pursuit = ip.Pursuit(queries, ip.strategies.Exact(model, queries), LookAhead(depth=2), ip.MaxQueries(2))
    trace = pursuit.run([[1, 1]])
    assert trace.queries.tolist() == [[1, 0]]
    assert np.ptp(pursuit.utilities(pursuit.start()).value) < 1e-8


def test_it_keeps_the_contracts_and_is_saved(tmp_path):
    X, _, queries, model = indicator_world(3)
    pursuit = ip.Pursuit(queries, ip.strategies.Exact(model, queries), LookAhead(depth=2, n_candidates=5))
    check_acquisition(pursuit.acquisition, pursuit.belief, queries)
    check_strategy(pursuit, X[:4])
    ip.save(pursuit, tmp_path / "model")
    again = ip.load(tmp_path / "model")
    assert again.acquisition == LookAhead(depth=2, n_candidates=5)
    np.testing.assert_array_equal(again.run(X).queries, pursuit.run(X).queries)


@pytest.mark.parametrize(
    ("options", "name"), [({"depth": 3}, "depth"), ({"depth": 0}, "depth"), ({"n_candidates": 0}, "n_candidates")]
)
def test_settings_that_cannot_be_are_refused(options, name):
    with pytest.raises(ValueError, match=name):
        LookAhead(**options)


def test_costs_do_not_go_with_it():
    _, _, queries, model = indicator_world(2)
    with pytest.raises(ValueError, match="depth"):
        ip.Pursuit(queries, ip.strategies.Exact(model, queries), LookAhead(depth=2), costs=ip.Costs({"which": 2.0}))
