"""A pursuit beside CART on the same answers: how often each is right, how much it asks, and both trees."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.evaluation.table import Difference, Row, counted, paired
from infopursuit.explanation import percent
from infopursuit.inspection.cart import cart_of_length, cart_tree, validated_cart
from infopursuit.inspection.grow import strategy_tree
from infopursuit.inspection.tree import StrategyTree
from infopursuit.queries.queryset import QuerySet
from infopursuit.terminal import beside, table
from infopursuit.types import UNKNOWN, IntArray

FORMAT = "infopursuit.cart_comparison/1"
POSITIONS = 5
"""First questions that are compared one by one."""
GAP, ROOM = 4, 70
"""Columns between two trees, and of one tree at the least for both to stand side by side."""


@dataclass(frozen=True)
class Agreement:
    """How far the k-th questions agree: of ``n_inputs`` inputs of whom both ask one, how many are asked the same query,
    and how many about the same topic (a column, at whatever threshold)."""

    position: int
    n_inputs: int
    same_query: int
    same_topic: int


@dataclass(frozen=True)
class Comparison:
    """A pursuit and two trees of CART on the same test inputs.

    rows: the pursuit, CART of the same mean length, CART of the depth that is best on held-out rows. n_paths: how many
    different ways the test inputs take in each; n_leaves: how many each of the two trees has. differences: how much
    more often the pursuit is right than each of them. agreement: of the pursuit with the first of them, question by
    question; shared: of the questions that the pursuit asks of an input, at whatever place, the share that CART asks
    of it too. pursuit_tree, cart_tree: the first questions of both.
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
        """The figures, and both trees: side by side where there is room for both, else one below the other."""
        lines = [*self._table(), "", *textwrap.wrap(self._told(), width), "", *self._agreement(width), ""]
        half = (width - GAP) // 2
        if half >= ROOM:
            blocks = [tree.to_text(width=half).splitlines() for tree in (self.pursuit_tree, self.cart_tree)]
            low = max(block.index("") for block in blocks)  # both trees begin at the same line
            lines += beside([[""] * (low - block.index("")) + block for block in blocks], gap=GAP)
        else:
            lines += [self.pursuit_tree.to_text(width=width), "", self.cart_tree.to_text(width=width)]
        return "\n".join(lines)

    def to_json(self) -> str:
        """Everything as JSON."""
        data = {
            "format": FORMAT,
            "rows": [
                {**asdict(row), "n_paths": paths, "n_leaves": leaves}
                for row, paths, leaves in zip(self.rows, self.n_paths, self.n_leaves, strict=True)
            ],
            "differences": [asdict(each) for each in self.differences],
            "agreement": [asdict(each) for each in self.agreement],
            "shared": self.shared,
            "pursuit_tree": json.loads(self.pursuit_tree.to_json()),
            "cart_tree": json.loads(self.cart_tree.to_json()),
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    def _table(self) -> list[str]:
        lines = [["", "right", "95 % interval", "questions", "paths"]]
        for row, paths in zip(self.rows, self.n_paths, strict=True):
            interval = f"{100 * (row.low or 0):.1f} to {100 * (row.high or 0):.1f} %"
            lines.append([row.name, f"{100 * row.accuracy:.1f} %", interval, f"{row.length:.2f}", f"{paths:,}"])
        return table(lines, gap=2)

    def _told(self) -> str:
        """Whether the pursuit is right more often, in sentences."""
        words = []
        for row, found in zip(self.rows[1:], self.differences, strict=True):
            low, high = round(100 * found.low, 1), round(100 * found.high, 1)
            verdict = "more often than" if low > 0 else "less often than" if high < 0 else "about as often as"
            words.append(
                f"The pursuit is right {verdict} {row.name}: {100 * found.mean:+.1f} points ({low:+.1f} to "
                f"{high:+.1f})."
            )
        return " ".join(words)

    def _agreement(self, width: int) -> list[str]:
        if not self.agreement:
            return ["One of the two asks nothing, so no questions can agree."]
        lines = [["the two ask", "inputs", "the same question", "about the same"]]
        for each in self.agreement:
            n = max(each.n_inputs, 1)
            shares = [percent(each.same_query / n), percent(each.same_topic / n)]
            lines.append([f"as question {each.position}", f"{each.n_inputs:,}", *shares])
        told = f"Of the questions that the pursuit asks, {percent(self.shared)} are asked by {self.rows[1].name} too."
        return [*table(lines, gap=2), "", *textwrap.wrap(told, width)]


def compare_with_cart(
    strategy: Pursuit | InformationPursuitClassifier,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    depth: int = 3,
    least: float = 0.01,
    most_branches: int = 5,
    seed: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Compare a pursuit with CART's tree on the answers to the same queries.

    CART learns from the training inputs, and is cut in two ways: so that it asks as many questions of the test inputs
    on average as the pursuit does (their labels play no part), and to the depth that is best on held-out training rows.

    depth, least, most_branches: of the trees that are shown, as in `strategy_tree`. seed: of CART.
    """
    pursuit = strategy.pursuit_ if isinstance(strategy, InformationPursuitClassifier) else strategy
    if not isinstance(pursuit, Pursuit):
        raise TypeError(f"strategy is {type(strategy).__name__}; expected a Pursuit or a fitted classifier")
    queries = pursuit.queries
    train, values = queries.observe(X_train), queries.observe(X_test)
    labels = np.asarray(y_test)
    if labels.shape != (len(values),) or not len(values):
        raise ValueError(
            f"y_test has shape {labels.shape}, but X_test has {len(values)} inputs; give one label for each"
        )
    trace = pursuit.run_values(values, progress=progress)
    shorter = cart_of_length(queries, train, y_train, values, float(trace.length.mean()), seed=seed)
    best = validated_cart(queries, train, y_train, seed=seed)
    right = trace.predictions == labels
    theirs = shorter.asked(shorter.paths(values))
    rows = [counted("the pursuit", right, length=trace.length)]
    n_paths, differences = [len({trace.history(i) for i in range(len(trace))})], []
    for name, cart in (("CART of that length", shorter), ("CART of validated depth", best)):
        ends = cart.ends(values)
        found = cart.predict(ends) == labels
        rows.append(counted(name, found, length=cart.questions[ends], note=cart.rule))
        n_paths.append(len(np.unique(ends)))
        differences.append(paired(f"the pursuit - {name}", right, found))
    return Comparison(
        rows=tuple(rows),
        n_paths=tuple(n_paths),
        n_leaves=(None, shorter.n_leaves, best.n_leaves),
        differences=tuple(differences),
        agreement=_agree(queries, trace.queries, theirs),
        shared=_shared(trace.queries, theirs),
        pursuit_tree=strategy_tree(
            pursuit, depth, X=X_test, y=y_test, least=least, most_branches=most_branches, progress=progress
        ),
        cart_tree=cart_tree(shorter, pursuit.classes, depth, values=values, labels=labels, least=least),
    )


def _shared(ours: IntArray, theirs: IntArray) -> float:
    """The share of our questions that are theirs too, input by input."""
    asked = ours != UNKNOWN
    both = asked & (ours[:, :, None] == theirs[:, None, :]).any(axis=2)
    return float(both.sum() / max(int(asked.sum()), 1))


def _agree(queries: QuerySet, ours: IntArray, theirs: IntArray) -> tuple[Agreement, ...]:
    """Question by question, how many inputs are asked the same."""
    topics = np.unique([topic for topic, _ in queries.topics], return_inverse=True)[1]
    found = []
    for k in range(min(ours.shape[1], theirs.shape[1], POSITIONS)):
        both = (ours[:, k] != UNKNOWN) & (theirs[:, k] != UNKNOWN)
        a, b = ours[both, k], theirs[both, k]
        if both.any():
            found.append(Agreement(k + 1, int(both.sum()), int((a == b).sum()), int((topics[a] == topics[b]).sum())))
    return tuple(found)
