"""What the models share when they are saved: settings as JSON data, and checks of arrays that were read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from infopursuit.models.finite import Array, check_prior
from infopursuit.support.types import FloatArray, Variables

MAX_COUNT = 2**31 - 1
"""No file has more states, values or classes."""
DTYPES = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}


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
