"""How an example becomes a distribution: the blur against scipy's, flips by hand, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from infopursuit.models import Blur, Flip
from infopursuit.models.empirical import BLURS, smoothing_from_spec


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
        (lambda: smoothing_from_spec({"kind": "smear"}), "'smear' is no kind of smoothing; expected 'blur' or 'flip'"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "smoothing", [Blur(), Blur((0.0, 1.5, 2), (0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (4, 7)), Flip(), Flip((1.0,))]
)
def test_settings_survive_being_written_down(smoothing):
    assert smoothing_from_spec(smoothing.to_spec()) == smoothing
    assert smoothing.n_scales == len(smoothing.to_spec().get("rates", smoothing.to_spec().get("widths")))
