"""Pruned enumeration: the exact posterior, but for what is pruned, and that is bounded."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from decoded import QUERIES, Decoded, decoded, longer
from infopursuit.models.finite import segments, softmax
from infopursuit.strategies import SMC
from infopursuit.strategies.generative import particles, pruned
from infopursuit.strategies.generative.exact import weight_ess
from infopursuit.strategies.generative.particles import Particles, ParticleState, stratified_prior
from infopursuit.strategies.generative.pruned import PrunedBelief
from infopursuit.support.threads import thread_limit
from infopursuit.support.types import UNKNOWN
from quadrature import mixed, posterior_of, small_vae, updated, yes_no
from worlds import Given

ALL = pytest.mark.parametrize("kind", QUERIES)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """More blocks than are worked on before the next history's turn."""
    monkeypatch.setattr(pruned, "BLOCK", 24)


@pytest.fixture
def nothing_pruned(monkeypatch):
    monkeypatch.setattr(pruned, "SHARE", 0.0)


def assert_agree(world, belief, truth):
    """A state of which nothing was pruned says what the exact posterior says."""
    np.testing.assert_array_equal(belief.evidence, truth.evidence)
    joint, expected = world.pruned.log_joint(belief), truth.log_joint
    # below, a weight may have been nothing in a float32 since the history was this much more probable
    least = np.logaddexp.reduce(expected, axis=1, keepdims=True) + np.log(pruned.FAINTEST) + pruned.DROP
    counts = expected > least + 10
    np.testing.assert_allclose(joint[counts], expected[counts], rtol=0, atol=1e-5)
    ess, true = world.pruned.class_ess(belief), world.exact.class_ess(truth)
    np.testing.assert_allclose(ess[counts], true[counts], rtol=1e-5)
    np.testing.assert_allclose(posterior_of(world.pruned, belief), posterior_of(world.exact, truth), rtol=0, atol=1e-6)
    weights, expected = belief.log_weights, truth.log_weights
    counts = np.isfinite(weights)
    # the logarithms that the exact posterior adds up are float32 themselves
    np.testing.assert_allclose(weights[counts], expected[counts], rtol=2e-7, atol=1e-5)
    assert (np.where(counts, -np.inf, expected) <= least).all()


def row_of(belief, h):
    """All that a belief says of one history, wherever it is kept."""
    w, row = belief.weights, belief.row[h]
    mine = slice(w.begin[row], w.end[row])
    sizes = np.diff(belief.bounds)[w.blocks[mine]]
    values = [w.values[a : a + n] for a, n in zip(w.starts[mine], sizes, strict=True)]
    names = ("totals", "class_sums", "class_squares", "pruned", "log_total", "log_whole")
    return [np.concatenate(values), w.blocks[mine], w.sums[mine], belief.seen[h], *(getattr(w, n)[row] for n in names)]


def assert_same(one, i, two, j):
    """The same blocks and answers, and the same weights up to rounding."""
    assert_rows_agree(row_of(one, i), row_of(two, j))


def assert_rows_agree(one, two):
    for mine, other in zip(one, two, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-30)


# ---- against the exact posterior ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_pruned")
@pytest.mark.parametrize("unknown", [0.0, 0.2])
@ALL
def test_the_same_posterior_along_every_history(kind, unknown):
    """Queries of every width, patches that overlap, answers of which a part is not known, some of them unlikely."""
    world, rng = decoded(kind), np.random.default_rng(0)
    for x in world.inputs(rng, 5, unknown=unknown):
        belief, truth = world.pruned.init(), world.exact.init()
        assert_agree(world, belief, truth)
        for step in world.history(x, rng.permutation(len(world.queries))[:8]):
            belief, truth = longer(world.pruned, belief, [step]), longer(world.exact, truth, [step])
            assert_agree(world, belief, truth)


