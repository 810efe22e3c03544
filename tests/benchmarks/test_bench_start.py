"""Starts, processes and threads: what is measured is of real servers and jobs, and adds up."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import infopursuit as ip
from benchmarks.jobs import bench_threads
from benchmarks.serving.start import YARDSTICK, once
from benchmarks.serving.workers import _even, bench_workers
from infopursuit import shipped
from infopursuit.estimator.storage import save


@pytest.mark.slow
def test_each_start_is_measured_once(tmp_path, capsys):
    save(shipped.load("tumours"), tmp_path / "model")
    header = ",".join(shipped.TUMOUR_COLUMNS.values())
    np.savetxt(tmp_path / "rows.csv", shipped.tumours()[2][:2], delimiter=",", header=header, comments="")
    found = once(tmp_path, tmp_path / "compiled", print, models=["animals", "tumours"])
    assert len(found) == 6
    assert all(wall > 0 and used > 0.05 for wall, used in found.values())
    walls = [found[f"serve: {what}"][0] for what in ("first byte", "first answer of animals", "all models")]
    assert walls == sorted(walls)
    assert YARDSTICK in capsys.readouterr().out


def test_both_servers_are_asked(tmp_path):
    model = ip.models.TableModel([0.5, 0.5], None, [[0.6, 0.7, 0.4], [0.4, 0.3, 0.6]])
    ip.save(ip.generative_pursuit(model, ip.queries.concepts(["a", "b", "c"]), classes=["x", "y"]), tmp_path / "model")
    bench_workers(people=4, seconds=1, rounds=1, folder=tmp_path, mix={f"small={tmp_path / 'model'}": 1.0})
    told = json.loads((tmp_path / "serving-workers.json").read_text())
    one, two = told["tables"]["The same load on one and on two processes"]
    assert (one["errors"], two["errors"]) == (0, 0)
    assert min(one["requests"], two["requests"]) > 4
    assert (one["memory of each, MiB"].count("and"), two["memory of each, MiB"].count("and")) == (0, 1)


def test_how_evenly_work_is_shared():
    assert _even([SimpleNamespace(cpu=np.array([3.0, 3.0]))]) == 2.0
    assert _even([SimpleNamespace(cpu=np.array([3.0, 1.0]))] * 2) == pytest.approx(4 / 3)


def test_one_and_two_threads_take_turns(tmp_path):
    bench_threads(60, 1, folder=tmp_path)
    told = json.loads((tmp_path / "job-threads.json").read_text())
    rows = told["tables"]["One process with one and with two threads, in turn"]
    assert [(row["threads"], row["inputs"]) for row in rows] == [(1, 60), (2, 60)]
    assert all(row["processor time, median"] > 0 for row in rows)
