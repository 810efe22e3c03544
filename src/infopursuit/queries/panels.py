"""Queries that are asked together, as one: a blood panel is one visit to the laboratory, and many answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from infopursuit.queries.choices import YES_NO, JointChoices
from infopursuit.queries.queryset import MAX_ANSWERS, QuerySet
from infopursuit.queries.recipe import Recipe
from infopursuit.queries.stated import flag, texts
from infopursuit.queries.wording import near, words_from_spec, words_to_spec
from infopursuit.types import UNKNOWN, Answer, IntArray

NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Thing:
    """One of the things that a panel tells: an atom, and all that the panel's members ask about it.

    cells: (V,) the common refinement of the members' cells. members: their queries in the base. answers: for each cell
    what each member's answer is. choices: what the cells are called. named: whether a choice says itself what it is
    about. bounds: of a column of numbers the thresholds between its cells, so that a number is an answer, too.
    """

    name: str
    atom: int
    cells: tuple[int, ...]
    members: tuple[int, ...]
    answers: tuple[tuple[int, ...], ...]
    choices: tuple[str, ...]
    named: bool = False
    bounds: tuple[float, ...] = ()

    def cell_of(self, number: float) -> int:
        """The cell that a number lies in."""
        if not self.bounds or np.isnan(number):
            raise ValueError(f"{number:g} is no answer to {self.name!r}")
        return int(np.searchsorted(self.bounds, number, side="left"))

    def phrase(self, cell: int) -> str:
        """A cell in words that say what they are about."""
        if cell == UNKNOWN:
            return f"{self.name}: {NOT_KNOWN}"
        return self.choices[cell] if self.named else f"{self.name}: {self.choices[cell]}"


class Panels(QuerySet):
    """The queries of another set, some of them asked together; use `panels`."""

    kind = "panels"

    def __init__(self, base: QuerySet, groups: Mapping[str, Sequence[str]], alone: bool = False) -> None:
        self.base, self.alone = base, bool(alone)
        self.groups = {name: _members(base, name, members) for name, members in groups.items()}
        together = {name for members in self.groups.values() for name in members}
        self._kept = [q for q, name in enumerate(base.names) if self.alone or name not in together]
        taken = [name for name in self.groups if name in base.names]
        if taken:
            raise ValueError(f"groups names a panel {taken[0]!r}, which is what a query is called; call it otherwise")
        things = [_things(base, [base.names.index(name) for name in members]) for members in self.groups.values()]
        # a column by itself, under its own name, need not say twice what it is about
        things = [[replace(told[0], named=True)] if len(told) == 1 and told[0].name == name else told
                  for name, told in zip(self.groups, things, strict=True)]  # fmt: skip
        for name, told in zip(self.groups, things, strict=True):
            n = float(np.prod([float(len(thing.choices)) for thing in told]))
            if n > MAX_ANSWERS:
                raise ValueError(
                    f"panel {name!r} has {n:.0f} joint answers, more than {MAX_ANSWERS}; leave members out, make two "
                    f"panels of it, or ask columns at fewer thresholds (bins=)"
                )
        self._things = dict(zip(range(len(self._kept), len(self._kept) + len(things)), things, strict=True))
        width = max([base.width if self._kept else 1, *map(len, things)])
        atoms = np.full((len(self._kept) + len(things), width), UNKNOWN)
        cells = np.full((*atoms.shape, base.query_cells.shape[2]), UNKNOWN)
        atoms[: len(self._kept), : base.width] = base.query_atoms[self._kept] if self._kept else UNKNOWN
        cells[: len(self._kept), : base.width] = base.query_cells[self._kept] if self._kept else UNKNOWN
        for query, told in self._things.items():
            for w, thing in enumerate(told):
                atoms[query, w], cells[query, w, : len(thing.cells)] = thing.atom, thing.cells
        asked = [_sentence(name, told) for name, told in zip(self.groups, things, strict=True)]
        super().__init__(
            [*(base.names[q] for q in self._kept), *self.groups],
            base.atoms.sizes,
            atoms,
            cells,
            sentences=[*(base.sentences[q] for q in self._kept), *asked],
        )
        self.worded = frozenset(i for i, q in enumerate(self._kept) if q in base.worded)

    def observe(self, X: Any) -> IntArray:
        """(B, A) as the queries that are asked together see it."""
        return self.base.observe(X)

    @property
    def topics(self) -> list[tuple[str, str]]:
        """For each query what it is about; a panel is about itself."""
        known = list(self.base.topics)
        return [*(known[q] for q in self._kept), *((name, "") for name in self.groups)]

    @property
    def shape(self) -> Any:
        """That of images, where the base is about images."""
        return getattr(self.base, "shape", None)

    def things(self, query: int) -> tuple[Thing, ...]:
        """What a panel tells, one for each of its atoms; nothing for a query that is no panel."""
        return tuple(self._things.get(query, ()))

    def choices(self, query: int) -> Sequence[str]:
        """What may be answered: for a panel all its members' answers together."""
        if self._reworded(query):
            return super().choices(query)
        return PanelChoices(self.things(query)) if query in self._things else self.base.choices(self._kept[query])

    def to_answer(self, query: int, value: Any) -> Answer:
        """As for any query; the answer to a panel may also be {member: answer}, a list with an answer for each thing
        that it tells, or the same in words: "hb > 12: yes, wbc > 10: not known". What is left out is not known. Of a
        column of numbers that is told whole, {"hb": 12.5} has the number itself."""
        told = self.things(query)
        if not told or self._reworded(query):
            return super().to_answer(query, value)
        try:
            if isinstance(value, Mapping) and value:
                return _all_or_none([self._of_members(thing, value) for thing in told], value, self.base, told)
            if isinstance(value, str):
                return PanelChoices(told).cells(value)
            if isinstance(value, (list, tuple)) and any(isinstance(v, str) or v is None for v in value):
                if len(value) != len(told):
                    raise ValueError(f"it has {len(value)} answers for {len(told)} things")
                return _all_or_none([_cell(thing, v) for thing, v in zip(told, value, strict=True)])
        except ValueError as error:
            few = ", ".join(map(repr, PanelChoices(told)[:6])) if len(told) == 1 else repr(PanelChoices(told)[0])
            raise ValueError(
                f"{value!r} is no answer to {self.names[query]!r}: {error}; answer such as {few}, with {{member: "
                f"answer}}, or with None for not known"
            ) from None
        return super().to_answer(query, value)

    def say_cells(self, query: int, cells: tuple[int, ...]) -> str:
        """Cells in words; a panel's tell each of its things."""
        told = self.things(query)
        if not told or self._reworded(query):
            return super().say_cells(query, cells)
        return ", ".join(thing.phrase(int(cell)) for thing, cell in zip(told, cells, strict=False))

    def to_spec(self) -> dict[str, Any]:
        base = {"kind": self.base.kind, "spec": self.base.to_spec(), **words_to_spec(self.base)}
        groups = [[name, list(members)] for name, members in self.groups.items()]
        return {"base": base, "groups": groups, "alone": self.alone, "sentences": list(self.sentences)}

    @classmethod
    def from_spec(cls, spec: dict[str, Any], base: QuerySet) -> Panels:
        """The panels that `to_spec` described, of a base that is there again."""
        base = words_from_spec(base, spec["base"].get("wording", {}))
        groups = dict(spec["groups"])
        if not all(isinstance(name, str) for name in groups):
            raise ValueError(f"groups is {spec['groups']!r:.80}; expected names, each with a list of queries")
        found = cls(base, {name: texts(groups, name) for name in groups}, flag(spec, "alone"))
        found.sentences = tuple(texts(spec, "sentences"))
        found._check_words()
        return found

    def _reworded(self, query: int) -> bool:
        """Whether somebody has given the answers to a query other names."""
        return self._choices is not None and bool(self._choices[query])

    def _of_members(self, thing: Thing, value: Mapping[Any, Any]) -> int:
        """The cell that the members' answers leave, -1 where none of them is given."""
        left, said = set(range(len(thing.choices))), []
        for place, member in enumerate(thing.members):
            name = self.base.names[member]
            answer = self.base.to_answer(member, value[name]) if name in value else None
            if answer is not None:
                said.append(name)
                left &= {cell for cell, answers in enumerate(thing.answers) if answers[place] == answer[0]}
        if thing.name in value and not said:
            given = value[thing.name]
            whole = isinstance(given, (int, np.integer)) and not isinstance(given, bool) and bool(thing.bounds)
            return thing.cell_of(float(given)) if whole else _cell(thing, given)
        if not left:
            raise ValueError(f"the answers to {' and '.join(map(repr, said))} contradict each other")
        if said and len(left) > 1:
            missing = next(self.base.names[m] for m in thing.members if self.base.names[m] not in said)
            raise ValueError(f"{missing!r} is left open although {said[0]!r} is about the same; answer all or none")
        return left.pop() if said else UNKNOWN


