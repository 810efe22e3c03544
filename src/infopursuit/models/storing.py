"""Finite models as JSON data and tensors, and back; what comes back is checked as if a stranger had written it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.empirical import EmpiricalModel
from infopursuit.models.finite import FiniteModel, check_prior
from infopursuit.models.sample import Sample
from infopursuit.models.smoothing import smoothing_from_spec
from infopursuit.models.table import TableModel
from infopursuit.types import Atoms

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def model_to_parts(model: FiniteModel) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """JSON data and tensors that hold the whole model."""
    spec: dict[str, Any] = {
        "kind": model.kind,
        "sizes": list(model.atoms.sizes),
        "n_classes": model.n_classes,
        "dtype": str(model.dtype).removeprefix("torch."),
        "contains_training_data": isinstance(model, EmpiricalModel),
    }
    tensors = {"log_prior": model.log_prior}
    if isinstance(model, EmpiricalModel):
        sample = model.sample
        spec |= {"smoothing": model.smoothing.to_spec(), "n_examples": len(sample)}
        spec["packed"] = bool(set(sample.atoms.sizes) == {2} and (sample.values >= 0).all())
        values = (
            np.packbits(sample.values.astype(np.uint8), axis=1) if spec["packed"] else sample.values.astype(np.int16)
        )
        tensors |= {
            "values": torch.as_tensor(values),
            "labels": torch.as_tensor(sample.labels.astype(np.int32)),
            "weights": torch.as_tensor(sample.weights),
            "class_prior": torch.as_tensor(model.class_prior),
            "marginals": model.marginals,
        }
    elif isinstance(model, TableModel):
        spec["n_latents"] = model.n_latents
        tensors["probs"] = model.probs
    else:
        raise TypeError(f"cannot save a model of type {type(model).__name__}")
    return spec, tensors


def model_from_parts(spec: dict[str, Any], tensors: dict[str, Tensor]) -> FiniteModel:
    """The model that `model_to_parts` took apart."""
    atoms = Atoms(tuple(_whole(size, "sizes") for size in spec["sizes"]))
    n_classes, dtype = _whole(spec["n_classes"], "n_classes"), DTYPES[spec["dtype"]]
    if spec["kind"] == EmpiricalModel.kind:
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
        prior = check_prior(
            _tensor(tensors, "class_prior", (n_classes,), torch.float64).numpy(), n_classes, "class_prior"
        )
        marginals = _tensor(tensors, "marginals", (n_classes, atoms.n_slots), torch.float64)
        _check_probs(marginals.T, atoms)
        model: FiniteModel = EmpiricalModel.from_parts(
            sample, smoothing_from_spec(spec["smoothing"]), prior, marginals.numpy(), dtype
        )
    elif spec["kind"] == TableModel.kind:
        n_states = n_classes * _whole(spec["n_latents"], "n_latents")
        probs = _tensor(tensors, "probs", (atoms.n_slots, n_states), dtype)
        _check_probs(probs, atoms)
        model = object.__new__(TableModel)
        offsets = np.arange(n_classes + 1) * spec["n_latents"]
        FiniteModel.__init__(model, atoms, torch.zeros(n_states), offsets, probs)
    else:
        raise ValueError(f"{spec['kind']!r} is no kind of model; expected 'table' or 'empirical'")
    log_prior = _tensor(tensors, "log_prior", (model.n_states,), torch.float64)
    if bool(log_prior.isnan().any()) or abs(float(log_prior.exp().sum()) - 1) > 1e-6:
        raise ValueError("log_prior is not a distribution")
    model.log_prior = log_prior
    return model


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


def _check_probs(probs: Tensor, atoms: Atoms) -> None:
    """(L, S): probabilities that sum to one over the values of each atom."""
    if not bool(((probs >= 0) & (probs <= 1 + 1e-6)).all()):
        raise ValueError("a probability is outside of 0 to 1")
    total = torch.zeros((len(atoms), probs.shape[1]), dtype=torch.float64)
    total.index_add_(0, torch.as_tensor(atoms.slot_atom), probs.to(torch.float64))
    if not bool(((total - 1).abs() < 1e-5).all()):
        raise ValueError("the probabilities of an atom's values do not sum to one")
