"""A child process that judges folders, with a time limit for each; one that hangs or dies is replaced."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from types import TracebackType
from typing import Any, cast

from benchmarks import environment
from benchmarks.hardening.limits import MAX_SECONDS
from benchmarks.hardening.trial import WRONG

START = 300.0
"""Seconds until a child is ready; it makes all models first."""


class Child:
    """``with Child() as child: child.ask({...})``. What it says on stderr is not heard."""

    def __init__(self, seconds: float = MAX_SECONDS) -> None:
        self.seconds, self.n_lost = seconds, 0
        self._process: subprocess.Popen[bytes] | None = None
        self._read = b""

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def ask(self, task: dict[str, Any]) -> dict[str, Any]:
        """What the child says to a task; where it says nothing in time, or dies, that is what is wrong."""
        process = self._process or self._start()
        assert process.stdin is not None
        start = time.monotonic()
        try:
            process.stdin.write(f"{json.dumps(task)}\n".encode())
            process.stdin.flush()
            return cast(dict[str, Any], self._hear(self.seconds))
        except TimeoutError:
            said = f"took longer than {self.seconds:g} s"
        except (BrokenPipeError, EOFError):
            said = f"the process died ({process.wait()})"
        self.n_lost += 1
        self._end()
        return {"outcome": WRONG, "said": said, "seconds": time.monotonic() - start, "grown": 0, "peak": 0}

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "benchmarks.hardening.trial"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(OMP_NUM_THREADS="1"),
        )
        self._read = b""
        self._hear(START)
        return self._process

    def _hear(self, seconds: float) -> Any:
        """The next line of the child."""
        assert self._process is not None
        assert self._process.stdout is not None
        end = time.monotonic() + seconds
        while b"\n" not in self._read:
            if not select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError
            some = os.read(self._process.stdout.fileno(), 2**16)
            if not some:
                raise EOFError
            self._read += some
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
