"""`Histories`: what a strategy may see of what was asked and answered."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import infopursuit as ip
from infopursuit.pursuit.histories import Histories, history_of
from infopursuit.pursuit.protocols import Estimate
from infopursuit.support.types import SoftAnswer
from worlds import Given, world_of

SEEDS = st.integers(0, 2**32 - 1)
# a column of four bins at two thresholds and whole, a yes/no variable alone, and both together
MIXED = Given(
    ["x >= 1", "x >= 3", "x", "y", "x >= 2 and y"],
    [4, 2],
    [[0, -1], [0, -1], [0, -1], [1, -1], [0, 1]],
    [[c, [-1] * 4] for c in ([0, 1, 1, 1], [0, 0, 0, 1], [0, 1, 2, 3], [0, 1, -1, -1])]
    + [[[0, 0, 1, 1], [0, 1, -1, -1]]],
)


def told(*steps, queries=MIXED):
    """One history."""
    found = Histories.empty(queries)
    for query, answer in steps:
        cells = np.full((1, queries.width), -1)
        cells[0, : len(answer)] = answer
        found = found.extend(np.zeros(1, dtype=np.int64), np.array([query]), cells)
    return found


# ---- what is known of each variable ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "known"),
    [
        ([], [-1, -1]),
        ([(0, [1])], [-1, -1]),  # 1, 2 or 3
        ([(0, [0])], [0, -1]),
        ([(0, [1]), (1, [0])], [-1, -1]),  # 1 or 2
        ([(0, [1]), (1, [0]), (4, [0, -1])], [1, -1]),  # three cells that leave one value
        ([(1, [1])], [3, -1]),
        ([(4, [1, 0])], [-1, 0]),
        ([(4, [1, 0]), (1, [0])], [2, 0]),
        ([(2, [2]), (3, [1])], [2, 1]),
        ([(2, [-1]), (4, [-1, -1])], [-1, -1]),  # not answered
        ([(4, [-1, 1])], [-1, 1]),  # answered in part
        ([(0, [0]), (1, [1])], [-1, -1]),  # a contradiction determines nothing
    ],
)
def test_observed(steps, known):
    assert told(*steps).observed().tolist() == [known]


@given(SEEDS)
def test_observed_agrees_with_all_inputs_that_give_these_answers(seed):
    """A variable is known where every input with the same answers has the same value, and it is that value."""
    world, rng = world_of(seed, kind="mixed")
    inputs, queries = world.every_input(), world.queries
    n = int(rng.integers(0, len(queries) + 1))
    asked, x = rng.permutation(len(queries))[:n], inputs[rng.integers(len(inputs))]
    answers = queries.answers(inputs)  # (N, Q, W)
    mine = queries.answers(x[None])[0]
    agree = (answers[:, asked] == mine[asked]).all(axis=(1, 2))
    histories = Histories(queries, asked[None], mine[asked][None])
    for variable, value in enumerate(histories.observed()[0]):
        possible = np.unique(inputs[agree, variable])
        assert value == (possible[0] if len(possible) == 1 else -1)


def test_histories_side_by_side_are_observed_each_by_itself():
    rng = np.random.default_rng(0)
    values = np.stack([rng.integers(4, size=30), rng.integers(2, size=30)], axis=1)
    found = Histories.empty(MIXED)
    rows = np.zeros(30, dtype=np.int64)
    for _ in range(3):
        asked = rng.integers(5, size=30)
        found = found.extend(rows, asked, MIXED.answers_of(values, asked))
        rows = np.arange(30)
    together = found.observed()
    for h in range(30):
        np.testing.assert_array_equal(found.take([h]).observed()[0], together[h])
        known = together[h] >= 0
        np.testing.assert_array_equal(together[h][known], values[h][known])


# ---- longer, fewer --------------------------------------------------------------------------------------------------


def test_extend_leaves_the_parents_and_takes_each_its_own():
    start = told((0, [1]), (3, [0]))
    both = start.extend(np.array([0, 0]), np.array([1, 2]), np.array([[1, -1], [2, -1]]))
    assert (len(start), start.n_steps, len(both), both.n_steps) == (1, 2, 2, 3)
    assert both.queries.tolist() == [[0, 3, 1], [0, 3, 2]]
    again = both.extend(np.array([1, 0, 1]), np.array([4, 4, 4]), np.array([[1, 1], [0, 0], [-1, -1]]))
    assert again.queries.tolist() == [[0, 3, 2, 4], [0, 3, 1, 4], [0, 3, 2, 4]]
    assert again.n_answered.tolist() == [4, 4, 3]
    assert again.steps(2) == ((0, (1,)), (3, (0,)), (2, (2,)), (4, None))
    assert again.steps(0)[-1] == (4, (1, 1))


def test_soft_answers_go_with_their_history():
    unsure, surer = SoftAnswer(((0.4, 0.6),)), SoftAnswer(((0.1, 0.9),))
    start = Histories.empty(MIXED)
    one = start.extend(np.zeros(2, dtype=np.int64), np.array([0, 3]), np.array([[1, -1], [1, -1]]), (unsure, None))
    assert one.soft.tolist() == [[unsure], [None]]
    two = one.extend(np.array([1, 0, 0]), np.array([1, 1, 3]), np.array([[0, -1]] * 3), (surer, surer, None))
    assert two.soft.tolist() == [[None, surer], [unsure, surer], [unsure, None]]
    three = two.extend(np.arange(3), np.full(3, 2), np.full((3, 2), -1))  # certain again
    assert three.soft.tolist() == [[*row, None] for row in two.soft.tolist()]
    some = three.take([2, 0])
    assert some.soft.tolist() == [[unsure, None, None], [None, surer, None]]
    assert some.steps(0) == ((0, unsure), (3, (0,)), (2, None))
    assert three.take(np.array([False, True, False])).soft.tolist() == [[unsure, surer, None]]
    assert three.take(slice(0, 0)).soft.shape == (0, 3)


def test_take_takes_likelihoods_too():
    likelihood = np.log(np.random.default_rng(0).random((3, 2, 4)))
    found = Histories.empty(MIXED).extend(
        np.zeros(3, dtype=np.int64), np.array([0, 1, 2]), np.full((3, 2), -1), log_likelihood=likelihood
    )
    np.testing.assert_array_equal(found.take([2, 1]).log_likelihood, likelihood[[2, 1]])
    assert found.extend(np.arange(3), np.full(3, 3), np.full((3, 2), -1)).log_likelihood is None


# ---- keys -----------------------------------------------------------------------------------------------------------


def test_keys_tell_histories_apart():
    """Order, answers, what was skipped, and how sure a soft answer was."""
    found = [
        told(), told((0, [1])), told((0, [0])), told((0, [-1])), told((1, [1])), told((0, [1]), (3, [1])),
        told((3, [1]), (0, [1])), told((4, [1, 0])), told((4, [0, 1])),
    ]  # fmt: skip
    row, query, cells = np.zeros(1, dtype=np.int64), np.array([0]), np.array([[1, -1]])
    for weights in ((0.4, 0.6), (0.3, 0.7)):
        found.append(Histories.empty(MIXED).extend(row, query, cells, (SoftAnswer((weights,)),)))
    keys = [histories.key(0) for histories in found]
    assert len(set(keys)) == len(keys)
    together = Histories.empty(MIXED).extend(
        np.zeros(2, dtype=np.int64), np.array([0, 0]), np.array([[1, -1], [0, -1]])
    )
    assert together.keys() == [keys[1], keys[2]]


def test_keys_are_the_same_in_every_process():
    code = "import test_history as t; print(t.told((0, [1]), (4, [1, 0])).key(0).hex())"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment()
    )
    assert result.stdout.strip() == told((0, [1]), (4, [1, 0])).key(0).hex()


def _environment():
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONHASHSEED": "7"}


def test_history_of_cuts_the_padding():
    queries, answers = np.array([3, 4, 4]), np.array([[1, -1], [1, -1], [-1, -1]])
    assert history_of(MIXED, queries, answers) == ((3, (1,)), (4, (1, -1)), (4, None))


def test_estimates_are_exact_where_they_say_so():
    found = Estimate.exact([[1, 2]])
    assert found.value.dtype == np.float64
    assert (found.error.tolist(), found.tie) == ([[0.0, 0.0]], None)


def test_a_session_and_its_histories_say_the_same():
    pursuit = ip.generative_pursuit(
        ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.2]] * 2), ip.queries.concepts(["a", "b"])
    )
    session = pursuit.session([(0, (1,)), (1, None)])
    assert session.state.histories.steps(0) == ((0, (1,)), (1, None))
