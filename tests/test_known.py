"""What is known beforehand: absorbed first, at no cost, never asked, not counted, and shown as known."""

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.app.conversation import resume_session, save_session
from infopursuit.pursuit.explanation import Explanation
from infopursuit.support.types import Number
from worlds import world_of


def table(n=300, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "glucose": rng.uniform(60, 200, n).round(), "age": rng.uniform(20, 80, n).round(1),
        "bill": rng.choice(["flat", "hooked"], n), "smoker": rng.integers(0, 2, n), "legs": rng.integers(2, 5, n),
    })  # fmt: skip
    label = (frame.glucose > 130).astype(int) + (frame.age > 50) + (frame.bill == "flat")
    frame.loc[rng.random(n) < 0.15, "age"] = np.nan
    return frame, label.to_numpy()


X, Y = table()


@pytest.fixture(scope="module")
def clf():
    rule = ip.Confidence(0.05) | ip.MaxQueries(3)
    return ip.InformationPursuitClassifier(ip.queries.columns(X), "table", stopping=rule).fit(X, Y)


def test_a_batch_knows_first_and_asks_then(clf):
    qs, pursuit = clf.queries_, clf.pursuit_
    glucose, age = (qs.names.index(name) for name in ("glucose", "age"))
    trace = clf.explain(X, known=["glucose", "age"])
    assert [query for query, _ in trace.known[0]] == [glucose, age]
    assert not np.isin(trace.queries, [glucose, age]).any()
    assert trace.length.max() <= 3
    assert trace.length.max() > 1
    assert len(clf.explain(X).history(0)) > 0
    for i in range(0, len(X), 29):
        known, asked = trace.known_history(i), trace.history(i)
        np.testing.assert_allclose(pursuit.believe(known), trace.posteriors[i, 0], atol=1e-12)
        np.testing.assert_allclose(pursuit.believe((*known, *asked)), trace.posterior[i], atol=1e-12)
        assert known[0][1] == Number(X.glucose[i], known[0][1].cells)
        assert (known[1][1] is None) == np.isnan(X.age[i])


def test_the_budget_is_for_what_is_asked(clf):
    pursuit = ip.generative_pursuit(clf.model_, clf.queries_, stopping=ip.MaxQueries(2), costs=ip.Costs({"glucose": 5}))
    trace = pursuit.run(X[:20], known=["glucose"])
    assert trace.length.tolist() == [2] * 20
    np.testing.assert_array_equal(trace.cost, 2)
    np.testing.assert_array_equal(trace.settled_at, 2)
    cheap = ip.generative_pursuit(clf.model_, clf.queries_, stopping=ip.MaxCost(2), costs=ip.Costs({"glucose": 5}))
    assert cheap.run(X[:5], known=["glucose"]).length.tolist() == [2] * 5
    assert pursuit.run(X[:5], known=list(X.columns)).stop_reason.tolist() == ["exhausted"] * 5


def test_a_session_is_the_batch(clf):
    trace = clf.explain(X, known=["glucose", "bill"])
    for i in (0, 3, 8):
        session = clf.session(known={"glucose": X.glucose[i], "bill": X.bill[i]})
        while session.question is not None:
            name = session.question.name
            value = X[name][i]
            session.answer(None if pd.isna(value) else value if name in ("age", "legs") else int(value))
        assert session.known == trace.known_history(i)
        assert session.history == trace.history(i)
        np.testing.assert_allclose(session.posterior, trace.posterior[i], atol=1e-12)
        assert session.explanation == trace[i]


def test_the_explanation_says_what_was_known(clf):
    explanation = clf.session(known={"glucose": 148, "bill": "flat"}).answer(None).explanation
    assert [step.phrase for step in explanation.known] == ["known: glucose 148", "known: bill flat"]
    assert all(step.known for step in explanation.known)
    assert not any(step.known for step in explanation.steps)
    assert len(explanation) == 1
    assert "known: glucose 148" in str(explanation).splitlines()[1]
    assert Explanation.from_json(explanation.to_json()).known == explanation.known
    assert "glucose" in ip.report.write(explanation)
    i = int(np.flatnonzero(np.isnan(X.age))[0])
    assert clf.explain(X[i : i + 1], known=["age"])[0].known[0].phrase == "missing: age"


