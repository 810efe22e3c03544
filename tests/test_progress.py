"""The line of progress: silent when it is quick, and what an earlier run has done is not credited to this one."""

import io

import pytest

from infopursuit.support.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_it_is_silent_for_two_seconds_and_then_rewrites_one_line(clock):
    stream = Terminal()
    with Progress("asking", 10, stream=stream, clock=clock) as progress:
        clock.now += 1.9
        progress.advance()
        assert stream.getvalue() == ""
        clock.now += 2.1
        progress.advance()
        assert "asking" in stream.getvalue()
        assert "2 of 10, 16 s left" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[1A\x1b[2K")  # nothing of it is left


def test_what_was_done_before_does_not_make_this_run_faster(clock):
    stream = Terminal()
    progress = Progress("training", 100, stream=stream, done=80, clock=clock)
    clock.now += 5
    progress.advance(5)
    assert "85 of 100, 15 s left" in stream.getvalue()


@pytest.mark.parametrize(("show", "lines"), [(None, 0), (False, 0), (True, 1)])
def test_in_a_log_it_speaks_when_asked_to(show, lines, clock):
    stream = io.StringIO()
    with Progress("asking", 10, show=show, stream=stream, clock=clock) as progress:
        clock.now += 31
        progress.advance(5)
        clock.now += 1
        progress.advance(1)
    assert stream.getvalue().count("\n") == lines
    assert "\x1b" not in stream.getvalue()


def test_a_total_that_nobody_knows_is_not_made_up(clock):
    stream = Terminal()
    progress = Progress("reading, rows", 0, stream=stream, clock=clock)
    clock.now += 5
    progress.advance(20_000)
    assert stream.getvalue().endswith("reading, rows 20,000")
