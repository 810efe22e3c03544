"""Particles, decoded: the probabilities that they give, and how much a sum over them would vary."""

import numpy as np
import pytest
import torch

from infopursuit.models.finite import segments
from infopursuit.strategies.generative.particles import LEAST, Particles, stratified_prior
from quadrature import mixed, small_vae, yes_no

MAKERS = {"yes/no": yes_no, "mixed": mixed}


def particles_of(model, n_draws=20, seed=0):
    return Particles(model, *stratified_prior(model, n_draws, torch.Generator().manual_seed(seed)))


@pytest.mark.parametrize("scale", [1.0, 1e5])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_probabilities_are_those_of_the_decoder_kept_off_zero(make, scale):
    model = make(2, scale=scale, dtype=torch.float64).model
    particles = particles_of(model)
    with torch.no_grad():
        labels = torch.as_tensor(particles.state_class)
        expected = model.log_probs(particles.latents, labels).exp().numpy().T  # (L, S)
    table = particles.block(slice(0, model.variables.n_slots))
    np.testing.assert_allclose(table, expected, rtol=0, atol=5 * LEAST)
    assert table.min() >= LEAST * (1 - 1e-9)
    for a, b in zip(model.variables.offsets[:-1], model.variables.offsets[1:], strict=True):
        np.testing.assert_allclose(table[a:b].sum(axis=0), 1, rtol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_way_to_the_probabilities_gives_the_same(make, dtype):
    model = make(2, dtype=dtype).model
    particles = particles_of(model)
    table = particles.block(slice(0, model.variables.n_slots)).astype(particles.dtype)
    states = np.array([3, 0, 41, 59])
    np.testing.assert_allclose(particles.state_probs(states), table[:, states], rtol=1e-6, atol=1e-7)
    slots = model.variables.offsets[:-1] + np.array([0, 1, 1, 0, 1, 0][: len(model.variables)])
    np.testing.assert_allclose(particles.rows(slots), table[slots], rtol=1e-6, atol=1e-7)
    logs = np.log(table[slots].astype(np.float64)).sum(axis=0)
    np.testing.assert_allclose(particles.log_product(slots), logs, rtol=1e-5, atol=1e-5)


def test_the_least_probabilities_of_many_variables_are_still_numbers():
    """Forty answers that a decoder takes for impossible: products of them are below every float32."""
    model = small_vae((2,) * 40, 1, scale=1e6)
    particles = particles_of(model)
    unlikely = 2 * np.arange(40) + (particles.probs[:, 0] < 0.5)  # in the first state
    found = particles.log_product(unlikely)
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(40 * np.log(LEAST), rel=0.05)


def test_draws_are_stratified_by_class():
    model = yes_no(2).model.with_class_prior([0.2, 0.0, 0.8])
    latents, offsets, log_prior = stratified_prior(model, 5, torch.Generator().manual_seed(0))
    assert latents.shape == (15, 2)
    assert offsets.tolist() == [0, 5, 10, 15]
    np.testing.assert_allclose(np.exp(log_prior), np.repeat([0.04, 0.0, 0.16], 5))


def test_the_variance_of_a_sum_over_draws():
    """Draws of one class are like each other, families of draws are independent, and the mass itself may be unsure."""
    model = yes_no(2).model
    latents, offsets, log_prior = stratified_prior(model, 6, torch.Generator().manual_seed(0))
    terms = np.random.default_rng(1).normal(size=18)
    family = np.array([0, 0, 1, 1, 2, 2] * 3)
    mass_variance = np.array([0.1, 0.0, 0.5])
    states = np.arange(18)
    plain = Particles(model, latents, offsets, log_prior)
    grouped = Particles(model, latents, offsets, log_prior, family, mass_variance)
    alone = together = 0.0
    for c, (a, b) in enumerate(segments(offsets)):
        t = terms[a:b]
        alone += 6 * t.var(ddof=1)
        together += 3 * t.reshape(3, 2).sum(axis=1).var(ddof=1) + mass_variance[c] * t.sum() ** 2
    assert plain.variance_of(states, terms) == pytest.approx(alone)
    assert grouped.variance_of(states, terms) == pytest.approx(together)
    # draws that are left out count as zeros, and one that is named twice counts twice
    some = np.array([2, 2, 7])
    padded = np.zeros(18)
    padded[2], padded[7] = terms[0] + terms[1], terms[2]
    assert plain.variance_of(some, terms[:3]) == pytest.approx(plain.variance_of(states, padded))
