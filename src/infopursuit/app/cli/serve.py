"""``infopursuit serve``: the API and the page, on this machine unless told otherwise."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from infopursuit.app.cli.main import number, positive
from infopursuit.app.server import security
from infopursuit.app.server.limits import Limits
from infopursuit.app.server.observability import JSON, QUIET, SHARED_METRICS, TEXT
from infopursuit.support.lazy import is_installed
from infopursuit.support.terminal import Terminal
from infopursuit.support.threads import n_threads

if TYPE_CHECKING:
    from infopursuit.app.server.settings import Settings

EXAMPLES = (
    "infopursuit serve",
    "infopursuit serve animals --port 9000",
    "infopursuit serve flowers=models/iris --models-dir more-models --log json",
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
    add("--workers", type=positive, default=1, metavar="N", help="processes of uvicorn (default: %(default)s)")
    add("--models-dir", type=Path, metavar="DIR", help="serve every saved model in the subfolders of DIR too")
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
        ("--max-connections", "max_connections", positive, "open connections"),
        ("--timeout", "timeout", number(float, 0.001, 3600), "seconds for a request"),
        ("--grace", "grace", positive, "seconds for a stop"),
    ):
        add(option, dest=name, type=kind, default=getattr(Limits, name), metavar="N", help=f"{text} (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted (Ctrl-C) or told to stop (SIGTERM)."""
    for name in NEEDED:
        if not is_installed(name):
            raise ImportError(f"serve needs {name}; pip install 'infopursuit[server]'")

    import uvicorn

    from infopursuit.app.server.registry import find_models
    from infopursuit.app.server.settings import FACTORY, uvicorn_options

    settings = settings_of(args)
    token = settings.token
    security.check_exposure(args.host, has_token=token is not None, open_to_all=args.open)
    if args.allow_fit and args.workers > 1:
        raise ValueError(f"--allow-fit keeps models in the memory of one process; leave out --workers {args.workers}")

    models = find_models(args.models, args.models_dir)
    with listen(args.host, args.port, settings.limits.write_timeout) as listener:
        port = listener.getsockname()[1]
        announce(args, port, list(models), has_token=token is not None)
        # A socket may have options that uvicorn does not set; Windows cannot hand it to another process by its number.
        address = {"fd": listener.fileno()} if os.name == "posix" else {"host": args.host, "port": port}
        if os.name != "posix":
            listener.close()

        # uvicorn stops on this signal, then raises it again: the end is orderly.
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
        with environment_of_processes(settings, args.workers):
            uvicorn.run(FACTORY, factory=True, workers=args.workers, **address, **uvicorn_options(settings.limits))

    return 0


def settings_of(args: argparse.Namespace) -> Settings:
    """The settings of the server; `ValueError` for an origin that is not one."""
    from infopursuit.app.server.settings import Settings

    limits = Limits(
        **{one.name: getattr(args, one.name) for one in fields(Limits) if hasattr(args, one.name)},
        max_total_body=max(Limits.max_total_body, 2 * args.max_body),
    )
    settings = Settings(
        models=tuple(args.models),
        models_dir=None if args.models_dir is None else str(args.models_dir),
        host=args.host,
        token_file=None if args.token_file is None else str(args.token_file),
        allowed_origins=tuple(args.allow_origin),
        frame_ancestors=tuple(args.frame_ancestor),
        allow_fit=args.allow_fit,
        log=args.log,
        limits=limits,
    )
    _ = settings.embedding  # checks the origins

    return settings


def announce(args: argparse.Namespace, port: int, models: list[str], *, has_token: bool) -> None:
    """Print where the server listens, and who can reach it."""
    terminal = Terminal()
    host = f"[{args.host}]" if ":" in args.host else args.host
    terminal.say(f"models: {', '.join(models)}", f"open http://{host}:{port}/ (Ctrl-C stops it)")

    if not security.is_local(args.host):
        who = "with the token" if has_token else "who can reach this address"
        terminal.say(f"Everybody {who} can ask; there is no encryption{'' if has_token else ' and no token'}.")
    if args.token_file is not None and security.is_readable_by_others(args.token_file):
        terminal.say(f"{args.token_file} can be read by other users of this machine; chmod 600 prevents that.")


@contextmanager
def environment_of_processes(settings: Settings, n_workers: int) -> Iterator[None]:
    """Within it, environment variables hold what the processes of the server need: the settings, and with several
    workers the folder of their common metrics and the number of threads of each."""
    from infopursuit.app.server.settings import VARIABLE

    with tempfile.TemporaryDirectory(prefix="infopursuit-metrics-") as metrics:
        variables = {VARIABLE: settings.to_json()}
        if n_workers > 1:
            n_threads_each = max(1, n_threads() // n_workers)
            variables |= {SHARED_METRICS: metrics, "OMP_NUM_THREADS": str(n_threads_each)}

        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def listen(host: str, port: int, write_timeout: float) -> socket.socket:
    """A listening socket. On Linux its connections are closed when a client does not read for ``write_timeout``."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise ValueError(f"cannot listen on {host}:{port}: {error.strerror}; say another --port or --host") from None

    # Connections inherit it; without it the body of a response waits 40 ms for the client to acknowledge the head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sys.platform == "linux":
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * write_timeout))

    return listener
