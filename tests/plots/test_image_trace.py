"""The figure: which panels there are, what is drawn in them, and that nothing else is touched."""

from dataclasses import replace

import numpy as np
import pytest
from made_up_pursuits import pursue, pursue_levels
from matplotlib.colors import to_hex, to_rgb

import infopursuit as ip
from infopursuit.presentation.plots import image_trace
from infopursuit.presentation.plots.images import BEFORE
from infopursuit.presentation.plots.style import NOW, OTHERS, RIGHT, UNSEEN, WRONG
from infopursuit.pursuit.explanation import Explanation


@pytest.fixture
def digit():
    """A 5 x 6 image, three questions about 2 x 2 patches, classes "a", "b" and "c"."""
    return pursue((5, 6), 2, classes=["a", "b", "c"])


def panels(figure):
    """(3, columns) axes of a new figure."""
    return np.array(figure.axes, dtype=object).reshape(3, -1)


def boxes(axis):
    return [
        (patch.get_xy(), patch.get_width(), patch.get_height(), to_hex(patch.get_edgecolor()).upper())
        for patch in axis.patches
    ]


def bars(axis):
    """Lengths and colours of the bars; the pale ones behind them are as many, and come first."""
    drawn = axis.patches[len(axis.patches) // 2 :]
    return [patch.get_width() for patch in drawn], [to_hex(patch.get_facecolor()).upper() for patch in drawn]


def test_one_column_for_each_step_and_one_before(digit):
    image, explanation = digit
    grid = panels(image_trace(image, explanation))
    assert grid.shape == (3, 4)
    assert [axis.get_title() for axis in grid[0]] == ["before", "k = 1", "k = 2", "k = 3"]
    for axis in grid[0]:
        np.testing.assert_array_equal(axis.images[0].get_array(), np.stack([image] * 3, axis=2))


def test_the_patch_asked_about_now_and_those_before(digit):
    image, explanation = digit
    grid = panels(image_trace(image, explanation))
    for asked, axis in enumerate(grid[0]):
        found = boxes(axis)
        assert [colour for *_, colour in found] == [BEFORE.upper()] * (asked - 1) + [NOW.upper()] * (asked > 0)
        for step, (corner, wide, high, _) in zip(explanation.steps, found, strict=False):
            row, column = divmod(step.variables[0], 6)
            assert corner == (column - 0.5, row - 0.5)
            assert (wide, high) == (2, 2)


def test_what_was_revealed(digit):
    image, explanation = digit
    grid = panels(image_trace(image, explanation))
    for asked, axis in enumerate(grid[1]):
        shown, seen = np.asarray(axis.images[0].get_array()), explanation.revealed(asked)
        np.testing.assert_allclose(shown[seen < 0], [to_rgb(UNSEEN)] * (seen < 0).sum())
        np.testing.assert_array_equal(shown[seen >= 0], np.stack([seen[seen >= 0]] * 3, axis=1))


@pytest.mark.parametrize(("channels", "levels"), [(1, 4), (3, 4), (3, 2)])
def test_grey_and_coloured_patches(channels, levels):
    """What is seen has the colour of the image, up to the width of a level; boxes lie around the patches."""
    image, explanation = pursue_levels((5, 6), 1, levels, channels)
    grid = panels(image_trace(image, explanation))
    colours = np.broadcast_to(image.reshape(5, 6, channels), (5, 6, 3))
    first = np.moveaxis(image, 2, 0) if channels == 3 else image
    for asked, (above, below) in enumerate(zip(grid[0], grid[1], strict=True)):
        np.testing.assert_allclose(above.images[0].get_array(), colours)
        shown, pixels = np.asarray(below.images[0].get_array()), {divmod(s.query, 6) for s in explanation.steps[:asked]}
        for place in np.ndindex(5, 6):
            if place in pixels:
                np.testing.assert_allclose(shown[place], np.round(colours[place] * (levels - 1)) / (levels - 1))
            else:
                np.testing.assert_allclose(shown[place], to_rgb(UNSEEN))
        assert {(xy[1] + 0.5, xy[0] + 0.5) for xy, *_ in boxes(above)} == pixels
    np.testing.assert_array_equal(panels(image_trace(first, explanation))[0, 0].images[0].get_array(), colours)
    last = explanation.picture()
    assert sum(mark not in " \n" for mark in last) == 2 * len(explanation)
    assert Explanation.from_json(explanation.to_json()) == explanation


def test_the_posteriors(digit):
    image, explanation = digit
    grid = panels(image_trace(image, explanation))
    winner = explanation.classes.index(explanation.prediction)
    for asked, axis in enumerate(grid[2]):
        lengths, colours = bars(axis)
        np.testing.assert_allclose(lengths, explanation.posteriors[asked])
        assert [colour == RIGHT.upper() for colour in colours] == [c == winner for c in range(3)]
    assert [label.get_text() for label in grid[2, 0].get_yticklabels()] == ["a", "b", "c"]
    assert grid[2, 3].get_xlabel().startswith(f"{explanation.prediction}: ")


def test_the_truth_is_marked(digit):
    image, explanation = digit
    other = next(c for c in explanation.classes if c != explanation.prediction)
    right, wrong = (
        image_trace(image, explanation, truth=explanation.prediction),
        image_trace(image, explanation, truth=other),
    )
    assert "right" in right.texts[0].get_text()
    assert f"but it is {other}" in wrong.texts[0].get_text()
    colours = dict(zip(explanation.classes, bars(panels(wrong)[2, 3])[1], strict=True))
    assert colours.pop(other) == RIGHT.upper()
    assert colours.pop(explanation.prediction) == WRONG.upper()
    assert set(colours.values()) == {OTHERS.upper()}
    assert f"true: {other}" in [label.get_text() for label in panels(wrong)[2, 0].get_yticklabels()]


def test_of_long_runs_the_last_and_the_most_influential_steps_are_shown():
    image, explanation = pursue((6, 6), 1, stopping=ip.MaxQueries(30))
    shown = explanation.shown_steps(4)
    moved = explanation.influence()
    assert shown[-1] == 29
    assert len(shown) == 4
    assert min(moved[shown[:-1]]) >= max(np.delete(moved, shown))
    figure = image_trace(image, explanation, max_steps=4)
    titles = [axis.get_title() for axis in panels(figure)[0]]
    assert titles == ["before", *(f"k = {k + 1}" for k in shown)]
    assert len(boxes(panels(figure)[0, -1])) == 30  # earlier patches too where their columns are left out
    assert "4 of 30 steps" in figure.texts[1].get_text()


def test_many_classes_get_a_few_bars_with_the_true_one_among_them():
    names = [f"Great Crested Flycatcher number {c}" for c in range(40)]
    image, explanation = pursue((6, 6), 2, n_classes=40, classes=names)
    unlikely = names[int(explanation.posteriors[-1].argmin())]
    labels = [
        label.get_text() for label in panels(image_trace(image, explanation, truth=unlikely))[2, 0].get_yticklabels()
    ]
    assert len(labels) == 10
    assert sum(label.startswith("true: ") for label in labels) == 1
    assert max(len(label) for label in labels) <= 30


@pytest.mark.parametrize(("shape", "size"), [((1, 1), 1), ((2, 9), (1, 3)), ((8, 8), 3), ((28, 28), 4), ((40, 7), 1)])
def test_images_of_many_sizes_are_written(tmp_path, shape, size):
    image, explanation = pursue(shape, size)
    path = tmp_path / "trace.png"
    image_trace(255 * image.astype(np.uint8), explanation, truth=0).savefig(path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_no_steps_and_unknown_answers():
    image, explanation = pursue((4, 4), 2, stopping=ip.MaxQueries(0))
    assert panels(image_trace(image, explanation)).shape == (3, 1)
    image, explanation = pursue((4, 4), 2)
    skipped = replace(explanation, steps=(replace(explanation.steps[0], answer=None), *explanation.steps[1:]))
    figure = image_trace(image, skipped)
    assert panels(figure)[0, 1].patches[0].get_linestyle() == "--"
    figure.draw_without_rendering()


def test_flat_images_and_images_with_one_channel(digit):
    image, explanation = digit
    for form in (image.ravel(), image[None], image[..., None]):
        shown = panels(image_trace(form, explanation))[0, 0].images[0].get_array()
        np.testing.assert_array_equal(shown, np.stack([image] * 3, axis=2))


def test_mistakes_are_named(digit):
    image, explanation = digit
    with pytest.raises(ValueError, match=r"image has shape \(5, 5\).*\(5, 6\)"):
        image_trace(image[:, :5], explanation)
    with pytest.raises(ValueError, match="truth='z' is none of the classes"):
        image_trace(image, explanation, truth="z")
    with pytest.raises(ValueError, match="max_steps=0"):
        image_trace(image, explanation, max_steps=0)
    with pytest.raises(ValueError, match="not about an image"):
        image_trace(image, replace(explanation, shape=None))
