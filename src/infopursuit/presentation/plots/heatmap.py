"""Heatmaps: the posterior after each step of a pursuit, and how often each query is asked about each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.presentation.plots import style
from infopursuit.pursuit.explanation import Explanation, count, percent, short
from infopursuit.support.checks import whole_number
from infopursuit.support.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from infopursuit.evaluation.inspection import QueryFrequencies

COLUMN, LEVEL = 0.52, 7
"""Inches of a column; letters of a name that lies level."""
READ = "numbers: belief after the answer in per cent, empty below 0.5"


def heatmap(
    explanation: Explanation, *, axes: Axes | None = None, truth: Any = None, max_steps: int = 20, max_classes: int = 10
) -> Axes:
    """Draw one pursuit as a heatmap of class probabilities, a row for each step, as in the paper's "IP in action".

    A row reads from left to right: the question, green and bold after a yes, red after a no, grey where the answer was
    not known, black after any other answer; the answer; the posterior after it. The first row is before any question.
    The name of the predicted class is bold and green; if ``truth`` is given and another one, the prediction is purple
    and the true class green.

    Parameters
    ----------
    explanation: what `Trace` gives for one input. Made for yes/no questions, but any will do.
    axes: one axes to draw on. A new figure if None.
    truth: the true class, as in ``explanation.classes``.
    max_steps: of more steps than this only the last and the most influential are shown, by KL(after || before).
    max_classes: of more classes than this only those that were most probable at some step get a column, always with
        the predicted and the true one among them; the others share a last column.
    """
    true_class = style.find_class(explanation.classes, truth)
    shown = explanation.shown_steps(max_steps)
    columns = style.shown_classes(_belief(explanation, shown), true_class, max_classes)
    axes = _draw_steps(axes, explanation, shown, columns, true_class)
    note = style.few_steps(explanation, len(shown), READ)
    style.write_title(axes, style.outcome(explanation, true_class), note)
    return axes


def asked_by_class(
    asked: QueryFrequencies, *, axes: Axes | None = None, max_queries: int = 15, max_classes: int = 12
) -> Axes:
    """Draw how often queries are asked about the inputs of each class: a row for each query, a column for each class.

    Parameters
    ----------
    asked: what `infopursuit.query_frequencies` gives.
    axes: one axes to draw on. A new figure if None.
    max_queries: of more queries than this only those asked most get a row.
    max_classes: of more classes than this only those with the most inputs get a column.
    """
    whole_number(max_queries, "max_queries", 1)
    whole_number(max_classes, "max_classes", 1)
    if not len(asked):
        raise ValueError("asked holds no query, nothing was asked about any input; there is nothing to draw")
    shown = np.argsort(-asked.class_sizes, kind="stable")
    shown = np.sort(shown[asked.class_sizes[shown] > 0][:max_classes])
    cells = np.concatenate([asked.share[:max_queries, None], asked.by_class[:max_queries, shown]], axis=1)
    rows = [short(name, 44) for name in asked.names[:max_queries]]
    axes = _draw(axes, cells, rows, ["all", *(short(asked.classes[c], 28) for c in shown.tolist())])
    axes.axvline(0.5, color="white", linewidth=5)
    what, there = "true" if asked.by == "label" else "predicted", int((asked.class_sizes > 0).sum())
    about = [f"share of the inputs in per cent, by {what} class; {count(asked.n_inputs, 'input')}"]
    about += [f"the {len(rows)} queries asked most of {len(asked):,}"] if len(rows) < len(asked) else []
    about += [f"the {len(shown)} largest classes of {there}"] if len(shown) < there else []
    style.write_title(axes, "What is asked about which class", "\n".join(about))
    return axes


def _belief(explanation: Explanation, shown: list[int]) -> FloatArray:
    """(steps + 1, C) the prior, and the posterior after each step that is shown."""
    return explanation.posteriors[[0, *(k + 1 for k in shown)]]


def _draw_steps(
    axes: Axes | None, explanation: Explanation, shown: list[int], columns: IntArray, true_class: int | None
) -> Axes:
    """Some classes of one pursuit; the others share a last column."""
    belief = _belief(explanation, shown)
    names = style.class_names(explanation, columns, true_class, 28)
    colours = [style.class_colour(explanation, c, true_class) for c in columns.tolist()]
    cells = belief[:, columns]
    if len(columns) < belief.shape[1]:
        cells = np.column_stack([cells, np.delete(belief, columns, axis=1).sum(axis=1)])
        names.append(count(belief.shape[1] - len(columns), "other"))
        colours.append(style.FAINT)
    axes = _draw(axes, cells, style.step_words(explanation, shown), names)
    style.colour_steps(axes.get_yticklabels(), explanation, shown)
    for label, colour in zip(axes.get_xticklabels(), colours, strict=True):
        label.set(color=colour, fontweight="bold" if colour in (style.RIGHT, style.WRONG) else "normal")
    return axes


def _draw(axes: Axes | None, cells: FloatArray, rows: list[str], columns: list[str]) -> Axes:
    """Shares (rows, columns) as colours, with numbers in per cent, and the names of both."""
    beside, above = (style.LETTER * max(map(len, names)) for names in (rows, columns))
    level = max(map(len, columns)) <= LEVEL
    axes = style.axes_of(axes, beside + COLUMN * len(columns) + 1, 0.9 + 0.6 * above + style.ROW * len(rows))
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("shares", style.SHADES)
    axes.imshow(cells, cmap=shades, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_xticks(np.arange(1, len(columns)) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, len(rows)) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.2)
    for (row, column), p in np.ndenumerate(cells):
        number = percent(float(p)).removesuffix(" %") if p >= 0.005 else ""
        # the weights of red, green and blue in how bright a colour looks
        colour = style.INK if np.dot(shades(p)[:3], (0.3, 0.59, 0.11)) > 0.6 else "white"
        axes.text(column, row, number, fontsize=style.NOTE, ha="center", va="center", color=colour)
    slanted: dict[str, Any] = {} if level else {"rotation": style.SLANT, "rotation_mode": "anchor", "ha": "left"}
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(columns)), columns, parse_math=False, **slanted)
    axes.set_yticks(range(len(rows)), rows, parse_math=False)
    style.bare(axes)
    axes.tick_params(which="minor", length=0)
    return axes
