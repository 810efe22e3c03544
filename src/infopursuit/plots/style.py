"""How all pictures look: colours told apart with every kind of colour vision, plain axes, measured words, saving."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import Explanation, ExplanationStep, count, percent
from infopursuit.files import write_atomically
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, UNSEEN, OTHERS, EDGE, GRID, EMPTY = (
    "#1F2328", "#6B7280", "#8F959E", "#BDC3CB", "#C6CBD1", "#E5E7EB", "#F1F3F5"
)  # fmt: skip
"""From the darkest grey to the lightest: words, notes, what was not seen, and so on."""

# Okabe and Ito's palette, and a marker each: told apart with every kind of colour vision, and in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", INK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
NOW = COLOURS[1]
"""What is asked about now."""

# The same green, vermilion and purple, darker so that words in them are read easily. Nothing rests on colour alone:
# the answer stands beside its question, yes is bold, and the true class says that it is.
YES, NO, NOT_KNOWN = "#007A59", "#B34700", FAINT
RIGHT, WRONG = YES, "#A0447A"
SHADES = (EMPTY, "#9CC7E8", "#2F83BE", "#0B3C66")
"""From 0 to 1, ever darker."""
GREY_SHADES = (EMPTY, "#B4BAC2", "#5B626B")
"""The same for what several classes share."""

SIZE, NOTE, HEAD = 9.0, 8.0, 12.0
"""Points of words beside a picture, of notes, and of the headline."""
MARGIN, ROW, SLANT = 0.15, 0.27, 38
"""Inches around a figure and of a row; degrees of names that do not fit level."""


def need_matplotlib() -> None:
    """Say how to get matplotlib where it is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib, which is not installed; pip install infopursuit[plots]") from error


def check_axes(axes: Any) -> None:
    """Whether matplotlib is there, and what is drawn on: None or one axes, and nothing else."""
    need_matplotlib()
    if axes is not None and not hasattr(axes, "inset_axes"):
        raise TypeError(f"axes is of type {type(axes).__name__}; give one matplotlib axes, or None for a new figure")


def at_least_one(**given: int) -> None:
    """Refuse numbers below 1, by name."""
    for name, value in given.items():
        if value < 1:
            raise ValueError(f"{name}={value} must be at least 1")


def plain(axes: Axes, grid: str = "both") -> None:
    """Faint numbers and lines, so that what is drawn stands out; ``grid`` as matplotlib's ``axis``."""
    axes.grid(axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=SIZE)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(EDGE)


def new_axes(
    size: tuple[float, float], said: tuple[Word, ...], *, left: float = MARGIN, right: float = MARGIN,
    foot: float = MARGIN, above: float = 0.1, min_width: float = 0.0,
) -> Axes:  # fmt: skip
    """One axes of ``size`` in a new figure with a headline; what is around it and above it, all in inches."""
    from matplotlib.figure import Figure

    wide = max(left + size[0] + right, min_width)
    lines = tuple(word.folded(72 * (wide - 2 * MARGIN) + 1) for word in said)
    high = MARGIN + sum(line.height for line in lines) + above + size[1] + foot
    figure = Figure(figsize=(wide, high), dpi=150, facecolor="white")
    write_above(figure, lines, MARGIN, MARGIN)
    return figure.add_axes((left / wide, foot / high, size[0] / wide, size[1] / high))


def save(picture: Axes | Figure, file: str | Path, **options: Any) -> Path:
    """Write what a function of this package has drawn; the ending of the file says in which format.

    picture: axes or a figure. options: those of matplotlib's ``savefig``, such as ``dpi=80``. A file that is there
    already is replaced atomically. Returns the file.
    """
    path = Path(file)
    figure: Any = picture
    while not hasattr(figure, "savefig"):  # axes of a part of a figure
        figure = figure.figure
    kind = path.suffix.removeprefix(".").lower()
    if kind not in figure.canvas.get_supported_filetypes():
        raise ValueError(f"file={str(file)!r} has no ending that says its format; give .png, .svg or .pdf")
    written = BytesIO()
    figure.savefig(written, format=kind, **options)
    write_atomically(path, written.getvalue())
    return path


# ---- words: measured before they are drawn, folded, shortened, and never taken for formulas --------------------------


@dataclass(frozen=True)
class Word:
    """Something that is written: its text, colour, weight and size in points."""

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

    @property
    def height(self) -> float:
        """Inches of its lines, with the space between them."""
        return 1.4 * self.size / 72 * (self.text.count("\n") + 1)

    def folded(self, width: float) -> Word:
        """In lines of at most so many points, broken between words."""
        lines: list[str] = []
        for part in self.text.split():
            longer = f"{lines[-1]} {part}" if lines else part
            if lines and replace(self, text=longer).width <= width:
                lines[-1] = longer
            else:
                lines.append(part)
        return replace(self, text="\n".join(lines))


