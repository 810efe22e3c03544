"""Heatmaps: the posterior after each step of one pursuit or of two; how often queries are asked about each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.checks import whole_number
from infopursuit.explanation import Explanation, count, percent, short
from infopursuit.plots import style
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from infopursuit.inspection import QueryFrequencies

COLUMN, LEVEL = 0.52, 7
"""Inches of a column; letters of a name that lies level."""
READ = "numbers: belief after the answer in per cent, empty below 0.5"
PART = style.NO
"""Of the line at which two pursuits part."""


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


def compare(
    one: Explanation,
    other: Explanation,
    *,
    names: Sequence[str] = ("one", "the other"),
    truth: Any = None,
    max_steps: int = 16,
) -> Figure:
    """Draw two explanations of one input side by side: two models, two stopping rules, or one answer changed.

    Each is a `heatmap` of the same classes; a red line marks the first question or answer that differs.

    Parameters
    ----------
    one, other: explanations over the same classes.
    names: what the two are called.
    truth: the true class, as in ``explanation.classes``.
    max_steps: of more steps than this, the shared ones, the last and the most influential of each are shown.
    """
    style.need_matplotlib()
    if set(one.classes) != set(other.classes):
        raise ValueError(
            f"the explanations are over different classes, {list(one.classes)[:5]} and {list(other.classes)[:5]}; "
            f"compare explanations of the same task"
        )
    if len(names) != 2:
        raise ValueError(f"names={names!r} must be two names, one for each explanation")
    from matplotlib.figure import Figure

    both, same = (one, other), together(one, other)
    shown = []  # all steps that both share, so that rows stay level, and of the rest the most influential
    for each in both:
        steps = each.shown_steps(max_steps)
        shown.append(steps if len(each) <= max_steps else sorted({*range(same), *steps}))
    places = [[each.classes.index(name) for name in one.classes] for each in both]
    beliefs = [_belief(e, rows)[:, place] for e, rows, place in zip(both, shown, places, strict=True)]
    true_class, ends = style.find_class(one.classes, truth), (len(beliefs[0]) - 1, -1)
    columns = style.shown_classes(np.concatenate(beliefs), true_class, 6, ends)
    n_rows = max(map(len, beliefs))
    size = (2 * (3.2 + COLUMN * (len(columns) + 1)), style.ROW * n_rows + 2.2)
    figure = Figure(figsize=size, dpi=150, facecolor="white", layout="constrained")
    for axis, each, rows, place, name in zip(figure.subplots(1, 2), both, shown, places, names, strict=True):
        own = np.array(place)[columns]
        _draw_steps(axis, each, rows, own, None if true_class is None else place[true_class])
        axis.set_ylim(n_rows - 0.5, -0.5)
        style.write_title(axis, f"{short(name, 40)}:\n{style.outcome(each, None)}")
        if same < max(len(one), len(other)):
            axis.axhline(same + 0.5, color=PART, linewidth=2, zorder=5)
    figure.suptitle(parting(one, other, same, names), fontsize=style.HEAD, color=style.INK, parse_math=False)
    return figure


def together(one: Explanation, other: Explanation) -> int:
    """How many questions and answers from the first on are the same in both."""
    both = [[(step.name, step.said) for step in each.steps] for each in (one, other)]
    differ = [k for k, (a, b) in enumerate(zip(*both, strict=False)) if a != b]
    return differ[0] if differ else min(len(one), len(other))


def parting(one: Explanation, other: Explanation, same: int, names: Sequence[str]) -> str:
    """Where the two part, in words."""
    if same == len(one) == len(other):
        return "The same questions and answers"
    begin = f"The same for {count(same, 'question')}, then" if same else "At the first question"
    if same in (len(one), len(other)):
        return f"{begin} {short(names[0 if same == len(one) else 1], 24)} stops"
    return f"{begin} {'the answer differs' if one.steps[same].name == other.steps[same].name else 'they part'}"


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
