"""Whatever is learnt about the queries is learnt on the training part of each fold alone."""

import copy

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score, cross_validate

import infopursuit as ip

Classifier = ip.InformationPursuitClassifier


class Spy:
    """A builder that writes down which rows it was given; the first column of X is the number of the row."""

    def __init__(self, seen):
        self.seen = seen

    def __deepcopy__(self, memo):
        return Spy(self.seen)  # scikit-learn copies what it clones, and the notes must not be lost

    def fit(self, X, y=None, sample_weight=None):
        self.seen.append((X[:, 0].astype(int).tolist(), list(y), sample_weight))
        return ip.queries.columns(X[:, 1:], names=["x"]) if X.shape[1] == 2 else ip.queries.columns(X)


def test_a_builder_sees_the_training_rows_of_its_fold_only():
    rng = np.random.default_rng(0)
    X = np.stack([np.arange(60.0), rng.normal(size=60), rng.normal(size=60)], axis=1)
    y = (X[:, 1] > 0).astype(int)
    seen = []
    cv = KFold(4, shuffle=True, random_state=1)
    cross_val_score(
        Classifier(queries=Spy(seen), strategy=ip.models.naive_bayes(1.0)), X, y, cv=cv, error_score="raise"
    )
    folds = [train.tolist() for train, _ in cv.split(X)]
    whole = [(rows, labels) for rows, labels, _ in seen if len(rows) == 45]
    assert whole == [(train, y[train].tolist()) for train in folds]

    # Within each fold it is fitted again on parts of the rows, to measure how well it works.
    parts = [rows for rows, _, _ in seen if len(rows) != 45]
    assert len(parts) == 4 * 5
    for i, rows in enumerate(parts):
        assert set(rows) < set(folds[i // 5])


def test_a_builder_is_given_the_weights():
    X = np.stack([np.arange(20.0), np.arange(20.0), np.arange(20.0)], axis=1)
    seen = []
    weights = np.arange(20.0)
    Classifier(queries=Spy(seen), strategy=ip.models.naive_bayes(1.0)).fit(X, [0, 1] * 10, sample_weight=weights)
    np.testing.assert_array_equal(seen[0][2], weights)
    assert copy.deepcopy(Spy(seen)).seen is seen


def test_the_vocabulary_has_no_word_of_the_held_out_texts():
    """Every fold has a word of its own, often enough to get into the vocabulary if it were seen."""
    texts = [f"common words {own} {own}ish" for own in ("alpha", "beta", "gamma") for _ in range(8)]
    y = ["a", "b"] * 12
    options = {"cv": KFold(3), "return_estimator": True, "return_indices": True, "error_score": "raise"}
    clf = Classifier(queries=ip.queries.words(min_count=2, stem=False), strategy=ip.models.naive_bayes(1.0))
    result = cross_validate(clf, texts, y, **options)
    for estimator, test, own in zip(
        result["estimator"], result["indices"]["test"], ("alpha", "beta", "gamma"), strict=True
    ):
        assert all(own in texts[i] for i in test)
        assert own not in estimator.queries_.names
        assert len(estimator.queries_) == 6  # two common words, two of each of the other folds


def test_thresholds_come_from_the_training_rows():
    X = np.concatenate([np.linspace(0, 1, 30), np.linspace(100, 101, 30)])[:, None]
    y = np.arange(60) % 2
    result = cross_validate(
        Classifier(strategy=ip.models.naive_bayes(1.0)), X, y, cv=KFold(2), return_estimator=True, error_score="raise"
    )
    late, early = (estimator.queries_.fields[0].thresholds for estimator in result["estimator"])
    assert min(late) >= 100
    assert max(early) <= 1


@pytest.mark.parametrize("queries", [None, ip.queries.columns(bins=4)])
def test_a_builder_is_not_changed_by_fitting(queries):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    clf = Classifier(queries=queries, strategy="table")
    clf.fit(X, X[:, 0] > 0)
    first = clf.queries_.to_spec()
    clf.fit(X + 100, X[:, 0] > 0)
    assert clf.queries is queries
    assert clf.queries_.to_spec() != first


def test_a_query_set_that_is_fitted_already_stays_as_it_is():
    queries = ip.queries.columns(np.array([[0.0], [10.0]]))
    clf = Classifier(queries=queries, strategy="table").fit([[1.0], [2.0]] * 5, [0, 1] * 5)
    assert clf.queries_ is queries
