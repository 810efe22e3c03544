"""A strategy as a tree from left to right: questions in boxes, answers above them, branches as wide as their share."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import count, often, percent, short
from infopursuit.plots import style
from infopursuit.types import UNKNOWN, FloatArray, IntArray, cells_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode

THICK, STOPPED = 9.0, "#EDF6F2"
"""Points of the branch that all take; behind a stop."""
MAX_LEAVES = 200
"""Leaves that can be read."""
LETTERS, COLUMN, LINE, IMAGE = 24, 2.3, 0.15, 0.75
"""Letters of a line; inches from one column of boxes to the next, of a line, and of the longer side of a picture."""


def strategy_tree(tree: StrategyTree, *, axes: Axes | None = None) -> Axes:
    """Draw a strategy from left to right. A box has the query asked after the answer above it, and the posterior.

    A way is as wide as the share that takes it. Green boxes are stops; three dots say that it asks on. About images a
    picture above a box shows what has been seen of it, and what is looked at next.

    Parameters
    ----------
    tree: what `infopursuit.strategy_tree` gives.
    axes: one axes to draw on; letters are made smaller where it is small. A new figure of the right size if None.
    """
    leaves = len(tree.leaves())
    if leaves > MAX_LEAVES:
        raise ValueError(
            f"tree has {leaves} leaves, more than {MAX_LEAVES} that can be read; make it with a smaller depth or a "
            f"larger min_share"
        )
    lines = max(len(_words(tree, node).split("\n")) for node in tree.nodes())
    images = getattr(tree.query_set, "shape", None) is not None
    row = LINE * (lines + 1) + 0.1 + (IMAGE + 0.1 if images else 0)  # inches
    wide, n_rows = COLUMN * (1 + max(len(node.path) for node in tree.nodes())), _rows(tree.root)
    scale = 1.0
    if axes is not None and hasattr(axes, "bbox"):
        inches = axes.bbox.width / axes.figure.dpi, axes.bbox.height / axes.figure.dpi
        scale = min(1.0, inches[0] / wide, inches[1] / (row * n_rows))
    axes = style.axes_of(axes, wide + 0.3, row * n_rows + 0.8)
    axes.set(xlim=(0, wide / COLUMN), ylim=(n_rows, 0), xticks=[], yticks=[])
    _Drawing(axes, tree, row, scale).draw(tree.root, None, 0.0)
    style.bare(axes)
    dots = "; … it asks on" if any(node.cut for node in tree.nodes()) else ""
    inputs = "" if tree.n_inputs is None else f"; the ways of {tree.n_inputs:,} inputs"
    note = f"{tree.depth} deep{inputs}; shares under its model{dots}"
    style.write_title(axes, f"The first questions of {tree.name}", note)
    return axes


def _rows(node: TreeNode) -> int:
    """How many rows a node and all below it take."""
    return sum(1 if branch.node is None else _rows(branch.node) for branch in node.branches) or 1


@dataclass(frozen=True)
class _Drawing:
    """row: inches of a row, which is 1 high in the axes. scale: of letters and lines."""

    axes: Any
    tree: StrategyTree
    row: float
    scale: float

    def draw(self, node: TreeNode, branch: Branch | None, top: float) -> None:
        """A node in the middle of its rows, which begin at ``top``; all below it; and the ways there."""
        x, y = len(node.path) + 0.45, top + _rows(node) / 2
        look = {"facecolor": STOPPED, "edgecolor": style.RIGHT} if node.stopped else {"facecolor": "white"}
        words, picture = _answer(branch) + _words(self.tree, node), _seen(self.tree, node)
        down = 0.0 if picture is None else IMAGE / 2 / self.row
        self.box((x, y + down), words, {"edgecolor": style.EDGE, "linewidth": 0.8} | look)
        if picture is not None:
            up = (LINE * len(words.split("\n")) + 0.1) / 2 / self.row
            self.picture(picture, (x, y - up))
        for below in node.branches:
            rows = 1 if below.node is None else _rows(below.node)
            end, thick = top + rows / 2, self.scale * (0.7 + THICK * below.probability)
            way = ([x, x + 0.5, x + 0.5, x + 1], [y, y, end, end])
            self.axes.plot(*way, color=style.GRID, linewidth=thick, zorder=1)
            if below.node is None:
                inputs = "" if below.n_inputs is None else count(below.n_inputs, "input")
                self.box((x + 1, end), _answer(below) + inputs, {"facecolor": "white", "linewidth": 0})
            else:
                self.draw(below.node, below, top)
            top += rows

    def box(self, at: tuple[float, float], words: str, look: dict[str, Any]) -> None:
        """Words in a box."""
        how: dict[str, Any] = {"ha": "center", "va": "center", "color": style.INK, "parse_math": False, "zorder": 3}
        box = {"boxstyle": "round,pad=0.4", **look}
        self.axes.text(*at, words.strip(), fontsize=self.scale * style.NOTE, linespacing=1.25, bbox=box, **how)

    def picture(self, picture: tuple[FloatArray, IntArray], at: tuple[float, float]) -> None:
        """What has been seen of an image: lit pixels black, dark ones white, others grey; what is next in colour."""
        from matplotlib.colors import ListedColormap, Normalize
        from matplotlib.offsetbox import AnnotationBbox, OffsetImage

        pixels, variables = picture
        shown = np.where(np.isnan(pixels), 1, np.where(pixels > 0, 2, 0))
        shown.ravel()[variables] = 3
        colours = ListedColormap(["white", "#D9DDE2", style.INK, style.NOW])
        zoom = self.scale * 72 * IMAGE / max(shown.shape)
        image = OffsetImage(shown, zoom=zoom, cmap=colours, norm=Normalize(0, 3), interpolation="nearest")
        self.axes.add_artist(AnnotationBbox(image, at, pad=0.1))


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
        if getattr(tree.query_set, "shape", None) is None:
            lines.append(short(tree.question(node), 4 * LETTERS))
        lines.append(f"{tree.believed(node)}{' …' if node.cut else ''}")
    return "\n".join(part for line in lines for part in textwrap.wrap(line, LETTERS))


def _seen(tree: StrategyTree, node: TreeNode) -> tuple[FloatArray, IntArray] | None:
    """What has been seen of an image, and the variables asked about next; None where it is not about images."""
    shape = getattr(tree.query_set, "shape", None)
    if shape is None:
        return None
    pixels = np.full(shape[0] * shape[1], np.nan)
    for query, answer in node.history:
        variables = tree.query_set.query_variables[query]
        cells = cells_of(answer) or ()
        for variable, cell in zip(variables[variables != UNKNOWN].tolist(), cells, strict=False):
            if cell != UNKNOWN:
                pixels[variable] = cell
    nothing = np.zeros(0, dtype=np.int64)
    variables = nothing if node.stopped else tree.query_set.query_variables[node.query]
    return pixels.reshape(shape), variables[variables != UNKNOWN]
