"""Patches of images."""

import numpy as np
import pytest
import torch

import infopursuit as ip
from enumerator import Truth
from infopursuit.queries import Patches, patches

IMAGES = np.random.default_rng(0).integers(0, 2, size=(5, 4, 6))


def test_overlapping_patches_share_variables():
    qs = patches((4, 6), size=3)
    assert len(qs) == 2 * 4
    assert len(qs.variables) == 24
    assert set(qs.query_variables[0]) & set(qs.query_variables[1]) == {1, 2, 7, 8, 13, 14}
    assert len(qs.parts.variable) == 24  # each pixel once, whatever the number of patches that show it


def test_a_patch_shows_the_pixels_under_it():
    qs = patches((4, 6), size=(2, 3), stride=(1, 2))
    for query, (row, column) in enumerate(qs.corners):
        expected = IMAGES[:, row : row + 2, column : column + 3].reshape(5, 6)
        np.testing.assert_array_equal(qs.answers(IMAGES)[:, query], expected)
    assert qs.say_answer(0, (1, 0, 0, 0, 1, -1)) == "█·· / ·█?"


@pytest.mark.parametrize(
    "give", [lambda X: X.reshape(5, 24), lambda X: X[:, None], lambda X: X[..., None], torch.tensor]
)
def test_the_same_images_in_another_shape_are_the_same(give):
    qs = patches((4, 6))
    np.testing.assert_array_equal(qs.observe(give(IMAGES)), qs.observe(IMAGES))
    np.testing.assert_array_equal(qs.observe(IMAGES[0]), qs.observe(IMAGES)[:1])
    assert qs.observe(IMAGES[:0]).shape == (0, 24)


@pytest.mark.parametrize("shape", [(5, 6, 4), (5, 23), (5, 2, 12), (5, 4, 6, 3), (24,)])
def test_bad_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="X has shape"):
        patches((4, 6)).observe(np.zeros(shape))


def test_nan_pixels_are_not_known():
    images = IMAGES.astype(float)
    images[1, 2, 3] = np.nan
    assert np.argwhere(patches((4, 6)).observe(images) == -1).tolist() == [[1, 15]]


def test_grey_images_need_a_threshold_and_training_images_give_one():
    grey = IMAGES * 200
    with pytest.raises(ValueError, match=r"X has grey pixels.*threshold"):
        patches((4, 6)).observe(grey)
    fitted = patches().fit(grey)
    assert fitted.threshold == 100
    np.testing.assert_array_equal(fitted.observe(grey), IMAGES.reshape(5, 24))
    assert patches().fit(IMAGES).threshold is None


def test_an_image_of_no_weight_does_not_move_the_threshold():
    grey = np.concatenate([IMAGES * 200, np.full((1, 4, 6), 1000)])
    assert patches().fit(grey, sample_weight=[1, 1, 1, 1, 1, 0]).threshold == 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": (4, 6), "size": 5}, "size="),
        ({"shape": (4, 6), "stride": 0}, "stride="),
        ({"shape": (4, 6), "threshold": "half"}, "threshold="),
        ({"threshold": "mean"}, "threshold is 'mean'"),
        ({"shape": np.zeros((5, 24))}, "X has shape"),
        ({"shape": np.array([[["a"]]])}, "X has dtype"),
        ({"shape": (4, 6), "levels": 1}, "levels"),
        ({"shape": (4, 6), "levels": 257}, "levels"),
        ({"shape": (4, 6), "levels": 4, "threshold": 1}, "threshold=.*levels="),
        ({"shape": (4, 6), "levels": 4, "value_range": (1, 0)}, "value_range="),
        ({"shape": (4, 6), "channels": 2}, "channels"),
        ({"shape": np.zeros((5, 4, 6, 3))}, "channels=3"),
        ({"shape": np.zeros((5, 4, 6)), "channels": 3}, "channels=3"),
        ({"shape": (1024, 1024), "size": 32}, "size="),
        ({"shape": (1024, 1024), "levels": 32}, "shape="),
    ],
)
def test_what_cannot_work_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        patches(**arguments)


# ---- grey levels ----------------------------------------------------------------------------------------------------


def test_grey_levels_are_bins_of_equal_width():
    qs = patches((1, 6), size=(1, 2), levels=4)
    shares = np.array([[0, 0.24, 0.26, 0.6, 0.76, 1.0]])
    assert qs.observe(shares).tolist() == [[0, 0, 1, 2, 3, 3]]
    assert qs.observe((255 * shares).astype(np.uint8)).tolist() == [[0, 0, 1, 2, 3, 3]]  # whole numbers: up to 255
    assert set(qs.variables.sizes) == {4}
    assert qs.n_answers.tolist() == [16] * 5
    with pytest.raises(ValueError, match=r"X has pixels between 0 and 2.*value_range"):
        qs.observe(2 * shares)


