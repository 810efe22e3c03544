"""Within what a file may be read: memory, time, and what counts as a clear error."""

from __future__ import annotations

import contextlib
import re
import resource
from pathlib import Path

MAX_MEMORY = 2**30
"""Bytes beyond what the process had before: the kernel gives no more, and whoever asks for more has failed."""
MAX_SECONDS = 10.0
"""For reading one altered model and asking it a few questions; whoever takes longer hangs."""
MAX_MESSAGE = 1000
"""Characters of an error that somebody can read."""


def limit_memory(most: int = MAX_MEMORY) -> None:
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
    return memory_of("self", "VmRSS") or 0, memory_of("self", "VmHWM") or 0


def memory_of(pid: int | str, field: str) -> int | None:
    """Bytes that a process has in memory now (VmRSS) or has had at most (VmHWM); None where the system does not tell.

    (What wait4 tells includes the memory of the process that started it.)
    """
    with contextlib.suppress(OSError):
        found = re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        return 1024 * int(found[1]) if found else None
    return None
