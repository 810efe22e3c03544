"""A step of a pursuit stays within the memory that it may use."""

import pytest

from benchmarks import scaling


def test_a_step_stays_within_the_memory_limit(monkeypatch):
    # the probabilities of all 20,000 queries in all 200 states are twice this
    monkeypatch.setattr(scaling, "MEMORY_LIMIT", 2**25)
    peak = scaling._memory(20_000)["peak_bytes"]
    if peak is None:
        pytest.skip("the system does not tell the peak of resident memory")
    assert 0 <= peak <= 2**25