@pytest.mark.usefixtures("nothing_pruned")
def test_a_class_that_cannot_be_has_no_weight():
    world, rng = decoded("patches", prior=[0.4, 0.0, 0.6]), np.random.default_rng(1)
    for x in world.inputs(rng, 3):
        history = world.history(x, rng.permutation(9)[:3])
        belief, truth = (
            longer(world.pruned, world.pruned.init(), history),
            longer(world.exact, world.exact.init(), history),
        )
        assert_agree(world, belief, truth)
        assert np.isneginf(world.pruned.log_joint(belief)[0, 1])
        assert posterior_of(world.pruned, belief)[0, 1] == 0


@pytest.mark.usefixtures("nothing_pruned")
def test_the_same_answer_again_and_one_that_is_not_known_teach_nothing():
    world, rng = decoded("patches"), np.random.default_rng(2)
    history = world.history(world.inputs(rng, 2)[1], [0, 4, 7])
    once = longer(world.pruned, world.pruned.init(), history)
    for more in (history, [(2, None)], [(1, (-1,) * 4), (0, None)]):
        again = longer(world.pruned, once, more)
        np.testing.assert_allclose(again.log_weights, once.log_weights, rtol=0, atol=3e-7)
        np.testing.assert_allclose(world.pruned.log_joint(again), world.pruned.log_joint(once), atol=3e-7)
        np.testing.assert_array_equal(again.seen, once.seen)


def test_what_contradicts_a_seen_variable_is_impossible():
    """A row that cannot be has no posterior; those beside it are what they are alone."""
    world = decoded("patches")
    first = (1, 0, 1, 1)  # pixels 0, 1, 4 and 5
    start = longer(world.pruned, world.pruned.init(), [(0, first)])
    # query 1 asks about the pixels 1, 2, 5 and 6
    answers = np.array([(0, 1, 1, 1), (1, 1, 1, 1), (0, 1, 0, -1), (-1, 1, 0, 1), (-1, -1, 1, -1)])
    impossible = np.array([False, True, True, False, False])
    parents, queries = np.zeros(5, dtype=np.int64), np.ones(5, dtype=np.int64)
    together = updated(world.pruned, start, parents, queries, answers)
    found = posterior_of(world.pruned, together)
    assert np.isnan(found[impossible]).all()
    assert (world.pruned.class_ess(together)[impossible] == 0).all()
    exact = longer(world.exact, world.exact.init(), [(0, first)])
    truth = updated(world.exact, exact, parents, queries, answers)
    assert np.isneginf(truth.log_joint[impossible]).all()
    np.testing.assert_allclose(
        found[~impossible], posterior_of(world.exact, truth)[~impossible], rtol=0, atol=4 * pruned.SHARE
    )
    for h in np.flatnonzero(~impossible):
        assert_same(together, h, longer(world.pruned, start, [(1, tuple(answers[h].tolist()))]), 0)


# ---- improbable histories -------------------------------------------------------------------------------------------


def unlikely(world, rng):
    """An input that no draw of a steep decoder looks like."""
    values = rng.integers(2, size=(100, 16))
    yes, one = world.particles.by_state.T, values[:, :, None]
    log_probs = np.log(np.where(one == 1, yes, 1 - yes)).sum(axis=1)  # (100, S)
    return values[log_probs.max(axis=1).argmin()]


@pytest.mark.parametrize("kind", ["patches", "nines"])
def test_a_history_that_has_become_improbable_is_weighed_anew(kind, nothing_pruned):
    """Draws that weighed nothing within a float32 come to weigh something."""
    world, rng = decoded(kind, scale=60.0), np.random.default_rng(3)
    anew = 0
    for _ in range(6):
        belief, truth = world.pruned.init(), world.exact.init()
        for step in world.history(unlikely(world, rng), rng.permutation(len(world.queries))):
            belief, truth = longer(world.pruned, belief, [step]), longer(world.exact, truth, [step])
            w = belief.weights
            assert w.log_total[0] >= w.log_whole[0] - pruned.DROP
            anew += w.log_whole[0] == w.log_total[0] < -pruned.DROP
            assert_agree(world, belief, truth)
    assert anew >= 4


