"""Patches of a binary image: a query reveals every pixel under a window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from infopursuit.queries.queryset import MAX_ANSWERS, QuerySet, Recipe, check_weights
from infopursuit.types import UNKNOWN, IntArray

MAX_PIXELS = 2**20
"""Of an image: each is a variable and most are the corner of a patch, which has a name and a sentence."""
Pair = int | tuple[int, int]
ON, OFF, HIDDEN = "█", "·", "?"


class Patches(QuerySet):
    """Overlapping windows of an image; pixel ``row * columns + column`` is one binary variable. Use `patches`."""

    kind = "patches"

    def __init__(
        self, shape: tuple[int, int], size: tuple[int, int], stride: tuple[int, int], threshold: float | None
    ) -> None:
        rows, columns = shape
        high, wide = size
        if min(shape) < 1 or min(size) < 1 or min(stride) < 1 or high > rows or wide > columns:
            raise ValueError(f"size={size} and stride={stride} do not fit an image of shape {shape}; they start at 1")
        if 2 ** (high * wide) > MAX_ANSWERS:
            raise ValueError(f"size={size} reveals {high * wide} pixels at once, too many answers; use at most 4 x 4")
        if rows * columns > MAX_PIXELS:
            raise ValueError(f"shape={shape} has {rows * columns} pixels, more than {MAX_PIXELS}; use smaller images")
        self.shape, self.size, self.stride, self.threshold = (rows, columns), (high, wide), stride, threshold
        tops, lefts = range(0, rows - high + 1, stride[0]), range(0, columns - wide + 1, stride[1])
        corners = [(r, c) for r in tops for c in lefts]
        window = np.array([r * columns + c for r in range(high) for c in range(wide)])
        super().__init__(
            names=[f"patch at row {r + 1}, column {c + 1}" for r, c in corners],
            sizes=[2] * (rows * columns),
            variables=np.array([r * columns + c for r, c in corners])[:, None] + window,
            sentences=[f"What is in the {high} x {wide} patch at row {r + 1}, column {c + 1}?" for r, c in corners],
        )
        self.corners = corners

    def observe(self, X: Any) -> IntArray:
        """(B, A) pixels as 0 and 1; NaN is not known. Accepts (B, rows, columns), (B, rows * columns) or one image."""
        images = _as_images(X)
        rows, columns = self.shape
        if images.shape == self.shape:
            images = images[None]
        if images.shape[1:] not in ((rows, columns), (rows * columns,)):
            raise ValueError(f"X has shape {images.shape}; expected (images, {rows}, {columns})")
        images = images.reshape(len(images), rows * columns)
        missing = np.isnan(images)
        if self.threshold is not None:
            return np.where(missing, UNKNOWN, images > self.threshold).astype(np.int64)
        seen = images[~missing]
        if not np.isin(seen, (0, 1)).all():
            wrong = f"X has grey pixels between {seen.min():g} and {seen.max():g}"
            raise ValueError(f"{wrong}; say patches(..., threshold=...) to make them black and white")
        return np.where(missing, UNKNOWN, images == 1).astype(np.int64)

    def say_cells(self, query: int, cells: tuple[int, ...]) -> str:
        marks = [{0: OFF, 1: ON}.get(cell, HIDDEN) for cell in cells]
        wide = self.size[1]
        return " / ".join("".join(marks[i : i + wide]) for i in range(0, len(marks), wide))

    def to_spec(self) -> dict[str, Any]:
        pairs = {"shape": list(self.shape), "size": list(self.size), "stride": list(self.stride)}
        return {**pairs, "threshold": self.threshold}

    @classmethod
    def from_spec(cls, spec: dict[str, Any], functions: Any = None) -> Self:
        shape, size, stride = (_pair_in(spec, name) for name in ("shape", "size", "stride"))
        threshold = spec["threshold"]
        if threshold is not None and (type(threshold) not in (int, float) or not math.isfinite(threshold)):
            raise ValueError(f"threshold is {threshold!r:.80}; expected a number, or null")
        return cls(shape, size, stride, threshold)


def _pair_in(spec: dict[str, Any], name: str) -> tuple[int, int]:
    found = spec[name]
    if not isinstance(found, list) or len(found) != 2 or not all(type(c) is int and 1 <= c < 2**31 for c in found):
        raise ValueError(f"{name} is {found!r:.80}; expected 2 whole numbers from 1 on")
    return found[0], found[1]


def patches(
    shape: Any = None,
    size: Pair = 3,
    *,
    stride: Pair = 1,
    threshold: float | str | None = None,
    sample_weight: Any = None,
) -> Any:
    """A query for each window of an image, which reveals every pixel under it.

    Parameters
    ----------
    shape: (rows, columns) of the image, or a stack of training images; None waits for the training images.
    size: rows and columns of the window, one number for a square.
    stride: how far apart the windows lie.
    threshold: a grey pixel above it counts as lit. None takes black and white images only, ``"half"`` (the default for
        a stack of training images with grey pixels) half of the largest pixel.
    sample_weight: (images,) a training image with weight 0 is not looked at.

    Returns
    -------
    `Patches`; without shape a `Recipe`, which ``fit`` turns into one.

    >>> qs = patches((28, 28), size=3)
    >>> qs
    <patches: 676 queries about 784 variables>
    >>> qs[0].sentence, qs.say_answer(0, (0, 1, 0, 0, 1, 0, 0, 1, 0))
    ('What is in the 3 x 3 patch at row 1, column 1?', '·█· / ·█· / ·█·')
    """
    if isinstance(threshold, str) and threshold != "half":
        raise ValueError(f'threshold is {threshold!r}; give a number, "half", or None for black and white images')
    if shape is None:
        return Recipe(patches, {"size": size, "stride": stride, "threshold": threshold})
    if np.shape(shape) == (2,):
        if isinstance(threshold, str):
            raise ValueError('threshold="half" needs training images; give a number, or images instead of their shape')
        rows, columns = int(shape[0]), int(shape[1])
    else:
        images = _as_images(shape)
        if images.ndim != 3 or not images.size:
            raise ValueError(f"X has shape {images.shape}; patches need images as (images, rows, columns)")
        rows, columns = images.shape[1:]
        images = images[check_weights(sample_weight, len(images)) > 0]
        seen = images[~np.isnan(images)]
        if isinstance(threshold, str) or (threshold is None and not np.isin(seen, (0, 1)).all()):
            threshold = float(seen.max(initial=0)) / 2
    return Patches((rows, columns), _pair(size), _pair(stride), None if threshold is None else float(threshold))


def _as_images(X: Any) -> npt.NDArray[Any]:
    """X as numbers, without the axis of a single colour."""
    images = np.asarray(X.detach() if hasattr(X, "detach") else X)
    if images.dtype.kind not in "biuf":
        raise ValueError(f"X has dtype {images.dtype}; images are made of numbers")
    if images.ndim == 4 and images.shape[3] == 1:
        images = images[..., 0]
    elif images.ndim == 4 and images.shape[1] == 1:
        images = images[:, 0]
    return images


def _pair(size: Pair) -> tuple[int, int]:
    return (int(size[0]), int(size[1])) if isinstance(size, Sequence) else (int(size), int(size))
