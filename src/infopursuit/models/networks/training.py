"""Training networks: learning rate schedule, validation, random affine augmentation, checkpoints; the learner `vae`.

Everything that is drawn in a step is drawn from (seed, step), so a checkpoint needs no generator states: weights,
moments and the number of the step are the whole state, and training goes on from one as if never stopped.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from infopursuit.models.empirical import Blur
from infopursuit.models.networks.aggregate import aggregate
from infopursuit.models.networks.architectures import Architecture, ConvArchitecture, MLPArchitecture
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.models.networks.autoencoder import VAE, log_evidence, standard_normal
from infopursuit.models.networks.softened import soften
from infopursuit.models.sample import Sample
from infopursuit.support.checks import instance, number, whole_number
from infopursuit.support.files import sweep_leftovers, write_atomically
from infopursuit.support.progress import Progress
from infopursuit.support.types import FloatArray, IntArray

logger = logging.getLogger(__name__)

ARCHITECTURES = ("auto", "conv", "mlp")
SMALL = 5_000
"""Rows up to which a sample is small: narrow layers, small batches, and as many epochs as make enough steps."""
MIN_SIDE = 8
"""Images with a shorter side have too little to convolve."""
MIN_STEPS = {"table": 600, "image": 2_000}
MIN_EPOCHS = {"table": 20, "image": 30}
MAX_ROWS = 2**22
"""Repeated rows are drawn in proportion to their weights beyond this number."""


@dataclass(frozen=True)
class Schedule:
    """What all trainings have in common; see `Training`."""

    epochs: int | None = 30
    batch_size: int = 128
    learning_rate: float = 2e-3
    validation: float = 0.05
    patience: int = 10
    augmentation: RandomAffine | None = None
    seed: int = 0
    checkpoint_every: float = 60.0

    def __post_init__(self) -> None:
        for name, low in (("epochs", 1), ("batch_size", 1), ("patience", 1), ("seed", 0)):
            if name != "epochs" or self.epochs is not None:
                whole_number(getattr(self, name), name, low)
        number(self.learning_rate, "learning_rate", above=0)
        number(self.validation, "validation", least=0, below=1)
        number(self.checkpoint_every, "checkpoint_every", least=0, below=math.inf)


@dataclass(frozen=True)
class Training(Schedule):
    """How to train.

    beta: weight of the divergence from the prior. learning_rate: the highest; it rises over the first tenth and falls
    to nothing at the end. validation: share of the rows that are held out. patience: epochs without a better
    validation loss before it stops. augmentation: of images, anew in every epoch. checkpoint_every: seconds.
    """

    epochs: int = 30
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.beta, "beta", least=0, below=math.inf)


@dataclass(frozen=True)
class Epoch:
    """Mean training loss in nats; that of the held-out rows, or the former where there are none; and their accuracy by
    MAP using all variables."""

    epoch: int
    train_loss: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


@dataclass
class TrainingState:
    """What a checkpoint holds besides the networks and the optimizer."""

    step: int = 0
    best_loss: float = math.inf
    best_epoch: int = -1
    running: float = 0.0  # sum of the losses of this epoch so far
    history: list[Epoch] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)


class CheckpointMismatch(ValueError):
    """A checkpoint that belongs to other data or other settings."""


class Lessons(Protocol):
    """What a network is trained on."""

    @property
    def scale(self) -> float:
        """What the loss is divided by for its gradient."""

    @property
    def told(self) -> str:
        """How an epoch is told: training loss, validation loss, accuracy in %."""

    def loss(self, rows: IntArray, share: float, generator: torch.Generator) -> Tensor:
        """The loss of some rows, at this share of the training."""

    def validate(self, rows: IntArray) -> tuple[float, float]:
        """Loss and accuracy on rows that were held out."""

    def fingerprint(self) -> bytes:
        """Of data and settings."""


def run_training(
    networks: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    lessons: Lessons,
    rows: tuple[IntArray, IntArray],
    how: Schedule,
    epochs: int,
    *,
    settled: float = 0.0,
    checkpoint: Any = None,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> list[Epoch]:
    """Train networks in place, to their best epoch; returns what each epoch came to.

    rows: held out, and trained on. settled: share of the training before which it does not stop early. checkpoint: a
    file from which training goes on if it is there, and which is written as it goes.
    """
    held_out, learn = rows
    per_epoch = math.ceil(len(learn) / how.batch_size)
    total = per_epoch * epochs
    state, file, name = TrainingState(), None, ""
    if checkpoint is not None:
        file, name = Path(checkpoint), _fingerprint(networks, lessons, how)
        sweep_leftovers(file.parent)
        if file.exists():
            state = read_checkpoint(file, name, networks, optimizer)
            say(f"going on from step {state.step} of {total} in {file}")
    started = saved = time.monotonic()
    with Progress("training", total, show=progress, done=state.step) as shown:
        while state.step < total:
            epoch, within = divmod(state.step, per_epoch)
            share = state.step / total
            if not within and share > settled and epoch - state.best_epoch > how.patience:
                say(f"the validation loss has not fallen for {how.patience} epochs")
                break
            shuffled = np.random.default_rng((how.seed, 1, epoch)).permutation(learn)
            batch = np.sort(shuffled[within * how.batch_size : (within + 1) * how.batch_size])
            networks.train(len(batch) > 1)  # one row has no spread: batch norm goes by the rows before it
            for group in optimizer.param_groups:
                group["lr"] = how.learning_rate * schedule(share)
            generator = torch.Generator().manual_seed(step_seed(how.seed, state.step))
            loss = _step(networks, optimizer, lessons, batch, share, generator)
            check_loss(loss, how.learning_rate, state.step)
            state.running += loss
            state.step += 1
            shown.advance()
            if within + 1 == per_epoch:
                networks.eval()
                checked = lessons.validate(held_out) if len(held_out) else None
                check_loss(checked[0] if checked else loss, how.learning_rate, state.step)
                finish_epoch(networks, checked, state, per_epoch, time.monotonic() - started)
                started, last = time.monotonic(), state.history[-1]
                came_to = lessons.told.format(last.train_loss, last.validation_loss, 100 * last.validation_accuracy)
                say(f"epoch {last.epoch} of {epochs}: {came_to} ({last.seconds:.0f} s)")
            if file is not None and (state.step == total or time.monotonic() - saved >= how.checkpoint_every):
                write_checkpoint(file, name, networks, optimizer, state)
                saved = time.monotonic()
    if state.best:
        networks.load_state_dict(state.best)
    networks.eval()
    return state.history


def _step(
    networks: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    lessons: Lessons,
    batch: IntArray,
    share: float,
    generator: torch.Generator,
) -> float:
    loss = lessons.loss(batch, share, generator)
    optimizer.zero_grad(set_to_none=True)
    (loss / lessons.scale).backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(networks.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def held_out_split(
    n_rows: int,
    how: Schedule,
    least: int = 0,
    groups: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """The rows that are held out from training, and those that are trained on.

    Parameters
    ----------
    n_rows : int
    how : Schedule
        Its ``validation`` is the share that is held out, its ``seed`` that of the split.
    least : int, default 0
        Groups that are held out at least.
    groups : (n_rows,) array of int, optional
        Rows of the same group, such as repeats of one row, are held out together. By default each
        row is a group.
    """
    groups = np.arange(n_rows) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    n_groups = int(groups.max(initial=-1)) + 1
    order = np.random.default_rng((how.seed, 0)).permutation(n_groups)
    n_held_out = max(least, round(how.validation * n_groups))

    is_held_out = np.zeros(n_groups, dtype=bool)
    is_held_out[order[:n_held_out]] = True
    return np.flatnonzero(is_held_out[groups]), np.flatnonzero(~is_held_out[groups])


@dataclass
class _Images:
    """Rows from which a VAE is learnt."""

    model: VAE
    values: Any
    labels: IntArray
    how: Training
    told: str = "-ELBO {:.2f} training, {:.2f} validation, MAP {:.2f} %"

    @property
    def scale(self) -> float:
        return len(self.model.variables)

    def loss(self, rows: IntArray, share: float, generator: torch.Generator) -> Tensor:
        model = self.model
        x = torch.as_tensor(model.variables.check(self.values[rows], "a mini-batch of values"))
        if self.how.augmentation is not None:
            x = self.how.augmentation.apply(x, model.architecture.shape, generator)  # type: ignore[attr-defined]
        noise = standard_normal((len(x), model.latent_dim), generator).to(model.dtype)
        x, y = x.to(model.device), torch.as_tensor(self.labels[rows], device=model.device)
        return negative_elbo(model, x, y, noise.to(model.device), self.how.beta).mean()

    def validate(self, rows: IntArray) -> tuple[float, float]:
        return validate(self.model, self.values, self.labels, rows, self.how.beta)

    def fingerprint(self) -> bytes:
        model = self.model
        shape = [model.architecture.to_spec(), model.latent_dim, list(model.variables.sizes), list(model.class_prior)]
        some = np.linspace(0, len(self.labels) - 1, min(len(self.labels), 1000)).astype(int)
        return json.dumps(shape).encode() + self.labels.tobytes() + model.variables.check(self.values[some]).tobytes()


def train(
    model: VAE,
    values: Any,
    labels: Any,
    training: Training | None = None,
    *,
    groups: IntArray | None = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> tuple[VAE, list[Epoch]]:
    """A trained copy of a model, and what each epoch came to.

    values: (N, A) variable values, -1 for unknown; may be memory-mapped, only mini-batches are read. labels: (N,) in
    0..C-1. groups: (N,) rows of the same group are held out together. checkpoint: a file from which training goes on
    if it is there, and which is written as it goes.
    """
    training = training or Training()
    labels = _check_data(model, values, labels, training)
    model = model.to()  # a copy: the given one stays as it is
    networks = model.networks
    optimizer = torch.optim.Adam(networks.parameters(), lr=training.learning_rate, betas=(0.9, 0.99))
    lessons, rows = _Images(model, values, labels, training), held_out_split(len(labels), training, 0, groups)
    history = run_training(
        networks,
        optimizer,
        lessons,
        rows,
        training,
        training.epochs,
        checkpoint=checkpoint,
        progress=progress,
        say=say,
    )
    return model, history


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


def step_seed(seed: int, step: int) -> int:
    """The seed of all that is drawn in a step."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {step}".encode(), digest_size=7).digest(), "little")


