"""Learners: recipes that make a model from a sample. Those with open settings list the candidates to choose from.

Finite models are here; `training` has the learner of a `VAE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from infopursuit.models.empirical import BLURS, FLIPS, MISSING, Blur, EmpiricalModel, Flip, Smoothing
from infopursuit.models.finite import FiniteModel
from infopursuit.models.sample import Sample
from infopursuit.models.table import TableModel, fit_latent_classes

if TYPE_CHECKING:
    from infopursuit.models.autoencoder import VAE

TABLE_WORK = 2e10
"""Multiplications that fitting one mixture may take before it is left out of the candidates."""

EMPIRICAL_BYTES = 3 * 2**30
"""Memory that an empirical model may take before it is left out of the candidates."""


class Learner(Protocol):
    """Makes a model from a sample; ``shape`` is that of the image whose pixels are the atoms, if they are."""

    def fit(self, sample: Sample, shape: tuple[int, int] | None = None, seed: int = 0) -> FiniteModel | VAE:
        """The model."""

    def candidates(self, sample: Sample, shape: tuple[int, int] | None = None) -> Sequence[Learner]:
        """Learners without open settings, from the plainest on."""


@dataclass(frozen=True)
class NaiveBayes:
    """Atoms independent given the class; see `naive_bayes`."""

    smoothing: float | None = None

    def fit(self, sample: Sample, shape: tuple[int, int] | None = None, seed: int = 0) -> FiniteModel:
        table = sample.marginals(1.0 if self.smoothing is None else self.smoothing)
        return TableModel.from_slots(sample.atoms, sample.class_prior, np.ones((sample.n_classes, 1)), table[:, None])

    def candidates(self, sample: Sample, shape: tuple[int, int] | None = None) -> list[Learner]:
        options = (0.1, 0.5, 2.0, 8.0) if self.smoothing is None else (self.smoothing,)
        return [replace(self, smoothing=s) for s in options]


@dataclass(frozen=True)
class LatentClasses:
    """A mixture of independent atoms in each class; see `latent_classes`."""

    n_latents: int | None = None
    smoothing: float = 1.0

    def fit(self, sample: Sample, shape: tuple[int, int] | None = None, seed: int = 0) -> FiniteModel:
        n_latents = 4 if self.n_latents is None else self.n_latents
        latent, table = fit_latent_classes(sample, n_latents, self.smoothing, seed)
        return TableModel.from_slots(sample.atoms, sample.class_prior, latent, table)

    def candidates(self, sample: Sample, shape: tuple[int, int] | None = None) -> list[Learner]:
        if self.n_latents is not None:
            return [self]
        typical = float(np.median(np.bincount(sample.labels, minlength=sample.n_classes)))
        work = 60.0 * len(sample) * sample.atoms.n_slots
        sizes = [z for z in (2, 4, 8, 16, 32) if 5 * z <= typical and z * work <= TABLE_WORK]
        return [replace(self, n_latents=z) for z in sizes]


@dataclass(frozen=True)
class Empirical:
    """Every training example is a latent state; see `empirical`."""

    smoothing: Smoothing | str = "auto"

    def fit(self, sample: Sample, shape: tuple[int, int] | None = None, seed: int = 0) -> FiniteModel:
        smoothing = self.smoothing
        if not isinstance(smoothing, (Blur, Flip)):
            kind = self._kind(shape)
            smoothing = Blur(shape=shape) if kind == "blur" and shape is not None else Flip()
        if isinstance(smoothing, Blur) and smoothing.shape is None:
            smoothing = replace(smoothing, shape=shape)
        return EmpiricalModel.of(sample, smoothing)

    def candidates(self, sample: Sample, shape: tuple[int, int] | None = None) -> list[Learner]:
        if isinstance(self.smoothing, (Blur, Flip)):
            return [self]
        if max(sample.atoms.sizes) >= MISSING:
            return []
        kind = self._kind(shape)
        options: tuple[Smoothing, ...] = BLURS if kind == "blur" else FLIPS
        # a probability for each pixel and scale, or the values themselves twice; and a few numbers for each state
        scales = max(option.n_scales for option in options)
        each = (4 * scales + 1 if kind == "blur" else 2) * len(sample.atoms) + 48 * scales
        if len(sample) * each > EMPIRICAL_BYTES:
            return []
        return [
            replace(self, smoothing=replace(each, shape=shape) if isinstance(each, Blur) else each) for each in options
        ]

    def _kind(self, shape: tuple[int, int] | None) -> str:
        if self.smoothing == "auto":
            return "blur" if shape is not None and min(shape) >= 5 else "flip"
        if self.smoothing not in ("blur", "flip"):
            raise ValueError(f"smoothing={self.smoothing!r}; expected 'auto', 'blur', 'flip', or a Blur or Flip")
        if self.smoothing == "blur" and shape is None:
            raise ValueError("smoothing='blur' needs patch queries: only pixels of an image can be blurred; use 'flip'")
        return str(self.smoothing)


def naive_bayes(smoothing: float | None = None) -> NaiveBayes:
    """Naive Bayes: one table for each class.

    ``smoothing``: how many rows' worth a class's frequencies are drawn towards those of all classes; None chooses it
    on held-out data.
    """
    if smoothing is not None and not smoothing > 0:
        raise ValueError(f"smoothing={smoothing} must be positive, so that no answer is impossible")
    return NaiveBayes(smoothing)


def latent_classes(n_latents: int | None = None, smoothing: float = 1.0) -> LatentClasses:
    """A mixture in each class, fitted by EM: answers may depend on each other through a hidden kind within the class.

    ``n_latents``: kinds in each class; None chooses it on held-out data.
    """
    if n_latents is not None and (n_latents < 1 or int(n_latents) != n_latents):
        raise ValueError(f"n_latents={n_latents} must be a whole number, 1 or more")
    if not smoothing > 0:
        raise ValueError(f"smoothing={smoothing} must be positive, so that no answer is impossible")
    return LatentClasses(n_latents, smoothing)


def empirical(smoothing: Smoothing | str = "auto") -> Empirical:
    """Every training example is one latent state, smoothed.

    ``smoothing``: "blur" (images), "flip" (anything), "auto" for the one that fits with its width and floor chosen on
    held-out data, or a `Blur` or `Flip` with settings of your own.
    """
    learner = Empirical(smoothing)
    if not isinstance(smoothing, (Blur, Flip)) and smoothing != "blur":
        learner._kind(None)
    return learner
