"""The learner of VAEs: weights are repetitions, settings that suit the data, and that it learns what tables cannot."""

import copy
import math

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.estimator.selection import select_learner
from infopursuit.models import ConvArchitecture, MLPArchitecture, Sample, Training, vae
from infopursuit.models.networks import training as module
from infopursuit.models.networks.autoencoder import log_evidence
from infopursuit.models.networks.training import default_training, repeat_by_weight
from infopursuit.support.types import Variables

QUICK = vae(MLPArchitecture((8,)), latent_dim=2, training=Training(epochs=2, batch_size=8))


def sample(n=40, sizes=(2, 3, 2, 2), n_classes=2, seed=0, weights=None):
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(-1, size, n) for size in sizes], axis=1)
    return Sample.of(Variables(sizes), values, np.arange(n) % n_classes, weights)


def pixels(shape, n=20, sizes=2):
    rng = np.random.default_rng(0)
    variables = Variables((sizes,) * (shape[0] * shape[1]))
    return Sample.of(variables, rng.integers(2, size=(n, len(variables))), np.arange(n) % 2)


def weights_of(model):
    return model.networks.state_dict()


def same(one, two):
    one, two = weights_of(one), weights_of(two)
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.fixture
def spied(monkeypatch):
    """What `train` was called with; nothing is trained."""
    calls = []

    def spy(model, values, labels, training, **options):
        calls.append({"model": model, "values": values, "labels": labels, "training": training, **options})
        return model, []

    monkeypatch.setattr(module, "train", spy)
    return calls


# ---- weights --------------------------------------------------------------------------------------------------------


def test_whole_weights_are_repetitions():
    assert repeat_by_weight(np.array([2.0, 1.0, 4.0])).tolist() == [0, 0, 1, 2, 2, 2, 2]
    assert repeat_by_weight(np.ones(5), seed=3).tolist() == [0, 1, 2, 3, 4]


def test_sums_of_weights_that_are_whole_but_for_rounding_are_whole():
    assert repeat_by_weight(np.array([0.1 + 0.2 + 0.7, 2.0 - 1e-12])).tolist() == [0, 1, 1]


def test_broken_weights_are_right_on_average_and_never_off_by_one():
    weights = np.array([0.25, 1.5, 2.75, 1.1, 3.4])
    counts = np.array([np.bincount(repeat_by_weight(weights, seed), minlength=5) for seed in range(1000)])
    assert (counts.sum(axis=1) == 9).all()
    assert (np.abs(counts - weights) < 1).all()
    assert (np.abs(counts.mean(axis=0) - weights) < 4 * 0.5 / np.sqrt(1000)).all()


def test_the_scale_of_small_weights_does_not_matter():
    """Weights that sum to one are frequent, and mean no single row."""
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    assert len(repeat_by_weight(shares)) == 4
    counts = np.mean([np.bincount(repeat_by_weight(shares / 10, seed), minlength=4) for seed in range(1000)], axis=0)
    np.testing.assert_allclose(counts, 4 * shares, atol=4 * 0.5 / np.sqrt(1000))


@pytest.mark.parametrize("scale", [1.0, 1e6, 0.5])
def test_heavy_weights_are_bounded_and_in_proportion(scale, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 1000)
    rows = repeat_by_weight(np.array([1000.0, 3000.0, 6000.0]) * scale)
    assert len(rows) == 1000
    assert np.bincount(rows).tolist() == [100, 300, 600]


def test_a_training_sees_each_row_as_often_as_it_was_given(spied):
    rng = np.random.default_rng(0)
    values, labels = rng.integers(-1, 2, (30, 3)), rng.integers(2, size=30)
    times = rng.integers(1, 4, 30)
    QUICK.fit(Sample.of(Variables((2, 2, 2)), values, labels, times))
    seen = np.column_stack([spied[0]["labels"], spied[0]["values"][np.arange(times.sum())]])
    given = np.repeat(np.column_stack([labels, values]), times, axis=0)
    assert spied[0]["values"].shape == (times.sum(), 3)
    assert sorted(seen.tolist()) == sorted(given.tolist())


def test_a_weight_of_two_is_a_row_given_twice():
    rng = np.random.default_rng(0)
    values, labels = rng.integers(-1, 2, (30, 3)), rng.integers(2, size=30)
    times = rng.integers(1, 4, 30)
    weighted = Sample.of(Variables((2, 2, 2)), values, labels, times.astype(float))
    twice = Sample.of(Variables((2, 2, 2)), np.repeat(values, times, axis=0), np.repeat(labels, times))
    once = Sample.of(Variables((2, 2, 2)), values, labels)
    assert same(QUICK.fit(weighted), QUICK.fit(twice))
    assert not same(QUICK.fit(weighted), QUICK.fit(once))


