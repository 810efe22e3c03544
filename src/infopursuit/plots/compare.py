"""Two explanations side by side: the steps that they share, and the first that differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, count, percent
from infopursuit.plots import style
from infopursuit.plots.style import Word, short
from infopursuit.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PART, TOGETHER = style.NO, "#E3EDF7"
"""Of the line at which they part, and behind the rows that are the same in both."""
BARS, BETWEEN, LONGEST = 1.5, 0.3, 32
"""Inches: width of the bars, and space between the two. Letters of a question."""


def compare(
    one: Explanation, other: Explanation, *, axes: Any = None, names: Sequence[str] = ("one", "the other"),
    truth: Any = None, max_steps: int = 16, max_classes: int = 5,
) -> Figure:  # fmt: skip
    """Draw two explanations of one input side by side: two models, two stopping rules, or one answer changed.

    A row is a question, its answer, and the posterior after it as a stacked bar. Rows that are the same in both have a
    pale background; a red line marks the first question or answer that differs.

    Parameters
    ----------
    one, other: explanations over the same classes.
    axes: (2,) axes to draw on, left and right; words go to the left of each and above. A new figure if None.
    names: what the two are called.
    truth: the true class, as in ``explanation.classes``.
    max_steps: of more steps than this, the shared ones, the last and the most influential of each are shown.
    max_classes: of more than this, up to 6, only those that were most probable at some step get a colour; others are
        grey.
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
    # all steps that both share, so that rows stay level, and of the rest the most influential
    shown = [each.shown_steps(max_steps) for each in both]
    shown = [rows if len(each) <= max_steps else sorted({*range(same), *rows})
             for each, rows in zip(both, shown, strict=True)]  # fmt: skip
    beliefs = [each.posteriors[[0, *(k + 1 for k in rows)]] for each, rows in zip(both, shown, strict=True)]
    beliefs[1] = beliefs[1][:, [other.classes.index(name) for name in one.classes]]
    coloured = _coloured(beliefs, true_class, max_classes)
    steps = [style.step_words(each, rows, LONGEST) for each, rows in zip(both, shown, strict=True)]
    n_rows = max(len(side) for side in steps)
    legend = _legend(one.classes, coloured, beliefs, true_class)
    pair = _new_axes(steps, n_rows, _parting(one, other, same, names), legend) if axes is None else _checked(axes)
    for axis, each, belief, words, name in zip(pair, both, beliefs, steps, names, strict=True):
        left = -sum(style.step_widths(words)) + 0.5
        start = left / (72 * axis.bbox.width / axis.figure.dpi)  # the same as a share of the width of the axes
        axis.axhspan(0, same + 1, xmin=start, color=TOGETHER, linewidth=0, clip_on=False, zorder=0)
        _draw(axis, belief, coloured, n_rows)
        style.write_steps(axis, words)
        wrong = true_class is not None and each.prediction != one.classes[true_class]
        said = Word(
            style.outcome(each, None),
            style.WRONG if wrong else style.RIGHT if true_class is not None else style.INK,
            True,
        )
        style.write(
            axis, Word(short(name, 40), style.FAINT), (0, 1), (left, 21), "axes fraction", ha="left", va="baseline"
        )
        style.write(axis, said, (0, 1), (left, 7), "axes fraction", ha="left", va="baseline")
        if same < max(len(one), len(other)):
            axis.plot([start, 1], [same + 1] * 2, color=PART, linewidth=1.4, clip_on=False, zorder=5)
    if axes is not None:
        from matplotlib.patches import Patch

        handles = [Patch(color=colour, label=word.text) for colour, word in legend]
        pair[0].legend(handles=handles, frameon=False, fontsize=style.NOTE, loc="upper left", bbox_to_anchor=(0, -0.02),
                       ncols=len(handles))  # fmt: skip
    return pair[0].figure  # type: ignore[return-value]


def together(one: Explanation, other: Explanation) -> int:
    """How many questions and answers from the first on are the same in both."""
    both = [[(step.name, step.said) for step in each.steps] for each in (one, other)]
    differ = [k for k, (a, b) in enumerate(zip(*both, strict=False)) if a != b]
    return differ[0] if differ else min(len(one), len(other))


def _coloured(beliefs: list[FloatArray], true_class: int | None, n: int) -> list[int]:
    """The classes that get a colour: the most probable of both, and always those that win and the true one."""
    after = [belief[min(1, len(belief) - 1) :] for belief in beliefs]  # the prior alone gives no colour
    limit = min(n, len(style.COLOURS) - 1)
    needed = {int(belief[-1].argmax()) for belief in after} | ({true_class} - {None})
    likely = style.shown_classes(np.concatenate(after), true_class, limit)
    rest = [c for c in np.argsort(-np.concatenate(after).max(axis=0), kind="stable").tolist() if c in likely]
    picked = [*(c for c in needed if c is not None), *(c for c in rest if c not in needed)]
    return sorted(picked[: max(limit, len(needed))])


