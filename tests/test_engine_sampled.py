"""Whole pursuits on draws: against the truth by quadrature, and what must always hold.

Small VAEs, of which a grid over their latent tells everything (see `quadrature`).
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.strategies import SMC, Langevin
from infopursuit.support.types import UNKNOWN
from quadrature import Known, mixed, pixels, yes_no
from worlds import Given, world_of

RENEWING = SMC(n_draws=60, min_ess=30, n_own=24, n_moves=2)
CHAINS = Langevin(n_chains=16, n_steps=4, burn_in=2)
SETTINGS = {"smc": RENEWING, "fixed draws": SMC(n_draws=100, min_ess=0), "langevin": CHAINS}
ON_SOME = {"exact_gains": False, "n_states": 80, "n_screened": 2}
KNOWN = {"yes/no": yes_no(2, seed=5), "mixed": mixed(1, seed=4), "pixels": pixels(2, seed=1)}
ALL = pytest.mark.parametrize("name", KNOWN)
BOTH = pytest.mark.parametrize("settings", [RENEWING, CHAINS], ids=["smc", "langevin"])


def stopping(n=3):
    return ip.Confidence(0.08) | ip.MaxQueries(n)


def assert_same(one, i, two, j):
    """Row i of one trace is row j of another."""
    k = int(one.length[i])
    assert int(two.length[j]) == k
    assert two.stop_reason[j] == one.stop_reason[i]
    assert two.settled_at[j] == one.settled_at[i]
    for name in ("queries", "answers", "runners_up", "ties"):
        assert getattr(two, name)[j, :k].tolist() == getattr(one, name)[i, :k].tolist(), name
    for name, upto in (("posteriors", k + 1), ("posterior_errors", k + 1), ("gains", k), ("gain_errors", k)):
        np.testing.assert_allclose(
            getattr(two, name)[j, :upto], getattr(one, name)[i, :upto], rtol=0, atol=1e-9, err_msg=name
        )


def assert_same_explanation(one, two):
    """The same questions, answers and reason; numbers to rounding."""
    same = [(step.query, step.answer) for step in one.steps], one.stop_reason, one.settled_at
    assert same == ([(step.query, step.answer) for step in two.steps], two.stop_reason, two.settled_at)
    np.testing.assert_allclose(one.posteriors, two.posteriors, rtol=0, atol=1e-9)
    gains = [[step.gain for step in each.steps] for each in (one, two)]
    np.testing.assert_allclose(*gains, rtol=0, atol=1e-9)


# ---- the truth ------------------------------------------------------------------------------------------------------


@dataclass
class Count:
    """How often a choice was the true one."""

    steps: int = 0
    otherwise: int = 0
    without_a_tie: int = 0


def count_choices(known, settings, n_inputs, n_steps, **options):
    """Along the true greedy path of some inputs: does the next query on draws agree with the true one?"""
    count = Count()
    true = known.truth.run_values(known.inputs(n_inputs, seed=3))
    pursuit = known.pursuit(settings, **options)
    for history in dict.fromkeys(true.history(i)[:k] for i in range(n_inputs) for k in range(n_steps)):
        state = pursuit.start()
        for query, answer in history:
            state = pursuit.absorb(state, pursuit.branch(query, answer), state.watch)
        proposal = pursuit.propose(state).choice
        gains = known.gains(history)
        agrees = gains[proposal.query[0]] >= np.nanmax(gains) - 1e-6  # a grid is not exact to the last digit
        count.steps += 1
        count.otherwise += not agrees
        count.without_a_tie += not (agrees or proposal.tie[0])
    return count


@ALL
@pytest.mark.parametrize("settings", [SMC(), Langevin(burn_in=8, n_steps=4)], ids=["smc", "langevin"])
def test_the_next_query_is_the_true_one_or_a_tie_is_said(name, settings):
    known = KNOWN[name]
    n_inputs, n_steps = (20, 4) if isinstance(settings, SMC) else (4, 3)
    count = count_choices(known, settings, n_inputs, n_steps)
    assert count.steps >= n_steps
    assert count.without_a_tie <= 0.05 * count.steps


def test_few_draws_choose_otherwise_and_say_so():
    """Control of the test above, which can fail: with few draws choices do differ, and the flag tells."""
    total = Count()
    for known in KNOWN.values():
        for seed in range(2):
            found = count_choices(known, SMC(n_draws=24, min_ess=8, n_own=24, n_moves=2), 6, 3, seed=seed)
            total.steps += found.steps
            total.otherwise += found.otherwise
            total.without_a_tie += found.without_a_tie
    assert total.otherwise > 0.1 * total.steps
    assert total.without_a_tie <= 0.05 * total.steps


@ALL
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_errors_of_gains_are_honest(name, settings):
    """(gain - true gain) / reported error of the first query after two answers, over many seeds."""
    known = KNOWN[name]
    history = known.history([1, 0], seed=1)
    true, off = known.gains(history), []
    for seed in range(20 if settings is SETTINGS["fixed draws"] else 7):
        pursuit = known.pursuit(settings, seed=seed)
        choice = pursuit.session(history)._step.choice
        assert choice.error[0] > 0
        off.append((choice.gain[0] - true[choice.query[0]]) / choice.error[0])
    assert np.mean(np.abs(off) < 3) >= 0.85
    assert 0.2 < np.sqrt(np.mean(np.square(off))) < 1.9


def test_errors_shrink_with_the_root_of_the_number_of_draws():
    for known in KNOWN.values():
        traces = [
            known.pursuit(SMC(n_draws=n, min_ess=0), ip.MaxQueries(2)).run_values(known.inputs(8, seed=1))
            for n in (150, 2400)
        ]
        for trace in traces:
            assert (trace.gain_errors > 0).all()
            assert (trace.posterior_errors[:, 1:] > 0).all()
            assert (trace.posterior_errors < 1).all()
            np.testing.assert_allclose(trace.posterior_errors[:, 0], 0, atol=1e-12)  # the prior is given
        few, many = traces
        assert few.gain_errors[:, 0].mean() / many.gain_errors[:, 0].mean() == pytest.approx(4, rel=0.5)
        ratio = few.posterior_errors[:, 1:].mean() / many.posterior_errors[:, 1:].mean()
        assert ratio == pytest.approx(4, rel=0.4)


@ALL
def test_gains_on_all_draws_and_on_some_of_them(name):
    """Both near the truth; on some of them, with the error that this adds."""
    known = KNOWN[name]
    history = known.history([1], seed=2)
    true = known.gains(history)
    found = {}
    for exact in (True, False):
        pursuit = known.pursuit(SMC(n_draws=2000), exact_gains=exact, n_states=300)
        session = pursuit.session(history)
        found[exact], gains = session._step.choice, session.gains
        assert np.isnan(gains[1])
        np.testing.assert_allclose(gains, true, atol=0.03 if exact else 0.08)
        assert not pursuit.run_values(known.inputs(2)).exact_gains
    assert found[False].error[0] > 1.5 * found[True].error[0] > 0


@BOTH
@pytest.mark.parametrize("exact", [True, False])
def test_screening_leaves_wide_queries_out(settings, exact):
    """With ``exact_gains=True`` every gain is known; else those of the few most promising patches."""
    known = KNOWN["pixels"]
    pursuit = known.pursuit(settings, exact_gains=exact, n_states=1000, n_screened=2)
    gains = pursuit.session([(0, (1, 0, 1, 1))]).gains
    assert (~np.isnan(gains)).sum() == (3 if exact else 2)
    assert np.isnan(gains[0])


# ---- what must always hold ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), [("yes/no", {}), ("mixed", ON_SOME), ("pixels", {}), ("pixels", ON_SOME)])
@BOTH
def test_alone_as_in_a_batch(name, settings, options):
    """Alone, in another order, in small pieces, and beside others."""
    known = KNOWN[name]
    values = known.inputs(4, seed=4, unknown=0.1)
    make = lambda **more: known.pursuit(settings, stopping(), **options, **more)  # noqa: E731
    batch = make().run_values(values)
    turned = make(memory_limit=20_000).run_values(values[::-1])
    pursuit = make()
    for i, x in enumerate(values):
        assert_same(batch, i, turned, len(values) - 1 - i)
        assert_same(batch, i, (make() if i == 0 else pursuit).run_values(x[None]), 0)


@ALL
@BOTH
def test_the_posterior_is_a_function_of_the_trace(name, settings):
    known = KNOWN[name]
    values = known.inputs(3, seed=5, unknown=0.15)
    trace = known.pursuit(settings, stopping()).run_values(values)
    fresh = known.pursuit(settings)
    for i in range(len(values)):
        history = trace.history(i)
        for k in range(len(history) + 1):
            np.testing.assert_allclose(fresh.believe(history[:k]), trace.posteriors[i, k], rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.posteriors.sum(axis=2), 1, atol=1e-12)


@BOTH
def test_what_was_not_asked_about_changes_nothing(settings):
    known = KNOWN["pixels"]
    values = known.inputs(3, seed=6)
    pursuit = known.pursuit(settings, ip.MaxQueries(1))
    trace = pursuit.run_values(values)
    others = values.copy()
    for i in range(len(values)):
        unseen = sorted(set(range(9)) - set(known.queries.query_variables[trace.queries[i, 0]].tolist()))
        others[i, unseen] = 1 - others[i, unseen]
    again = pursuit.run_values(others)
    for i in range(len(values)):
        assert_same(trace, i, again, i)


@BOTH
def test_trap_4_the_next_query_is_a_function_of_the_history(settings):
    """Trap 4: whatever ran before, in whatever batch, and remembered or not."""
    known = KNOWN["yes/no"]
    values = known.inputs(5, seed=7)
    following = {}
    shared = known.pursuit(settings, ip.MaxQueries(3))
    for pursuit, batch in (
        (shared, values),
        (shared, values[::-1]),
        (known.pursuit(settings, ip.MaxQueries(3)), values[2:]),
    ):
        trace = pursuit.run_values(batch)
        for i in range(len(batch)):
            history = trace.history(i)
            for k in range(len(history)):
                step = (history[k][0], int(trace.runners_up[i, k]), float(trace.gains[i, k]))
                first = following.setdefault(history[:k], step)
                assert first[:2] == step[:2]
                assert first[2] == pytest.approx(step[2], abs=1e-9)
    assert len(following) > 5


@BOTH
def test_what_is_remembered_changes_nothing(settings):
    known = KNOWN["mixed"]
    values = known.inputs(4, seed=8)
    pursuit = known.pursuit(settings, stopping())
    runs = [pursuit.run_values(values), pursuit.run_values(values)]
    runs.append(pursuit.clear_cache().run_values(values))
    for other in runs[1:]:
        for i in range(len(values)):
            assert_same(runs[0], i, other, i)


def test_another_seed_draws_otherwise():
    """Control: the tests above are about something."""
    known = KNOWN["yes/no"]
    values = known.inputs(3)
    for settings in SETTINGS.values():
        one, two = (known.pursuit(settings, ip.MaxQueries(2), seed=seed).run_values(values[:1]) for seed in (0, 1))
        assert not np.allclose(one.posteriors, two.posteriors, rtol=0, atol=1e-6)


SCRIPT = """
import infopursuit as ip
from infopursuit.strategies import SMC, Langevin
from quadrature import mixed

