"""Probabilities of 0 and 1 and next to them, against fractions: nothing is lost, and nothing is not a number."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rational import Rational
from soundness import assert_sound, assert_sound_session

import infopursuit as ip
from infopursuit.calibration.temperature import TemperatureScaling
from infopursuit.models import EmpiricalModel, Flip, TableModel
from infopursuit.strategies import SMC, Langevin
from infopursuit.support.types import SoftAnswer
from quadrature import mixed, pixels, yes_no
from worlds import random_world, table_model

EXTREME = [0.0, 1.0, 5e-324, 1e-320, 1e-310, 1e-300, 1e-200, 1e-45, 1e-38, 1e-17, 1e-12, 1e-6, 0.5, 0.3, 0.9]
"""Among them numbers so small that a float64 has no normal form for them."""
CLOSE = 1e-9


def simplex(rng, shape):
    """Extreme probabilities over the last axis; one of each row is what the others leave."""
    p = rng.choice(EXTREME, size=shape)
    for row in p.reshape(-1, shape[-1]):
        rest = rng.integers(shape[-1])
        row[rest] = 0
        if row.sum() > 1:
            row /= row.sum()
        else:
            row[rest] = 1 - row.sum()
    return p


def extreme_world(seed, kinds=("yes_no", "thresholds", "categorical", "patches", "mixed")):
    """(generator, queries, model, truth) of a world with one to three classes."""
    rng = np.random.default_rng(seed)
    queries = random_world(rng, kind=str(rng.choice(kinds))).queries
    n_classes, n_latents = (int(n) for n in rng.integers(1, 4, size=2))
    prior, latent = simplex(rng, (n_classes,)), simplex(rng, (n_classes, n_latents))
    probs = [simplex(rng, (n_classes, n_latents, size)) for size in queries.variables.sizes]
    return rng, queries, table_model(prior, latent, probs), Rational(prior, latent, probs, queries), (prior, probs)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_a_pursuit_agrees_with_fractions(seed):
    rng, queries, model, truth, (prior, probs) = extreme_world(seed)
    X = np.stack([rng.integers(-1, size, size=6) for size in queries.variables.sizes], axis=1)
    c = int(rng.choice(len(prior), p=prior))
    X[0] = [rng.choice(table.shape[2], p=table[c, 0] / table[c, 0].sum()) for table in probs]
    X[1], X[2] = -1, X[3]
    exact = None if rng.random() < 0.7 else False
    pursuit = ip.generative_pursuit(model, queries, stopping=ip.MaxQueries(len(queries)), exact_gains=exact)
    trace = pursuit.run_values(X)
    assert_sound(trace)
    for i in range(len(X)):
        history = list(trace.history(i))
        for k in range(len(history)):
            expected = truth.posterior(history[: k + 1])
            if expected is None:
                assert trace.stop_reason[i] == "impossible"
                assert k + 1 == trace.length[i]
            else:
                np.testing.assert_allclose(trace.posteriors[i, k + 1], expected, rtol=0, atol=CLOSE)
        assert (trace.stop_reason[i] == "impossible") == (truth.posterior(history) is None)
        if queries.width == 1 and exact is None:
            for k in range(min(3, len(history))):
                true = truth.gain(history[k][0], history[:k])
                assert trace.gains[i, k] == pytest.approx(true, abs=CLOSE)


def doubtful(rng, queries, query, noise):
    """An answer that may be wrong, and what it says of the cells of each variable."""
    sizes = [int(n) for n in queries.n_cells[query][: (queries.query_variables[query] >= 0).sum()]]
    cells = tuple(int(rng.integers(size)) for size in sizes)
    kind = rng.random()
    if kind < 0.1:
        return None, None
    if kind < 0.6 or len(sizes) > 1:
        return cells, tuple(noise.confusion_matrix(n)[:, cell].tolist() for n, cell in zip(sizes, cells, strict=True))
    weights = rng.choice([0, 1, 0.5, 1e-300, 1e300, 0.2], size=sizes[0])
    weights[0] = weights[0] if weights.any() else 1.0
    return SoftAnswer((tuple(weights.tolist()),)), (weights.tolist(),)


@settings(max_examples=14)
@given(st.integers(0, 10**6))
def test_answers_that_may_be_wrong_agree_with_fractions(seed):
    """Hundreds of answers about one variable weigh its values by less than any float64 holds."""
    rng, queries, model, truth, _ = extreme_world(seed, ("yes_no", "thresholds", "categorical", "mixed"))
    again = int(rng.choice([1, 3, 400]))
    noise = ip.AnswerNoise(float(rng.choice([0, 1, 0.5, 0.9, 1e-300, 1 - 1e-16])), max_repeats=again)
    pursuit = ip.generative_pursuit(model, queries, stopping=ip.MaxQueries(500), noise=noise)
    calibrator = [None, TemperatureScaling(0.1), TemperatureScaling(100.0)][rng.integers(3)]
    session, history = replace(pursuit, calibrator=calibrator).session(), []
    one = int(rng.integers(len(queries)))
    for step in range(200 if again == 400 else 8):
        query = one if again == 400 else getattr(session.question, "index", None)
        if query is None:
            break
        answer, said = doubtful(rng, queries, query, noise)
        try:
            session._take(query, answer)
        except ip.ImpossibleAnswer:
            assert truth.posterior([*history, (query, said)]) is None
            break
        history.append((query, said))
        if step < 5 or step % 59 == 0:
            assert_sound_session(session)
            expected = truth.posterior(history)
            assert expected is not None
            if calibrator is None:
                np.testing.assert_allclose(session.posterior, expected, rtol=0, atol=CLOSE)
    session.explanation.to_json()


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_pruned_enumeration_stays_close_to_the_exact_posterior(seed):
    """Also where answers are ones in a million, so that what was pruned comes back."""
    rng = np.random.default_rng(seed)
    n_variables, n_classes, n_latents = (
        int(rng.choice([1, 4, 16])),
        int(rng.choice([1, 2, 5])),
        int(rng.choice([1, 3, 120])),
    )
    probs = rng.choice([1e-6, 1 - 1e-6, 0.5, 0.01, 0.99], size=(n_classes, n_latents, n_variables))
    prior = rng.dirichlet(np.ones(n_classes))
    if n_classes > 1:
        prior[0] = 0
        prior /= prior.sum()
    latent = rng.dirichlet(np.ones(n_latents), size=n_classes)
    model = TableModel(prior, latent, probs)
    queries = ip.queries.concepts([f"a{a}" for a in range(n_variables)])
    X = rng.integers(-1, 2, size=(4, n_variables))
    X[0], X[1] = -1, X[2]
    trace = ip.generative_pursuit(model, queries, "pruned", ip.MaxQueries(20)).run_values(X)
    assert_sound(trace)
    exact = ip.generative_pursuit(model, queries)
    for i in range(4):
        off = np.abs(exact.believe(trace.history(i)) - trace.posterior[i]).max()
        assert off <= 1e-3 * max(trace.length[i], 1)


PRIORS = [(1 / 3, 1 / 3, 1 / 3), (0.0, 0.4, 0.6), (1.0, 0.0, 0.0), (1e-320, 1.0, 0.0)]


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_draws_are_sound_whatever_the_settings(seed):
    """Decoders that are flat or as steep as can be, single draws, steps that throw chains out of sight."""
    rng = np.random.default_rng(seed)
    make = (yes_no, mixed, pixels)[rng.integers(3)]
    scale = float(rng.choice([0, 4, 1e4, 1e8]))
    known = make(int(rng.integers(1, 3)), seed=seed % 100, scale=scale, prior=PRIORS[rng.integers(4)])
    step = float(rng.choice([1e-8, 0.1, 1e6]))
    sampler = (
        SMC(int(rng.choice([1, 2, 50])), float(rng.choice([0, 4, 1e9])), int(rng.choice([2, 20])), 2, step)
        if rng.random() < 0.5
        else Langevin(2, int(rng.choice([1, 4])), int(rng.choice([0, 2])), step, str(rng.choice(["ula", "mala"])))
    )
    noise = None if rng.random() < 0.5 else ip.AnswerNoise(float(rng.choice([0, 1, 0.5, 0.9])))
    X = np.stack([rng.integers(-1, size, size=3) for size in known.model.variables.sizes], axis=1)
    X[0] = -1
    pursuit = ip.generative_pursuit(known.model, known.queries, sampler, ip.MaxQueries(4), noise=noise)
    assert_sound(pursuit.run_values(X))


# ---- shapes at their limits -----------------------------------------------------------------------------------------


def test_a_thousand_classes_of_one_example_each():
    rng = np.random.default_rng(0)
    X = (rng.random((1000, 20)) < 0.5).astype(int)
    names = [f"kind {i}" for i in range(1000)]
    clf = ip.InformationPursuitClassifier(ip.queries.concepts([f"a{i}" for i in range(20)]), stopping=ip.MaxQueries(6))
    clf.fit(X, names)
    trace = clf.explain(X[:30])
    assert_sound(trace)
    assert trace.posterior.shape == (30, 1000)
    assert_sound_session(clf.session())


def test_few_rows_missing_rows_repeated_rows():
    rng = np.random.default_rng(1)
    gaps = rng.random((24, 3))
    gaps[:5], gaps[5:, 2] = np.nan, np.where(rng.random(19) < 0.8, np.nan, gaps[5:, 2])
    cases = [
        (np.eye(3), list("abc")),
        (rng.random((12, 1)), np.arange(12) % 2),
        (np.repeat([[0, 1.0], [1, 0]], 20, axis=0), np.repeat([0, 1], 20)),
        (np.tile([[0, 1.0], [1, 0]], (20, 1)), np.repeat([0, 1], 20)),
        (gaps, np.arange(24) % 2),
        (rng.random((20, 2)), np.r_[np.zeros(19), 1]),
    ]
    for X, y in cases:
        clf = ip.InformationPursuitClassifier().fit(X, y)
        assert_sound(clf.explain(X))
        assert_sound(clf.explain(np.full((2, X.shape[1]), np.nan)))
        p_values = clf.fit_novelty(n=20).novelty_pvalues(X[:5])
        assert ((p_values > 0) & (p_values <= 1)).all()


def test_empty_batches_single_inputs_and_single_classes():
    queries = ip.queries.concepts(["a", "b"])
    two = ip.generative_pursuit(TableModel([0.5, 0.5], None, [[0.9, 0.2], [0.1, 0.2]]), queries)
    one = ip.generative_pursuit(TableModel([1.0], None, [[0.9, 0.2]]), queries, stopping=ip.MaxQueries(5))
    assert len(two.run_values(np.zeros((0, 2), dtype=int))) == 0
    for pursuit in (two, one):
        trace = pursuit.run_values([[1, 0]])
        assert_sound(trace)
    assert trace.gains.tolist() == [[0.0, 0.0]]
    assert trace.posterior.tolist() == [[1.0]]


def test_weights_of_examples_that_are_far_apart():
    queries, X = ip.queries.concepts(["a", "b"]), [[0, 0], [0, 1], [1, 0], [1, 1]]
    for weights in ([1e-300, 1.0], [1e12, 1e-300], [1e-320, 1e-320]):
        model = EmpiricalModel([[0, 1], [1, 0]], [0, 1], Flip(rates=(1e-6, 1.0)), weights=weights)
        assert_sound(ip.generative_pursuit(model, queries, stopping=ip.MaxQueries(2)).run_values(X))
    rng = np.random.default_rng(2)
    table, labels = rng.random((20, 3)), np.arange(20) % 2
    clf = ip.InformationPursuitClassifier().fit(table, labels, sample_weight=np.full(20, 1e-300))
    assert_sound(clf.explain(table))
    assert clf.class_count_.sum() == pytest.approx(20e-300)
    with pytest.raises(ValueError, match="weights"):
        ip.InformationPursuitClassifier().fit(table, labels, sample_weight=np.full(20, 1e300))


# ---- single faults, each mended -------------------------------------------------------------------------------------


def test_temperature_scaling_of_a_class_that_is_next_to_nothing():
    """The slope of the scaling is more than a float64 holds there, and the error times it was not a number."""
    p = np.array([[1e-320, 1 - 1e-320]])
    scaled = np.exp(TemperatureScaling(100.0).log_posterior(np.log(p), [1]))
    assert TemperatureScaling(100.0).standard_error(np.zeros((1, 2)), p, scaled, [1]).tolist() == [[0.0, 0.0]]
    error = TemperatureScaling(100.0).standard_error(p * 0.1, p, scaled, [1])
    assert np.isfinite(error).all()
    assert error[0, 0] == pytest.approx(
        0.1 * scaled[0, 0] * (1 - scaled[0, 0]) / 100, rel=1e-2
    )  # 1e-321 has three digits


def test_contradicting_answers_without_end():
    """Four hundred times yes and four hundred times no to one question tell no more than nothing."""
    model = TableModel([0.3, 0.7], None, [[0.9], [0.2]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["a"]), noise=ip.AnswerNoise(0.9, max_repeats=2000))
    state, zero = pursuit.start(), np.zeros(1, dtype=np.int64)
    b, histories = state.belief, state.histories
    for cell in (1, 0):
        answer = np.full((1, 1), cell)
        likelihood = pursuit.channel.log_likelihood(zero, answer)
        for _ in range(400):
            histories = histories.extend(zero, zero, answer, log_likelihood=likelihood)
            b = pursuit.belief.update(b, zero, histories)
    np.testing.assert_allclose(np.exp(pursuit.belief.log_posterior(b).value), [[0.3, 0.7]], atol=1e-9)
    # log P of what was said: as many right as wrong, whatever the truth is
    assert float(pursuit.belief.log_evidence(b)[0]) == pytest.approx(400 * np.log(0.09), rel=1e-12)
