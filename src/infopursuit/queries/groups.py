"""Groups of queries that are asked together, as one: a blood panel is one visit to the laboratory, and many answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from infopursuit.queries.choices import JointChoices, join_cells
from infopursuit.queries.numbers import NumberScale
from infopursuit.queries.queryset import QuerySet, Recipe, check_spec, from_manifest, near, to_manifest
from infopursuit.support.types import UNKNOWN, Answer, Number, Observed, cells_of

NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Component:
    """One member of a group. query: its index in the base. bounds: of a column of numbers the thresholds between its
    cells, so that a number is an answer, too."""

    name: str
    query: int
    choices: tuple[str, ...]
    bounds: tuple[float, ...] = ()

    def phrase(self, cell: int) -> str:
        """A cell in words that say what they are about."""
        return f"{self.name}: {NOT_KNOWN if cell == UNKNOWN else self.choices[cell]}"

    def cell_of(self, number: float) -> int:
        """The cell that a number lies in."""
        if not self.bounds or np.isnan(number):
            raise ValueError(f"{number:g} is no answer to {self.name!r}")
        return int(np.searchsorted(self.bounds, number, side="left"))


class Groups(QuerySet):
    """The queries of another set, some of them asked together. Use `groups`."""

    kind = "groups"

    def __init__(self, base: QuerySet, groups: Mapping[str, Sequence[str]], alone: bool = False) -> None:
        self.base, self.alone = base, bool(alone)
        self.groups = {name: _members(base, name, members) for name, members in groups.items()}
        members = [[base.names.index(member) for member in group] for group in self.groups.values()]
        together = {query for group in members for query in group}
        self._kept = [query for query in range(len(base)) if self.alone or query not in together]
        taken = [name for name in self.groups if name in base.names]
        if taken:
            raise ValueError(f"groups has the name {taken[0]!r}, which is what a query is called; call it otherwise")
        width = max([base.width if self._kept else 1, *map(len, members)])
        variables = np.full((len(self._kept) + len(members), width), UNKNOWN)
        cells = np.full((*variables.shape, base.query_cells.shape[2]), UNKNOWN)
        variables[: len(self._kept), : base.width] = base.query_variables[self._kept][:, :width]
        cells[: len(self._kept), : base.width] = base.query_cells[self._kept][:, :width]
        for query, group in enumerate(members, start=len(self._kept)):
            variables[query, : len(group)] = base.query_variables[group, 0]
            cells[query, : len(group)] = base.query_cells[group, 0]
        super().__init__(
            names=[*(base.names[q] for q in self._kept), *self.groups],
            sizes=base.variables.sizes,
            variables=variables,
            cells=cells,
            sentences=[
                *(base.sentences[q] for q in self._kept),
                *(f"{name}: {', '.join(group)}?" for name, group in self.groups.items()),
            ],
        )
        self._components = {
            query: tuple(_component(base, member) for member in group)
            for query, group in enumerate(members, start=len(self._kept))
        }
        self.worded = frozenset(i for i, q in enumerate(self._kept) if q in base.worded)
        labels = base.number_labels
        self.number_labels = {i: labels[q] for i, q in enumerate(self._kept) if q in labels}
        # of a base about images
        self.shape = base.shape
        self.n_levels = base.n_levels
        self.channels = base.channels

    @property
    def ungrouped(self) -> QuerySet:
        """The queries that were put in groups."""
        return self.base

    def read(self, X: Any) -> Observed:
        """As the base reads it."""
        return self.base.read(X)

    def scale(self, query: int) -> NumberScale | None:
        """The numbers of a query that is no group; groups are answered in cells."""
        return self.base.scale(self._kept[query]) if query < len(self._kept) else None

    def known_answers(self, key: str | int, value: Any) -> list[tuple[int, Answer | Number]]:
        """As the base has it; what is asked in a group only is known as an answer to the group."""
        queries = self.find(key, "known")
        if not isinstance(key, str) or any(query >= len(self._kept) for query in queries):
            return super().known_answers(key, value)
        at = {query: place for place, query in enumerate(self._kept)}
        return [(at[query], said) for query, said in self.base.known_answers(key, value) if query in at]

    @property
    def topics(self) -> list[tuple[str, str]]:
        """For each query what it is about; a group is about itself."""
        known = self.base.topics
        return [*(known[q] for q in self._kept), *((name, "") for name in self.groups)]

    def components(self, query: int) -> tuple[Component, ...]:
        """What a group tells, one for each of its members; nothing for a query that is no group."""
        return self._components.get(query, ())

    def choices(self, query: int) -> Sequence[str]:
        """The possible answers; of a group all its members' answers together."""
        if self._choices is not None and self._choices[query]:
            return super().choices(query)
        told = self.components(query)
        return GroupChoices(told) if told else self.base.choices(self._kept[query])

    def to_answer(self, query: int, value: Any) -> Answer | Number:
        """The cells that an answer stands for. A group may also be answered with {member: answer}, with a list that has
        an answer for each member, or with the same in words: "hb > 12: yes, wbc > 10: not known". What is left out is
        not known. A column of numbers takes the number itself: {"hb": 12.5}."""
        choices = self.choices(query)
        if not isinstance(choices, GroupChoices):
            return super().to_answer(query, value)
        told = choices.components
        listed = isinstance(value, (list, tuple)) and any(isinstance(v, str) or v is None for v in value)
        try:
            if isinstance(value, str):
                return choices.cells(value)
            if listed and len(value) != len(told):
                raise ValueError(f"it has {len(value)} answers for {len(told)} components")
            names = [component.name for component in told]
            said = dict(zip(names, value, strict=True)) if listed else value if isinstance(value, Mapping) else {}
            strange = [name for name in said if name not in names]
            if strange:
                raise ValueError(f"{strange[0]!r} is not in it; {near(str(strange[0]), names)}")
            if said:
                return _answer([self._cell(component, said.get(component.name)) for component in told])
        except ValueError as error:
            few = ", ".join(map(repr, choices[: 6 if len(told) == 1 else 1]))
            wrong = f"{value!r} is no answer to {self.names[query]!r}: {error}; answer such as {few}"
            raise ValueError(f"{wrong}, with {{member: answer}}, or with None for not known") from None
        return super().to_answer(query, value)

    def _cell(self, component: Component, value: Any) -> int:
        if isinstance(value, str) and value.lower() in (NOT_KNOWN, "?"):
            return UNKNOWN
        cells = cells_of(self.base.to_answer(component.query, value))
        return UNKNOWN if cells is None else cells[0]

    def say_cells(self, query: int, cells: tuple[int, ...]) -> str:
        """Cells in words; a group's tell each of its members."""
        choices = self.choices(query)
        return choices.say(cells) if isinstance(choices, GroupChoices) else super().say_cells(query, cells)

    def to_spec(self) -> dict[str, Any]:
        return {
            "base": to_manifest(self.base),
            "groups": [[name, list(members)] for name, members in self.groups.items()],
            "alone": self.alone,
            "sentences": list(self.sentences),
        }

    @classmethod
    def from_spec(cls, spec: dict[str, Any], functions: Any = None) -> Self:
        groups = dict(spec["groups"])
        check_spec(
            {**spec, "names": list(groups), "groups": list(groups.values())},
            {"names": "texts", "groups": "rows", "alone": "flag", "sentences": "texts"},
        )
        if spec["base"]["kind"] in (cls.kind, "panels"):
            raise ValueError("base is made of groups itself")
        found = cls(from_manifest(spec["base"], functions), groups, spec["alone"])
        found.sentences = tuple(spec["sentences"])
        found._check_words()
        return found


