"""Two explanations side by side: how far they go together, and where they part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, percent
from infopursuit.plots.lettering import Word, count, find_class, outcome, short, write, write_above
from infopursuit.plots.steps import shown_classes, shown_steps, step_widths, step_words, write_steps
from infopursuit.plots.style import (
    COLOURS,
    FAINT,
    HEAD,
    INK,
    NOTE,
    OTHERS,
    RIGHT,
    SIZE,
    WRONG,
    need_matplotlib,
)
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PART = "#B34700"
"""Of the line at which they part."""
TOGETHER = "#E3EDF7"
"""Behind the rows that are the same in both."""
ROW, BARS, EDGE, BETWEEN = 0.27, 1.5, 0.15, 0.3
"""Inches of a new figure: height of a row, width of the bars, margin, and space between the two."""
LONGEST = 32
"""Letters of a question."""


def compare(
    one: Explanation,
    other: Explanation,
    *,
    axes: Any = None,
    names: Sequence[str] = ("one", "the other"),
    truth: Any = None,
    most: int = 16,
    classes: int = 5,
) -> Figure:
    """Draw two explanations of one input side by side: two models, two stopping rules, or one answer changed.

    A row is a question, its answer, and the belief after it as a bar in pieces, one for each class. Rows that are the
    same in both have a pale background; a red line says where they part, which is at the first question or answer that
    differs.

    Parameters
    ----------
    one, other: explanations over the same classes.
    axes: (2,) axes to draw on, left and right; words go to the left of each and above. A new figure if None.
    names: what the two are called.
    truth: the true class, as in ``explanation.classes``.
    most: of more steps than this, those up to the parting, the last and the most influential of each are shown.
    classes: of more than this, up to 6, only those that were most probable at some step get a colour; others are grey.

    Returns the figure; ``save(figure, "compare.png")`` writes it. No window is opened and pyplot is left alone.
    """
    need_matplotlib()
    if set(one.classes) != set(other.classes):
        raise ValueError(
            f"the explanations are over different classes, {list(one.classes)[:5]} and {list(other.classes)[:5]}; "
            f"compare explanations of the same task"
        )
    if len(names) != 2:
        raise ValueError(f"names={names!r} must be two names, one for each explanation")
    true_class = find_class(one.classes, truth)
    same = together(one, other)
    shown = [_shown(each, same, most) for each in (one, other)]
    order = [other.classes.index(name) for name in one.classes]
    beliefs = [one.posteriors[[0, *(k + 1 for k in shown[0])]], other.posteriors[[0, *(k + 1 for k in shown[1])]]]
    beliefs[1] = beliefs[1][:, order]
    after = [belief[min(1, len(belief) - 1) :] for belief in beliefs]  # the prior alone gives no colour
    coloured = _coloured(after, true_class, classes)
    steps = [step_words(each, rows, LONGEST) for each, rows in zip((one, other), shown, strict=True)]
    n_rows = max(len(side) for side in steps)
    legend = _legend(one.classes, coloured, beliefs, true_class)
    own = axes is None
    pair = _new_axes(steps, n_rows, _parting(one, other, same, names), legend) if own else _checked(axes)
    for axis, each, belief, words, name in zip(pair, (one, other), beliefs, steps, names, strict=True):
        left = -sum(step_widths(words)) + 0.5
        start = left / (72 * axis.bbox.width / axis.figure.dpi)  # the same as a share of the width of the axes
        axis.axhspan(0, same + 1, xmin=start, color=TOGETHER, linewidth=0, clip_on=False, zorder=0)
        _draw(axis, belief, coloured, n_rows)
        write_steps(axis, words)
        found = find_class(each.classes, truth)
        wrong = found is not None and each.prediction != each.classes[found]
        said = Word(outcome(each, None), WRONG if wrong else RIGHT if found is not None else INK, True)
        write(axis, Word(short(name, 40), FAINT), (0, 1), (left, 21), "axes fraction", ha="left", va="baseline")
        write(axis, said, (0, 1), (left, 7), "axes fraction", ha="left", va="baseline")
        if same < max(len(one), len(other)):
            axis.plot([start, 1], [same + 1] * 2, color=PART, linewidth=1.4, clip_on=False, zorder=5)
    if not own:
        _write_legend(pair[0], legend)
    figure: Any = pair[0].figure
    drawn: Figure = figure
    return drawn


def together(one: Explanation, other: Explanation) -> int:
    """How many questions and answers from the first on are the same in both."""
    both = [[(step.name, step.said) for step in each.steps] for each in (one, other)]
    differ = [k for k, (a, b) in enumerate(zip(*both, strict=False)) if a != b]
    return differ[0] if differ else min(len(one), len(other))


def _shown(explanation: Explanation, same: int, most: int) -> list[int]:
    """The steps to draw: all that both share, so that rows stay level, and of the rest the most influential."""
    if len(explanation) <= most:
        return shown_steps(explanation, most)
    wanted = {*range(same), *shown_steps(explanation, most)}
    return sorted(wanted)


def _coloured(beliefs: list[FloatArray], true_class: int | None, n: int) -> list[int]:
    """The classes that get a colour: the most probable of both, and always those that win and the true one."""
    most = min(n, len(COLOURS) - 1)
    winners = {int(belief[-1].argmax()) for belief in beliefs} | ({true_class} - {None})
    likely: IntArray = shown_classes(np.concatenate(beliefs), true_class, most)
    rest = [c for c in np.argsort(-np.concatenate(beliefs).max(axis=0), kind="stable").tolist() if c in likely]
    picked = [*(c for c in winners if c is not None), *(c for c in rest if c not in winners)]
    return sorted(picked[: max(most, len(winners))])


def _parting(one: Explanation, other: Explanation, same: int, names: Sequence[str]) -> tuple[Word, Word]:
    """Where they part, in words."""
    first, second = (short(name, 24) for name in names)
    both = f"The same for {count(same, 'question')}" if same else "They part at the first question"
    if same == len(one) == len(other):
        head = "The same questions and answers"
        note = "the beliefs may still differ"
    elif same in (len(one), len(other)):
        ends, goes = (first, second) if same == len(one) else (second, first)
        head = f"{both}; then {ends} stops" if same else f"{ends} asks nothing"
        note = f"{goes} goes on"
    else:
        a, b = one.steps[same], other.steps[same]
        if a.name == b.name:
            head = f"{both}, then the answer differs" if same else "They part at the first answer"
            note = f"{short(a.name, 40)}: {first} hears {short(a.said, 20)}, {second} hears {short(b.said, 20)}"
        else:
            head = f"{both}, then they part" if same else both
            note = f"{first} asks {short(a.name, 36)}; {second} asks {short(b.name, 36)}"
    return Word(head, INK, True, HEAD), Word(note, FAINT, False, NOTE)


def _legend(
    classes: tuple[Any, ...], coloured: list[int], beliefs: list[FloatArray], true_class: int | None
) -> list[tuple[str, Word]]:
    """(colour, name) of each class that has a colour, and of the others."""
    winners = {int(belief[-1].argmax()) for belief in beliefs}
    found = []
    for i, c in enumerate(coloured):
        text = f"{'true: ' if c == true_class else ''}{short(classes[c], 22)}"
        found.append((COLOURS[i], Word(text, INK, c in winners or c == true_class, NOTE)))
    others = len(classes) - len(coloured)
    return found + ([(OTHERS, Word(count(others, "other"), FAINT, False, NOTE))] if others else [])


def _checked(axes: Any) -> list[Axes]:
    """Two axes of the caller."""
    pair = np.asarray(axes, dtype=object).ravel().tolist()
    if len(pair) != 2 or not all(hasattr(axis, "barh") for axis in pair):
        raise ValueError(f"axes has shape {np.shape(axes)}; give two axes, left and right, or None for a new figure")
    return pair


def _new_axes(steps: list[Any], n_rows: int, said: tuple[Word, Word], legend: list[tuple[str, Word]]) -> list[Axes]:
    """Two axes in a new figure that is as large as what goes into it, with the headline above and a legend below it."""
    from matplotlib.figure import Figure

    lefts = [sum(step_widths(words)) / 72 for words in steps]
    wide = EDGE + lefts[0] + BARS + BETWEEN + lefts[1] + BARS + EDGE
    words = tuple(word.folded(72 * (wide - 2 * EDGE) + 1) for word in said)
    keys = _rows_of_keys(legend, 72 * (wide - 2 * EDGE))
    head = 0.12 + sum(word.height for word in words)
    top = head + 0.06 + 0.2 * len(keys) + 0.55
    rows = n_rows * ROW
    high = top + rows + EDGE
    figure = Figure(figsize=(wide, high), dpi=150, facecolor="white")
    write_above(figure, words, EDGE, 0.12)
    for line, row in enumerate(keys):
        for colour, word, at in row:
            x, y = EDGE + at / 72, high - head - 0.16 - 0.2 * line
            _key(figure, colour, word, x / wide, y / high, 0.11 / wide, 0.11 / high, (x + 0.17) / wide)
    starts = (EDGE + lefts[0], EDGE + lefts[0] + BARS + BETWEEN + lefts[1])
    return [figure.add_axes((x / wide, EDGE / high, BARS / wide, rows / high)) for x in starts]


def _rows_of_keys(legend: list[tuple[str, Word]], width: float) -> list[list[tuple[str, Word, float]]]:
    """The legend in lines of at most so many points; each key with where it begins."""
    lines: list[list[tuple[str, Word, float]]] = [[]]
    at = 0.0
    for colour, word in legend:
        room = word.width + 28
        if lines[-1] and at + room > width:
            lines.append([])
            at = 0.0
        lines[-1].append((colour, word, at))
        at += room
    return lines


def _key(figure: Figure, colour: str, word: Word, x: float, y: float, wide: float, high: float, text: float) -> None:
    """A square in the colour of a class and its name, as shares of the figure."""
    from matplotlib.patches import Rectangle

    figure.add_artist(Rectangle((x, y - high / 2), wide, high, color=colour, linewidth=0, transform=figure.transFigure))
    figure.text(text, y, word.text, ha="left", va="center_baseline", **word.style)


def _write_legend(axes: Axes, legend: list[tuple[str, Word]]) -> None:
    """The same below axes of the caller."""
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=word.text) for colour, word in legend]
    axes.legend(
        handles=handles, frameon=False, fontsize=NOTE, loc="upper left", bbox_to_anchor=(0, -0.02), ncols=len(handles)
    )


def _draw(axes: Axes, belief: FloatArray, coloured: list[int], n_rows: int) -> None:
    """A bar in pieces for each row."""
    heights = np.arange(len(belief)) + 0.5
    start = np.zeros(len(belief))
    pieces = [*((belief[:, c], COLOURS[i]) for i, c in enumerate(coloured))]
    pieces.append((np.delete(belief, coloured, axis=1).sum(axis=1), OTHERS))
    for share, colour in pieces:
        axes.barh(heights, share, left=start, height=0.66, color=colour, edgecolor="white", linewidth=0.5, zorder=2)
        for height, left, part in zip(heights.tolist(), start.tolist(), share.tolist(), strict=True):
            if part >= 0.3:
                middle: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": SIZE - 1.5, "zorder": 3}
                ink = INK if colour in (OTHERS, "#56B4E9", "#E69F00", "#CC79A7") else "white"
                axes.text(left + part / 2, height, percent(part).removesuffix(" %"), color=ink, **middle)
        start = start + share
    axes.set_xlim(0, 1)
    axes.set_ylim(n_rows, 0)
    axes.set_axis_off()
