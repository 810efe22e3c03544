"""Learners: recipes that make a model from a sample. Those with open settings list the candidates to choose from.

Finite models are here; `training` has the learner of a `VAE`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from infopursuit.models.empirical import BLURS, FLIPS, MISSING, Blur, EmpiricalModel, Flip, Smoothing
from infopursuit.models.finite import FiniteModel
from infopursuit.models.sample import Sample
from infopursuit.models.table import TableModel, fit_latent_classes
from infopursuit.support.checks import number, whole_number

if TYPE_CHECKING:
    from infopursuit.models.networks.autoencoder import VAE

TABLE_WORK = 2e10
"""Multiplications that fitting one mixture may take before it is left out of the candidates."""
EMPIRICAL_BYTES = 3 * 2**30
"""Memory that an empirical model may take before it is left out of the candidates."""

Shape = tuple[int, int] | None
"""That of the image whose pixels are the variables, if they are."""


class Learner(Protocol):
    """Makes a model from a sample."""

    def fit(self, sample: Sample, shape: Shape = None, seed: int = 0) -> FiniteModel | VAE:
        """The model."""

    def candidates(self, sample: Sample, shape: Shape = None) -> Sequence[Learner]:
        """Learners without open settings, from the simplest on."""


@dataclass(frozen=True)
class NaiveBayes:
    """Naive Bayes: variables independent given the class, one table for each class.

    smoothing: how many rows' worth a class's frequencies are drawn towards those of all classes; None chooses it on
    held-out data.
    """

    beliefs: ClassVar[tuple[str, ...]] = ("exact", "pruned")
    smoothing: float | None = None

    def __post_init__(self) -> None:
        _check_smoothing(self.smoothing)

    def fit(self, sample: Sample, shape: Shape = None, seed: int = 0) -> FiniteModel:
        table = sample.marginals(1.0 if self.smoothing is None else self.smoothing)
        even = np.ones((sample.n_classes, 1))
        return TableModel.from_slots(sample.variables, sample.class_prior, even, table[:, None])

    def candidates(self, sample: Sample, shape: Shape = None) -> list[Learner]:
        options = (0.1, 0.5, 2.0, 8.0) if self.smoothing is None else (self.smoothing,)
        return [replace(self, smoothing=s) for s in options]


@dataclass(frozen=True)
class LatentClasses:
    """A mixture in each class, fitted by EM: answers may depend on each other through a hidden kind within the class.

    n_latents: kinds in each class; None chooses it on held-out data. smoothing: see `fit_latent_classes`.
    """

    beliefs: ClassVar[tuple[str, ...]] = ("exact", "pruned")
    n_latents: int | None = None
    smoothing: float = 1.0

    def __post_init__(self) -> None:
        if self.n_latents is not None:
            whole_number(self.n_latents, "n_latents", 1)
        _check_smoothing(self.smoothing)

    def fit(self, sample: Sample, shape: Shape = None, seed: int = 0) -> FiniteModel:
        latent, table = fit_latent_classes(sample, self.n_latents or 4, self.smoothing, seed)
        return TableModel.from_slots(sample.variables, sample.class_prior, latent, table)

    def candidates(self, sample: Sample, shape: Shape = None) -> list[Learner]:
        if self.n_latents is not None:
            return [self]
        typical = float(np.median(np.bincount(sample.labels, minlength=sample.n_classes)))
        work = 60.0 * len(sample) * sample.variables.n_slots
        sizes = [z for z in (2, 4, 8, 16, 32) if 5 * z <= typical and z * work <= TABLE_WORK]
        return [replace(self, n_latents=z) for z in sizes]


@dataclass(frozen=True)
class Empirical:
    """Every training example is one latent state, smoothed.

    smoothing: "blur" (images), "flip" (anything), "auto" for the one that fits with its settings chosen on held-out
    data, or a `Blur` or `Flip` with settings of your own.
    """

    beliefs: ClassVar[tuple[str, ...]] = ("exact", "pruned")
    smoothing: Smoothing | str = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.smoothing, (Blur, Flip)) and self.smoothing not in ("auto", "blur", "flip"):
            raise ValueError(f"smoothing={self.smoothing!r}; expected 'auto', 'blur', 'flip', or a Blur or Flip")

    def fit(self, sample: Sample, shape: Shape = None, seed: int = 0) -> FiniteModel:
        smoothing = self.smoothing
        if isinstance(smoothing, str):
            smoothing = Blur() if self._blurs(sample, shape) else Flip()
        if isinstance(smoothing, Blur) and smoothing.shape is None:
            smoothing = replace(smoothing, shape=shape)
        return EmpiricalModel.of(sample, smoothing)

    def candidates(self, sample: Sample, shape: Shape = None) -> list[Learner]:
        if not isinstance(self.smoothing, str):
            return [self]
        if max(sample.variables.sizes) >= MISSING:
            return []
        blurs = self._blurs(sample, shape)
        options: tuple[Smoothing, ...] = tuple(replace(each, shape=shape) for each in BLURS) if blurs else FLIPS
        # a probability for each pixel and scale, or the values themselves twice; and a few numbers for each state
        scales = max(option.n_scales for option in options)
        each = (4 * scales + 1 if blurs else 2) * len(sample.variables) + 48 * scales
        return [replace(self, smoothing=s) for s in options] if len(sample) * each <= EMPIRICAL_BYTES else []

    def _blurs(self, sample: Sample, shape: Shape) -> bool:
        """Whether to blur: images in black and white that are large enough."""
        if self.smoothing == "blur" and shape is None:
            raise ValueError("smoothing='blur' needs patch queries: only pixels of an image can be blurred; use 'flip'")
        plain = set(sample.variables.sizes) == {2} and len(sample.variables) == math.prod(shape or ())
        large = shape is not None and min(shape) >= 5
        return self.smoothing == "blur" or (self.smoothing == "auto" and large and plain)


naive_bayes, latent_classes, empirical = NaiveBayes, LatentClasses, Empirical
"""The names in `infopursuit.models`."""


def _check_smoothing(smoothing: float | None) -> None:
    if smoothing is not None:
        number(smoothing, "smoothing", above=0)  # else an answer could be impossible
