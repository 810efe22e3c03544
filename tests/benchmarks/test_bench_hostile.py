"""Hostile requests are the same from the same seed, and a real server withstands some of each kind."""

import json

from benchmarks.serving.hostile import _passed, bench_hostile
from benchmarks.serving.hostile_http import BROKEN, LONG
from benchmarks.serving.hostile_requests import EVERY, WRONG, hostile_requests


def test_they_are_the_same_from_the_same_seed():
    first, again, other = (list(hostile_requests(2 * EVERY, seed)) for seed in (0, 0, 1))
    assert first == again != other
    assert {one.kind for one in first} == {*BROKEN, *WRONG, *LONG}
    assert len({one.parts for one in first}) > EVERY


def test_a_server_withstands_some_of_each_kind(tmp_path, capsys):
    bench_hostile(2 * EVERY, folder=tmp_path, n_slow=2, seconds=2)
    told = json.loads((tmp_path / "hostile-requests.json").read_text())
    assert told["passed"], told
    assert told["requests"] == 2 * EVERY + 2 == sum(told["outcomes"].values())
    assert told["outcomes"]["wrong"] == told["complaints"] == 0
    assert told["by_kind"]["deep"]["refused"] == sum(told["by_kind"]["deep"].values()) > 0
    assert told["by_kind"]["too slow"] == {"answered": 0, "refused": 2, "busy": 0, "closed": 0, "wrong": 0}
    assert set(told["statuses"]) <= {"200", "400", "404", "405", "408", "409", "413", "421", "422", "429", "503", "504"}
    assert "passed" in capsys.readouterr().out


def test_what_counts_as_withstood():
    good = {
        "alive_afterwards": True,
        "answers_as_before": True,
        "exit_code": 0,
        "outcomes": {"wrong": 0},
        "complaints": 0,
        "under_way_afterwards": 0,
        "memory_peak_mib": 500.0,
    }
    assert _passed(good)
    for name, bad in [
        ("alive_afterwards", False),
        ("answers_as_before", False),
        ("exit_code", -11),
        ("outcomes", {"wrong": 1}),
        ("complaints", 1),
        ("under_way_afterwards", 2),
        ("memory_peak_mib", 5000.0),
    ]:
        assert not _passed({**good, name: bad}), name
