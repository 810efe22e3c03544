"""The recipe of the amortised querier from end to end, on small made-up images."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import amortized
from benchmarks.recipes import image_sets
from benchmarks.recipes.image_sets import ImageSet, ImageTask
from infopursuit.datasets import Dataset
from infopursuit.models.amortized import QuerierTraining, Trunk
from infopursuit.models.training import Training


def corners(n, rng):
    """Small images that are lit in the upper or the lower half."""
    labels = rng.integers(0, 2, n)
    images = rng.random((n, 8, 8)) < 0.05
    for image, label in zip(images, labels, strict=True):
        image[4 * label + 1 : 4 * label + 3, 2:6] = True
    return 255 * images.astype(np.uint8), labels


@pytest.fixture
def images(monkeypatch):
    rng = np.random.default_rng(0)
    (x_train, y_train), (x_test, y_test) = corners(200, rng), corners(40, rng)
    data = Dataset("made up", x_train, y_train, x_test, y_test, ("up", "down"), "made up", "none")
    small = ImageSet("mnist", "mnist", 127.5, 3.0, 4, (Training(epochs=1, validation=0.2),), (), tried=40)
    monkeypatch.setattr(image_sets.datasets, "load", lambda name: data)
    monkeypatch.setitem(image_sets.IMAGE_SETS, "mnist", small)


def test_grey_superpixels_without_a_teacher(images, monkeypatch, tmp_path):
    how = QuerierTraining(epochs=60, batch_size=32, learning_rate=5e-3, max_queries=3)
    recipe = replace(amortized.GREY_RECIPES["mnist-grey"], trunk=Trunk((), (16, 16), (8, 4)), training=how)
    monkeypatch.setitem(amortized.GREY_RECIPES, "mnist-grey", recipe)
    assert amortized.main(["mnist-grey", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "amortized-mnist-grey.json").read_text())["gains"]
    assert found["n_test"] == 40
    assert len(found["accuracy_after"]) == len(found["expected_calibration_error_after"]) == 3
    assert found["accuracy_after"][-1] > 0.9
    assert (tmp_path / "amortized-mnist-grey.png").stat().st_size > 1000
    monkeypatch.setattr(amortized.ip, "Amortized", lambda *given, **options: pytest.fail("trained again"))
    assert amortized.main(["mnist-grey", "--out", str(tmp_path)]) == 0


def test_trained_once_and_measured(images, monkeypatch, tmp_path):
    monkeypatch.setattr(ImageTask, "with_vae", ImageTask.with_examples)  # needs no training
    how = QuerierTraining(epochs=40, batch_size=32, learning_rate=5e-3, max_queries=3, random=0.0)
    rounds = ((how, 0.5), (replace(how, epochs=2), 0.5))  # the second follows the student
    recipe = replace(amortized.RECIPES["mnist"], trunk=Trunk((4, 8), (16,)), rounds=rounds, max_queries=3)
    monkeypatch.setitem(amortized.RECIPES, "mnist", recipe)
    monkeypatch.setattr(amortized, "STEP_BATCH", 20)
    monkeypatch.setattr(amortized, "TIMES", 1)
    assert amortized.main(["mnist", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "amortized-mnist.json").read_text())["student"]
    assert found["test"]["accuracy"] > 0.9
    assert found["agreement"]["label"] > 0.9
    assert set(found["accuracy_after"]) == {str(k) for k in range(1, amortized.N_CURVE + 1)}
    assert all(ratio > 0 for ratio in found["step_to_yardstick"])
    monkeypatch.setattr(amortized.ip, "distill", lambda *given, **options: pytest.fail("trained again"))
    assert amortized.main(["mnist", "--out", str(tmp_path)]) == 0
