"""Where the work of one model is done: one thread outside the event loop, before it a queue of bounded length."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from infopursuit.server.limits import Problem

Result = TypeVar("Result")
SMOOTHING = 0.1
"""What the last piece of work counts in the mean of how long one takes."""
LONGEST_WAIT = 60
"""Seconds after which a client is told to come back, at most."""


@dataclass
class Crowd:
    """How many wait at all desks together, and how many may."""

    most: int
    waiting: int = 0


class Desk:
    """One thread for one model. A model is never asked two things at once, so it needs no locks; another model has
    another desk. Whoever comes when a queue is full, or so long that the time would be up first, is sent away before
    anything is computed."""

    def __init__(self, name: str, most: int, seconds: float, crowd: Crowd | None = None) -> None:
        self.name, self.most, self.seconds = name, most, seconds
        self.crowd = Crowd(most) if crowd is None else crowd
        self.waiting = 0
        self.pace = 0.0
        """Seconds that a piece of work takes, a moving mean; written by the thread alone."""
        # one thread for each product: several would wait for each other, and for those of other models
        self._pool = ThreadPoolExecutor(1, f"desk-{name}", initializer=torch.set_num_threads, initargs=(1,))

    def deadline(self) -> float:
        """When the time of a request that comes now is up."""
        return time.monotonic() + self.seconds

    async def do(self, work: Callable[[], Result], until: float | None = None) -> Result:
        """The result of some work; `Problem` where the queue is full (429) or the time is up (503, 504).

        ``until``: the deadline of a request that was let in before and has more to do, which is not sent away now.
        """
        if until is None:
            self._check_room()
        deadline = self.deadline() if until is None else until
        begun = False

        def begin() -> Result:
            nonlocal begun
            start = time.monotonic()
            if start > deadline:
                raise TimeoutError
            begun = True
            try:
                return work()
            finally:
                self.pace += SMOOTHING * (time.monotonic() - start - self.pace)

        self.waiting += 1
        self.crowd.waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, begin)
        future.add_done_callback(self._leave)
        try:
            # shielded: a thread cannot be stopped, and its place in the queue is only free when it has ended
            return await asyncio.wait_for(asyncio.shield(future), max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            if begun:
                title, remedy = f"this took longer than {self.seconds:g} s", "ask for less at once"
                raise Problem(504, title, remedy=remedy) from None
            title = f"the model {self.name} was busy for {self.seconds:g} s"
            raise Problem(503, title, remedy="try again in a few seconds", retry_after=2) from None

    def close(self) -> None:
        """Let what is being worked on end, and drop the rest."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _check_room(self) -> None:
        """Send away who could not be served in time."""
        remedy = "try again in a second, or run more processes of the server"
        if self.waiting >= self.most:
            title = f"the model {self.name} has {self.waiting} requests waiting, as many as it may"
            raise Problem(429, title, remedy=remedy, retry_after=1)
        if self.crowd.waiting >= self.crowd.most:
            title = f"the server has {self.crowd.waiting} requests waiting, as many as it may"
            raise Problem(429, title, remedy=remedy, retry_after=1)
        wait = self.waiting * self.pace
        if wait > self.seconds:
            later = min(LONGEST_WAIT, max(1, math.ceil(wait - self.seconds)))
            title = f"the {self.waiting} requests that the model {self.name} has before this one take too long"
            remedy = f"try again in {later} s, or run more processes of the server"
            raise Problem(429, title, remedy=remedy, retry_after=later)

    def _leave(self, future: asyncio.Future[Any]) -> None:
        self.waiting -= 1
        self.crowd.waiting -= 1
        if not future.cancelled():
            future.exception()  # has been looked at, also when nobody waits for it any more
