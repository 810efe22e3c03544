"""The first questions of a strategy as a tree, made by `strategy_tree`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import entropy

from infopursuit.display import brief
from infopursuit.explanation import often, percent
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import History

FORMAT = "infopursuit.strategy/2"
LEADS = 0.2
"""A posterior from which a class is named as the leading one; below, the effective number of classes is shown."""
BRIEF = ("columns", "patches")
"""Kinds of queries whose names say as much as their sentences."""


@dataclass(frozen=True)
class TreeNode:
    """The strategy after one history.

    path: the queries asked, each with the answer in words. history: the same in cells. probability: of coming
    here, under the model. posterior: (C,). query: asked next, -1 where it has stopped. gain: its expected information
    gain in nats. stop_reason: "" where it goes on. branches: none where it stops or the tree is cut off. n_inputs: how
    many of the inputs given come here; n_right: for how many the most probable class here is right.
    """

    path: tuple[tuple[int, str], ...]
    history: History
    probability: float
    posterior: tuple[float, ...]
    query: int
    gain: float
    stop_reason: str
    branches: tuple[Branch, ...] = ()
    n_inputs: int | None = None
    n_right: int | None = None

    __repr__ = brief

    @property
    def stopped(self) -> bool:
        """Whether it asks no more."""
        return bool(self.stop_reason)

    @property
    def cut(self) -> bool:
        """Whether it asks on below what the tree shows."""
        return not self.stopped and not self.branches


@dataclass(frozen=True)
class Branch:
    """An answer in words and the node after it, or several answers that are not followed, whose node is None."""

    said: str
    n_answers: int
    probability: float
    node: TreeNode | None
    n_inputs: int | None = None


@dataclass(frozen=True)
class StrategyTree:
    """The first ``depth`` questions of a strategy; ``print`` shows it, `infopursuit.plots.strategy_tree` draws it.

    min_share: branches with a smaller share are merged. exact_gains: whether gains are exact or estimated. n_inputs:
    inputs sent down the tree, None where none were given.
    """

    name: str
    root: TreeNode
    classes: tuple[Any, ...]
    depth: int
    min_share: float
    exact_gains: bool
    n_inputs: int | None
    query_set: QuerySet = field(repr=False)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<StrategyTree of {self.name}: {sum(1 for _ in self.nodes())} nodes, {self.depth} questions deep>"

    def nodes(self) -> Iterator[TreeNode]:
        """All nodes, parents before their children, in the order of their branches."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(b.node for b in reversed(node.branches) if b.node is not None)

    def leaves(self) -> list[TreeNode]:
        """The nodes where it stops, and those where the tree is cut off."""
        return [node for node in self.nodes() if not node.branches]

    def question(self, node: TreeNode) -> str:
        """The question at a node; for columns and patches the shorter name."""
        queries = self.query_set
        brief = queries.kind in BRIEF and node.query not in queries.worded
        return f"{queries.names[node.query]}?" if brief else queries.sentences[node.query]

    def believed(self, node: TreeNode) -> str:
        """The posterior at a node in words: the leading class, or the effective number of classes."""
        p = np.asarray(node.posterior)
        best = int(p.argmax())
        if p[best] < LEADS:
            return f"about {np.exp(entropy(p)):.0f} left"
        return f"{self.classes[best]} ({percent(float(p[best]))})"

    def rules(self) -> list[str]:
        """Each leaf as an if-then sentence, the most probable first."""
        rules = []
        for node in sorted(self.leaves(), key=lambda node: -node.probability):
            said = ", and ".join(
                f"{self.query_set.sentences[q]} {answer}" if q in self.query_set.worded
                else f"{self.query_set.names[q]}: {answer}" for q, answer in node.path
            )  # fmt: skip
            then = f"{self.believed(node)}{'' if node.stopped else ', and it asks on'}; {often(node.probability)}"
            inputs = f", {node.n_inputs:,} of {self.n_inputs:,} inputs" if node.n_inputs is not None else ""
            rules.append(f"{f'If {said}' if said else 'In any case'}: {then} come here{inputs}.")
        return rules

    def to_json(self) -> str:
        """Everything as JSON."""
        data = {key: getattr(self, key) for key in ("name", "classes", "depth", "min_share", "exact_gains", "n_inputs")}
        data = {"format": FORMAT, **data, "tree": self._spec(self.root)}
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    def _spec(self, node: TreeNode) -> dict[str, Any]:
        asks, queries = not node.stopped, self.query_set
        history = [
            {"query": queries.names[query], "answer": None if answer is None else queries.say_answer(query, answer)}
            for query, answer in node.history
        ]
        told = {name: getattr(node, name) for name in ("probability", "posterior", "n_inputs", "n_right")}
        return {
            **told,
            "history": history,
            "prediction": self.classes[int(np.argmax(node.posterior))],
            "query": queries.names[node.query] if asks else None,
            "sentence": queries.sentences[node.query] if asks else None,
            "gain": node.gain if asks else None,
            "stop_reason": node.stop_reason or None,
            "branches": [
                {"answer": b.said, "n_answers": b.n_answers, "probability": b.probability, "n_inputs": b.n_inputs}
                | {"then": None if b.node is None else self._spec(b.node)}
                for b in node.branches
            ],
        }

    def to_text(self, *, width: int = 80) -> str:
        """The tree in lines of at most ``width`` columns: questions to the left, numbers to the right."""
        head = ["share", *self._inputs("inputs", "right"), "belief"]
        lines = [("", "", "", head), *self._lines(self.root, "", "", "", 22 if width >= 76 else 13)]
        wide = [max(map(len, column)) for column in zip(*(cells for *_, cells in lines), strict=True)]
        room = max(20, width - sum(wide) - 2 * len(wide))
        folded = [_fold(words, first, rest, room) for first, rest, words, _ in lines]
        room = max(len(line) for part in folded for line in part)
        out = [*textwrap.wrap(self._title(), width), ""]
        for part, (*_, cells) in zip(folded, lines, strict=True):
            numbers = [cell.rjust(n) for cell, n in zip(cells[:-1], wide[:-1], strict=True)]
            out += ["  ".join([part[0].ljust(room), *numbers, cells[-1]]).rstrip(), *part[1:]]
        notes = ["…: it asks on."] if any(node.cut for node in self.nodes()) else []
        notes += [] if self.exact_gains else ["Information gains are estimated on a part of the states and queries."]
        return "\n".join([*out, "", *textwrap.wrap(" ".join(notes), width)] if notes else out)

    def _title(self) -> str:
        n, m = self.depth, self.n_inputs
        begin = f"The first {n} questions" if n > 1 else "The first question" if n else "Before the first question"
        inputs = "" if m is None else f", and which of them {m:,} input{'' if m == 1 else 's'} take"
        return f"{begin} of {self.name}{inputs}."

    def _inputs(self, n_inputs: Any, right: str) -> list[str]:
        """The columns that are there only where inputs, and labels, are given."""
        number = f"{n_inputs:,}" if isinstance(n_inputs, int) else str(n_inputs)
        return [] if self.n_inputs is None else [number] if self.root.n_right is None else [number, right]

    def _lines(
        self, node: TreeNode, first: str, rest: str, said: str, room: int
    ) -> list[tuple[str, str, str, list[str]]]:
        """For a node and all below it: the indent of its first line and of the others, its words, its numbers."""
        if node.stopped:
            why = "" if node.stop_reason == "confidence" else f" ({node.stop_reason.replace('_', ' ')})"
            words = f"stop: {self.classes[int(np.argmax(node.posterior))]}{why}"
            belief = percent(max(node.posterior))
        else:
            words, belief = f"{self.question(node)}{' …' if node.cut else ''}", self.believed(node)
            name, _, number = belief.rpartition(" (")
            if len(belief) > room and name:
                belief = f"{name[: max(room - len(number) - 3, 1)]}… ({number}"
        right = percent(node.n_right / node.n_inputs) if node.n_inputs and node.n_right is not None else ""
        cells = [often(node.probability), *self._inputs(node.n_inputs, right), belief]
        found = [(first, rest, f"{said} → {words}" if said else words, cells)]
        for place, branch in enumerate(node.branches, 1):
            last = place == len(node.branches)
            begin, go_on = rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")
            if branch.node is not None:
                found += self._lines(branch.node, begin, go_on, branch.said, room)
            else:
                cells = [often(branch.probability), *self._inputs(branch.n_inputs, ""), ""]
                found.append((begin, go_on, branch.said, cells))
        return found


def _fold(words: str, first: str, rest: str, room: int) -> list[str]:
    wide, rest = max(room, len(first) + 12), f"{rest}   "
    return textwrap.wrap(words, wide, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False) or [first]
