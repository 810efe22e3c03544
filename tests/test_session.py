"""A session is the same pursuit, answered from outside."""

import json
from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.calibration.novelty import NoveltyReference
from infopursuit.pursuit.protocols import Belief, Estimate
from infopursuit.strategies import FixedOrder, RandomOrder
from worlds import KINDS, Given, World, random_rules, table_model, world_of


def assert_same_as_trace(session, trace, i):
    """Where a session stands after its stop is what the batch says of the same input."""
    assert session.question is None
    assert session.stop_reason == trace.stop_reason[i]
    assert session.history == trace.history(i)
    k = int(trace.length[i])
    np.testing.assert_allclose(session.posterior, trace.posterior[i], rtol=0, atol=1e-9)
    explanation = session.explanation
    assert len(explanation) == k
    assert explanation.settled_at == trace.settled_at[i]
    assert explanation.stop_reason == trace.stop_reason[i]
    assert [step.query for step in explanation.steps] == trace.queries[i, :k].tolist()
    np.testing.assert_allclose(explanation.posteriors, trace.posteriors[i, : k + 1], rtol=0, atol=1e-9)
    np.testing.assert_allclose([step.gain for step in explanation.steps], trace.gains[i, :k], rtol=0, atol=1e-9)
    assert session.prediction == trace.predictions[i] == explanation.prediction


def standing(session):
    """All that can be seen of a session, as something that can be compared."""
    question = None if session.question is None else session.question.index
    gains = np.nan_to_num(session.gains, nan=-1).tolist()
    return question, session.history, session.posterior.tolist(), gains, session.stop_reason, session.explanation


def pick(rng, world, query, answer):
    """One of the ways in which a person or a program may give an answer."""
    if answer is None or -1 in answer:
        return answer
    limits = [int(n) for n in world.queries.n_cells[query][: len(answer)]]
    index = int(np.ravel_multi_index(answer, limits))
    return [index, world.queries[query].choices[index], answer, list(answer), np.array(answer), np.int64(index)][
        rng.integers(6)
    ]


@pytest.mark.parametrize(
    "options", [{}, {"exact_gains": False, "n_states": 4, "n_screened": 2}], ids=["exact", "sampled"]
)
@pytest.mark.parametrize("seed", range(25))
def test_a_session_takes_the_same_way_as_the_batch(seed, options):
    """Answers given by choice, index or cells; an answer that is impossible is refused, and the state is kept."""
    world, rng = world_of(20_000 + seed, kind=KINDS[seed % len(KINDS)])
    rules, patience = random_rules(rng), int(rng.integers(0, 3))
    values = world.inputs(rng, 6, unknown=0.25 if seed % 2 else 0.0)
    trace = world.pursuit(rules, patience, **options).run_values(values)
    pursuit = world.pursuit(rules, patience, **options)
    for i in range(len(values)):
        session = pursuit.session()
        history = trace.history(i)
        last = history[-1] if trace.stop_reason[i] == "impossible" else None
        for query, answer in history[:-1] if last else history:
            assert session.question.index == query
            assert session.gains[query] == pytest.approx(trace.gains[i, len(session.history)], abs=1e-12)
            session.answer(pick(rng, world, query, answer))
        if last is None:
            assert_same_as_trace(session, trace, i)
            continue
        assert session.question.index == last[0]
        before = standing(session)
        with pytest.raises(ip.ImpossibleAnswer):
            session.answer(last[1])
        assert standing(session) == before


def test_impossible_raises_in_a_session_and_stops_a_batch():
    values = np.array([[1, 1], [1, 0], [0, 0], [0, 1]])
    probs = [np.array([[[0.0, 1.0]], [[0.0, 1.0]]]), np.array([[[0.3, 0.7]], [[0.6, 0.4]]])]
    pursuit = ip.generative_pursuit(
        table_model([0.5, 0.5], np.ones((2, 1)), probs), ip.queries.concepts(["a", "b"]), stopping=ip.MaxQueries(2)
    )
    trace = pursuit.run(values)
    assert trace.queries.tolist() == [[1, 0]] * 4
    assert trace.stop_reason.tolist() == ["max_queries", "max_queries", "impossible", "impossible"]
    assert trace.length.tolist() == trace.settled_at.tolist() == [2, 2, 2, 2]
    assert trace.answers[2].ravel().tolist() == [0, 0]
    np.testing.assert_array_equal(trace.posteriors[2, 2], trace.posteriors[2, 1])
    session = pursuit.session().answer("no")
    with pytest.raises(ip.ImpossibleAnswer, match="a: no"):
        session.answer("no")
    with pytest.raises(ip.ImpossibleAnswer):
        session.answer(0)
    assert session.history == ((1, (0,)),)
    session.answer("yes")
    assert session.stop_reason == "max_queries"
    with pytest.raises(ip.ImpossibleAnswer):
        pursuit.session([("a", "no")])


