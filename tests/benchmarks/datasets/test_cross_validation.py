"""Cross-validation of a data set: every input is tested once, and the folds are paired."""

from dataclasses import replace

import numpy as np

from benchmarks.datasets import folds
from infopursuit import datasets


def test_every_input_is_tested_once():
    data = datasets.digits()
    data = replace(data, ids_train=np.arange(1437).astype(str), ids_test=np.arange(1437, 1797).astype(str))
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
