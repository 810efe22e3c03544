"""The cache of utilities: the same values as without it, bounded memory, threads."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.pursuit.bindings import ROW_BYTES, Cached
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.protocols import Acquisition, Estimate
from infopursuit.support.types import TIE
from unlimited import utilities
from worlds import world_of

N_QUERIES = 50
QUERIES = ip.queries.concepts([f"q{i}" for i in range(N_QUERIES)])
EACH = ROW_BYTES + 8 * N_QUERIES + 16  # a row that `Counting` returns, which has one error


@dataclass
class Counting(Acquisition):
    """Utilities that are a function of the history and the query; counts the rows that it was asked for."""

    unit: str = "nats"
    rows: list = field(default_factory=list)

    def utilities(self, b, h, allowed, budget):
        value, error = np.full(allowed.shape, np.nan), np.zeros(allowed.shape)
        tie = np.zeros(len(h), dtype=bool)
        for row in np.flatnonzero(allowed.any(axis=1)):
            key = h.key(row)
            self.rows.append(key)
            rng = np.random.default_rng(list(key))
            value[row] = np.where(allowed[row], rng.random(N_QUERIES), np.nan)
            error[row, rng.integers(N_QUERIES)] = rng.random()
            tie[row] = rng.random() < 0.5
        return Estimate(value, error, tie)


def histories(numbers):
    """A history of three answers for each number."""
    numbers = np.asarray(numbers)
    queries = np.stack([numbers % 50, numbers // 50 % 50, numbers // 2500 % 50], axis=1)
    return Histories(QUERIES, queries, (queries % 2)[:, :, None])


def all_allowed(n):
    return np.ones((n, N_QUERIES), dtype=bool)


def assert_same(one, two):
    for name in ("value", "error", "tie"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_the_same_values_as_without_it():
    function = Counting()
    cached = Cached(function)
    rng = np.random.default_rng(0)
    for _ in range(20):
        h = histories(rng.integers(30, size=8))
        allowed = rng.random((8, N_QUERIES)) < 0.5
        allowed[rng.integers(8)] = False
        for _ in range(2):
            assert_same(utilities(cached, None, h, allowed), utilities(Counting(), None, h, allowed))


def test_nothing_is_computed_twice():
    function = Counting()
    cached = Cached(function)
    h = histories(range(10))
    utilities(cached, None, h, all_allowed(10))
    assert len(function.rows) == len(cached) == 10
    utilities(cached, None, h.take([3, 1, 3]), all_allowed(3))
    assert len(function.rows) == 10
    mixed = histories([2, 77, 4])
    utilities(cached, None, mixed, all_allowed(3))
    assert function.rows[10:] == [mixed.key(1)]
    fewer = all_allowed(1)
    fewer[0, 5] = False
    utilities(cached, None, h.take([0]), fewer)  # other queries are allowed: other utilities
    assert len(function.rows) == 12
    utilities(cached, None, h, np.zeros((10, N_QUERIES), dtype=bool))  # none
    assert len(function.rows) == 12
    cached.clear()
    assert len(cached) == 0
    utilities(cached, None, h, all_allowed(10))
    assert len(function.rows) == 22


def test_memory_is_bounded_and_what_is_new_is_still_kept():
    """The least recently used are dropped; a cache that is full does not stop to cache."""
    function = Counting()
    cached = Cached(function, max_bytes=100 * EACH)
    for start in range(0, 3000, 50):
        h = histories(range(start, start + 50))
        utilities(cached, None, h, all_allowed(50))
        assert len(cached) <= 100
        before = len(function.rows)
        utilities(cached, None, h, all_allowed(50))  # the newest are there
        assert len(function.rows) == before
    assert len(cached) == 100
    utilities(cached, None, histories(range(50)), all_allowed(50))  # the oldest are not
    assert len(function.rows) == before + 50


def test_the_bound_is_that_of_the_memory_it_takes():
    """As Python counts it: a bound that leaves out keys, arrays and the cache's own lists would be passed by twice."""
    n, max_bytes = 1000, 2**30
    h, cached = histories(range(n)), Cached(Counting(), max_bytes)
    utilities(cached, None, h, all_allowed(n))
    cached.clear()
    cached.function.rows.clear()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        utilities(cached, None, h, all_allowed(n))
        cached.function.rows.clear()
        took = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0.75 < took / (n * EACH) < 1.25


def test_another_bound():
    cached = Cached(Counting(), max_bytes=100 * EACH)
    utilities(cached, None, histories(range(50)), all_allowed(50))
    cached.clear(20 * EACH)
    assert len(cached) == 0
    utilities(cached, None, histories(range(50)), all_allowed(50))
    assert len(cached) == 20


def test_what_is_used_again_and_again_stays():
    function = Counting()
    cached = Cached(function, max_bytes=20 * EACH)
    first = histories([0])
    for start in range(1, 200, 10):
        utilities(cached, None, first, all_allowed(1))
        utilities(cached, None, histories(range(start, start + 10)), all_allowed(10))
    assert function.rows.count(first.key(0)) == 1


def test_a_row_that_is_larger_than_the_cache_is_computed_each_time():
    function = Counting()
    cached = Cached(function, max_bytes=10)
    h = histories([1])
    for _ in range(2):
        assert_same(utilities(cached, None, h, all_allowed(1)), utilities(Counting(), None, h, all_allowed(1)))
    assert (len(function.rows), len(cached)) == (2, 0)


def test_what_is_returned_is_the_callers():
    """To change it changes nothing that is kept."""
    cached = Cached(Counting())
    h = histories([1, 2])
    for _ in range(3):
        found = utilities(cached, None, h, all_allowed(2))
        assert_same(found, utilities(Counting(), None, h, all_allowed(2)))
        found.value[:], found.error[:], found.tie[:] = -1, -1, True


def test_many_threads_at_once():
    """While rows are dropped: each thread has the right values."""
    cached = Cached(Counting(), max_bytes=60 * EACH)
    together = Barrier(4, timeout=60)

    def work(seed):
        rng = np.random.default_rng(seed)
        together.wait()
        for _ in range(60):
            h = histories(rng.integers(200, size=6))
            assert_same(utilities(cached, None, h, all_allowed(6)), utilities(Counting(), None, h, all_allowed(6)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(cached) <= 60


def test_a_function_that_says_nothing_of_ties_has_none():
    class Plain(Acquisition):
        unit = "score"

        def utilities(self, b, h, allowed, budget):
            return Estimate.exact(np.where(allowed, 1.0, np.nan))

    cached = Cached(Plain())
    assert (cached.unit, cached.is_exact, cached.tie) == ("score", True, TIE)
    assert not utilities(cached, None, histories([1]), all_allowed(1)).tie.any()


@pytest.mark.parametrize("seed", range(5))
def test_a_pursuit_is_the_same_with_a_cache_and_without(seed, monkeypatch):
    world, rng = world_of(60_000 + seed)
    values = world.inputs(rng, 10)
    pursuit = world.pursuit([("max_queries", 3)])
    first, again = (pursuit.run_values(values) for _ in range(2))
    monkeypatch.setattr("infopursuit.pursuit.bindings.Cached.__call__", lambda self, *args: self.function(*args))
    plain = world.pursuit([("max_queries", 3)]).run_values(values)
    for trace in (first, again):
        np.testing.assert_array_equal(trace.queries, plain.queries)
        np.testing.assert_allclose(trace.gains, plain.gains, rtol=0, atol=1e-12)
