"""Models made from a VAE: the aggregate posterior as a prior, and softened pictures."""

import math

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.models import Blur
from infopursuit.models.networks.aggregate import AggregateVAE, aggregate
from infopursuit.models.networks.architectures import ConvArchitecture, MLPArchitecture
from infopursuit.models.networks.autoencoder import VAE, log_normal
from infopursuit.models.networks.softened import SoftVAE, soften
from infopursuit.models.parts import model_from_parts, model_to_parts


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, size=(30, 64)), np.repeat([0, 1, 2], 10)


@pytest.fixture
def vae():
    return VAE((2,) * 64, [0.5, 0.3, 0.2], ConvArchitecture((8, 8), (4, 8), 16), latent_dim=3, seed=1)


def test_the_aggregate_prior_is_the_mixture_of_the_encoded_examples(vae, images):
    model = aggregate(vae, *images)
    z = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([0, 2, 1, 1, 0])
    expected = []
    for i in range(5):
        rows = np.flatnonzero(images[1] == int(labels[i]))
        mean, log_std = vae.encode(torch.as_tensor(images[0][rows]), labels[i].repeat(len(rows)))
        expected.append(float(torch.logsumexp(log_normal(z[i], mean, log_std), 0).detach()) - math.log(len(rows)))
    assert model.log_prior(z, labels).detach().numpy() == pytest.approx(np.array(expected), rel=1e-4)


def test_draws_of_the_aggregate_are_spread_over_the_examples(vae, images):
    model = aggregate(vae, *images)
    model.log_std = torch.full_like(model.log_std, -20.0)
    labels = torch.tensor([1]).repeat(20)
    draws = model.draw_prior(labels, torch.Generator().manual_seed(0))
    own = model.mean[10:20]
    nearest = torch.cdist(draws, own).argmin(1)
    assert torch.bincount(nearest, minlength=10).tolist() == [2] * 10


def test_the_aggregate_has_the_moments_of_its_mixture(vae, images):
    model = aggregate(vae, *images)
    labels = torch.zeros(20_000, dtype=torch.int64)
    draws = model.draw_prior(labels, torch.Generator().manual_seed(0))
    mean, log_std = model.mean[:10], model.log_std[:10]
    spread = (mean.var(0, unbiased=False) + (2 * log_std).exp().mean(0)).sqrt()
    assert ((draws.mean(0) - mean.mean(0)).abs() < 5 * spread / math.sqrt(20_000)).all()
    assert draws.std(0).detach().numpy() == pytest.approx(spread.detach().numpy(), rel=0.05)


def test_an_aggregate_leaves_the_vae_alone_and_says_what_it_is(vae, images):
    model = aggregate(vae, *images)
    assert isinstance(model, AggregateVAE)
    assert model.kind == "aggregate-vae"
    assert vae.kind == "vae"
    assert type(vae) is VAE
    assert model.to(dtype=torch.float64).log_prior(torch.zeros(1, 3, dtype=torch.float64), torch.tensor([0])).dtype == (
        torch.float64
    )


def test_every_class_needs_an_example(vae, images):
    with pytest.raises(ValueError, match=r"each at least once; got up to 1, and none of \[2\]"):
        aggregate(vae, images[0][:20], images[1][:20])


def test_softened_pictures_are_the_blurred_ones(vae):
    blur = Blur((0.3, 1.0), (0.01, 0.05), (0.02, 0.1))
    model = soften(vae, blur)
    z = torch.randn(4, 3, generator=torch.Generator().manual_seed(2))
    labels = torch.tensor([0, 1, 2, 0])
    plain = vae.logits(z, labels).sigmoid().detach()
    for scale, u in ((0, -1.0), (1, 1.0)):
        soft = model.logits(torch.cat([z, torch.full((4, 1), u)], 1), labels).sigmoid().detach()
        expected = torch.as_tensor(model.blur.lit(plain.detach().T.numpy(), scale).T)
        assert soft.numpy() == pytest.approx(expected.numpy(), abs=1e-5)


