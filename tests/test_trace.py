"""The shape of what comes out, and what follows from it."""

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from worlds import Given, World, world_of


@pytest.fixture
def trace():
    """Inputs that stop after different numbers of questions, about one variable and about two, some of them not
    known."""
    rng = np.random.default_rng(4)
    queries = Given(
        ["pair", "one", "three"], [2, 2, 3], [[0, 1], [0, -1], [2, -1]], choices=[[], [], ["red", "green", "blue"]]
    )
    probs = [rng.dirichlet(np.ones(s) / 2, size=(3, 2)) for s in (2, 2, 3)]
    world = World(np.array([0.5, 0.3, 0.2]), np.full((3, 2), 0.5), probs, queries)
    values = np.array([[0, 0, 0], [1, 1, 2], [0, 1, 1], [-1, 1, -1], [-1, -1, -1], [1, 0, 0]])
    return ip.generative_pursuit(
        world.model, queries, stopping=ip.Confidence(0.3), classes=["ant", "bee", "cat"]
    ).run_values(values)


def test_shapes_and_padding(trace):
    B, K, W, C = len(trace), int(trace.length.max()), 2, 3
    assert trace.queries.shape == trace.gains.shape == trace.gain_errors.shape == (B, K)
    assert trace.runners_up.shape == trace.ties.shape == (B, K)
    assert trace.answers.shape == (B, K, W)
    assert trace.posteriors.shape == trace.posterior_errors.shape == (B, K + 1, C)
    assert trace.length.shape == trace.settled_at.shape == trace.stop_reason.shape == (B,)
    assert len(set(trace.length.tolist())) > 1
    after = np.arange(K) >= trace.length[:, None]
    assert (trace.queries[after] == -1).all()
    assert (trace.queries[~after] >= 0).all()
    assert (trace.answers[after] == -1).all()
    assert (trace.gains[after] == 0).all()
    assert (trace.runners_up[after] == -1).all()
    assert not trace.ties[after].any()
    assert trace.ties.dtype == bool
    assert trace.queries.dtype.kind == trace.answers.dtype.kind == "i"
    np.testing.assert_allclose(trace.posteriors.sum(axis=2), 1, atol=1e-12)
    for i in range(B):
        assert (trace.posteriors[i, trace.length[i] :] == trace.posterior[i]).all()
    assert (trace.settled_at <= trace.length).all()


def test_nothing_is_uncertain_where_all_is_exact(trace):
    assert trace.exact_gains
    assert (trace.gain_errors == 0).all()
    assert (trace.posterior_errors == 0).all()


def test_the_runner_up_was_not_asked_before(trace):
    for i in range(len(trace)):
        for k in range(int(trace.length[i])):
            left = {0, 1, 2} - set(trace.queries[i, : k + 1].tolist())
            assert int(trace.runners_up[i, k]) in (left or {-1})


def test_predictions_are_labels_of_the_last_posterior(trace):
    assert trace.predictions.tolist() == [["ant", "bee", "cat"][c] for c in trace.posterior.argmax(axis=1)]
    assert [e.prediction for e in trace] == trace.predictions.tolist()


def test_history_has_no_padding_and_none_for_unknown(trace):
    for i in range(len(trace)):
        history = trace.history(i)
        assert len(history) == trace.length[i]
        for query, answer in history:
            if answer is not None:
                assert len(answer) == (2 if query == 0 else 1)
                assert set(answer) != {-1}
    assert all(answer is None for _, answer in trace.history(4))
    assert (0, (-1, 1)) in trace.history(3)


def test_items_count_from_both_ends(trace):
    assert trace[-1] == trace[len(trace) - 1]
    assert list(trace)[2] == trace[2]
    with pytest.raises(IndexError):
        trace[len(trace)]


def test_items_say_what_the_arrays_say(trace):
    for i, explanation in enumerate(trace):
        k = int(trace.length[i])
        assert [(s.query, s.answer) for s in explanation.steps] == list(trace.history(i))
        np.testing.assert_array_equal(explanation.posteriors, trace.posteriors[i, : k + 1])
        assert [s.gain for s in explanation.steps] == trace.gains[i, :k].tolist()
        assert explanation.settled_at == trace.settled_at[i]
        assert explanation.stop_reason == trace.stop_reason[i]
        assert [s.variables for s in explanation.steps] == [
            {0: (0, 1), 1: (0,), 2: (2,)}[q] for q, _ in trace.history(i)
        ]
        assert explanation.classes == ("ant", "bee", "cat")


def test_repr(trace):
    assert repr(trace).startswith("<Trace of 6 inputs: ")
    assert "0 inputs" in repr(
        ip.generative_pursuit(ip.models.TableModel([1.0], None, [[0.5]]), ip.queries.concepts(["a"])).run(
            np.zeros((0, 1))
        )
    )


