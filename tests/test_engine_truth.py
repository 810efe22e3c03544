"""The engine against the enumerator, on hundreds of random worlds: posterior, every gain, every trace."""

import numpy as np
import pytest

import infopursuit as ip
from worlds import KINDS, World, random_history, random_rules, world_of

EXACT = 1e-10


def assert_same_trace(trace, i, true, context=""):
    """Row i of a trace is what the enumerator says."""
    k = true.length
    assert int(trace.length[i]) == k, context
    assert str(trace.stop_reason[i]) == true.stop_reason, context
    assert int(trace.settled_at[i]) == true.settled_at, context
    assert trace.queries[i, :k].tolist() == true.queries, context
    assert [tuple(a) for a in trace.answers[i, :k].tolist()] == true.answers, context
    np.testing.assert_allclose(trace.gains[i, :k], true.gains, rtol=0, atol=EXACT, err_msg=context)
    np.testing.assert_allclose(
        trace.posteriors[i, : k + 1], np.array(true.posteriors), rtol=0, atol=EXACT, err_msg=context
    )
    # padding: nothing was asked, and the last posterior is repeated
    assert (trace.queries[i, k:] == -1).all(), context
    assert (trace.answers[i, k:] == -1).all(), context
    assert (trace.gains[i, k:] == 0).all(), context
    assert (trace.posteriors[i, k:] == trace.posteriors[i, k]).all(), context


@pytest.mark.parametrize("seed", range(120))
def test_posterior_is_what_is_left_after_crossing_out(seed):
    world, rng = world_of(seed)
    pursuit = world.pursuit()
    for n in range(len(world.queries) + 1):
        history = random_history(world, rng, n)
        np.testing.assert_allclose(pursuit.believe(history), world.truth.posterior(history), rtol=0, atol=EXACT)


@pytest.mark.parametrize("seed", range(120))
def test_every_gain_is_the_mutual_information(seed):
    """Also cut into pieces, and with ``exact_gains=False`` and more draws than states: then all of them are drawn."""
    world, rng = world_of(1000 + seed)
    options = ({}, {"exact_gains": True}, {"exact_gains": False}, {"memory_limit": 1})
    pursuits = [world.pursuit(**options[0]), world.pursuit(**options[1 + seed % 3])]
    for n in rng.integers(0, len(world.queries) + 1, size=3).tolist():
        history = random_history(world, rng, n)
        closed = world.truth.closed(history)
        for pursuit in pursuits:
            gains = pursuit.session(history).gains
            for query in range(len(world.queries)):
                if query in closed:
                    assert np.isnan(gains[query])
                else:
                    assert gains[query] == pytest.approx(world.truth.gain(query, history), abs=EXACT)


@pytest.mark.parametrize("seed", range(240))
def test_whole_traces(seed):
    """Queries, answers, gains, posteriors, lengths and reasons of random inputs under random stopping rules."""
    world, rng = world_of(2000 + seed, kind=KINDS[seed % len(KINDS)])
    rules, patience = random_rules(rng), int(rng.integers(0, 3))
    values = world.inputs(rng, 10, unknown=0.25 if seed % 3 == 0 else 0.0)
    trace = world.pursuit(rules, patience, exact_gains=True if seed % 2 else None).run_values(values)
    assert trace.exact_gains
    assert (trace.gain_errors == 0).all()
    for i, x in enumerate(values):
        assert_same_trace(
            trace, i, world.truth.trace(x, rules, patience), f"input {x.tolist()}, {rules}, patience {patience}"
        )


@pytest.mark.parametrize("seed", range(20))
def test_how_expected_the_answers_are_together(seed):
    """The trace's log p(history) is the enumerator's, at every step; what is not known adds nothing."""
    world, rng = world_of(6000 + seed, kind=KINDS[seed % len(KINDS)])
    values = world.inputs(rng, 6, unknown=0.25 if seed % 2 else 0.0)
    trace = world.pursuit([("max_queries", 4)]).run_values(values)
    for i in range(len(values)):
        history = trace.history(i)
        for k in range(len(history) + 1):
            true = world.truth.probability(history[:k])
            if true > 0:
                assert trace.log_evidence[i, k] == pytest.approx(np.log(true), abs=1e-9)
        assert (trace.log_evidence[i, len(history) :] == trace.log_evidence[i, len(history)]).all()


