"""Models as JSON data and tensors, and back; what comes back is checked as if a stranger had written it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.aggregate import AggregateVAE
from infopursuit.models.bodies import LARGEST_LOG_STD, LEAST_LOG_STD, body_from_spec
from infopursuit.models.empirical import EmpiricalModel
from infopursuit.models.finite import FiniteModel, check_prior
from infopursuit.models.sample import Sample
from infopursuit.models.smoothing import Blur, smoothing_from_spec
from infopursuit.models.soften import SoftVAE, soften
from infopursuit.models.table import TableModel
from infopursuit.models.union import UnionModel
from infopursuit.models.vae import VAE
from infopursuit.types import Atoms, FloatArray

DTYPES = {"float32": torch.float32, "float64": torch.float64}
ENCODER_DTYPES = {"float16": torch.float16, **DTYPES}
TRIED = 64
"""Classes for which a VAE that was read is tried out."""


def contains_training_data(model: FiniteModel | VAE) -> bool:
    """Whether whoever has the model has the examples that it learnt from."""
    if isinstance(model, UnionModel):
        return any(contains_training_data(member) for member in model.models)
    return isinstance(getattr(model, "base", model), (EmpiricalModel, AggregateVAE))


def model_to_parts(model: FiniteModel | VAE) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """JSON data and tensors that hold the whole model."""
    if isinstance(model, SoftVAE):
        base, tensors = model_to_parts(model.base)
        return base | {"kind": model.kind, "base": base["kind"], "blur": model.blur.to_spec()}, tensors
    spec: dict[str, Any] = {
        "kind": model.kind,
        "sizes": list(model.atoms.sizes),
        "n_classes": model.n_classes,
        "dtype": str(model.dtype).removeprefix("torch."),
        "contains_training_data": contains_training_data(model),
    }
    if isinstance(model, EmpiricalModel):
        more, tensors = _empirical_to_parts(model)
    elif isinstance(model, TableModel):
        more, tensors = {"n_latents": model.n_latents}, {"log_prior": model.log_prior, "probs": model.probs}
    elif isinstance(model, VAE) and type(model) in (VAE, AggregateVAE):  # another subclass may have more to it
        more, tensors = _vae_to_parts(model)
    else:
        raise TypeError(
            f"cannot save a model of type {type(model).__name__}; "
            f"only tables, empirical models and VAEs of this package can be"
        )
    return spec | more, {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}


def model_from_parts(spec: dict[str, Any], tensors: dict[str, Tensor]) -> FiniteModel | VAE:
    """The model that `model_to_parts` took apart."""
    atoms = Atoms(tuple(_whole(size, "sizes") for size in spec["sizes"]))
    n_classes, dtype = _whole(spec["n_classes"], "n_classes"), DTYPES[spec["dtype"]]
    if spec["kind"] == SoftVAE.kind:
        return _soft_from_parts(spec, tensors)
    if spec["kind"] in (VAE.kind, AggregateVAE.kind):
        return _vae_from_parts(spec, tensors, atoms, n_classes, dtype)
    if spec["kind"] == EmpiricalModel.kind:
        model: FiniteModel = _empirical_from_parts(spec, tensors, atoms, n_classes, dtype)
    elif spec["kind"] == TableModel.kind:
        model = _table_from_parts(spec, tensors, atoms, n_classes, dtype)
    else:
        raise ValueError(f"{spec['kind']!r} is no kind of model; expected 'table', 'empirical', 'vae' or another VAE")
    log_prior = _tensor(tensors, "log_prior", (model.n_states,), torch.float64)
    if bool(log_prior.isnan().any()) or abs(float(log_prior.exp().sum()) - 1) > 1e-6:
        raise ValueError("log_prior is not a distribution")
    model.log_prior = log_prior
    return model


# ---- finite models --------------------------------------------------------------------------------------------------


def _table_from_parts(
    spec: dict[str, Any], tensors: dict[str, Tensor], atoms: Atoms, n_classes: int, dtype: torch.dtype
) -> TableModel:
    n_states = n_classes * _whole(spec["n_latents"], "n_latents")
    probs = _tensor(tensors, "probs", (atoms.n_slots, n_states), dtype)
    _check_probs(probs, atoms)
    model = object.__new__(TableModel)
    offsets = np.arange(n_classes + 1) * spec["n_latents"]
    FiniteModel.__init__(model, atoms, torch.zeros(n_states), offsets, probs)
    return model


def _empirical_to_parts(model: EmpiricalModel) -> tuple[dict[str, Any], dict[str, Tensor]]:
    sample = model.sample
    packed = bool(set(sample.atoms.sizes) == {2} and (sample.values >= 0).all())
    values = np.packbits(sample.values.astype(np.uint8), axis=1) if packed else sample.values.astype(np.int16)
    spec = {"smoothing": model.smoothing.to_spec(), "n_examples": len(sample), "packed": packed}
    return spec, {
        "log_prior": model.log_prior,
        "values": torch.as_tensor(values),
        "labels": torch.as_tensor(sample.labels.astype(np.int32)),
        "weights": torch.as_tensor(sample.weights),
        "class_prior": torch.as_tensor(model.class_prior),
        "marginals": model.marginals,
    }


def _empirical_from_parts(
    spec: dict[str, Any], tensors: dict[str, Tensor], atoms: Atoms, n_classes: int, dtype: torch.dtype
) -> EmpiricalModel:
    n = _whole(spec["n_examples"], "n_examples")
    wide = (len(atoms) + 7) // 8 if spec["packed"] else len(atoms)
    kind = torch.uint8 if spec["packed"] else torch.int16
    values = _tensor(tensors, "values", (n, wide), kind).numpy()
    if spec["packed"]:
        values = np.unpackbits(values, axis=1, count=len(atoms))
    labels = _tensor(tensors, "labels", (n,), torch.int32).numpy().astype(np.int64)
    weights = _tensor(tensors, "weights", (n,), torch.float64).numpy()
    if (
        (labels < 0).any()
        or (labels >= n_classes).any()
        or (np.diff(labels) < 0).any()
        or not ((weights > 0) & (weights < np.inf)).all()
    ):
        raise ValueError("labels must be sorted class numbers and weights positive")
    sample = Sample(atoms, atoms.check(values.astype(np.int64)), labels, weights, n_classes)
    marginals = _tensor(tensors, "marginals", (n_classes, atoms.n_slots), torch.float64)
    _check_probs(marginals.T, atoms)
    return EmpiricalModel.from_parts(
        sample, smoothing_from_spec(spec["smoothing"]), _class_prior(tensors, n_classes), marginals.numpy(), dtype
    )


# ---- VAE ------------------------------------------------------------------------------------------------------------


AGGREGATE = ("aggregate.mean", "aggregate.log_std", "aggregate.counts")
"""Latents of the examples that an `AggregateVAE` keeps, and how many there are of each class."""


def _vae_to_parts(model: VAE) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The encoder goes in half precision where its weights allow: it only proposes latents, whose importance weights
    are computed afterwards. What all posteriors and gains rest on, decoder and prior, stays as it is."""
    weights = model.networks.state_dict()
    mine = [name for name, weight in weights.items() if name.startswith("encoder.") and weight.is_floating_point()]
    half = all(bool(weights[name].abs().max() < torch.finfo(torch.float16).max) for name in mine)
    dtype = "float16" if half else str(model.dtype).removeprefix("torch.")
    weights |= {name: weights[name].to(ENCODER_DTYPES[dtype]) for name in mine}
    spec = {"body": model.body.to_spec(), "latent_dim": model.latent_dim, "encoder_dtype": dtype}
    tensors = {"class_prior": torch.as_tensor(model.class_prior), **weights}
    if isinstance(model, AggregateVAE):
        counts = torch.as_tensor(np.diff(model.offsets).astype(np.int64))
        tensors |= dict(zip(AGGREGATE, (model.mean, model.log_std, counts), strict=True))
    return spec, tensors


