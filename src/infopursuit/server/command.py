"""``infopursuit serve``: the API and the page, on this machine unless told otherwise."""

from __future__ import annotations

import argparse
import ipaddress
import socket
from pathlib import Path

from infopursuit.server.guard import LOCAL
from infopursuit.server.limits import Limits
from infopursuit.server.shelf import open_shelf
from infopursuit.terminal import Terminal
from infopursuit.threads import one_thread

SUMMARY = "answer over HTTP: a JSON API, and a page to draw digits and be asked"
EXAMPLES = (
    "infopursuit serve",
    "infopursuit serve animals --port 9000",
    "infopursuit serve flowers=models/iris --models-dir more-models",
)
PORT = 8000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    limits = Limits()
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help="one that comes along, FOLDER or NAME=FOLDER (default: all of them)")
    add("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)")
    add("--port", type=_port, default=PORT, metavar="N", help=f"0 takes any that is free (default: {PORT})")
    add("--models-dir", type=Path, metavar="DIR", help="serve every saved model in the subfolders of DIR too")
    add("--max-body", type=_count, default=limits.body_bytes, metavar="BYTES", help="of a request (default: 1 MiB)")
    add("--max-history", type=_count, default=limits.history, metavar="N", help="answers (default: %(default)s)")
    add("--max-inputs", type=_count, default=limits.inputs, metavar="N", help="of one explain (default: %(default)s)")
    add("--max-waiting", type=_count, default=limits.waiting, metavar="N", help="for a model (default: %(default)s)")
    add("--timeout", type=_seconds, default=limits.seconds, metavar="S", help="of a request (default: %(default)g)")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    try:
        import uvicorn

        from infopursuit.server.app import create_app
    except ImportError as error:
        raise ImportError(f"serve needs {error.name}; pip install 'infopursuit[server]'") from None
    terminal = Terminal()
    shelf = open_shelf(args.models, args.models_dir)
    limits = Limits(
        body_bytes=args.max_body,
        history=args.max_history,
        inputs=args.max_inputs,
        waiting=args.max_waiting,
        seconds=args.timeout,
    )
    app = create_app(shelf, limits, hosts=frozenset({*LOCAL, args.host}) if is_local(args.host) else None)
    listener = listen(args.host, args.port)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=1000,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=5,
    )
    shown = f"[{args.host}]" if ":" in args.host else args.host
    terminal.say(f"models: {', '.join(shelf)}", f"open http://{shown}:{listener.getsockname()[1]}/ (Ctrl-C stops it)")
    if not is_local(args.host):
        terminal.say("Whoever can reach this address can ask; there is no password and no encryption.")
    with listener, one_thread():
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def listen(host: str, port: int) -> socket.socket:
    """A socket that is listening already, so that the address told is one that answers."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise ValueError(f"--host {host!r} is no address of this machine: {error.strerror}") from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise ValueError(f"cannot listen on {host}:{port}: {error.strerror}; say another --port or --host") from None
    listener.listen(2048)
    return listener


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds from 0 to 3600")
    return seconds
