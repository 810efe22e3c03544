"""Threads: many histories side by side, each on one thread, instead of one small matrix product on many."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")

_limit: int | None = None
"""What `thread_limit` says: threads belong to the process, and so does their limit."""


def n_threads() -> int:
    """How many threads may work at a time: what `thread_limit` says, else OMP_NUM_THREADS, else all cores."""
    given = _limit or os.environ.get("OMP_NUM_THREADS", "")
    if str(given).isdecimal() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Within it numpy's matrix products, and those of torch where it is loaded, use one thread: products this small
    gain nothing from several, and lose much where the cores are busy."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    with _controller().limit(limits=1, user_api="blas"):
        if torch is not None and before > 1:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch is not None and before > 1:
                torch.set_num_threads(before)


@contextmanager
def thread_limit(n: int | None) -> Iterator[None]:
    """Within it this process uses at most ``n`` threads: `side_by_side`, numpy's matrix products, and torch where it is
    loaded; None leaves it as it is."""
    global _limit
    if n is None:
        yield
        return
    torch, before = sys.modules.get("torch"), _limit
    torch_before = torch.get_num_threads() if torch is not None else n
    _limit = n
    try:
        if torch is not None:
            torch.set_num_threads(n)
        with _controller().limit(limits=n, user_api="blas"):
            yield
    finally:
        _limit = before
        if torch is not None:
            torch.set_num_threads(torch_before)


def side_by_side(work: Callable[[int], Result], n: int, *, max_threads: int | None = None) -> list[Result]:
    """``[work(0), ..., work(n - 1)]``, as many at a time as there are threads, or ``max_threads``."""
    workers = min(n_threads(), n, n if max_threads is None else max_threads)
    if workers < 2:
        return [work(i) for i in range(n)]
    with single_threaded(), ThreadPoolExecutor(workers, initializer=_one_thread) as pool:
        return list(pool.map(work, range(n)))


def _one_thread() -> None:
    """Torch keeps the number of threads for each thread."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
