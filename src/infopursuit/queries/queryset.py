"""What every query set shares: the variables that a query reveals, in which cells, its wording, and how it is saved."""

from __future__ import annotations

import copy
import difflib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from infopursuit.queries.choices import MAX_ANSWERS, JointChoices, count_answers, join_cells, split_index
from infopursuit.queries.frames import is_missing
from infopursuit.queries.numbers import NumberScale, format_number
from infopursuit.support.cards import NotebookCard
from infopursuit.support.checks import whole_number
from infopursuit.support.messages import Messages, load
from infopursuit.support.types import (
    UNKNOWN,
    Answer,
    FloatArray,
    IntArray,
    Number,
    Observed,
    Query,
    Said,
    SoftAnswer,
    SoftAnswers,
    Variables,
)

YES_NO = ("no", "yes")


class QuerySet(NotebookCard):
    """What may be asked about an input.

    Parameters
    ----------
    names: one name for each query, all different.
    sizes: how many values each variable has.
    variables: (Q, W) the variables that each query reveals, padded with -1.
    cells: (Q, W, V) the cell that each value of that variable falls into, padded with -1; None reveals variables whole.
    sentences: how each query is asked; by default the name with a question mark.
    choices: for each one-variable query the names of its cells; by default "no" and "yes".
    """

    kind: ClassVar[str]
    """The name of the class in saved models."""
    spec: ClassVar[Mapping[str, str]] = {}
    """The arguments of the constructor, and attributes, that a saved model has; the forms are those of `FORMS`."""
    worded: frozenset[int] = frozenset()
    """Queries whose wording a user has changed; explanations then use these words."""
    tabular: bool = False
    """Whether the queries are about the columns of a table."""
    whole: bool = True
    """Whether every query reveals its variables whole: the cell that is answered is the value."""
    shape: tuple[int, int] | None = None
    """Rows and columns of the images that the queries are about; None where they are about something else."""
    n_levels: int = 2
    """Of images: how many values a pixel has."""
    channels: int = 1
    """Of images: 3 where they have colours."""
    number_labels: Mapping[int, tuple[str, ...]] = {}
    """{query: choices before any rewording} of queries whose choices are numbers: the answer 2 is "2", no index."""

    @property
    def ungrouped(self) -> QuerySet:
        """The queries before any of them were put in groups."""
        return self

    def __init__(
        self,
        names: Iterable[str],
        sizes: Sequence[int],
        variables: Any,
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
        self.variables = Variables(tuple(int(size) for size in sizes))
        self.query_variables: IntArray = np.asarray(variables, dtype=np.int64).reshape(len(self.names), -1)
        self._check_variables()
        all_sizes = np.array(self.variables.sizes)[self.query_variables, None]
        sizes_of = np.where(self.query_variables[..., None] >= 0, all_sizes, 0)  # (Q, W, 1)
        values = np.arange(max(self.variables.sizes))
        if cells is not None:
            self.query_cells: IntArray = np.asarray(cells, dtype=np.int64)
            self._check_cells(sizes_of)
            as_it_is = (self.query_cells == np.arange(self.query_cells.shape[2])) | (self.query_cells == UNKNOWN)
            self.whole = bool(as_it_is.all())
        elif sizes_of.min() == len(values):  # all alike: a view of one row, however many there are
            self.query_cells = np.broadcast_to(values, (*self.query_variables.shape, len(values)))
        else:
            self.query_cells = np.where(values < sizes_of, values, UNKNOWN)
        self.sentences: tuple[str, ...] = tuple(f"{n}?" for n in self.names) if sentences is None else tuple(sentences)
        self._choices = None if choices is None else tuple(tuple(str(c) for c in names) for names in choices)
        self._check_words()

    def observe(self, X: Any) -> IntArray:
        """(B, A) the value of every variable of every input, -1 where it is not known. A subclass has this, or `read`
        where there is more to read."""
        return self.read(X).values

    def read(self, X: Any) -> Observed:
        """The values of `observe`, and the numbers behind them where variables are numeric."""
        return Observed(self.observe(X))

    def to_spec(self) -> dict[str, Any]:
        """All that is needed to build this query set again, as JSON data: the arguments named in ``spec``."""
        return {name: _listed(getattr(self, name)) for name in self.spec}

    @classmethod
    def from_spec(cls, spec: dict[str, Any], functions: Any = None) -> Self:
        """The query set that `to_spec` described. functions: the callables of `Functions`, which are not saved."""
        return cls(**check_spec(spec, cls.spec))

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> Query:
        index = range(len(self))[index]  # as in a list: negative ones count from the end
        return Query(index, self.names[index], self.sentences[index], self.choices(index))

    def __repr__(self) -> str:
        return f"<{self.kind}: {len(self)} queries about {len(self.variables)} variables>"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> QuerySet:
        """Return itself: a query set is fitted already, unlike a `Recipe`."""
        return self

    @property
    def topics(self) -> Sequence[tuple[str, str]]:
        """For each query what it is about, and the threshold or category that it asks for: ("age", "50")."""
        return [(name, "") for name in self.names]

    @property
    def width(self) -> int:
        """W, the most variables that one query reveals."""
        return int(self.query_variables.shape[1])

    @cached_property
    def n_cells(self) -> IntArray:
        """(Q, W) how many cells each variable of each query has, 1 for padding."""
        return np.asarray(np.maximum(self.query_cells.max(axis=2) + 1, 1))

    @cached_property
    def n_answers(self) -> IntArray:
        """(Q,) how many joint answers each query has, `MAX_COUNT` where there are more."""
        kinds, which = np.unique(self.n_cells, axis=0, return_inverse=True)
        return np.array([count_answers(limits) for limits in kinds.tolist()], dtype=np.int64)[which.ravel()]

    def scale(self, query: int) -> NumberScale | None:
        """The numbers that a query about one variable may be answered with; None where it is not numeric."""
        return None

    def hint(self, query: int, words: Messages | None = None) -> str:
        """What numbers, dates and pixels are answered with, in a language; empty where a query has choices."""
        scale = self.scale(query)
        return "" if scale is None else (words or load()).hint(scale)

    @cached_property
    def representatives(self) -> FloatArray | None:
        """(Q, V) the number that stands for each cell of a numeric query, NaN elsewhere; None where none is numeric."""
        found = {query: scale.representatives for query in range(len(self)) if (scale := self.scale(query)) is not None}
        table = np.full((len(self), self.query_cells.shape[2]), np.nan)
        for query, numbers in found.items():
            table[query, : len(numbers)] = numbers
        return table if found else None

    def numbers_of(self, numbers: FloatArray | None, queries: IntArray) -> FloatArray | None:
        """(B,) the number that answers one query (B,) for each input, NaN where there is none; None where no query is
        numeric. numbers: (B, A), as `read` gives them."""
        if numbers is None or self.representatives is None:
            return None
        mine = np.take_along_axis(numbers, self.query_variables[queries, :1], axis=1)[:, 0]
        return np.where(np.isnan(self.representatives[queries, 0]), np.nan, mine)

    def told(self, observed: Observed, queries: IntArray) -> tuple[IntArray, FloatArray | None, SoftAnswers]:
        """The answers (B, W) to one query (B,) for each input, the numbers (B,) behind them, and the soft answers, of
        which the first has the most probable cells."""
        answers, soft = self.answers_of(observed.values, queries), self.soft_answers(observed.soft, queries)
        for row, said in enumerate(soft):
            if said is not None:
                answers[row, : len(said.cells)] = said.cells
        return answers, self.numbers_of(observed.numbers, queries), soft

    def soft_answers(self, soft: FloatArray | None, queries: IntArray) -> SoftAnswers:
        """(B,) the soft answers to one query (B,) for each input, None where it is certain or not known; () where all
        are. soft: (B, L), as `read` gives it; a cell is as probable as its values together."""
        if soft is None:
            return ()
        weights = np.zeros((len(queries), *self.query_cells.shape[1:]))
        for w in range(self.width):
            slots = self.variables.slots[self.query_variables[queries, w]]  # (B, V)
            cells = self.query_cells[queries, w, : slots.shape[1]]
            p = np.where(cells < 0, 0.0, np.take_along_axis(soft, np.maximum(slots, 0), axis=1))
            for v in range(slots.shape[1]):
                weights[np.arange(len(queries)), w, np.maximum(cells[:, v], 0)] += p[:, v]
        weights = np.where(np.isnan(weights).any(axis=2, keepdims=True), 1.0, weights)  # not known: all cells alike
        certain: Any = np.isin(weights, (0.0, 1.0)).all(axis=(1, 2))
        found: list[SoftAnswer | None] = []
        for sure, table, query in zip(certain.tolist(), weights.tolist(), queries.tolist(), strict=True):
            cells_of = zip(table, self.cell_counts(query), strict=False)
            said = None if sure else SoftAnswer(tuple(tuple(each[:n]) for each, n in cells_of))
            found.append(None if said is None or set(said.cells) == {UNKNOWN} else said)
        return tuple(found)

    @cached_property
    def parts(self) -> Parts:
        """The distinct (variable, partition) pairs of these queries."""
        return find_parts(self)

    def answers(self, X: Any) -> IntArray:
        """(B, Q, W) the answer to every query about every input, -1 for unknown and for padding."""
        return self.answers_of(self.observe(X))

    def answers_of(self, values: IntArray, queries: IntArray | None = None) -> IntArray:
        """(B, Q, W) answers from variable values (B, A) to all queries; or (B, W) to one query (B,) for each input."""
        if queries is None:
            picked = np.where(self.query_variables >= 0, values[:, self.query_variables], UNKNOWN)  # (B, Q, W)
            cells = self.query_cells[None]
        else:
            variables = self.query_variables[queries]  # (B, W)
            picked = np.where(variables >= 0, np.take_along_axis(values, np.maximum(variables, 0), axis=1), UNKNOWN)
            cells = self.query_cells[queries]
        table = np.broadcast_to(cells, (*picked.shape, cells.shape[-1]))
        answer = np.take_along_axis(table, np.maximum(picked, 0)[..., None], axis=-1)[..., 0]
        return np.where(picked == UNKNOWN, UNKNOWN, answer)

    def choices(self, query: int) -> Sequence[str]:
        """The possible answers to a query in words, in the order of their indices."""
        if self._choices is not None and self._choices[query]:
            return self._choices[query]
        limits = self.cell_counts(query)
        if len(limits) > 1:
            return JointChoices(limits)
        return YES_NO if limits == (2,) else tuple(str(cell) for cell in range(limits[0]))

    def to_answer(self, query: int, value: Any) -> Answer | Number:
        """The cells that an answer in words, an index or a list of cells stands for; None for "not known".

        A numeric query is answered with a number ("148", 148, "148 mg/dl"), never with an index.
        """
        limits, choices = self.cell_counts(query), self.choices(query)
        if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
            return None
        scale, index = self.scale(query), UNKNOWN
        in_cells = isinstance(value, (list, tuple, np.ndarray))
        in_words = scale is not None and isinstance(value, str) and value.lower() in [each.lower() for each in choices]
        if scale is not None and not in_cells and not in_words:
            try:
                return scale.read(value)
            except (ValueError, TypeError, OverflowError):
                wrong = f"{value!r} is no answer to {self.names[query]!r}; answer with {self.hint(query)}, with one of"
                raise ValueError(f"{wrong} {shown(choices, 6)}, or None for not known") from None
        if query in self.number_labels and (label := _as_label(value)) is not None:
            labels = self.number_labels[query]
            value = choices[labels.index(label)] if label in labels else value if isinstance(value, str) else label
        if isinstance(value, str):
            exact = value in choices or len(limits) > 1
            names, text = (choices, value) if exact else ([choice.lower() for choice in choices], value.lower())
            index = names.index(text) if text in names else UNKNOWN
        elif isinstance(value, (bool, np.bool_)):
            index = int(value) if limits == (2,) else UNKNOWN
        elif isinstance(value, (int, np.integer)):
            if value == UNKNOWN:
                return None
            index = int(value) if 0 <= value < len(choices) else UNKNOWN
        elif isinstance(value, (list, tuple, np.ndarray)):
            cells = np.array(value, dtype=object).ravel().tolist()  # a patch may be answered as rows of pixels
            wide, padding = len(limits), [UNKNOWN] * (self.width - len(limits))
            whole = all(isinstance(cell, (int, np.integer, np.bool_)) for cell in cells)
            if whole and len(cells) >= wide and cells[wide:] in ([], padding):
                answer = tuple(int(cell) for cell in cells[:wide])
                if all(UNKNOWN <= cell < limit for cell, limit in zip(answer, limits, strict=True)):
                    return None if set(answer) == {UNKNOWN} else answer
        if index != UNKNOWN:
            return split_index(index, limits)
        wrong = f"{value!r} is no answer to {self.names[query]!r}; answer with one of {shown(choices, 6)}"
        index_too = "" if query in self.number_labels else f", its index 0 to {len(choices) - 1}"
        raise ValueError(f"{wrong}{index_too}, or None for not known")

    def say(self, query: int, answer: Said) -> str:
        """A query and its answer as one phrase: ``"bill shape is dagger: no"``."""
        asked = self.sentences[query] if query in self.worded else f"{self.names[query]}:"
        return f"{asked} {self.say_answer(query, answer)}"

    def say_answer(self, query: int, answer: Said) -> str:
        """An answer in words."""
        if isinstance(answer, Number):
            scale = self.scale(query)
            return self.say_answer(query, answer.cells) if scale is None else scale.say(answer.value)
        if isinstance(answer, SoftAnswer):
            return f"probably {self.say_answer(query, answer.cells)} ({round(100 * answer.share):d} %)"
        if answer is None or all(cell == UNKNOWN for cell in answer):
            return "not known"
        return self.say_cells(query, answer[: len(self.cell_counts(query))])  # without padding

    def say_cells(self, query: int, cells: tuple[int, ...]) -> str:
        """The cells of a query's variables in words; some of them may be unknown."""
        limits, choices = self.cell_counts(query), self.choices(query)
        if UNKNOWN in cells:
            return JointChoices(limits).say(cells)
        return choices.say(cells) if isinstance(choices, JointChoices) else choices[join_cells(cells, limits)]

    def find(self, key: str | int, argument: str) -> list[int]:
        """The queries that a name, an index or the name of a column stands for; refused where there is none."""
        if not isinstance(key, str):
            return [whole_number(key, f"{argument}: query", 0, len(self) - 1)]
        if key in self.names:
            return [self.names.index(key)]
        about = [index for index, (topic, _) in enumerate(self.topics) if topic == key]
        if not about:
            known = list(dict.fromkeys([*self.names, *(topic for topic, _ in self.topics)]))
            raise ValueError(f"{argument} names {key!r}, which is not asked about; {near(key, known)}")
        return about

    def find_one(self, key: str | int, argument: str) -> int:
        """The query that `find` finds; refused where there are several."""
        found = self.find(key, argument)
        if len(found) > 1:
            raise ValueError(f"{argument} names {key!r}, which {len(found)} queries are about; name one of them")
        return found[0]

    def known_answers(self, key: str | int, value: Any) -> list[tuple[int, Answer | Number]]:
        """The queries about ``key``, a query or a column, with the answers that a value in a table means."""
        queries = self.find(key, "known")
        if is_missing(value):
            return []
        if isinstance(value, (float, np.floating)) and self.scale(queries[0]) is None and float(value).is_integer():
            value = int(value)  # a row of numbers has 1.0 where yes is meant
        query = self.find_one(key, "known")
        return [(query, self.to_answer(query, value))]

    def with_words(self, words: Mapping[int, tuple[str, Sequence[str] | None]]) -> Self:
        """The same queries with some of them reworded. words: query -> sentence, and its choices or None."""
        sentences = dict(enumerate(self.sentences)) | {index: str(sentence) for index, (sentence, _) in words.items()}
        choices = dict(enumerate(self._choices or [()] * len(self)))
        choices |= {index: tuple(map(str, names)) for index, (_, names) in words.items() if names is not None}
        changed = copy.copy(self)
        changed.sentences, changed._choices = tuple(sentences.values()), tuple(choices.values())
        changed.worded = self.worded | frozenset(words)
        changed._check_words()
        return changed

    def cell_counts(self, query: int) -> tuple[int, ...]:
        """How many cells each variable of a query has, without the padding."""
        return tuple(int(n) for n in self.n_cells[query][self.query_variables[query] >= 0])

    def _check_variables(self) -> None:
        outside = (self.query_variables >= len(self.variables)) | (self.query_variables < UNKNOWN)
        if outside.any():
            bad = self.query_variables[outside][0]
            raise ValueError(f"variables must lie in 0..{len(self.variables) - 1}, or be -1 for padding; got {bad}")
        used = self.query_variables >= 0
        if not used[:, :1].all() or (used[:, 1:] & ~used[:, :-1]).any():
            raise ValueError("every query needs a variable, and its padding of -1 must come last")
        ordered = np.sort(self.query_variables, axis=1)
        if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
            raise ValueError("a query names the same variable twice; give each variable once")

    def _check_cells(self, sizes_of: IntArray) -> None:
        shape, expected = self.query_cells.shape, (*self.query_variables.shape, max(self.variables.sizes))
        if len(shape) != 3 or shape[:2] != expected[:2]:
            raise ValueError(f"cells has shape {shape}; expected {expected}")
        wide = shape[2]
        if sizes_of.max() > wide or ((np.arange(wide) < sizes_of) != (self.query_cells >= 0)).any():
            raise ValueError("cells must give a cell 0, 1, ... to each value of a variable, and -1 to the padding only")

    def _check_words(self) -> None:
        for name, given in (("sentences", self.sentences), ("choices", self._choices)):
            if given is not None and len(given) != len(self):
                raise ValueError(f"{name} has {len(given)} entries for {len(self)} queries; give one for each")
        for query, names in enumerate(self._choices or ()):
            of, expected = f"choices[{query}] of {self.names[query]!r}", self.n_answers[query]
            if names and len(names) != expected:
                raise ValueError(f"{of} names {len(names)} answers; expected {expected}")
            if len(set(names)) < len(names):
                raise ValueError(f"{of} names an answer twice: {list(names)}")


@dataclass(frozen=True)
class Recipe:
    """A query builder with its options, fitted on the training data alone, so that cross-validation does not leak."""

    build: Callable[..., Any]  # called with data it returns a QuerySet
    options: Mapping[str, Any]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> QuerySet:
        """The query set that the builder makes of this data."""
        built: QuerySet = self.build(X, sample_weight=sample_weight, **self.options)
        return built

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"<{self.build.__name__}({options}), not fitted yet>"


@dataclass(frozen=True)
class Parts:
    """The distinct (variable, partition) pairs that a query set uses, and where their cells lie end to end.

    A one-variable query is one part; a patch is nine. Patches that share a pixel share its part. ``P`` counts parts.
    """

    variable: IntArray  # (P,) the variable that each part looks at
    kind: IntArray  # (P,) 0, or what else tells parts apart: how reliably they are answered
    offsets: IntArray  # (P + 1,) where the cells of each part begin
    entry_slot: IntArray  # (E,) slot of a variable ...
    entry_cell: IntArray  # (E,) ... and the part cell that it falls into
    query_part: IntArray  # (Q, W) the parts of each query, -1 for padding

    @cached_property
    def sizes(self) -> IntArray:
        """(P,) how many cells each part has."""
        return np.diff(self.offsets)

    @cached_property
    def plain(self) -> bool:
        """True when the cells are the slots themselves: each variable asked whole, in order."""
        identity = np.arange(len(self.entry_slot))
        return bool(np.array_equal(self.entry_slot, identity) and np.array_equal(self.entry_cell, identity))


def find_parts(queries: QuerySet, kinds: IntArray | None = None) -> Parts:
    """The parts of a query set. kinds: (Q, W) tell parts apart that look at the same."""
    variables, query_variables, query_cells = queries.variables, queries.query_variables, queries.query_cells
    used = query_variables >= 0
    kinds = np.zeros_like(query_variables) if kinds is None else kinds
    rows = np.stack([query_variables[used], kinds[used]], axis=1)
    if not queries.whole:  # rows: (n, 2 + V)
        rows = np.concatenate([rows, query_cells[used]], axis=1)
    distinct, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.lexsort((first, distinct[:, 0]))  # by variable, then by the first query that has it
    variable, kind, place = distinct[order, 0], distinct[order, 1], first[order]
    query, w = np.nonzero(used)
    cells = query_cells[query[place], w[place]]  # (P, V)
    offsets = np.concatenate([[0], np.cumsum(cells.max(axis=1) + 1)]).astype(np.int64)
    part, value = np.nonzero(cells >= 0)
    query_part = np.full_like(query_variables, UNKNOWN)
    query_part[used] = np.argsort(order)[which.ravel()]
    slot, cell = variables.offsets[variable[part]] + value, offsets[part] + cells[part, value]
    return Parts(variable, kind, offsets, slot, cell, query_part)


# ---- saving ---------------------------------------------------------------------------------------------------------

KINDS: dict[str, type[QuerySet]] = {}
"""kind -> class of the query sets that can be saved; filled by the package's ``__init__``."""


def from_spec(kind: str, spec: dict[str, Any], functions: Any = None) -> QuerySet:
    """The query set of a kind that ``to_spec`` described; ``functions`` gives the callables, which are not saved.

    >>> from infopursuit.queries import concepts
    >>> from_spec("concepts", concepts(["can fly"]).to_spec()).names
    ('can fly',)
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; the kinds of query sets are {', '.join(sorted(KINDS))}")
    return KINDS[kind].from_spec(spec, functions)


def to_manifest(queries: QuerySet) -> dict[str, Any]:
    """What a saved model stores of a query set: ``{"kind", "spec"}``, and ``"wording"`` where a user reworded some."""
    words = {}
    for q in sorted(queries.worded):
        choices = list(queries.choices(q)) if len(queries.cell_counts(q)) == 1 else []
        words[queries.names[q]] = {"sentence": queries.sentences[q], "choices": choices}
    return {"kind": queries.kind, "spec": queries.to_spec(), **({"wording": words} if words else {})}


def from_manifest(entry: Mapping[str, Any], functions: Any = None) -> QuerySet:
    """The query set that `to_manifest` described.

    >>> from infopursuit.queries import concepts
    >>> reworded = concepts(["can fly"]).with_words({0: ("Kann es fliegen?", ["nein", "ja"])})
    >>> from_manifest(to_manifest(reworded))[0]
    Query(index=0, name='can fly', sentence='Kann es fliegen?', choices=('nein', 'ja'))
    """
    queries, words = from_spec(entry["kind"], entry["spec"], functions), {}
    for name, given in entry.get("wording", {}).items():
        check_spec(given, {"sentence": "text", "choices": "texts"}, f"the wording of {name!r:.80}: ")
        words[queries.names.index(name)] = (given["sentence"], given["choices"] or None)
    return queries.with_words(words) if words else queries


def _lists(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda found: isinstance(found, list) and all(map(fits, found))


def _text(found: Any) -> bool:
    return isinstance(found, str)


def _number(found: Any) -> bool:
    return type(found) in (int, float) and math.isfinite(found)


def _pair(found: Any) -> bool:
    return _lists(lambda n: type(n) is int and 1 <= n < 2**31)(found) and len(found) == 2


FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "any": (lambda found: True, "anything"),
    "flag": (lambda found: isinstance(found, bool), "true or false"),
    "text": (_text, "a text"),
    "texts": (_lists(_text), "a list of texts"),
    "rows": (_lists(_lists(_text)), "a list of lists of texts"),
    "whole": (lambda found: type(found) is int, "a whole number"),
    "number": (_number, "a number"),
    "numbers": (_lists(_number), "a list of finite numbers"),
    "pair": (_pair, "2 whole numbers from 1 on"),
}
"""What an entry of a saved model may be: a test, and what is expected in words."""


def check_spec(spec: Mapping[str, Any], forms: Mapping[str, str], where: str = "") -> dict[str, Any]:
    """The entries of a spec that ``forms`` names, each of its form; others are refused by name. Anybody may have
    written a spec. An entry whose form ends in "?" may be null, or left out.

    >>> check_spec({"names": ["can fly"], "more": 1}, {"names": "texts", "soft": "flag?"})
    {'names': ['can fly']}
    """
    for name, form in forms.items():
        fits, expected = FORMS[form.rstrip("?")]
        if not (form.endswith("?") and spec.get(name) is None) and not fits(spec[name]):
            raise ValueError(f"{where}{name} is {spec[name]!r:.80}; expected {expected}")
    return {name: spec[name] for name in forms if name in spec}


def _listed(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    return [_listed(each) for each in value] if isinstance(value, (tuple, list)) else value


def _as_label(value: Any) -> str | None:
    """A number as the choice of that name: 2, 2.0 and "2.0" are "2"; None for anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (str, int, float, np.integer, np.floating)):
        return None
    try:
        return format_number(float(value))
    except (ValueError, OverflowError):
        return None


