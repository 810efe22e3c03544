"""Answer noise: confusion matrices P(answer given | true answer), soft answers, and simulated annotators.

A noisy answer excludes no value of a variable. It multiplies the weight of each value by the likelihood of the answer
under that value, and this likelihood is all that the belief needs to know of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from infopursuit.queries.queryset import Parts, QuerySet, find_parts
from infopursuit.support.checks import instance, number, whole_number
from infopursuit.support.display import Brief
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Said, SoftAnswer, cells_of


@dataclass(frozen=True, repr=False)
class AnswerNoise(Brief):
    """How often the answers to each query are right. Each variable of a query is answered independently.

    Parameters
    ----------
    accuracy: the probability of a right answer, all wrong ones being equally probable; or a confusion matrix (K, K),
        P(given | true) with one row for each true answer, for queries with K choices.
    queries: {name: accuracy or confusion matrix} for some queries, or for all queries about a column or topic.
    max_repeats: how many times a query may be asked. More than once only pays where errors are independent each time.

    >>> AnswerNoise(0.9).confusion_matrix(3).round(2).tolist()
    [[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]]
    """

    accuracy: Any = 0.9
    queries: Mapping[str, Any] = field(default_factory=dict)
    max_repeats: int = 1

    def __post_init__(self) -> None:
        whole_number(self.max_repeats, "max_repeats", 1)
        instance(self.queries, "queries", Mapping, "a mapping from names to accuracies", error=ValueError)
        for name, value in {"": self.accuracy, **self.queries}.items():
            _check(value, f"queries[{name!r}]" if name else "accuracy")

    def confusion_matrix(self, n_choices: int, query: str | None = None, topic: str | None = None) -> FloatArray:
        """(K, K) P(given | true) of a query with K choices, one row for each true answer."""
        name = query if query in self.queries else topic
        value = self.queries.get(name, self.accuracy) if name is not None else self.accuracy
        matrix = np.asarray(value, dtype=np.float64)
        if matrix.ndim == 0:
            matrix = np.full((n_choices, n_choices), (1 - float(matrix)) / (n_choices - 1))
            np.fill_diagonal(matrix, float(np.asarray(value)))
        if matrix.shape != (n_choices, n_choices):
            of = "accuracy" if name not in self.queries else f"queries[{name!r}]"
            raise ValueError(
                f"{of} is a table of shape {matrix.shape}, but {query!r} has {n_choices} choices; give a number, or "
                f"{n_choices} rows of {n_choices}"
            )
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))

    def bind(self, queries: QuerySet) -> NoiseChannel:
        """The confusion matrices of all queries of a set; names that the set does not have are refused."""
        topics = [about for about, _ in queries.topics]
        strange = [name for name in self.queries if name not in queries.names and name not in topics]
        if strange:
            raise ValueError(
                f"noise names {strange[0]!r}, which is no query and no topic; there is, for example, "
                f"{queries.names[0]!r}"
            )
        found: dict[bytes, int] = {}
        known: dict[tuple[int, str | None], int] = {}
        tables: list[FloatArray] = []
        which = np.full_like(queries.query_variables, UNKNOWN)
        for q, w in zip(*np.nonzero(queries.query_variables >= 0), strict=True):
            own = next((name for name in (queries.names[q], topics[q]) if name in self.queries), None)
            key = int(queries.n_cells[q, w]), own
            if key not in known:
                table = self.confusion_matrix(key[0], queries.names[q], topics[q])
                known[key] = found.setdefault(table.tobytes(), len(tables))
                if known[key] == len(tables):
                    tables.append(table)
            which[q, w] = known[key]
        return NoiseChannel(queries, tuple(tables), which, int(self.max_repeats))

    def soft_answer(self, queries: QuerySet, query: int, cells: tuple[int, ...]) -> SoftAnswer:
        """The likelihoods of an answer that was given with this noise: for each variable a column of its matrix."""
        columns = []
        for size, cell in zip(queries.n_cells[query].tolist(), cells, strict=False):  # n_cells is padded
            matrix = self.confusion_matrix(size, queries.names[query], queries.topics[query][0])
            columns.append(tuple(matrix[:, cell].tolist()) if cell != UNKNOWN else (1.0,) * size)
        return SoftAnswer(tuple(columns))

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes it again."""
        queries = {name: np.asarray(value).tolist() for name, value in self.queries.items()}
        return {"right": np.asarray(self.accuracy).tolist(), "queries": queries, "again": int(self.max_repeats)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> AnswerNoise:
        """The noise that `to_spec` described."""
        return cls(spec["right"], spec["queries"], spec["again"])


@dataclass(frozen=True, repr=False)
class NoiseChannel(Brief):
    """An `AnswerNoise` bound to one query set.

    confusion_matrices: the distinct ones, each (K, K) P(given | true). which: (Q, W) the matrix of each variable of
    each query, -1 for padding. max_repeats: how many times a query may be asked.
    """

    queries: QuerySet
    confusion_matrices: tuple[FloatArray, ...]
    which: IntArray
    max_repeats: int

    @cached_property
    def parts(self) -> Parts:
        """The parts of the queries; the same part with another confusion matrix is another part."""
        return find_parts(self.queries, self.which)

    @cached_property
    def certain(self) -> Any:
        """(Q,) whether the answers to each query are always right."""
        right = np.array([np.array_equal(table, np.eye(len(table))) for table in self.confusion_matrices])
        return ((self.which < 0) | right[self.which]).all(axis=1)

    @cached_property
    def _log_tables(self) -> FloatArray:
        """(T, given, true) log P(given | true), padded with 0."""
        wide = max(len(table) for table in self.confusion_matrices)
        logs = np.zeros((len(self.confusion_matrices), wide, wide))
        with np.errstate(divide="ignore"):
            for t, table in enumerate(self.confusion_matrices):
                logs[t, : len(table), : len(table)] = np.log(table.T)
        return logs

    def log_likelihood(self, queries: IntArray, answers: IntArray) -> FloatArray:
        """(H,) queries and (H, W) answers -> (H, W, V) log P(answer | cell); 0 where there is no answer."""
        weights = self._log_tables[np.maximum(self.which[queries], 0), np.maximum(answers, 0)]
        return np.where((answers != UNKNOWN)[:, :, None], weights, 0.0)


# ---- answers of people ----------------------------------------------------------------------------------------------


def read_answer(
    queries: QuerySet, query: int, value: Any, confidence: float | None = None, noise: AnswerNoise | None = None
) -> Said:
    """An answer as people give it -> cells, a soft answer, or None where it says nothing.

    Parameters
    ----------
    value: a choice, its index, the cells of the variables, the number of a numeric query, or None for "not known"; a
        `SoftAnswer`, or {choice: probability}.
    confidence: the probability that the choice is right; the other choices share the rest.
    noise: the answer noise of the annotator.

    >>> from infopursuit.queries import concepts
    >>> qs = concepts(["has wings"])
    >>> read_answer(qs, 0, "yes"), read_answer(qs, 0, "yes", confidence=0.75)
    ((1,), SoftAnswer(weights=((0.25, 0.75),)))
    >>> read_answer(qs, 0, {"yes": 0.5, "no": 0.5}) is None
    True
    """
    if confidence is not None and noise is not None:
        raise ValueError(f"confidence={confidence} and noise both say how probable the answer is; give one of them")
    if isinstance(value, SoftAnswer) or (isinstance(value, Mapping) and _names_choices(queries, query, value)):
        if confidence is not None or noise is not None:
            raise ValueError("value is a soft answer already; leave out confidence and noise")
        soft = value if isinstance(value, SoftAnswer) else _from_mapping(queries, query, value)
        expected = list(queries.cell_counts(query))
        found = [len(cells) for cells in soft.weights]
        if found != expected:
            name = queries.names[query]
            raise ValueError(f"the answer to {name!r} has weights for {found} cells, and the query has {expected}")
    else:
        answer = queries.to_answer(query, value)
        if answer is None or (confidence is None and noise is None):
            return answer
        if noise is None:
            noise = AnswerNoise(number(confidence, "confidence", above=0, most=1))
        soft = noise.soft_answer(queries, query, cells_of(answer) or ())
    return None if all(cell == UNKNOWN for cell in soft.cells) else soft


def _names_choices(queries: QuerySet, query: int, value: Mapping[Any, Any]) -> bool:
    """Whether a mapping is from choices; one from the members of a group is an answer of its own kind."""
    names = [str(each).lower() for each in queries.choices(query)] if len(queries.cell_counts(query)) == 1 else []
    return bool(value) and all(isinstance(choice, str) and choice.lower() in names for choice in value)


def _from_mapping(queries: QuerySet, query: int, value: Mapping[Any, Any]) -> SoftAnswer:
    weights = [0.0] * len(queries.choices(query))
    for choice, probability in value.items():
        cell = cells_of(queries.to_answer(query, choice))
        assert cell is not None
        weights[cell[0]] = number(probability, f"the probability of {choice!r}", least=0, most=1)
    if not np.isclose(sum(weights), 1, atol=1e-3):
        name = queries.names[query]
        raise ValueError(f"the probabilities of {name!r} are {dict(value)!r:.80}, which do not sum to 1")
    return SoftAnswer((tuple(weights),))


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
        f"{name} is {value!r:.80}; expected the probability of a right answer, from 0 to 1, or a confusion matrix "
        f"P(given | true) whose rows sum to 1"
    )