def traces():
    known, found = mixed(1, seed=4), []
    for settings in (SMC(n_draws=60, min_ess=61, n_own=24, n_moves=2), Langevin(n_chains=16, n_steps=4, burn_in=2)):
        t = known.pursuit(settings, ip.Confidence(0.08) | ip.MaxQueries(3), seed=3).run_values(known.inputs(2, seed=9))
        columns = (t.queries, t.answers, t.gains, t.gain_errors, t.runners_up, t.ties, t.posteriors,
                   t.posterior_errors, t.length, t.settled_at, t.stop_reason)
        found.append([column.tolist() for column in columns])
    return found
"""


def test_the_same_traces_in_another_process():
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(ip.__file__).parent.parent)])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1"}
    script = f"{SCRIPT}\nimport json, logging, sys; logging.disable(); json.dump(traces(), sys.stdout)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], env=env, capture_output=True, text=True, check=True
    )
    namespace = {}
    exec(SCRIPT, namespace)
    for theirs, ours in zip(json.loads(done.stdout), namespace["traces"](), strict=True):
        assert theirs.pop() == ours.pop()  # the reasons
        for column, own in zip(theirs, ours, strict=True):
            np.testing.assert_allclose(column, own, rtol=0, atol=1e-9)


def test_no_explanation_begins_another():
    """Over all inputs of six yes/no variables."""
    known = KNOWN["yes/no"]
    values = np.array([[int(b) for b in f"{i:06b}"] for i in range(0, 64, 3)])
    trace = known.pursuit(RENEWING, ip.Confidence(0.3) | ip.MaxQueries(3), patience=1).run_values(values)
    lists = {trace.history(i): int(p) for i, p in enumerate(trace.predictions)}
    assert len(lists) > 4
    assert not any(e[:k] in lists for e in lists for k in range(len(e)))


# ---- one question at a time -----------------------------------------------------------------------------------------


@ALL
@BOTH
def test_a_session_is_a_run(name, settings):
    known = KNOWN[name]
    values = known.inputs(1, seed=10, unknown=0.1)
    pursuit = known.pursuit(settings, stopping())
    trace = pursuit.run_values(values)
    session = known.pursuit(settings, stopping()).session()
    while session.question is not None:
        k = len(session.history)
        assert session.question.index == trace.queries[0, k]
        np.testing.assert_allclose(session.posterior, trace.posteriors[0, k], rtol=0, atol=1e-12)
        assert session.gains[session.question.index] == pytest.approx(trace.gains[0, k], abs=1e-12)
        cells = known.queries.answers_of(values, np.array([session.question.index]))[0]
        width = int((known.queries.query_variables[session.question.index] >= 0).sum())
        session.answer(tuple(cells[:width].tolist()))
    assert session.history == trace.history(0)
    assert session.stop_reason == trace.stop_reason[0]
    np.testing.assert_allclose(session.posterior, trace.posterior[0], rtol=0, atol=1e-12)
    assert_same_explanation(session.explanation, trace[0])


@ALL
@BOTH
def test_undo_and_skip(name, settings):
    known = KNOWN[name]
    pursuit = known.pursuit(settings, ip.MaxQueries(3))
    session = pursuit.session()
    first = session.question.index
    session.answer(0)
    second, before = session.question.index, session.posterior.copy()
    session.skip()
    np.testing.assert_array_equal(session.posterior, before)
    np.testing.assert_array_equal(session._step.state.posterior_error, session._taken[-1].state.posterior_error)
    assert session.history[-1] == (second, None)
    assert session.question.index not in (first, second)
    session.undo()
    assert session.question.index == second
    np.testing.assert_array_equal(session.posterior, before)
    session.answer(0)
    after = session.posterior.copy()
    session.undo()
    session.answer(0)
    np.testing.assert_allclose(session.posterior, after, rtol=0, atol=1e-9)
    np.testing.assert_allclose(pursuit.believe(session.history), after, rtol=0, atol=1e-12)


@BOTH
def test_all_unknown_asks_about_everything_once_and_learns_nothing(settings):
    known = KNOWN["mixed"]
    trace = known.pursuit(settings, ip.Confidence(0.01)).run_values(np.full((1, 5), -1))
    assert trace.stop_reason.tolist() == ["exhausted"]
    about = known.queries.query_variables[trace.queries[0]]
    assert set(about[about >= 0].tolist()) == set(range(5))
    assert (trace.answers == UNKNOWN).all()
    prior = np.tile(known.model.class_prior, (len(about) + 1, 1))
    np.testing.assert_allclose(trace.posteriors[0], prior, rtol=1e-12)


@ALL
def test_no_answer_is_impossible(name):
    """Not even where the decoder is sure of the contrary: probabilities are kept off 0."""
    known = {"yes/no": yes_no, "mixed": mixed, "pixels": pixels}[name](1, seed=2, scale=1e4)
    rng = np.random.default_rng(0)
    values = np.stack([rng.integers(size, size=6) for size in known.model.variables.sizes], axis=1)
    trace = known.pursuit(SMC(n_draws=30, min_ess=0), ip.MaxQueries(20)).run_values(values)
    assert set(trace.stop_reason) == {"exhausted"}
    assert np.isfinite(trace.posteriors).all()
    assert np.isfinite(trace.gains).all()
    assert np.isfinite(trace.gain_errors).all()


def test_a_contradiction_is_refused_and_the_session_goes_on():
    """A pixel that was seen white cannot be black: that is not the decoder's to say."""
    known = KNOWN["pixels"]
    session = known.pursuit(RENEWING, ip.MaxQueries(4)).session([(0, (1, 1, 1, 1))])
    before = session.posterior.copy()
    with pytest.raises(ip.ImpossibleAnswer):
        session.answer((0, 0, 0, 0))
    np.testing.assert_array_equal(session.posterior, before)
    assert session.answer((1, 1, 1, 1)).question is not None


