"""Limits on requests: what they are, the middleware that enforces them, and the worker threads with bounded queues."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from infopursuit.server.errors import PROBLEM, Problem
from infopursuit.server.observability import log, log_error
from infopursuit.server.security import HEADERS, Token, check_host

if TYPE_CHECKING:
    from infopursuit.server.observability import Metrics

Result = TypeVar("Result")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
MODEL_VERSION, REQUEST_ID = "x-model-version", "x-request-id"
HEALTH = "/healthz"
CLIENT_CLOSED = 499
"""Status in logs and metrics of a request whose client has disconnected."""
DRAIN_BYTES, DRAIN_SECONDS = 8 * 2**20, 2.0
"""How much of a body that is too long is still read, so that the client gets the response."""
SMOOTHING = 0.1
"""Weight of the last task in the moving mean of their duration."""
MAX_RETRY_AFTER = 60
HEAD_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True)
class Limits:
    """Bounds on requests.

    max_body, max_total_body: bytes of one request body, and of all in memory. max_history: answers in a history.
    max_inputs: of one ``explain``. max_queue, max_total_queue: requests that wait for or run on one model, and on all.
    max_requests: requests processed at once, and half of the connections. timeout: seconds for the head of a request,
    for its body, and for its work, each. write_timeout: until a response is read. keep_alive: until an idle connection
    is closed. grace: for requests to finish when the server stops.
    """

    max_body: int = 2**20
    max_total_body: int = 64 * 2**20
    max_history: int = 256
    max_inputs: int = 64
    max_queue: int = 256
    max_total_queue: int = 384
    max_requests: int = 512
    timeout: float = 10.0
    write_timeout: float = 30.0
    keep_alive: int = 20
    grace: int = 25


class Workers:
    """One thread for each model, each with a queue of bounded length.

    A model never runs two tasks at once, so it needs no locks. A request is refused before anything is computed when
    the queue is full, or so long that the time limit would be reached first.
    """

    def __init__(self, names: Iterable[str], limits: Limits) -> None:
        self.limits = limits
        self._pools = {name: single_thread(f"model-{name}") for name in names}
        self.queued = dict.fromkeys(self._pools, 0)
        self._durations = dict.fromkeys(self._pools, 0.0)  # moving means, each written by its thread alone

    @property
    def n_queued(self) -> int:
        """Tasks that wait or run, of all models."""
        return sum(self.queued.values())

    def deadline(self) -> float:
        """When the time of a request that arrives now is up."""
        return time.monotonic() + self.limits.timeout

    async def run(self, name: str, task: Callable[[], Result], until: float | None = None) -> Result:
        """The result of a task; `Problem` where the queue is full (429) or the time is up (503, 504).

        ``until``: the deadline of a request that was admitted before and has more tasks; it is not refused now.
        """
        if until is None:
            self._check_queue(name)
        deadline = self.deadline() if until is None else until
        begun = False

        def timed() -> Result:
            nonlocal begun
            start = time.monotonic()
            if start > deadline:
                raise TimeoutError
            begun = True
            try:
                return task()
            finally:
                self._durations[name] += SMOOTHING * (time.monotonic() - start - self._durations[name])

        def done(future: asyncio.Future[Result]) -> None:
            self.queued[name] -= 1
            if not future.cancelled():
                future.exception()  # has been looked at, also when nobody waits for it any more

        self.queued[name] += 1
        future = asyncio.get_running_loop().run_in_executor(self._pools[name], timed)
        future.add_done_callback(done)
        try:
            # shielded: a thread cannot be stopped, and its place in the queue is only free when it has ended
            return await asyncio.wait_for(asyncio.shield(future), max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            seconds = f"{self.limits.timeout:g} s"
            if begun:
                raise Problem(504, f"this took longer than {seconds}", remedy="ask for less at once") from None
            title = f"the model {name} was busy for {seconds}"
            raise Problem(503, title, remedy="try again in a few seconds", retry_after=2) from None

    def close(self) -> None:
        """Let running tasks end, and drop the others."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)

    def _check_queue(self, name: str) -> None:
        n, wait, retry_after = self.queued[name], self.queued[name] * self._durations[name], 1
        if n >= self.limits.max_queue:
            title = f"the model {name} has {n} requests queued, as many as it may"
        elif self.n_queued >= self.limits.max_total_queue:
            title = f"the server has {self.n_queued} requests queued, as many as it may"
        elif wait > self.limits.timeout:
            retry_after = min(MAX_RETRY_AFTER, max(1, math.ceil(wait - self.limits.timeout)))
            title = f"the {n} requests that are queued for the model {name} take too long"
        else:
            return
        remedy = f"try again in {retry_after} s, or run more processes of the server"
        raise Problem(429, title, remedy=remedy, retry_after=retry_after)


def single_thread(name: str) -> ThreadPoolExecutor:
    """A pool of one thread, in which torch uses one thread too: several would wait for each other."""

    def limit_torch() -> None:
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)

    return ThreadPoolExecutor(1, name, initializer=limit_torch)


class HeadTimer:
    """The time limit of the next request head on a connection; stopped while a request is processed."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self._handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float) -> None:
        """Close the connection after some seconds."""
        self.stop()
        self._handle = asyncio.get_running_loop().call_later(seconds, self._expire)

    def stop(self) -> None:
        """A request has arrived, or the connection is closed."""
        if self._handle is not None:
            self._handle.cancel()

    def _expire(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(HEAD_TIMEOUT)
            self.transport.close()


class ClientDisconnected(Exception):
    """The client has closed the connection before its request was complete."""


@dataclass
class Exchange:
    """What the log says of a request."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    start: float = field(default_factory=time.perf_counter)
    status: int = 0
    version: str | None = None
    bytes_in: int = 0
    bytes_out: int = 0


