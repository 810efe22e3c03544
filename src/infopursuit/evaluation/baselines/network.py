"""The paper's black box on Q: a convolutional network on black and white pictures, plain layers on anything else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from infopursuit.evaluation.baselines.inputs import Inputs
from infopursuit.models.architectures import Mean, Plane, initialise
from infopursuit.models.training import RandomAffine
from infopursuit.types import FloatArray

AT_A_TIME = 512
"""Inputs that are classified at a time."""
UNPADDED, SMALLEST = 16, 4
"""Sides of a picture from which convolutions need no padding, and below which there is nothing to convolve."""


@dataclass(frozen=True)
class NetworkSettings:
    """How the black box is made and trained.

    channels: of the first convolution; the others have 2, 4 and 8 times as many. The paper has 32, and 2048 for
    ``hidden``; half as many channels need a quarter of the arithmetic: an epoch of 60,000 pictures of 28 x 28 takes
    about 100 s of one core. widths: of the plain layers, the paper's. validation: share of the rows that are held
    out. patience: epochs without a better validation accuracy before it stops. refit: whether it is then trained
    again, on all rows, for as many epochs as were best. moves: slightly moved pictures as further examples.
    """

    channels: int = 16
    hidden: int = 512
    widths: tuple[int, ...] = (100, 25)
    epochs: int = 15
    batch_size: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    validation: float = 0.1
    patience: int = 4
    refit: bool = True
    moves: RandomAffine | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"channels": 1, "hidden": 1, "epochs": 1, "batch_size": 1, "patience": 1, "seed": 0}
        for name, smallest in least.items():
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < smallest:
                raise ValueError(f"{name}={value!r} must be a whole number, {smallest} or more")
        if any(int(width) != width or width < 1 for width in self.widths):
            raise ValueError(f"widths={self.widths!r} must be whole numbers, 1 or more")
        if not 0 < self.learning_rate < math.inf or not 0 <= self.weight_decay < math.inf:
            raise ValueError(
                f"learning_rate={self.learning_rate} must be positive, weight_decay={self.weight_decay} 0 or more"
            )


@dataclass(frozen=True)
class NetworkEpoch:
    """What an epoch came to: mean cross-entropies in nats, and the accuracy on the rows that were held out."""

    epoch: int
    train_loss: float
    validation_loss: float
    validation_accuracy: float


def best_epoch(history: Sequence[NetworkEpoch]) -> NetworkEpoch:
    """The epoch with the best validation accuracy; of several the one with the least loss, and of those the first."""
    return max(history, key=lambda epoch: (epoch.validation_accuracy, -epoch.validation_loss))


@dataclass(frozen=True)
class Network:
    """A trained black box."""

    module: nn.Module
    inputs: Inputs
    classes: Any
    settings: NetworkSettings
    history: tuple[NetworkEpoch, ...]
    seconds: float

    @property
    def name(self) -> str:
        """What kind of network it is."""
        return "convolutional network" if _convolves(self.inputs) else "network of plain layers"

    @property
    def validation_accuracy(self) -> float:
        """On the rows that were held out, after the best epoch and before it was trained on all rows."""
        return best_epoch(self.history).validation_accuracy

    @property
    def details(self) -> dict[str, Any]:
        """What was trained, and for how long."""
        return {
            "validation_accuracy": self.validation_accuracy,
            "epochs": best_epoch(self.history).epoch,
            "weights": sum(weight.numel() for weight in self.module.parameters()),
            "settings": asdict(self.settings),
        }

    def logits(self, values: Any) -> FloatArray:
        """(B, A) atom values -> (B, C) what the network says of each class."""
        return network_logits(self.module, self.inputs, values)

    def predict(self, values: Any) -> Any:
        """(B, A) atom values -> (B,) labels."""
        return self.classes[self.logits(values).argmax(axis=1)]


class Pool(nn.Module):
    """The largest of each 2 x 2 pixels, as max(a, b) = b + relu(a - b).

    The same as `nn.MaxPool2d(2)`, and as fast, but attribution methods that go through a network layer by layer know
    how to treat a ReLU. captum's own rule for max pooling (0.9) does not keep what DeepLIFT promises: attributions
    that sum to the difference of the outputs.

    >>> image = torch.randn(2, 3, 5, 6, generator=torch.Generator().manual_seed(0))
    >>> torch.allclose(Pool()(image), nn.MaxPool2d(2)(image))
    True
    """

    def __init__(self) -> None:
        super().__init__()
        self.across, self.down = nn.ReLU(), nn.ReLU()

    def forward(self, image: Tensor) -> Tensor:
        rows, columns = (side // 2 * 2 for side in image.shape[2:])
        left, right = image[:, :, :rows, 0:columns:2], image[:, :, :rows, 1:columns:2]
        larger = right + self.across(left - right)
        above, below = larger[:, :, 0::2], larger[:, :, 1::2]
        return torch.as_tensor(below + self.down(above - below))


class FromNothing(nn.Module):
    """Inputs told from 0 (what is in an input in which nothing is) to 1.

    Of a thousand words a headline has four; 996 times -1 would be a push so large that the first steps switch all
    neurons off, and nothing would be learnt.
    """

    nothing: Tensor

    def __init__(self, nothing: Tensor) -> None:
        super().__init__()
        self.register_buffer("nothing", nothing)

    def forward(self, inputs: Tensor) -> Tensor:
        return (inputs - self.nothing) / (1 - self.nothing)


def build_network(inputs: Inputs, n_classes: int, settings: NetworkSettings) -> nn.Module:
    """The network for these inputs, its first weights drawn from the seed.

    Pictures get the paper's layers: four convolutions of 3 x 3 with batch norm, pooled after the second and the
    fourth, a global average, a hidden layer. The last layer says logits and is trained by cross-entropy, where the
    paper's tables have a sigmoid. No layer is used twice, which is what attributions layer by layer need.
    """
    with torch.random.fork_rng(devices=[]):  # layers draw from torch's own generator when made: leave it as it was
        layers = (_convolutions if _convolves(inputs) else _plain)(inputs, n_classes, settings)
        network = nn.Sequential(*layers)
    return initialise(network, torch.Generator().manual_seed(settings.seed)).eval()


@torch.no_grad()
def network_logits(module: nn.Module, inputs: Inputs, values: Any) -> FloatArray:
    """(B, A) atom values -> (B, C), some at a time."""
    parts = [
        module(inputs.encode(values[start : start + AT_A_TIME])).numpy() for start in range(0, len(values), AT_A_TIME)
    ]
    return np.concatenate(parts).astype(np.float64)


def _convolves(inputs: Inputs) -> bool:
    return inputs.picture is not None and min(inputs.picture) >= SMALLEST


def _convolutions(inputs: Inputs, n_classes: int, settings: NetworkSettings) -> list[nn.Module]:
    shape = inputs.picture
    assert shape is not None
    padding = 0 if min(shape) >= UNPADDED else 1
    channels = [1, *(settings.channels * times for times in (1, 2, 4, 8))]
    layers: list[nn.Module] = [Plane(shape)]
    for i, (before, after) in enumerate(pairwise(channels)):
        # a bias would be taken away again by the batch norm
        convolution = nn.Conv2d(before, after, 3, padding=padding, bias=False)
        layers += [convolution, nn.BatchNorm2d(after), nn.ReLU()] + ([Pool()] if i % 2 else [])
    hidden = nn.Linear(channels[-1], settings.hidden, bias=False)
    return [*layers, Mean(), hidden, nn.BatchNorm1d(settings.hidden), nn.ReLU(), nn.Linear(settings.hidden, n_classes)]


def _plain(inputs: Inputs, n_classes: int, settings: NetworkSettings) -> list[nn.Module]:
    layers: list[nn.Module] = [FromNothing(inputs.nothing)]
    for before, after in pairwise([inputs.size, *settings.widths]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return [*layers, nn.Linear([inputs.size, *settings.widths][-1], n_classes)]