def _vae_from_parts(
    spec: dict[str, Any], tensors: dict[str, Tensor], atoms: Atoms, n_classes: int, dtype: torch.dtype
) -> VAE:
    prior = _class_prior(tensors, n_classes)
    # each layer has weights, so that there are no more layers than tensors: else a list could make millions of them
    if any(len(setting) > len(tensors) for setting in spec["body"].values() if isinstance(setting, list)):
        raise ValueError("the body has more layers than there are weights")
    weights = {}
    for name, tensor in tensors.items():
        if name == "class_prior" or name in AGGREGATE:
            continue
        kept = ENCODER_DTYPES[spec["encoder_dtype"]] if name.startswith("encoder.") else dtype
        expected = torch.int64 if name.endswith("num_batches_tracked") else kept
        if tensor.dtype != expected:
            raise ValueError(f"weight {name!r} is {tensor.dtype}; expected {expected}")
        if not bool(tensor.isfinite().all()) or (name.endswith("running_var") and bool((tensor < 0).any())):
            raise ValueError(f"weight {name!r} holds a number that is not finite, or a negative variance")
        weights[name] = tensor.to(dtype) if tensor.is_floating_point() else tensor
    body, latent_dim = body_from_spec(spec["body"]), _whole(spec["latent_dim"], "latent_dim")
    model = VAE.from_parts(atoms, prior, body, latent_dim, weights)
    labels = torch.arange(min(n_classes, TRIED))
    with torch.no_grad():
        logits = model.logits(model.draw_prior(labels, torch.Generator().manual_seed(0)), labels)
    if not bool(logits.isfinite().all()):
        raise ValueError("the decoder's weights are so large that what it says is not finite")
    return model if spec["kind"] == VAE.kind else _with_aggregate(model, tensors)


