"""Inputs as they come in JSON, in the form that the queries of a model take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infopursuit.queries.columns import Columns
from infopursuit.queries.patches import Patches
from infopursuit.queries.words import Words
from infopursuit.server.limits import Problem
from infopursuit.server.shelf import Offer
from infopursuit.types import IntArray


def read_inputs(offer: Offer, inputs: Sequence[Any]) -> IntArray:
    """(B, A) the values of the atoms of some inputs: images, texts, or rows as lists or as objects."""
    queries = offer.pursuit.queries
    try:
        if isinstance(queries, Patches):
            return queries.observe(np.stack([_image(queries, k, item) for k, item in enumerate(inputs)]))
        if isinstance(queries, Words):
            return queries.observe([_text(k, item) for k, item in enumerate(inputs)])
        names = list(queries.columns if isinstance(queries, Columns) else queries.names)
        rows = [_row(names, k, item) for k, item in enumerate(inputs)]
        if not isinstance(queries, Columns):
            return queries.observe(np.array([[_number(v) for v in row] for row in rows]))
        return queries.observe(rows)
    except (TypeError, ValueError, OverflowError) as error:  # the last: a whole number of hundreds of digits
        raise Problem(
            422,
            " ".join(str(error).split()),
            field="inputs",
            value=f"{len(inputs)} inputs",
            remedy=f"GET /v1/models/{offer.name} says what the inputs of this model are",
        ) from None


def _image(queries: Patches, k: int, item: Any) -> Any:
    rows, columns = queries.shape
    try:
        image = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        image = np.empty(0)
    if image.shape not in ((rows, columns), (rows * columns,)):
        raise Problem(
            422,
            "this is no image of the size that the model takes",
            field=f"inputs[{k}]",
            value=item,
            remedy=f"give {rows} lists of {columns} numbers each; null for a pixel that is not known",
        )
    return image.reshape(rows, columns)


def _text(k: int, item: Any) -> str:
    if not isinstance(item, str):
        raise Problem(422, "this is no text", field=f"inputs[{k}]", value=item, remedy="give each input as a string")
    return item


def _row(names: list[str], k: int, item: Any) -> list[Any]:
    """A row in the order of the columns; what an object leaves out is not known."""
    if isinstance(item, dict):
        strange = [name for name in item if name not in names]
        if strange:
            raise Problem(
                422,
                "the model has no such column",
                field=f"inputs[{k}]",
                value=strange[0],
                remedy=f"columns are {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}",
            )
        item = [item.get(name) for name in names]
    if not isinstance(item, list) or len(item) != len(names):
        raise Problem(
            422,
            "this is no row of the table that the model takes",
            field=f"inputs[{k}]",
            value=item,
            remedy=f"give an object with names of columns, or a list of {len(names)} values; null is not known",
        )
    for name, value in zip(names, item, strict=True):
        if value is not None and not isinstance(value, (str, int, float, bool)):
            raise Problem(
                422,
                "this is no value of a table",
                field=f"inputs[{k}].{name}",
                value=value,
                remedy="give a number, a text, true, false, or null",
            )
    return item


def _number(value: Any) -> float:
    """A yes/no answer as a number; words are taken too."""
    if value is None:
        return float("nan")
    if isinstance(value, str):
        words = {"yes": 1.0, "no": 0.0}
        if value.lower() not in words:
            raise ValueError(f"{value[:40]!r} is neither 'yes' nor 'no'; give one of these, 1, 0, or null")
        return words[value.lower()]
    return float(value)
