"""`langevin` against quadrature: belief, probability of the history and their errors over many seeds, for the
kernels that are corrected; the bias of the one that is not; where chains begin, and what is said of them.
"""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

from infopursuit.models.finite import softmax
from infopursuit.strategies import Langevin
from infopursuit.strategies.generative import particles as module
from infopursuit.strategies.generative.langevin import target
from quadrature import POINTS, REACH, believe, estimates, mixed, pixels, yes_no

FEW = {"n_chains": 32, "n_steps": 4, "burn_in": 4}
KNOWN = {
    "yes/no": (yes_no(2, seed=5), [3, 0, 4, 1, 5, 2]),
    "mixed": (mixed(1, seed=4), [5, 3, 8, 1, 7, 6]),
    "pixels": (pixels(2, seed=1), [2, 0, 3, 1]),
}


def history_of(name, n, seed=0):
    known, order = KNOWN[name]
    return known, known.history(order[:n], seed=seed)


def refreshed(belief, history):
    """The belief after the chains of the last answer have run."""
    b = believe(belief, history)
    return replace(b, own=(belief.renewed(b, [0])[0],))


# ---- the law --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n", "kernel"),
    [
        ("yes/no", 2, "mala"),
        ("yes/no", 4, "mala"),
        ("mixed", 3, "mala"),
        ("pixels", 3, "mala"),
    ],
)
def test_posterior_and_evidence_are_right_within_their_errors(name, n, kernel):
    known, history = history_of(name, n)
    found = estimates(known, Langevin(**FEW, kernel=kernel), history, 9)
    assert found.renewed.all()
    assert 0.8 <= found.covered <= 1  # of 27
    assert 0.5 < found.off < 1.6
    assert abs(found.bias) < 4


def test_chains_of_a_wrong_law_are_found_out(monkeypatch):
    """Negative control: without the prior, chains run to wherever the answers are surest."""
    known, history = history_of("yes/no", 5, seed=1)

    def flat(model, labels, evidence, least):
        whole = target(model, labels, evidence, least)
        return lambda latents: whole(latents) - model.log_prior(latents, labels)

    monkeypatch.setattr(module, "target", flat)
    found = estimates(known, Langevin(n_chains=32, n_steps=2, burn_in=6, step_size=1.0), history, 8)
    assert abs(found.bias) > 6
    assert found.covered < 0.6


def moments(known, history, settings, seeds):
    """(seeds, C) mean square of the latents over the draws of each class."""
    found = []
    for seed in range(seeds):
        own = refreshed(settings.build(known.model, known.queries, seed), history).own[0]
        found.append(own.particles.latents.square().sum(dim=1).reshape(known.model.n_classes, -1).mean(dim=1).numpy())
    return np.array(found)


def true_moments(known, history):
    """(C,) E |z|^2 given the class and the history."""
    axes = [np.linspace(-REACH, REACH, POINTS[known.model.latent_dim])] * known.model.latent_dim
    square = sum(axis**2 for axis in np.meshgrid(*axes, indexing="ij")).ravel()
    weights = softmax(believe(known.belief, history).log_weights.reshape(known.model.n_classes, -1))
    return weights @ square


@pytest.mark.parametrize("kernel", ["mala", "ula"])
def test_the_draws_are_from_the_law(kernel):
    known, history = history_of("mixed", 2)
    options = {"n_chains": 200, "n_steps": 4, "burn_in": 20, "kernel": kernel}
    found = moments(known, history, Langevin(**options, step_size=0.05 if kernel == "ula" else 0.5), 2)
    # chains are independent of each other: 300 of them
    np.testing.assert_allclose(found.mean(axis=0), true_moments(known, history), atol=0.25)


def test_a_large_step_biases_ula_and_not_mala():
    """On a standard normal, which no answer has changed, the variance is 1 / (1 - eta / 2)."""
    known = mixed(1, seed=4, scale=0.0)
    history = known.history([0], seed=0)
    options = {"n_chains": 200, "n_steps": 4, "burn_in": 20, "step_size": 1.0}
    biased, fine = (moments(known, history, Langevin(**options, kernel=kernel), 2) for kernel in ("ula", "mala"))
    np.testing.assert_allclose(biased.mean(axis=0), 2.0, atol=0.4)
    np.testing.assert_allclose(fine.mean(axis=0), 1.0, atol=0.2)


def test_ula_with_a_small_step_is_right_within_its_errors():
    known, history = history_of("yes/no", 3)
    found = estimates(known, Langevin(**FEW, kernel="ula", step_size=0.05), history, 8)
    assert found.covered >= 0.8
    assert abs(found.evidence.mean() - 1) < 0.1


# ---- where chains begin ---------------------------------------------------------------------------------------------


def nearest(own, others):
    """For each of some latents the one of others that it is closest to, and how close."""
    distance, place = torch.cdist(own, others).min(dim=1)
    return place.numpy(), distance


