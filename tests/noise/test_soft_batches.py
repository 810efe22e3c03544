"""Probabilities in a batch, such as the concept scores of a network: each is a soft answer, as a session is told it."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.evaluation.evaluate import map_using_q
from infopursuit.queries import concepts, groups, union
from infopursuit.support.types import Observed, SoftAnswer
from infopursuit.testing import check_queries
from noisy_truth import NoisyTruth
from worlds import world_of

NAMES = [f"c{i}" for i in range(6)]
SOFT = concepts(NAMES, soft=True)
EXACT = 1e-9


def model_of(seed=0, n_latents=3):
    rng = np.random.default_rng(seed)
    latent = rng.dirichlet(np.ones(n_latents), size=4)
    return ip.models.TableModel(rng.dirichlet(np.ones(4)), latent, rng.random((4, n_latents, 6)))


def scores_of(n, seed=0):
    """Probabilities, among them 0, 1, 0.5 and gaps."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.4, 0.4, size=(n, 6)).round(2)
    scores[rng.random(scores.shape) < 0.1] = np.nan
    scores[:, 3] = rng.uniform(0, 0.4, size=n)  # a session leaves out what is known to be missing
    scores[0] = [0, 1, 0.5, 0.3, np.nan, 0.9]
    return scores


def as_told(p):
    return None if np.isnan(p) else "yes" if p == 1 else "no" if p == 0 else {"yes": p, "no": 1 - p}


@pytest.mark.parametrize("noise", [None, ip.AnswerNoise(1.0), ip.AnswerNoise(0.9)])
@pytest.mark.parametrize("known", [(), ("c3",)])
def test_a_batch_is_what_sessions_with_the_same_soft_answers_are(noise, known):
    pursuit = ip.generative_pursuit(model_of(), SOFT, stopping=ip.Confidence(0.05), noise=noise)
    scores = scores_of(30)
    trace = pursuit.run(scores, known=known)
    assert len(trace.soft_answers) > 30
    for i, row in enumerate(scores):
        session = pursuit.session(known={name: as_told(row[NAMES.index(name)]) for name in known})
        while session.question is not None:
            session.answer(as_told(row[session.question.index]))
        mine, its = trace[i], session.explanation
        assert [(s.query, s.answer, s.said) for s in mine.steps] == [(s.query, s.answer, s.said) for s in its.steps]
        assert mine.stop_reason == its.stop_reason
        np.testing.assert_allclose(mine.posteriors, its.posteriors, atol=EXACT)
        np.testing.assert_allclose([s.gain for s in mine.steps], [s.gain for s in its.steps], atol=EXACT)
        np.testing.assert_allclose(pursuit.believe((*trace.known_history(i), *trace.history(i))), trace.posterior[i])
        one = pursuit.run(row[None], known=known)
        assert one.queries[0, : one.length[0]].tolist() == [s.query for s in mine.steps]
        np.testing.assert_allclose(one.posterior[0], trace.posterior[i], atol=EXACT)


@pytest.mark.parametrize("seed", range(12))
def test_a_batch_is_right(seed):
    """Queries, gains and posteriors, against the enumeration of all values with the likelihood of what was said. The
    world's queries reveal one or several variables, whole or in part."""
    world, rng = world_of(9000 + seed)
    queries, sizes = world.queries, world.queries.variables.sizes
    values = world.inputs(rng, 8, unknown=0.2)
    soft = queries.variables.one_hot(values)
    unsure = rng.random(values.shape) < 0.6
    for variable, size in enumerate(sizes):
        rows = np.flatnonzero(unsure[:, variable] & (values[:, variable] >= 0))
        slots = queries.variables.slots[variable, :size]
        soft[rows[:, None], slots] = rng.dirichlet(np.ones(size), size=len(rows)) * 0.9 + 0.1 / size
    tables = [
        [np.eye(int(n)) for n in queries.n_cells[q][queries.query_variables[q] >= 0]] for q in range(len(queries))
    ]
    truth = NoisyTruth(world.truth, tables)
    pursuit = world.pursuit(rules=(("max_queries", 3),))
    trace = pursuit.run_values(Observed(values, soft=soft))
    for i in range(len(trace)):
        history = []
        for k, (query, said) in enumerate(trace.history(i)):
            assert trace.gains[i, k] == pytest.approx(truth.gain(query, history), abs=EXACT)
            left = np.flatnonzero(~pursuit.at(trace.history(i)[:k]).closed[0]).tolist()
            assert truth.gain(query, history) >= max(truth.gain(q, history) for q in left) - 1e-8
            history.append((query, said.weights if isinstance(said, SoftAnswer) else said))
            if trace.stop_reason[i] != "impossible":
                np.testing.assert_allclose(trace.posteriors[i, k + 1], truth.posterior(history), atol=EXACT)


