"""Variants of a trained `VAE`: with the aggregate posterior of examples as its prior, and with blurred pictures."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.empirical import Blur, blur_matrix
from infopursuit.models.networks.autoencoder import VAE, log_normal, standard_normal
from infopursuit.support.types import IntArray

CHUNK = 512
"""Examples that `aggregate` encodes at a time."""


class AggregateVAE(VAE):
    """A VAE whose p(z | y) is the mixture of the encoder's q(z | x, y) over examples x of the class (the aggregate
    posterior); see `aggregate`.

    A decoder is only trained on such latents; between them a standard normal draws what no example looks like.
    """

    kind: ClassVar[str] = "aggregate-vae"
    contains_training_data = True

    mean: Tensor  # (R, D) of the examples' latents, sorted by class
    log_std: Tensor  # (R, D)
    offsets: IntArray  # (C + 1,) where the examples of each class begin

    def log_prior(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N,) log p(z | y)."""
        found = torch.empty(len(latents), dtype=latents.dtype, device=latents.device)
        parts, index = [], []
        for c in torch.unique(labels).tolist():
            mine = torch.nonzero(labels == c)[:, 0]
            here = slice(int(self.offsets[c]), int(self.offsets[c + 1]))
            mean, log_std, z = self.mean[here], self.log_std[here], latents[mine]
            precision = torch.exp(-2 * log_std)
            # (n, R) squared distances as matrix products
            square = z.square() @ precision.T - 2 * z @ (mean * precision).T + (mean.square() * precision).sum(1)
            constant = log_std.sum(1) + 0.5 * self.latent_dim * float(np.log(2 * np.pi))
            parts.append(torch.logsumexp(-square / 2 - constant, dim=1) - float(np.log(len(mean))))
            index.append(mine)
        return found.index_put((torch.cat(index),), torch.cat(parts)) if index else found

    def draw_prior(self, labels: Tensor, generator: torch.Generator) -> Tensor:
        """(N, D) latents from p(z | y); the draws of a class are spread evenly over its examples."""
        noise = standard_normal((len(labels), self.latent_dim), generator).to(device=self.device, dtype=self.dtype)
        picked = torch.empty(len(labels), dtype=torch.int64, device=self.device)
        for c in torch.unique(labels).tolist():
            mine = torch.nonzero(labels == c)[:, 0]
            n_examples = int(self.offsets[c + 1] - self.offsets[c])
            shift = torch.rand(1, generator=generator, dtype=torch.float64)
            steps = (torch.arange(len(mine), dtype=torch.float64) + shift) * (n_examples / len(mine))
            picked[mine] = int(self.offsets[c]) + steps.long().clamp(max=n_examples - 1).to(self.device)
        return self.mean[picked] + self.log_std[picked].exp() * noise

    def to(self, device: Any = None, dtype: torch.dtype | str | None = None) -> Self:
        other = super().to(device, dtype)
        other.mean, other.log_std = (each.to(other.device, other.dtype) for each in (self.mean, self.log_std))
        return other

    @classmethod
    def _of(cls, vae: VAE, mean: Tensor, log_std: Tensor, counts: IntArray) -> AggregateVAE:
        model = object.__new__(cls)
        model.__dict__.update(vae.__dict__)
        model.mean, model.log_std = mean, log_std
        model.offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return model


@torch.no_grad()
def aggregate(vae: VAE, values: Any, labels: Any) -> AggregateVAE:
    """A VAE with the aggregate posterior of some examples as its prior.

    values: (R, A) variable values, -1 for unknown. labels: (R,); every class needs an example.
    """
    labels = np.asarray(labels, dtype=np.int64)
    counts = np.bincount(labels, minlength=vae.n_classes)
    if len(counts) != vae.n_classes or (counts == 0).any():
        missing = np.flatnonzero(counts[: vae.n_classes] == 0)
        wrong = f"labels must be class numbers from 0 to {vae.n_classes - 1}, each at least once"
        raise ValueError(f"{wrong}; got up to {labels.max(initial=0)}, and none of {missing[:5].tolist()}")
    order = np.argsort(labels, kind="stable")
    parts = []
    for start in range(0, len(order), CHUNK):
        rows = order[start : start + CHUNK]
        x = torch.as_tensor(np.asarray(values[rows]).astype(np.int64), device=vae.device)
        parts.append(vae.encode(x, torch.as_tensor(labels[rows], device=vae.device)))
    return AggregateVAE._of(vae, torch.cat([m for m, _ in parts]), torch.cat([s for _, s in parts]), counts)


