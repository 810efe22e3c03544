"""Threads change how long it takes, and nothing else."""

import threading
import time

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from infopursuit import MaxQueries
from infopursuit.models import Blur, EmpiricalModel
from infopursuit.queries import patches
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.support.threads import SHORT, n_threads, side_by_side, single_threaded, thread_limit


def blas_threads():
    """How many threads matrix products may use: numpy's, and torch's."""
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}, torch.get_num_threads()


@pytest.fixture
def two_threads():
    with thread_limit(2):
        yield


def test_results_come_in_order(two_threads):
    assert side_by_side(lambda i: i * i, 20) == [i * i for i in range(20)]
    assert side_by_side(lambda i: i, 0) == []


def test_short_items_stay_on_one_thread_and_long_ones_do_not(two_threads):
    """Threads that mostly wait for Python's lock made two of them slower than one."""

    def work(i, seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
        return i, threading.get_ident()

    for seconds, n_threads_used in ((0.0, {1}), (2 * SHORT, {2, 3})):  # the first item is done here, to be timed
        found = side_by_side(lambda i, seconds=seconds: work(i, seconds), 12, short=True)
        assert [i for i, _ in found] == list(range(12))
        assert len({thread for _, thread in found}) in n_threads_used


def test_the_number_of_threads_is_put_back_also_after_an_error(two_threads):
    before = blas_threads()

    def fails(i):
        raise ValueError(f"number {i}")

    with pytest.raises(ValueError, match="number 0"):
        side_by_side(fails, 3)
    assert blas_threads() == before
    with single_threaded():
        assert blas_threads() == ({1}, 1)
        with single_threaded():
            assert blas_threads() == ({1}, 1)
        assert blas_threads() == ({1}, 1)
    assert blas_threads() == before
    assert torch.get_num_threads() == 2


def test_only_histories_are_side_by_side(two_threads):
    """Each on another thread, and no product within it on several."""
    together = threading.Barrier(2, timeout=30)

    def work(i):
        together.wait()  # both at the same time
        return blas_threads(), threading.get_ident()

    with single_threaded():
        seen = side_by_side(work, 2)
    assert [threads for threads, _ in seen] == [({1}, 1)] * 2
    assert len({name for _, name in seen} | {threading.get_ident()}) == 3
    here = [threading.get_ident()] * 4
    assert side_by_side(lambda i: threading.get_ident(), 4, max_threads=1) == here
    with thread_limit(1):
        assert side_by_side(lambda i: threading.get_ident(), 4) == here


def test_limits():
    three = {"OMP_NUM_THREADS": "3"}
    assert n_threads(three) == 3
    with thread_limit(5):
        assert n_threads(three) == 5
        with thread_limit(None):
            assert n_threads(three) == 5
        with thread_limit(1):
            assert n_threads(three) == 1
        assert n_threads(three) == 5
    assert n_threads(three) == 3
    for nonsense in ("", "0", "many"):
        assert n_threads({"OMP_NUM_THREADS": nonsense}) >= 1


def test_traces_are_the_same_on_one_thread_and_on_two():
    rng = np.random.default_rng(0)
    images = (rng.random((60, 6, 6)) < 0.4).astype(int)
    queries = patches((6, 6), size=3)
    model = EmpiricalModel(images.reshape(60, -1), np.arange(60) % 3, Blur(shape=(6, 6)))

    def run(n):
        options = {"exact_gains": False, "n_states": 40, "n_screened": 5}
        with thread_limit(n):
            return generative_pursuit(model, queries, stopping=MaxQueries(3), **options).run(images)

    on_two, on_one = run(2), run(1)
    np.testing.assert_array_equal(on_two.queries, on_one.queries)
    np.testing.assert_allclose(on_two.gains, on_one.gains, rtol=0, atol=1e-9)
    np.testing.assert_allclose(on_two.posteriors, on_one.posteriors, rtol=0, atol=1e-9)