def test_soft_answers_say_less_than_certain_ones():
    """Scores near 0.5 leave the belief near the prior, scores near 0 and 1 give that of certain answers."""
    pursuit = ip.generative_pursuit(model_of(), SOFT, stopping=ip.MaxQueries(4))
    certain = np.random.default_rng(0).integers(0, 2, size=(20, 6)).astype(float)
    sharp, blunt = (pursuit.run(np.where(certain == 1, p, 1 - p)) for p in (1 - 1e-12, 0.5 + 1e-12))
    np.testing.assert_allclose(sharp.posterior, pursuit.run(certain).posterior, atol=1e-6)
    np.testing.assert_allclose(blunt.posterior, blunt.posteriors[:, 0], atol=1e-6)


def test_all_scores_together_by_enumeration():
    """MAP using Q weighs every score."""
    pursuit, scores = ip.generative_pursuit(model_of(n_latents=1), SOFT), scores_of(10)
    yes = np.stack([np.exp(pursuit.model.log_prior)] * 10) * np.prod(
        [
            np.where(np.isnan(p)[:, None], 1.0, p[:, None] * on + (1 - p)[:, None] * (1 - on))
            for p, on in zip(scores.T, np.asarray(pursuit.model.state_probs(np.arange(4)))[1::2], strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(
        map_using_q(pursuit, SOFT.read(scores)), yes / yes.sum(axis=1, keepdims=True), atol=EXACT
    )


def test_a_classifier_learns_and_explains_from_scores():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=400)
    true = rng.random((400, 6)) < np.array([[0.9, 0.9, 0.1, 0.1, 0.5, 0.5], [0.1] * 6, [0.5] * 2 + [0.95] * 4])[y]
    scores = np.where(true, rng.uniform(0.4, 1, true.shape), rng.uniform(0, 0.6, true.shape))
    clf = ip.InformationPursuitClassifier(SOFT, strategy="table", stopping=ip.Confidence(0.05)).fit(
        scores[:300], y[:300]
    )
    trace = clf.explain(scores[300:])
    assert (trace.predictions == y[300:]).mean() > 0.7
    np.testing.assert_allclose(clf.predict_proba(scores[300:]), trace.posterior, atol=EXACT)
    assert "probably" in str(trace[0])
    assert ip.Explanation.from_json(trace[0].to_json()) == trace[0]


def test_query_sets_of_scores():
    scores = scores_of(6)
    check_queries(SOFT, scores)
    both = union(([0, 1], concepts(["a", "b"])), (list(range(2, 8)), SOFT))
    found = both.read(np.concatenate([[[0.0, np.nan]] * 6, scores], axis=1))
    np.testing.assert_array_equal(found.soft[:, 4:], SOFT.read(scores).soft)
    np.testing.assert_array_equal(found.soft[:, :4], [[1, 0, np.nan, np.nan]] * 6)
    together = groups(SOFT, {"all": NAMES[:3]})
    said = together.told(together.read([[0.2, np.nan, 1.0, 0, 0, 0]]), np.array([3]))
    assert said[0].tolist() == [[0, -1, 1]]
    assert said[2][0].weights == ((pytest.approx(0.8), pytest.approx(0.2)), (1.0, 1.0), (0.0, 1.0))


@pytest.mark.parametrize(
    ("scores", "message"), [([[1.2] * 6], "probability from 0 to 1"), ([[-0.1] * 6], "X\\[0, 0\\]")]
)
def test_what_is_no_probability_is_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        SOFT.observe(scores)
    with pytest.raises(ValueError, match="presence"):
        concepts(["a"], soft=True, presence=True)


def test_a_belief_that_takes_answers_as_certain_refuses_scores():
    pursuit = ip.generative_pursuit(model_of(n_latents=2), SOFT, belief="pruned")
    with pytest.raises(ValueError, match=r"noise=ip.AnswerNoise\(1.0\)"):
        pursuit.run(scores_of(3))
