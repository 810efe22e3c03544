"""`smc` against quadrature: belief, probability of the history and their errors, over many seeds; and when it draws
anew.

An estimate may be 4 Monte Carlo standard errors off; the negative control has to be beyond 10.
"""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

from infopursuit.models.finite import segments, softmax
from infopursuit.queries import patches
from infopursuit.strategies import SMC
from infopursuit.strategies.generative import particles as module
from infopursuit.strategies.generative.langevin import target
from infopursuit.strategies.generative.particles import LEAST, ParticleState
from quadrature import Known, believe, estimates, mixed, pixels, posterior_of, small_vae, told, yes_no

SHARED = SMC(n_draws=64, min_ess=0)
RENEWING = SMC(n_draws=64, min_ess=40, n_own=48, n_moves=3)
KNOWN = {
    "yes/no": (yes_no(2, seed=5), [3, 0, 4, 1, 5, 2]),
    "mixed": (mixed(1, seed=4), [5, 3, 8, 1, 7, 6]),
    "pixels": (pixels(2, seed=1), [2, 0, 3, 1]),
}


def history_of(name, n, seed=0):
    known, order = KNOWN[name]
    return known, known.history(order[:n], seed=seed)


# ---- the law --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [SHARED, RENEWING], ids=["shared", "renewing"])
@pytest.mark.parametrize("name", KNOWN)
def test_posteriors_are_right_within_their_reported_errors(name, settings):
    """After one to four answers; the share of estimates within two standard errors, for each and for all together."""
    covered = []
    for n in (1, 2, 3, 4):
        known, history = history_of(name, n)
        found = estimates(known, settings, history, 40 if settings is SHARED else 10)
        assert 0.5 < found.off < 1.6  # nor so large that they say nothing
        covered.append(found.covered)
    assert min(covered) >= 0.8
    assert 0.85 <= np.mean(covered) <= 1


def test_errors_would_not_be_honest_without_those_inherited(monkeypatch):
    """The control of the test above: to forget what was not known when draws were made is to be too sure."""
    known, history = history_of("yes/no", 4)
    inherit = module.SMCBelief.class_variance
    monkeypatch.setattr(module.SMCBelief, "class_variance", lambda self, b: 0.02 * inherit(self, b))
    found = estimates(known, RENEWING, history, 12)
    assert found.renewed.all()
    assert found.covered < 0.7


@pytest.mark.parametrize("name", KNOWN)
def test_the_probability_of_a_history_is_unbiased(name):
    """Few draws, resampled and moved after almost every answer."""
    known, order = KNOWN[name]
    history = known.history(order[:5], seed=1)
    found = estimates(known, SMC(n_draws=48, min_ess=32, n_own=32, n_moves=2), history, 16)
    assert found.renewed.all()
    assert abs(found.bias) < 4
    assert found.evidence.std() < 0.5


def test_moves_towards_a_wrong_law_are_found_out(monkeypatch):
    """Negative control: without the prior, chains run to wherever the answers are surest."""
    known, order = KNOWN["yes/no"]
    history = known.history(order, seed=1)

    def flat(model, labels, evidence, least):
        whole = target(model, labels, evidence, least)
        return lambda latents: whole(latents) - model.log_prior(latents, labels)

    monkeypatch.setattr(module, "target", flat)
    found = estimates(known, SMC(n_draws=48, min_ess=49, n_own=32, n_moves=6, step_size=1.0), history[:5], 10)
    assert abs(found.bias) > 10


def test_more_draws_bring_the_posterior_closer():
    known, history = history_of("pixels", 3)
    few, many = (estimates(known, SMC(n_draws=n, min_ess=0), history, 30) for n in (50, 1250))
    distance = [np.sqrt(np.mean((found.class_probs - found.truth) ** 2)) for found in (few, many)]
    assert distance[1] < 0.35 * distance[0]
    assert many.errors.mean() == pytest.approx(few.errors.mean() / 5, rel=0.3)


def test_the_prior_is_known_and_not_drawn():
    known, _ = history_of("mixed", 0)
    belief = SHARED.build(known.model, known.queries)
    b = belief.init()
    np.testing.assert_allclose(posterior_of(belief, b)[0], known.model.class_prior, rtol=1e-12)
    np.testing.assert_allclose(belief.log_posterior(b).error, 0, atol=1e-12)
    np.testing.assert_allclose(belief.class_ess(b), 64)


# ---- when it draws anew ---------------------------------------------------------------------------------------------