class PanelChoices(JointChoices):
    """All joint answers to a panel in words, made when they are looked at."""

    def __init__(self, things: Sequence[Thing]) -> None:
        super().__init__(tuple(len(thing.choices) for thing in things))
        self.things = tuple(things)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        cells = self.cells(value) if isinstance(value, str) else None
        if cells is None or UNKNOWN in cells:
            raise ValueError(f"{value!r} is not among the {len(self)} choices")
        return int(np.ravel_multi_index(cells, self.limits))

    def cells(self, text: str) -> Answer:
        """The cells that a text names, thing by thing in their order; "not known" leaves one open."""
        rest, cells = " ".join(text.split()).lower(), []
        for place, thing in enumerate(self.things):
            ways = {" ".join(thing.phrase(cell).split()).lower(): cell for cell in range(UNKNOWN, len(thing.choices))}
            last = place == len(self.things) - 1
            fits = [way for way in ways if rest == way or (not last and rest.startswith(f"{way}, "))]
            if not fits:
                raise ValueError(f"{thing.name!r} is not answered there")
            way = max(fits, key=len)
            cells.append(ways[way])
            rest = rest[len(way) + 2 :]
        return _all_or_none(cells)

    def say(self, cells: Any) -> str:
        return ", ".join(thing.phrase(int(cell)) for thing, cell in zip(self.things, cells, strict=True))


