"""The recipe of the opinion pool from end to end, on small made-up images."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import opinion_pool
from benchmarks.recipes import image_sets
from benchmarks.recipes.image_sets import ImageSet, ImageTask
from infopursuit.datasets import Dataset
from infopursuit.models.amortized import Trunk
from infopursuit.models.training import RandomAffine, Training


def corners(n, rng):
    """Small images that are lit in the upper or the lower half."""
    labels = rng.integers(0, 2, n)
    images = rng.random((n, 8, 8)) < 0.05
    for image, label in zip(images, labels, strict=True):
        image[4 * label + 1 : 4 * label + 3, 2:6] = True
    return 255 * images.astype(np.uint8), labels


@pytest.fixture
def recipe(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    (x_train, y_train), (x_test, y_test) = corners(200, rng), corners(40, rng)
    data = Dataset("made up", x_train, y_train, x_test, y_test, ("up", "down"), "made up", "none")
    small = ImageSet("mnist", "mnist", 127.5, 3.0, 4, (Training(epochs=1, validation=0.2),), (), tried=40)
    monkeypatch.setattr(image_sets.datasets, "load", lambda name: data)
    monkeypatch.setitem(opinion_pool.IMAGE_SETS, "mnist", small)
    monkeypatch.setattr(ImageTask, "with_vae", ImageTask.with_examples)  # needs no training
    monkeypatch.setattr(opinion_pool, "MIN_QUERIES", 1)
    monkeypatch.setattr(opinion_pool, "SHOWN", 0)
    monkeypatch.setattr(opinion_pool, "WEIGHTS", tmp_path / "weights")
    how = replace(
        opinion_pool.FIRST, epochs=30, batch_size=32, learning_rate=5e-3, augmentation=RandomAffine(0.5, 2, 0)
    )
    found = opinion_pool.Recipe(Trunk((4, 8), (16,), blocks=1), how, 120, 3, folds=2, n_moved=1, n_draws=50)
    monkeypatch.setitem(opinion_pool.RECIPES, "mnist", found)


def test_trained_once_and_measured(recipe, monkeypatch, tmp_path):
    assert opinion_pool.main(["mnist", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "opinion-pool-mnist.json").read_text())["pool"]
    assert found["test"]["accuracy"] > 0.9
    assert found["test"]["low"] < found["test"]["accuracy"] <= found["test"]["high"]
    assert all(weight > 0 for weight in found["weights"])
    assert (tmp_path / "opinion-pool-mnist.png").stat().st_size > 0
    folder = tmp_path / ".parts" / "opinion_pool" / "mnist"
    shown = [np.load(folder / f"demonstrations-{i}-{j}.npz") for i in range(2) for j in range(2)]
    assert sorted(np.concatenate([each["rows"] for each in shown[::2]])) == sorted(
        set(shown[0]["rows"]) | set(shown[2]["rows"])
    )
    assert sum(len(each["rows"]) for each in shown[::2]) == 120  # each image in one half
    assert (shown[0]["values"] != shown[1]["values"]).any()  # the second are moved
    monkeypatch.setattr(opinion_pool, "fit_network", lambda *given, **options: pytest.fail("trained again"))
    assert opinion_pool.main(["mnist", "--out", str(tmp_path)]) == 0
