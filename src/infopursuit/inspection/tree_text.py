"""A strategy tree as lines for a terminal: the questions to the left, numbers in columns to the right."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infopursuit.explanation import percent
from infopursuit.inspection.tree import often

if TYPE_CHECKING:
    from infopursuit.inspection.tree import Branch, StrategyTree, TreeNode

WIDE_ENOUGH, WIDEST_BELIEF, NARROW_BELIEF, NARROWEST = 76, 22, 13, 20
"""Columns from which on a terminal is wide; for what is believed at the most on a wide and on a narrow one; and for the
questions at the least."""
GAP = 2


@dataclass(frozen=True)
class _Line:
    """A node or a branch that is not followed: what stands before its first line and before the others, its words, and
    its numbers."""

    first: str
    rest: str
    words: str
    cells: tuple[str, ...]


def tree_lines(tree: StrategyTree, width: int = 80) -> list[str]:
    """The whole tree with a heading."""
    belief = WIDEST_BELIEF if width >= WIDE_ENOUGH else NARROW_BELIEF
    lines = [_head(tree), *_lines(tree, tree.root, "", "", None, belief)]
    wide = [max(len(line.cells[c]) for line in lines) for c in range(len(lines[0].cells))]
    room = max(NARROWEST, width - sum(wide) - GAP * len(wide))
    said = [words for line in lines for words in _folded(line, room)]
    room = min(room, max(len(words) for words in said))
    out = []
    for line in lines:
        folded = _folded(line, room)
        numbers = []
        for c, (cell, n) in enumerate(zip(line.cells, wide, strict=True)):
            numbers.append(cell.ljust(n) if c == len(wide) - 1 else cell.rjust(n))
        out.append((" " * GAP).join([folded[0].ljust(room), *numbers]).rstrip())
        out += folded[1:]
    return [*textwrap.wrap(_about(tree), width), "", *out, *_notes(tree, width)]


def _about(tree: StrategyTree) -> str:
    n = tree.depth
    begin = f"The first {n} questions" if n > 1 else "The first question" if n else "Before the first question"
    about = f"{begin} of {tree.name}"
    if tree.n_inputs is not None:
        about += f", and which of them {tree.n_inputs:,} input{'' if tree.n_inputs == 1 else 's'} take"
    return f"{about}."


def _notes(tree: StrategyTree, width: int) -> list[str]:
    notes = []
    if any(node.cut for node in tree.nodes()):
        notes.append("…: it asks on.")
    if not tree.exact_gains:
        notes.append("Which question tells most was estimated on a part of the states and queries.")
    return ["", *textwrap.wrap(" ".join(notes), width)] if notes else []


def _head(tree: StrategyTree) -> _Line:
    return _Line("", "", "", ("share", *_numbers(tree, "inputs", "right"), "belief"))


def _numbers(tree: StrategyTree, n_inputs: str, right: str) -> tuple[str, ...]:
    """The columns that are there only where inputs, and labels, are given."""
    if tree.n_inputs is None:
        return ()
    return (n_inputs,) if tree.root.n_right is None else (n_inputs, right)


def _lines(tree: StrategyTree, node: TreeNode, first: str, rest: str, said: str | None, room: int) -> list[_Line]:
    """A node and all below it; what stands before its first line and before the others."""
    if node.stopped:
        best = max(range(len(node.posterior)), key=lambda c: node.posterior[c])
        why = "" if node.stopped_because in ("confidence", "leaf") else f" ({node.stopped_because.replace('_', ' ')})"
        does = f"stop: {tree.classes[best]}{why}"
    else:
        does = f"{tree.question(node)} …" if node.cut else tree.question(node)
    words = does if said is None else f"{said} → {does}"
    belief = percent(max(node.posterior)) if node.stopped else _cut(tree.believed(node), room)
    right = "" if not node.n_inputs or node.n_right is None else percent(node.n_right / node.n_inputs)
    n_inputs = "" if node.n_inputs is None else f"{node.n_inputs:,}"
    found = [_Line(first, rest, words, (often(node.probability), *_numbers(tree, n_inputs, right), belief))]
    for place, branch in enumerate(node.branches):
        last = place == len(node.branches) - 1
        begin, go_on = rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")
        if branch.node is None:
            found.append(_unfollowed(tree, branch, begin, go_on))
        else:
            found += _lines(tree, branch.node, begin, go_on, branch.said, room)
    return found


def _unfollowed(tree: StrategyTree, branch: Branch, first: str, rest: str) -> _Line:
    n_inputs = "" if branch.n_inputs is None else f"{branch.n_inputs:,}"
    return _Line(first, rest, branch.said, (often(branch.probability), *_numbers(tree, n_inputs, ""), ""))


def _folded(line: _Line, room: int) -> list[str]:
    """The words in lines of at most so many columns, each with what stands before it."""
    wide = max(room, len(line.first) + 12)
    words = textwrap.wrap(
        line.words, wide, initial_indent=line.first, subsequent_indent=line.rest + "   ", break_on_hyphens=False
    )
    return words or [line.first]


def _cut(belief: str, room: int) -> str:
    """A class with a long name and its posterior in at most so many columns."""
    name, _, number = belief.rpartition(" (")
    if len(belief) <= room or not name:
        return belief
    return f"{name[: max(room - len(number) - 3, 1)]}… ({number}"
