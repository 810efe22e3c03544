"""CART on the answers to the same queries, cut to the size of a pursuit, and told as a tree like that of a pursuit."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from infopursuit.evaluation.baselines.rows import check_training_rows
from infopursuit.evaluation.baselines.trees import (
    answer_matrix,
    feature_queries,
    fit_tree,
    node_paths,
    questions_by_node,
)
from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, IntArray

LEAF = "leaf"
"""Why CART's tree stops."""


@dataclass(frozen=True)
class Cart:
    """A tree of scikit-learn on the answers to all queries, of which some nodes are split.

    questions: (nodes,) how many questions that show something new have been asked on the way to each node. split:
    (nodes,) whether the tree goes on there. rule: how it was decided which nodes are split, in words.
    """

    query_set: QuerySet
    classes: Any
    estimator: Any
    questions: IntArray
    split: Any
    rule: str

    def ends(self, values: Any) -> IntArray:
        """(B,) the node in which each input ends, for atom values (B, A)."""
        paths = self.paths(values)
        return np.asarray(paths[:, -1])

    def paths(self, values: Any) -> IntArray:
        """(B, K + 1) where each input is after 0, 1, ... splits; it stays where it has come to an end."""
        paths = node_paths(self.estimator, answer_matrix(self.query_set, values))
        end = np.argmin(self.split[paths], axis=1)  # the first that is not split; a leaf never is
        return np.asarray(np.take_along_axis(paths, np.minimum(np.arange(paths.shape[1]), end[:, None]), axis=1))

    def predict(self, ends: IntArray) -> Any:
        """(B,) labels of inputs that end in these nodes."""
        return self.classes[self.estimator.tree_.value[ends, 0].argmax(axis=1)]

    def asked(self, paths: IntArray) -> IntArray:
        """(B, K) the queries that each input is asked, in order, -1 after the last; a split that shows nothing new asks
        nothing."""
        owner, tree = feature_queries(self.query_set), self.estimator.tree_
        queries = np.where(tree.feature[paths[:, :-1]] >= 0, owner[np.maximum(tree.feature[paths[:, :-1]], 0)], UNKNOWN)
        new = np.diff(self.questions[paths], axis=1) > 0  # (B, K)
        order = np.argsort(~new, axis=1, kind="stable")
        return np.asarray(np.take_along_axis(np.where(new, queries, UNKNOWN), order, axis=1))

    @property
    def n_leaves(self) -> int:
        """How many ends it has."""
        return int(self.split.sum()) + 1


def validated_cart(query_set: QuerySet, values: Any, labels: Any, *, seed: int = 0) -> Cart:
    """The tree whose depth is best on rows that were held out."""
    tree = fit_tree(query_set, values, labels, seed=seed)
    split = tree.estimator.tree_.children_left >= 0
    rule = f"cut to depth {tree.depth}, best on held-out rows"
    return Cart(query_set, tree.classes, tree.estimator, tree.questions, split, rule)


def cart_of_length(
    query_set: QuerySet, values: Any, labels: Any, asked_of: Any, length: float, *, seed: int = 0
) -> Cart:
    """The tree that asks as many questions on average of the inputs ``asked_of`` (B, A) as ``length`` says.

    It is grown best first, as scikit-learn does with ``max_leaf_nodes``: the node whose split lowers the impurity most
    is split next, until the mean number of questions comes as near to ``length`` as it can. Only the inputs' answers
    are looked at, not their labels.
    """
    values, classes, targets = check_training_rows(query_set, values, labels)
    estimator = DecisionTreeClassifier(random_state=seed).fit(answer_matrix(query_set, values), targets)
    questions = questions_by_node(estimator, feature_queries(query_set), query_set)
    paths = node_paths(estimator, answer_matrix(query_set, asked_of))
    comes = np.zeros(estimator.tree_.node_count)
    for k in range(paths.shape[1]):
        new = paths[:, k] != paths[:, k - 1] if k else np.ones(len(paths), dtype=bool)
        comes += np.bincount(paths[new, k], minlength=len(comes))
    split = _best_first(estimator.tree_, comes / len(paths), questions, length)
    grown_out = bool(split.sum() + 1 == estimator.get_n_leaves())
    rule = "grown out, it cannot ask more" if grown_out else "cut to as many questions as the pursuit"
    return Cart(query_set, classes, estimator, questions, split, rule)


def _best_first(tree: Any, comes: Any, questions: IntArray, length: float) -> Any:
    """(nodes,) which nodes to split. comes: (nodes,) the share of the inputs that come to each node."""
    left, right = tree.children_left, tree.children_right
    mass = tree.weighted_n_node_samples * tree.impurity
    split = np.zeros(tree.node_count, dtype=bool)
    mean, waiting = 0.0, [(0.0, 0)]
    while waiting:
        _, node = heapq.heappop(waiting)
        if left[node] < 0:
            continue
        children = (int(left[node]), int(right[node]))
        longer = mean + sum(comes[child] * (questions[child] - questions[node]) for child in children)
        if longer > length and longer - length > length - mean:
            break
        split[node], mean = True, longer
        for child in children:
            if left[child] >= 0:
                lower = mass[child] - mass[left[child]] - mass[right[child]]
                heapq.heappush(waiting, (-float(lower), child))
    return split


