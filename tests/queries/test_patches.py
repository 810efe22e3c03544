"""Patches of images."""

import numpy as np
import pytest
import torch

from infopursuit.queries import patches

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
        ({"shape": (28, 28), "size": 5}, "size="),
        ({"shape": (4, 6), "stride": 0}, "stride="),
        ({"shape": (4, 6), "threshold": "half"}, "threshold="),
        ({"threshold": "mean"}, "threshold is 'mean'"),
        ({"shape": np.zeros((5, 24))}, "X has shape"),
        ({"shape": np.array([[["a"]]])}, "X has dtype"),
    ],
)
def test_what_cannot_work_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        patches(**arguments)
