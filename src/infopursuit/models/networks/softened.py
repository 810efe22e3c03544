"""`SoftVAE`: a VAE of images whose decoded pictures are blurred."""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from infopursuit.models.empirical import Blur, blur_matrix
from infopursuit.models.finite import Array
from infopursuit.models.networks.aggregate import AggregateVAE
from infopursuit.models.networks.autoencoder import VAE, log_normal
from infopursuit.support.types import Variables

__all__ = ["SoftVAE", "soften"]

BASES: dict[str, type[VAE]] = {"vae": VAE, "aggregate-vae": AggregateVAE}
"""The models whose pictures can be blurred, by their kind in files."""


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

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Settings and arrays: those of the base, and the blur."""
        spec, arrays = self.base.to_parts()
        blur = {name: value for name, value in asdict(self.blur).items() if name != "shape"}
        return {**spec, "base": self.base.kind, "blur": blur}, arrays

    @classmethod
    def from_parts(
        cls, spec: dict[str, Any], arrays: dict[str, Array], variables: Variables, n_classes: int
    ) -> SoftVAE:
        """The model that `to_parts` took apart, everything checked."""
        if spec["base"] not in BASES:
            raise ValueError(f"base is {spec['base']!r}; expected one of {sorted(BASES)}")
        base = BASES[spec["base"]].from_parts(spec, arrays, variables, n_classes)
        blur = Blur(**{name: tuple(value) for name, value in spec["blur"].items()})
        return soften(base, blur)

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
    """Make a VAE of black and white images with blurred pictures.

    Parameters
    ----------
    vae : VAE
    blur : Blur
        The scales of the blur, each as probable as the others.
    """
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
