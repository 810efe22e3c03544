"""The most probable answers to a query after a history, without looking at all of them.

A 4 x 4 patch has 65,536 answers. They are found atom by atom: the probability of the first atoms bounds that of every
answer that begins with them, so that what is too improbable is dropped early, and what is left is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from infopursuit.engine import Branches, Pursuit, State
from infopursuit.types import UNKNOWN, FloatArray, IntArray

KEPT = 512
"""Beginnings of answers that are followed: all patterns of a 3 x 3 patch."""
NOTHING = 1e-12
"""A probability that rounding may leave where there is none."""


@dataclass(frozen=True)
class Answers:
    """Answers to one query after one history: cells (n, W), the probability of each (n,), the most probable first.

    cells_of: for each atom of the query the cells that can be, looked at by itself.
    """

    cells: IntArray
    probabilities: FloatArray
    cells_of: list[IntArray]

    @property
    def n_possible(self) -> int:
        """How many answers there are in all, as far as each atom by itself goes."""
        return int(np.prod([len(cells) for cells in self.cells_of], dtype=float))


def likely_answers(pursuit: Pursuit, state: State, row: int, query: int, least: float) -> Answers:
    """The answers to a query after history ``row`` whose probability given that history is ``least`` or more.

    Of more than `KEPT` answers that begin differently only the most probable ones are followed.
    """
    queries = pursuit.queries
    wide = int((queries.query_atoms[query] >= 0).sum())
    limits = queries.n_cells[query, :wide].tolist()
    singles = np.full((sum(limits), queries.width), UNKNOWN, dtype=np.int64)
    at = 0
    for w, n in enumerate(limits):
        singles[at : at + n, w] = np.arange(n)
        at += n
    possible = probabilities(pursuit, state, row, query, singles) > NOTHING
    cells_of = [np.flatnonzero(part) for part in np.split(possible, np.cumsum(limits)[:-1])]
    cells = np.full((1, queries.width), UNKNOWN, dtype=np.int64)
    p = np.ones(1)
    for w in range(wide):
        n = len(cells_of[w])
        cells = np.repeat(cells, n, axis=0)
        cells[:, w] = np.tile(cells_of[w], len(cells) // max(n, 1))
        p = probabilities(pursuit, state, row, query, cells)
        order = np.argsort(-p, kind="stable")[:KEPT]
        order = order[p[order] >= max(least, NOTHING)]
        cells, p = cells[order], p[order]
    return Answers(cells, p, cells_of)


def probabilities(pursuit: Pursuit, state: State, row: int, query: int, cells: IntArray) -> FloatArray:
    """(n,) p(answer | history) for answers (n, W), some of whose atoms may be unknown: then of what is known.

    p(answer | history) = p(history, answer) / p(history), both summed over the classes.
    """
    if not len(cells):
        return np.zeros(0)
    posterior: Any = pursuit.posterior
    rows = max(1, min(len(cells), pursuit.budget // posterior.row_bytes))
    before = torch.logsumexp(posterior.log_joint(state.belief)[row], dim=0)
    found = []
    for start in range(0, len(cells), rows):
        some = cells[start : start + rows]
        parents = np.full(len(some), row, dtype=np.int64)
        after = pursuit.absorb(state, Branches(parents, np.full(len(some), query), some), state.watch)
        total = torch.logsumexp(posterior.log_joint(after.belief), dim=1)
        share = (total - before).exp().cpu().numpy()
        found.append(np.where(after.impossible, 0.0, np.nan_to_num(share, nan=0.0)))
    return np.asarray(np.concatenate(found), dtype=np.float64)
