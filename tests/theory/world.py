"""A small world: every input that can occur, how probable it is, and what it answers. ``N`` counts these inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.special import rel_entr

from infopursuit.models.finite import FiniteModel, class_log_sums
from infopursuit.models.table import TableModel
from infopursuit.queries.concepts import concepts
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.answer_tables import entropy, mutual_information
from infopursuit.support.types import UNKNOWN, Answer, FloatArray, IntArray

MAX_INPUTS = 2**16
"""A model whose variables have more joint values than this is refused: all of them are written down."""

MAX_ANSWERS_KEPT = 2**24
"""So many answers (inputs x queries) are kept at most."""


@dataclass(frozen=True, eq=False)
class World:
    """The inputs of positive probability of a finite model, and their answers to a query set.

    X is the whole vector of variables, whether a query looks at them or not; a set of inputs is an array of rows
    ``inputs`` (n,).

    values: (N, A) the variables of each input. joint: (N, C) p(x, y). answers: (N, Q) equal where two inputs answer a
    query alike.
    """

    model: FiniteModel = field(repr=False)
    queries: QuerySet = field(repr=False)
    values: IntArray = field(repr=False)
    joint: FloatArray = field(repr=False)
    answers: IntArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"<World of {len(self)} inputs, {self.joint.shape[1]} classes and {len(self.queries)} queries>"

    @cached_property
    def probabilities(self) -> FloatArray:
        """(N,) p(x)."""
        return np.asarray(self.joint.sum(axis=1))

    @cached_property
    def posteriors(self) -> FloatArray:
        """(N, C) p(y | x)."""
        return np.asarray(self.joint / self.probabilities[:, None])

    @property
    def inputs(self) -> IntArray:
        """(N,) all inputs: the event of the empty history."""
        return np.arange(len(self))

    def posterior(self, inputs: IntArray) -> FloatArray:
        """(C,) p(y | x is one of these)."""
        mass = self.joint[inputs].sum(axis=0)
        return np.asarray(mass / mass.sum())

    def answer(self, row: int, query: int) -> Answer:
        """What one input answers to one query, as cells without padding."""
        cells = self.queries.answers_of(self.values[row : row + 1], np.array([query]))[0]
        return tuple(cells[self.queries.query_variables[query] >= 0].tolist())

    def find(self, values: Any) -> int:
        """The row of the input with these variable values (A,)."""
        wanted = self.queries.variables.check(np.asarray(values)[None], "values")[0]
        rows = np.flatnonzero((self.values == wanted).all(axis=1))
        if not len(rows):
            raise ValueError(
                f"values={wanted.tolist()} has probability zero in this world; world.values lists what can occur"
            )
        return int(rows[0])


def enumerate_world(model: FiniteModel, queries: QuerySet) -> World:
    """All assignments of the variables that have positive probability, with p(x, y) = sum_z p(y, z) prod_a p(x_a | y,
    z).

    >>> from infopursuit.models import TableModel
    >>> model = TableModel([0.5, 0.5], None, [[0.5, 0.0], [1.0, 0.5]])
    >>> world = enumerate_world(model, concepts(["wings", "beak"]))
    >>> world.values.tolist(), world.probabilities.tolist()
    ([[0, 0], [1, 0], [1, 1]], [0.25, 0.5, 0.25])
    >>> world.posteriors.tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    if not isinstance(model, FiniteModel):
        raise TypeError(
            f"model is a {type(model).__name__}, and theory sums over finitely many latent states; give a finite model "
            f"such as ip.models.TableModel, or estimate on a sample with Pursuit.run(X)"
        )
    if queries.variables != model.variables:
        raise ValueError(
            f"queries reveal variables of sizes {queries.variables.sizes[:10]}, but the model has variables of sizes "
            f"{model.variables.sizes[:10]}; give the query set that the model was made for"
        )
    n_inputs = math.prod(model.variables.sizes)  # whole numbers of Python: no overflow
    if n_inputs > MAX_INPUTS:
        size = str(n_inputs) if n_inputs < 10**9 else f"about 1e{math.floor(math.log10(n_inputs))}"
        raise ValueError(
            f"model has {len(model.variables)} variables with {size} joint values, more than "
            f"{MAX_INPUTS}, and theory writes "
            f"all of them down; give a model of fewer variables or values, or estimate on a sample with Pursuit.run(X)"
        )
    if n_inputs * len(queries) > MAX_ANSWERS_KEPT:
        raise ValueError(
            f"queries has {len(queries)} queries for {n_inputs} joint values of the variables, "
            f"{n_inputs * len(queries)} answers, more than {MAX_ANSWERS_KEPT}; "
            f"give fewer queries, or a model of fewer variables"
        )
    values = np.stack([axis.ravel() for axis in np.indices(model.variables.sizes)], axis=1).astype(np.int64)
    joint = _joint(model, values)
    occurs = joint.sum(axis=1) > 0
    values = values[occurs]
    return World(model, queries, values, joint[occurs], _answers(queries, values))


