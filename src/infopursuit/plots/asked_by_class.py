"""For which class which queries are asked: a heatmap of queries and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import percent
from infopursuit.plots.lettering import Word, count, short, write, write_above
from infopursuit.plots.style import FAINT, HEAD, INK, NOTE, SHADES, check_axes, need_matplotlib
from infopursuit.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from infopursuit.inspection import QueryFrequencies

ROW, COLUMN = 0.27, 0.5
"""Inches of a new figure: height of a row, least width of a column."""
LEVEL = 6.4
"""Inches that all columns may take so that the names above them lie level; else the names are slanted."""
SLANT = 38
"""Degrees."""


def asked_by_class(asked: QueryFrequencies, *, axes: Any = None, most: int = 15, classes: int = 12) -> Axes:
    """Draw how often queries are asked about the inputs of each class: a row for each query, a column for each class.

    Parameters
    ----------
    asked: what `infopursuit.query_frequencies` gives.
    axes: one axes to draw on; words go to the left of it and above. A new figure if None.
    most: of more queries than this only those asked most get a row.
    classes: of more classes than this only those with the most inputs get a column.

    Returns the axes; ``save(axes, "asked.png")`` writes it. No window is opened and pyplot is left alone.
    """
    need_matplotlib()
    check_axes(axes)
    for name, value in (("most", most), ("classes", classes)):
        if value < 1:
            raise ValueError(f"{name}={value} must be at least 1")
    if not len(asked):
        raise ValueError("asked holds no query, nothing was asked about any input; there is nothing to draw")
    shown = np.argsort(-asked.class_sizes, kind="stable")
    shown = np.sort(shown[asked.class_sizes[shown] > 0][:classes])
    cells = np.concatenate([asked.share[:most, None], asked.by_class[:most, shown]], axis=1)
    rows = [Word(short(name, 44)) for name in asked.names[:most]]
    columns = [Word("all", INK, True), *(Word(short(asked.classes[c], 28)) for c in shown.tolist())]
    if axes is None:
        axes = _new_axes(rows, columns, _said(asked, len(shown), len(rows)))
    _draw_cells(axes, cells)
    _write_names(axes, rows, columns)
    drawn: Axes = axes
    return drawn


def _said(asked: QueryFrequencies, n_classes: int, n_rows: int) -> tuple[Word, Word]:
    what = "true class" if asked.by == "label" else "predicted class"
    there = int((asked.class_sizes > 0).sum())
    about = f"share of the inputs in per cent, by {what}; {count(asked.n_inputs, 'input')}"
    if n_rows < len(asked):
        about += f"; the {n_rows} queries asked most of {len(asked):,}"
    if n_classes < there:
        about += f"; the {n_classes} largest classes of {there}"
    return Word("What is asked about which class", INK, True, HEAD), Word(about, FAINT, False, NOTE)


def _new_axes(rows: list[Word], columns: list[Word], said: tuple[Word, Word]) -> Axes:
    from matplotlib.figure import Figure

    edge, left = 0.15, max(word.width for word in rows) / 72 + 0.27
    widest = max(word.width for word in columns) / 72
    column = max(COLUMN, widest + 0.14)
    above, beyond = 0.24, 0.0
    if column * len(columns) > LEVEL:
        column = COLUMN
        tilt = np.deg2rad(SLANT)
        above += widest * float(np.sin(tilt))
        ends = [(i + 0.5) * column + word.width / 72 * float(np.cos(tilt)) for i, word in enumerate(columns)]
        beyond = max(0.0, max(ends) - len(columns) * column)
    wide = max(left + column * len(columns) + beyond + edge, 4.2)
    lines = tuple(word.folded(72 * (wide - 2 * edge) + 1) for word in said)
    high = 2 * edge + sum(line.height for line in lines) + 0.1 + above + ROW * len(rows)
    figure = Figure(figsize=(wide, high), dpi=150, facecolor="white")
    write_above(figure, lines, edge, edge)
    size = (column * len(columns) / wide, ROW * len(rows) / high)
    return figure.add_axes((left / wide, edge / high, *size))


def _draw_cells(axes: Any, cells: FloatArray) -> None:
    """The shares, with numbers; the first column is that of all inputs."""
    from matplotlib.colors import LinearSegmentedColormap

    n_rows, n_columns = cells.shape
    shades = LinearSegmentedColormap.from_list("asked", SHADES)
    extent = (0, n_columns, n_rows, 0)
    axes.imshow(cells, cmap=shades, vmin=0, vmax=1, extent=extent, aspect="auto", interpolation="nearest")
    axes.hlines(np.arange(1, n_rows), 0, n_columns, color="white", linewidth=1.2)
    axes.vlines(np.arange(1, n_columns), 0, n_rows, color="white", linewidth=1.2)
    axes.vlines([1], 0, n_rows, color="white", linewidth=5)
    points = 72 / axes.figure.dpi
    if points * axes.bbox.width / n_columns >= 2.6 * NOTE and points * axes.bbox.height / n_rows >= 1.3 * NOTE:
        for (row, column), p in np.ndenumerate(cells):
            # the weights of red, green and blue in how bright a colour looks
            colour = INK if np.dot(shades(p)[:3], (0.3, 0.59, 0.11)) > 0.6 else "white"
            number = percent(float(p)).removesuffix(" %")
            style = {"fontsize": NOTE, "ha": "center", "va": "center_baseline", "color": colour}
            axes.text(column + 0.5, row + 0.5, "" if number == "0" else number, **style)
    axes.set_xlim(0, n_columns)
    axes.set_ylim(n_rows, 0)
    axes.set_axis_off()


def _write_names(axes: Any, rows: list[Word], columns: list[Word]) -> None:
    for row, name in enumerate(rows):
        write(axes, name, (0, row + 0.5), (-6, 0), axes.get_yaxis_transform(), ha="right", va="center_baseline")
    room = 72 / axes.figure.dpi * axes.bbox.width / len(columns)
    how: dict[str, Any] = {"ha": "center", "va": "baseline"}
    if max(name.width for name in columns) > room - 4:
        how = {"rotation": SLANT, "rotation_mode": "anchor", "ha": "left", "va": "baseline"}
    for column, name in enumerate(columns):
        write(axes, name, (column + 0.5, 1), (0, 5), axes.get_xaxis_transform(), **how)