def test_a_trace_says_whether_its_gains_are_exact():
    world, rng = world_of(1, kind="yes_no", n_classes=4, n_latents=3, zeros=False)
    values = world.inputs(rng, 4)
    assert world.pursuit([("max_queries", 2)]).run_values(values).exact_gains
    sampled = world.pursuit([("max_queries", 2)], exact_gains=False, n_states=6).run_values(values)
    assert not sampled.exact_gains
    assert (sampled.gain_errors > 0).any()
    assert (sampled.posterior_errors == 0).all()  # gains are sampled, the posterior of a finite model never is


def test_many_steps_grow_the_trace():
    """More questions than the writer first makes room for, for some inputs only."""
    n = 40
    p = np.full((2, n), 0.5)
    p[:, 0] = 0.999, 0.001
    model = ip.models.TableModel([0.5, 0.5], None, p)
    pursuit = ip.generative_pursuit(
        model, ip.queries.concepts([f"q{i}" for i in range(n)]), stopping=ip.Confidence(0.01) | ip.MaxQueries(35)
    )
    values = np.zeros((3, n))
    values[1, 0] = np.nan
    values[2] = 1
    trace = pursuit.run(values)
    assert trace.length.tolist() == [1, 35, 1]
    assert trace.queries[1].tolist() == list(range(35))
    assert trace.posteriors.shape == trace.posterior_errors.shape == (3, 36, 2)
    assert trace.runners_up.shape == trace.ties.shape == (3, 35)
    assert trace.runners_up[1].tolist() == list(range(1, 36))
    assert trace.ties[1].tolist() == [False] + [True] * 34  # all but the first tell nothing
    assert trace.runners_up[0].tolist() == [1] + [-1] * 34
    np.testing.assert_allclose(trace.posteriors[0, 1:], [[0.001, 0.999]] * 35)
    np.testing.assert_allclose(trace.posteriors[1], 0.5)


# ---- as tables -------------------------------------------------------------------------------------------------------


def test_a_frame_has_a_row_for_each_step(trace):
    frame = trace.to_frame()
    assert len(frame) == trace.length.sum()
    first = ["input", "step", "query", "question", "answer", "number", "gain", "cost", "prediction", "confidence"]
    assert frame.columns.tolist() == [*first, *(f"p_{label}" for label in trace.classes)]
    rows = iter(frame.to_dict("records"))
    for i, explanation in enumerate(trace):
        for k, step in enumerate(explanation.steps):
            row = next(rows)
            assert (row["input"], row["step"], row["query"], row["question"]) == (i, k + 1, step.name, step.sentence)
            assert row["answer"] == step.said if step.answer is not None else pd.isna(row["answer"])
            assert row["gain"] == step.gain
            assert [row[f"p_{label}"] for label in trace.classes] == list(step.posterior)
            assert row["confidence"] == max(step.posterior) == row[f"p_{row['prediction']}"]


def test_a_frame_of_inputs(trace):
    frame = trace.to_frame(per="input")
    assert frame["prediction"].tolist() == trace.predictions.tolist()
    assert frame["length"].tolist() == frame["cost"].tolist() == trace.length.tolist()
    assert frame["stop_reason"].tolist() == trace.stop_reason.tolist()
    np.testing.assert_array_equal(frame[[f"p_{label}" for label in trace.classes]], trace.posterior)
    with pytest.raises(ValueError, match="per="):
        trace.to_frame(per="query")


@pytest.mark.parametrize("per", ["step", "input"])
def test_an_arrow_table_says_the_same(trace, per):
    table, frame = trace.to_arrow(per), trace.to_frame(per)
    assert table.column_names == frame.columns.tolist()
    assert table.num_rows == len(frame)
    for name in ("number", "gain", "confidence"):
        if name in frame:
            np.testing.assert_array_equal(table[name].to_pandas(), frame[name])
    assert per == "input" or table["answer"].null_count == sum(s.answer is None for e in trace for s in e.steps)


def test_numbers_and_costs_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(2)
    costs = ip.Costs({"x0": 3.0, "x1": 2.0})
    asked = ip.queries.columns(names=["x0", "x1"])
    clf = ip.InformationPursuitClassifier(asked, strategy="table", stopping=ip.MaxQueries(2), costs=costs)
    frame = clf.fit(X, X[:, 0] > 0).explain(X[:3]).to_frame()
    for row in frame.to_dict("records"):
        assert row["number"] == X[row["input"], int(row["query"][1])]
        assert row["cost"] == {"x0": 3.0, "x1": 2.0}[row["query"]]


def test_nothing_asked_gives_tables_without_rows(trace):
    empty = ip.generative_pursuit(
        ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.1]]), ip.queries.concepts(["a"]), stopping=ip.MaxQueries(0)
    )
    assert len(empty.run([[1.0]]).to_frame()) == empty.run([[1.0]]).to_arrow().num_rows == 0
