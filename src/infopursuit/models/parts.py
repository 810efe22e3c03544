"""Models as JSON data and arrays, and back; what comes back is checked as if a stranger had written it.

A model class takes part by an entry in `KINDS` and two methods: ``to_parts()`` gives (settings, arrays), and the
classmethod ``from_parts(spec, arrays, variables, n_classes)`` checks them and makes the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from infopursuit import models
from infopursuit.models.finite import Array, FiniteModel
from infopursuit.models.storing import DTYPES, MAX_COUNT
from infopursuit.support.checks import whole_number
from infopursuit.support.types import Variables

if TYPE_CHECKING:
    from infopursuit.models.networks.autoencoder import VAE

    Model: TypeAlias = FiniteModel | VAE

KINDS = {
    "table": "TableModel",
    "empirical": "EmpiricalModel",
    "vae": "VAE",
    "aggregate-vae": "AggregateVAE",
    "soft-vae": "SoftVAE",
}
"""The ``kind`` of every model that can be saved, and the name of its class in `infopursuit.models`."""


def model_to_parts(model: Model) -> tuple[dict[str, Any], dict[str, Array]]:
    """JSON data and arrays that hold the whole model."""
    if model.kind not in KINDS or type(model) is not _class(model.kind):  # a subclass may have more to it
        wrong = f"cannot save a model of type {type(model).__name__}"
        raise TypeError(f"{wrong}; only tables, empirical models and VAEs of this package can be")
    spec, arrays = model.to_parts()  # type: ignore[union-attr]
    common = {
        "kind": model.kind,
        "sizes": list(model.variables.sizes),
        "n_classes": model.n_classes,
        "dtype": str(model.dtype).removeprefix("torch."),
        "contains_training_data": model.contains_training_data,
    }
    return common | spec, {name: np.asarray(array, order="C") for name, array in arrays.items()}


def model_from_parts(spec: dict[str, Any], arrays: dict[str, Array]) -> Model:
    """The model that `model_to_parts` took apart."""
    if spec["kind"] not in KINDS:
        raise ValueError(f"{spec['kind']!r} is no kind of model; expected one of {', '.join(map(repr, KINDS))}")
    if spec["dtype"] not in DTYPES:
        raise ValueError(f"dtype is {spec['dtype']!r}; expected 'float32' or 'float64'")
    variables = Variables(tuple(whole_number(size, "sizes", 1, MAX_COUNT) for size in spec["sizes"]))
    n_classes = whole_number(spec["n_classes"], "n_classes", 1, MAX_COUNT)
    model: Model = _class(spec["kind"]).from_parts(spec, arrays, variables, n_classes)
    return model


def _class(kind: str) -> Any:
    return getattr(models, KINDS[kind])
