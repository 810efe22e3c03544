"""The VAE itself: one row alone or among others, p(x, y) against quadrature, copies that leave the original alone."""

import copy
import importlib
from itertools import product

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from infopursuit.models.networks.architectures import ConvArchitecture, MLPArchitecture
from infopursuit.models.networks.autoencoder import VAE, log_evidence, log_normal
from infopursuit.models.networks.training import Training, train

module = importlib.import_module("infopursuit.models.networks.autoencoder")
SIZES = (2, 3, 2, 2, 4, 2)
PRIOR = [0.5, 0.3, 0.2]


def weights_of(model):
    return {name: tensor.clone() for name, tensor in model.networks.state_dict().items()}


def same(before, after):
    return before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def rows(n=40, seed=0, sizes=SIZES, unknown=0.2):
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    values[rng.random(values.shape) < unknown] = -1
    return values, rng.integers(0, 3, n)


# ---- trap 7: batch norm ---------------------------------------------------------------------------------------------


def normed(trained):
    """A VAE whose batch norms have statistics that are not 0 and 1."""
    model = VAE(SIZES, PRIOR, MLPArchitecture((16, 8)), latent_dim=2, seed=1)
    if trained:
        return train(model, *rows(), Training(epochs=2, batch_size=8))[0]
    for layer in model.networks.modules():
        if isinstance(layer, torch.nn.BatchNorm1d):
            generator = torch.Generator().manual_seed(0)
            layer.running_mean.copy_(torch.randn(layer.num_features, generator=generator))
            layer.running_var.copy_(0.5 + torch.rand(layer.num_features, generator=generator))
    return model


def largest_change(model):
    """How much the numbers of one row depend on the rows beside it."""
    values, labels = (torch.as_tensor(x) for x in rows(20, seed=1))
    latents = torch.randn((20, 2), generator=torch.Generator().manual_seed(0))
    others = 1 - latents
    with torch.no_grad():
        alone = [model.encode(values[i : i + 1], labels[i : i + 1])[0] for i in range(20)]
        changes = [torch.cat(alone) - model.encode(values, labels)[0]]
        alone = [model.encode(values[i : i + 1], labels[i : i + 1])[1] for i in range(20)]
        changes += [torch.cat(alone) - model.encode(values, labels)[1]]
        alone = torch.cat([model.log_probs(latents[i : i + 1], labels[i : i + 1]) for i in range(20)])
        beside = model.log_probs(torch.cat([latents, others]), torch.cat([labels, labels]))[:20]
        changes += [alone - model.log_probs(latents, labels), alone - beside]
    return max(change.abs().max().item() for change in changes)


@pytest.mark.parametrize("trained", [False, True], ids=["new", "trained"])
def test_trap_7_one_row_does_not_change_another_with_batch_norm(trained):
    model = normed(trained)
    assert largest_change(model) < 1e-5
    for other in (model.to(), model.with_class_prior([0.2, 0.2, 0.6]), model.to(dtype=torch.float32)):
        assert not any(
            layer.training for layer in other.networks.modules() if not isinstance(layer, torch.nn.ModuleDict)
        )
        assert largest_change(other) < 1e-5


def test_trap_7_the_measure_sees_batch_norm_that_is_left_in_training():
    """Negative control. A row alone is refused in training, so that each is put beside itself."""
    model = normed(True)
    model.networks.train()
    values, labels = (torch.as_tensor(x) for x in rows(20, seed=1))
    with torch.no_grad():
        alone = model.encode(values[[0, 1]], labels[[0, 1]])[0][0]
        assert (alone - model.encode(values, labels)[0][0]).abs().max() > 0.01


# ---- trap 5: p(x, y) ------------------------------------------------------------------------------------------------


def small():
    """Two latents, six variables, three classes; an encoder whose spread depends much on the class, and is wide
    enough."""
    model = VAE(SIZES, PRIOR, MLPArchitecture((8,), batch_norm=False), latent_dim=2, seed=3).to(dtype=torch.float64)
    with torch.no_grad():
        model.encoder.mean.weight.mul_(0.2)
        model.encoder.log_std.weight.mul_(0.1)
        model.encoder.log_std.weight[:, -3:] = torch.tensor([0.0, 0.4, 0.8])
    return model


@torch.no_grad()
def quadrature(model, values, reach=8.0, points=241):
    """(B, C) log p(x, y): the sum over a grid of latents, weighed by p(z)."""
    line = torch.linspace(-reach, reach, points, dtype=torch.float64)
    grid = torch.cartesian_prod(line, line)
    area = 2 * np.log(2 * reach / (points - 1))
    prior = -(grid.square().sum(1) + 2 * np.log(2 * np.pi)) / 2
    found = np.empty((len(values), model.n_classes))
    for c in range(model.n_classes):
        logs = model.log_probs(grid, torch.full((len(grid),), c)).numpy()
        for i, row in enumerate(np.asarray(values)):
            seen = [model.variables.offsets[a] + v for a, v in enumerate(row) if v != -1]
            found[i, c] = logsumexp(logs[:, seen].sum(1) + prior.numpy()) + area + np.log(model.class_prior[c])
    return found


