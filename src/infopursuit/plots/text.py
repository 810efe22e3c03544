"""The paper's picture of a pursuit over image patches, drawn with characters: for terminals, logs and mail."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.explanation import Explanation, percent
from infopursuit.plots.steps import shown_steps
from infopursuit.progress import bar
from infopursuit.terminal import beside, paint
from infopursuit.types import UNKNOWN, FloatArray, IntArray

LIT, DARK, UNSEEN = "██", "  ", "░░"
NEW_DARK = "··"
NARROWEST = 16
"""Columns that the bars below a panel need."""


def text_trace(
    explanation: Explanation, *, image: Any = None, width: int = 80, most: int = 7, top: int = 3, colour: bool = False
) -> str:
    """One image's pursuit as text, a panel for each step: what has been seen of the image, and the belief below it.

    Lit pixels are full blocks and what was not looked at is fog. The patch asked about last is in colour; its dark
    pixels are dots.

    Parameters
    ----------
    image: (rows, columns) of 0 and 1, shown first where it is given.
    width: columns of the terminal. Where there is no room for two panels side by side, only the last one is drawn.
    most: of more steps than this the last and the most influential ones are shown.
    top: how many classes get a bar.
    """
    if explanation.shape is None:
        raise ValueError("this explanation is not about an image; text_trace draws explanations over patch queries")
    shown = shown_steps(explanation, most)
    each = max(2 * explanation.shape[1], NARROWEST)
    fit = (width - 2 + 3) // (each + 3)
    if fit < 2:
        shown = shown[-1:]
    panels = []
    if image is not None:
        panels.append(["the image", *_pixels(_whole(image, explanation.shape), set(), colour)])
    for asked in [k + 1 for k in shown] or [0]:
        newest = {atom for step in explanation.steps[asked - 1 : asked] for atom in step.atoms}
        pixels = _pixels(explanation.revealed(asked), newest, colour)
        title = f"question {asked}" if asked else "nothing asked"
        panels.append([title, *pixels, *_bars(explanation, asked, top, each, colour)])
    lines: list[str] = []
    for start in range(0, len(panels), max(fit, 1)):
        some = [[f"{panel[0]:<{each}}", *panel[1:]] for panel in panels[start : start + max(fit, 1)]]
        lines += [*([""] if lines else []), *(line.rstrip() for line in beside(some))]
    return "\n".join(lines)


def _whole(image: Any, shape: tuple[int, int]) -> IntArray:
    """(rows, columns) of the black and white image."""
    array = np.asarray(image)
    if array.size != shape[0] * shape[1]:
        raise ValueError(f"image has shape {array.shape}, but the explanation is about images of shape {shape}")
    if not np.isin(array, (UNKNOWN, 0, 1)).all():
        raise ValueError("image has grey pixels; give it in black and white, as queries.observe(image) does")
    return array.reshape(shape).astype(np.int64)


def _pixels(seen: IntArray, newest: set[int], colour: bool) -> list[str]:
    """One line for each row of the image, two characters for each pixel."""
    rows, columns = seen.shape
    lines = []
    for r in range(rows):
        marks = []
        for c in range(columns):
            new = r * columns + c in newest
            mark = {0: NEW_DARK if new else DARK, 1: LIT}.get(int(seen[r, c]), UNSEEN)
            if colour and (new or mark == UNSEEN):
                mark = paint(mark, "now" if new else "fog")
            marks.append(mark)
        lines.append("".join(marks))
    return lines


def _bars(explanation: Explanation, asked: int, top: int, wide: int, colour: bool) -> list[str]:
    """The most probable classes after some questions with a bar each; the winner of the whole pursuit stands out."""
    posterior: FloatArray = explanation.posteriors[asked]
    winner = int(explanation.posteriors[-1].argmax())
    lines = []
    for c in np.argsort(-posterior, kind="stable")[:top].tolist():
        name = str(explanation.classes[c])[: wide - 10]
        room = wide - len(name) - 8
        if posterior[c] < 0.005:
            break
        line = f"{name} {bar(posterior[c], room)} {percent(float(posterior[c])):>6}"
        lines.append(paint(line, "bold") if colour and c == winner else line)
    return lines