def refreshed(belief, history):
    """States before and after the particles are renewed where that is needed."""
    b = believe(belief, history)
    return b, renewed(belief, b)


def renewed(belief, b):
    """The state that `ParticleBelief.update` goes on from."""
    own = belief.renewed(b, list(range(len(b))))
    return replace(b, own=tuple(own[h] for h in range(len(b))))


@pytest.mark.parametrize("name", KNOWN)
def test_it_draws_anew_where_too_few_draws_carry_the_weight(name):
    known, history = history_of(name, 4)
    ess = SHARED.build(known.model, known.queries).class_ess(
        believe(SHARED.build(known.model, known.queries), history)
    )[0]
    p = known.class_probs(history)
    assert (p > 0.05).any()
    least = ess[p > 0.05].min()
    for min_ess, anew in ((0, False), (1, False), (0.99 * least, False), (1.01 * least, True), (64, True)):
        settings = SMC(n_draws=64, min_ess=min_ess, n_own=10, n_moves=1)
        belief = settings.build(known.model, known.queries)
        # one answer at a time without renewal: all four on the shared particles
        keys = tuple(told(known.queries, history).keys())
        after = renewed(belief, ParticleState(believe(belief.shared, history), (None,), keys, {}))
        assert (after.own[0] is not None) == anew, min_ess
        if anew:
            assert after.own[0].particles.n_states == 30
            assert after.own[0].weights.log_weights.shape == (1, 30)


def test_a_class_that_hardly_counts_does_not_call_for_draws():
    """Its weight sits on one draw, but its posterior is below 1 %."""
    known = yes_no(1, seed=0, prior=(0.6, 0.395, 0.005))
    belief = SMC(n_draws=8, min_ess=2.0).build(known.model, known.queries)
    start = belief.init()
    log_weights = start.shared.log_weights.copy()
    log_weights[0, 17:] = -np.inf

    def lopsided():
        return ParticleState(belief.shared.of(log_weights, start.shared.evidence), (None,), (b"",), {})

    assert belief.class_ess(lopsided()).round(6).tolist() == [[8.0, 8.0, 1.0]]
    assert renewed(belief, lopsided()).own == (None,)
    log_weights[0, 9:16] = -np.inf
    assert renewed(belief, lopsided()).own[0] is not None


@pytest.mark.parametrize("name", KNOWN)
def test_drawing_anew_changes_no_probability_and_no_error(name):
    known, history = history_of(name, 4)
    belief = SMC(n_draws=64, min_ess=65, n_own=48, n_moves=2).build(known.model, known.queries, seed=3)
    before, after = refreshed(belief, history)
    assert after.own[0] is not before.own[0]
    np.testing.assert_allclose(belief.log_joint(after), belief.log_joint(before), rtol=0, atol=1e-12)
    np.testing.assert_allclose(belief.log_posterior(after).error, belief.log_posterior(before).error, rtol=1e-9)
    np.testing.assert_array_equal(after.own[0].weights.evidence, believe(known.belief, history).evidence)


