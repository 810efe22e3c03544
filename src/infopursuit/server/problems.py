"""How what goes wrong is told: in one form, which the description of the API names for every route."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from infopursuit.server import schemas
from infopursuit.server.limits import Problem

REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ProblemInfo, "description": text}
    for status, text in {
        400: "this is not HTTP, or the body cannot be read",
        401: "the server wants a token, and the right one was not sent",
        404: "there is no such model",
        408: "the request took too long to arrive",
        409: "answers that cannot all be true under the model",
        413: "the body is too long",
        421: "the server does not answer to this name",
        422: "something in the request does not fit",
        429: "too many requests wait; see Retry-After",
        503: "the model was busy for too long",
        504: "it took too long",
    }.items()
}
PROBLEM = "application/problem+json"
ANYWHERE: dict[int | str, dict[str, Any]] = {status: REFUSED[status] for status in (400, 401, 408, 421, 429)}
"""What any route but the health of the server may say."""


def tell_problems(app: FastAPI) -> None:
    """Everything that goes wrong is told in one form."""

    def tell(problem: Problem) -> Response:
        content = json.dumps(problem.to_dict())
        return Response(content, problem.status, headers=problem.headers(), media_type=PROBLEM)

    @app.exception_handler(Problem)
    async def on_problem(request: Request, error: Problem) -> Response:
        return tell(error)

    @app.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = first["loc"][1:]  # the first part says whether it is in the body, the path or the query
        if "answer" in place:  # what comes after it says which of several forms was tried
            place = place[: place.index("answer") + 1]
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".") or "body"
        if first["type"] == "json_invalid":
            field, title = "body", "the body is not JSON"
        else:
            title = str(first["msg"])
        remedy = f"see /docs for what {request.method} {request.url.path[:80]} takes"
        return tell(Problem(422, title, field=field, value=first.get("input"), remedy=remedy))

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        title = {404: "there is nothing here", 405: "this cannot be done here"}.get(error.status_code, error.detail)
        return tell(
            Problem(
                error.status_code, title, field="path", value=request.url.path, remedy="see /docs for what there is"
            )
        )


def describe_problems(app: FastAPI) -> None:
    """Let the description say that problems come as `PROBLEM`; it takes all answers for plain JSON."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            for verbs in plain()["paths"].values():
                for told in verbs.values():
                    for status, answer in told["responses"].items():
                        if status[0] in "45" and "content" in answer:
                            (schema,) = answer["content"].values()
                            answer["content"] = {PROBLEM: {"schema": {"$ref": schema["schema"]["$ref"]}}}
        return plain()

    app.openapi = openapi  # type: ignore[method-assign]