@pytest.mark.parametrize("kernel", ["ula", "mala"])
def test_warm_start(kernel):
    """Chains that hardly move stay where they began: the paper's all over the draws of the prior and then at the last
    places of the chains before them, the others at draws taken by their weights."""
    known, history = history_of("yes/no", 1)
    settings = Langevin(n_chains=40, n_steps=5, burn_in=0, step_size=1e-10, kernel=kernel)
    belief = settings.build(known.model, known.queries)
    before = believe(belief, history)
    after = refreshed(belief, history)
    for c in range(3):
        shared = belief.particles.latents[200 * c : 200 * (c + 1)]
        own = after.own[0].particles.latents[200 * c : 200 * (c + 1)]
        place, distance = nearest(own, shared)
        assert distance.max() < 1e-3
        taken = place.reshape(5, 40)
        assert (taken == taken[0]).all()
        if kernel == "ula":
            assert taken[0].tolist() == list(range(0, 200, 5))
        else:
            expected = 40 * softmax(before.shared.log_weights[0, 200 * c : 200 * (c + 1)])
            counts = np.bincount(taken[0], minlength=200)
            assert np.abs(counts - expected).max() < 1  # systematic: up to rounding
        # chains from one place are one family
        family = after.own[0].particles.family[200 * c : 200 * (c + 1)].reshape(5, 40)
        np.testing.assert_array_equal(family, taken)
    # the second answer goes on from the chains of the first
    longer = known.history(KNOWN["yes/no"][1][:2])
    place, distance = nearest(
        refreshed(belief, longer).own[0].particles.latents[:200], after.own[0].particles.latents[:200]
    )
    assert distance.max() < 1e-3
    if kernel == "ula":
        assert (place.reshape(5, 40) % 40).tolist() == [list(range(40))] * 5


def test_the_first_answer_needs_no_chain():
    """The prior can be drawn from; so can what a history knows that learnt nothing."""
    known, history = history_of("mixed", 1)
    belief = Langevin(**FEW).build(known.model, known.queries)
    assert refreshed(belief, []).own == (None,)
    assert refreshed(belief, [(0, None)]).own == (None,)
    assert believe(belief, history).own == (None,)
    assert refreshed(belief, history).own[0].particles.n_states == 3 * 32 * 4


@pytest.mark.parametrize("kernel", ["ula", "mala"])
def test_chains_change_no_probability_and_no_error(kernel):
    known, history = history_of("pixels", 2)
    belief = Langevin(**FEW, kernel=kernel).build(known.model, known.queries)
    before, after = believe(belief, history), refreshed(belief, history)
    np.testing.assert_allclose(belief.log_joint(after), belief.log_joint(before), rtol=0, atol=1e-12)
    np.testing.assert_allclose(belief.log_posterior(after).error, belief.log_posterior(before).error, rtol=1e-9)
    again = refreshed(Langevin(**FEW, kernel=kernel).build(known.model, known.queries), history)
    np.testing.assert_allclose(again.own[0].particles.latents, after.own[0].particles.latents, rtol=0, atol=1e-4)


def test_a_chain_of_ula_that_runs_away_stays_where_it_was():
    """A step so large that latents overflow: what cannot be decoded is not gone to, and nothing becomes NaN."""
    known, history = history_of("yes/no", 2)
    belief = Langevin(n_chains=8, n_steps=4, burn_in=30, step_size=1e12, kernel="ula").build(known.model, known.queries)
    after = refreshed(belief, history)
    assert after.own[0].particles.latents.isfinite().all()
    assert np.isfinite(belief.log_posterior(after).value).all()


# ---- settings and diagnostics ---------------------------------------------------------------------------------------


def test_what_is_wrong_is_said_once(caplog):
    """Without a burn-in the step size is not adapted, and this one makes chains that hardly move."""
    known, history = history_of("yes/no", 2)
    belief = Langevin(n_chains=16, n_steps=20, burn_in=0, step_size=1e-9).build(known.model, known.queries)
    with caplog.at_level(logging.WARNING, logger="infopursuit"):
        refreshed(belief, history)
        first = [record.getMessage() for record in caplog.records]
        refreshed(belief, history[::-1])
    assert [record.getMessage() for record in caplog.records] == first
    said = " ".join(first)
    for word in ("use a larger step_size", "take more draws"):
        assert said.count(word) == 1
    assert all(line.startswith("langevin: ") for line in first)


def test_nothing_is_said_of_good_chains(caplog):
    known, history = history_of("mixed", 2)
    belief = Langevin(n_chains=64, n_steps=60, burn_in=10).build(known.model, known.queries)
    with caplog.at_level(logging.WARNING, logger="infopursuit"):
        refreshed(belief, history)
    assert not caplog.records


def test_the_step_size_is_adapted_in_the_burn_in():
    known, history = history_of("yes/no", 2)
    for step_size in (1e-3, 30.0):
        belief = Langevin(n_chains=32, n_steps=2, burn_in=30, step_size=step_size).build(known.model, known.queries)
        assert 0.3 < refreshed(belief, history).own[0].info.acceptance < 0.85


def test_the_papers_settings():
    paper = Langevin.paper()
    assert paper.n_chains * paper.n_steps == 256 * 47 == 12_032
    assert (paper.burn_in, paper.kernel, paper.step_size) == (20, "ula", 0.1)
    known = yes_no(1)
    assert paper.build(known.model, known.queries).particles.n_states == 3 * 12_032


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"kernel": "nuts"}, "kernel='nuts'; expected one of ula, mala"),
        ({"n_chains": 1}, "n_chains=1; expected"),
        ({"n_steps": 0}, "n_steps=0"),
        ({"burn_in": -1}, "burn_in=-1; expected"),
        ({"step_size": -0.1}, "step_size=-0.1; expected"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, word):
    with pytest.raises(ValueError, match=word):
        Langevin(**options)
