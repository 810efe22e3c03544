"""Connections that end: a time limit for the head of a request and for taking an answer, so many of them and so many
requests on each, and a stop that leaves no request without its answer."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from infopursuit.server.guard import HEADERS
from infopursuit.server.limits import Limits, Problem
from infopursuit.server.logs import log
from infopursuit.server.metrics import Metrics

SPARE = 64
"""Connections above the limit that are told so; those beyond are closed without a word."""
LINGER = 1.0
"""Seconds that an idle connection stays open when the server stops, for a request that may be on its way."""
HEAD_BYTES = 16 * 2**10
"""Of a request line and all headers."""


class Connection(H11Protocol):
    """One connection. The gate sees it as ``scope["state"]["line"]`` and asks whether the answer is its last."""

    def __init__(self, *args: Any, limits: Limits, metrics: Metrics | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.limits, self.metrics = limits, metrics
        self.app_state = {**self.app_state, "line": self}
        self.n_requests = 0
        self.is_crowded = self.is_half_closed = False
        self._latest: Any = None
        self._head: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None

    @property
    def is_last(self) -> bool:
        """Whether the answer that is now given is the last on this connection."""
        return self.is_half_closed or self.n_requests >= self.limits.requests or is_stopping(self.server_state)

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return self._latest is not None and not self._latest.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has come."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so that `pause_writing` tells of every answer that is not taken at once
        above = len(self.connections) - self.limits.connections
        if above > SPARE:
            transport.abort()
            return
        self.is_crowded = above > 0
        self._head = self.loop.call_later(self.limits.seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        super().connection_lost(exc)
        _cancel(self._head)
        _cancel(self._taking)
        self.app_state = {}

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client says no more. Whether it still listens cannot be known, so a whole request is answered."""
        self.is_half_closed = self.is_busy and self.conn.their_state in (h11.DONE, h11.MUST_CLOSE)
        return self.is_half_closed

    def handle_events(self) -> None:
        """What has arrived; the clock runs while a head, or a body that nobody waits for, is not whole."""
        super().handle_events()
        if self.cycle is not self._latest:
            self._latest = self.cycle
            self.n_requests += 1
        pending = self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0])
        if self.is_busy or not pending or self.transport.is_closing():
            _cancel(self._head)
            self._head = None
        elif self._head is None:
            self._head = self.loop.call_later(self.limits.seconds, self._too_slow)

    def send_400_response(self, msg: str) -> None:
        """What came is not HTTP, or its head is too long."""
        remedy = f"send HTTP/1.1 with at most {HEAD_BYTES} bytes of head"
        self._refuse(Problem(400, "this is no request that HTTP allows", remedy=remedy))

    def pause_writing(self) -> None:
        """An answer is not taken at once."""
        super().pause_writing()
        self._taking = self._taking or self.loop.call_later(self.limits.sending, self.transport.abort)

    def resume_writing(self) -> None:
        """It was taken."""
        super().resume_writing()
        _cancel(self._taking)
        self._taking = None

    def shutdown(self) -> None:
        """The server stops: what was asked is answered, and what may be on its way is waited for a moment."""
        if self.is_busy:
            self.cycle.keep_alive = False
        else:
            self.loop.call_later(LINGER, self._leave)

    def _leave(self) -> None:
        if not self.is_busy and not self.transport.is_closing():
            self.transport.close()

    def _too_slow(self) -> None:
        self._head = None
        if self.is_busy or self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            seconds = f"{self.limits.seconds:g}"
            self._refuse(Problem(408, f"the head did not arrive within {seconds} s", remedy="send it again"))
        else:
            self.transport.close()

    def _refuse(self, problem: Problem) -> None:
        """Say it where HTTP still allows an answer, and hang up."""
        if not self.is_busy:  # else the gate will note that the client is gone
            log("request", method="other", route="unmatched", status=problem.status, seconds=0.0)
            if self.metrics is not None:
                self.metrics.count("other", "unmatched", problem.status, 0.0)
        content = json.dumps(problem.to_dict()).encode()
        told = {"content-type": "application/problem+json", "content-length": str(len(content)), "connection": "close"}
        headers = [(name.encode(), value.encode()) for name, value in {**told, **HEADERS}.items()]
        try:
            head = self.conn.send(h11.Response(status_code=problem.status, headers=headers, reason=b""))
            body = self.conn.send(h11.Data(data=content))
            self.transport.write((head or b"") + (body or b"") + (self.conn.send(h11.EndOfMessage()) or b""))
        except h11.LocalProtocolError:
            pass  # an answer has begun already, and cannot be taken back
        self.transport.close()


class Server(uvicorn.Server):
    """Stops when told: takes no new connections, answers what was asked, then ends. ``hung_up``: called on SIGHUP."""

    def __init__(self, config: uvicorn.Config, hung_up: Callable[[], None] | None = None) -> None:
        super().__init__(config)
        self.hung_up = hung_up

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and listen for the signal that models are to be looked at."""
        if self.hung_up is not None and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.hung_up)
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End within the time that the configuration allows."""
        log("stopping", connections=len(self.server_state.connections))
        for _ in range(3):  # those who have connected already are let in before the door is closed
            await asyncio.sleep(0)
        self.server_state.stopping = True  # type: ignore[attr-defined]
        await super().shutdown(sockets)
        log("stopped", answered=self.server_state.total_requests)


def is_stopping(state: Any) -> bool:
    """Whether a server was told to stop."""
    return bool(getattr(state, "stopping", False))


def configure(app: Any, limits: Limits, metrics: Metrics | None = None) -> uvicorn.Config:
    """How an application is served: within the limits, and without the lines and headers of uvicorn's own."""
    return uvicorn.Config(
        app,
        http=cast(type[asyncio.Protocol], partial(Connection, limits=limits, metrics=metrics)),
        ws="none",
        h11_max_incomplete_event_size=HEAD_BYTES,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=limits.idle,
        timeout_graceful_shutdown=limits.stopping,
    )


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
