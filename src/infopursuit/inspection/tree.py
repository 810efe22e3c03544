"""A strategy as a tree, down to a depth: what is asked after which answers, how often one comes there, and what is
believed there. Made by `strategy_tree`; CART's tree is told in the same form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from infopursuit.explanation import percent
from infopursuit.foresight import entropy
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import History

FORMAT = "infopursuit.strategy/1"
LEADS = 0.2
"""A posterior from which on a class is named as one that leads; below, it is told how many are left."""

BRIEF = ("columns", "patches")
"""Kinds of queries whose names say as much as their sentences."""


@dataclass(frozen=True)
class TreeNode:
    """What a strategy does after one history.

    path: the queries on the way, each with the answer in words. history: the same in cells; None in CART's tree, where
    a branch may stand for many answers. probability: of coming here, under the model (in CART's tree the share of its
    training rows). posterior: (C,) what is believed here. query: what is asked next, -1 where it has stopped. gain:
    nats that it is expected to tell. stopped_because: the reason, "" where it goes on. branches: one for each answer
    that is shown; none at the stop, and none where the tree is cut off. n_inputs: how many of the inputs given come
    here. n_right: how many of these would be right with what is believed here; None where nobody gave any.
    """

    path: tuple[tuple[int, str], ...]
    history: History | None
    probability: float
    posterior: tuple[float, ...]
    query: int
    gain: float
    stopped_because: str
    branches: tuple[Branch, ...] = ()
    n_inputs: int | None = None
    n_right: int | None = None

    @property
    def stopped(self) -> bool:
        """Whether it asks no more."""
        return bool(self.stopped_because)

    @property
    def cut(self) -> bool:
        """Whether it asks on, and the tree does not show it."""
        return not self.stopped and not self.branches


@dataclass(frozen=True)
class Branch:
    """One answer and what follows, or several answers together that the tree does not follow.

    said: the answer in words; of several, how many there are. n_answers: how many it stands for. probability and
    n_inputs: as those of a node, of coming this way. node: None where it is not followed.
    """

    said: str
    n_answers: int
    probability: float
    node: TreeNode | None
    n_inputs: int | None = None


@dataclass(frozen=True)
class StrategyTree:
    """The first questions of a strategy as a tree. ``print(tree)`` tells it; `infopursuit.plots.strategy_tree` draws
    it.

    name: whose strategy it is. depth: how many questions it goes down. least: branches with a smaller share of all are
    put together. exact_gains: whether the questions are those with the largest gain, or estimated to be. n_inputs: how
    many inputs were sent down the tree, None where none were; n_right says nothing where they had no labels.
    share_of: what probabilities are shares of, in words.
    """

    name: str
    root: TreeNode
    classes: tuple[Any, ...]
    depth: int
    least: float
    exact_gains: bool
    n_inputs: int | None
    query_set: QuerySet = field(repr=False)
    share_of: str = "under its model"

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        n = sum(1 for _ in self.nodes())
        return f"<StrategyTree of {self.name}: {n} nodes, {self.depth} questions deep>"

    def nodes(self) -> Iterator[TreeNode]:
        """All nodes, the root first, parents before their children, in the order of their branches."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(b.node for b in reversed(node.branches) if b.node is not None)

    def leaves(self) -> list[TreeNode]:
        """The nodes where it stops, and those where the tree is cut off."""
        return [node for node in self.nodes() if not node.branches]

    def to_text(self, *, width: int = 80) -> str:
        """The tree in lines of at most so many columns."""
        from infopursuit.inspection.tree_text import tree_lines

        return "\n".join(tree_lines(self, width))

    def rules(self) -> list[str]:
        """Each leaf as a sentence: if these are the answers, then this is believed; the most probable first."""
        leaves = sorted(self.leaves(), key=lambda node: -node.probability)
        return [self._rule(node) for node in leaves]

    def to_json(self) -> str:
        """Everything as JSON."""
        data = {
            "format": FORMAT,
            "name": self.name,
            "classes": list(self.classes),
            "depth": self.depth,
            "least": self.least,
            "exact_gains": self.exact_gains,
            "n_inputs": self.n_inputs,
            "tree": self._spec(self.root),
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    def question(self, node: TreeNode) -> str:
        """What is asked at a node, in words; of columns and patches the name, which is shorter than the sentence."""
        queries = self.query_set
        brief = queries.kind in BRIEF and node.query not in queries.worded
        return f"{queries.names[node.query]}?" if brief else queries.sentences[node.query]

    def believed(self, node: TreeNode) -> str:
        """What is believed at a node in a few words: the class that leads, or how many are left."""
        return believed(self.classes, node.posterior)

    def _rule(self, node: TreeNode) -> str:
        words = [_told(self.query_set, query, said) for query, said in node.path]
        begin = f"If {', and '.join(words)}: " if words else "In any case: "
        end = self.believed(node) if node.stopped else f"{self.believed(node)}, and it asks on"
        taken = f"{often(node.probability)} come here"
        if node.n_inputs is not None and self.n_inputs:
            taken += f", {node.n_inputs:,} of {self.n_inputs:,} inputs"
        return f"{begin}{end}; {taken}."

    def _spec(self, node: TreeNode) -> dict[str, Any]:
        asks = not node.stopped
        return {
            "history": None if node.history is None else _history_spec(self.query_set, node.history),
            "probability": node.probability,
            "posterior": list(node.posterior),
            "prediction": self.classes[int(np.argmax(node.posterior))],
            "query": self.query_set.names[node.query] if asks else None,
            "sentence": self.query_set.sentences[node.query] if asks else None,
            "gain": node.gain if asks else None,
            "stopped_because": node.stopped_because or None,
            "n_inputs": node.n_inputs,
            "n_right": node.n_right,
            "branches": [
                {
                    "answer": branch.said,
                    "n_answers": branch.n_answers,
                    "probability": branch.probability,
                    "n_inputs": branch.n_inputs,
                    "then": None if branch.node is None else self._spec(branch.node),
                }
                for branch in node.branches
            ],
        }


def believed(classes: tuple[Any, ...], posterior: Any) -> str:
    """The class that leads with its posterior, or how many are left where none leads.

    >>> believed(("cat", "cod"), (0.9, 0.1)), believed(tuple(range(20)), [0.05] * 20)
    ('cat (90 %)', 'about 20 left')
    """
    p = np.asarray(posterior, dtype=np.float64)
    best = int(p.argmax())
    if p[best] < LEADS:
        return f"about {np.exp(entropy(p)):.0f} left"
    return f"{classes[best]} ({percent(float(p[best]))})"


def often(p: float) -> str:
    """A share as a reader wants it: one that is there is never called 0 %.

    >>> often(0.25), often(0.001), often(0)
    ('25 %', '< 1 %', '0 %')
    """
    return "< 1 %" if 0 < p < 0.005 else percent(p)


def _told(queries: QuerySet, query: int, said: str) -> str:
    """A query and an answer in words as one phrase, as `QuerySet.say` has it."""
    return f"{queries.sentences[query]} {said}" if query in queries.worded else f"{queries.names[query]}: {said}"


def _history_spec(queries: QuerySet, history: History) -> list[dict[str, Any]]:
    return [
        {"query": queries.names[query], "answer": None if answer is None else queries.say_answer(query, answer)}
        for query, answer in history
    ]
