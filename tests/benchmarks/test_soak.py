"""The soak runs a real server, and judges what it saw."""

import json

import pytest

import infopursuit as ip
from benchmarks.serving.soak import Look, _growth, _passed, by_minute, draw, soak


def test_people_play_and_memory_is_looked_at(tmp_path, capsys):
    model = ip.models.TableModel([0.5, 0.5], None, [[0.6, 0.7, 0.4], [0.4, 0.3, 0.6]])
    ip.save(ip.generative_pursuit(model, ip.queries.concepts(["a", "b", "c"]), classes=["x", "y"]), tmp_path / "model")
    soak(people=6, seconds=4, folder=tmp_path, workers=2, mix={f"small={tmp_path / 'model'}": 1.0})
    told = json.loads((tmp_path / "soak.json").read_text())
    assert told["errors"] == told["without_pause"]["errors"] == 0
    assert told["exit_code"] == 0
    assert set(told["statuses"]) <= {"200", "409"}
    assert told["requests"] >= 6
    assert told["without_pause"]["requests_per_second"] > told["requests_per_second"]
    assert told["without_pause"]["games_ended"] >= 1
    assert 0 < told["p50_ms"] <= told["p99_ms"] <= told["max_ms"]
    assert told["memory_looks"] >= 2
    assert told["memory_start_mib"] == pytest.approx(sum(start for start, _ in told["memory_of_each_mib"]), abs=0.1)
    assert min(start for start, _ in told["memory_of_each_mib"]) > 10
    assert [row[""] for row in told["tables"]["Memory"]] == ["process 1", "process 2", "all"]
    assert "without a pause" in capsys.readouterr().out


def test_growth_is_that_of_a_line_and_not_of_single_looks():
    flat = [(t, 200 + (50 if t == 90 else 0)) for t in range(0, 100, 2)]
    assert abs(_growth(flat)["memory_growth"]) < 0.05
    rising = _growth([(t, 200 + t) for t in range(0, 101, 2)])
    assert rising["memory_growth"] == pytest.approx(0.5)
    assert rising["memory_start_mib"] < rising["memory_end_mib"]
    assert _growth([(0.0, 1.0)])["memory_growth"] is None


def test_each_minute_has_its_own_requests():
    """A slow minute is seen, and a minute that is not over is left out."""
    looks = [Look(10.0 * i, (200.0, 100.0 + i), 5 * i, 0.5) for i in range(14)]
    minutes = by_minute(looks, [0.01] * 30 + [0.2] * 30 + [9.0] * 30)
    assert [each["p99_ms"] for each in minutes] == [10.0, 200.0]
    assert [each["memory_mib"] for each in minutes] == [[200.0, 102.5], [200.0, 108.5]]
    assert [each["requests"] for each in minutes] == [30, 30]
    assert by_minute([], []) == []
    assert [len(axes.lines) for axes in draw(minutes).axes] == [3, 2, 1]  # with what is demanded


def test_what_is_demanded():
    good = {"errors": 0, "exit_code": 0, "p99_ms": 30.0, "memory_growth": 0.01, "without_pause": {"errors": 0}}
    assert _passed(good)
    for bad in (
        {"errors": 1},
        {"exit_code": -9},
        {"p99_ms": 151.0},
        {"memory_growth": 0.021},
        {"without_pause": {"errors": 2}},
    ):
        assert not _passed({**good, **bad}), bad
