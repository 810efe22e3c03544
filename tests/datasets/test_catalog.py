"""The data sets by name, and what a data set must be."""

import numpy as np
import pytest

from infopursuit import datasets
from infopursuit.app.datasets import Dataset


def test_the_public_names():
    assert datasets.__all__ == ["NAMES", "Dataset", "breast_cancer", "digits", "fold_numbers", "load"]


def test_every_loader_is_public_under_its_name():
    for name in datasets.NAMES:
        assert datasets.load(name).name == getattr(datasets, name)().name == name
        assert datasets.load(name).licence
    with pytest.raises(ValueError, match="no data set 'cifar'; there are breast_cancer, digits"):
        datasets.load("cifar")


def test_digits():
    data = datasets.digits()
    assert data.x_train.shape == (1437, 8, 8)
    assert data.x_test.shape == (360, 8, 8)
    assert data.x_train.min() == 0
    assert data.x_train.max() == 16
    assert data.class_names == tuple("0123456789")
    shares = [np.bincount(y, minlength=10) / len(y) for y in (data.y_train, data.y_test)]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.005)
    again = datasets.load("digits")
    np.testing.assert_array_equal(data.x_test, again.x_test)
    together = np.concatenate([data.x_train, data.x_test]).reshape(1797, -1)
    assert len(np.unique(together, axis=0)) == 1797  # no test image among those to learn from


def test_breast_cancer_needs_no_file():
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


def test_parts_of_a_data_set_must_fit_together():
    x, y = np.zeros((4, 3)), np.array([0, 1, 0, 1])
    data = Dataset("made up", x, y, x[:2], y[:2], ("a", "b"), feature_names=("p", "q", "r"))
    assert data.n_classes == 2
    assert "4 inputs of 3" in repr(data)
    with pytest.raises(ValueError, match=r"shape \(3,\), x_test of \(2,\)"):
        Dataset("made up", x, y, x[:2, :2], y[:2], ("a", "b"))
    with pytest.raises(ValueError, match="there are 1 classes"):
        Dataset("made up", x, y, x, y, ("a",))
