"""Teaching a `ConceptNetwork`: yes/no attributes of images, some of them perhaps not known."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from infopursuit.progress import Progress
from infopursuit.queries.concept_network import AT_A_TIME, ConceptNetwork, as_input, build, check_images
from infopursuit.types import UNKNOWN, IntArray

logger = logging.getLogger(__name__)


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
