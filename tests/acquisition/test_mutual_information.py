"""Gains of all queries after a history: their laws, and how far the sampled ones may be trusted."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infopursuit as ip
from enumerator import entropy
from infopursuit.models.finite import FiniteModel
from worlds import Given, World, random_history, world_of

SEEDS = st.integers(0, 2**32 - 1)


def state_after(pursuit, history):
    state = pursuit.start()
    for query, answer in history:
        state = pursuit.absorb(state, pursuit.branch(query, answer), state.watch)
    return state


def propose(pursuit, history=(), asked=()):
    """The best query after a history; ``asked`` queries are shut out besides those of the history."""
    state = state_after(pursuit, history)
    closed = state.closed.copy()
    closed[:, list(asked)] = True
    choice = pursuit._choose(replace(state, closed=closed), np.ones(1, dtype=bool))
    found = pursuit.utilities(replace(state, closed=closed))
    return SimpleNamespace(query=choice.query, gain=choice.gain, error=choice.error, gains=found.value)


# ---- laws -----------------------------------------------------------------------------------------------------------


@given(SEEDS)
def test_gains_lie_between_zero_and_both_entropies(seed):
    world, rng = world_of(seed)
    history = random_history(world, rng, int(rng.integers(0, len(world.queries))))
    gains = world.pursuit().session(history).gains
    label = entropy(world.truth.posterior(history))
    for query in np.flatnonzero(~np.isnan(gains)):
        answer = entropy(world.truth.answer_joint(query, history).sum(axis=1))
        assert 0 <= gains[query] <= min(label, answer) + 1e-12


@given(SEEDS)
def test_chain_rule(seed):
    """The gain of a pair is that of its first variable, and then what the second is expected to tell."""
    world, rng = world_of(seed)
    sizes = world.sizes
    a, b = rng.permutation(len(sizes))[:2].tolist()
    rest = [variable for variable in range(len(sizes)) if variable not in (a, b)]
    queries = Given(
        ["a", "b", "both", *(f"rest {r}" for r in rest)], sizes, [[a, -1], [b, -1], [a, b], *[[r, -1] for r in rest]]
    )
    world = World(world.prior, world.latent, world.probs, queries)
    weights = world.truth.joint.sum(axis=(0, 1))
    seen = world.truth.assignments[rng.choice(len(weights), p=weights / weights.sum())]
    history = [(3 + i, (seen[r],)) for i, r in enumerate(rest) if rng.random() < 0.5]
    pursuit = world.pursuit()
    before = pursuit.session(history).gains
    expected = 0.0
    for value in range(sizes[a]):
        longer = [*history, (0, (value,))]
        p = world.truth.probability(longer) / world.truth.probability(history)
        if p > 0:
            expected += p * pursuit.session(longer).gains[1]
    assert before[2] == pytest.approx(before[0] + expected, abs=1e-11)


@given(SEEDS)
def test_relabelling_the_classes_permutes_posteriors_and_nothing_else(seed):
    world, rng = world_of(seed)
    order = rng.permutation(len(world.prior))
    other = World(world.prior[order], world.latent[order], [table[order] for table in world.probs], world.queries)
    values = world.inputs(rng, 4, unknown=0.1)
    one, two = (w.pursuit([("confidence", 0.05, None)]).run_values(values) for w in (world, other))
    np.testing.assert_array_equal(one.queries, two.queries)
    np.testing.assert_array_equal(one.length, two.length)
    assert one.stop_reason.tolist() == two.stop_reason.tolist()
    np.testing.assert_allclose(one.gains, two.gains, atol=1e-11)
    np.testing.assert_allclose(one.posteriors[:, :, order], two.posteriors, atol=1e-11)


@given(SEEDS)
def test_reordering_the_queries_permutes_gains(seed):
    world, rng = world_of(seed)
    qs, order = world.queries, rng.permutation(len(world.queries))
    queries = Given([qs.names[q] for q in order], world.sizes, qs.query_variables[order], qs.query_cells[order])
    other = World(world.prior, world.latent, world.probs, queries)
    history = random_history(world, rng, int(rng.integers(0, len(qs))))
    place = {int(q): i for i, q in enumerate(order)}
    gains = world.pursuit().session(history).gains
    permuted = other.pursuit().session([(place[q], answer) for q, answer in history]).gains
    np.testing.assert_allclose(gains[order], permuted, atol=1e-11)


@given(SEEDS)
def test_reordering_the_variables_changes_nothing(seed):
    world, rng = world_of(seed)
    qs, order = world.queries, rng.permutation(len(world.sizes))
    place = np.append(np.argsort(order), -1)  # where each variable went; -1 stays -1
    sizes = [world.sizes[a] for a in order]
    queries = Given(qs.names, sizes, place[qs.query_variables], qs.query_cells)
    other = World(world.prior, world.latent, [world.probs[a] for a in order], queries)
    history = random_history(world, rng, int(rng.integers(0, len(qs))))
    np.testing.assert_allclose(
        world.pursuit().session(history).gains, other.pursuit().session(history).gains, atol=1e-11
    )


# ---- all ways to compute them agree ---------------------------------------------------------------------------------


def ragged(world):
    """The same model without its states of weight zero: classes of unlike size."""
    model = world.model
    keep = np.isfinite(model.log_prior)
    counts = np.bincount(model.state_class[keep], minlength=model.n_classes)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return FiniteModel(model.variables, model.log_prior[keep], offsets, np.ascontiguousarray(model.probs[:, keep]))


@pytest.mark.parametrize("seed", range(25))
def test_classes_of_unlike_size(seed):
    """As an empirical model has them; one whole trace and all gains after a history."""
    world, rng = world_of(30_000 + seed, zeros=True, n_latents=3)
    model = ragged(world)
    assert model.n_states < world.model.n_states or (world.latent > 0).all()
    rules = [("confidence", 0.02, None)]
    options = {"exact_gains": False} if seed % 2 else {}
    pursuit = ip.generative_pursuit(model, world.queries, stopping=ip.Confidence(0.02), **options)
    history = random_history(world, rng, int(rng.integers(0, len(world.queries))))
    gains = pursuit.session(history).gains
    for query in np.flatnonzero(~np.isnan(gains)):
        assert gains[query] == pytest.approx(world.truth.gain(int(query), history), abs=1e-10)
    values = world.inputs(rng, 4)
    trace = pursuit.run_values(values)
    for i, x in enumerate(values):
        true = world.truth.trace(x, rules)
        assert trace.queries[i, : trace.length[i]].tolist() == true.queries
        np.testing.assert_allclose(trace.posterior[i], true.posteriors[-1], atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_a_small_memory_limit_only_cuts_the_work(seed):
    world, rng = world_of(31_000 + seed)
    values = world.inputs(rng, 6)
    full = world.pursuit([("max_queries", 3)]).run_values(values)
    for limit in (1, 3_000):
        cut = world.pursuit([("max_queries", 3)], memory_limit=limit).run_values(values)
        np.testing.assert_array_equal(full.queries, cut.queries)
        np.testing.assert_allclose(full.gains, cut.gains, atol=1e-12)


@pytest.mark.parametrize("exact_gains", [True, False])
def test_variables_that_no_query_asks_about_do_not_matter(exact_gains):
    """Before, between and after those that are asked about; the model may know more than is ever asked."""
    rng = np.random.default_rng(0)
    probs = [rng.dirichlet(np.ones(size), size=(3, 2)) for size in (2, 3, 2, 2)]
    for asked in ([0, 1], [1, 2], [0, 2], [3, 1]):
        queries = Given(["one", "two", "both"], [2, 3, 2, 2], [[asked[0], -1], [asked[1], -1], asked])
        for qs in (queries, Given(["one", "two"], [2, 3, 2, 2], [[a] for a in asked])):
            world = World(np.full(3, 1 / 3), np.full((3, 2), 0.5), probs, qs)
            gains = world.pursuit(exact_gains=exact_gains).session().gains
            np.testing.assert_allclose(gains, [world.truth.gain(q, []) for q in range(len(qs))], atol=1e-12)


def test_exactness_is_given_up_only_where_it_is_not_affordable():
    rng = np.random.default_rng(0)
    small = ip.models.TableModel([0.5, 0.5], np.full((2, 3), 1 / 3), rng.random((2, 3, 36)))
    big = ip.models.TableModel([0.5, 0.5], np.full((2, 4000), 1 / 4000), rng.random((2, 4000, 36)))
    queries = ip.queries.patches((6, 6), size=3)
    many = ip.queries.patches((6, 6), size=4)
    assert ip.generative_pursuit(small, queries).exact_gains
    assert ip.generative_pursuit(small, many).exact_gains
    assert not ip.generative_pursuit(big, many).exact_gains
    assert ip.generative_pursuit(big, many, exact_gains=True).exact_gains
    assert not ip.generative_pursuit(small, queries, exact_gains=False).exact_gains


# ---- sampled gains --------------------------------------------------------------------------------------------------


def sampled_world(n_classes, n_latents, width, seed=0, n_answers=0):
    """One query about ``width`` yes/no variables, and then questions about other variables for a history."""
    rng = np.random.default_rng(seed)
    probs = rng.beta(0.7, 0.7, size=(n_classes, n_latents, width + n_answers))
    variables = np.full((1 + n_answers, width), -1)
    variables[0], variables[1:, 0] = np.arange(width), width + np.arange(n_answers)
    tables = [np.stack([1 - p, p], axis=-1) for p in np.moveaxis(probs, 2, 0)]
    queries = Given([f"q{i}" for i in range(1 + n_answers)], [2] * (width + n_answers), variables)
    latent = rng.dirichlet(np.ones(n_latents), size=n_classes)
    world = World(rng.dirichlet(np.full(n_classes, 2.0)), latent, tables, queries)
    return world, [(1 + i, (int(rng.integers(2)),)) for i in range(n_answers)]


@pytest.mark.parametrize(
    ("n_classes", "n_latents", "width", "n_answers"),
    [(3, 300, 1, 0), (3, 300, 4, 0), (3, 300, 4, 3), (10, 100, 4, 0), (10, 100, 9, 0)],
)
def test_sampled_gains_approach_exact_ones_and_the_error_is_honest(n_classes, n_latents, width, n_answers):
    """z = (sampled gain of a fixed query - exact gain) / reported error, over many seeds; and the error shrinks."""
    world, history = sampled_world(n_classes, n_latents, width, n_answers=n_answers)
    exact = propose(world.pursuit(exact_gains=True), history).gain[0]
    off, errors = {}, {}
    for n_states in (100, 400):
        found = [propose(world.pursuit(exact_gains=False, n_states=n_states, seed=seed), history) for seed in range(40)]
        deviation, error = np.array([p.gain[0] for p in found]) - exact, np.array([p.error[0] for p in found])
        assert (error > 0).all()
        z = deviation / error
        assert np.mean(np.abs(z) < 3) >= 0.95
        assert np.sqrt(np.mean(z**2)) > 0.2  # nor so large that it says nothing
        off[n_states], errors[n_states] = np.sqrt(np.mean(deviation**2)), error.mean()
    assert off[400] < 0.6 * off[100]
    assert errors[400] < 0.6 * errors[100]
    assert off[400] < 0.06
    every = propose(world.pursuit(exact_gains=False, n_states=world.model.n_states), history)
    assert every.gain[0] == pytest.approx(exact, abs=1e-12)
    assert every.error[0] == 0


def test_the_error_would_not_be_honest_without_the_bias():
    """The control of the test above: with many answers, few states gain too much, beyond the spread of the draws."""
    world, _ = sampled_world(10, 100, 9)
    exact = propose(world.pursuit(exact_gains=True)).gain[0]
    gains = np.array([propose(world.pursuit(exact_gains=False, n_states=100, seed=seed)).gain[0] for seed in range(20)])
    assert (gains - exact).mean() > 3 * gains.std()


def test_a_single_draw_does_not_pass_for_exact():
    """All states but two are heavy and kept: the one draw that stands for these two leaves an error, and a fair one."""
    latent = np.array([[0.3, 0.3, 0.3, 0.05, 0.05], [0.25, 0.25, 0.25, 0.25, 0.0]])
    for world_seed in range(6):
        probs = np.random.default_rng(world_seed).random((2, 5))
        tables = [np.stack([1 - probs, probs], axis=-1)]
        world = World(np.array([0.5, 0.5]), latent, tables, ip.queries.concepts(["a"]))
        exact = propose(world.pursuit()).gain[0]
        for seed in range(6):
            found = propose(world.pursuit(exact_gains=False, n_states=8, seed=seed))
            assert abs(found.gain[0] - exact) > 1e-9
            assert abs(found.gain[0] - exact) < 3 * found.error[0]
        assert propose(world.pursuit(exact_gains=False, n_states=10)).error[0] == 0


def test_screening_keeps_the_most_promising_and_all_about_one_variable():
    rng = np.random.default_rng(3)
    model = ip.models.TableModel(np.full(4, 0.25), np.full((4, 20), 0.05), rng.beta(0.5, 0.5, size=(4, 20, 36)))
    pixels = np.full((36, 9), -1)
    pixels[:, 0] = np.arange(36)
    variables = np.concatenate([ip.queries.patches((6, 6), size=3).query_variables, pixels])
    queries = Given([f"q{i}" for i in range(len(variables))], [2] * 36, variables)
    exact = propose(ip.generative_pursuit(model, queries, exact_gains=True)).gains[0]
    screened = propose(ip.generative_pursuit(model, queries, exact_gains=False, n_states=80, n_screened=5)).gains[0]
    known = ~np.isnan(screened)
    assert known[16:].all()
    assert known[:16].sum() == 5
    np.testing.assert_allclose(screened[known], exact[known], atol=1e-12)
    promise = np.array([exact[16 + np.array(a)].sum() for a in variables[:16]])
    assert set(np.flatnonzero(known[:16])) == set(np.argsort(-promise, kind="stable")[:5].tolist())
    every = propose(ip.generative_pursuit(model, queries, exact_gains=False, n_states=80, n_screened=16)).gains[0]
    np.testing.assert_allclose(every, exact, atol=1e-12)


def test_screening_does_not_spend_its_places_on_what_was_asked():
    world, _ = sampled_world(3, 5, 2, n_answers=4)
    pairs = Given([f"pair {i}" for i in range(6)], [2] * 6, [[i, (i + 1) % 6] for i in range(6)])
    pursuit = ip.generative_pursuit(world.model, pairs, exact_gains=False, n_screened=2)
    for asked in itertools.combinations(range(6), 4):
        found = propose(pursuit, asked=asked)
        left = sorted(set(range(6)) - set(asked))
        assert np.flatnonzero(~np.isnan(found.gains[0])).tolist() == left
        assert found.query[0] in left


def test_nothing_left_to_ask():
    world, _ = world_of(0, kind="mixed")
    for options in ({}, {"exact_gains": False}):
        found = propose(world.pursuit(**options), asked=range(len(world.queries)))
        assert (found.query[0], found.gain[0], found.error[0]) == (-1, 0, 0)
        assert np.isnan(found.gains).all()


@settings(max_examples=15)
@given(SEEDS)
def test_sampled_gains_are_a_function_of_seed_and_history(seed):
    world, rng = world_of(seed, n_latents=3)
    options = {"exact_gains": False, "n_states": 4, "seed": seed % 7}
    history = random_history(world, rng, int(rng.integers(0, len(world.queries))))
    one, two = propose(world.pursuit(**options), history), propose(world.pursuit(**options), history)
    np.testing.assert_allclose(one.gains, two.gains, rtol=0, atol=1e-12)
    assert one.error[0] == pytest.approx(two.error[0], abs=1e-12)
