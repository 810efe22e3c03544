"""The simulation of rare classes: its worlds are as rare as they say, and a run that was stopped continues."""

import json

import numpy as np
import pytest

from benchmarks.held_out_figures import Records
from benchmarks.rare_classes import NAME, WORLDS, draw, main


@pytest.mark.parametrize("world", WORLDS)
def test_one_row_of_so_many_is_positive(world):
    n = 200_000
    one_in = 50
    _, positive = draw(world, one_in, n, np.random.default_rng(1))
    standard_error = np.sqrt(n / one_in)
    assert abs(positive.sum() - n / one_in) < 6 * standard_error


def test_finished_replications_are_not_run_again(tmp_path, capsys):
    records = Records(tmp_path / ".parts" / NAME / "linear-1-in-1000.jsonl")
    for seed, auc in enumerate((0.9, 0.8)):
        figures = {"auc": auc, "boosting": 0.9, "said": auc + 0.01, "questions": 3.0, "positives": 60.0, "seconds": 1.0}
        records.append(seed, figures)

    options = ["--rarities", "1:1000", "--worlds", "linear", "--number", "2", "--out", str(tmp_path)]
    assert main(options) == 0
    capsys.readouterr()

    [row] = json.loads((tmp_path / f"{NAME}.json").read_text())["tables"]["Rare classes"]
    assert row["AUC"] == "0.850"
    assert row["worst"] == "0.889"
    assert row["AUC said - fresh"] == "+0.010"
