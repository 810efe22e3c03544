"""A strategy as a tree from left to right: questions in boxes, answers above them, branches as wide as their share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import count, often, percent
from infopursuit.plots import style
from infopursuit.plots.style import Word, short
from infopursuit.types import UNKNOWN, FloatArray, IntArray, SoftAnswer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode

THICK = 9.0
"""Points of the branch that all take."""
MAX_LEAVES, MAX_COLOURS = 200, 6
"""Leaves that can be read; classes up to which each has a colour."""
STOPPED = "#EDF6F2"
WIDE, PAD, BETWEEN, APART, BAR = 136.0, 5.0, 40.0, 9.0, 4.0
"""Lines of a box at the most, its border, between two columns, between two boxes, height of a bar."""
LINE, GAP = 1.35, 6.0
"""Height of a line in sizes of its letters; between two words, and between a picture and words."""
IMAGE = 54.0
"""The longer side of a picture."""


def strategy_tree(tree: StrategyTree, *, axes: Any = None) -> Axes:
    """Draw a strategy from left to right. A box has the query asked after the answer above it, and the posterior.

    The bar at the bottom of a box is the posterior: a piece in its colour for each of up to six classes, else how
    far the leading one has come. A way is as wide as the share that takes it. Green boxes are stops; three dots say
    that it asks on. About images a box shows what has been seen of it, and a frame around what is looked at next.

    Parameters
    ----------
    tree: what `infopursuit.strategy_tree` gives.
    axes: one axes to draw on, into which all is fitted, letters too. A new figure of the right size if None.
    """
    style.check_axes(axes)
    n_leaves = len(tree.leaves())
    if n_leaves > MAX_LEAVES:
        raise ValueError(
            f"tree has {n_leaves} leaves, more than {MAX_LEAVES} that can be read; make it with a smaller depth or a "
            f"larger min_share"
        )
    root = _tree_box(tree, tree.root)
    wide, high = _place(root)
    colours = style.COLOURS[: len(tree.classes)] if len(tree.classes) <= MAX_COLOURS else None
    legend, above = _legend(tree, colours, wide)
    size = (wide, high + above)
    scale = 1.0
    if axes is None:
        axes = _new_axes(tree, size)
    else:
        scale = _fit(axes, size)
    for words, at in legend:
        _letter(axes, words, at, scale)
    _draw(axes, root, above, scale, colours)
    axes.set_axis_off()
    return axes  # type: ignore[no-any-return]


def _legend(
    tree: StrategyTree, colours: tuple[str, ...] | None, wide: float
) -> tuple[list[tuple[Word, tuple[float, float]]], float]:
    if colours is None:
        return [], 0.0
    found, x, y = [], 0.0, 0.0
    for name, colour in zip(tree.classes, colours, strict=True):
        word = Word(short(name, 30), style.INK, size=style.NOTE)
        if x and x + 12 + word.width > wide:
            x, y = 0.0, y + LINE * style.NOTE
        found += [(Word("■", colour, size=style.SIZE), (x, y - 1)), (word, (x + 12, y))]
        x += 12 + word.width + 14
    return found, y + LINE * style.NOTE + 8


def _new_axes(tree: StrategyTree, size: tuple[float, float]) -> Axes:
    dots = "; … it asks on" if any(node.cut for node in tree.nodes()) else ""
    inputs = "" if tree.n_inputs is None else f"; the ways of {tree.n_inputs:,} inputs"
    said = (
        Word(f"The first questions of {tree.name}", style.INK, True, style.HEAD),
        Word(f"{tree.depth} deep{inputs}; shares under its model{dots}", style.FAINT, False, style.NOTE),
    )
    axes = style.new_axes((size[0] / 72, size[1] / 72), said, above=0.08, min_width=3.6)
    axes.set_xlim(0, size[0])
    axes.set_ylim(size[1], 0)
    return axes


def _fit(axes: Any, size: tuple[float, float]) -> float:
    """Let so many points fit into axes that are there; returns how much smaller that makes them."""
    points = 72 / axes.figure.dpi
    wide, high = points * axes.bbox.width, points * axes.bbox.height
    scale = min(wide / size[0], high / size[1], 1.0)
    axes.set_xlim(0, wide / scale)
    axes.set_ylim(high / scale, 0)
    return float(scale)


def _draw(axes: Any, box: Box, down: float, scale: float, colours: tuple[str, ...] | None) -> None:
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path

    x, y = box.x, box.y + down
    for child in box.below:
        begin, end = (x + box.width, y + box.height / 2), (child.x - 1, child.y + down + child.height / 2)
        middle = (begin[0] + end[0]) / 2
        curve = Path([begin, (middle, begin[1]), (middle, end[1]), end], [Path.MOVETO, *[Path.CURVE4] * 3])
        thick = scale * (0.7 + THICK * child.share)
        axes.add_patch(PathPatch(curve, fill=False, edgecolor=style.EDGE, linewidth=thick, clip_on=False, zorder=1))
    if box.framed:
        look: dict[str, Any] = {
            "facecolor": STOPPED if box.stopped else "white",
            "edgecolor": style.RIGHT if box.stopped else style.EDGE,
        }
        shape = FancyBboxPatch(
            (x, y), box.width, box.height, boxstyle="round,pad=0,rounding_size=3", linewidth=scale * 0.8, clip_on=False,
            zorder=2, **look,
        )  # fmt: skip
        axes.add_patch(shape)
    at = y + PAD
    for line in box.lines:
        left = x + PAD + box.aside
        for word in line:
            _letter(axes, word, (left, at + (_line_height(line) - LINE * word.size) * 0.7), scale)
            left += word.width + GAP
        at += _line_height(line)
    if box.picture is not None:
        _draw_picture(axes, box.picture, (x + PAD, y + PAD + 1), scale)
    if box.posterior:
        _draw_bar(axes, box, (x + PAD, y + box.height - PAD - BAR), colours)
    for child in box.below:
        _draw(axes, child, down, scale, colours)


def _letter(axes: Any, word: Word, at: tuple[float, float], scale: float) -> None:
    word = replace(word, size=word.size * scale)
    axes.text(*at, word.text, ha="left", va="top", zorder=4, **word.style)


def _draw_bar(axes: Any, box: Box, at: tuple[float, float], colours: tuple[str, ...] | None) -> None:
    from matplotlib.patches import Rectangle

    wide = box.width - 2 * PAD
    axes.add_patch(Rectangle(at, wide, BAR, facecolor="#E3E6EA", linewidth=0, zorder=3))
    pieces = [(max(box.posterior), style.SHADES[2])] if colours is None else zip(box.posterior, colours, strict=True)
    left = at[0]
    for p, colour in pieces:
        axes.add_patch(Rectangle((left, at[1]), p * wide, BAR, facecolor=colour, linewidth=0, zorder=3))
        left += p * wide


def _draw_picture(axes: Any, picture: tuple[FloatArray, IntArray], at: tuple[float, float], scale: float) -> None:
    """What has been seen of an image: lit pixels black, dark ones white, others grey; what is next in a frame."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    pixels, variables = picture
    wide, high = _picture_size(pixels)
    shown = np.where(np.isnan(pixels), 1, np.where(pixels > 0, 2, 0))
    extent = (at[0], at[0] + wide, at[1] + high, at[1])
    colours = ListedColormap(["white", "#D9DDE2", style.INK])
    limits = axes.get_xlim(), axes.get_ylim()
    axes.imshow(shown, cmap=colours, vmin=0, vmax=2, extent=extent, interpolation="nearest", zorder=3, aspect="auto")
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
    axes.add_patch(Rectangle(at, wide, high, fill=False, edgecolor=style.UNSEEN, linewidth=scale * 0.6, zorder=3))
    if len(variables):
        each = wide / pixels.shape[1]
        rows, columns = np.divmod(variables, pixels.shape[1])
        corner = (at[0] + each * columns.min(), at[1] + each * rows.min())
        size = each * (np.ptp(columns) + 1), each * (np.ptp(rows) + 1)
        axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=style.NOW, linewidth=scale * 1.6, zorder=4))


