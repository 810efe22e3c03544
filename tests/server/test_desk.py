"""One thread for each model, a queue that ends, and time that runs out."""

import asyncio
import threading
import time

import pytest

from infopursuit.server.errors import Problem
from infopursuit.server.limits import Limits, Workers


def test_work_is_done_one_after_the_other_outside_the_loop():
    active, most, places = 0, 0, set()

    def work(i):
        nonlocal active, most
        active += 1
        most = max(most, active)
        places.add(threading.current_thread())
        time.sleep(0.005)
        active -= 1
        return i

    async def many():
        workers = Workers(["a"], Limits(max_queue=100, timeout=5))
        found = await asyncio.gather(*(workers.run("a", lambda i=i: work(i)) for i in range(10)))
        assert workers.queued["a"] == 0
        workers.close()
        return found

    assert asyncio.run(many()) == list(range(10))
    assert most == 1
    assert len(places) == 1
    assert threading.current_thread() not in places


def test_a_full_queue_sends_away_at_once():
    async def many():
        workers = Workers(["a"], Limits(max_queue=3, timeout=5))
        free = threading.Event()
        tasks = [asyncio.create_task(workers.run("a", free.wait)) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(Problem) as caught:
            await workers.run("a", lambda: pytest.fail("was done"))
        free.set()
        await asyncio.gather(*tasks)
        assert await workers.run("a", lambda: 5) == 5
        workers.close()
        return caught.value

    problem = asyncio.run(many())
    assert (problem.status, problem.retry_after) == (429, 1)
    assert "3 requests" in problem.title


def test_time_runs_out_at_work_and_in_the_queue():
    async def many():
        workers = Workers(["a"], Limits(max_queue=3, timeout=0.1))
        free, done = threading.Event(), []
        first = asyncio.create_task(workers.run("a", lambda: free.wait(5)))
        second = asyncio.create_task(workers.run("a", lambda: done.append(1)))
        found = await asyncio.gather(first, second, return_exceptions=True)
        assert workers.queued["a"] == 2  # a thread cannot be stopped, so its place is still taken
        free.set()
        await asyncio.sleep(0.2)
        assert workers.queued["a"] == 0
        assert done == []  # nobody waits for it any more, so it is not done
        assert await workers.run("a", lambda: 7) == 7
        workers.close()
        return found

    slow, late = asyncio.run(many())
    assert slow.status == 504
    assert late.status == 503
    assert late.retry_after


def test_what_work_raises_comes_through():
    async def one():
        workers = Workers(["a"], Limits(max_queue=3, timeout=1))
        with pytest.raises(ZeroDivisionError):
            await workers.run("a", lambda: 1 / 0)
        assert workers.queued["a"] == 0
        workers.close()

    asyncio.run(one())
