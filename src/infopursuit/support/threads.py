"""Threads: many histories side by side, each on one thread, instead of one small matrix product on many."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from typing import Any, TypeVar

Result = TypeVar("Result")

SHORT = 2e-3
"""Seconds of an item of `side_by_side` for which no thread is worth its while."""
_limit: int | None = None
"""What `thread_limit` says: threads belong to the process, and so does their limit."""


def n_threads(environment: Mapping[str, str] = os.environ) -> int:
    """How many threads may work at a time: what `thread_limit` says, else OMP_NUM_THREADS, else all cores."""
    given = _limit or environment.get("OMP_NUM_THREADS", "")
    if str(given).isdecimal() and int(given) > 0:
        return int(given)

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def _at_most(n: int) -> Iterator[None]:
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else n
    with _controller().limit(limits=n, user_api="blas"):
        if torch is not None and before != n:
            torch.set_num_threads(n)
        try:
            yield
        finally:
            if torch is not None and before != n:
                torch.set_num_threads(before)


single_threaded = partial(_at_most, 1)
"""Within it numpy's matrix products, and those of torch where it is loaded, use one thread: products this small gain
nothing from several, and lose much where the cores are busy."""


@contextmanager
def thread_limit(n: int | None) -> Iterator[None]:
    """Within it this process uses at most ``n`` threads: `side_by_side`, numpy's matrix products, and torch where it is
    loaded; None leaves it as it is."""
    global _limit
    before, _limit = _limit, _limit if n is None else n
    try:
        with nullcontext() if n is None else _at_most(n):
            yield
    finally:
        _limit = before


def side_by_side(
    work: Callable[[int], Result], n: int, *, max_threads: int | None = None, short: bool = False
) -> list[Result]:  # fmt: skip
    """``[work(0), ..., work(n - 1)]``, as many at a time as there are threads, or ``max_threads``.

    short: the items may be so short that threads would mostly wait for Python's lock, which made two slower than one.
    The first item is timed then, and below `SHORT` one thread does them all.
    """
    workers = min(n_threads(), n, n if max_threads is None else max_threads)
    if workers < 2:
        return [work(i) for i in range(n)]
    if short:
        begin = time.thread_time()
        first = work(0)
        rest = partial(side_by_side, lambda i: work(i + 1), n - 1)
        return [first, *rest(max_threads=1 if time.thread_time() - begin < SHORT else max_threads)]
    with single_threaded(), ThreadPoolExecutor(workers, initializer=_one_thread) as pool:
        return list(pool.map(work, range(n)))


def _one_thread() -> None:
    """Torch keeps the number of threads for each thread."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
