"""A whole strategy: which queries are asked first and how often, and its tree from left to right."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.checks import whole_number
from infopursuit.explanation import count, often, percent, short
from infopursuit.plots import style
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from infopursuit.inspection import Branch, StrategyTree, TreeNode

LATER = "#D3D7DD"
"""Asked after the positions that have a colour of their own."""
BARS, PANEL, GAP = 3.6, 1.35, 0.16
"""Inches: width of the bars, and of a map; between two maps, as a share of one."""
THICK, STOPPED = 9.0, "#EDF6F2"
"""Points of the branch that all take; behind a stop."""
MAX_LEAVES = 200
"""Leaves that can be read."""
LETTERS, COLUMN, LINE = 24, 2.3, 0.15
"""Letters of a line; inches from one column of boxes to the next, and of a line."""


def first_queries(trace: Trace, *, axes: Axes | None = None, positions: int = 4, max_queries: int = 12) -> Axes:
    """Draw which queries are asked first and how often.

    Over patches of images: a map for each of the first positions, and one for all. A pixel is the darker the more of
    the inputs that got so far were asked about it there; below stands the share of the pixel asked about most. Over
    other queries: a bar for each of the queries asked most, as long as the share of inputs that were asked it, in
    pieces by its position.

    Parameters
    ----------
    trace: over a batch of inputs.
    axes: one axes to draw on. A new figure if None.
    positions: how many of the first positions are told apart.
    max_queries: how many queries get a bar.
    """
    whole_number(positions, "positions", 1)
    whole_number(max_queries, "max_queries", 1)
    if not len(trace):
        raise ValueError("trace is over 0 inputs; give one over at least 1")
    # (K, Q) how many inputs were asked each query at each position
    asked = np.zeros((trace.queries.shape[1], len(trace.query_set)), dtype=np.int64)
    for k, column in enumerate(trace.queries.T):
        asked[k] = np.bincount(column[column != UNKNOWN], minlength=asked.shape[1])
    if getattr(trace.query_set, "shape", None) is None:
        axes = _draw_bars(axes, trace, asked, positions, max_queries)
    else:
        axes = _draw_maps(axes, trace, positions)
    mean = f"{trace.length.mean():.1f}".removesuffix(".0")
    about = f"{count(len(trace), 'input')}; {mean} questions each on average, out of {len(trace.query_set):,}"
    style.write_title(axes, "Which questions are asked, and when", about)
    return axes


def _draw_bars(axes: Axes | None, trace: Trace, asked: IntArray, positions: int, max_queries: int) -> Axes:
    # queries asked equally often: the one asked earlier comes first
    early = (asked * np.arange(len(asked))[:, None]).sum(axis=0)
    order = np.lexsort((early, -asked.sum(axis=0)))
    rows = [q for q in order.tolist() if asked[:, q].sum()][:max_queries]
    names = [short(trace.query_set.names[q], 40) for q in rows]
    beside = style.LETTER * max(map(len, names), default=0)
    axes = style.axes_of(axes, beside + BARS + 1, style.ROW * max(len(names), 1) + 1)
    from matplotlib.colors import LinearSegmentedColormap

    share = asked / len(trace)
    shades: Any = LinearSegmentedColormap.from_list("positions", style.SHADES[:0:-1])
    pieces = [(f"asked as the {_ordinal(k + 1)}", p, shades(k / positions)) for k, p in enumerate(share[:positions])]
    pieces += [("later", share[positions:].sum(axis=0), LATER)] if len(share) > positions else []
    start: FloatArray = np.zeros(len(rows))
    for label, piece, colour in pieces:
        bars = axes.barh(range(len(rows)), piece[rows], left=start, height=0.72, color=colour, label=label)
        start = start + piece[rows]
    if pieces:
        axes.bar_label(bars, [percent(end) for end in start.tolist()], padding=4, fontsize=style.NOTE)
        axes.legend(frameon=False, fontsize=style.NOTE, loc="lower right")
    axes.set(xlim=(0, 1.1), ylim=(max(len(rows), 1) - 0.5, -0.5), xticks=[])
    axes.set_yticks(range(len(rows)), names, parse_math=False)
    style.bare(axes)
    return axes


def _ordinal(k: int) -> str:
    ending = "th" if 10 <= k % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{ending}"


def _draw_maps(axes: Axes | None, trace: Trace, positions: int) -> Axes:
    """A map of the image for each of the first positions, and one of all that was looked at, side by side."""
    patches: Any = trace.query_set
    rows, columns = patches.shape
    each = [(_ordinal(k + 1), trace.queries[:, k : k + 1]) for k in range(min(positions, trace.queries.shape[1]))]
    maps = [(title, _seen(trace, queries)) for title, queries in [*each, ("at any time", trace.queries)]]
    wide = PANEL * (len(maps) + (len(maps) - 1) * GAP)
    axes = style.axes_of(axes, max(wide, 3.2) + 0.2, PANEL * rows / columns + 1.0)
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    step, shades = columns * (1 + GAP), LinearSegmentedColormap.from_list("seen", style.SHADES)
    for place, (title, seen) in enumerate(maps):
        start = place * step
        extent = (start, start + columns, rows, 0.0)
        seen = seen[:: patches.channels].reshape(rows, columns)  # a patch reveals all channels of a pixel
        axes.imshow(seen, cmap=shades, vmin=0, vmax=1, extent=extent, interpolation="nearest")
        axes.add_patch(Rectangle((start, 0), columns, rows, fill=False, edgecolor=style.UNSEEN, linewidth=0.6))
        below = f"{title}\nat most {percent(float(seen.max()))}"
        axes.text(start, 1.06 * rows, below, ha="left", va="top", fontsize=style.NOTE, color=style.INK)
    axes.set(xlim=(0, (len(maps) - 1) * step + columns), ylim=(rows, 0), aspect="equal", xticks=[], yticks=[])
    style.bare(axes)
    axes.xaxis.labelpad = 32
    return axes


def _seen(trace: Trace, queries: IntArray) -> FloatArray:
    """(A,) share of the inputs asked whose queries were about each variable; one under two patches counts once."""
    seen, asked = np.zeros(len(trace.query_set.variables)), (queries != UNKNOWN).any(axis=1)
    for some in queries:
        variables = np.unique(trace.query_set.query_variables[some[some != UNKNOWN]])
        seen[variables[variables != UNKNOWN]] += 1
    return np.asarray(seen / max(int(asked.sum()), 1))


# ---- the tree ------------------------------------------------------------------------------------------------------


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
