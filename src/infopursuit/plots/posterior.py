"""The posterior step by step, as lines: for any kind of query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, count, percent
from infopursuit.plots import style
from infopursuit.plots.style import Word, short
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP, HIGH = 0.62, 2.6
"""Inches of a new figure: from one step to the next, and height of the lines."""
APART = 0.066
"""Least distance between two names at the right end, as a share of the height."""
READ = "each line is the belief in one class; below: what was asked, and the answer"


def posterior(
    explanation: Explanation, *, axes: Any = None, truth: Any = None, max_steps: int = 12, max_classes: int = 5
) -> Axes:
    """Draw how the posterior of each class rose and fell, a line for each class, from the prior to the end.

    Below each step stand the question and its answer, green and bold after a yes, red after a no, grey where it was not
    known. A line ends at the name of its class and its posterior. If ``truth`` is given, its name says so.

    Parameters
    ----------
    explanation: what `Trace` gives for one input; any kind of query.
    axes: one axes to draw on; words go below it and to its right. A new figure if None.
    truth: the true class, as in ``explanation.classes``.
    max_steps: of more steps than this only the last and the most influential are shown, by KL(after || before).
    max_classes: of more classes than this only those that were most probable at some step get a line, always with the
        predicted and the true one among them; the others share a grey one.
    """
    style.check_axes(axes)
    true_class = style.find_class(explanation.classes, truth)
    shown = explanation.shown_steps(max_steps)
    belief = explanation.posteriors[[0, *(k + 1 for k in shown)]]
    lines = style.shown_classes(belief[min(1, len(shown)) :], true_class, max_classes)  # the prior alone makes no line
    asked = [Word("before", style.FAINT, size=style.NOTE)]
    for k in shown:
        step, colour = explanation.steps[k], style.answer_colour(explanation.steps[k])
        asked.append(
            Word(f"{k + 1}. {short(step.name, 30)}: {short(step.said, 16)}", colour, colour == style.YES, style.NOTE)
        )
    names = _names(explanation, lines, true_class)
    if axes is None:
        tilt = np.deg2rad(style.SLANT)
        # questions reach down and to the left of their step
        reach = [word.width / 72 * float(np.cos(tilt)) - i * STEP for i, word in enumerate(asked)]
        axes = style.new_axes(
            (max(STEP * max(len(asked) - 1, 1), 2.6), HIGH), style.headline(explanation, true_class, len(shown), READ),
            left=max(0.62, max(reach) + 0.2), right=max(name.width for name in names) / 72 + 0.3,
            foot=max(word.width for word in asked) / 72 * float(np.sin(tilt)) + 0.28, above=0.12,
        )  # fmt: skip
    _draw(axes, belief, lines)
    for at, word in enumerate(asked):  # slanted so that each has a line of its own
        how = {"rotation": style.SLANT, "rotation_mode": "anchor", "ha": "right", "va": "center"}
        style.write(axes, word, (at, 0), (2, -8), axes.get_xaxis_transform(), **how)
    _write_names(axes, names, belief, lines)
    return axes  # type: ignore[no-any-return]


def _names(explanation: Explanation, lines: IntArray, true_class: int | None) -> list[Word]:
    last = explanation.posteriors[-1]
    winner = int(last.argmax())
    names = []
    for c in lines.tolist():
        name = f"{short(explanation.classes[c], 24)}{' (true)' if c == true_class else ''}"
        names.append(Word(f"{name}: {percent(float(last[c]))}", style.INK, c in (winner, true_class)))
    others = len(last) - len(lines)
    if others:
        names.append(Word(f"{count(others, 'other')}: {percent(float(np.delete(last, lines).sum()))}", style.FAINT))
    return names


def _draw(axes: Axes, belief: FloatArray, lines: IntArray) -> None:
    from matplotlib.ticker import PercentFormatter

    steps, winner = np.arange(len(belief)), int(belief[-1].argmax())
    if len(lines) < belief.shape[1]:
        rest = np.delete(belief, lines, axis=1).sum(axis=1)
        axes.plot(steps, rest, color=style.OTHERS, linewidth=1.2, linestyle="--", label="others")
    for i, c in enumerate(lines.tolist()):
        best = c == winner
        look: dict[str, Any] = {"linewidth": 2.4, "zorder": 4} if best else {"linewidth": 1.3, "zorder": 3}
        colour, marker = style.COLOURS[i % len(style.COLOURS)], style.MARKERS[i % len(style.MARKERS)]
        axes.plot(steps, belief[:, c], color=colour, marker=marker, markersize=4.5, clip_on=False, **look)
    style.plain(axes, grid="y")
    axes.set_xlim(-0.15, max(len(belief) - 1, 1) + 0.15)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xticks(steps, [""] * len(belief))


def _write_names(axes: Axes, names: list[Word], belief: FloatArray, lines: IntArray) -> None:
    """Names of the classes where their lines end, moved apart where they would lie on each other."""
    ends = [*belief[-1, lines].tolist(), *([] if len(names) == len(lines) else [1 - belief[-1, lines].sum()])]
    colours = [*(style.COLOURS[i % len(style.COLOURS)] for i in range(len(lines))), style.OTHERS]
    last = max(len(belief) - 1, 1) + 0.15
    points = 72 * axes.bbox.height / axes.figure.dpi
    for i, height in enumerate(_apart(ends, max(APART, 1.25 * style.SIZE / points))):
        axes.annotate(
            "", (last, ends[i]), xytext=(12, (height - ends[i]) * points), textcoords="offset points",
            annotation_clip=False, arrowprops={"arrowstyle": "-", "color": colours[i], "linewidth": 1, "shrinkB": 0},
        )  # fmt: skip
        style.write(axes, names[i], (last, height), (15, 0), "data", ha="left", va="center_baseline")


def _apart(ends: list[float], least: float) -> list[float]:
    """Heights at least so far apart, in the order of the ends and close to them, none below 0.

    >>> _apart([0.0, 0.0, 0.9], 0.1)
    [0.1, 0.0, 0.9]
    """
    order = sorted(range(len(ends)), key=lambda i: (ends[i], -i))
    placed: dict[int, float] = {}
    below = -least
    for i in order:
        placed[i] = below = max(ends[i], below + least)
    above = max(1.0, (len(ends) - 1) * least) + least
    for i in reversed(order):
        placed[i] = above = min(placed[i], above - least)
    return [placed[i] for i in range(len(ends))]
