"""Queries: what may be asked about an input, and how its answers are read off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from infopursuit.queries.columns import Columns, columns
from infopursuit.queries.concepts import Concepts, concepts
from infopursuit.queries.functions import Functions, functions
from infopursuit.queries.missing import is_missing
from infopursuit.queries.panels import Panels, panels
from infopursuit.queries.patches import Patches, patches
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.recipe import Recipe
from infopursuit.queries.tables import is_frame
from infopursuit.queries.words import Words, words

__all__ = [
    "Columns",
    "Concepts",
    "Functions",
    "Panels",
    "Patches",
    "QuerySet",
    "Recipe",
    "Words",
    "columns",
    "concepts",
    "from_spec",
    "functions",
    "guess",
    "panels",
    "patches",
    "words",
]

KINDS: dict[str, Any] = {cls.kind: cls for cls in (Columns, Concepts, Functions, Panels, Patches, Words)}


def from_spec(kind: str, spec: dict[str, Any], functions: Any = None) -> QuerySet:
    """The query set of a kind that ``to_spec`` described; ``functions`` gives the callables, which are not saved.

    >>> from_spec("concepts", concepts(["can fly"]).to_spec()).names
    ('can fly',)
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; the kinds of query sets are {', '.join(sorted(KINDS))}")
    if kind == Panels.kind:
        base = spec["base"]
        if base["kind"] == Panels.kind:
            raise ValueError("the base of panels is made of panels itself")
        return Panels.from_spec(spec, from_spec(base["kind"], base["spec"], functions))
    options = {"functions": functions} if kind == Functions.kind else {}
    queries: QuerySet = KINDS[kind].from_spec(spec, **options)
    return queries


def guess(X: Any) -> QuerySet | Recipe:
    """What to ask about this data when nobody has said: patches of images, words of texts, columns of anything else.

    The columns of a sparse matrix are yes/no concepts: is there something in the column?

    >>> guess(["a text", "another"])
    <words(size=1000, stem=True, stop_words='english', min_count=2), not fitted yet>
    >>> guess(np.zeros((5, 28, 28)))
    <patches(size=3, stride=1, threshold=None), not fitted yet>
    """
    if hasattr(X, "tocsr"):
        return concepts([f"feature {column}" for column in range(X.shape[1])], presence=True)
    if is_frame(X):
        return columns()
    if isinstance(_first_known(X), str):
        return words()
    try:
        shape = tuple(X.shape) if hasattr(X, "shape") else np.shape(X)
    except ValueError:  # rows of different lengths; the builder says so better
        shape = ()
    if len(shape) == 3 or (len(shape) == 4 and 1 in (shape[1], shape[3])):
        return patches()
    return columns()


def _first_known(X: Any) -> Any:
    """The first entry that is not missing; lists of long texts are not made into an array, which would be huge."""
    entries = X.to_pylist() if hasattr(X, "to_pylist") else X if isinstance(X, Iterable) else ()
    return next((entry for entry in entries if not is_missing(entry)), None)
