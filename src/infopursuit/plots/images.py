"""The paper's picture of a pursuit over image patches: where it looked, what it saw, and what it believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, ExplanationStep, percent
from infopursuit.plots.lettering import find_class, headline, short, write_above
from infopursuit.plots.steps import shown_classes, shown_steps
from infopursuit.plots.style import EMPTY, FAINT, INK, OTHERS, UNSEEN, need_matplotlib
from infopursuit.types import UNKNOWN, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart with every kind of colour vision, and the boxes differ in width and dash as well.
NOW, BEFORE, GOOD, BAD = "#D55E00", "#3390D6", "#009E73", "#CC79A7"
PANEL = 1.15
"""Inches that a panel of a new figure is wide and high."""
READ = "thick box: asked about now, thin: before; grey: not looked at"
MOST_CLASSES = 10
"""Of more classes than this only the most probable get a bar."""


def image_trace(image: Any, explanation: Explanation, *, axes: Any = None, truth: Any = None, most: int = 8) -> Figure:
    """Draw one image's pursuit, a column for each step, as in the paper's figure "IP in action".

    Top row: the image, the patch asked about now in a thick red box, earlier ones in thin blue boxes. Second row: what
    has been revealed, the rest grey. Third row: the posterior; the class that is predicted in the end is green. If
    ``truth`` is given and another one, the prediction is purple and the true class green. The first column is before
    any question.

    Parameters
    ----------
    image: (rows, columns) as it was asked about; flat and with one channel will do.
    explanation: what `Trace` gives for that image.
    axes: (3, columns) axes to draw on, one column more than steps are shown, or more; a new figure if None.
    truth: the true class, as in ``explanation.classes``.
    most: of more steps than this only the last and the most influential are shown, by KL(after || before).

    Returns the figure; ``save(figure, "trace.png")`` writes it. No window is opened and pyplot is left alone.
    """
    need_matplotlib()
    if explanation.shape is None:
        raise ValueError("this explanation is not about an image; image_trace draws explanations over patch queries")
    pixels = _pixels(image, explanation.shape)
    true_class = find_class(explanation.classes, truth)
    shown = shown_steps(explanation, most)
    columns = [0, *(k + 1 for k in shown)]  # questions asked when the column's belief was held
    bars = shown_classes(explanation.posteriors[columns], true_class, MOST_CLASSES)
    names = [f"{'true: ' if c == true_class else ''}{short(explanation.classes[c], 24)}" for c in bars]
    grid, figure, own = _grid(axes, len(columns), names)
    for place, asked in enumerate(columns):
        steps = explanation.steps[:asked]
        _draw_image(grid[0, place], pixels, steps)
        _draw_revealed(grid[1, place], explanation.revealed(asked), steps[-1:])
        _draw_posterior(grid[2, place], explanation, asked, bars, true_class, names if place == 0 else [""] * len(bars))
        grid[0, place].set_title("before" if asked == 0 else f"k = {asked}", fontsize=10, color=INK, pad=5)
    if own:
        for axis, words in zip(grid[:2, 0], ("asked", "revealed"), strict=True):
            axis.set_ylabel(words, fontsize=9, color=FAINT, rotation=0, ha="right", va="center", labelpad=6)
        left = min(axis.get_position().x0 for axis in figure.axes) * float(figure.get_size_inches()[0])
        write_above(figure, headline(explanation, true_class, len(shown), READ), left, 0.12)
    return figure


def _pixels(image: Any, shape: tuple[int, int]) -> FloatArray:
    """(rows, columns) grey values."""
    array = np.asarray(image, dtype=np.float64)
    if array.size != shape[0] * shape[1]:
        raise ValueError(f"image has shape {array.shape}, but the explanation is about images of shape {shape}")
    return array.reshape(shape)


def _grid(axes: Any, n_columns: int, names: list[str]) -> tuple[Any, Figure, bool]:
    """(3, columns) axes: the ones given, cleared of what is not needed, or those of a new figure."""
    if axes is not None:
        grid = np.asarray(axes, dtype=object)
        if grid.ndim != 2 or grid.shape[0] != 3 or grid.shape[1] < n_columns:
            raise ValueError(f"axes has shape {grid.shape}; expected (3, {n_columns}), or more columns")
        for axis in grid[:, n_columns:].ravel():
            axis.set_axis_off()
        return grid, grid[0, 0].figure, False
    from matplotlib.figure import Figure

    column, gap, right, top, foot = PANEL, 0.16, 0.15, 0.85, 0.45  # inches
    left = max(0.85, 0.2 + 0.08 * max(len(name) for name in names))
    low = max(0.16 * len(names), 0.5)
    wide = left + max(n_columns, 4) * (column + gap) - gap + right
    high = top + 2 * (column + gap) + low + foot
    figure = Figure(figsize=(wide, high), dpi=150, facecolor="white")
    grid = np.empty((3, n_columns), dtype=object)
    for place in range(n_columns):
        x = left + place * (column + gap)
        for row, (y, tall) in enumerate(
            ((foot + low + 2 * gap + column, column), (foot + low + gap, column), (foot, low))
        ):
            grid[row, place] = figure.add_axes((x / wide, y / high, column / wide, tall / high))
    return grid, figure, True


def _draw_image(axis: Axes, pixels: FloatArray, steps: tuple[ExplanationStep, ...]) -> None:
    """The image with a box for each patch asked about, the newest on top."""
    low, high = float(np.nanmin(pixels)), float(np.nanmax(pixels))
    axis.imshow(pixels, cmap="gray", vmin=low, vmax=high if high > low else low + 1, interpolation="nearest")
    for step in steps[:-1]:
        _box(axis, step, pixels.shape, BEFORE, 1.1)
    for step in steps[-1:]:
        _box(axis, step, pixels.shape, NOW, 2.4)
    _bare(axis)


def _draw_revealed(axis: Axes, seen: Any, newest: tuple[ExplanationStep, ...]) -> None:
    """The part of the image that the belief rests on; everything else in grey."""
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([UNSEEN, "black", "white"])
    axis.imshow(seen - UNKNOWN, cmap=colours, vmin=0, vmax=2, interpolation="nearest")
    for step in newest:
        _box(axis, step, seen.shape, NOW, 1.2)
    _bare(axis)


def _box(axis: Axes, step: ExplanationStep, shape: tuple[int, ...], colour: str, width: float) -> None:
    """A frame around the pixels of one query; dashed where the answer was not known."""
    from matplotlib.patches import Rectangle

    rows, columns = np.divmod(np.array(step.atoms), shape[1])
    wide, high = np.ptp(columns) + 1, np.ptp(rows) + 1
    # a frame is drawn half inside: a thick one around a single small pixel would hide it
    points = 72 * PANEL * min(wide, high) / max(shape)
    width = min(width, 0.4 * points)
    corner = (columns.min() - 0.5, rows.min() - 0.5)
    frame = Rectangle(corner, wide, high, fill=False, edgecolor=colour, linewidth=width)
    frame.set_linestyle("--" if step.answer is None else "-")
    frame.set_clip_on(False)
    axis.add_patch(frame)


def _bare(axis: Axes) -> None:
    """No ticks, a hair of a frame."""
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set_color(UNSEEN)
        spine.set_linewidth(0.5)


def _draw_posterior(
    axis: Axes, explanation: Explanation, asked: int, bars: IntArray, true_class: int | None, names: list[str]
) -> None:
    """Bars of the belief after ``asked`` questions, and the class that leads with its probability below."""
    posterior = explanation.posteriors[asked]
    winner = int(explanation.posteriors[-1].argmax())
    right = winner if true_class is None else true_class
    colours = [GOOD if c == right else BAD if c == winner else OTHERS for c in bars]
    heights = np.arange(len(bars))
    axis.barh(heights, np.ones(len(bars)), height=0.74, color=EMPTY)
    axis.barh(heights, posterior[bars], height=0.74, color=colours)
    axis.set_xlim(0, 1)
    axis.set_ylim(len(bars) - 0.5, -0.5)
    axis.set_xticks([])
    for side in axis.spines.values():
        side.set_visible(False)
    axis.tick_params(axis="y", length=0, pad=3, labelsize=8.5, labelcolor=INK)
    axis.set_yticks(heights, names)
    for label, c in zip(axis.get_yticklabels(), bars, strict=True):
        label.set_fontweight("bold" if c in (winner, true_class) else "normal")
    leader = int(posterior.argmax())
    words = "prior" if asked == 0 else f"{short(explanation.classes[leader], 11)}: {percent(float(posterior[leader]))}"
    axis.set_xlabel(words, fontsize=9, labelpad=4, color=FAINT if asked == 0 else INK)
