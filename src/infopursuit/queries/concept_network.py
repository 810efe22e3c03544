"""A network that answers attribute questions about images, so that a pursuit may ask "does the network see X?"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from infopursuit.files import write_atomically
from infopursuit.queries.functions import Functions, functions
from infopursuit.types import DamagedModel, FloatArray, IntArray

KEY = "infopursuit.concept-network"
AT_A_TIME = 256
"""Images that are answered at a time."""
SMALLEST = 4
"""Pixels of a side below which there is nothing left to pool."""


@dataclass(frozen=True)
class ConceptNetwork:
    """Sees whether images show attributes; `train_concept_network` teaches one.

    names: (A,) the attributes. shape: (rows, columns) of the images. channels: of the convolutions. module: images
    (B, 3, rows, columns) -> logits (B, A).

    The network errs, and more on images that it did not learn from. A classifier that is fitted on its *answers*
    learns these errors with everything else, as in the paper; best on images that the network has not learnt from,
    where it errs as it will in use.
    """

    names: tuple[str, ...]
    shape: tuple[int, int]
    channels: tuple[int, ...]
    module: nn.Module

    @torch.no_grad()
    def probabilities(self, images: Any) -> FloatArray:
        """(B, rows, columns, 3) images, numbers from 0 to 255 or 0 to 1 -> (B, A) how probably each attribute holds."""
        pixels = check_images(images, self.shape)
        self.module.eval()  # batch norm goes by training: one image must not change another's answer
        parts = [
            torch.sigmoid(self.module(as_input(pixels[start : start + AT_A_TIME]))).double()
            for start in range(0, len(pixels), AT_A_TIME)
        ]
        return np.asarray(torch.cat(parts).numpy()) if parts else np.zeros((0, len(self.names)))

    def answers(self, images: Any) -> IntArray:
        """(B, A) 1 where an attribute is more probable than not, else 0."""
        return (self.probabilities(images) > 0.5).astype(np.int64)

    def queries(self) -> Functions:
        """One query for each attribute, asked of images: "does the network see X?"."""
        sentences = [f"does the network see {name}?" for name in self.names]
        return functions(self.answers, names=self.names, sentences=sentences)

    def save(self, file: Any) -> None:
        """Write the network to one file; an old one stays until the new one is whole."""
        path = Path(file)
        about = {"names": list(self.names), "shape": list(self.shape), "channels": list(self.channels)}
        weights = {name: tensor.contiguous() for name, tensor in self.module.state_dict().items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, safetensors.torch.save(weights, metadata={KEY: json.dumps(about)}))


def load_concept_network(file: Any) -> ConceptNetwork:
    """Read what `ConceptNetwork.save` wrote."""
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"file={str(path)!r} is not there; give a file that ConceptNetwork.save() wrote")
    try:
        with safe_open(str(path), framework="pt") as stored:
            about = json.loads((stored.metadata() or {})[KEY])
            weights = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        names = tuple(str(name) for name in about["names"])
        rows, columns = (int(side) for side in about["shape"])
        channels = tuple(int(number) for number in about["channels"])
        with torch.device("meta"):  # shapes without memory: whoever wrote the file may have written anything
            module = build(len(names), (rows, columns), channels)
        module.load_state_dict(weights, assign=True)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DamagedModel(f"file={str(path)!r} holds no concept network, or is damaged: {error}") from None
    return ConceptNetwork(names, (rows, columns), channels, module.requires_grad_(False).eval())


def build(n_attributes: int, shape: tuple[int, int], channels: Sequence[int]) -> nn.Module:
    """Convolutions of 3 x 3 with batch norm, each pooled while there is something to pool; the mean over the image; a
    layer that says logits."""
    if len(set(channels)) and min(channels) < 1:
        raise ValueError(f"channels={tuple(channels)} must be whole numbers, 1 or more")
    layers: list[nn.Module] = []
    before, side = 3, min(shape)
    for after in channels:
        layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        if side >= SMALLEST:
            layers.append(nn.MaxPool2d(2))
            side //= 2
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, n_attributes))


def check_images(images: Any, shape: tuple[int, int] | None = None) -> Any:
    """Images as an array (B, rows, columns, 3), refused where they are none or of another shape."""
    pixels = np.asarray(images.detach() if hasattr(images, "detach") else images)
    if pixels.ndim != 4 or pixels.shape[3] != 3 or not min(pixels.shape[1:3]):
        raise ValueError(f"images has shape {pixels.shape}; expected (images, rows, columns, 3), red, green and blue")
    if shape is not None and pixels.shape[1:3] != tuple(shape):
        wanted = " x ".join(str(side) for side in shape)
        raise ValueError(f"images has shape {pixels.shape}; the network was taught on {wanted} pixels, resize them")
    if pixels.dtype == np.uint8:
        return pixels
    if pixels.dtype.kind != "f" or not ((pixels >= 0) & (pixels <= 1)).all():
        found = f"{pixels.dtype} from {pixels.min()} to {pixels.max()}" if pixels.size else f"{pixels.dtype}"
        raise ValueError(f"images holds {found}; give uint8 from 0 to 255, or floats from 0 to 1")
    return pixels


def as_input(pixels: Any) -> Tensor:
    """(B, rows, columns, 3) -> (B, 3, rows, columns) floats about 0."""
    scale = 255.0 if pixels.dtype == np.uint8 else 1.0
    planes = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)).astype(np.float32)
    return torch.from_numpy(2 * planes / np.float32(scale) - 1)
