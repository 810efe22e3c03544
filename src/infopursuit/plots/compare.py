"""Two explanations side by side: the steps that they share, and the first that differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, count, percent, short
from infopursuit.plots import style
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PART, TOGETHER = style.NO, "#E3EDF7"
"""Of the line at which they part, and behind the rows that are the same in both."""
BARS, LONGEST, MAX_COLOURS = 2.4, 32, len(style.COLOURS) - 1
"""Inches of the bars; letters of a question; classes with a colour of their own."""


def compare(
    one: Explanation,
    other: Explanation,
    *,
    names: Sequence[str] = ("one", "the other"),
    truth: Any = None,
    max_steps: int = 16,
) -> Figure:
    """Draw two explanations of one input side by side: two models, two stopping rules, or one answer changed.

    A row is a question, its answer, and the posterior after it as a stacked bar. Rows that are the same in both have a
    pale background; a red line marks the first question or answer that differs.

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
    both, true_class, same = (one, other), style.find_class(one.classes, truth), together(one, other)
    shown = []  # all steps that both share, so that rows stay level, and of the rest the most influential
    for each in both:
        steps = each.shown_steps(max_steps)
        shown.append(steps if len(each) <= max_steps else sorted({*range(same), *steps}))
    beliefs = [each.posteriors[[0, *(k + 1 for k in rows)]] for each, rows in zip(both, shown, strict=True)]
    beliefs[1] = beliefs[1][:, [other.classes.index(name) for name in one.classes]]
    after = [belief[min(1, len(belief) - 1) :] for belief in beliefs]  # the prior alone gives no colour
    coloured = style.shown_classes(np.concatenate(after), true_class, MAX_COLOURS, ends=(len(after[0]) - 1, -1))
    words = [style.step_words(each, rows, LONGEST) for each, rows in zip(both, shown, strict=True)]
    n_rows = max(map(len, words))
    from matplotlib.figure import Figure

    beside = style.LETTER * sum(max(map(len, said)) for said in words)
    size = (beside + 2 * BARS + 0.5, style.ROW * n_rows + 1.4)
    figure = Figure(figsize=size, dpi=150, facecolor="white", layout="constrained")
    pair = figure.subplots(1, 2)
    for axis, each, belief, rows, said, name in zip(pair, both, beliefs, shown, words, names, strict=True):
        axis.axhspan(-0.5, same + 0.5, color=TOGETHER, linewidth=0, zorder=0)
        _draw(axis, belief, coloured.tolist())
        axis.set_yticks(range(len(said)), said)
        axis.set(xlim=(0, 1), ylim=(n_rows - 0.5, -0.5), xticks=[])
        style.bare(axis)
        style.colour_steps(axis.get_yticklabels(), each, rows)
        said_of = f"{short(name, 40)}:\n{style.outcome(each, None)}"
        axis.set_title(said_of, loc="left", fontsize=style.SIZE, color=style.INK, parse_math=False)
        if same < max(len(one), len(other)):
            axis.axhline(same + 0.5, color=PART, linewidth=1.4, zorder=5)
    _legend(figure, one, coloured, true_class)
    look: dict[str, Any] = {"fontsize": style.HEAD, "fontweight": "bold", "color": style.INK, "parse_math": False}
    figure.suptitle(parting(one, other, same, names), **look)
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


def _draw(axes: Axes, belief: FloatArray, coloured: list[int]) -> None:
    pieces = [*((belief[:, c], style.COLOURS[i]) for i, c in enumerate(coloured))]
    pieces.append((np.delete(belief, coloured, axis=1).sum(axis=1), style.OTHERS))
    start = np.zeros(len(belief))
    for share, colour in pieces:
        bars = axes.barh(np.arange(len(belief)), share, left=start, height=0.66, color=colour, zorder=2)
        numbers = [percent(part).removesuffix(" %") if part >= 0.3 else "" for part in share.tolist()]
        ink = style.INK if colour in (style.OTHERS, *style.COLOURS[3:6]) else "white"
        axes.bar_label(bars, numbers, label_type="center", fontsize=style.NOTE, color=ink)
        start = start + share


def _legend(figure: Figure, one: Explanation, coloured: IntArray, true_class: int | None) -> None:
    from matplotlib.patches import Patch

    names = style.class_names(one, coloured, true_class, 22)
    handles = [Patch(color=style.COLOURS[i], label=name) for i, name in enumerate(names)]
    if len(coloured) < len(one.classes):
        handles.append(Patch(color=style.OTHERS, label=count(len(one.classes) - len(coloured), "other")))
    look: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "fontsize": style.NOTE, "ncols": 4}
    legend = figure.legend(handles=handles, **look)
    for text, c in zip(legend.get_texts(), coloured.tolist(), strict=False):
        text.set(parse_math=False, fontweight="bold" if c == true_class else "normal")
