"""Random affine augmentation: images shifted, turned, scaled and distorted, their strokes thicker or thinner."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from infopursuit.models.networks.autoencoder import standard_normal
from infopursuit.support.checks import number, whole_number


@dataclass(frozen=True)
class RandomAffine:
    """Random affine augmentation: random shifts, rotations and changes of size of images without colour.

    shift: pixels, to each side. rotation: degrees, to each side. scale: share by which an image grows or shrinks.
    elastic: elastic distortion (Simard et al., 2003), the standard deviation, in pixels, of the moves of 5 x 5 points.
    morphology: thicker or thinner strokes: the largest share of a 3 x 3 dilation or erosion that is mixed in.
    """

    shift: float = 1.0
    rotation: float = 10.0
    scale: float = 0.05
    elastic: float = 0.0
    morphology: float = 0.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            number(value, name, least=0, below=1 if name in ("scale", "morphology") else math.inf)

    def apply(
        self, values: Tensor, shape: tuple[int, int], generator: torch.Generator, *, masked: bool = False
    ) -> Tensor:
        """(B, rows * columns) grey levels, or -1 (unknown, which stays where it is) -> the same, transformed.

        masked: what is unknown is moved with the rest, and so is what comes from beyond the border: the image of a
        history. A pixel then becomes its nearest one, and strokes stay as thick as they are.
        """
        n, (rows, columns) = len(values), shape
        draws = 2 * _uniform((n, 4), generator) - 1
        angle = draws[:, 0] * math.radians(self.rotation)
        size = 1 + draws[:, 1] * self.scale
        cos, sin = angle.cos() / size, angle.sin() / size
        theta = torch.zeros((n, 2, 3))
        theta[:, 0, 0], theta[:, 0, 1] = cos, -sin * rows / columns
        theta[:, 1, 0], theta[:, 1, 1] = sin * columns / rows, cos
        theta[:, 0, 2], theta[:, 1, 2] = draws[:, 2] * 2 * self.shift / columns, draws[:, 3] * 2 * self.shift / rows
        grid = F.affine_grid(theta, [n, 1, rows, columns], align_corners=False)
        if self.elastic:
            points = self.elastic * standard_normal((n, 2, 5, 5), generator)
            moves = F.interpolate(points, shape, mode="bicubic", align_corners=True)
            grid = grid + moves.permute(0, 2, 3, 1) * torch.tensor([2 / columns, 2 / rows])
        if masked:  # 0 stands for unknown, as it does beyond the border
            shifted = (values + 1).to(torch.float32).reshape(n, 1, rows, columns)
            return F.grid_sample(shifted, grid, mode="nearest", align_corners=False).to(values.dtype).flatten(1) - 1
        images = values.clamp(min=0).to(torch.float32).reshape(n, 1, rows, columns)
        moved = F.grid_sample(images, grid, align_corners=False)
        if self.morphology:
            share = self.morphology * (2 * _uniform((n, 1, 1, 1), generator) - 1)
            side = share.sign()  # a dilation takes the largest of 3 x 3 pixels, an erosion the smallest
            moved = torch.lerp(moved, side * F.max_pool2d(side * moved, 3, stride=1, padding=1), share.abs())
        return torch.where(values < 0, values, moved.round().to(values.dtype).flatten(1))

    def copies(self, images: Any, n_copies: int, seed: int = 0) -> Any:
        """(B, rows, columns) grey levels, whole numbers -> the same, and after them ``n_copies`` copies of all, each
        transformed at random: for models that keep their examples, such as the empirical one.

        >>> X = np.zeros((10, 8, 8), np.uint8)
        >>> RandomAffine().copies(X, 3).shape  # and np.tile(y, 4) are their labels
        (40, 8, 8)
        """
        given = np.asarray(images)
        if given.ndim != 3 or given.dtype.kind not in "iub":
            raise ValueError(
                f"images has shape {given.shape} and dtype {given.dtype}; give (images, rows, columns) of whole numbers"
            )
        flat = torch.as_tensor(given.reshape(len(given), -1).astype(np.int64))
        found = [given]
        for i in range(whole_number(n_copies, "n_copies", 0)):
            moved = self.apply(flat, given.shape[1:], torch.Generator().manual_seed(seed + i))
            found.append(moved.numpy().reshape(given.shape).astype(given.dtype))
        return np.concatenate(found)


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Draw numbers between 0 and 1."""
    return torch.rand(shape, generator=generator)
