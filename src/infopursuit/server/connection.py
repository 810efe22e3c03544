"""How uvicorn is run: its limits, a time limit for request heads, and a stop that lets requests finish."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn

from infopursuit.server.limits import Limits
from infopursuit.server.logs import log

LINGER = 1.0
"""Seconds that connections stay open when the server stops, for requests that are on their way."""
HEAD_BYTES = 16 * 2**10
"""Maximum size of a request line with all headers."""
TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class HeadTimer:
    """The time limit of the next request head on a connection; the middleware stops it while a request is processed."""

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
            self.transport.write(TIMEOUT)
            self.transport.close()


def with_head_timeout(
    protocol: type[asyncio.Protocol], timers: dict[Any, HeadTimer], seconds: float
) -> type[asyncio.Protocol]:
    """A protocol whose connections are in ``timers`` by the address of the client (uvicorn has no such limit)."""

    class Timed(protocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._client = transport.get_extra_info("peername")[:2]
            timers[self._client] = HeadTimer(transport)
            timers[self._client].start(seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            timers.pop(self._client).stop()

    return Timed


class Server(uvicorn.Server):
    """Stops gracefully: takes no new connections, says ``connection: close``, and finishes what has begun."""

    def __init__(self, app: Any, limits: Limits) -> None:
        config = uvicorn.Config(
            app,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=2 * limits.connections,  # connections; beyond them 503
            h11_max_incomplete_event_size=HEAD_BYTES,
            timeout_keep_alive=limits.idle,
            timeout_graceful_shutdown=limits.stopping,
        )
        config.load()
        config.http_protocol_class = with_head_timeout(
            config.http_protocol_class, app.state.head_timers, limits.seconds
        )
        super().__init__(config)
        self.app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End within the time that the configuration allows."""
        log("stopping", connections=len(self.server_state.connections))
        for _ in range(3):  # accept those who have connected already
            await asyncio.sleep(0)
        for listener in [*self.servers, *(sockets or [])]:
            listener.close()
        self.app.state.stopping = True
        if self.server_state.connections:
            await asyncio.sleep(LINGER)
        await super().shutdown(sockets)
        log("stopped", answered=self.server_state.total_requests)
