"""A network that answers attribute questions about images, so that a pursuit may ask "does the network see X?"."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn import functional as F

from infopursuit.queries.functions import Functions, functions
from infopursuit.support.files import write_atomically
from infopursuit.support.progress import Progress
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, ModelFormatError

logger = logging.getLogger(__name__)

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
        raise ModelFormatError(f"file={str(path)!r} holds no concept network, or is damaged: {error}") from None
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


# ---- training -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConceptSettings:
    """How a concept network is made and taught.

    channels: of its convolutions, each of which halves the image. learning_rate: the highest; it falls to nothing as a
    cosine. validation: share of the images that are held out. patience: epochs without a lower loss on these before
    it stops; the weights of the best epoch are kept.
    """

    channels: tuple[int, ...] = (32, 64, 128)
    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    validation: float = 0.1
    patience: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("patience", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number, {least} or more")
        if not self.channels or any(int(number) != number or number < 1 for number in self.channels):
            raise ValueError(f"channels={self.channels!r} must be one or more whole numbers, 1 or more")
        if not 0 < self.learning_rate < math.inf or not 0 <= self.weight_decay < math.inf:
            raise ValueError(
                f"learning_rate={self.learning_rate} must be positive, weight_decay={self.weight_decay} 0 or more"
            )
        if not 0 < self.validation < 1:
            raise ValueError(f"validation={self.validation} must be a share of the images above 0 and below 1")


def train_concept_network(
    images: Any,
    answers: Any,
    names: Sequence[str],
    settings: ConceptSettings | None = None,
    *,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> ConceptNetwork:
    """A network that has learnt to answer yes/no questions about images.

    images: (N, rows, columns, 3), uint8 or floats from 0 to 1. answers: (N, A) 1, 0, and NaN or -1 where one is not
    known, which then teaches nothing. names: (A,) the attributes. The same data, settings and number of threads give
    the same network.
    """
    settings = settings or ConceptSettings()
    pixels, names = check_images(images), _check_names(names)
    targets = _check_answers(answers, len(pixels), len(names))
    order = np.random.default_rng((settings.seed, 0)).permutation(len(pixels))
    n_held_out = max(1, round(settings.validation * len(pixels)))
    if n_held_out >= len(pixels):
        raise ValueError(f"images has {len(pixels)} images; give 2 or more, to learn from some and choose on others")
    held_out, rows = np.sort(order[:n_held_out]), order[n_held_out:]
    shape = (int(pixels.shape[1]), int(pixels.shape[2]))
    module = _new(len(names), shape, settings)
    optimizer = torch.optim.AdamW(module.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    steps = math.ceil(len(rows) / settings.batch_size)
    best, best_loss, best_epoch = dict[str, Tensor](), math.inf, 0
    with Progress("teaching the network", settings.epochs * steps, show=progress) as shown:
        for epoch in range(1, settings.epochs + 1):
            shuffled = np.random.default_rng((settings.seed, epoch)).permutation(rows)
            for step in range(steps):
                done = ((epoch - 1) * steps + step) / (settings.epochs * steps)
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * (1 + math.cos(math.pi * done)) / 2
                batch = shuffled[step * settings.batch_size : (step + 1) * settings.batch_size]
                module.train(len(batch) > 1)  # one image has no spread: batch norm goes by those before it
                total, known = masked_loss(module(as_input(pixels[batch])), targets[batch])
                if known:
                    optimizer.zero_grad(set_to_none=True)
                    (total / known).backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                shown.advance()
            loss = _examine(module, pixels[held_out], targets[held_out])
            say(f"epoch {epoch} of {settings.epochs}: loss {loss:.4f} on {n_held_out} held-out images")
            if loss < best_loss:
                best = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
                best_loss, best_epoch = loss, epoch
            elif epoch - best_epoch >= settings.patience:
                say(f"no better for {settings.patience} epochs")
                break
    if not best:
        raise FloatingPointError(f"the loss is not finite; try a smaller learning_rate than {settings.learning_rate:g}")
    module.load_state_dict(best)
    return ConceptNetwork(names, shape, tuple(settings.channels), module.requires_grad_(False).eval())


def masked_loss(logits: Tensor, targets: IntArray) -> tuple[Tensor, int]:
    """The sum of the cross-entropies of the answers that are known, and how many these are."""
    known = torch.as_tensor(targets != UNKNOWN)
    wanted = torch.as_tensor(targets, dtype=logits.dtype)
    each = F.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    return torch.where(known, each, 0.0).sum(), int(known.sum())


@torch.no_grad()
def _examine(module: nn.Module, pixels: Any, targets: IntArray) -> float:
    """Mean loss of the known answers."""
    module.eval()
    total, known = 0.0, 0
    for start in range(0, len(pixels), AT_A_TIME):
        rows = slice(start, start + AT_A_TIME)
        loss, n = masked_loss(module(as_input(pixels[rows])), targets[rows])
        total, known = total + float(loss), known + n
    return total / max(known, 1)


def _new(n_attributes: int, shape: tuple[int, int], settings: ConceptSettings) -> nn.Module:
    """The network with its first weights, drawn from the seed as He et al. do."""
    with torch.random.fork_rng(devices=[]):  # layers draw from torch's own generator when made: leave it as it was
        module = build(n_attributes, shape, settings.channels)
    generator = torch.Generator().manual_seed(settings.seed)
    for layer in module.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


def _check_names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not len(names):
        raise ValueError(f"names is {names!r}; give a list of names, one for each attribute")
    found = tuple(str(name) for name in names)
    if len(set(found)) < len(found):
        raise ValueError("names must differ, and one occurs more than once; rename one")
    return found


def _check_answers(answers: Any, n_images: int, n_attributes: int) -> IntArray:
    """(N, A) 0, 1, and -1 where an answer is not known."""
    given = np.asarray(answers, dtype=np.float64)
    if given.shape != (n_images, n_attributes):
        raise ValueError(
            f"answers has shape {given.shape}; expected ({n_images}, {n_attributes}), a row for each image and a "
            f"column for each name"
        )
    given = np.where(np.isnan(given), UNKNOWN, given)
    if not np.isin(given, (0, 1, UNKNOWN)).all():
        bad = given[~np.isin(given, (0, 1, UNKNOWN))][0]
        raise ValueError(f"answers holds {bad:g}; give 1, 0, and NaN or -1 where an answer is not known")
    silent = np.flatnonzero((given == UNKNOWN).all(axis=0))
    if len(silent):
        raise ValueError(f"answers[:, {silent[0]}] is not known for any image; leave that attribute out")
    return given.astype(np.int64)
