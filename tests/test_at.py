"""`Pursuit.at` stands where a session with the same history stands, without choosing on the way."""

import numpy as np
import pytest

import infopursuit as ip
from worlds import KINDS, random_history, random_rules, world_of


def assert_same_step(found, wanted):
    assert found.choice.query.tolist() == wanted.choice.query.tolist()
    assert list(found.reason) == list(wanted.reason)
    np.testing.assert_allclose(found.state.posterior, wanted.state.posterior, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.choice.gain, wanted.choice.gain, rtol=0, atol=1e-12)
    assert found.state.histories.keys() == wanted.state.histories.keys()


class Counted:
    """An acquisition function that notes each call."""

    uses_budget = False

    def __init__(self, function, calls):
        self.function = function
        self.calls = calls

    def utilities(self, *args):
        self.calls.append(1)
        return self.function.utilities(*args)


@pytest.mark.parametrize(
    "options", [{}, {"exact_gains": False, "n_states": 4, "n_screened": 2}], ids=["exact", "sampled"]
)
@pytest.mark.parametrize("seed", range(25))
def test_on_the_way_of_a_pursuit(seed, options):
    """Every beginning of every history of a batch, with unknown answers, all kinds of rules and patience."""
    world, rng = world_of(22_000 + seed, kind=KINDS[seed % len(KINDS)])
    rules, patience = random_rules(rng), int(rng.integers(0, 3))
    trace = world.pursuit(rules, patience, **options).run_values(world.inputs(rng, 5, unknown=0.25 * (seed % 2)))
    for i in range(len(trace)):
        history = trace.history(i)
        for k in range(len(history) + (trace.stop_reason[i] != "impossible")):
            session = world.pursuit(rules, patience, **options).session(history[:k])
            pursuit = world.pursuit(rules, patience, **options)
            step = pursuit.propose(pursuit.at(history[:k]))
            assert_same_step(step, session._step)
            assert step.settled.tolist() == session._step.settled.tolist()


@pytest.mark.parametrize("seed", range(40))
def test_on_any_other_way(seed):
    """Histories that no pursuit would take, those that go on after a stop among them."""
    world, rng = world_of(23_000 + seed, kind=KINDS[seed % len(KINDS)])
    rules, patience = random_rules(rng), int(rng.integers(0, 3))
    history = random_history(world, rng, int(rng.integers(0, 6)))
    pursuit = world.pursuit(rules, patience)
    try:
        session = world.pursuit(rules, patience).session(history)
    except ip.ImpossibleAnswer:
        with pytest.raises(ip.ImpossibleAnswer, match=r"history\[\d\]"):
            pursuit.at(history)
        return
    assert_same_step(pursuit.propose(pursuit.at(history)), session._step)


@pytest.mark.parametrize(
    ("stopping", "patience", "wanted"),
    [
        (ip.Confidence(0.0), 3, 1),
        (ip.InformationGain(0.0), 0, 1),
        (ip.InformationGain(0.0), 2, 3),
        (ip.InformationGain(0.0, patience=1) | ip.MaxQueries(40), 3, 2),
    ],
)
def test_gains_are_computed_only_where_a_rule_looks_at_them(stopping, patience, wanted, monkeypatch):
    rng = np.random.default_rng(0)
    model = ip.models.TableModel(np.full(4, 0.25), None, rng.uniform(0.2, 0.8, (4, 12)))
    queries = ip.queries.concepts([f"q{i}" for i in range(12)])
    pursuit = ip.generative_pursuit(model, queries, stopping=stopping, patience=patience)
    computed, cached = [], pursuit.bindings.bind(pursuit)[1]
    function = cached.function
    monkeypatch.setattr(cached, "function", Counted(function, computed))
    pursuit.propose(pursuit.at(tuple((q, (q % 2,)) for q in range(10))))
    assert len(computed) == wanted


@pytest.mark.parametrize("seed", range(20))
def test_from_where_a_beginning_stands(seed):
    """Answer by answer, each from the state of the one before, as a server takes them."""
    world, rng = world_of(24_000 + seed, kind=KINDS[seed % len(KINDS)])
    rules, patience = random_rules(rng), int(rng.integers(0, 3))
    trace = world.pursuit(rules, patience).run_values(world.inputs(rng, 3, unknown=0.3))
    for i in range(len(trace)):
        pursuit, state = world.pursuit(rules, patience), None
        history = trace.history(i)
        for k in range(len(history) + (trace.stop_reason[i] != "impossible")):
            state = pursuit.at(history[:k], state)
            assert_same_step(pursuit.propose(state), world.pursuit(rules, patience).session(history[:k])._step)


def test_a_beginning_of_another_history_is_refused():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["has wings", "is red"]))
    with pytest.raises(ValueError, match="since"):
        pursuit.at(((0, (1,)),), since=pursuit.at(((1, (0,)),)))


def test_gains_are_not_computed_twice(monkeypatch):
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["has wings", "is red"]))
    state = pursuit.at(((1, (0,)),))
    found, cached = pursuit.utilities(state), pursuit.bindings.bind(pursuit)[1]
    computed = []
    monkeypatch.setattr(cached, "function", Counted(cached.function, computed))
    assert pursuit.propose(state).choice.query.tolist() == [0]
    np.testing.assert_array_equal(pursuit.utilities(state).value, found.value)
    assert not computed
