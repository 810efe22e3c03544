"""How often answers are right: P(what is said | what holds), given for all queries or for each.

An answer that may be wrong does not exclude values of an atom, it makes them less probable: each value is weighed by
how probable the answer was, were it the true one. That is all that the rest needs to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from infopursuit.queries.queryset import Parts, QuerySet, find_parts
from infopursuit.types import UNKNOWN, FloatArray, IntArray, Likely


@dataclass(frozen=True)
class Reliability:
    """How often the answers to each query are right.

    Parameters
    ----------
    right: the probability of a right answer, the others being equally probable; or a table P(said | true), one row for
        each true answer, for queries with that many choices.
    queries: the same for some queries, by name, or for all queries about a column or topic.
    again: how many times a query may be asked. An answerer whose errors are different each time may be asked several
        times; one who repeats an error may not, and that is what 1 stands for.

    Of a query about several atoms each is answered by itself: a patch of nine pixels has nine chances of an error.

    >>> Reliability(0.9).table(3).round(2).tolist()
    [[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]]
    """

    right: Any = 0.9
    queries: Mapping[str, Any] = field(default_factory=dict)
    again: int = 1

    def __post_init__(self) -> None:
        again, queries = (cast(Any, value) for value in (self.again, self.queries))
        if not isinstance(again, (int, np.integer)) or isinstance(again, bool) or again < 1:
            raise ValueError(f"again={again!r} must be a whole number, 1 or more")
        if not isinstance(queries, Mapping):
            raise ValueError(f"queries={queries!r:.80}; expected a mapping from names to how often they are right")
        for name, value in {"": self.right, **self.queries}.items():
            _check(value, f"queries[{name!r}]" if name else "right")

    def table(self, n_choices: int, query: str | None = None, topic: str | None = None) -> FloatArray:
        """(K, K) P(said | true) of a query with K choices, one row for each true answer."""
        name = query if query in self.queries else topic
        value = self.queries.get(name, self.right) if name is not None else self.right
        table = np.asarray(value, dtype=np.float64)
        if table.ndim == 0:
            table = np.full((n_choices, n_choices), (1 - float(table)) / (n_choices - 1))
            np.fill_diagonal(table, float(np.asarray(value)))
        if table.shape != (n_choices, n_choices):
            of = "right" if name not in self.queries else f"queries[{name!r}]"
            raise ValueError(
                f"{of} is a table of shape {table.shape}, but {query!r} has {n_choices} choices; give a number, or "
                f"{n_choices} rows of {n_choices}"
            )
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def bind(self, queries: QuerySet) -> Channel:
        """The tables of all queries of a set."""
        topics = [about for about, _ in queries.topics]
        strange = [name for name in self.queries if name not in queries.names and name not in topics]
        if strange:
            raise ValueError(
                f"reliability names {strange[0]!r}, which is no query and no topic; there is, for example, "
                f"{queries.names[0]!r}"
            )
        found: dict[bytes, int] = {}
        tables: list[FloatArray] = []
        which = np.full_like(queries.query_atoms, UNKNOWN)
        for q, w in zip(*np.nonzero(queries.query_atoms >= 0), strict=True):
            table = self.table(int(queries.n_cells[q, w]), queries.names[q], topics[q])
            which[q, w] = found.setdefault(table.tobytes(), len(tables))
            if which[q, w] == len(tables):
                tables.append(table)
        return Channel(queries, tuple(tables), which, int(self.again))

    def likely(self, queries: QuerySet, query: int, cells: tuple[int, ...]) -> Likely:
        """An answer of somebody who is right this often."""
        about = queries.topics[query][0]
        sizes = queries.n_cells[query][: len(cells)]
        tables = [self.table(int(n), queries.names[query], about) for n in sizes]
        return Likely(
            tuple(
                tuple(table[:, cell].tolist()) if cell != UNKNOWN else (1.0,) * len(table)
                for table, cell in zip(tables, cells, strict=True)
            )
        )

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes it again."""
        return {
            "right": np.asarray(self.right).tolist(),
            "queries": {name: np.asarray(value).tolist() for name, value in self.queries.items()},
            "again": int(self.again),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Reliability:
        """The one that `to_spec` described."""
        return cls(spec["right"], spec["queries"], spec["again"])


@dataclass(frozen=True)
class Channel:
    """What a `Reliability` means for the queries of one set.

    tables: the distinct ones, each (K, K) P(said | true). which: (Q, W) the table of each atom of each query, -1 for
    padding. again: how many times a query may be asked.
    """

    queries: QuerySet
    tables: tuple[FloatArray, ...]
    which: IntArray
    again: int

    @cached_property
    def parts(self) -> Parts:
        """The parts of the queries; those that are answered differently are different parts."""
        return find_parts(self.queries.atoms, self.queries.query_atoms, self.queries.query_cells, self.which)

    @cached_property
    def _log_said(self) -> FloatArray:
        """(T, said, true) log P(said | true), padded with 0."""
        wide = max(len(table) for table in self.tables)
        logs = np.zeros((len(self.tables), wide, wide))
        with np.errstate(divide="ignore"):
            for t, table in enumerate(self.tables):
                logs[t, : len(table), : len(table)] = np.log(table.T)
        return logs

    def weigh(self, queries: IntArray, answers: IntArray) -> FloatArray:
        """(H,) queries and (H, W) answers -> (H, W, V) log P(answer | cell); 0 where nothing was said."""
        known = answers != UNKNOWN
        weights = self._log_said[np.maximum(self.which[queries], 0), np.maximum(answers, 0)]
        return np.where(known[:, :, None], weights, 0.0)


def _check(value: Any, name: str) -> None:
    try:
        table = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.full(1, np.nan)
    if table.ndim == 0 and 0 <= table <= 1:
        return
    square = table.ndim == 2 and table.shape[0] == table.shape[1] >= 2
    if square and (table >= 0).all() and np.allclose(table.sum(axis=1), 1, atol=1e-6):
        return
    raise ValueError(
        f"{name} is {value!r:.80}; expected how often an answer is right, from 0 to 1, or a square table "
        f"P(said | true) whose rows sum to 1"
    )
