"""Slightly moved images: what a person would still read as the same."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Moves:
    """Random shifts, rotations and changes of size of black and white images.

    shift: pixels, to each side. rotation: degrees, to each side. scale: share by which an image grows or shrinks.
    """

    shift: float = 1.0
    rotation: float = 10.0
    scale: float = 0.05

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name}={value} must be 0 or more")
        if self.scale >= 1:
            raise ValueError(f"scale={self.scale} must be below 1")

    def to_spec(self) -> dict[str, Any]:
        """The settings as JSON data."""
        return asdict(self)

    def apply(self, values: Tensor, shape: tuple[int, int], generator: torch.Generator) -> Tensor:
        """(B, rows * columns) pixels 0, 1 or -1 (unknown, which stays where it is) -> the same, moved."""
        n = len(values)
        draws = 2 * torch.rand((n, 4), generator=generator) - 1
        angle = draws[:, 0] * math.radians(self.rotation)
        size = 1 + draws[:, 1] * self.scale
        rows, columns = shape
        cos, sin = angle.cos() / size, angle.sin() / size
        theta = torch.zeros((n, 2, 3))
        theta[:, 0, 0], theta[:, 0, 1] = cos, -sin * rows / columns
        theta[:, 1, 0], theta[:, 1, 1] = sin * columns / rows, cos
        theta[:, 0, 2], theta[:, 1, 2] = draws[:, 2] * 2 * self.shift / columns, draws[:, 3] * 2 * self.shift / rows
        images = values.reshape(n, 1, rows, columns)
        grid = F.affine_grid(theta, [n, 1, rows, columns], align_corners=False)
        moved = F.grid_sample((images == 1).to(torch.float32), grid, align_corners=False)
        lit = (moved > 0.5).to(values.dtype).flatten(1)
        return torch.where(values < 0, values, lit)
