"""The weights of a bank of yes/no draws: the exact posterior's, but for what is let go, and that is bounded."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from banks import QUERIES, Banked, banked, longer, posteriors_of
from infopursuit.beliefs import SMC, bank, loops, sampled
from infopursuit.beliefs.diagnostics import weight_ess
from infopursuit.beliefs.particles import Particles, ParticleState, stratified_prior
from infopursuit.beliefs.pruned import PrunedBelief
from infopursuit.models.finite import segments
from infopursuit.types import UNKNOWN
from quadrature import mixed, small_vae, yes_no
from worlds import Given

ALL = pytest.mark.parametrize("kind", QUERIES)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """More blocks than are worked on before the next history's turn."""
    monkeypatch.setattr(bank, "BLOCK", 24)


@pytest.fixture
def nothing_let_go(monkeypatch):
    monkeypatch.setattr(bank, "SHARE", 0.0)


def assert_agree(world, belief, truth):
    """A belief of the bank that has let go of nothing says what the exact posterior says."""
    np.testing.assert_array_equal(belief.evidence.numpy(), truth.evidence.numpy())
    joint, expected = world.bank.log_joint(belief).numpy(), world.exact.log_joint(truth).numpy()
    # below, a weight may have been nothing in a float32 since the history was this much more probable
    least = np.logaddexp.reduce(expected, axis=1, keepdims=True) + np.log(loops.LEAST) + bank.DROP
    counts = expected > least + 10
    np.testing.assert_allclose(joint[counts], expected[counts], rtol=0, atol=1e-5)
    ess, true = world.bank.class_ess(belief), world.exact.class_ess(truth)
    np.testing.assert_allclose(ess[counts], true[counts], rtol=1e-5)
    np.testing.assert_allclose(posteriors_of(world.bank, belief), posteriors_of(world.exact, truth), rtol=0, atol=1e-6)
    weights, expected = belief.log_weights.numpy(), truth.log_weights.numpy()
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
    names = ("totals", "class_sums", "class_squares", "lost", "log_total", "log_whole")
    return [np.concatenate(values), w.blocks[mine], w.sums[mine], belief.seen[h], *(getattr(w, n)[row] for n in names)]


def assert_same(one, i, two, j):
    """To the last bit."""
    for mine, other in zip(row_of(one, i), row_of(two, j), strict=True):
        np.testing.assert_array_equal(mine, other)


# ---- against the exact posterior ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_let_go")
@pytest.mark.parametrize("unknown", [0.0, 0.2])
@ALL
def test_the_same_posterior_along_every_history(kind, unknown):
    """Queries of every width, patches that overlap, answers of which a part is not known, some of them unlikely."""
    world, rng = banked(kind), np.random.default_rng(0)
    for x in world.inputs(rng, 5, unknown=unknown):
        belief, truth = world.bank.start(), world.exact.start()
        assert_agree(world, belief, truth)
        for step in world.history(x, rng.permutation(len(world.queries))[:8]):
            belief, truth = longer(world.bank, belief, [step]), longer(world.exact, truth, [step])
            assert_agree(world, belief, truth)


@pytest.mark.usefixtures("nothing_let_go")
def test_a_class_that_cannot_be_has_no_weight():
    world, rng = banked("patches", prior=[0.4, 0.0, 0.6]), np.random.default_rng(1)
    for x in world.inputs(rng, 3):
        history = world.history(x, rng.permutation(9)[:3])
        belief, truth = (
            longer(world.bank, world.bank.start(), history),
            longer(world.exact, world.exact.start(), history),
        )
        assert_agree(world, belief, truth)
        assert torch.isneginf(world.bank.log_joint(belief)[0, 1])
        assert posteriors_of(world.bank, belief)[0, 1] == 0


@pytest.mark.usefixtures("nothing_let_go")
def test_the_same_answer_again_and_one_that_is_not_known_teach_nothing():
    world, rng = banked("patches"), np.random.default_rng(2)
    history = world.history(world.inputs(rng, 2)[1], [0, 4, 7])
    once = longer(world.bank, world.bank.start(), history)
    for more in (history, [(2, None)], [(1, (-1,) * 4), (0, None)]):
        again = longer(world.bank, once, more)
        np.testing.assert_allclose(again.log_weights.numpy(), once.log_weights.numpy(), rtol=0, atol=3e-7)
        np.testing.assert_allclose(world.bank.log_joint(again).numpy(), world.bank.log_joint(once).numpy(), atol=3e-7)
        np.testing.assert_array_equal(again.seen, once.seen)


