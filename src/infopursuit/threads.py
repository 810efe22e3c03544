"""Threads where they pay: many histories side by side, each on one thread, instead of one small product on many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Result = TypeVar("Result")


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


def side_by_side(work: Callable[[int], Result], n: int) -> list[Result]:
    """``[work(0), ..., work(n - 1)]``, as many at a time as torch may use threads."""
    with one_thread() as n_threads:
        if n_threads == 1 or n < 2:
            return [work(i) for i in range(n)]
        with ThreadPoolExecutor(min(n_threads, n), initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(work, range(n)))
