"""The gate before the routes: who may come in, how much may be sent, what every answer must say, and the counting."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from infopursuit.server.limits import Limits, Problem
from infopursuit.server.metrics import Metrics

logger = logging.getLogger(__name__)

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


class Guard:
    """Wraps the application. ``hosts``: the names under which it may be asked, None for any. A server on loopback has
    some, else a page from elsewhere could reach it under a name of its own that leads here."""

    def __init__(self, app: App, *, limits: Limits, metrics: Metrics, hosts: frozenset[str] | None) -> None:
        self.app, self.limits, self.metrics, self.hosts = app, limits, metrics, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the start and end of the server."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def say(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        self.metrics.in_flight += 1
        try:
            try:
                self._check_host(scope)
                body = await self._read(scope, receive)
            except Problem as problem:
                await refuse(problem, say)
                return
            await self.app(scope, _again(body, receive), say)
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            if status == 500:
                title = "the server made a mistake; the request was not at fault"
                await refuse(Problem(500, title, remedy="see the server's log"), say)
        finally:
            self.metrics.in_flight -= 1
            route = getattr(scope.get("route"), "path", "unmatched")
            self.metrics.count(scope["method"], route, status, time.perf_counter() - start)

    def _check_host(self, scope: Scope) -> None:
        if self.hosts is None:
            return
        host = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"host"), "")
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        if name.lower() not in self.hosts:
            remedy = f"use one of {', '.join(sorted(self.hosts))}, or let the operator say --host"
            raise Problem(421, "the server does not answer to this name", field="Host", value=host, remedy=remedy)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, given up as soon as it is too long or too slow."""
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
                        return bytes(body)
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_long
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            seconds = f"{self.limits.seconds:g}"
            raise Problem(408, f"the body did not arrive within {seconds} s", remedy="send it again") from None


async def refuse(problem: Problem, send: Send) -> None:
    """Send a problem as JSON."""
    content = json.dumps(problem.to_dict()).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(content)).encode())]
    if problem.retry_after is not None:
        headers.append((b"retry-after", str(problem.retry_after).encode()))
    if problem.status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _again(body: bytes, receive: Receive) -> Receive:
    """The body that was read, once more; then what the connection says."""
    waiting = [body]

    async def give() -> MutableMapping[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return give
