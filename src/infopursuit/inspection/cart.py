"""CART on the answers to the same queries, cut to the size of a pursuit, as a strategy tree, and compared with it."""

from __future__ import annotations

import heapq
import json
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import entropy
from sklearn.tree import DecisionTreeClassifier

from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.evaluation import baselines as trees
from infopursuit.evaluation.baselines import check_training_rows
from infopursuit.evaluation.table import Difference, Row, counted, paired
from infopursuit.explanation import percent
from infopursuit.inspection.grow import as_pursuit, strategy_tree
from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode
from infopursuit.queries.queryset import QuerySet
from infopursuit.terminal import beside, table
from infopursuit.types import UNKNOWN, IntArray, cells_of

FORMAT = "infopursuit.cart_comparison/1"
POSITIONS, GAP, MIN_WIDTH = 5, 4, 70
"""First questions that are compared; columns between two trees, and of each for both to stand side by side."""


@dataclass(frozen=True)
class Cart:
    """A tree of scikit-learn on the answers to all queries.

    questions: (nodes,) questions that reveal something new, asked on the way to each node. split: (nodes,) whether the
    tree goes on there. rule: how that was decided, in words.
    """

    query_set: QuerySet
    classes: Any
    estimator: Any
    questions: IntArray
    split: Any
    rule: str

    def paths(self, values: Any) -> IntArray:
        """(B, K + 1) the node of each input after 0, 1, ... splits; it stays at its end."""
        paths = trees.node_paths(self.estimator, trees.answer_matrix(self.query_set, values))
        end = np.argmin(self.split[paths], axis=1)  # the first that is not split; a leaf never is
        return np.asarray(np.take_along_axis(paths, np.minimum(np.arange(paths.shape[1]), end[:, None]), axis=1))

    def ends(self, values: Any) -> IntArray:
        """(B,) the node in which each input ends, for variable values (B, A)."""
        return np.asarray(self.paths(values)[:, -1])

    def predict(self, ends: IntArray) -> Any:
        """(B,) labels of inputs that end in these nodes."""
        return self.classes[self.estimator.tree_.value[ends, 0].argmax(axis=1)]

    def asked(self, paths: IntArray) -> IntArray:
        """(B, K) the queries that each input is asked, -1 after the last; splits that reveal nothing are skipped."""
        features = self.estimator.tree_.feature[paths[:, :-1]]
        new = np.diff(self.questions[paths], axis=1) > 0  # (B, K)
        queries = np.where(new, trees.feature_queries(self.query_set)[np.maximum(features, 0)], UNKNOWN)
        return np.asarray(np.take_along_axis(queries, np.argsort(~new, axis=1, kind="stable"), axis=1))

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int(self.split.sum()) + 1


def validated_cart(query_set: QuerySet, values: Any, labels: Any, *, seed: int = 0) -> Cart:
    """The tree whose depth is best on held-out training rows."""
    tree = trees.fit_tree(query_set, values, labels, seed=seed)
    split, rule = tree.estimator.tree_.children_left >= 0, f"cut to depth {tree.depth}, best on held-out rows"
    return Cart(query_set, tree.classes, tree.estimator, tree.questions, split, rule)


def cart_of_length(
    query_set: QuerySet, values: Any, labels: Any, asked_of: Any, length: float, *, seed: int = 0
) -> Cart:
    """The tree whose mean number of questions on the inputs ``asked_of`` (B, A) is as near as possible to ``length``.

    It is grown best first, as scikit-learn does with ``max_leaf_nodes``. Labels of these inputs play no part.
    """
    values, classes, targets = check_training_rows(query_set, values, labels)
    estimator = DecisionTreeClassifier(random_state=seed).fit(trees.answer_matrix(query_set, values), targets)
    tree, questions = estimator.tree_, trees.questions_by_node(estimator, trees.feature_queries(query_set), query_set)
    share = np.asarray(
        estimator.decision_path(trees.answer_matrix(query_set, asked_of)).mean(axis=0)
    ).ravel()  # (nodes,)
    left, right = tree.children_left, tree.children_right
    mass = tree.weighted_n_node_samples * tree.impurity
    split = np.zeros(tree.node_count, dtype=bool)
    mean, waiting = 0.0, [(0.0, 0)]
    while waiting:
        _, node = heapq.heappop(waiting)
        if left[node] < 0:
            continue
        children = (int(left[node]), int(right[node]))
        longer = mean + sum(share[child] * (questions[child] - questions[node]) for child in children)
        if longer > length and longer - length > length - mean:
            break
        split[node], mean = True, longer
        for child in children:
            if left[child] >= 0:
                heapq.heappush(waiting, (float(mass[left[child]] + mass[right[child]] - mass[child]), child))
    complete = split.sum() + 1 == estimator.get_n_leaves()
    rule = "grown out, it cannot ask more" if complete else "cut to as many questions as the pursuit"
    return Cart(query_set, classes, estimator, questions, split, rule)