def panels(base: Any, groups: Mapping[str, Sequence[str]], *, alone: bool = False) -> Any:
    """Ask some queries together, as one that reveals all their answers.

    Parameters
    ----------
    base: the query set that they are of, or a builder that is fitted later, such as ``ip.queries.columns()``.
    groups: {name: members}; a member is the name of a query about one thing, or of a column for all queries about it.
        Several thresholds of a column are merged: it is told between which of them the number lies.
    alone: whether members may be asked by themselves, too.

    >>> from infopursuit.queries import concepts
    >>> qs = panels(concepts(["fever", "hb > 12", "wbc > 10"]), {"blood panel": ["hb > 12", "wbc > 10"]})
    >>> qs.names, qs[1].sentence
    (('fever', 'blood panel'), 'blood panel: hb > 12, wbc > 10?')
    >>> qs.to_answer(1, {"hb > 12": "yes", "wbc > 10": "no"}), qs.say_answer(1, (1, 0))
    ((1, 0), 'hb > 12: yes, wbc > 10: no')
    """
    if not groups:
        raise ValueError("groups is empty; expected {name: [query, ...]} with at least one group")
    if isinstance(base, Recipe):
        return Recipe(_fitted, {"base": base, "groups": dict(groups), "alone": alone})
    if not isinstance(base, QuerySet):
        raise TypeError(f"base is {type(base).__name__}; expected a query set such as ip.queries.columns(X)")
    if isinstance(base, Panels):
        raise ValueError("base is made of panels already; name all groups in one call")
    return Panels(base, groups, alone)


def _fitted(
    X: Any, *, base: Recipe, groups: Mapping[str, Sequence[str]], alone: bool, sample_weight: Any = None
) -> Any:
    """The panels of a base that is fitted first."""
    return panels(base.fit(X, None, sample_weight), groups, alone=alone)


def _members(base: QuerySet, group: str, members: Sequence[str]) -> tuple[str, ...]:
    """The names of a group's queries, columns spelled out."""
    if isinstance(members, str) or not members:
        raise ValueError(f"groups[{group!r}] is {members!r}; expected a list of queries")
    found: list[str] = []
    topics = base.topics
    for member in members:
        about = [name for name, (topic, _) in zip(base.names, topics, strict=True) if topic == member]
        mine = [member] if member in base.names else about
        if not mine:
            known = list(dict.fromkeys([*base.names, *(topic for topic, _ in topics)]))
            raise ValueError(
                f"groups[{group!r}] names {member!r}, which is not asked about; {near(str(member), known)}"
            )
        found += [name for name in mine if name not in found]
    wide = [name for name in found if (base.query_atoms[base.names.index(name)] >= 0).sum() > 1]
    if wide:
        raise ValueError(f"groups[{group!r}] names {wide[0]!r}, which reveals several things already; leave it out")
    return tuple(found)


