"""Networks of a VAE: features and likelihoods against naive loops, shapes for all sizes, weights from the generator."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from benchmarks.paper_architecture import PaperArchitecture
from infopursuit.models.networks.architectures import (
    KINDS,
    MAX_LOG_STD,
    MIN_LOG_STD,
    ConvArchitecture,
    Crop,
    Features,
    MLPArchitecture,
    PerClass,
    Plane,
    initialise,
)
from infopursuit.models.storing import settings_from_spec
from infopursuit.support.types import Variables

SIZES = {"binary": (2, 2, 2, 2), "categorical": (3, 5, 3), "mixed": (2, 3, 2, 4, 2), "one": (2,), "one of four": (4,)}


def draw(sizes, n=20, seed=0, unknown=0.3):
    """Values with unknown ones among them, and logits."""
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    values[rng.random(values.shape) < unknown] = -1
    values[0] = -1  # a row of which nothing is known
    return torch.as_tensor(values), torch.as_tensor(rng.normal(0, 3, (n, Features(Variables(sizes)).size)))


def naive_features(row, sizes):
    out = []
    for value, size in zip(row, sizes, strict=True):
        if size == 2:
            out.append({-1: 0.0, 0: -1.0, 1: 1.0}[value])
        else:
            out += [float(value == v) for v in range(size)]
    return out


def naive_log_probs(logits, sizes):
    """A list for each variable: a yes/no variable by the logistic function, another by softmax, number by number."""
    found, at = [], 0
    for size in sizes:
        if size == 2:
            p = 1 / (1 + math.exp(-logits[at]))
            found.append([math.log(1 - p), math.log(p)])
            at += 1
        else:
            weights = [math.exp(x) for x in logits[at : at + size]]
            found.append([math.log(w / sum(weights)) for w in weights])
            at += size
    assert at == len(logits)
    return found


# ---- features -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_encode_is_what_a_loop_gives(sizes, dtype):
    values, _ = draw(sizes)
    features = Features(Variables(sizes))
    found = features.encode(values, dtype)
    assert found.dtype == dtype
    assert found.shape == (len(values), features.size)
    assert found.tolist() == [naive_features(row, sizes) for row in values.tolist()]
    assert found[0].abs().max() == 0


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("kind", [torch.int8, torch.int16, torch.int32, torch.uint8, torch.bool])
def test_the_number_type_of_the_values_does_not_matter(sizes, kind):
    """In uint8, 2 x - 1 of a "no" would be 255."""
    values = draw(sizes)[0].clamp(0, 1)
    features = Features(Variables(sizes))
    assert torch.equal(features.encode(values.to(kind)), features.encode(values))


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_log_probabilities_are_what_a_loop_gives(sizes):
    _, logits = draw(sizes)
    found = Features(Variables(sizes)).slot_log_probs(logits)
    truth = [np.concatenate(naive_log_probs(row, sizes)) for row in logits.tolist()]
    np.testing.assert_allclose(found.numpy(), truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_the_likelihood_is_what_a_loop_gives(sizes):
    values, logits = draw(sizes)
    found = Features(Variables(sizes)).log_likelihood(logits, values)
    truth = [
        sum(variable[v] for variable, v in zip(naive_log_probs(row, sizes), seen, strict=True) if v != -1)
        for row, seen in zip(logits.tolist(), values.tolist(), strict=True)
    ]
    np.testing.assert_allclose(found.numpy(), truth, rtol=0, atol=1e-12)
    assert found[0] == 0  # nothing is known, which is certain


@given(
    st.lists(st.integers(2, 5), min_size=1, max_size=6),
    st.floats(-500, 500),
    st.sampled_from([torch.float32, torch.float64]),
    st.integers(0, 10**6),
)
def test_the_probabilities_of_an_variables_values_sum_to_one(sizes, scale, dtype, seed):
    variables = Variables(tuple(sizes))
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn((3, Features(variables).size), generator=generator, dtype=dtype)
    log_probs = Features(variables).slot_log_probs(logits)
    assert log_probs.isfinite().all()
    assert (log_probs <= 0).all()
    for first, after in zip(variables.offsets[:-1], variables.offsets[1:], strict=True):
        total = log_probs[:, first:after].exp().sum(1)
        torch.testing.assert_close(total, torch.ones(3, dtype=dtype), rtol=0, atol=1e-5)


@pytest.mark.parametrize("logit", [50.0, 500.0, 1e6])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_trap_8_saturated_logits_keep_log_probabilities_and_gradients(sizes, logit):
    """log(p + tiny) of a probability that underflows is constant, and so has no gradient."""
    features = Features(Variables(sizes))
    # all that the decoder is sure of is wrong
    logits = torch.full((1, features.size), logit)
    values = torch.zeros((1, len(sizes)), dtype=torch.int64)
    for variable, size in enumerate(sizes):
        if size > 2:
            first = sum(1 if s == 2 else s for s in sizes[:variable])
            logits[0, first] = -logit
    logits.requires_grad_()
    likelihood = features.log_likelihood(logits, values)
    truth = sum(-logit if size == 2 else -2 * logit - math.log(size - 1) for size in sizes)
    assert likelihood.item() == pytest.approx(truth, rel=1e-6)
    (gradient,) = torch.autograd.grad(likelihood.sum(), logits)
    assert gradient.isfinite().all()
    at = 0
    for size in sizes:
        # towards the value that was seen, at full strength
        assert gradient[0, at].item() == pytest.approx(-1.0 if size == 2 else 1.0)
        at += 1 if size == 2 else size
    assert features.slot_log_probs(logits).isfinite().all()


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_what_is_unknown_pulls_at_nothing(sizes):
    values, logits = draw(sizes)
    values[:, -1] = -1
    (gradient,) = torch.autograd.grad(
        Features(Variables(sizes)).log_likelihood(logits.requires_grad_(), values).sum(), logits
    )
    width = 1 if sizes[-1] == 2 else sizes[-1]
    assert (gradient[:, -width:] == 0).all()
    assert gradient.isfinite().all()
    if len(sizes) > 1:
        assert (gradient != 0).any()


# ---- bodies ---------------------------------------------------------------------------------------------------------

IMAGES = [(13, 9), (9, 13), (4, 4), (1, 5), (28, 28)]
ARCHITECTURES = [
    *((MLPArchitecture((16, 8), batch_norm=norm), sizes) for norm in (False, True) for sizes in SIZES.values()),
    (MLPArchitecture((7,)), SIZES["mixed"]),
    *((ConvArchitecture(shape, (3, 5), 6), (2,) * math.prod(shape)) for shape in IMAGES),
    (PaperArchitecture(), (2,) * 784),
]


def called(thing):
    return f"{len(thing)} variables" if isinstance(thing, tuple) else repr(thing)


def made(architecture, sizes, n_classes=3, latent_dim=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    encoder, decoder = architecture.build(Features(Variables(sizes)), n_classes, latent_dim)
    return initialise(encoder, generator), initialise(decoder, generator)


@pytest.mark.parametrize(("architecture", "sizes"), ARCHITECTURES, ids=called)
def test_every_body_gives_the_right_shapes(architecture, sizes):
    encoder, decoder = made(architecture, sizes)
    features = Features(Variables(sizes)).encode(draw(sizes, n=4)[0])
    label = torch.eye(3)[[0, 1, 2, 0]]
    mean, log_std = encoder(features, label)
    assert mean.shape == log_std.shape == (4, 2)
    assert decoder(mean, label).shape == features.shape


@pytest.mark.parametrize(("architecture", "sizes"), ARCHITECTURES, ids=called)
def test_the_label_matters_to_both(architecture, sizes):
    encoder, decoder = (network.eval() for network in made(architecture, sizes))
    features = Features(Variables(sizes)).encode(draw(sizes, n=1)[0]).expand(2, -1)
    mean, log_std = encoder(features, torch.eye(3)[[0, 1]])
    assert not torch.allclose(mean[0], mean[1])
    assert not torch.allclose(log_std[0], log_std[1])
    logits = decoder(torch.ones(2, 2), torch.eye(3)[[0, 1]])
    assert not torch.allclose(logits[0], logits[1])


@pytest.mark.parametrize(("architecture", "sizes"), [ARCHITECTURES[3], *ARCHITECTURES[-6:]], ids=called)
def test_every_feature_is_seen_and_every_weight_learns(architecture, sizes):
    """A crop on the wrong side, or a padding that hides the last rows, would lose pixels."""
    encoder, decoder = (network.eval() for network in made(architecture, sizes, seed=1))
    features = torch.randn((4, Features(Variables(sizes)).size), generator=torch.Generator().manual_seed(0))
    features.requires_grad_()
    label = torch.eye(3)[[0, 1, 2, 0]]
    mean, log_std = encoder(features, label)
    logits = decoder(mean, label)
    (logits.square().sum() + log_std.sum()).backward()
    assert (features.grad != 0).any(0).all()
    for network in (encoder, decoder):
        for name, parameter in network.named_parameters():
            assert (parameter.grad != 0).any(), name


@pytest.mark.parametrize("shape", [(13, 9), (5, 8), (4, 4)])
def test_a_pixel_stays_where_it_is(shape):
    """What goes in at a row and a column is at that row and column of the plane, and comes out of there."""
    pixels = torch.arange(2 * math.prod(shape), dtype=torch.float32).reshape(2, -1)
    plane = Plane(shape, 4)(pixels)
    assert plane.shape[2] % 4 == plane.shape[3] % 4 == 0
    assert torch.equal(plane[:, 0, : shape[0], : shape[1]], pixels.reshape(2, *shape))
    assert plane.sum() == pixels.sum()  # the rest is nothing
    assert torch.equal(Crop(shape)(plane), pixels)


def test_each_class_has_a_layer_of_its_own():
    layer = initialise(PerClass(3, 4, 5), torch.Generator().manual_seed(0))
    inputs = torch.randn((6, 4), generator=torch.Generator().manual_seed(1))
    labels = [2, 0, 1, 1, 0, 2]
    found = layer(inputs, torch.eye(3)[labels])
    for row, c, out in zip(inputs, labels, found, strict=True):
        torch.testing.assert_close(out, row @ layer.weight[c] + layer.bias[c])
    # one class's rows teach that class only
    found[[0, 5]].sum().backward()
    assert (layer.weight.grad[2] != 0).all()
    assert (layer.weight.grad[:2] == 0).all()
    assert layer.bias.grad.sum(1).tolist() == [0, 0, 10]


def test_what_is_usual_in_a_class_is_added_to_its_logits():
    _, decoder = made(ConvArchitecture((4, 5), (2, 3), 4), (2,) * 20)
    latents, label = torch.ones(2, 2), torch.eye(3)[[0, 1]]
    with torch.no_grad():
        before = decoder(latents, label)
        decoder.usual[1] = torch.arange(20.0)
        torch.testing.assert_close(decoder(latents, label) - before, torch.stack([torch.zeros(20), torch.arange(20.0)]))


def test_a_strange_input_cannot_overflow():
    encoder, _ = (network.eval() for network in made(MLPArchitecture((4,), batch_norm=False), (2, 2)))
    for sign in (-1e20, 1e20):
        _, log_std = encoder(sign * torch.ones(1, 2), torch.eye(3)[:1])
        assert (log_std >= MIN_LOG_STD).all()
        assert (log_std <= MAX_LOG_STD).all()


@pytest.mark.parametrize("sizes", [(3,) * 6, (2,) * 5 + (3,), (2,) * 7, (2,) * 5])
def test_a_convolution_takes_black_and_white_pixels_only(sizes):
    with pytest.raises(
        ValueError, match=r"\(2, 3\) needs 6 black and white pixels; got . variables .* architecture='mlp'"
    ):
        ConvArchitecture((2, 3)).build(Features(Variables(sizes)), 2, 2)


@pytest.mark.parametrize("shape", [(27, 28), (14, 56), (32, 32)])
def test_the_papers_body_takes_images_of_28_x_28_only(shape):
    with pytest.raises(ValueError, match=r"28 x 28 pixels, got \(.*use architecture='conv'"):
        PaperArchitecture(shape).build(Features(Variables((2,) * math.prod(shape))), 2, 2)
    with pytest.raises(ValueError, match="needs 784 black and white pixels; got 6 variables"):
        PaperArchitecture().build(Features(Variables((2,) * 6)), 2, 2)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: MLPArchitecture(()), "widths=()"),
        (lambda: MLPArchitecture((8, 0)), "widths=(8, 0)"),
        (lambda: MLPArchitecture((8.5,)), "widths=(8.5,)"),
        (lambda: ConvArchitecture((3, 0)), "shape=(3, 0)"),
        (lambda: ConvArchitecture((3, 3, 1)), "shape=(3, 3, 1)"),
        (lambda: ConvArchitecture((3, 3), (4,)), "channels=(4,)"),
        (lambda: ConvArchitecture((3, 3), hidden=0), "hidden=(0,)"),
        (
            lambda: settings_from_spec({"kind": "forest"}, KINDS, "architecture"),
            "'forest' is no architecture; expected one of ['conv'",
        ),
        (lambda: settings_from_spec({}, KINDS, "architecture"), "None is no architecture"),
    ],
)
def test_bad_settings_are_refused(make, word):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        make()
    assert word in str(refused.value)


@pytest.mark.parametrize(
    "architecture",
    [
        MLPArchitecture(),
        MLPArchitecture((5,), batch_norm=False),
        ConvArchitecture((13, 9), (2, 3), 4),
        PaperArchitecture(),
    ],
    ids=repr,
)
def test_settings_come_back_from_json(architecture):
    again = settings_from_spec(json.loads(json.dumps(architecture.to_spec())), KINDS, "architecture")
    assert again == architecture
    assert hash(again) == hash(architecture)  # no list of JSON's is left in it
    assert type(again) is type(architecture)


# ---- weights --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("architecture", "sizes"),
    [ARCHITECTURES[2], (ConvArchitecture((5, 4), (3, 5), 6), (2,) * 20), ARCHITECTURES[-1]],
    ids=called,
)
def test_weights_are_a_function_of_the_generator_alone(architecture, sizes):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        first = made(architecture, sizes, seed=3)
        torch.manual_seed(2)  # another state of the global generator, in which the layers are made
        second, other = made(architecture, sizes, seed=3), made(architecture, sizes, seed=4)
    for a, b, c in zip(first, second, other, strict=True):
        for (name, x), y, z in zip(
            a.state_dict().items(), b.state_dict().values(), c.state_dict().values(), strict=True
        ):
            assert torch.equal(x, y), name
            drawn = x.ndim > 1 and not name.endswith("usual")  # the rest begins as zeros or ones
            assert not (drawn and torch.equal(x, z)), name


def test_drawing_weights_leaves_the_global_generator_alone():
    network = nn.Sequential(nn.Linear(3, 4), nn.Conv2d(1, 2, 3), nn.ConvTranspose2d(2, 1, 3), nn.BatchNorm1d(4))
    before = torch.get_rng_state()
    initialise(network, torch.Generator().manual_seed(0))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Linear(200, 300),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ConvTranspose2d(64, 64, 3),
        nn.ConvTranspose2d(64, 64, 2, stride=2),
        nn.ConvTranspose2d(64, 64, 4, stride=2),
    ],
    ids=repr,
)
def test_a_layer_keeps_the_scale_of_its_input(layer):
    """He et al.: half of the inputs are cut off by a ReLU before, so the mean square of its outputs is that of the
    numbers that went into the ReLU."""
    initialise(layer, torch.Generator().manual_seed(0))
    shape = (50, 200) if isinstance(layer, nn.Linear) else (4, 64, 12, 12)
    seen = torch.randn(shape, generator=torch.Generator().manual_seed(1)).relu()
    with torch.no_grad():
        out = layer(seen)
    inner = out if out.ndim == 2 else out[:, :, 3:-3, 3:-3]  # at the border fewer pixels are seen
    assert inner.square().mean().sqrt().item() == pytest.approx(1.0, abs=0.1)
    assert (layer.bias == 0).all()


@pytest.mark.parametrize(
    ("architecture", "sizes"),
    [
        (PaperArchitecture(), (2,) * 784),
        (ConvArchitecture((28, 28)), (2,) * 784),
        (MLPArchitecture((64, 32)), (2,) * 60),
    ],
    ids=called,
)
def test_a_new_decoder_is_not_sure_of_anything(architecture, sizes):
    """Logits of dozens at the start would be certainties that have to be unlearnt first."""
    _, decoder = (network.eval() for network in made(architecture, sizes, 10, 8))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        logits = decoder(torch.randn((10, 8), generator=generator), torch.eye(10))
    assert 0.05 < logits.std().item() < 3