def finish_epoch(
    networks: torch.nn.Module, validation: tuple[float, float] | None, state: TrainingState, n_steps: int, took: float
) -> None:
    """Note an epoch of some steps, and keep its weights if they are the best. validation: loss and accuracy."""
    epoch, train_loss = state.step // n_steps - 1, state.running / n_steps
    loss, accuracy = (train_loss, math.nan) if validation is None else validation
    state.history.append(Epoch(epoch + 1, train_loss, loss, accuracy, took))
    state.running = 0.0
    if loss < state.best_loss:
        state.best_loss, state.best_epoch = loss, epoch
        state.best = {k: v.detach().clone() for k, v in networks.state_dict().items()}


@torch.no_grad()
def validate(
    model: VAE, values: Any, labels: IntArray, rows: IntArray, beta: float = 1.0, max_rows: int = 1000
) -> tuple[float, float]:
    """Mean negative ELBO on some rows, its divergence weighted as in training, and MAP accuracy on at most ``max_rows``
    of them."""
    total = 0.0
    for start in range(0, len(rows), 500):
        some = rows[start : start + 500]
        generator = torch.Generator().manual_seed(start)
        noise = standard_normal((len(some), model.latent_dim), generator).to(device=model.device, dtype=model.dtype)
        x = torch.as_tensor(model.variables.check(values[some], "a mini-batch of values"), device=model.device)
        total += float(negative_elbo(model, x, torch.as_tensor(labels[some], device=model.device), noise, beta).sum())
    few = rows if len(rows) <= max_rows else rows[np.linspace(0, len(rows) - 1, max_rows).astype(int)]
    guessed = log_evidence(model, values[few], n_draws=2).argmax(axis=1)
    return total / len(rows), float((guessed == labels[few]).mean())


