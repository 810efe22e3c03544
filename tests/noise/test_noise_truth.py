"""Answers that may be wrong, against the enumeration of everything that may be said."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.pursuit.noise import NoisyAnnotator
from noisy_truth import NoisyTruth
from worlds import KINDS, random_history, rule_of, world_of

EXACT = 1e-9


def noisy_world(seed, kind=None, *, max_repeats=1):
    """A small world, who answers about it, and the truth of both."""
    world, rng = world_of(7000 + seed, kind=KINDS[seed % len(KINDS)] if kind is None else kind)
    some = {}
    for q in rng.permutation(len(world.queries))[:2].tolist():
        n_cells = {len(set(cells[cells >= 0].tolist())) for cells in world.queries.query_cells[q]} - {0}
        if len(n_cells) == 1 and rng.random() < 0.5:
            some[world.queries.names[q]] = rng.dirichlet(np.ones(n_cells.copy().pop()), size=n_cells.pop())
        else:
            some[world.queries.names[q]] = float(rng.choice([0.6, 0.99, 1.0]))
    noise = ip.AnswerNoise(float(rng.choice([0.7, 0.9])), some, max_repeats)
    channel = noise.bind(world.queries)
    tables = [
        [channel.confusion_matrices[channel.which[q, w]] for w, variable in enumerate(variables) if variable >= 0]
        for q, variables in enumerate(world.queries.query_variables)
    ]
    return world, rng, noise, NoisyTruth(world.truth, tables)


def noisy_history(world, truth, rng, n, *, repeats=False):
    """n answers, right or wrong, possible together; some not known, some said to be likely only."""
    history = []
    for query, answer in random_history(world, rng, n):
        if answer is not None and rng.random() < 0.4:
            told = []
            for w, cell in enumerate(answer):
                wrong = rng.integers(len(truth.tables[query][w])) if rng.random() < 0.5 else cell
                told.append(int(wrong) if cell != -1 else -1)
            if truth.probability([*history, (query, tuple(told))]) > 1e-12:
                answer = tuple(told)
        if truth.probability([*history, (query, answer)]) > 1e-12:
            history.append((query, answer))
            if repeats and answer is not None and rng.random() < 0.5:
                history.append((query, answer))
    return history


@pytest.mark.parametrize("seed", range(60))
def test_beliefs_and_gains(seed):
    """Posterior, probability of the history and every gain, exact and cut into pieces."""
    world, rng, noise, truth = noisy_world(seed, max_repeats=3)
    options = ({}, {"exact_gains": True}, {"exact_gains": False}, {"memory_limit": 1})[seed % 4]
    pursuit = world.pursuit(noise=noise, **options)
    for n in (0, 2, len(world.queries)):
        history = noisy_history(world, truth, rng, n, repeats=True)
        state = pursuit.at(tuple(history))
        np.testing.assert_allclose(state.posterior[0], truth.posterior(history), rtol=0, atol=EXACT)
        assert state.log_evidence[0] == pytest.approx(np.log(truth.probability(history)), abs=EXACT)
        gains = pursuit.utilities(state).value[0]
        _, expected = truth.best(history, 3)
        for query in range(len(world.queries)):
            if query in expected:
                assert gains[query] == pytest.approx(expected[query], abs=EXACT)
            else:
                assert np.isnan(gains[query])


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("again", [1, 3])
def test_what_is_asked(seed, again):
    """The whole strategy, answers from somebody who errs: a query is asked again where that tells most."""
    world, rng, noise, truth = noisy_world(100 + seed, max_repeats=again)
    values = world.inputs(rng, 4, unknown=0.2 if seed % 3 == 0 else 0.0)
    pursuit = world.pursuit([("max_queries", 5)], noise=noise)
    trace = pursuit.run_values(values, annotator=NoisyAnnotator(world.queries, noise, seed, fresh=True))
    for i in range(len(values)):
        history = trace.history(i)
        for k, (query, _) in enumerate(history):
            best, gains = truth.best(history[:k], again)
            if trace.stop_reason[i] == "impossible" and k == len(history) - 1:
                break
            assert gains[query] == pytest.approx(gains[best], abs=2e-9)
            assert trace.gains[i, k] == pytest.approx(gains[query], abs=EXACT)
            np.testing.assert_allclose(trace.posteriors[i, k], truth.posterior(history[:k]), rtol=0, atol=EXACT)


def test_a_query_is_asked_again_where_that_tells_most():
    """One query that tells much and is wrong now and then, one that tells little: the first is asked again."""
    model = ip.models.TableModel([0.5, 0.5], None, [[1.0, 0.55], [0.0, 0.45]])
    queries = ip.queries.concepts(["tells", "hardly tells"])
    again = ip.generative_pursuit(model, queries, noise=ip.AnswerNoise(0.8, max_repeats=5), stopping=ip.MaxQueries(3))
    session = again.session()
    for _ in range(2):
        assert session.question.name == "tells"
        session.answer("yes")
    assert session.posterior[0] == pytest.approx(0.8**2 / (0.8**2 + 0.2**2))
    once = ip.generative_pursuit(model, queries, noise=ip.AnswerNoise(0.8), stopping=ip.MaxQueries(3)).session()
    once.answer("yes")
    assert once.question.name == "hardly tells"


def test_what_was_not_known_is_not_asked_again():
    model = ip.models.TableModel([0.5, 0.5], None, [[1.0, 0.55], [0.0, 0.45]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]), noise=ip.AnswerNoise(0.8, max_repeats=5))
    assert pursuit.session().skip().question.name == "b"


@pytest.mark.parametrize("seed", range(30))
def test_answers_that_are_likely_only(seed):
    """A session that takes answers as they are, and some that are not certain."""
    world, rng, _, truth = noisy_world(200 + seed)
    exact = NoisyTruth(world.truth, [[np.eye(len(t)) for t in tables] for tables in truth.tables])
    pursuit = world.pursuit([("max_queries", 99)])
    session, history = pursuit.session(), []
    for query, answer in random_history(world, rng, 4):
        if answer is not None and rng.random() < 0.7:
            weights = tuple(tuple(rng.uniform(0.1, 1, len(t)).tolist()) for t in truth.tables[query])
            session = pursuit.session([*session.history, (query, ip.SoftAnswer(weights))])
            history.append((query, weights))
        elif exact.probability([*history, (query, answer)]) > 0:
            session = pursuit.session([*session.history, (query, answer)])
            history.append((query, answer))
        np.testing.assert_allclose(session.posterior, exact.posterior(history), rtol=0, atol=EXACT)
    for query, gain in exact.best(history, 1)[1].items():
        assert session.gains[query] == pytest.approx(gain, abs=EXACT)
    np.testing.assert_array_equal(pursuit.believe(session.history), session.posterior)


@pytest.mark.parametrize("seed", range(12))
def test_alone_as_in_a_batch(seed):
    world, rng, noise, _ = noisy_world(300 + seed)
    values = world.inputs(rng, 8)
    pursuit = world.pursuit([("confidence", 0.05, None), ("max_queries", 4)], noise=noise)
    annotator = NoisyAnnotator(world.queries, noise, 5)
    together = pursuit.run_values(values, annotator=annotator)
    for i in range(len(values)):
        session = pursuit.session()
        while session.question is not None:
            q = session.question.index
            told = world.queries.answers_of(values[i : i + 1], np.array([q]))
            told = annotator.answer(np.array([i]), np.array([q]), told, len(session.history))
            session.answer(told[0].tolist())
        assert session.history == together.history(i)
        np.testing.assert_allclose(session.posterior, together.posterior[i], rtol=0, atol=EXACT)


def test_reliability_one_is_none():
    """Somebody who is always right is taken at their word."""
    for seed in range(10):
        world, rng = world_of(400 + seed)
        values = world.inputs(rng, 6)
        rules = rule_of([("max_queries", 4)])
        plain = ip.generative_pursuit(world.model, world.queries, stopping=rules).run_values(values)
        sure = ip.generative_pursuit(world.model, world.queries, stopping=rules, noise=ip.AnswerNoise(1.0)).run_values(
            values
        )
        np.testing.assert_array_equal(plain.queries, sure.queries)
        np.testing.assert_allclose(plain.posteriors, sure.posteriors, rtol=0, atol=1e-12)
        assert plain.stop_reason.tolist() == sure.stop_reason.tolist()


def test_a_table_says_the_same_each_time():
    world, rng, _, _ = noisy_world(1)
    pursuit = world.pursuit(noise=ip.AnswerNoise(0.9, max_repeats=2))
    with pytest.raises(ValueError, match="again"):
        pursuit.run_values(world.inputs(rng, 2))