def test_what_contradicts_a_seen_variable_is_impossible():
    """A row that cannot be has no posterior; those beside it are what they are alone."""
    world = banked("patches")
    first = (1, 0, 1, 1)  # pixels 0, 1, 4 and 5
    start = longer(world.bank, world.bank.start(), [(0, first)])
    # query 1 asks about the pixels 1, 2, 5 and 6
    answers = np.array([(0, 1, 1, 1), (1, 1, 1, 1), (0, 1, 0, -1), (-1, 1, 0, 1), (-1, -1, 1, -1)])
    impossible = np.array([False, True, True, False, False])
    parents, queries = np.zeros(5, dtype=np.int64), np.ones(5, dtype=np.int64)
    together = world.bank.update(start, parents, queries, answers)
    found = posteriors_of(world.bank, together)
    assert np.isnan(found[impossible]).all()
    assert (world.bank.class_ess(together)[impossible] == 0).all()
    exact = longer(world.exact, world.exact.start(), [(0, first)])
    truth = world.exact.update(exact, parents, queries, answers)
    assert torch.isneginf(world.exact.log_joint(truth)[impossible]).all()
    np.testing.assert_allclose(
        found[~impossible], posteriors_of(world.exact, truth)[~impossible], rtol=0, atol=4 * bank.SHARE
    )
    for h in np.flatnonzero(~impossible):
        assert_same(together, h, longer(world.bank, start, [(1, tuple(answers[h].tolist()))]), 0)


# ---- improbable histories -------------------------------------------------------------------------------------------


def unlikely(world, rng):
    """An input that no draw of a steep decoder looks like."""
    values = rng.integers(2, size=(100, 16))
    yes, one = world.cloud.by_state.T.numpy(), values[:, :, None]
    log_probs = np.log(np.where(one == 1, yes, 1 - yes)).sum(axis=1)  # (100, S)
    return values[log_probs.max(axis=1).argmin()]


@pytest.mark.parametrize("kind", ["patches", "nines"])
def test_a_history_that_has_become_improbable_is_weighed_anew(kind, nothing_let_go):
    """Draws that weighed nothing within a float32 come to weigh something."""
    world, rng = banked(kind, scale=60.0), np.random.default_rng(3)
    anew = 0
    for _ in range(6):
        belief, truth = world.bank.start(), world.exact.start()
        for step in world.history(unlikely(world, rng), rng.permutation(len(world.queries))):
            belief, truth = longer(world.bank, belief, [step]), longer(world.exact, truth, [step])
            w = belief.weights
            assert w.log_total[0] >= w.log_whole[0] - bank.DROP
            anew += w.log_whole[0] == w.log_total[0] < -bank.DROP
            assert_agree(world, belief, truth)
    assert anew >= 4


def test_draws_that_weighed_nothing_come_back(monkeypatch):
    """Eight answers that only one class gives, and then eight that only another gives. Without weighing anew, the
    control, that other class is gone for good."""
    world = banked("alone", sizes=(30, 30, 30), prior=[0.5, 0.5, 0.0])
    opposed = torch.full((90, 16), 1e-6)
    opposed[:30] = 1 - opposed[:30]
    world.cloud.by_state, world.cloud.probs = opposed, opposed.T.contiguous()
    history = [(a, (1,)) for a in range(8)] + [(a, (0,)) for a in range(8, 16)]
    truth = posteriors_of(world.exact, longer(world.exact, world.exact.start(), history))
    assert (truth[0, :2] > 0.3).all()
    never = np.inf
    for drop, unexpected, right in ((bank.DROP, never, True), (never, never, False), (never, bank.UNEXPECTED, True)):
        monkeypatch.setattr(bank, "DROP", drop)
        monkeypatch.setattr(bank, "UNEXPECTED", unexpected)
        first = longer(world.bank, world.bank.start(), history[:8])
        assert first.weights.class_sums[0, 1] == 0
        found = posteriors_of(world.bank, longer(world.bank, first, history[8:]))
        assert np.allclose(found, truth, rtol=0, atol=1e-5) == right


def test_what_is_weighed_anew_has_lost_nothing():
    """Blocks that were let go come back with it; then the history goes on as any other."""
    world, rng = banked("patches", scale=20.0), np.random.default_rng(4)
    found = 0
    for _ in range(10):
        x, belief, truth = unlikely(world, rng), world.bank.start(), world.exact.start()
        for step in world.history(x, rng.permutation(9)):
            before, belief = belief, longer(world.bank, belief, [step])
            truth = longer(world.exact, truth, [step])
            w = belief.weights
            if w.log_whole[0] != before.weights.log_whole[0]:
                found += before.weights.lost.sum() > 0
                assert (w.lost == 0).all()
                assert w.end[0] - w.begin[0] == len(world.bank.block_class)
                assert_agree(world, belief, truth)
    assert found >= 3


