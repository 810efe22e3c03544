"""A pursuit as JSON data and arrays: its queries, belief, acquisition function and the other parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit import queries as query_builders
from infopursuit.pursuit.loop import Pursuit
from infopursuit.queries.queryset import to_manifest
from infopursuit.saving import parts as parts
from infopursuit.saving.registry import Arrays, encode
from infopursuit.support.types import ModelFormatError

PLAIN = {"patience": 0, "seed": 0, "memory_limit": 1, "learnt": bool, "label_name": str}
"""The plain fields of a pursuit: the least whole number, or a type."""
PARTS = ("stopping", "noise", "costs", "constraints", "calibrator", "novelty")
"""The parts of a pursuit that are saved by their own entry, beside queries, belief and acquisition function."""
LABELS: dict[str, type] = {"int": int, "str": str, "bool": bool, "float": float}
"""The types of class labels that can be saved."""


def pursuit_spec(pursuit: Pursuit[Any]) -> tuple[dict[str, Any], Arrays]:
    queries = pursuit.queries
    if queries.kind not in query_builders.KINDS:
        kinds = ", ".join(sorted(query_builders.KINDS))
        raise TypeError(f"queries of kind {queries.kind!r} cannot be saved; the kinds that can are {kinds}")
    belief, arrays = encode(pursuit.belief, "belief")
    spec: dict[str, Any] = {
        "queries": to_manifest(queries),
        "belief": belief,
        "acquisition": encode(pursuit.acquisition, "acquisition")[0],
        **{name: getattr(pursuit, name) for name in PLAIN},
    }
    for role in PARTS:
        part = getattr(pursuit, role)
        spec[role] = None if part is None else encode(part, role)[0]
    return spec, {name: np.asarray(array, order="C") for name, array in arrays.items()}


def labels_to_spec(classes: Any) -> dict[str, Any]:
    values = [c.item() if isinstance(c, np.generic) else c for c in np.asarray(classes)]
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= set(LABELS.values()):
        found = sorted(kind.__name__ for kind in kinds)
        raise ValueError(f"classes of type {found} cannot be saved; use strings, whole numbers or booleans")
    return {"kind": kinds.pop().__name__, "values": values}


def checked(spec: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Plain fields, refused where they are not what ``fields`` says: the least whole number, or a type; null for None
    among several."""
    for name, expected in fields.items():
        value, kinds = spec[name], expected if isinstance(expected, tuple) else (expected,)
        whole = type(value) is int and any(type(kind) is int and value >= kind for kind in kinds)
        if not whole and type(value) not in kinds and not (value is None and None in kinds):
            names = " or ".join(
                f"a whole number from {k}" if type(k) is int else "null" if k is None else k.__name__ for k in kinds
            )
            raise ModelFormatError(f"{name} is {value!r}; expected {names}")
    return {name: spec[name] for name in fields}


def labels_from_spec(spec: dict[str, Any]) -> Any:
    kind, values = LABELS[spec["kind"]], spec["values"]
    listed = isinstance(values, list) and all(type(value) is kind for value in values)
    if not listed or len(set(values)) != len(values):
        raise ModelFormatError(f"the classes are not a list of different values of type {spec['kind']}")
    return np.array(values)
