"""The terms on which queries may be asked: what they cost, what must be known before, what is never asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from infopursuit.explanation import amount
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.wording import near
from infopursuit.types import UNKNOWN, FloatArray, IntArray

Condition = tuple[str | int, list[Any] | None]
"""A query, and the answers of which one must be known; None: it must have been asked, whatever the answer."""


@dataclass(frozen=True)
class Terms:
    """The terms on which queries may be asked. Queries are given by name or index; the name of a column stands for all
    queries about it.

    Parameters
    ----------
    cost: {query: cost}, or one cost for each query; 1 for those that are not named. The best query is the one with the
        largest gain per cost. What costs 0 is asked first, while it tells anything.
    requires: {query: (other query, choice)}: may be asked only once the answers so far say that choice. A list of
        choices in its place: one of them. A list of pairs: all of them. The other query alone: once it was asked.
    forbidden: queries that are never asked. Their answers count where they are known from elsewhere.

    >>> from infopursuit.queries import concepts
    >>> asked = concepts(["is female", "is pregnant", "has a rash"])
    >>> terms = Terms(cost={"has a rash": 5}, requires={"is pregnant": ("is female", "yes")})
    >>> terms.bind(asked).costs.tolist()
    [1.0, 1.0, 5.0]
    """

    cost: Any = None
    requires: Any = None
    forbidden: Any = ()

    def __post_init__(self) -> None:
        if self.cost is not None and not isinstance(self.cost, Mapping):
            object.__setattr__(self, "cost", tuple(_cost(c, f"cost[{i}]") for i, c in enumerate(_listed(self.cost))))
        elif self.cost is not None:
            costs = {_key(key, "cost"): _cost(value, f"cost[{key!r}]") for key, value in self.cost.items()}
            object.__setattr__(self, "cost", costs)
        if self.requires is not None and not isinstance(self.requires, Mapping):
            raise TypeError(f"requires={self.requires!r}; expected {{query: (other query, choice)}}")
        needs = {_key(key, "requires"): _conditions(key, value) for key, value in (self.requires or {}).items()}
        object.__setattr__(self, "requires", needs)
        if isinstance(self.forbidden, (str, int)):
            object.__setattr__(self, "forbidden", (self.forbidden,))
        object.__setattr__(self, "forbidden", tuple(_key(key, "forbidden") for key in self.forbidden))

    @property
    def has_costs(self) -> bool:
        """Whether any query was given a cost."""
        return bool(self.cost)

    def __bool__(self) -> bool:
        return bool(self.cost or self.requires or self.forbidden)

    def bind(self, queries: QuerySet) -> BoundTerms:
        """The same terms for one query set, checked: names that it does not have are refused, and so are circles."""
        costs = np.ones(len(queries))
        if isinstance(self.cost, tuple):
            if len(self.cost) != len(queries):
                raise ValueError(f"cost has {len(self.cost)} entries, but there are {len(queries)} queries; give each")
            costs[:] = self.cost
        elif self.cost:
            for key in sorted(self.cost, key=lambda key: _is_query(queries, key)):  # columns first: a query's own wins
                costs[_named(queries, key, "cost")] = self.cost[key]
        forbidden = np.zeros(len(queries), dtype=bool)
        for key in self.forbidden:
            forbidden[_named(queries, key, "forbidden")] = True
        found: dict[str, _Requirement] = {}
        needed: dict[int, set[int]] = {}
        order: list[_Requirement] = []
        for key, conditions in self.requires.items():
            for condition in conditions:
                made = _Requirement.of(queries, condition, f"requires[{key!r}]")
                if repr(made) not in found:
                    found[repr(made)] = made
                    order.append(made)
                for query in _named(queries, key, "requires"):
                    needed.setdefault(query, set()).add(order.index(found[repr(made)]))
        needs = np.zeros((len(order), len(queries)), dtype=bool)
        for query, which in needed.items():
            needs[sorted(which), query] = True
        _refuse_circles(queries, order, needs)
        return BoundTerms(queries, costs, forbidden, tuple(order), needs)

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes the terms again."""
        cost = list(self.cost) if isinstance(self.cost, tuple) else None if self.cost is None else _pairs(self.cost)
        return {
            "cost": cost,
            "requires": [
                [key, [[other, None if choices is None else list(choices)] for other, choices in conditions]]
                for key, conditions in self.requires.items()
            ],
            "forbidden": list(self.forbidden),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Terms:
        """The terms that `to_spec` described."""
        cost = spec["cost"]
        if isinstance(cost, list) and cost and isinstance(cost[0], list):
            cost = dict(cost)
        requires = {key: [(other, choices) for other, choices in conditions] for key, conditions in spec["requires"]}
        return cls(cost or None, requires, tuple(spec["forbidden"]))


@dataclass(frozen=True)
class _Requirement:
    """What must be known. atoms: that it is about. outside: slots that must have been ruled out, one array for each
    alternative, None where the query need only have been asked. holders: the queries by whose answers it becomes
    known."""

    atoms: tuple[int, ...]
    outside: tuple[tuple[int, ...], ...] | None
    holders: tuple[int, ...]

    @classmethod
    def of(cls, queries: QuerySet, condition: Condition, where: str) -> _Requirement:
        other, choices = condition
        asked, index, holders = _looked_up(queries, other, where)
        atoms = tuple(int(a) for a in asked.query_atoms[index] if a != UNKNOWN)
        if choices is None:
            return cls(atoms, None, holders)
        cells = []
        for choice in choices:
            try:
                answer = asked.to_answer(index, choice)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
            if answer is None:
                raise ValueError(f"{where} wants {choice!r} of {other!r}, which says nothing; name an answer")
            cells.append(answer)
        # one atom: any of the answers is enough to be known; several atoms: one of the answers must be known whole
        alternatives = [[{c[0] for c in cells}]] if len(atoms) == 1 else [[{c} for c in answer] for answer in cells]
        outside = tuple(_outside(asked, index, atoms, allowed) for allowed in alternatives)
        if not all(outside):
            raise ValueError(
                f"{where} names all answers to {other!r}; leave the choices out to ask it once {other!r} was asked"
            )
        return cls(atoms, outside, holders)


@dataclass(frozen=True)
class BoundTerms:
    """The terms of one query set. costs: (Q,). forbidden: (Q,) bool. needs: (R, Q) bool, which requirements each query
    has."""

    queries: QuerySet
    costs: FloatArray
    forbidden: Any
    requirements: tuple[_Requirement, ...]
    needs: Any

    def allowed(self, queries: IntArray, answers: IntArray) -> Any:
        """(H, Q) which queries may be asked after histories (H, K) with answers (H, K, W), asked already or not.

        A requirement is met once the answers, taken at their word, leave nothing else: after "age > 60: yes" it is
        known that "age > 50: yes".
        """
        open_to_all = np.broadcast_to(~self.forbidden, (len(queries), len(self.forbidden)))
        if not self.requirements:
            return open_to_all
        met = self._met(queries, answers)
        return open_to_all & ~(~met @ self.needs)

    def spent(self, queries: IntArray) -> FloatArray:
        """(H,) what histories (H, K) have cost."""
        return np.asarray(np.where(queries >= 0, self.costs[queries], 0.0).sum(axis=1))

    def in_words(self) -> list[str]:
        """The terms as short sentences, for people."""
        said = []
        if (self.costs != 1).any():
            low, high = (amount(float(c)) for c in (self.costs.min(), self.costs.max()))
            said.append(f"A question costs {low}" + (f" to {high}." if low != high else "."))
        gated = int(self.needs.any(axis=0).sum())
        if gated:
            said.append(f"{gated} of {len(self.costs)} questions may only be asked after an answer to another.")
        never = np.flatnonzero(self.forbidden)
        if len(never):
            shown = ", ".join(self.queries.names[q] for q in never[:5])
            said.append(f"Never asked: {shown}" + (f" and {len(never) - 5} more." if len(never) > 5 else "."))
        return said

    def _met(self, queries: IntArray, answers: IntArray) -> Any:
        """(H, R) which requirements are met."""
        atoms, n = self.queries.atoms, len(queries)
        possible = np.ones((n, atoms.n_slots), dtype=bool)
        for k in range(queries.shape[1]):
            for w in range(self.queries.width):
                atom, cell = self.queries.query_atoms[queries[:, k], w], answers[:, k, w]
                rows = np.flatnonzero((atom >= 0) & (cell >= 0) & self._relevant[atom])
                partition = self.queries.query_cells[queries[rows, k], w]  # (n', V)
                row, value = np.nonzero((partition >= 0) & (partition != cell[rows, None]))
                possible[rows[row], atoms.offsets[atom[rows[row]]] + value] = False
        alive = np.add.reduceat(possible, atoms.offsets[:-1], axis=1)  # (H, A) whether any value is left
        met = np.zeros((n, len(self.requirements)), dtype=bool)
        for r, requirement in enumerate(self.requirements):
            if requirement.outside is None:
                met[:, r] = np.isin(queries, requirement.holders).any(axis=1)
                continue
            for outside in requirement.outside:
                met[:, r] |= ~possible[:, list(outside)].any(axis=1)
            # answers that contradict each other leave nothing, and nothing is known then
            met[:, r] &= alive[:, list(requirement.atoms)].all(axis=1)
        return met

    @cached_property
    def _relevant(self) -> Any:
        """(A,) the atoms that requirements are about."""
        found = np.zeros(len(self.queries.atoms), dtype=bool)
        for requirement in self.requirements:
            found[list(requirement.atoms)] = True
        return found


# ---- names ----------------------------------------------------------------------------------------------------------


def _is_query(queries: QuerySet, key: str | int) -> bool:
    return not isinstance(key, str) or key in queries.names


def _named(queries: QuerySet, key: str | int, where: str) -> list[int]:
    """The queries that a name, an index or the name of a column stands for."""
    if not isinstance(key, str):
        if not 0 <= key < len(queries):
            raise ValueError(f"{where} names query {key}; there are queries 0 to {len(queries) - 1}")
        return [int(key)]
    if key in queries.names:
        return [queries.names.index(key)]
    about = [index for index, (topic, _) in enumerate(queries.topics) if topic == key]
    if not about:
        known = list(dict.fromkeys([*queries.names, *(topic for topic, _ in queries.topics)]))
        raise ValueError(f"{where} names {key!r}, which is not asked about; {near(key, known)}")
    return about


def _looked_up(queries: QuerySet, other: str | int, where: str) -> tuple[QuerySet, int, tuple[int, ...]]:
    """Where a query that another one requires is found: among the queries, or among those that are asked together."""
    base = getattr(queries, "base", None)
    if isinstance(other, str) and other not in queries.names and base is not None and other in base.names:
        members: Mapping[str, Sequence[str]] = getattr(queries, "groups", {})
        holders = tuple(queries.names.index(name) for name, inside in members.items() if other in inside)
        return base, base.names.index(other), holders
    if isinstance(other, str) and other not in queries.names:
        known = [*queries.names, *(() if base is None else base.names)]
        raise ValueError(f"{where} wants an answer to {other!r}, which is no query; {near(other, known)}")
    (index,) = _named(queries, other, where)
    return queries, index, (index,)


def _outside(queries: QuerySet, query: int, atoms: Sequence[int], allowed: Sequence[set[int]]) -> tuple[int, ...]:
    """The slots of a query's atoms that lie in other cells than the allowed ones; -1 among them allows all."""
    slots: list[int] = []
    for w, (atom, cells) in enumerate(zip(atoms, allowed, strict=True)):
        if UNKNOWN not in cells:
            partition = queries.query_cells[query, w, : queries.atoms.sizes[atom]]
            slots += (queries.atoms.offsets[atom] + np.flatnonzero(~np.isin(partition, list(cells)))).tolist()
    return tuple(slots)


def _refuse_circles(queries: QuerySet, requirements: Sequence[_Requirement], needs: Any) -> None:
    """A query that needs itself, by way of others or not, could never be asked."""
    after = {
        query: {holder for r in np.flatnonzero(needs[:, query]).tolist() for holder in requirements[r].holders}
        for query in np.flatnonzero(needs.any(axis=0)).tolist()
    }
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        circle = [queries.names[query] for query in reversed(error.args[1])]
        raise ValueError(
            f"requires goes round in a circle: {' needs '.join(map(repr, circle))}; leave one of them out"
        ) from None


# ---- what is given --------------------------------------------------------------------------------------------------


def _key(key: Any, where: str) -> str | int:
    if isinstance(key, str):
        return key
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return int(key)
    raise TypeError(f"{where} names {key!r}; expected the name or the index of a query")


def _cost(value: Any, where: str) -> float:
    number = float(value) if isinstance(value, (int, float, np.integer, np.floating)) else float("nan")
    if not 0 <= number < float("inf"):
        raise ValueError(f"{where} is {value!r}; expected a number of 0 or more")
    return number


def _listed(cost: Any) -> list[Any]:
    array = np.asarray(cost)
    if array.ndim != 1:
        raise TypeError(f"cost={cost!r}; expected {{query: cost}} or a list with one cost for each query")
    return list(array)


def _conditions(key: Any, value: Any) -> tuple[Condition, ...]:
    """What stands behind a query in ``requires``: a name, a pair, or a list of these."""
    conditions: list[Condition] = []
    done = isinstance(value, tuple) and all(isinstance(each, tuple) for each in value)  # as `Terms` keeps them
    for each in value if isinstance(value, list) or done else [value]:
        where = f"requires[{key!r}]"
        if not isinstance(each, tuple):
            conditions.append((_key(each, where), None))
        elif len(each) != 2:
            raise ValueError(f"{where} is {each!r}; expected (other query, choice)")
        else:
            other, choice = each
            several = list(choice) if isinstance(choice, (list, set, frozenset)) else [choice]
            if not several:
                raise ValueError(f"{where} names no answer to {other!r}; name one, or leave the choices out")
            conditions.append((_key(other, where), None if choice is None else several))
    return tuple(conditions)


def _pairs(mapping: Mapping[Any, Any]) -> list[list[Any]]:
    """A mapping as pairs: JSON would make indices into names."""
    return [[key, value] for key, value in mapping.items()]
