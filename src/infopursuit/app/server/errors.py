"""Errors as RFC 9457 problem details: one form for everything that goes wrong."""

from __future__ import annotations

import json
import reprlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

PROBLEM = "application/problem+json"
MAX_VALUE = 80  # characters of a refused value that an error repeats


class Problem(Exception):
    """A request that is not served: the HTTP status, what is wrong with which field, and what to do about it."""

    def __init__(
        self, status: int, title: str, *, field: str | None = None, value: Any = None, remedy: str | None = None,
        retry_after: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(title)
        self.status, self.title, self.field, self.remedy = status, title, field, remedy
        self.value, self.retry_after = value, retry_after

    @property
    def headers(self) -> dict[str, str]:
        found = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        return {**found, "www-authenticate": 'Bearer realm="infopursuit"'} if self.status == 401 else found

    @property
    def body(self) -> bytes:
        found: dict[str, Any] = {"status": self.status, "title": self.title}
        if self.field is not None:
            found["field"], found["value"] = self.field, shorten(self.value)
        if self.remedy is not None:
            found["remedy"] = self.remedy
        return json.dumps(found).encode()


def invalid(title: str, field: str, value: Any, remedy: str) -> Problem:
    """A 422."""
    return Problem(422, title, field=field, value=value, remedy=remedy)


def shorten(value: Any) -> str:
    """A value as an error repeats it: never long, whatever was sent.

    >>> shorten("a" * 100)[-6:], shorten(None)
    ('aaa...', 'null')
    """
    if value is None:
        return "null"
    text = value[: MAX_VALUE + 1] if isinstance(value, str) else _SHORT.repr(value)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 3]}..."


_SHORT = reprlib.Repr()  # the whole of a deep or long value would take long, or more stack than there is
_SHORT.maxlevel, _SHORT.maxother = 4, MAX_VALUE
_SHORT.maxlist = _SHORT.maxdict = _SHORT.maxstring = _SHORT.maxlong = MAX_VALUE


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with a problem."""
    from fastapi import Response
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    def respond(problem: Problem) -> Response:
        return Response(problem.body, problem.status, headers=problem.headers, media_type=PROBLEM)

    @app.exception_handler(Problem)
    async def on_problem(request: Request, error: Problem) -> Response:
        return respond(error)

    @app.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = first["loc"][1:]  # the first part says whether it is in the body, the path or the query
        if "answer" in place:  # what comes after it says which of several forms was tried
            place = place[: place.index("answer") + 1]
        elif place[:1] == ("known",):
            place = place[:2]
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".") or "body"
        title = str(first["msg"])
        if first["type"] == "json_invalid":
            field, title = "body", "the body is not JSON"
        remedy = f"see /docs for what {request.method} {request.url.path[:80]} takes"
        return respond(invalid(title, field, first.get("input"), remedy))

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        title = {404: "not found", 405: "method not allowed"}.get(error.status_code, error.detail)
        remedy = "see /docs for the routes"
        return respond(Problem(error.status_code, title, field="path", value=request.url.path, remedy=remedy))
