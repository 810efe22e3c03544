"""`SoftVAE`: a VAE of images whose decoded pictures are blurred, by how much being part of the latent.

A decoder's edges are sharper than it can know them, and nine pixels along a misplaced edge then count as nine
independent witnesses: posteriors become too sure. One more latent coordinate u ~ N(0, 1) chooses among a few scales of
`Blur`, each as probable as the others; an image that differs from a decoded one at one edge is expected to differ at
others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from infopursuit.models.smoothing import Blur
from infopursuit.models.vae import VAE, log_normal


class SoftVAE(VAE):
    """See `soften`."""

    kind: ClassVar[str] = "soft-vae"

    base: VAE
    blur: Blur

    def encode(self, values: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The base's encoder; nothing is known of the scale, whose proposal is its prior."""
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
            parts.append(self.blur.lit(lit[mine].T, j).T)
            index.append(mine)
        soft = torch.cat(parts)[torch.argsort(torch.cat(index))]
        return torch.log(soft) - torch.log1p(-soft)  # the floors keep both away from 0

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

    def with_class_prior(self, class_prior: Any) -> SoftVAE:
        return soften(self.base.with_class_prior(class_prior), self.blur)

    def to(self, device: Any = None, dtype: torch.dtype | None = None) -> SoftVAE:
        return soften(self.base.to(device, dtype), self.blur)


def soften(vae: VAE, blur: Blur) -> SoftVAE:
    """A VAE of black and white images with blurred pictures."""
    shape = getattr(vae.body, "shape", None)
    if shape is None:
        raise ValueError("only images can be blurred: the VAE's body has no shape, such as ConvBody((28, 28)) has")
    model = object.__new__(SoftVAE)
    model.__dict__.update(vae.__dict__)
    model.base, model.blur = vae, replace(blur, shape=(int(shape[0]), int(shape[1])))
    model.latent_dim = vae.latent_dim + 1
    return model
