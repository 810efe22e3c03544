"""The gate before the routes: who may come in, how much may be sent, what every answer must say, and the counting."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Container, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infopursuit.server.limits import Limits, Problem
from infopursuit.server.logs import log, log_error
from infopursuit.server.token import Token

if TYPE_CHECKING:
    from infopursuit.server.metrics import Metrics

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
MODEL_VERSION, REQUEST_ID = "x-model-version", "x-request-id"
HEALTH = "/healthz"
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
GONE = 499
"""Counted for a client that went away before it had sent everything, or before there was an answer."""
POURED_BYTES, POURED_SECONDS = 8 * 2**20, 2.0
"""How much of a body that is too long is taken in and thrown away, so that the client hears why it was refused."""


@dataclass
class Visit:
    """A request on its way: what the log will say of it."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    start: float = field(default_factory=time.perf_counter)
    status: int = 0
    version: str | None = None
    bytes_in: int = 0
    bytes_out: int = 0


class Guard:
    """Wraps the application. ``hosts``: the names under which it may be asked, None for any. A server on loopback has
    some, else a page from elsewhere could reach it under a name of its own that leads here. ``token``: what must be
    shown, None for nothing. ``models``: the names that a log may tell."""

    def __init__(
        self,
        app: App,
        *,
        limits: Limits,
        metrics: Metrics,
        hosts: frozenset[str] | None = None,
        token: Token | None = None,
        models: Container[str] = (),
    ) -> None:
        self.app, self.limits, self.metrics, self.hosts = app, limits, metrics, hosts
        self.token, self.models = token, models
        self.in_flight = 0
        self.held = 0
        """Bytes of bodies that are in memory now."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the start and end of the server."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        visit, state = Visit(), scope["app"].state
        head_timer = state.head_timers.get(tuple(scope["client"] or ()))
        if head_timer is not None:
            head_timer.stop()

        async def say(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                headers = list(message.get("headers", []))
                visit.version = next((v.decode() for k, v in headers if k == MODEL_VERSION.encode()), None)
                headers += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                headers.append((REQUEST_ID.encode(), visit.id.encode()))
                if state.stopping and (b"connection", b"close") not in headers:
                    headers.append((b"connection", b"close"))
                message["headers"] = headers
            else:
                visit.bytes_out += len(message.get("body", b""))
            await send(message)

        self.metrics.in_flight.inc()
        self.in_flight += 1
        try:
            await self._let_in(scope, receive, say, visit)
        except Problem as problem:
            await refuse(problem, say, receive)
        except ClientGone:
            visit.status = visit.status or GONE
        except asyncio.CancelledError:  # the server stops, and the time for what was begun is up
            if not visit.status:
                remedy = "try again in a few seconds"
                await refuse(Problem(503, "the server is being stopped", remedy=remedy, retry_after=5), say)
        except Exception as error:
            log_error("failed", error, id=visit.id, route=_route(scope))
            if not visit.status:
                title = "the server made a mistake; the request was not at fault"
                await refuse(Problem(500, title, remedy=f"see the server's log for {visit.id}"), say)
        finally:
            self.held -= visit.bytes_in
            self.metrics.in_flight.dec()
            self.in_flight -= 1
            if head_timer is not None:
                head_timer.start(self.limits.idle + self.limits.seconds)
            self._note(scope, visit)

    async def _let_in(self, scope: Scope, receive: Receive, say: Send, visit: Visit) -> None:
        self._check_host(scope)
        if self.token is not None:
            self.token.check(scope["path"], scope["headers"])
        if self.in_flight > self.limits.connections and scope["path"] != HEALTH:
            title = f"the server processes {self.limits.connections} requests, as many as it may"
            raise Problem(429, title, remedy="try again in a second", retry_after=1)
        body = await self._read(scope, receive, visit)
        await self.app(scope, _again(body, receive), say)

    def _check_host(self, scope: Scope) -> None:
        if self.hosts is None:
            return
        host = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"host"), "")
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        if name.lower() not in self.hosts:
            remedy = f"use one of {', '.join(sorted(self.hosts))}, or let the operator say --host"
            raise Problem(421, "the server does not answer to this name", field="Host", value=host, remedy=remedy)

    async def _read(self, scope: Scope, receive: Receive, visit: Visit) -> bytes:
        """The whole body, given up as soon as it is too long or too slow, or all bodies together are too much."""
        most = self.limits.body_bytes
        too_long = Problem(
            413, f"the body is longer than {most} bytes", remedy="send fewer inputs, or several requests"
        )
        told = next((v for k, v in scope["headers"] if k == b"content-length"), b"")
        if told.isdigit() and (len(told) > 15 or int(told) > most):
            raise too_long
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    part = message.get("body", b"")
                    body += part
                    visit.bytes_in += len(part)
                    self.held += len(part)
                    if len(body) > most:
                        raise too_long
                    if self.held > self.limits.bodies_bytes:
                        title = "the server holds as many bytes of requests as it may"
                        raise Problem(429, title, remedy="try again in a second", retry_after=1)
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            seconds = f"{self.limits.seconds:g}"
            raise Problem(408, f"the body did not arrive within {seconds} s", remedy="send it again") from None

    def _note(self, scope: Scope, visit: Visit) -> None:
        """Count the request, and write its line."""
        took, route = time.perf_counter() - visit.start, _route(scope)
        method = scope["method"] if scope["method"] in METHODS else "other"
        self.metrics.count(method, route, visit.status, took)
        name = scope.get("path_params", {}).get("name")
        log(
            "request",
            logging.INFO if visit.status < 500 else logging.WARNING,
            id=visit.id,
            method=method,
            route=route,
            status=visit.status,
            seconds=round(took, 6),
            model=name if name in self.models else None,
            version=visit.version,
            bytes_in=visit.bytes_in,
            bytes_out=visit.bytes_out,
        )


class ClientGone(Exception):
    """The client has closed the connection before its request was whole."""


async def refuse(problem: Problem, send: Send, receive: Receive | None = None) -> None:
    """Send a problem as JSON. ``receive``: where more of the body may come from."""
    content = json.dumps(problem.to_dict()).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(content)).encode())]
    headers += [(name.encode(), value.encode()) for name, value in problem.headers().items()]
    long = problem.status in (408, 413)
    headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": long})
    if long:
        if receive is not None and problem.status == 413:
            await _pour_away(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _pour_away(receive: Receive) -> None:
    """Take in some more of a body: a connection that is closed with bytes unread loses what was said on it last."""
    left = POURED_BYTES
    try:
        async with asyncio.timeout(POURED_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", "unmatched")


def _again(body: bytes, receive: Receive) -> Receive:
    """The body that was read, once more; then what the connection says."""
    waiting = [body]

    async def give() -> MutableMapping[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return give