def test_draws_that_weighed_nothing_come_back(monkeypatch):
    """Eight answers that only one class gives, and then eight that only another gives. Without weighing anew, the
    control, that other class is gone for good."""
    world = decoded("alone", sizes=(30, 30, 30), prior=[0.5, 0.5, 0.0])
    opposed = np.full((90, 16), 1e-6, dtype=np.float32)
    opposed[:30] = 1 - opposed[:30]
    world.particles.by_state, world.particles.probs = opposed, np.ascontiguousarray(opposed.T)
    history = [(a, (1,)) for a in range(8)] + [(a, (0,)) for a in range(8, 16)]
    truth = posterior_of(world.exact, longer(world.exact, world.exact.init(), history))
    assert (truth[0, :2] > 0.3).all()
    never = np.inf
    for drop, unexpected, right in (
        (pruned.DROP, never, True),
        (never, never, False),
        (never, pruned.UNEXPECTED, True),
    ):
        monkeypatch.setattr(pruned, "DROP", drop)
        monkeypatch.setattr(pruned, "UNEXPECTED", unexpected)
        first = longer(world.pruned, world.pruned.init(), history[:8])
        assert first.weights.class_sums[0, 1] == 0
        found = posterior_of(world.pruned, longer(world.pruned, first, history[8:]))
        assert np.allclose(found, truth, rtol=0, atol=1e-5) == right


def test_what_is_weighed_anew_has_lost_nothing():
    """Blocks that were let go come back with it; then the history goes on as any other."""
    world, rng = decoded("patches", scale=20.0), np.random.default_rng(4)
    found = 0
    for _ in range(10):
        x, belief, truth = unlikely(world, rng), world.pruned.init(), world.exact.init()
        for step in world.history(x, rng.permutation(9)):
            before, belief = belief, longer(world.pruned, belief, [step])
            truth = longer(world.exact, truth, [step])
            w = belief.weights
            if w.log_whole[0] != before.weights.log_whole[0]:
                found += before.weights.pruned.sum() > 0
                assert (w.pruned == 0).all()
                assert w.end[0] - w.begin[0] == len(world.pruned.block_class)
                assert_agree(world, belief, truth)
    assert found >= 3


# ---- pruning --------------------------------------------------------------------------------------------------------


def steps(world, rng, n_inputs=4, n_answers=5):
    """Beliefs before and after an answer, along some histories, with that answer."""
    for x in world.inputs(rng, n_inputs):
        belief = world.pruned.init()
        for step in world.history(x, rng.permutation(len(world.queries))[:n_answers]):
            before, belief = belief, longer(world.pruned, belief, [step])
            yield before, belief, step


def n_blocks(belief, h=0):
    return int(belief.weights.end[belief.row[h]] - belief.weights.begin[belief.row[h]])


