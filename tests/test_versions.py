"""What a model was made with is kept with it, and shown."""

import json
import logging
import platform

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.app.cli import main
from infopursuit.models import TableModel
from infopursuit.saving.files import own_checksum
from infopursuit.saving.provenance import differences, provenance
from infopursuit.support.threads import n_threads
from infopursuit.support.types import ModelFormatError


@pytest.fixture
def saved(tmp_path):
    X = np.random.default_rng(0).random((40, 2))
    clf = ip.InformationPursuitClassifier(strategy="table", random_state=7).fit(X, X[:, 0] > 0.5)
    clf.save(tmp_path / "model")
    return clf, tmp_path / "model"


def altered(folder, made):
    """The same folder, made with something else."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["provenance"] = made
    manifest["sha256"] = own_checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_versions_machine_seed_and_rows_are_in_the_folder(saved):
    clf, folder = saved
    made = json.loads((folder / "manifest.json").read_text())["provenance"]
    assert made == clf.provenance_ == ip.load(folder).provenance_
    names = {"infopursuit", "python", "numpy", "torch", "scikit-learn", "scipy", "numba", "safetensors"}
    assert names | {"platform", "machine", "seed", "rows"} == set(made)
    assert (made["torch"], made["numpy"], made["machine"]) == (torch.__version__, np.__version__, platform.machine())
    assert (made["seed"], made["rows"], made["infopursuit"]) == (7, 40, ip.__version__)


def test_a_pursuit_has_them_too(tmp_path):
    model = TableModel([0.5, 0.5], None, [[0.9], [0.1]])
    ip.save(ip.generative_pursuit(model, ip.queries.concepts(["a"]), seed=3), tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_text())["provenance"] == provenance(3)
    assert isinstance(ip.load(tmp_path), ip.Pursuit)


def test_saving_twice_gives_the_same_bytes(saved):
    clf, folder = saved
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    ip.load(folder).save(folder)
    clf.save(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_the_card_shows_them(saved, capsys):
    clf, folder = saved
    line = next(line for line in clf.model_card().splitlines() if "Provenance" in line)
    assert f"torch {torch.__version__}" in line
    assert "seed 7" in line
    assert "40 rows" in line
    assert main(["inspect", str(folder), "--card"]) == 0
    assert line in capsys.readouterr().out


def test_another_version_is_said_and_read_all_the_same(saved, caplog):
    clf, folder = saved
    with caplog.at_level(logging.INFO, logger="infopursuit"):
        ip.load(folder)
    assert not caplog.text
    altered(folder, {**clf.provenance_, "numpy": "1.0", "machine": "abacus"})
    with caplog.at_level(logging.INFO, logger="infopursuit"):
        loaded = ip.load(folder)
    assert f"was made with numpy 1.0, now {np.__version__}; machine abacus, now" in caplog.text
    assert all(record.levelno == logging.INFO for record in caplog.records)
    assert loaded.provenance_["machine"] == "abacus"
    loaded.save(folder)  # what it was made with stays, whoever writes it again
    assert ip.load(folder).provenance_["machine"] == "abacus"


@pytest.mark.parametrize("made", [7, ["numpy"], {"numpy": {}}, {"numpy": "1\n2"}, {"a" * 201: "1"}, {"rows": True}])
def test_nonsense_is_refused(saved, made):
    _, folder = saved
    altered(folder, made)
    with pytest.raises(ModelFormatError, match="provenance is not a mapping"):
        ip.load(folder)


def test_a_trained_network_says_how_many_threads(tmp_path):
    X = np.random.default_rng(0).integers(0, 2, size=(12, 3))
    learner = ip.models.vae(
        architecture=ip.models.MLPArchitecture((4,)), latent_dim=1, training=ip.models.Training(epochs=1)
    )
    clf = ip.InformationPursuitClassifier(ip.queries.concepts(list("abc")), strategy=learner).fit(X, np.arange(12) % 2)
    assert clf.provenance_["threads"] == n_threads()
    assert differences(clf.provenance_) == []
