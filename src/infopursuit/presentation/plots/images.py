"""A pursuit over image patches: where it looked, what it saw, and the posterior; as a figure and with characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.presentation.plots import style
from infopursuit.pursuit.explanation import Explanation, ExplanationStep, percent, short
from infopursuit.queries.patches import OFF, shade
from infopursuit.support.progress import bar
from infopursuit.support.terminal import beside, paint
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEFORE = "#3390D6"
"""Asked about earlier."""
PANEL = 1.15
"""Inches that a panel of a new figure is wide and high."""
READ = "thick box: asked about now, thin: before; grey: not looked at"
MAX_CLASSES = 10
"""Of more classes than this only the most probable get a bar."""
NARROWEST, TOP = 16, 3
"""Columns that the bars below a panel of characters need; how many classes get one."""


def image_trace(image: Any, explanation: Explanation, *, truth: Any = None, max_steps: int = 8) -> Figure:
    """Draw one image's pursuit, a column for each step, as in the paper's figure "IP in action".

    Top row: the image, the patch asked about now in a thick red box, earlier ones in thin blue boxes. Second row: what
    has been revealed, the rest grey. Third row: the posterior; the predicted class is green. If ``truth`` is given and
    another one, the prediction is purple and the true class green. The first column is before any question.

    Parameters
    ----------
    image: (rows, columns) as it was asked about, or (rows, columns, 3); flat and with channels first will do.
    explanation: what `Trace` gives for that image.
    truth: the true class, as in ``explanation.classes``.
    max_steps: of more steps than this only the last and the most influential are shown, by KL(after || before).
    """
    style.need_matplotlib()
    pixels = explanation.colours(image)
    true_class = style.find_class(explanation.classes, truth)
    shown = explanation.shown_steps(max_steps)
    columns = [0, *(k + 1 for k in shown)]  # questions asked before the column's posterior
    bars = style.shown_classes(explanation.posteriors[columns], true_class, MAX_CLASSES)
    names = style.class_names(explanation, bars, true_class, 24)
    from matplotlib.figure import Figure

    low = max(0.16 * len(bars), 0.5)
    wide = len(columns) * (PANEL + 0.1) + max(0.9, style.LETTER * max(map(len, names)))
    size = (max(wide, 6.0), 2 * PANEL + low + 1.1)
    figure = Figure(figsize=size, dpi=150, facecolor="white", layout="constrained")
    grid = figure.subplots(3, len(columns), squeeze=False, height_ratios=(PANEL, PANEL, low))
    for place, asked in enumerate(columns):
        _draw_image(grid[0, place], pixels, explanation, asked)
        _draw_revealed(grid[1, place], explanation, asked)
        _draw_posterior(grid[2, place], explanation, asked, bars, true_class, names if place == 0 else [""] * len(bars))
        grid[0, place].set_title("before" if asked == 0 else f"k = {asked}", fontsize=10, color=style.INK, pad=5)
    for axis, words in zip(grid[:2, 0], ("asked", "revealed"), strict=True):
        axis.set_ylabel(words, fontsize=9, color=style.FAINT, rotation=0, ha="right", va="center", labelpad=6)
    look: dict[str, Any] = {
        "x": 0.01,
        "ha": "left",
        "fontsize": style.HEAD,
        "color": style.INK,
        "parse_math": False,
    }
    figure.suptitle(style.outcome(explanation, true_class), fontweight="bold", **look)
    figure.supxlabel(style.few_steps(explanation, len(shown), READ), **look | {"fontsize": style.NOTE})
    return figure


def _draw_image(axis: Axes, pixels: FloatArray, explanation: Explanation, asked: int) -> None:
    axis.imshow(np.nan_to_num(pixels), interpolation="nearest")
    for k, step in enumerate(explanation.steps[:asked]):
        now = k == asked - 1
        _box(axis, explanation, step, style.NOW if now else BEFORE, 2.4 if now else 1.1)
    _bare(axis)


def _draw_revealed(axis: Axes, explanation: Explanation, asked: int) -> None:
    """The part of the image that the posterior rests on; everything else in grey."""
    from matplotlib.colors import to_rgb

    seen = explanation.brightness(asked)
    axis.imshow(np.where(np.isnan(seen), to_rgb(style.UNSEEN), seen), interpolation="nearest")
    for step in explanation.steps[:asked][-1:]:
        _box(axis, explanation, step, style.NOW, 1.2)
    _bare(axis)


def _box(axis: Axes, explanation: Explanation, step: ExplanationStep, colour: str, width: float) -> None:
    """A frame around the pixels of one query; dashed where the answer was not known."""
    from matplotlib.patches import Rectangle

    rows, columns = np.array(sorted(explanation.pixels(step))).T
    wide, high = np.ptp(columns) + 1, np.ptp(rows) + 1
    # a frame is drawn half inside: a thick one around a single small pixel would hide it
    width = min(width, 0.4 * 72 * PANEL * min(wide, high) / max(explanation.shape or (1,)))
    look: dict[str, Any] = {"edgecolor": colour, "linewidth": width, "linestyle": "--" if step.answer is None else "-"}
    corner = (columns.min() - 0.5, rows.min() - 0.5)
    axis.add_patch(Rectangle(corner, wide, high, fill=False, **look)).set_clip_on(False)


def _bare(axis: Axes) -> None:
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set_color(style.UNSEEN)
        spine.set_linewidth(0.5)


def _draw_posterior(
    axis: Axes, explanation: Explanation, asked: int, bars: IntArray, true_class: int | None, names: list[str]
) -> None:
    """Bars of the posterior after ``asked`` questions, and the class that leads with its probability below."""
    posterior = explanation.posteriors[asked]
    winner = int(explanation.posteriors[-1].argmax())
    colours = [style.class_colour(explanation, c, true_class, style.OTHERS) for c in bars.tolist()]
    heights = np.arange(len(bars))
    axis.barh(heights, np.ones(len(bars)), height=0.74, color=style.EMPTY)
    axis.barh(heights, posterior[bars], height=0.74, color=colours)
    axis.set(xlim=(0, 1), ylim=(len(bars) - 0.5, -0.5), xticks=[])
    style.bare(axis)
    axis.set_yticks(heights, names, parse_math=False)
    for label, c in zip(axis.get_yticklabels(), bars, strict=True):
        label.set_fontweight("bold" if c in (winner, true_class) else "normal")
    leader = int(posterior.argmax())
    words = "prior" if asked == 0 else f"{short(explanation.classes[leader], 11)}: {percent(float(posterior[leader]))}"
    axis.set_xlabel(words, fontsize=9, labelpad=4, color=style.FAINT if asked == 0 else style.INK)


# ---- with characters: for terminals, logs and mail -------------------------------------------------------------------


def text_trace(
    explanation: Explanation, *, image: Any = None, width: int = 80, max_steps: int = 7, colour: bool = False
) -> str:
    """One image's pursuit as text, a panel for each step: what has been revealed, and the posterior below it.

    Lit pixels are full blocks, grey ones other marks (`patches.SHADES`), and what was not looked at is fog. The patch
    asked about last is in colour; its dark pixels are dots.

    Parameters
    ----------
    image: shown first where it is given: (rows, columns) of 0 and 1, or grey or in colour where the queries are.
    width: columns of the terminal. Where there is no room for two panels side by side, only the last one is drawn.
    max_steps: of more steps than this the last and the most influential ones are shown.
    """
    if explanation.shape is None:
        raise ValueError("this explanation is not about an image; text_trace draws explanations over patch queries")
    shown = explanation.shown_steps(max_steps)
    each = max(2 * explanation.shape[1], NARROWEST)
    fit = (width - 2 + 3) // (each + 3)
    if fit < 2:
        shown = shown[-1:]
    panels = []
    if image is not None:
        given = np.asarray(image, dtype=np.float64)
        if explanation.levels == 2 and not np.isin(given[given == given], (UNKNOWN, 0, 1)).all():
            raise ValueError("image has grey pixels; give it in black and white, as queries.observe(image) does")
        whole = explanation.colours(np.where(given == UNKNOWN, np.nan, given))
        panels.append(["the image", *draw_pixels(whole, set(), colour)])
    for asked in [k + 1 for k in shown] or [0]:
        newest = explanation.pixels(explanation.steps[asked - 1]) if asked else set()
        title = f"question {asked}" if asked else "nothing asked"
        pixels = draw_pixels(explanation.brightness(asked), newest, colour)
        panels.append([title, *pixels, *_bars(explanation, asked, each, colour)])
    lines: list[str] = []
    for start in range(0, len(panels), max(fit, 1)):
        some = [[f"{panel[0]:<{each}}", *panel[1:]] for panel in panels[start : start + max(fit, 1)]]
        lines += [*([""] if lines else []), *beside(some)]
    return "\n".join(lines)


def draw_pixels(
    seen: FloatArray, newest: set[tuple[int, int]], colour: bool, each: int = 2, hidden: str = "░"
) -> list[str]:
    """Pixels as characters, ``each`` a pixel: what was not seen is fog, or ``hidden`` where it is asked about now; dark
    pixels that are not new are blank."""
    lines = [""] * len(seen)
    for (r, c), value in np.ndenumerate(seen.mean(axis=2)):
        new, fog = (r, c) in newest, bool(np.isnan(value))
        mark = (hidden if new else "░") if fog else shade(value)
        mark = each * (" " if mark == OFF and not new else mark)
        lines[r] += paint(mark, "now" if new else "fog") if colour and (new or fog) else mark
    return lines


def _bars(explanation: Explanation, asked: int, wide: int, colour: bool) -> list[str]:
    """The most probable classes after some questions with a bar each; the predicted class stands out."""
    posterior: FloatArray = explanation.posteriors[asked]
    winner = int(explanation.posteriors[-1].argmax())
    lines = []
    for c in np.argsort(-posterior, kind="stable")[:TOP].tolist():
        if posterior[c] < 0.005:
            break
        name = str(explanation.classes[c])[: wide - 10]
        line = f"{name} {bar(posterior[c], wide - len(name) - 8)} {percent(float(posterior[c])):>6}"
        lines.append(paint(line, "bold") if colour and c == winner else line)
    return lines
