"""Which steps of a pursuit a picture shows, and how they are written beside its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from infopursuit.explanation import Explanation, ExplanationStep
from infopursuit.plots.lettering import Word, short, write
from infopursuit.plots.style import FAINT, INK, NO, NOT_KNOWN, YES
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

StepWords = tuple[Word, Word, Word]
"""Number, question and answer."""


def shown_steps(explanation: Explanation, most: int) -> list[int]:
    """Which steps to draw: all of a few; else the most influential and the last, so that it ends as the pursuit did."""
    if most < 1:
        raise ValueError(f"most={most} must be at least 1; it is the number of steps to show")
    n = len(explanation)
    if n <= most:
        return list(range(n))
    others = [k for k in np.argsort(-explanation.influence(), kind="stable").tolist() if k != n - 1]
    return [*sorted(others[: most - 1]), n - 1]


def shown_classes(belief: FloatArray, true_class: int | None, n: int) -> IntArray:
    """The classes to draw, in class order: all of a few, else those that were most probable at some step.

    belief: (steps, C). The class that leads in the end and the true one are always among them.
    """
    if n < 1:
        raise ValueError(f"classes={n} must be at least 1; it is the number of classes to show")
    needed = {int(belief[-1].argmax()), *([] if true_class is None else [true_class])}
    peak = belief.max(axis=0)
    peak[list(needed)] = np.inf
    return np.sort(np.argsort(-peak, kind="stable")[: max(n, len(needed))])


def answer_colour(step: ExplanationStep) -> str:
    """Green after a yes, red after a no, grey where nothing is known, black after any other answer."""
    return NOT_KNOWN if step.answer is None else {"yes": YES, "no": NO}.get(step.said, INK)


def step_words(explanation: Explanation, shown: list[int], longest: int = 44) -> list[StepWords]:
    """What is written to the left of each row; the first row is before any question."""
    rows = [(Word(""), Word("before any question", FAINT), Word(""))]
    for k in shown:
        step = explanation.steps[k]
        colour = answer_colour(step)
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