def test_scales_are_equally_probable_and_the_prior_is_normal(vae):
    model = soften(vae, Blur((0.3, 0.8, 1.5), (0.01, 0.02, 0.05)))
    labels = torch.zeros(3_000, dtype=torch.int64)
    draws = model.draw_prior(labels, torch.Generator().manual_seed(0))
    assert draws.shape == (3_000, 4)
    share = torch.special.ndtr(draws[:, -1])
    assert np.bincount((share * 3).long().clamp(max=2).numpy()).tolist() == [1_000] * 3
    assert float(draws[:, -1].std()) == pytest.approx(1.0, abs=0.03)
    assert model.log_prior(draws[:2], labels[:2]).numpy() == pytest.approx(
        log_normal(draws[:2], torch.zeros(2, 4), torch.zeros(2, 4)).numpy(), rel=1e-5
    )


def test_softening_has_gradients_and_keeps_its_kind(vae, images):
    model = soften(aggregate(vae, *images), Blur((0.3, 0.8), (0.01, 0.02)))
    z = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    model.logits(z, torch.tensor([0, 1, 2])).sum().backward()
    assert z.grad is not None
    assert z.grad.isfinite().all()
    assert (z.grad[:, :3] != 0).any()
    other = model.with_class_prior([0.2, 0.2, 0.6])
    assert isinstance(other, SoftVAE)
    assert other.class_prior.tolist() == pytest.approx([0.2, 0.2, 0.6])
    assert model.class_prior.tolist() == pytest.approx([0.5, 0.3, 0.2])


def test_only_images_can_be_softened():
    with pytest.raises(ValueError, match="only images can be blurred"):
        soften(VAE((2, 2), [0.5, 0.5], MLPArchitecture((4,)), 2), Blur())


@pytest.mark.parametrize("softened", [False, True])
def test_a_pursuit_with_a_variant_is_saved_and_loaded(vae, images, softened, tmp_path):
    model = aggregate(vae, *images)
    if softened:
        model = soften(model, Blur((0.3, 0.8), (0.01, 0.02)))
    queries = ip.queries.patches((8, 8), size=2, stride=2, threshold=0.5)
    pursuit = ip.generative_pursuit(model, queries, ip.strategies.SMC(n_draws=60), ip.MaxQueries(3))
    ip.save(pursuit, tmp_path)
    again = ip.load(tmp_path)

    assert type(again.model) is type(model)
    assert again.model.contains_training_data
    X = images[0][:4].reshape(-1, 8, 8)
    trace, reread = pursuit.run(X), again.run(X)
    np.testing.assert_array_equal(reread.queries, trace.queries)
    np.testing.assert_allclose(reread.posteriors, trace.posteriors, atol=1e-3)  # the encoder is kept in half precision


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("latent_mean", lambda array: array * np.nan),
        ("latent_mean", lambda array: array[:-1]),
        ("latent_log_std", lambda array: array.astype(np.float64)),
        ("latent_offsets", lambda array: array - 1),
        ("latent_offsets", lambda array: array[:-1]),
    ],
)
def test_altered_latents_are_refused(vae, images, name, change):
    spec, arrays = model_to_parts(aggregate(vae, *images))
    with pytest.raises((ValueError, KeyError), match=name):
        model_from_parts(spec, arrays | {name: change(arrays[name])})


def test_a_learner_makes_the_variants(images):
    queries = ip.queries.patches((8, 8), size=2, stride=2, threshold=0.5)
    X, y = images[0].reshape(-1, 8, 8), images[1]
    learner = ip.models.vae(
        latent_dim=2, training=ip.models.Training(epochs=1), aggregate=True, blur=Blur((0.3, 0.8), (0.01, 0.02))
    )
    clf = ip.InformationPursuitClassifier(queries, learner, ip.strategies.SMC(n_draws=40), ip.MaxQueries(2))
    clf.fit(X, y)
    assert isinstance(clf.model_, SoftVAE)
    assert isinstance(clf.model_.base, AggregateVAE)
    assert len(clf.model_.base.mean) == len(X)

    with pytest.raises(ValueError, match="blur="):
        ip.models.vae(blur=0.5)