# ---- what comes out -------------------------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_what_a_trace_says_of_its_draws(name, settings):
    known = KNOWN[name]
    values = known.inputs(4, seed=11)
    trace = known.pursuit(settings, ip.MaxQueries(len(known.queries))).run_values(values)
    B, K, C = 4, int(trace.length.max()), 3
    assert trace.runners_up.shape == trace.ties.shape == trace.gain_errors.shape == (B, K)
    assert trace.posterior_errors.shape == (B, K + 1, C)
    assert trace.ties.dtype == bool
    assert not trace.exact_gains
    for i in range(B):
        for k in range(int(trace.length[i])):
            left = set(range(len(known.queries))) - set(trace.queries[i, : k + 1].tolist())
            if k + 1 < trace.length[i]:
                assert int(trace.runners_up[i, k]) in left
            elif trace.runners_up[i, k] == UNKNOWN:
                assert not trace.ties[i, k]
    assert (trace.posterior_errors >= 0).all()
    assert (trace.posterior_errors[:, 1:].max(axis=2) > 0).all()
    np.testing.assert_allclose(trace.posterior_errors[:, 0], 0, atol=1e-12)


def test_a_clear_lead_is_no_tie_and_a_copy_is_one():
    """Two queries about the same variable: their gains are the same on any draws, and one of them is asked."""
    base = yes_no(1, seed=3)
    copies = Known(base.model, Given(list("abcdefg"), (2,) * 6, [[a] for a in (0, 1, 2, 3, 4, 5, 5)]))
    trace = copies.pursuit(SMC(n_draws=50), ip.MaxQueries(7)).run_values(copies.inputs(3, seed=1))
    for i in range(3):
        asked = trace.queries[i].tolist()
        first = asked.index(5)
        assert 6 not in asked
        if trace.runners_up[i, first] == 6:
            assert trace.ties[i, first]
    # the first of a set in which one tells much and the others little
    gains = base.gains([])
    weak = np.argsort(gains)[:2].tolist()
    best = int(np.argmax(gains))
    assert gains[best] > 5 * gains[weak[1]]
    clear = Known(base.model, Given(["best", "weak", "weaker"], (2,) * 6, [[best], [weak[1]], [weak[0]]]))
    trace = clear.pursuit(SMC(n_draws=2000), ip.MaxQueries(1)).run_values(clear.inputs(2))
    assert trace.queries[:, 0].tolist() == [0, 0]
    assert not trace.ties[:, 0].any()


