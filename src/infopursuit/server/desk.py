"""Where the work of one model is done: one thread outside the event loop, before it a queue of bounded length."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch

from infopursuit.server.limits import Problem

Result = TypeVar("Result")


class Desk:
    """One thread for one model. A model is never asked two things at once, so it needs no locks; another model has
    another desk. Whoever comes when the queue is full is sent away before anything is computed."""

    def __init__(self, name: str, most: int, seconds: float) -> None:
        self.name, self.most, self.seconds = name, most, seconds
        self.waiting = 0
        # one thread for each product: several would wait for each other, and for those of other models
        self._pool = ThreadPoolExecutor(1, f"desk-{name}", initializer=torch.set_num_threads, initargs=(1,))

    async def do(self, work: Callable[[], Result]) -> Result:
        """The result of some work; `Problem` where the queue is full (429) or the time is up (503, 504)."""
        if self.waiting >= self.most:
            raise Problem(
                429,
                f"the model {self.name} has {self.waiting} requests waiting, as many as it may",
                remedy="try again in a second, or run more processes of the server",
                retry_after=1,
            )
        deadline = time.monotonic() + self.seconds
        begun = False

        def begin() -> Result:
            nonlocal begun
            if time.monotonic() > deadline:
                raise TimeoutError
            begun = True
            return work()

        self.waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, begin)
        future.add_done_callback(self._leave)
        try:
            # shielded: a thread cannot be stopped, and its place in the queue is only free when it has ended
            return await asyncio.wait_for(asyncio.shield(future), self.seconds)
        except TimeoutError:
            if begun:
                title, remedy = f"this took longer than {self.seconds:g} s", "ask for less at once"
                raise Problem(504, title, remedy=remedy) from None
            title = f"the model {self.name} was busy for {self.seconds:g} s"
            raise Problem(503, title, remedy="try again in a few seconds", retry_after=2) from None

    def close(self) -> None:
        """Let what is being worked on end, and drop the rest."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, future: asyncio.Future[Any]) -> None:
        self.waiting -= 1
        if not future.cancelled():
            future.exception()  # has been looked at, also when nobody waits for it any more