# ---- checkpoints ----------------------------------------------------------------------------------------------------


def write_checkpoint(
    file: Path, name: str, networks: torch.nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState
) -> None:
    """Write all that training needs to go on; ``name``: the fingerprint of data and settings."""
    tensors = {f"now.{k}": v for k, v in networks.state_dict().items()}
    tensors |= {f"best.{k}": v for k, v in state.best.items()}
    for i, entry in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{i}.{k}": torch.as_tensor(v) for k, v in entry.items()}
    facts = {k: getattr(state, k) for k in ("step", "best_loss", "best_epoch", "running")}
    facts |= {"training": name, "history": [asdict(epoch) for epoch in state.history]}
    tensors = {k: v.detach().contiguous().cpu() for k, v in tensors.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, safetensors.torch.save(tensors, metadata={"state": json.dumps(facts)}))


def read_checkpoint(
    file: Path, name: str, networks: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> TrainingState:
    """Put networks and optimizer where they were, and return the rest; refused where the fingerprint is another."""
    try:
        with safe_open(str(file), framework="pt") as stored:
            facts = json.loads(stored.metadata()["state"])
            tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"checkpoint={str(file)!r} cannot be read ({error}); remove it to begin anew") from None
    if facts.pop("training") != name:
        raise CheckpointMismatch(
            f"checkpoint={str(file)!r} belongs to other data or other settings; remove it, or give another file"
        )
    parts: dict[str, dict[str, Tensor]] = {"now": {}, "best": {}, "adam": {}}
    for key, tensor in tensors.items():
        part, rest = key.split(".", 1)
        parts[part][rest] = tensor
    networks.load_state_dict(parts["now"])
    entries: dict[int, dict[str, Tensor]] = {}
    for key, tensor in parts["adam"].items():
        index, entry = key.split(".", 1)
        entries.setdefault(int(index), {})[entry] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": entries})
    history = [Epoch(**epoch) for epoch in facts.pop("history")]
    return TrainingState(**facts, history=history, best=parts["best"])


