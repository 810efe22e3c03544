"""Within what a file may be read: memory, time, and what counts as a clear error."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

MOST_MEMORY = 2**30
"""Bytes beyond what the process had before: the kernel gives no more, and whoever asks for more has failed."""
MOST_SECONDS = 10.0
"""For reading one altered model and asking it a few questions; whoever takes longer hangs."""
MOST_MESSAGE = 1000
"""Characters of an error that somebody can read."""


def limit_memory(most: int = MOST_MEMORY) -> None:
    """Let this process have no more than ``most`` bytes of address space beyond what it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + most
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def forget_peak() -> None:
    """Measure the peak from now on, where the system lets us."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def resident() -> tuple[int, int]:
    """Bytes of memory that this process has now, and had at its peak."""
    kilobytes = {}
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "VmHWM"):
            kilobytes[name] = int(value.split()[0])
    return 1024 * kilobytes["VmRSS"], 1024 * kilobytes["VmHWM"]
