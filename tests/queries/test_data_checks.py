"""What `fit` says about a table, against naive counts and planted faults."""

import warnings

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.queries.data_checks import find_leaks, leave_one_out_accuracy

ILLNESSES = np.array(["cold", "flu", "measles"])
LEAK = "a single column tells the label"


def patients(n=300, seed=0):
    """A table without faults, and its labels."""
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "temperature": rng.normal(37 + 0.8 * ill, 0.8).round(2),
            "rash": rng.random(n) < np.array([0.2, 0.3, 0.7])[ill],
            "cough": rng.random(n) < np.array([0.7, 0.5, 0.2])[ill],
            "weekday": rng.choice(["mon", "tue", "wed", "thu"], n),
        }
    )
    return table, ILLNESSES[ill]


def warnings_of_fit(X, y, **settings):
    """The texts of the warnings of `fit`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ip.InformationPursuitClassifier(strategy="table", assess=False, **settings).fit(X, y)
    return [str(warning.message) for warning in caught]


def test_leave_one_out_accuracy_is_that_of_a_naive_loop():
    """No ties here: then the naive loop has no choice either."""
    rng = np.random.default_rng(0)
    column = rng.integers(0, 3, 400)
    labels = np.where(rng.random(400) < 0.5, column, rng.integers(0, 3, 400))
    counts = np.zeros((3, 3))
    np.add.at(counts, (column, labels), 1)

    n_right = 0
    for i in range(400):
        others = np.flatnonzero((column == column[i]) & (np.arange(400) != i))
        n_right += np.bincount(labels[others], minlength=3).argmax() == labels[i]
    assert leave_one_out_accuracy(counts) == pytest.approx(n_right / 400)


def test_values_that_occur_once_tell_nothing():
    labels = np.arange(100) % 2
    counts = np.eye(2)[labels]
    assert leave_one_out_accuracy(counts) == pytest.approx(0.5)
    assert find_leaks(np.arange(100)[:, None], labels) == {}


def test_a_column_is_judged_where_it_is_known():
    labels = np.arange(300) % 3
    values = np.stack([labels, labels, labels], axis=1)
    values[100:, 1] = -1
    values[29:, 2] = -1
    assert find_leaks(values, labels) == {0: 1.0, 1: 1.0}


def test_a_column_that_gives_the_label_away_is_named():
    X, y = patients()
    codes = dict(zip(ILLNESSES, ["J00", "J10", "B05"], strict=True))
    X["billing code"] = [codes[label] for label in y]
    (text,) = warnings_of_fit(X, y)
    assert text.startswith(f"{LEAK}: 'billing code' (right in 100.0 %")


def test_a_column_of_a_group_is_named():
    X, y = patients()
    X["billing code"] = y
    groups = ip.queries.groups(ip.queries.columns(), {"visit": ["billing code", "weekday"]})
    (text,) = warnings_of_fit(X, y, queries=groups)
    assert "'billing code'" in text


def test_a_label_that_most_columns_tell_is_easy():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.stack([np.where(rng.random(400) < 0.01, 1 - y, y) for _ in range(8)], axis=1)
    assert warnings_of_fit(X, y, stopping=ip.Confidence(0.1)) == []


def test_tables_without_faults_raise_no_alarm():
    for seed in range(5):
        assert warnings_of_fit(*patients(seed=seed)) == []


def test_constant_columns_and_identifiers_are_named():
    X, y = patients()
    X["site"] = "A"
    X["patient"] = [f"P{i:04}" for i in range(len(X))]
    constant, identifiers = warnings_of_fit(X, y)
    assert "fewer than two different known values: 'site'" in constant
    assert "identifiers" in identifiers
    assert "'patient'" in identifiers


def test_labels_that_are_a_quantity_are_refused():
    X, _ = patients()
    with pytest.raises(ValueError, match="looks like a quantity"):
        ip.InformationPursuitClassifier().fit(X, np.arange(300) * 3)
