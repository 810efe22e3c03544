"""What a terminal can show: how wide it is, whether it has colours and block characters; and text laid out for it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TextIO

STYLES = {"bold": "1", "faint": "2", "good": "32", "bad": "35", "now": "38;5;208", "fog": "38;5;240"}
"""What a style means, as ANSI codes: names say what for, not which colour."""

_CODES = re.compile(r"\x1b\[[0-9;]*m")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("█▉▊▋▌▓", "#"),
        **dict.fromkeys("▍▎▏", " "),
        **dict.fromkeys("━─–−", "-"),
        "░": ":",
        "·": ".",
        "±": "~",
        "×": "x",
        "’": "'",
        "…": "...",
    }
)


class Terminal:
    """Where a command writes its lines.

    Colours only where they are seen: on a terminal, and never when ``NO_COLOR`` is set. A stream that cannot write
    block characters gets plain ones instead of an error. Every line is flushed, so that logs and pipes show it at once.
    """

    def __init__(self, stream: TextIO | None = None, *, width: int | None = None, colour: bool | None = None) -> None:
        self.stream = stream or sys.stdout
        self.width = min(width or shutil.get_terminal_size((80, 24)).columns, 120)
        self.colour = has_colour(self.stream) if colour is None else colour
        self.blocks = has_blocks(self.stream)

    def say(self, *lines: str) -> None:
        """Write some lines as they are."""
        for text in lines or ("",):
            self.stream.write((text if self.blocks else text.translate(_PLAIN)) + "\n")
        self.stream.flush()

    def tell(self, text: str, style: str | None = None) -> None:
        """Write a paragraph, wrapped to the width."""
        lines = textwrap.wrap(text, self.width - 1, break_on_hyphens=False)
        self.say(*(line if style is None else self.paint(line, style) for line in lines))

    def head(self, text: str) -> None:
        """Write a heading after an empty line."""
        rule = "─" * max(0, self.width - len(text) - 5)
        self.say("", f"{self.paint('──', 'faint')} {self.paint(text, 'bold')} {self.paint(rule, 'faint')}")

    def paint(self, text: str, style: str) -> str:
        """Text in a style, as it is where there are no colours."""
        return paint(text, style) if self.colour else text


def paint(text: str, style: str) -> str:
    """Text in one of `STYLES`.

    >>> paint("yes", "good")
    '\\x1b[32myes\\x1b[0m'
    """
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if text else text


def seen_width(text: str) -> int:
    """How many columns a line takes, codes for colours not counted.

    >>> seen_width(paint("yes", "good"))
    3
    """
    return len(_CODES.sub("", text))


def beside(blocks: Iterable[Sequence[str]], *, gap: int = 3) -> list[str]:
    """Blocks of lines side by side, each as wide as its widest line.

    >>> beside([["a", "bb"], ["c"]], gap=1)
    ['a  c', 'bb']
    """
    columns = [list(block) for block in blocks]
    high = max((len(block) for block in columns), default=0)
    lines = []
    for row in range(high):
        line = ""
        at = 0
        for block in columns:
            cell = block[row] if row < len(block) else ""
            line += " " * (at - seen_width(line)) + cell if cell else ""
            at += max(seen_width(text) for text in block) + gap
        lines.append(line)
    return lines


def table(rows: Sequence[Sequence[str]], *, gap: int = 3) -> list[str]:
    """A table: the first column to the left, numbers to the right, the first row is the head.

    >>> table([["", "n"], ["a", "10"]], gap=1)
    ['   n', 'a 10']
    """
    wide = [max(seen_width(row[c]) for row in rows) for c in range(len(rows[0]))]

    def cell(text: str, c: int) -> str:
        space = " " * (wide[c] - seen_width(text))
        return text + space if c == 0 else space + text

    return [(" " * gap).join(cell(text, c) for c, text in enumerate(row)).rstrip() for row in rows]


def has_colour(stream: TextIO) -> bool:
    """Whether colours are wanted and seen (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(getattr(stream, "isatty", lambda: False)())


def has_blocks(stream: TextIO) -> bool:
    """Whether the stream can write what bars and pictures are made of."""
    try:
        "█▌░·".encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
