"""Explaining as a job: every input once, whatever the engine and however often it is stopped."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit import jobs
from infopursuit.app import cli
from infopursuit.app.jobs.engines import Engine
from infopursuit.app.jobs.job import Explainer, at_once
from isolated import run_alone
from traces import assert_same_traces

N = 130


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A saved model and a table for it."""
    folder = tmp_path_factory.mktemp("job")
    rng = np.random.default_rng(0)
    kind = rng.choice(["cat", "cow", "dog"], 400)
    base = {"cat": 0.2, "cow": 0.5, "dog": 0.8}
    share = np.array([base[k] for k in kind])[:, None]
    X = pd.DataFrame((rng.random((400, 9)) < share).astype(int), columns=[f"q{i}" for i in range(9)])
    clf = ip.InformationPursuitClassifier(strategy="empirical", stopping=ip.Confidence(0.2)).fit(X, kind)
    clf.save(folder / "model")
    X["kind"] = kind
    X["id"] = [f"animal {i}" for i in range(len(X))]
    X[:N].to_parquet(folder / "new.parquet", row_group_size=40)
    return folder


def traces(folder):
    """The rows, with the names of their files, so that a row in two files is seen."""
    return pd.concat([pd.read_parquet(file) for file in sorted((Path(folder) / "traces.parquet").iterdir())])


def contents(folder):
    return {file.name: file.read_bytes() for file in (Path(folder) / "traces.parquet").iterdir()}


def explain(made, out, **options):
    return jobs.explain(
        made / "new.parquet", made / "model", out, **{"label": "kind", "name": "id", "part": 20, **options}
    )


@pytest.fixture(scope="module")
def undisturbed(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    explain(made, folder)
    return folder


def test_every_input_is_there_once_in_order_and_as_the_classifier_explains_it(made, undisturbed):
    frame, rows = pd.read_parquet(made / "new.parquet"), pd.read_parquet(undisturbed)
    trace = ip.load(made / "model").explain(frame.drop(columns=["kind", "id"]))
    assert rows["input"].tolist() == list(range(N))
    assert rows["name"].tolist() == frame["id"].tolist()
    assert rows["label"].tolist() == frame["kind"].tolist()
    assert rows["prediction"].tolist() == trace.predictions.tolist()
    assert rows["probability"].to_numpy() == pytest.approx(trace.posterior.max(axis=1), abs=1e-12)
    assert [len(json.loads(steps)) for steps in rows["steps"]] == trace.length.tolist() == rows["length"].tolist()


def test_called_again_nothing_is_done_again(made, undisturbed, tmp_path, monkeypatch):
    before = contents(undisturbed)
    monkeypatch.setattr(Explainer, "__call__", lambda *_: pytest.fail("a part was done again"))
    done = explain(made, undisturbed)
    assert (done.n_parts, done.n_kept) == (7, 7)
    assert done.summary.n_inputs == N
    assert contents(undisturbed) == before


def test_parts_that_are_missing_or_cut_off_are_done_again(made, undisturbed, tmp_path):
    done = explain(made, tmp_path)
    summary = done.summary
    parts = sorted((tmp_path / "traces.parquet").iterdir())
    parts[1].unlink()
    parts[3].write_bytes(parts[3].read_bytes()[:-1])
    (tmp_path / ".job" / "done" / "000005.json").unlink()
    (tmp_path / ".job" / "done" / "000006.json").write_text('{"number"')
    again = explain(made, tmp_path)
    assert again.n_kept == 3
    assert again.summary == summary
    assert_same_traces(tmp_path, undisturbed)


def test_a_job_that_dies_goes_on(made, undisturbed, tmp_path, monkeypatch):
    real, calls = Explainer.__call__, []

    def dying(self, unit):
        calls.append(unit["number"])
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(self, unit)

    monkeypatch.setattr(Explainer, "__call__", dying)
    with pytest.raises(KeyboardInterrupt):
        explain(made, tmp_path)
    assert len(contents(tmp_path)) == 3
    done = explain(made, tmp_path)
    assert calls == [0, 1, 2, 3, 3, 4, 5, 6]
    assert done.n_kept == 3
    assert_same_traces(tmp_path, undisturbed)


def test_another_job_in_the_same_folder_is_refused_until_it_is_told_to_begin_again(made, tmp_path):
    explain(made, tmp_path, inputs=50)
    with pytest.raises(ValueError, match="differs in inputs; give another folder, or forget it"):
        explain(made, tmp_path, inputs=60)
    with pytest.raises(ValueError, match="differs in name and inputs"):
        explain(made, tmp_path, inputs=60, name=None)
    done = explain(made, tmp_path, inputs=60, again=True)
    assert traces(tmp_path)["input"].tolist() == list(range(60))
    assert done.n_kept == 0


def test_what_belongs_to_no_job_is_left_alone(made, tmp_path):
    (tmp_path / "traces.parquet").write_bytes(b"somebody's")
    for again in (False, True):
        with pytest.raises(ValueError, match="is there and belongs to no job"):
            explain(made, tmp_path, again=again)
    assert (tmp_path / "traces.parquet").read_bytes() == b"somebody's"
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is a file; give a folder"):
        explain(made, tmp_path / "file")


def test_threads_do_not_matter(made, undisturbed, tmp_path):
    done = explain(made, tmp_path, engine=Engine("local", threads=1))
    assert_same_traces(tmp_path, undisturbed)
    assert "130 inputs explained in 7 parts" in repr(done)


def test_wide_traces_are_made_of_fewer_inputs_at_once():
    class Wide:
        def __init__(self, n_classes, n_queries):
            self.classes, self.queries = range(n_classes), range(n_queries)

    assert at_once(Wide(10, 676)) == 1000
    assert at_once(Wide(1000, 5000)) == 67
    assert at_once(Wide(10**9, 5000)) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine": "spark"}, "engine='spark'; expected 'local' or 'ray'"),
        ({"inputs": 0}, "inputs=0"),
        ({"part": 1.5}, "part=1.5"),
        ({"label": "sort"}, "has no column 'sort'"),
    ],
)
def test_what_does_not_fit_is_told(made, tmp_path, options, said):
    with pytest.raises(ValueError, match=said):
        explain(made, tmp_path, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": 2}, "workers=2 needs engine='ray'"),
        ({"address": "auto"}, "address='auto' is that of a cluster"),
        ({"threads": 0}, "threads=0"),
    ],
)
def test_engines_that_cannot_be(options, said):
    with pytest.raises(ValueError, match=said):
        Engine("local", **options)


