"""Growing the tree of a pursuit: level by level, all histories of a level side by side, as the engine has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from infopursuit.engine import Branches, Pursuit, State, Step
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.inspection.answers import NOTHING, Answers, likely_answers, probabilities
from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode
from infopursuit.progress import Progress
from infopursuit.types import UNKNOWN, Answer, History, IntArray

MOST_NODES = 5_000
"""Nodes of a tree; nobody reads more, and a tree that goes down too far would never end."""
NAMED = 3
"""Answers that are named where they are put together; more are counted."""


@dataclass
class _Draft:
    """A node that is being made: how one comes here, and the rows of X that do."""

    path: tuple[tuple[int, str], ...]
    history: History
    probability: float
    rows: IntArray | None
    followed: list[_Draft] = field(default_factory=list)
    others: Branch | None = None
    node: TreeNode | None = None


def strategy_tree(
    strategy: Pursuit | InformationPursuitClassifier,
    depth: int = 3,
    *,
    X: Any = None,
    y: Any = None,
    least: float = 0.01,
    most_branches: int = 5,
    progress: bool | None = None,
) -> StrategyTree:
    """The first questions of a pursuit as a tree. A strategy is a function of the history, so the tree is exact.

    Parameters
    ----------
    strategy: a pursuit, or a fitted classifier.
    depth: how many questions it goes down.
    X: inputs that are sent down the tree, to see how many come where. Answers that occur in them and not under the
        model get branches too.
    y: their labels, to see how many would be right at each node.
    least: branches that less than this share of all take, under the model and of the inputs given, are put together.
    most_branches: branches below one question at the most; of more answers the less probable (with inputs: the rarer)
        are put together as the last branch.
    progress: as in `Pursuit.run`.

    An answer that is not known (NaN in X) has a branch of its own; the model has no probability for it, so 0 is said.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> queries = ip.queries.concepts(["has wings", "is red"])
    >>> print(strategy_tree(ip.Pursuit(model, queries, stopping=ip.Confidence(0.2), classes=["crow", "cat"]), depth=2))
    The first 2 questions of the pursuit.
    <BLANKLINE>
                         share  belief
    has wings?           100 %  crow (50 %)
    ├─ no → stop: cat     50 %  90 %
    └─ yes → stop: crow   50 %  90 %
    """
    pursuit = strategy.pursuit_ if isinstance(strategy, InformationPursuitClassifier) else strategy
    if not isinstance(pursuit, Pursuit):
        raise TypeError(f"strategy is {type(strategy).__name__}; expected a Pursuit or a fitted classifier")
    _check(depth, least, most_branches)
    values = None if X is None else pursuit.queries.atoms.check(pursuit.queries.observe(X), "X")
    labels = _labels(y, values)
    grower = _Grower(pursuit, values, labels, least, most_branches, progress)
    return StrategyTree(
        name="the pursuit",
        root=grower.grow(depth),
        classes=tuple(c.item() if isinstance(c, np.generic) else c for c in pursuit.classes),
        depth=depth,
        least=least,
        exact_gains=bool(pursuit.chooser.exact),
        n_inputs=None if values is None else len(values),
        query_set=pursuit.queries,
    )


class _Grower:
    """Grows one tree."""

    def __init__(
        self,
        pursuit: Pursuit,
        values: IntArray | None,
        labels: Any,
        least: float,
        most_branches: int,
        progress: bool | None,
    ) -> None:
        self.pursuit, self.values, self.labels = pursuit, values, labels
        self.least, self.most_branches, self.progress = least, most_branches, progress
        self.n_inputs = 0 if values is None else len(values)

    def grow(self, depth: int) -> TreeNode:
        """All levels from above to below, then the nodes from below to above."""
        root = _Draft((), (), 1.0, None if self.values is None else np.arange(len(self.values)))
        levels, state = [[root]], self.pursuit.start()
        n_nodes = 1
        for level in range(depth + 1):
            step = self.pursuit.propose(state)
            drafts = levels[-1]
            for h, draft in enumerate(drafts):
                draft.node = self._node(draft, step, h)
            if level == depth:
                break
            chosen = self._branches(drafts, step, level)
            if not chosen:
                break
            n_nodes += len(chosen)
            if n_nodes > MOST_NODES:
                raise ValueError(
                    f"depth={depth} with least={self.least:g} gives a tree of more than {MOST_NODES:,} "
                    f"nodes; go down less far, or raise least"
                )
            branches = Branches(
                np.array([h for h, _, _ in chosen], dtype=np.int64),
                np.array([step.query[h] for h, _, _ in chosen], dtype=np.int64),
                np.array([cells for _, cells, _ in chosen], dtype=np.int64),
            )
            state = self.pursuit.absorb(step.state, branches, step.watch)
            levels.append([draft for _, _, draft in chosen])
        for drafts in reversed(levels):
            for draft in drafts:
                self._join(draft)
        assert root.node is not None
        return root.node

    def _node(self, draft: _Draft, step: Step, h: int) -> TreeNode:
        """The node without what is below it."""
        posterior = step.state.posterior[h]
        right = None
        if self.labels is not None and draft.rows is not None:
            right = int((self.labels[draft.rows] == self.pursuit.classes[int(posterior.argmax())]).sum())
        return TreeNode(
            path=draft.path,
            history=draft.history,
            probability=draft.probability,
            posterior=tuple(posterior.tolist()),
            query=int(step.query[h]),
            gain=float(step.gain[h]) if step.query[h] != UNKNOWN else 0.0,
            stopped_because=step.reason[h],
            n_inputs=None if draft.rows is None else len(draft.rows),
            n_right=right,
        )

    def _branches(self, drafts: list[_Draft], step: Step, level: int) -> list[tuple[int, IntArray, _Draft]]:
        """The branches of a level that are followed: the history, the answer, and the draft after it."""
        chosen: list[tuple[int, IntArray, _Draft]] = []
        going = [h for h in range(len(drafts)) if step.query[h] != UNKNOWN]
        with Progress(f"question {level + 1}", len(going), show=self.progress) as shown:
            for h in going:
                chosen += [(h, cells, draft) for cells, draft in self._follow(drafts[h], step.state, h, step.query[h])]
                shown.advance()
        return chosen

    def _follow(self, draft: _Draft, state: State, h: int, query: int) -> list[tuple[IntArray, _Draft]]:
        """The answers to one question that are followed; those that are not are put together as one branch."""
        found = likely_answers(self.pursuit, state, h, query, self.least / max(draft.probability, 1e-300))
        took = self._took(draft, query)
        share = {tuple(c.tolist()): float(p) for c, p in zip(found.cells, found.probabilities, strict=True)}
        often = [c for c, rows in took.items() if c not in share and len(rows) >= max(self.least * self.n_inputs, 1)]
        share |= self._shares(state, h, query, often)
        # beside the answers that can be there may be some in X that cannot, or that are not known
        n_kinds = found.n_possible + sum(1 for c in often if not share[c])
        n_kinds += sum(1 for c in took if c not in share and self._unknown(query, c))
        kept = sorted(share, key=lambda c: (-len(took.get(c, ())), -share[c], c))
        if len(kept) + (n_kinds > len(kept)) > self.most_branches:
            kept = kept[: self.most_branches - 1]
        if len(kept) == len(share):
            kept = sorted(kept)  # all that matter are there: in the order of the answers
        if kept and n_kinds > len(kept):  # where none is taken often enough, the tree is cut off
            others = self._others(draft, query, kept, share, took, n_kinds - len(kept), found)
            draft.others = others if others.probability > NOTHING or others.n_inputs else None
        below = [self._below(draft, query, cells, share[cells], took.get(cells)) for cells in kept]
        draft.followed = below
        return [(np.array(cells), child) for cells, child in zip(kept, below, strict=True)]

    def _took(self, draft: _Draft, query: int) -> dict[tuple[int, ...], IntArray]:
        """The answers that inputs give at a node, each with the inputs that give it."""
        if self.values is None or draft.rows is None or not len(draft.rows):
            return {}
        answers = self.pursuit.queries.answers_of(self.values[draft.rows], np.full(len(draft.rows), query))
        kinds, kind = np.unique(answers, axis=0, return_inverse=True)
        return {tuple(cells.tolist()): draft.rows[kind.ravel() == i] for i, cells in enumerate(kinds)}

    def _shares(self, state: State, h: int, query: int, answers: list[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
        """The probability of some answers; 0 of one that is not known, since the model does not say what will be."""
        known = [cells for cells in answers if not self._unknown(query, cells)]
        cells = np.array(known, dtype=np.int64).reshape(len(known), self.pursuit.queries.width)
        found = probabilities(self.pursuit, state, h, query, cells).tolist()
        return dict.fromkeys(answers, 0.0) | dict(zip(known, found, strict=True))

    def _unknown(self, query: int, cells: tuple[int, ...]) -> bool:
        """Whether an answer leaves an atom of its query open."""
        return bool((np.array(cells)[self.pursuit.queries.query_atoms[query] >= 0] == UNKNOWN).any())

    def _below(
        self, draft: _Draft, query: int, cells: tuple[int, ...], probability: float, rows: IntArray | None
    ) -> _Draft:
        """The draft of the node after an answer."""
        wide = int((self.pursuit.queries.query_atoms[query] >= 0).sum())
        answer: Answer = None if all(cell == UNKNOWN for cell in cells) else cells[:wide]
        none = np.zeros(0, dtype=np.int64)
        return _Draft(
            path=(*draft.path, (query, self.pursuit.queries.say_answer(query, answer))),
            history=(*draft.history, (query, answer)),
            probability=draft.probability * probability,
            rows=None if draft.rows is None else none if rows is None else rows,
        )

    def _others(
        self,
        draft: _Draft,
        query: int,
        kept: list[tuple[int, ...]],
        share: dict[tuple[int, ...], float],
        took: dict[tuple[int, ...], IntArray],
        n: int,
        found: Answers,
    ) -> Branch:
        """The branch of all answers that are not followed: named where they are few, else counted."""
        said = f"{n:,} other answer{'' if n == 1 else 's'}"
        if len(found.cells_of) == 1:
            left = [int(cell) for cell in found.cells_of[0] if not any(cells[0] == cell for cells in kept)]
            if len(left) == n <= NAMED:
                said = " or ".join(self.pursuit.queries.say_answer(query, (cell,)) for cell in left)
        mass = max(0.0, 1 - sum(share[cells] for cells in kept))
        rest = sum(len(rows) for cells, rows in took.items() if cells not in kept)
        return Branch(said, n, draft.probability * mass, None, None if draft.rows is None else rest)

    def _join(self, draft: _Draft) -> None:
        """The node with what is below it."""
        branches = []
        for below in draft.followed:
            n = None if below.rows is None else len(below.rows)
            branches.append(Branch(below.path[-1][1], 1, below.probability, below.node, n))
        if draft.others is not None:
            branches.append(draft.others)
        assert draft.node is not None
        draft.node = replace(draft.node, branches=tuple(branches))


def _check(depth: int, least: float, most_branches: int) -> None:
    if isinstance(depth, bool) or int(depth) != depth or depth < 0:
        raise ValueError(f"depth={depth} must be a whole number, 0 or more")
    if not 0 <= least < 1:
        raise ValueError(f"least={least} must be a share from 0 up to 1, such as 0.01")
    if most_branches < 2:
        raise ValueError(f"most_branches={most_branches} must be at least 2")


def _labels(y: Any, values: IntArray | None) -> Any:
    if y is None:
        return None
    if values is None:
        raise ValueError("y is given without X; give the inputs that the labels belong to")
    labels = np.asarray(y)
    if labels.shape != (len(values),):
        raise ValueError(f"y has shape {labels.shape}, but X has {len(values)} inputs; give one label for each")
    return labels
