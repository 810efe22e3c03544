"""Langevin kernels against laws known in closed form or by quadrature, judged in Monte Carlo standard errors.

Chains are independent of each other, so the standard error of a mean over all draws is that of the chains' means.
Beyond 4 standard errors a sampler fails; its negative control, a sampler that is wrong, has to be beyond 10.
"""

import dataclasses
import math

import numpy as np
import pytest
import torch

from infopursuit.models.finite import segments
from infopursuit.strategies import SMC
from infopursuit.strategies.generative.langevin import Chains, adapt, mala, start, target, ula
from infopursuit.strategies.generative.particles import LEAST
from quadrature import believe, mixed, pixels, small_vae, yes_no

FLOAT = torch.float64


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def metropolis(chains, log_density, step_size, generator):
    """`mala` in the form of `ula`."""
    return mala(chains, log_density, step_size, generator)[0]


def draw(kernel, log_density, latents, step_size, *, n_steps, burn_in=100, seed=0, **options):
    """(n_steps, N, D) what a kernel draws after the burn-in."""
    generator, chains = seeded(seed), start(latents, log_density)
    draws = []
    for _ in range(burn_in + n_steps):
        chains = kernel(chains, log_density, step_size, generator, **options)
        draws.append(chains.latents)
    return torch.stack(draws[burn_in:])


def scattered(n_chains, dim, scale=3.0):
    """(N, D) starts that are wider than any of the targets."""
    return scale * torch.randn(n_chains, dim, generator=seeded(1), dtype=FLOAT)


def off(values, truth):
    """(n_steps, N, ...) -> (...) how many standard errors the mean is away from the truth."""
    means = values.mean(dim=0)
    return (means.mean(dim=0) - torch.as_tensor(truth, dtype=FLOAT)) / (means.std(dim=0) / len(means) ** 0.5)


def worst(draws, mean, covariance):
    """The largest error of the mean and the covariance of (n_steps, N, D) draws, in standard errors."""
    mean = torch.as_tensor(mean, dtype=FLOAT)
    centred = draws - mean
    products = centred[..., :, None] * centred[..., None, :]  # (n_steps, N, D, D)
    return max(off(draws, mean).abs().max().item(), off(products, covariance).abs().max().item())


# ---- the kernels, in their own words --------------------------------------------------------------------------------


def skewed(latents):
    """(N, D) -> (N,) a log density with a different gradient everywhere."""
    return -(latents.exp() - latents).sum(dim=1) - latents.square().sum(dim=1) ** 2 / 10


@pytest.mark.parametrize("step_size", [0.05, 0.3, 1.0])
def test_a_step_is_the_formula(step_size):
    """The moves and the acceptance by the densities of the proposals, normalisers and all."""
    latents = scattered(6, 3, scale=1.0)
    gradient = -(latents.exp() - 1) - 4 * latents.square().sum(dim=1, keepdim=True) * latents / 10
    chains = start(latents, skewed)
    torch.testing.assert_close(chains.gradient, gradient)
    torch.testing.assert_close(chains.log_density, skewed(latents))

    variance = 2 * step_size * torch.ones(6, 3, dtype=FLOAT)
    noise = torch.randn(6, 3, generator=seeded()).to(FLOAT)  # the same numbers for every type
    proposal = latents + variance / 2 * gradient + variance.sqrt() * noise
    walked = ula(chains, skewed, step_size, seeded())
    torch.testing.assert_close(walked.latents, proposal)

    forth = torch.distributions.Normal(latents + variance / 2 * gradient, variance.sqrt())
    back = torch.distributions.Normal(proposal + variance / 2 * walked.gradient, variance.sqrt())
    ratio = (skewed(proposal) + back.log_prob(latents).sum(1) - skewed(latents) - forth.log_prob(proposal).sum(1)).exp()
    moved, acceptance = mala(chains, skewed, step_size, seeded())
    torch.testing.assert_close(acceptance, ratio.clamp(max=1))
    stayed = (moved.latents == latents).all(dim=1)
    torch.testing.assert_close(moved.latents[~stayed], proposal[~stayed])
    again = start(moved.latents, skewed)
    for field in dataclasses.fields(Chains):
        torch.testing.assert_close(getattr(moved, field.name), getattr(again, field.name))