def test_the_quadrature_is_a_probability():
    """p(x, y) of all inputs and classes together is one; a test of the tests below."""
    everything = np.array(list(product(*map(range, SIZES))))
    assert np.exp(quadrature(small(), everything, points=81)).sum() == pytest.approx(1, abs=1e-6)
    assert quadrature(small(), [[-1] * 6])[0] == pytest.approx(np.log(PRIOR), abs=1e-10)


def estimates(model, values, n=2000, n_draws=8, **options):
    """Mean and standard error of p(x, y) over n independent estimates, each of which is unbiased.

    They are n copies of a row: every row of a batch has draws of its own.
    """
    found = np.exp(log_evidence(model, np.repeat(values, n, axis=0), n_draws, **options))
    found = found.reshape(len(values), n, model.n_classes)
    return found.mean(axis=1), found.std(axis=1, ddof=1) / np.sqrt(n)


@pytest.mark.parametrize("unknown", [0.0, 0.4])
def test_trap_5_evidence_by_importance_sampling_is_that_by_quadrature(unknown):
    values, _ = rows(6, unknown=unknown)
    truth = np.exp(quadrature(small(), values))
    mean, error = estimates(small(), values)
    assert (error < 0.03 * truth).all()  # else anything would agree
    assert (np.abs(mean - truth) < 4 * error).all()


def test_trap_5_without_the_spread_of_the_proposal_classes_are_biased(monkeypatch):
    """Negative control: sum(log_std) of the proposal dropped, which log p(z) does not have."""
    values, _ = rows(6)
    truth = np.exp(quadrature(small(), values))
    monkeypatch.setattr(module, "log_normal", lambda x, mean, log_std: log_normal(x, mean, log_std) + log_std.sum(-1))
    mean, error = estimates(small(), values)
    assert (np.abs(mean - truth)[:, 1:] > 10 * error[:, 1:]).all()
    right, wrong = truth / truth.sum(1, keepdims=True), mean / mean.sum(1, keepdims=True)
    assert (np.abs(right - wrong).max(axis=1) > 0.1).all()


def test_unknown_variables_are_summed_over():
    """log p of what is known is the log of the sum of p over all values of what is not."""
    model = small()
    row = np.array([1, -1, 0, -1, 3, -1])
    filled = np.array([[1, a, 0, b, 3, c] for a, b, c in product(range(3), range(2), range(2))])
    truth = quadrature(model, row[None])[0]
    np.testing.assert_allclose(logsumexp(quadrature(model, filled), axis=0), truth, rtol=0, atol=1e-9)
    mean, error = estimates(model, row[None])
    assert (np.abs(mean[0] - np.exp(truth)) < 4 * error[0]).all()
    together, spread = estimates(model, filled, 500)
    assert (np.abs(together.sum(0) - np.exp(truth)) < 4 * np.sqrt((spread**2).sum(0))).all()


def test_where_nothing_is_known_the_prior_is_left():
    mean, error = estimates(small(), [[-1] * 6])
    assert (np.abs(mean[0] - PRIOR) < 4 * error[0]).all()


def test_a_class_that_cannot_be_has_no_evidence():
    found = log_evidence(small().with_class_prior([0.5, 0.5, 0.0]), rows(3)[0])
    assert (found[:, 2] == -np.inf).all()
    assert np.isfinite(found[:, :2]).all()


