"""Heatmaps: the posterior after each step, and how often queries are asked about each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, count, percent
from infopursuit.plots import style
from infopursuit.plots.style import Word, short
from infopursuit.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from infopursuit.inspection.query_frequencies import QueryFrequencies

COLUMN, COLUMNS, LEVEL = 0.52, 2.4, 6.4
"""Inches: least width of a column and of all; width of all up to which their names lie level, else slanted."""
WIDEST_HEAD = 6.5
"""Inches up to which a figure is made wider for its headline; a longer one is folded."""
READ = "numbers: belief after the answer in per cent, empty below 0.5"
GAP = 0.2
"""Between the classes and the column of the others, in columns."""


def heatmap(
    explanation: Explanation, *, axes: Any = None, truth: Any = None, max_steps: int = 20, max_classes: int = 10
) -> Axes:
    """Draw one pursuit as a heatmap of class probabilities, a row for each step, as in the paper's "IP in action".

    A row reads from left to right: the question, green and bold after a yes, red after a no, grey where the answer was
    not known, black after any other answer; the answer; the posterior after it. The first row is before any question.
    The name of the predicted class is bold and green; if ``truth`` is given and another one, the prediction is purple
    and the true class green.

    Parameters
    ----------
    explanation: what `Trace` gives for one input. Made for yes/no questions, but any will do.
    axes: one axes to draw on; words go to the left of it and above. A new figure if None.
    truth: the true class, as in ``explanation.classes``.
    max_steps: of more steps than this only the last and the most influential are shown, by KL(after || before).
    max_classes: of more classes than this only those that were most probable at some step get a column, always with
        the predicted and the true one among them; the others share a last column.
    """
    style.check_axes(axes)
    true_class = style.find_class(explanation.classes, truth)
    shown = explanation.shown_steps(max_steps)
    belief = explanation.posteriors[[0, *(k + 1 for k in shown)]]
    columns = style.shown_classes(belief, true_class, max_classes)
    cells, others = belief[:, columns], np.delete(belief, columns, axis=1)
    winner = int(explanation.posteriors[-1].argmax())
    right = winner if true_class is None else true_class
    names = []
    for c in columns.tolist():
        text = f"{'true: ' if c == true_class else ''}{short(explanation.classes[c], 28)}"
        names.append(
            Word(text, style.RIGHT if c == right else style.WRONG if c == winner else style.INK, c in (right, winner))
        )
    names += [Word(count(others.shape[1], "other"), style.FAINT)] if others.shape[1] else []
    steps = style.step_words(explanation, shown)
    n = len(names) + GAP * bool(others.shape[1])
    if axes is None:
        said = style.headline(explanation, true_class, len(shown), READ)
        left = style.MARGIN + sum(style.step_widths(steps)) / 72
        room = min(said[0].width / 72, WIDEST_HEAD) + style.MARGIN - left
        column, above, beyond = _column(names, max(COLUMN, max(room, COLUMNS) / n))
        axes = style.new_axes(
            (n * column, len(steps) * style.ROW), said, left=left, right=style.MARGIN + beyond, above=0.1 + above
        )
    best = np.maximum(cells.max(axis=1), others.max(axis=1, initial=0.0))[:, None]
    _limits(axes, n, len(steps))
    _draw_cells(axes, cells, 0.0, style.SHADES, (cells == best) & ((cells == best).sum(axis=1, keepdims=True) == 1))
    if others.shape[1]:
        _draw_cells(axes, others.sum(axis=1, keepdims=True), n - 1, style.GREY_SHADES)
    style.write_steps(axes, steps)
    _write_names(axes, names, [*np.arange(len(columns)) + 0.5, *([n - 0.5] if others.shape[1] else [])])
    return axes  # type: ignore[no-any-return]


def asked_by_class(asked: QueryFrequencies, *, axes: Any = None, max_queries: int = 15, max_classes: int = 12) -> Axes:
    """Draw how often queries are asked about the inputs of each class: a row for each query, a column for each class.

    Parameters
    ----------
    asked: what `infopursuit.query_frequencies` gives.
    axes: one axes to draw on; words go to the left of it and above. A new figure if None.
    max_queries: of more queries than this only those asked most get a row.
    max_classes: of more classes than this only those with the most inputs get a column.
    """
    style.check_axes(axes)
    style.at_least_one(max_queries=max_queries, max_classes=max_classes)
    if not len(asked):
        raise ValueError("asked holds no query, nothing was asked about any input; there is nothing to draw")
    shown = np.argsort(-asked.class_sizes, kind="stable")
    shown = np.sort(shown[asked.class_sizes[shown] > 0][:max_classes])
    cells = np.concatenate([asked.share[:max_queries, None], asked.by_class[:max_queries, shown]], axis=1)
    rows = [Word(short(name, 44)) for name in asked.names[:max_queries]]
    columns = [Word("all", style.INK, True), *(Word(short(asked.classes[c], 28)) for c in shown.tolist())]
    if axes is None:
        what, there = "true" if asked.by == "label" else "predicted", int((asked.class_sizes > 0).sum())
        about = f"share of the inputs in per cent, by {what} class; {count(asked.n_inputs, 'input')}"
        about += f"; the {len(rows)} queries asked most of {len(asked):,}" if len(rows) < len(asked) else ""
        about += f"; the {len(shown)} largest classes of {there}" if len(shown) < there else ""
        said = (
            Word("What is asked about which class", style.INK, True, style.HEAD),
            Word(about, style.FAINT, False, style.NOTE),
        )
        left = max(word.width for word in rows) / 72 + 0.27
        column, above, beyond = _column(columns, COLUMN)
        size = (column * len(columns), style.ROW * len(rows))
        axes = style.new_axes(size, said, left=left, right=style.MARGIN + beyond, above=0.1 + above, min_width=4.2)
    _limits(axes, len(columns), len(rows))
    _draw_cells(axes, cells, 0.0, style.SHADES)
    axes.vlines([1], 0, len(rows), color="white", linewidth=5)
    for row, name in enumerate(rows):
        style.write(axes, name, (0, row + 0.5), (-6, 0), axes.get_yaxis_transform(), ha="right", va="center_baseline")
    _write_names(axes, columns, np.arange(len(columns)) + 0.5)
    return axes  # type: ignore[no-any-return]


def _limits(axes: Any, n_columns: float, n_rows: int) -> None:
    axes.set_xlim(0, n_columns)
    axes.set_ylim(n_rows, 0)
    axes.set_axis_off()


def _draw_cells(axes: Any, cells: FloatArray, start: float, colours: tuple[str, ...], bold: Any = None) -> None:
    """Shares as colours from column ``start`` on, with numbers in per cent where a cell has room for them."""
    from matplotlib.colors import LinearSegmentedColormap

    (n_rows, n_columns), limits = cells.shape, (axes.get_xlim(), axes.get_ylim())
    shades = LinearSegmentedColormap.from_list("shares", colours)
    extent = (start, start + n_columns, n_rows, 0.0)
    axes.imshow(cells, cmap=shades, vmin=0, vmax=1, extent=extent, aspect="auto", interpolation="nearest")
    axes.set(xlim=limits[0], ylim=limits[1])
    axes.hlines(np.arange(1, n_rows), start, start + n_columns, color="white", linewidth=1.2)
    axes.vlines(start + np.arange(n_columns + 1), 0, n_rows, color="white", linewidth=1.2)
    wide, high = _cell_size(axes)
    if wide < 2.6 * style.NOTE or high < 1.3 * style.NOTE:
        return
    for (row, column), p in np.ndenumerate(cells):
        # the weights of red, green and blue in how bright a colour looks
        colour = style.INK if np.dot(shades(p)[:3], (0.3, 0.59, 0.11)) > 0.6 else "white"
        weight = "bold" if bold is not None and bold[row, column] else "normal"
        number = percent(float(p)).removesuffix(" %")
        look = {"fontsize": style.NOTE, "ha": "center", "va": "center_baseline", "color": colour, "fontweight": weight}
        axes.text(start + column + 0.5, row + 0.5, "" if number == "0" else number, **look)


def _cell_size(axes: Any) -> tuple[float, float]:
    points = 72 / axes.figure.dpi
    return points * axes.bbox.width / axes.get_xlim()[1], points * axes.bbox.height / axes.get_ylim()[0]


def _slanted(names: list[Word], column: float) -> bool:
    return max(name.width for name in names) > column - 4


def _column(names: list[Word], least: float) -> tuple[float, float, float]:
    """The width of a column, and what its slanted or level names need above and to the right of all; inches."""
    widths = [name.width / 72 for name in names]
    level = max(least, max(widths) + 0.14)
    column = level if level * len(names) <= LEVEL else least
    if not _slanted(names, 72 * column):
        return column, 0.22, 0.0
    tilt = np.deg2rad(style.SLANT)
    ends = [(i + 0.5) * column + width * float(np.cos(tilt)) for i, width in enumerate(widths)]
    return column, 0.22 + max(widths) * float(np.sin(tilt)), max(0.0, max(ends) - len(names) * column)


def _write_names(axes: Any, names: list[Word], centres: Any) -> None:
    how: dict[str, Any] = {"ha": "center", "va": "baseline"}
    if _slanted(names, _cell_size(axes)[0]):
        how = {"rotation": style.SLANT, "rotation_mode": "anchor", "ha": "left", "va": "baseline"}
    for name, centre in zip(names, centres, strict=True):
        style.write(axes, name, (float(centre), 1), (0, 5), axes.get_xaxis_transform(), **how)
