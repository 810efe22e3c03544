"""The first queries of a strategy as a tree, from left to right."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.presentation.plots import style
from infopursuit.pursuit.explanation import count, often, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from infopursuit.evaluation.inspection import Branch, StrategyTree, TreeNode

THICK, STOPPED = 9.0, "#EDF6F2"
"""Points of the branch that all take; behind a stop."""
MAX_LEAVES = 200
"""Leaves that can be read."""
LETTERS, COLUMN, LINE = 24, 2.3, 0.15
"""Letters of a line; inches from one column of boxes to the next, and of a line."""


def strategy_tree(tree: StrategyTree, *, axes: Axes | None = None) -> Axes:
    """Draw a strategy from left to right. A box has the query asked after the answer above it, and the posterior.

    A way is as wide as the share that takes it. Green boxes are stops; three dots say that it asks on.

    Parameters
    ----------
    tree: what `infopursuit.strategy_tree` gives.
    axes: one axes to draw on. A new figure of the right size if None.
    """
    leaves = len(tree.leaves())
    if leaves > MAX_LEAVES:
        raise ValueError(
            f"tree has {leaves} leaves, more than {MAX_LEAVES} that can be read; make it with a smaller depth or a "
            f"larger min_share"
        )
    lines = max(len(_words(tree, node).split("\n")) for node in tree.nodes())
    n_columns, n_rows = 1 + max(len(node.history) for node in tree.nodes()), _rows(tree.root)
    axes = style.axes_of(axes, COLUMN * n_columns + 0.3, (LINE * (lines + 1) + 0.1) * n_rows + 0.8)
    axes.set(xlim=(0, n_columns), ylim=(n_rows, 0), xticks=[], yticks=[])
    _draw(axes, tree, tree.root, None, 0.0)
    style.bare(axes)
    dots = "; … it asks on" if any(node.cut for node in tree.nodes()) else ""
    inputs = "" if tree.n_inputs is None else f"; the ways of {tree.n_inputs:,} inputs"
    note = f"{tree.depth} deep{inputs}; shares under its model{dots}"
    style.write_title(axes, "The first questions of the pursuit", note)
    return axes


def _rows(node: TreeNode) -> int:
    """How many rows a node and all below it take."""
    return sum(1 if branch.node is None else _rows(branch.node) for branch in node.branches) or 1


def _draw(axes: Axes, tree: StrategyTree, node: TreeNode, branch: Branch | None, top: float) -> None:
    """A node in the middle of its rows, which begin at ``top``; all below it; and the ways there."""
    x, y = len(node.history) + 0.45, top + _rows(node) / 2
    look = {"facecolor": STOPPED, "edgecolor": style.RIGHT} if node.stopped else {"facecolor": "white"}
    _box(axes, (x, y), _answer(branch) + _words(tree, node), {"edgecolor": style.EDGE, "linewidth": 0.8} | look)
    for below in node.branches:
        rows = 1 if below.node is None else _rows(below.node)
        end = top + rows / 2
        way = ([x, x + 0.5, x + 0.5, x + 1], [y, y, end, end])
        axes.plot(*way, color=style.GRID, linewidth=0.7 + THICK * below.probability, zorder=1)
        if below.node is None:
            inputs = "" if below.n_inputs is None else count(below.n_inputs, "input")
            _box(axes, (x + 1, end), _answer(below) + inputs, {"facecolor": "white", "linewidth": 0})
        else:
            _draw(axes, tree, below.node, below, top)
        top += rows


def _box(axes: Axes, at: tuple[float, float], words: str, look: dict[str, Any]) -> None:
    how: dict[str, Any] = {"ha": "center", "va": "center", "color": style.INK, "parse_math": False, "zorder": 3}
    box = {"boxstyle": "round,pad=0.4", **look}
    axes.text(*at, words.strip(), fontsize=style.NOTE, linespacing=1.25, bbox=box, **how)


def _answer(branch: Branch | None) -> str:
    return "" if branch is None else f"{short(branch.said, LETTERS)} · {often(branch.probability)}\n"


def _words(tree: StrategyTree, node: TreeNode) -> str:
    """What stands in the box of a node, below the answer that leads to it."""
    lines = []
    if node.n_inputs is not None:
        right = "" if not node.n_inputs or node.n_right is None else f", {percent(node.n_right / node.n_inputs)} right"
        lines.append(f"{count(node.n_inputs, 'input')}{right}")
    best = int(np.argmax(node.posterior))
    if node.stopped:
        why = "" if node.stop_reason == "confidence" else f", {node.stop_reason.replace('_', ' ')}"
        lines += [short(tree.classes[best], 2 * LETTERS), f"{percent(node.posterior[best])}{why}"]
    else:
        lines += [short(tree.question(node), 4 * LETTERS), f"{tree.believed(node)}{' …' if node.cut else ''}"]
    return "\n".join(part for line in lines for part in textwrap.wrap(line, LETTERS))
