"""The measurements run, and write what they say with the command, the commit and the machine."""

import json

import numpy as np
import pytest

from infopursuit.cli import main
from infopursuit.datasets import Dataset
from infopursuit.evaluation import bench as bench_module
from infopursuit.evaluation import reproduce as reproduce_module


def strokes(n, rng):
    """Small images of two kinds: a bar down or a bar across, with specks."""
    labels = rng.integers(0, 2, n)
    images = rng.random((n, 6, 6)) < 0.05
    for image, label in zip(images, labels, strict=True):
        where = rng.integers(1, 5)
        if label:
            image[:, where] = True
        else:
            image[where, :] = True
    return images.astype(np.uint8), labels


def test_bench(tmp_path, monkeypatch, capsys):
    images, labels = strokes(260, np.random.default_rng(0))
    monkeypatch.setattr(bench_module, "_images", lambda: (images, labels, "made up"))
    # these take minutes, and have tests of their own
    monkeypatch.setattr(bench_module, "growth", lambda say: {})
    monkeypatch.setattr(bench_module, "_yardstick", lambda say: None)
    assert main(["bench", "--out", str(tmp_path), "--histories", "5"]) == 0
    told = capsys.readouterr().out
    result = json.loads((tmp_path / "bench.json").read_text())
    assert "times faster than enumerating" in told
    assert result["contraction"]["largest_difference_nats"] < 1e-5
    assert result["short_cuts"]["screening"]["16"]["mean_loss_nats"] >= 0
    assert result["short_cuts"]["screening"]["128"]["miss_rate"] == 0  # there are only sixteen patches
    assert {"commit", "processor", "cores", "torch"} <= set(result["machine"])


def test_reproduce_chooses_epsilon_on_training_images_and_reports_the_test(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(1)
    (x_train, y_train), (x_test, y_test) = strokes(300, rng), strokes(50, rng)
    data = Dataset("made up", 255 * x_train, y_train, 255 * x_test, y_test, ("across", "down"), "made up", "none")
    monkeypatch.setattr(reproduce_module.datasets, "load", lambda name: data)
    recipe = reproduce_module.PatchRecipe("mnist", threshold=127.5, length=3.0, held_out=60)
    monkeypatch.setitem(reproduce_module.RECIPES, "mnist", recipe)
    assert main(["reproduce", "mnist", "--out", str(tmp_path), "--inputs", "40"]) == 0
    result = json.loads((tmp_path / "mnist-empirical.json").read_text())
    assert result["test"]["n_inputs"] == 40
    assert result["test"]["accuracy"] > 0.9
    assert result["held_out"]["chosen"]["n_inputs"] == 60
    assert result["held_out"]["chosen"]["epsilon"] == result["test"]["epsilon"]
    assert sum(result["stopped_because"].values()) == 40
    assert "40 test images" in capsys.readouterr().out


def test_an_experiment_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="there is no experiment 'birds'; choose one of fashion, mnist"):
        reproduce_module.reproduce("birds", folder=None)
