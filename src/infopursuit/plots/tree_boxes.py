"""The boxes of a drawn tree: what stands in each, and where it lies; in points, from the top left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from infopursuit.explanation import percent
from infopursuit.plots.lettering import Word, short
from infopursuit.plots.style import FAINT, INK, NOTE, RIGHT
from infopursuit.types import UNKNOWN, FloatArray, IntArray, Likely

if TYPE_CHECKING:
    from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode

WIDE, PAD, BETWEEN, APART, BAR = 136.0, 5.0, 40.0, 9.0, 4.0
"""Lines of a box at the most, its border, between two columns, between two boxes, height of a bar."""
LINE, GAP = 1.35, 6.0
"""Height of a line in sizes of its letters; between two words, and between a picture and words."""
IMAGE = 54.0
"""The longer side of a picture."""


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
        return 0.0 if self.picture is None else picture_size(self.picture[0])[0] + GAP

    @property
    def width(self) -> float:
        """With its border."""
        words = max((sum(w.width for w in line) + GAP * (len(line) - 1) for line in self.lines), default=0.0)
        return self.aside + max(words, 40.0) + 2 * PAD

    @property
    def height(self) -> float:
        """With its border."""
        words = sum(line_height(line) for line in self.lines)
        inside = max(words, 0.0 if self.picture is None else picture_size(self.picture[0])[1] + 2)
        return inside + 2 * PAD + (BAR + 3 if self.posterior else 0.0)


# ---- what stands in a box --------------------------------------------------------------------------------------------


def tree_box(tree: StrategyTree, node: TreeNode, branch: Branch | None = None) -> Box:
    """The box of a node, with those of all below it; ``branch``: the answer that leads to it."""
    picture = _seen(tree, node)
    lines = [] if branch is None else [_answer(branch, picture is not None)]
    if node.n_inputs is not None:
        right = "" if not node.n_inputs or node.n_right is None else f", {percent(node.n_right / node.n_inputs)} right"
        plural = "" if node.n_inputs == 1 else "s"
        lines.append((Word(f"{node.n_inputs:,} input{plural}{right}", FAINT, size=NOTE),))
    best = int(np.argmax(node.posterior))
    if node.stopped:
        name = Word(short(tree.classes[best], 40), RIGHT, True).folded(WIDE).text.split("\n")
        lines += [(Word(line, RIGHT, True),) for line in name]
        why = "" if node.stopped_because in ("confidence", "leaf") else f", {node.stopped_because.replace('_', ' ')}"
        lines.append((Word(f"{percent(node.posterior[best])}{why}", FAINT, size=NOTE),))
    else:
        if picture is None:
            asked = Word(short(tree.question(node), 110)).folded(WIDE).text.split("\n")
            lines += [(Word(line, INK, bool(node.branches)),) for line in asked]
        dots = " …" if node.cut else ""
        belief = Word(f"{tree.believed(node)}{dots}", FAINT, size=NOTE).folded(WIDE).text.split("\n")
        lines += [(Word(line, FAINT, size=NOTE),) for line in belief]
    box = Box(lines, node.posterior, picture, node.stopped, True, node.probability)
    for way in node.branches:
        box.below.append(_unfollowed(way) if way.node is None else tree_box(tree, way.node, way))
    return box


def _answer(branch: Branch, picture: bool) -> tuple[Word, ...]:
    """The answer and how often it is given; a pattern of pixels is drawn instead."""
    share = Word(_often(branch.probability), FAINT, size=NOTE)
    return (share,) if picture else (Word(short(branch.said, 26), INK, True), share)


def _unfollowed(branch: Branch) -> Box:
    share = Word(_often(branch.probability), FAINT, size=NOTE)
    lines: list[tuple[Word, ...]] = [(Word(short(branch.said, 26), FAINT), share)]
    if branch.n_inputs is not None:
        lines.append((Word(f"{branch.n_inputs:,} input{'' if branch.n_inputs == 1 else 's'}", FAINT, size=NOTE),))
    return Box(lines, framed=False, share=branch.probability)


def _often(p: float) -> str:
    return "< 1 %" if 0 < p < 0.005 else percent(p)


def _seen(tree: StrategyTree, node: TreeNode) -> tuple[FloatArray, IntArray] | None:
    """What has been seen of an image, and the atoms that are asked about next; None where it is about something else,
    or nothing says what was seen."""
    shape = getattr(tree.query_set, "shape", None)
    if shape is None or node.history is None:
        return None
    pixels = np.full(shape[0] * shape[1], np.nan)
    for query, answer in node.history:
        atoms = tree.query_set.query_atoms[query]
        cells = answer.cells if isinstance(answer, Likely) else answer or ()
        for atom, cell in zip(atoms[atoms != UNKNOWN].tolist(), cells, strict=False):
            if cell != UNKNOWN:
                pixels[atom] = cell
    nothing = np.zeros(0, dtype=np.int64)
    atoms = nothing if node.stopped else tree.query_set.query_atoms[node.query]
    return pixels.reshape(shape), atoms[atoms != UNKNOWN]


def picture_size(picture: FloatArray) -> tuple[float, float]:
    """Points that an image takes."""
    rows, columns = picture.shape
    each = IMAGE / max(rows, columns)
    return columns * each, rows * each


def line_height(line: tuple[Word, ...]) -> float:
    """Points of a line of words."""
    return LINE * max(word.size for word in line)


# ---- where it lies ---------------------------------------------------------------------------------------------------


def place(root: Box) -> tuple[float, float]:
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
    """How high a box and all below it are."""
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
