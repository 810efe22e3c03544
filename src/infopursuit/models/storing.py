"""Models as JSON data and arrays, and back; what comes back is checked as if a stranger had written it.

A model class takes part by an entry in `KINDS` and two methods: ``to_parts()`` gives (settings, arrays), and the
classmethod ``from_parts(spec, arrays, variables, n_classes)`` checks them and makes the model.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from infopursuit.files import write_atomically
from infopursuit.models.finite import Array, FiniteModel, check_prior
from infopursuit.types import FloatArray, ModelFormatError, Variables

if TYPE_CHECKING:
    from infopursuit.models.autoencoder import VAE

    Model: TypeAlias = FiniteModel | VAE

KINDS = {
    "table": "TableModel",
    "empirical": "EmpiricalModel",
    "vae": "VAE",
    "aggregate-vae": "AggregateVAE",
    "soft-vae": "SoftVAE",
}
"""The ``kind`` of every model that can be saved, and the name of its class in `infopursuit.models`."""

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
    variables = Variables(tuple(check_count(size, "sizes") for size in spec["sizes"]))
    n_classes = check_count(spec["n_classes"], "n_classes")
    model: Model = _class(spec["kind"]).from_parts(spec, arrays, variables, n_classes)
    return model


def _class(kind: str) -> Any:
    from infopursuit import models

    return getattr(models, KINDS[kind])


# ---- one VAE in one file --------------------------------------------------------------------------------------------

FORMAT, VERSION = "infopursuit.vae", 1
KEY = "infopursuit"
"""The one entry of the metadata: with several, the order in the file would not be the same every time."""


def save_vae(model: VAE, file: Any) -> None:
    """Write a VAE to one safetensors file; an old one stays until the new one is whole.

    The encoder is written in half precision, the decoder as it is: a pursuit with what `load_vae` reads asks the same.
    """
    if not _is_vae(model):
        raise TypeError(f"model is {type(model).__name__}; expected an ip.models.VAE")
    path = Path(file)
    if path.is_dir():
        raise ValueError(f"file={str(path)!r} is a folder; give the name of a file in it")
    spec, arrays = model_to_parts(model)
    about = {"format": FORMAT, "version": VERSION, "model": spec, "sha256": _checksum(spec, arrays)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, safetensors.numpy.save(arrays, metadata={KEY: json.dumps(about)}))


def load_vae(file: Any, *, device: Any = None) -> VAE:
    """Read what `save_vae` wrote; nothing is believed that has not been checked."""
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"file={str(path)!r} is not there; give a file that save_vae() wrote")
    try:
        with safe_open(str(path), framework="np") as stored:
            about = json.loads((stored.metadata() or {}).get(KEY, "null"))
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise ModelFormatError(f"{path} cannot be read, it may be cut off or altered: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ModelFormatError(f"{path} is no VAE of this package: its metadata does not say format {FORMAT!r}")
    if about.get("version") != VERSION:
        raise ModelFormatError(f"{path} has format version {about.get('version')!r}; this infopursuit reads {VERSION}")
    try:
        altered = about["sha256"] != _checksum(about["model"], arrays)
        model: Any = None if altered else model_from_parts(about["model"], arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RuntimeError) as error:
        raise ModelFormatError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    if altered:
        raise ModelFormatError(f"{path} was altered: its checksum does not agree with its content")
    if not _is_vae(model):
        raise ModelFormatError(f"{path} holds a model of kind {model.kind!r}, which is no VAE")
    found: VAE = model if device is None else model.to(device)
    return found


def _is_vae(model: Any) -> bool:
    """Without importing torch: whoever has a VAE has imported it already."""
    return any(cls.__name__ == "VAE" for cls in type(model).__mro__)


def _checksum(spec: dict[str, Any], arrays: dict[str, Array]) -> str:
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} torch.{array.dtype} {array.shape}".encode())  # as version 1 has always named the types
        digest.update(array.tobytes())
    return digest.hexdigest()


# ---- checks ---------------------------------------------------------------------------------------------------------


def check_count(value: Any, name: str) -> int:
    """A positive whole number."""
    if type(value) is not int or not 1 <= value < 2**31:
        raise ValueError(f"{name} is {value!r}; expected a positive whole number")
    return value


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
