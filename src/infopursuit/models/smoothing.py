"""How a training example becomes a distribution over atoms.

An example alone says that its own values are certain. Smoothing says how far an input of the same latent kind may differ from it,
at several scales: near twins agree almost everywhere, distant relatives differ in many places at once. A scale is part of the latent
state, so an input that differs from an example in one place is expected to differ from it in others. That heavy tail is what keeps
the posterior from being too sure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Blur:
    """Pixels of an image: lit with the probability that a Gaussian blur of the example gives, kept off 0 and 1.

    widths: standard deviation of the blur in pixels, one for each scale. floors: how far each scale stays from 0 and 1.
    shape: (rows, columns) of the image; filled in when the model is fitted.
    """

    widths: tuple[float, ...] = (0.6, 1.1)
    floors: tuple[float, ...] = (0.005, 0.05)
    shape: tuple[int, int] | None = None

    kind: ClassVar[str] = "blur"
    OPTIONS: ClassVar[tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]] = (
        ((0.5, 0.9), (0.005, 0.05)),
        ((0.6, 1.1), (0.005, 0.05)),
        ((0.7, 1.3), (0.01, 0.1)),
        ((0.4, 0.8, 1.4), (0.005, 0.02, 0.1)),
        ((0.8, 1.6), (0.02, 0.1)),
    )

    def __post_init__(self) -> None:
        _check_scales("widths", self.widths, 0.0, np.inf)
        _check_scales("floors", self.floors, 1e-6, 0.5)
        if len(self.floors) != len(self.widths):
            raise ValueError(f"floors has {len(self.floors)} entries and widths {len(self.widths)}; give one floor for each width")

    @property
    def n_scales(self) -> int:
        return len(self.widths)

    def lit(self, pixels: Tensor, scale: int) -> Tensor:
        """(N, A) pixels between 0 and 1 -> (N, A) the probability that each is lit."""
        assert self.shape is not None
        rows, columns = self.shape
        down, across = (_blur_matrix(n, self.widths[scale]).to(pixels) for n in (rows, columns))
        # two tall matrix products with a turn between them: far faster than one small product for each image
        lines = pixels.reshape(-1, columns) @ across.T
        turned = lines.reshape(-1, rows, columns).transpose(1, 2).reshape(-1, rows) @ down.T
        floor = self.floors[scale]
        blurred = turned.reshape(-1, columns, rows).transpose(1, 2).reshape(len(pixels), rows * columns)
        return blurred.clamp_(0, 1).mul_(1 - 2 * floor).add_(floor)

    def to_spec(self) -> dict[str, Any]:
        shape = None if self.shape is None else list(self.shape)
        return {"kind": self.kind, "widths": list(self.widths), "floors": list(self.floors), "shape": shape}


@dataclass(frozen=True)
class Flip:
    """Any atom: the example's own value, or with probability ``rate`` a value drawn as in its class.

    rates: one for each scale. A rate of 1 is naive Bayes.
    """

    rates: tuple[float, ...] = (0.1, 0.5)

    kind: ClassVar[str] = "flip"
    OPTIONS: ClassVar[tuple[tuple[float, ...], ...]] = ((0.02, 0.2), (0.05, 0.4), (0.1, 0.6), (0.2, 0.8), (0.4, 0.9))

    def __post_init__(self) -> None:
        _check_scales("rates", self.rates, 1e-6, 1.0)

    @property
    def n_scales(self) -> int:
        return len(self.rates)

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "rates": list(self.rates)}


Smoothing = Blur | Flip


def smoothing_from_spec(spec: dict[str, Any]) -> Smoothing:
    """The smoothing that ``to_spec`` described."""
    if spec.get("kind") == Blur.kind:
        shape = spec["shape"]
        return Blur(tuple(spec["widths"]), tuple(spec["floors"]), None if shape is None else (int(shape[0]), int(shape[1])))
    if spec.get("kind") == Flip.kind:
        return Flip(tuple(spec["rates"]))
    raise ValueError(f"{spec.get('kind')!r} is no kind of smoothing; expected 'blur' or 'flip'")


@lru_cache(maxsize=64)
def _blur_matrix(n: int, width: float) -> Tensor:
    """(n, n) that blurs a line of n pixels; what lies outside counts as dark."""
    if width == 0:
        return torch.eye(n)
    reach = np.arange(-4 * n, 4 * n + 1)
    total = np.exp(-0.5 * (reach / width) ** 2).sum()
    gap = np.arange(n)[:, None] - np.arange(n)
    matrix = np.exp(-0.5 * (gap / width) ** 2) / total
    # numbers so small that float32 has no normal form for them would slow the product down twentyfold
    return torch.as_tensor(np.where(matrix < 1e-9, 0.0, matrix))


def _check_scales(name: str, values: tuple[float, ...], least: float, most: float) -> None:
    if not values or not all(least <= v <= most for v in values):
        raise ValueError(f"{name}={values} must be one or more numbers from {least:g} to {most:g}")
