"""Sweeps: every run is what a fit by hand gives, is done once, and tells its spread."""

import json

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit import jobs
from infopursuit.app import cli
from infopursuit.app.datasets.dataset import fold_numbers
from infopursuit.app.jobs.sweep import Runner


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 90)
    frame = pd.DataFrame((rng.random((90, 6)) < np.where(kind == "a", 0.25, 0.75)[:, None]).astype(int))
    frame.columns = [f"q{i}" for i in range(6)]
    frame["kind"] = kind
    file = tmp_path_factory.mktemp("sweep") / "a.csv"
    frame.to_csv(file, index=False)
    return file


def sweep(table, out, **options):
    return jobs.sweep(
        table,
        out,
        **{"label": "kind", "models": ["table"], "epsilons": [0.3, 0.1], "folds": 3, "seeds": [0, 1], **options},
    )


def test_rows_are_what_fits_by_hand_come_to(table, tmp_path):
    done = sweep(table, tmp_path)
    frame = pd.read_csv(table)
    X, y = frame.drop(columns="kind"), frame["kind"].to_numpy()
    for row in done.rows:
        found = []
        for seed in (0, 1):
            fold = fold_numbers(y, n=3, seed=seed)
            for i in range(3):
                clf = ip.InformationPursuitClassifier(
                    strategy="table", stopping=ip.Confidence(row.epsilon), random_state=seed
                ).fit(X[fold != i], y[fold != i])
                found.append((clf.explain(X[fold == i]), y[fold == i]))
        assert row.n_runs == 6
        assert row.n_inputs == 180
        assert row.accuracy == pytest.approx(np.mean([(trace.predictions == labels).mean() for trace, labels in found]))
        assert row.length == pytest.approx(np.mean([trace.length.mean() for trace, _ in found]))
        low, high = row.accuracy_interval
        assert low < row.accuracy < high
    assert done.rows[0].length < done.rows[1].length
    assert json.loads((tmp_path / "sweep.json").read_text())["rows"][0]["accuracy"] == done.rows[0].accuracy
    assert list(done.curves()) == ["table"]


def test_runs_are_done_once(table, tmp_path, monkeypatch):
    real, done = Runner.__call__, []

    def counting(self, unit):
        done.append(unit["number"])
        if len(done) == 3:
            raise KeyboardInterrupt
        return real(self, unit)

    monkeypatch.setattr(Runner, "__call__", counting)
    with pytest.raises(KeyboardInterrupt):
        sweep(table, tmp_path)
    again = sweep(table, tmp_path)
    assert done == [0, 1, 2, 2, 3, 4, 5]
    assert (again.n_kept, again.n_runs) == (2, 6)
    with pytest.raises(ValueError, match="differs in epsilons"):
        sweep(table, tmp_path, epsilons=[0.3])


def test_the_command_tells_and_draws(table, tmp_path, capsys):
    told = ["sweep", table, "--label", "kind", "--models", "table", "empirical", "--epsilons", 0.2, 0.05, "--folds", 3]
    assert cli.main(list(map(str, [*told, "--out", tmp_path]))) == 0
    out = capsys.readouterr().out
    assert "6 runs, 0 of them from an earlier call" in out
    assert [line.split()[:2] for line in out.splitlines() if line.startswith(("table", "empirical"))] == [
        ["table", "80"], ["table", "95"], ["empirical", "80"], ["empirical", "95"],
    ]  # fmt: skip
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")


def test_the_training_part_of_a_data_set_is_swept(tmp_path):
    done = sweep("breast_cancer", tmp_path, label=None, seeds=[0], folds=2)
    assert done.rows[0].n_inputs == 455


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"models": ["tree"]}, "models='tree'"),
        ({"models": "table"}, "models='table' must be a list"),
        ({"epsilons": []}, r"epsilons=\[\] must be a list"),
        ({"epsilons": [0.0]}, "epsilons="),
        ({"seeds": [-1]}, "seeds=-1"),
        ({"folds": 1}, "folds=1"),
        ({"label": None}, "label is missing; say which column"),
        ({"label": "sort"}, "sort"),
    ],
)
def test_what_does_not_fit_is_told(table, tmp_path, options, said):
    with pytest.raises(ValueError, match=said):
        sweep(table, tmp_path, **options)
