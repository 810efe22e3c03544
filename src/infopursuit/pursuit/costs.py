"""Query costs, and constraints on what may be asked: prerequisites and forbidden queries.

Queries are given by name or index; the name of a column stands for all queries about it. `Costs` and `Constraints` are
written without a query set; ``bind`` checks them against one and gives arrays. The two are independent of each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from infopursuit.pursuit.explanation import amount
from infopursuit.queries.groups import Groups
from infopursuit.queries.queryset import QuerySet, near
from infopursuit.support.checks import number, whole_number
from infopursuit.support.display import Brief
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, cells_of

Condition = tuple[str | int, list[Any] | None]
"""A query, and the answers of which one must be known; None: it must have been asked, whatever the answer."""


def bind(
    costs: Costs | None, constraints: Constraints | None, queries: QuerySet
) -> tuple[FloatArray, BoundConstraints]:
    """Both, bound to a query set. None means absent: every query costs 1, every query may be asked."""
    return (costs or Costs()).bind(queries), (constraints or Constraints()).bind(queries)


def describe(costs: FloatArray, constraints: BoundConstraints) -> list[str]:
    """What `bind` returns as short sentences; none where every query costs 1 and may be asked."""
    gated, never, sentences = int(constraints.needs.any(axis=0).sum()), np.flatnonzero(constraints.forbidden), []
    if not (costs == 1).all():
        ends = dict.fromkeys(amount(float(cost)) for cost in (costs.min(), costs.max()))
        sentences.append(f"A question costs {' to '.join(ends)}.")
    if gated:
        sentences.append(f"{gated} of {len(costs)} questions have prerequisites.")
    if len(never):
        shown = ", ".join(constraints.queries.names[q] for q in never[:5])
        sentences.append(f"Never asked: {shown}" + (f" and {len(never) - 5} more." if len(never) > 5 else "."))
    return sentences


@dataclass(frozen=True, repr=False)
class Costs(Brief):
    """What queries cost. The best query has the largest information gain per cost; free ones are asked first, while
    their gain is above 0.

    Parameters
    ----------
    per_query: {query: cost}, or a sequence with one cost for each query; 1 for those that are not named.

    >>> from infopursuit.queries import concepts
    >>> asked = concepts(["is female", "is pregnant", "has a rash"])
    >>> Costs({"has a rash": 5}).bind(asked).tolist()
    [1.0, 1.0, 5.0]
    """

    per_query: Any = None

    def __post_init__(self) -> None:
        given: Any = self.per_query
        if isinstance(given, Mapping):
            given = {_key(key, "costs"): number(value, f"costs[{key!r}]", least=0) for key, value in given.items()}
        elif given is not None:
            array = np.asarray(given)
            if array.ndim != 1:
                raise TypeError(f"costs={given!r}; expected {{query: cost}} or a list with one cost for each query")
            given = tuple(number(value, f"costs[{i}]", least=0) for i, value in enumerate(array))
        object.__setattr__(self, "per_query", given)

    def __bool__(self) -> bool:
        return bool(self.per_query)

    def bind(self, queries: QuerySet) -> FloatArray:
        """(Q,) the costs of one query set; names that it does not have are refused."""
        costs = np.ones(len(queries))
        given = self.per_query or {}
        if isinstance(given, tuple):
            if len(given) != len(queries):
                raise ValueError(f"costs has {len(given)} entries, but there are {len(queries)} queries; give each")
            return np.array(given)
        # columns first: a query's own cost wins
        for key in sorted(given, key=lambda key: not isinstance(key, str) or key in queries.names):
            costs[queries.find(key, "costs")] = given[key]
        return costs

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes it again; pairs, for JSON would make indices into names."""
        given = self.per_query
        return {"cost": [[key, value] for key, value in given.items()] if isinstance(given, dict) else given}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Costs:
        """The costs that `to_spec` described."""
        given = spec["cost"]
        return cls(dict(given) if given and isinstance(given[0], list) else given or None)


