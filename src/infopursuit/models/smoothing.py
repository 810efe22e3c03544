"""How a training example becomes a distribution over atoms.

An example alone says that its own values are certain. Smoothing says how far an input of the same latent kind may
differ from it, at several scales: near twins agree almost everywhere, distant relatives differ in many places at
once. A scale is part of the latent state, so an input that differs from an example in one place is expected to differ
from it in others. That heavy tail is what keeps the posterior from being too sure.
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

    widths: standard deviation of the blur in pixels, one for each scale. floors: how probable a lit pixel still is
    where the blurred example is dark. gaps: how probable a dark pixel still is where it is lit; from 0.05 to 0.15
    where nothing is given.
    shape: (rows, columns) of the image; filled in when the model is fitted.

    Strokes get thinner or move, but ink far from any stroke is rare: gaps are larger than floors.
    """

    widths: tuple[float, ...] = (0.7, 1.2)
    floors: tuple[float, ...] = (0.002, 0.005)
    gaps: tuple[float, ...] | None = None
    shape: tuple[int, int] | None = None

    kind: ClassVar[str] = "blur"

    def __post_init__(self) -> None:
        _check_scales("widths", self.widths, 0.0, 1000.0)
        _check_scales("floors", self.floors, 1e-6, 0.5)
        if self.gaps is None:
            gaps = np.linspace(0.05, 0.15, len(self.widths)).round(4)
            object.__setattr__(self, "gaps", tuple(gaps.tolist()))
        assert self.gaps is not None
        _check_scales("gaps", self.gaps, 1e-6, 0.5)
        if not len(self.floors) == len(self.gaps) == len(self.widths):
            raise ValueError(
                f"widths, floors and gaps have {len(self.widths)}, {len(self.floors)} and {len(self.gaps)} entries; "
                f"give one of each for each scale"
            )

    @property
    def n_scales(self) -> int:
        return len(self.widths)

    def lit(self, pixels: Tensor, scale: int) -> Tensor:
        """(A, N) pixels between 0 and 1, one column for each image -> (A, N) the probability that each is lit."""
        assert self.shape is not None
        rows, columns = self.shape
        down, across = (_blur_matrix(n, self.widths[scale]).to(pixels) for n in (rows, columns))
        # images lie in the last axis, so that both directions are matrix products without a turn between them
        blurred = (down @ pixels.reshape(rows, -1)).reshape(rows, columns, -1)
        assert self.gaps is not None
        floor, gap = self.floors[scale], self.gaps[scale]
        return (across @ blurred).reshape(pixels.shape).clamp_(0, 1).mul_(1 - floor - gap).add_(floor)

    def to_spec(self) -> dict[str, Any]:
        shape = None if self.shape is None else list(self.shape)
        assert self.gaps is not None
        scales = {"widths": list(self.widths), "floors": list(self.floors), "gaps": list(self.gaps)}
        return {"kind": self.kind, **scales, "shape": shape}


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


def blur_options() -> tuple[Blur, ...]:
    """Blurs to choose from on held-out data."""
    return (
        Blur((0.5, 0.9, 1.5), (0.01, 0.02, 0.05), (0.01, 0.02, 0.05)),
        Blur((0.7, 1.2), (0.002, 0.005)),
        Blur((0.5, 0.9), (0.005, 0.01)),
        Blur((0.35, 0.6), (0.01, 0.02)),
        Blur((0.2, 0.45), (0.02, 0.05)),
        Blur((1.0, 1.6), (0.002, 0.005)),
        Blur((0.6, 1.1), (0.01, 0.05)),
    )


def smoothing_from_spec(spec: dict[str, Any]) -> Smoothing:
    """The smoothing that ``to_spec`` described."""
    if spec.get("kind") == Blur.kind:
        shape = spec["shape"]
        widths, floors, gaps = (tuple(spec[name]) for name in ("widths", "floors", "gaps"))
        return Blur(widths, floors, gaps, None if shape is None else (int(shape[0]), int(shape[1])))
    if spec.get("kind") == Flip.kind:
        return Flip(tuple(spec["rates"]))
    raise ValueError(f"{spec.get('kind')!r} is no kind of smoothing; expected 'blur' or 'flip'")


@lru_cache(maxsize=64)
def _blur_matrix(n: int, width: float) -> Tensor:
    """(n, n) that blurs a line of n pixels; what lies outside counts as dark."""
    if width == 0:
        return torch.eye(n)
    most = int(np.ceil(10 * width))  # all of the bell, however small the image
    total = np.exp(-0.5 * (np.arange(-most, most + 1) / width) ** 2).sum()
    gap = np.arange(n)[:, None] - np.arange(n)
    matrix = np.exp(-0.5 * (gap / width) ** 2) / total
    # numbers so small that float32 has no normal form for them would slow the product down twentyfold
    return torch.as_tensor(np.where(matrix < 1e-9, 0.0, matrix))


def _check_scales(name: str, values: tuple[float, ...], least: float, most: float) -> None:
    if not values or not all(least <= v <= most for v in values):
        raise ValueError(f"{name}={values} must be one or more numbers from {least:g} to {most:g}")
