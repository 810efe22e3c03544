"""Behind scalers and in a grid search: names of columns, and the parameters of a stopping rule."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import infopursuit as ip


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