def test_a_refused_answer_does_not_use_up_patience():
    """The rule holds at the first check; a refused answer in between must not count as a second one."""
    probs = [np.array([[[0.0, 1.0]], [[0.0, 1.0]]]), np.array([[[0.0, 1.0]], [[0.0, 1.0]]])]
    model = table_model([0.95, 0.05], np.ones((2, 1)), probs)
    session = ip.generative_pursuit(
        model, ip.queries.concepts(["a", "b"]), stopping=ip.Confidence(0.1), patience=2
    ).session()
    for _ in range(3):
        with pytest.raises(ip.ImpossibleAnswer):
            session.answer("no")
    session.answer("yes")
    assert session.stop_reason is None
    session.answer("yes")
    assert session.stop_reason == "confidence"
    assert session.explanation.settled_at == 0


@pytest.mark.parametrize("seed", range(15))
def test_undo_goes_back_to_the_same_place(seed):
    """Random answers, skips and undos end where the answers that were left would have led."""
    world, rng = world_of(21_000 + seed, kind=KINDS[seed % len(KINDS)], zeros=False)
    rules, patience = [*random_rules(rng), ("max_queries", 6)], int(rng.integers(0, 3))
    pursuit = world.pursuit(rules, patience)
    session, given = pursuit.session(), []
    for _ in range(12):
        if given and (session.question is None or rng.random() < 0.35):
            session.undo()
            given.pop()
        elif session.question is not None:
            n = int(world.queries.n_answers[session.question.index])
            value = None if rng.random() < 0.25 else int(rng.integers(n))
            try:
                session.answer(value)
            except ip.ImpossibleAnswer:  # it contradicts an earlier one about the same variable; nothing was taken
                pass
            else:
                given.append(value)
        fresh = pursuit.session()
        for value in given:
            fresh.skip() if value is None else fresh.answer(value)
        assert standing(session) == standing(fresh)
        assert (session.explanation.stop_reason == "open") == (session.question is not None)


def test_undo_with_nothing_to_undo_and_answers_after_the_stop():
    world, _ = world_of(3, kind="yes_no")
    session = world.pursuit([("max_queries", 1)]).session()
    with pytest.raises(RuntimeError, match="nothing to undo"):
        session.undo()
    session.skip()
    assert session.question is None
    with pytest.raises(RuntimeError, match="max_queries"):
        session.answer(1)
    with pytest.raises(RuntimeError, match="max_queries"):
        session.skip()
    assert session.undo().question is not None


def test_a_skip_is_a_step_that_teaches_nothing():
    world, _ = world_of(5, kind="categorical", zeros=False)
    session = world.pursuit([("max_queries", 2)]).session()
    first, prior = session.question.index, session.posterior
    session.skip()
    assert session.history == ((first, None),)
    np.testing.assert_array_equal(session.posterior, prior)
    assert session.question.index != first
    assert np.isnan(session.gains[first])
    session.skip()
    assert session.stop_reason == "max_queries"
    np.testing.assert_array_equal(session.posterior, prior)


def test_a_skip_leaves_patience_unchanged():
    """Confidence held once before the skip; the skip is no second check, the next answer is."""
    model = ip.models.TableModel([0.9, 0.1], None, [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]])
    pursuit = ip.generative_pursuit(
        model, ip.queries.concepts(["a", "b", "c"]), stopping=ip.Confidence(0.2), patience=1
    )
    session = pursuit.session()
    session.skip()
    assert session.stop_reason is None
    session.answer(1)
    assert session.stop_reason == "confidence"
    assert session.explanation.settled_at == 0
    trace = pursuit.run([[np.nan, 1, 1], [np.nan, np.nan, np.nan], [1, 1, 1]])
    assert trace.length.tolist() == [2, 3, 1]
    assert trace.settled_at.tolist() == [0, 3, 0]
    assert trace.stop_reason.tolist() == ["confidence", "exhausted", "confidence"]


def test_what_is_no_answer_is_refused_and_changes_nothing():
    queries = Given(["shape", "pair"], [3, 2, 2], [[0, -1], [1, 2]], choices=[["round", "square", "long"], []])
    rng = np.random.default_rng(0)
    world = World(
        np.array([0.4, 0.6]), np.ones((2, 1)), [rng.dirichlet(np.ones(s), size=(2, 1)) for s in (3, 2, 2)], queries
    )
    session = world.pursuit([("max_queries", 2)]).session()
    question = session.question
    before = standing(session)
    for bad in (7, "purple", 1.5, (0, 0, 0), (9, 0), -2, True if question.index == 1 else 3):
        with pytest.raises(ValueError, match="is no answer to"):
            session.answer(bad)
    assert standing(session) == before


def test_choices_and_indices_mean_the_same():
    queries = Given(["shape"], [3], [[0]], choices=[["round", "square", "long"]])
    rng = np.random.default_rng(0)
    world = World(np.array([0.4, 0.6]), np.ones((2, 1)), [rng.dirichlet(np.ones(3), size=(2, 1))], queries)
    for index, choice in enumerate(["round", "square", "long"]):
        answers = (index, choice, choice.upper(), (index,), np.int64(index))
        posteriors = [world.pursuit([("max_queries", 1)]).session().answer(a).posterior.tolist() for a in answers]
        assert posteriors == [posteriors[0]] * 5
        np.testing.assert_allclose(posteriors[0], world.truth.posterior([(0, (index,))]), atol=1e-14)


