"""All data sets by name."""

import numpy as np
import pytest

from infopursuit import datasets
from infopursuit.datasets.catalog import ALIASES, LOADERS

PUBLIC = "NAMES Dataset breast_cancer data_folder digits fashion_mnist fold_numbers kmnist load mnist"


def test_the_public_names():
    assert datasets.__all__ == PUBLIC.split()


def test_every_loader_is_public_under_its_name():
    assert sorted(LOADERS) == list(datasets.NAMES)
    for name, loader in LOADERS.items():
        assert getattr(datasets, name) is loader


def test_other_names_lead_somewhere_and_hide_nothing():
    assert set(ALIASES.values()) <= set(LOADERS)
    assert not set(ALIASES) & set(LOADERS)


@pytest.mark.parametrize("name", ["digits", "breast_cancer"])
def test_what_comes_along_works_with_nothing_at_all(name, tmp_path, monkeypatch):
    monkeypatch.setenv("INFOPURSUIT_DATA", str(tmp_path / "nowhere"))
    data = datasets.load(name)
    assert data.name == name
    assert data.licence


def test_options_go_to_the_loader():
    with pytest.raises(TypeError, match="seed"):
        datasets.load("digits", seed=1)


@pytest.mark.parametrize("name", [name for name in datasets.NAMES if name not in ("digits", "breast_cancer")])
def test_no_file_is_an_error_that_names_the_folder_and_a_page(name, folder):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load(name)
    assert str(folder) in str(caught.value)
    assert "http" in str(caught.value)
    assert "INFOPURSUIT_DATA" in str(caught.value)


def test_breast_cancer_needs_no_file(folder):
    data = datasets.load("breast-cancer")
    assert data.x_train.shape == (455, 30)
    assert data.x_test.shape == (114, 30)
    assert data.class_names == ("malignant", "benign")
    assert data.feature_names[0] == "mean radius"
    counts = [np.bincount(y) for y in (data.y_train, data.y_test)]
    assert (counts[0] + counts[1]).tolist() == [212, 357]
    assert abs(counts[0][0] / 455 - counts[1][0] / 114) < 0.01
    together = np.concatenate([data.x_train, data.x_test])
    assert len(np.unique(together, axis=0)) == 569
