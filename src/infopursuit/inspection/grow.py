"""The tree of a pursuit, grown level by level, all histories of a level side by side as the engine has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from infopursuit.checks import number, pursuit_of, whole_number
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode
from infopursuit.progress import Progress
from infopursuit.queries.choices import count_answers
from infopursuit.state import Branches, State, Step
from infopursuit.types import UNKNOWN, Answer, FloatArray, History, IntArray

MAX_NODES, NAMED, BEAM = 5_000, 3, 512
"""Nodes of a tree; merged answers that are named; beginnings of answers that are followed."""
NOTHING = 1e-12
"""A probability that rounding may leave where there is none."""

Cells = tuple[int, ...]


def strategy_tree(
    strategy: Pursuit[Any] | InformationPursuitClassifier,
    depth: int = 3,
    *,
    X: Any = None,
    y: Any = None,
    min_share: float = 0.01,
    max_branches: int = 5,
    progress: bool | None = None,
) -> StrategyTree:
    """The first questions of a pursuit as a tree. A strategy is a function of the history, so the tree is exact.

    Parameters
    ----------
    strategy: a pursuit, or a fitted classifier.
    depth: how many questions it goes down.
    X, y: inputs that are sent down the tree, and their labels. Answers that are impossible get branches too.
    min_share: branches that a smaller share takes, under the model and of the inputs given, are merged.
    max_branches: below one question; of more answers the less probable (with inputs: the rarer) are merged.
    progress: as in `Pursuit.run`.

    A missing answer (NaN in X) has a branch of its own, with probability 0, since the model has none for it.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> queries = ip.queries.concepts(["has wings", "is red"])
    >>> print(
    ...     strategy_tree(ip.Pursuit.of(model, queries, stopping=ip.Confidence(0.2), classes=["crow", "cat"]), depth=2)
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
    root = _Grower(pursuit, values, labels, min_share, max_branches, progress).grow(depth)
    classes, n = tuple(np.asarray(pursuit.classes).tolist()), None if values is None else len(values)
    return StrategyTree("the pursuit", root, classes, depth, min_share, pursuit.exact_gains, n, pursuit.queries)


@dataclass
class _Draft:
    """A node that is being made, the rows of X that come to it, and what is below it."""

    path: tuple[tuple[int, str], ...]
    history: History
    probability: float
    rows: IntArray | None
    followed: list[_Draft] = field(default_factory=list)
    others: Branch | None = None
    node: Any = None


@dataclass(frozen=True)
class _Grower:
    pursuit: Pursuit[Any]
    values: IntArray | None
    labels: Any
    min_share: float
    max_branches: int
    progress: bool | None

    def grow(self, depth: int) -> TreeNode:
        """All levels from the root on, then the nodes from the leaves on."""
        root = _Draft((), (), 1.0, None if self.values is None else np.arange(len(self.values)))
        levels, state = [[root]], self.pursuit.start()
        for level in range(depth + 1):
            step = self.pursuit.propose(state)
            for h, draft in enumerate(levels[-1]):
                draft.node = self._node(draft, step, h)
            going = [h for h in range(len(levels[-1])) if step.choice.query[h] != UNKNOWN] if level < depth else []
            chosen: list[tuple[int, Cells, _Draft]] = []
            with Progress(f"question {level + 1}", len(going), show=self.progress) as shown:
                for h in going:
                    chosen += [
                        (h, *each) for each in self._follow(levels[-1][h], step.state, h, int(step.choice.query[h]))
                    ]
                    shown.advance()
            if not chosen:
                break
            if sum(map(len, levels)) + len(chosen) > MAX_NODES:
                raise ValueError(f"depth={depth} with min_share={self.min_share:g} gives a tree of more than "
                                 f"{MAX_NODES:,} nodes; lower depth, or raise min_share")  # fmt: skip
            parents = np.array([h for h, _, _ in chosen], dtype=np.int64)
            cells = np.array([cells for _, cells, _ in chosen], dtype=np.int64)
            branches = Branches(parents, np.asarray(step.choice.query, dtype=np.int64)[parents], cells)
            state = self.pursuit.absorb(step.state, branches, step.watch)
            levels.append([draft for _, _, draft in chosen])
        for draft in (draft for drafts in reversed(levels) for draft in drafts):
            below = [
                Branch(d.path[-1][1], 1, d.probability, d.node, None if d.rows is None else len(d.rows))
                for d in draft.followed
            ]
            draft.node = replace(draft.node, branches=(*below, *([draft.others] if draft.others else [])))
        return root.node  # type: ignore[no-any-return]

    def _node(self, draft: _Draft, step: Step[Any], h: int) -> TreeNode:
        posterior, right = step.state.posterior[h], None
        if self.labels is not None and draft.rows is not None:
            right = int((self.labels[draft.rows] == self.pursuit.classes[int(posterior.argmax())]).sum())
        query, told = int(step.choice.query[h]), (draft.path, draft.history, draft.probability)
        gain = 0.0 if query == UNKNOWN else float(step.choice.gain[h])
        reached = None if draft.rows is None else len(draft.rows)
        return TreeNode(*told, tuple(posterior.tolist()), query, gain, step.reason[h], (), reached, right)

    def _follow(self, draft: _Draft, state: State[Any], h: int, query: int) -> list[tuple[Cells, _Draft]]:
        """The answers to a question that are followed; the others are merged into one branch."""
        found = likely_answers(self.pursuit, state, h, query, self.min_share / max(draft.probability, 1e-300))
        rows_of = self._answers_of_inputs(draft, query)
        min_inputs = max(self.min_share * (0 if self.values is None else len(self.values)), 1)
        often = [c for c, rows in rows_of.items() if c not in found.share and len(rows) >= min_inputs]
        share = found.share | self._shares(state, h, query, often)
        # beside the possible answers, X may have impossible and missing ones
        n_kinds = found.n_possible + sum(1 for c in often if not share[c])
        n_kinds += sum(1 for c in rows_of if c not in share and self._is_missing(query, c))
        kept = sorted(share, key=lambda c: (-len(rows_of.get(c, ())), -share[c], c))
        if len(kept) + (n_kinds > len(kept)) > self.max_branches:
            kept = kept[: self.max_branches - 1]
        if len(kept) == len(share):
            kept = sorted(kept)
        if kept and n_kinds > len(kept):  # where nothing is kept, the tree is cut off
            said = self._merged(query, kept, n_kinds - len(kept), found)
            mass = draft.probability * max(0.0, 1 - sum(share[c] for c in kept))
            rest = None if draft.rows is None else len(draft.rows) - sum(len(rows_of.get(c, ())) for c in kept)
            if mass > NOTHING * draft.probability or rest:
                draft.others = Branch(said, n_kinds - len(kept), mass, None, rest)
        draft.followed = [self._below(draft, query, cells, share[cells], rows_of.get(cells)) for cells in kept]
        return list(zip(kept, draft.followed, strict=True))

    def _answers_of_inputs(self, draft: _Draft, query: int) -> dict[Cells, IntArray]:
        """The answers that inputs give at a node, each with the rows that give it."""
        if self.values is None or draft.rows is None or not len(draft.rows):
            return {}
        answers = self.pursuit.queries.answers_of(self.values[draft.rows], np.full(len(draft.rows), query))
        kinds, kind = np.unique(answers, axis=0, return_inverse=True)
        return {tuple(cells.tolist()): draft.rows[kind.ravel() == i] for i, cells in enumerate(kinds)}

    def _shares(self, state: State[Any], h: int, query: int, answers: list[Cells]) -> dict[Cells, float]:
        """The probability of some answers; 0 of a missing one."""
        known = [cells for cells in answers if not self._is_missing(query, cells)]
        cells = np.array(known, dtype=np.int64).reshape(len(known), self.pursuit.queries.width)
        found = answer_probabilities(self.pursuit, state, h, query, cells).tolist()
        return dict.fromkeys(answers, 0.0) | dict(zip(known, found, strict=True))

    def _is_missing(self, query: int, cells: Cells) -> bool:
        return bool((np.array(cells)[self.pursuit.queries.query_variables[query] >= 0] == UNKNOWN).any())

    def _below(self, draft: _Draft, query: int, cells: Cells, probability: float, rows: IntArray | None) -> _Draft:
        wide = int((self.pursuit.queries.query_variables[query] >= 0).sum())
        answer: Answer = None if all(cell == UNKNOWN for cell in cells) else cells[:wide]
        rows = draft.rows[:0] if draft.rows is not None and rows is None else rows
        path = (*draft.path, (query, self.pursuit.queries.say_answer(query, answer)))
        return _Draft(path, (*draft.history, (query, answer)), draft.probability * probability, rows)

    def _merged(self, query: int, kept: list[Cells], n: int, found: LikelyAnswers) -> str:
        """The answers that are not followed in words: by name where they are few."""
        if len(found.possible) == 1:
            left = [int(cell) for cell in found.possible[0] if not any(cells[0] == cell for cells in kept)]
            if len(left) == n <= NAMED:
                return " or ".join(self.pursuit.queries.say_answer(query, (cell,)) for cell in left)
        return f"{n:,} other answer{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class LikelyAnswers:
    """Answers to a query with their probabilities, the largest first; possible: the possible cells of each variable."""

    share: dict[Cells, float]
    possible: list[IntArray]

    @property
    def n_possible(self) -> int:
        """The number of all answers whose variables are each possible."""
        return count_answers([len(cells) for cells in self.possible])


def likely_answers(pursuit: Pursuit[Any], state: State[Any], row: int, query: int, least: float) -> LikelyAnswers:
    """The answers to a query whose probability after history ``row`` is at least ``least``.

    A 4 x 4 patch has 65,536 answers, so they are built variable by variable: the probability of the first
    variables bounds that of every answer that begins with them. At most `BEAM` beginnings are followed.
    """
    queries = pursuit.queries
    sizes = queries.n_cells[query, : int((queries.query_variables[query] >= 0).sum())].tolist()
    singles = np.full((sum(sizes), queries.width), UNKNOWN, dtype=np.int64)
    singles[np.arange(len(singles)), np.repeat(np.arange(len(sizes)), sizes)] = np.concatenate([*map(np.arange, sizes)])
    can_be = answer_probabilities(pursuit, state, row, query, singles) > NOTHING
    possible = [np.flatnonzero(part) for part in np.split(can_be, np.cumsum(sizes)[:-1])]
    cells, p = np.full((1, queries.width), UNKNOWN, dtype=np.int64), np.ones(1)
    for w, some in enumerate(possible):
        cells = np.repeat(cells, len(some), axis=0)
        cells[:, w] = np.tile(some, len(cells) // max(len(some), 1))
        p = answer_probabilities(pursuit, state, row, query, cells)
        order = np.argsort(-p, kind="stable")[:BEAM]
        order = order[p[order] >= max(least, NOTHING)]
        cells, p = cells[order], p[order]
    return LikelyAnswers({tuple(c): float(q) for c, q in zip(cells.tolist(), p, strict=True)}, possible)


def answer_probabilities(pursuit: Pursuit[Any], state: State[Any], row: int, query: int, cells: IntArray) -> FloatArray:
    """(n,) p(answer | history), for answers (n, W) that may leave variables unknown: p(history, answer) / p(history),
    or what the belief predicts where it has no evidence."""
    if not len(cells):
        return np.zeros(0)
    if np.isnan(state.log_evidence[row]):
        if not hasattr(pursuit.belief, "answer_distribution"):
            raise ValueError(f"strategy has the belief {type(pursuit.belief).__name__}, which predicts no answers")
        p = np.asarray(pursuit.belief.answer_distribution(state.belief, query))[row]
        every = np.array(list(product(*map(range, pursuit.queries.n_cells[query].tolist()))))  # (answers, W)
        fits = (cells[:, None] == UNKNOWN) | (cells[:, None] == every)  # (n, answers, W)
        return np.asarray(fits.all(axis=2) @ p)
    batch, found = max(1, min(len(cells), pursuit.rows_at_a_time())), []
    for start in range(0, len(cells), batch):
        some = cells[start : start + batch]
        parents = np.full(len(some), row, dtype=np.int64)
        after = pursuit.absorb(state, Branches(parents, np.full(len(some), query), some), state.watch)
        share = np.exp(after.log_evidence - state.log_evidence[row])
        found.append(np.where(after.impossible, 0.0, np.nan_to_num(share, nan=0.0)))
    return np.asarray(np.concatenate(found), dtype=np.float64)
