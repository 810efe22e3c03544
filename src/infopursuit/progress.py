"""A line of progress for anything that takes longer than two seconds, on terminals and in logs."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO


class Progress:
    """``with Progress("asking", 1000) as progress: progress.advance(10)``.

    Silent for the first two seconds. On a terminal one line is rewritten; elsewhere a line is written every half
    minute. ``total``: 0 where nobody knows it. ``show=False`` keeps it silent, ``show=None`` shows it on a terminal
    only. ``done``: what an earlier run has done already.
    """

    def __init__(
        self, what: str, total: int, *, show: bool | None = None, stream: TextIO | None = None, done: int = 0
    ) -> None:
        self.what, self.total, self.done, self._before = what, max(total, 0), done, done
        self.stream = stream or sys.stderr
        self.live = bool(getattr(self.stream, "isatty", lambda: False)())
        self.show = self.live if show is None else show
        self._start = self._last = time.monotonic()
        self._written = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._written and self.live:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def advance(self, n: int = 1) -> None:
        """Say that n more are done."""
        self.done += n
        now = time.monotonic()
        if not self.show or now - self._start < 2 or now - self._last < (0.2 if self.live else 30):
            return
        self._last, self._written = now, True
        line = self._line(now)
        self.stream.write(f"\r\x1b[K{line}" if self.live else line + "\n")
        self.stream.flush()

    def _line(self, now: float) -> str:
        if not self.total:
            return f"{self.what} {self.done}"
        share = min(self.done / self.total, 1.0)
        each = (now - self._start) / max(self.done - self._before, 1)
        left = f", {_clock(each * (self.total - self.done))} left" if self.done <= self.total else ""
        return f"{self.what} {bar(share)} {self.done} of {self.total}{left}"


def bar(share: float, width: int = 20) -> str:
    """A bar of eighths of a block.

    >>> bar(0.5, 4)
    '██  '
    """
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(width)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
