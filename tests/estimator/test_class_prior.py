"""Another prevalence, when fitting or when predicting, changes the posterior exactly as Bayes says."""

from functools import partial

import numpy as np
import pytest

import infopursuit as ip

Classifier = ip.InformationPursuitClassifier


def fitted(strategy=None, **options):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 150, p=[0.6, 0.3, 0.1])
    X = (
        rng.random((150, 5))
        < np.array([[0.8, 0.2, 0.5, 0.6, 0.5], [0.3, 0.7, 0.5, 0.2, 0.5], [0.5, 0.5, 0.9, 0.5, 0.1]])[
            np.searchsorted(["a", "b", "c"], y)
        ]
    ).astype(int)
    strategy = ip.models.naive_bayes(1.0) if strategy is None else strategy
    clf = Classifier(queries=ip.queries.concepts(list("vwxyz")), strategy=strategy, stopping=ip.MaxQueries(5))
    return clf.fit(X, y, **options), X, y


@pytest.mark.parametrize(
    "model", [None, ip.models.latent_classes(2), "empirical"], ids=["naive Bayes", "mixture", "empirical"]
)
def test_the_odds_change_by_the_ratio_of_the_priors(model):
    """Every query is asked in the end, so the answers are the same, and likelihoods do not depend on the prior."""
    clf, X, _ = fitted(model)
    prior = np.array([0.2, 0.2, 0.6])
    before, after = clf.predict_proba(X), clf.predict_proba(X, class_prior=prior)
    expected = before * prior / clf.model_.class_prior
    np.testing.assert_allclose(after, expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(clf.predict_proba(X), before)  # the classifier itself did not change


def test_a_prior_given_when_fitting_is_the_one_in_use():
    plain, X, _ = fitted()
    given, _, _ = fitted(class_prior=[0.2, 0.2, 0.6])
    np.testing.assert_allclose(given.model_.class_prior, [0.2, 0.2, 0.6], atol=1e-12)
    np.testing.assert_allclose(given.predict_proba(X), plain.predict_proba(X, class_prior=[0.2, 0.2, 0.6]), atol=1e-12)
    back = given.predict_proba(X, class_prior=plain.model_.class_prior)
    np.testing.assert_allclose(back, plain.predict_proba(X), atol=1e-12)


def test_without_one_the_prior_is_that_of_the_data():
    clf, _, y = fitted()
    counts = np.array([(y == label).sum() for label in "abc"]) + 0.5
    np.testing.assert_allclose(clf.model_.class_prior, counts / counts.sum(), atol=1e-12)
    np.testing.assert_allclose(clf.session().posterior, counts / counts.sum(), atol=1e-12)


def test_all_ways_to_say_it_and_all_methods_agree():
    clf, X, _ = fitted()
    said = [[0.1, 0.6, 0.3], np.array([0.1, 0.6, 0.3]), (0.1, 0.6, 0.3), {"c": 0.3, "a": 0.1, "b": 0.6}]
    posteriors = [clf.predict_proba(X, class_prior=prior) for prior in said]
    for posterior in posteriors:
        np.testing.assert_array_equal(posterior, posteriors[0])
    np.testing.assert_array_equal(clf.explain(X, class_prior=said[3]).posterior, posteriors[0])
    np.testing.assert_array_equal(clf.predict(X, class_prior=said[3]), clf.classes_[posteriors[0].argmax(axis=1)])
    np.testing.assert_allclose(clf.session(class_prior=said[3]).posterior, [0.1, 0.6, 0.3], atol=1e-12)


@pytest.mark.parametrize("labels", [[True, False], [3, 1], [2.0, 5.0]])
def test_labels_that_are_no_strings_can_be_named_too(labels):
    X = np.array([[0.0], [1.0]] * 10)
    clf = Classifier(stopping=ip.MaxQueries(0)).fit(X, labels * 10)
    posterior = clf.predict_proba(X[:1], class_prior={labels[0]: 0.9, labels[1]: 0.1})[0]
    assert posterior[clf.classes_.tolist().index(labels[0])] == pytest.approx(0.9)


def test_a_class_may_be_ruled_out():
    clf, X, _ = fitted()
    posterior = clf.predict_proba(X, class_prior=[0.5, 0.5, 0])
    assert (posterior[:, 2] == 0).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1)


@pytest.mark.parametrize("when", ["fit", "predict", "session"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("balanced", r"class_prior is 'balanced'; expected one probability for each of the 3 classes"),
        ([0.5, 0.5], r"class_prior has shape \(2,\); expected one probability for each of the 3 classes"),
        (0.5, r"class_prior has shape \(\)"),
        ([0.5, 0.4, 0.3], r"class_prior must be probabilities that sum to 1; got \[0.5, 0.4, 0.3\] \(sum 1.2\)"),
        ([1.5, -0.5, 0.0], "class_prior must be probabilities"),
        ([0.5, 0.5, np.nan], "class_prior must be probabilities"),
        ([0.5, "many", 0.5], "class_prior is"),
        (
            {"a": 0.5, "b": 0.5},
            r"class_prior names \[\] that are no classes and leaves out \['c'\]; give one entry for each",
        ),
        ({"a": 0.5, "b": 0.2, "c": 0.2, "d": 0.1}, r"class_prior names \['d'\] that are no classes"),
        ({0: 0.5, 1: 0.25, 2: 0.25}, r"names \[0, 1, 2\] that are no classes and leaves out \['a', 'b', 'c'\]"),
        ({"a": 0.5, "b": 0.5, "c": "few"}, "class_prior is"),
    ],
)
def test_what_is_no_prior_is_refused(when, wrong, message):
    clf, X, y = fitted()
    attempt = {"fit": partial(clf.fit, X, y), "predict": partial(clf.predict, X), "session": clf.session}[when]
    with pytest.raises(ValueError, match=message):
        attempt(class_prior=wrong)
