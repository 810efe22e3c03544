"""Cross-validation of a data set: every input is tested once, and the folds are paired."""

import numpy as np
import pytest

from benchmarks.datasets import GroupedDataset, folds
from infopursuit import datasets


def test_every_input_is_tested_once():
    ids = np.arange(1797).astype(str)
    data = GroupedDataset(**vars(datasets.digits()), ids_train=ids[:1437], ids_test=ids[1437:])
    seen = []
    for fold in folds(data, 3, seed=1):
        assert len(fold.x_train) + len(fold.x_test) == 1797
        assert not set(fold.ids_train) & set(fold.ids_test)
        assert fold.description == data.description
        seen.extend(fold.ids_test)
    assert sorted(seen, key=int) == [str(i) for i in range(1797)]


def test_folds_are_paired():
    """Two methods that ask for the same folds get the same, however far each of them goes."""
    data = datasets.breast_cancer()
    first = list(folds(data))
    for one, other in zip(first, folds(data), strict=True):
        np.testing.assert_array_equal(one.x_test, other.x_test)
        np.testing.assert_array_equal(one.y_train, other.y_train)


def test_a_data_set_refuses_a_group_in_both_parts():
    x, y, names = np.zeros((2, 1)), np.array([0, 1]), ("a", "b")
    GroupedDataset("made up", x, y, x, y, names, groups_train=np.array([0, 1]), groups_test=np.array([2, 3]))
    with pytest.raises(ValueError, match="group 1 is in both parts"):
        GroupedDataset("made up", x, y, x, y, names, groups_train=np.array([0, 1]), groups_test=np.array([1, 3]))
    with pytest.raises(ValueError, match="go together"):
        GroupedDataset("made up", x, y, x, y, names, groups_train=np.array([0, 1]))
    with pytest.raises(ValueError, match="one for each of 2"):
        GroupedDataset("made up", x, y, x, y, names, ids_train=["a"], ids_test=["b", "c"])
