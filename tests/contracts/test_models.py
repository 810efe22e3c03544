"""What every finite model must keep to. Add an instance to `MODELS` and it is held to all of it."""

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.beliefs import Exact
from infopursuit.models.finite import class_log_sums
from infopursuit.types import Variables
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


def _cloud(sizes, dtype=torch.float32):
    """Decoded draws of a VAE: to everything that asks for probabilities they are a finite model."""
    vae = ip.models.VAE(sizes, [0.5, 0.3, 0.2], ip.models.MLPArchitecture((8,)), 2).to(dtype=dtype)
    return ip.beliefs.SMC(n_draws=7).build(vae, questions(vae)).cloud


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
    pytest.param(lambda: _cloud((2, 3, 2, 4)), id="draws of a VAE"),
    pytest.param(lambda: _cloud((2,) * 5, torch.float64), id="draws of a VAE of yes/no variables, float64"),
]


@pytest.fixture(params=MODELS)
def model(request):
    return request.param()


def questions(model):
    """Every variable asked whole."""
    sizes = model.variables.sizes
    return Given([f"variable {a}" for a in range(len(sizes))], sizes, [[a] for a in range(len(sizes))])


def whole(model):
    """(L, S) the probability of all variable values in all states."""
    return model.block(slice(0, model.variables.n_slots))


def latents(model):
    """(S,) p(z | y)."""
    log_class = class_log_sums(model.log_prior[None], model.offsets)[0]
    return np.exp(model.log_prior - log_class[model.state_class])


def test_shapes(model):
    assert model.log_prior.shape == (model.n_states,)
    assert model.log_prior.dtype == np.float64
    assert whole(model).shape == (model.variables.n_slots, model.n_states)
    assert whole(model).dtype == model.dtype
    assert model.offsets[0] == 0
    assert (np.diff(model.offsets) >= 1).all()
    assert len(model.offsets) == model.n_classes + 1
    assert model.state_class.tolist() == np.repeat(np.arange(model.n_classes), np.diff(model.offsets)).tolist()
    assert isinstance(model.kind, str)


def test_probabilities_sum_to_one_for_each_variable_and_state(model):
    tolerance = 1e-12 if model.dtype == np.float64 else 1e-6
    probs = whole(model).astype(np.float64)
    assert (probs >= 0).all()
    assert (probs <= 1).all()
    for begin, end in zip(model.variables.offsets[:-1], model.variables.offsets[1:], strict=True):
        np.testing.assert_allclose(probs[begin:end].sum(0), 1, atol=tolerance)


def test_the_prior_is_a_distribution(model):
    assert float(np.exp(model.log_prior).sum()) == pytest.approx(1, abs=1e-12)
    assert model.class_prior.shape == (model.n_classes,)
    assert model.class_prior.sum() == pytest.approx(1, abs=1e-12)
    summed = np.bincount(model.state_class, weights=np.exp(model.log_prior), minlength=model.n_classes)
    np.testing.assert_allclose(summed, model.class_prior, atol=1e-12)


def test_rows_blocks_and_states_are_parts_of_one_table(model):
    table = whole(model)
    states, slots = np.array([model.n_states - 1, 0]), np.array([model.variables.n_slots - 1, 0, 1])
    tolerance = 1e-12 if model.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(model.state_probs(states), table[:, states], atol=tolerance)
    np.testing.assert_allclose(model.rows(slots), table[slots], atol=tolerance)
    np.testing.assert_allclose(model.block(slice(1, model.variables.n_slots)), table[1:], atol=tolerance)


def test_log_class_is_normalised_before_and_after_an_answer(model):
    posterior = Exact(model, questions(model))
    start = posterior.start()
    np.testing.assert_allclose(posterior.log_class(start).exp()[0], model.class_prior, atol=1e-12)
    likely = int((whole(model).astype(np.float64) @ np.exp(model.log_prior))[: model.variables.sizes[0]].argmax())
    after = posterior.update(start, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.array([[likely]]))
    assert float(posterior.log_class(after).exp().sum()) == pytest.approx(1, abs=1e-12)
    assert float(posterior.log_joint(after).exp().sum()) <= 1 + 1e-6


def test_with_class_prior_changes_the_classes_only(model):
    before = model.log_prior.copy()
    wanted = np.random.default_rng(0).dirichlet(np.ones(model.n_classes))
    other = model.with_class_prior(wanted)
    assert type(other) is type(model)
    np.testing.assert_allclose(other.class_prior, wanted, atol=1e-12)
    np.testing.assert_allclose(latents(other), latents(model), atol=1e-12)
    np.testing.assert_array_equal(whole(other), whole(model))
    np.testing.assert_array_equal(model.log_prior, before)


def test_class_prior_round_trip(model):
    again = model.with_class_prior(np.full(model.n_classes, 1 / model.n_classes)).with_class_prior(model.class_prior)
    np.testing.assert_allclose(again.log_prior, model.log_prior, atol=1e-12)


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
    trace = ip.Pursuit.of(other, questions(model), stopping=ip.MaxQueries(1)).run_values(
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
        one, two = (ip.Pursuit.of(m, queries, **options).session().gains for m in (model, other))
        np.testing.assert_allclose(one, two, atol=1e-5)
    history = [(0, (0,)), (len(queries) - 1, (1,))]
    one, two = (ip.Pursuit.of(m, queries).believe(history) for m in (model, other))
    np.testing.assert_allclose(one, two, atol=1e-5)


def test_gains_are_at_most_the_entropy_of_the_classes(model):
    gains = ip.Pursuit.of(model, questions(model)).session().gains
    prior = model.class_prior
    assert (gains >= 0).all()
    assert gains.max() <= -(prior[prior > 0] * np.log(prior[prior > 0])).sum() + 1e-12
