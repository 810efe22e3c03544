"""How all pictures look: colours told apart with every kind of colour vision, plain axes, labelled steps, saving."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.pursuit.explanation import Explanation, ExplanationStep, count, percent, short
from infopursuit.support.checks import whole_number
from infopursuit.support.files import write_atomically
from infopursuit.support.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, UNSEEN = "#1F2328", "#6B7280", "#8F959E"
OTHERS, EDGE, GRID, EMPTY = "#BDC3CB", "#C6CBD1", "#E5E7EB", "#F1F3F5"
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

SIZE, NOTE, HEAD = 9.0, 8.0, 11.0
"""Points of words beside a picture, of notes, and of the headline."""
ROW, LETTER, SLANT = 0.27, 0.075, 38
"""Inches of a row and of a letter; degrees of names that do not fit level."""


def need_matplotlib() -> None:
    """Say how to get matplotlib where it is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib, which is not installed; pip install infopursuit[plots]") from error


def axes_of(axes: Any, wide: float, high: float) -> Axes:
    """The axes given, or those of a new figure of so many inches."""
    need_matplotlib()
    if axes is None:
        from matplotlib.figure import Figure

        return Figure(figsize=(wide, high), dpi=150, facecolor="white", layout="constrained").add_subplot()
    if not hasattr(axes, "inset_axes"):
        raise TypeError(f"axes is of type {type(axes).__name__}; give one matplotlib axes, or None for a new figure")
    return axes  # type: ignore[no-any-return]


def plain(axes: Axes, grid: str = "both") -> None:
    """Faint numbers and lines, so that what is drawn stands out; ``grid`` as matplotlib's ``axis``."""
    axes.grid(axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=SIZE)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(EDGE)


def bare(axes: Axes) -> None:
    """Neither borders nor the marks of ticks."""
    axes.tick_params(length=0, labelsize=SIZE, labelcolor=INK)
    for side in axes.spines.values():
        side.set_visible(False)


def write_title(axes: Axes, head: str, note: str = "") -> None:
    """A headline at the left above the axes, and how to read the picture below."""
    axes.set_title(head, loc="left", fontsize=HEAD, fontweight="bold", color=INK, parse_math=False)
    axes.set_xlabel(note, loc="left", fontsize=NOTE, color=FAINT, parse_math=False)


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
    figure.savefig(written, format=kind, **{"bbox_inches": "tight", **options})
    write_atomically(path, written.getvalue())
    return path


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
    if explanation.novel:
        text += f" (novel, p-value {explanation.p_value:.2g})"
    if true_class is None:
        return text
    truth = explanation.classes[true_class]
    return f"{text}, which is right" if truth == explanation.prediction else f"{text}, but it is {short(truth, 36)}"


def few_steps(explanation: Explanation, n_shown: int, note: str) -> str:
    """How to read a picture, and how many of the steps it shows."""
    if n_shown == len(explanation):
        return note
    return f"{n_shown} of {len(explanation)} steps: the last and the most influential\n{note}"


def class_names(explanation: Explanation, shown: IntArray, true_class: int | None, longest: int) -> list[str]:
    """Names of classes; the true one says that it is."""
    return [f"{'true: ' if c == true_class else ''}{short(explanation.classes[c], longest)}" for c in shown.tolist()]


def class_colour(explanation: Explanation, c: int, true_class: int | None, otherwise: str = INK) -> str:
    """Green for the true class, or the predicted one where the truth is not known; purple for a wrong prediction."""
    winner = int(explanation.posteriors[-1].argmax())
    right = winner if true_class is None else true_class
    return RIGHT if c == right else WRONG if c == winner else otherwise


def shown_classes(belief: FloatArray, true_class: int | None, max_classes: int) -> IntArray:
    """Choose the classes to draw: those that were most probable at some step.

    Parameters
    ----------
    belief : (K, C) array of float
        The posterior after each step that is drawn.
    true_class : int, optional
        Always drawn where it is known, and so is the predicted class.
    max_classes : int

    Returns
    -------
    array of int
        In class order.
    """
    whole_number(max_classes, "max_classes", 1)
    needed = {int(belief[-1].argmax())}
    if true_class is not None:
        needed.add(true_class)

    peak = belief.max(axis=0)
    peak[list(needed)] = np.inf
    most_probable = np.argsort(-peak, kind="stable")
    return np.sort(most_probable[: max(max_classes, len(needed))])


def answer_colour(step: ExplanationStep) -> str:
    """Green after a yes, red after a no, grey where nothing is known, black after any other answer."""
    return NOT_KNOWN if step.answer is None else {"yes": YES, "no": NO}.get(step.said, INK)


def step_words(explanation: Explanation, shown: list[int], longest: int = 44) -> list[str]:
    """Number, question and answer of each step that is shown; the first is before any question."""
    steps = ((k, explanation.steps[k]) for k in shown)
    return ["before any question", *(f"{k + 1}. {short(s.name, longest)}: {short(s.said, 20)}" for k, s in steps)]


def colour_steps(labels: Any, explanation: Explanation, shown: list[int]) -> None:
    """Labels of `step_words` in the colours of the answers."""
    colours = [FAINT, *(answer_colour(explanation.steps[k]) for k in shown)]
    for label, colour in zip(labels, colours, strict=True):
        label.set(color=colour, fontweight="bold" if colour == YES else "normal", parse_math=False)
