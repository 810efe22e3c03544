"""Every finite model passes the shipped checks. Add an instance to `MODELS` and it is held to all of them."""

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.strategies import Exact
from infopursuit.support.types import Variables
from infopursuit.testing import check_acquisition, check_belief, check_model
from worlds import Given, random_world, table_model


def _table(seed, **options):
    return random_world(np.random.default_rng(seed), **options).model


def _sample(seed, n=25, sizes=(2,) * 12, n_classes=3):
    """Rows with gaps; the classes have different numbers of them."""
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(-1, size, n) for size in sizes], axis=1)
    labels = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    return ip.models.Sample.of(Variables(sizes), values, labels, rng.integers(1, 4, n))


def _empirical(seed, smoothing, dtype=np.float32, **options):
    return ip.models.EmpiricalModel.of(_sample(seed, **options), smoothing, dtype)


def _particles(sizes, dtype=torch.float32):
    """Decoded draws of a VAE: to everything that asks for probabilities they are a finite model."""
    vae = ip.models.VAE(sizes, [0.5, 0.3, 0.2], ip.models.MLPArchitecture((8,)), 2).to(dtype=dtype)
    return ip.strategies.SMC(n_draws=7).build(vae, questions(vae)).particles


MODELS = [
    pytest.param(lambda: ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.2], [0.1, 0.2]]), id="naive Bayes"),
    pytest.param(lambda: _table(0, kind="yes_no", zeros=False), id="table of yes/no variables"),
    pytest.param(lambda: _table(1, kind="mixed", zeros=False), id="table of variables of different sizes"),
    pytest.param(lambda: _table(2, kind="categorical", zeros=True, n_classes=2), id="table with zeros and ones"),
    pytest.param(lambda: table_model([1.0], np.ones((1, 1)), [np.full((1, 1, 2), 0.5)]), id="table of one class"),
    pytest.param(lambda: ip.models.latent_classes(3).fit(_sample(0, sizes=(2, 3, 2, 4))), id="latent classes"),
    pytest.param(lambda: _empirical(1, ip.models.Flip((0.1, 0.5)), sizes=(2, 3, 2, 4)), id="empirical, flipped"),
    pytest.param(lambda: _empirical(2, ip.models.Flip((0.3,)), dtype=np.float64), id="empirical, float64"),
    pytest.param(lambda: _empirical(3, ip.models.Blur(shape=(3, 4))), id="empirical, blurred"),
    pytest.param(lambda: _empirical(4, ip.models.Blur(shape=(3, 4)), dtype=np.float64), id="blurred, float64"),
    pytest.param(lambda: _particles((2, 3, 2, 4)), id="draws of a VAE"),
    pytest.param(lambda: _particles((2,) * 5, torch.float64), id="draws of a VAE of yes/no variables, float64"),
]


@pytest.fixture(params=MODELS)
def model(request):
    return request.param()


def questions(model):
    """Every variable asked whole."""
    sizes = model.variables.sizes
    return Given([f"variable {a}" for a in range(len(sizes))], sizes, [[a] for a in range(len(sizes))])


def test_a_model_keeps_its_contract(model):
    check_model(model)


def test_beliefs_and_gains_about_it_keep_theirs(model):
    tolerance = 1e-9 if model.dtype == np.float64 else 1e-6
    queries, belief = questions(model), Exact(model, questions(model))
    check_belief(belief, queries, n_histories=4, n_steps=2, tolerance=tolerance)
    check_acquisition(ip.strategies.MutualInformation(), belief, queries, n_histories=3, tolerance=tolerance)


def test_a_class_can_be_ruled_out(model):
    if model.n_classes == 1:
        pytest.skip("there is only one")
    wanted = np.full(model.n_classes, 1 / (model.n_classes - 1))
    wanted[0] = 0
    other = model.with_class_prior(wanted)
    np.testing.assert_allclose(other.class_prior, wanted, atol=1e-12)
    np.testing.assert_allclose(other.with_class_prior(wanted).class_prior, wanted, atol=1e-12)
    with pytest.raises(ValueError, match=r"class_prior\[0\]"):
        other.with_class_prior(np.full(model.n_classes, 1 / model.n_classes))
    trace = ip.generative_pursuit(other, questions(model), stopping=ip.MaxQueries(1)).run_values(
        np.zeros((1, len(model.variables)))
    )
    assert trace.posterior[0, 0] == 0


@pytest.mark.parametrize("wrong", [[0.5], [0.5, 0.6, 0.7, 0.8, 0.9], "low", "negative", "nan"])
def test_what_is_no_class_prior_is_refused(model, wrong):
    n = model.n_classes
    named = {"low": np.full(n, 0.5 / n), "negative": np.append(np.zeros(n - 1), -1.0), "nan": np.full(n, np.nan)}
    with pytest.raises(ValueError, match="class_prior"):
        model.with_class_prior(named[wrong] if isinstance(wrong, str) else wrong)


def test_float32_gives_nearly_the_same_gains(model):
    other = model.to(dtype=np.float32)
    assert other.dtype == np.float32
    assert other.log_prior.dtype == np.float64
    assert model.to().dtype == model.dtype
    queries = questions(model)
    for options in ({}, {"exact_gains": False}):
        one, two = (ip.generative_pursuit(m, queries, **options).session().gains for m in (model, other))
        np.testing.assert_allclose(one, two, atol=1e-5)
    history = [(0, (0,)), (len(queries) - 1, (1,))]
    one, two = (ip.generative_pursuit(m, queries).believe(history) for m in (model, other))
    np.testing.assert_allclose(one, two, atol=1e-5)