def information(world: World, inputs: IntArray | None = None) -> float:
    """I(X; Y), or I(X; Y | x is one of these inputs), in nats.

    Both H(Y | event) - E[H(Y | X) | event] and E[KL(p(Y | X) || p(Y | event)) | event]: what is left to learn after a
    history.

    >>> round(information(xor_world()), 6)
    0.693147
    """
    return float(mutual_information(world.joint if inputs is None else world.joint[inputs]))


def gains(world: World, inputs: IntArray | None = None) -> FloatArray:
    """(Q,) I(q(X); Y | x is one of these inputs) of every query in nats (eq. 18), by summing over the inputs.

    >>> gains(xor_world()).round(6).tolist()
    [0.0, 0.0]
    """
    rows = world.inputs if inputs is None else inputs
    joint = world.joint[rows] / world.joint[rows].sum()
    label = float(entropy(joint.sum(axis=0)))
    found = np.zeros(len(world.queries))
    for query in range(len(world.queries)):
        answer = world.answers[rows, query]
        table = np.zeros((int(answer.max()) + 1, joint.shape[1]))  # p(answer, y | inputs)
        np.add.at(table, answer, joint)
        found[query] = max(0.0, label - float(entropy(table.ravel()) - entropy(table.sum(axis=1))))
    return found


def table_world(queries: QuerySet, values: Any, joint: Any) -> World:
    """The world of a table of p(x, y): any distribution on the variables, dependent in any way.

    values: (N, A) the variables of each input. joint: (N, C) p(x, y) up to a factor. Each input is one latent state of
    its
    model.

    >>> world = table_world(concepts(["wings", "beak"]), [[0, 0], [1, 1]], [[3, 1], [0, 4]])
    >>> world.probabilities.tolist(), world.posteriors.round(6).tolist()
    ([0.5, 0.5], [[0.75, 0.25], [0.0, 1.0]])
    """
    rows = queries.variables.check(values)
    table = np.asarray(joint, dtype=np.float64)
    if (
        table.ndim != 2
        or len(table) != len(rows)
        or not np.isfinite(table).all()
        or (table < 0).any()
        or not table.any()
    ):
        raise ValueError(
            f"joint has shape {table.shape}; expected p(x, y) as ({len(rows)}, classes), not negative and not all zero"
        )
    if (rows == UNKNOWN).any():
        raise ValueError(
            f"values[{int(np.argwhere(rows == UNKNOWN)[0, 0])}] has an unknown variable; give every variable a value"
        )
    prior = table.sum(axis=0)
    latent = np.where(prior > 0, table, 1.0).T  # a class of probability zero needs some p(z | y); any will do
    probs = np.eye(max(queries.variables.sizes))[rows]  # (Z, A, V)
    model = TableModel(
        prior / prior.sum(),
        latent / latent.sum(axis=1, keepdims=True),
        np.broadcast_to(probs, (table.shape[1], *probs.shape)),
        sizes=queries.variables.sizes,
    )
    return enumerate_world(model, queries)


def xor_world(n_bits: int = 2) -> World:
    """Fair bits with their parity as the label: no query tells anything until all others were asked.

    The trap of the greedy choice (Appendix A): with `InformationGain` a pursuit needs a patience of ``n_bits - 1``, or
    it stops before any query is informative.

    >>> xor_world().values.tolist(), xor_world().posteriors.argmax(axis=1).tolist()
    ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    """
    if not 2 <= n_bits <= 12:
        raise ValueError(f"n_bits={n_bits} must lie between 2 and 12")
    words = np.array(list(product((0, 1), repeat=n_bits)))
    return table_world(concepts([f"bit {i}" for i in range(n_bits)]), words, np.eye(2)[words.sum(axis=1) % 2])


def _joint(model: FiniteModel, values: IntArray) -> FloatArray:
    """(N, C) p(x, y) of some inputs, in parts that bound the (n, S) table of latent states."""
    slots = values + model.variables.offsets[:-1]
    with np.errstate(divide="ignore"):
        log_probs = np.log(model.probs.astype(np.float64))
    rows = max(1, 2**22 // model.n_states)
    parts = []
    for start in range(0, len(values), rows):
        log_weights = np.tile(model.log_prior, (len(slots[start : start + rows]), 1))
        for variable in range(len(model.variables)):
            log_weights += log_probs[slots[start : start + rows, variable]]
        parts.append(np.exp(class_log_sums(log_weights, model.offsets)))
    return np.concatenate(parts)


def kl_divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """(..., C) KL(p || q) over the last axis, in nats; infinite where q is 0 and p is not."""
    return np.asarray(np.maximum(rel_entr(p, q).sum(axis=-1), 0.0))


def _answers(queries: QuerySet, values: IntArray) -> IntArray:
    """(N, Q) the joint answer to each query, numbered from 0 in the order of its cells."""
    answers = np.empty((len(values), len(queries)), dtype=np.int64)
    for query in range(len(queries)):
        cells = queries.answers_of(values, np.full(len(values), query))  # (N, W)
        joint = np.ravel_multi_index(list(np.where(cells == UNKNOWN, 0, cells).T), list(queries.n_cells[query]))
        answers[:, query] = np.unique(joint, return_inverse=True)[1].ravel()
    return answers
