"""The experiment on wrong answers, on a few animals."""

import json

import numpy as np
import pytest

from benchmarks.experiment import Experiment
from benchmarks.pages import section
from benchmarks.recipes import answer_noise as recipe


def test_weighing_answers_saves_what_they_cost(tmp_path, monkeypatch):
    """Errors made anew each time, at equal length; the true answers cost nothing, and a second run keeps its parts."""
    monkeypatch.setattr(recipe, "TABLES", (recipe.Table("animals", 40, 1),))
    monkeypatch.setattr(recipe, "KINDS", recipe.KINDS[:1])
    found = recipe.answer_noise(Experiment("answer-noise", tmp_path, progress=False))
    (rows,) = found["tables"].values()
    part = found["parts"]["animals, errors made anew each time"]
    assert part["true answers"]["n_inputs"] == 98
    assert part["true answers"]["accuracy"][-1] == pytest.approx(1.0, abs=0.02)
    assert [row["which is when"] for row in rows] == ["as they are is sure", "weighed is sure"]
    assert all(row["loss left, share"] < 0.75 for row in rows)
    assert json.loads((tmp_path / "answer-noise.json").read_text())["tables"] == found["tables"]
    again = recipe.answer_noise(Experiment("answer-noise", tmp_path, progress=False))
    assert again["parts"] == found["parts"]
    assert "weighed, %" in section(json.loads((tmp_path / "answer-noise.json").read_text()), "pictures")


def test_points_are_compared_at_no_greater_length():
    found = {"length": [1.0, 2.0, 4.0], "accuracy": [0.5, 0.6, 0.9]}
    assert recipe._at(found, 3.9) == {"length": 2.0, "accuracy": 0.6}
    assert recipe._at(found, 4.0) == {"length": 4.0, "accuracy": 0.9}
    assert recipe._at(found, 0.1) == {"length": 1.0, "accuracy": 0.5}
    assert np.all(np.diff(recipe.EPSILONS) < 0)