def _with_aggregate(vae: VAE, tensors: dict[str, Tensor]) -> AggregateVAE:
    counts = _tensor(tensors, AGGREGATE[2], (vae.n_classes,), torch.int64)
    if bool((counts < 1).any()) or bool((counts >= 2**31).any()):
        raise ValueError("every class needs one example or more")
    shape = (int(counts.sum()), vae.latent_dim)
    mean, log_std = (_tensor(tensors, name, shape, vae.dtype).clone() for name in AGGREGATE[:2])
    inside = (log_std >= LEAST_LOG_STD) & (log_std <= LARGEST_LOG_STD)
    if not bool(mean.isfinite().all()) or not bool(inside.all()):
        raise ValueError("a latent of an example is not finite, or its spread is not one that an encoder gives")
    model = object.__new__(AggregateVAE)
    model.__dict__.update(vae.__dict__)
    model.mean, model.log_std = mean, log_std
    model.offsets = np.concatenate([[0], np.cumsum(counts.numpy())]).astype(np.int64)
    return model


def _soft_from_parts(spec: dict[str, Any], tensors: dict[str, Tensor]) -> SoftVAE:
    if spec["base"] not in (VAE.kind, AggregateVAE.kind):
        raise ValueError(f"{spec['base']!r} cannot be softened; expected {VAE.kind!r} or {AggregateVAE.kind!r}")
    base, blur = model_from_parts({**spec, "kind": spec["base"]}, tensors), smoothing_from_spec(spec["blur"])
    if not isinstance(base, VAE) or not isinstance(blur, Blur):
        raise ValueError(f"{spec['blur']!r} is no blur")
    return soften(base, blur)


# ---- checks ---------------------------------------------------------------------------------------------------------


def _whole(value: Any, name: str) -> int:
    if type(value) is not int or not 1 <= value < 2**31:
        raise ValueError(f"{name} is {value!r}; expected a positive whole number")
    return value


def _tensor(tensors: dict[str, Tensor], name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    tensor = tensors[name]
    if tuple(tensor.shape) != shape or tensor.dtype != dtype:
        raise ValueError(
            f"tensor {name!r} is {tensor.dtype} of shape {tuple(tensor.shape)}; expected {dtype} of shape {shape}"
        )
    return tensor


def _class_prior(tensors: dict[str, Tensor], n_classes: int) -> FloatArray:
    found = _tensor(tensors, "class_prior", (n_classes,), torch.float64).numpy()
    return check_prior(found, n_classes, "class_prior")


def _check_probs(probs: Tensor, atoms: Atoms) -> None:
    """(L, S): probabilities that sum to one over the values of each atom."""
    if not bool(((probs >= 0) & (probs <= 1 + 1e-6)).all()):
        raise ValueError("a probability is outside of 0 to 1")
    total = torch.zeros((len(atoms), probs.shape[1]), dtype=torch.float64)
    total.index_add_(0, torch.as_tensor(atoms.slot_atom), probs.to(torch.float64))
    if not bool(((total - 1).abs() < 1e-5).all()):
        raise ValueError("the probabilities of an atom's values do not sum to one")
