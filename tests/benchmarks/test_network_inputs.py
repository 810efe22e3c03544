"""What networks are told: every answer, and nothing else."""

import numpy as np
import pytest

from benchmarks.inputs import Inputs
from infopursuit.queries import patches
from worlds import Given, world_of


@pytest.mark.parametrize("kind", ["yes_no", "patches", "thresholds", "categorical", "mixed"])
@pytest.mark.parametrize("seed", range(4))
def test_learners_tell_inputs_apart_exactly_where_answers_do(kind, seed):
    world, _ = world_of(seed, kind=kind)
    every = world.every_input()
    told = Inputs(world.queries).encode(every)
    answers = world.queries.answers_of(every).reshape(len(every), -1)
    same = lambda rows: (rows[:, None] == rows[None]).all(axis=2)  # noqa: E731
    assert np.array_equal(same(told), same(answers))


def test_a_pixel_under_no_patch_is_not_seen():
    query_set = patches((4, 7), size=(4, 3), stride=4)  # columns 0 to 2 and 4 to 6
    values = np.random.default_rng(0).integers(0, 2, size=(5, 28))
    other = values.reshape(5, 4, 7).copy()
    other[:, :, 3] = 1 - other[:, :, 3]
    told = Inputs(query_set).encode(values)
    assert np.array_equal(told, Inputs(query_set).encode(other.reshape(5, 28)))
    assert (told.reshape(5, 4, 7)[:, :, 3] == 0).all()


def test_scores_of_numbers_come_back_to_their_variables():
    query_set = Given(["a", "b", "b is 0"], [2, 3], [[0], [1], [1]], [[[0, 1, -1]], [[0, 1, 2]], [[0, 1, 1]]])
    inputs = Inputs(query_set)
    assert inputs.size == 5
    assert inputs.to_variables([[1.0, 2.0, 3.0, 4.0, 10.0]]).tolist() == [[1.0, 19.0]]
    assert inputs.nothing.tolist() == [[-1.0, 0.0, 0.0, 0.0, -1.0]]
