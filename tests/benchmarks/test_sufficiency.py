"""The audit of explanations: against enumeration, against pursuits, and in numbers that can be checked by hand."""

import json
from dataclasses import asdict

import numpy as np
import pytest

import infopursuit as ip
from benchmarks.sufficiency import audit, posteriors_after
from infopursuit.models import VAE, MLPArchitecture
from infopursuit.strategies import SMC, Langevin
from worlds import world_of


def some_queries(rng, n_inputs, n_queries):
    """For each input some queries in any order; some inputs have none, some all."""
    return [rng.permutation(n_queries)[: rng.integers(0, n_queries + 1)].tolist() for _ in range(n_inputs)]


@pytest.mark.parametrize("seed", range(12))
def test_the_posterior_is_that_of_exactly_these_answers(seed):
    world, rng = world_of(seed)
    values = world.inputs(rng, 30, unknown=0.1)
    queries = some_queries(rng, 30, len(world.queries))
    found, impossible = posteriors_after(world.pursuit(), values, queries)
    for i in range(30):
        history = [(q, world.truth.answer(q, values[i])) for q in queries[i]]
        assert impossible[i] == (world.truth.probability(history) == 0)
        while world.truth.probability(history) == 0:  # what came before the first impossible answer
            history = history[:-1]
        np.testing.assert_allclose(found[i], world.truth.posterior(history), atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_all_queries_are_map_using_q(seed):
    world, rng = world_of(seed, zeros=False)
    values, labels = world.inputs(rng, 40), rng.integers(0, world.model.n_classes, 40)
    result = audit(world.pursuit(), values, [range(len(world.queries))] * 40, labels)
    every = [[(q, world.truth.answer(q, row)) for q in range(len(world.queries))] for row in values]
    posterior = np.array([world.truth.posterior(history) for history in every])
    right = posterior[np.arange(40), labels]
    assert result.accuracy == (posterior.argmax(axis=1) == labels).mean()
    assert result.log_loss == pytest.approx(-np.log(right).mean(), abs=1e-9)
    assert result.confidence == pytest.approx(posterior.max(axis=1).mean(), abs=1e-9)
    assert result.n_queries == len(world.queries)


@pytest.mark.parametrize("seed", range(6))
def test_the_queries_of_a_pursuit_give_its_own_posterior(seed):
    world, rng = world_of(seed)
    pursuit = world.pursuit(rules=(("confidence", 0.1, None),))
    values = world.inputs(rng, 30, unknown=0.1)
    trace = pursuit.run_values(values)
    found, impossible = posteriors_after(pursuit, values, trace.queries)
    assert np.array_equal(found, trace.posterior)
    assert np.array_equal(impossible, trace.stop_reason == "impossible")
    labels = rng.integers(0, world.model.n_classes, 30)
    result = audit(pursuit, values, trace.queries, labels)
    assert result.accuracy == (trace.predictions == labels).mean()
    assert result.n_queries == trace.length.mean()


@pytest.mark.parametrize("settings", [SMC(n_draws=200, min_ess=20.0, n_own=16), Langevin(n_chains=8, n_steps=4)])
def test_draws_are_those_of_the_pursuit(settings):
    model = VAE((2,) * 9, [0.3, 0.7], MLPArchitecture((8,)), latent_dim=2, seed=1)
    queries = ip.queries.patches((3, 3), size=2)
    pursuit = ip.generative_pursuit(model, queries, settings, ip.MaxQueries(3))
    values = np.random.default_rng(0).integers(0, 2, size=(12, 9))
    trace = pursuit.run_values(values)
    assert np.array_equal(posteriors_after(pursuit, values, trace.queries)[0], trace.posterior)


def test_a_small_memory_limit_and_another_order_change_nothing():
    world, rng = world_of(3, kind="patches")
    values = world.inputs(rng, 40)
    queries = some_queries(rng, 40, len(world.queries))
    whole = posteriors_after(world.pursuit(), values, queries)
    few = posteriors_after(world.pursuit(memory_limit=1), values, queries)
    order = rng.permutation(40)
    mixed = posteriors_after(world.pursuit(), values[order], [queries[i] for i in order])
    for a, b, c in zip(whole, few, mixed, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
        np.testing.assert_allclose(a[order], c, atol=1e-12)


def test_what_is_not_in_the_explanation_does_not_count():
    queries = ip.queries.patches((2, 4), size=2)
    rng = np.random.default_rng(0)
    model = ip.models.TableModel([0.5, 0.5], None, rng.uniform(0.1, 0.9, size=(2, 8)))
    pursuit = ip.generative_pursuit(model, queries)
    values = rng.integers(0, 2, size=(10, 8))
    other = values.copy()
    other[:, [2, 3, 6, 7]] = 1 - other[:, [2, 3, 6, 7]]
    shown = posteriors_after(pursuit, values, [[0]] * 10)[0]
    assert np.array_equal(shown, posteriors_after(pursuit, other, [[0]] * 10)[0])
    assert not np.allclose(shown, posteriors_after(pursuit, other, [[0, 2]] * 10)[0])


def test_numbers_by_hand():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.6], [0.1, 0.6]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]), classes=["cat", "dog"])
    values = [[1, 0], [0, 0], [1, 1], [-1, 1]]
    result = audit(pursuit, values, [[0], [0, 1], [], [0]], ["cat", "cat", "dog", "dog"])
    assert result.accuracy == 0.25  # ties go to the first class
    assert result.accuracy_error == pytest.approx(np.sqrt(0.25 * 0.75 / 4))
    assert result.confidence == pytest.approx((0.9 + 0.9 + 0.5 + 0.5) / 4)
    assert result.log_loss == pytest.approx(-(np.log(0.9) + np.log(0.1) + 2 * np.log(0.5)) / 4)
    assert (result.n_queries, result.n_inputs, result.n_impossible) == (1.0, 4, 0)
    assert json.loads(json.dumps(asdict(result)))["accuracy"] == 0.25


def test_a_class_that_is_excluded_has_a_finite_loss():
    model = ip.models.TableModel([0.5, 0.5], None, [[1.0], [0.0]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["a"]))
    assert 700 < audit(pursuit, [[1]], [[0]], [1]).log_loss < np.inf


@pytest.mark.parametrize(
    ("queries", "labels", "named"),
    [
        ([[0]], [0, 1], "queries has 1 rows for 2 inputs"),
        ([[0], [2]], [0, 1], r"queries\[1\]\[0\] is 2; queries are numbered 0 to 1"),
        ([[0], [-1, 1]], [0, 1], r"queries\[1\]\[0\] is -1 with a query after it"),
        ([[0], [1]], [0], r"labels has shape \(1,\)"),
        ([[0], [1]], [0, 7], r"labels holds 7, which is no class of the model"),
    ],
)
def test_what_does_not_fit_is_refused(queries, labels, named):
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.6], [0.1, 0.6]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]))
    with pytest.raises(ValueError, match=named):
        audit(pursuit, [[1, 0], [0, 0]], queries, labels)