@pytest.mark.parametrize("seed", range(60))
def test_the_runner_up_is_the_second_best(seed):
    """By the enumerator's gains, the lowest of those that tie; and a tie is said where the lead is nothing."""
    world, rng = world_of(5000 + seed, kind=KINDS[seed % len(KINDS)])
    values = world.inputs(rng, 5, unknown=0.2 if seed % 3 == 0 else 0.0)
    trace = world.pursuit([("max_queries", 4)], exact_gains=True if seed % 2 else None).run_values(values)
    assert (trace.posterior_errors == 0).all()
    for i in range(len(values)):
        history = trace.history(i)
        for k, (query, _) in enumerate(history):
            before = history[:k]
            left = set(range(len(world.queries))) - world.truth.closed(before) - {query}
            gains = {q: world.truth.gain(q, before) for q in sorted(left)}
            if not gains:
                assert trace.runners_up[i, k] == -1
                assert not trace.ties[i, k]
                continue
            top = max(gains.values())
            close = [q for q in gains if abs(top - gains[q]) < 2e-9]
            assert int(trace.runners_up[i, k]) in close
            if all(abs(top - gains[q]) < 5e-10 for q in close):
                assert trace.runners_up[i, k] == close[0]
            lead = world.truth.gain(query, before) - gains[int(trace.runners_up[i, k])]
            if not 5e-10 < lead < 2e-9:
                assert trace.ties[i, k] == (lead <= 5e-10)


@pytest.mark.parametrize("patience", [0, 1, 2])
@pytest.mark.parametrize(
    "rules",
    [
        [("confidence", 0.15, None)],
        [("information_gain", 0.02, None)],
        [("max_queries", 2)],
        [("confidence", 0.15, None), ("information_gain", 0.02, None)],
        [("information_gain", 0.02, None), ("confidence", 0.15, None)],
        [("max_queries", 3), ("confidence", 0.15, None)],
        [("confidence", 0.15, 2), ("information_gain", 0.02, 0), ("max_queries", 4)],
        [("confidence", 0.15, None), ("confidence", 0.3, 2)],
    ],
    ids=lambda rules: "|".join(rule[0] for rule in rules),
)
def test_every_stopping_rule_with_patience_on_every_input(rules, patience):
    for seed in range(2):
        world, rng = world_of(3000 + seed, kind="yes_no" if seed else "mixed")
        values = world.every_input()
        values = np.concatenate([values[rng.permutation(len(values))[:20]], world.inputs(rng, 10, unknown=0.4)])
        trace = world.pursuit(rules, patience).run_values(values)
        for i, x in enumerate(values):
            assert_same_trace(trace, i, world.truth.trace(x, rules, patience))


def test_the_random_worlds_reach_every_reason():
    """Else the comparison above says nothing about the reasons that never occur."""
    reasons, skipped, patient = set(), 0, 0
    for seed in range(0, 240, 4):
        world, rng = world_of(2000 + seed, kind=KINDS[seed % len(KINDS)])
        rules, patience = random_rules(rng), int(rng.integers(0, 3))
        for x in world.inputs(rng, 10, unknown=0.25):
            true = world.truth.trace(x, rules, patience)
            reasons.add(true.stop_reason)
            skipped += any(set(answer) == {-1} for answer in true.answers)
            patient += true.settled_at < true.length
    assert reasons == {"confidence", "information_gain", "max_queries", "exhausted", "impossible"}
    assert skipped > 40
    assert patient > 40


def test_ties_go_to_the_lowest_index():
    """Two copies of one question: their gains are equal but for rounding, and the first is asked first."""
    rng = np.random.default_rng(0)
    table = rng.dirichlet([1, 1], size=(3, 2))
    weak = 0.5 * table + 0.25
    queries = ip.queries.concepts(["a", "b", "c", "d"])
    world = World(np.full(3, 1 / 3), np.full((3, 2), 0.5), [weak, table, table, weak], queries)
    trace = world.pursuit([("max_queries", 4)]).run_values([[0, 1, 1, 0]])
    assert trace.queries[0, 0] == 1
    assert trace.runners_up[0, 0] == 2
    assert trace.ties[0, 0]
    assert trace.queries[0].tolist() == world.truth.trace([0, 1, 1, 0], [("max_queries", 4)]).queries
    nudged = [weak, table, table + np.array([5e-10, -5e-10]) * np.sign(table[..., :1] - 0.5), weak]
    nudged[2] = nudged[2] / nudged[2].sum(-1, keepdims=True)
    world = World(world.prior, world.latent, nudged, world.queries)
    assert 0 < world.truth.gain(2, []) - world.truth.gain(1, []) < 1e-9
    assert world.pursuit([("max_queries", 4)]).run_values([[0, 1, 1, 0]]).queries[0, 0] == 1
