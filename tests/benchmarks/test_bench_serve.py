"""The load test runs a real server, and counts what the people met with."""

import json

import numpy as np
import pytest

import infopursuit as ip
from benchmarks.serving.load import Tally, _summary, bench_serve


def test_people_are_answered(tmp_path, capsys):
    model = ip.models.TableModel([0.5, 0.5], None, [[0.6, 0.7, 0.4], [0.4, 0.3, 0.6]])
    ip.save(ip.generative_pursuit(model, ip.queries.concepts(["a", "b", "c"]), classes=["x", "y"]), tmp_path / "model")
    bench_serve(f"small={tmp_path / 'model'}", people=8, seconds=3, folder=tmp_path)
    told = json.loads((tmp_path / "serve-small.json").read_text())
    assert told["errors"] == 0
    assert told["statuses"] == {"200": told["requests"]}
    assert 8 <= told["requests"] <= 24
    assert 0 < told["p50_ms"] <= told["p99_ms"] <= told["max_ms"]
    assert "0 errors" in capsys.readouterr().out


def test_a_server_that_does_not_start_is_told_of(tmp_path):
    with pytest.raises(ValueError, match="did not start"):
        bench_serve(str(tmp_path / "none"), people=1, seconds=1, folder=tmp_path)


def test_what_counts_as_an_error():
    tally = Tally(seconds=[0.01] * 99 + [1.0])
    tally.statuses.update({"200": 96, "409": 1, "429": 2, "TimeoutError": 1})
    found = _summary(tally, people=5, took=10.0, spent=2.0, served=None)
    assert found["errors"] == 3
    assert found["requests_per_second"] == 10
    assert found["p50_ms"] == pytest.approx(10)
    assert found["generator_cores"] == pytest.approx(0.2)
    assert np.isfinite(found["max_ms"])
