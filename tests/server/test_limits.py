"""Limits hold on real connections: how many, for how long, how much at once; and queues are bounded."""

import asyncio
import contextlib
import io
import json
import re
import socket
import threading
import time
from urllib.parse import urlsplit

import httpx
import pytest

from infopursuit.app.server.errors import Problem, shorten
from infopursuit.app.server.limits import Limits, Workers
from infopursuit.app.server.observability import configure_logging
from infopursuit.app.server.registry import ServedModel

NEXT = "/v1/models/animals/next"
HEAD = f"POST {NEXT} HTTP/1.1\r\nhost: localhost\r\n"


@contextlib.contextmanager
def connected(address):
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as line:
        yield line


def read(line):
    """Everything until the server hangs up."""
    found = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while part := line.recv(65536):
            found += part
    return bytes(found)


@pytest.fixture(scope="module")
def brief(serving, models):
    """A server that closes idle connections soon."""
    limits = Limits(keep_alive=1)
    with serving({"animals": models["animals"]}, limits) as address:
        yield address


def test_idle_connections_are_closed(brief):
    with connected(brief) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert read(line).startswith(b"HTTP/1.1 200")  # to the end, which comes after a second without a request


def test_more_connections_than_allowed_are_refused(serving, models):
    limits = Limits(max_connections=3)
    with serving({"animals": models["animals"]}, limits) as address, contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connected(address)) for _ in range(3)]
        lines[-1].sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert read(lines[-1]).startswith(b"HTTP/1.1 503")  # by uvicorn
        for line in lines:
            line.close()

        until(lambda: httpx.post(f"{address}{NEXT}", json={}).status_code == 200)


def test_an_answer_that_is_not_taken_does_not_stay(serving, models):
    """Nobody reads the answers to many requests: when the system takes no more of them, the connection is given up."""
    n, one = 1500, b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with serving({"animals": models["animals"]}, Limits(write_timeout=0.4)) as address, connected(address) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sending = threading.Thread(target=line.sendall, args=(one * n,), daemon=True)
        sending.start()

        def answered():
            """How many, where none is under way but this one."""
            told = httpx.get(f"{address}/metrics").text
            found = re.search(r'route="unmatched",status="200"} (\d+)', told)
            return int(found[1]) if found and "infopursuit_requests_in_flight 1.0\n" in told else 0

        until(answered)  # the one that could not be sent is no longer waited for
        assert answered() < n
        sending.join(20)


class Held:
    """A pursuit that does its work when it is let go."""

    def __init__(self, pursuit, free):
        self._pursuit, self._free, self.begun = pursuit, free, 0

    def __getattr__(self, name):
        return getattr(self._pursuit, name)

    def at(self, history, since=None, known=()):
        if history:
            self.begun += 1
            assert self._free.wait(30)
        return self._pursuit.at(history, since, known)


