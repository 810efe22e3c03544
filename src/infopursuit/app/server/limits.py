"""Limits on requests: what they are, the middleware that enforces them, and the worker threads with bounded queues."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from infopursuit.app.server.errors import PROBLEM, Problem
from infopursuit.app.server.observability import Metrics, log, log_error
from infopursuit.app.server.security import PREFLIGHT, Embedding, Token, check_host

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Result = TypeVar("Result")
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
MODEL_VERSION, REQUEST_ID = "x-model-version", "x-request-id"
CLIENT_CLOSED = 499  # in logs and metrics, where the client has disconnected
DRAIN_BYTES = 8 * 2**20  # of a body that is too long: closing a connection with unread bytes loses the response


@dataclass(frozen=True)
class Limits:
    """Bounds on requests.

    Parameters
    ----------
    max_body : int, default=2**20
        Bytes of one request body.
    max_total_body : int, default=64 * 2**20
        Bytes of all request bodies in memory.
    max_history : int, default=256
        Answers in a history.
    max_inputs : int, default=64
        Inputs of one ``explain`` request.
    max_queue : int, default=256
        Requests that wait for one model or run on it.
    max_connections : int, default=512
        Open connections, enforced by uvicorn.
    timeout : float, default=10
        Seconds for the body of a request, and for its work, each.
    write_timeout : float, default=30
        Seconds until a client has read a response.
    keep_alive : int, default=20
        Seconds until an idle connection is closed.
    grace : int, default=25
        Seconds for requests to finish when the server stops.
    """

    max_body: int = 2**20
    max_total_body: int = 64 * 2**20
    max_history: int = 256
    max_inputs: int = 64
    max_queue: int = 256
    max_connections: int = 512
    timeout: float = 10.0
    write_timeout: float = 30.0
    keep_alive: int = 20
    grace: int = 25


class Workers:
    """One thread for each model, with a queue of bounded length: a model needs no locks.

    A request is refused at once when the queue is full.
    """

    def __init__(self, names: Iterable[str], limits: Limits, metrics: Metrics | None = None) -> None:
        self.limits, self._gauge = limits, (metrics or Metrics()).queue_length
        self._pools = {name: ThreadPoolExecutor(1, f"model-{name}", initializer=limit_torch) for name in names}
        self.queued = dict.fromkeys(self._pools, 0)

    def deadline(self) -> float:
        return time.monotonic() + self.limits.timeout

    async def run(self, name: str, task: Callable[[], Result], until: float | None = None) -> Result:
        """The result of a task; `Problem` where the queue is full (503) or the time is up (503, 504).

        ``until``: the deadline of a request that was admitted before, which is not refused now.
        """
        if until is None and self.queued[name] >= self.limits.max_queue:
            raise _busy(f"the model {name} has {self.queued[name]} requests queued, as many as it may")

        deadline = self.deadline() if until is None else until
        begun = False

        def timed() -> Result:
            nonlocal begun
            if time.monotonic() > deadline:
                raise TimeoutError
            begun = True
            return task()

        def done(future: asyncio.Future[Result]) -> None:
            self.queued[name] -= 1
            self._gauge.labels(name).dec()
            if not future.cancelled():
                future.exception()  # has been looked at, also when nobody waits for it any more

        self.queued[name] += 1
        self._gauge.labels(name).inc()
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
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def limit_torch() -> None:
    """Let torch use one thread in this thread, if it is loaded: several would wait for each other."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


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
    bytes_held: int = 0
    bytes_out: int = 0


