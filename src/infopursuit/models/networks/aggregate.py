"""`AggregateVAE`: a VAE whose prior is the aggregate posterior of examples."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import Array
from infopursuit.models.networks.autoencoder import VAE, standard_normal
from infopursuit.models.storing import check_array
from infopursuit.support.types import IntArray, Variables

LATENT_ARRAYS = ("latent_mean", "latent_log_std", "latent_offsets")
"""What is stored beside the VAE."""
CHUNK = 512
"""Examples that `aggregate` encodes at a time."""


__all__ = ["AggregateVAE", "aggregate"]


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

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Settings and arrays: those of the VAE, and where the encoder places the examples."""
        spec, arrays = super().to_parts()
        arrays |= {
            "latent_mean": self.mean.cpu().numpy(),
            "latent_log_std": self.log_std.cpu().numpy(),
            "latent_offsets": np.asarray(self.offsets),
        }
        return spec, arrays

    @classmethod
    def from_parts(
        cls, spec: dict[str, Any], arrays: dict[str, Array], variables: Variables, n_classes: int
    ) -> AggregateVAE:
        """The model that `to_parts` took apart, everything checked."""
        weights = {name: array for name, array in arrays.items() if name not in LATENT_ARRAYS}
        vae = VAE.from_parts(spec, weights, variables, n_classes)
        offsets = check_array(arrays, "latent_offsets", (n_classes + 1,), np.int64)
        if offsets[0] != 0 or (np.diff(offsets) < 1).any():
            raise ValueError("latent_offsets does not give each class one example or more")

        latents = []
        for name in ("latent_mean", "latent_log_std"):
            array = check_array(arrays, name, (int(offsets[-1]), vae.latent_dim), spec["dtype"])
            if not np.isfinite(array).all():
                raise ValueError(f"{name} holds a number that is not finite")
            latents.append(torch.tensor(array))
        return cls._of(vae, latents[0], latents[1], np.diff(offsets))

    @classmethod
    def _of(cls, vae: VAE, mean: Tensor, log_std: Tensor, counts: IntArray) -> AggregateVAE:
        model = object.__new__(cls)
        model.__dict__.update(vae.__dict__)
        model.mean, model.log_std = mean, log_std
        model.offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return model


@torch.no_grad()
def aggregate(vae: VAE, values: Any, labels: Any) -> AggregateVAE:
    """Make a VAE with the aggregate posterior of some examples as its prior.

    Parameters
    ----------
    vae : VAE
    values : (R, A) array of int
        Variable values, -1 for unknown.
    labels : (R,) array of int
        Every class needs an example.
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
