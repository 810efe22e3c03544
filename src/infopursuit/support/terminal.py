"""Where commands write: a `rich` console that keeps to plain characters where the stream takes no others."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO, cast

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from infopursuit.support.display import printable

STYLES = {"bold": "bold", "faint": "dim", "good": "green", "bad": "magenta", "now": "color(208)", "fog": "color(240)"}
"""Names say what a style is for, not which colour it is."""
WIDEST = 120

_PLAIN = str.maketrans({**dict(zip("█▉▊▋▌▓▍▎▏━─–−░·±×’", "######   ----:.~x'", strict=True)), "…": "..."})


class Terminal(Console):
    """A console with the styles of this package. A broken pipe raises `BrokenPipeError`.

    Colours only on a terminal, and never where ``NO_COLOR`` is set. A stream that cannot encode block characters gets
    plain ones. Every line is flushed.
    """

    def __init__(self, stream: TextIO | None = None, *, width: int | None = None, colour: bool | None = None) -> None:
        self.stream = stream or sys.stdout
        self.colour = has_colour(self.stream) if colour is None else colour
        width = min(width or shutil.get_terminal_size((80, 24)).columns, WIDEST)
        super().__init__(
            file=cast(TextIO, _Encodable(self.stream)), width=width, highlight=False, markup=False, emoji=False,
            force_terminal=self.colour, color_system="256" if self.colour else None, legacy_windows=False,
        )  # fmt: skip

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def say(self, *lines: str) -> None:
        """Write some lines as they are."""
        self.out(*(lines or ("",)), sep="\n")

    def tell(self, text: str, style: str | None = None, *, indent: int = 0, hanging: int = 0) -> None:
        """Write a paragraph, wrapped to the width; the lines after the first are indented by ``hanging`` more."""
        wrapped = Text(text).wrap(self, self.width - 1 - indent - hanging)
        lines = [line.plain.rstrip() for line in wrapped]
        lines = [f"{' ' * (indent + (hanging if k else 0))}{line}" for k, line in enumerate(lines)]
        self.say(*(self.paint(line, style) if style else line for line in lines))

    def head(self, text: str) -> None:
        """Write a heading after an empty line."""
        self.say("", self.paint("── ", "faint") + self.paint(text, "bold")
                 + self.paint(" " + "─" * max(0, self.width - seen_width(text) - 5), "faint"))  # fmt: skip

    def paint(self, text: str, style: str) -> str:
        """Text in a style, as it is where there are no colours."""
        return paint(text, style) if self.colour else text


class _Encodable:
    """A stream of `printable` text that replaces block characters where it cannot encode them."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.plain = stream, not has_blocks(stream)

    def write(self, text: str) -> int:
        shown = printable(text)
        return self.stream.write(shown.translate(_PLAIN) if self.plain else shown)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


def paint(text: str, style: str) -> str:
    """Text in one of `STYLES`, with ANSI codes.

    >>> paint("yes", "good")
    '\\x1b[32myes\\x1b[0m'
    """
    return Style.parse(STYLES[style]).render(text)


def seen_width(text: str) -> int:
    """How many columns a line takes, codes for colours not counted.

    >>> seen_width(paint("yes", "good"))
    3
    """
    return Text.from_ansi(text).cell_len


def beside(blocks: Iterable[Sequence[str]], *, gap: int = 3) -> list[str]:
    """Blocks of lines side by side, each as wide as its widest line.

    >>> beside([["a", "bb"], ["c"]], gap=1)
    ['a  c', 'bb']
    """
    grid = Table.grid(padding=(0, gap, 0, 0))
    grid.add_row(*(Text("\n").join(Text.from_ansi(line, no_wrap=True) for line in block) for block in blocks))
    stream = io.StringIO()
    Console(file=stream, width=10_000, force_terminal=True, color_system="256", legacy_windows=False).print(grid)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def table(rows: Sequence[Sequence[str]], *, gap: int = 3) -> list[str]:
    """A table: the first column to the left, the others to the right; the first row is the head.

    >>> table([["", "n"], ["a", "10"]], gap=1)
    ['   n', 'a 10']
    """
    widths = [max(map(seen_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:  # padded by hand: rich strips the spaces at the end of a bar
        spaces = [" " * (width - seen_width(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [row[0] + spaces[0], *(space + cell for space, cell in zip(spaces[1:], row[1:], strict=True))]
        lines.append((" " * gap).join(cells).rstrip())
    return lines


def has_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether colours are wanted and seen (https://no-color.org)."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False

    return bool(getattr(stream, "isatty", lambda: False)())


def has_blocks(stream: TextIO) -> bool:
    """Whether the stream can encode what bars and pictures are made of."""
    try:
        "█▌░·".encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
