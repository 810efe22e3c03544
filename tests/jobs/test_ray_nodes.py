"""Workers of Ray that die, alone or with their node: what they were doing is done by others, once.

The dispatch is tried with a stand-in for Ray, in which nothing is left to chance; then on a cluster of two nodes.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from infopursuit.app.jobs.engines import MAX_RETRIES, _dispatch

ROOT = Path(__file__).parents[2]


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        self.cause = cause


@dataclass(eq=False)
class Promise:
    unit: dict | None
    fate: object


class FakeRay:
    """Promises are kept in the order in which they were made; ``fate(worker, unit)`` says what becomes of one: "done",
    "dies", "never", or an exception. unit None: that the worker is there."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, fate):
        self.fate, self.n_hired, self.begun = fate, 0, []

    def hire(self):
        worker, self.n_hired = self.n_hired, self.n_hired + 1

        def promise(unit=None):
            self.begun.append((worker, unit and unit["number"]))
            return Promise(unit, self.fate(worker, unit))

        return SimpleNamespace(ready=SimpleNamespace(remote=promise), work=SimpleNamespace(remote=promise))

    def wait(self, promises, num_returns):
        kept = [promise for promise in promises if promise.fate != "never"]
        assert kept, "waits for ever"
        return kept[:num_returns], []

    def get(self, promise):
        if promise.fate == "dies":
            raise RayError("the actor died")
        if isinstance(promise.fate, Exception):
            raise RayTaskError(promise.fate)
        return None if promise.unit is None else promise.unit["number"] * 2


def dispatched(fate, n_units=7, n_workers=2):
    ray = FakeRay(fate)
    found = list(_dispatch(ray, ray.hire, n_workers, [{"number": i} for i in range(n_units)]))
    return sorted((unit["number"], result) for unit, result in found), ray


EXPECTED = [(i, 2 * i) for i in range(7)]


def test_every_unit_is_done_once():
    found, ray = dispatched(lambda worker, unit: "done")
    assert found == EXPECTED
    assert ray.n_hired == 2
    assert len(ray.begun) == 2 + 7


def test_the_unit_of_a_worker_that_died_is_done_by_another():
    deaths = []

    def fate(worker, unit):
        if unit and unit["number"] == 3 and not deaths:
            deaths.append(worker)
            return "dies"
        return "done"

    found, ray = dispatched(fate)
    assert found == EXPECTED
    assert ray.n_hired == 3
    assert [number for _, number in ray.begun].count(3) == 2


def test_without_a_core_for_a_replacement_the_others_do_the_rest():
    """As after the loss of a node: workers 0 and 1 lived there, and worker 2 is the only one that is left."""

    def fate(worker, unit):
        return "dies" if worker < 2 and unit else "never" if worker > 2 else "done"

    found, ray = dispatched(fate, n_workers=3)
    assert found == EXPECTED
    assert ray.n_hired == 5


def test_a_unit_whose_workers_always_die_is_named():
    with pytest.raises(RuntimeError, match=rf"'number': 2}}, {MAX_RETRIES + 1} times in a row; .* memory"):
        dispatched(lambda worker, unit: "dies" if unit and unit["number"] == 2 else "done")


def test_workers_that_die_at_once_are_told():
    with pytest.raises(RuntimeError, match="died while starting"):
        dispatched(lambda worker, unit: "dies")


def test_what_goes_wrong_in_a_unit_is_raised_as_it_is():
    with pytest.raises(ValueError, match="row 17"):
        dispatched(lambda worker, unit: ValueError("row 17") if unit and unit["number"] == 4 else "done")


@pytest.mark.slow
def test_a_node_that_is_killed_in_the_middle_changes_nothing(tmp_path):
    pytest.importorskip("ray")
    code = "import sys; from pathlib import Path; from benchmarks.hardening.nodes import bench_nodes\n"
    code += "bench_nodes(1, 300, folder=Path(sys.argv[1]), say=print)"
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
        cwd=ROOT,
        env={**os.environ, "RAY_worker_niceness": "0"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads((tmp_path / "node-kills.json").read_text())
    (row,) = result["tables"]["A Ray cluster of two nodes, one of which is killed in the middle of a job"]
    assert result["passed"], row
    assert row["workers among them"] == 1  # it was at work on the node that was killed
    assert row["missing"] == row["doubled"] == 0