# ---- letting go -----------------------------------------------------------------------------------------------------


def steps(world, rng, n_inputs=4, n_answers=5):
    """Beliefs before and after an answer, along some histories, with that answer."""
    for x in world.inputs(rng, n_inputs):
        belief = world.bank.start()
        for step in world.history(x, rng.permutation(len(world.queries))[:n_answers]):
            before, belief = belief, longer(world.bank, belief, [step])
            yield before, belief, step


def n_blocks(belief, h=0):
    return int(belief.weights.end[belief.row[h]] - belief.weights.begin[belief.row[h]])


@pytest.mark.parametrize("share", [3e-4, 1e-2])
@pytest.mark.parametrize("kind", ["alone", "patches"])
def test_no_answer_lets_go_of_more_than_the_share(kind, share, monkeypatch):
    """And what it lets go of stays with its class: at that answer no posterior moves at all, up to share squared."""
    monkeypatch.setattr(bank, "SHARE", share)
    world, rng = banked(kind, block=24), np.random.default_rng(5)
    fewer = 0
    for before, after, step in steps(world, rng):
        lost = after.weights.lost[0] - before.weights.lost[0]
        assert (lost >= 0).all()
        assert lost.sum() <= share * (1 + 1e-9)
        monkeypatch.setattr(bank, "SHARE", 0.0)
        kept = longer(world.bank, before, [step])
        monkeypatch.setattr(bank, "SHARE", share)
        moved = np.abs(posteriors_of(world.bank, after) - posteriors_of(world.bank, kept)).max()
        assert moved <= 2 * share * max(share, after.weights.lost[0].sum())
        assert n_blocks(after) <= n_blocks(kept) == n_blocks(before)
        fewer += n_blocks(after) < n_blocks(kept)
        # class by class: what the blocks that are gone weighed, of all that there was
        weights = torch.softmax(kept.log_weights[0], dim=0).numpy()
        gone = np.isneginf(after.log_weights[0].numpy()) & (weights > 0)
        by_class = [weights[a:b][gone[a:b]].sum() for a, b in segments(world.cloud.offsets)]
        np.testing.assert_allclose(lost, by_class, rtol=1e-5, atol=1e-12)
        # all others are as they were, and lie in blocks that weigh no less than those that went
        np.testing.assert_allclose(
            after.log_weights[0].numpy()[~gone], kept.log_weights[0].numpy()[~gone], rtol=0, atol=1e-6
        )
        blocks = kept.weights.sums[kept.weights.begin[0] : kept.weights.end[0]]
        left = np.isin(kept.weights.blocks[: n_blocks(kept)], after.weights.blocks[: n_blocks(after)])
        assert blocks[~left].max(initial=0) <= blocks[left].min()
    assert fewer > 5


def test_blocks_go_one_answer_after_the_other():
    """Most of the bank is gone after a few answers, where draws that are alike lie together."""
    left = {}
    for block in (24, None):
        world = banked("patches", sizes=(480, 480, 480), block=block)
        found = [n_blocks(after) for _, after, _ in steps(world, np.random.default_rng(6), 6)]
        left[block] = np.mean(np.reshape(found, (6, 5)), axis=0) / len(world.bank.block_class)
        assert (np.diff(left[block]) <= 0).all()
    assert left[24][-1] < 0.35
    assert left[24][-1] < 0.7 * left[None][-1]


def expected_error(world, history, query):
    """How far posteriors are off after one more answer, the mean over all its answers by their probability."""
    belief, truth = longer(world.bank, world.bank.start(), history), longer(world.exact, world.exact.start(), history)
    answers = np.array(list(itertools.product([0, 1], repeat=4)))
    known = truth.evidence[0].reshape(16, 2)[world.queries.query_variables[query]]  # (4, 2)
    answers = answers[[all(known[w, v] == 0 for w, v in enumerate(a)) for a in answers]]
    rows, queries = np.zeros(len(answers), dtype=np.int64), np.full(len(answers), query)
    found = world.bank.update(belief, rows, queries, answers)
    joint = world.exact.log_joint(world.exact.update(truth, rows, queries, answers))
    p = torch.softmax(torch.logsumexp(joint, dim=1), dim=0).numpy()
    off = np.abs(posteriors_of(world.bank, found) - torch.softmax(joint, dim=1).numpy()).sum(axis=1) / 2
    return float(p @ off), belief.weights.lost.sum()