# ---- shared by the builders and strategies ---------------------------------------------------------------------------


def check_joint_answers(queries: QuerySet, why: str) -> None:
    """Refuse queries with more joint answers than can be looked at one by one."""
    most = int(queries.n_answers.argmax())
    if queries.n_answers[most] > MAX_ANSWERS:
        exactly = math.prod(queries.n_cells[most].tolist())
        joint = str(exactly) if exactly < 10**9 else f"{float(exactly):.0e}" if exactly < 10**300 else "countless"
        raise ValueError(
            f"query {queries.names[most]!r} has {joint} joint answers, more than {MAX_ANSWERS}, and {why}; let it "
            f"reveal less (a smaller patch, fewer levels, fewer members of a group, fewer bins of a column), or use an "
            f"acquisition function that does not look at answers, such as acquisition=ip.strategies.FixedOrder()"
        )


def shown(names: Sequence[str], most: int) -> str:
    """The first names for an error message, with dots where there are more.

    >>> shown(["a", "b", "c"], 2)
    "'a', 'b', ..."
    """
    return ", ".join(repr(name) for name in names[:most]) + (", ..." if len(names) > most else "")


def near(name: str, known: Sequence[str]) -> str:
    """What somebody may have meant by a name that is not known, or what names there are."""
    lowered = {entry.lower(): entry for entry in known}
    close = [lowered[entry] for entry in difflib.get_close_matches(name.lower(), list(lowered), n=3, cutoff=0.5)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"there are {', '.join(map(repr, known[:8]))}" + (f" and {len(known) - 8} more" if len(known) > 8 else "")
