"""Acquisition functions that need no more than the protocols: look-ahead, a fixed order, a random order."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infopursuit as ip
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.protocols import Belief, Estimate
from infopursuit.strategies import Exact, FixedOrder, LookAhead, MutualInformation, RandomOrder
from unlimited import utilities
from worlds import KINDS, random_history, world_of

SEEDS = st.integers(0, 2**32 - 1)


def state_after(pursuit, history):
    state = pursuit.start()
    for query, answer in history:
        state = pursuit.absorb(state, pursuit.branch(query, answer), state.watch)
    return state


# ---- look-ahead -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", [None, 0.8, 1.0])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(seed=SEEDS)
def test_look_ahead_is_mutual_information(kind, accuracy, seed):
    """Of an exact belief, after any history, with answers that are certain and with noisy ones."""
    world, rng = world_of(seed, kind=kind)
    noise = None if accuracy is None else ip.AnswerNoise(accuracy)
    one = world.pursuit(noise=noise, exact_gains=True)
    two = replace(one, acquisition=LookAhead(at_a_time=int(rng.choice([1, 7, 20_000]))))
    history = random_history(world, rng, int(rng.integers(0, len(world.queries))))
    found = [pursuit.utilities(state_after(pursuit, history)) for pursuit in (one, two)]
    np.testing.assert_allclose(found[0].value, found[1].value, rtol=0, atol=1e-9)
    assert (found[1].error == 0).all()


@settings(max_examples=15)
@given(SEEDS)
def test_whole_pursuits_are_the_same(seed):
    world, rng = world_of(seed)
    values = world.inputs(rng, 5, unknown=0.1)
    one = world.pursuit([("information_gain", 0.003, None), ("max_queries", 4)], exact_gains=True)
    traces = [pursuit.run_values(values) for pursuit in (one, replace(one, acquisition=LookAhead()))]
    np.testing.assert_array_equal(traces[0].queries, traces[1].queries)
    assert traces[0].stop_reason.tolist() == traces[1].stop_reason.tolist()
    np.testing.assert_allclose(traces[0].gains, traces[1].gains, rtol=0, atol=1e-9)


def test_confusion_matrices_of_single_queries():
    """Noise that differs from query to query, and is not symmetric."""
    world, rng = world_of(3, kind="yes_no")
    name = world.queries.names[0]
    noise = ip.AnswerNoise(0.9, {name: [[0.7, 0.3], [0.05, 0.95]]})
    one = world.pursuit(noise=noise)
    two = replace(one, acquisition=LookAhead())
    history = random_history(world, rng, 1)
    gains = [pursuit.utilities(state_after(pursuit, history)).value for pursuit in (one, two)]
    np.testing.assert_allclose(*gains, rtol=0, atol=1e-9)
    assert np.nanmax(gains[0]) > 1e-4


class Unpredictable(Belief):
    """A belief that does not predict answers."""

    n_classes = 2

    def init(self):
        return None

    def update(self, b, parents, new):
        return None

    def log_posterior(self, b):
        return Estimate.exact(np.log([[0.5, 0.5]]))


def test_a_belief_must_predict_answers():
    queries = ip.queries.concepts(["a"])
    with pytest.raises(TypeError, match="answer_distribution"):
        ip.Pursuit(queries, Unpredictable(), LookAhead())
    with pytest.raises(TypeError, match="LookAhead"):
        ip.Pursuit(queries, Unpredictable(), MutualInformation())
    for acquisition in (LookAhead(), MutualInformation()):
        with pytest.raises(TypeError, match="bound"):
            utilities(acquisition, None, Histories.empty(queries), np.ones((1, 1), dtype=bool))


def test_an_impossible_history_does_not_disturb_the_others():
    """Queries about two variables; one of three answers to the first cannot be."""
    queries = ip.queries.patches((1, 3), size=(1, 2))
    model = ip.models.TableModel([0.5, 0.5], None, [[1.0, 0.3, 0.6], [1.0, 0.6, 0.2]])
    belief = Exact(model, queries)
    new = Histories(queries, np.zeros((3, 1), dtype=np.int64), np.array([[[1, 0]], [[0, 1]], [[1, 1]]]))
    b = belief.update(belief.init(), np.zeros(3, dtype=np.int64), new)
    said = belief.answer_distribution(b, 1)
    assert np.isnan(said).all(axis=1).tolist() == [False, True, False]
    np.testing.assert_allclose(said[[0, 2]].sum(axis=1), 1)
    allowed = np.array([[False, True], [False, False], [False, True]])
    one, two = (acquisition.bind(belief, queries, None, None) for acquisition in (LookAhead(), MutualInformation()))
    np.testing.assert_allclose(
        utilities(one, b, new, allowed).value, utilities(two, b, new, allowed).value, rtol=0, atol=1e-12
    )


def test_nothing_to_ask_takes_no_work():
    world, _ = world_of(0)
    bound = LookAhead().bind(Exact(world.model, world.queries), world.queries, None, None)
    nothing = np.zeros((1, len(world.queries)), dtype=bool)
    found = utilities(bound, bound.belief.init(), Histories.empty(world.queries), nothing)
    assert np.isnan(found.value).all()


# ---- a fixed order --------------------------------------------------------------------------------------------------

ANIMALS = ip.queries.concepts(["a", "b", "c", "d"])
MODEL = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5, 0.6, 0.2], [0.1, 0.5, 0.5, 0.3]])


def asked(acquisition, n=4, X=((1, 0, 1, 0),)):
    pursuit = ip.Pursuit(ANIMALS, Exact(MODEL, ANIMALS), acquisition, ip.MaxQueries(n))
    return pursuit.run(np.array(X)).queries.tolist()


@pytest.mark.parametrize(
    ("order", "expected"),
    [((), [0, 1, 2, 3]), (("c", "a"), [2, 0, 1, 3]), ([3, "b"], [3, 1, 0, 2]), ((3, 2, 1, 0), [3, 2, 1, 0])],
)
def test_a_fixed_order(order, expected):
    assert asked(FixedOrder(order)) == [expected]


def test_a_fixed_order_passes_over_what_may_not_be_asked():
    constraints = ip.Constraints({}, ["c"])
    pursuit = ip.Pursuit(
        ANIMALS, Exact(MODEL, ANIMALS), FixedOrder(("c", "d")), ip.MaxQueries(4), constraints=constraints
    )
    trace = pursuit.run([[1, 0, 1, 0]])
    assert trace.queries[0, : trace.length[0]].tolist() == [3, 0, 1]
    assert trace.stop_reason.tolist() == ["exhausted"]


@pytest.mark.parametrize("order", [("wings",), (4,), (-1,)])
def test_an_order_of_queries_that_do_not_exist_is_refused(order):
    with pytest.raises(ValueError, match="order"):
        asked(FixedOrder(order))


@pytest.mark.parametrize("acquisition", [FixedOrder(("a",)), RandomOrder()])
def test_scores_are_no_gains(acquisition):
    with pytest.raises(ValueError, match="stopping"):
        ip.Pursuit(ANIMALS, Exact(MODEL, ANIMALS), acquisition, ip.InformationGain(0.1))
    pursuit = ip.Pursuit(ANIMALS, Exact(MODEL, ANIMALS), acquisition, ip.MaxQueries(2))
    assert np.isnan(pursuit.run([[1, 0, 1, 0]]).gains).all()


# ---- a random order -------------------------------------------------------------------------------------------------


def test_a_random_order_is_a_function_of_seed_and_history():
    X = np.random.default_rng(0).integers(2, size=(6, 4))
    together = asked(RandomOrder(1), X=X)
    assert all(sorted(row) == [0, 1, 2, 3] for row in together)
    assert len({row[0] for row in together}) == 1  # the empty history is one
    for i, x in enumerate(X):
        assert asked(RandomOrder(1), X=[x]) == [together[i]]
    assert len({tuple(asked(RandomOrder(seed))[0]) for seed in range(40)}) > 12


def test_a_random_order_asks_every_query_as_often():
    first = np.bincount([asked(RandomOrder(seed), n=1)[0][0] for seed in range(400)], minlength=4)
    assert np.abs(first - 100).max() < 4 * np.sqrt(400 * 0.25 * 0.75)
