"""Logs and Prometheus metrics: requests and events, never what clients have sent.

Log lines have route templates, loaded models, HTTP methods; no histories, inputs, paths, headers or addresses. An error
is logged by its type and traceback, because its message may repeat the value that caused it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import PurePath
from types import TracebackType
from typing import Any, TextIO

JSON, TEXT, QUIET = "json", "text", "quiet"
EVENTS = logging.getLogger("infopursuit.app.server.events")
LOGGERS = ("infopursuit", "uvicorn", "uvicorn.error", "asyncio", "py.warnings", "fastapi")
MAX_FRAMES = 12
SHARED_METRICS = "PROMETHEUS_MULTIPROC_DIR"  # what prometheus_client calls it


class Metrics:
    """Request counts, latencies and queue lengths, in a registry of their own: one for each app. ``collected``: with
    those of the other processes of the server."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        from prometheus_client.multiprocess import MultiProcessCollector

        self.registry = self.collected = to = CollectorRegistry()
        if SHARED_METRICS in os.environ:
            self.collected = CollectorRegistry()
            MultiProcessCollector(self.collected)  # type: ignore[no-untyped-call]
        labels = ["method", "route", "status"]
        self.requests = Counter("infopursuit_requests", "Requests answered.", labels, registry=to)
        self.latency = Histogram("infopursuit_request_seconds", "Request latency.", ["route"], registry=to)
        live: Any = {"registry": to, "multiprocess_mode": "livesum"}
        self.in_flight = Gauge("infopursuit_requests_in_flight", "Requests being processed.", **live)
        self.cache_hits = Counter("infopursuit_cache_hits", "Responses taken from the cache.", registry=to)
        self.queue_length = Gauge("infopursuit_queue_length", "Requests queued or running.", ["model"], **live)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        self.requests.labels(method, route, str(status)).inc()
        self.latency.labels(route).observe(seconds)


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log one event."""
    EVENTS.log(level, event, extra={"fields": fields})


def log_error(event: str, error: BaseException, **fields: Any) -> None:
    """Log an error by its type and traceback, without its message."""
    log(event, logging.ERROR, **fields, error=type(error).__name__, at=frames(error.__traceback__))


def frames(trace: TracebackType | None) -> list[str]:
    """File, line and function of a traceback, outermost first, without any value."""
    found = traceback.extract_tb(trace)[-MAX_FRAMES:]
    return [f"{'/'.join(PurePath(frame.filename).parts[-2:])}:{frame.lineno} {frame.name}" for frame in found]


def configure_logging(style: str, stream: TextIO | None = None) -> ExitStack:
    """Let the server and its libraries log to stderr: ``json`` or ``text`` with a line for each request, ``quiet`` with
    errors only. Used in a ``with`` statement, it restores what was before at the end."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(Formatter(style == JSON))
    restore = ExitStack()

    for name in LOGGERS:
        logger = logging.getLogger(name)
        restore.callback(_set_logger, logger, logger.handlers, logger.level, logger.propagate)
        _set_logger(logger, [handler], logging.ERROR if name.startswith("uvicorn") else logging.WARNING, False)

    restore.callback(EVENTS.setLevel, EVENTS.level)
    EVENTS.propagate = True
    EVENTS.setLevel(logging.WARNING if style == QUIET else logging.INFO)

    restore.callback(logging.captureWarnings, False)
    logging.captureWarnings(True)

    return restore


def _set_logger(logger: logging.Logger, handlers: list[logging.Handler], level: int, propagate: bool) -> None:
    logger.handlers = handlers
    logger.propagate = propagate
    logger.setLevel(level)


class Formatter(logging.Formatter):
    """One line for each record: a JSON object, or name=value pairs for people."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self.as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        level, content = record.levelname.lower(), _content(record)
        if self.as_json:
            return json.dumps({"time": time, "level": level, **content})
        pairs = [f"{name}={' < '.join(v[::-1]) if isinstance(v, list) else v}" for name, v in content.items()]
        return " ".join([time, level, pairs[0].removeprefix("event="), *pairs[1:]])


def _content(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of an event. Of other loggers: the place, the error type, and the message before its values."""
    fields = getattr(record, "fields", None)
    if isinstance(fields, dict) and record.name == EVENTS.name:
        return {"event": record.getMessage(), **{name: value for name, value in fields.items() if value is not None}}
    place = f"{'/'.join(PurePath(record.pathname).parts[-2:])}:{record.lineno}"
    found: dict[str, Any] = {"event": "complaint", "logger": record.name, "said_at": place}
    if record.name.startswith(("infopursuit", "uvicorn")) and isinstance(record.msg, str):
        found["said"] = " ".join(record.msg.split())
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        found |= {"error": type(error).__name__, "at": frames(error.__traceback__)}
    return found
