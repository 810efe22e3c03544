"""Threads change how long it takes, and nothing else."""

import numpy as np
import pytest
import torch

from infopursuit import MaxQueries, Pursuit
from infopursuit.models import Blur, EmpiricalModel
from infopursuit.queries import patches
from infopursuit.threads import one_thread, side_by_side


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_results_come_in_order(two_threads):
    assert side_by_side(lambda i: i * i, 20) == [i * i for i in range(20)]
    assert side_by_side(lambda i: i, 0) == []


def test_the_number_of_threads_is_put_back_also_after_an_error(two_threads):
    def fails(i):
        raise ValueError(f"number {i}")

    with pytest.raises(ValueError, match="number 0"):
        side_by_side(fails, 3)
    assert torch.get_num_threads() == 2
    with one_thread() as before:
        assert (before, torch.get_num_threads()) == (2, 1)
    assert torch.get_num_threads() == 2


def test_traces_are_the_same_to_the_last_bit_on_one_thread_and_on_two(two_threads):
    rng = np.random.default_rng(0)
    images = (rng.random((60, 6, 6)) < 0.4).astype(int)
    queries = patches((6, 6), size=3)
    model = EmpiricalModel(images.reshape(60, -1), np.arange(60) % 3, Blur(shape=(6, 6)))

    def run():
        return Pursuit(model, queries, stopping=MaxQueries(3), exact_gains=False, n_states=40, n_screened=5).run(images)

    on_two = run()
    torch.set_num_threads(1)
    on_one = run()
    np.testing.assert_array_equal(on_two.queries, on_one.queries)
    np.testing.assert_array_equal(on_two.gains, on_one.gains)
    np.testing.assert_array_equal(on_two.posteriors, on_one.posteriors)
