"""`VAE`: the paper's conditional autoencoder, p(variables | z, y) p(z | y) p(y) with a continuous latent z.

`AggregateVAE` (see `aggregate`) and `SoftVAE` (see `soften`) are variants of a trained one with another p(z | y) or
another decoder.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from infopursuit.checks import whole_number
from infopursuit.models.architectures import (
    MAX_LOG_STD,
    MIN_LOG_STD,
    Architecture,
    Features,
    architecture_from_spec,
    initialise,
)
from infopursuit.models.empirical import Blur, blur_matrix, smoothing_from_spec
from infopursuit.models.finite import Array, check_prior
from infopursuit.models.storing import check_array, check_class_prior, check_count
from infopursuit.types import FloatArray, IntArray, Variables

N_TRIED = 64
"""Classes for which the decoder of a VAE that was read is tried out."""
AGGREGATE = ("aggregate.mean", "aggregate.log_std", "aggregate.counts")
"""What an `AggregateVAE` saves besides."""
MAX_MEAN = 1e6
"""Latents beyond this are not believed: squares of larger ones leave the range of a float32."""
CHUNK = 512
"""Examples that `aggregate` encodes at a time."""


class VAE:
    """Variables independent given a label y and a latent z with a standard normal prior.

    Parameters
    ----------
    sizes: values of each variable.
    class_prior: (C,) p(y).
    architecture: of the networks: `MLPArchitecture`, `ConvArchitecture` or `PaperArchitecture`.
    latent_dim: D.
    seed: of the initial weights. `train` trains them.

    >>> from infopursuit.models.architectures import MLPArchitecture
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
            if name == "class_prior" or name in AGGREGATE:
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
        model.architecture = architecture_from_spec(spec["body"])
        model.latent_dim = check_count(spec["latent_dim"], "latent_dim")
        with torch.device("meta"):  # shapes without memory: a file may describe any architecture
            model.encoder, model.decoder = model.architecture.build(model.features, n_classes, model.latent_dim)
        expected_weights = model.networks.state_dict()
        for name in sorted(expected_weights.keys() | weights.keys()):
            if name not in weights or name not in expected_weights:
                raise ValueError(f"the weights are not those of {model.architecture}: {name!r} is missing or too many")
            if weights[name].shape != expected_weights[name].shape:
                shapes = (tuple(found[name].shape) for found in (weights, expected_weights))
                raise ValueError(f"weight {name!r} has shape {next(shapes)}; expected {next(shapes)}")
        model.networks.to_empty(device="cpu").to(getattr(torch, spec["dtype"])).load_state_dict(weights)
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


# ---- variants -------------------------------------------------------------------------------------------------------


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
        spec, arrays = super().to_parts()
        mean, log_std = (latents.detach().cpu().numpy() for latents in (self.mean, self.log_std))
        return spec, arrays | dict(zip(AGGREGATE, (mean, log_std, np.diff(self.offsets)), strict=True))

    @classmethod
    def from_parts(cls, spec: dict[str, Any], arrays: dict[str, Array], variables: Variables, n_classes: int) -> VAE:
        vae = VAE.from_parts(spec, arrays, variables, n_classes)
        counts = check_array(arrays, AGGREGATE[2], (n_classes,), np.int64)
        if (counts < 1).any() or (counts >= 2**31).any():
            raise ValueError("every class needs one example or more")
        shape = (int(counts.sum()), vae.latent_dim)
        mean, log_std = (check_array(arrays, name, shape, spec["dtype"]) for name in AGGREGATE[:2])
        if not (np.abs(mean) <= MAX_MEAN).all() or not ((log_std >= MIN_LOG_STD) & (log_std <= MAX_LOG_STD)).all():
            raise ValueError("a latent of an example is not finite, or its spread is not one that an encoder gives")
        return cls._of(vae, torch.tensor(mean), torch.tensor(log_std), counts)

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

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        spec, arrays = self.base.to_parts()
        return spec | {"base": self.base.kind, "blur": self.blur.to_spec()}, arrays

    @classmethod
    def from_parts(cls, spec: dict[str, Any], arrays: dict[str, Array], variables: Variables, n_classes: int) -> VAE:
        bases = {base.kind: base for base in (VAE, AggregateVAE)}
        if spec["base"] not in bases:
            raise ValueError(f"{spec['base']!r} cannot be softened; expected one of {sorted(bases)}")
        blur = smoothing_from_spec(spec["blur"])
        if not isinstance(blur, Blur):
            raise ValueError(f"{spec['blur']!r} is no blur")
        return soften(bases[spec["base"]].from_parts(spec, arrays, variables, n_classes), blur)


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
