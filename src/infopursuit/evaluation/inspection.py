"""Inspection of a strategy: its first questions as a tree, exact since a strategy is a function of the history; and
how often queries are asked and for which class, counted over a trace."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.pursuit.explanation import often, percent, short
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.state import Branches, State, Step
from infopursuit.pursuit.trace import Trace
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.answer_tables import entropy
from infopursuit.support.checks import number, pursuit_of, whole_number
from infopursuit.support.display import Brief
from infopursuit.support.terminal import table
from infopursuit.support.types import UNKNOWN, Answer, FloatArray, History, IntArray

__all__ = ["Branch", "QueryFrequencies", "StrategyTree", "TreeNode", "query_frequencies", "strategy_tree"]

TREE, FREQUENCIES = "infopursuit.strategy/3", "infopursuit.query_frequencies/2"
"""Formats of JSON."""
LEADS = 0.2
"""A posterior from which a class is named as the leading one; below, the effective number of classes is shown."""
BRIEF = ("columns", "patches")
"""Kinds of queries whose names say as much as their sentences."""
MAX_NODES, NAMED = 5_000, 3
"""Nodes of a tree; merged answers that are named."""
NOTHING = 1e-12
"""A probability that rounding may leave where there is none."""

Cells = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class TreeNode(Brief):
    """The strategy after one history.

    history: the queries asked, each with its answer in cells. probability: of coming here, under the model. posterior:
    (C,). query: asked next, -1 where it has stopped. gain: its expected information gain in nats. stop_reason: ""
    where it goes on. branches: none where it stops or the tree is cut off. n_inputs: how many of the inputs given come
    here; n_right: for how many the most probable class here is right.
    """

    history: History
    probability: float
    posterior: tuple[float, ...]
    query: int
    gain: float
    stop_reason: str
    branches: tuple[Branch, ...] = ()
    n_inputs: int | None = None
    n_right: int | None = None

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
        return f"<StrategyTree: {sum(1 for _ in self.nodes())} nodes, {self.depth} questions deep>"

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
            said = ", and ".join(f"{begin} {answer}" for begin, answer in self._told(node))
            then = f"{self.believed(node)}{'' if node.stopped else ', and it asks on'}; {often(node.probability)}"
            inputs = f", {node.n_inputs:,} of {self.n_inputs:,} inputs" if node.n_inputs is not None else ""
            rules.append(f"{f'If {said}' if said else 'In any case'}: {then} come here{inputs}.")
        return rules

    def _told(self, node: TreeNode) -> list[tuple[str, str]]:
        """Each query on the way to a node, and its answer in words."""
        queries = self.query_set
        begins = ((q, queries.sentences[q] if q in queries.worded else f"{queries.names[q]}:") for q, _ in node.history)
        return [(begin, queries.say_answer(q, a)) for (q, begin), (_, a) in zip(begins, node.history, strict=True)]

    def to_json(self) -> str:
        """Everything as JSON."""
        data = {key: getattr(self, key) for key in ("classes", "depth", "min_share", "exact_gains", "n_inputs")}
        data = {"format": TREE, **data, "tree": self._spec(self.root)}
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    def _spec(self, node: TreeNode) -> dict[str, Any]:
        """A node and all below it; the answers on the way to it stand in the branches above."""
        asks, queries = not node.stopped, self.query_set
        return {
            **{name: getattr(node, name) for name in ("probability", "posterior", "n_inputs", "n_right")},
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
        return f"{begin} of the pursuit{inputs}."

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


# ---- growing --------------------------------------------------------------------------------------------------------


def strategy_tree(
    strategy: Pursuit[Any] | InformationPursuitClassifier,
    depth: int = 3,
    *,
    X: Any = None,
    y: Any = None,
    min_share: float = 0.01,
    max_branches: int = 5,
) -> StrategyTree:
    """The first questions of a pursuit as a tree. A strategy is a function of the history, so the tree is exact.

    Parameters
    ----------
    strategy: a pursuit, or a fitted classifier.
    depth: how many questions it goes down.
    X, y: inputs that are sent down the tree, and their labels. Answers that are impossible get branches too.
    min_share: branches that a smaller share takes, under the model and of the inputs given, are merged.
    max_branches: below one question; of more answers the less probable (with inputs: the rarer) are merged.

    A missing answer (NaN in X) has a branch of its own, with probability 0, since the model has none for it.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> queries = ip.queries.concepts(["has wings", "is red"])
    >>> print(
    ...     strategy_tree(
    ...         ip.generative_pursuit(model, queries, stopping=ip.Confidence(0.2), classes=["crow", "cat"]), depth=2
    ...     )
    ... )
    The first 2 questions of the pursuit.
    <BLANKLINE>
                         share  belief
    has wings?           100 %  crow (50 %)
    ├─ no → stop: cat     50 %  90 %
    └─ yes → stop: crow   50 %  90 %
    """
    pursuit: Pursuit[Any] = pursuit_of(strategy, "strategy")
    whole_number(depth, "depth")
    number(min_share, "min_share", least=0, below=1)
    whole_number(max_branches, "max_branches", 2)
    values = None if X is None else pursuit.queries.variables.check(pursuit.queries.observe(X), "X")
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.shape != (None if values is None else (len(values),)):
        raise ValueError(f"y has shape {labels.shape}; give one label for each of the inputs in X")
    grower = _Grower(pursuit, values, labels, min_share, max_branches, depth)
    rows = None if values is None else np.arange(len(values))
    root = grower.node(pursuit.propose(pursuit.start()), 0, (), 1.0, rows)
    classes, n = tuple(np.asarray(pursuit.classes).tolist()), None if values is None else len(values)
    return StrategyTree(root, classes, depth, min_share, pursuit.exact_gains, n, pursuit.queries)


@dataclass
class _Grower:
    pursuit: Pursuit[Any]
    values: IntArray | None
    labels: Any
    min_share: float
    max_branches: int
    depth: int
    n_nodes: int = 1

    def node(self, step: Step[Any], h: int, history: History, probability: float, rows: IntArray | None) -> TreeNode:
        """History h of a step, and all below it; rows: of the inputs that come here."""
        posterior, query, right = step.state.posterior[h], int(step.choice.query[h]), None
        if self.labels is not None and rows is not None:
            right = int((self.labels[rows] == self.pursuit.classes[int(posterior.argmax())]).sum())
        gain, branches = 0.0, []
        if query != UNKNOWN:
            gain = float(step.choice.gain[h])
            branches = self.branches(step, h, history, probability, rows) if len(history) < self.depth else []
        told = (history, probability, tuple(posterior.tolist()), query, gain, step.reason[h], tuple(branches))
        return TreeNode(*told, None if rows is None else len(rows), right)

    def branches(
        self, step: Step[Any], h: int, history: History, probability: float, rows: IntArray | None
    ) -> list[Branch]:
        """The answers to the question after history h that are followed; the others are merged into one branch."""
        query, queries = int(step.choice.query[h]), self.pursuit.queries
        p = self.answer_probabilities(step.state, h, query)
        sizes = queries.n_cells[query][queries.query_variables[query] >= 0]
        rows_of = self.answers_of_inputs(query, rows)
        likely = np.flatnonzero(p >= max(self.min_share / max(probability, 1e-300), NOTHING))
        cells_of = np.stack(np.unravel_index(likely, sizes), axis=1).tolist()
        share = {tuple(cells): float(p[i]) for cells, i in zip(cells_of, likely, strict=True)}
        min_inputs = max(self.min_share * (0 if self.values is None else len(self.values)), 1)
        for cells, some in rows_of.items():
            if cells not in share and len(some) >= min_inputs:
                share[cells] = 0.0 if UNKNOWN in cells else float(p[np.ravel_multi_index(cells, sizes)])
        # beside the possible answers, X may have impossible and missing ones
        n_kinds = int((p > 0).sum()) + sum(1 for each in share.values() if not each)
        n_kinds += sum(1 for cells in rows_of if cells not in share and UNKNOWN in cells)
        kept = sorted(share, key=lambda cells: (-len(rows_of.get(cells, ())), -share[cells], cells))
        if len(kept) + (n_kinds > len(kept)) > self.max_branches:
            kept = kept[: self.max_branches - 1]
        if len(kept) == len(share):
            kept = sorted(kept)
        if not kept:  # the tree is cut off
            return []
        none = None if rows is None else rows[:0]
        below = [(share[cells] * probability, rows_of.get(cells, none)) for cells in kept]
        found = self.follow(step, h, history, query, list(zip(kept, below, strict=True)))
        left, rest = n_kinds - len(kept), None if rows is None else len(rows) - sum(b.n_inputs or 0 for b in found)
        mass = probability * max(0.0, 1 - sum(share[cells] for cells in kept))
        if left and (mass > NOTHING * probability or rest):
            found.append(Branch(self.merged(query, kept, left, p), left, mass, None, rest))
        return found

    def follow(self, step: Step[Any], h: int, history: History, query: int, kept: Any) -> list[Branch]:
        """The branches of some answers; kept: (cells, (probability, rows)) of each."""
        self.n_nodes += len(kept)
        if self.n_nodes > MAX_NODES:
            raise ValueError(f"depth={self.depth} with min_share={self.min_share:g} gives a tree of more than "
                             f"{MAX_NODES:,} nodes; lower depth, or raise min_share")  # fmt: skip
        queries = self.pursuit.queries
        answers = np.full((len(kept), queries.width), UNKNOWN, dtype=np.int64)
        for i, (cells, _) in enumerate(kept):
            answers[i, : len(cells)] = cells
        parents = np.full(len(kept), h, dtype=np.int64)
        after = self.pursuit.absorb(step.state, Branches(parents, np.full(len(kept), query), answers), step.watch)
        then, found = self.pursuit.propose(after), []
        for i, (cells, (probability, rows)) in enumerate(kept):
            answer: Answer = None if set(cells) == {UNKNOWN} else cells
            node = self.node(then, i, (*history, (query, answer)), probability, rows)
            found.append(Branch(queries.say_answer(query, answer), 1, probability, node, node.n_inputs))
        return found

    def answer_probabilities(self, state: State[Any], h: int, query: int) -> FloatArray:
        """(answers,) p(answer | history), answer noise included."""
        belief = self.pursuit.belief
        if not belief.capabilities.answers:
            raise ValueError(f"strategy has the belief {type(belief).__name__}, which predicts no answers")
        p = np.asarray(belief.answer_distribution(state.belief, query))[h]
        if (noise := self.pursuit.channel) is not None:
            which = noise.which[query][self.pursuit.queries.query_variables[query] >= 0]
            p = p @ reduce(np.kron, [noise.confusion_matrices[t] for t in which])
        return np.asarray(np.nan_to_num(p))

    def answers_of_inputs(self, query: int, rows: IntArray | None) -> dict[Cells, IntArray]:
        """The answers that inputs give at a node, each with the rows that give it."""
        if self.values is None or rows is None or not len(rows):
            return {}
        answers = self.pursuit.queries.answers_of(self.values[rows], np.full(len(rows), query))
        answers = answers[:, self.pursuit.queries.query_variables[query] >= 0]
        kinds, kind = np.unique(answers, axis=0, return_inverse=True)
        return {tuple(cells.tolist()): rows[kind.ravel() == i] for i, cells in enumerate(kinds)}

    def merged(self, query: int, kept: list[Cells], n: int, p: FloatArray) -> str:
        """The answers that are not followed in words: by name where they are few."""
        if len(kept[0]) == 1 and n <= NAMED:
            left = [cell for cell in np.flatnonzero(p > 0).tolist() if (cell,) not in kept]
            if len(left) == n:
                return " or ".join(self.pursuit.queries.say_answer(query, (cell,)) for cell in left)
        return f"{n:,} other answer{'' if n == 1 else 's'}"


# ---- query frequencies ----------------------------------------------------------------------------------------------

EARLY, MIN_WIDTH, MIN_SPREAD = 3, 22, 0.1
"""Early questions; columns of query names; difference between the shares of two classes that are named."""


@dataclass(frozen=True, repr=False)
class QueryFrequencies(Brief):
    """How often queries were asked about the inputs of a trace; the n queries that were asked, most frequent first.

    queries: (n,) indices; names: (n,). share: (n,) of the inputs that were asked. first: (n,) of the inputs whose first
    question it was. early: (n,) of the inputs that were asked it among their first `EARLY` questions. position: (n,)
    mean place in the order, from 1. by_class: (n, C) share of the inputs of each class, NaN for a class without inputs.
    class_sizes: (C,) inputs of each class. by: "label" or "prediction", whichever classes are.
    """

    queries: IntArray
    names: tuple[str, ...]
    share: FloatArray
    first: FloatArray
    early: FloatArray
    position: FloatArray
    by_class: FloatArray
    classes: tuple[Any, ...]
    class_sizes: IntArray
    by: str
    n_inputs: int
    n_queries: int
    mean_length: float

    def __len__(self) -> int:
        return len(self.queries)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, max_rows: int = 15, width: int = 80) -> str:
        """A table of the most frequent queries, with the classes for which each is asked most and least often."""
        rows = [["", "asked", "first", f"by {EARLY}rd", "place", "most for", "least for"]]
        for i in range(min(max_rows, len(self))):
            shares = [percent(float(each[i])) for each in (self.share, self.first, self.early)]
            rows.append([self.names[i], *shares, f"{self.position[i]:.1f}", *self._extremes(i)])
        if _room(rows, width) < MIN_WIDTH:  # long class names: drop the last column
            rows = [row[:-1] for row in rows]
        room = max(MIN_WIDTH, _room(rows, width))
        rows = [[short(row[0], room), *row[1:]] for row in rows]
        lines = [
            f"{self.n_inputs:,} inputs, {self.mean_length:.1f} questions each on average; {len(self):,} of "
            f"{self.n_queries:,} queries are asked."
        ]
        lines += ["", *table(rows, gap=2)] if len(self) else []
        if len(self) > max_rows:
            rest, share = len(self) - max_rows, percent(float(self.share[max_rows]))
            lines.append(f"{rest:,} more {'is' if rest == 1 else 'are'} asked of {share} of the inputs or fewer.")
        return "\n".join(lines)

    def to_json(self) -> str:
        """Everything as JSON."""
        data = {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in vars(self).items()}
        data["by_class"] = np.where(np.isnan(self.by_class), None, self.by_class).tolist()  # type: ignore[call-overload]
        return json.dumps({"format": FREQUENCIES, **data}, ensure_ascii=False, allow_nan=False)

    def _extremes(self, i: int) -> list[str]:
        """The classes for which a query is asked most and least often; of equal ones the first, and how many more."""
        there = np.flatnonzero(self.class_sizes > 0)
        shares = self.by_class[i, there]
        if not len(there) or np.ptp(shares) < MIN_SPREAD:
            return ["", ""]
        found = []
        for share in (shares.max(), shares.min()):
            same = there[np.isclose(shares, share)]
            more = f" + {len(same) - 1}" if len(same) > 1 else ""
            found.append(f"{short(str(self.classes[same[0]]), 14)}{more} ({percent(float(share))})")
        return found


def query_frequencies(trace: Trace, y: Any = None) -> QueryFrequencies:
    """Count which queries are asked, how often, how early, and for which class.

    trace: over a batch of inputs. y: their labels; None counts by predicted class.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.9], [0.05, 0.3]])
    >>> queries = ip.queries.concepts(["has wings", "is black"])
    >>> pursuit = ip.generative_pursuit(model, queries, stopping=ip.Confidence(0.06), classes=["crow", "cat"])
    >>> print(query_frequencies(pursuit.run([[1, 0], [0, 0], [0, 1], [1, 1]])))
    4 inputs, 1.5 questions each on average; 2 of 2 queries are asked.
    <BLANKLINE>
               asked  first  by 3rd  place    most for   least for
    has wings  100 %  100 %   100 %    1.0
    is black    50 %    0 %    50 %    2.0  cat (100 %)  crow (0 %)
    """
    n, n_queries, classes = len(trace), len(trace.query_set), np.asarray(trace.classes)
    if not n:
        raise ValueError("trace is over 0 inputs; give one over at least 1")
    labels = np.asarray(trace.predictions if y is None else y)
    if labels.shape != (n,):
        raise ValueError(f"y has shape {labels.shape}, but the trace has {n} inputs; give one label for each")
    members = labels[:, None] == classes[None]  # (B, C)
    if not members.any(axis=1).all():
        strange = labels[~members.any(axis=1)].tolist()[0]
        raise ValueError(f"y has {strange!r}, which is no class of the trace; the classes are {classes.tolist()[:10]}")
    # place: (B, Q) when each input was asked each query, from 1; 0 for never; the first of repeats
    rows, steps = np.nonzero(trace.queries != UNKNOWN)
    place = np.zeros((n, n_queries), dtype=np.int64)
    place[rows[::-1], trace.queries[rows, steps][::-1]] = steps[::-1] + 1
    asked = place > 0
    position = place.sum(axis=0) / np.maximum(asked.sum(axis=0), 1)
    share = asked.mean(axis=0)
    order = np.lexsort((position, -share))
    order = order[share[order] > 0]
    sizes = members.sum(axis=0)
    with np.errstate(invalid="ignore"):
        by_class = (asked[:, order].T.astype(np.float64) @ members) / sizes
    first, early = (place == 1).mean(axis=0), (asked & (place <= EARLY)).mean(axis=0)
    told = (tuple(trace.query_set.names[i] for i in order), share[order], first[order], early[order], position[order])
    by, mean = "prediction" if y is None else "label", float(trace.length.mean())
    return QueryFrequencies(order, *told, by_class, tuple(classes.tolist()), sizes, by, n, n_queries, mean)


def _room(rows: list[list[str]], width: int) -> int:
    return width - sum(2 + max(map(len, column)) for column in list(zip(*rows, strict=True))[1:])
