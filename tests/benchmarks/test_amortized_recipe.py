"""The recipes of networks of gains, of their pools and of a student, from end to end, on small made-up images."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import amortized, opinion_pool, step_times, strategies, student
from benchmarks.recipes import image_sets
from benchmarks.recipes.image_sets import ImageSet, ImageTask
from infopursuit.app.datasets import Dataset
from infopursuit.models.networks.amortized import QuerierTraining, Trunk
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.models.networks.training import Training
from infopursuit.strategies import LogPool

SMALL = QuerierTraining(epochs=60, batch_size=32, learning_rate=5e-3, max_queries=3)


def corners(n, rng):
    """Small images that are lit in the upper or the lower half."""
    labels = rng.integers(0, 2, n)
    images = rng.random((n, 8, 8)) < 0.05
    for image, label in zip(images, labels, strict=True):
        image[4 * label + 1 : 4 * label + 3, 2:6] = True
    return 255 * images.astype(np.uint8), labels


@pytest.fixture
def images(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    (x_train, y_train), (x_test, y_test) = corners(200, rng), corners(40, rng)
    data = Dataset("made up", x_train, y_train, x_test, y_test, ("up", "down"), "made up", "none")
    small = ImageSet("mnist", "mnist", 127.5, 3.0, 4, (Training(epochs=1, validation=0.2),), (), tried=40)
    monkeypatch.setattr(image_sets.datasets, "load", lambda name: data)
    monkeypatch.setitem(image_sets.IMAGE_SETS, "mnist", small)
    monkeypatch.setattr(ImageTask, "with_vae", ImageTask.with_examples)  # needs no training
    monkeypatch.setattr(amortized, "WEIGHTS", tmp_path / "weights")
    monkeypatch.setattr(step_times.step_ratios, "__defaults__", (20, 1))
    monkeypatch.setattr(amortized, "MIN_QUERIES", 1)
    monkeypatch.setitem(
        opinion_pool.RECIPES, "mnist", opinion_pool.Recipe(stored=("mnist",), min_queries=1, max_queries=3)
    )
    monkeypatch.setattr(opinion_pool, "SHOWN", 0)


def not_again(monkeypatch, module, name):
    monkeypatch.setattr(module, name, lambda *given, **options: pytest.fail("trained again"))


def test_two_networks_on_grey_superpixels(images, monkeypatch, tmp_path):
    grey, moved = amortized.RECIPES["mnist-grey"], replace(SMALL, augmentation=RandomAffine(0.5, 2.0, 0.0, 0.2))
    second = (Trunk((4, 8), (16,), blocks=1), (replace(moved, epochs=20), replace(SMALL, epochs=2)))
    rounds = (SMALL, replace(SMALL, epochs=2))
    recipe = replace(grey, trunk=Trunk((), (16, 16), (8, 4)), rounds=rounds, second=second, most_queries=3)
    monkeypatch.setitem(amortized.RECIPES, "mnist-grey", recipe)
    assert amortized.main(["mnist-grey", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "amortized-mnist-grey.json").read_text())["gains"]
    assert found["n_test"] == 40
    assert len(found["accuracy_after"]) == len(found["expected_calibration_error_after"]) == 3
    assert found["accuracy_after"][-1] > 0.9
    assert "pool" in found["belief"]
    assert all(ratio > 0 for ratio in found["step_to_yardstick"])
    assert (tmp_path / "amortized-mnist-grey.png").stat().st_size > 1000
    not_again(monkeypatch, amortized.ip, "Amortized")
    not_again(monkeypatch, amortized.ip, "history_classifier")
    assert amortized.main(["mnist-grey", "--out", str(tmp_path)]) == 0


def test_a_student_and_its_pool(images, monkeypatch, tmp_path):
    out = ["--out", str(tmp_path)]
    first = replace(SMALL, epochs=40, random=0.0, augmentation=RandomAffine(0.5, 2.0, 0.0))
    recipe = student.Recipe(Trunk((4, 8), (16,)), (first,), n_shown=60, n_copies=1, max_queries=3, most_queries=4)
    monkeypatch.setitem(student.RECIPES, "mnist", recipe)
    assert student.main(["mnist", *out]) == 0
    found = json.loads((tmp_path / "student-mnist.json").read_text())["student"]
    assert found["test"]["accuracy"] > 0.9
    assert found["agreement"]["label"] > 0.9
    assert found["agreement"]["label_after"]["3"] > 0.9
    assert found["agreement"]["label_after_the_same_questions"] > 0.9
    assert set(found["accuracy_after"]) == {str(k) for k in range(1, student.N_CURVE + 1)}
    assert all(ratio > 0 for ratio in found["step_to_yardstick"])
    not_again(monkeypatch, student.ip, "distill")
    assert student.main(["mnist", *out]) == 0

    assert opinion_pool.main(["mnist", *out]) == 0
    found = json.loads((tmp_path / "opinion-pool-mnist.json").read_text())["pool"]
    assert found["test"]["accuracy"] > 0.9
    assert found["test"]["low"] < found["test"]["accuracy"] <= found["test"]["high"]
    assert all(weight > 0 for weight in found["weights"])
    assert (tmp_path / "opinion-pool-mnist.png").stat().st_size > 0


def test_a_student_of_the_pool_with_a_tutor(images, monkeypatch, tmp_path):
    out, how = ["--out", str(tmp_path)], replace(SMALL, epochs=20, random=0.0)
    recipe = student.Recipe(Trunk((4, 8), (16,)), (how,), max_queries=3, most_queries=4)
    monkeypatch.setitem(student.RECIPES, "mnist", recipe)
    assert student.main(["mnist", *out]) == 0
    amortized.network_file("mnist").rename(amortized.network_file("tutor"))
    monkeypatch.setitem(opinion_pool.RECIPES, "mnist", opinion_pool.Recipe(stored=("tutor",), min_queries=1))
    rounds, parts = (how, replace(how, epochs=2)), tmp_path / "other"
    recipe = replace(recipe, rounds=rounds, teacher="pooled", tutors=("tutor",))
    monkeypatch.setitem(student.RECIPES, "mnist", recipe)
    tutors = list[object]()
    distill = student.ip.distill
    monkeypatch.setattr(student.ip, "distill", lambda *a, **k: (tutors.append(k["tutor"]), distill(*a, **k))[1])
    assert student.main(["mnist", "--out", str(parts)]) == 0
    assert tutors[0] is None
    assert isinstance(tutors[1], LogPool)
    found = json.loads((parts / "student-mnist.json").read_text())["student"]
    assert "OpinionPool" in found["belief"]
    assert found["test"]["accuracy"] > 0.9


def test_a_pool_is_chosen_on_styles_that_are_held_out_and_fitted_anew(images, monkeypatch, tmp_path):
    how = replace(SMALL, epochs=10, random=0.0)
    monkeypatch.setitem(student.RECIPES, "mnist", student.Recipe(Trunk((4, 8), (16,)), (how,), max_queries=3))
    student.Run("mnist", tmp_path).network()
    recipe = opinion_pool.Recipe(
        ("mnist-styles",), min_queries=1, max_queries=3, n_styles=12, refit=("mnist", "mnist-second"),
        second=(Trunk((4, 8), (16,)), (how, replace(how, epochs=2))),
    )  # fmt: skip
    monkeypatch.setitem(opinion_pool.RECIPES, "mnist", recipe)
    rows = list[int]()
    second = opinion_pool.second_network
    noted = lambda file, asker, X, *rest: (rows.append(len(X)), second(file, asker, X, *rest))[1]  # noqa: E731
    monkeypatch.setattr(opinion_pool, "second_network", noted)
    here = opinion_pool.Run("mnist", tmp_path)
    assert set(here.rest) | set(here.held_out) == set(range(200))
    assert not set(here.rest) & set(here.held_out)
    pursuit = here.pursuit()
    final = here.refitted(pursuit)
    assert rows == [len(here.rest), 200]
    assert final.belief.model.n_states > pursuit.belief.model.n_states
    assert final.belief.weights == pursuit.belief.weights
    assert isinstance(final.belief.other, LogPool)
    not_again(monkeypatch, amortized.ip, "history_classifier")
    assert opinion_pool.main(["mnist", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "opinion-pool-mnist.json").read_text())["pool"]
    assert found["held_out"]["n_inputs"] == len(here.held_out)
    assert found["test"]["accuracy"] > 0.9


def test_the_pool_of_finite_models_has_augmented_copies(images):
    task = ImageTask(image_sets.IMAGE_SETS["mnist"])
    plain, copied = (task._sample(slice(50), n) for n in (0, 2))
    assert copied.weights.sum() == 3 * plain.weights.sum() == 150  # equal images are one with a weight
    assert np.allclose(copied.class_prior, plain.class_prior, atol=0.01)
    images = {row.tobytes() for row in copied.values}
    assert len(images) > 130
    assert {row.tobytes() for row in plain.values} <= images


def test_strategies_compared_on_images(images, monkeypatch, tmp_path):
    how = replace(SMALL, epochs=10, random=0.0)
    monkeypatch.setitem(student.RECIPES, "mnist", student.Recipe(Trunk((4, 8), (16,)), (how,), max_queries=3))
    student.Run("mnist", tmp_path).network()
    monkeypatch.setattr(strategies, "SETS", Trunk((), (16, 16), (8, 4)))
    assert strategies.main(["mnist", "--epochs", "2", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "strategies-mnist.json").read_text())["strategies"]
    assert list(found) == list(strategies.ORDER)
    assert all(len(each["accuracy_after"]) == 10 for each in found.values())
    assert found["student"]["fit_seconds"] == strategies.TRAINED["mnist"]["student"]
    assert (tmp_path / "strategies.png").stat().st_size > 1000
