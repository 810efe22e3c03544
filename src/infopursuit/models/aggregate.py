"""`AggregateVAE`: a VAE whose latents are spread as the training examples are, instead of standard normal.

p(z | y) is the mixture of the encoder's q(z | x, y) over examples x of the class (the aggregate posterior). A decoder
is only ever taught on such latents; between them a standard normal draws what no example looks like. It is another
model than the VAE that it is made from, and has its own name.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.vae import VAE, drawn_normal
from infopursuit.types import IntArray

ENCODED = 512
"""Examples that are encoded at a time."""


class AggregateVAE(VAE):
    """See `aggregate`."""

    kind: ClassVar[str] = "aggregate-vae"

    mean: Tensor  # (R, D) of the examples' latents, sorted by class
    log_std: Tensor  # (R, D)
    offsets: IntArray  # (C + 1,) where the examples of each class begin

    def log_prior(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N,) log p(z | y)."""
        found = torch.empty(len(latents), dtype=latents.dtype, device=latents.device)
        parts = []
        index = []
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
        noise = drawn_normal((len(labels), self.latent_dim), generator).to(device=self.device, dtype=self.dtype)
        picked = torch.empty(len(labels), dtype=torch.int64, device=self.device)
        for c in torch.unique(labels).tolist():
            mine = torch.nonzero(labels == c)[:, 0]
            n_examples = int(self.offsets[c + 1] - self.offsets[c])
            shift = torch.rand(1, generator=generator, dtype=torch.float64)
            steps = (torch.arange(len(mine), dtype=torch.float64) + shift) * (n_examples / len(mine))
            picked[mine] = int(self.offsets[c]) + steps.long().clamp(max=n_examples - 1).to(self.device)
        return self.mean[picked] + self.log_std[picked].exp() * noise

    def to(self, device: Any = None, dtype: torch.dtype | None = None) -> AggregateVAE:
        other = super().to(device, dtype)
        assert isinstance(other, AggregateVAE)
        other.mean = self.mean.to(device=device, dtype=dtype)
        other.log_std = self.log_std.to(device=device, dtype=dtype)
        return other


@torch.no_grad()
def aggregate(vae: VAE, values: Any, labels: Any) -> AggregateVAE:
    """A VAE with the aggregate posterior of some examples as its prior.

    values: (R, A) atom values, -1 for unknown. labels: (R,); every class needs an example.
    """
    labels = np.asarray(labels, dtype=np.int64)
    counts = np.bincount(labels, minlength=vae.n_classes)
    if len(counts) != vae.n_classes or (counts == 0).any():
        missing = np.flatnonzero(counts[: vae.n_classes] == 0)
        raise ValueError(
            f"labels must be class numbers from 0 to {vae.n_classes - 1}, each at least once; "
            f"got up to {labels.max(initial=0)}, and none of {missing[:5].tolist()}"
        )
    order = np.argsort(labels, kind="stable")
    parts = []
    for start in range(0, len(order), ENCODED):
        rows = order[start : start + ENCODED]
        x = torch.as_tensor(np.asarray(values[rows]).astype(np.int64), device=vae.device)
        parts.append(vae.encode(x, torch.as_tensor(labels[rows], device=vae.device)))
    model = object.__new__(AggregateVAE)
    model.__dict__.update(vae.__dict__)
    model.mean, model.log_std = torch.cat([m for m, _ in parts]), torch.cat([s for _, s in parts])
    model.offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return model
