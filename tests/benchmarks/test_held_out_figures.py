"""The simulation of what `fit` says of itself: a run that was stopped continues, and a table is written."""

import json

import numpy as np

from benchmarks.held_out_figures import NAME, Records, main, weigh_balanced


def test_an_incomplete_line_of_a_run_that_was_killed_is_done_again(tmp_path):
    records = Records(tmp_path / "a.jsonl")
    assert records.read() == {}
    records.append(3, {"accuracy": 0.5})
    with records.file.open("a") as lines:
        lines.write('{"seed": 4, "accur')
    assert records.read() == {3: {"accuracy": 0.5}}


def test_it_continues_and_writes_a_table(tmp_path, capsys):
    command = ["--strategies", "table", "--rows", "60", "--workers", "1", "--out", str(tmp_path)]
    assert main([*command, "--number", "1"]) == 0
    assert main([*command, "--number", "2", "--part", "some"]) == 0
    capsys.readouterr()

    folder = tmp_path / ".parts" / NAME
    assert len((folder / "logistic-table-60.jsonl").read_text().splitlines()) == 2
    [row] = json.loads((tmp_path / f"{NAME}-some.json").read_text())["tables"]["Replications"]
    assert row["replications"] == 2
    assert 50 < float(row["fresh accuracy, %"]) < 90


def test_balanced_weights_give_both_classes_the_same_mass():
    labels = np.array([0, 0, 0, 1])
    weights = weigh_balanced(np.random.default_rng(0), labels)
    assert np.bincount(labels, weights=weights).tolist() == [2.0, 2.0]