def test_a_session_may_begin_with_a_history():
    """Also one that the pursuit would not have chosen: its gains are not known then, and its JSON is still JSON."""
    world, _ = world_of(22_002, kind="mixed", zeros=False)
    pursuit = world.pursuit([("max_queries", 4)])
    chosen = pursuit.session().question.index
    other = (chosen + 1) % len(world.queries)
    session = pursuit.session([(world.queries.names[other], 0), (chosen, None)])
    assert [query for query, _ in session.history] == [other, chosen]
    np.testing.assert_allclose(session.posterior, world.truth.posterior(session.history), atol=1e-12)
    explanation = session.explanation
    assert np.isnan(explanation.steps[0].gain)
    assert "NaN" not in explanation.to_json()
    again = ip.Explanation.from_json(explanation.to_json())
    assert np.isnan(again.steps[0].gain)
    assert json.loads(explanation.to_json())["steps"][0]["gain"] is None
    assert again.to_json() == explanation.to_json()
    assert pursuit.session(session.history).history == session.history
    for bad in ("no such question", len(world.queries), -1):
        with pytest.raises(ValueError, match="history"):
            pursuit.session([(bad, 0)])


# ---- parts that are exchanged, and strategies of other kinds --------------------------------------------------------


def full_pursuit():
    model, queries = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.6], [0.1, 0.4]]), ip.queries.concepts(["a", "b"])
    pursuit = ip.generative_pursuit(
        model,
        queries,
        stopping=ip.Confidence(0.2) | ip.MaxQueries(2),
        costs=ip.Costs({"a": 3.0}),
        constraints=ip.Constraints({"b": "a"}),
        calibrator=ip.TemperatureScaling(2.0),
    )
    return replace(pursuit, novelty=NoveltyReference.from_model(pursuit, 50))


def test_another_noise_keeps_all_other_parts():
    pursuit = full_pursuit()
    noisy = replace(pursuit, noise=ip.AnswerNoise(0.8))
    for name in ("calibrator", "novelty", "costs", "constraints", "stopping", "acquisition"):
        assert getattr(noisy, name) is getattr(pursuit, name), name
    assert noisy.query_costs.tolist() == [3.0, 1.0]
    trace = noisy.run([[1, 1]])
    assert trace.p_values is not None
    assert trace.cost[0] >= 3
    p = 0.8 * 0.9 + 0.2 * 0.1
    after = np.sqrt([p, 1 - p]) / np.sqrt([p, 1 - p]).sum()
    np.testing.assert_allclose(trace.posteriors[0, 1], after, atol=1e-12)


@pytest.mark.parametrize("acquisition", [FixedOrder(["b", "a"]), RandomOrder(3)], ids=lambda a: a.kind)
def test_a_strategy_with_scores_has_no_gains(acquisition):
    """It may order queries as it likes; what it gives are no nats, so that no gain is shown and no rule needs one."""
    pursuit = replace(full_pursuit(), acquisition=acquisition, constraints=None, costs=None, novelty=None,
                      stopping=ip.MaxQueries(2))  # fmt: skip
    trace = pursuit.run([[1, 0], [0, 1]])
    assert trace.length.tolist() == [2, 2]
    assert np.isnan(trace.gains).all()
    if isinstance(acquisition, FixedOrder):
        assert trace.queries.tolist() == [[1, 0], [1, 0]]
    explanation = trace[0]
    assert json.loads(explanation.to_json())["steps"][0]["gain"] is None
    assert "nan" not in str(explanation).lower()
    session = pursuit.session(trace.history(0)[:1])
    assert session.question.index == trace.queries[0, 1]
    for rule in (
        ip.InformationGain(0.1),
        ip.MaxQueries(2) | ip.InformationGain(0.1),
        ip.Confidence(0.1) & ip.InformationGain(),
    ):
        with pytest.raises(ValueError, match="stopping"):
            replace(pursuit, stopping=rule)


class Frequencies(Belief):
    """A belief that takes every answer as certain: class frequencies among remembered rows."""

    n_classes = 2

    def init(self):
        return np.zeros((1, 2))

    def update(self, b, parents, new):
        return b[parents] + np.where(new.answers[:, -1] == 1, [[1.0, 0.0]], [[0.0, 1.0]])

    def log_posterior(self, b):
        return Estimate.exact(b - np.logaddexp.reduce(b, axis=1, keepdims=True))


def test_a_belief_that_does_not_accept_noise_refuses_soft_answers():
    queries = ip.queries.concepts(["a", "b"])
    pursuit = ip.Pursuit(queries, Frequencies(), FixedOrder(), stopping=ip.MaxQueries(2))
    session = pursuit.session()
    with pytest.raises(ValueError, match="noise"):
        session.answer("yes", confidence=0.8)
    with pytest.raises(ValueError, match="noise"):
        session.answer({"yes": 0.8, "no": 0.2})
    assert session.history == ()
    assert session.answer("yes").posterior[0] > 0.5
    with pytest.raises(ValueError, match="noise"):
        replace(pursuit, noise=ip.AnswerNoise(0.9))
