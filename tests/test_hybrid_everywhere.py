"""A hybrid classifier in the place of a generative model: everything that takes a classifier takes it."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import infopursuit as ip
from infopursuit import jobs
from infopursuit.app import cli
from infopursuit.app.server.app import create_app
from infopursuit.app.server.registry import load_models
from infopursuit.evaluation.evaluate import evaluate
from infopursuit.models.networks.masked import Training

QUICK = ip.Hybrid(n_members=2, training=Training(max_steps=200))
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


def iris():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=NAMES)
    frame["place"] = np.random.default_rng(0).choice(["wood", "field"], len(frame))
    return frame, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def fitted():
    """A classifier, and rows that it has not seen."""
    X, y = iris()
    order = np.random.default_rng(1).permutation(len(X))
    train, test = order[:110], order[110:]
    clf = ip.InformationPursuitClassifier(strategy=QUICK).fit(X.iloc[train], y[train])
    assert clf.model_ is None
    return clf, X.iloc[test].reset_index(drop=True), y[test]


@pytest.fixture(scope="module")
def folder(fitted, tmp_path_factory):
    """The saved classifier, and tables beside it."""
    clf, X, y = fitted
    path = tmp_path_factory.mktemp("hybrid")
    clf.save(path / "model")
    X.assign(kind=y).to_csv(path / "test.csv", index=False)
    X.to_csv(path / "plain.csv", index=False)
    return path


def run(capsys, *args, stdin=None):
    """A command in this process; its output without the breaks of lines."""
    code = cli.main(list(map(str, args)), stdin=stdin)
    said = capsys.readouterr()
    assert code == 0, said.err
    return " ".join(said.out.split())


def test_a_session_is_asked_as_a_batch_is(fitted):
    clf, X, _ = fitted
    trace = clf.explain(X)
    for i in range(3):
        session = clf.session()
        while session.question is not None:
            session.answer(X.loc[i, session.question.name])
        assert [q for q, _ in session.history] == trace.queries[i, : trace.length[i]].tolist()
        np.testing.assert_allclose(session.posterior, trace.posterior[i], rtol=0, atol=1e-9)
    session.undo()
    assert session.question is not None
    told = trace[0]
    assert ip.Explanation.from_json(told.to_json()).prediction == told.prediction
    assert "petal" in str(told)


def test_what_is_known_beforehand_is_not_asked(fitted):
    clf, X, y = fitted
    session = clf.session(known={"petal width": 0.2})
    assert session.posterior.argmax() == 0
    trace = clf.explain(X, known=["petal width"])
    asked = trace.queries[trace.queries >= 0]
    assert clf.queries_.names.index("petal width") not in asked
    assert (trace.predictions == y).mean() > 0.85


@pytest.mark.usefixtures("quick_hybrid")
def test_fitted_at_the_command_line(tmp_path, capsys):
    X = np.random.default_rng(0).uniform(size=(400, 3))
    frame = pd.DataFrame(X, columns=["one", "two", "three"])
    frame["above"] = np.where(X[:, 0] + X[:, 1] > 2 * X[:, 2], "yes", "no")
    frame.to_csv(tmp_path / "table.csv", index=False)
    said = run(capsys, "fit", tmp_path / "table.csv", "--label", "above", "--out", tmp_path / "model", "--no-assess")
    assert "hybrid: " in said
    assert ip.load(tmp_path / "model").tuning_.strategy == "hybrid"


def test_ask(folder, capsys):
    answers = io.StringIO("1.4\n0.2\n5.0\n3.4\nwood\n")
    said = run(capsys, "ask", folder / "model", stdin=answers)
    assert "setosa" in said
    assert "petal" in said


def test_served(folder):
    with warnings.catch_warnings(action="ignore"):  # of a library about another library
        from fastapi.testclient import TestClient
    pursuit = ip.load(folder / "model").pursuit_
    with TestClient(create_app(load_models([f"iris={folder / 'model'}"]))) as client:
        assert client.get("/v1/models/iris").status_code == 200
        history = []
        while True:
            told = client.post("/v1/models/iris/next", json={"history": history, "explanation": True})
            assert told.status_code == 200, told.text
            session = pursuit.session([(each["query"], each["answer"]) for each in history])
            np.testing.assert_allclose(list(told.json()["posterior"].values()), session.posterior, rtol=0, atol=1e-9)
            assert told.json()["stop_reason"] == session.stop_reason
            if session.question is None:
                break
            assert told.json()["question"]["name"] == session.question.name
            history.append({"query": session.question.name, "answer": 1.5 if "petal" in session.question.name else 5})
        assert history
        page = client.post("/v1/models/iris/report", json={"history": history})
        assert page.status_code == 200, page.text


def test_explained_in_a_job(fitted, folder, tmp_path, capsys):
    clf, X, y = fitted
    done = jobs.explain(folder / "test.csv", folder / "model", tmp_path / "job", label="kind", part=7)
    assert done.summary.n_inputs == len(X)
    rows = pd.read_parquet(done.traces)
    assert rows["prediction"].tolist() == clf.explain(X).predictions.tolist()
    assert rows["label"].tolist() == y.tolist()
    run(capsys, "explain", folder / "test.csv", "--model", folder / "model", "--label", "kind",
        "--html", tmp_path / "page.html")  # fmt: skip
    assert "petal" in (tmp_path / "page.html").read_text()


def test_evaluated(fitted, folder, tmp_path, capsys):
    clf, X, y = fitted
    found = evaluate(clf, X, y)
    assert found.n_inputs == len(X)
    said = run(capsys, "evaluate", folder / "model", folder / "test.csv", "--label", "kind",
               "--out", tmp_path / "found.json")  # fmt: skip
    assert "PredictorBelief" in said
    assert json.loads((tmp_path / "found.json").read_text())["n_inputs"] == len(X)


def test_inspected(fitted, folder, tmp_path, capsys):
    clf, X, y = fitted
    tree = ip.strategy_tree(clf, 2)
    assert tree.root.probability == 1
    assert clf.queries_.names[tree.root.query] == clf.session().question.name
    assert sum(branch.probability for branch in tree.root.branches) == pytest.approx(1)
    with_data = ip.strategy_tree(clf, 2, X=X)
    assert with_data.root.query == tree.root.query
    asked = ip.query_frequencies(clf.explain(X), y)
    assert asked.names[int(asked.first.argmax())] == clf.session().question.name
    said = run(capsys, "inspect", folder / "model", "--data", folder / "test.csv", "--label", "kind",
               "--json", tmp_path / "inspected.json", "--png", tmp_path / "tree.png")  # fmt: skip
    assert "petal" in said
    assert (tmp_path / "tree.png").stat().st_size > 1000


def test_drawn(fitted):
    pytest.importorskip("matplotlib")
    from infopursuit import plots

    clf, X, y = fitted
    trace = clf.explain(X)
    assert plots.strategy_tree(ip.strategy_tree(clf, 2)).texts
    assert plots.heatmap(trace[0], truth=y[0]) is not None


def test_the_model_card_says_what_it_is(fitted):
    clf, _, _ = fitted
    card = clf.model_card()
    assert "`PredictorBelief` with 2 `MaskedClassifier`" in card
    assert "### Tuning" in card
    assert f"{clf.tuning_.n_rows} held-out rows" in card
    assert "**not calibrated**" not in card
    assert "independent given the class" not in card
    assert "not calibrated" in ip.InformationPursuitClassifier(
        strategy="table", stopping=ip.Confidence(0.01)
    ).fit(*iris()).model_card()  # fmt: skip


def test_calibrated(fitted):
    clf, _, _ = fitted
    X, y = iris()
    again = ip.InformationPursuitClassifier(strategy=QUICK, stopping=ip.Confidence(0.05)).fit(X[::2], y[::2])
    again.calibrate(X[1::2], y[1::2], target=0.8, delta=0.1, coverage=0.9)
    assert again.predict_set(X).any(axis=1).all()
    assert again.score(X, y) > 0.85
    assert clf.pursuit_.patience == 0


def test_with_costs_and_constraints(fitted):
    _, X, y = fitted
    X_train, y_train = iris()
    rules = {
        "costs": ip.Costs({"petal width": 50.0}),
        "constraints": ip.Constraints(prerequisites={"petal length": ["sepal length"]}, forbidden=["place"]),
    }
    clf = ip.InformationPursuitClassifier(strategy=QUICK, stopping=ip.Confidence(0.05), **rules).fit(X_train, y_train)
    names = [[clf.queries_.names[q] for q in row if q >= 0] for row in clf.explain(X).queries]
    for row in names:
        assert "place" not in row
        if "petal length" in row:
            assert "sepal length" in row[: row.index("petal length")]
    assert clf.score(X, y) > 0.8
