"""The paper's picture of a pursuit over yes/no questions: what was asked and answered, and the belief after each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, percent
from infopursuit.plots.lettering import Word, find_class, headline, short, write, write_above
from infopursuit.plots.steps import StepWords, shown_classes, shown_steps, step_widths, step_words, write_steps
from infopursuit.plots.style import FAINT, GREY_SHADES, INK, NOTE, RIGHT, SHADES, WRONG, check_axes, need_matplotlib
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW, COLUMN, COLUMNS = 0.27, 0.52, 2.4
"""Inches of a new figure: height of a row, least width of a column, least width of all columns."""
LEVEL = 6.4
"""Inches that all columns may take so that the names above them lie level; else the names are slanted."""
WIDEST_HEAD = 6.5
"""Inches up to which a figure is made wider for its headline; a longer one is folded."""
SLANT = 38
"""Degrees."""
READ = "numbers: belief after the answer in per cent, empty below 0.5"
GAP = 0.2
"""Between the classes and the column of the others, in columns."""


def heatmap(
    explanation: Explanation, *, axes: Any = None, truth: Any = None, most: int = 20, classes: int = 10
) -> Axes:
    """Draw one pursuit as a heatmap of class probabilities, a row for each step, as in the paper's "IP in action".

    A row reads from left to right: the question, green and bold after a yes, red after a no, grey where the answer was
    not known, black after any other answer; the answer; what was believed after it. The first row is before any
    question. The name of the class predicted in the end is bold and green; if ``truth`` is given and another one, the
    prediction is purple and the true class green.

    Parameters
    ----------
    explanation: what `Trace` gives for one input. Made for yes/no questions, but any will do.
    axes: one axes to draw on; words go to the left of it and above. A new figure if None.
    truth: the true class, as in ``explanation.classes``.
    most: of more steps than this only the last and the most influential are shown, by KL(after || before).
    classes: of more classes than this only those that were most probable at some step get a column, always with the
        predicted and the true one among them; the others share a last column.

    Returns the axes; ``save(axes, "heatmap.png")`` writes it. No window is opened and pyplot is left alone.
    """
    need_matplotlib()
    check_axes(axes)
    true_class = find_class(explanation.classes, truth)
    shown = shown_steps(explanation, most)
    belief = explanation.posteriors[[0, *(k + 1 for k in shown)]]
    columns = shown_classes(belief, true_class, classes)
    others = np.delete(belief, columns, axis=1)
    steps, names = step_words(explanation, shown), _names(explanation, columns, true_class)
    if axes is None:
        said = headline(explanation, true_class, len(shown), READ)
        axes = _new_axes(steps, names, others.shape[1] > 0, said)
    centres = _draw_cells(axes, belief[:, columns], others)
    write_steps(axes, steps)
    _write_names(axes, names, centres)
    drawn: Axes = axes
    return drawn


def _names(explanation: Explanation, columns: IntArray, true_class: int | None) -> list[Word]:
    """What is written above each column."""
    winner = int(explanation.posteriors[-1].argmax())
    right = winner if true_class is None else true_class
    names = []
    for c in columns.tolist():
        text = f"{'true: ' if c == true_class else ''}{short(explanation.classes[c], 28)}"
        names.append(Word(text, RIGHT if c == right else WRONG if c == winner else INK, c in (right, winner)))
    others = len(explanation.classes) - len(columns)
    return names if not others else [*names, Word(f"{others} other{'' if others == 1 else 's'}", FAINT)]


def _new_axes(steps: list[StepWords], names: list[Word], others: bool, said: tuple[Word, Word]) -> Axes:
    """The axes of a new figure that is as large as what goes into it, with the headline above."""
    from matplotlib.figure import Figure

    widths = [name.width / 72 for name in names]  # from here on in inches
    edge, left = 0.15, 0.15 + sum(step_widths(steps)) / 72
    room = min(said[0].width / 72, WIDEST_HEAD) + edge - left
    column = max(COLUMN, max(room, COLUMNS) / (len(names) + GAP * others))
    level = max(column, max(widths) + 0.14)
    if level * len(names) <= LEVEL:
        column = level
    above, beyond = 0.22, 0.0
    if _slanted(names, 72 * column):
        tilt = np.deg2rad(SLANT)
        above += max(widths) * float(np.sin(tilt))
        ends = [(i + 0.5) * column + width * float(np.cos(tilt)) for i, width in enumerate(widths)]
        beyond = max(0.0, max(ends) - len(names) * column)
    cells, rows = (len(names) + GAP * others) * column, len(steps) * ROW
    wide = left + cells + beyond + edge
    lines = tuple(word.folded(72 * (wide - 2 * edge) + 1) for word in said)
    high = 2 * edge + sum(line.height for line in lines) + 0.1 + above + rows
    figure = Figure(figsize=(wide, high), dpi=150, facecolor="white")
    write_above(figure, lines, edge, edge)
    return figure.add_axes((left / wide, edge / high, cells / wide, rows / high))


def _slanted(names: list[Word], column: float) -> bool:
    """Whether a name is too long to lie level above columns of so many points."""
    return max(name.width for name in names) > column - 4


def _draw_cells(axes: Axes, cells: FloatArray, others: FloatArray) -> list[float]:
    """The belief, with numbers where a cell has room for them; returns the centres of the columns."""
    from matplotlib.colors import LinearSegmentedColormap

    n_rows, n_columns = cells.shape
    blocks: list[tuple[FloatArray, float, tuple[str, ...]]] = [(cells, 0.0, SHADES)]
    if others.shape[1]:
        blocks.append((others.sum(axis=1, keepdims=True), n_columns + GAP, GREY_SHADES))
    end = blocks[-1][1] + blocks[-1][0].shape[1]
    wide, high = _cell_size(axes, end, n_rows)
    best = np.maximum(cells.max(axis=1), others.max(axis=1, initial=0.0))
    leading = {(r, c) for r, c in np.argwhere(cells == best[:, None]).tolist() if (cells[r] == best[r]).sum() == 1}
    for block, start, colours in blocks:
        stop = start + block.shape[1]
        shades = LinearSegmentedColormap.from_list("belief", colours)
        extent = (start, stop, n_rows, 0.0)
        axes.imshow(block, cmap=shades, vmin=0, vmax=1, extent=extent, aspect="auto", interpolation="nearest")
        axes.hlines(np.arange(1, n_rows), start, stop, color="white", linewidth=1.2)
        axes.vlines(np.arange(start, stop + 1), 0, n_rows, color="white", linewidth=1.2)
        if wide < 2.6 * NOTE or high < 1.3 * NOTE:
            continue
        for (row, column), p in np.ndenumerate(block):
            at = (start + column + 0.5, row + 0.5)
            number = percent(float(p)).removesuffix(" %")
            style: dict[str, Any] = {"fontsize": NOTE, "ha": "center", "va": "center_baseline"}
            style["fontweight"] = "bold" if (row, start + column) in leading else "normal"
            # the weights of red, green and blue in how bright a colour looks
            style["color"] = INK if np.dot(shades(p)[:3], (0.3, 0.59, 0.11)) > 0.6 else "white"
            axes.text(*at, number if number != "0" else "", **style)
    axes.set_xlim(0, end)
    axes.set_ylim(n_rows, 0)
    axes.set_axis_off()
    return [start + i + 0.5 for block, start, _ in blocks for i in range(block.shape[1])]


def _cell_size(axes: Axes, n_columns: float, n_rows: float) -> tuple[float, float]:
    """Points that a cell is wide and high."""
    points = 72 / axes.figure.dpi
    return points * axes.bbox.width / n_columns, points * axes.bbox.height / n_rows


def _write_names(axes: Axes, names: list[Word], centres: list[float]) -> None:
    """The names of the classes above their columns."""
    column = _cell_size(axes, axes.get_xlim()[1], 1)[0]
    if _slanted(names, column):
        how = {"rotation": SLANT, "rotation_mode": "anchor", "ha": "left", "va": "baseline"}
    else:
        how = {"ha": "center", "va": "baseline"}
    for name, centre in zip(names, centres, strict=True):
        write(axes, name, (centre, 1), (0, 5), axes.get_xaxis_transform(), **how)
