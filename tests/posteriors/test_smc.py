"""`smc` against quadrature: posterior, probability of the history and their errors, over many seeds; and when it draws
anew.

An estimate may be 4 Monte Carlo standard errors off; the negative control has to be beyond 10.
"""

import logging

import numpy as np
import pytest
import torch

from infopursuit.beliefs import SMC
from infopursuit.beliefs import smc as module
from infopursuit.beliefs.diagnostics import weight_ess
from infopursuit.beliefs.langevin_kernels import target
from infopursuit.beliefs.particles import LEAST, ParticleState
from infopursuit.models.finite import segments
from infopursuit.queries import patches
from quadrature import Known, believe, cells_of, estimates, key_of, mixed, pixels, small_vae, yes_no

BANK = SMC(n_draws=64, min_ess=0)
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


@pytest.mark.parametrize("settings", [BANK, RENEWING], ids=["bank", "renewing"])
@pytest.mark.parametrize("name", KNOWN)
def test_posteriors_are_right_within_their_reported_errors(name, settings):
    """After one to four answers; the share of estimates within two standard errors, for each and for all together."""
    covered = []
    for n in (1, 2, 3, 4):
        known, history = history_of(name, n)
        found = estimates(known, settings, history, 40 if settings is BANK else 10)
        assert 0.5 < found.off < 1.6  # nor so large that they say nothing
        covered.append(found.covered)
    assert min(covered) >= 0.8
    assert 0.85 <= np.mean(covered) <= 1


def test_errors_would_not_be_honest_without_those_inherited(monkeypatch):
    """The control of the test above: to forget what was not known when draws were made is to be too sure."""
    known, history = history_of("yes/no", 4)
    inherit = module.SMCBelief.class_variance
    monkeypatch.setattr(module.SMCBelief, "class_variance", lambda self, belief: 0.02 * inherit(self, belief))
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

    def flat(model, labels, evidence):
        whole = target(model, labels, evidence)
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
    posterior = BANK.build(known.model, known.queries)
    belief = posterior.start()
    np.testing.assert_allclose(posterior.log_class(belief)[0].exp(), known.model.class_prior, rtol=1e-12)
    np.testing.assert_allclose(posterior.class_errors(belief), 0, atol=1e-12)
    np.testing.assert_allclose(posterior.class_ess(belief), 64)


# ---- when it draws anew ---------------------------------------------------------------------------------------------


def refreshed(posterior, history):
    """Beliefs before and after the draws are looked after."""
    belief = believe(posterior, history)
    return belief, posterior.refresh(belief, [key_of(history, posterior.queries.width)])


@pytest.mark.parametrize("name", KNOWN)
def test_it_draws_anew_where_too_few_draws_carry_the_weight(name):
    known, history = history_of(name, 4)
    ess = BANK.build(known.model, known.queries).class_ess(believe(BANK.build(known.model, known.queries), history))[0]
    p = known.class_probs(history)
    assert (p > 0.05).any()
    least = ess[p > 0.05].min()
    for min_ess, renewed in ((0, False), (1, False), (0.99 * least, False), (1.01 * least, True), (64, True)):
        settings = SMC(n_draws=64, min_ess=min_ess, n_own=10, n_moves=1)
        posterior = settings.build(known.model, known.queries)
        # one answer at a time without looking after the draws: all four on the bank
        belief = ParticleState(believe(posterior.shared, history), (None,), (False,))
        after = posterior.refresh(belief, [key_of(history, known.queries.width)])
        assert (after.own[0] is not None) == renewed, min_ess
        if renewed:
            assert after.own[0].cloud.n_states == 30
            assert after.own[0].belief.log_weights.shape == (1, 30)


def test_a_class_that_hardly_counts_does_not_call_for_draws():
    """Its weight sits on one draw, but its posterior is below 1 %."""
    known = yes_no(1, seed=0, prior=(0.6, 0.395, 0.005))
    posterior = SMC(n_draws=8, min_ess=2.0).build(known.model, known.queries)
    start = posterior.start()
    log_weights = start.shared.log_weights.clone()
    log_weights[0, 17:] = -torch.inf
    lopsided = ParticleState(type(start.shared)(log_weights, start.shared.evidence), (None,), (False,))
    assert posterior.class_ess(lopsided).round(6).tolist() == [[8.0, 8.0, 1.0]]
    assert posterior.refresh(lopsided, [b""]).own == (None,)
    log_weights[0, 9:16] = -torch.inf
    assert posterior.refresh(lopsided, [b""]).own[0] is not None


