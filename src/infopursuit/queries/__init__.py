"""Queries: what may be asked about an input, and how its answers are read off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from infopursuit.queries.columns import Columns, columns
from infopursuit.queries.concepts import Concepts, concepts
from infopursuit.queries.frames import is_frame, is_missing
from infopursuit.queries.functions import Functions, functions
from infopursuit.queries.groups import Groups, groups
from infopursuit.queries.patches import Patches, patches
from infopursuit.queries.queryset import KINDS as KINDS
from infopursuit.queries.queryset import QuerySet, Recipe, from_spec
from infopursuit.queries.union import Union, union
from infopursuit.queries.words import Words, words

# fmt: off
__all__ = [
    "Columns", "Concepts", "Functions", "Groups", "Patches", "QuerySet", "Recipe", "Union", "Words", "columns",
    "concepts", "from_spec", "functions", "groups", "guess", "patches", "union", "words",
]
# fmt: on

KINDS |= {cls.kind: cls for cls in (Columns, Concepts, Functions, Groups, Patches, Union, Words)}


def guess(X: Any) -> Any:
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
    # Lists of long texts are not made into an array, which would be huge.
    entries = X.to_pylist() if hasattr(X, "to_pylist") else X if isinstance(X, Iterable) else ()
    if isinstance(next((entry for entry in entries if not is_missing(entry)), None), str):
        return words()
    try:
        shape = tuple(X.shape) if hasattr(X, "shape") else np.shape(X)
    except ValueError:  # rows of different lengths; the builder says so better
        shape = ()
    if len(shape) == 3 or (len(shape) == 4 and 1 in (shape[1], shape[3])):
        return patches()
    return columns()
