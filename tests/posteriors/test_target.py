"""The log density that samplers aim at: against a naive sum, and the weights that a cloud gives to its draws."""

import math

import numpy as np
import pytest
import torch

from infopursuit.beliefs import SMC
from infopursuit.beliefs.langevin_kernels import start, target
from infopursuit.models.finite import segments
from quadrature import believe, mixed, pixels, small_vae, yes_no

FLOAT = torch.float64
NEVER = -math.inf


def draws_of(model, n=12, seed=0):
    """(n, D) latents and (n,) labels."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((n, model.latent_dim), generator=generator, dtype=model.dtype), torch.arange(n) % model.n_classes


def naive(model, latents, labels, evidence):
    """(N,) log p(z) + sum over all variables of log of the evidence-weighted probability, in plain numbers.

    Every value has a probability of 1e-6 at the least, and what it takes is taken from all.
    """
    probs = model.log_probs(latents, labels).exp().tolist()
    found = []
    for z, p in zip(latents.tolist(), probs, strict=True):
        total = sum(-x * x / 2 - math.log(2 * math.pi) / 2 for x in z)
        for variable in range(len(model.variables)):
            slots = range(int(model.variables.offsets[variable]), int(model.variables.offsets[variable + 1]))
            share = 1 - 1e-6 * len(slots)
            total += math.log(sum(math.exp(float(evidence[slot])) * (1e-6 + share * p[slot]) for slot in slots))
        found.append(total)
    return torch.tensor(found, dtype=model.dtype)


def check(known, evidence):
    latents, labels = draws_of(known.model)
    with torch.no_grad():
        found = target(known.model, labels, evidence)(latents)
        torch.testing.assert_close(found, naive(known.model, latents, labels, evidence), rtol=1e-10, atol=1e-10)
    return found


HISTORIES = {
    "nothing": (yes_no, []),
    "nothing, mixed": (mixed, []),
    "yes/no": (yes_no, [(0, (1,)), (3, (0,)), (5, (1,))]),
    "patches that overlap": (pixels, [(0, (1, 0, 1, 1)), (1, (0, 1, 1, 0)), (3, (1, 0, 0, 1))]),
    "a patch known in part": (pixels, [(0, (1, -1, -1, 0))]),
    "categories": (mixed, [(1, (2,)), (6, (3,)), (0, (1,))]),
    "one threshold": (mixed, [(3, (1,))]),
    "two thresholds": (mixed, [(3, (1,)), (4, (0,))]),
    "cells of two values": (mixed, [(5, (0,)), (8, (1, 1))]),
    "a threshold, then the value": (mixed, [(5, (1,)), (6, (2,))]),
    "unknown": (mixed, [(2, None), (7, (-1, 1))]),
}


@pytest.mark.parametrize(("make", "history"), HISTORIES.values(), ids=HISTORIES)
def test_the_density_is_the_naive_sum(make, history):
    known = make(2, seed=3, dtype=FLOAT)
    evidence = believe(known.posterior, history).evidence[0]
    found = check(known, evidence)
    if not history:
        latents, labels = draws_of(known.model)
        torch.testing.assert_close(found, known.model.log_prior(latents, labels))


@pytest.mark.parametrize("make", [yes_no, mixed])
def test_noisy_evidence_is_weighed(make):
    """An answer that is probably right: log-weights between 0 and minus infinity, beside some that are sure."""
    known = make(2, seed=3, dtype=FLOAT)
    evidence = torch.zeros(known.model.variables.n_slots, dtype=FLOAT)
    evidence[0], evidence[2], evidence[-1] = -0.5, NEVER, -2.0
    check(known, evidence)
    evidence[0] = NEVER
    evidence[1] = -0.7  # known, but the answer had a weight
    check(known, evidence)


@pytest.mark.parametrize(("make", "history"), HISTORIES.values(), ids=HISTORIES)
def test_the_density_is_what_a_cloud_weighs_its_draws_by(make, history):
    """Else moves would aim at another law than that of the weights."""
    known = make(2, seed=3, dtype=FLOAT)
    posterior = SMC(n_draws=20, min_ess=0).build(known.model, known.queries)
    belief = believe(posterior, history).shared
    gained = belief.log_weights[0] - posterior.cloud.log_prior
    for c, (a, b) in enumerate(segments(posterior.cloud.offsets)):
        latents = posterior.cloud.latents[a:b]
        labels = torch.full((b - a,), c)
        with torch.no_grad():
            likelihood = target(known.model, labels, belief.evidence[0])(latents) - known.model.log_prior(
                latents, labels
            )
        torch.testing.assert_close(gained[a:b], likelihood, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["yes/no", "categories", "two thresholds"])
def test_the_gradient_is_the_slope(name):
    make, history = HISTORIES[name]
    known = make(2, seed=3, dtype=FLOAT)
    latents, labels = draws_of(known.model)
    density = target(known.model, labels, believe(known.posterior, history).evidence[0])
    gradient = start(latents, density).gradient
    for d in range(2):
        step = torch.zeros_like(latents)
        step[:, d] = 1e-6
        with torch.no_grad():
            slope = (density(latents + step) - density(latents - step)) / 2e-6
        torch.testing.assert_close(gradient[:, d], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("name", ["yes/no", "categories", "two thresholds", "patches that overlap"])
def test_saturated_decoders_give_finite_numbers(name, scale):
    """Logits in the millions: the probability of an answer is 0 in every float, its logarithm is not."""
    make, history = HISTORIES[name]
    known = make(2, seed=3)
    model = small_vae(known.model.variables.sizes, 2, seed=3, scale=scale)
    latents, labels = draws_of(model)
    assert model.logits(latents, labels).abs().max() > 20 * scale / 100
    evidence = believe(known.posterior, history).evidence[0]
    chains = start(latents, target(model, labels, evidence))
    assert chains.log_density.isfinite().all()
    assert chains.gradient.isfinite().all()
    assert (chains.gradient != 0).any(dim=1).all()


def test_variables_that_nothing_is_known_of_do_not_matter():
    """They are left out; an evidence-weighted sum over all of their values would be 1 anyway."""
    known = mixed(2, seed=3, dtype=FLOAT)
    latents, labels = draws_of(known.model)
    evidence = believe(known.posterior, [(3, (1,))]).evidence[0]
    model = known.model
    with torch.no_grad():
        before = target(model, labels, evidence)(latents)
        last = [layer for layer in model.decoder.modules() if isinstance(layer, torch.nn.Linear)][-1]
        last.bias[:5] += 3.0  # a, b and c: features 0, 1 to 3, and 4
        torch.testing.assert_close(target(model, labels, evidence)(latents), before)
        last.bias[5] += 3.0  # d
        assert (target(model, labels, evidence)(latents) - before).abs().min() > 1e-6


def test_float32_stays_float32():
    known = yes_no(2, seed=3)
    latents, labels = draws_of(known.model)
    evidence = believe(known.posterior, [(0, (1,))]).evidence[0]
    assert target(known.model, labels, evidence)(latents).dtype == torch.float32
    assert (
        target(mixed(2).model, labels, believe(mixed(2).posterior, [(1, (1,))]).evidence[0])(latents).dtype
        == torch.float32
    )


def test_no_row_depends_on_another():
    known = mixed(2, seed=3, dtype=FLOAT)
    latents, labels = draws_of(known.model)
    evidence = believe(known.posterior, HISTORIES["cells of two values"][1]).evidence[0]
    with torch.no_grad():
        together = target(known.model, labels, evidence)(latents)
        for i in range(len(latents)):
            alone = target(known.model, labels[i : i + 1], evidence)(latents[i : i + 1])
            np.testing.assert_allclose(alone, together[i : i + 1], atol=1e-12)
