"""Training a `VAE`: mini-batches, a schedule, a validation part, checkpoints from which it goes on as if never stopped.

Everything that is drawn in a step is drawn from (seed, step), so a checkpoint needs no generator states: weights,
moments and the number of the step are the whole state.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from infopursuit.files import sweep_leftovers, write_atomically
from infopursuit.models.augmentation import Moves
from infopursuit.models.vae import VAE, drawn_normal, log_evidence
from infopursuit.progress import Progress
from infopursuit.types import IntArray

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Training:
    """How to train.

    beta: weight of the divergence from the prior. learning_rate: the highest; it rises over the first tenth and falls
    to nothing at the end. validation: share of the rows that are held out. patience: epochs without a better
    validation loss before it stops. moves: slightly moved images as further examples. every: seconds between
    checkpoints.
    """

    epochs: int = 30
    batch_size: int = 128
    learning_rate: float = 2e-3
    beta: float = 1.0
    validation: float = 0.05
    patience: int = 10
    moves: Moves | None = None
    seed: int = 0
    every: float = 60.0

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("patience", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number, {least} or more")
        if not 0 < self.learning_rate < math.inf or not 0 <= self.beta < math.inf or not 0 <= self.validation < 1:
            raise ValueError(
                f"learning_rate={self.learning_rate} must be positive, beta={self.beta} not negative, and "
                f"validation={self.validation} a share from 0 to below 1"
            )
        if not self.every >= 0:
            raise ValueError(f"every={self.every} must be a number of seconds, 0 or more")


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to, in nats: the mean of what was minimised, beta included; the negative ELBO (beta 1) of the
    rows that were held out, or the former where there are none; and their accuracy by MAP using all atoms."""

    epoch: int
    train_loss: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


@dataclass
class _State:
    """What a checkpoint holds."""

    step: int
    best_loss: float
    best_epoch: int
    running: float  # sum of the losses of this epoch so far
    history: list[Epoch]
    best: dict[str, Tensor]


class NotTheSameTraining(ValueError):
    """A checkpoint that belongs to other data or other settings."""


