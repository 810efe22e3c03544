"""What a network or another learner sees: the answers to all queries as numbers, and nothing beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.evaluation.baselines.rows import AT_A_TIME
from infopursuit.models.architectures import Features
from infopursuit.queries.patches import Patches
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, Atoms, FloatArray, IntArray


class Inputs:
    """The answers to all queries of a set, each distinct part of them once.

    Overlapping patches are told as one picture, pixel by pixel; a pixel under no patch stays unknown. Anything else is
    told part by part: a yes/no part as one number (1, -1, 0 where unknown), another as one-hot (zeros where unknown).

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
        self._atoms: IntArray = np.arange(len(query_set.atoms)) if self.picture else parts.atom[telling]
        sizes = np.array(query_set.atoms.sizes)[self._atoms] if self.picture else parts.sizes[telling]
        self._hidden = ~np.isin(self._atoms, parts.atom)
        self._cells = None if self.picture else self._table(telling)
        self.features = Features(Atoms(tuple(sizes.tolist())))

    @property
    def size(self) -> int:
        """F, how many numbers an input is."""
        return self.features.size

    @property
    def nothing(self) -> Tensor:
        """(1, F) the input in which nothing is: no pixel lit, no word there, no category known."""
        return torch.as_tensor(np.where(self._widths()[self._owner()] == 1, -1.0, 0.0), dtype=torch.float32)[None]

    def encode(self, values: Any) -> Tensor:
        """(B, A) atom values -> (B, F)."""
        return self.features.encode(torch.as_tensor(self.parts_of(values)))

    def matrix(self, values: Any) -> Any:
        """(B, F) in single precision for learners that want numbers from 0 to 1: no, unknown and yes are 0, 1/2, 1."""
        found = np.empty((len(values), self.size), dtype=np.float32)
        single = self._widths()[self._owner()] == 1
        for start in range(0, len(values), AT_A_TIME):
            some = self.encode(values[start : start + AT_A_TIME]).numpy()
            found[start : start + AT_A_TIME] = np.where(single, (some + 1) / 2, some)
        return found

    def parts_of(self, values: Any) -> IntArray:
        """(B, A) atom values -> (B, P) the cell of each part, -1 where it is not known."""
        picked = np.asarray(values)[:, self._atoms].astype(np.int64)
        if self._cells is None:
            return np.where(self._hidden, UNKNOWN, picked)
        cells = self._cells[np.arange(len(self._atoms)), np.maximum(picked, 0)]
        return np.where(picked == UNKNOWN, UNKNOWN, cells)

    def to_atoms(self, scores: Any) -> FloatArray:
        """(B, F) a score for each number -> (B, A) for each atom, the sum of those that tell of it."""
        found = np.zeros((len(self.query_set.atoms), len(scores)))
        np.add.at(found, self._atoms[self._owner()], np.asarray(scores, dtype=np.float64).T)
        return found.T

    def _widths(self) -> IntArray:
        """(P,) how many numbers tell of each part."""
        return np.array([1 if size == 2 else size for size in self.features.atoms.sizes], dtype=np.int64)

    def _owner(self) -> IntArray:
        """(F,) the part that each number tells of."""
        return np.repeat(np.arange(len(self._atoms)), self._widths())

    def _table(self, telling: IntArray) -> IntArray:
        """(P, V) the cell of each value of a part's atom."""
        parts, atoms = self.query_set.parts, self.query_set.atoms
        table = np.zeros((len(parts.atom), max(atoms.sizes)), dtype=np.int64)
        owner = np.searchsorted(parts.offsets, parts.entry_cell, side="right") - 1  # (E,) the part of each entry
        value = parts.entry_slot - atoms.offsets[atoms.slot_atom[parts.entry_slot]]
        table[owner, value] = parts.entry_cell - parts.offsets[owner]
        return table[telling]
