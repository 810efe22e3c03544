"""The sufficiency audit on tables: what judges are given, what is named, and intervals. Without SHAP and interpret."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import audit_tables as audit


def test_categories_become_codes_and_missing_stays_missing():
    frame = pd.DataFrame({"age": [3.0, np.nan, 1.0], "sex": ["m", None, "f"]})
    np.testing.assert_array_equal(audit.codes(frame), [[3, 1], [np.nan, np.nan], [1, 0]])


def test_columns_are_named_by_the_size_of_contributions_to_the_predicted_class():
    two = np.array([[0.1, -0.9, 0.3]])
    assert audit.largest(two, np.array([0])).tolist() == [[1, 2, 0]]
    three = np.stack([two, -10 * two[:, ::-1], 0 * two], axis=2)
    assert audit.largest(three, np.array([1])).tolist() == [[1, 0, 2]]


def test_a_judge_sees_the_named_columns_and_nothing_else():
    data, y = np.arange(20.0).reshape(2, 10), np.array([0, 1])
    order = np.array([[3, 1, 0, 2, 4, 5, 6, 7], [2, -1, -1, -1, -1, -1, -1, -1]])
    seen = []

    def predict(given):
        seen.append(given)
        return np.array([[0.75, 0.25], [0.5, 0.5]])

    found = audit.judged(predict, data, order, y)
    assert np.flatnonzero(~np.isnan(seen[1][0])).tolist() == [1, 3]
    assert np.flatnonzero(~np.isnan(seen[-1][1])).tolist() == [2]
    np.testing.assert_array_equal(seen[-1][0][:8], data[0, :8])
    assert found["1"]["right"] == [1, 0]
    assert found["1"]["loss"] == pytest.approx([-np.log(0.75), -np.log(0.5)], abs=1e-4)


def test_masked_trees_tell_the_label_from_the_one_column_that_has_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 2] > 0).astype(int)
    predict = audit.masked_trees(X, y, 0, 2)
    alone = np.full_like(X, np.nan)
    alone[:, 2] = X[:, 2]
    assert (predict(alone).argmax(axis=1) == y).mean() > 0.9
    alone[:, 2], alone[:, 1] = np.nan, X[:, 1]
    assert (predict(alone).argmax(axis=1) == y).mean() < 0.8


def test_intervals_count_the_spread_between_tables():
    rng = np.random.default_rng(0)
    alike = [rng.normal(0.1, 1, 1000) for _ in range(10)]
    apart = [each + shift for each, shift in zip(alike, np.linspace(-1, 1, 10), strict=True)]
    mean, low, high = audit.interval(alike)
    assert low < mean < high
    wide = audit.interval(apart)
    assert wide[2] - wide[1] > 3 * (high - low)