def train(
    model: VAE,
    values: Any,
    labels: Any,
    training: Training | None = None,
    *,
    checkpoint: Any = None,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> tuple[VAE, list[Epoch]]:
    """A trained copy of a model, and what each epoch came to.

    values: (N, A) atom values, -1 for unknown; may be memory-mapped, only mini-batches are read. labels: (N,) in
    0..C-1. checkpoint: a file from which training goes on if it is there, and which is written as it goes.
    """
    training = training or Training()
    labels = _check_data(model, values, labels, training)
    model = model.to()  # a copy: the given one stays as it is
    networks = model.networks
    optimizer = torch.optim.Adam(networks.parameters(), lr=training.learning_rate, betas=(0.9, 0.99))
    order = np.random.default_rng((training.seed, 0)).permutation(len(labels))
    held_out = np.sort(order[: round(training.validation * len(labels))])
    rows = np.sort(order[len(held_out) :])
    per_epoch = math.ceil(len(rows) / training.batch_size)
    total = per_epoch * training.epochs
    state = _State(0, math.inf, -1, 0.0, [], {})
    file = None if checkpoint is None else Path(checkpoint)
    name = _fingerprint(model, values, labels, training)
    if file is not None:
        sweep_leftovers(file.parent)
    if file is not None and file.exists():
        state = _read(file, name, networks, optimizer)
        say(f"going on from step {state.step} of {total} in {file}")
    started = saved = time.monotonic()
    with Progress("training", total, show=progress, done=state.step) as shown:
        while state.step < total:
            epoch, within = divmod(state.step, per_epoch)
            if not within and epoch - state.best_epoch > training.patience and state.history:
                say(f"the validation loss has not fallen for {training.patience} epochs")
                break
            shuffled = np.random.default_rng((training.seed, 1, epoch)).permutation(rows)
            batch = np.sort(shuffled[within * training.batch_size : (within + 1) * training.batch_size])
            networks.train(len(batch) > 1)  # one row has no spread: batch norm goes by the rows before it
            for group in optimizer.param_groups:
                group["lr"] = training.learning_rate * schedule(state.step / total)
            loss = _step(model, optimizer, values[batch], labels[batch], training, state.step)
            _check_loss(loss, training, state)
            state.running += loss
            state.step += 1
            shown.advance()
            if within + 1 == per_epoch:
                networks.eval()
                _finish_epoch(model, values, labels, held_out, training, state, per_epoch, time.monotonic() - started)
                started = time.monotonic()
                say(_told(state.history[-1], training.epochs))
            if file is not None and (state.step == total or time.monotonic() - saved >= training.every):
                _write(file, name, networks, optimizer, state)
                saved = time.monotonic()
    if state.best:
        networks.load_state_dict(state.best)
    networks.eval()
    return model, state.history


def schedule(share: float) -> float:
    """The learning rate's share of its highest: up over the first tenth, then half a cosine down to nothing."""
    return share / 0.1 if share < 0.1 else (1 + math.cos(math.pi * (share - 0.1) / 0.9)) / 2


def negative_elbo(model: VAE, values: Tensor, labels: Tensor, noise: Tensor, beta: float = 1.0) -> Tensor:
    """(B,) -E_q[log p(x | z, y)] + beta KL(q(z | x, y) || p(z)), with one draw of z for each row."""
    mean, log_std = model.encode(values, labels)
    latents = mean + log_std.exp() * noise
    likelihood = model.features.log_likelihood(model.logits(latents, labels), values)
    divergence = (mean.square() + (2 * log_std).exp() - 1 - 2 * log_std).sum(1) / 2
    return beta * divergence - likelihood


def _step(
    model: VAE, optimizer: torch.optim.Optimizer, values: Any, labels: IntArray, training: Training, step: int
) -> float:
    generator = torch.Generator().manual_seed(_mix(training.seed, step))
    x = torch.as_tensor(model.atoms.check(values, "a mini-batch of values"))
    if training.moves is not None:
        x = training.moves.apply(x, model.body.shape, generator)  # type: ignore[attr-defined]
    noise = drawn_normal((len(x), model.latent_dim), generator).to(model.dtype)
    x, y = x.to(model.device), torch.as_tensor(labels, device=model.device)
    loss = negative_elbo(model, x, y, noise.to(model.device), training.beta).mean()
    optimizer.zero_grad(set_to_none=True)
    (loss / len(model.atoms)).backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(model.networks.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def _finish_epoch(
    model: VAE,
    values: Any,
    labels: IntArray,
    held_out: IntArray,
    training: Training,
    state: _State,
    per_epoch: int,
    seconds: float,
) -> None:
    epoch = state.step // per_epoch - 1
    train_loss = state.running / per_epoch
    loss, accuracy = train_loss, math.nan
    if len(held_out):
        loss, accuracy = validate(model, values, labels, held_out, training.beta)
        _check_loss(loss, training, state)
    state.history.append(Epoch(epoch + 1, train_loss, loss, accuracy, seconds))
    state.running = 0.0
    if loss < state.best_loss:
        state.best_loss, state.best_epoch = loss, epoch
        state.best = {k: v.detach().clone() for k, v in model.networks.state_dict().items()}


@torch.no_grad()
def validate(
    model: VAE, values: Any, labels: IntArray, rows: IntArray, beta: float = 1.0, most: int = 1000
) -> tuple[float, float]:
    """Mean negative ELBO on some rows, its divergence weighted as in training, and MAP accuracy on at most ``most`` of
    them."""
    total = 0.0
    for start in range(0, len(rows), 500):
        some = rows[start : start + 500]
        generator = torch.Generator().manual_seed(start)
        noise = drawn_normal((len(some), model.latent_dim), generator).to(device=model.device, dtype=model.dtype)
        x = torch.as_tensor(model.atoms.check(values[some], "a mini-batch of values"), device=model.device)
        total += float(negative_elbo(model, x, torch.as_tensor(labels[some], device=model.device), noise, beta).sum())
    few = rows[:most] if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]
    guessed = log_evidence(model, values[few], n_draws=2).argmax(axis=1)
    return total / len(rows), float((guessed == labels[few]).mean())


# ---- checkpoints ----------------------------------------------------------------------------------------------------


def _write(file: Path, name: str, networks: torch.nn.Module, optimizer: torch.optim.Optimizer, state: _State) -> None:
    tensors = {f"now.{k}": v for k, v in networks.state_dict().items()}
    tensors |= {f"best.{k}": v for k, v in state.best.items()}
    for i, entry in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{i}.{k}": torch.as_tensor(v) for k, v in entry.items()}
    facts = {
        "training": name,
        "step": state.step,
        "best_loss": state.best_loss if math.isfinite(state.best_loss) else None,
        "best_epoch": state.best_epoch,
        "running": state.running,
        "history": [asdict(epoch) for epoch in state.history],
    }
    payload = safetensors.torch.save(
        {k: v.detach().contiguous().cpu() for k, v in tensors.items()}, metadata={"state": json.dumps(facts)}
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, payload)


def _read(file: Path, name: str, networks: torch.nn.Module, optimizer: torch.optim.Optimizer) -> _State:
    try:
        with safe_open(str(file), framework="pt") as stored:
            facts = json.loads(stored.metadata()["state"])
            tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"checkpoint={str(file)!r} cannot be read ({error}); remove it to begin anew") from None
    if facts["training"] != name:
        raise NotTheSameTraining(
            f"checkpoint={str(file)!r} belongs to other data or other settings; remove it, or give another file"
        )
    networks.load_state_dict(_part(tensors, "now."))
    entries: dict[int, dict[str, Tensor]] = {}
    for key, tensor in _part(tensors, "adam.").items():
        index, field = key.split(".", 1)
        entries.setdefault(int(index), {})[field] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": entries})
    return _State(
        step=facts["step"],
        best_loss=math.inf if facts["best_loss"] is None else facts["best_loss"],
        best_epoch=facts["best_epoch"],
        running=facts["running"],
        history=[Epoch(**epoch) for epoch in facts["history"]],
        best=_part(tensors, "best."),
    )


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _fingerprint(model: VAE, values: Any, labels: IntArray, training: Training) -> str:
    """A name for data, settings and first weights: a checkpoint of another training must not be taken up."""
    settings = asdict(replace(training, every=0.0))
    described = [settings, model.body.to_spec(), model.latent_dim, list(model.atoms.sizes), list(model.class_prior)]
    digest = hashlib.sha256(json.dumps(described, default=lambda number: number.item()).encode())
    weights = {name: tensor.contiguous().cpu() for name, tensor in model.networks.state_dict().items()}
    digest.update(safetensors.torch.save(weights))
    digest.update(labels.tobytes())
    some = np.linspace(0, len(labels) - 1, min(len(labels), 1000)).astype(int)
    digest.update(model.atoms.check(values[some]).tobytes())
    return digest.hexdigest()


