"""A strategy as a tree from left to right: questions in boxes, answers above them, ways as wide as they are taken."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.plots.lettering import Word, short, write_above
from infopursuit.plots.style import (
    COLOURS,
    EDGE,
    FAINT,
    HEAD,
    INK,
    NOTE,
    RIGHT,
    SHADES,
    SIZE,
    check_axes,
    need_matplotlib,
)
from infopursuit.plots.tree_boxes import BAR, GAP, LINE, PAD, Box, line_height, picture_size, place, tree_box
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from infopursuit.inspection.tree import StrategyTree

THICK = 9.0
"""Points of the way that all take."""
MOST_LEAVES = 200
"""More than that nobody reads."""
FEW = 6
"""Classes up to which each has a colour."""
STOPPED, NOW = "#EDF6F2", "#D55E00"


def strategy_tree(tree: StrategyTree, *, axes: Any = None) -> Axes:
    """Draw a strategy from left to right. A box says what is asked after the answer above it, and what is believed.

    The bar at the bottom of a box is what is believed: a piece in its colour for each of up to six classes, else how
    far the leading one has come. A way is as wide as the share that takes it. Green boxes are stops; three dots say
    that it asks on. About images a box shows what has been seen of it, and a frame around what is looked at next.

    Parameters
    ----------
    tree: what `infopursuit.strategy_tree` gives, or CART's tree of a comparison.
    axes: one axes to draw on, into which all is fitted, letters too. A new figure of the right size if None.

    Returns the axes; ``save(axes, "strategy.png")`` writes it. No window is opened and pyplot is left alone.
    """
    need_matplotlib()
    check_axes(axes)
    n_leaves = len(tree.leaves())
    if n_leaves > MOST_LEAVES:
        raise ValueError(
            f"tree has {n_leaves} leaves, more than {MOST_LEAVES} that can be read; make it with a smaller depth or a "
            f"larger min_share"
        )
    root = tree_box(tree, tree.root)
    wide, high = place(root)
    colours = COLOURS[: len(tree.classes)] if len(tree.classes) <= FEW else None
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
    drawn: Axes = axes
    return drawn


# ---- around the tree -----------------------------------------------------------------------------------------------


def _legend(
    tree: StrategyTree, colours: tuple[str, ...] | None, wide: float
) -> tuple[list[tuple[Word, tuple[float, float]]], float]:
    """The classes in their colours above the tree, as words and their places, and how high that is."""
    if colours is None:
        return [], 0.0
    found, x, y = [], 0.0, 0.0
    for name, colour in zip(tree.classes, colours, strict=True):
        word = Word(short(name, 30), INK, size=NOTE)
        if x and x + 12 + word.width > wide:
            x, y = 0.0, y + LINE * NOTE
        found += [(Word("■", colour, size=SIZE), (x, y - 1)), (word, (x + 12, y))]
        x += 12 + word.width + 14
    return found, y + LINE * NOTE + 8


def _new_axes(tree: StrategyTree, size: tuple[float, float]) -> Axes:
    from matplotlib.figure import Figure

    dots = "; … it asks on" if any(node.cut for node in tree.nodes()) else ""
    inputs = "" if tree.n_inputs is None else f"; the ways of {tree.n_inputs:,} inputs"
    said = (
        Word(f"The first questions of {tree.name}", INK, True, HEAD),
        Word(f"{tree.depth} deep{inputs}; shares {tree.share_of}{dots}", FAINT, False, NOTE),
    )
    edge = 0.15
    wide = max(size[0] / 72 + 2 * edge, 3.6)
    lines = tuple(word.folded(72 * (wide - 2 * edge) + 1) for word in said)
    top = edge + sum(word.height for word in lines) + 0.08
    high = top + size[1] / 72 + edge
    figure = Figure(figsize=(wide, high), dpi=150, facecolor="white")
    write_above(figure, lines, edge, edge)
    axes = figure.add_axes((edge / wide, edge / high, size[0] / 72 / wide, size[1] / 72 / high))
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


# ---- drawing ---------------------------------------------------------------------------------------------------------


def _draw(axes: Any, box: Box, down: float, scale: float, colours: tuple[str, ...] | None) -> None:
    """A box, its ways, and all below it."""
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path

    x, y = box.x, box.y + down
    for child in box.below:
        begin, end = (x + box.width, y + box.height / 2), (child.x - 1, child.y + down + child.height / 2)
        middle = (begin[0] + end[0]) / 2
        curve = Path([begin, (middle, begin[1]), (middle, end[1]), end], [Path.MOVETO, *[Path.CURVE4] * 3])
        thick = scale * (0.7 + THICK * child.share)
        axes.add_patch(PathPatch(curve, fill=False, edgecolor=EDGE, linewidth=thick, clip_on=False, zorder=1))
    if box.framed:
        style: dict[str, Any] = {
            "facecolor": STOPPED if box.stopped else "white",
            "edgecolor": RIGHT if box.stopped else EDGE,
        }
        shape = FancyBboxPatch(
            (x, y), box.width, box.height, boxstyle="round,pad=0,rounding_size=3", linewidth=scale * 0.8, clip_on=False,
            zorder=2, **style,
        )  # fmt: skip
        axes.add_patch(shape)
    at = y + PAD
    for line in box.lines:
        left = x + PAD + box.aside
        for word in line:
            _letter(axes, word, (left, at + (line_height(line) - LINE * word.size) * 0.7), scale)
            left += word.width + GAP
        at += line_height(line)
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
    """What is believed."""
    from matplotlib.patches import Rectangle

    wide = box.width - 2 * PAD
    axes.add_patch(Rectangle(at, wide, BAR, facecolor="#E3E6EA", linewidth=0, zorder=3))
    pieces = [(max(box.posterior), SHADES[2])] if colours is None else zip(box.posterior, colours, strict=True)
    left = at[0]
    for p, colour in pieces:
        axes.add_patch(Rectangle((left, at[1]), p * wide, BAR, facecolor=colour, linewidth=0, zorder=3))
        left += p * wide


def _draw_picture(axes: Any, picture: tuple[FloatArray, IntArray], at: tuple[float, float], scale: float) -> None:
    """What has been seen of an image: lit pixels black, dark ones white, others grey; what is next in a frame."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    pixels, atoms = picture
    wide, high = picture_size(pixels)
    shown = np.where(np.isnan(pixels), 1, np.where(pixels > 0, 2, 0))
    extent = (at[0], at[0] + wide, at[1] + high, at[1])
    colours = ListedColormap(["white", "#D9DDE2", INK])
    limits = axes.get_xlim(), axes.get_ylim()
    axes.imshow(shown, cmap=colours, vmin=0, vmax=2, extent=extent, interpolation="nearest", zorder=3, aspect="auto")
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
    axes.add_patch(Rectangle(at, wide, high, fill=False, edgecolor="#8F959E", linewidth=scale * 0.6, zorder=3))
    if len(atoms):
        each = wide / pixels.shape[1]
        rows, columns = np.divmod(atoms, pixels.shape[1])
        corner = (at[0] + each * columns.min(), at[1] + each * rows.min())
        size = each * (np.ptp(columns) + 1), each * (np.ptp(rows) + 1)
        axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=NOW, linewidth=scale * 1.6, zorder=4))