def _parting(one: Explanation, other: Explanation, same: int, names: Sequence[str]) -> tuple[Word, Word]:
    first, second = (short(name, 24) for name in names)
    both = f"The same for {count(same, 'question')}" if same else "They part at the first question"
    if same == len(one) == len(other):
        head, note = "The same questions and answers", "the beliefs may still differ"
    elif same in (len(one), len(other)):
        ends, goes = (first, second) if same == len(one) else (second, first)
        head, note = f"{both}; then {ends} stops" if same else f"{ends} asks nothing", f"{goes} goes on"
    else:
        a, b = one.steps[same], other.steps[same]
        if a.name == b.name:
            head = f"{both}, then the answer differs" if same else "They part at the first answer"
            heard = [f"{who} hears {short(step.said, 20)}" for who, step in ((first, a), (second, b))]
            note = f"{short(a.name, 40)}: {', '.join(heard)}"
        else:
            head = f"{both}, then they part" if same else both
            note = f"{first} asks {short(a.name, 36)}; {second} asks {short(b.name, 36)}"
    return Word(head, style.INK, True, style.HEAD), Word(note, style.FAINT, False, style.NOTE)


def _legend(
    classes: tuple[Any, ...], coloured: list[int], beliefs: list[FloatArray], true_class: int | None
) -> list[tuple[str, Word]]:
    bold = {int(belief[-1].argmax()) for belief in beliefs} | {true_class}
    found = [
        (
            style.COLOURS[i],
            Word(f"{'true: ' if c == true_class else ''}{short(classes[c], 22)}", style.INK, c in bold, style.NOTE),
        )
        for i, c in enumerate(coloured)
    ]
    others = len(classes) - len(coloured)
    return found + ([(style.OTHERS, Word(count(others, "other"), style.FAINT, False, style.NOTE))] if others else [])


def _checked(axes: Any) -> list[Axes]:
    pair = np.asarray(axes, dtype=object).ravel().tolist()
    if len(pair) != 2 or not all(hasattr(axis, "barh") for axis in pair):
        raise ValueError(f"axes has shape {np.shape(axes)}; give two axes, left and right, or None for a new figure")
    return pair


def _new_axes(steps: list[Any], n_rows: int, said: tuple[Word, Word], legend: list[tuple[str, Word]]) -> list[Axes]:
    """Two axes in a new figure that is as large as what goes into it, with a headline and a legend above."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    lefts = [sum(style.step_widths(words)) / 72 for words in steps]
    wide = style.MARGIN + lefts[0] + BARS + BETWEEN + lefts[1] + BARS + style.MARGIN
    words = tuple(word.folded(72 * (wide - 2 * style.MARGIN) + 1) for word in said)
    keys, x, line = [], style.MARGIN, 0  # colour, name, inches from the left, line
    for colour, word in legend:
        room = (word.width + 28) / 72
        if x > style.MARGIN and x + room > wide - style.MARGIN:
            x, line = style.MARGIN, line + 1
        keys.append((colour, word, x, line))
        x += room
    head = 0.12 + sum(word.height for word in words)
    rows = n_rows * style.ROW
    high = head + 0.06 + 0.2 * (line + 1) + 0.55 + rows + style.MARGIN
    figure = Figure(figsize=(wide, high), dpi=150, facecolor="white")
    style.write_above(figure, words, style.MARGIN, 0.12)
    for colour, word, x, line in keys:
        y = (high - head - 0.16 - 0.2 * line) / high
        corner, square = (x / wide, y - 0.055 / high), (0.11 / wide, 0.11 / high)
        figure.add_artist(Rectangle(corner, *square, color=colour, linewidth=0, transform=figure.transFigure))
        figure.text((x + 0.17) / wide, y, word.text, ha="left", va="center_baseline", **word.style)
    starts = (style.MARGIN + lefts[0], style.MARGIN + lefts[0] + BARS + BETWEEN + lefts[1])
    return [figure.add_axes((x / wide, style.MARGIN / high, BARS / wide, rows / high)) for x in starts]


def _draw(axes: Axes, belief: FloatArray, coloured: list[int], n_rows: int) -> None:
    heights, start = np.arange(len(belief)) + 0.5, np.zeros(len(belief))
    pieces = [*((belief[:, c], style.COLOURS[i]) for i, c in enumerate(coloured))]
    pieces.append((np.delete(belief, coloured, axis=1).sum(axis=1), style.OTHERS))
    for share, colour in pieces:
        axes.barh(heights, share, left=start, height=0.66, color=colour, edgecolor="white", linewidth=0.5, zorder=2)
        for height, left, part in zip(heights.tolist(), start.tolist(), share.tolist(), strict=True):
            if part >= 0.3:
                ink = style.INK if colour in (style.OTHERS, *style.COLOURS[3:6]) else "white"
                look: dict[str, Any] = {"va": "center_baseline", "fontsize": style.SIZE - 1.5, "color": ink}
                axes.text(left + part / 2, height, percent(part).removesuffix(" %"), ha="center", zorder=3, **look)
        start = start + share
    axes.set_xlim(0, 1)
    axes.set_ylim(n_rows, 0)
    axes.set_axis_off()