def ask_many(address, name, n, statuses):
    """n who ask at once, each something else."""

    def one(k):
        likely = {"yes": 0.6 + k / 1000, "no": 0.4 - k / 1000}
        body = {"history": [{"query": "barks", "answer": likely}]}
        answer = httpx.post(f"{address}/v1/models/{name}/next", json=body, timeout=60)
        statuses.append((name, answer.status_code, answer.headers.get("retry-after"), answer.text))

    threads = [threading.Thread(target=one, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    return threads


def until(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("it did not come")


def test_the_queue_of_each_model_is_bounded(serving, models):
    free = threading.Event()
    held = {name: Held(models["animals"].pursuit, free) for name in ("a", "b")}
    offered = {name: ServedModel(name, name, pursuit) for name, pursuit in held.items()}
    with serving(offered, Limits(max_queue=4, timeout=30)) as address:
        statuses = []
        threads = ask_many(address, "a", 7, statuses)
        until(lambda: len(statuses) == 3)  # four wait for the model, three were refused
        threads += ask_many(address, "b", 2, statuses)
        until(lambda: held["b"].begun)
        assert {status[:3] for status in statuses} == {("a", 503, "1")}
        assert all("the model a has 4" in text for *_, text in statuses)
        assert httpx.get(f"{address}/healthz").status_code == 200

        free.set()
        for thread in threads:
            thread.join(30)
        assert sorted(status[1] for status in statuses) == [200] * 6 + [503] * 3


def test_what_is_not_done_when_the_time_to_stop_is_up_is_told_so(serving, models):
    free, statuses = threading.Event(), []
    held = Held(models["animals"].pursuit, free)
    with serving({"a": ServedModel("a", "a", held)}, Limits(timeout=30, grace=1)) as address:
        threads = ask_many(address, "a", 2, statuses)
        until(lambda: 'infopursuit_queue_length{model="a"} 2.0' in httpx.get(f"{address}/metrics").text)
    for thread in threads:  # one was at work and one waited; the server is gone by now
        thread.join(30)
    free.set()
    assert [status[1:3] for status in statuses] == [(503, "5")] * 2
    assert "being stopped" in statuses[0][3]


def test_bodies_of_all_together_are_bounded(serving, models):
    limits = Limits(max_body=60_000, max_total_body=100_000, timeout=20)
    with serving({"animals": models["animals"]}, limits) as address, contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connected(address)) for _ in range(2)]
        for line in lines:  # each holds most of a body
            line.sendall(f"{HEAD}content-length: 50000\r\n\r\n".encode() + b" " * 49_000)

        headers = {"content-type": "application/json"}

        def third():
            return httpx.post(f"{address}{NEXT}", content=b" " * 20_000, headers=headers)

        until(lambda: third().status_code == 503)  # the two have arrived
        answer = third()
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "bytes of requests" in answer.json()["title"]
        for line in lines:
            line.close()
        until(lambda: httpx.post(f"{address}{NEXT}", json={}).status_code == 200)


def test_a_client_that_goes_away_is_noted(serving, models):
    stream = io.StringIO()
    with configure_logging("json", stream), serving({"animals": models["animals"]}) as address:

        def noted():
            with connected(address) as line:
                line.sendall(f"{HEAD}content-length: 100\r\n\r\n{{".encode())
                time.sleep(0.2)  # a head that arrived together with the end would not count
            return '"status": 499' in stream.getvalue()

        until(noted)


@pytest.mark.parametrize(
    "body",
    [
        {"history": [0] * 300_000},
        {f"a{i}": 0 for i in range(80_000)},
        {"history": [{"query": "a", "answer": {f"a{i}": 2 for i in range(80_000)}}]},
        {"history": [{f"a{i}": 2 for i in range(80_000)}]},
        {"history": [{"query": "barks", "answer": None}] * 20_000},
        {"inputs": [[[]] * 100_000]},
    ],
)
def test_a_body_with_many_wrong_parts_is_refused_at_its_first(client, body):
    """Telling of each would take seconds and hundreds of megabytes; here the problem has one."""
    route = "explain" if "inputs" in body else "next"
    content = json.dumps(body, separators=(",", ":")).encode()
    answer = client.post(f"/v1/models/animals/{route}", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert len(answer.content) < 1000


def test_values_are_told_in_short_however_deep_they_are():
    deep = []
    for _ in range(50_000):
        deep = [deep]
    assert len(shorten(deep)) <= 80
    assert len(shorten({"a" * 10_000: deep})) <= 80
    while deep:  # taken apart from the outside, as a deep list is not on its own
        deep = deep[0]


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


def test_a_full_queue_refuses_at_once():
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
    assert (problem.status, problem.retry_after) == (503, 1)
    assert "3 requests" in problem.title


def test_time_runs_out_at_work_and_in_the_queue():
    async def many():
        workers = Workers(["a"], Limits(max_queue=3, timeout=1.0))
        free, done = threading.Event(), []
        first = asyncio.create_task(workers.run("a", lambda: free.wait(60)))
        second = asyncio.create_task(workers.run("a", lambda: done.append(1)))
        found = await asyncio.gather(first, second, return_exceptions=True)
        assert workers.queued["a"] == 2  # a thread cannot be stopped, so its place is still taken
        free.set()
        while workers.queued["a"]:
            await asyncio.sleep(0.01)
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