@dataclass
class RequestMiddleware:
    """Every request passes here (pure ASGI): host, token, limits, response headers, errors, log and metrics.

    hosts: allowed Host headers, None for any. token: None for none. models: names that the log may tell. The state of
    the app has ``head_timers``, by client address, and ``stopping``.
    """

    app: App
    limits: Limits
    metrics: Metrics
    hosts: frozenset[str] | None = None
    token: Token | None = None
    models: Iterable[str] = ()
    in_flight: int = 0
    body_bytes: int = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request, or the start and end of the server."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange, state = Exchange(), scope["app"].state
        timer = state.head_timers.get(tuple(scope["client"] or ()))
        if timer is not None:
            timer.stop()

        async def respond(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status, headers = message["status"], list(message.get("headers", []))
                exchange.version = next((v.decode() for k, v in headers if k == MODEL_VERSION.encode()), None)
                headers += _encoded({**HEADERS, REQUEST_ID: exchange.id})
                if state.stopping and (b"connection", b"close") not in headers:
                    headers.append((b"connection", b"close"))
                message["headers"] = headers
            else:
                exchange.bytes_out += len(message.get("body", b""))
            await send(message)

        self.metrics.in_flight.inc()
        self.in_flight += 1
        try:
            await self._admit(scope, receive, respond, exchange)
        except Problem as problem:
            await send_problem(problem, respond, receive)
        except ClientDisconnected:
            exchange.status = exchange.status or CLIENT_CLOSED
        except asyncio.CancelledError:  # the server stops, and the time for running requests is up
            if not exchange.status:
                remedy = "try again in a few seconds"
                await send_problem(Problem(503, "the server is being stopped", remedy=remedy, retry_after=5), respond)
        except Exception as error:
            log_error("failed", error, id=exchange.id, route=_route(scope))
            if not exchange.status:
                remedy = f"see the log of the server for {exchange.id}"
                await send_problem(Problem(500, "internal server error", remedy=remedy), respond)
        finally:
            self.body_bytes -= exchange.bytes_in
            self.in_flight -= 1
            self.metrics.in_flight.dec()
            self._record(scope, exchange)
            if timer is not None:
                timer.start(self.limits.keep_alive + self.limits.timeout)

    async def _admit(self, scope: Message, receive: Receive, respond: Send, exchange: Exchange) -> None:
        check_host(scope["headers"], self.hosts)
        if self.token is not None:
            self.token.check(scope["path"], scope["headers"])
        if self.in_flight > self.limits.max_requests and scope["path"] != HEALTH:
            title = f"the server processes {self.limits.max_requests} requests, as many as it may"
            raise Problem(429, title, remedy="try again in a second", retry_after=1)
        bodies = [await self._read_body(scope, receive, exchange)]

        async def receive_again() -> Message:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False} if bodies else await receive()

        await self.app(scope, receive_again, respond)

    async def _read_body(self, scope: Message, receive: Receive, exchange: Exchange) -> bytes:
        """The whole body; `Problem` as soon as it is too long or too slow, or all bodies together are too much."""
        limits = self.limits
        remedy = "send fewer inputs, or several requests"
        too_long = Problem(413, f"the body is longer than {limits.max_body} bytes", remedy=remedy)
        length = next((v for k, v in scope["headers"] if k == b"content-length"), b"")
        if length.isdigit() and (len(length) > 15 or int(length) > limits.max_body):
            raise too_long
        body = bytearray()
        try:
            async with asyncio.timeout(limits.timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnected
                    part = message.get("body", b"")
                    body += part
                    exchange.bytes_in += len(part)
                    self.body_bytes += len(part)
                    if len(body) > limits.max_body:
                        raise too_long
                    if self.body_bytes > limits.max_total_body:
                        title = "the server holds as many bytes of requests as it may"
                        raise Problem(429, title, remedy="try again in a second", retry_after=1)
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            title = f"the body did not arrive within {limits.timeout:g} s"
            raise Problem(408, title, remedy="send it again") from None

    def _record(self, scope: Message, exchange: Exchange) -> None:
        seconds, route = time.perf_counter() - exchange.start, _route(scope)
        method = scope["method"] if scope["method"] in METHODS else "other"
        self.metrics.count(method, route, exchange.status, seconds)
        name = scope.get("path_params", {}).get("name")
        log(
            "request", logging.INFO if exchange.status < 500 else logging.WARNING, id=exchange.id, method=method,
            route=route, status=exchange.status, seconds=round(seconds, 6), model=name if name in self.models else None,
            version=exchange.version, bytes_in=exchange.bytes_in, bytes_out=exchange.bytes_out,
        )  # fmt: skip


async def send_problem(problem: Problem, send: Send, receive: Receive | None = None) -> None:
    """Send a problem and close the connection. ``receive``: where the rest of a long body is drained from, because
    closing a connection with unread bytes loses the response."""
    body, drained = problem.body, receive is not None and problem.status == 413
    headers = {"content-type": PROBLEM, "content-length": str(len(body)), "connection": "close", **problem.headers}
    await send({"type": "http.response.start", "status": problem.status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body, "more_body": drained})
    if receive is not None and drained:
        left, more = DRAIN_BYTES, True
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while left > 0 and more:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    more = message.get("more_body", False)
        except TimeoutError:
            pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def _route(scope: Message) -> str:
    return getattr(scope.get("route"), "path", "unmatched")
