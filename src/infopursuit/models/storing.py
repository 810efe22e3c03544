"""Models as JSON data and arrays, and back; what comes back is checked as if a stranger had written it.

A model class takes part by an entry in `KINDS` and two methods: ``to_parts()`` gives (settings, arrays), and the
classmethod ``from_parts(spec, arrays, variables, n_classes)`` checks them and makes the model.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from infopursuit.checks import whole_number
from infopursuit.models.finite import Array, FiniteModel, check_prior
from infopursuit.types import FloatArray, Variables

if TYPE_CHECKING:
    from infopursuit.models.autoencoder import VAE

    Model: TypeAlias = FiniteModel | VAE

KINDS = {"table": "TableModel", "empirical": "EmpiricalModel", "vae": "VAE"}
"""The ``kind`` of every model that can be saved, and the name of its class in `infopursuit.models`."""

MAX_COUNT = 2**31 - 1
"""No file has more states, values or classes."""
DTYPES = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}


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
    from infopursuit import models

    return getattr(models, KINDS[kind])


class Stored:
    """A dataclass of settings that is saved with its ``kind``."""

    kind: ClassVar[str]

    def to_spec(self) -> dict[str, Any]:
        """The settings as JSON data."""
        return {"kind": self.kind, **{each.name: getattr(self, each.name) for each in fields(self)}}  # type: ignore[arg-type]


def settings_from_spec(spec: dict[str, Any], kinds: dict[str, Any], what: str) -> Any:
    """The settings that ``to_spec`` described."""
    if spec.get("kind") not in kinds:
        raise ValueError(f"{spec.get('kind')!r} is no {what}; expected one of {sorted(kinds)}")
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in spec.items() if k != "kind"}
    return kinds[spec["kind"]](**settings)


# ---- checks ---------------------------------------------------------------------------------------------------------


def check_array(arrays: dict[str, Array], name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """The array of this name, shape and type."""
    array = arrays[name]
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"tensor {name!r} is {array.dtype} of shape {array.shape}; expected {np.dtype(dtype)} of shape {shape}"
        )
    return array


def check_class_prior(arrays: dict[str, Array], n_classes: int) -> FloatArray:
    """(C,) p(y)."""
    return check_prior(check_array(arrays, "class_prior", (n_classes,), np.float64), n_classes, "class_prior")


def check_log_prior(arrays: dict[str, Array], n_states: int) -> FloatArray:
    """(S,) log p(y, z)."""
    log_prior: FloatArray = check_array(arrays, "log_prior", (n_states,), np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isnan(log_prior).any() or not abs(float(np.exp(log_prior).sum()) - 1) <= 1e-6:
            raise ValueError("log_prior is not a distribution")
    return log_prior


def check_probs(probs: Array, variables: Variables) -> None:
    """(L, S): probabilities that sum to one over the values of each variable."""
    if not ((probs >= 0) & (probs <= 1 + 1e-6)).all():
        raise ValueError("a probability is outside of 0 to 1")
    total = np.add.reduceat(probs, variables.offsets[:-1], axis=0, dtype=np.float64)
    if not (np.abs(total - 1) < 1e-5).all():
        raise ValueError("the probabilities of a variable's values do not sum to one")
