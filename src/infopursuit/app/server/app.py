"""The application and its routes."""

from __future__ import annotations

import asyncio
import json
import mimetypes
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Annotated, Any, TypeVar

from cachetools import LRUCache
from fastapi import FastAPI, Path, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.staticfiles import StaticFiles

from infopursuit import __version__
from infopursuit.app.server import fitting, inference, schemas
from infopursuit.app.server.errors import Problem, add_error_handlers, invalid
from infopursuit.app.server.fitting import Uploads
from infopursuit.app.server.language import catalogue, words_for
from infopursuit.app.server.limits import MODEL_VERSION, Limits, RequestMiddleware, Workers, limit_torch
from infopursuit.app.server.observability import Metrics, log_error
from infopursuit.app.server.registry import Loader, ServedModel
from infopursuit.app.server.schemas import COMMON_ERRORS, ERRORS
from infopursuit.app.server.security import Embedding, Token
from infopursuit.support.messages import Messages
from infopursuit.support.types import History

BATCH = 4  # inputs that are explained together; between two batches the requests of others have their turn
MAX_PAGE = 500  # queries in one response
CACHE_BYTES, ENTRY_BYTES = 16 * 2**20, 2048  # responses, each with so much for its history
RETRY_LOADING = 1  # seconds
DESCRIPTION = (
    "A classifier that explains itself by asking. Nothing is kept between two requests: a client sends the whole "
    "history each time, and the same history always gets the same answer."
)
Result = TypeVar("Result")
Name = Annotated[str, Path(description="the name of a model", max_length=64)]


