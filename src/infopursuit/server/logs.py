"""What the server writes down: one line for each request and for each event, and nothing of what people have said.

A line has names from lists that the server made: the template of a route, a model on its shelf, a known method. What
came from a client (histories, inputs, paths, headers, addresses) stands in none. An error is told by its type and the
places in the code that it went through, because its message may repeat the value that caused it.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePath
from types import TracebackType
from typing import Any, TextIO

JSON, TEXT, QUIET = "json", "text", "quiet"
STYLES = (JSON, TEXT, QUIET)
EVENTS = logging.getLogger("infopursuit.server.events")
"""Requests, reloads, stops: messages made here, with data in ``fields``. All other records come from libraries."""
OURS = ("infopursuit", "uvicorn", "uvicorn.error", "asyncio", "py.warnings", "fastapi")
PLACES = 12
"""Innermost places of an error that are told."""


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Write one line."""
    EVENTS.log(level, event, extra={"fields": fields})


def log_error(event: str, error: BaseException, **fields: Any) -> None:
    """Write one line about an error: what kind it is and where it came from, not what it says."""
    log(event, logging.ERROR, **fields, error=type(error).__name__, at=places(error.__traceback__))


def places(trace: TracebackType | None) -> list[str]:
    """Where an error went through, outermost first: file, line and function, without any value."""
    frames = traceback.extract_tb(trace)[-PLACES:]
    return [f"{'/'.join(PurePath(frame.filename).parts[-2:])}:{frame.lineno} {frame.name}" for frame in frames]


@contextmanager
def logging_of_a_server(style: str, stream: TextIO | None = None) -> Iterator[None]:
    """Within it, what the server and its libraries log goes to stderr in one form: ``json`` or ``text`` with a line
    for each request, ``quiet`` with lines for what goes wrong only; afterwards as before."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonLines() if style == JSON else TextLines())
    before = []
    for name in OURS:
        logger = logging.getLogger(name)
        before.append((logger, logger.handlers, logger.level, logger.propagate))
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR if name.startswith("uvicorn") else logging.WARNING)
    level, EVENTS.propagate = EVENTS.level, True
    EVENTS.setLevel(logging.WARNING if style == QUIET else logging.INFO)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        EVENTS.setLevel(level)
        for logger, handlers, old, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(old)


class JsonLines(logging.Formatter):
    """One JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        return json.dumps({"time": _time(record), "level": record.levelname.lower(), **_content(record)})


class TextLines(logging.Formatter):
    """The same for people."""

    def format(self, record: logging.LogRecord) -> str:
        """The record in words."""
        content = _content(record)
        event = content.pop("event")
        said = " ".join(f"{name}={' < '.join(v[::-1]) if isinstance(v, list) else v}" for name, v in content.items())
        return f"{_time(record)} {record.levelname.lower()} {event} {said}".rstrip()


def _content(record: logging.LogRecord) -> dict[str, Any]:
    """What a record tells. Of what others write: the place, the kind, at most the words before values are put in."""
    fields = getattr(record, "fields", None)
    if isinstance(fields, dict) and record.name == EVENTS.name:
        return {"event": record.getMessage(), **{name: value for name, value in fields.items() if value is not None}}
    place = f"{'/'.join(PurePath(record.pathname).parts[-2:])}:{record.lineno}"
    found: dict[str, Any] = {"event": "complaint", "logger": record.name, "said_at": place}
    if record.name.startswith(("infopursuit", "uvicorn")) and isinstance(record.msg, str):
        found["said"] = " ".join(record.msg.split())
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        found |= {"error": type(error).__name__, "at": places(error.__traceback__)}
    return found


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
