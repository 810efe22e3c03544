"""Colours, widths and characters that a stream can take."""

import io

import pytest

from infopursuit.support.terminal import Terminal, beside, has_blocks, has_colour, paint, seen_width, table
from isolated import run_alone


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_colours_on_terminals_only():
    assert has_colour(Screen(), {"TERM": "xterm"})
    assert not has_colour(io.StringIO(), {"TERM": "xterm"})
    assert not has_colour(Screen(), {"TERM": "xterm", "NO_COLOR": "1"})
    assert has_colour(Screen(), {"TERM": "xterm", "NO_COLOR": ""})  # empty is as if not set
    assert not has_colour(Screen(), {"TERM": "dumb"})


def test_without_colours_nothing_but_text():
    out = io.StringIO()
    terminal = Terminal(out, width=40)
    terminal.head("Heading")
    terminal.tell("wrong", style="bad")
    assert "\x1b" not in out.getvalue()
    assert terminal.paint("x", "good") == "x"


def test_paragraphs_and_headings_fit_the_width():
    for width in (40, 80, 100):
        out = Screen()
        terminal = Terminal(out, width=width)
        terminal.tell("many words " * 40, style="good")
        terminal.head("a heading")
        assert max(seen_width(line) for line in out.getvalue().splitlines()) <= width


def test_the_width_is_that_of_the_terminal():
    code = "from infopursuit.support.terminal import Terminal; print(Terminal().width)"
    assert run_alone(code, environment={"COLUMNS": "91"}) == "91\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_streams_without_block_characters_get_plain_ones(encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    assert not has_blocks(stream)
    Terminal(stream, width=80).say("██▌░░·· 94 ± 1 % ──", "…")
    assert raw.getvalue().decode(encoding) == "###::.. 94 ~ 1 % --\n...\n"


def test_blocks_of_different_height_stand_side_by_side():
    left, right = ["a", paint("bbb", "now"), "cc"], ["1", "2"]
    assert [line.replace(paint("bbb", "now"), "bbb") for line in beside([left, right], gap=2)] == [
        "a    1",
        "bbb  2",
        "cc",
    ]


def test_tables_are_aligned():
    rows = table([["", "accuracy", "n"], ["a tree", "9 %", "12"], [paint("we", "good"), "100 %", "3"]])
    assert [seen_width(row) for row in rows] == [6 + 3 + 8 + 3 + 2] * 3


def test_bars_in_a_table_begin_in_one_column():
    rows = table([["", "share"], ["a", "██  "], ["b", "████"]])
    assert [row.find("█") for row in rows[1:]] == [5, 5]