def _things(base: QuerySet, members: Sequence[int]) -> list[Thing]:
    """What queries about one atom each tell together, one thing for each atom, in the order of their first member."""
    by_atom: dict[int, list[int]] = {}
    for member in members:
        by_atom.setdefault(int(base.query_atoms[member, 0]), []).append(member)
    topics, found = base.topics, []
    for atom, mine in by_atom.items():
        table = base.query_cells[mine, 0, : base.atoms.sizes[atom]].T  # (V, members)
        answers = list(dict.fromkeys(map(tuple, table.tolist())))
        cells = tuple(answers.index(tuple(row)) for row in table.tolist())
        if len(mine) == 1:
            answers = sorted(answers)  # cells keep the order of the one query's choices
            cells = tuple(int(row[0]) for row in table.tolist())
            name, choices = base.names[mine[0]], tuple(base.choices(mine[0]))
        else:
            name = topics[mine[0]][0]
            between = _between(base, mine)
            choices = between or tuple(_told(base, mine, answers, cell) for cell in range(len(answers)))
        bounds = _numbers([topics[m][1] for m in mine]) if len(mine) > 1 and between else ()
        named = len(mine) > 1 and not between
        found.append(Thing(name, atom, cells, tuple(mine), tuple(answers), choices, named, bounds))
    return found


def _sentence(name: str, told: Sequence[Thing]) -> str:
    about = ", ".join(thing.name for thing in told)
    return f"{name}?" if about == name else f"{name}: {about}?"


def _between(base: QuerySet, members: Sequence[int]) -> tuple[str, ...]:
    """What the cells of several thresholds of one column are called, from low to high; nothing for other queries."""
    shown = [base.topics[m][1] for m in members]
    plain = all(base.names[m] == f"{base.topics[m][0]} > {s}" for m, s in zip(members, shown, strict=True))
    table = base.query_cells[list(members), 0]
    rising = bool((np.diff(table.sum(axis=1)) < 0).all()) and all(tuple(base.choices(m)) == YES_NO for m in members)
    if not plain or not rising:
        return ()
    return (f"up to {shown[0]}", *(f"{a} to {b}" for a, b in pairwise(shown)), f"above {shown[-1]}")


def _numbers(shown: Sequence[str]) -> tuple[float, ...]:
    """Thresholds as numbers; nothing where they are dates."""
    try:
        return tuple(float(each) for each in shown)
    except ValueError:
        return ()


def _told(base: QuerySet, members: Sequence[int], answers: Sequence[tuple[int, ...]], cell: int) -> str:
    """A cell of several queries about one atom, by as few of their answers as tell it from the other cells."""
    kept = list(range(len(members)))
    # what most other cells answer alike says least, and is left out first
    for place in sorted(kept, key=lambda p: -sum(other[p] == answers[cell][p] for other in answers)):
        fewer = [p for p in kept if p != place]
        if sum(all(other[p] == answers[cell][p] for p in fewer) for other in answers) == 1:
            kept = fewer
    return ", ".join(f"{base.names[members[p]]}: {base.choices(members[p])[answers[cell][p]]}" for p in kept)


def _cell(thing: Thing, value: Any) -> int:
    """One of a thing's choices, its index, or None for not known, as a cell."""
    if value is None or value == UNKNOWN or (isinstance(value, str) and value.lower() in (NOT_KNOWN, "?")):
        return UNKNOWN
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    lowered = [choice.lower() for choice in thing.choices]
    if isinstance(value, str) and value.lower() in lowered:
        return lowered.index(value.lower())
    if isinstance(value, (int, np.integer)) and 0 <= value < len(lowered):
        return int(value)
    if thing.bounds and isinstance(value, (str, float, np.floating)) and _numbers([str(value)]):
        return thing.cell_of(float(value))
    raise ValueError(f"{value!r} is no answer to {thing.name!r}, which has {', '.join(thing.choices[:6])}")


def _all_or_none(
    cells: Sequence[int],
    value: Mapping[Any, Any] | None = None,
    base: QuerySet | None = None,
    told: Sequence[Thing] = (),
) -> Answer:
    """Cells as an answer, None where nothing is known; names that are not in the panel are refused."""
    if value is not None and base is not None:
        known = {thing.name for thing in told} | {base.names[m] for thing in told for m in thing.members}
        strange = [name for name in value if name not in known]
        if strange:
            raise ValueError(f"{strange[0]!r} is not in it; {near(str(strange[0]), sorted(known))}")
    return None if set(cells) == {UNKNOWN} else tuple(int(cell) for cell in cells)