def test_a_row_of_a_table(clf):
    """Of pandas: missing entries are left out, and 1.0 is yes."""
    row = pd.Series({"age": np.nan, "smoker": 1.0, "legs": 3.0, "glucose": 148.0, "bill": None})
    session = clf.session(known=row)
    names = [clf.queries_.names[q] for q, _ in session.known]
    assert names == ["smoker", "legs", "glucose"]
    assert [clf.queries_.say_answer(q, said) for q, said in session.known] == ["yes", "3", "148"]
    assert session.state.histories.n_known == 3
    with pytest.raises(RuntimeError, match="nothing to undo"):
        session.undo()


def test_a_column_of_thresholds_is_known_whole():
    qs = ip.queries.columns(X, numbers="thresholds", bins=4, yes_no=True)
    clf = ip.InformationPursuitClassifier(qs, "table", stopping=ip.Confidence(0.0)).fit(X, Y)
    about = [name for name in qs.names if name.startswith("glucose")]
    session = clf.session(known={"glucose": 148, "bill": "flat"})
    assert [qs.names[q] for q, _ in session.known] == [*about, "bill is hooked"]
    trace = clf.explain(pd.DataFrame([dict(X.iloc[0]) | {"glucose": 148, "bill": "flat"}]), known=["glucose", "bill"])
    assert trace.known_history(0) == session.known


def test_concepts_are_known_by_name():
    world, _ = world_of(3, kind="yes_no")
    pursuit = ip.generative_pursuit(world.model, world.queries)
    name = world.queries.names[0]
    assert pursuit.session(known={name: 1.0}).known == ((0, (1,)),)
    assert pursuit.session(known={0: "yes"}).known == ((0, (1,)),)
    asked_again = ip.generative_pursuit(world.model, world.queries, noise=ip.AnswerNoise(0.8, max_repeats=3))
    assert np.isnan(asked_again.session(known={name: True}).gains[0])


@pytest.mark.parametrize(
    ("known", "error", "says"),
    [
        ({"glucos": 3}, ValueError, "did you mean 'glucose'"),
        ({"bill": "round"}, ValueError, "'round' is no answer to 'bill'"),
        ({"glucose": "high"}, ValueError, "'high' is no answer to 'glucose'"),
        (["glucose"], TypeError, "known="),
        ({17: 3}, ValueError, "known: query"),
    ],
)
def test_what_cannot_be_known_is_refused(clf, known, error, says):
    with pytest.raises(error, match=says):
        clf.session(known=known)


def test_unknown_names_of_a_batch_are_refused(clf):
    with pytest.raises(ValueError, match="did you mean 'glucose'"):
        clf.explain(X[:2], known=["glucos"])


def test_what_is_known_and_impossible():
    model = ip.models.TableModel([0.5, 0.5], None, [[1.0, 0.5], [1.0, 0.2]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]))
    with pytest.raises(ip.ImpossibleAnswer, match="known"):
        pursuit.session(known={"a": "no"})
    assert pursuit.run([[0, 1]], known=["a"]).stop_reason.tolist() == ["impossible"]


def test_states_at_a_history_know_it_too(clf):
    pursuit = clf.pursuit_
    session = clf.session(known={"glucose": 148})
    session.answer(None)
    at = pursuit.at(session.history, known=session.known)
    np.testing.assert_array_equal(at.posterior[0], session.posterior)
    assert at.histories.n_known == 1
    again = pursuit.at(session.history, pursuit.at((), known=session.known), known=session.known)
    np.testing.assert_array_equal(again.closed, at.closed)


def test_saved_sessions_keep_what_was_known(clf, tmp_path):
    session = clf.session(known={"glucose": 148, "bill": "flat"})
    save_session(session, tmp_path / "s.json")
    again = resume_session(clf.pursuit_, tmp_path / "s.json")
    assert again.known == session.known
    assert again.question == session.question


@pytest.mark.parametrize("known", [{"glucose": 85}, "glucose"])
def test_a_batch_knows_columns_and_no_values(clf, known):
    with pytest.raises(TypeError, match="known"):
        clf.explain(X[:2], known=known)


def test_a_whole_number_is_a_category_and_no_index():
    frame = pd.DataFrame({"ward": pd.Categorical([10, 20, 30] * 40), "noise": np.arange(120) % 7})
    clf = ip.InformationPursuitClassifier(strategy="table").fit(frame, np.array(["a", "b", "c"] * 40))
    assert clf.session(known={"ward": 20}).known[0][1] == (1,)
    with pytest.raises(ValueError, match="ward"):
        clf.session(known={"ward": 1})
