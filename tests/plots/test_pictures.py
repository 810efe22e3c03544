"""What all pictures have in common: what they take and return, their colours, and how they are written."""

import inspect

import numpy as np
import pytest
from made_up_pursuits import drawn_at_random
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from infopursuit import plots
from infopursuit.presentation.plots.style import COLOURS, INK, NO, RIGHT, WRONG, YES

DRAWN = [name for name in plots.__all__ if name not in ("save", "text_trace")]
SEVERAL = {"image_trace"}


@pytest.mark.parametrize("name", DRAWN)
def test_every_function_takes_axes_and_says_what_it_returns(name):
    function = getattr(plots, name)
    signature = inspect.signature(function)
    assert ("axes" in signature.parameters) == (name not in SEVERAL)
    assert signature.return_annotation == ("Figure" if name in SEVERAL else "Axes")


@pytest.mark.parametrize("colour", [INK, YES, NO, RIGHT, WRONG])
def test_words_are_read_on_white(colour):
    """A contrast of 4.5, as WCAG asks of text."""
    assert contrast(colour) > 4.5


def contrast(colour):
    """WCAG's, against white."""
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return 1.05 / (float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)


@pytest.mark.parametrize("lost", ["red", "green"])
def test_colours_are_told_apart_with_colour_blindness(lost):
    """Viénot's simulation of missing red or green cones: no two of the palette come closer than a clear step."""
    cones = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    seen = {
        "red": [[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]],
        "green": [[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]],
    }
    turn = np.linalg.inv(cones) @ np.array(seen[lost]) @ cones
    colours = [turn @ np.array(to_rgb(colour)) for colour in COLOURS]
    apart = [np.abs(a - b).max() for i, a in enumerate(colours) for b in colours[:i]]
    assert min(apart) > 0.1
    confused = [turn @ np.array(to_rgb(colour)) for colour in ("#8CB400", "#D29600")]  # a green and an orange
    assert np.abs(confused[0] - confused[1]).max() < 0.08


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_save_writes_axes_and_figures(tmp_path, ending):
    axes = plots.heatmap(drawn_at_random(3, 2))
    for picture in (axes, axes.figure):
        file = plots.save(picture, tmp_path / f"a.{ending}")
        assert file.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{ending}"]


def test_save_passes_options_on_and_finds_the_figure_of_a_part(tmp_path):
    part = Figure(figsize=(4, 2)).subfigures(1, 2)[0]
    small, large = (plots.save(part.add_subplot(), tmp_path / f"{d}.png", dpi=d).stat().st_size for d in (20, 200))
    assert small < large


def test_save_refuses_what_it_cannot_write(tmp_path):
    axes = plots.heatmap(drawn_at_random(1, 2))
    with pytest.raises(ValueError, match=r"has no ending that says its format; give \.png"):
        plots.save(axes, tmp_path / "picture")
    assert not list(tmp_path.iterdir())