def test_training_images_give_the_range_of_the_levels():
    grey = np.array([[[10.0, 20.0, 30.0]], [[25.0, np.nan, 14.9]], [[1000.0, 0, 0]]])
    qs = patches(levels=2, size=1).fit(grey, sample_weight=[1, 1, 0])
    assert qs.value_range == (10, 30)
    assert qs.observe(grey).tolist() == [[0, 1, 1], [1, -1, 0], [1, 0, 0]]  # what lies outside is in the last bin
    assert patches((1, 3), size=1, levels=2, value_range=(10, 30)).observe(grey).tolist() == qs.observe(grey).tolist()


@pytest.mark.parametrize(
    ("size", "levels", "said"),
    [
        (2, 4, "01 / 3?"),
        (2, 10, "01 / 3?"),
        (2, 16, "·: / -? (mean grey 0.09)"),
        (5, 16, "mean grey 0.09"),
    ],
)
def test_grey_patches_in_words(size, levels, said):
    qs = patches((5, 5), size=size, levels=levels)
    assert qs.say_answer(0, (0, 1, 3) + (-1,) * (size * size - 3)) == said


# ---- colours --------------------------------------------------------------------------------------------------------


def test_a_patch_of_a_colour_image_reveals_all_channels_of_its_pixels():
    images = np.random.default_rng(0).random((5, 4, 6, 3))
    qs = patches((4, 6), size=2, levels=8, channels=3)
    level = np.floor(images * 8).astype(int)
    assert len(qs.variables) == 72
    for query, (row, column) in enumerate(qs.corners):
        expected = level[:, row : row + 2, column : column + 2].reshape(5, 12)
        np.testing.assert_array_equal(qs.answers(images)[:, query], expected)
    for same in (np.moveaxis(images, 3, 1), images.reshape(5, 72), torch.tensor(images)):
        np.testing.assert_array_equal(qs.observe(same), qs.observe(images))
    for same in (images[0], np.moveaxis(images[0], 2, 0)):
        np.testing.assert_array_equal(qs.observe(same), qs.observe(images)[:1])
    assert qs.say_answer(0, (7, 0, 3) * 4) == "mean red 1.00, green 0.00, blue 0.43"


@pytest.mark.parametrize("axis", [1, 3])
def test_colour_images_are_fitted_in_both_layouts(axis):
    images = np.moveaxis(np.random.default_rng(0).integers(0, 256, size=(5, 4, 6, 3)), 3, axis)
    by_levels, by_threshold = (patches(size=1, channels=3, **how).fit(images) for how in ({"levels": 4}, {}))
    assert by_levels.shape == by_threshold.shape == (4, 6)
    assert by_threshold.threshold == images.max() / 2
    assert by_levels.n_answers[0] == 64
    assert by_threshold.n_answers[0] == 8


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("levels", "16"),
        ("levels", 2.5),
        ("levels", 10**9),
        ("value_range", 5),
        ("value_range", [0]),
        ("value_range", [0, float("nan")]),
        ("value_range", [1, 0]),
        ("channels", 2),
        ("channels", [3]),
        ("threshold", 0.5),
    ],
)
def test_a_specification_that_somebody_altered_is_refused(name, value):
    spec = patches((4, 6), levels=4, channels=3, value_range=(0, 2)).to_spec()
    assert Patches.from_spec(spec).to_spec() == spec
    with pytest.raises((ValueError, TypeError), match=name):
        Patches.from_spec({**spec, name: value})


@pytest.mark.parametrize(
    ("shape", "size", "levels", "channels"), [((1, 4), (1, 2), 3, 1), ((2, 2), (1, 2), 3, 1), ((1, 2), 1, 2, 3)]
)
def test_pursuits_over_grey_and_colour_patches_are_exact(shape, size, levels, channels):
    """Queries, gains and posteriors against the enumeration of all images; patches overlap."""
    rng = np.random.default_rng(levels + channels)
    qs = patches(shape, size=size, levels=levels, channels=channels)
    prior, latent = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2), size=3)
    probs = rng.dirichlet(np.ones(levels), size=(3, 2, len(qs.variables)))  # (C, Z, A, V)
    truth = Truth(prior, latent, [probs[:, :, a] for a in range(len(qs.variables))], qs)
    pursuit = ip.generative_pursuit(ip.models.TableModel(prior, latent, probs), qs, stopping=ip.Confidence(0.0))
    images = rng.random((8, *shape) if channels == 1 else (8, *shape, 3))
    trace, values = pursuit.run(images), qs.observe(images)
    for i in range(8):
        expected = truth.trace(values[i].tolist(), [("confidence", 0.0, None)])
        assert trace.queries[i, : trace.length[i]].tolist() == expected.queries
        np.testing.assert_allclose(trace.gains[i, : trace.length[i]], expected.gains, atol=1e-9)
        np.testing.assert_allclose(trace.posteriors[i, : trace.length[i] + 1], expected.posteriors, atol=1e-9)
