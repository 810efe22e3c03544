"""The exact posterior: order, repetition and overlap do not matter; the probability of a history is right too."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.strategies import Exact
from quadrature import believe, posterior_of, updated
from worlds import Given, World, random_history, world_of

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_the_order_of_answers_does_not_matter(seed):
    world, rng = world_of(seed)
    history = random_history(world, rng, len(world.queries))
    shuffled = [history[i] for i in rng.permutation(len(history))]
    exact = Exact(world.model, world.queries)
    one, two = believe(exact, history), believe(exact, shuffled)
    np.testing.assert_allclose(np.exp(one.log_weights), np.exp(two.log_weights), atol=1e-13)
    np.testing.assert_array_equal(one.evidence, two.evidence)
    np.testing.assert_allclose(posterior_of(exact, one), posterior_of(exact, two), atol=1e-12)


@given(SEEDS)
def test_the_probability_of_a_history(seed):
    """The weights are p(y, z, history), not only up to a factor."""
    world, rng = world_of(seed)
    history = random_history(world, rng, int(rng.integers(0, len(world.queries) + 1)))
    exact = Exact(world.model, world.queries)
    b = believe(exact, history)
    truth = world.truth.joint[:, :, world.truth.agrees(history)].sum(axis=2)
    np.testing.assert_allclose(np.exp(b.log_joint[0]), truth.sum(axis=1), atol=1e-13)
    np.testing.assert_allclose(np.exp(b.log_weights[0]), truth.ravel(), atol=1e-13)


@given(SEEDS)
def test_the_same_answer_again_teaches_nothing(seed):
    world, rng = world_of(seed)
    history = random_history(world, rng, int(rng.integers(1, len(world.queries) + 1)))
    exact = Exact(world.model, world.queries)
    once = believe(exact, history)
    twice = believe(exact, [*history, *history[::-1]])
    np.testing.assert_allclose(np.exp(once.log_weights), np.exp(twice.log_weights), atol=1e-13)
    np.testing.assert_array_equal(once.evidence, twice.evidence)


@given(SEEDS)
def test_many_histories_together_are_each_alone(seed):
    """Rows with different parents, queries, widths and unknown parts disturb neither each other nor their parents."""
    world, rng = world_of(seed)
    exact = Exact(world.model, world.queries)
    first = [random_history(world, rng, 1) for _ in range(3)]
    parents = [believe(exact, history) for history in first]
    b = exact.of(*(np.concatenate([getattr(b, n) for b in parents]) for n in ("log_weights", "evidence")))
    before = (b.log_weights.copy(), b.evidence.copy())
    rows = rng.integers(3, size=7)
    queries = rng.integers(len(world.queries), size=7)
    values = world.inputs(rng, 7, unknown=0.2)
    answers = world.queries.answers_of(values, queries)
    together = updated(exact, b, rows, queries, answers)
    assert len(together) == 7
    for h in range(7):
        parent = b.take(slice(rows[h], rows[h] + 1))
        alone = updated(exact, parent, [0], queries[h : h + 1], answers[h : h + 1])
        np.testing.assert_allclose(together.log_weights[h], alone.log_weights[0], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(together.evidence[h], alone.evidence[0])
    np.testing.assert_array_equal(b.log_weights, before[0])
    np.testing.assert_array_equal(b.evidence, before[1])


def test_evidence_says_which_values_are_left():
    """Three thresholds on one column of four bins, in a row; then the value itself."""
    cells = [[[0, 1, 1, 1]], [[0, 0, 0, 1]], [[0, 1, 2, 3]]]
    rng = np.random.default_rng(0)
    world = World(
        np.array([0.4, 0.6]),
        np.ones((2, 1)),
        [rng.dirichlet(np.ones(4), size=(2, 1))],
        Given("abc", [4], [[0]] * 3, cells),
    )
    exact = Exact(world.model, world.queries)
    for history, left in (
        ([], [1, 1, 1, 1]),
        ([(0, (1,))], [0, 1, 1, 1]),
        ([(0, (1,)), (1, (0,))], [0, 1, 1, 0]),
        ([(0, (1,)), (1, (0,)), (2, (2,))], [0, 0, 1, 0]),
        ([(0, None), (1, (-1,))], [1, 1, 1, 1]),
    ):
        b = believe(exact, history)
        assert np.isfinite(b.evidence[0]).tolist() == left
        np.testing.assert_allclose(posterior_of(exact, b)[0], world.truth.posterior(history), atol=1e-14)


def test_contradictions_have_no_weight():
    cells = [[[0, 1, 1]], [[0, 0, 1]]]
    world = World(
        np.array([0.4, 0.6]), np.ones((2, 1)), [np.full((2, 1, 3), 1 / 3)], Given("ab", [3], [[0]] * 2, cells)
    )
    exact = Exact(world.model, world.queries)
    b = believe(exact, [(0, (0,)), (1, (1,))])
    assert np.isneginf(b.log_weights).all()
    assert np.isneginf(b.log_joint).all()