class PageFiles(StaticFiles):
    """The files of the page; browsers check each time whether they are still the newest."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers["cache-control"] = "no-cache"
        return response


def create_app(
    models: dict[str, ServedModel], limits: Limits | None = None, *, loaders: dict[str, Loader] | None = None,
    hosts: frozenset[str] | None = None, token: Token | None = None,
    embedding: Embedding | None = None, fit: bool = False,
) -> FastAPI:  # fmt: skip
    """The application that serves some models: an ASGI application for the root of a host.

    Parameters
    ----------
    models: by name, as `registry.served` makes them from a classifier, or `registry.load_models` from folders.
    limits: bounds on requests.
    loaders: of further models, which are added to ``models`` while the server already answers.
    hosts: allowed Host headers, None for any.
    token: what clients must show, None for nothing.
    embedding: other origins that may ask the API, and that may show the page in a frame.
    fit: whether visitors may upload tables, see `infopursuit.app.server.fitting`.
    """
    limits = limits or Limits()
    metrics = Metrics()
    uploads = Uploads() if fit else None
    loading = dict(loaders or {})
    failed: set[str] = set()
    loaded, names = {name: asyncio.Event() for name in loading}, [*models, *loading]
    workers = Workers([*names, *([fitting.POOL] if fit else [])], limits, metrics)
    cache: LRUCache[Hashable, bytes] = LRUCache(CACHE_BYTES, getsizeof=lambda content: ENTRY_BYTES + len(content))
    mimetypes.add_type("text/javascript", ".js")  # some Windows machines say otherwise
    page = PageFiles(packages=[("infopursuit.app.server", "page")])

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for name, model in models.items():
            await workers.run(name, partial(_warm_up, model), float("inf"))
        background = asyncio.create_task(prepare())
        yield
        background.cancel()
        with suppress(asyncio.CancelledError):
            await background
        workers.close()

    async def prepare() -> None:
        """Load one model after the other."""
        for name, load in list(loading.items()):
            try:
                models[name] = await workers.run(name, partial(_load, load), float("inf"))
            except Exception as error:
                log_error("not loaded", error, model=name)
                failed.add(name)
            del loading[name]
            loaded[name].set()

    app = FastAPI(
        title="infopursuit", version=__version__, description=DESCRIPTION, redirect_slashes=False, lifespan=lifespan,
        docs_url=None, redoc_url=None,  # they load their scripts from elsewhere
    )  # fmt: skip
    app.add_middleware(
        RequestMiddleware, limits=limits, metrics=metrics, hosts=hosts, token=token, models=names,
        embedding=embedding or Embedding(), max_bodies={fitting.PATH: 2 * fitting.MAX_BYTES} if fit else {},
    )  # fmt: skip
    add_error_handlers(app)

    async def find(name: str) -> ServedModel:
        """The model of a name, for which a request waits a while where it is still being loaded."""
        uploaded = None if uploads is None else uploads.models.get(name)
        if uploaded is not None:
            return uploaded
        if name in loading:
            with suppress(TimeoutError):
                await asyncio.wait_for(loaded[name].wait(), limits.timeout)
        if name in loading:
            remedy = f"try again in {RETRY_LOADING} s; /readyz says when all models are there"
            found = {"field": "name", "value": name, "remedy": remedy}
            raise Problem(503, "the model is loading", **found, retry_after=RETRY_LOADING)
        if name in failed:
            raise Problem(500, "the model could not be loaded", field="name", value=name, remedy="see the server's log")
        if name not in models:
            remedy = f"the models are {', '.join(names) or 'none'}"
            raise Problem(404, "no such model", field="name", value=name, remedy=remedy)
        return models[name]

    async def run(model: ServedModel, task: Callable[[], Result], until: float | None = None) -> Result:
        return await workers.run(model.name if model.name in names else fitting.POOL, task, until)

    def said(model: ServedModel, request: schemas.CaseRequest) -> tuple[History, History]:
        """The history of a request, and what was known before it."""
        for field in ("history", "known"):
            n = len(getattr(request, field))
            if n > limits.max_history:
                title = f"{field} has at most {limits.max_history} answers"
                raise invalid(title, field, f"{n} answers", "leave some of them out")
        history = inference.read_history(model, [(item.query, item.answer) for item in request.history])
        return history, inference.read_known(model, request.known)

    @app.get("/v1/models", response_model=schemas.ModelList, responses=COMMON_ERRORS, tags=["models"],
             summary="The models of this server")  # fmt: skip
    async def list_models() -> Response:
        found = [models[name].info for name in names if name in models]
        return JSONResponse({"models": found, "loading": list(loading), "fit": fit})

    @app.get("/v1/models/{name}", response_model=schemas.ModelPage, tags=["models"],
             responses={**COMMON_ERRORS, **{status: ERRORS[status] for status in (404, 422)}},
             summary="A model and its queries, some at a time")  # fmt: skip
    async def get_model(
        name: Name, offset: Annotated[int, Query(ge=0)] = 0, limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100,
        language: Annotated[str, Query(max_length=35)] = "en",
    ) -> Response:  # fmt: skip
        model, words = await find(name), words_for(language)
        n = len(model.pursuit.queries)
        queries = [inference.query_info(model, q, words) for q in range(offset, min(offset + limit, n))]
        after = offset + limit if offset + limit < n else None
        content = {
            **model.info,
            "performance": inference.performance(model, words),
            "queries": queries,
            "offset": offset,
            "next_offset": after,
        }
        return JSONResponse(content, headers={MODEL_VERSION: model.version})

    @app.post("/v1/models/{name}/next", response_model=schemas.NextResponse, responses=ERRORS, tags=["asking"],
              summary="The posterior after a history, and what to ask next")  # fmt: skip
    async def post_next(name: Name, request: schemas.NextRequest) -> Response:
        model = await find(name)
        later = inference.read_later(model, request.later)
        asked, words = (*said(model, request), later, request.top, request.explanation, request.more), _words(request)
        key = (name, model.version, *asked, words.language)
        content = cache.get(key)
        if content is None:
            content = await run(model, lambda: _dump(inference.next_step(model, *asked, words)))
            if cache.getsizeof(content) <= CACHE_BYTES:
                cache[key] = content
        else:
            metrics.cache_hits.inc()
        return Response(content, media_type="application/json", headers={MODEL_VERSION: model.version})

    @app.post("/v1/models/{name}/why-not", response_model=schemas.WhyNotResponse, responses=ERRORS, tags=["asking"],
              summary="Which answers count against a class, and which changes would lead to it")  # fmt: skip
    async def post_why_not(name: Name, request: schemas.WhyNotRequest) -> Response:
        model, words = await find(name), _words(request)
        asked = said(model, request)
        content = await run(model, lambda: _dump(inference.why_not(model, *asked, request.label, words)))
        return Response(content, media_type="application/json", headers={MODEL_VERSION: model.version})

    @app.post("/v1/models/{name}/remaining", response_model=schemas.RemainingResponse, responses=ERRORS,
              tags=["asking"], summary="How many more questions to expect")  # fmt: skip
    async def post_remaining(name: Name, request: schemas.CaseRequest) -> Response:
        model, words = await find(name), _words(request)
        asked = said(model, request)
        content = await run(model, lambda: _dump(inference.remaining(model, *asked, words)))
        return Response(content, media_type="application/json", headers={MODEL_VERSION: model.version})

    @app.post("/v1/models/{name}/report", response_class=HTMLResponse, responses=ERRORS, tags=["asking"],
              summary="A history as a page to keep: one HTML file that needs nothing else")  # fmt: skip
    async def post_report(name: Name, request: schemas.ReportRequest) -> Response:
        model = await find(name)
        history, known = said(model, request)
        inapplicable = frozenset(
            k for k, item in enumerate(request.history) if item.answer is None and not item.applies
        )
        told = (inapplicable, request.name, _words(request))
        content = await run(model, lambda: inference.report(model, history, known, *told))
        attachment = f'attachment; filename="explanation-{name}.html"'
        return HTMLResponse(content, headers={"content-disposition": attachment, MODEL_VERSION: model.version})

    @app.post("/v1/models/{name}/explain", response_model=schemas.ExplainResponse, responses=ERRORS, tags=["asking"],
              summary="Classify inputs, and explain each by what was asked about it")  # fmt: skip
    async def post_explain(name: Name, request: schemas.ExplainRequest) -> Response:
        model, n = await find(name), len(request.inputs)
        if n > limits.max_inputs:
            title, remedy = f"at most {limits.max_inputs} inputs at once", "send them in several requests"
            raise invalid(title, "inputs", f"{n} inputs", remedy)
        until = workers.deadline()
        values = await run(model, lambda: inference.read_inputs(model, request.inputs))
        found: list[dict[str, Any]] = []
        for start in range(0, n, BATCH):
            some = partial(inference.explain_inputs, model, values.take(slice(start, start + BATCH)))
            found += await run(model, some, until)
        content = _dump({"explanations": found})
        return Response(content, media_type="application/json", headers={MODEL_VERSION: model.version})

    if uploads is not None:

        @app.post(fitting.PATH, response_model=schemas.FitResponse, tags=["models"],
                  responses={status: told for status, told in ERRORS.items() if status not in (404, 409)},
                  summary="Fit a table, one at a time; the model is kept for an hour")  # fmt: skip
        async def post_fit(request: schemas.FitRequest) -> Response:
            model, told = await uploads.fit(request)
            performance = inference.performance(model, words_for(request.language))
            return JSONResponse({"model": model.info, "performance": performance, "told": told})

    @app.get("/healthz", response_model=schemas.Health, tags=["operating"], summary="Whether the server is up")
    async def health(request: Request) -> Response:
        if token is not None and not token.matches(request.scope["headers"]):
            return JSONResponse({"status": "ok", "version": None, "models": None})
        return JSONResponse({"status": "ok", "version": __version__, "models": names})

    @app.get("/readyz", response_model=schemas.Ready, responses={503: {"model": schemas.Ready}}, tags=["operating"],
             summary="Whether all models are loaded: 200, else 503")  # fmt: skip
    async def ready() -> Response:
        if not loading and not failed:
            return JSONResponse({"status": "ready"})
        state = "loading" if loading else "failed"
        return JSONResponse({"status": state}, 503, {"retry-after": str(RETRY_LOADING)})

    @app.get("/metrics", response_class=PlainTextResponse, responses=COMMON_ERRORS, tags=["operating"],
             summary="Metrics for Prometheus")  # fmt: skip
    async def get_metrics() -> Response:
        return Response(generate_latest(metrics.collected), media_type=CONTENT_TYPE_LATEST)

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return await page.get_response("index.html", request.scope)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return await page.get_response("docs.html", request.scope)

    @app.get("/page/messages/{language}", include_in_schema=False)
    async def texts(language: str) -> Response:
        return JSONResponse(catalogue(language), headers={"cache-control": "no-cache"})

    app.mount("/page", page)
    return app


def _load(load: Loader) -> ServedModel:
    model = load()
    limit_torch()  # which may have been imported only now
    _warm_up(model)
    return model


def _warm_up(model: ServedModel) -> None:
    """Compile and cache what the first request would have to wait for."""
    inference.next_step(model, (), (), (), 1, False, False, words_for("en"))
    _ = model.info, model.index_of, model.classes


def _words(request: schemas.CaseRequest) -> Messages:
    return words_for(request.language)


def _dump(data: Any) -> bytes:
    return json.dumps(data, allow_nan=False).encode()