def test_posteriors_are_off_by_no_more_than_what_was_let_go(monkeypatch):
    """On average over the answers that the model expects. With a large share, the control, they are off by much more
    than that of the small one."""
    found = {}
    for share in (3e-4, 3e-2):
        monkeypatch.setattr(bank, "SHARE", share)
        world, rng, off = banked("patches", block=24), np.random.default_rng(7), []
        for x in world.inputs(rng, 8)[1:]:
            *asked, query = rng.permutation(9)[:4].tolist()
            error, lost = expected_error(world, world.history(x, asked), query)
            assert error <= 2 * lost + 1e-6
            off.append(error)
        found[share] = max(off)
    assert 0 < found[3e-4] < 1e-3 < 4e-3 < found[3e-2]


@pytest.mark.parametrize("share", [3e-4, 5e-2])
def test_effective_draws_are_those_that_are_left(share, monkeypatch):
    """None in a class that was let go altogether: no remainder of rounding stands for it, and errors are those of a
    class of which nothing is known."""
    monkeypatch.setattr(bank, "SHARE", share)
    world, rng, without = banked("patches", block=24), np.random.default_rng(8), 0
    posterior = SMC(n_draws=60).build(small_vae((2,) * 16, 2, seed=1), world.queries)
    posterior.cloud, posterior.shared = world.cloud, world.bank
    for _, after, _ in steps(world, rng, 20):
        parts = [weight_ess(after.log_weights[:, a:b]) for a, b in segments(world.cloud.offsets)]
        expected = torch.stack(parts, dim=1).numpy()
        np.testing.assert_allclose(world.bank.class_ess(after), expected, rtol=1e-5)
        without += (expected == 0).any()
        p = posteriors_of(world.bank, after)
        errors = posterior.class_errors(ParticleState(after, (None,), (True,)))
        assert (errors <= p * 1.5).all()
    assert without > 5


def test_draws_that_were_let_go_are_drawn_anew(monkeypatch):
    """A class of little mass none of whose draws are left still has draws to begin from: all of them, by weight."""
    monkeypatch.setattr(bank, "SHARE", 1e-2)
    for module in (bank, sampled):
        monkeypatch.setattr(module, "MANY", 500)
    world, rng = banked("patches"), np.random.default_rng(9)
    posterior = SMC(n_draws=300, n_own=32, n_moves=1).build(small_vae((2,) * 16, 2, seed=1, scale=6.0), world.queries)
    assert isinstance(posterior.shared, PrunedBelief)
    world, found = Banked(posterior.cloud, world.queries), 0
    for x in world.inputs(rng, 12):
        history = world.history(x, rng.permutation(9)[:3])
        one = ParticleState(longer(posterior.shared, posterior.shared.start(), history), (None,), (False,))
        worth = posterior._worth(posterior.log_class(one)[0])
        gone = [c for c in worth if (one.shared.weights.class_sums[0, c]) == 0]
        truth = longer(world.exact, world.exact.start(), history)
        cloud, mine = posterior.source(one, 0)
        assert cloud is posterior.cloud
        for c, (a, b) in enumerate(segments(cloud.offsets)):
            if c in worth:
                torch.testing.assert_close(
                    torch.softmax(mine.log_weights[0, a:b], dim=0), torch.softmax(truth.log_weights[0, a:b], dim=0),
                    rtol=1e-4, atol=1e-7,
                )  # fmt: skip
        for c in gone:
            found += 1
            own = posterior._renew(one, 0, b"")
            mine = slice(*segments(own.cloud.offsets)[c])
            assert len(torch.unique(own.cloud.family[mine])) > 1
    assert found > 1