def _check_data(model: VAE, values: Any, labels: Any, training: Training) -> IntArray:
    given = np.asarray(labels)
    if given.ndim != 1 or given.dtype.kind not in "iub":
        raise ValueError(
            f"labels has shape {given.shape} and type {given.dtype}; expected a whole number for each row, of its class"
        )
    whole: IntArray = given.astype(np.int64)
    if getattr(values, "ndim", None) != 2 or values.shape != (len(whole), len(model.atoms)):
        raise ValueError(
            f"values has shape {getattr(values, 'shape', None)}; expected ({len(whole)}, {len(model.atoms)}): one row "
            f"for each label, one column for each atom"
        )
    if len(whole) < 2 or whole.min() < 0 or whole.max() >= model.n_classes:
        raise ValueError(f"labels must be two or more class numbers from 0 to {model.n_classes - 1}")
    if round(training.validation * len(whole)) == len(whole):
        raise ValueError(f"validation={training.validation} leaves none of {len(whole)} rows to train on; lower it")
    if training.moves is not None and not hasattr(model.body, "shape"):
        raise ValueError("moves need images: a body with a shape, such as ConvBody((28, 28))")
    return whole


def _check_loss(loss: float, training: Training, state: _State) -> None:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"the loss is {loss} at step {state.step}; try a smaller learning_rate than {training.learning_rate:g}"
        )


def _mix(seed: int, step: int) -> int:
    """One number from two, such that neighbours are unlike."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {step}".encode(), digest_size=7).digest(), "little")


def _told(epoch: Epoch, total: int) -> str:
    return (
        f"epoch {epoch.epoch} of {total}: -ELBO {epoch.train_loss:.2f} training, {epoch.validation_loss:.2f} "
        f"validation, MAP {100 * epoch.validation_accuracy:.2f} % ({epoch.seconds:.0f} s)"
    )
