"""Histories, and the protocols of what works on them: beliefs, acquisition functions, predictions of answers.

A strategy sees histories and nothing else, so that its next query is a function of the history alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import UNKNOWN, FloatArray, History, IntArray, Number, Rows, Said, SoftAnswer

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Histories(Rows):
    """H histories of K steps side by side: what was asked and what was answered.

    Parameters
    ----------
    query_set: the query set that the indices are about.
    queries: (H, K) the query of each step.
    answers: (H, K, W) the cell that was answered for each variable of the query, -1 for unknown and for padding.
    soft: (H, K) the soft answers, None where one is certain; None where all are.
    log_likelihood: (H, W, V) log P(last answer | cell) where answers may be wrong; None where they are certain.
    numbers: (H, K) the number that was answered, NaN where it was none; None where the belief does not use numbers.
    n_known: how many of the first steps were known beforehand: nobody was asked, and they cost nothing.

    >>> import infopursuit as ip
    >>> empty = Histories.empty(ip.queries.concepts(["has wings", "is red"]))
    >>> one = empty.extend(np.array([0, 0]), np.array([1, 1]), np.array([[0], [1]]))
    >>> len(one), one.n_steps, one.observed().tolist()
    (2, 1, [[-1, 0], [-1, 1]])
    """

    query_set: QuerySet = field(repr=False)
    queries: IntArray
    answers: IntArray
    soft: Any = None
    log_likelihood: FloatArray | None = field(default=None, repr=False)
    numbers: FloatArray | None = None
    n_known: int = 0

    @classmethod
    def empty(cls, query_set: QuerySet) -> Histories:
        """The one history of no steps."""
        return cls(query_set, np.zeros((1, 0), np.int64), np.zeros((1, 0, query_set.width), np.int64))

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def n_steps(self) -> int:
        """K, the number of queries asked or known beforehand."""
        return int(self.queries.shape[1])

    @property
    def n_asked(self) -> int:
        """How many queries were asked, without those known beforehand."""
        return self.n_steps - self.n_known

    @property
    def n_answered(self) -> IntArray:
        """(H,) how many of the queries were answered."""
        return np.asarray((self.answers != UNKNOWN).any(axis=2).sum(axis=1))

    def extend(
        self,
        parents: IntArray,
        queries: IntArray,
        answers: IntArray,
        soft: Sequence[SoftAnswer | None] = (),
        log_likelihood: FloatArray | None = None,
        numbers: FloatArray | None = None,
    ) -> Histories:
        """The histories ``parents``, each longer by one query (H,) with its answer (H, W), and its number (H,)."""
        given = None if numbers is None or np.isnan(numbers).all() else np.asarray(numbers, np.float64)
        return Histories(
            self.query_set,
            np.concatenate([self.queries[parents], np.asarray(queries, np.int64)[:, None]], axis=1),
            np.concatenate([self.answers[parents], np.asarray(answers, np.int64)[:, None]], axis=1),
            self._longer(self.soft, parents, np.array(soft, dtype=object) if any(soft) else None, None),
            log_likelihood,
            self._longer(self.numbers, parents, given, np.nan),
            self.n_known,
        )

    def _longer(self, old: Any, parents: IntArray, new: Any, nothing: Any) -> Any:
        """(H, K + 1) one more entry of ``soft`` or ``numbers`` for each history; None where there is none at all."""
        if old is None and new is None:
            return None
        before = np.full((len(parents), self.n_steps), nothing) if old is None else old[parents]
        last = np.full(len(parents), nothing) if new is None else new
        return np.concatenate([before, last[:, None]], axis=1)

    def observed(self) -> IntArray:
        """(H, A) the value of each variable where the answers determine it, else -1: the input of a predictor."""
        qs = self.query_set
        found = np.full((len(self), len(qs.variables)), UNKNOWN, dtype=np.int64)
        if qs.whole:
            return self._observed_whole(found)
        possible = np.ones((len(self), len(qs.variables), max(qs.variables.sizes)), dtype=bool)
        possible &= (qs.variables.slots >= 0)[None]
        rows = np.arange(len(self))
        for k in range(self.n_steps):
            for w in range(qs.width):
                cell, query = self.answers[:, k, w], self.queries[:, k]
                variable = qs.query_variables[query, w]
                told = (cell != UNKNOWN) & (variable >= 0)
                agrees = qs.query_cells[query, w][:, : possible.shape[2]] == cell[:, None]
                possible[rows[told], variable[told]] &= agrees[told]
        known = possible.sum(axis=2) == 1
        found[known] = possible[known].argmax(axis=1)
        return found

    def _observed_whole(self, found: IntArray) -> IntArray:
        """`observed` where every cell is a value, without a table of all values."""
        contradicted = UNKNOWN - 1
        for k in range(self.n_steps):
            for w in range(self.query_set.width):
                cell, variable = self.answers[:, k, w], self.query_set.query_variables[self.queries[:, k], w]
                rows = np.flatnonzero((cell != UNKNOWN) & (variable >= 0))
                new, old = cell[rows], found[rows, variable[rows]]
                found[rows, variable[rows]] = np.where((old == UNKNOWN) | (old == new), new, contradicted)
        return np.maximum(found, UNKNOWN)

    def observed_numbers(self) -> FloatArray:
        """(H, A) the number of each numeric variable that was asked for: as it was answered, or where only the cell is
        known, the number that stands for the cell. NaN elsewhere."""
        qs = self.query_set
        found = np.full((len(self), len(qs.variables)), np.nan)
        table = qs.representatives
        for k in range(self.n_steps if table is not None else 0):
            assert table is not None
            query, cell = self.queries[:, k], self.answers[:, k, 0]
            number = np.where(cell == UNKNOWN, np.nan, table[query, np.maximum(cell, 0)])
            if self.numbers is not None:
                number = np.where(np.isnan(self.numbers[:, k]), number, self.numbers[:, k])
            told = np.flatnonzero(~np.isnan(number))
            found[told, qs.query_variables[query[told], 0]] = number[told]
        return found

    @cached_property
    def _pairs(self) -> npt.NDArray[np.int32]:
        """(H, K, 1 + W) each query with its answer."""
        return np.concatenate([self.queries[:, :, None], self.answers], axis=2).astype("<i4")

    def key(self, h: int) -> bytes:
        """A name of history h that is the same in every process."""
        pairs = bytes(self._pairs[h].tobytes())
        soft = [(k, said.weights) for k, said in enumerate(() if self.soft is None else self.soft[h]) if said]
        if self.numbers is not None and not np.isnan(self.numbers[h]).all():
            pairs += b"#" + number_bits(self.numbers[h]).astype("<i8").tobytes()
        return pairs + repr(soft).encode() if soft else pairs

    def keys(self) -> list[bytes]:
        """The names of all histories."""
        return [self.key(h) for h in range(len(self))]

    def steps(self, h: int) -> History:
        """History h as pairs of a query and its answer."""
        soft, numbers = (None if each is None else each[h] for each in (self.soft, self.numbers))
        return history_of(self.query_set, self.queries[h], self.answers[h], soft, numbers)


def everything_possible(query_set: QuerySet) -> BoolArray:
    """(1, L) the variable values that are left before the first answer: all. Where queries reveal variables whole it is
    (1, A), whether there is anything left to learn about a variable: no values need be told apart."""
    return np.ones((1, len(query_set.variables) if query_set.whole else query_set.variables.n_slots), dtype=bool)


def narrow(
    query_set: QuerySet, possible: BoolArray, queries: IntArray, answers: IntArray, certain: BoolArray
) -> BoolArray:
    """(H, L) the variable values that are left after one more answer (H, W) to queries (H,); none of a variable about
    which the answer was "not known". certain: (H,) whether the answer rules values out. See `everything_possible`."""
    left = possible.copy()
    for w in range(query_set.width):
        variable, cell = query_set.query_variables[queries, w], answers[:, w, None]
        if query_set.whole:
            told = np.flatnonzero((variable >= 0) & (certain | (cell[:, 0] == UNKNOWN)))
            left[told, variable[told]] = False
            continue
        slots = query_set.variables.slots[variable]  # (H, V)
        other = query_set.query_cells[queries, w][:, : slots.shape[1]] != cell
        gone = (slots >= 0) & (variable >= 0)[:, None] & ((cell == UNKNOWN) | (certain[:, None] & other))
        row, value = np.nonzero(gone)
        left[row, slots[row, value]] = False
    return left


def nothing_to_learn(query_set: QuerySet, possible: BoolArray) -> BoolArray:
    """(H, Q) the queries whose answer follows from the values that are left, (H, L), or is "not known"."""
    found = np.ones((len(possible), len(query_set)), dtype=bool)
    if query_set.whole:
        for w in range(query_set.width):
            found &= (query_set.query_variables[:, w] < 0) | ~possible[:, query_set.query_variables[:, w]]
        return found
    parts = query_set.parts
    order = np.argsort(parts.entry_cell, kind="stable")
    counts = np.bincount(parts.entry_cell, minlength=int(parts.offsets[-1]))
    starts = np.minimum(np.cumsum(counts) - counts, len(order) - 1)
    alive = np.logical_or.reduceat(possible[:, parts.entry_slot[order]], starts, axis=1) & (counts > 0)  # (H, cells)
    settled = np.add.reduceat(alive, parts.offsets[:-1], axis=1, dtype=np.int64) <= 1  # (H, P)
    for w in range(query_set.width):
        found &= (parts.query_part[:, w] < 0) | settled[:, parts.query_part[:, w]]
    return found


def number_bits(numbers: FloatArray) -> IntArray:
    """The bits of numbers, the same for 0.0 and -0.0 and for every NaN."""
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    return plain.view(np.int64)


def history_of(
    query_set: QuerySet,
    queries: IntArray,
    answers: IntArray,
    soft: Any = None,
    numbers: FloatArray | None = None,
) -> History:
    """(K,) queries and (K, W) answers of one input as a history; ``soft``: (K,) soft answers, None where one is
    certain; ``numbers``: (K,) the numbers that were answered, NaN elsewhere."""
    wide = (query_set.query_variables[queries] >= 0).sum(axis=1)  # answers without their padding
    steps: list[tuple[int, Said]] = []
    for k, (query, answer, w) in enumerate(zip(queries.tolist(), answers, wide, strict=True)):
        cells = tuple(answer[:w].tolist())
        known: Said = None if all(cell == UNKNOWN for cell in cells) else cells
        if known is not None and numbers is not None and not np.isnan(numbers[k]):
            known = Number(float(numbers[k]), cells)
        steps.append((query, known if soft is None or soft[k] is None else soft[k]))
    return tuple(steps)


def uniform_of(seed: int, key: bytes) -> float:
    """A number in [0, 1) that depends on the seed and the key of a history alone."""
    digest = hashlib.blake2b(key, digest_size=8, key=seed.to_bytes(8, "little", signed=True)).digest()
    return int.from_bytes(digest, "little") / 2**64