def cart_tree(
    cart: Cart, classes: Any, depth: int = 3, *, values: Any = None, labels: Any = None, min_share: float = 0.01
) -> StrategyTree:
    """The first splits as a `StrategyTree`; probabilities are shares of the training rows.

    classes: those of the pursuit, in its order. values, labels: inputs to send down the tree.
    """
    classes, labels = np.asarray(classes), None if labels is None else np.asarray(labels)
    paths = None if values is None else cart.paths(values)
    tree, owner = cart.estimator.tree_, trees.feature_queries(cart.query_set)
    shares = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    # (nodes, C) in the order of the pursuit; a class that CART has not seen has no share
    posteriors = (
        tree.value[:, 0] @ (np.asarray(cart.classes)[:, None] == classes) / tree.value[:, 0].sum(axis=1)[:, None]
    )

    def grow(place: int, path: tuple[tuple[int, str], ...], rows: IntArray | None) -> TreeNode:
        goes_on, branches = bool(cart.split[place]), []
        query, gain = int(owner[tree.feature[place]]) if goes_on else UNKNOWN, 0.0
        children = [int(tree.children_left[place]), int(tree.children_right[place])]
        if goes_on:
            below = sum(shares[child] * entropy(posteriors[child]) for child in children) / shares[place]
            gain = max(0.0, float(entropy(posteriors[place]) - below))
        for side, child in enumerate(children) if goes_on and len(path) < depth else ():
            mine = rows if rows is None or paths is None else rows[(paths[rows] == child).any(axis=1)]
            said, n = _side(cart, place, query, side)
            rare = shares[child] < min_share and (mine is None or paths is None or len(mine) < min_share * len(paths))
            node = None if rare else grow(child, (*path, (query, said)), mine)
            branches.append(Branch(said, n, float(shares[child]), node, None if mine is None else len(mine)))
        best, posterior = classes[int(posteriors[place].argmax())], tuple(posteriors[place].tolist())
        right = None if rows is None or labels is None else int((labels[rows] == best).sum())
        reached, reason = None if rows is None else len(rows), "" if goes_on else "leaf"
        p = float(shares[place])
        return TreeNode(path, None, p, posterior, query, gain, reason, tuple(branches), reached, right)

    root, n = grow(0, (), None if paths is None else np.arange(len(paths))), None if paths is None else len(paths)
    about = (depth, min_share, True, n, cart.query_set, "of its training rows")
    return StrategyTree(f"CART ({cart.rule})", root, tuple(classes.tolist()), *about)


def _side(cart: Cart, place: int, query: int, side: int) -> tuple[str, int]:
    queries, tree = cart.query_set, cart.estimator.tree_
    n = int(queries.n_answers[query])
    if n == 2:
        return str(queries.choices(query)[side]), 1
    sizes = queries.n_cells[query][queries.query_variables[query] >= 0]
    if len(sizes) > 1:  # patterns are numbered, and cut at a number
        last = int(np.floor(tree.threshold[place]))
        pattern = queries.say_answer(query, tuple(int(c) for c in np.unravel_index(last, sizes)))
        return (f"up to {pattern}", last + 1) if side == 0 else (f"after {pattern}", n - last - 1)
    answer = int(tree.feature[place]) - int(np.flatnonzero(trees.feature_queries(queries) == query)[0])
    name = str(queries.choices(query)[answer])
    return (f"not {name}", n - 1) if side == 0 else (name, 1)


# ---- comparison -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """Of ``n_inputs`` inputs with a k-th question in both, how many get the same query, or one on the same topic."""

    position: int
    n_inputs: int
    same_query: int
    same_topic: int