@dataclass(frozen=True, repr=False)
class Constraints(Brief):
    """Which queries may be asked, and when.

    Parameters
    ----------
    prerequisites: {query: (other query, choice)}: may be asked only once the answers so far imply that choice. A list
        of choices in its place: one of them. A list of pairs: all of them. The other query alone: once it was asked.
    forbidden: queries that are never asked. Their answers count where they are known from elsewhere.

    >>> from infopursuit.queries import concepts
    >>> asked = concepts(["is female", "is pregnant", "has a rash"])
    >>> bound = Constraints({"is pregnant": ("is female", "yes")}, forbidden=["has a rash"]).bind(asked)
    >>> bound.allowed(np.array([[0], [0]]), np.array([[[0]], [[1]]])).tolist()
    [[True, False, False], [True, True, False]]
    """

    prerequisites: Any = None
    forbidden: Any = ()

    def __post_init__(self) -> None:
        if self.prerequisites is not None and not isinstance(self.prerequisites, Mapping):
            raise TypeError(f"prerequisites={self.prerequisites!r}; expected {{query: (other query, choice)}}")
        given = (self.prerequisites or {}).items()
        needs = {_key(key, "prerequisites"): _conditions(key, value) for key, value in given}
        object.__setattr__(self, "prerequisites", needs)
        never = (self.forbidden,) if isinstance(self.forbidden, (str, int)) else self.forbidden
        object.__setattr__(self, "forbidden", tuple(_key(key, "forbidden") for key in never))

    def __bool__(self) -> bool:
        return bool(self.prerequisites or self.forbidden)

    def bind(self, queries: QuerySet) -> BoundConstraints:
        """The constraints of one query set; names that it does not have are refused, and so are cycles."""
        forbidden = np.zeros(len(queries), dtype=bool)
        for key in self.forbidden:
            forbidden[queries.find(key, "forbidden")] = True
        found: dict[_Prerequisite, list[int]] = {}
        for key, conditions in self.prerequisites.items():
            for condition in conditions:
                made = _Prerequisite.of(queries, condition, f"prerequisites[{key!r}]")
                found.setdefault(made, []).extend(queries.find(key, "prerequisites"))
        needs = np.zeros((len(found), len(queries)), dtype=bool)
        for r, mine in enumerate(found.values()):
            needs[r, mine] = True
        _refuse_cycles(queries, tuple(found), needs)
        return BoundConstraints(queries, forbidden, tuple(found), needs)

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes it again."""
        requires = [[key, [list(each) for each in conditions]] for key, conditions in self.prerequisites.items()]
        return {"requires": requires, "forbidden": list(self.forbidden)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Constraints:
        """The constraints that `to_spec` described."""
        needs = {key: [(other, choices) for other, choices in conditions] for key, conditions in spec["requires"]}
        return cls(needs, tuple(spec["forbidden"]))


@dataclass(frozen=True)
class _Prerequisite:
    """What must be known. variables: that it is about. excluded: slots that must have been ruled out, one tuple for
    each alternative, None where the query need only have been asked. sources: the queries that make it known."""

    variables: tuple[int, ...]
    excluded: tuple[tuple[int, ...], ...] | None
    sources: tuple[int, ...]

    @classmethod
    def of(cls, queries: QuerySet, condition: Condition, where: str) -> _Prerequisite:
        other, choices = condition
        asked, index, sources = _look_up(queries, other, where)
        variables = tuple(int(a) for a in asked.query_variables[index] if a != UNKNOWN)
        if choices is None:
            return cls(variables, None, sources)
        answers = []
        for choice in choices:
            try:
                answer = cells_of(asked.to_answer(index, choice))
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
            if answer is None:
                raise ValueError(f"{where} wants {choice!r} of {other!r}, which says nothing; name an answer")
            answers.append(answer)
        # of one variable it is enough to know that it has one of the answers; of several, one must be known whole
        several = [[{cell} for cell in answer] for answer in answers]
        alternatives = several if len(variables) > 1 else [[{answer[0] for answer in answers}]]
        excluded = tuple(_excluded_slots(asked, index, variables, allowed) for allowed in alternatives)
        if not all(excluded):
            raise ValueError(
                f"{where} names all answers to {other!r}; leave the choices out to ask it once {other!r} was asked"
            )
        return cls(variables, excluded, sources)


@dataclass(frozen=True)
class BoundConstraints:
    """The constraints of one query set. forbidden: (Q,) bool. needs: (R, Q) bool, the prerequisites of each query."""

    queries: QuerySet
    forbidden: Any
    prerequisites: tuple[_Prerequisite, ...]
    needs: Any

    def allowed(self, queries: IntArray, answers: IntArray) -> Any:
        """(H, Q) which queries may be asked after histories (H, K) with answers (H, K, W), asked already or not.

        A prerequisite is met once the answers, taken as certain, imply it: "age > 60: yes" implies "age > 50: yes".
        """
        allowed = np.broadcast_to(~self.forbidden, (len(queries), len(self.forbidden)))
        return allowed & ~(~self._met(queries, answers) @ self.needs) if self.prerequisites else allowed

    def _met(self, queries: IntArray, answers: IntArray) -> Any:
        """(H, R) which prerequisites are met."""
        variables, n = self.queries.variables, len(queries)
        possible = np.ones((n, variables.n_slots), dtype=bool)
        relevant = np.zeros(len(variables), dtype=bool)
        relevant[[variable for needed in self.prerequisites for variable in needed.variables]] = True
        asked = self.queries.query_variables[queries]  # (H, K, W)
        h, k, w = np.nonzero((asked >= 0) & (answers >= 0) & relevant[asked])
        partition = self.queries.query_cells[queries[h, k], w]  # (n', V)
        row, value = np.nonzero((partition >= 0) & (partition != answers[h, k, w][:, None]))
        possible[h[row], variables.offsets[asked[h, k, w][row]] + value] = False
        alive = np.add.reduceat(possible, variables.offsets[:-1], axis=1)  # (H, A) whether any value is left
        met = np.zeros((n, len(self.prerequisites)), dtype=bool)
        for r, needed in enumerate(self.prerequisites):
            if needed.excluded is None:
                met[:, r] = np.isin(queries, needed.sources).any(axis=1)
                continue
            for excluded in needed.excluded:
                met[:, r] |= ~possible[:, list(excluded)].any(axis=1)
            # answers that contradict each other leave no value, and imply nothing
            met[:, r] &= alive[:, list(needed.variables)].all(axis=1)
        return met


def _excluded_slots(queries: QuerySet, query: int, variables: Sequence[int], allowed: Sequence[set[int]]) -> Any:
    """The slots of a query's variables that lie in other cells than the allowed ones; -1 among them allows all."""
    slots: list[int] = []
    for w, (variable, cells) in enumerate(zip(variables, allowed, strict=True)):
        if UNKNOWN not in cells:
            partition = queries.query_cells[query, w, : queries.variables.sizes[variable]]
            slots += (queries.variables.offsets[variable] + np.flatnonzero(~np.isin(partition, list(cells)))).tolist()
    return tuple(slots)


