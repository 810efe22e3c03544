"""The distinct things that queries look at, and where their cells lie end to end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from infopursuit.types import UNKNOWN, Atoms, IntArray


@dataclass(frozen=True)
class Parts:
    """The distinct (atom, partition) pairs that a query set uses, and where their cells lie end to end.

    A one-atom query is one part; a patch is nine. Two patches that share a pixel share its part. ``P`` counts parts.
    """

    atom: IntArray  # (P,) the atom that each part looks at
    kind: IntArray  # (P,) 0, or what else tells parts apart: how reliably they are answered
    offsets: IntArray  # (P + 1,) where the cells of each part begin
    entry_slot: IntArray  # (E,) slot of an atom ...
    entry_cell: IntArray  # (E,) ... and the part cell that it falls into
    query_part: IntArray  # (Q, W) the parts of each query, -1 for padding

    @cached_property
    def sizes(self) -> IntArray:
        """(P,) how many cells each part has."""
        return np.diff(self.offsets)

    @cached_property
    def plain(self) -> bool:
        """True when the cells are the slots themselves: each atom asked whole, in order."""
        identity = np.arange(len(self.entry_slot))
        return bool(np.array_equal(self.entry_slot, identity) and np.array_equal(self.entry_cell, identity))


def find_parts(atoms: Atoms, query_atoms: IntArray, query_cells: IntArray, kinds: IntArray | None = None) -> Parts:
    """The parts of queries that reveal ``query_atoms`` (Q, W) in ``query_cells`` (Q, W, V), both padded with -1.

    kinds: (Q, W) tell parts apart that look at the same.
    """
    found: dict[tuple[int, ...], int] = {}
    kinds = np.zeros_like(query_atoms) if kinds is None else kinds
    query_part = np.full_like(query_atoms, UNKNOWN)
    for query, wide in zip(*np.nonzero(query_atoms >= 0), strict=True):
        atom = int(query_atoms[query, wide])
        key = (atom, int(kinds[query, wide]), *query_cells[query, wide, : atoms.sizes[atom]].tolist())
        query_part[query, wide] = found.setdefault(key, len(found))
    order = sorted(found, key=lambda key: (key[0], found[key]))
    place = np.empty(len(found), dtype=np.int64)
    place[[found[key] for key in order]] = np.arange(len(order))
    sizes = [max(key[2:]) + 1 for key in order]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    slots = [atoms.offsets[key[0]] + np.arange(len(key) - 2) for key in order]
    return Parts(
        atom=np.array([key[0] for key in order], dtype=np.int64),
        kind=np.array([key[1] for key in order], dtype=np.int64),
        offsets=offsets,
        entry_slot=np.concatenate(slots),
        entry_cell=np.concatenate([offsets[p] + np.array(key[2:], dtype=np.int64) for p, key in enumerate(order)]),
        query_part=np.where(query_part >= 0, place[query_part], UNKNOWN),
    )
