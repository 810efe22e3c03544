"""Strategies: decision trees over the inputs of a small world, and Proposition 1, which measures them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import STOP
from infopursuit.pursuit.trace import Trace
from infopursuit.strategies.generative.answer_tables import mutual_information
from infopursuit.support.types import UNKNOWN, Answer, FloatArray, History, IntArray
from theory.world import World, enumerate_world, kl_divergence


@dataclass(frozen=True, eq=False)
class Node:
    """What a strategy does after one history.

    inputs: (n,) the rows of the world that agree with the history: the event S_k. query: what is asked next, -1 for
    STOP.
    children: the node after each answer that can occur.
    """

    inputs: IntArray = field(repr=False)
    query: int
    children: Mapping[Answer, Node]


@dataclass(frozen=True, eq=False)
class Strategy:
    """A function from histories to the next query or STOP, on all histories that can occur in a world (Section 3)."""

    world: World
    root: Node = field(repr=False)

    def nodes(self) -> Iterator[tuple[History, Node]]:
        """Every history that can occur with its node, the empty one first, parents before their children."""
        waiting: list[tuple[History, Node]] = [((), self.root)]
        while waiting:
            history, node = waiting.pop()
            yield history, node
            for answer, child in reversed(list(node.children.items())):
                waiting.append(((*history, (node.query, answer)), child))

    @cached_property
    def tree(self) -> dict[History, int | str]:
        """History -> index of the next query, or ``STOP``."""
        return {history: STOP if node.query == UNKNOWN else node.query for history, node in self.nodes()}

    def walk(self, values: Any) -> History:
        """expl(x) (eq. 2): all that is asked and answered about the input with these variable values (A,)."""
        row = self.world.find(values)
        history: list[tuple[int, Answer]] = []
        node = self.root
        while node.query != UNKNOWN:
            answer = self.world.answer(row, node.query)
            history.append((node.query, answer))
            node = node.children[answer]
        return tuple(history)

    @cached_property
    def lengths(self) -> IntArray:
        """(N,) how many queries are asked about each input."""
        lengths = np.zeros(len(self.world), dtype=np.int64)
        for history, node in self.nodes():
            lengths[node.inputs] = len(history)  # children come after their parents
        return lengths

    @cached_property
    def explained(self) -> FloatArray:
        """(N, C) p(y | expl(x)): the posterior given the event of eq. 4 that each input ends in."""
        explained = np.empty_like(self.world.joint)
        for _, node in self.nodes():
            if node.query == UNKNOWN:
                explained[node.inputs] = self.world.posterior(node.inputs)
        return explained


def pursuit_tree(pursuit: Pursuit, world: World | None = None) -> Strategy:
    """The strategy that a pursuit follows, found by running it on every input of its world.

    ``world`` saves the enumeration where it is known already.

    >>> from infopursuit.pursuit.stopping import Confidence
    >>> from theory.world import xor_world
    >>> world = xor_world()
    >>> from infopursuit import generative_pursuit
    >>> pursuit_tree(generative_pursuit(world.model, world.queries, stopping=Confidence(0)), world).walk([1, 0])
    ((0, (1,)), (1, (0,)))
    """
    if world is None:
        world = enumerate_world(pursuit.model, pursuit.queries)
    elif world.queries is not pursuit.queries or world.model is not pursuit.model:
        raise ValueError(
            "world belongs to another model or query set than the pursuit; leave it out, or enumerate_world(...) anew"
        )
    trace = pursuit.run_values(world.values, progress=False)
    return Strategy(world, _grow(world, trace))


def expected_length(strategy: Strategy) -> float:
    """E[|expl(X)|], the objective of eq. 3.

    >>> from infopursuit.pursuit.stopping import Confidence
    >>> from theory import optimal_strategy, xor_world
    >>> expected_length(optimal_strategy(xor_world(2), Confidence(0)))
    2.0
    """
    return float(strategy.world.probabilities @ strategy.lengths)


def sufficiency(strategy: Strategy) -> float:
    """E[KL(p(Y | X) || p(Y | expl(X)))] in nats, the constraint of eq. 3 with d = KL: 0 for a sufficient strategy.

    Computed input by input from that definition; `sum_of_gains` never enters, so that Proposition 1 is a test of both.

    >>> from infopursuit.pursuit.stopping import MaxQueries
    >>> from theory.world import xor_world
    >>> world = xor_world()
    >>> from infopursuit import generative_pursuit
    >>> round(
    ...     sufficiency(pursuit_tree(generative_pursuit(world.model, world.queries, stopping=MaxQueries(1)), world)), 6
    ... )
    0.693147
    """
    world = strategy.world
    divergence = kl_divergence(world.posteriors, strategy.explained)
    return float(world.probabilities @ divergence)


def gains_by_step(strategy: Strategy) -> FloatArray:
    """(K,) I(Y; S_k(X) | S_{k-1}(X)) for k = 1, ..., tau (Proposition 1), nats: what the k-th query tells on average.

    S_k determines S_{k-1}, so each term is the average over the nodes at depth k - 1 of I(q(X); Y | S_{k-1}). Inputs
    whose explanation has ended already add 0.
    """
    world = strategy.world
    steps = np.zeros(int(strategy.lengths.max(initial=0)))
    for history, node in strategy.nodes():
        if node.query != UNKNOWN:
            # table: (answers, C) p(answer, y, S)
            table = np.stack([world.joint[child.inputs].sum(axis=0) for child in node.children.values()])
            steps[len(history)] += table.sum() * float(mutual_information(table))
    return steps


def sum_of_gains(strategy: Strategy) -> float:
    """Sum over k of I(Y; S_k(X) | S_{k-1}(X)): the left side of Proposition 1 (eq. 9), in nats.

    Proposition 1 is the identity ``sum_of_gains(s) == information(world) - sufficiency(s)``, for every strategy.

    >>> from infopursuit.pursuit.stopping import Confidence
    >>> from theory import optimal_strategy, xor_world
    >>> strategy = optimal_strategy(xor_world(), Confidence(0))
    >>> gains_by_step(strategy).round(6).tolist(), round(sum_of_gains(strategy), 6)
    ([0.0, 0.693147], 0.693147)
    """
    return float(gains_by_step(strategy).sum())


def branches(world: World, inputs: IntArray, query: int) -> dict[Answer, IntArray]:
    """The inputs that go together after a query, by their answer, in the order of the answers."""
    labels = world.answers[inputs, query]
    parts = [inputs[labels == label] for label in np.unique(labels)]
    return {world.answer(int(part[0]), query): part for part in parts}


def _grow(world: World, trace: Trace) -> Node:
    """The tree of what was asked about every input, after the same answers always the same."""
    roots: dict[Answer, Node] = {}
    waiting: list[tuple[IntArray, int, dict[Answer, Node], Answer]] = [(world.inputs, 0, roots, None)]
    while waiting:  # no recursion: a pursuit may go on for as long as there are queries
        inputs, depth, siblings, answer = waiting.pop()
        going = trace.length[inputs] > depth
        asked = set(trace.queries[inputs, depth].tolist() if going.any() else [UNKNOWN])
        if len(asked) > 1:
            raise RuntimeError(
                f"the pursuit is no function of the history: after the same {depth} answers it does each of "
                f"{sorted(asked)} (-1 is STOP); this is a bug in the engine, please report it"
            )
        query = asked.pop()
        children: dict[Answer, Node] = {}
        siblings[answer] = Node(inputs, query, children)
        if query != UNKNOWN:
            below = branches(world, inputs, query)
            children.update(dict.fromkeys(below, siblings[answer]))  # fixes the order of the answers
            waiting.extend((part, depth + 1, children, said) for said, part in below.items())
    return roots[None]
