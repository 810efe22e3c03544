"""`VAE`: the paper's conditional autoencoder, p(variables | z, y) p(z | y) p(y) with a continuous latent z."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from infopursuit.models.finite import Array, check_prior
from infopursuit.models.networks.architectures import KINDS, Architecture, Features, initialise
from infopursuit.models.storing import MAX_COUNT, check_class_prior, settings_from_spec
from infopursuit.support.checks import whole_number
from infopursuit.support.types import FloatArray, Variables

N_TRIED = 64
"""Classes for which the decoder of a VAE that was read is tried out."""


class VAE:
    """Variables independent given a label y and a latent z with a standard normal prior.

    Parameters
    ----------
    sizes: values of each variable.
    class_prior: (C,) p(y).
    architecture: of the networks: `MLPArchitecture` or `ConvArchitecture`.
    latent_dim: D.
    seed: of the initial weights. `train` trains them.

    >>> from infopursuit.models.networks.architectures import MLPArchitecture
    >>> vae = VAE((2, 3), [0.5, 0.5], MLPArchitecture((8,)), latent_dim=2)
    >>> vae.log_probs(torch.zeros(1, 2), torch.tensor([0])).exp().sum().round().item()
    2.0
    """

    kind: ClassVar[str] = "vae"
    beliefs: ClassVar[tuple[str, ...]] = ("smc", "langevin")
    contains_training_data: bool = False

    def __init__(
        self, sizes: Any, class_prior: Any, architecture: Architecture, latent_dim: int = 32, *, seed: int = 0
    ) -> None:
        self.variables = Variables(tuple(int(size) for size in sizes))
        if not len(self.variables):
            raise ValueError("sizes is empty; a model needs one variable or more")
        self.class_prior: FloatArray = check_prior(class_prior, np.size(class_prior), "class_prior")
        self.architecture, self.latent_dim = architecture, whole_number(latent_dim, "latent_dim", 1)
        self.features = Features(self.variables)
        generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):  # layers draw from torch's own generator when made: leave it as it was
            encoder, decoder = architecture.build(self.features, self.n_classes, self.latent_dim)
        # batch norm takes its statistics from training: in inference one input must not change another's answer
        self.encoder, self.decoder = initialise(encoder, generator).eval(), initialise(decoder, generator).eval()

    def __repr__(self) -> str:
        size = f"{self.n_classes} classes, {len(self.variables)} variables, {self.latent_dim} latent dimensions"
        return f"<VAE: {size}, {type(self.architecture).__name__}>"

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
        """Encoder and decoder together."""
        return nn.ModuleDict({"encoder": self.encoder, "decoder": self.decoder})

    # ---- the two directions -----------------------------------------------------------------------------------------

    def encode(self, values: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """(B, A) values with -1 for unknown, (B,) labels -> (B, D) mean and log standard deviation of q(z | x, y)."""
        mean, log_std = self.encoder(self.features.encode(values, self.dtype), self.one_hot(labels))
        return mean, log_std

    def logits(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N, D), (N,) -> (N, F) the decoder's logits, see `Features`."""
        return torch.as_tensor(self.decoder(latents, self.one_hot(labels)))

    def log_probs(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N, D), (N,) -> (N, L) log p(variable value | z, y)."""
        return self.features.slot_log_probs(self.logits(latents, labels))

    def log_prior(self, latents: Tensor, labels: Tensor) -> Tensor:
        """(N,) log p(z), which is standard normal whatever the label."""
        return log_normal(latents, torch.zeros_like(latents), torch.zeros_like(latents))

    def draw_prior(self, labels: Tensor, generator: torch.Generator) -> Tensor:
        """(N, D) latents from p(z)."""
        shape = (len(labels), self.latent_dim)
        return standard_normal(shape, generator).to(device=self.device, dtype=self.dtype)

    def one_hot(self, labels: Tensor) -> Tensor:
        """(B,) -> (B, C)."""
        return nn.functional.one_hot(labels.long(), self.n_classes).to(self.dtype)

    # ---- copies and storage -----------------------------------------------------------------------------------------

    def with_class_prior(self, class_prior: Any) -> Self:
        """The same model with another p(y)."""
        other = copy.copy(self)
        other.class_prior = check_prior(class_prior, self.n_classes, "class_prior")
        return other

    def to(self, device: Any = None, dtype: torch.dtype | str | None = None) -> Self:
        """The same model on another device or in another number type."""
        dtype, other = getattr(torch, dtype) if isinstance(dtype, str) else dtype, copy.copy(self)
        try:
            device = None if device is None else torch.empty(0, device=device).device
        except (RuntimeError, AssertionError) as error:
            raise ValueError(f"device={device!r} cannot be used; 'cpu' always can ({error})") from None
        other.encoder = copy.deepcopy(self.encoder).to(device=device, dtype=dtype)
        other.decoder = copy.deepcopy(self.decoder).to(device=device, dtype=dtype)
        return other

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `storing` keeps: settings and arrays.

        The encoder goes in half precision where its weights allow: it only proposes latents, whose importance weights
        are computed afterwards. Decoder and prior, on which all posteriors and gains rest, stay as they are.
        """
        weights = {name: weight.detach().cpu().numpy() for name, weight in self.networks.state_dict().items()}
        mine = [name for name, weight in weights.items() if name.startswith("encoder.") and weight.dtype.kind == "f"]
        half = all(bool(np.abs(weights[name]).max() < np.finfo(np.float16).max) for name in mine)
        dtype = "float16" if half else str(self.dtype).removeprefix("torch.")
        weights |= {name: weights[name].astype(dtype) for name in mine}
        spec = {"body": self.architecture.to_spec(), "latent_dim": self.latent_dim, "encoder_dtype": dtype}
        return spec, {"class_prior": self.class_prior, **weights}

    @classmethod
    def from_parts(cls, spec: dict[str, Any], arrays: dict[str, Array], variables: Variables, n_classes: int) -> VAE:
        """The model that `to_parts` took apart, everything checked."""
        prior = check_class_prior(arrays, n_classes)
        # each layer has weights, so that there are no more layers than arrays: else a list could make millions of them
        if any(len(setting) > len(arrays) for setting in spec["body"].values() if isinstance(setting, list)):
            raise ValueError("the architecture has more layers than there are weights")
        if spec["encoder_dtype"] not in ("float16", "float32", "float64"):
            raise ValueError(f"encoder_dtype is {spec['encoder_dtype']!r}; expected 'float16', 'float32' or 'float64'")
        weights = {}
        for name, array in arrays.items():
            if name == "class_prior":
                continue
            kept = spec["encoder_dtype"] if name.startswith("encoder.") else spec["dtype"]
            expected = np.dtype("int64" if name.endswith("num_batches_tracked") else kept)
            if array.dtype != expected:
                raise ValueError(f"weight {name!r} is {array.dtype}; expected {expected}")
            if not np.isfinite(array).all() or (name.endswith("running_var") and (array < 0).any()):
                raise ValueError(f"weight {name!r} holds a number that is not finite, or a negative variance")
            weights[name] = torch.tensor(array.astype(spec["dtype"]) if array.dtype.kind == "f" else array)
        if not len(variables):
            raise ValueError("sizes is empty; a model needs one variable or more")
        model = object.__new__(VAE)
        model.variables, model.class_prior, model.features = variables, prior, Features(variables)
        model.architecture = settings_from_spec(spec["body"], KINDS, "architecture")
        model.latent_dim = whole_number(spec["latent_dim"], "latent_dim", 1, MAX_COUNT)
        with torch.device("meta"):  # shapes without memory: a file may describe any architecture
            model.encoder, model.decoder = model.architecture.build(model.features, n_classes, model.latent_dim)
        try:  # it compares names and shapes before it takes any
            model.networks.load_state_dict(weights, assign=True)
        except RuntimeError as error:
            raise ValueError(f"the weights are not those of {model.architecture}: {error}") from None
        model.networks.eval()
        labels = torch.arange(min(n_classes, N_TRIED))
        with torch.no_grad():
            logits = model.logits(model.draw_prior(labels, torch.Generator().manual_seed(0)), labels)
        if not bool(logits.isfinite().all()):
            raise ValueError("the decoder's weights are so large that its logits are not finite")
        return model


def standard_normal(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
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
    whole_number(n_draws, "n_draws", 1)
    values = torch.as_tensor(model.variables.check(values), device=model.device)
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
            noise = standard_normal(mean.shape, generator).to(mean)
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
