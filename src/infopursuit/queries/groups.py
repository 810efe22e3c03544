"""Groups of queries that are asked together, as one: a blood panel is one visit to the laboratory, and many answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from infopursuit.queries.choices import JointChoices, join_cells
from infopursuit.queries.numbers import NumberScale
from infopursuit.queries.queryset import (
    YES_NO,
    QuerySet,
    Recipe,
    flag_in,
    from_manifest,
    near,
    texts_in,
    to_manifest,
)
from infopursuit.types import UNKNOWN, Answer, IntArray, Number, Observed, cells_of

NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Component:
    """One variable of a group, and all that the group's members ask about it.

    cells: (V,) the common refinement of the members' cells. members: their queries in the base. answers: for each cell
    what each member's answer is. choices: what the cells are called. named: whether a choice says itself what it is
    about. bounds: of a column of numbers the thresholds between its cells, so that a number is an answer, too.
    """

    name: str
    variable: int
    cells: tuple[int, ...]
    members: tuple[int, ...]
    answers: tuple[tuple[int, ...], ...]
    choices: tuple[str, ...]
    named: bool = False
    bounds: tuple[float, ...] = ()

    def phrase(self, cell: int) -> str:
        """A cell in words that say what they are about."""
        if cell == UNKNOWN:
            return f"{self.name}: {NOT_KNOWN}"
        return self.choices[cell] if self.named else f"{self.name}: {self.choices[cell]}"

    def read(self, value: Any, *, measured: bool = False) -> int:
        """The cell of a choice, an index (with measured a number of the column) or a number; -1 for not known."""
        text, whole = value.lower() if isinstance(value, str) else None, isinstance(value, (int, np.integer, np.bool_))
        names = {choice.lower(): cell for cell, choice in enumerate(self.choices)} | {NOT_KNOWN: UNKNOWN, "?": UNKNOWN}
        if text in names:
            return names[text]
        if value is None or (whole and not (measured and self.bounds) and UNKNOWN <= value < len(self.choices)):
            return UNKNOWN if value is None else int(value)
        if self.bounds and (measured or not whole) and isinstance(value, (str, int, float, np.number)):
            return self.cell_of(_number(value))
        raise ValueError(f"{value!r} is no answer to {self.name!r}, which has {', '.join(self.choices[:6])}")

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
        together = {name for members in self.groups.values() for name in members}
        self._kept = [q for q, name in enumerate(base.names) if self.alone or name not in together]
        taken = [name for name in self.groups if name in base.names]
        if taken:
            raise ValueError(f"groups has the name {taken[0]!r}, which is what a query is called; call it otherwise")
        components = [_components(base, name, members) for name, members in self.groups.items()]
        self._components = dict(enumerate(components, start=len(self._kept)))
        width = max([base.width if self._kept else 1, *map(len, components)])
        variables = np.full((len(self._kept) + len(components), width), UNKNOWN)
        cells = np.full((*variables.shape, base.query_cells.shape[2]), UNKNOWN)
        if self._kept:
            variables[: len(self._kept), : base.width] = base.query_variables[self._kept]
            cells[: len(self._kept), : base.width] = base.query_cells[self._kept]
        for query, told in self._components.items():
            for w, component in enumerate(told):
                variables[query, w], cells[query, w, : len(component.cells)] = component.variable, component.cells
        sentences = [base.sentences[q] for q in self._kept]
        for name, told in zip(self.groups, components, strict=True):
            about = ", ".join(component.name for component in told)
            sentences.append(f"{name}?" if about == name else f"{name}: {about}?")
        names = [*(base.names[q] for q in self._kept), *self.groups]
        super().__init__(names, base.variables.sizes, variables, cells, sentences=sentences)
        self.worded = frozenset(i for i, q in enumerate(self._kept) if q in base.worded)
        labels = base.number_labels
        self.number_labels = {i: labels[q] for i, q in enumerate(self._kept) if q in labels}

    def observe(self, X: Any) -> IntArray:
        """(B, A) as the base sees it."""
        return self.base.observe(X)

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

    @property
    def shape(self) -> Any:
        """The shape of images, if the base is about images."""
        return getattr(self.base, "shape", None)

    @property
    def n_levels(self) -> int:
        """The values of a pixel, if the base is about images."""
        return int(getattr(self.base, "n_levels", 2))

    @property
    def channels(self) -> int:
        """3 for colour images, if the base is about images."""
        return int(getattr(self.base, "channels", 1))

    def components(self, query: int) -> tuple[Component, ...]:
        """What a group tells, one for each of its variables; nothing for a query that is no group."""
        return tuple(self._components.get(query, ()))

    def choices(self, query: int) -> Sequence[str]:
        """The possible answers; of a group all its members' answers together."""
        if self._choices is not None and self._choices[query]:
            return super().choices(query)
        return (
            GroupChoices(self.components(query)) if query in self._components else self.base.choices(self._kept[query])
        )

    def to_answer(self, query: int, value: Any) -> Answer | Number:
        """The cells that an answer stands for. A group may also be answered with {member: answer}, with a list that has
        an answer for each component, or with the same in words: "hb > 12: yes, wbc > 10: not known". What is left out
        is
        not known. Of a column of numbers that is told whole, {"hb": 12.5} gives the number itself."""
        choices = self.choices(query)
        if not isinstance(choices, GroupChoices):
            return super().to_answer(query, value)
        told = choices.components
        try:
            if isinstance(value, Mapping) and value:
                known = {component.name for component in told} | {
                    self.base.names[m] for component in told for m in component.members
                }
                strange = [name for name in value if name not in known]
                if strange:
                    raise ValueError(f"{strange[0]!r} is not in it; {near(str(strange[0]), sorted(known))}")
                return _answer([self._of_members(component, value) for component in told])
            if isinstance(value, str):
                return choices.cells(value)
            if isinstance(value, (list, tuple)) and any(isinstance(v, str) or v is None for v in value):
                if len(value) != len(told):
                    raise ValueError(f"it has {len(value)} answers for {len(told)} components")
                return _answer([component.read(v) for component, v in zip(told, value, strict=True)])
        except ValueError as error:
            few = ", ".join(map(repr, choices[: 6 if len(told) == 1 else 1]))
            wrong = f"{value!r} is no answer to {self.names[query]!r}: {error}; answer such as {few}"
            raise ValueError(f"{wrong}, with {{member: answer}}, or with None for not known") from None
        return super().to_answer(query, value)

    def say_cells(self, query: int, cells: tuple[int, ...]) -> str:
        """Cells in words; a group's tell each of its components."""
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
        if spec["base"]["kind"] in (cls.kind, "panels"):
            raise ValueError("base is made of groups itself")
        groups = dict(spec["groups"])
        if not all(isinstance(name, str) for name in groups):
            raise ValueError(f"groups is {spec['groups']!r:.80}; expected names, each with a list of queries")
        base = from_manifest(spec["base"], functions)
        found = cls(base, {name: texts_in(groups, name) for name in groups}, flag_in(spec, "alone"))
        found.sentences = tuple(texts_in(spec, "sentences"))
        found._check_words()
        return found

    def _of_members(self, component: Component, value: Mapping[Any, Any]) -> int:
        """The cell that the members' answers leave, -1 where none of them is given."""
        left, said = set(range(len(component.choices))), []
        for place, member in enumerate(component.members):
            name = self.base.names[member]
            answer = cells_of(self.base.to_answer(member, value[name])) if name in value else None
            if answer is not None:
                said.append(name)
                left &= {cell for cell, answers in enumerate(component.answers) if answers[place] == answer[0]}
        if not said:
            return component.read(value[component.name], measured=True) if component.name in value else UNKNOWN
        if not left:
            raise ValueError(f"the answers to {' and '.join(map(repr, said))} contradict each other")
        if len(left) > 1:
            missing = next(self.base.names[m] for m in component.members if self.base.names[m] not in said)
            raise ValueError(f"{missing!r} is left open although {said[0]!r} is about the same; answer all or none")
        return left.pop()


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
        """The cells that a text names, component by component in their order; "not known" leaves one open."""
        rest, cells = " ".join(text.split()).lower(), []
        for place, component in enumerate(self.components):
            ways = {
                " ".join(component.phrase(cell).split()).lower(): cell
                for cell in range(UNKNOWN, len(component.choices))
            }
            last = place == len(self.components) - 1
            fits = [way for way in ways if rest == way or (not last and rest.startswith(f"{way}, "))]
            if not fits:
                raise ValueError(f"{component.name!r} is not answered there")
            way = max(fits, key=len)
            cells.append(ways[way])
            rest = rest[len(way) + 2 :]
        return _answer(cells)

    def say(self, cells: Any) -> str:
        return ", ".join(component.phrase(int(cell)) for component, cell in zip(self.components, cells, strict=False))


