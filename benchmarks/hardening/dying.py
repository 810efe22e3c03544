"""A process that kills itself when it comes to write: just before or just after a file takes its place.

``python -m benchmarks.hardening.dying 3 before reproduce calibration-digits`` runs that experiment up to the third file
that it writes. A signal from outside seldom comes at such a moment.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

MOMENTS = ("half written", "before", "after")
"""When the file beside is there and not yet whole; when it is whole and not yet renamed; when it has been."""


def die_at_write(n: int, moment: str) -> None:
    """Arrange for the end of this process at the n-th file from now on."""
    if moment not in MOMENTS or n < 1:
        raise ValueError(f"n={n}, moment={moment!r}; give a number from 1 on and one of {', '.join(MOMENTS)}")
    count = {"fsync": 0, "replace": 0}
    fsync, replace = os.fsync, os.replace

    def counting(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            count[name] += 1
            if moment == "half written" and name == "fsync" and count["replace"] == n - 1:
                size = os.fstat(arguments[0]).st_size
                os.ftruncate(arguments[0], size // 2)
                end()
            if moment == "before" and name == "replace" and count[name] == n:
                end()
            result = real(*arguments, **options)
            if moment == "after" and name == "replace" and count[name] == n:
                end()
            return result

        return call

    os.fsync, os.replace = counting("fsync", fsync), counting("replace", replace)


def end() -> None:
    """No clean-up, no farewell."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(argv: Sequence[str]) -> int:
    """``N MOMENT COMMAND ...``: of infopursuit, ``reproduce ...``, or ``task NAME FOLDER`` for one of `OWN`."""
    n, moment, *command = argv
    if int(n):
        die_at_write(int(n), moment)
    if command[0] == "task":
        from benchmarks.hardening.killed_tasks import OWN

        OWN[command[1]](command[2])
        return 0
    if command[0] == "reproduce":
        from benchmarks.reproduce import main as reproduce

        return reproduce(command[1:])
    from infopursuit.app.cli import main as run

    return run(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
