"""Architectures of a variational autoencoder: the networks between variables and latents.

An encoder takes what is seen of the variables (``F`` numbers for an input, see `Features`) and a label (one-hot) to the
mean and log standard deviation of a Gaussian over latents; a decoder takes latents and labels to ``F`` logits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from infopursuit.models.storing import Stored
from infopursuit.support.types import UNKNOWN, Variables

MAX_LOG_STD, MIN_LOG_STD = 2.0, -7.0
"""Bounds of an encoder's log standard deviation, so that a strange input cannot overflow."""


@dataclass(frozen=True)
class Features:
    """How variables go into a network: a yes/no variable as one number (1, -1, 0 where unknown), another as one-hot.

    >>> Features(Variables((2, 3))).encode(torch.tensor([[1, 2], [0, -1]])).tolist()
    [[1.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 0.0]]
    """

    variables: Variables

    @cached_property
    def binary(self) -> bool:
        """Whether all variables have two values, which is the fast case."""
        return set(self.variables.sizes) == {2}

    @property
    def size(self) -> int:
        """F."""
        return sum(1 if size == 2 else size for size in self.variables.sizes)

    @cached_property
    def _slots(self) -> tuple[Tensor, Tensor, Tensor]:
        """(L,) of each slot: its feature, which both slots of a yes/no variable share; -1 for "no", otherwise 1; and
        whether it is of a yes/no variable."""
        variable, widths = self.variables.slot_variable, [1 if size == 2 else size for size in self.variables.sizes]
        first = np.concatenate([[0], np.cumsum(widths)[:-1]])
        inner = np.arange(self.variables.n_slots) - self.variables.offsets[variable]
        yes_no = np.array(self.variables.sizes)[variable] == 2
        sign = np.where(yes_no & (inner == 0), -1.0, 1.0).astype(np.float32)
        feature = first[variable] + np.where(yes_no, 0, inner)
        return torch.as_tensor(feature), torch.as_tensor(sign), torch.as_tensor(yes_no)

    def encode(self, values: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """(B, A) variable values -> (B, F)."""
        known = values != UNKNOWN
        if self.binary:
            return torch.where(known, 2 * values.to(dtype) - 1, 0.0)
        device = values.device
        slots = torch.as_tensor(self.variables.offsets[:-1], device=device) + values.clamp(min=0)  # (B, A)
        where, sign = (table.to(device)[slots] for table in self._slots[:2])
        out = torch.zeros((len(values), self.size), dtype=dtype, device=device)
        return out.scatter_add_(1, where, torch.where(known, sign, 0.0).to(dtype))

    def slot_log_probs(self, logits: Tensor) -> Tensor:
        """(N, F) -> (N, L) log p(value) of every variable value."""
        if self.binary:
            return F.logsigmoid(torch.stack([-logits, logits], dim=-1)).flatten(1)
        # a yes/no variable's logit is the difference of two: half of it on each side gives the same probabilities
        feature, sign, yes_no = (table.to(logits.device) for table in self._slots)
        scores = logits[:, feature] * sign.to(logits)
        scores = torch.where(yes_no, scores / 2, scores)
        padded = torch.as_tensor(self.variables.slots, device=logits.device)  # (A, V)
        table = torch.where(padded >= 0, scores[:, padded.clamp(min=0)], -torch.inf)
        return torch.log_softmax(table, dim=-1)[:, padded >= 0]

    def log_likelihood(self, logits: Tensor, values: Tensor) -> Tensor:
        """(N, F) logits, (N, A) values -> (N,) log p(known values)."""
        known = values != UNKNOWN
        if self.binary:
            return torch.where(known, F.logsigmoid(torch.where(values == 1, logits, -logits)), 0.0).sum(1)
        slots = torch.as_tensor(self.variables.offsets[:-1], device=logits.device) + values.clamp(min=0)
        return torch.where(known, self.slot_log_probs(logits).gather(1, slots), 0.0).sum(1)


class Architecture(Stored):
    """Settings from which the two networks are built: a dataclass."""

    def build(self, features: Features, n_classes: int, latent_dim: int) -> tuple[nn.Module, nn.Module]:
        """Encoder and decoder, not yet initialised."""
        raise NotImplementedError


class Heads(nn.Module):
    """The last layers of an encoder: what the trunk saw, joined with the label, to mean and log standard deviation."""

    def __init__(self, trunk: nn.Module, label: nn.Module, width: int, hidden: int, latent_dim: int) -> None:
        super().__init__()
        self.trunk, self.label = trunk, label
        self.mean, self.log_std = (
            nn.Sequential(nn.Linear(width, hidden), nn.LeakyReLU(0.1), nn.Linear(hidden, latent_dim))
            if hidden
            else nn.Linear(width, latent_dim)
            for _ in range(2)
        )

    def forward(self, features: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        joint = torch.cat([self.trunk(features), self.label(label)], dim=1)
        return self.mean(joint), self.log_std(joint).clamp(MIN_LOG_STD, MAX_LOG_STD)


class PerClass(nn.Module):
    """A linear layer of its own for each class, picked by the label.

    Where label and latent are only joined side by side, a label can do no more than shift the first layer: the
    decoder of one class can still draw the others, and likelihoods tell classes apart badly.
    """

    def __init__(self, n_classes: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_classes, n_in, n_out))
        self.bias = nn.Parameter(torch.empty(n_classes, n_out))

    def forward(self, inputs: Tensor, label: Tensor) -> Tensor:
        # the outer product with a one-hot label makes it one matrix product for any mix of labels
        spread = (label[:, :, None] * inputs[:, None]).flatten(1)  # (B, C n_in)
        return spread @ self.weight.flatten(0, 1) + label @ self.bias


class ClassHeads(nn.Module):
    """The last layer of an encoder with weights of its own for each class."""

    def __init__(self, trunk: nn.Module, n_classes: int, width: int, latent_dim: int) -> None:
        super().__init__()
        self.trunk = trunk
        self.mean, self.log_std = (PerClass(n_classes, width, latent_dim) for _ in range(2))

    def forward(self, features: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        seen = self.trunk(features)
        return self.mean(seen, label), self.log_std(seen, label).clamp(MIN_LOG_STD, MAX_LOG_STD)


class ClassDecoder(nn.Module):
    """A decoder whose first layer, and what each variable is like on average, are each class's own."""

    def __init__(self, first: PerClass, network: nn.Module, n_classes: int, size: int) -> None:
        super().__init__()
        self.first, self.network = first, network
        self.usual = nn.Parameter(torch.zeros(n_classes, size))

    def forward(self, latents: Tensor, label: Tensor) -> Tensor:
        return torch.as_tensor(self.network(self.first(latents, label)) + label @ self.usual)


class Joined(nn.Module):
    """A decoder: latent and label side by side into one network."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, latents: Tensor, label: Tensor) -> Tensor:
        return torch.as_tensor(self.network(torch.cat([latents, label], dim=1)))


class Plane(nn.Module):
    """(B, rows * columns) -> (B, 1, rows, columns), padded to whole blocks of ``multiple`` pixels."""

    def __init__(self, shape: tuple[int, int], multiple: int = 1) -> None:
        super().__init__()
        self.shape = shape
        self.pad = tuple(-side % multiple for side in shape)

    def forward(self, features: Tensor) -> Tensor:
        return F.pad(features.reshape(-1, 1, *self.shape), (0, self.pad[1], 0, self.pad[0]))


class Crop(nn.Module):
    """(B, 1, rows, columns) -> (B, F): the pixels of the image, without what was padded."""

    def __init__(self, shape: tuple[int, int]) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, image: Tensor) -> Tensor:
        return image[:, 0, : self.shape[0], : self.shape[1]].flatten(1)


@dataclass(frozen=True)
class MLPArchitecture(Architecture):
    """A multilayer perceptron, for any variables; the paper's for words and attributes has these settings."""

    kind: ClassVar[str] = "mlp"
    widths: tuple[int, ...] = (512, 128)
    batch_norm: bool = True

    def __post_init__(self) -> None:
        _check_counts("widths", self.widths)
        if type(self.batch_norm) is not bool:
            raise ValueError(f"batch_norm={self.batch_norm!r} must be True or False")

    def build(self, features: Features, n_classes: int, latent_dim: int) -> tuple[nn.Module, nn.Module]:
        trunk = self._layers([features.size, *self.widths])
        encoder = Heads(trunk, nn.Identity(), self.widths[-1] + n_classes, 0, latent_dim)
        sizes = [latent_dim + n_classes, *reversed(self.widths)]
        decoder = nn.Sequential(self._layers(sizes), nn.Linear(sizes[-1], features.size))
        return encoder, Joined(decoder)

    def _layers(self, sizes: list[int]) -> nn.Sequential:
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()] + ([nn.BatchNorm1d(after)] if self.batch_norm else [])
        return nn.Sequential(*layers)


@dataclass(frozen=True)
class ConvArchitecture(Architecture):
    """A lean convolutional architecture for images of any size.

    It trades resolution for channels (blocks of 2 x 2 pixels become four channels), where convolutions are wide and
    few: what two cores do well. ``channels`` at a half and at a quarter of the resolution.
    """

    kind: ClassVar[str] = "conv"
    shape: tuple[int, int]
    channels: tuple[int, int] = (32, 64)
    hidden: int = 256

    def __post_init__(self) -> None:
        _check_counts("shape", self.shape, 2)
        _check_counts("channels", self.channels, 2)
        _check_counts("hidden", (self.hidden,))

    def build(self, features: Features, n_classes: int, latent_dim: int) -> tuple[nn.Module, nn.Module]:
        check_shape(self.shape, features)
        fine, coarse = self.channels
        rows, columns = (-(-side // 4) for side in self.shape)
        flat, act = coarse * rows * columns, nn.LeakyReLU(0.1)
        trunk = [
            *(Plane(self.shape, 4), nn.PixelUnshuffle(2), nn.Conv2d(4, fine, 3, padding=1), act),
            *(nn.PixelUnshuffle(2), nn.Conv2d(4 * fine, coarse, 3, padding=1), act),
            *(nn.Flatten(), nn.Linear(flat, self.hidden), act),
        ]
        decoder = [
            *(act, nn.Linear(self.hidden, flat), act, nn.Unflatten(1, (coarse, rows, columns))),
            *(nn.Conv2d(coarse, 4 * fine, 3, padding=1), act, nn.PixelShuffle(2)),
            *(nn.Conv2d(fine, coarse, 3, padding=1), act),
            *(nn.Conv2d(coarse, 4, 3, padding=1), nn.PixelShuffle(2), Crop(self.shape)),
        ]
        first = PerClass(n_classes, latent_dim, self.hidden)
        encoder = ClassHeads(nn.Sequential(*trunk), n_classes, self.hidden, latent_dim)
        return encoder, ClassDecoder(first, nn.Sequential(*decoder), n_classes, features.size)


class ChannelsLast(nn.Module):
    """Lay images out with their channels side by side, which convolutions in bfloat16 are faster with."""

    def forward(self, images: Tensor) -> Tensor:
        return images.contiguous(memory_format=torch.channels_last)


class Residual(nn.Module):
    """Two 3 x 3 convolutions whose result is added to what goes in (He et al., 2016); nothing is added at first."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, images: Tensor) -> Tensor:
        return torch.relu(images + self.second(torch.relu(self.first(images))))


def initialise(network: nn.Module, generator: torch.Generator) -> nn.Module:
    """Weights drawn as by He et al. (2015); biases zero, or small where each class has its own."""
    for module in network.modules():
        if isinstance(module, PerClass):
            n_in = module.weight.shape[1]
            with torch.no_grad():
                module.weight.copy_(torch.randn(module.weight.shape, generator=generator) * math.sqrt(1 / n_in))
                module.bias.copy_(torch.randn(module.bias.shape, generator=generator) * 0.1)
        if isinstance(module, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            fan_in = float(module.weight[0].numel())
            if isinstance(module, nn.ConvTranspose2d):  # its weights are (in, out, ...), spread over stride^2 pixels
                fan_in = module.weight[:, 0].numel() / math.prod(module.stride)
            with torch.no_grad():
                module.weight.copy_(torch.randn(module.weight.shape, generator=generator) * math.sqrt(2 / fan_in))
                if module.bias is not None:
                    module.bias.zero_()
    return network


KINDS: dict[str, Any] = {cls.kind: cls for cls in (MLPArchitecture, ConvArchitecture)}
"""The architectures that a file may name."""


def _check_counts(name: str, counts: tuple[int, ...], n: int | None = None) -> None:
    if not counts or len(counts) != (n or len(counts)) or any(type(c) is not int or c < 1 for c in counts):
        raise ValueError(f"{name}={counts} must be {n or 'one or more'} whole numbers, each 1 or more")


def check_shape(shape: tuple[int, int], features: Features) -> None:
    if shape[0] * shape[1] != len(features.variables) or not features.binary:
        got = f"{len(features.variables)} variables with up to {max(features.variables.sizes)} values"
        needs = f"needs {shape[0] * shape[1]} black and white pixels; got {got}; use architecture='mlp'"
        raise ValueError(f"a convolutional architecture of shape {shape} {needs}")
