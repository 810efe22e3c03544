"""`vae`: the learner that trains a `VAE`, with settings that suit the data where none are given."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch

from infopursuit.models.augmentation import Moves
from infopursuit.models.bodies import Body, ConvBody, MLPBody, PaperBody
from infopursuit.models.sample import Sample
from infopursuit.models.training import Training, train
from infopursuit.models.vae import VAE
from infopursuit.types import FloatArray, IntArray

SMALL = 5_000
"""Rows up to which a sample is small: narrow layers, small batches, and as many epochs as make enough steps."""
SMALLEST_IMAGE = 8
"""Images with a shorter side have too little to convolve."""
STEPS = {"table": 600, "image": 2_000}
"""Steps that a training takes at least."""
EPOCHS = {"table": 20, "image": 30}
"""Epochs that a training takes at least."""
MOST_ROWS = 2**22
"""Repeated rows are drawn in proportion to their weights beyond this number."""


@dataclass(frozen=True)
class VAELearner:
    """Trains a conditional variational autoencoder; see `vae`."""

    BODIES: ClassVar[tuple[str, ...]] = ("auto", "conv", "mlp", "paper")

    body: Body | str = "auto"
    latent_dim: int | None = None
    training: Training | None = None
    checkpoint: Any = None
    device: Any = field(default=None, compare=False)
    progress: bool | None = field(default=None, compare=False)

    def fit(self, sample: Sample, shape: tuple[int, int] | None = None, seed: int = 0) -> VAE:
        """The trained model; the seed of the training is added to ``seed``."""
        rows = repeated(sample.weights, seed)
        body = self.choose_body(sample, shape)
        image = hasattr(body, "shape")
        # half as many latents as atoms: with more, a latent could copy a row, and the label would hardly be used
        latent_dim = self.latent_dim or (20 if image else min(10, max(2, len(sample.atoms) // 2)))
        training = self.training or suitable(len(rows), sample.n_classes, getattr(body, "shape", None))
        model = VAE(sample.atoms.sizes, sample.class_prior, body, latent_dim, seed=seed)
        trained, _ = train(
            model if self.device is None else model.to(self.device),
            _Rows(sample.values, rows),
            sample.labels[rows],
            replace(training, seed=training.seed + seed),
            checkpoint=self.checkpoint,
            progress=self.progress,
        )
        return trained

    def candidates(self, sample: Sample, shape: tuple[int, int] | None = None) -> list[VAELearner]:
        """Itself: a training is too long to try several settings unasked."""
        return [self]

    def choose_body(self, sample: Sample, shape: tuple[int, int] | None) -> Body:
        """The body that was given, or the one that suits the atoms."""
        if not isinstance(self.body, str):
            return self.body
        if self.body == "auto":
            binary = set(sample.atoms.sizes) == {2}
            kind = "conv" if shape is not None and min(shape) >= SMALLEST_IMAGE and binary else "mlp"
        else:
            kind = self.body
        if kind == "mlp":
            return MLPBody() if sample.weights.sum() > SMALL else MLPBody((64, 32))
        if shape is None:
            raise ValueError(
                f"body={self.body!r} needs patch queries: only pixels of an image can be convolved; use 'mlp'"
            )
        return ConvBody(shape) if kind == "conv" else PaperBody(shape)


def vae(
    body: Body | str = "auto",
    latent_dim: int | None = None,
    training: Training | None = None,
    *,
    checkpoint: Any = None,
    device: Any = None,
    progress: bool | None = None,
) -> VAELearner:
    """The paper's conditional VAE, trained on the rows.

    ``body``: "auto" takes "conv" for images with sides of 8 pixels or more and "mlp" for anything else; "paper" is the
    published one for 28 x 28 pixels; or a `ConvBody`, `MLPBody` or `PaperBody` with settings of your own.
    ``latent_dim``: 20 for images, up to 10 for tables. ``training``: a `Training`; otherwise one of some seconds for a
    table of a few hundred rows, of minutes for a thousand images, and of 30 epochs for large sets of images.
    ``checkpoint``: a file from which an interrupted training goes on. ``progress``: True shows it even where no
    terminal is.
    """
    if isinstance(body, str):
        if body not in VAELearner.BODIES:
            raise ValueError(f"body={body!r}; expected one of {', '.join(map(repr, VAELearner.BODIES))}, or a body")
    elif isinstance(body, type) or not (hasattr(body, "build") and hasattr(body, "to_spec")):
        raise ValueError(f"body={body!r}; expected 'auto', or a body such as ip.models.MLPBody((64, 32))")
    if latent_dim is not None and (isinstance(latent_dim, bool) or latent_dim < 1 or int(latent_dim) != latent_dim):
        raise ValueError(f"latent_dim={latent_dim!r} must be a whole number, 1 or more, or None")
    if training is not None and not isinstance(training, Training):
        raise ValueError(f"training={training!r}; expected settings such as ip.models.Training(epochs=30), or None")
    return VAELearner(body, latent_dim, training, checkpoint, device, progress)


def suitable(n: int, n_classes: int, shape: tuple[int, int] | None) -> Training:
    """Settings for n rows: of a table, or of images of a shape.

    Small data make few steps in an epoch, so that they get more epochs. Some rows are held out to find the best one,
    unless there are so few that a class could be left without any.
    """
    kind, small = ("table" if shape is None else "image"), n <= SMALL
    batch_size = 128 if not small else 32 if shape is None else 64
    validation = 0.0 if n < max(40, 5 * n_classes) else 0.1 if small else 0.05
    epochs = max(EPOCHS[kind], math.ceil(STEPS[kind] / math.ceil((1 - validation) * n / batch_size)))
    return Training(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=5e-3 if small and shape is None else 2e-3,
        validation=validation,
        patience=max(10, epochs // 4),
        # a pixel is little in an image of 28 x 28 and much in one of 8 x 8
        moves=None if shape is None else Moves(shift=min(1.0, min(shape) / 14)),
    )


def repeated(weights: FloatArray, seed: int = 0) -> IntArray:
    """(n,) row numbers, each as often as its weight says: exactly where weights are whole, otherwise one time more or
    less by chance, right on average.

    >>> repeated(np.array([1.0, 3.0, 2.0])).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    whole = weights.round()
    if np.abs(weights - whole).max() < 1e-9 and whole.sum() <= MOST_ROWS:
        return np.repeat(np.arange(len(weights)), whole.astype(np.int64))
    n = max(len(weights), min(round(float(weights.sum())), MOST_ROWS))
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
