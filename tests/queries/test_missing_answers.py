"""A missing cell as an answer of its own."""

import json

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.models.networks.masked import Training
from infopursuit.queries import Columns, columns


def patients(n=240, seed=0):
    """Whether insulin was measured says all; its number says nothing."""
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 2, n)
    gone = ill == (rng.random(n) < 0.95)
    frame = pd.DataFrame(
        {
            "insulin": np.where(gone, np.nan, rng.normal(100, 20, n).round(1)),
            "x": rng.normal(0, 1, n).round(2),
            "smoker": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 2, n)),
            "town": np.where(rng.random(n) < 0.1, None, rng.choice(["a", "b", "c"], n)),
            "scan": np.where(gone, None, "done"),
            "children": np.where(gone, np.nan, rng.integers(0, 4, n)),
        }
    )
    return frame, np.where(ill, "ill", "well")


def test_columns_with_missing_cells_have_one_more_answer():
    X, _ = patients()
    qs = columns(X, missing="answer")
    assert qs.names == tuple(X.columns)
    choices = {name: tuple(qs.choices(q)) for q, name in enumerate(qs.names)}
    assert choices["insulin"][0] == "missing"
    assert choices["insulin"][1].startswith("up to ")
    assert "missing" not in choices["x"]
    assert choices["smoker"] == ("no", "yes", "missing")
    assert choices["town"] == ("a", "b", "c", "missing")
    assert choices["scan"] == ("done", "missing")
    assert choices["children"] == ("0", "1", "2", "3", "missing")
    seen = qs.read(X)
    assert (seen.values >= 0).all()
    for q, name in enumerate(qs.names):
        said = np.array([choices[name][v] == "missing" for v in seen.values[:, q]])
        np.testing.assert_array_equal(said, X[name].isna())
    np.testing.assert_array_equal(seen.numbers[:, 0], X["insulin"])
    assert qs.observe(X[:1].assign(town="z"))[0, 3] == -1  # a new category is unknown, and not missing
    assert qs.to_answer(0, -5).cells == (1,)
    assert qs.to_answer(0, "missing") == (0,)
    assert qs.say(0, (0,)) == "insulin: missing"
    again = Columns.from_spec(json.loads(json.dumps(qs.to_spec())))
    assert again.fields == qs.fields


def test_by_default_missing_is_unknown():
    X, _ = patients()
    with pytest.warns(UserWarning, match="'scan'"):
        qs = columns(X)
    assert (qs.observe(X) < 0).any()
    assert "missing" not in str(columns(X.drop(columns="scan")).to_spec())
    with pytest.raises(ValueError, match="numbers='values'"):
        columns(X, missing="answer", numbers="thresholds")


@pytest.mark.parametrize(
    "strategy", ["table", ip.Hybrid(n_members=2, training=Training(max_steps=300, n_units=16))], ids=["table", "hybrid"]
)
def test_missingness_tells_the_classes_apart(strategy, tmp_path):
    X, y = patients()
    X = X[["insulin", "x", "smoker"]]
    clf = ip.InformationPursuitClassifier(columns(missing="answer"), strategy, stopping=ip.MaxQueries(1)).fit(X, y)
    assert clf.score(X, y) > 0.9
    clf.save(tmp_path)
    np.testing.assert_allclose(ip.load(tmp_path).predict_proba(X), clf.predict_proba(X))
    plain = ip.InformationPursuitClassifier(columns(), strategy, stopping=ip.MaxQueries(1)).fit(X, y)
    assert plain.score(X, y) < 0.8
    session = clf.session()
    assert session.question.name == "insulin"
    gone = X["insulin"].isna().to_numpy()
    trace = clf.explain(X)
    assert np.isnan(trace.numbers[gone, 0]).all()
    np.testing.assert_allclose(session.answer("missing").posterior, trace.posterior[gone][0])
    assert "insulin: missing" in str(trace[int(np.flatnonzero(gone)[0])])