@pytest.mark.parametrize("share", [3e-4, 1e-2])
@pytest.mark.parametrize("kind", ["alone", "patches"])
def test_no_answer_prunes_more_than_the_share(kind, share, monkeypatch):
    """And what it lets go of stays with its class: at that answer no posterior moves at all, up to share squared."""
    monkeypatch.setattr(pruned, "SHARE", share)
    world, rng = decoded(kind, block=24), np.random.default_rng(5)
    fewer = 0
    for before, after, step in steps(world, rng):
        lost = after.weights.pruned[0] - before.weights.pruned[0]
        assert (lost >= 0).all()
        assert lost.sum() <= share * (1 + 1e-9)
        monkeypatch.setattr(pruned, "SHARE", 0.0)
        kept = longer(world.pruned, before, [step])
        monkeypatch.setattr(pruned, "SHARE", share)
        moved = np.abs(posterior_of(world.pruned, after) - posterior_of(world.pruned, kept)).max()
        assert moved <= 2 * share * max(share, after.weights.pruned[0].sum())
        assert n_blocks(after) <= n_blocks(kept) == n_blocks(before)
        fewer += n_blocks(after) < n_blocks(kept)
        # class by class: what the blocks that are gone weighed, of all that there was
        weights = softmax(kept.log_weights[0], axis=0)
        gone = np.isneginf(after.log_weights[0]) & (weights > 0)
        by_class = [weights[a:b][gone[a:b]].sum() for a, b in segments(world.particles.offsets)]
        np.testing.assert_allclose(lost, by_class, rtol=1e-5, atol=1e-12)
        # all others are as they were, and lie in blocks that weigh no less than those that went
        np.testing.assert_allclose(after.log_weights[0][~gone], kept.log_weights[0][~gone], rtol=0, atol=1e-6)
        blocks = kept.weights.sums[kept.weights.begin[0] : kept.weights.end[0]]
        left = np.isin(kept.weights.blocks[: n_blocks(kept)], after.weights.blocks[: n_blocks(after)])
        assert blocks[~left].max(initial=0) <= blocks[left].min()
    assert fewer > 5


def test_blocks_go_one_answer_after_the_other():
    """Most states are gone after a few answers, where draws that are alike lie together."""
    left = {}
    for block in (24, None):
        world = decoded("patches", sizes=(480, 480, 480), block=block)
        found = [n_blocks(after) for _, after, _ in steps(world, np.random.default_rng(6), 6)]
        left[block] = np.mean(np.reshape(found, (6, 5)), axis=0) / len(world.pruned.block_class)
        assert (np.diff(left[block]) <= 0).all()
    assert left[24][-1] < 0.35
    assert left[24][-1] < 0.7 * left[None][-1]


def expected_error(world, history, query):
    """How far posteriors are off after one more answer, the mean over all its answers by their probability."""
    belief, truth = longer(world.pruned, world.pruned.init(), history), longer(world.exact, world.exact.init(), history)
    answers = np.array(list(itertools.product([0, 1], repeat=4)))
    known = truth.evidence[0].reshape(16, 2)[world.queries.query_variables[query]]  # (4, 2)
    answers = answers[[all(known[w, v] == 0 for w, v in enumerate(a)) for a in answers]]
    rows, queries = np.zeros(len(answers), dtype=np.int64), np.full(len(answers), query)
    found = updated(world.pruned, belief, rows, queries, answers)
    joint = updated(world.exact, truth, rows, queries, answers).log_joint
    p = softmax(np.logaddexp.reduce(joint, axis=1), axis=0)
    off = np.abs(posterior_of(world.pruned, found) - softmax(joint, axis=1)).sum(axis=1) / 2
    return float(p @ off), belief.weights.pruned.sum()


def test_posteriors_are_off_by_no_more_than_what_was_pruned(monkeypatch):
    """On average over the histories and answers that the model expects; a single history may be off by more. With a
    large share, the control, they are off by much more than with the small one."""
    found = {}
    for share in (3e-4, 3e-2):
        monkeypatch.setattr(pruned, "SHARE", share)
        world, rng, off, gone = decoded("patches", block=24), np.random.default_rng(7), [], []
        for x in np.delete(world.inputs(rng, 40), np.s_[::4], axis=0):  # those drawn from the model
            *asked, query = rng.permutation(9)[:4].tolist()
            error, lost = expected_error(world, world.history(x, asked), query)
            off.append(error)
            gone.append(lost)
        assert 0 < np.mean(off) <= 2 * np.mean(gone)
        found[share] = np.mean(off)
    assert found[3e-4] < 1e-3 < 5e-3 < found[3e-2]