class GroupChoices(JointChoices):
    """All joint answers to a group in words, made when they are looked at."""

    def __init__(self, components: Sequence[Component]) -> None:
        super().__init__(tuple(len(component.choices) for component in components))
        self.components = tuple(components)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        cells = self.cells(value) if isinstance(value, str) else None
        if cells is None or UNKNOWN in cells:
            raise ValueError(f"{value!r} is not among the {len(self)} choices")
        return join_cells(cells, self.limits)

    def cells(self, text: str) -> Answer:
        """The cells that a text names, member by member in their order; "not known" leaves one open."""
        rest, cells = f"{' '.join(text.split()).lower()}, ", []
        for component in self.components:
            known = range(UNKNOWN, len(component.choices))
            ways = {f"{' '.join(component.phrase(cell).split()).lower()}, ": cell for cell in known}
            way = max((way for way in ways if rest.startswith(way)), key=len, default="")
            if not way:
                raise ValueError(f"{component.name!r} is not answered there")
            cells.append(ways[way])
            rest = rest[len(way) :]
        if rest:
            raise ValueError(f"{rest.removesuffix(', ')!r} is too much")
        return _answer(cells)

    def say(self, cells: Any) -> str:
        return ", ".join(component.phrase(int(cell)) for component, cell in zip(self.components, cells, strict=False))