def _fingerprint(networks: torch.nn.Module, lessons: Lessons, how: Schedule) -> str:
    """A name for data, settings and first weights: a checkpoint of another training must not be taken up."""
    settings = asdict(replace(how, checkpoint_every=0.0))
    digest = hashlib.sha256(json.dumps(settings, default=lambda number: number.item()).encode())
    weights = {name: tensor.contiguous().cpu() for name, tensor in networks.state_dict().items()}
    digest.update(safetensors.torch.save(weights))
    digest.update(lessons.fingerprint())
    return digest.hexdigest()


# ---- checks ---------------------------------------------------------------------------------------------------------


def _check_data(model: VAE, values: Any, labels: Any, training: Training) -> IntArray:
    given = np.asarray(labels)
    if given.ndim != 1 or given.dtype.kind not in "iub":
        raise ValueError(f"labels is {given.dtype} of shape {given.shape}; expected the class number of each row")
    whole: IntArray = given.astype(np.int64)
    if getattr(values, "ndim", None) != 2 or values.shape != (len(whole), len(model.variables)):
        expected = f"({len(whole)}, {len(model.variables)}), one row for each label, one column for each variable"
        raise ValueError(f"values has shape {getattr(values, 'shape', None)}; expected {expected}")
    if len(whole) < 2 or whole.min() < 0 or whole.max() >= model.n_classes:
        raise ValueError(f"labels must be two or more class numbers from 0 to {model.n_classes - 1}")
    if round(training.validation * len(whole)) == len(whole):
        raise ValueError(f"validation={training.validation} leaves none of {len(whole)} rows to train on; lower it")
    if training.augmentation is not None and not hasattr(model.architecture, "shape"):
        raise ValueError("augmentation needs images: an architecture with a shape, such as ConvArchitecture((28, 28))")
    return whole


def check_loss(loss: float, learning_rate: float, step: int) -> None:
    """Refuse a loss that is no number."""
    if not math.isfinite(loss):
        remedy = f"try a smaller learning_rate than {learning_rate:g}"
        raise FloatingPointError(f"the loss is {loss} at step {step}; {remedy}")


