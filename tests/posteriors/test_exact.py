"""The exact posterior: order, repetition and overlap do not matter; the probability of a history is right too."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.beliefs import Exact
from worlds import Given, World, random_history, world_of

SEEDS = st.integers(0, 2**32 - 1)


def believe(posterior, history):
    """The belief after a history, one answer at a time."""
    belief, width = posterior.start(), posterior.queries.width
    for query, answer in history:
        cells = np.full((1, width), -1)
        cells[0, : len(answer or ())] = answer or ()
        belief = posterior.update(belief, np.zeros(1, dtype=np.int64), np.array([query]), cells)
    return belief


@given(SEEDS)
def test_the_order_of_answers_does_not_matter(seed):
    world, rng = world_of(seed)
    history = random_history(world, rng, len(world.queries))
    shuffled = [history[i] for i in rng.permutation(len(history))]
    posterior = Exact(world.model, world.queries)
    one, two = believe(posterior, history), believe(posterior, shuffled)
    np.testing.assert_allclose(one.log_weights.exp(), two.log_weights.exp(), atol=1e-13)
    np.testing.assert_array_equal(one.evidence, two.evidence)
    np.testing.assert_allclose(posterior.log_class(one).exp(), posterior.log_class(two).exp(), atol=1e-12)


@given(SEEDS)
def test_the_probability_of_a_history(seed):
    """The weights are p(y, z, history), not only up to a factor."""
    world, rng = world_of(seed)
    history = random_history(world, rng, int(rng.integers(0, len(world.queries) + 1)))
    posterior = Exact(world.model, world.queries)
    belief = believe(posterior, history)
    truth = world.truth.joint[:, :, world.truth.agrees(history)].sum(axis=2)
    np.testing.assert_allclose(posterior.log_joint(belief)[0].exp(), truth.sum(axis=1), atol=1e-13)
    np.testing.assert_allclose(belief.log_weights[0].exp(), truth.ravel(), atol=1e-13)


@given(SEEDS)
def test_the_same_answer_again_teaches_nothing(seed):
    world, rng = world_of(seed)
    history = random_history(world, rng, int(rng.integers(1, len(world.queries) + 1)))
    posterior = Exact(world.model, world.queries)
    once = believe(posterior, history)
    twice = believe(posterior, [*history, *history[::-1]])
    np.testing.assert_array_equal(once.log_weights, twice.log_weights)
    np.testing.assert_array_equal(once.evidence, twice.evidence)


@given(SEEDS)
def test_many_histories_together_are_each_alone(seed):
    """Rows with different parents, queries, widths and unknown parts disturb neither each other nor their parents."""
    world, rng = world_of(seed)
    posterior = Exact(world.model, world.queries)
    first = [random_history(world, rng, 1) for _ in range(3)]
    parents = [believe(posterior, history) for history in first]
    belief = type(parents[0])(torch.cat([b.log_weights for b in parents]), torch.cat([b.evidence for b in parents]))
    before = (belief.log_weights.clone(), belief.evidence.clone())
    rows = rng.integers(3, size=7)
    queries = rng.integers(len(world.queries), size=7)
    values = world.inputs(rng, 7, unknown=0.2)
    answers = world.queries.answers_of(values, queries)
    together = posterior.update(belief, rows, queries, answers)
    assert len(together) == 7
    for h in range(7):
        alone = posterior.update(
            belief.take(slice(rows[h], rows[h] + 1)),
            np.zeros(1, dtype=np.int64),
            queries[h : h + 1],
            answers[h : h + 1],
        )
        np.testing.assert_array_equal(together.log_weights[h], alone.log_weights[0])
        np.testing.assert_array_equal(together.evidence[h], alone.evidence[0])
    np.testing.assert_array_equal(belief.log_weights, before[0])
    np.testing.assert_array_equal(belief.evidence, before[1])


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
    posterior = Exact(world.model, world.queries)
    belief = posterior.start()
    for history, left in (
        ([], [1, 1, 1, 1]),
        ([(0, (1,))], [0, 1, 1, 1]),
        ([(0, (1,)), (1, (0,))], [0, 1, 1, 0]),
        ([(0, (1,)), (1, (0,)), (2, (2,))], [0, 0, 1, 0]),
        ([(0, None), (1, (-1,))], [1, 1, 1, 1]),
    ):
        belief = believe(posterior, history)
        assert torch.isfinite(belief.evidence[0]).int().tolist() == left
        np.testing.assert_allclose(posterior.log_class(belief)[0].exp(), world.truth.posterior(history), atol=1e-14)


def test_contradictions_have_no_weight():
    cells = [[[0, 1, 1]], [[0, 0, 1]]]
    world = World(
        np.array([0.4, 0.6]), np.ones((2, 1)), [np.full((2, 1, 3), 1 / 3)], Given("ab", [3], [[0]] * 2, cells)
    )
    posterior = Exact(world.model, world.queries)
    belief = believe(posterior, [(0, (0,)), (1, (1,))])
    assert torch.isneginf(belief.log_weights).all()
    assert torch.isneginf(posterior.log_joint(belief)).all()
