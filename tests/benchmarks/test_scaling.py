"""The measurements of cost: that they measure what they say, on sizes that take no time."""

import numpy as np
import pytest

from benchmarks import scaling, step_times
from infopursuit.models import TableModel
from infopursuit.pursuit.stopping import MaxQueries
from infopursuit.queries import concepts
from infopursuit.strategies.generative.build import generative_pursuit


def test_scaling_tells_sizes_times_and_exponents():
    said = []
    found = scaling.scaling(said.append, small=True)
    assert set(found) == {"queries", "classes", "states", "answers", "memory"}
    for axis in ("queries", "classes", "states", "answers"):
        assert len(found[axis]["milliseconds"]) == len(found[axis]["sizes"])
        assert all(ms > 0 for ms in found[axis]["milliseconds"])
        assert np.isfinite(found[axis]["exponent"])
        assert any(axis in line for line in said)


def test_a_step_stays_within_the_memory_limit(monkeypatch):
    # the probabilities of all 20,000 queries in all 200 states are twice this
    monkeypatch.setattr(scaling, "MEMORY_LIMIT", 2**25)
    peak = scaling._memory(20_000)["peak_bytes"]
    if peak is None:
        pytest.skip("the system does not tell the peak of resident memory")
    assert 0 <= peak <= 2**25


def test_the_steps_of_the_yardstick_are_those_of_a_run():
    rng = np.random.default_rng(0)
    model = TableModel([0.4, 0.3, 0.3], None, rng.uniform(0.1, 0.9, size=(3, 6)))
    queries = concepts([f"q{i}" for i in range(6)])
    values = rng.integers(0, 2, size=(20, 6))
    pursuit = generative_pursuit(model, queries, stopping=MaxQueries(4))
    seconds = step_times.step_seconds(pursuit, values, n_steps=4)
    assert len(seconds) == 4
    remembered = len(pursuit.bindings.bind(pursuit)[1])
    trace = generative_pursuit(model, queries, stopping=MaxQueries(4)).run_values(values)
    histories = {trace.history(i)[:k] for i in range(20) for k in range(4)}
    assert remembered == len(histories)


def test_the_forward_pass_is_that_of_the_two_networks():
    assert step_times.forward_seconds(2, times=2) > 0
    sizes = [(layer.in_features, layer.out_features) for layer in step_times._mlp(1568, 1000, 500, 676)[::2]]
    assert sizes == [(1568, 1000), (1000, 500), (500, 676)]