@dataclass
class RequestMiddleware:
    """Every request passes here (pure ASGI): host, token, limits, response headers, errors, log and metrics.

    hosts: allowed Host headers, None for any. models: names that the log may tell. embedding: other origins that may
    ask. max_bodies: bytes of a body, for paths that take more or fewer than the limits say.
    """

    app: ASGIApp
    limits: Limits
    metrics: Metrics
    hosts: frozenset[str] | None = None
    token: Token | None = None
    models: Iterable[str] = ()
    embedding: Embedding = field(default_factory=Embedding)
    max_bodies: Mapping[str, int] = field(default_factory=dict)
    body_bytes: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = Exchange()
        security = self.embedding.headers(next((v for k, v in scope["headers"] if k == b"origin"), None))

        async def respond(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status, headers = message["status"], list(message.get("headers", []))
                exchange.version = next((v.decode() for k, v in headers if k == MODEL_VERSION.encode()), None)
                headers += _encoded({**security, REQUEST_ID: exchange.id})
                message["headers"] = headers
            else:
                exchange.bytes_out += len(message.get("body", b""))
            await send(message)

        self.metrics.in_flight.inc()
        try:
            await self._admit(scope, receive, respond, exchange)
        except Problem as problem:
            await _send_problem(problem, respond)
        except ClientDisconnected:
            exchange.status = exchange.status or CLIENT_CLOSED
        except asyncio.CancelledError:  # the server stops, and the time for running requests is up
            if not exchange.status:
                stopped = Problem(503, "the server is being stopped", remedy="try again soon", retry_after=5)
                await _send_problem(stopped, respond)
        except Exception as error:
            log_error("failed", error, id=exchange.id)
            if not exchange.status:
                remedy = f"see the log of the server for {exchange.id}"
                await _send_problem(Problem(500, "internal server error", remedy=remedy), respond)
        finally:
            self.body_bytes -= exchange.bytes_held
            self.metrics.in_flight.dec()
            self._record(scope, exchange)

    async def _admit(self, scope: Scope, receive: Receive, respond: Send, exchange: Exchange) -> None:
        check_host(scope["headers"], self.hosts)
        if scope["method"] == "OPTIONS" and any(k == b"access-control-request-method" for k, _ in scope["headers"]):
            # browsers send no token with it; without the origin among the headers they go no further
            await respond({"type": "http.response.start", "status": 204, "headers": _encoded(PREFLIGHT)})
            return await respond({"type": "http.response.body", "body": b""})
        if self.token is not None:
            self.token.check(scope["path"], scope["headers"])
        bodies = [await self._read_body(scope, receive, exchange)]

        async def receive_again() -> Message:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False} if bodies else await receive()

        return await self.app(scope, receive_again, respond)

    async def _read_body(self, scope: Scope, receive: Receive, exchange: Exchange) -> bytes:
        """The whole body; `Problem` where it is too long or too slow, or all bodies together are too much."""
        limits, body, more = self.limits, bytearray(), True
        max_body = self.max_bodies.get(scope["path"], limits.max_body)
        length = next((v for k, v in scope["headers"] if k == b"content-length"), b"")
        size = int(length[:16]) if length.isdigit() else 0
        try:
            async with asyncio.timeout(limits.timeout):
                while more and size <= max_body + DRAIN_BYTES:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnected
                    part, more = message.get("body", b""), message.get("more_body", False)
                    exchange.bytes_in += len(part)
                    size = max(size, exchange.bytes_in)
                    if size <= max_body:
                        body += part
                        exchange.bytes_held += len(part)
                        self.body_bytes += len(part)
                    if self.body_bytes > limits.max_total_body:
                        raise _busy("the server holds as many bytes of requests as it may")
        except TimeoutError:
            if size <= max_body:
                title = f"the body did not arrive within {limits.timeout:g} s"
                raise Problem(408, title, remedy="send it again") from None
        if size > max_body:
            remedy = "send fewer inputs, or several requests"
            raise Problem(413, f"the body is longer than {max_body} bytes", remedy=remedy)
        return bytes(body)

    def _record(self, scope: Scope, exchange: Exchange) -> None:
        seconds, route = time.perf_counter() - exchange.start, getattr(scope.get("route"), "path", "unmatched")
        method = scope["method"] if scope["method"] in METHODS else "other"
        self.metrics.count(method, route, exchange.status, seconds)
        name = scope.get("path_params", {}).get("name")
        log(
            "request", logging.INFO if exchange.status < 500 or exchange.status == 503 else logging.WARNING,
            id=exchange.id, method=method,
            route=route, status=exchange.status, seconds=round(seconds, 6), model=name if name in self.models else None,
            version=exchange.version, bytes_in=exchange.bytes_in, bytes_out=exchange.bytes_out,
        )  # fmt: skip


def _busy(title: str) -> Problem:
    return Problem(503, title, remedy="try again soon, or start the server with more --workers", retry_after=1)


async def _send_problem(problem: Problem, send: Send) -> None:
    body = problem.body
    headers = {"content-type": PROBLEM, "content-length": str(len(body)), "connection": "close", **problem.headers}
    await send({"type": "http.response.start", "status": problem.status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
