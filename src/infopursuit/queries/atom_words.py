"""Atoms in the words of the queries that ask about them: what a change of its values means for the answers."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from infopursuit.queries.patches import Patches
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import Atoms, FloatArray

NOUNS = {"columns": ("column", "columns"), "words": ("word", "words"), "patches": ("pixel", "pixels")}


class AtomWords:
    """Names for the atoms of a query set, or numbers where there is none.

    >>> from infopursuit import queries
    >>> words = AtomWords(queries.patches((3, 3), size=2).atoms, queries.patches((3, 3), size=2))
    >>> words.name(5), words.example(5, np.array([8.0, 2.0]), np.array([3.0, 7.0]))
    ('row 2, column 3', ('row 2, column 3: lit', 0.2, 0.7))
    """

    def __init__(self, atoms: Atoms, queries: QuerySet | None) -> None:
        self.atoms, self.queries = atoms, queries
        self.nouns = NOUNS.get("" if queries is None else queries.kind, ("question", "questions"))
        self._alone: dict[int, list[int]] = defaultdict(list)  # the queries that ask about one atom and no other
        if queries is not None:
            self._topics = queries.topics
            for query in np.flatnonzero((queries.query_atoms >= 0).sum(axis=1) == 1).tolist():
                self._alone[int(queries.query_atoms[query, 0])].append(query)

    def name(self, atom: int) -> str:
        """What an atom is called."""
        if self._alone[atom]:
            return self._topics[self._alone[atom][0]][0]
        if isinstance(self.queries, Patches):
            row, column = divmod(atom, self.queries.shape[1])
            return f"row {row + 1}, column {column + 1}"
        return f"atom {atom}"

    def splits(self, atom: int) -> FloatArray | None:
        """(n, V) the values with "yes" of every question about the atom, where all of them are yes/no; else None."""
        alone = self._alone[atom]
        if not alone or self.queries is None or self.atoms.sizes[atom] == 2:
            return None
        cells = self.queries.query_cells[alone, 0, : self.atoms.sizes[atom]]
        return cells.astype(np.float64) if cells.max() == 1 else None

    def example(self, atom: int, before: FloatArray, now: FloatArray) -> tuple[str, float, float]:
        """The answer whose share among the known ones changed most, and its shares before and now.

        before, now: (V,) counts of the atom's values. Of answers that changed alike, "yes" is more telling than "no".
        """
        p, q = before / max(before.sum(), 1e-300), now / max(now.sum(), 1e-300)
        best, phrase, shares = -1.0, "", (0.0, 0.0)
        for query in self._alone[atom]:
            assert self.queries is not None
            cells = self.queries.query_cells[query, 0, : len(p)]
            old, new = np.bincount(cells, weights=p), np.bincount(cells, weights=q)
            cell = len(old) - 1 - int(np.abs(new - old)[::-1].round(12).argmax())
            if abs(new[cell] - old[cell]) > best + 1e-12:
                best, shares = float(abs(new[cell] - old[cell])), (float(old[cell]), float(new[cell]))
                phrase = self.queries.say(query, (cell,))
        if best < 0:
            value = len(p) - 1 - int(np.abs(q - p)[::-1].round(12).argmax())
            lit = isinstance(self.queries, Patches)
            what = ("dark", "lit")[value] if lit else f"value {value}"
            phrase, shares = f"{self.name(atom)}: {what}", (float(p[value]), float(q[value]))
        return phrase, *shares