# ---- what goes together ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("belief", ["exact", "hmc", 7])
def test_a_vae_has_no_exact_posterior(belief):
    known = KNOWN["yes/no"]
    with pytest.raises(ValueError, match=r"belief=.*'smc'"):
        ip.generative_pursuit(known.model, known.queries, belief)


@pytest.mark.parametrize("belief", ["smc", "langevin", SMC(), Langevin()])
def test_a_finite_model_needs_no_draws(belief):
    world, _ = world_of(0)
    with pytest.raises(ValueError, match=r"belief=.*'exact'"):
        ip.generative_pursuit(world.model, world.queries, belief)


def test_names_of_beliefs():
    known = KNOWN["yes/no"]
    names = {
        name: ip.generative_pursuit(known.model, known.queries, name).belief.kind
        for name in ("auto", "smc", "langevin")
    }
    assert names == {"auto": "smc", "smc": "smc", "langevin": "langevin"}
    assert ip.generative_pursuit(known.model, known.queries, SMC(n_draws=7)).belief.settings.n_draws == 7


@BOTH
def test_another_class_prior_changes_the_prior_only(settings):
    """The same draws, whose answers have the same probabilities in each class."""
    known = KNOWN["yes/no"]
    other = Known(known.model.with_class_prior([0.1, 0.2, 0.7]), known.queries)
    one, two = known.pursuit(settings), other.pursuit(settings)
    np.testing.assert_array_equal(one.belief.particles.latents, two.belief.particles.latents)
    np.testing.assert_allclose(two.believe(()), [0.1, 0.2, 0.7], rtol=1e-12)
    np.testing.assert_allclose(one.believe(()), known.model.class_prior, rtol=1e-12)
    history = known.history([1], seed=2)
    ratio = two.believe(history) / one.believe(history)
    expected = np.array([0.1, 0.2, 0.7]) / known.model.class_prior
    np.testing.assert_allclose(ratio / ratio.sum(), expected / expected.sum(), rtol=1e-9)
    longer = known.history([1, 0, 3], seed=2)
    np.testing.assert_allclose(two.believe(longer), other.class_probs(longer), atol=0.15)