@pytest.mark.parametrize("kernel", [ula, metropolis])
def test_the_same_seed_gives_the_same_draws(kernel):
    one, same, other = (draw(kernel, skewed, scattered(5, 2), 0.2, n_steps=20, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("kernel", [ula, metropolis])
def test_no_graph_is_kept_and_the_chains_before_a_step_stay_as_they_were(kernel):
    weight = torch.ones((), requires_grad=True)  # a decoder's parameter
    latents = scattered(4, 2).float()
    with torch.no_grad():
        chains = start(latents, lambda z: weight * skewed(z))
        before = [getattr(chains, field.name).clone() for field in dataclasses.fields(Chains)]
        moved = kernel(chains, lambda z: weight * skewed(z), torch.full((4, 1), 0.1, dtype=FLOAT), seeded())
    for state in (chains, moved):
        for field in dataclasses.fields(Chains):
            value = getattr(state, field.name)
            assert value.dtype == torch.float32
            assert not value.requires_grad
    for field, value in zip(dataclasses.fields(Chains), before, strict=True):
        assert torch.equal(getattr(chains, field.name), value)
    assert len(moved) == 4
    assert weight.grad is None
    assert not latents.requires_grad


def test_a_log_density_of_the_wrong_shape_is_named():
    with pytest.raises(ValueError, match=r"log_density gave shape \(4, 1\).*return one number per row, \(4,\)"):
        start(scattered(4, 2), lambda z: z.sum(dim=1, keepdim=True))


# ---- trap 6: unadjusted Langevin is biased --------------------------------------------------------------------------

VARIANCE, BIG = 2.25, 1.5


def normal(latents):
    """(N, 1) -> (N,) N(0, s^2)."""
    return -latents[:, 0].square() / (2 * VARIANCE)


@pytest.mark.parametrize("step_size", [0.5, BIG])
def test_trap_6_ula_settles_at_a_larger_variance(step_size):
    """Trap 6: s^2 / (1 - eta / (2 s^2)), and not s^2."""
    draws = draw(ula, normal, scattered(500, 1), step_size, n_steps=300)
    assert worst(draws, [0.0], [[VARIANCE / (1 - step_size / (2 * VARIANCE))]]) < 4
    assert worst(draws, [0.0], [[VARIANCE]]) > 10


@pytest.mark.parametrize("step_size", [0.5, BIG])
def test_trap_6_mala_has_the_right_variance_at_the_same_step_size(step_size):
    assert worst(draw(metropolis, normal, scattered(500, 1), step_size, n_steps=300), [0.0], [[VARIANCE]]) < 4


# ---- MALA against posteriors that are known -------------------------------------------------------------------------


def moments(log_density, ends, n):
    """Mean (D,), covariance (D, D), and the grid (n^D, D) with its probabilities, by quadrature."""
    axes = [torch.linspace(low, high, n, dtype=FLOAT) for low, high in ends]
    grid = torch.cartesian_prod(*axes).reshape(-1, len(axes))
    mass = log_density(grid).softmax(dim=0)
    mean = mass @ grid
    return mean, ((grid - mean) * mass[:, None]).T @ (grid - mean), grid, mass


def three_answers(latents):
    """(N, 1) -> (N,) a standard normal latent after three answers of logistic likelihood."""
    z = latents[:, 0]
    logsigmoid = torch.nn.functional.logsigmoid
    return -z.square() / 2 + logsigmoid(4 * z) + logsigmoid(4 * z + 1) + logsigmoid(2 - 3 * z)


def banana(latents):
    """(N, 2) -> (N,) x ~ N(0, 1), y ~ N(x^2 / 2, 1 / 4)."""
    x, y = latents.unbind(dim=1)
    return -x.square() / 2 - 2 * (y - x.square() / 2).square()


@pytest.mark.parametrize("step_size", [0.2, 0.6])
def test_mala_on_a_logistic_posterior_in_one_dimension(step_size):
    mean, covariance, _, _ = moments(three_answers, [(-8, 8)], 4001)
    exact, biased = (
        draw(kernel, three_answers, scattered(400, 1), step_size, n_steps=400) for kernel in (metropolis, ula)
    )
    assert worst(exact, mean, covariance) < 4
    assert worst(biased, mean, covariance) > 10


def test_mala_on_a_banana():
    """E y = 1/2, Var y = 1/4 + Var(x^2) / 4 = 3/4, Cov(x, y) = E x^3 / 2 = 0, and y falls on both sides of x = 0."""
    draws = draw(metropolis, banana, scattered(400, 2, scale=1.0), 0.12, n_steps=1500, burn_in=300)
    assert worst(draws, [0.0, 0.5], [[1.0, 0.0], [0.0, 0.75]]) < 4
    x, y = draws.unbind(dim=2)
    assert off(x.square() * y, 1.5).abs() < 4  # E x^4 / 2; it would be 1/2 were the two independent


def linear_gaussian():
    """x = W z + noise, z ~ N(0, I): the log density, and the mean and covariance of z given x."""
    rng = np.random.default_rng(0)
    loadings, noise = torch.from_numpy(rng.normal(size=(6, 3))), 0.7
    x = torch.from_numpy(rng.normal(size=6))
    covariance = torch.linalg.inv(torch.eye(3, dtype=FLOAT) + loadings.T @ loadings / noise**2)

    def log_density(z):
        return -z.square().sum(dim=1) / 2 - (x - z @ loadings.T).square().sum(dim=1) / (2 * noise**2)

    return log_density, covariance @ loadings.T @ x / noise**2, covariance


def test_mala_on_a_linear_gaussian_decoder():
    log_density, mean, covariance = linear_gaussian()
    assert worst(draw(metropolis, log_density, scattered(400, 3), 0.05, n_steps=500), mean, covariance) < 4


def test_a_broken_acceptance_fails_the_same_check():
    """Negative control: always accept, at the same step size; and a ratio that forgets the proposals."""
    log_density, mean, covariance = linear_gaussian()

    def forgetful(chains, log_density, step_size, generator):
        proposed = ula(chains, log_density, step_size, generator)
        accepted = torch.rand(len(chains), generator=generator) < (proposed.log_density - chains.log_density).exp()
        return start(torch.where(accepted[:, None], proposed.latents, chains.latents), log_density)

    for broken in (ula, forgetful):
        assert worst(draw(broken, log_density, scattered(400, 3), 0.05, n_steps=500), mean, covariance) > 10


def test_mala_on_a_bernoulli_decoder():
    """Five binary variables, three of them seen; the probability of an unseen one is what a gain is made of."""
    rng = np.random.default_rng(1)
    loadings, biases = torch.from_numpy(2 * rng.normal(size=(5, 2))), torch.from_numpy(rng.normal(size=5))
    seen, unseen = [0, 2, 3], 4
    signs = torch.tensor([1.0, -1.0, 1.0], dtype=FLOAT)

    def logits(z):
        return z @ loadings.T + biases

    def log_density(z):
        return -z.square().sum(dim=1) / 2 + torch.nn.functional.logsigmoid(signs * logits(z)[:, seen]).sum(dim=1)

    mean, covariance, grid, mass = moments(log_density, [(-8, 8)] * 2, 401)
    probability = mass @ logits(grid)[:, unseen].sigmoid()
    before = torch.exp(-grid.square().sum(dim=1) / 2)
    before = before @ logits(grid)[:, unseen].sigmoid() / before.sum()

    draws = draw(metropolis, log_density, scattered(400, 2), 0.4, n_steps=500)
    answers = logits(draws)[..., unseen].sigmoid()  # (n_steps, N)
    assert worst(draws, mean, covariance) < 4
    assert off(answers, probability).abs() < 4
    assert off(answers, before).abs() > 10  # the answers do tell something of the unseen variable


# ---- what is not finite ---------------------------------------------------------------------------------------------

CUT_VARIANCE = 0.29112509  # of N(0, 1) between -1 and 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_rejected(bad):
    """A density that breaks outside of (-1, 1): the draws are those of the normal cut off there."""

    def broken(latents):
        z = latents[:, 0]
        return torch.where(z.abs() < 1, -z.square() / 2, bad)

    latents = torch.linspace(-0.9, 0.9, 500, dtype=FLOAT)[:, None]
    draws = draw(metropolis, broken, latents, 0.3, n_steps=200, burn_in=20)
    assert draws.abs().max() < 1
    assert worst(draws, [0.0], [[CUT_VARIANCE]]) < 4
    chains = start(draws[-1], broken)
    _, acceptance = mala(chains, broken, 0.3, seeded())
    outside = ula(chains, broken, 0.3, seeded()).latents[:, 0].abs() >= 1
    assert outside.any()
    assert (acceptance[outside] == 0).all()
    assert (acceptance[~outside] > 0).all()


def test_a_broken_gradient_is_rejected_and_other_rows_go_on():
    """The root has an infinite slope at 0, which is where the first row is."""

    def rooted(latents):
        return -latents.square().sum(dim=1) + latents.sqrt().sum(dim=1)

    chains = start(torch.tensor([[0.0], [1.0]]), rooted)
    assert chains.log_density[0] == -torch.inf
    assert chains.gradient[0] == 0
    assert chains.log_density[1] == 0
    assert chains.gradient[1] == -1.5


def test_a_chain_that_starts_outside_finds_its_way_in():
    def positive(latents):
        return torch.where(latents[:, 0] > 0, -latents[:, 0], torch.nan)

    chains, generator = start(torch.full((200, 1), -1.0, dtype=FLOAT), positive), seeded()
    for _ in range(100):
        chains, acceptance = mala(chains, positive, 0.5, generator)
        assert acceptance.isfinite().all()
        assert chains.gradient.isfinite().all()
    assert (chains.latents > 0).all()


@pytest.mark.parametrize("step_size", [1e-8, 1e-2, 1.0, 1e3, 1e30, 1e300])
def test_acceptance_is_a_probability(step_size):
    """Also with steps so large that everything overflows."""
    chains, generator = start(scattered(50, 3), skewed), seeded()
    for _ in range(20):
        chains, acceptance = mala(chains, skewed, step_size, generator)
        assert ((acceptance >= 0) & (acceptance <= 1)).all()
        assert all(getattr(chains, field.name).isfinite().all() for field in dataclasses.fields(Chains))


# ---- the step size --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0.574, 0.8])
@pytest.mark.parametrize("first", [1e-3, 100.0])
def test_adapt_drives_the_acceptance_to_its_target(first, target):
    log_density, *_ = linear_gaussian()
    chains, step_size, generator = start(scattered(100, 3), log_density), first, seeded()
    for iteration in range(200):
        chains, acceptance = mala(chains, log_density, step_size, generator)
        step_size = adapt(step_size, acceptance, iteration, target)
    assert isinstance(step_size, float)
    late = []
    for _ in range(100):
        chains, acceptance = mala(chains, log_density, step_size, generator)
        late.append(acceptance)
    assert abs(torch.stack(late).mean().item() - target) < 0.03


def test_adapt_by_hand():
    assert adapt(0.5, 0.574, iteration=7) == pytest.approx(0.5)
    assert adapt(0.5, torch.tensor([0.5, 1.0], dtype=FLOAT), 0, target=0.5) == pytest.approx(0.5 * np.exp(0.25))
    later = adapt(0.5, torch.tensor([1.0, 1.0]), 310, target=0.5)  # 32^-0.6 = 1/8
    assert later == pytest.approx(0.5 * np.exp(1 / 16))


# ---- the density that samplers target: a naive sum, and the weights of particles -------------------------------------

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
        found = target(known.model, labels, evidence, LEAST)(latents)
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
    evidence = believe(known.belief, history).evidence[0]
    found = check(known, evidence)
    if not history:
        latents, labels = draws_of(known.model)
        torch.testing.assert_close(found, known.model.log_prior(latents, labels))


@pytest.mark.parametrize("make", [yes_no, mixed])
def test_noisy_evidence_is_weighed(make):
    """An answer that is probably right: log-weights between 0 and minus infinity, beside some that are sure."""
    known = make(2, seed=3, dtype=FLOAT)
    evidence = np.zeros(known.model.variables.n_slots)
    evidence[0], evidence[2], evidence[-1] = -0.5, NEVER, -2.0
    check(known, evidence)
    evidence[0] = NEVER
    evidence[1] = -0.7  # known, but the answer had a weight
    check(known, evidence)


@pytest.mark.parametrize(("make", "history"), HISTORIES.values(), ids=HISTORIES)
def test_the_density_is_what_particles_are_weighed_by(make, history):
    """Else moves would aim at another law than that of the weights."""
    known = make(2, seed=3, dtype=FLOAT)
    belief = SMC(n_draws=20, min_ess=0).build(known.model, known.queries)
    b = believe(belief, history).shared
    gained = b.log_weights[0] - belief.particles.log_prior
    for c, (begin, end) in enumerate(segments(belief.particles.offsets)):
        latents = belief.particles.latents[begin:end]
        labels = torch.full((end - begin,), c)
        with torch.no_grad():
            density = target(known.model, labels, b.evidence[0], LEAST)(latents)
            likelihood = (density - known.model.log_prior(latents, labels)).numpy()
        np.testing.assert_allclose(gained[begin:end], likelihood, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["yes/no", "categories", "two thresholds"])
def test_the_gradient_is_the_slope(name):
    make, history = HISTORIES[name]
    known = make(2, seed=3, dtype=FLOAT)
    latents, labels = draws_of(known.model)
    density = target(known.model, labels, believe(known.belief, history).evidence[0], LEAST)
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
    evidence = believe(known.belief, history).evidence[0]
    chains = start(latents, target(model, labels, evidence, LEAST))
    assert chains.log_density.isfinite().all()
    assert chains.gradient.isfinite().all()
    assert (chains.gradient != 0).any(dim=1).all()


def test_variables_that_nothing_is_known_of_do_not_matter():
    """They are left out; an evidence-weighted sum over all of their values would be 1 anyway."""
    known = mixed(2, seed=3, dtype=FLOAT)
    latents, labels = draws_of(known.model)
    evidence = believe(known.belief, [(3, (1,))]).evidence[0]
    model = known.model
    with torch.no_grad():
        before = target(model, labels, evidence, LEAST)(latents)
        last = [layer for layer in model.decoder.modules() if isinstance(layer, torch.nn.Linear)][-1]
        last.bias[:5] += 3.0  # a, b and c: features 0, 1 to 3, and 4
        torch.testing.assert_close(target(model, labels, evidence, LEAST)(latents), before)
        last.bias[5] += 3.0  # d
        assert (target(model, labels, evidence, LEAST)(latents) - before).abs().min() > 1e-6


def test_float32_stays_float32():
    known = yes_no(2, seed=3)
    latents, labels = draws_of(known.model)
    evidence = believe(known.belief, [(0, (1,))]).evidence[0]
    assert target(known.model, labels, evidence, LEAST)(latents).dtype == torch.float32
    assert (
        target(mixed(2).model, labels, believe(mixed(2).belief, [(1, (1,))]).evidence[0], LEAST)(latents).dtype
        == torch.float32
    )


def test_no_row_depends_on_another():
    known = mixed(2, seed=3, dtype=FLOAT)
    latents, labels = draws_of(known.model)
    evidence = believe(known.belief, HISTORIES["cells of two values"][1]).evidence[0]
    with torch.no_grad():
        together = target(known.model, labels, evidence, LEAST)(latents)
        for i in range(len(latents)):
            alone = target(known.model, labels[i : i + 1], evidence, LEAST)(latents[i : i + 1])
            np.testing.assert_allclose(alone, together[i : i + 1], atol=1e-12)