# ---- settings that suit the data ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "shape", "expected"),
    [
        (sample(), None, MLPArchitecture((64, 32))),
        (sample(weights=np.full(40, 200)), None, MLPArchitecture((512, 128))),
        (pixels((8, 9)), (8, 9), ConvArchitecture((8, 9))),
        (pixels((7, 30)), (7, 30), MLPArchitecture((64, 32))),
        (pixels((8, 9), sizes=3), (8, 9), MLPArchitecture((64, 32))),
        (pixels((8, 9)), None, MLPArchitecture((64, 32))),
    ],
    ids=["table", "large table", "image", "narrow image", "grey image", "no image"],
)
def test_the_body_suits_the_variables(rows, shape, expected):
    assert vae().choose_architecture(rows, shape) == expected
    assert vae("mlp").choose_architecture(rows, shape).kind == "mlp"
    assert vae(MLPArchitecture((5,))).choose_architecture(rows, shape) == MLPArchitecture((5,))


def test_bodies_by_name():
    assert vae("conv").choose_architecture(pixels((5, 5)), (5, 5)) == ConvArchitecture((5, 5))


@pytest.mark.parametrize(("n_variables", "expected"), [(1, 2), (4, 2), (9, 4), (50, 10)])
def test_tables_have_up_to_ten_latents(n_variables, expected, spied):
    assert vae().fit(sample(sizes=(2,) * n_variables)).latent_dim == expected
    assert vae(latent_dim=7).fit(sample(sizes=(2,) * n_variables)).latent_dim == 7


def test_images_have_twenty_latents_and_are_moved(spied):
    assert vae().fit(pixels((8, 9)), (8, 9)).latent_dim == 20
    assert spied[0]["training"].augmentation.shift == pytest.approx(8 / 14)
    assert default_training(100, 2, (28, 28)).augmentation.shift == 1
    assert default_training(100, 2, None).augmentation is None


@pytest.mark.parametrize("shape", [None, (8, 8)], ids=["table", "images"])
@pytest.mark.parametrize("n", [2, 10, 39, 40, 300, 5_000, 5_001, 60_000])
def test_there_are_enough_steps_and_epochs(n, shape):
    training = default_training(n, 3, shape)
    kind = "table" if shape is None else "image"
    per_epoch = math.ceil((n - round(training.validation * n)) / training.batch_size)
    assert per_epoch * training.epochs >= module.MIN_STEPS[kind]
    assert training.epochs >= module.MIN_EPOCHS[kind]
    assert training.patience <= training.epochs
    assert round(training.validation * n) < n


def test_few_rows_are_not_held_out():
    assert default_training(39, 2, None).validation == 0
    assert default_training(40, 2, None).validation > 0
    assert default_training(499, 100, None).validation == 0
    assert default_training(500, 100, None).validation > 0


def test_own_settings_stay_as_they_are(spied, tmp_path):
    training = Training(epochs=3, batch_size=7, learning_rate=0.1, seed=5)
    learner = vae(training=training, checkpoint=tmp_path / "half", progress=True, device="cpu")
    learner.fit(pixels((8, 8)), (8, 8))
    assert spied[0]["training"] == training
    assert spied[0]["checkpoint"] == tmp_path / "half"
    assert spied[0]["progress"] is True


# ---- chance ---------------------------------------------------------------------------------------------------------


def test_the_seed_rules_first_weights_and_training():
    first, again, other = (QUICK.fit(sample(), seed=seed) for seed in (0, 0, 1))
    assert same(first, again)
    assert not same(first, other)


def test_the_seed_of_the_training_counts_too(spied):
    for seed in (0, 2):
        vae(training=Training(seed=40)).fit(sample(), seed=seed)
    assert [call["training"].seed for call in spied] == [40, 42]
    assert not same(spied[0]["model"], spied[1]["model"])


# ---- what comes out -------------------------------------------------------------------------------------------------


def test_it_is_a_vae_of_the_sample():
    rows = sample(sizes=(2, 3, 4), n_classes=3)
    model = QUICK.fit(rows)
    assert type(model) is ip.models.VAE
    assert model.variables == rows.variables
    np.testing.assert_allclose(model.class_prior, rows.class_prior)
    assert not model.encoder.training
    assert not model.decoder.training
    assert (model.architecture, model.latent_dim) == (MLPArchitecture((8,)), 2)