# ---- boxes: what stands in each, and where it lies, in points from the top left --------------------------------------


@dataclass
class Box:
    """A node, or answers that are not followed: its lines, what is drawn below them, and where it lies (points)."""

    lines: list[tuple[Word, ...]]
    posterior: tuple[float, ...] = ()
    picture: tuple[FloatArray, IntArray] | None = None
    stopped: bool = False
    framed: bool = True
    share: float = 1.0
    below: list[Box] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def aside(self) -> float:
        """Room that the picture takes, to the left of the words."""
        return 0.0 if self.picture is None else _picture_size(self.picture[0])[0] + GAP

    @property
    def width(self) -> float:
        """With its border."""
        words = max((sum(w.width for w in line) + GAP * (len(line) - 1) for line in self.lines), default=0.0)
        return self.aside + max(words, 40.0) + 2 * PAD

    @property
    def height(self) -> float:
        """With its border."""
        words = sum(_line_height(line) for line in self.lines)
        inside = max(words, 0.0 if self.picture is None else _picture_size(self.picture[0])[1] + 2)
        return inside + 2 * PAD + (BAR + 3 if self.posterior else 0.0)


def _tree_box(tree: StrategyTree, node: TreeNode, branch: Branch | None = None) -> Box:
    """The box of a node, with those of all below it; ``branch``: the answer that leads to it."""
    picture = _seen(tree, node)
    lines = [] if branch is None else [_answer(branch, picture is not None)]
    if node.n_inputs is not None:
        right = "" if not node.n_inputs or node.n_right is None else f", {percent(node.n_right / node.n_inputs)} right"
        lines.append((Word(f"{count(node.n_inputs, 'input')}{right}", style.FAINT, size=style.NOTE),))
    best = int(np.argmax(node.posterior))
    if node.stopped:
        name = Word(short(tree.classes[best], 40), style.RIGHT, True).folded(WIDE).text.split("\n")
        lines += [(Word(line, style.RIGHT, True),) for line in name]
        why = "" if node.stop_reason == "confidence" else f", {node.stop_reason.replace('_', ' ')}"
        lines.append((Word(f"{percent(node.posterior[best])}{why}", style.FAINT, size=style.NOTE),))
    else:
        if picture is None:
            asked = Word(short(tree.question(node), 110)).folded(WIDE).text.split("\n")
            lines += [(Word(line, style.INK, bool(node.branches)),) for line in asked]
        dots = " …" if node.cut else ""
        belief = Word(f"{tree.believed(node)}{dots}", style.FAINT, size=style.NOTE).folded(WIDE).text.split("\n")
        lines += [(Word(line, style.FAINT, size=style.NOTE),) for line in belief]
    box = Box(lines, node.posterior, picture, node.stopped, True, node.probability)
    for way in node.branches:
        box.below.append(_unfollowed(way) if way.node is None else _tree_box(tree, way.node, way))
    return box


