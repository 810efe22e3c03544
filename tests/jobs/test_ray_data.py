"""Jobs on Ray: they ask the same as in one process, errors are raised here, workers that die are replaced.

All of it in one process of its own with one small cluster, since starting one takes a while, and Ray leaves threads and
open files behind.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit import jobs
from traces import assert_same_traces

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

N = 130
SCRIPT = """
import json, os, pathlib, sys
import ray
from infopursuit import jobs

made, out = (pathlib.Path(name) for name in sys.argv[1:])
ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
told, how = {}, {"label": "kind", "part": 20}
done = jobs.explain(made / "new.parquet", made / "model", out / "whole", **how, engine=jobs.Engine("ray", workers=2))
told["summary"] = done.summary.to_spec()
for name, data, workers in (("label", "bad.parquet", 1), ("workers", "new.parquet", 7)):
    try:
        jobs.explain(made / data, made / "model", out / name, **how, engine=jobs.Engine("ray", workers=workers))
    except ValueError as error:
        told[name] = str(error)

def make():  # sent by value
    def work(unit):
        (out / f"{unit['number']}-{os.getpid()}").write_text("begun")
        if unit["number"] == 3 and not (out / "died").exists():
            (out / "died").write_text("once")
            os.kill(os.getpid(), 9)
        return unit["number"] * 2
    return work

found = jobs.Engine("ray", workers=2).run(make, [{"number": i} for i in range(12)])
told["dying"] = sorted([unit["number"], result] for unit, result in found)
told["still connected"] = ray.is_initialized()
(out / "told.json").write_text(json.dumps(told))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A saved model, a table for it, and one with a label that the model does not know."""
    folder = tmp_path_factory.mktemp("ray")
    rng = np.random.default_rng(0)
    kind = rng.choice(["cat", "dog"], N)
    X = (rng.random((N, 9)) < np.where(kind == "cat", 0.2, 0.8)[:, None]).astype(int)
    frame = pd.DataFrame(X, columns=[f"q{i}" for i in range(9)])
    clf = ip.InformationPursuitClassifier(strategy="empirical", stopping=ip.Confidence(0.1)).fit(frame, kind)
    clf.save(folder / "model")
    frame["kind"] = kind
    frame.to_parquet(folder / "new.parquet", row_group_size=40)
    frame.loc[17, "kind"] = "bee"
    frame[:40].to_parquet(folder / "bad.parquet")
    return folder


@pytest.fixture(scope="module")
def told(made, tmp_path_factory):
    """What came out on Ray, and where."""
    out = tmp_path_factory.mktemp("on-ray")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, made, out],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
        env={**os.environ, "RAY_worker_niceness": "0"},  # else the workers wait for every other test
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {**json.loads((out / "told.json").read_text()), "out": out}


def test_ray_asks_the_same_as_one_process(made, told, tmp_path):
    here = jobs.explain(made / "new.parquet", made / "model", tmp_path, label="kind", part=20)
    assert told["summary"] == json.loads(json.dumps(here.summary.to_spec()))
    assert len(list((tmp_path / "traces.parquet").iterdir())) == 7
    assert_same_traces(told["out"] / "whole", tmp_path)


def test_what_a_killed_worker_left_half_written_is_swept(made, tmp_path):
    done = jobs.explain(made / "new.parquet", made / "model", tmp_path, label="kind", part=20)
    real, left = jobs.job.Explainer.__call__, []

    def littering(self, unit):
        code = "import os, sys, pathlib; from infopursuit.support.files import replacing\n"
        code += "with replacing(pathlib.Path(sys.argv[1])) as beside: os.kill(os.getpid(), 9)"
        subprocess.run([sys.executable, "-c", code, self.job.part(unit["number"])], check=False)
        left.extend(file for file in done.traces.iterdir() if file.name.startswith("."))
        return real(self, unit)

    (tmp_path / ".job" / "done" / "000003.json").unlink()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(jobs.job.Explainer, "__call__", littering)
        jobs.explain(made / "new.parquet", made / "model", tmp_path, label="kind", part=20)
    assert len(left) == 1
    assert len(list(done.traces.iterdir())) == 7  # the parts, and nothing beside them


def test_what_goes_wrong_in_a_worker_is_told_as_if_it_had_happened_here(told):
    assert "row 17, is 'bee', which is no class of the model" in told["label"]
    assert "workers=7 with 1 threads each need 7 cores, and Ray has 2; give at most 2" in told["workers"]


def test_a_worker_that_dies_is_replaced_and_no_unit_is_lost_or_told_twice(told):
    assert told["dying"] == [[i, 2 * i] for i in range(12)]
    assert len(list(told["out"].glob("3-*"))) == 2  # by the one that died, and by another


def test_a_cluster_that_was_there_is_left_as_it_was(told):
    assert told["still connected"]
