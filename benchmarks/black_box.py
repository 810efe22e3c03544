"""The black box using Q of Table 1: the better of the paper's network and a tuned model of scikit-learn.

The network is convolutional on binary images and fully connected on anything else.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.baselines import (
    BaselineResult,
    Tuned,
    check_rows,
    check_training_rows,
    fit_tuned,
    hold_out,
    score,
)
from benchmarks.inputs import Inputs
from benchmarks.paper_architecture import Mean
from infopursuit.models.networks.architectures import Plane, initialise
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.models.networks.training import schedule
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.files import write_atomically
from infopursuit.support.progress import Progress
from infopursuit.support.types import FloatArray, IntArray, ModelFormatError

logger = logging.getLogger(__name__)

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
    again, on all rows, for as many epochs as were best. augmentation: slightly moved pictures as further examples.
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
    augmentation: RandomAffine | None = None
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
        """(B, A) variable values -> (B, C) what the network says of each class."""
        return network_logits(self.module, self.inputs, values)

    def predict(self, values: Any) -> Any:
        """(B, A) variable values -> (B,) labels."""
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
    """(B, A) variable values -> (B, C), some at a time."""
    parts = [
        module(torch.as_tensor(inputs.encode(values[start : start + AT_A_TIME]))).numpy()
        for start in range(0, len(values), AT_A_TIME)
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
    layers: list[nn.Module] = [FromNothing(torch.as_tensor(inputs.nothing))]
    for before, after in pairwise([inputs.size, *settings.widths]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return [*layers, nn.Linear([inputs.size, *settings.widths][-1], n_classes)]


def black_box(
    query_set: QuerySet,
    values_train: Any,
    labels_train: Any,
    values_test: Any,
    labels_test: Any,
    *,
    settings: NetworkSettings | None = None,
    network: Network | None = None,
    tuned: Tuned | None = None,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> BaselineResult:
    """The better of the two by accuracy on the same held-out rows; its details say which, and have the other's result.

    network, tuned: those that have been fitted already, to be used instead of fitting them here. Seed, share of
    held-out rows and refit are those of the settings, for both.
    """
    settings = settings or NetworkSettings()
    values_test, labels_test = check_rows(query_set, values_test, labels_test, "test")
    if network is None:
        network = fit_network(query_set, values_train, labels_train, settings, progress=progress, say=say)
    if tuned is None:
        tuned = fit_tuned(
            query_set,
            values_train,
            labels_train,
            validation=settings.validation,
            refit=settings.refit,
            seed=settings.seed,
            progress=progress,
            say=say,
        )
    chosen, other = (network, tuned) if network.validation_accuracy >= tuned.validation_accuracy else (tuned, network)
    best = score(chosen, values_test, labels_test)
    details = {"chosen": chosen.name, **best.details, "other": asdict(score(other, values_test, labels_test))}
    return replace(best, name="black box using Q", seconds=network.seconds + tuned.seconds, details=details)


def fit_network(
    query_set: QuerySet,
    values: Any,
    labels: Any,
    settings: NetworkSettings | None = None,
    *,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> Network:
    """Train the paper's network: stop early by the accuracy on held-out rows, then train it again on all rows.

    The same rows, settings and number of threads give the same weights.
    """
    settings = settings or NetworkSettings()
    begin = time.perf_counter()
    values, classes, targets = check_training_rows(query_set, values, labels)
    inputs = Inputs(query_set)
    if settings.augmentation is not None and inputs.picture is None:
        raise ValueError(
            f"augmentation={settings.augmentation} needs images: queries such as ip.queries.patches((28, 28))"
        )
    learn, choose = hold_out(targets, settings.validation, settings.seed)
    module, best = build_network(inputs, len(classes), settings), {}
    history: list[NetworkEpoch] = []
    for epoch, loss in _epochs(module, inputs, values, targets, learn, settings, settings.epochs, progress):
        history.append(_examine(module, inputs, values[choose], targets[choose], epoch, loss))
        say(_told(history[-1], settings.epochs))
        if best_epoch(history) is history[-1]:
            best = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
        elif epoch - best_epoch(history).epoch >= settings.patience:
            say(f"no better on held-out rows for {settings.patience} epochs")
            break
    if settings.refit:
        # the same weights to begin with; the schedule ends where the first training was best
        module, last = build_network(inputs, len(classes), settings), best_epoch(history).epoch
        for epoch, loss in _epochs(module, inputs, values, targets, np.arange(len(targets)), settings, last, progress):
            say(f"epoch {epoch} of {last} on all rows: loss {loss:.4f}")
    else:
        module.load_state_dict(best)
    return Network(module.eval(), inputs, classes, settings, tuple(history), time.perf_counter() - begin)


def _epochs(
    module: nn.Module,
    inputs: Inputs,
    values: Any,
    targets: IntArray,
    rows: IntArray,
    settings: NetworkSettings,
    n_epochs: int,
    progress: bool | None,
) -> Iterator[tuple[int, float]]:
    """Train epoch by epoch; yields the number of each and its mean loss, with the network ready to be used."""
    optimizer = torch.optim.AdamW(module.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    starts = range(0, len(rows), settings.batch_size)
    step = 0
    with Progress("training the black box", n_epochs * len(starts), show=progress) as shown:
        for epoch in range(1, n_epochs + 1):
            shuffled = np.random.default_rng((settings.seed, 1, epoch)).permutation(rows)
            total = 0.0
            for start in starts:
                batch = shuffled[start : start + settings.batch_size]
                module.train(len(batch) > 1)  # one row has no spread: batch norm goes by the rows before it
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * schedule(step / (n_epochs * len(starts)))
                seen = _moved(values[batch], inputs, settings, step)
                loss = F.cross_entropy(module(torch.as_tensor(inputs.encode(seen))), torch.as_tensor(targets[batch]))
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += float(loss.detach()) * len(batch)
                step += 1
                shown.advance()
            if not np.isfinite(total):
                raise FloatingPointError(
                    f"the loss is {total} in epoch {epoch}; try a smaller learning_rate than {settings.learning_rate:g}"
                )
            module.eval()
            yield epoch, total / len(rows)


def _moved(values: Any, inputs: Inputs, settings: NetworkSettings, step: int) -> Any:
    """The rows of a step, moved if they are to be; by how much depends on the seed and the step alone."""
    if settings.augmentation is None or inputs.picture is None:
        return values
    generator = torch.Generator().manual_seed(int(np.random.default_rng((settings.seed, 2, step)).integers(2**53)))
    wide = torch.as_tensor(np.asarray(values, dtype=np.int64))
    return settings.augmentation.apply(wide, inputs.picture, generator).numpy()


def _examine(
    module: nn.Module, inputs: Inputs, values: Any, targets: IntArray, epoch: int, train_loss: float
) -> NetworkEpoch:
    logits = torch.as_tensor(network_logits(module, inputs, values))
    wanted = torch.as_tensor(targets)
    accuracy = float((logits.argmax(dim=1) == wanted).double().mean())
    return NetworkEpoch(epoch, train_loss, float(F.cross_entropy(logits, wanted)), accuracy)


def _told(epoch: NetworkEpoch, total: int) -> str:
    return (
        f"epoch {epoch.epoch} of {total}: loss {epoch.train_loss:.4f} training, {epoch.validation_loss:.4f} "
        f"validation, {100 * epoch.validation_accuracy:.2f} % right on held-out rows"
    )


KEY = "infopursuit.black-box"


def save_network(network: Network, file: Any) -> None:
    """Write a network to one file; an old one stays until the new one is whole."""
    path = Path(file)
    about = {
        "classes": np.asarray(network.classes).tolist(),
        "settings": asdict(network.settings),
        "history": [asdict(epoch) for epoch in network.history],
        "seconds": network.seconds,
    }
    weights = {name: tensor.contiguous() for name, tensor in network.module.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, safetensors.torch.save(weights, metadata={KEY: json.dumps(about)}))


def load_network(file: Any, query_set: QuerySet) -> Network:
    """Read what `save_network` wrote, for the query set that the network was trained on."""
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"file={str(path)!r} is not there; give a file that save_network() wrote")
    try:
        with safe_open(str(path), framework="pt") as stored:
            about = json.loads((stored.metadata() or {})[KEY])
            weights = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        given = about["settings"]
        augmentation = None if given["augmentation"] is None else RandomAffine(**given["augmentation"])
        settings = NetworkSettings(**{**given, "widths": tuple(given["widths"]), "augmentation": augmentation})
        inputs = Inputs(query_set)
        module = build_network(inputs, len(about["classes"]), settings)
        module.load_state_dict(weights)
        history = tuple(NetworkEpoch(**epoch) for epoch in about["history"])
        classes, seconds = np.asarray(about["classes"]), float(about["seconds"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFormatError(
            f"file={str(path)!r} holds no black box for these {len(query_set)} queries, or is damaged: {error}"
        ) from None
    return Network(module.eval(), inputs, classes, settings, history, seconds)