# ---- the same form as the tree of a pursuit -------------------------------------------------------------------------


def cart_tree(
    cart: Cart, classes: Any, depth: int = 3, *, values: Any = None, labels: Any = None, least: float = 0.01
) -> StrategyTree:
    """The first splits of a tree as a `StrategyTree`, with the inputs that come by and how many would be right there.

    classes: those of the pursuit, in its order. Shares are those of the training rows.
    """
    paths = None if values is None else cart.paths(values)
    return StrategyTree(
        name=f"CART ({cart.rule})",
        root=_Telling(
            cart, np.asarray(classes), depth, paths, None if labels is None else np.asarray(labels), least
        ).node(0, (), None if paths is None else np.arange(len(paths))),
        classes=tuple(np.asarray(classes).tolist()),
        depth=depth,
        least=least,
        exact_gains=True,
        n_inputs=None if paths is None else len(paths),
        query_set=cart.query_set,
        share_of="of its training rows",
    )


@dataclass(frozen=True)
class _Telling:
    """What is needed to tell a node."""

    cart: Cart
    classes: Any
    depth: int
    paths: IntArray | None
    labels: Any
    least: float

    @property
    def n_inputs(self) -> int:
        """How many inputs are sent down the tree."""
        return 0 if self.paths is None else len(self.paths)

    def node(self, place: int, path: tuple[tuple[int, str], ...], rows: IntArray | None) -> TreeNode:
        """A node and all below it, down to the depth."""
        cart, tree = self.cart, self.cart.estimator.tree_
        posterior = np.zeros(len(self.classes))
        value = tree.value[place, 0]
        for c, p in zip(cart.classes, value / value.sum(), strict=True):
            posterior[self.classes == c] = p
        best = self.classes[int(posterior.argmax())]
        query = int(feature_queries(cart.query_set)[tree.feature[place]]) if cart.split[place] else UNKNOWN
        branches: tuple[Branch, ...] = ()
        if cart.split[place] and len(path) < self.depth:
            branches = tuple(self._branch(place, path, query, side, rows) for side in (0, 1))
        return TreeNode(
            path=path,
            history=None,
            probability=float(tree.weighted_n_node_samples[place] / tree.weighted_n_node_samples[0]),
            posterior=tuple(posterior.tolist()),
            query=query,
            gain=self._gain(place) if cart.split[place] else 0.0,
            stopped_because="" if cart.split[place] else LEAF,
            branches=branches,
            n_inputs=None if rows is None else len(rows),
            n_right=None if rows is None or self.labels is None else int((self.labels[rows] == best).sum()),
        )

    def _branch(
        self, place: int, path: tuple[tuple[int, str], ...], query: int, side: int, rows: IntArray | None
    ) -> Branch:
        tree = self.cart.estimator.tree_
        child = int((tree.children_left, tree.children_right)[side][place])
        mine = rows
        if rows is not None and self.paths is not None:
            mine = rows[(self.paths[rows] == child).any(axis=1)]
        said, n = self._said(place, query, side)
        share = float(tree.weighted_n_node_samples[child] / tree.weighted_n_node_samples[0])
        rare = share < self.least and (mine is None or len(mine) < self.least * self.n_inputs)
        node = None if rare else self.node(child, (*path, (query, said)), mine)
        return Branch(said, n, share, node, None if mine is None else len(mine))

    def _said(self, place: int, query: int, side: int) -> tuple[str, int]:
        """The answers that go to one side, in words, and how many they are."""
        queries, tree = self.cart.query_set, self.cart.estimator.tree_
        n = int(queries.n_answers[query])
        feature, owner = int(tree.feature[place]), feature_queries(queries)
        if n == 2:
            return str(queries.choices(query)[side]), 1
        limits = queries.n_cells[query][queries.query_atoms[query] >= 0]
        if len(limits) > 1:  # answers in the order of their numbers: those up to one, and those after it
            last = int(np.floor(tree.threshold[place]))
            pattern = queries.say_answer(query, tuple(int(c) for c in np.unravel_index(last, limits)))
            return (f"up to {pattern}", last + 1) if side == 0 else (f"after {pattern}", n - last - 1)
        answer = feature - int(np.flatnonzero(owner == query)[0])
        name = str(queries.choices(query)[answer])
        return (f"not {name}", n - 1) if side == 0 else (name, 1)

    def _gain(self, place: int) -> float:
        """Nats that the split tells about the class of its training rows."""
        tree = self.cart.estimator.tree_
        left, right = int(tree.children_left[place]), int(tree.children_right[place])
        weight = tree.weighted_n_node_samples

        def left_open(node: int) -> float:
            p = tree.value[node, 0] / tree.value[node, 0].sum()
            return float(-(p[p > 0] * np.log(p[p > 0])).sum())

        below = (weight[left] * left_open(left) + weight[right] * left_open(right)) / weight[place]
        return max(0.0, left_open(place) - float(below))