def _answer(branch: Branch, picture: bool) -> tuple[Word, ...]:
    """The answer and how often it is given; a pattern of pixels is drawn instead."""
    share = Word(often(branch.probability), style.FAINT, size=style.NOTE)
    return (share,) if picture else (Word(short(branch.said, 26), style.INK, True), share)


def _unfollowed(branch: Branch) -> Box:
    share = Word(often(branch.probability), style.FAINT, size=style.NOTE)
    lines: list[tuple[Word, ...]] = [(Word(short(branch.said, 26), style.FAINT), share)]
    if branch.n_inputs is not None:
        lines.append((Word(count(branch.n_inputs, "input"), style.FAINT, size=style.NOTE),))
    return Box(lines, framed=False, share=branch.probability)


def _seen(tree: StrategyTree, node: TreeNode) -> tuple[FloatArray, IntArray] | None:
    """What has been seen of an image, and the variables asked about next; None where that is not known."""
    shape = getattr(tree.query_set, "shape", None)
    if shape is None:
        return None
    pixels = np.full(shape[0] * shape[1], np.nan)
    for query, answer in node.history:
        variables = tree.query_set.query_variables[query]
        cells = answer.cells if isinstance(answer, SoftAnswer) else answer or ()
        for variable, cell in zip(variables[variables != UNKNOWN].tolist(), cells, strict=False):
            if cell != UNKNOWN:
                pixels[variable] = cell
    nothing = np.zeros(0, dtype=np.int64)
    variables = nothing if node.stopped else tree.query_set.query_variables[node.query]
    return pixels.reshape(shape), variables[variables != UNKNOWN]


def _picture_size(picture: FloatArray) -> tuple[float, float]:
    rows, columns = picture.shape
    each = IMAGE / max(rows, columns)
    return columns * each, rows * each


def _line_height(line: tuple[Word, ...]) -> float:
    return LINE * max(word.size for word in line)


def _place(root: Box) -> tuple[float, float]:
    """Give every box its place; returns how much room all take. Each box and all below it have a band of their own, so
    that nothing lies on anything."""
    columns: list[list[Box]] = []
    level = [root]
    while level:
        columns.append(level)
        level = [child for box in level for child in box.below]
    x = 0.0
    for boxes in columns:
        for box in boxes:
            box.x = x
        x += max(box.width for box in boxes) + BETWEEN
    high = _band(root)
    _stack(root, 0.0, high)
    return x - BETWEEN, high


def _band(box: Box) -> float:
    below = sum(_band(child) for child in box.below) + APART * max(len(box.below) - 1, 0)
    return max(box.height, below)


def _stack(box: Box, top: float, high: float) -> None:
    """Put a box into the middle of its band, and those below it one under the other."""
    box.y = top + (high - box.height) / 2
    bands = [_band(child) for child in box.below]
    at = top + (high - sum(bands) - APART * max(len(bands) - 1, 0)) / 2
    for child, band in zip(box.below, bands, strict=True):
        _stack(child, at, band)
        at += band + APART
