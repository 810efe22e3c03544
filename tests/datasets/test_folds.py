"""Folds: equal shares of the classes, nothing on two sides, and the same again for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.app.datasets import Dataset, fold_numbers


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), min_size=60, max_size=200),
    st.integers(2, 6),
    st.integers(0, 5),
)
def test_groups_stay_whole_and_nothing_is_lost(rows, n, seed):
    labels, groups = np.array(rows).T
    if len(set(groups.tolist())) < n:
        return
    numbers = fold_numbers(labels, groups, n=n, seed=seed)
    assert set(numbers.tolist()) <= set(range(n))
    for group in set(groups.tolist()):
        assert len(set(numbers[groups == group].tolist())) == 1
    np.testing.assert_array_equal(numbers, fold_numbers(labels, groups, n=n, seed=seed))


@given(st.lists(st.integers(0, 4), min_size=10, max_size=200), st.integers(2, 7))
def test_without_groups_shares_differ_by_one_at_most(labels, n):
    labels = np.array(labels)
    numbers = fold_numbers(labels, n=n)
    counts = np.array([np.bincount(numbers[labels == label], minlength=n) for label in np.unique(labels)])
    assert (counts.max(axis=1) - counts.min(axis=1) <= 1).all()
    totals = counts.sum(axis=0)
    assert totals.max() - totals.min() <= 1


def test_another_seed_gives_other_folds():
    labels = np.arange(100) % 2
    assert (fold_numbers(labels, seed=0) != fold_numbers(labels, seed=1)).any()


@pytest.mark.parametrize("n", [1, 5, 2.5])
def test_too_many_or_too_few_folds_are_refused(n):
    with pytest.raises(ValueError, match="from 2 to 4"):
        fold_numbers([0, 0, 1, 1], n=n)


def test_one_group_for_each_label():
    with pytest.raises(ValueError, match=r"\(3,\) and groups \(2,\)"):
        fold_numbers([0, 1, 1], [0, 1])


def test_names_of_columns_must_fit():
    x, y = np.zeros((2, 1)), np.array([0, 1])
    with pytest.raises(ValueError, match="names 2 columns"):
        Dataset("made up", x, y, x, y, ("a", "b"), feature_names=("p", "q"))