@pytest.mark.parametrize("share", [3e-4, 5e-2])
def test_effective_draws_are_those_that_are_left(share, monkeypatch):
    """None in a class that was let go altogether: no remainder of rounding stands for it, and errors are those of a
    class of which nothing is known."""
    monkeypatch.setattr(pruned, "SHARE", share)
    world, rng, without = decoded("patches", block=24), np.random.default_rng(8), 0
    belief = SMC(n_draws=60).build(small_vae((2,) * 16, 2, seed=1), world.queries)
    belief.particles, belief.shared, belief.pruned = world.particles, world.pruned, True
    for _, after, _ in steps(world, rng, 20):
        parts = [weight_ess(after.log_weights[:, a:b]) for a, b in segments(world.particles.offsets)]
        expected = np.stack(parts, axis=1)
        np.testing.assert_allclose(world.pruned.class_ess(after), expected, rtol=1e-5)
        without += (expected == 0).any()
        p = posterior_of(world.pruned, after)
        errors = belief.log_posterior(ParticleState(after, (None,), (b"",), {0: None})).error
        assert (errors <= p * 1.5).all()
    assert without > 5


def test_states_that_were_pruned_are_drawn_anew(monkeypatch):
    """A class of little mass none of whose draws are left still has draws to begin from: all of them, by weight."""
    monkeypatch.setattr(pruned, "SHARE", 1e-2)
    for module in (pruned, particles):
        monkeypatch.setattr(module, "MANY", 500)
    world, rng = decoded("patches"), np.random.default_rng(9)
    belief = SMC(n_draws=300, n_own=32, n_moves=1).build(small_vae((2,) * 16, 2, seed=1, scale=6.0), world.queries)
    assert isinstance(belief.shared, PrunedBelief)
    world, found = Decoded(belief.particles, world.queries), 0
    for x in world.inputs(rng, 12):
        history = world.history(x, rng.permutation(9)[:3])
        one = ParticleState(longer(belief.shared, belief.shared.init(), history), (None,), (b"",), {})
        worth = belief._worth(belief.log_posterior(one).value[0])
        gone = [c for c in worth if (one.shared.weights.class_sums[0, c]) == 0]
        truth = longer(world.exact, world.exact.init(), history)
        source, mine = belief.source(one, 0)
        assert source is belief.particles
        for c, (a, b) in enumerate(segments(source.offsets)):
            if c in worth:
                expected = softmax(truth.log_weights[0, a:b])
                np.testing.assert_allclose(softmax(mine.log_weights[0, a:b]), expected, rtol=1e-4, atol=1e-7)
        for c in gone:
            found += 1
            own = belief._renew(one, 0)
            mine = slice(*segments(own.particles.offsets)[c])
            assert len(np.unique(own.particles.family[mine])) > 1
    assert found > 1


# ---- one at a time and together -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2])
def test_many_histories_together_are_each_alone(n_threads, monkeypatch):
    """Whatever rows are beside it, in whatever order, with other parents, queries and widths; some
    impossible, and some so improbable that they are weighed anew."""
    monkeypatch.setattr(pruned, "DROP", 15.0)
    world, rng = decoded("all widths", block=24, scale=30.0), np.random.default_rng(10)
    belief, n = world.pruned, 40
    first = [world.history(x, rng.permutation(10)[:1]) for x in world.inputs(rng, 6)]
    queries_, answers_ = np.array([h[0][0] for h in first]), np.array([h[0][1] for h in first])
    parents_ = updated(belief, belief.init(), np.zeros(6, dtype=np.int64), queries_, answers_)
    parents, queries = rng.integers(6, size=n), rng.integers(10, size=n)
    values = world.inputs(rng, n, unknown=0.1)
    values[:8] = [unlikely(world, rng) for _ in range(8)]
    answers = world.queries.answers_of(values, queries)
    before = [row_of(parents_, h) for h in range(6)]
    with thread_limit(n_threads):
        together = updated(belief, parents_, parents, queries, answers)
        order = rng.permutation(n)[:25]
        turned = updated(belief, parents_, parents[order], queries[order], answers[order])
    w = together.weights
    assert np.isneginf(w.log_total).any()
    assert (w.log_whole[np.isfinite(w.log_total)] < -pruned.DROP).any()
    assert (w.end - w.begin < len(belief.block_class)).any()
    for i, h in enumerate(order):
        assert_same(turned, i, together, h)
    for h in range(n):
        one = slice(h, h + 1)
        assert_same(updated(belief, parents_, parents[one], queries[one], answers[one]), 0, together, h)
        parent = parents_.take(slice(parents[h], parents[h] + 1))
        alone = updated(belief, parent, np.zeros(1, dtype=np.int64), queries[one], answers[one])
        assert_same(alone, 0, together, h)
    for h in range(6):  # and parents are what they were
        assert_rows_agree(row_of(parents_, h), before[h])
    for read in (belief.log_joint, belief.class_ess, lambda b: b.evidence):
        np.testing.assert_allclose(read(together)[order], read(turned), rtol=1e-6)


