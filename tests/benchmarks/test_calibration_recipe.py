"""The recipe of calibrated stopping on scikit-learn's digits, and what it reads off one long run."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.experiment import Experiment
from benchmarks.recipes import calibration as recipe
from benchmarks.reproduce import main
from benchmarks.splits import halves, many_splits, one_split
from infopursuit.calibration.temperature import TemperatureScaling, stopping_outcome
from infopursuit.pursuit.stopping import Confidence, MaxQueries


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(recipe, "N_SPLITS", 6)
    monkeypatch.setattr(recipe, "N_TRIED", 2)
    monkeypatch.setattr(recipe, "HIGHER", 0.1)


def test_the_recipe_from_digits_to_tables_and_nothing_is_done_twice(tmp_path, capsys):
    assert main(["calibration-digits", "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / "calibration-digits.json").read_text())
    splits, sets = result["tables"].values()
    assert splits[0]["target, %"] == 80
    assert splits[0]["kept"] + splits[0]["refused"] >= 5
    assert splits[0]["stopped, %"] > 80
    assert splits[0]["calibration error after, %"] < splits[0]["calibration error before, %"]
    assert splits[0]["temperature"] > 1
    for row in sets:
        nominal = row["coverage asked for, %"]
        assert row["at all k at once, %"] > nominal - 4
        assert row["at the stop, %"] > nominal - 4
        assert row["anytime"] >= row["classes at the stop"]
    assert (tmp_path / "calibration-digits.png").stat().st_size > 1000
    capsys.readouterr()
    arrays = sorted((tmp_path / ".parts/calibration-digits").glob("strict-*.safetensors"))
    assert len(arrays) == 2
    arrays[0].write_bytes(b"damaged")
    assert main(["calibration-digits", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "6 splits at 0.8: kept from" in said
    again = json.loads((tmp_path / "calibration-digits.json").read_text())
    assert again["tables"] == result["tables"]
    assert again["parts"] == result["parts"]


def test_what_is_read_off_the_long_run_is_what_a_pursuit_does(tmp_path):
    experiment = Experiment("calibration-digits", tmp_path, n_inputs=150, progress=False)
    about = recipe.CALIBRATION_SETS["digits"]
    pursued = recipe._pursued(about, experiment)
    pursuit, values, labels = recipe._Task(about, experiment).inputs(0)
    for calibrator, threshold in (
        (TemperatureScaling(), 0.9),
        (TemperatureScaling(2.2), 0.8),
        (TemperatureScaling(0.7), 0.95),
    ):
        rule = Confidence(1 - threshold) | MaxQueries(about.max_queries)
        trace = replace(pursuit, calibrator=calibrator, stopping=rule).run_values(values)
        stopped = trace.stop_reason == "confidence"
        found = stopping_outcome(pursued.scaled(calibrator), threshold)
        assert found.length == trace.length.mean()
        assert found.stopped == stopped.mean()
        assert found.accuracy == pytest.approx((trace.predictions == labels)[stopped].mean())


def test_halves_share_nothing_and_a_target_out_of_reach_is_refused(tmp_path):
    ours, theirs = halves(101, 3)
    assert sorted([*ours, *theirs]) == list(range(101))
    assert len(ours) == 50
    experiment = Experiment("calibration-digits", tmp_path, progress=False)
    pursued = recipe._pursued(recipe.CALIBRATION_SETS["digits"], experiment)
    assert one_split(pursued, 0.985, 0.05, 0) is None
    assert many_splits(pursued, 0.985, 0.05, 2, 0, progress=False)["n_refused"] == 2
    found = one_split(pursued, 0.8, 0.05, 0)
    assert 0 <= found.expected <= 1
    np.testing.assert_allclose(found.after["0.95"][-1], found.stop["0.95"])
    assert recipe.CALIBRATION_SETS["fashion"].target == 0.85
    assert recipe.CALIBRATION_SETS["mnist"].target == 0.97
