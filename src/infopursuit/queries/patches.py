"""Patches of an image: a query reveals every pixel under a window, in black and white, grey levels or colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from infopursuit.queries.queryset import QuerySet, Recipe
from infopursuit.support.checks import check_weights, one_of, whole_number
from infopursuit.support.messages import Messages, load
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

MAX_PIXELS = 2**20
"""Of an image: each is a variable and most are the corner of a patch, which has a name and a sentence."""
MAX_VALUES = 2**24
"""Values of all pixels of an image together, and pixels of all patches together: there are arrays of them."""
MAX_LEVELS, MAX_DIGITS, MAX_SAID = 256, 10, 16
"""Grey levels at the most; levels that a digit says; grey pixels of a patch that are said one by one."""
Pair = int | tuple[int, int]
ON, OFF, HIDDEN = "█", "·", "?"
SHADES = (OFF, ":", "-", "=", "+", "*", "#", "%", ON)
"""Characters for pixels, from dark to lit."""
COLOURS = ("red", "green", "blue")


def shade(brightness: float) -> str:
    """The character for a pixel of a brightness from 0 to 1.

    >>> shade(0), shade(0.5), shade(1)
    ('·', '+', '█')
    """
    return SHADES[round(min(max(brightness, 0.0), 1.0) * (len(SHADES) - 1))]


class Patches(QuerySet):
    """Overlapping windows of an image. Use `patches`.

    Pixel (row, column) is variable ``row * columns + column``; of colour images it is three variables, red, green and
    blue one after the other. A value is 0 or 1, or a grey level.

    channels: 1 or 3. n_levels: values of each variable, 2 for black and white. value_range: what the lowest and the
    highest grey level begin and end at; None: 0 and 1 for floats, 0 and 255 for whole numbers.
    """

    kind = "patches"
    shape: tuple[int, int]
    spec: ClassVar = {
        **dict.fromkeys(("shape", "size", "stride"), "pair"),
        "threshold": "number?",
        "levels": "whole?",
        "value_range": "numbers?",
        "channels": "whole?",
    }

    def __init__(
        self,
        shape: tuple[int, int],
        size: tuple[int, int],
        stride: tuple[int, int],
        threshold: float | None,
        levels: int | None = None,
        value_range: tuple[float, float] | None = None,
        channels: int | None = 1,
    ) -> None:
        (rows, columns), (high, wide) = shape, size
        if min(shape) < 1 or min(size) < 1 or min(stride) < 1 or high > rows or wide > columns:
            raise ValueError(f"size={size} and stride={stride} do not fit an image of shape {shape}; they start at 1")
        self.channels: int = one_of(channels or 1, "channels", (1, 3))
        self.levels = None if levels is None else whole_number(levels, "levels", 2, MAX_LEVELS)
        if levels is not None and threshold is not None:
            raise ValueError(f"threshold={threshold} makes two values of a pixel, and levels={levels} others; give one")
        ends = None if value_range is None else tuple(value_range)
        if ends is not None and not (len(ends) == 2 and -math.inf < ends[0] < ends[1] < math.inf):
            raise ValueError(f"value_range={value_range}; expected two numbers, the lower one first")
        self.n_levels, self.value_range = self.levels or 2, None if levels is None else ends
        n_variables = rows * columns * self.channels
        if n_variables > MAX_PIXELS:
            raise ValueError(f"shape={shape} has {n_variables} pixels, more than {MAX_PIXELS}; use smaller images")
        if n_variables * self.n_levels > MAX_VALUES:
            found = f"shape={shape} has {n_variables} pixels with levels={levels} each"
            raise ValueError(f"{found}, more than {MAX_VALUES} values together; use smaller images or fewer levels")
        self.shape, self.size, self.stride, self.threshold = (rows, columns), (high, wide), tuple(stride), threshold
        tops, lefts = range(0, rows - high + 1, stride[0]), range(0, columns - wide + 1, stride[1])
        if len(tops) * len(lefts) * high * wide * self.channels > MAX_VALUES:
            raise ValueError(
                f"size={size} makes patches of more than {MAX_VALUES} pixels together; use a larger stride"
            )
        corners = [(r, c) for r in tops for c in lefts]
        window = np.array([r * columns + c for r in range(high) for c in range(wide)])
        pixels = np.array([r * columns + c for r, c in corners])[:, None] + window
        super().__init__(
            names=[f"patch at row {r + 1}, column {c + 1}" for r, c in corners],
            sizes=[self.n_levels] * n_variables,
            variables=(pixels[:, :, None] * self.channels + np.arange(self.channels)).reshape(len(corners), -1),
            sentences=[f"What is in the {high} x {wide} patch at row {r + 1}, column {c + 1}?" for r, c in corners],
        )
        self.corners = corners

    def hint(self, query: int, words: Messages | None = None) -> str:
        """What a patch is answered with."""
        kind = "colour" if self.channels > 1 else "pixels" if self.levels is None else "grey"
        return (words or load())(f"hint.{kind}", high=self.size[0], wide=self.size[1], most=self.n_levels - 1)

    def observe(self, X: Any) -> IntArray:
        """(B, A) the values of the pixels; NaN is not known. Accepts (B, rows, columns), colours as (B, rows, columns,
        3) or (B, 3, rows, columns), the same flat, (B, A), or one image."""
        images = _as_images(X, self.channels)
        wanted = self.shape if self.channels == 1 else (*self.shape, self.channels)
        first = wanted if self.channels == 1 else (self.channels, *self.shape)
        if images.shape in (wanted, first):
            images = images[None]
        if images.shape[1:] == first != wanted:
            images = np.moveaxis(images, 1, 3)
        flat = (len(self.variables),)
        if images.shape[1:] not in (wanted, flat):
            colour = (
                "; colour images need patches(..., channels=3)" if self.channels == 1 and 3 in images.shape[1:] else ""
            )
            raise ValueError(f"X has shape {images.shape}; expected (images, {', '.join(map(str, wanted))}){colour}")
        images = images.reshape(len(images), *flat)
        missing = np.isnan(images)
        values = images > self.threshold if self.threshold is not None else self._values(images, missing)
        return np.where(missing, UNKNOWN, values).astype(np.int64)

    def _values(self, images: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> Any:
        """The grey levels of pixels, or 0 and 1 of those that are black and white."""
        seen = images[~missing]
        if self.levels is None:
            if not np.isin(seen, (0, 1)).all():
                wrong = f"X has grey pixels between {seen.min():g} and {seen.max():g}"
                raise ValueError(f"{wrong}; say patches(..., threshold=...) or patches(..., levels=...)")
            return images == 1
        low, high = self.value_range or (0.0, 255.0 if images.dtype.kind in "iu" else 1.0)
        if self.value_range is None and seen.size and not low <= seen.min() <= seen.max() <= high:
            raise ValueError(
                f"X has pixels between {seen.min():g} and {seen.max():g}, outside of {low:g} to {high:g}; say "
                f"patches(..., value_range=(lowest, highest))"
            )
        return np.clip(
            np.floor((np.where(missing, low, images) - low) / (high - low) * self.levels), 0, self.levels - 1
        )

    def brightness(self, cells: Any) -> FloatArray:
        """Values of pixels as numbers from 0 to 1, NaN where they are not known."""
        cells = np.asarray(cells, dtype=np.float64)
        return np.where(cells < 0, np.nan, cells / (self.n_levels - 1))

    def say_cells(self, query: int, cells: tuple[int, ...]) -> str:
        """Black and white pixels and up to ten grey levels one by one; of more levels shades and their mean; of colours
        and of large grey patches the mean."""
        known = self.brightness(cells).reshape(-1, self.channels)  # (pixels, channels)
        (high, wide), said = self.size, ""
        if self.channels == 1 and (self.n_levels == 2 or len(cells) <= MAX_SAID):
            digits = 2 < self.n_levels <= MAX_DIGITS
            marks = [
                HIDDEN if c < 0 else str(c) if digits else shade(b) for c, b in zip(cells, known[:, 0], strict=True)
            ]
            said = " / ".join("".join(marks[i : i + wide]) for i in range(0, high * wide, wide))
            if self.n_levels <= MAX_DIGITS:
                return said
        sums, counts = np.nansum(known, axis=0), np.maximum((~np.isnan(known)).sum(axis=0), 1)
        means = [f"{mean:.2f}" for mean in sums / counts]
        if self.channels == 1:
            return f"{said} (mean grey {means[0]})" if said else f"mean grey {means[0]}"
        return "mean " + ", ".join(f"{name} {mean}" for name, mean in zip(COLOURS, means, strict=True))


def patches(
    shape: Any = None,
    size: Pair = 3,
    *,
    stride: Pair = 1,
    threshold: float | str | None = None,
    levels: int | None = None,
    value_range: tuple[float, float] | None = None,
    channels: int = 1,
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
    levels: 2 to 256 grey levels instead of black and white: each pixel is a variable with so many ordered values, bins
        of equal width. Information gains are computed for up to 65,536 joint answers of a patch, such as 4 levels of
        2 x 4 pixels.
    value_range: (lowest, highest) pixel, which the levels lie between. None is the range of the training images;
        where only their shape is given, 0 to 1 for floats and 0 to 255 for whole numbers.
    channels: 3 for colour images, (images, rows, columns, 3) or (images, 3, rows, columns): a pixel has three
        variables, and a patch reveals them all.
    sample_weight: (images,) a training image with weight 0 is not looked at.

    Returns
    -------
    `Patches`; without shape a `Recipe`, which ``fit`` turns into one.

    >>> qs = patches((28, 28), size=3)
    >>> qs
    <patches: 676 queries about 784 variables>
    >>> qs[0].sentence, qs.say_answer(0, (0, 1, 0, 0, 1, 0, 0, 1, 0))
    ('What is in the 3 x 3 patch at row 1, column 1?', '·█· / ·█· / ·█·')
    >>> grey = patches((2, 2), size=2, levels=4)
    >>> grey.say_answer(0, grey.answers([[[0.0, 0.3], [0.6, 1.0]]])[0, 0])
    '01 / 23'
    """
    if isinstance(threshold, str) and threshold != "half":
        raise ValueError(f'threshold is {threshold!r}; give a number, "half", or None for black and white images')
    given: dict[str, Any] = {"levels": levels, "value_range": value_range}
    if shape is None:
        options = {name: each for name, each in given.items() if each is not None}
        options |= {} if channels == 1 else {"channels": channels}
        return Recipe(patches, {"size": size, "stride": stride, "threshold": threshold, **options})
    if np.shape(shape) == (2,):
        if isinstance(threshold, str):
            raise ValueError('threshold="half" needs training images; give a number, or images instead of their shape')
        rows, columns = int(shape[0]), int(shape[1])
    else:
        images = _as_images(shape, channels)
        if channels == 3 and images.ndim == 4 and images.shape[3] != 3 and images.shape[1] == 3:
            images = np.moveaxis(images, 1, 3)
        if (
            not images.size
            or images.ndim != (3 if channels == 1 else 4)
            or (channels > 1 and images.shape[3] != channels)
        ):
            expected = "(images, rows, columns)" if channels == 1 else "(images, rows, columns, 3), channels=3"
            raise ValueError(f"X has shape {images.shape}; patches need images as {expected}; channels=3 is for colour")
        rows, columns = images.shape[1:3]
        images = images[check_weights(sample_weight, len(images)) > 0]
        seen = images[~np.isnan(images)]
        if levels is not None and value_range is None and seen.size and seen.min() < seen.max():
            given["value_range"] = (float(seen.min()), float(seen.max()))
        grey = threshold is None and levels is None and not np.isin(seen, (0, 1)).all()
        if isinstance(threshold, str) or grey:
            threshold = float(seen.max(initial=0)) / 2
    limit = None if threshold is None else float(threshold)
    return Patches((rows, columns), _pair(size), _pair(stride), limit, **given, channels=channels)


def _as_images(X: Any, channels: int) -> npt.NDArray[Any]:
    """X as numbers, without the axis of a single colour."""
    images = np.asarray(X.detach() if hasattr(X, "detach") else X)
    if images.dtype.kind not in "biuf":
        raise ValueError(f"X has dtype {images.dtype}; images are made of numbers")
    if images.ndim == 4 and channels == 1 and images.shape[3] == 1:
        images = images[..., 0]
    elif images.ndim == 4 and channels == 1 and images.shape[1] == 1:
        images = images[:, 0]
    return images


def _pair(size: Pair) -> tuple[int, int]:
    return (int(size[0]), int(size[1])) if isinstance(size, Sequence) else (int(size), int(size))
