"""Moved images: by exactly as much as was drawn, in the right direction and aspect, and what is unknown stays."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
import torch

from infopursuit.models.networks import augmentation
from infopursuit.models.networks.augmentation import RandomAffine


def picture(rows, columns, n=1, seed=0, unknown=0.0):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (n, rows * columns))
    return torch.as_tensor(np.where(rng.random(values.shape) < unknown, -1, values))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def drawn(monkeypatch):
    """Says what is drawn for (rotation, scale, shift along columns, shift along rows), from -1 to 1 each."""

    def say(*draws):
        rand = torch.tensor([draws], dtype=torch.float32) / 2 + 0.5
        monkeypatch.setattr(augmentation, "_uniform", lambda shape, generator: rand.expand(shape))

    return say


# ---- what is drawn is done ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(28, 28), (13, 9), (5, 12), (1, 6), (4, 4)])
def test_no_moves_change_nothing(shape):
    values = picture(*shape, n=20, unknown=0.1)
    assert torch.equal(RandomAffine(0, 0, 0).apply(values, shape, generator()), values)


@pytest.mark.parametrize("draws", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)])
def test_a_draw_of_nothing_changes_nothing(draws, drawn):
    """Each of the four draws belongs to one setting: the others at nothing, and that setting at nothing."""
    names = ("rotation", "scale", "shift", "shift")
    settings = {"rotation": 30.0, "scale": 0.4, "shift": 3.0, names[draws.index(1)]: 0.0}
    drawn(*draws)
    values = picture(9, 14)
    assert torch.equal(RandomAffine(**settings).apply(values, (9, 14), generator()), values)


@pytest.mark.parametrize("shape", [(7, 7), (5, 9), (8, 3)])
@pytest.mark.parametrize("pixels", [1, 2])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_shift_by_whole_pixels_moves_the_picture(shape, pixels, sign, axis, drawn):
    drawn(0, 0, sign * (axis == 1), sign * (axis == 0))
    values = picture(*shape)
    found = RandomAffine(shift=pixels, rotation=0, scale=0).apply(values, shape, generator()).reshape(shape).numpy()
    # a pixel shows what was `pixels` further on, and nothing comes in from outside
    image = values.reshape(shape).numpy()
    expected = np.zeros_like(image)
    for r in range(shape[0]):
        for c in range(shape[1]):
            row, column = (r + sign * pixels, c) if axis == 0 else (r, c + sign * pixels)
            if 0 <= row < shape[0] and 0 <= column < shape[1]:
                expected[r, c] = image[row, column]
    assert np.array_equal(found, expected)
    assert not np.array_equal(found, image)


@pytest.mark.parametrize("shape", [(9, 9), (13, 17)])
def test_an_elastic_distortion_moves_by_its_standard_deviation(shape):
    """A ramp shows by how much each pixel has moved: at a point of the coarse grid by draws with
    that standard deviation; neighbours move alike."""
    rows, columns = shape
    ramp = (1000 + 100 * torch.arange(columns)).repeat(rows, 1).reshape(1, -1).repeat(4000, 1)
    moved = RandomAffine(0, 0, 0, elastic=0.4).apply(ramp, shape, generator()) - ramp
    inside = moved.reshape(-1, rows, columns)[:, 2:-2, 2:-2] / 100  # nothing comes in from beyond the border
    assert abs(inside.mean()) < 0.02
    spread = inside.std(dim=0)
    assert spread.min() > 0.2
    assert spread.max() < 0.45
    alike = torch.corrcoef(torch.stack([inside[:, 1, 1], inside[:, 2, 1]]))[0, 1]
    far = torch.corrcoef(torch.stack([inside[:, 0, 1], inside[:, -1, 1]]))[0, 1]
    assert alike > 0.6
    assert abs(far) < 0.1
    masked = RandomAffine(0, 0, 0, elastic=2.0).apply(picture(*shape, n=50), shape, generator(), masked=True)
    assert set(masked.unique().tolist()) == {-1, 0, 1}  # from beyond the border comes what is unknown


@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_morphology_thickens_or_thins_strokes(sign, monkeypatch):
    """More than half of a dilation lights what touches a lit pixel, more than half of an erosion darkens an edge."""
    monkeypatch.setattr(augmentation, "_uniform", lambda shape, generator: torch.full(shape, 0.5 + sign / 2))
    image = torch.zeros(9, 9, dtype=torch.int64)
    image[3:6, 2:7] = 1
    expected = torch.zeros_like(image)
    expected[3 - sign : 6 + sign, 2 - sign : 7 + sign] = 1
    found = RandomAffine(0, 0, 0, morphology=0.6).apply(image.reshape(1, -1), (9, 9), generator())
    assert torch.equal(found.reshape(9, 9), expected)
    grey = RandomAffine(0, 0, 0, morphology=0.5).apply(100 * image.reshape(1, -1), (9, 9), generator()).reshape(9, 9)
    assert grey[2, 4] == (50 if sign == 1 else 0)
    assert grey[3, 4] == (50 if sign == -1 else 100)


@pytest.mark.parametrize("shape", [(7, 11), (11, 7), (9, 9), (6, 10)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_quarter_turn_keeps_the_aspect(shape, sign, drawn):
    """An upright bar lies, of the same length and width, though rows and columns are not equally many."""
    drawn(sign, 0, 0, 0)
    side = min(shape)
    top, left = (shape[0] - side) // 2, (shape[1] - side) // 2
    square = np.zeros((side, side), dtype=np.int64)
    square[1 : side - 1, 2:4] = 1  # an upright bar,
    square[1, 4] = 1  # with a hook, so that a mirror image is not the same
    image = np.zeros(shape, dtype=np.int64)
    image[top : top + side, left : left + side] = square
    moved = RandomAffine(shift=0, rotation=90, scale=0).apply(torch.as_tensor(image).reshape(1, -1), shape, generator())
    expected = np.zeros(shape, dtype=np.int64)
    expected[top : top + side, left : left + side] = np.rot90(square, sign)
    assert np.array_equal(moved.reshape(shape).numpy(), expected)


@pytest.mark.parametrize("shape", [(12, 12), (12, 16), (16, 12)])
@pytest.mark.parametrize(("sign", "side"), [(1, 6), (-1, 2)])
def test_a_square_grows_and_shrinks_about_the_middle(shape, sign, side, drawn):
    drawn(0, sign, 0, 0)

    def square(side):
        image = torch.zeros(shape, dtype=torch.int64)
        top, left = (shape[0] - side) // 2, (shape[1] - side) // 2
        image[top : top + side, left : left + side] = 1
        return image.reshape(1, -1)

    found = RandomAffine(shift=0, rotation=0, scale=0.5).apply(square(4), shape, generator())
    assert torch.equal(found, square(side))


# ---- what is drawn --------------------------------------------------------------------------------------------------


def test_the_generator_determines_it():
    values = picture(12, 10, n=50)
    moves = RandomAffine(2, 30, 0.2)
    found = moves.apply(values, (12, 10), generator())
    assert torch.equal(found, moves.apply(values, (12, 10), generator()))
    assert not torch.equal(found, moves.apply(values, (12, 10), generator(1)))
    assert not torch.equal(found, values)


def test_it_neither_reads_nor_moves_the_global_generator():
    values, before = picture(6, 6), torch.get_rng_state()
    found = RandomAffine().apply(values, (6, 6), generator())
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(9)
        assert torch.equal(RandomAffine().apply(values, (6, 6), generator()), found)


def test_every_image_moves_by_itself_and_to_all_sides():
    """A dot in the middle, moved up to 2 pixels: the mean of where it ends is the middle, its spread that of a uniform
    number; judged in standard errors."""
    n = 4000
    values = torch.zeros((n, 15 * 11), dtype=torch.int64)
    values[:, 7 * 11 + 5] = 1
    found = RandomAffine(shift=2, rotation=0, scale=0).apply(values, (15, 11), generator()).reshape(n, 15, 11)
    seen = found.sum((1, 2)) == 1  # between four pixels a dot is nowhere above a half
    places = found[seen].nonzero()[:, 1:].numpy() - [7, 5]
    assert seen.float().mean() > 0.5
    assert np.abs(places).max() == 2
    assert (np.abs(places.mean(axis=0)) < 4 * places.std(axis=0) / math.sqrt(len(places))).all()
    assert (places.std(axis=0) > 1).all()
    assert abs(np.corrcoef(places.T)[0, 1]) < 4 / math.sqrt(len(places))


# ---- what comes out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8])
def test_unknown_pixels_stay_unknown_and_the_rest_is_black_or_white(dtype):
    values = picture(13, 9, n=40, unknown=0.2).to(dtype)
    before = values.clone()
    found = RandomAffine(2, 45, 0.3).apply(values, (13, 9), generator())
    assert found.dtype == dtype
    assert found.shape == values.shape
    assert torch.equal(found == -1, values == -1)
    assert set(found.unique().tolist()) == {-1, 0, 1}
    assert torch.equal(values, before)  # the given ones are not changed


def test_an_unknown_pixel_is_not_taken_for_a_lit_one(drawn):
    drawn(0, 0, 1, 0)
    values = torch.tensor([[0, -1, -1, 1, 0]])
    found = RandomAffine(shift=1, rotation=0, scale=0).apply(values, (1, 5), generator())
    assert found.tolist() == [[0, -1, -1, 0, 0]]


# ---- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shift", "rotation", "scale"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_bad_settings_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}"):
        RandomAffine(**{name: value})


def test_an_image_cannot_shrink_to_nothing():
    with pytest.raises(ValueError, match=r"scale=1\.0"):
        RandomAffine(scale=1.0)


def test_settings_come_back_from_json():
    moves = RandomAffine(2, 5, 0.1)
    assert RandomAffine(**json.loads(json.dumps(asdict(moves)))) == moves


def test_what_is_known_moves_with_the_image():
    """The image of a history: every known pixel keeps its value, and what comes from beyond the border is unknown."""
    shape = (9, 9)
    whole = torch.as_tensor(np.random.default_rng(4).integers(2, size=81))
    mask = torch.zeros(shape, dtype=torch.bool)
    mask[3:6, 2:5] = True
    values = torch.where(mask.flatten(), whole, -1)[None].expand(300, -1)
    found = RandomAffine(shift=2.49, rotation=0, scale=0).apply(values, shape, generator(), masked=True)
    patch = values[0].reshape(shape)[3:6, 2:5]
    seen = set()
    for image in found.reshape(-1, *shape):
        rows, columns = torch.nonzero(image >= 0, as_tuple=True)
        top, left = int(rows.min()), int(columns.min())
        assert torch.equal(image[top : top + 3, left : left + 3], patch[: len(image) - top, : len(image) - left])
        assert (image >= 0).sum() == 9
        seen.add((top - 3, left - 2))
    assert seen == {(i, j) for i in range(-2, 3) for j in range(-2, 3)}
    still = RandomAffine(0, 0, 0).apply(values[:2], shape, generator(), masked=True)
    assert torch.equal(still, values[:2])
    plain = RandomAffine(shift=2.49, rotation=0, scale=0).apply(values, shape, generator())
    assert torch.equal(plain < 0, values < 0)  # negative control: without it the mask stays where it is


# ---- copies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool])
def test_copies_follow_the_images(dtype):
    images = np.random.default_rng(0).integers(0, 2, (30, 9, 8)).astype(dtype)
    affine = RandomAffine(1.0, 20.0, 0.1)
    found = affine.copies(images, 3, seed=5)
    assert found.shape == (120, 9, 8)
    assert found.dtype == images.dtype
    assert np.array_equal(found[:30], images)
    parts = found.reshape(4, 30, -1)
    for i in range(4):
        for j in range(i):
            assert (parts[i] != parts[j]).any(axis=1).mean() > 0.9
    assert np.array_equal(affine.copies(images, 2, seed=5), found[:90])
    assert np.array_equal(affine.copies(images, 0), images)


@pytest.mark.parametrize("images", [np.zeros((3, 64), np.uint8), np.zeros((3, 8, 8))])
def test_copies_are_of_whole_numbers_in_rows_and_columns(images):
    with pytest.raises(ValueError, match=r"images has shape .* and dtype"):
        RandomAffine().copies(images, 1)


def test_the_number_of_copies_is_checked():
    with pytest.raises(ValueError, match="n_copies"):
        RandomAffine().copies(np.zeros((3, 8, 8), int), -1)