def test_the_draws_that_a_history_gets_are_from_its_law():
    """Means over the own draws of each class, against the grid, over many seeds."""
    known, history = history_of("yes/no", 3)
    truth = softmax(believe(known.belief, history).log_weights.reshape(3, -1))
    latents = np.stack(np.meshgrid(*[np.linspace(-5, 5, 81)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    found = []
    for seed in range(16):
        belief = SMC(n_draws=100, min_ess=101, n_own=50, n_moves=4).build(known.model, known.queries, seed)
        own = refreshed(belief, history)[1].own[0]
        z = own.particles.latents.reshape(3, 50, 2).numpy()
        found.append(np.concatenate([z.mean(axis=1), (z**2).mean(axis=1)], axis=1))
    expected = np.concatenate([truth @ latents, truth @ latents**2], axis=1)
    found = np.array(found)
    z = (found.mean(axis=0) - expected) / (found.std(axis=0, ddof=1) / 4)
    assert np.abs(z).max() < 4.5
    prior = np.concatenate([np.zeros((3, 2)), np.ones((3, 2))], axis=1)
    assert np.abs((found.mean(axis=0) - prior) / (found.std(axis=0, ddof=1) / 4)).max() > 10  # it is not the prior


def test_renewing_twice_is_renewing_once():
    known, history = history_of("pixels", 3)
    belief = RENEWING.build(known.model, known.queries)
    b = believe(belief, history)
    once = renewed(belief, b)
    assert renewed(belief, b).own[0] is once.own[0]
    again = refreshed(belief, history)[1]
    np.testing.assert_allclose(again.own[0].particles.latents, once.own[0].particles.latents, rtol=0, atol=1e-6)
    # to renew only when the next answer comes makes no difference
    query = next(q for q in range(len(known.queries)) if q not in dict(history))
    longer = [*history, known.history([query])[0]]
    late = believe(belief, longer)
    early = belief.update(b, np.zeros(1, dtype=np.int64), told(known.queries, longer))
    np.testing.assert_allclose(belief.log_joint(late), belief.log_joint(early), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", KNOWN)
def test_other_histories_in_the_batch_do_not_matter(name):
    """Histories together, in another order, or renewed one by one: the same particles and the same numbers."""
    known, order = KNOWN[name]
    belief = SMC(n_draws=40, min_ess=30, n_own=16, n_moves=2).build(known.model, known.queries)
    query, following = order[:2]
    firsts = list(dict.fromkeys(known.history([query], seed=seed)[0] for seed in range(40)))[:2]
    b = belief.update(belief.init(), np.zeros(len(firsts), dtype=np.int64), told(known.queries, *([f] for f in firsts)))
    answers = list(dict.fromkeys(known.history([following], seed=seed)[0][1] for seed in range(40)))[:3]
    pairs = [(h, answer) for h in range(len(firsts)) for answer in answers]
    histories = [[firsts[h], (following, answer)] for h, answer in pairs]
    both = belief.update(b, np.array([h for h, _ in pairs]), told(known.queries, *histories))
    last = len(pairs) - 1
    assert list(belief.renewed(both, [last])) == [last]
    together = renewed(belief, both)
    turned = renewed(belief, replace(both, renewed={}).take(np.arange(len(pairs))[::-1]))
    for h, history in enumerate(histories):
        _, alone = refreshed(belief, history)
        np.testing.assert_allclose(belief.log_joint(together)[h], belief.log_joint(alone)[0], rtol=0, atol=1e-5)
        one, two = (belief.log_posterior(each).error for each in (together, alone))
        np.testing.assert_allclose(one[h], two[0], rtol=0, atol=1e-5)
        for other, place in ((together, h), (turned, last - h)):
            assert (other.own[place] is None) == (alone.own[0] is None)
            if alone.own[0] is not None:
                latents = (each.particles.latents for each in (other.own[place], alone.own[0]))
                np.testing.assert_allclose(*latents, rtol=0, atol=1e-4)
    assert any(own is not None for own in together.own)


def test_another_seed_and_another_history_get_other_draws():
    """Control of the tests above: the draws do depend on the seed and on the order of the answers."""
    known, history = history_of("yes/no", 3)
    draws = [
        refreshed(RENEWING.build(known.model, known.queries, seed), said)[1].own[0].particles.latents
        for seed, said in ((0, history), (1, history), (0, history[::-1]))
    ]
    assert not torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_a_class_below_a_millionth_is_carried_along():
    """No work is spent on it; its mass and its single draw stay, and its answers still count."""
    model = small_vae((2,) * 5, 1, seed=0, prior=(0.6, 0.4 - 1e-8, 1e-8))
    known = Known(model, yes_no(n_variables=5).queries)
    belief = SMC(n_draws=32, min_ess=33, n_own=16, n_moves=1).build(model, known.queries)
    history = known.history([0, 1, 2], seed=1)
    before, after = refreshed(belief, history)
    assert np.diff(after.own[0].particles.offsets).tolist() == [16, 16, 1]
    np.testing.assert_allclose(belief.log_joint(after), belief.log_joint(before), atol=1e-12)
    p = posterior_of(belief, after)[0]
    assert 0 < p[2] < 1e-6
    assert 1 / 4 < p[2] / known.class_probs(history)[2] < 4


# ---- trap 1 ---------------------------------------------------------------------------------------------------------


def test_trap_1_overlapping_patches_count_a_pixel_once():
    """Trap 1: after two patches that share two pixels, a draw's weight is the product over six pixels, not eight."""
    known = pixels(2, seed=1)
    belief = SHARED.build(known.model, known.queries)
    history = known.history([0, 1], seed=0)
    seen = {}
    for query, answer in history:
        seen |= dict(zip(known.queries.query_variables[query].tolist(), answer, strict=True))
    assert len(seen) == 6
    expected, twice = [], []
    for c, (a, b) in enumerate(segments(belief.particles.offsets)):
        with torch.no_grad():
            yes = known.model.logits(belief.particles.latents[a:b], torch.full((b - a,), c)).sigmoid().double()
        yes = (LEAST + (1 - 2 * LEAST) * yes).numpy()
        factors = {variable: yes[:, variable] if value else 1 - yes[:, variable] for variable, value in seen.items()}
        weight = known.model.class_prior[c] * np.prod(list(factors.values()), axis=0)
        shared = sorted(set(known.queries.query_variables[0].tolist()) & set(known.queries.query_variables[1].tolist()))
        expected.append(np.log(weight.mean()))
        twice.append(np.log((weight * np.prod([factors[variable] for variable in shared], axis=0)).mean()))
    found = belief.log_joint(believe(belief, history))[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    assert np.abs(found - twice).min() > 0.05


def test_trap_1_after_drawing_anew_too():
    """Trap 1: the patch seen in full tells nothing, and its pixels pull the draws no further."""
    known = pixels(2, seed=1)
    centre = Known(known.model, patches((3, 3), size=2))
    belief = SMC(n_draws=64, min_ess=65, n_own=32, n_moves=2).build(centre.model, centre.queries)
    history = known.history([0, 1, 2, 3], seed=0)
    b = believe(belief, history[:3])
    # the last patch shares three of its pixels with the others; say those only
    variables = known.queries.query_variables[3].tolist()
    new = set(variables) - {a for q in (0, 1, 2) for a in known.queries.query_variables[q].tolist()}
    said = tuple(-1 if variable in new else cell for variable, cell in zip(variables, history[3][1], strict=True))
    assert said.count(-1) == 1
    again = believe(belief, [*history[:3], (3, said)])
    np.testing.assert_allclose(belief.log_joint(again), belief.log_joint(b), rtol=0, atol=1e-12)


# ---- settings and diagnostics ---------------------------------------------------------------------------------------


def test_unknown_answers_change_nothing():
    known, history = history_of("mixed", 3)
    belief = RENEWING.build(known.model, known.queries)
    query = next(q for q in range(len(known.queries)) if q not in dict(history))
    one, two = believe(belief, history), believe(belief, [*history, (query, None)])
    np.testing.assert_allclose(belief.log_joint(one), belief.log_joint(two), rtol=0, atol=1e-12)
    np.testing.assert_allclose(belief.log_posterior(one).error, belief.log_posterior(two).error, rtol=1e-9)


def test_few_effective_draws_are_said_once(caplog):
    """All draws of a class stem from one or two, and hardly move."""
    known, history = history_of("yes/no", 4)
    settings = SMC(n_draws=4, min_ess=5, n_own=32, n_moves=1, step_size=1e-8)
    belief = settings.build(known.model, known.queries)
    with caplog.at_level(logging.WARNING, logger="infopursuit"):
        _, after = refreshed(belief, history)
        refreshed(belief, history[::-1])
    assert after.own[0].info.ess < 8
    said = [record.getMessage() for record in caplog.records]
    assert sum("effective draws" in line for line in said) == 1
    assert all(line.startswith("smc: ") and line.endswith("(said once)") for line in said)
    assert sum("step_size" in line for line in said) == 1


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"n_draws": 0}, "n_draws=0; expected"),
        ({"n_draws": 2.5}, "n_draws=2.5"),
        ({"n_draws": True}, "n_draws=True"),
        ({"n_own": 1}, "n_own=1; expected"),
        ({"n_moves": 0}, "n_moves=0"),
        ({"step_size": 0.0}, "step_size=0.0; expected"),
        ({"step_size": float("inf")}, "step_size=inf"),
        ({"step_size": "much"}, "step_size='much'"),
        ({"min_ess": -1}, "min_ess=-1; expected"),
        ({"min_ess": float("nan")}, "min_ess=nan"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, word):
    with pytest.raises(ValueError, match=word):
        SMC(**options)


def test_one_draw_of_each_class_is_the_least():
    """It says how little it knows: a relative error of one, rather than none."""
    known, history = history_of("yes/no", 2)
    belief = SMC(n_draws=1, min_ess=0).build(known.model, known.queries)
    b = believe(belief, history)
    assert np.isfinite(belief.log_posterior(b).value).all()
    p = posterior_of(belief, b)[0]
    expected = p * np.sqrt(1 - 2 * p + (p**2).sum())
    np.testing.assert_allclose(belief.log_posterior(b).error[0], expected, rtol=1e-9)
