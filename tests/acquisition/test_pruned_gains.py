"""Mutual information on pruned states: `FiniteGains` says the same of the same belief."""

from types import SimpleNamespace

import numpy as np
import pytest

import infopursuit as ip
from decoded import QUERIES, Decoded, asking, decoded, longer
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.ranking import Ranking
from infopursuit.strategies import SMC, MutualInformation
from infopursuit.strategies.generative import pruned
from infopursuit.strategies.generative.gains import FiniteGains
from infopursuit.strategies.generative.particles import ParticleGains
from infopursuit.strategies.generative.pruned import PrunedBelief
from infopursuit.strategies.generative.pruned_gains import PrunedGains
from infopursuit.support.threads import thread_limit
from infopursuit.support.types import UNKNOWN
from quadrature import Known, small_vae, told, updated
from unlimited import utilities

ALL = pytest.mark.parametrize("kind", QUERIES)
ROUNDING = 5e-6
"""Of sums of some hundred float32."""


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(pruned, "BLOCK", 24)


def both(world, n_states=100, n_screened=5, seed=3):
    """The compiled gains, and those that they stand for."""
    settings = MutualInformation(False, n_states, n_screened, seed)
    return PrunedGains(world.pruned, settings), FiniteGains(world.particles, world.queries, settings, sampled=True)


def histories_of(world, rng, n=6, n_answers=4, unknown=0.1):
    """Histories of some inputs, from none to all of these answers; every one in a row of its own."""
    return [
        world.history(x, rng.permutation(len(world.queries))[: min(n_answers, len(world.queries) - 1)])[:k]
        for k, x in enumerate(world.inputs(rng, n, unknown=unknown))
    ]


def asked_of(world, history):
    asked = np.zeros((1, len(world.queries)), dtype=bool)
    asked[0, [query for query, _ in history]] = True
    return asked


def choose(gains, world, history, asked=None):
    """The choice after one history."""
    b = longer(world.pruned, world.pruned.init(), history)
    return choices(gains, b, told(world.queries, history), asked_of(world, history) if asked is None else asked)


def choices(gains, b, histories, asked):
    """The best query after each history, as the engine chooses it."""
    found, rows = utilities(gains, b, histories, ~asked), np.arange(len(histories))
    query, runner_up = Ranking.of(np.ones(asked.shape[1]), gains.tie).leaders(found.value)
    gain, error = (np.where(query == UNKNOWN, 0.0, each[rows, query]) for each in (found.value, found.error))
    return SimpleNamespace(query=query, gain=gain, error=error, runner_up=runner_up, tie=found.tie, gains=found.value)


def assert_agree(found, truth):
    """Where gains differ by no more than float32 rounds off, either may be screened, and chosen."""
    np.testing.assert_allclose(found.gain, truth.gain, rtol=0, atol=ROUNDING)
    for h in range(len(found.query)):
        if truth.query[h] != UNKNOWN and truth.gain[h] < ROUNDING:  # nothing is left to learn
            continue
        np.testing.assert_allclose(found.gains[h], truth.gains[h], rtol=0, atol=ROUNDING)
        first, second, third = (*-np.sort(-truth.gains[h]), np.nan, np.nan)[:3]  # not-a-number last
        if not first - second < 2 * ROUNDING:
            assert found.query[h] == truth.query[h]
            assert found.error[h] == pytest.approx(truth.error[h], rel=1e-3, abs=2e-6)
            if not second - third < 2 * ROUNDING:
                assert found.runner_up[h] == truth.runner_up[h]
                assert found.tie[h] == truth.tie[h]


# ---- against products -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_states", [40, 200, 507, 1000])
@ALL
def test_the_same_choice_after_every_history(kind, n_states):
    """Of all widths, of one variable too; on some draws, and on all that are left; where pixels are known from patches
    that overlap, and where parts of answers are not known."""
    world, rng = decoded(kind, block=24), np.random.default_rng(0)
    fast, slow = both(world, n_states)
    for history in histories_of(world, rng):
        found, truth = choose(fast, world, history), choose(slow, world, history)
        assert_agree(found, truth)
        assert found.query[0] not in [query for query, _ in history]
        if truth.gain[0] > ROUNDING:
            assert found.error[0] > 0


@pytest.mark.parametrize("n_screened", [1, 3, 9, 64])
def test_the_same_queries_are_left_out(n_screened):
    """Those about one variable never are."""
    world, rng = decoded("all widths"), np.random.default_rng(1)
    fast, slow = both(world, n_screened=n_screened)
    narrow = (world.queries.query_variables >= 0).sum(axis=1) == 1
    for history in histories_of(world, rng):
        found = choose(fast, world, history)
        assert_agree(found, choose(slow, world, history))
        known, asked = ~np.isnan(found.gains[0]), asked_of(world, history)[0]
        assert known[narrow & ~asked].all()
        assert known[~narrow].sum() == min(n_screened, (~asked & ~narrow).sum())
        assert not known[asked].any()


