"""All answers about an input as numbers: what networks are told, and how their scores come back to variables."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from infopursuit.queries.patches import Patches
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray


class Fitted(Protocol):
    """A fitted baseline: the tree, the tuned model, or another classifier on the same answers."""

    @property
    def name(self) -> str:
        """What it is."""

    @property
    def validation_accuracy(self) -> float:
        """Of what was fitted on the other rows, on those that were held out."""

    @property
    def seconds(self) -> float:
        """What fitting took."""

    @property
    def details(self) -> dict[str, Any]:
        """What was chosen, as JSON data."""

    def predict(self, values: Any) -> Any:
        """(B, A) variable values -> (B,) labels."""


class Inputs:
    """Encodes the answers to all queries as numbers, each distinct part of them once, and nothing else.

    Overlapping patches are encoded as one image, pixel by pixel; a pixel under no patch stays unknown. Other query sets
    are encoded part by part: a yes/no part as 1, -1 or 0 (unknown), another one-hot (zeros where unknown).

    >>> from infopursuit.queries import concepts
    >>> Inputs(concepts(["can fly", "is red"])).encode(np.array([[1, 0], [-1, 1]])).tolist()
    [[1.0, -1.0], [0.0, 1.0]]
    """

    def __init__(self, query_set: QuerySet) -> None:
        self.query_set = query_set
        self.picture: tuple[int, int] | None = query_set.shape if isinstance(query_set, Patches) else None
        parts = query_set.parts
        telling = np.flatnonzero(parts.sizes > 1)  # a part with a single cell says nothing
        if not len(telling):
            raise ValueError("query_set has queries with one possible answer only; nothing can be learnt from them")
        self._variables: IntArray = np.arange(len(query_set.variables)) if self.picture else parts.variable[telling]
        sizes = np.array(query_set.variables.sizes)[self._variables] if self.picture else parts.sizes[telling]
        self._hidden = ~np.isin(self._variables, parts.variable)
        self._cells = None if self.picture else self._table(telling)
        widths = np.where(sizes == 2, 1, sizes)  # (P,) how many numbers encode each part
        self._first = np.cumsum(widths) - widths
        self._owner = np.repeat(np.arange(len(widths)), widths)  # (F,) the part that each number encodes
        self._signed = widths[self._owner] == 1

    @property
    def size(self) -> int:
        """F, how many numbers encode an input."""
        return len(self._owner)

    @property
    def nothing(self) -> Any:
        """(1, F) the input in which nothing is: no pixel lit, no word there, no category known."""
        return np.where(self._signed, -1.0, 0.0).astype(np.float32)[None]

    def encode(self, values: Any) -> Any:
        """(B, A) variable values -> (B, F) in single precision."""
        cells = self.parts_of(values)
        if self._signed.all():
            return np.where(cells == UNKNOWN, 0, 2 * cells - 1).astype(np.float32)
        found = np.zeros((len(cells), self.size), dtype=np.float32)
        rows, parts = np.nonzero(cells != UNKNOWN)
        cell, first = cells[rows, parts], self._first[parts]
        signed = self._signed[first]
        found[rows, first + np.where(signed, 0, cell)] = np.where(signed, 2 * cell - 1, 1)
        return found

    def parts_of(self, values: Any) -> IntArray:
        """(B, A) variable values -> (B, P) the cell of each part, -1 where it is not known."""
        picked = np.asarray(values)[:, self._variables].astype(np.int64)
        if self._cells is None:
            return np.where(self._hidden, UNKNOWN, picked)
        cells = self._cells[np.arange(len(self._variables)), np.maximum(picked, 0)]
        return np.where(picked == UNKNOWN, UNKNOWN, cells)

    def to_variables(self, scores: Any) -> FloatArray:
        """(B, F) a score for each number -> (B, A) for each variable, the sum of those that tell of it."""
        found = np.zeros((len(self.query_set.variables), len(scores)))
        np.add.at(found, self._variables[self._owner], np.asarray(scores, dtype=np.float64).T)
        return found.T

    def _table(self, telling: IntArray) -> IntArray:
        """(P, V) the cell of each value of a part's variable."""
        parts, variables = self.query_set.parts, self.query_set.variables
        table = np.zeros((len(parts.variable), max(variables.sizes)), dtype=np.int64)
        owner = np.searchsorted(parts.offsets, parts.entry_cell, side="right") - 1  # (E,) the part of each entry
        value = parts.entry_slot - variables.offsets[variables.slot_variable[parts.entry_slot]]
        table[owner, value] = parts.entry_cell - parts.offsets[owner]
        return table[telling]
