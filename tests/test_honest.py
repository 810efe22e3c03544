"""What is said about probabilities: whether they are calibrated, and which classes are likely without a target."""

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.session import Session

MARK = "(not calibrated)"


def patients(n=400, seed=0):
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 3, n)
    frame = pd.DataFrame({f"x{j}": rng.normal(ill * (j < 2), 1.0).round(2) for j in range(4)})
    return frame.assign(sex=rng.choice(["f", "m"], n)), np.array(["a", "b", "c"])[ill]


@pytest.fixture(scope="module")
def tuned():
    return ip.InformationPursuitClassifier(strategy="table").fit(*patients())


def test_probabilities_that_are_not_calibrated_are_marked(tmp_path, tuned):
    X, y = patients(16)
    learnt = ip.InformationPursuitClassifier(ip.queries.columns(bins=2), strategy="table", stopping=ip.Confidence(0.2))
    learnt.fit(X, y)
    assert learnt.tuning_ is None
    learnt.save(tmp_path)
    for clf in (learnt, ip.load(tmp_path)):
        shown = clf.explain(X[:1])[0]
        assert MARK in str(shown)
        assert MARK in ip.report.write(shown)
        assert str(Explanation.from_json(shown.to_json())) == str(shown)
        assert MARK in str(clf.session().explanation)
    for text in (str(tuned.explain(X[:1])[0]), tuned.explain(X[:1])[0].to_json()):
        assert MARK not in text
        assert "calibrated" not in text
    stated = ip.fit_table(pd.DataFrame({"animal": ["cat", "owl"], "fur": [1, 0]}), "animal")
    assert MARK not in str(stated.session().answer("yes").explanation)
    assert isinstance(stated.session(), Session)


def test_prediction_sets_are_not_offered_before_calibrate(tuned):
    """The rows that could fit them have chosen the rule and the temperatures."""
    X, _ = patients(5, 1)
    with pytest.raises(ValueError, match="calibrate"):
        tuned.predict_set(X)
    with pytest.raises(ValueError, match="calibrate"):
        tuned.session_set(tuned.session())


def test_a_rule_that_was_given_is_what_the_held_out_figures_are_about():
    X, y = patients()
    clf = ip.InformationPursuitClassifier(strategy="table", stopping="auto", max_questions=1).fit(X, y)
    assert clf.assessment_.n_questions <= 1
    hybrid = ip.Hybrid(n_members=2, training=ip.strategies.hybrid.hybrid.Training(max_steps=100, n_units=8))
    clf = ip.InformationPursuitClassifier(strategy=hybrid, stopping=ip.MaxQueries(2)).fit(X, y)
    assert clf.tuning_.rule == ip.MaxQueries(2)
    assert clf.assessment_.n_questions == 2
