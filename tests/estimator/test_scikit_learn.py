"""The classifier as a citizen of scikit-learn: all its checks, pipelines, cross-validation, searches, clones."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import infopursuit as ip

Classifier = ip.InformationPursuitClassifier


# These tables are constant in places, about which `columns` rightly warns.
@pytest.mark.filterwarnings("ignore:left out, for having fewer than two different known values")
@pytest.mark.usefixtures("quick_hybrid")
@parametrize_with_checks([Classifier()])
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(),),
        (KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),),
        (StandardScaler().set_output(transform="pandas"),),
    ],
    ids=["scaled", "binned", "frame"],
)
def test_in_a_pipeline(steps):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(*steps, Classifier(strategy="table", stopping=ip.Confidence(0.01)))
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.85


def test_after_a_vectorizer():
    texts = ["new trailer out", "watch the trailer", "senate votes", "the senate delays votes"] * 6
    y = ["film", "film", "news", "news"] * 6
    pipeline = make_pipeline(CountVectorizer(), Classifier())
    assert pipeline.fit(texts, y).score(texts, y) == 1
    assert cross_val_score(pipeline, texts, y, cv=3).tolist() == [1, 1, 1]


def test_in_a_search_over_rules_models_and_queries():
    X, y = load_iris(return_X_y=True)
    grid = {
        "stopping": [ip.Confidence(0.05), ip.MaxQueries(0)],
        "strategy": [ip.models.latent_classes(2), ip.models.naive_bayes(1.0)],
        "queries": [ip.queries.columns(bins=2), ip.queries.columns(bins=8)],
    }
    search = GridSearchCV(Classifier(), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["stopping"] == ip.Confidence(0.05)  # without a question one can only guess
    assert search.best_score_ > 0.9
    results = zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    assert max(score for settings, score in results if settings["stopping"] == ip.MaxQueries(0)) < 0.4


@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "queries": ip.queries.columns(bins=3),
            "strategy": ip.models.latent_classes(2),
            "patience": 2,
            "dtype": "float32",
        },
        {
            "queries": ip.queries.concepts(["a", "b"]),
            "stopping": ip.Confidence(0.2) | ip.MaxQueries(2),
            "random_state": 3,
        },
        {"queries": ip.queries.functions({"long": lambda X: [len(x) > 3 for x in X]}), "strategy": "empirical"},
        {"strategy": ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), "exact_gains": True, "verbose": False},
    ],
)
def test_a_clone_has_the_same_settings_and_nothing_learnt(options):
    clf = Classifier(**options)
    other = clone(clf)
    assert other is not clf
    assert other.get_params().keys() == clf.get_params().keys()
    for name, value in clf.get_params().items():
        assert repr(other.get_params()[name]).split(" at 0x")[0] == repr(value).split(" at 0x")[0]
    assert not [name for name in vars(other) if name.endswith("_")]


def test_a_clone_of_a_fitted_classifier_learns_the_same_again():
    X, y = load_iris(return_X_y=True)
    clf = Classifier(strategy="table").fit(X, y)
    again = clone(clf)
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(again)
    again.fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_fitting_again_forgets_what_was_learnt_before():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = Classifier(strategy=ip.models.naive_bayes(1.0), stopping=ip.MaxQueries(1)).fit(X, y)
    few = X.iloc[:, 2:]
    fresh = Classifier(strategy=ip.models.naive_bayes(1.0), stopping=ip.MaxQueries(1)).fit(few, y > 0)
    clf.fit(few, y > 0)
    assert clf.classes_.tolist() == [False, True]
    assert clf.n_features_in_ == 2
    np.testing.assert_array_equal(clf.predict_proba(few), fresh.predict_proba(few))


def test_fitting_on_something_without_columns_forgets_the_names_of_columns():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = Classifier(strategy=ip.models.naive_bayes(1.0)).fit(X, y)
    texts = ["one text", "another text", "one more", "another more"] * 3
    clf.fit(texts, [0, 1, 0, 1] * 3)
    assert not hasattr(clf, "feature_names_in_")
    assert not hasattr(clf, "n_features_in_")


def test_a_generator_as_random_state_is_drawn_from_once_in_each_fit():
    """Predicting twice must not give two answers, nor disturb the generator."""
    X, y = load_iris(return_X_y=True)
    generators = (np.random.RandomState(0), np.random.RandomState(0), np.random.default_rng(0))
    for generator in generators:
        clf = Classifier(strategy=ip.models.naive_bayes(1.0), random_state=generator, exact_gains=False).fit(X, y)
        seed = clf.pursuit_.seed
        after = np.random.RandomState(0)
        after.randint(2**31 - 1)
        clf.predict_proba(X[:3], class_prior=[0.2, 0.3, 0.5])
        clf.session(class_prior=[0.2, 0.3, 0.5])
        assert clf.pursuit_.seed == seed
        if isinstance(generator, np.random.RandomState):
            assert generator.randint(1000) == after.randint(1000)


def test_the_constructor_only_assigns():
    """Nonsense is refused by fit, where the data is, so that searches and clones can pass anything around."""
    clf = Classifier(queries=1, strategy=2, belief=3, stopping=4, patience=5.5, random_state="6", device=7, dtype=8)
    assert clf.get_params()["device"] == 7
    assert clf.set_params(strategy="table").strategy == "table"
