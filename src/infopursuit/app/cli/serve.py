"""``infopursuit serve``: the API and the page, on this machine unless told otherwise."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from infopursuit.app.cli.main import number, positive, reported
from infopursuit.app.server import security
from infopursuit.app.server.limits import Limits
from infopursuit.app.server.observability import JSON, QUIET, TEXT, configured_logging, log
from infopursuit.support.terminal import Terminal
from infopursuit.support.threads import n_threads, thread_limit

EXAMPLES = (
    "infopursuit serve",
    "infopursuit serve animals --port 9000",
    "infopursuit serve flowers=models/iris --models-dir more-models --reload --log json",
    "infopursuit serve --host 0.0.0.0 --token-file token.txt --workers 4",
    "infopursuit serve --allow-origin https://example.org --frame-ancestor https://example.org",
)

NEEDED = ("fastapi", "jinja2", "prometheus_client", "pydantic", "uvicorn")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help="one that comes along, FOLDER or NAME=FOLDER (default: all of them)")
    add("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)")
    add(
        "--port",
        type=number(int, 0, 65535),
        default=8000,
        metavar="N",
        help="0: any that is free (default: %(default)s)",
    )
    add("--workers", type=positive, default=1, metavar="N", help="processes that share the port (default: %(default)s)")
    add("--models-dir", type=Path, metavar="DIR", help="serve every saved model in the subfolders of DIR too")
    add("--reload", action="store_true", help="check every second for models saved anew (else on SIGHUP only)")
    add("--token-file", type=Path, metavar="FILE", help=f"with the bearer token (or the variable {security.VARIABLE})")
    add("--open", action="store_true", help="allow requests without a token where --host is not this machine only")
    for option, text in (
        ("--allow-origin", "pages of this origin may ask the API (CORS)"),
        ("--frame-ancestor", "pages of this origin may show the page in a frame"),
    ):
        add(option, action="append", default=[], metavar="URL", help=f"{text}; may be given more than once")
    add("--allow-fit", action="store_true", help="visitors may upload a table, which is fitted and kept for an hour")
    add("--log", choices=(JSON, TEXT, QUIET), default=QUIET, help="log each request to stderr (default: errors only)")
    for option, name, kind, text in (
        ("--max-body", "max_body", positive, "bytes of a request"),
        ("--max-history", "max_history", positive, "answers of a history"),
        ("--max-inputs", "max_inputs", positive, "inputs of an explain"),
        ("--max-waiting", "max_queue", positive, "requests queued for a model"),
        ("--max-connections", "max_requests", positive, "requests at once, and half of the open connections"),
        ("--timeout", "timeout", number(float, 0.001, 3600), "seconds for a request"),
        ("--grace", "grace", positive, "seconds for a stop"),
    ):
        add(option, dest=name, type=kind, default=getattr(Limits, name), metavar="N", help=f"{text} (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted (Ctrl-C) or told to stop (SIGTERM)."""
    from infopursuit.app.server.processes import supervise
    from infopursuit.app.server.registry import find_models

    for name in NEEDED:
        if find_spec(name) is None:
            raise ImportError(f"serve needs {name}; pip install 'infopursuit[server]'")
    terminal, token = Terminal(), security.read_token(args.token_file)
    security.check_exposure(args.host, has_token=token is not None, open_to_all=args.open)
    embedding(args)
    if args.allow_fit and args.workers > 1:
        raise ValueError(f"--allow-fit keeps models in the memory of one process; leave out --workers {args.workers}")
    with exit_on_sigterm():
        models = find_models(args.models, args.models_dir)
        listener = listen(args.host, args.port, Limits.write_timeout)
        host, port = f"[{args.host}]" if ":" in args.host else args.host, listener.getsockname()[1]
        terminal.say(f"models: {', '.join(models)}", f"open http://{host}:{port}/ (Ctrl-C stops it)")
        if not security.is_local(args.host):
            who = "with the token" if token else "who can reach this address"
            terminal.say(f"Everybody {who} can ask; there is no encryption{'' if token else ' and no token'}.")
        if args.token_file is not None and security.is_readable_by_others(args.token_file):
            terminal.say(f"{args.token_file} can be read by other users of this machine; chmod 600 prevents that.")
        with ExitStack() as open_, configured_logging(args.log):
            if args.workers == 1:
                return serve(args, token, open_.enter_context(listener))
            listeners = [listener] * args.workers
            if sys.platform == "linux":
                listener.close()  # nobody else listens there; now several do
                listeners = [listen(args.host, port, Limits.write_timeout, several=True) for _ in listeners]
            for each in listeners:
                open_.enter_context(each)
            return supervise(partial(_worker, args, token), listeners)


def serve(args: argparse.Namespace, token: str | None, listener: socket.socket, readiness: Any = None) -> int:
    """One process of the server: listens at once, then loads its models."""
    from infopursuit.app.server.app import Server, create_app
    from infopursuit.app.server.registry import Reloader, ServedModel, find_models

    models: dict[str, ServedModel] = {}
    limits = Limits(
        **{one.name: getattr(args, one.name) for one in fields(Limits) if hasattr(args, one.name)},
        max_total_body=max(Limits.max_total_body, 2 * args.max_body),
        max_total_queue=max(Limits.max_total_queue, args.max_queue),
    )
    app = create_app(
        models, limits, loaders=find_models(args.models, args.models_dir), readiness=readiness,
        hosts=frozenset({*security.LOCAL_HOSTS, args.host}) if security.is_local(args.host) else None,
        token=security.Token(token) if token else None, reloader=Reloader(models, always=args.reload),
        embedding=embedding(args), fit=args.allow_fit,
    )  # fmt: skip
    with thread_limit(None if args.workers == 1 else max(1, n_threads() // args.workers)):
        try:
            Server(app, limits).run(sockets=[listener])
        finally:
            if app.state.failure is None:
                _exit_if_busy(app.state.workers.n_queued)
    if app.state.failure is not None:
        raise app.state.failure
    return 0


def embedding(args: argparse.Namespace) -> security.Embedding:
    """Which other origins may ask; `ValueError` for what is no origin."""
    return security.Embedding(frozenset(args.allow_origin), tuple(args.frame_ancestor))


def _worker(args: argparse.Namespace, token: str | None, listener: socket.socket, readiness: Any) -> None:
    """One of several processes."""
    from infopursuit.app.server.processes import end_with_parent

    end_with_parent()
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C and the end of a terminal are the supervisor's, which passes them on in its own way
    with exit_on_sigterm(), configured_logging(args.log):
        sys.exit(reported("serve", args.debug, partial(serve, args, token, listener, readiness)))


def _exit_if_busy(n_queued: int) -> None:
    """End at once where a model is still at work: a thread cannot be stopped, and nobody waits for it any more."""
    if n_queued:
        log("left behind", logging.WARNING, waiting=n_queued)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130 if isinstance(sys.exception(), KeyboardInterrupt) else 0)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Within it SIGTERM is an orderly end. The server takes the signal itself while it runs, and raises it again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def listen(host: str, port: int, write_timeout: float, *, several: bool = False) -> socket.socket:
    """A listening socket, one of ``several`` on its port. On Linux its connections are closed when a client does not
    read for ``write_timeout``."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=2048, reuse_port=several)
    except OSError as error:
        raise ValueError(f"cannot listen on {host}:{port}: {error.strerror}; say another --port or --host") from None
    # connections inherit it; without it the body of a response waits 40 ms for the client to acknowledge the head
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sys.platform == "linux":
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * write_timeout))
    return listener
