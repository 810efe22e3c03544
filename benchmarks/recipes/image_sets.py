"""The three sets of images: how each is asked about, what model of it is trained, and what the paper has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import WEIGHTS, datasets
from benchmarks.black_box import NetworkSettings
from benchmarks.pages import quoted
from benchmarks.pool import Pooled, UnionModel
from benchmarks.vae_files import load_vae, save_vae
from infopursuit import queries
from infopursuit.evaluation.measures import Row
from infopursuit.models.empirical import Blur, EmpiricalModel
from infopursuit.models.finite import FiniteModel
from infopursuit.models.networks.aggregate import aggregate
from infopursuit.models.networks.architectures import ConvArchitecture
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.models.networks.autoencoder import VAE
from infopursuit.models.networks.softened import soften
from infopursuit.models.networks.training import Training, train
from infopursuit.models.sample import Sample
from infopursuit.models.table import TableModel, fit_latent_classes
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.strategies import SMC
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.strategies.generative.particles import Particles, stratified_prior
from infopursuit.support.types import IntArray

NARROW = Blur((0.0, 0.35, 0.7), (0.01, 0.02, 0.05), (0.01, 0.02, 0.05))
WIDE = Blur((0.5, 0.9, 1.5), (0.01, 0.02, 0.05), (0.01, 0.02, 0.05))
POOLED = (Blur((0.7,), (0.02,), (0.02,)), Blur((1.2,), (0.02,), (0.02,)))
LEAST = 1e-4
"""What a mixture never says less than of a pixel: nothing is impossible that was not seen."""
SAMPLER = SMC(n_draws=18_000, min_ess=0.0)
BLACK_BOX = NetworkSettings(epochs=8, patience=8, validation=0.05, refit=False)
STROKES = RandomAffine(1.5, 10.0, 0.1, 0.4, 0.45)
TRAINING = Training(epochs=30, learning_rate=2e-3, augmentation=RandomAffine(1.0, 8.0, 0.05))


def loosened(first: Training, *epochs: int) -> tuple[Training, ...]:
    """A training, and further rounds with the divergence weighing four times as much: one latent then stands for many
    like images, and what is decoded from it is as soft as that."""
    more = (replace(first, epochs=n, learning_rate=1e-3, beta=4.0, patience=99) for n in epochs)
    return (first, *more)


@dataclass(frozen=True)
class ImageSet:
    """One experiment with images.

    threshold: a pixel above it is lit. length: mean number of questions on held-out training images, at the most.
    one_standard_error: stop as early as accuracy there is within one standard error of the best. most_queries: of any
    image.
    rounds: how the VAE is trained. decoded, examples: smoothing of what the VAE decodes, and of the training images.
    sampler: `smc` on the VAE. n_states, n_screened: draws and queries that gains are computed on. tried: held-out
    images that epsilon and patience are chosen on. least: the smallest epsilon of a curve. network: the black box.
    n_copies, augmentation: copies of each training image in the pool's finite models. paper: Table 1.
    """

    name: str
    data: str
    threshold: float
    length: float
    most_queries: int
    rounds: tuple[Training, ...]
    paper: tuple[Row, ...]
    size: int = 3
    decoded: Blur = NARROW
    examples: Blur = WIDE
    pooled: tuple[Blur, ...] = POOLED
    n_pooled: int = 18_000
    n_mixture: int = 400
    rounds_mixture: int = 20
    n_copies: int = 0
    augmentation: RandomAffine = STROKES
    sampler: SMC = SAMPLER
    n_states: int = 256
    n_screened: int = 16
    patiences: tuple[int, ...] = (0, 1, 2)
    tried: int = 3000
    least: float = 0.003
    one_standard_error: bool = False
    network: NetworkSettings = BLACK_BOX

    @property
    def epsilons(self) -> tuple[float, ...]:
        """What is tried: from no question at all to the least."""
        return (0.95, 0.8, 0.6, 0.4, 0.3, *np.geomspace(0.2, self.least, 80).round(5).tolist())


def _paper(pursuit: float, length: float, tree: float, whole: float, box: float, best: float) -> tuple[Row, ...]:
    return (
        quoted("the paper: Information Pursuit", pursuit, length),
        quoted("the paper: decision tree", tree),
        quoted("the paper: MAP using Q", whole),
        quoted("the paper: black box using Q", box),
        quoted("the paper: best black box of the literature", best, note="grey images, as the paper quotes it"),
    )


IMAGE_SETS = {
    "mnist": ImageSet(
        "mnist",
        "mnist",
        threshold=127.5,
        length=5.2,
        most_queries=12,
        rounds=loosened(TRAINING, 7, 10),
        paper=_paper(0.9678, 5.2, 0.9023, 0.9905, 0.9915, 0.9983),
    ),
    "kmnist": ImageSet(
        "kmnist",
        "kmnist",
        patiences=(0, 1, 2, 4),
        least=3e-4,
        threshold=127.5,
        length=12.9,
        one_standard_error=True,
        most_queries=40,
        rounds=loosened(
            replace(TRAINING, epochs=120, validation=0.1, patience=40, augmentation=RandomAffine(1.5, 10.0, 0.1)),
            40,
            40,
        ),
        tried=701,
        network=NetworkSettings(epochs=24, patience=8, validation=0.1, augmentation=RandomAffine(1.5, 10.0, 0.1)),
        paper=_paper(0.9102, 12.9, 0.7800, 0.9425, 0.9510, 0.9883),
    ),
    "fashion": ImageSet(
        "fashion",
        "fashion_mnist",
        threshold=25.5,
        length=12.0,
        most_queries=30,
        rounds=loosened(replace(TRAINING, epochs=16, augmentation=RandomAffine(1.0, 4.0, 0.05)), 8, 8),
        paper=_paper(0.8560, 14.5, 0.8080, 0.8756, 0.8843, 0.9670),
    ),
}


class ImageTask:
    """The images of a set as variables, and pursuits of them.

    held_out: rows of the training images that training leaves out, as many as are tried; rest: those that it does not.
    """

    def __init__(self, images: ImageSet, n_inputs: int | None = None, size: int | None = None) -> None:
        self.images = images
        data = datasets.load(images.data)
        self.data = data
        shape = data.x_train.shape[1:]
        self.query_set = queries.patches(shape, size=size or images.size, threshold=images.threshold)
        self.values = self.query_set.observe(data.x_train).astype(np.int8)
        self.labels = np.asarray(data.y_train, dtype=np.int64)
        self.x_test = self.query_set.observe(data.x_test[:n_inputs])
        self.y_test = np.asarray(data.y_test[:n_inputs], dtype=np.int64)
        self.n_classes = len(data.class_names)
        first = images.rounds[0]
        order = np.random.default_rng((first.seed, 0)).permutation(len(self.values))
        self.held_out: IntArray = order[: images.tried]
        self.rest: IntArray = np.sort(order[round(first.validation * len(self.values)) :])

    @cached_property
    def vae(self) -> VAE:
        """The trained model."""
        return load_vae(weights_file(self.images.name))

    def with_vae(self, rows: Any, epsilon: float, patience: int = 0) -> Pursuit[Any]:
        """Pursuits with the VAE; its prior is the aggregate posterior of some training images."""
        model = soften(aggregate(self.vae, self.values[rows], self.labels[rows]), self.images.decoded)
        return self._pursuit(model, self.images.sampler, epsilon, patience)

    def with_examples(self, rows: Any, epsilon: float, patience: int = 0) -> Pursuit[Any]:
        """Pursuits with some training images themselves as the model."""
        return self._pursuit(self.examples(rows), "pruned", epsilon, patience)

    def with_pool(self, rows: Any, epsilon: float, patience: int = 0) -> Pursuit[Any]:
        """Pursuits with what the VAE decodes and the training images, each of which keeps its say."""
        return self._pursuit(UnionModel(self.pool(rows)), Pooled(), epsilon, patience, more=2)

    def pool(self, rows: Any) -> list[FiniteModel]:
        """The models of the pool: what the VAE decodes, the training images at each blur, a mixture in each class."""
        images = self.images
        soft = soften(aggregate(self.vae, self.values[rows], self.labels[rows]), images.decoded)
        sample = self._sample(rows, images.n_copies)
        latent, tables = fit_latent_classes(sample, images.n_mixture, rounds=images.rounds_mixture)
        yes = tables[:, :, 1::2].clip(LEAST, 1 - LEAST)
        return [
            Particles(soft, *stratified_prior(soft, images.n_pooled, torch.Generator().manual_seed(0))),
            *(self._blurred(sample, blur) for blur in images.pooled),
            TableModel(sample.class_prior, latent, yes),
        ]

    def examples(self, rows: Any) -> EmpiricalModel:
        """Some training images, blurred, as the model."""
        return self._blurred(self._sample(rows), self.images.examples)

    def _blurred(self, sample: Sample, blur: Blur) -> EmpiricalModel:
        return EmpiricalModel.of(sample, replace(blur, shape=self.query_set.shape))

    def _sample(self, rows: Any, n_copies: int = 0) -> Sample:
        """Some training images, and augmented copies of each."""
        values = self.values[rows].reshape(-1, *self.query_set.shape)
        values = self.images.augmentation.copies(values, n_copies).reshape(-1, self.values.shape[1])
        labels = np.tile(self.labels[rows], n_copies + 1)
        return Sample.of(self.query_set.variables, values, labels, n_classes=self.n_classes)

    def _pursuit(self, model: Any, belief: Any, epsilon: float, patience: int, more: int = 1) -> Pursuit[Any]:
        images = self.images
        return generative_pursuit(
            model,
            self.query_set,
            belief,
            Confidence(epsilon) | MaxQueries(images.most_queries),
            patience,
            n_states=more * images.n_states,
            n_screened=images.n_screened,
        )


def weights_file(name: str) -> Path:
    """The file of an experiment's trained weights."""
    return WEIGHTS / f"{name}-vae.safetensors"


def weights_checksum(name: str) -> str:
    """The sha256 of an experiment's trained weights, "" where it has none."""
    file = weights_file(name)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def train_images(name: str, out: Path, *, say: Callable[[str], None], progress: bool | None = None) -> VAE:
    """Train the VAE of an experiment and write it to a file, with those of its earlier rounds beside it; killed and
    called again, it goes on."""
    images = IMAGE_SETS[name]
    task = ImageTask(images, n_inputs=1)
    counts = np.bincount(task.labels, minlength=task.n_classes) + 0.5
    architecture = ConvArchitecture(task.data.x_train.shape[1:])
    model = VAE(task.query_set.variables.sizes, counts / counts.sum(), architecture, latent_dim=20)
    for i, training in enumerate(images.rounds, start=1):
        file = out if i == len(images.rounds) else out.with_stem(f"{out.stem}-round-{i}")
        checkpoint = file.with_suffix(".checkpoint")
        model, _ = train(model, task.values, task.labels, training, checkpoint=checkpoint, progress=progress, say=say)
        save_vae(model, file)
        say(f"round {i} of {len(images.rounds)} written to {file}")
    return model