def test_a_full_disk_is_told_in_one_line_and_the_finished_parts_stay(made, undisturbed, tmp_path):
    """The limit on the size of a file lets the first part be written and not the second, which is larger."""
    code = """
import resource, signal, sys
from infopursuit.app import cli
from infopursuit.app.jobs.job import Explainer
real = Explainer.__call__
def limited(self, unit):
    if unit["number"] == 2:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    return real(self, unit)
Explainer.__call__ = limited
sys.exit(cli.main(sys.argv[1:]))
"""
    told = ["explain", made / "new.parquet", "--model", made / "model", "--out", tmp_path / "out", "--part", 20]
    told += ["--label", "kind", "--name", "id"]
    done = subprocess.run([sys.executable, "-c", code, *map(str, told)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "part-000002.parquet: File too large; nothing of it was kept. Make room, or write elsewhere" in done.stderr
    assert sorted(contents(tmp_path / "out")) == ["part-000000.parquet", "part-000001.parquet"]
    assert cli.main(list(map(str, told))) == 0
    assert_same_traces(tmp_path / "out", undisturbed)


WITHOUT_RAY = """
import sys
from infopursuit import jobs

table, model, out = sys.argv[1:]
try:
    jobs.explain(table, model, out, label="kind", name="id", engine="ray")
except ImportError as error:
    print(error)
"""


def test_without_ray_it_is_said_what_to_install(made, tmp_path):
    told = run_alone(WITHOUT_RAY, made / "new.parquet", made / "model", tmp_path / "out", without=["ray"])
    assert "engine='ray' needs Ray; pip install 'infopursuit[cluster]'" in told
