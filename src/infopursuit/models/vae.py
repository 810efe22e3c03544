"""`VAE`: the paper's conditional autoencoder over atoms, p(atoms | z, y) p(z) p(y) with a continuous latent z."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from infopursuit.models.bodies import Body, Features, initialise
from infopursuit.models.finite import check_prior
from infopursuit.types import Atoms, FloatArray


class VAE:
    """Atoms independent given a label y and a latent z with a standard normal prior.

    Parameters
    ----------
    sizes: values of each atom.
    class_prior: (C,) p(y).
    body: the networks' shape: `MLPBody`, `ConvBody` or `PaperBody`.
    latent_dim: D.
    seed: of the first weights. A new VAE knows nothing; `train` teaches it.

    >>> from infopursuit.models.bodies import MLPBody
    >>> vae = VAE((2, 3), [0.5, 0.5], MLPBody((8,)), latent_dim=2)
    >>> vae.log_probs(torch.zeros(1, 2), torch.tensor([0])).exp().sum().round().item()
    2.0
    """

    kind: ClassVar[str] = "vae"

    def __init__(self, sizes: Any, class_prior: Any, body: Body, latent_dim: int = 32, *, seed: int = 0) -> None:
        self.atoms = Atoms(tuple(int(size) for size in sizes))
        if not len(self.atoms):
            raise ValueError("sizes is empty; a model needs one atom or more")
        self.class_prior: FloatArray = check_prior(class_prior, np.size(class_prior), "class_prior")
        if latent_dim < 1 or int(latent_dim) != latent_dim:
            raise ValueError(f"latent_dim={latent_dim} must be a whole number, 1 or more")
        self.body, self.latent_dim = body, int(latent_dim)
        self.features = Features(self.atoms)
        generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):  # layers draw from torch's own generator when made: leave it as it was
            encoder, decoder = body.build(self.features, self.n_classes, self.latent_dim)
        # batch norm takes its statistics from training: in inference one input must not change another's answer
        self.encoder, self.decoder = initialise(encoder, generator).eval(), initialise(decoder, generator).eval()

    @classmethod
    def from_parts(
        cls, atoms: Atoms, class_prior: FloatArray, body: Body, latent_dim: int, weights: Mapping[str, Tensor]
    ) -> VAE:
        """The VAE with these weights of its `networks`, refused where they are not those of such a body."""
        if not len(atoms):
            raise ValueError("sizes is empty; a model needs one atom or more")
        model = object.__new__(cls)
        model.atoms, model.class_prior, model.features = atoms, class_prior, Features(atoms)
        model.body, model.latent_dim = body, latent_dim
        with torch.device("meta"):  # shapes without memory: whoever wrote the body down may have written anything
            model.encoder, model.decoder = body.build(model.features, model.n_classes, latent_dim)
        expected = model.networks.state_dict()
        strange = sorted(expected.keys() ^ weights.keys())
        if strange:
            raise ValueError(f"the weights are not those of a body {body}: {strange[0]!r} is missing or too many")
        for name, tensor in expected.items():
            if weights[name].shape != tensor.shape:
                raise ValueError(
                    f"weight {name!r} has shape {tuple(weights[name].shape)}; expected {tuple(tensor.shape)}"
                )
        dtype = next(weight.dtype for weight in weights.values() if weight.is_floating_point())
        model.networks.to_empty(device="cpu").to(dtype).load_state_dict(dict(weights))
        model.networks.eval()
        return model

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.class_prior)

    @property
    def device(self) -> torch.device:
        """Where the networks live."""
        return next(self.decoder.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The number type of the networks."""
        return next(self.decoder.parameters()).dtype

    @property
    def networks(self) -> nn.ModuleDict:
        """Encoder and decoder together, for those who want all parameters."""
        return nn.ModuleDict({"encoder": self.encoder, "decoder": self.decoder})

    # ---- the two directions -----------------------------------------------------------------------------------------

    def encode(self, values: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """(B, A) values with -1 for unknown, (B,) labels -> (B, D) mean and log standard deviation of q(z | x, y)."""
        mean, log_std = self.encoder(self.features.encode(values, self.dtype), self.one_hot(labels))
        return mean, log_std

    def logits(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N, D), (N,) -> (N, F) what the decoder says, see `Features`."""
        return torch.as_tensor(self.decoder(latents, self.one_hot(labels)))

    def log_probs(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N, D), (N,) -> (N, L) log p(atom value | z, y)."""
        return self.features.slot_log_probs(self.logits(latents, labels))

    def log_prior(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N,) log p(z), which is standard normal whatever the label."""
        return log_normal(latents, torch.zeros_like(latents), torch.zeros_like(latents))

    def draw_prior(self, labels: Tensor, generator: torch.Generator) -> Tensor:
        """(N, D) latents from p(z)."""
        shape = (len(labels), self.latent_dim)
        return drawn_normal(shape, generator).to(device=self.device, dtype=self.dtype)

    def one_hot(self, labels: Tensor) -> Tensor:
        """(B,) -> (B, C)."""
        return nn.functional.one_hot(labels.long(), self.n_classes).to(self.dtype)

    # ---- the same model elsewhere -----------------------------------------------------------------------------------

    def with_class_prior(self, class_prior: Any) -> VAE:
        """The same model with another p(y)."""
        other = copy.copy(self)
        other.class_prior = check_prior(class_prior, self.n_classes, "class_prior")
        return other

    def to(self, device: Any = None, dtype: torch.dtype | None = None) -> VAE:
        """The same model on another device or in another number type."""
        other = copy.copy(self)
        other.encoder = copy.deepcopy(self.encoder).to(device=device, dtype=dtype)
        other.decoder = copy.deepcopy(self.decoder).to(device=device, dtype=dtype)
        return other


def drawn_normal(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Standard normal numbers from the CPU, the same on every device and for every number type: a generator gives a
    float64 other numbers than a float32, so that all are drawn as the latter."""
    return torch.randn(shape, generator=generator, dtype=torch.float32)


def log_normal(x: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """(..., D) -> (...) log density of independent normals.

    The term sum(log_std) depends on the class where the proposal does; without it class probabilities are biased.
    """
    scaled = (x - mean) * torch.exp(-log_std)
    return -(scaled.square() / 2 + log_std + 0.5 * float(np.log(2 * np.pi))).sum(-1)


@torch.no_grad()
def log_evidence(model: VAE, values: Any, n_draws: int = 16, *, seed: int = 0, budget: int = 2**28) -> FloatArray:
    """(B, C) log p(x, y) of whole inputs by importance sampling: z from the encoder q(z | x, y) of each class, weighed
    by p(x | z, y) p(z) / q(z | x, y). Its softmax is the paper's MAP using all of Q.

    values: (B, A), -1 for unknown.
    """
    if n_draws < 1:
        raise ValueError(f"n_draws={n_draws} must be 1 or more")
    values = torch.as_tensor(model.atoms.check(values), device=model.device)
    n_classes = model.n_classes
    rows = max(1, int(budget // (64 * n_classes * n_draws * model.features.size)))
    found = np.empty((len(values), n_classes))
    generator = torch.Generator().manual_seed(seed)
    for start in range(0, len(values), rows):
        some = values[start : start + rows]
        n = len(some)
        labels = torch.arange(n_classes, device=model.device).repeat(n)  # (n C,)
        repeated = some.repeat_interleave(n_classes, dim=0)
        mean, log_std = model.encode(repeated, labels)
        total = []
        for _ in range(n_draws):
            noise = drawn_normal(mean.shape, generator).to(mean)
            latents = mean + log_std.exp() * noise
            total.append(
                model.features.log_likelihood(model.logits(latents, labels), repeated).to(torch.float64)
                + model.log_prior(latents, labels)
                - log_normal(latents, mean, log_std)
            )
        each = torch.logsumexp(torch.stack(total), dim=0) - float(np.log(n_draws))
        found[start : start + n] = each.reshape(n, n_classes).cpu().numpy()
    with np.errstate(divide="ignore"):
        return found + np.log(model.class_prior)
