"""The smoothed training set: against a loop over its examples, with and without gaps, and in bounded memory."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import infopursuit as ip
from infopursuit.models import Blur, EmpiricalModel, Flip, Sample
from infopursuit.models.empirical import BLURS
from infopursuit.models.empirical import SMOOTHINGS as KINDS
from infopursuit.models.storing import settings_from_spec
from infopursuit.support.types import Variables
from worlds import Given

SHAPE = (3, 5)
SMOOTHINGS = [
    pytest.param(Blur((0.7,), (0.02,), shape=SHAPE), id="one blur"),
    pytest.param(Blur((0.4, 0.8, 1.4), (0.005, 0.02, 0.1), (0.04, 0.1, 0.2), SHAPE), id="three blurs"),
    pytest.param(Flip((0.1,)), id="one flip"),
    pytest.param(Flip((0.05, 0.4, 1.0)), id="three flips"),
]


def rows(seed=0, n=20, sizes=(2,) * 15, missing=0.0, n_classes=3):
    """Distinct rows, labels and weights; class 0 has one example only."""
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(size, size=n) for size in sizes], axis=1)
    values[rng.random(values.shape) < missing] = -1
    labels = np.concatenate([[0], np.arange(n - 1) % (n_classes - 1) + 1])
    return values, labels, rng.integers(1, 4, n).astype(float)


def naive_probs(values, labels, weights, smoothing, sizes):
    """For each example and scale: its class, its prior weight, and a list of P(value) for each variable, written
    out."""
    n_classes = labels.max() + 1
    usual = Sample.of(Variables(sizes), values, labels, weights).marginals()
    starts = np.concatenate([[0], np.cumsum(sizes)])
    prior = np.array([weights[labels == c].sum() + 0.5 for c in range(n_classes)])
    prior = prior / prior.sum()
    for row, label, weight in zip(values, labels, weights, strict=True):
        share = prior[label] * weight / weights[labels == label].sum() / smoothing.n_scales
        own = [usual[label, a:b] for a, b in pairwise(starts)]
        for scale in range(smoothing.n_scales):
            if isinstance(smoothing, Blur):
                grey = np.array([p[1] if v == -1 else v for v, p in zip(row, own, strict=True)], dtype=float)
                grey = grey.reshape(SHAPE)
                blurred = gaussian_filter(grey, smoothing.widths[scale], mode="constant", truncate=12).ravel()
                floor, gap = smoothing.floors[scale], smoothing.gaps[scale]
                lit = floor + (1 - floor - gap) * blurred
                yield label, share, [np.array([1 - p, p]) for p in lit]
            else:
                rate = smoothing.rates[scale]
                exact = [np.eye(len(p))[v] for v, p in zip(row, own, strict=True)]
                flipped = [(1 - rate) * e + rate * p for e, p in zip(exact, own, strict=True)]
                yield label, share, [p if v == -1 else f for v, p, f in zip(row, own, flipped, strict=True)]


def naive_posterior(values, labels, weights, smoothing, sizes, seen):
    """p(class | some variables) by a loop over everything."""
    mass = np.zeros(labels.max() + 1)
    for label, share, probs in naive_probs(values, labels, weights, smoothing, sizes):
        mass[label] += share * np.prod([probs[a][v] for a, v in seen])
    return mass / mass.sum()


def whole(model):
    return model.block(slice(0, model.variables.n_slots)).astype(np.float64)


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-5), (np.float64, 1e-6)])
def test_posteriors_are_those_of_a_loop_over_examples(smoothing, missing, dtype, tolerance):
    values, labels, weights = rows(missing=missing)
    model = EmpiricalModel(values, labels, smoothing, weights=weights, dtype=dtype)
    pursuit = ip.generative_pursuit(model, ip.queries.concepts([f"pixel {a}" for a in range(15)]))
    rng = np.random.default_rng(1)
    for length in (0, 1, 3, 15):
        seen = [(int(a), int(rng.integers(2))) for a in rng.permutation(15)[:length]]
        expected = naive_posterior(values, labels, weights, smoothing, (2,) * 15, seen)
        np.testing.assert_allclose(pursuit.believe([(a, (v,)) for a, v in seen]), expected, atol=tolerance)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_posteriors_of_variables_of_different_sizes(missing):
    sizes = (2, 4, 3, 2)
    values, labels, weights = rows(2, n=15, sizes=sizes, missing=missing)
    smoothing = Flip((0.1, 0.5))
    model = EmpiricalModel(values, labels, smoothing, weights=weights, sizes=sizes, dtype=np.float64)
    pursuit = ip.generative_pursuit(model, Given([f"variable {a}" for a in range(4)], sizes, [[a] for a in range(4)]))
    for seen in ([(1, 3)], [(0, 1), (2, 2), (1, 0)], [(0, 0), (1, 1), (2, 0), (3, 1)]):
        expected = naive_posterior(values, labels, weights, smoothing, sizes, seen)
        np.testing.assert_allclose(pursuit.believe([(a, (v,)) for a, v in seen]), expected, atol=1e-12)


def test_flips_by_hand():
    """One example [1, ?] in class 0, beside [0, 0] and [1, 1] in class 1."""
    model = EmpiricalModel([[1, -1], [0, 0], [1, 1]], [0, 1, 1], Flip((0.2, 0.5)), dtype=np.float64)
    # all classes: 2 of 3 and 1 of 2 are lit, with half a row more of each value; one such row is added to each class
    first, second = 2.5 / 4, 0.5
    usual = np.array([[(1 + first) / 2, second], [(1 + first) / 3, (1 + second) / 3]])
    probs = whole(model)[1::2]  # P(variable = 1) in the six states
    np.testing.assert_allclose(probs[0, :2], [0.8 + 0.2 * usual[0, 0], 0.5 + 0.5 * usual[0, 0]])
    np.testing.assert_allclose(
        probs[1, :2], [usual[0, 1]] * 2
    )  # not known: as frequent as in the class, at every scale
    np.testing.assert_allclose(probs[:, 2], 0.2 * usual[1])
    np.testing.assert_allclose(probs[:, 5], 0.5 + 0.5 * usual[1])
    np.testing.assert_allclose(np.exp(model.log_prior), np.array([1.5, 1.5, 1.25, 1.25, 1.25, 1.25]) / 8)


def test_a_flip_at_rate_one_is_naive_bayes():
    values, labels, weights = rows(n=30)
    model = EmpiricalModel(values, labels, Flip((1.0,)), weights=weights, dtype=np.float64)
    plain = ip.models.naive_bayes(1.0).fit(model.sample)
    queries = ip.queries.concepts([f"pixel {a}" for a in range(15)])
    history = [(a, (int(values[3, a]),)) for a in range(9)]
    one, two = (ip.generative_pursuit(m, queries).believe(history) for m in (model, plain))
    np.testing.assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-12)])
def test_values_of_all_states_and_states_with_all_values_are_one_table(smoothing, missing, dtype, tolerance):
    values, labels, weights = rows(3, missing=missing)
    model = EmpiricalModel(values, labels, smoothing, weights=weights, dtype=dtype)
    table = whole(model)
    assert table.shape == (30, 20 * smoothing.n_scales)
    states = np.asarray(np.random.default_rng(0).permutation(model.n_states)[:11])
    np.testing.assert_allclose(model.state_probs(states), table[:, states], atol=tolerance)
    assert model.state_probs(states).dtype == dtype
    np.testing.assert_allclose(model.rows(np.array([29, 0, 7])), table[[29, 0, 7]], atol=tolerance)
    truth = [np.concatenate(probs) for _, _, probs in naive_probs(*_sorted(model), smoothing, (2,) * 15)]
    np.testing.assert_allclose(table.T, truth, atol=1e-6)


def _sorted(model):
    return model.sample.values, model.sample.labels, model.sample.weights


def test_asking_for_rows_does_not_change_the_model():
    """The probability of a dark pixel is made in place of the lit one, and must be made in a copy."""
    values, labels, _ = rows()
    for smoothing in (Blur(shape=SHAPE), Flip()):
        model = EmpiricalModel(values, labels, smoothing)
        before = whole(model)
        model.rows(np.arange(30)).fill(0)
        model.state_probs(np.arange(10)).fill(0)
        np.testing.assert_array_equal(whole(model), before)


def test_repeating_an_example_is_weighting_it_and_order_means_nothing():
    values, labels, weights = rows()
    order = np.random.default_rng(0).permutation(20)
    one = EmpiricalModel(values, labels, Flip(), weights=weights)
    two = EmpiricalModel(
        np.repeat(values[order], weights[order].astype(int), axis=0),
        np.repeat(labels[order], weights[order].astype(int)),
        Flip(),
    )
    np.testing.assert_array_equal(whole(one), whole(two))
    np.testing.assert_allclose(one.log_prior, two.log_prior, atol=1e-12)


@pytest.mark.parametrize("smoothing", [Flip(), Blur(shape=SHAPE)])
def test_a_class_without_examples_gets_no_probability(smoothing):
    values, labels, _ = rows()
    model = EmpiricalModel(values, labels, smoothing, n_classes=5)
    assert model.n_classes == 5
    np.testing.assert_array_equal(model.class_prior[3:], 0)
    assert model.class_prior.sum() == pytest.approx(1, abs=1e-12)
    posterior = ip.generative_pursuit(model, ip.queries.concepts([f"pixel {a}" for a in range(15)])).believe(
        [(0, (1,))]
    )
    assert np.isfinite(posterior).all()
    with pytest.raises(ValueError, match=r"class_prior\[3\]"):
        model.with_class_prior([0.2] * 5)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("smoothing", [Flip((0.1, 0.6)), Blur((0.5, 1.0), (0.01, 0.1), shape=SHAPE)])
def test_another_number_type_is_as_if_the_model_had_been_made_in_it(smoothing, missing):
    values, labels, _ = rows(missing=missing)
    single, double = (EmpiricalModel(values, labels, smoothing, dtype=d) for d in (np.float32, np.float64))
    for converted, made in ((single.to(dtype=np.float64), double), (double.to(dtype=np.float32), single)):
        assert converted.dtype == made.dtype
        np.testing.assert_array_equal(converted.rows(np.arange(30)), made.rows(np.arange(30)))
        np.testing.assert_array_equal(converted.state_probs(np.arange(9)), made.state_probs(np.arange(9)))
    assert single.dtype == np.float32  # the first model stays as it is
    assert whole(single.to()).tolist() == whole(single).tolist()


def held(*models):
    """Bytes of all arrays of some models; what they share counts once."""
    owners = {}
    for model in models:
        for value in vars(model).values():
            if isinstance(value, np.ndarray):
                owner = value if value.base is None else value.base
                owners[id(owner)] = owner.nbytes
    return sum(owners.values())


@pytest.mark.parametrize(
    ("smoothing", "per_value"),
    [
        (Blur((1.0, 2.0), (0.1, 0.1), shape=(16, 16)), 4 * 2 + 2),
        (Blur((1.0,), (0.1,), shape=(16, 16)), 4 + 2),
        (Flip(), 3),
    ],
)
def test_the_table_is_held_once(smoothing, per_value):
    """For 60,000 images of 784 pixels a second table would be 0.4 GB: probabilities of lit pixels only, and bytes."""
    n, n_variables = 400, 256
    rng = np.random.default_rng(0)
    model = EmpiricalModel(rng.integers(2, size=(n, n_variables)), rng.integers(3, size=n), smoothing)
    per_state = 8 * 2 * smoothing.n_scales + 8
    small = (8 * 3 + 8 + 8) * 2 * n_variables
    assert held(model) <= per_value * n * n_variables + per_state * n + small
    other = model.with_class_prior([0.2, 0.3, 0.5])
    assert held(model, other) <= held(model) + 8 * n * smoothing.n_scales


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smoothing": Blur()}, r"shape=None, but there are 15 pixels; give Blur\(shape=\(rows, columns\)\)"),
        ({"smoothing": Blur(shape=(4, 4))}, "there are 15 pixels"),
        ({"smoothing": Blur(shape=SHAPE), "sizes": (3,) * 15}, "use Flip for variables with more values"),
        ({"sizes": (2,) * 14 + (255,)}, "a variable has 255 values; an empirical model takes fewer than 255"),
        ({"weights": np.zeros(20)}, "no row has a positive weight"),
        ({"n_classes": 2}, "only 2 classes"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    values, labels, _ = rows()
    with pytest.raises(ValueError, match=message):
        EmpiricalModel(values, labels, **options)


def test_many_values_are_told_apart_from_unknown():
    """254 values is the most; the largest, 253, must not be taken for a gap."""
    model = EmpiricalModel([[253], [0], [-1]], [0, 0, 1], Flip((0.1,)), sizes=(254,), dtype=np.float64)
    table = whole(model)
    assert model.sample.values[:, 0].tolist() == [0, 253, -1]
    assert table[253, 1] > 0.9
    assert table[0, 0] > 0.9
    np.testing.assert_allclose(table[:, 2], model.sample.marginals()[1])


def test_the_settings_are_told_in_words():
    values, labels, _ = rows()
    assert "0.25" in EmpiricalModel(values, labels, Flip((0.25,))).settings


# ---- smoothing ------------------------------------------------------------------------------------------------------
# How an example becomes a distribution: the blur against scipy's, flips by hand, and what is refused.


def images(n, shape, seed=0, grey=False):
    rng = np.random.default_rng(seed)
    return rng.random((n, *shape)) if grey else (rng.random((n, *shape)) < 0.3).astype(float)


def lit(blur, pictures, scale, dtype=np.float64):
    """(N, rows, columns) through the (A, N) that the blur takes."""
    flat = pictures.reshape(len(pictures), -1).T.astype(dtype)
    return blur.lit(flat, scale).T.reshape(pictures.shape)


@pytest.mark.parametrize("shape", [(8, 8), (5, 11), (1, 6), (6, 1), (28, 28)])
@pytest.mark.parametrize("width", [0.4, 0.8, 1.6, 4.0])
def test_the_blur_is_a_gaussian_with_darkness_outside(shape, width):
    pictures = images(3, shape, grey=True)
    blur = Blur((0.5, width), (0.01, 0.02), (0.1, 0.06), shape)
    expected = [gaussian_filter(picture, width, mode="constant", truncate=12) for picture in pictures]
    np.testing.assert_allclose(lit(blur, pictures, 1), 0.02 + 0.92 * np.array(expected), atol=1e-7)


def test_rows_and_columns_are_not_mixed_up():
    """A dot in a corner of a wide image spreads to its neighbours, not to the other end of the line."""
    picture = np.zeros((1, 3, 9))
    picture[0, 0, 8] = 1
    blurred = lit(Blur((0.7,), (1e-6,), shape=(3, 9)), picture, 0)[0]
    assert blurred[0, 7] == pytest.approx(blurred[1, 8], rel=1e-9)
    assert blurred[0, 7] > 0.1
    assert blurred[1, 0] == pytest.approx(1e-6, abs=1e-9)


def test_no_width_only_adds_the_floor():
    pictures = images(2, (4, 5))
    np.testing.assert_allclose(lit(Blur((0.0,), (0.1,), (0.1,), (4, 5)), pictures, 0), 0.1 + 0.8 * pictures, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("blur", BLURS)
def test_floors_and_gaps_keep_every_pixel_off_zero_and_one(blur, dtype):
    blur = replace(blur, shape=(9, 9))
    pictures = np.concatenate([np.zeros((1, 9, 9)), np.ones((1, 9, 9)), images(5, (9, 9))])
    for scale, (floor, gap) in enumerate(zip(blur.floors, blur.gaps, strict=True)):
        blurred = lit(blur, pictures, scale, dtype)
        assert blurred.min() == pytest.approx(floor, rel=1e-5)
        assert blurred.max() <= 1 - gap + 1e-6
        assert blurred[1, 4, 4] > 0.5


def test_gaps_are_larger_than_floors_where_nothing_is_said():
    """Strokes get thinner or move; ink far from any stroke is rare."""
    for n in (1, 2, 4):
        blur = Blur((0.5,) * n, (0.01,) * n)
        assert len(blur.gaps) == n
        assert min(blur.gaps) > 0.01
        assert list(blur.gaps) == sorted(blur.gaps)


def test_images_do_not_mix():
    blur = Blur((1.1,), (0.01,), shape=(6, 6))
    pictures = images(7, (6, 6))
    together = lit(blur, pictures, 0)
    for i in range(7):
        np.testing.assert_allclose(together[i], lit(blur, pictures[i : i + 1], 0)[0], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Blur(()), r"widths=\(\) must be one or more numbers"),
        (lambda: Blur((-1.0, 1.0)), "widths="),
        (lambda: Blur((np.nan, 1.0)), "widths="),
        (lambda: Blur((np.inf, 1.0)), "widths="),
        (lambda: Blur((1.0, 2.0), (0.0, 0.1)), "floors=.* from 1e-06 to 0.5"),
        (lambda: Blur((1.0, 2.0), (0.1, 0.6)), "floors="),
        (lambda: Blur((1.0, 2.0), (0.1, 0.1), (0.1, 0.6)), "gaps="),
        (lambda: Blur((1.0, 2.0), (0.1,)), "have 2, 1 and 2 entries; give one of each for each scale"),
        (lambda: Blur((1.0, 2.0), (0.1, 0.1), (0.1,)), "have 2, 2 and 1 entries"),
        (lambda: Flip(()), r"rates=\(\) must be one or more numbers from 1e-06 to 1"),
        (lambda: Flip((0.0,)), "rates="),
        (lambda: Flip((1.5,)), "rates="),
        (
            lambda: settings_from_spec({"kind": "smear"}, KINDS, "smoothing"),
            "'smear' is no smoothing; expected one of",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_of_smoothing(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "smoothing", [Blur(), Blur((0.0, 1.5, 2), (0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (4, 7)), Flip(), Flip((1.0,))]
)
def test_settings_survive_being_written_down(smoothing):
    assert settings_from_spec(smoothing.to_spec(), KINDS, "smoothing") == smoothing
    assert smoothing.n_scales == len(smoothing.to_spec().get("rates", smoothing.to_spec().get("widths")))