@dataclass(frozen=True)
class Comparison:
    """A pursuit and two trees of CART on the same test inputs.

    rows: the pursuit, CART of the same mean length, CART of validated depth. n_paths: different paths of the test
    inputs in each; n_leaves: of each tree. differences: in accuracy, of the pursuit and each tree. agreement: with the
    first tree, question by question; shared: of the questions that the pursuit asks of an input, the share that the
    first tree asks too. pursuit_tree, cart_tree: the first questions of both.
    """

    rows: tuple[Row, ...]
    n_paths: tuple[int, ...]
    n_leaves: tuple[int | None, ...]
    differences: tuple[Difference, ...]
    agreement: tuple[Agreement, ...]
    shared: float
    pursuit_tree: StrategyTree
    cart_tree: StrategyTree

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, width: int = 80) -> str:
        """The figures, and both trees, side by side where there is room."""
        rows = [["", "accuracy", "95 % interval", "questions", "paths"]]
        for row, paths in zip(self.rows, self.n_paths, strict=True):
            interval = f"{100 * (row.low or 0):.1f} to {100 * (row.high or 0):.1f} %"
            rows.append([row.name, f"{100 * row.accuracy:.1f} %", interval, f"{row.length:.2f}", f"{paths:,}"])
        told = [f"{d.what}: {100 * d.mean:+.1f} ({100 * d.low:+.1f} to {100 * d.high:+.1f})" for d in self.differences]
        same = [["the two ask", "inputs", "the same question", "about the same"]]
        for a in self.agreement:
            shares = [percent(n / max(a.n_inputs, 1)) for n in (a.same_query, a.same_topic)]
            same.append([f"as question {a.position}", f"{a.n_inputs:,}", *shares])
        shared = f"Of the questions that the pursuit asks, {self.rows[1].name} asks {percent(self.shared)} too."
        differences = textwrap.wrap(f"Difference in accuracy, in points: {'; '.join(told)}.", width)
        lines = [*table(rows, gap=2), "", *differences, ""]
        lines += [*table(same, gap=2), "", *textwrap.wrap(shared, width), ""]
        half = (width - GAP) // 2
        if half >= MIN_WIDTH:
            blocks = [tree.to_text(width=half).splitlines() for tree in (self.pursuit_tree, self.cart_tree)]
            low = max(block.index("") for block in blocks)  # both trees begin at the same line
            lines += beside([[""] * (low - block.index("")) + block for block in blocks], gap=GAP)
        else:
            lines += [self.pursuit_tree.to_text(width=width), "", self.cart_tree.to_text(width=width)]
        return "\n".join(lines)

    def to_json(self) -> str:
        """Everything as JSON."""
        sizes = zip(self.rows, self.n_paths, self.n_leaves, strict=True)
        data = {
            "format": FORMAT,
            "rows": [{**asdict(row), "n_paths": paths, "n_leaves": leaves} for row, paths, leaves in sizes],
            "differences": [asdict(each) for each in self.differences],
            "agreement": [asdict(each) for each in self.agreement],
            "shared": self.shared,
            "pursuit_tree": json.loads(self.pursuit_tree.to_json()),
            "cart_tree": json.loads(self.cart_tree.to_json()),
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False)


def compare_with_cart(
    strategy: Pursuit[Any] | InformationPursuitClassifier,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    depth: int = 3,
    min_share: float = 0.01,
    max_branches: int = 5,
    seed: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Compare a pursuit with CART on the answers to the same queries.

    CART is fitted on the training inputs and cut in two ways: so that it asks the test inputs as many questions on
    average as the pursuit does (labels play no part), and to the depth that is best on held-out training rows.

    depth, min_share, max_branches: of the trees that are shown, as in `strategy_tree`. seed: of CART.
    """
    pursuit = as_pursuit(strategy)
    queries = pursuit.queries
    train, observed, labels = queries.observe(X_train), queries.read(X_test), np.asarray(y_test)
    values = observed.values
    if labels.shape != (len(values),) or not len(values):
        raise ValueError(f"y_test has shape {labels.shape}, but X_test has {len(values)} inputs; give a label for each")
    trace = pursuit.run_values(observed, progress=progress)
    shorter = cart_of_length(queries, train, y_train, values, float(trace.length.mean()), seed=seed)
    best = validated_cart(queries, train, y_train, seed=seed)
    right = trace.predictions == labels
    rows = [counted("the pursuit", right, length=trace.length)]
    paths = {tuple((query, cells_of(said)) for query, said in trace.history(i)) for i in range(len(trace))}
    n_paths, differences = [len(paths)], []
    for name, cart in (("CART of that length", shorter), ("CART of validated depth", best)):
        ends = cart.ends(values)
        found = cart.predict(ends) == labels
        rows.append(counted(name, found, length=cart.questions[ends], note=cart.rule))
        n_paths.append(len(np.unique(ends)))
        differences.append(paired(f"the pursuit - {name}", right, found))
    ours, theirs = trace.queries, shorter.asked(shorter.paths(values))
    asked = ours != UNKNOWN
    shared = (asked & (ours[:, :, None] == theirs[:, None, :]).any(axis=2)).sum() / max(int(asked.sum()), 1)
    limits: dict[str, Any] = {"min_share": min_share, "max_branches": max_branches, "progress": progress}
    return Comparison(
        rows=tuple(rows),
        n_paths=tuple(n_paths),
        n_leaves=(None, shorter.n_leaves, best.n_leaves),
        differences=tuple(differences),
        agreement=_agreement(queries, ours, theirs),
        shared=float(shared),
        pursuit_tree=strategy_tree(pursuit, depth, X=X_test, y=y_test, **limits),
        cart_tree=cart_tree(shorter, pursuit.classes, depth, values=values, labels=labels, min_share=min_share),
    )


def _agreement(queries: QuerySet, ours: IntArray, theirs: IntArray) -> tuple[Agreement, ...]:
    """Question by question, how many inputs are asked the same."""
    topics = np.unique([topic for topic, _ in queries.topics], return_inverse=True)[1]
    found = []
    for k in range(min(ours.shape[1], theirs.shape[1], POSITIONS)):
        both = (ours[:, k] != UNKNOWN) & (theirs[:, k] != UNKNOWN)
        a, b = ours[both, k], theirs[both, k]
        if both.any():
            found.append(Agreement(k + 1, len(a), int((a == b).sum()), int((topics[a] == topics[b]).sum())))
    return tuple(found)
