"""What is refused, with a message that names the argument, the value and the remedy."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import infopursuit as ip
from infopursuit.estimator import classifier as estimator

Classifier = ip.InformationPursuitClassifier
X = np.array([[0.0, 1.0], [1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 2.0], [5.0, 0.0]])
Y = np.array([0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    "options",
    [
        {"queries": "patches"},
        {"queries": ["age"]},
        {"queries": ip.queries.columns},
        {"strategy": "forest"},
        {"strategy": 3},
        {"strategy": ip.models.naive_bayes},
        {"strategy": ip.models.TableModel},
        {"belief": "langevin"},
        {"belief": None},
        {"stopping": 0.01},
        {"stopping": ip.Confidence},
        {"patience": -1},
        {"patience": "long"},
        {"patience": 1.5},
        {"random_state": "lucky"},
        {"random_state": -1},
        {"dtype": "float16"},
        {"exact_gains": "yes"},
        {"noise": 0.9},
        {"costs": {"x0": 2.0}},
        {"constraints": ["x0"]},
    ],
    ids=lambda options: re.sub(r" at 0x\w+", "", str(options)),  # an address differs between test processes
)
def test_settings(options):
    (name, value), *_ = options.items()
    with pytest.raises(ValueError, match=f"^{name}={re.escape(repr(value))}"):
        Classifier(**options).fit(X, Y)


def test_smoothing_of_images_needs_images():
    with pytest.raises(ValueError, match="smoothing='blur'"):
        Classifier(strategy=ip.models.empirical("blur")).fit(X, Y)


def test_a_device_that_is_not_there():
    learner = ip.models.vae(training=ip.models.Training(epochs=1))
    with pytest.raises(ValueError, match="device='abacus'"):
        Classifier(strategy=learner, device="abacus").fit(X, Y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "requires y to be passed"),
        ([0] * 6, r"y has one class only, .*0.*; a classifier needs at least two classes"),
        ([0, 1], r"X has 6 rows and y has 2 labels"),
        ([0, 1, 0, np.nan, 1, 0], r"y\[3\] is NaN or None: every row needs a label; leave rows without one out"),
        (["a", "b", None, "a", "b", "a"], r"y\[2\] is NaN or None"),
        (pd.Series(["a", pd.NA, "b", "a", "b", "a"], dtype="string"), r"y\[1\] is NaN or None"),
        (pd.Series([1, 2, pd.NA, 1, 2, 1], dtype="Int64"), r"y\[2\] is NaN or None"),
        ([0, 1, 0, np.inf, 1, 0], "y holds an infinite value"),
        ([0.5, 1.5, 0.25, 2.5, 3.5, 0.1], "Unknown label type: continuous"),
        ([[0, 1]] * 6, "y should be a 1d array"),
        (np.array([0, "a", 1, "b", 0, "a"], dtype=object), "Unknown label type"),
    ],
)
def test_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        Classifier().fit(X, labels)


def test_too_many_classes(monkeypatch):
    monkeypatch.setattr(estimator, "MAX_CLASSES", 5)
    with pytest.raises(
        ValueError, match=r"y has 6 classes, more than 5; is it an identifier or a number\? Group it into"
    ):
        Classifier().fit(X, list("abcdef"))


def test_ten_thousand_classes():
    with pytest.raises(ValueError, match="y has 10000 classes, more than 5000"):
        Classifier().fit(np.arange(10_000.0)[:, None], [f"number {i}" for i in range(10_000)])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((0, 2)), r"0 sample\(s\)"),
        (np.zeros((6, 0)), r"0 feature\(s\)"),
        (pd.DataFrame({"a": []}), r"X has no rows \(0 sample\(s\)\); give at least one"),
        ([], "0 sample|Expected 2D"),
        (np.zeros(6), "Expected 2D array, got 1D array instead"),
        (None, "X is None; give a batch of inputs: a table, a list of texts, or a stack of images"),
        (5, "X is 5; give a batch of inputs"),
        ("one text", "X is 'one text'; give a batch of inputs"),
        ({"a": [1, 2]}, r"X is \{'a': \[1, 2\]\}; give a batch of inputs"),
        ([[1, 2], [1]] * 3, "inhomogeneous"),
        (np.full((6, 2), np.inf), "infinity"),
        (
            np.ones((6, 2)),
            r"none of its columns \('x0', 'x1'\) has two different known values, so there is nothing to ask",
        ),
        (np.full((6, 2), np.nan), "none of its columns"),
        (np.zeros((6, 5, 5, 3)), "use ip.queries.patches for images"),
        (np.ones((6, 2), dtype=complex), "Complex data not supported"),
        (pd.DataFrame(X, columns=["a", "a"]), "X has more than one column 'a'; column names must differ, rename one"),
        (pl.DataFrame({"a": [1, 2]}), "X has 2 rows and y has 6 labels"),
        (["the", "a", "of", "the", "a", "of"], "no word occurs in min_count=2 of the 6 texts .* say min_count=1"),
    ],
)
def test_inputs(inputs, message):
    with pytest.raises(ValueError, match=message):
        Classifier().fit(inputs, Y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], "sample_weight"),
        ([-1, 1, 1, 1, 1, 1], "Negative values|negative"),
        ([np.nan, 1, 1, 1, 1, 1], "NaN"),
        (np.zeros(6), "zero"),
    ],
)
def test_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        Classifier().fit(X, Y, sample_weight=weights)


def test_columns_that_never_differ_are_left_out_with_a_warning():
    constant = np.concatenate([X, np.ones((6, 1))], axis=1)
    with pytest.warns(UserWarning, match="fewer than two different known values: 'x2'"):
        clf = Classifier(strategy="table").fit(constant, Y)
    assert not [name for name in clf.queries_.names if name.startswith("x2")]
    assert clf.n_features_in_ == 3


def test_many_categories_leave_the_empirical_model_out():
    """Its values are bytes; the other models must not suffer for that."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": [f"town {i}" for i in range(300)] * 2, "x": rng.normal(size=600)})
    y = frame["x"] > 0
    clf = Classifier(queries=ip.queries.columns(max_categories=400)).fit(frame, y)
    assert clf.score(frame, y) > 0.9
    with pytest.raises(ValueError, match=r"300 values .* use strategy='table'"):
        clf.set_params(strategy="empirical").fit(frame, y)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (X[:, :1], "X has 1 features, but InformationPursuitClassifier is expecting 2"),
        (np.zeros((0, 2)), r"0 sample\(s\)"),
        (None, "X is None; give a batch of inputs"),
        (np.array([["a", "b"]], dtype=object), "expected a number"),
    ],
)
def test_inputs_that_do_not_fit_what_was_learnt(inputs, message):
    clf = Classifier(strategy="table").fit(X, Y)
    with pytest.raises(ValueError, match=message):
        clf.predict(inputs)


