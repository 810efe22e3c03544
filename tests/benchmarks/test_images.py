"""The image experiments from end to end, on small made-up images with a small trained VAE."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.black_box import NetworkSettings
from benchmarks.recipes import image_sets, novelty, patch_sizes
from benchmarks.recipes.image_sets import ImageSet, ImageTask, train_images
from benchmarks.recipes.images import pixels_seen
from benchmarks.reproduce import main
from infopursuit.app.datasets import Dataset
from infopursuit.models.empirical import Blur
from infopursuit.models.networks.training import Training
from infopursuit.strategies import SMC

SHAPE = (8, 8)


def strokes(n, rng):
    """Small images of two kinds: a bar down or a bar across, with specks."""
    labels = rng.integers(0, 2, n)
    images = rng.random((n, *SHAPE)) < 0.03
    for image, label in zip(images, labels, strict=True):
        where = rng.integers(1, SHAPE[0] - 1)
        if label:
            image[:, where] = True
        else:
            image[where, :] = True
    return 255 * images.astype(np.uint8), labels


SMALL = ImageSet(
    "mnist",
    "mnist",
    threshold=127.5,
    length=5.0,
    most_queries=8,
    rounds=image_sets.loosened(Training(epochs=20, batch_size=32, validation=0.2), 2),
    paper=image_sets.IMAGE_SETS["mnist"].paper,
    decoded=Blur((0.0, 0.5), (0.01, 0.05), (0.01, 0.05)),
    examples=Blur((0.4, 0.8), (0.01, 0.05), (0.01, 0.05)),
    sampler=SMC(n_draws=300, min_ess=0.0),
    n_pooled=300,
    n_mixture=5,
    tried=60,
    network=NetworkSettings(epochs=3, channels=4, hidden=16, validation=0.2, refit=False),
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    (x_train, y_train), (x_test, y_test) = strokes(300, rng), strokes(50, rng)
    return Dataset("made up", x_train, y_train, x_test, y_test, ("across", "down"), "made up", "none")


@pytest.fixture(scope="module")
def weights(data, tmp_path_factory):
    file = tmp_path_factory.mktemp("weights") / "mnist-vae.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_sets.datasets, "load", lambda name: data)
        patch.setitem(image_sets.IMAGE_SETS, "mnist", SMALL)
        said = []
        train_images("mnist", file, say=said.append)
    assert said[-1] == f"round 2 of 2 written to {file}"
    assert file.with_stem("mnist-vae-round-1").is_file()
    return file


@pytest.fixture
def small(monkeypatch, data, weights):
    """All image experiments are the small one."""
    monkeypatch.setattr(image_sets.datasets, "load", lambda name: data)
    monkeypatch.setattr(image_sets, "weights_file", lambda name: weights)
    for name in list(image_sets.IMAGE_SETS):
        monkeypatch.setitem(image_sets.IMAGE_SETS, name, replace(SMALL, name=name))


def test_table_1_has_every_row_and_is_not_measured_twice(small, tmp_path, capsys):
    assert main(["mnist", "--out", str(tmp_path), "--inputs", "40"]) == 0
    result = json.loads((tmp_path / "first-40" / "mnist.json").read_text())
    names = [row["name"] for row in result["rows"]]
    assert names[:7] == [
        "Information Pursuit, VAE",
        "Information Pursuit, training images as the model",
        "Information Pursuit, all pooled",
        "decision tree on Q (CART)",
        "MAP using Q, VAE",
        "MAP using Q, training images as the model",
        "MAP using Q, all pooled",
    ]
    assert names[7].startswith("black box using Q: ")
    ours, examples = result["rows"][:2]
    assert result["rows"][3]["length"] > 1  # a tree asks too
    assert ours["n_inputs"] == 40
    assert examples["accuracy"] > 0.9
    assert ours["accuracy"] > 0.8
    assert result["command"] == "python -m benchmarks.reproduce mnist --inputs 40"
    chosen = result["parts"]["pursuits"]["VAE"]["chosen"]
    assert chosen["patience"] in (0, 1, 2)
    held_out = result["parts"]["pursuits"]["VAE"]["held_out"]
    assert held_out["n_inputs"] == 60  # chosen on training images
    assert held_out["length"] <= 5.0
    curve = result["parts"]["pursuits"]["VAE"]["test_curve"]
    assert next(p for p in curve if p["epsilon"] == chosen["epsilon"]) == result["parts"]["pursuits"]["VAE"]["test"]
    assert curve[0]["length"] == chosen["patience"]  # epsilon 0.95 holds at once
    for figure in result["figures"]:
        assert (tmp_path / "first-40" / figure["file"]).read_bytes()[:4] == b"\x89PNG"
    first = capsys.readouterr().out
    assert "| Information Pursuit, VAE |" in first
    assert "kept from" not in first
    assert main(["mnist", "--out", str(tmp_path), "--inputs", "40"]) == 0
    assert capsys.readouterr().out.count("kept from") == 6
    again = json.loads((tmp_path / "first-40" / "mnist.json").read_text())
    assert again["rows"] == result["rows"]


def test_attribution_judges_explanations_of_the_same_length(small, tmp_path, monkeypatch):
    assert main(["attribution", "--out", str(tmp_path), "--inputs", "12"]) == 0
    result = json.loads((tmp_path / "first-12" / "attribution.json").read_text())
    for rows in (part["rows"] for part in result["parts"].values()):
        assert [row["name"] for row in rows] == [
            "Information Pursuit",
            "IG",
            "IG (absolute)",
            "DeepSHAP",
            "DeepSHAP (absolute)",
        ]
        assert len({row["length"] for row in rows}) == 1
        # the pursuit's own explanation gives its own prediction again
        kept = next((tmp_path / "first-12" / ".parts" / "mnist").glob("pursuit-VAE.json"))
        measured = json.loads(kept.read_text())["result"]["test"]
        assert rows[0]["accuracy"] == measured["accuracy"]
        assert rows[0]["length"] == measured["length"]


def test_patch_sizes(small, tmp_path, monkeypatch):
    sizes = tuple(replace(size, n_inputs=20) for size in patch_sizes.SIZES[:3])
    monkeypatch.setattr(patch_sizes, "SIZES", sizes)
    assert main(["patch-sizes", "--out", str(tmp_path)]) == 0
    (table,) = json.loads((tmp_path / "patch-sizes.json").read_text())["tables"].values()
    assert [row["patch"] for row in table] == ["1 x 1", "2 x 2", "3 x 3"]
    assert table[0]["questions"] == table[0]["pixels"]  # of one pixel each
    assert table[0]["questions"] > table[2]["questions"]


def test_novelty(small, weights, tmp_path, monkeypatch, capsys):
    task = ImageTask(SMALL)  # what is usual must be new to the model
    for name, value in (("N_REFERENCE", 60), ("N_INPUTS", 20), ("N_QUERIES", 4), ("COUNTS", (0, 2, 4))):
        monkeypatch.setattr(novelty, name, value)
    monkeypatch.setattr(novelty.shipped, "load", lambda name: task.with_examples(task.rest, 0.01))
    assert main(["novelty", "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / "novelty.json").read_text())
    (table,) = result["tables"].values()
    assert len(table) == 7
    share = {(row["model"], row["images"]): row for row in table}
    for model in ("shipped mnist",):
        usual, strange = share[model, novelty.DIGITS], share[model, "digits, dark and lit exchanged"]
        flagged = [float(row["4 novelty queries, % (95 % interval)"].split()[0]) for row in (usual, strange)]
        assert flagged[0] <= 40 < 90 <= flagged[1]
        assert strange["area under the curve"] > 0.95
    without, checked = result["rows"][:2]
    assert checked["length"] == pytest.approx(without["length"] + 4, abs=0.01)
    assert (tmp_path / "novelty.png").is_file()
    monkeypatch.setattr(novelty, "_run", lambda *given: pytest.fail("measured again"))  # nothing is measured twice
    assert main(["novelty", "--out", str(tmp_path)]) == 0


def test_fewer_novelty_queries_are_the_first_of_many(small):
    task = ImageTask(image_sets.IMAGE_SETS["mnist"], 20)
    pursuit = task.with_examples(slice(None), 0.05)
    many, few = (replace(pursuit, n_novelty_queries=n).run_values(task.x_test) for n in (6, 3))
    np.testing.assert_allclose(novelty.surprise_after(many, 3), few.surprisal, atol=1e-6)
    np.testing.assert_allclose(novelty.surprise_after(many, 0), pursuit.run_values(task.x_test).surprisal, atol=1e-6)


def test_pixels_seen_counts_a_pixel_once(small):
    task = ImageTask(image_sets.IMAGE_SETS["mnist"], 20)
    trace = task.with_examples(slice(None), 0.05).run_values(task.x_test)
    counted = pixels_seen(trace, trace.length)
    assert counted.tolist() == [int((explanation.revealed() >= 0).sum()) for explanation in trace]
    assert pixels_seen(trace, np.zeros(20, dtype=np.int64)).tolist() == [0] * 20


def test_an_experiment_that_does_not_exist_is_refused(capsys):
    assert main(["birds"]) == 2
    assert "invalid choice: 'birds'" in capsys.readouterr().err
