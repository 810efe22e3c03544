"""The paper's picture of a pursuit over yes/no questions: what was asked and answered, and the belief after each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, percent
from infopursuit.plots.images import EMPTY, FAINT, INK, _find, _short, need_matplotlib
from infopursuit.plots.text import shown_steps
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's green, vermilion and purple, darker so that words in them are read easily. Nothing rests on colour
# alone: the answer stands beside its question, yes is bold, and the true class says that it is.
YES, NO, NOT_KNOWN = "#007A59", "#B34700", FAINT
RIGHT, WRONG = YES, "#A0447A"
BELIEF = (EMPTY, "#9CC7E8", "#2F83BE", "#0B3C66")
"""From probability 0 to 1, ever darker."""
SHARED = (EMPTY, "#B4BAC2", "#5B626B")
"""The same for the column that many classes share."""

SIZE, NOTE, HEAD = 9.0, 8.0, 12.0
"""Points of what is written beside the cells, of the note, and of the headline."""
ROW, COLUMN, COLUMNS = 0.27, 0.52, 2.4
"""Inches of a new figure: height of a row, least width of a column, least width of all columns."""
LEVEL = 6.4
"""Inches that all columns may take so that the names above them lie level; else the names are slanted."""
WIDEST_HEAD = 6.5
"""Inches up to which a figure is made wider for its headline; a longer one is folded."""
SLANT = 38
"""Degrees."""
GAP = 0.2
"""Between the classes and the column of the others, in columns."""


def heatmap(
    explanation: Explanation, *, axes: Any = None, truth: Any = None, most: int = 20, classes: int = 10
) -> Figure:
    """Draw one pursuit as a heatmap of class probabilities, a row for each step, as in the paper's "IP in action".

    A row reads from left to right: the question, green and bold after a yes, red after a no, grey where the answer was
    not known, black after any other answer; the answer; what was believed after it. The first row is before any
    question. The name of the class predicted in the end is bold and green; if ``truth`` is given and another one, the
    prediction is purple and the true class green.

    Parameters
    ----------
    explanation: what `Trace` gives for one input. Made for yes/no questions, but any will do.
    axes: one axes to draw on; words go to the left of it and above. A new figure if None.
    truth: the true class, as in ``explanation.classes``.
    most: of more steps than this only the last and the most influential are shown, by KL(after || before).
    classes: of more classes than this only those that were most probable at some step get a column, always with the
        predicted and the true one among them; the others share a last column.

    Returns the figure; ``figure.savefig("heatmap.png")`` writes it. No window is opened and pyplot is left alone.
    """
    need_matplotlib()
    if classes < 1:
        raise ValueError(f"classes={classes} must be at least 1; it is the number of classes to show")
    if axes is not None and not hasattr(axes, "imshow"):
        raise TypeError(f"axes is of type {type(axes).__name__}; give one matplotlib axes, or None for a new figure")
    true_class = _find(explanation.classes, truth)
    shown = shown_steps(explanation, most)
    belief = explanation.posteriors[[0, *(k + 1 for k in shown)]]
    columns = _columns(belief, true_class, classes)
    others = np.delete(belief, columns, axis=1)
    steps, names = _steps(explanation, shown), _names(explanation, columns, true_class)
    if axes is None:
        axes = _new_axes(steps, names, others.shape[1] > 0, _headline(explanation, true_class, len(shown)))
    centres = _draw_cells(axes, belief[:, columns], others)
    _write_steps(axes, steps)
    _write_names(axes, names, centres)
    figure: Figure = axes.figure
    return figure


@dataclass(frozen=True)
class _Word:
    """Something that is written around the cells."""

    text: str
    colour: str = INK
    bold: bool = False
    size: float = SIZE

    @property
    def style(self) -> dict[str, Any]:
        """As matplotlib has it; a dollar in a name is a dollar."""
        weight = "bold" if self.bold else "normal"
        return {"color": self.colour, "fontsize": self.size, "fontweight": weight, "parse_math": False}

    @property
    def width(self) -> float:
        """Points; a little more than that, since letters are drawn on whole pixels."""
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        font = FontProperties(size=self.size, weight=self.style["fontweight"])
        return 1.03 * float(text_to_path.get_text_width_height_descent(self.text, font, ismath=False)[0])

    def folded(self, width: float) -> _Word:
        """In lines of at most so many points, broken between words."""
        lines: list[str] = []
        for part in self.text.split():
            longer = f"{lines[-1]} {part}" if lines else part
            if lines and replace(self, text=longer).width <= width:
                lines[-1] = longer
            else:
                lines.append(part)
        return replace(self, text="\n".join(lines))


_Step = tuple[_Word, _Word, _Word]
"""Number, question and answer."""


def _columns(belief: FloatArray, true_class: int | None, n: int) -> IntArray:
    """The classes that get a column, in class order: all of a few, else those that were most probable at some step."""
    needed = {int(belief[-1].argmax()), *([] if true_class is None else [true_class])}
    peak = belief.max(axis=0)
    peak[list(needed)] = np.inf
    return np.sort(np.argsort(-peak, kind="stable")[: max(n, len(needed))])


def _steps(explanation: Explanation, shown: list[int]) -> list[_Step]:
    """What is written to the left of each row."""
    rows = [(_Word(""), _Word("before any question", FAINT), _Word(""))]
    for k in shown:
        step = explanation.steps[k]
        colour = NOT_KNOWN if step.answer is None else {"yes": YES, "no": NO}.get(step.said, INK)
        bold = colour == YES
        question, answer = _Word(_short(step.name, 44), colour, bold), _Word(_short(step.said, 20), colour, bold)
        rows.append((_Word(f"{k + 1}", FAINT), question, answer))
    return rows


def _names(explanation: Explanation, columns: IntArray, true_class: int | None) -> list[_Word]:
    """What is written above each column."""
    winner = int(explanation.posteriors[-1].argmax())
    right = winner if true_class is None else true_class
    names = []
    for c in columns.tolist():
        text = f"{'true: ' if c == true_class else ''}{_short(explanation.classes[c], 28)}"
        names.append(_Word(text, RIGHT if c == right else WRONG if c == winner else INK, c in (right, winner)))
    others = len(explanation.classes) - len(columns)
    return names if not others else [*names, _Word(f"{others} other{'' if others == 1 else 's'}", FAINT)]


def _headline(explanation: Explanation, true_class: int | None, n_shown: int) -> tuple[_Word, _Word]:
    """What came out and whether it is right; and how to read the picture."""
    n = len(explanation)
    asked = f"{n} question{'' if n == 1 else 's'}"
    text = f"{_short(explanation.prediction, 36)} with {percent(explanation.confidence)} after {asked}"
    if true_class is not None:
        truth = explanation.classes[true_class]
        text += ", which is right" if truth == explanation.prediction else f", but it is {_short(truth, 36)}"
    below = "numbers: belief after the answer in per cent, empty below 0.5"
    if n_shown < n:
        below = f"{n_shown} of {n} steps: the last and those that moved the belief most; {below}"
    return _Word(text, INK, True, HEAD), _Word(below, FAINT, False, NOTE)


def _new_axes(steps: list[_Step], names: list[_Word], others: bool, headline: tuple[_Word, _Word]) -> Axes:
    """The axes of a new figure that is as large as what goes into it, with the headline above."""
    from matplotlib.figure import Figure

    widths = [name.width / 72 for name in names]  # from here on in inches
    edge, left = 0.15, 0.15 + sum(_step_widths(steps)) / 72
    room = min(headline[0].width / 72, WIDEST_HEAD) + edge - left
    column = max(COLUMN, max(room, COLUMNS) / (len(names) + GAP * others))
    level = max(column, max(widths) + 0.14)
    if level * len(names) <= LEVEL:
        column = level
    above, beyond = 0.22, 0.0
    if _slanted(names, 72 * column):
        tilt = np.deg2rad(SLANT)
        above += max(widths) * float(np.sin(tilt))
        ends = [(i + 0.5) * column + width * float(np.cos(tilt)) for i, width in enumerate(widths)]
        beyond = max(0.0, max(ends) - len(names) * column)
    cells, rows = (len(names) + GAP * others) * column, len(steps) * ROW
    wide = left + cells + beyond + edge
    said = [word.folded(72 * (wide - 2 * edge) + 1) for word in headline]
    heights = [1.4 * word.size / 72 * (word.text.count("\n") + 1) for word in said]
    high = 2 * edge + sum(heights) + 0.1 + above + rows
    figure = Figure(figsize=(wide, high), dpi=150, facecolor="white")
    for word, down in zip(said, (edge, edge + heights[0]), strict=True):
        figure.text(edge / wide, 1 - down / high, word.text, ha="left", va="top", **word.style)
    return figure.add_axes((left / wide, edge / high, cells / wide, rows / high))


def _step_widths(steps: list[_Step]) -> tuple[float, float, float]:
    """Points that numbers, questions and answers take, with the space after each."""
    (_, before, _), *asked = steps
    number, question, answer = (max((step[i].width for step in asked), default=0.0) for i in range(3))
    # before any question there is no answer, and its words may take that place too
    return number + 8, max(question, before.width - answer - 14) + 14, answer + 9


def _slanted(names: list[_Word], column: float) -> bool:
    """Whether a name is too long to lie level above columns of so many points."""
    return max(name.width for name in names) > column - 4


def _draw_cells(axes: Axes, cells: FloatArray, others: FloatArray) -> list[float]:
    """The belief, with numbers where a cell has room for them; returns the centres of the columns."""
    from matplotlib.colors import LinearSegmentedColormap

    n_rows, n_columns = cells.shape
    blocks: list[tuple[FloatArray, float, tuple[str, ...]]] = [(cells, 0.0, BELIEF)]
    if others.shape[1]:
        blocks.append((others.sum(axis=1, keepdims=True), n_columns + GAP, SHARED))
    end = blocks[-1][1] + blocks[-1][0].shape[1]
    wide, high = _cell_size(axes, end, n_rows)
    best = np.maximum(cells.max(axis=1), others.max(axis=1, initial=0.0))
    leading = {(r, c) for r, c in np.argwhere(cells == best[:, None]).tolist() if (cells[r] == best[r]).sum() == 1}
    for block, start, colours in blocks:
        stop = start + block.shape[1]
        shades = LinearSegmentedColormap.from_list("belief", colours)
        extent = (start, stop, n_rows, 0.0)
        axes.imshow(block, cmap=shades, vmin=0, vmax=1, extent=extent, aspect="auto", interpolation="nearest")
        axes.hlines(np.arange(1, n_rows), start, stop, color="white", linewidth=1.2)
        axes.vlines(np.arange(start, stop + 1), 0, n_rows, color="white", linewidth=1.2)
        if wide < 2.6 * NOTE or high < 1.3 * NOTE:
            continue
        for (row, column), p in np.ndenumerate(block):
            at = (start + column + 0.5, row + 0.5)
            number = percent(float(p)).removesuffix(" %")
            style: dict[str, Any] = {"fontsize": NOTE, "ha": "center", "va": "center_baseline"}
            style["fontweight"] = "bold" if (row, start + column) in leading else "normal"
            # the weights of red, green and blue in how bright a colour looks
            style["color"] = INK if np.dot(shades(p)[:3], (0.3, 0.59, 0.11)) > 0.6 else "white"
            axes.text(*at, number if number != "0" else "", **style)
    axes.set_xlim(0, end)
    axes.set_ylim(n_rows, 0)
    axes.set_axis_off()
    return [start + i + 0.5 for block, start, _ in blocks for i in range(block.shape[1])]


def _cell_size(axes: Axes, n_columns: float, n_rows: float) -> tuple[float, float]:
    """Points that a cell is wide and high."""
    points = 72 / axes.figure.dpi
    return points * axes.bbox.width / n_columns, points * axes.bbox.height / n_rows


def _write_steps(axes: Axes, steps: list[_Step]) -> None:
    """Number, question and answer to the left of each row, in columns of their own."""
    _, question, answer = _step_widths(steps)
    starts = (-(answer + question + 8), -(answer + question), -answer)
    for row, words in enumerate(steps):
        for word, start, side in zip(words, starts, ("right", "left", "left"), strict=True):
            _write(axes, word, (0, row + 0.5), (start, 0), axes.get_yaxis_transform(), ha=side, va="center_baseline")


def _write_names(axes: Axes, names: list[_Word], centres: list[float]) -> None:
    """The names of the classes above their columns."""
    column = _cell_size(axes, axes.get_xlim()[1], 1)[0]
    if _slanted(names, column):
        how = {"rotation": SLANT, "rotation_mode": "anchor", "ha": "left", "va": "baseline"}
    else:
        how = {"ha": "center", "va": "baseline"}
    for name, centre in zip(names, centres, strict=True):
        _write(axes, name, (centre, 1), (0, 5), axes.get_xaxis_transform(), **how)


def _write(
    axes: Axes, word: _Word, at: tuple[float, float], shift: tuple[float, float], where: Any, **how: Any
) -> None:
    """A word so many points away from a place; not cut off at the border of the axes."""
    axes.annotate(
        word.text,
        at,
        xytext=shift,
        xycoords=where,
        textcoords="offset points",
        annotation_clip=False,
        **how,
        **word.style,
    )