def groups(base: Any, groups: Mapping[str, Sequence[str]], *, alone: bool = False) -> Any:
    """Ask some queries together, as one that reveals all their answers.

    Parameters
    ----------
    base: the query set that they are of, or a builder that is fitted later, such as ``ip.queries.columns()``.
    groups: {name: members}; each member is the name of a query, or of a column, about another variable.
    alone: whether members may be asked by themselves, too.

    Returns
    -------
    `Groups`; of a `Recipe` another one, which ``fit`` turns into `Groups`.

    >>> from infopursuit.queries import concepts
    >>> qs = groups(concepts(["fever", "hb > 12", "wbc > 10"]), {"blood panel": ["hb > 12", "wbc > 10"]})
    >>> qs.names, qs[1].sentence
    (('fever', 'blood panel'), 'blood panel: hb > 12, wbc > 10?')
    >>> qs.to_answer(1, {"hb > 12": "yes", "wbc > 10": "no"}), qs.say_answer(1, (1, 0))
    ((1, 0), 'hb > 12: yes, wbc > 10: no')
    """
    if not groups:
        raise ValueError("groups is empty; expected {name: [query, ...]} with at least one group")
    if isinstance(base, Recipe):
        return Recipe(groups_of, {"base": base, "groups": dict(groups), "alone": alone})
    if not isinstance(base, QuerySet):
        raise TypeError(f"base is {type(base).__name__}; expected a query set such as ip.queries.columns(X)")
    if isinstance(base, Groups):
        raise ValueError("base is made of groups already; name all groups in one call")
    return Groups(base, groups, alone)


def groups_of(X: Any, *, base: Recipe, sample_weight: Any = None, **options: Any) -> Groups:
    """The groups of a base that is fitted first."""
    return Groups(base.fit(X, None, sample_weight), **options)


def _members(base: QuerySet, group: str, members: Sequence[str]) -> tuple[str, ...]:
    """The names of a group's queries."""
    where = f"groups[{group!r}]"
    if isinstance(members, str) or not members:
        raise ValueError(f"{where} is {members!r}; expected a list of queries")
    found: dict[int, str] = {}
    for member in members:
        for query in base.find(str(member), where):
            variables = base.query_variables[query][base.query_variables[query] >= 0].tolist()
            if len(variables) > 1:
                raise ValueError(f"{where} names {member!r}, which reveals several variables already; leave it out")
            if variables[0] in found:
                twice = f"{where} has {found[variables[0]]!r} and {base.names[query]!r}, which are about the same"
                raise ValueError(f"{twice}; name one, or ask for it whole with columns(numbers='values')")
            found[variables[0]] = base.names[query]
    return tuple(found.values())


def _component(base: QuerySet, query: int) -> Component:
    scale = base.scale(query)
    bounds = () if scale is None or scale.date else scale.thresholds
    return Component(base.names[query], query, tuple(base.choices(query)), bounds)


def _answer(cells: Sequence[int]) -> Answer:
    """Cells as an answer, None where nothing is known."""
    return None if set(cells) == {UNKNOWN} else tuple(int(cell) for cell in cells)