def groups(base: Any, groups: Mapping[str, Sequence[str]], *, alone: bool = False) -> Any:
    """Ask some queries together, as one that reveals all their answers.

    Parameters
    ----------
    base: the query set that they are of, or a builder that is fitted later, such as ``ip.queries.columns()``.
    groups: {name: members}; a member is the name of a query about one variable, or of a column for all queries about
    it.
        Several thresholds of a column are merged: the answer says between which of them the number lies.
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
    """The names of a group's queries, columns spelled out."""
    if isinstance(members, str) or not members:
        raise ValueError(f"groups[{group!r}] is {members!r}; expected a list of queries")
    found: dict[str, None] = {}
    topics = base.topics
    for member in members:
        about = [name for name, (topic, _) in zip(base.names, topics, strict=True) if topic == member]
        mine = [member] if member in base.names else about
        if not mine:
            known = list(dict.fromkeys([*base.names, *(topic for topic, _ in topics)]))
            raise ValueError(f"groups[{group!r}] names {member!r}, which is no query; {near(str(member), known)}")
        found |= dict.fromkeys(mine)
    wide = [name for name in found if (base.query_variables[base.names.index(name)] >= 0).sum() > 1]
    if wide:
        raise ValueError(f"groups[{group!r}] names {wide[0]!r}, which reveals several variables already; leave it out")
    return tuple(found)