# ---- one at a time and together -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2])
def test_many_histories_together_are_each_alone(n_threads, monkeypatch):
    """To the last bit: whatever rows are beside it, in whatever order, with other parents, queries and widths; some
    impossible, and some so improbable that they are weighed anew."""
    monkeypatch.setattr(bank, "DROP", 15.0)
    world, rng = banked("all widths", block=24, scale=30.0), np.random.default_rng(10)
    bank_, n = world.bank, 40
    first = [world.history(x, rng.permutation(10)[:1]) for x in world.inputs(rng, 6)]
    queries_, answers_ = np.array([h[0][0] for h in first]), np.array([h[0][1] for h in first])
    parents_ = bank_.update(bank_.start(), np.zeros(6, dtype=np.int64), queries_, answers_)
    parents, queries = rng.integers(6, size=n), rng.integers(10, size=n)
    values = world.inputs(rng, n, unknown=0.1)
    values[:8] = [unlikely(world, rng) for _ in range(8)]
    answers = world.queries.answers_of(values, queries)
    before = [row_of(parents_, h) for h in range(6)]
    torch.set_num_threads(n_threads)
    try:
        together = bank_.update(parents_, parents, queries, answers)
        order = rng.permutation(n)[:25]
        turned = bank_.update(parents_, parents[order], queries[order], answers[order])
    finally:
        torch.set_num_threads(1)
    w = together.weights
    assert np.isneginf(w.log_total).any()
    assert (w.log_whole[np.isfinite(w.log_total)] < -bank.DROP).any()
    assert (w.end - w.begin < len(bank_.block_class)).any()
    for i, h in enumerate(order):
        assert_same(turned, i, together, h)
    for h in range(n):
        one = slice(h, h + 1)
        assert_same(bank_.update(parents_, parents[one], queries[one], answers[one]), 0, together, h)
        parent = parents_.take(slice(parents[h], parents[h] + 1))
        alone = bank_.update(parent, np.zeros(1, dtype=np.int64), queries[one], answers[one])
        assert_same(alone, 0, together, h)
    for h in range(6):  # and parents are what they were
        for mine, other in zip(row_of(parents_, h), before[h], strict=True):
            np.testing.assert_array_equal(mine, other)
    for read in (bank_.log_joint, bank_.class_ess, lambda belief: belief.evidence):
        np.testing.assert_array_equal(np.asarray(read(together))[order], np.asarray(read(turned)))


@pytest.mark.parametrize("rows", [slice(1, 3), [2, 0], np.array([False, True, True]), torch.tensor([2, 2, 1])])
def test_some_of_the_histories(rows):
    world = banked("alone")
    answers = np.array([[0], [1], [1]])
    belief = world.bank.update(world.bank.start(), np.zeros(3, dtype=np.int64), np.array([3, 3, 5]), answers)
    some = belief.take(rows)
    index = np.arange(3)[rows.numpy() if isinstance(rows, torch.Tensor) else rows]
    assert len(some) == len(index)
    for i, h in enumerate(index):
        assert_same(some, i, belief, h)
        np.testing.assert_array_equal(world.bank.log_joint(some)[i], world.bank.log_joint(belief)[h])
        np.testing.assert_array_equal(some.log_weights[i], belief.log_weights[h])
        np.testing.assert_array_equal(some.evidence[i], belief.evidence[h])
    longer_ = world.bank.update(some, np.array([0]), np.array([9]), np.array([[1]]))
    same = world.bank.update(belief, index[:1], np.array([9]), np.array([[1]]))
    assert_same(longer_, 0, same, 0)


@pytest.mark.usefixtures("nothing_let_go")
@pytest.mark.parametrize("n", [3, 15, 16, 17, 32])
def test_every_block_is_weighed(n):
    """As many as are worked on before the next history's turn, twice as many, and one more or fewer."""
    world, history = banked("patches", sizes=(24 * (n - 2), 1, 24)), [(0, (1, 0, 1, 1))]
    assert len(world.bank.block_class) == n
    assert_agree(
        world, longer(world.bank, world.bank.start(), history), longer(world.exact, world.exact.start(), history)
    )


def test_blocks_cover_each_class_and_no_block_has_draws_of_two():
    world = banked("alone", sizes=(24, 25, 1))
    assert world.bank.bounds.tolist() == [0, 24, 48, 49, 50]
    assert world.bank.block_class.tolist() == [0, 1, 1, 2]


# ---- whom it serves -------------------------------------------------------------------------------------------------


def test_it_serves_large_banks_of_yes_no_draws(monkeypatch):
    def serves(known, n_draws=40, dtype=torch.float32, queries=None):
        model = known.model.to(dtype=dtype)
        cloud = Particles(model, *stratified_prior(model, n_draws, torch.Generator().manual_seed(0)))
        return PrunedBelief.serves(cloud, queries or known.queries)

    assert not serves(yes_no(2))
    monkeypatch.setattr(bank, "MANY", 100)
    assert serves(yes_no(2))
    assert not serves(yes_no(2), n_draws=33)
    assert not serves(yes_no(2), dtype=torch.float64)
    assert not serves(mixed(2))
    turned = Given(["not a", "b"], (2,) * 6, [[0], [1]], [[[1, 0]], [[0, 1]]])
    assert not serves(yes_no(2), queries=turned)


def test_weights_and_beliefs_cannot_be_changed():
    belief = banked("alone").bank.start()
    for thing, name in ((belief, "row"), (belief.weights, "values")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, None)
    assert belief.seen.tolist() == [[UNKNOWN] * 16]
