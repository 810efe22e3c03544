"""Behind scalers and in a grid search: original units, and the parameters of a stopping rule."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, RobustScaler, StandardScaler

import infopursuit as ip
from infopursuit.models.masked import Training

HYBRID = ip.Hybrid(n_members=2, training=Training(max_steps=60, n_units=8))


def people(n=150, seed=0):
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "glucose": rng.normal(110 + 40 * ill, 15).round(1),
            "age": rng.normal(40 + 10 * ill, 12).round(),
            "sex": rng.choice([1, 2], n),
        }
    )
    return frame, np.where(ill, "ill", "well")


@pytest.mark.parametrize("strategy", ["table", HYBRID], ids=["table", "hybrid"])
@pytest.mark.parametrize("as_frame", [True, False])
def test_a_classifier_behind_scalers_asks_in_original_units(strategy, as_frame, tmp_path):
    X, y = people()
    X = X if as_frame else X.to_numpy()
    clf = ip.InformationPursuitClassifier(strategy=strategy, stopping=ip.MaxQueries(2))
    pipeline = make_pipeline(MinMaxScaler(), StandardScaler(), RobustScaler(), clf).fit(X, y)
    again = ip.original_units(pipeline)
    np.testing.assert_allclose(again.predict_proba(X), pipeline.predict_proba(X), atol=1e-9)
    session = again.session()
    name = "glucose" if as_frame else "x0"
    assert str(session.question) == f"What is {name}?"
    values = np.asarray(X)[:, 0]
    scale = again.queries_.scale(0)
    assert (scale.low, scale.high) == pytest.approx((values.min(), values.max()))
    assert all(values.min() < t < values.max() for t in scale.thresholds)
    assert str(session.answer(148).explanation).count(f"{name}: 148 ") == 1
    again.save(tmp_path)
    np.testing.assert_allclose(ip.load(tmp_path).predict_proba(X), again.predict_proba(X))


def test_only_some_columns_are_scaled():
    X, y = people()
    X = X.assign(town=np.where(X["age"] > 45, "A", "B"), junk=X["age"] * 2)
    scaler = ColumnTransformer(
        [("numbers", StandardScaler(), ["age", "glucose"]), ("junk", "drop", ["junk"])], remainder="passthrough"
    ).set_output(transform="pandas")
    clf = ip.InformationPursuitClassifier(strategy="table", stopping=ip.Confidence(0.05))
    pipeline = make_pipeline(scaler, clf).fit(X, y)
    assert "numbers__age" in pipeline[-1].queries_.names
    again = ip.original_units(pipeline)
    assert again.queries_.names == ("age", "glucose", "sex", "town")
    np.testing.assert_allclose(again.predict_proba(X), pipeline.predict_proba(X), atol=1e-9)


def test_what_has_no_original_unit_is_refused_with_a_remedy():
    X, y = people()
    clf = ip.InformationPursuitClassifier(strategy="table", stopping=ip.Confidence(0.05))
    pipeline = make_pipeline(QuantileTransformer(n_quantiles=20), clf).fit(X, y)
    with pytest.raises(ValueError, match=r"'quantiletransformer'.*leave it out"):
        ip.original_units(pipeline)


def test_names_come_through_scalers_that_keep_them():
    X, y = people()
    clf = ip.InformationPursuitClassifier(strategy="table", stopping=ip.Confidence(0.05))
    pipeline = make_pipeline(StandardScaler(), clf).set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].queries_.names == ("glucose", "age", "sex")


def test_a_grid_search_over_the_rule():
    X, y = people()
    clf = ip.InformationPursuitClassifier(strategy="table", stopping=ip.Confidence(0.5))
    search = GridSearchCV(clf, {"stopping__epsilon": [0.4, 0.01]}, cv=2).fit(X, y)
    assert clf.stopping == ip.Confidence(0.5)
    assert search.best_estimator_.stopping.epsilon == search.best_params_["stopping__epsilon"]
    assert search.best_estimator_.pursuit_.stopping == search.best_estimator_.stopping
    both = clf.set_params(stopping=ip.Confidence(0.5) | ip.MaxQueries(3), stopping__max_queries__n=2)
    assert both.stopping == ip.Confidence(0.5) | ip.MaxQueries(2)
    assert both.get_params()["stopping__confidence__epsilon"] == 0.5
    with pytest.raises(ValueError, match="epsilonn"):
        clf.set_params(stopping__epsilonn=1)
    with pytest.raises(TypeError, match="stopping"):
        ip.InformationPursuitClassifier().set_params(stopping__epsilon=0.1)
