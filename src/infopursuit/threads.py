"""Threads where they pay: many histories side by side, each on one thread, instead of one small product on many.

A sum over several threads has another order than one over one thread, and so another last digit. What is worked on
`steady` has the same digits whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import torch

Result = TypeVar("Result")

_allowed: ContextVar[int | None] = ContextVar("threads that may work side by side within steady()", default=None)


@contextmanager
def one_thread() -> Iterator[int]:
    """Within it torch uses one thread; gives the number that it used before, and puts it back.

    Products this small gain nothing from several threads, and lose much where the cores are busy: threads wait for
    each other thousands of times a second. One thread also adds up in one order, so results do not depend on how many
    there are.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield before
    finally:
        torch.set_num_threads(before)


@contextmanager
def steady() -> Iterator[None]:
    """Within it every product and sum is on one thread; only `side_by_side` uses as many as there were outside.

    Also a decorator of functions, though not of generators.
    """
    if _allowed.get() is not None:
        yield
        return
    with one_thread() as before:
        token = _allowed.set(before)
        try:
            yield
        finally:
            _allowed.reset(token)


def side_by_side(work: Callable[[int], Result], n: int, *, most: int | None = None) -> list[Result]:
    """``[work(0), ..., work(n - 1)]``, as many at a time as torch may use threads, ``most`` where that is less."""
    with one_thread() as before:
        n_threads = min(_allowed.get() or before, n, n if most is None else most)
        if n_threads < 2:
            return [work(i) for i in range(n)]
        with ThreadPoolExecutor(n_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(work, range(n)))