def test_frames_without_a_column_of_the_training_table():
    frame = pd.DataFrame(X, columns=["a", "b"])
    clf = Classifier(strategy="table").fit(frame, Y)
    with pytest.raises(ValueError, match="Feature names"):
        clf.predict(frame[["a"]].assign(c=1.0))
    polars = Classifier(strategy="table").fit(pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}), Y)
    with pytest.raises(ValueError, match="X has no column 'b'"):
        polars.predict(pl.DataFrame({"a": X[:, 0], "c": X[:, 1]}))


def test_a_model_for_other_classes_or_variables():
    queries = ip.queries.concepts(["wings", "red"])
    three = ip.models.TableModel([0.2, 0.3, 0.5], None, np.full((3, 2), 0.5))
    with pytest.raises(ValueError, match="strategy is a model of 3 classes, but y has 2"):
        Classifier(queries=queries, strategy=three).fit([[0, 1], [1, 0]], [0, 1])
    narrow = ip.models.TableModel([0.5, 0.5], None, [[0.5], [0.5]])
    with pytest.raises(ValueError, match="queries reveal 2 variables"):
        Classifier(queries=queries, strategy=narrow).fit([[0, 1], [1, 0]], [0, 1])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "explain"])
def test_nothing_works_before_fit(method):
    with pytest.raises(ValueError, match="not fitted yet"):
        getattr(Classifier(), method)(X)
    with pytest.raises(ValueError, match="not fitted yet"):
        Classifier().session()