def test_screening_that_leaves_nothing_out_of_several_variables():
    """Nothing is left where nothing may be looked at, and nothing is written where there is no room."""
    world = decoded("patches")
    fast, slow = both(world, n_screened=0)
    found = choose(fast, world, [])
    assert_agree(found, choose(slow, world, []))
    assert found.query[0] == UNKNOWN


@pytest.mark.parametrize("width", [1, 2, 3, 4, 9])
def test_patches_of_which_some_pixels_are_known(width):
    """From none to all of them, in a history of single answers; a query of which all is known gains nothing."""
    rng = np.random.default_rng(width)
    variables = rng.permutation(16)[:width].tolist()
    world = decoded("alone", seed=2)
    queries = asking([*[[a] for a in range(16)], variables, [(variables[0] + 1) % 16, 3]])
    world = Decoded(world.particles, queries)
    fast, slow = both(world, n_states=150)
    x = world.inputs(rng, 2)[1]
    for k in range(width + 1):
        history = world.history(x, variables[:k])
        found = choose(fast, world, history)
        assert_agree(found, choose(slow, world, history))
        if k < width:
            assert found.gains[0, 16] > 1e-4
    assert found.gains[0, 16] == pytest.approx(0, abs=2e-6)


def test_draws_of_next_to_no_weight():
    """On all draws, where some classes weigh as little as a float32 can hold."""
    world, rng = decoded("nines", scale=40.0), np.random.default_rng(4)
    fast, slow = both(world, n_states=507)
    for history in histories_of(world, rng, 8, 3, unknown=0.0):
        found = choose(fast, world, history)
        assert np.isfinite([found.gain[0], found.error[0]]).all()
        assert_agree(found, choose(slow, world, history))


def test_gains_are_those_of_all_draws_within_their_error():
    """Control: another seed draws otherwise, within the error that is told; and more draws have less of it."""
    world = decoded("patches", sizes=(500, 500, 500))
    history = world.history(world.inputs(np.random.default_rng(5), 2)[1], [4])
    every = choose(both(world, n_states=2000, n_screened=9)[0], world, history)
    off, errors = [], []
    for seed in range(20):
        found = choose(both(world, n_states=150, n_screened=9, seed=seed)[0], world, history)
        off.append((found.gain[0] - every.gains[0, found.query[0]]) / found.error[0])
        errors.append(found.error[0])
    assert len(set(off)) > 15
    assert np.abs(off).max() < 4
    assert np.mean(errors) > every.error[0] > 0


# ---- ties and ends --------------------------------------------------------------------------------------------------


def test_nothing_left_to_ask():
    for kind in ("alone", "patches"):
        world = decoded(kind)
        found = choose(both(world)[0], world, [], np.ones((1, len(world.queries)), dtype=bool))
        assert (found.query[0], found.runner_up[0]) == (UNKNOWN, UNKNOWN)
        assert (found.gain[0], found.error[0], found.tie[0]) == (0, 0, False)
        assert np.isnan(found.gains).all()
        assert_agree(found, choose(both(world)[1], world, [], np.ones((1, len(world.queries)), dtype=bool)))


def test_the_last_query_has_no_second():
    world = decoded("patches")
    asked = np.ones((1, 9), dtype=bool)
    asked[0, 4] = False
    found = choose(both(world)[0], world, [], asked)
    assert (found.query[0], found.runner_up[0], found.tie[0]) == (4, UNKNOWN, False)
    assert found.gain[0] > 0
    assert found.error[0] > 0
    assert_agree(found, choose(both(world)[1], world, [], asked))


def test_a_copy_is_a_tie_that_the_lowest_wins_and_a_clear_lead_is_none():
    world = decoded("alone")
    gains = choose(both(world, 1000)[0], world, []).gains[0]
    order = np.argsort(-gains).tolist()
    for variables, tie in (([order[0], order[0], order[-1]], True), ([order[-1], order[0], order[-2]], False)):
        for wider in ([], [order[1]]):
            other = Decoded(world.particles, asking([*[[a, *wider] for a in variables], *[[a] for a in range(16)]]))
            asked = np.zeros((1, 19), dtype=bool)
            asked[0, 3:] = True
            found = choose(both(other, 1000)[0], other, [], asked)
            assert found.query[0] == (0 if tie else 1)
            if tie:
                assert found.runner_up[0] == 1
            if tie or not wider:
                assert bool(found.tie[0]) == tie
            assert_agree(found, choose(both(other, 1000)[1], other, [], asked))


# ---- one at a time and together -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_many_histories_together_are_each_alone(n_threads):
    """Whatever rows are beside it and in whatever order."""
    world, rng = decoded("all widths", block=24), np.random.default_rng(6)
    fast, _ = both(world)
    n = 37
    queries = rng.integers(10, size=n)
    answers = world.queries.answers_of(world.inputs(rng, n, unknown=0.1), queries)
    b = updated(world.pruned, world.pruned.init(), np.zeros(n, dtype=np.int64), queries, answers)
    histories = Histories(world.queries, queries[:, None], answers[:, None])
    asked = np.arange(10) == queries[:, None]
    order = rng.permutation(n)[:23]
    with thread_limit(n_threads):
        together = choices(fast, b, histories, asked)
        turned = choices(fast, b.take(order), histories.take(order), asked[order])
    assert_same(turned, slice(None), together, order)
    for h in range(n):
        one = slice(h, h + 1)
        assert_same(choices(fast, b.take(one), histories.take(one), asked[one]), slice(None), together, one)
    assert len(set(together.gain.round(9).tolist())) > 20