@pytest.mark.parametrize("name", KNOWN)
def test_drawing_anew_changes_no_probability_and_no_error(name):
    known, history = history_of(name, 4)
    posterior = SMC(n_draws=64, min_ess=65, n_own=48, n_moves=2).build(known.model, known.queries, seed=3)
    before, after = refreshed(posterior, history)
    assert after.own[0] is not before.own[0]
    np.testing.assert_allclose(posterior.log_joint(after), posterior.log_joint(before), rtol=0, atol=1e-12)
    np.testing.assert_allclose(posterior.class_errors(after), posterior.class_errors(before), rtol=1e-9)
    np.testing.assert_array_equal(after.own[0].belief.evidence, believe(known.posterior, history).evidence)


def test_the_draws_that_a_history_gets_are_from_its_law():
    """Means over the own draws of each class, against the grid, over many seeds."""
    known, history = history_of("yes/no", 3)
    truth = believe(known.posterior, history).log_weights.reshape(3, -1).softmax(dim=1).numpy()
    latents = np.stack(np.meshgrid(*[np.linspace(-5, 5, 81)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    found = []
    for seed in range(16):
        posterior = SMC(n_draws=100, min_ess=101, n_own=50, n_moves=4).build(known.model, known.queries, seed)
        own = refreshed(posterior, history)[1].own[0]
        z = own.cloud.latents.reshape(3, 50, 2).numpy()
        found.append(np.concatenate([z.mean(axis=1), (z**2).mean(axis=1)], axis=1))
    expected = np.concatenate([truth @ latents, truth @ latents**2], axis=1)
    found = np.array(found)
    z = (found.mean(axis=0) - expected) / (found.std(axis=0, ddof=1) / 4)
    assert np.abs(z).max() < 4.5
    prior = np.concatenate([np.zeros((3, 2)), np.ones((3, 2))], axis=1)
    assert np.abs((found.mean(axis=0) - prior) / (found.std(axis=0, ddof=1) / 4)).max() > 10  # it is not the prior


def test_looking_after_the_draws_twice_is_looking_after_them_once():
    known, history = history_of("pixels", 3)
    posterior = RENEWING.build(known.model, known.queries)
    _, once = refreshed(posterior, history)
    key = [key_of(history, known.queries.width)]
    twice = posterior.refresh(once, key)
    assert twice.own[0] is once.own[0]
    assert twice.fresh == (True,)
    again = refreshed(posterior, history)[1]
    np.testing.assert_array_equal(again.own[0].cloud.latents, once.own[0].cloud.latents)
    # to look after them only when the next answer comes makes no difference
    query = next(q for q in range(len(known.queries)) if q not in dict(history))
    longer = [*history, known.history([query])[0]]
    late = believe(posterior, longer)
    cells = np.array([cells_of(longer[-1][1], known.queries.width)])
    early = posterior.update(once, np.zeros(1, dtype=np.int64), np.array([query]), cells, key)
    np.testing.assert_array_equal(posterior.log_joint(late), posterior.log_joint(early))


@pytest.mark.parametrize("name", KNOWN)
def test_other_histories_in_the_batch_do_not_matter(name):
    """Histories together, in another order, or refreshed one by one: the same draws and the same numbers."""
    known, order = KNOWN[name]
    width = known.queries.width
    posterior = SMC(n_draws=40, min_ess=30, n_own=16, n_moves=2).build(known.model, known.queries)
    query, following = order[:2]
    firsts = [known.history([query], seed=seed)[0] for seed in range(40)]
    firsts = list(dict.fromkeys(firsts))[:2]
    one = posterior.start()
    row = np.zeros(len(firsts), dtype=np.int64)
    cells = np.array([cells_of(answer, width) for _, answer in firsts])
    belief = posterior.update(one, row, np.array([query] * len(firsts)), cells, [b""])
    answers = list(dict.fromkeys(known.history([following], seed=seed)[0][1] for seed in range(40)))[:3]
    pairs = [(h, answer) for h in range(len(firsts)) for answer in answers]
    both = posterior.update(
        belief,
        np.array([h for h, _ in pairs]),
        np.array([following] * len(pairs)),
        np.array([cells_of(answer, width) for _, answer in pairs]),
        [key_of([first], width) for first in firsts],
    )
    histories = [[firsts[h], (following, answer)] for h, answer in pairs]
    keys = [key_of(history, width) for history in histories]
    together = posterior.refresh(both, keys)
    some = posterior.refresh(both, keys, [len(pairs) - 1])
    assert some.fresh == (*[False] * (len(pairs) - 1), True)
    turned = posterior.refresh(both.take(np.arange(len(pairs))[::-1].copy()), keys[::-1])
    for h, history in enumerate(histories):
        _, alone = refreshed(posterior, history)
        np.testing.assert_allclose(posterior.log_joint(together)[h], posterior.log_joint(alone)[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(posterior.class_errors(together)[h], posterior.class_errors(alone)[0], atol=1e-12)
        for other, place in ((together, h), (turned, len(pairs) - 1 - h)):
            assert (other.own[place] is None) == (alone.own[0] is None)
            if alone.own[0] is not None:
                np.testing.assert_array_equal(other.own[place].cloud.latents, alone.own[0].cloud.latents)
    assert any(own is not None for own in together.own)


def test_another_seed_and_another_history_get_other_draws():
    """Control of the tests above: the draws do depend on the seed and on the order of the answers."""
    known, history = history_of("yes/no", 3)
    draws = [
        refreshed(RENEWING.build(known.model, known.queries, seed), said)[1].own[0].cloud.latents
        for seed, said in ((0, history), (1, history), (0, history[::-1]))
    ]
    assert not torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_a_class_below_a_millionth_is_carried_along():
    """No work is spent on it; its mass and its single draw stay, and its answers still count."""
    model = small_vae((2,) * 5, 1, seed=0, prior=(0.6, 0.4 - 1e-8, 1e-8))
    known = Known(model, yes_no(n_variables=5).queries)
    posterior = SMC(n_draws=32, min_ess=33, n_own=16, n_moves=1).build(model, known.queries)
    history = known.history([0, 1, 2], seed=1)
    before, after = refreshed(posterior, history)
    assert np.diff(after.own[0].cloud.offsets).tolist() == [16, 16, 1]
    np.testing.assert_allclose(posterior.log_joint(after), posterior.log_joint(before), atol=1e-12)
    p = posterior.log_class(after)[0].exp()
    assert 0 < p[2] < 1e-6
    assert 1 / 4 < p[2] / known.class_probs(history)[2] < 4


# ---- trap 1 ---------------------------------------------------------------------------------------------------------


def test_trap_1_overlapping_patches_count_a_pixel_once():
    """Trap 1: after two patches that share two pixels, a draw's weight is the product over six pixels, not eight."""
    known = pixels(2, seed=1)
    posterior = BANK.build(known.model, known.queries)
    history = known.history([0, 1], seed=0)
    seen = {}
    for query, answer in history:
        seen |= dict(zip(known.queries.query_variables[query].tolist(), answer, strict=True))
    assert len(seen) == 6
    expected, twice = [], []
    for c, (a, b) in enumerate(segments(posterior.cloud.offsets)):
        with torch.no_grad():
            yes = known.model.logits(posterior.cloud.latents[a:b], torch.full((b - a,), c)).sigmoid().double()
        yes = (LEAST + (1 - 2 * LEAST) * yes).numpy()
        factors = {variable: yes[:, variable] if value else 1 - yes[:, variable] for variable, value in seen.items()}
        weight = known.model.class_prior[c] * np.prod(list(factors.values()), axis=0)
        shared = sorted(set(known.queries.query_variables[0].tolist()) & set(known.queries.query_variables[1].tolist()))
        expected.append(np.log(weight.mean()))
        twice.append(np.log((weight * np.prod([factors[variable] for variable in shared], axis=0)).mean()))
    found = posterior.log_joint(believe(posterior, history))[0].numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    assert np.abs(found - twice).min() > 0.05


def test_trap_1_after_drawing_anew_too():
    """Trap 1: the patch seen in full tells nothing, and its pixels pull the draws no further."""
    known = pixels(2, seed=1)
    centre = Known(known.model, patches((3, 3), size=2))
    posterior = SMC(n_draws=64, min_ess=65, n_own=32, n_moves=2).build(centre.model, centre.queries)
    history = known.history([0, 1, 2, 3], seed=0)
    belief = believe(posterior, history[:3])
    # the last patch shares three of its pixels with the others; say those only
    variables = known.queries.query_variables[3].tolist()
    new = set(variables) - {a for q in (0, 1, 2) for a in known.queries.query_variables[q].tolist()}
    said = tuple(-1 if variable in new else cell for variable, cell in zip(variables, history[3][1], strict=True))
    assert said.count(-1) == 1
    again = believe(posterior, [*history[:3], (3, said)])
    np.testing.assert_allclose(posterior.log_joint(again), posterior.log_joint(belief), rtol=0, atol=1e-12)


# ---- settings and diagnostics ---------------------------------------------------------------------------------------


def test_unknown_answers_change_nothing():
    known, history = history_of("mixed", 3)
    posterior = RENEWING.build(known.model, known.queries)
    query = next(q for q in range(len(known.queries)) if q not in dict(history))
    one, two = believe(posterior, history), believe(posterior, [*history, (query, None)])
    np.testing.assert_allclose(posterior.log_joint(one), posterior.log_joint(two), rtol=0, atol=1e-12)
    np.testing.assert_allclose(posterior.class_errors(one), posterior.class_errors(two), rtol=1e-9)


def test_diagnostics_follow_the_weights():
    known, history = history_of("yes/no", 4)
    posterior = RENEWING.build(known.model, known.queries)
    bank = BANK.build(known.model, known.queries)
    info = bank.info(believe(bank, history))[0]
    weights = believe(bank, history).shared.log_weights.reshape(3, -1)
    assert info.ess == pytest.approx(float(weight_ess(weights).min()))
    assert np.isnan(info.acceptance)
    assert np.isnan(info.r_hat)
    after = refreshed(posterior, history[:3])[1]
    fresh = posterior.info(after)[0]
    assert 0.2 < fresh.acceptance < 1
    assert 1 <= fresh.ess <= 48
    later = posterior.info(believe(posterior, history))[0]
    assert later.ess < fresh.ess


def test_few_effective_draws_are_said_once(caplog):
    """All draws of a class stem from one or two, and hardly move."""
    known, history = history_of("yes/no", 4)
    settings = SMC(n_draws=4, min_ess=5, n_own=32, n_moves=1, step_size=1e-8)
    posterior = settings.build(known.model, known.queries)
    with caplog.at_level(logging.WARNING, logger="infopursuit"):
        _, after = refreshed(posterior, history)
        refreshed(posterior, history[::-1])
    assert after.own[0].info.ess < 8
    said = [record.getMessage() for record in caplog.records]
    assert sum("effective draws" in line for line in said) == 1
    assert all(line.startswith("smc: ") and line.endswith("(said once)") for line in said)
    assert sum("step_size" in line for line in said) == 1


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"n_draws": 0}, "n_draws=0 must be a whole number, 1 or more"),
        ({"n_draws": 2.5}, "n_draws=2.5"),
        ({"n_draws": True}, "n_draws=True"),
        ({"n_own": 1}, "n_own=1 must be a whole number, 2 or more"),
        ({"n_moves": 0}, "n_moves=0"),
        ({"step_size": 0.0}, "step_size=0.0 must be positive"),
        ({"step_size": float("inf")}, "step_size=inf"),
        ({"step_size": "much"}, "step_size='much'"),
        ({"min_ess": -1}, "min_ess=-1 must be 0 or more"),
        ({"min_ess": float("nan")}, "min_ess=nan"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, word):
    with pytest.raises(ValueError, match=word):
        SMC(**options)


def test_one_draw_of_each_class_is_the_least():
    """It says how little it knows: a relative error of one, rather than none."""
    known, history = history_of("yes/no", 2)
    posterior = SMC(n_draws=1, min_ess=0).build(known.model, known.queries)
    belief = believe(posterior, history)
    assert posterior.log_class(belief).isfinite().all()
    p = posterior.log_class(belief)[0].exp().numpy()
    expected = p * np.sqrt(1 - 2 * p + (p**2).sum())
    np.testing.assert_allclose(posterior.class_errors(belief)[0], expected, rtol=1e-9)