def test_it_learns_what_variables_say_together():
    """Pairs of variables agree in one class and differ in the other; each variable alone is a fair coin in both."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=400)
    first = rng.integers(2, size=(400, 4))
    values = np.concatenate([first, first ^ labels[:, None]], axis=1)
    values ^= rng.random(values.shape) < 0.05
    train, test = (Sample.of(Variables((2,) * 8), values[part], labels[part]) for part in (slice(300), slice(300, 400)))
    model = vae(training=Training(epochs=50, batch_size=32, learning_rate=5e-3, validation=0.0)).fit(train)
    guessed = log_evidence(model, test.values, n_draws=32).argmax(axis=1)
    assert np.average(guessed == test.labels, weights=test.weights) > 0.8
    naive = ip.generative_pursuit(ip.models.naive_bayes(1.0).fit(train), ip.queries.concepts(list("abcdefgh")))
    alone = naive.run_values(test.values).predictions
    assert np.average(alone == test.labels, weights=test.weights) < 0.7  # else the task would be too easy


def test_one_row_for_each_class_is_enough(monkeypatch):
    monkeypatch.setitem(module.MIN_STEPS, "table", 20)
    facts = Sample.of(Variables((2,) * 3), [[0, 0, 1], [1, 0, 0], [1, 1, -1]], [0, 1, 2])
    assert np.isfinite(log_evidence(vae().fit(facts), facts.values)).all()


def test_a_training_that_was_cut_off_goes_on(tmp_path, monkeypatch):
    training = Training(epochs=4, batch_size=8, checkpoint_every=0.0)
    expected = vae(MLPArchitecture((8,)), 2, training).fit(sample())
    learner = vae(MLPArchitecture((8,)), 2, training, checkpoint=tmp_path / "half.safetensors")
    step, calls = module.train.__globals__["_step"], []

    def crash(*arguments):
        calls.append(1)
        if len(calls) > 7:
            raise KeyboardInterrupt
        return step(*arguments)

    with monkeypatch.context() as patched:
        patched.setitem(module.train.__globals__, "_step", crash)
        with pytest.raises(KeyboardInterrupt):
            learner.fit(sample())
    assert same(learner.fit(sample()), expected)
    assert len(calls) == 8


# ---- among other learners -------------------------------------------------------------------------------------------


def test_there_is_one_candidate_and_it_is_trained_once(spied):
    queries = ip.queries.concepts(list("abcd"))
    rows = sample(sizes=(2,) * 4)
    assert QUICK.candidates(rows) == [QUICK]
    learner, compared = select_learner([QUICK], rows, queries)
    model = learner.fit(rows)
    assert isinstance(model, ip.models.VAE)
    assert compared == []
    assert len(spied) == 1


def test_it_is_not_compared_with_others(spied):
    learners = [QUICK, ip.models.naive_bayes(1.0)]
    with pytest.raises(TypeError, match="a VAE cannot be compared with other models; give its learner alone"):
        select_learner(learners, sample(sizes=(2,) * 4), ip.queries.concepts(list("abcd")))


def test_a_learner_is_its_settings():
    assert vae() == vae("auto", None, None)
    assert vae(latent_dim=3) != vae()
    assert vae(progress=True) == vae()  # how it is shown is no setting
    assert copy.deepcopy(QUICK) == QUICK


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vae("transformer"), "architecture='transformer'; expected one of 'auto', 'conv', 'mlp'"),
        (lambda: vae(5), "architecture=5; expected .* or ip.models.MLPArchitecture"),
        (lambda: vae(MLPArchitecture), "architecture=<class .*; expected .* or ip.models.MLPArchitecture"),
        (lambda: vae(latent_dim=0), "latent_dim=0"),
        (lambda: vae(latent_dim=2.5), "latent_dim=2.5"),
        (lambda: vae(latent_dim=True), "latent_dim=True"),
        (lambda: vae(training=30), r"training=30; expected ip.models.Training\(epochs=30\), or None"),
        (lambda: vae("conv").fit(sample()), "architecture='conv' needs patch queries.* use 'mlp'"),
        (lambda: vae(ConvArchitecture((3, 3))).fit(pixels((8, 8)), (8, 8)), "use architecture='mlp'"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