def test_a_class_that_cannot_be():
    known = yes_no(1, seed=3, prior=(0.0, 0.4, 0.6))
    for settings in SETTINGS.values():
        trace = known.pursuit(settings, ip.MaxQueries(3)).run_values(known.inputs(2))
        assert (trace.posteriors[:, :, 0] == 0).all()
        assert (trace.posterior_errors[:, :, 0] == 0).all()
        assert np.isfinite(trace.posterior_errors).all()
        assert np.isfinite(trace.gain_errors).all()


@pytest.mark.parametrize("settings", [SMC(n_draws=50, n_own=20), Langevin(n_chains=8, n_steps=3)])
def test_less_memory_takes_fewer_histories_at_a_time_and_changes_nothing(settings):
    known = yes_no()
    values = np.random.default_rng(3).integers(0, 2, size=(12, len(known.queries.variables)))
    large = ip.generative_pursuit(known.model, known.queries, settings, stopping())
    small = ip.generative_pursuit(
        known.model, known.queries, settings, stopping(), memory_limit=3 * large.belief.capabilities.bytes_per_history
    )
    assert small.rows_at_a_time() < 12 < large.rows_at_a_time()
    one, two = large.run_values(values), small.run_values(values)
    for i in range(12):
        assert_same(one, i, two, i)


def test_draws_of_their_own_are_counted():
    known = yes_no()
    plain = ip.generative_pursuit(known.model, known.queries, SMC(n_draws=50, min_ess=0))
    paper = ip.generative_pursuit(known.model, known.queries, Langevin(n_chains=64, n_steps=8))
    assert plain.belief.capabilities.bytes_per_history == plain.belief.shared.capabilities.bytes_per_history
    tables = 3 * 64 * 8 * 2 * paper.belief.particles.by_state.shape[1] * 4
    assert (
        tables
        < paper.belief.capabilities.bytes_per_history - paper.belief.shared.capabilities.bytes_per_history
        < 10 * tables
    )