def assert_same(one, i, two, j):
    for name in ("query", "runner_up", "tie"):
        np.testing.assert_array_equal(getattr(one, name)[i], getattr(two, name)[j])
    for name in ("gain", "error", "gains"):
        np.testing.assert_allclose(getattr(one, name)[i], getattr(two, name)[j], rtol=0, atol=1e-6)


# ---- a whole pursuit ------------------------------------------------------------------------------------------------

KNOWN = Known(small_vae((2,) * 16, 2, seed=1, scale=6.0), ip.queries.patches((4, 4), size=2), 21)
SETTINGS = SMC(n_draws=5600, min_ess=0)
ON_SOME = {"exact_gains": False, "n_states": 256, "n_screened": 5}


@pytest.fixture(scope="module")
def pursuit():
    """On enough particles that they are pruned."""
    return KNOWN.pursuit(SETTINGS, ip.Confidence(0.05) | ip.MaxQueries(5), **ON_SOME)


def test_many_particles_are_pruned_and_few_are_not(pursuit):
    belief, settings = pursuit.belief, pursuit.acquisition
    assert belief.particles.n_states > pruned.MANY
    assert isinstance(belief.shared, PrunedBelief)
    assert isinstance(belief.gains(settings, None, None)._shared, PrunedGains)
    small = KNOWN.pursuit(SMC(n_draws=50), **ON_SOME).belief
    assert not isinstance(small.shared, PrunedBelief)
    assert isinstance(small.gains(settings, None, None)._shared, FiniteGains)
    # gains on all draws are not those of the kernels
    assert isinstance(ParticleGains(belief, MutualInformation(exact=True), None, None)._shared, FiniteGains)


def test_a_batch_and_one_by_one_are_the_same_pursuit(pursuit):
    values = KNOWN.inputs(12, seed=1, unknown=0.05)
    batch = pursuit.run_values(values)
    fresh = KNOWN.pursuit(SETTINGS, ip.Confidence(0.05) | ip.MaxQueries(5), memory_limit=3_000_000, **ON_SOME)
    turned = fresh.run_values(values[::-1])
    names = ("queries", "answers", "posteriors", "posterior_errors", "gains", "gain_errors", "runners_up", "ties")
    for i, x in enumerate(values):
        alone = fresh.run_values(x[None])
        k = int(batch.length[i])
        for other, j in ((alone, 0), (turned, len(values) - 1 - i)):
            assert other.length[j] == k
            assert other.stop_reason[j] == batch.stop_reason[i]
            for name in names:
                upto = k + 1 if name.startswith("posterior") else k
                atol = 1e-5 if "posterior" in name or "gain" in name else 0
                np.testing.assert_allclose(
                    getattr(other, name)[j, :upto], getattr(batch, name)[i, :upto], rtol=0, atol=atol
                )
    assert batch.length.max() > 2
    assert (batch.posterior_errors < 0.1).all()


def test_the_posteriors_of_a_pursuit_are_those_of_the_exact_weights(pursuit, monkeypatch):
    """Along the same histories, of inputs that the model expects; and where both are asked, the next query has about
    the same gain."""
    monkeypatch.setattr(PrunedBelief, "serves", staticmethod(lambda states, queries: False))
    truth = KNOWN.pursuit(SETTINGS, ip.Confidence(0.05) | ip.MaxQueries(5), **ON_SOME)
    assert not isinstance(truth.belief.shared, PrunedBelief)
    values = KNOWN.inputs(12, seed=2)
    trace, off = pursuit.run_values(values), []
    for i in range(len(values)):
        history = trace.history(i)
        for k in range(len(history) + 1):
            off.append(np.abs(truth.believe(history[:k]) - trace.posteriors[i, k]).max())
    assert 0 < max(off) < 3e-3
    assert np.mean(off) < 5e-4
    other = truth.run_values(values)
    np.testing.assert_array_equal(other.queries[:, 0], trace.queries[:, 0])
    np.testing.assert_allclose(other.gains[:, 0], trace.gains[:, 0], rtol=0, atol=2e-6)
    assert (other.predictions == trace.predictions).mean() > 0.8


def test_a_contradiction_is_refused(pursuit):
    """Patches 0 and 1 share two pixels."""
    assert pursuit.session([(0, (1, 1, 1, 1)), (1, (1, 0, 1, 0))]).question is not None
    with pytest.raises(ip.ImpossibleAnswer):
        pursuit.session([(0, (1, 1, 1, 1)), (1, (0, 0, 0, 0))])
