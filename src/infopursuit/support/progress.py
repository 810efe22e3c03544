"""Progress of anything that takes longer than two seconds, on terminals and in logs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, TextIO


class Progress:
    """``with Progress("asking", 1000) as progress: progress.advance(10)``.

    Silent for the first two seconds. On a terminal a live line with a bar; elsewhere a line every half minute.
    ``total``: 0 where it is unknown. ``show=False`` keeps it silent, ``show=None`` shows it on a terminal only.
    ``done``: what an earlier run has done already; the time left is estimated from this run alone.
    ``clock``: a function that returns seconds.
    """

    def __init__(
        self,
        what: str,
        total: int,
        *,
        show: bool | None = None,
        stream: TextIO | None = None,
        done: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what = what
        self.total = max(total, 0)
        self.done = done
        self._before = done
        self._clock = clock
        self.stream = stream or sys.stderr
        self.live = os.environ.get("TERM") != "dumb" and bool(getattr(self.stream, "isatty", lambda: False)())
        self.show = self.live if show is None else show
        self._start = self._last = clock()
        self._line: Any = None

    @classmethod
    def of(cls, what: str, total: int, show: bool | Progress | None) -> AbstractContextManager[Progress]:
        """``show`` itself where it is one already: what is done here is then a part of what it counts."""
        return nullcontext(show) if isinstance(show, Progress) else cls(what, total, show=show)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._line is not None:
            self._line.stop()

    def advance(self, n: int = 1) -> None:
        """Count n more as done."""
        self.done += n
        now = self._clock()
        if not self.show or now - self._start < 2 or now - self._last < (0.2 if self.live else 30):
            return
        self._last = now
        if self.live:
            self._draw(self._count(now))
        else:
            self.stream.write(f"{self.what} {self._count(now)}\n")
            self.stream.flush()

    def _count(self, now: float) -> str:
        if not self.total:
            return f"{self.done:,}"
        each = (now - self._start) / max(self.done - self._before, 1)
        minutes, seconds = divmod(round(each * max(self.total - self.done, 0)), 60)
        left = f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
        return f"{self.done:,} of {self.total:,}" + (f", {left} left" if self.done <= self.total else "")

    def _draw(self, count: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Line

        if self._line is None:
            columns = [TextColumn("{task.description}", markup=False), TextColumn("{task.fields[count]}")]
            if self.total:
                columns.insert(1, BarColumn(20))  # type: ignore[arg-type]
            # refreshed by hand: no thread that a fork would lose
            options: Any = dict.fromkeys(("auto_refresh", "redirect_stdout", "redirect_stderr"), False)
            self._line = Line(
                *columns, console=Console(file=self.stream, force_terminal=True), transient=True, **options
            )
            self._line.start()
            self._line.add_task(self.what, total=self.total or None, count=count)
        self._line.update(self._line.task_ids[0], completed=self.done, count=count, refresh=True)


def bar(share: float, width: int = 20) -> str:
    """A bar of eighths of a block.

    >>> bar(0.5, 4)
    '██  '
    """
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(width)
