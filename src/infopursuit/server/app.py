"""The application: its routes, and how what goes wrong is told."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import AsyncIterator, Hashable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from cachetools import LRUCache
from fastapi import FastAPI, Path, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse

from infopursuit import __version__
from infopursuit.server import schemas
from infopursuit.server.desk import Crowd, Desk
from infopursuit.server.guard import HEALTH, MODEL_VERSION, Guard
from infopursuit.server.inputs import read_inputs
from infopursuit.server.limits import Limits, Problem
from infopursuit.server.metrics import Metrics
from infopursuit.server.pages import read_pages
from infopursuit.server.problems import ANYWHERE, REFUSED, describe_problems, tell_problems
from infopursuit.server.reload import Watch
from infopursuit.server.shelf import Offer
from infopursuit.server.token import Token
from infopursuit.server.turn import explanation_of, question, read_history, turn
from infopursuit.types import History, IntArray

AT_A_TIME = 4
"""Inputs that are explained together; between two such lots the questions of others have their turn."""
LISTED = 500
"""Queries that are told at once."""
CACHE_BYTES = 32 * 2**20
"""Size of the cache of responses."""
DESCRIPTION = """A classifier that explains itself by asking. Nothing is kept between two requests: a client sends the
whole history each time, and the same history always gets the same answer."""

Name = Annotated[str, Path(description="the name of a model", max_length=64)]


def create_app(
    shelf: Mapping[str, Offer],
    limits: Limits | None = None,
    *,
    hosts: frozenset[str] | None = None,
    token: Token | None = None,
    watch: Watch | None = None,
) -> FastAPI:
    """The application that offers some models. ``hosts``, ``token``: see `Guard`. ``watch``: what puts new versions on
    the shelf; a request is answered by the version that is there when it comes."""
    limits, metrics = limits or Limits(), Metrics()
    cache: LRUCache[Hashable, bytes] = LRUCache(CACHE_BYTES, getsizeof=len)
    crowd = Crowd(limits.waiting_in_all)
    desks = {name: Desk(name, limits.waiting, limits.seconds, crowd) for name in shelf}
    for name, desk in desks.items():
        metrics.queue_length.labels(name).set_function(lambda desk=desk: desk.waiting)  # type: ignore[misc]
    pages = read_pages()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if watch is not None and threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, watch.now)
        for name, offer in shelf.items():  # compile and fill what the first question would have to wait for
            await desks[name].do(lambda offer=offer: _warm(offer), float("inf"))  # type: ignore[misc]
        watching = None if watch is None else asyncio.create_task(watch.run(_warm))
        yield
        if watching is not None:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        for desk in desks.values():
            desk.close()

    app = FastAPI(
        title="infopursuit",
        version=__version__,
        description=" ".join(DESCRIPTION.split()),
        docs_url=None,  # the usual pages load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # a path that is nearly right is told to be wrong
        lifespan=lifespan,
    )
    app.state.metrics, app.state.crowd = metrics, crowd
    app.state.head_timers, app.state.stopping = {}, False
    app.add_middleware(Guard, limits=limits, metrics=metrics, hosts=hosts, token=token, models=shelf)
    tell_problems(app)
    describe_problems(app)

    def find(name: str) -> Offer:
        if name not in shelf:
            known = ", ".join(shelf) or "none"
            raise Problem(404, "there is no such model", field="name", value=name, remedy=f"the models are {known}")
        return shelf[name]

    def told(offer: Offer, items: list[schemas.HistoryItem]) -> History:
        if len(items) > limits.history:
            raise Problem(
                422,
                f"a history has at most {limits.history} answers",
                field="history",
                value=f"{len(items)} answers",
                remedy="leave some of them out",
            )
        return read_history(offer, [(item.query, item.answer) for item in items])

    @app.get(
        "/v1/models",
        response_model=schemas.ModelList,
        responses=ANYWHERE,
        tags=["models"],
        summary="The models of this server",
    )
    async def models() -> Response:
        return JSONResponse({"models": [offer.described for offer in shelf.values()]})

    @app.get(
        "/v1/models/{name}",
        response_model=schemas.ModelPage,
        responses={**ANYWHERE, 404: REFUSED[404], 422: REFUSED[422]},
        tags=["models"],
        summary="A model and its queries, some at a time",
    )
    async def model(
        name: Name, offset: Annotated[int, Query(ge=0)] = 0, limit: Annotated[int, Query(ge=1, le=LISTED)] = 100
    ) -> Response:
        offer = find(name)
        pursuit = offer.pursuit
        end = min(offset + limit, len(pursuit.queries))
        listed = [question(pursuit, q) for q in range(min(offset, end), end)]
        after = end if listed and end < len(pursuit.queries) else None
        content = {**offer.described, "queries": listed, "offset": offset, "next_offset": after}
        return JSONResponse(content, headers=_by(offer))

    @app.post(
        "/v1/models/{name}/next",
        response_model=schemas.NextResponse,
        responses=REFUSED,
        tags=["asking"],
        summary="What is believed after a history, and what to ask next",
    )
    async def following(name: Name, request: schemas.NextRequest) -> Response:
        offer = find(name)
        history = told(offer, request.history)
        key = (name, offer.version, history, request.top, request.explanation)
        content = cache.get(key)
        if content is None:
            content = await desks[name].do(lambda: _dump(turn(offer, history, request.top, request.explanation)))
            if len(content) <= CACHE_BYTES:
                cache[key] = content
        else:
            metrics.cache_hits.inc()
        return Response(content, media_type="application/json", headers=_by(offer))

    @app.post(
        "/v1/models/{name}/report",
        response_class=HTMLResponse,
        responses=REFUSED,
        tags=["asking"],
        summary="A history as a page to keep: one HTML file that needs nothing else",
    )
    async def report(name: Name, request: schemas.ReportRequest) -> Response:
        offer = find(name)
        history = told(offer, request.history)
        content = await desks[name].do(lambda: explanation_of(offer, history).to_html().encode())
        headers = {"content-disposition": f'attachment; filename="explanation-{name}.html"'}
        return Response(content, media_type="text/html; charset=utf-8", headers={**headers, **_by(offer)})

    @app.post(
        "/v1/models/{name}/explain",
        response_model=schemas.ExplainResponse,
        responses=REFUSED,
        tags=["asking"],
        summary="Classify inputs, and explain each by what was asked about it",
    )
    async def explain(name: Name, request: schemas.ExplainRequest) -> Response:
        offer = find(name)
        if len(request.inputs) > limits.inputs:
            raise Problem(
                422,
                f"at most {limits.inputs} inputs at once",
                field="inputs",
                value=f"{len(request.inputs)} inputs",
                remedy="send them in several requests",
            )
        until = desks[name].deadline()
        values = await desks[name].do(lambda: read_inputs(offer, request.inputs))
        found: list[dict[str, Any]] = []
        for start in range(0, len(values), AT_A_TIME):
            some = values[start : start + AT_A_TIME]
            found += await desks[name].do(lambda some=some: _explain(offer, some), until)  # type: ignore[misc]
        return Response(_dump({"explanations": found}), media_type="application/json", headers=_by(offer))

    @app.get(HEALTH, response_model=schemas.Health, tags=["operating"], summary="Whether the server can be asked")
    async def health(request: Request) -> Response:
        if token is not None and not token.is_shown(request.scope["headers"]):
            return JSONResponse({"status": "ok", "version": None, "models": None})
        return JSONResponse({"status": "ok", "version": __version__, "models": list(shelf)})

    @app.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses=ANYWHERE,
        tags=["operating"],
        summary="Counts and times, for Prometheus",
    )
    async def measured() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return pages["index.html"].response(request)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return pages["docs.html"].response(request)

    @app.get("/page/{file}", include_in_schema=False)
    async def page(file: str, request: Request) -> Response:
        if file not in pages:
            raise Problem(404, "there is no such file", field="file", value=file, remedy="begin at /")
        return pages[file].response(request)

    return app


def _warm(offer: Offer) -> None:
    """Compile and fill what the first question would have to wait for."""
    turn(offer, (), 1, False)
    _ = offer.described, offer.index_of, offer.classes


def _by(offer: Offer) -> dict[str, str]:
    """Which version of the model has answered."""
    return {MODEL_VERSION: offer.version}


def _explain(offer: Offer, values: IntArray) -> list[dict[str, Any]]:
    trace = offer.pursuit.run_values(values, progress=False)
    return [{"explanation": json.loads(one.to_json()), "text": one.to_text()} for one in trace]


def _dump(data: Any) -> bytes:
    return json.dumps(data, allow_nan=False).encode()
