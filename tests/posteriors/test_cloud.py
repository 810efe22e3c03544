"""A cloud of decoded draws: the probabilities that it gives, and how much a sum over its draws would vary."""

import numpy as np
import pytest
import torch

from infopursuit.beliefs.particles import LEAST, Particles, stratified_prior
from infopursuit.models.finite import segments
from quadrature import mixed, small_vae, yes_no

MAKERS = {"yes/no": yes_no, "mixed": mixed}


def cloud_of(model, n_draws=20, seed=0):
    return Particles(model, *stratified_prior(model, n_draws, torch.Generator().manual_seed(seed)))


@pytest.mark.parametrize("scale", [1.0, 1e5])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_probabilities_are_those_of_the_decoder_kept_off_zero(make, scale):
    model = make(2, scale=scale, dtype=torch.float64).model
    cloud = cloud_of(model)
    with torch.no_grad():
        expected = model.log_probs(cloud.latents, cloud.state_class).exp().T  # (L, S)
    table = cloud.block(slice(0, model.variables.n_slots))
    torch.testing.assert_close(table, expected, rtol=0, atol=5 * LEAST)
    assert table.min() >= LEAST * (1 - 1e-9)
    for a, b in zip(model.variables.offsets[:-1], model.variables.offsets[1:], strict=True):
        torch.testing.assert_close(table[a:b].sum(dim=0), torch.ones(60, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_way_to_the_probabilities_gives_the_same(make, dtype):
    model = make(2, dtype=dtype).model
    cloud = cloud_of(model)
    table = cloud.block(slice(0, model.variables.n_slots)).to(dtype)
    states = torch.tensor([3, 0, 41, 59])
    torch.testing.assert_close(cloud.state_probs(states), table[:, states], rtol=1e-6, atol=1e-7)
    slots = torch.tensor(model.variables.offsets[:-1]) + torch.tensor([0, 1, 1, 0, 1, 0][: len(model.variables)])
    torch.testing.assert_close(cloud.rows(slots), table[slots])
    logs = table[slots].to(torch.float64).log().sum(dim=0)  # a sum over thousands needs more digits than the table has
    torch.testing.assert_close(cloud.log_product(slots), logs, rtol=1e-5, atol=1e-5)


def test_the_least_probabilities_of_many_variables_are_still_numbers():
    """Forty answers that a decoder takes for impossible: products of them are below every float32."""
    model = small_vae((2,) * 40, 1, scale=1e6)
    cloud = cloud_of(model)
    unlikely = 2 * torch.arange(40) + (cloud.probs[:, 0] < 0.5).long()  # in the first state
    found = cloud.log_product(unlikely)
    assert found.isfinite().all()
    assert found[0] == pytest.approx(40 * np.log(LEAST), rel=0.05)


def test_draws_are_stratified_by_class():
    model = yes_no(2).model.with_class_prior([0.2, 0.0, 0.8])
    latents, offsets, log_prior = stratified_prior(model, 5, torch.Generator().manual_seed(0))
    assert latents.shape == (15, 2)
    assert offsets.tolist() == [0, 5, 10, 15]
    np.testing.assert_allclose(log_prior.exp(), np.repeat([0.04, 0.0, 0.16], 5))


def test_the_variance_of_a_sum_over_draws():
    """Draws of one class are like each other, families of draws are independent, and the mass itself may be unsure."""
    model = yes_no(2).model
    latents, offsets, log_prior = stratified_prior(model, 6, torch.Generator().manual_seed(0))
    terms = torch.randn(18, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    family = torch.tensor([0, 0, 1, 1, 2, 2] * 3)
    mass_variance = np.array([0.1, 0.0, 0.5])
    states = torch.arange(18)
    plain = Particles(model, latents, offsets, log_prior)
    grouped = Particles(model, latents, offsets, log_prior, family, mass_variance)
    alone = together = 0.0
    for c, (a, b) in enumerate(segments(offsets)):
        t = terms[a:b].numpy()
        alone += 6 * t.var(ddof=1)
        together += 3 * t.reshape(3, 2).sum(axis=1).var(ddof=1) + mass_variance[c] * t.sum() ** 2
    assert plain.variance_of(states, terms) == pytest.approx(alone)
    assert grouped.variance_of(states, terms) == pytest.approx(together)
    # draws that are left out count as zeros, and one that is named twice counts twice
    some = torch.tensor([2, 2, 7])
    padded = torch.zeros(18, dtype=torch.float64)
    padded[2], padded[7] = terms[0] + terms[1], terms[2]
    assert plain.variance_of(some, terms[:3]) == pytest.approx(plain.variance_of(states, padded))