def test_more_rows_than_fit_at_a_time_are_all_done(monkeypatch):
    """Chunks draw other noise, so that numbers agree as estimates do."""
    model, sizes = small(), []
    encode = VAE.encode
    monkeypatch.setattr(VAE, "encode", lambda self, x, y: (sizes.append(len(x) // 3), encode(self, x, y))[1])
    values, _ = rows(3)
    mean, error = estimates(model, values, 333, budget=64 * 3 * 8 * model.features.size * 100)
    assert sizes == [100] * 9 + [99]  # a chunk holds copies of two rows, the last one is not full
    assert (np.abs(mean - np.exp(quadrature(model, values))) < 4 * error).all()


def test_the_seed_determines_the_evidence():
    values, _ = rows(3)
    found, again, other = (log_evidence(small(), values, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(found, again)
    assert not np.array_equal(found, other)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, bool, np.float64])
def test_the_number_type_of_the_values_does_not_matter(kind):
    model = VAE((2,) * 5, [0.5, 0.5], MLPArchitecture((4,)), 2)
    values = np.random.default_rng(0).integers(0, 2, (6, 5))
    given = values.astype(kind)
    given.flags.writeable = False  # as a file that is mapped into memory
    assert np.array_equal(log_evidence(model, given), log_evidence(model, values))


def test_log_normal_is_the_density():
    rng = np.random.default_rng(0)
    x, mean, log_std = (torch.as_tensor(rng.normal(size=(4, 3))) for _ in range(3))
    truth = torch.distributions.Normal(mean, log_std.exp()).log_prob(x).sum(-1)
    torch.testing.assert_close(log_normal(x, mean, log_std), truth)


# ---- the parts ------------------------------------------------------------------------------------------------------


def test_the_prior_of_latents_is_standard_normal_whatever_the_label():
    model = small()
    labels = torch.arange(30_000) % 3
    drawn = model.draw_prior(labels, torch.Generator().manual_seed(0))
    assert drawn.shape == (30_000, 2)
    assert drawn.dtype == torch.float64
    for c in range(3):
        some = drawn[labels == c]
        assert some.mean(0).abs().max() < 4 / np.sqrt(len(some))
        assert (some.var(0) - 1).abs().max() < 4 * np.sqrt(2 / len(some))
    truth = torch.distributions.Normal(0.0, 1.0).log_prob(drawn).sum(1)
    torch.testing.assert_close(model.log_prior(drawn, labels), truth)


def test_a_new_model_is_a_function_of_its_seed():
    before, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (VAE(SIZES, PRIOR, MLPArchitecture((8,)), 2, seed=seed) for seed in (0, 0, 1))
    assert same(weights_of(first), weights_of(again))
    assert not same(weights_of(first), weights_of(other))
    assert torch.equal(torch.get_rng_state(), before)  # layers draw their first weights when they are made
    assert np.array_equal(np.random.get_state()[1], numbers)  # noqa: NPY002


def test_another_prior_leaves_the_original_and_moves_the_evidence_only():
    model = small()
    before = weights_of(model)
    other = model.with_class_prior([0.1, 0.1, 0.8])
    assert model.class_prior.tolist() == pytest.approx(PRIOR)
    assert other.class_prior.tolist() == pytest.approx([0.1, 0.1, 0.8])
    assert same(before, weights_of(model))
    assert same(before, weights_of(other))
    values, _ = rows(4)
    shift = log_evidence(other, values) - log_evidence(model, values)
    np.testing.assert_allclose(shift, np.broadcast_to(np.log(other.class_prior / model.class_prior), shift.shape))


def test_another_number_type_leaves_the_original():
    model = VAE(SIZES, PRIOR, MLPArchitecture((8,)), 2)
    before = weights_of(model)
    other = model.to(dtype=torch.float64)
    assert (model.dtype, other.dtype) == (torch.float32, torch.float64)
    assert model.device == other.device
    with torch.no_grad():
        for parameter in other.networks.parameters():
            parameter.zero_()
    assert same(before, weights_of(model))
    values, labels = (torch.as_tensor(x) for x in rows(4))
    for some in (model, other):
        mean, log_std = some.encode(values, labels)
        assert mean.dtype == log_std.dtype == some.log_probs(mean, labels).dtype == some.dtype


def test_a_copy_is_a_copy():
    model = VAE(SIZES, PRIOR, MLPArchitecture((8,)), 2)
    before = weights_of(model)
    other = model.to()
    assert same(before, weights_of(other))
    with torch.no_grad():
        next(other.networks.parameters()).add_(1)
    assert same(before, weights_of(model))
    assert same(before, weights_of(copy.deepcopy(model)))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: VAE((), PRIOR, MLPArchitecture((4,))), "sizes is empty"),
        (lambda: VAE((2, 1), PRIOR, MLPArchitecture((4,))), "sizes[1] is 1; a variable needs at least two values"),
        (lambda: VAE(SIZES, [0.5, 0.6], MLPArchitecture((4,))), "class_prior must be probabilities that sum to 1"),
        (lambda: VAE(SIZES, [[0.5, 0.5]], MLPArchitecture((4,))), "class_prior has shape (1, 2)"),
        (lambda: VAE(SIZES, "even", MLPArchitecture((4,))), "class_prior is 'even'"),
        (lambda: VAE(SIZES, PRIOR, MLPArchitecture((4,)), latent_dim=0), "latent_dim=0"),
        (lambda: VAE(SIZES, PRIOR, MLPArchitecture((4,)), latent_dim=1.5), "latent_dim=1.5"),
        (lambda: VAE(SIZES, PRIOR, ConvArchitecture((2, 3))), "use architecture='mlp'"),
        (lambda: small().with_class_prior([0.5, 0.5]), "class_prior has shape (2,)"),
        (lambda: log_evidence(small(), [[0, 1, 0]]), "values has shape (1, 3); expected (B, 6)"),
        (lambda: log_evidence(small(), [[0, 3, 0, 0, 0, 0]]), "values[0, 1] is 3; variable 1 takes the values 0 to 2"),
        (lambda: log_evidence(small(), [[-2, 0, 0, 0, 0, 0]]), "values[0, 0] is -2"),
        (lambda: log_evidence(small(), [[0.5] * 6]), "values holds numbers that are not whole"),
        (lambda: log_evidence(small(), [[0] * 6], n_draws=0), "n_draws=0"),
    ],
)
def test_bad_arguments_are_refused(make, word):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        make()
    assert word in str(refused.value)
