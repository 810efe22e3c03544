"""Answers that may be wrong, on draws of a continuous latent: against the truth by quadrature."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.strategies import SMC, Langevin
from quadrature import mixed, pixels, yes_no

KNOWN = {"yes/no": yes_no(2, seed=5), "mixed": mixed(1, seed=4), "pixels": pixels(2, seed=1)}
SETTINGS = {
    "fixed draws": SMC(n_draws=4000, min_ess=0),
    "smc": SMC(n_draws=1500, min_ess=1200, n_own=1500, n_moves=6),
    "langevin": Langevin(n_chains=200, n_steps=10, burn_in=10),
}
WRONG = ip.AnswerNoise(0.75, max_repeats=2)


def history_with_errors(known):
    """Four answers: one of them given twice, one of them likely only."""
    first, second, third = known.history([0, 1, 2], seed=2)
    sizes = known.queries.n_cells[third[0]][: len(third[1])]
    likely = ip.SoftAnswer(tuple(tuple(np.linspace(0.2, 0.9, int(size)).tolist()) for size in sizes))
    return (first, second, first, (third[0], likely))


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("settings", SETTINGS)
def test_draws_agree_with_the_truth(name, settings):
    """The posterior and the gains after answers that may be wrong; taking them at their word is far off (control)."""
    known = KNOWN[name]
    history = history_with_errors(known)
    true = known.world.pursuit(noise=WRONG, exact_gains=True)
    sampled = known.pursuit(SETTINGS[settings], noise=WRONG)
    state, truth = sampled.at(history), true.at(history)
    tolerance = 4 * state.posterior_error[0] + 0.01
    assert (np.abs(state.posterior - truth.posterior)[0] < tolerance).all()
    assert tolerance.max() < 0.15
    gains, expected = sampled.utilities(state).value[0], true.utilities(truth).value[0]
    np.testing.assert_allclose(gains, expected, rtol=0, atol=0.02)
    at_their_word = known.world.pursuit(exact_gains=True).believe([history[0], history[1]])
    assert np.abs(at_their_word - true.believe([history[0], history[1]])).max() > 0.015


def test_many_draws_refuse_what_they_cannot_weigh():
    """Whole answers are what makes it fast; with noise the slower way is taken."""
    from infopursuit.strategies.generative.pruned import MANY

    known = KNOWN["yes/no"]
    settings = SMC(n_draws=MANY, min_ess=0)
    fast = known.pursuit(settings)
    with pytest.raises(ValueError, match=r"noise=ip.AnswerNoise\(1.0\)"):
        fast.session().answer("yes", confidence=0.8)
    slow = known.pursuit(settings, noise=ip.AnswerNoise(1.0)).session()
    query = slow.question.index
    slow.answer("yes", confidence=0.8)
    true = known.world.pursuit().session([(query, ip.SoftAnswer(((0.2, 0.8),)))])
    np.testing.assert_allclose(slow.posterior, true.posterior, rtol=0, atol=0.02)


def test_pruned_enumeration_gives_way_to_exact_weights_where_answers_are_noisy():
    model, queries = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]]), ip.queries.concepts(["a", "b"])
    history = ((0, (1,)), (1, (0,)))
    pruned, exact = (
        ip.generative_pursuit(model, queries, kind, noise=ip.AnswerNoise(0.9)) for kind in ("pruned", "exact")
    )
    np.testing.assert_allclose(pruned.believe(history), exact.believe(history), rtol=0, atol=1e-6)