class SoftVAE(VAE):
    """A VAE of images whose decoded pictures are blurred, by how much being part of the latent; see `soften`.

    A decoder's edges are sharper than it can know them, and nine pixels along a misplaced edge then count as nine
    independent observations: posteriors become overconfident. One more latent coordinate u ~ N(0, 1) chooses among the
    scales of a `Blur`, each as probable as the others.
    """

    kind: ClassVar[str] = "soft-vae"

    base: VAE
    blur: Blur

    def encode(self, values: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The base's encoder; the proposal of the scale is its prior."""
        nothing = torch.zeros((len(values), 1), dtype=self.dtype, device=self.device)
        mean, log_std = self.base.encode(values, labels)
        return torch.cat([mean, nothing], dim=1), torch.cat([log_std, nothing], dim=1)

    def logits(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N, D), (N,) -> (N, F) logits of the blurred pictures."""
        lit = self.base.logits(latents[:, :-1], labels).sigmoid()
        n_scales = self.blur.n_scales
        scale = (torch.special.ndtr(latents[:, -1].detach()) * n_scales).long().clamp(max=n_scales - 1)
        parts, index = [], []
        for j in range(n_scales):
            mine = torch.nonzero(scale == j)[:, 0]
            parts.append(self._blurred(lit[mine].T, j).T)
            index.append(mine)
        soft = torch.cat(parts)[torch.argsort(torch.cat(index))]
        return torch.log(soft) - torch.log1p(-soft)  # the floors keep both away from 0

    def _blurred(self, pixels: Tensor, scale: int) -> Tensor:
        """(A, N) -> (A, N): `Blur.lit` of tensors, which has a gradient."""
        assert self.blur.shape is not None
        assert self.blur.gaps is not None
        rows, columns = self.blur.shape
        width, floor, gap = self.blur.widths[scale], self.blur.floors[scale], self.blur.gaps[scale]
        down, across = (torch.as_tensor(blur_matrix(n, width)).to(pixels) for n in (rows, columns))
        blurred = (down @ pixels.reshape(rows, -1)).reshape(rows, columns, -1)
        return (across @ blurred).reshape(pixels.shape).clamp_(0, 1).mul_(1 - floor - gap).add_(floor)

    def log_prior(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N,) log p(z | y) of the base, and that of the scale's coordinate."""
        scale = latents[:, -1:]
        nothing = torch.zeros_like(scale)
        return self.base.log_prior(latents[:, :-1], labels) + log_normal(scale, nothing, nothing)

    def draw_prior(self, labels: Tensor, generator: torch.Generator) -> Tensor:
        """(N, D) latents, the scales in turn."""
        n_scales = self.blur.n_scales
        latents = self.base.draw_prior(labels, generator)
        uniform = torch.rand(len(labels), generator=generator, dtype=torch.float64)
        scale = (torch.arange(len(labels)) % n_scales + uniform.clamp(1e-9, 1 - 1e-9)) / n_scales
        return torch.cat([latents, torch.special.ndtri(scale)[:, None].to(latents)], dim=1)

    def with_class_prior(self, class_prior: Any) -> Self:
        other = super().with_class_prior(class_prior)
        other.base = self.base.with_class_prior(class_prior)
        return other

    def to(self, device: Any = None, dtype: torch.dtype | str | None = None) -> Self:
        other = copy.copy(self)
        other.base = self.base.to(device, dtype)
        other.encoder, other.decoder = other.base.encoder, other.base.decoder
        return other


def soften(vae: VAE, blur: Blur) -> SoftVAE:
    """A VAE of black and white images with blurred pictures."""
    shape = getattr(vae.architecture, "shape", None)
    if shape is None:
        raise ValueError(
            "only images can be blurred: the VAE's architecture has no shape, such as ConvArchitecture((28, 28)) has"
        )
    model = object.__new__(SoftVAE)
    model.__dict__.update(vae.__dict__)
    model.base, model.blur = vae, replace(blur, shape=(int(shape[0]), int(shape[1])))
    model.latent_dim, model.contains_training_data = vae.latent_dim + 1, vae.contains_training_data
    return model