def short(name: Any, n: int) -> str:
    """A name of at most n characters.

    >>> short("Nelson's Sharp-tailed Sparrow", 12)
    "Nelson's Sh…"
    """
    text = str(name)
    return text if len(text) <= n else f"{text[: n - 1]}…"


def find_class(classes: tuple[Any, ...], truth: Any) -> int | None:
    """The index of the true class."""
    if truth is None:
        return None
    for c, name in enumerate(classes):
        if name == truth or str(name) == str(truth):
            return c
    raise ValueError(f"truth={truth!r} is none of the classes {list(classes)[:10]}")


def outcome(explanation: Explanation, true_class: int | None) -> str:
    """The prediction, and whether it is right."""
    asked = count(len(explanation), "question")
    text = f"{short(explanation.prediction, 36)} with {percent(explanation.confidence)} after {asked}"
    if true_class is None:
        return text
    truth = explanation.classes[true_class]
    return f"{text}, which is right" if truth == explanation.prediction else f"{text}, but it is {short(truth, 36)}"


def headline(explanation: Explanation, true_class: int | None, n_shown: int, note: str) -> tuple[Word, Word]:
    """The outcome; below it how to read the picture, and how many of the steps it shows."""
    if n_shown < len(explanation):
        note = (
            f"{n_shown} of {len(explanation)} steps: the last and those with the most "
            f"influence on the posterior; {note}"
        )
    unlike = f": novel, p-value {explanation.p_value:.2g}" if explanation.novel else ""
    return Word(outcome(explanation, true_class) + unlike, INK, True, HEAD), Word(note, FAINT, False, NOTE)


def write_above(figure: Figure, lines: tuple[Word, ...], left: float, top: float) -> None:
    """One below the other from the top left corner of a figure; both distances in inches."""
    wide, high = figure.get_size_inches()
    for word in lines:
        figure.text(left / wide, 1 - top / high, word.text, ha="left", va="top", **word.style)
        top += word.height


def write(axes: Axes, word: Word, at: tuple[float, float], shift: tuple[float, float], where: Any, **how: Any) -> None:
    """A word so many points away from a place; not cut off at the border of the axes."""
    where = {"xycoords": where, "textcoords": "offset points"}
    axes.annotate(word.text, at, xytext=shift, annotation_clip=False, **where, **how, **word.style)


# ---- which steps and classes a picture shows, and how steps are written beside its rows ------------------------------

StepWords = tuple[Word, Word, Word]
"""Number, question and answer."""


def shown_classes(belief: FloatArray, true_class: int | None, max_classes: int) -> IntArray:
    """The classes to draw, in class order: all of a few, else those that were most probable at some step.

    belief: (steps, C). The class that leads in the end and the true one are always among them.
    """
    at_least_one(max_classes=max_classes)
    needed = {int(belief[-1].argmax()), *([] if true_class is None else [true_class])}
    peak = belief.max(axis=0)
    peak[list(needed)] = np.inf
    return np.sort(np.argsort(-peak, kind="stable")[: max(max_classes, len(needed))])


def answer_colour(step: ExplanationStep) -> str:
    """Green after a yes, red after a no, grey where nothing is known, black after any other answer."""
    return NOT_KNOWN if step.answer is None else {"yes": YES, "no": NO}.get(step.said, INK)


def step_words(explanation: Explanation, shown: list[int], longest: int = 44) -> list[StepWords]:
    """What is written to the left of each row; the first row is before any question."""
    rows = [(Word(""), Word("before any question", FAINT), Word(""))]
    for k in shown:
        step, colour = explanation.steps[k], answer_colour(explanation.steps[k])
        bold = colour == YES
        question, answer = Word(short(step.name, longest), colour, bold), Word(short(step.said, 20), colour, bold)
        rows.append((Word(f"{k + 1}", FAINT), question, answer))
    return rows


def step_widths(steps: list[StepWords]) -> tuple[float, float, float]:
    """Points that numbers, questions and answers take, with the space after each."""
    (_, before, _), *asked = steps
    number, question, answer = (max((step[i].width for step in asked), default=0.0) for i in range(3))
    # before any question there is no answer, and its words may take that place too
    return number + 8, max(question, before.width - answer - 14) + 14, answer + 9


def write_steps(axes: Axes, steps: list[StepWords]) -> None:
    """Number, question and answer to the left of each row, in columns of their own; row r is centred at r + 0.5."""
    _, question, answer = step_widths(steps)
    starts = (-(answer + question + 8), -(answer + question), -answer)
    for row, words in enumerate(steps):
        for word, start, side in zip(words, starts, ("right", "left", "left"), strict=True):
            write(axes, word, (0, row + 0.5), (start, 0), axes.get_yaxis_transform(), ha=side, va="center_baseline")