def _components(base: QuerySet, group: str, members: Sequence[str]) -> list[Component]:
    """What a group's queries reveal together: one component for each variable, in the order of the first members."""
    by_variable: dict[int, list[int]] = {}
    for member in map(base.names.index, members):
        by_variable.setdefault(int(base.query_variables[member, 0]), []).append(member)
    topics, found = base.topics, []
    for variable, mine in by_variable.items():
        cells = base.query_cells[mine, 0, : base.variables.sizes[variable]]  # (members, V)
        rows = [tuple(row) for row in cells.T.tolist()]
        if len(mine) == 1:
            answers = [(cell,) for cell in range(max(rows)[0] + 1)]  # cells keep the order of the query's choices
            name, choices = base.names[mine[0]], tuple(base.choices(mine[0]))
        else:
            answers = list(dict.fromkeys(rows))
            name, choices = topics[mine[0]][0], _between(base, mine)
        between = len(mine) > 1 and bool(choices)
        choices = choices or tuple(_told(base, mine, answers, cell) for cell in range(len(answers)))
        scale = base.scale(mine[0]) if len(mine) == 1 else None
        bounds = tuple(_number(topics[m][1]) for m in mine) if between else ()
        bounds = bounds if scale is None or scale.date else scale.thresholds
        if np.isnan(bounds).any():
            bounds = ()  # dates are no numbers
        place, named = tuple(map(answers.index, rows)), len(mine) > 1 and not between
        found.append(Component(name, variable, place, tuple(mine), tuple(answers), choices, named, bounds))
    if len(found) == 1 and found[0].name == group:
        found = [replace(found[0], named=True)]  # a column under its own name need not say twice what it is about
    return found


def _between(base: QuerySet, members: Sequence[int]) -> tuple[str, ...]:
    """What the cells of several thresholds of one column are called, from low to high; nothing for other queries."""
    topics = base.topics
    shown = [topics[m][1] for m in members]
    plain = all(base.names[m] == f"{topics[m][0]} > {topics[m][1]}" for m in members)
    rising = bool((np.diff(base.query_cells[list(members), 0].sum(axis=1)) < 0).all())
    if not plain or not rising or not all(tuple(base.choices(m)) == YES_NO for m in members):
        return ()
    return (f"up to {shown[0]}", *(f"{a} to {b}" for a, b in pairwise(shown)), f"above {shown[-1]}")


def _told(base: QuerySet, members: Sequence[int], answers: Sequence[tuple[int, ...]], cell: int) -> str:
    """A cell of several queries about one variable, by as few of their answers as tell it from the other cells."""
    kept = list(range(len(members)))
    # What most other cells answer alike says least, and is left out first.
    for place in sorted(kept, key=lambda p: -sum(other[p] == answers[cell][p] for other in answers)):
        fewer = [p for p in kept if p != place]
        if sum(all(other[p] == answers[cell][p] for p in fewer) for other in answers) == 1:
            kept = fewer
    return ", ".join(f"{base.names[members[p]]}: {base.choices(members[p])[answers[cell][p]]}" for p in kept)


def _number(shown: Any) -> float:
    """A threshold or an answer as a number, NaN where it is none."""
    try:
        return float(shown)
    except ValueError:
        return float("nan")


def _answer(cells: Sequence[int]) -> Answer:
    """Cells as an answer, None where nothing is known."""
    return None if set(cells) == {UNKNOWN} else tuple(int(cell) for cell in cells)