def _refuse_cycles(queries: QuerySet, prerequisites: Sequence[_Prerequisite], needs: Any) -> None:
    """A query that needs itself, by way of others or not, could never be asked."""
    after = {
        query: {source for r in np.flatnonzero(needs[:, query]).tolist() for source in prerequisites[r].sources}
        for query in np.flatnonzero(needs.any(axis=0)).tolist()
    }
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        cycle = " needs ".join(repr(queries.names[query]) for query in reversed(error.args[1]))
        raise ValueError(f"prerequisites form a cycle: {cycle}; leave one of them out") from None


# ---- names and values -----------------------------------------------------------------------------------------------


def _look_up(queries: QuerySet, other: str | int, where: str) -> tuple[QuerySet, int, tuple[int, ...]]:
    """Where a query is found, among the queries or the members of groups, and the queries that reveal it."""
    base = queries.ungrouped
    if isinstance(other, str) and other not in queries.names:
        if other not in base.names:
            known = [*queries.names, *(() if base is queries else base.names)]
            raise ValueError(f"{where} wants an answer to {other!r}, which is no query; {near(other, known)}")
        groups = queries.groups if isinstance(queries, Groups) else {}
        sources = tuple(queries.names.index(name) for name, members in groups.items() if other in members)
        return base, base.names.index(other), sources
    index = queries.find_one(other, where)
    return queries, index, (index,)


def _key(key: Any, where: str) -> str | int:
    return key if isinstance(key, str) else whole_number(key, f"{where}: query")


def _conditions(key: Any, value: Any) -> tuple[Condition, ...]:
    """What stands behind a query in ``prerequisites``: a name, a pair, or a list of these."""
    conditions: list[Condition] = []
    where = f"prerequisites[{key!r}]"
    done = isinstance(value, tuple) and all(isinstance(each, tuple) for each in value)  # as `Constraints` keeps them
    for each in value if isinstance(value, list) or done else [value]:
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