# ---- the learner ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VAELearner:
    """The paper's conditional VAE, trained on the rows.

    architecture: "auto" takes "conv" for images with sides of 8 pixels or more and "mlp" for anything else; or an
    instance, such as ``ConvArchitecture((28, 28), hidden=128)``.
    latent_dim: 20 for images, up to 10 for tables. training: a `Training`; otherwise one of some seconds for a table of
    a few hundred rows, of minutes for a thousand images, and of 30 epochs for large sets of images. checkpoint: a file
    from which an interrupted training goes on. progress: True shows it even where no terminal is.
    aggregate: the prior of the latents is their aggregate posterior, where the encoder places the training rows; it
    then contains training data. blur: a `Blur` of the decoded images, how much being part of the latent. With both,
    and many draws, an image pursuit is the paper's: `python -m benchmarks.reproduce mnist` has the settings.
    """

    beliefs: ClassVar[tuple[str, ...]] = ("smc", "langevin")
    architecture: Architecture | str = "auto"
    latent_dim: int | None = None
    training: Training | None = None
    checkpoint: Any = field(default=None, kw_only=True)
    aggregate: bool = field(default=False, kw_only=True)
    blur: Blur | None = field(default=None, kw_only=True)
    device: Any = field(default=None, compare=False, kw_only=True)
    progress: bool | None = field(default=None, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        given, dim = self.architecture, self.latent_dim
        if given not in ARCHITECTURES if isinstance(given, str) else not isinstance(given, Architecture):
            names = ", ".join(map(repr, ARCHITECTURES))
            raise ValueError(f"architecture={given!r}; expected one of {names}, or ip.models.MLPArchitecture((64, 32))")
        if dim is not None:
            whole_number(dim, "latent_dim", 1)
        expected = "ip.models.Training(epochs=30), or None"
        instance(self.training, "training", (Training, type(None)), expected, error=ValueError)
        expected = "ip.models.Blur((0.0, 0.35, 0.7)), or None"
        instance(self.blur, "blur", (Blur, type(None)), expected, error=ValueError)

    def fit(self, sample: Sample, shape: tuple[int, int] | None = None, seed: int = 0) -> VAE:
        """The trained model; the seed of the training is added to ``seed``."""
        rows = repeat_by_weight(sample.weights, seed)
        architecture = self.choose_architecture(sample, shape)
        image_shape = getattr(architecture, "shape", None)
        # half as many latents as variables: with more, a latent could copy a row, and the label would hardly be used
        default_dim = min(10, max(2, len(sample.variables) // 2)) if image_shape is None else 20
        training = self.training or default_training(len(rows), sample.n_classes, image_shape)
        model = VAE(sample.variables.sizes, sample.class_prior, architecture, self.latent_dim or default_dim, seed=seed)
        trained, _ = train(
            model if self.device is None else model.to(self.device),
            _Rows(sample.values, rows),
            sample.labels[rows],
            replace(training, seed=training.seed + seed),
            groups=sample.groups_of(rows),
            checkpoint=self.checkpoint,
            progress=self.progress,
        )
        if self.aggregate:
            trained = aggregate(trained, sample.values[rows], sample.labels[rows])
        return trained if self.blur is None else soften(trained, self.blur)

    def with_defaults(self, device: Any, progress: bool | None) -> VAELearner:
        """The same learner, with the device and the progress of an estimator where it has none of its own."""
        return replace(
            self,
            device=device if self.device is None else self.device,
            progress=progress if self.progress is None else self.progress,
        )

    def candidates(self, sample: Sample, shape: tuple[int, int] | None = None) -> list[VAELearner]:
        """Itself: a training is too long to try several settings unasked."""
        return [self]

    def choose_architecture(self, sample: Sample, shape: tuple[int, int] | None) -> Architecture:
        """The architecture that was given, or the one that suits the variables."""
        if not isinstance(self.architecture, str):
            return self.architecture
        kind = self.architecture
        if kind == "auto":
            plain = set(sample.variables.sizes) == {2} and len(sample.variables) == math.prod(shape or ())
            image = shape is not None and min(shape) >= MIN_SIDE and plain
            kind = "conv" if image else "mlp"
        if kind == "mlp":
            return MLPArchitecture() if sample.weights.sum() > SMALL else MLPArchitecture((64, 32))
        if shape is None:
            raise ValueError(f"architecture={kind!r} needs patch queries, the pixels of an image; use 'mlp'")
        return ConvArchitecture(shape)


vae = VAELearner
"""The name in `infopursuit.models`."""


def default_training(n: int, n_classes: int, shape: tuple[int, int] | None) -> Training:
    """Settings for n rows: of a table, or of images of a shape.

    Small data get more epochs. Some rows are held out to find the best epoch, unless a class could be left without any.
    """
    kind, small = ("table" if shape is None else "image"), n <= SMALL
    batch_size = 128 if not small else 32 if shape is None else 64
    validation = 0.0 if n < max(40, 5 * n_classes) else 0.1 if small else 0.05
    epochs = max(MIN_EPOCHS[kind], math.ceil(MIN_STEPS[kind] / math.ceil((1 - validation) * n / batch_size)))
    return Training(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=5e-3 if small and shape is None else 2e-3,
        validation=validation,
        patience=max(10, epochs // 4),
        # a pixel is little in an image of 28 x 28 and much in one of 8 x 8
        augmentation=None if shape is None else RandomAffine(shift=min(1.0, min(shape) / 14)),
    )


def repeat_by_weight(weights: FloatArray, seed: int = 0) -> IntArray:
    """(n,) row numbers, each as often as its weight says: exactly where weights are whole, otherwise one time more or
    less by chance, right on average.

    >>> repeat_by_weight(np.array([1.0, 3.0, 2.0])).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    whole = weights.round()
    if np.abs(weights - whole).max() < 1e-9 and whole.sum() <= MAX_ROWS:
        return np.repeat(np.arange(len(weights)), whole.astype(np.int64))
    n = max(len(weights), min(round(float(weights.sum())), MAX_ROWS))
    shift = float(torch.rand(1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))
    # systematic resampling: points at equal distances on the weights laid end to end
    ends = np.cumsum(weights) / weights.sum()
    return np.minimum(np.searchsorted(ends, (np.arange(n) + shift) / n, side="right"), len(weights) - 1)


class _Rows:
    """Rows of a table, some of them several times, without a copy of any."""

    ndim = 2

    def __init__(self, values: IntArray, rows: IntArray) -> None:
        self._values, self._rows = values, rows
        self.shape = (len(rows), values.shape[1])

    def __getitem__(self, index: Any) -> IntArray:
        return np.asarray(self._values[self._rows[index]])
