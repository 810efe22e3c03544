"""A query set: which atoms each query reveals, in which cells, and how it is said in words."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from infopursuit.queries.choices import YES_NO, JointChoices, write_cells
from infopursuit.queries.parts import Parts, find_parts
from infopursuit.types import UNKNOWN, Answer, Atoms, IntArray, Likely, Query

MAX_ANSWERS = 2**16
"""A query with more joint answers than this is refused: its gain could not be computed exactly."""


class QuerySet(ABC):
    """What may be asked about an input.

    Parameters
    ----------
    names: one name for each query, all different.
    sizes: how many values each atom has.
    atoms: (Q, W) the atoms that each query reveals, padded with -1.
    cells: (Q, W, V) which cell each value of that atom falls into, padded with -1; None asks every atom whole.
    sentences: how each query is asked; the name with a question mark where nothing is given.
    choices: for each one-atom query what its cells are called; "no" and "yes" where nothing is given.
    """

    kind: ClassVar[str]
    worded: frozenset[int] = frozenset()
    """Queries that somebody has put into words of their own; explanations then use these words."""

    def __init__(
        self,
        names: Iterable[str],
        sizes: Sequence[int],
        atoms: Any,
        cells: Any = None,
        *,
        sentences: Sequence[str] | None = None,
        choices: Sequence[Sequence[str]] | None = None,
    ) -> None:
        self.names: tuple[str, ...] = tuple(str(name) for name in names)
        if not self.names:
            raise ValueError("the query set is empty; give at least one query")
        repeated = [name for name, count in Counter(self.names).items() if count > 1]
        if repeated:
            raise ValueError(f"query names must differ, but {repeated[0]!r} occurs more than once; rename one")
        self.atoms = Atoms(tuple(int(size) for size in sizes))
        self.query_atoms: IntArray = np.asarray(atoms, dtype=np.int64).reshape(len(self.names), -1)
        self._check_atoms()
        self.query_cells: IntArray = self._whole_cells() if cells is None else np.asarray(cells, dtype=np.int64)
        self._check_cells()
        self.sentences: tuple[str, ...] = tuple(f"{n}?" for n in self.names) if sentences is None else tuple(sentences)
        self._choices = None if choices is None else tuple(tuple(str(c) for c in names) for names in choices)
        self._check_words()

    # ---- what a query set must tell -----------------------------------------------------------------------------

    @abstractmethod
    def observe(self, X: Any) -> IntArray:
        """(B, A) the value of every atom of every input, -1 where it is not known."""

    @abstractmethod
    def to_spec(self) -> dict[str, Any]:
        """All that is needed to build this query set again, as JSON data."""

    # ---- what follows from it -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> Query:
        index = range(len(self))[index]  # negative indices count from the end, as in a list
        return Query(index, self.names[index], self.sentences[index], self.choices(index))

    def __repr__(self) -> str:
        return f"<{self.kind}: {len(self)} queries about {len(self.atoms)} atoms>"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> QuerySet:
        """Nothing is left to learn; returns itself."""
        return self

    @property
    def topics(self) -> Sequence[tuple[str, str]]:
        """For each query what it is about, and the threshold or category that it asks for: ("age", "50")."""
        return [(name, "") for name in self.names]

    def with_words(self, words: Mapping[int, tuple[str, Sequence[str] | None]]) -> Self:
        """The same queries, some of them asked in other words: a sentence, and names for the choices or None."""
        sentences = list(self.sentences)
        choices: list[tuple[str, ...]] = [()] * len(self) if self._choices is None else list(self._choices)
        for index, (sentence, names) in words.items():
            sentences[index] = str(sentence)
            if names is not None:
                choices[index] = tuple(str(name) for name in names)
        changed = copy.copy(self)
        changed.sentences, changed._choices = tuple(sentences), tuple(choices)
        changed.worded = self.worded | frozenset(words)
        changed._check_words()
        return changed

    @property
    def width(self) -> int:
        """W, the most atoms that one query reveals."""
        return int(self.query_atoms.shape[1])

    @cached_property
    def n_cells(self) -> IntArray:
        """(Q, W) how many cells each atom of each query has, 1 for padding."""
        most: IntArray = np.maximum(self.query_cells.max(axis=2) + 1, 1)
        return most

    @cached_property
    def n_answers(self) -> IntArray:
        """(Q,) how many joint answers each query has."""
        product: IntArray = np.prod(self.n_cells, axis=1)
        return product

    def answers(self, X: Any) -> IntArray:
        """(B, Q, W) the answer to every query about every input, -1 for unknown and for padding."""
        return self.answers_of(self.observe(X))

    def answers_of(self, values: IntArray, queries: IntArray | None = None) -> IntArray:
        """(B, Q, W) answers from atom values (B, A), to all queries or (B, W) to one query for each input."""
        if queries is None:
            picked = np.where(self.query_atoms >= 0, values[:, self.query_atoms], UNKNOWN)  # (B, Q, W)
            cells = self.query_cells[None]
        else:
            atoms = self.query_atoms[queries]  # (B, W)
            picked = np.where(atoms >= 0, np.take_along_axis(values, np.maximum(atoms, 0), axis=1), UNKNOWN)
            cells = self.query_cells[queries]
        table = np.broadcast_to(cells, (*picked.shape, cells.shape[-1]))
        answer = np.take_along_axis(table, np.maximum(picked, 0)[..., None], axis=-1)[..., 0]
        return np.where(picked == UNKNOWN, UNKNOWN, answer)

    def choices(self, query: int) -> Sequence[str]:
        """What may be answered to a query, in the order of its answers' indices."""
        if self._choices is not None and self._choices[query]:
            return self._choices[query]
        limits = self._limits(query)
        if limits == (2,):
            return YES_NO
        if len(limits) == 1:
            return tuple(str(cell) for cell in range(limits[0]))
        return JointChoices(limits)

    def to_answer(self, query: int, value: Any) -> Answer:
        """What a person or a program answered, as the cells of the query's atoms; None for "not known"."""
        limits = self._limits(query)
        choices = self.choices(query)
        if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
            return None
        if isinstance(value, (bool, np.bool_)) and limits == (2,):
            value = int(value)
        if isinstance(value, str):
            if value in choices:
                return self._unravel(query, choices.index(value))
            lowered = [choice.lower() for choice in choices] if len(limits) == 1 else []
            if value.lower() in lowered:
                return (lowered.index(value.lower()),)
        elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            if value == UNKNOWN:
                return None
            if 0 <= value < len(choices):
                return self._unravel(query, int(value))
        elif isinstance(value, (list, tuple, np.ndarray)):
            cells = np.array(value, dtype=object).ravel().tolist()  # a patch may be answered as rows of pixels
            wide, padding = len(limits), [UNKNOWN] * (self.width - len(limits))
            whole = all(isinstance(cell, (int, np.integer, np.bool_)) for cell in cells)
            if whole and len(cells) >= wide and cells[wide:] in ([], padding):
                answer = tuple(int(cell) for cell in cells[:wide])
                if all(UNKNOWN <= cell < limit for cell, limit in zip(answer, limits, strict=True)):
                    return None if set(answer) == {UNKNOWN} else answer
        shown = ", ".join(repr(choice) for choice in list(choices)[:6]) + (", ..." if len(choices) > 6 else "")
        raise ValueError(
            f"{value!r} is no answer to {self.names[query]!r}; answer with one of {shown}, its index 0 to "
            f"{len(choices) - 1}, or None for not known"
        )

    def say(self, query: int, answer: Answer | Likely) -> str:
        """A query and its answer as one phrase: ``"bill shape is dagger: no"``; in its own words, if it has any."""
        asked = self.sentences[query] if query in self.worded else f"{self.names[query]}:"
        return f"{asked} {self.say_answer(query, answer)}"

    def say_answer(self, query: int, answer: Answer | Likely) -> str:
        """An answer in words."""
        if isinstance(answer, Likely):
            return f"probably {self.say_answer(query, answer.cells)} ({round(100 * answer.share):d} %)"
        if answer is None or all(cell == UNKNOWN for cell in answer):
            return "not known"
        # an answer cut from a padded array says no more than one without padding
        return self.say_cells(query, answer[: len(self._limits(query))])

    def say_cells(self, query: int, cells: tuple[int, ...]) -> str:
        """The cells of a query's atoms in words, some of which may be unknown."""
        limits = self._limits(query)
        if UNKNOWN in cells:
            return write_cells(["?" if cell == UNKNOWN else str(cell) for cell in cells], limits)
        return self.choices(query)[int(np.ravel_multi_index(cells, limits))]

    @cached_property
    def parts(self) -> Parts:
        """The distinct (atom, partition) pairs of these queries."""
        return find_parts(self.atoms, self.query_atoms, self.query_cells)

    def _unravel(self, query: int, index: int) -> tuple[int, ...]:
        return tuple(int(c) for c in np.unravel_index(index, self._limits(query)))

    def _limits(self, query: int) -> tuple[int, ...]:
        """How many cells each atom of a query has, without the padding."""
        return tuple(int(n) for n in self.n_cells[query][self.query_atoms[query] >= 0])

    def _whole_cells(self) -> IntArray:
        width = max(self.atoms.sizes, default=0)
        sizes = np.where(self.query_atoms >= 0, np.array(self.atoms.sizes, dtype=np.int64)[self.query_atoms], 0)
        return np.where(np.arange(width) < sizes[..., None], np.arange(width), UNKNOWN)

    def _check_atoms(self) -> None:
        if self.query_atoms.max(initial=0) >= len(self.atoms) or (self.query_atoms < UNKNOWN).any():
            bad = self.query_atoms[(self.query_atoms >= len(self.atoms)) | (self.query_atoms < UNKNOWN)][0]
            raise ValueError(f"atoms must lie in 0..{len(self.atoms) - 1}, or be -1 for padding; got {bad}")
        used = self.query_atoms >= 0
        if not used[:, :1].all() or (used[:, 1:] & ~used[:, :-1]).any():
            raise ValueError("every query needs an atom, and its padding of -1 must come last")
        ordered = np.sort(self.query_atoms, axis=1)
        if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
            raise ValueError("a query names the same atom twice; give each atom once")

    def _check_cells(self) -> None:
        expected = (*self.query_atoms.shape, max(self.atoms.sizes))
        if self.query_cells.ndim != 3 or self.query_cells.shape[:2] != expected[:2]:
            raise ValueError(f"cells has shape {self.query_cells.shape}; expected {expected}")
        wide = self.query_cells.shape[2]
        sizes = np.where(self.query_atoms >= 0, np.array(self.atoms.sizes)[self.query_atoms], 0)  # (Q, W)
        if sizes.max() > wide or ((np.arange(wide) < sizes[..., None]) != (self.query_cells >= 0)).any():
            raise ValueError("cells must give a cell 0, 1, ... to each value of each atom, and -1 to the padding only")
        # In floats: the product of many atoms overflows integers and would slip through.
        joint = np.prod(self.n_cells.astype(float), axis=1)
        most = int(joint.argmax())
        if joint[most] > MAX_ANSWERS:
            raise ValueError(
                f"query {self.names[most]!r} has {joint[most]:.0f} joint answers, more than {MAX_ANSWERS}; "
                f"let it reveal fewer atoms (a smaller patch)"
            )

    def _check_words(self) -> None:
        if len(self.sentences) != len(self):
            raise ValueError(f"sentences has {len(self.sentences)} entries for {len(self)} queries; give one for each")
        if self._choices is None:
            return
        if len(self._choices) != len(self):
            raise ValueError(f"choices has {len(self._choices)} entries for {len(self)} queries; give one for each")
        for query, names in enumerate(self._choices):
            if names and len(names) != self.n_answers[query]:
                expected = self.n_answers[query]
                raise ValueError(
                    f"choices[{query}] names {len(names)} answers, but {self.names[query]!r} has {expected}"
                )
            if len(set(names)) < len(names):
                raise ValueError(f"choices[{query}] of {self.names[query]!r} names an answer twice: {list(names)}")