@pytest.mark.parametrize("rows", [slice(1, 3), [2, 0], np.array([False, True, True]), np.array([2, 2, 1])])
def test_some_of_the_histories(rows):
    world = decoded("alone")
    answers = np.array([[0], [1], [1]])
    belief = updated(world.pruned, world.pruned.init(), np.zeros(3, dtype=np.int64), np.array([3, 3, 5]), answers)
    some = belief.take(rows)
    index = np.arange(3)[rows]
    assert len(some) == len(index)
    for i, h in enumerate(index):
        assert_same(some, i, belief, h)
        np.testing.assert_allclose(world.pruned.log_joint(some)[i], world.pruned.log_joint(belief)[h], rtol=1e-9)
        np.testing.assert_allclose(some.log_weights[i], belief.log_weights[h], rtol=1e-9)
        np.testing.assert_array_equal(some.evidence[i], belief.evidence[h])
    longer_ = updated(world.pruned, some, np.array([0]), np.array([9]), np.array([[1]]))
    same = updated(world.pruned, belief, index[:1], np.array([9]), np.array([[1]]))
    assert_same(longer_, 0, same, 0)


@pytest.mark.usefixtures("nothing_pruned")
@pytest.mark.parametrize("n", [3, 15, 16, 17, 32])
def test_every_block_is_weighed(n):
    """As many as are worked on before the next history's turn, twice as many, and one more or fewer."""
    world, history = decoded("patches", sizes=(24 * (n - 2), 1, 24)), [(0, (1, 0, 1, 1))]
    assert len(world.pruned.block_class) == n
    assert_agree(
        world, longer(world.pruned, world.pruned.init(), history), longer(world.exact, world.exact.init(), history)
    )


def test_blocks_cover_each_class_and_no_block_has_draws_of_two():
    world = decoded("alone", sizes=(24, 25, 1))
    assert world.pruned.bounds.tolist() == [0, 24, 48, 49, 50]
    assert world.pruned.block_class.tolist() == [0, 1, 1, 2]


# ---- whom it serves -------------------------------------------------------------------------------------------------


def test_it_serves_many_yes_no_particles(monkeypatch):
    def serves(known, n_draws=40, dtype=torch.float32, queries=None):
        model = known.model.to(dtype=dtype)
        drawn = Particles(model, *stratified_prior(model, n_draws, torch.Generator().manual_seed(0)))
        return PrunedBelief.serves(drawn, queries or known.queries)

    assert not serves(yes_no(2))
    monkeypatch.setattr(pruned, "MANY", 100)
    assert serves(yes_no(2))
    assert not serves(yes_no(2), n_draws=33)
    assert not serves(yes_no(2), dtype=torch.float64)
    assert not serves(mixed(2))
    turned = Given(["not a", "b"], (2,) * 6, [[0], [1]], [[[1, 0]], [[0, 1]]])
    assert not serves(yes_no(2), queries=turned)


def test_weights_and_beliefs_cannot_be_changed():
    belief = decoded("alone").pruned.init()
    for thing, name in ((belief, "row"), (belief.weights, "values")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, None)
    assert belief.seen.tolist() == [[UNKNOWN] * 16]
