"""The posterior step by step, as lines: for any kind of query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, count, percent
from infopursuit.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP, HIGH, LONGEST = 0.6, 2.6, 34
"""Inches of a new figure from one step to the next, and height of the lines; letters of a question."""


def posterior(
    explanation: Explanation, *, axes: Axes | None = None, truth: Any = None, max_steps: int = 12, max_classes: int = 5
) -> Axes:
    """Draw how the posterior of each class rose and fell, a line for each class, from the prior to the end.

    Below each step stand the question and its answer, green and bold after a yes, red after a no, grey where it was not
    known. The legend has the last posterior of each class, and the true one says so if ``truth`` is given.

    Parameters
    ----------
    explanation: what `Trace` gives for one input; any kind of query.
    axes: one axes to draw on. A new figure if None.
    truth: the true class, as in ``explanation.classes``.
    max_steps: of more steps than this only the last and the most influential are shown, by KL(after || before).
    max_classes: of more classes than this only those that were most probable at some step get a line, always with the
        predicted and the true one among them; the others share a grey one.
    """
    true_class = style.find_class(explanation.classes, truth)
    shown = explanation.shown_steps(max_steps)
    belief = explanation.posteriors[[0, *(k + 1 for k in shown)]]
    lines = style.shown_classes(belief[min(1, len(shown)) :], true_class, max_classes)  # the prior alone makes no line
    words = style.step_words(explanation, shown, LONGEST)
    below = style.LETTER * max(map(len, words))  # slanted: as much to the left as down
    axes = style.axes_of(axes, 3.2 + 0.6 * below + STEP * len(words), HIGH + 0.7 * below)
    from matplotlib.ticker import PercentFormatter

    names, winner = style.class_names(explanation, lines, true_class, 24), int(belief[-1].argmax())
    for i, (c, name) in enumerate(zip(lines.tolist(), names, strict=True)):
        look: dict[str, Any] = {"color": style.COLOURS[i % 7], "marker": style.MARKERS[i % 7], "markersize": 4.5}
        look |= {"linewidth": 2.4, "zorder": 4} if c == winner else {"linewidth": 1.3, "zorder": 3}
        axes.plot(belief[:, c], label=f"{name}: {percent(float(belief[-1, c]))}", clip_on=False, **look)
    if len(lines) < belief.shape[1]:
        rest = np.delete(belief, lines, axis=1).sum(axis=1)
        label = f"{count(belief.shape[1] - len(lines), 'other')}: {percent(float(rest[-1]))}"
        axes.plot(rest, color=style.OTHERS, linewidth=1.2, linestyle="--", label=label)
    style.plain(axes, grid="y")
    axes.set(xlim=(-0.15, max(len(belief) - 1, 1) + 0.15), ylim=(0, 1))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xticks(range(len(words)), words, rotation=style.SLANT, rotation_mode="anchor", ha="right")
    style.colour_steps(axes.get_xticklabels(), explanation, shown)
    legend = axes.legend(frameon=False, fontsize=style.SIZE, loc="upper left", bbox_to_anchor=(1, 1))
    for text in legend.get_texts():
        text.set_parse_math(False)
    style.write_title(axes, style.outcome(explanation, true_class), style.few_steps(explanation, len(shown), ""))
    return axes
