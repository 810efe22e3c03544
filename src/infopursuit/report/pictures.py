"""What was looked at in an image: the image with the patches asked about, and the part that was revealed."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.explanation import Explanation, ExplanationStep
from infopursuit.report.markup import png, text
from infopursuit.types import UNKNOWN

UNSEEN, DARK, LIT = (128, 134, 142, 255), (16, 18, 22, 255), (255, 255, 255, 255)
"""Colours of the revealed part, the same by day and by night."""
MOST_PIXELS = 512 * 512
"""An image of more pixels is not put into a page; what was revealed of it neither."""


def grey(image: Any, shape: tuple[int, int]) -> Any:
    """(rows, columns) bytes from any numbers; flat and with one channel will do."""
    array = np.asarray(image, dtype=np.float64)
    if array.size != shape[0] * shape[1]:
        raise ValueError(f"an image has shape {array.shape}, but the explanation is about images of shape {shape}")
    array = np.nan_to_num(array.reshape(shape))
    low, high = min(float(array.min()), 0.0), float(array.max())
    return np.round(255 * (array - low) / (high - low if high > low else 1.0)).astype(np.uint8)


def asked_picture(pixels: Any, explanation: Explanation, upto: int) -> str:
    """The image with the patches of the first ``upto`` questions, the newest in a thick box."""
    shape = _shape(explanation)
    steps = explanation.steps[:upto]
    boxes = [_box(step, shape[1], "asked") for step in steps[:-1]]
    boxes += [_box(steps[-1], shape[1], "now")] if steps else []
    said = f"the image with {_count(len(steps), 'patch', 'patches')} asked about"
    return _svg(png(pixels), shape, said, "".join(boxes))


def revealed_picture(explanation: Explanation, upto: int) -> str:
    """All that was seen after ``upto`` questions; what was not looked at is grey."""
    shape = _shape(explanation)
    seen = explanation.revealed(upto)
    colours = np.array([DARK, LIT, UNSEEN], dtype=np.uint8)[np.where(seen == UNKNOWN, 2, np.minimum(seen, 1))]
    known = int((seen != UNKNOWN).sum())
    said = f"what was seen after {_count(upto, 'question', 'questions')}: {known} of {seen.size} pixels, the rest grey"
    newest = _box(explanation.steps[upto - 1], shape[1], "now") if upto else ""
    return _svg(png(colours), shape, said, newest)


def _svg(uri: str, shape: tuple[int, int], said: str, boxes: str) -> str:
    rows, columns = shape
    return (
        f'<svg class="picture" viewBox="-0.25 -0.25 {columns + 0.5} {rows + 0.5}" role="img" aria-label="{text(said)}">'
        f'<image href="{uri}" width="{columns}" height="{rows}" preserveAspectRatio="none"/>{boxes}</svg>'
    )


def _box(step: ExplanationStep, columns: int, kind: str) -> str:
    rows, places = np.divmod(np.array(step.atoms), columns)
    x, y = int(places.min()), int(rows.min())
    wide, high = int(places.max()) - x + 1, int(rows.max()) - y + 1
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{wide}" height="{high}"/>'


def _shape(explanation: Explanation) -> tuple[int, int]:
    if explanation.shape is None:
        raise ValueError("this explanation is not about an image")
    return explanation.shape


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