# ---- simulated annotators -------------------------------------------------------------------------------------------


class Annotator(Protocol):
    """Somebody who is asked about the inputs of a batch."""

    def answer(self, inputs: IntArray, queries: IntArray, answers: IntArray, step: int) -> IntArray:
        """(n, W) the answers about inputs (n,), each asked one query (n,) at a step; the true ones are (n, W)."""


@dataclass(frozen=True)
class NoisyAnnotator:
    """Answers drawn from the confusion matrices of an `AnswerNoise`, to measure what errors cost.

    Parameters
    ----------
    query_set: the queries that will be asked.
    noise: how often answers are right.
    seed: answers depend on the seed, the input and the query, not on which inputs are pursued together.
    fresh: draw anew each time the same query is asked; else an error is repeated, as in a table with a wrong entry.

    >>> from infopursuit.queries import concepts
    >>> wrong = NoisyAnnotator(concepts(["has wings"]), AnswerNoise(0.0))
    >>> wrong.answer(np.array([0]), np.array([0]), np.array([[1]]), step=0).tolist()
    [[0]]
    """

    query_set: QuerySet
    noise: AnswerNoise
    seed: int = 0
    fresh: bool = False

    @cached_property
    def channel(self) -> NoiseChannel:
        """The confusion matrices of the queries."""
        return self.noise.bind(self.query_set)

    def answer(self, inputs: IntArray, queries: IntArray, answers: IntArray, step: int) -> IntArray:
        """See `Annotator.answer`."""
        given = np.asarray(answers).copy()
        wide = given.shape[1]
        for w in range(wide):
            known = np.flatnonzero(given[:, w] != UNKNOWN)
            places = queries[known] * wide + w
            uniform = _uniform(self.seed, inputs[known], places, step if self.fresh else 0)
            which = self.channel.which[queries[known], w]
            for t in np.unique(which):
                mine = known[which == t]
                cumulative = np.cumsum(self.channel.confusion_matrices[t][given[mine, w]], axis=1)
                drawn = (uniform[which == t, None] >= cumulative / cumulative[:, -1:]).sum(axis=1)
                given[mine, w] = np.minimum(drawn, cumulative.shape[1] - 1)
        return given


def _uniform(*numbers: Any) -> Any:
    """A number in [0, 1) for each row of whole numbers, a pure function of them (splitmix64)."""
    mixed: Any = np.uint64(0)
    with np.errstate(over="ignore"):
        for number in numbers:
            mixed = (mixed ^ np.asarray(number).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
