"""The choices of the hybrid strategy: predictors from elsewhere, and models of the answers."""

import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import infopursuit as ip
from infopursuit.models.networks.masked import Training
from infopursuit.models.sample import Sample
from infopursuit.strategies import LookAhead
from infopursuit.strategies.hybrid.belief import OwnPredictor, PredictorBelief, answer_vectors
from infopursuit.testing import check_acquisition, check_belief, check_strategy

QUICK = Training(n_units=16, max_steps=60, batch=32, check=20)


def table(n=240, seed=0):
    """Numbers, whole numbers, categories and gaps; the class depends on three of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(50, 10, n).round(1),
            "legs": rng.choice([2.0, 4.0, 6.0], n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "noise": rng.normal(size=n),
        }
    )
    score = (X["size"] > 50).astype(int) + (X["colour"] == "red") + (X["legs"] == 4)
    y = np.where(rng.random(n) < 0.05, "small", np.where(score >= 2, "large", "small"))
    X.loc[rng.random(n) < 0.2, "size"] = np.nan
    X.loc[rng.random(n) < 0.1, "colour"] = None
    return X, y


X, Y = table()
QUERIES = ip.queries.columns(X)


def sample():
    read = QUERIES.read(X)
    return Sample.of(QUERIES.variables, read.values, np.unique(Y, return_inverse=True)[1], None, 2, read.numbers)


def histories(n=30, seed=0):
    """(H, Q) answer vectors with most answers hidden."""
    answers = answer_vectors(QUERIES, sample().values, sample().numbers)[0][:n]
    return np.where(np.random.default_rng(seed).random(answers.shape) < 0.5, answers, np.nan)


# ---- the hybrid strategy with each choice ---------------------------------------------------------------------------


def classifier(stopping="auto", **options):
    strategy = ip.Hybrid(n_members=2, training=QUICK, **options)
    return ip.InformationPursuitClassifier(strategy=strategy, stopping=stopping, random_state=0)


def test_contracts_and_files(tmp_path, caplog):
    options = {"acquisition": LookAhead(depth=2)}
    clf = classifier(**options).fit(X, Y)
    pursuit = clf.pursuit_
    assert clf.tuning_.strategy == "hybrid"
    assert len(clf.pursuit_.belief.predictor.member(0).predict(histories())[0]) == 30
    check_belief(pursuit.belief, QUERIES, n_histories=3, n_steps=2)
    check_acquisition(pursuit.acquisition, pursuit.belief, QUERIES, n_histories=2, tolerance=2e-5)
    check_strategy(pursuit, X[:3], tolerance=2e-5)  # networks look ahead in float32
    with caplog.at_level(logging.WARNING):
        clf.save(tmp_path / "model")
    again = ip.load(tmp_path / "model")
    assert again.pursuit_.acquisition == options["acquisition"]
    traces = [each.explain(X) for each in (clf, again)]
    np.testing.assert_array_equal(traces[0].queries, traces[1].queries)
    np.testing.assert_allclose(traces[0].posteriors, traces[1].posteriors, atol=1e-12)
    assert "contains" not in caplog.text
    assert "contains its training data" not in clf.model_card()


@pytest.mark.parametrize("part", ["answers", "predictor"])
def test_parts_that_are_gone_are_refused(part):
    spec, arrays = classifier().fit(X, Y).pursuit_.belief.to_parts()
    PredictorBelief.from_parts(spec, arrays, QUERIES)
    with pytest.raises(ValueError, match=part):
        PredictorBelief.from_parts({**spec, part: "rows"}, arrays, QUERIES)


@pytest.mark.parametrize("predictor", ["forest", None])
def test_choices_that_do_not_exist(predictor):
    with pytest.raises(ValueError, match="predictor"):
        ip.Hybrid(predictor=predictor)


# ---- predictors from elsewhere --------------------------------------------------------------------------------------


class Spy:
    """Remembers what it is given; ``names``: those of a predictor that was fitted on a frame."""

    def __init__(self, names=None, n=None):
        self.seen = []
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        if n is not None:
            self.n_features_in_ = n

    def predict_proba(self, table):
        self.seen.append(table)
        return np.tile([0.5, 0.5], (len(table), 1))


ENTRIES = np.array([[51.5, 1, 2, np.nan], [np.nan, 0, np.nan, 0.3]])


def test_a_frame_has_the_columns_of_the_training_table():
    spy = Spy(["noise", "extra", *X.columns[:3]])
    OwnPredictor(spy, QUERIES, 2).predict(ENTRIES)
    (frame,) = spy.seen
    assert list(frame.columns) == ["noise", "extra", "size", "legs", "colour"]
    assert frame["legs"].tolist() == [4.0, 2.0]
    assert frame["colour"].astype(object).where(frame["colour"].notna(), None).tolist() == ["red", None]
    assert frame["size"].dropna().tolist() == [51.5]
    assert frame["noise"].dropna().tolist() == [0.3]
    assert frame["extra"].isna().all()


def test_a_matrix_has_numbers_and_codes():
    spy = Spy(n=4)
    OwnPredictor(spy, QUERIES, 2).predict(ENTRIES)
    np.testing.assert_array_equal(spy.seen[0], [[51.5, 4, 2, np.nan], [np.nan, 2, np.nan, 0.3]])


def test_columns_that_were_left_out_are_empty():
    with pytest.warns(UserWarning, match="left out"):
        queries = ip.queries.columns(np.column_stack([np.ones(20), np.arange(20.0), np.arange(20.0) % 7 + 0.5]))
    spy = Spy(n=3)
    OwnPredictor(spy, queries, 2).predict(np.array([[3.0, 0.5]]))
    np.testing.assert_array_equal(spy.seen[0], [[np.nan, 3.0, 0.5]])


def test_dates_and_rare_categories():
    many = [f"kind {i % 3}" for i in range(17)] + ["rare a", "rare b", "rare c"]
    days = pd.date_range("2020-01-01", periods=20)
    queries = ip.queries.columns(pd.DataFrame({"day": days, "kind": many}), max_categories=4)
    spy = Spy(["day", "kind"])
    first = float(np.datetime64("2020-01-05", "us").astype(np.int64))
    OwnPredictor(spy, queries, 2).predict(np.array([[first, 3.0], [np.nan, 1.0]]))
    assert spy.seen[0]["day"].tolist()[0] == pd.Timestamp("2020-01-05")
    assert spy.seen[0]["kind"].isna().tolist() == [True, False]


def test_a_predictor_of_your_own(tmp_path):
    """Boosted trees of scikit-learn on a frame with a categorical column."""
    typed = X.astype({"colour": "category"})
    own = HistGradientBoostingClassifier(max_iter=30, categorical_features="from_dtype").fit(typed, Y)
    clf = classifier(predictor=own).fit(X, Y)
    assert clf.tuning_ is None
    assert clf.pursuit_.stopping == ip.Confidence()
    assert clf.score(X, Y) > 0.85
    assert classifier(predictor=own, stopping=ip.MaxQueries(1)).fit(X, Y).explain(X[:3]).length.tolist() == [1, 1, 1]
    everything = clf.pursuit_.belief.predictor.predict(
        answer_vectors(QUERIES, QUERIES.read(X).values, QUERIES.read(X).numbers)[0]
    )[0]
    np.testing.assert_allclose(everything, own.predict_proba(typed), atol=1e-12)
    check_belief(clf.pursuit_.belief, QUERIES, n_histories=2, n_steps=2)
    check_strategy(clf.pursuit_, X[:2])
    with pytest.raises(TypeError, match=r"HistGradientBoostingClassifier.*saved"):
        clf.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("spy", "queries", "match"),
    [
        (Spy(n=3), QUERIES, "3 columns"),
        (Spy(["size"]), QUERIES, "not fitted on column"),
        (Spy(), ip.queries.columns(X, numbers="thresholds"), "thresholds"),
        (Spy(), ip.queries.concepts(["a"]), "columns"),
    ],
)
def test_predictors_that_do_not_fit(spy, queries, match):
    with pytest.raises(ValueError, match=match):
        OwnPredictor(spy, queries, 2)


def test_classes_must_agree():
    spy = Spy()
    with pytest.raises(ValueError, match="predict_proba"):
        OwnPredictor(spy, QUERIES, 3).predict(ENTRIES)
    spy.classes_ = np.arange(2)
    with pytest.raises(ValueError, match="classes"):
        OwnPredictor(spy, QUERIES, 3)
