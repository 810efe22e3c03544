"""``infopursuit serve``: the API and the page, on this machine unless told otherwise."""

from __future__ import annotations

import argparse
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from infopursuit.server.desk import Crowd
from infopursuit.server.guard import LOCAL
from infopursuit.server.limits import Limits
from infopursuit.server.logs import QUIET, STYLES, log, logging_of_a_server
from infopursuit.server.reload import EVERY, Watch
from infopursuit.server.shelf import open_shelf
from infopursuit.server.token import VARIABLE, Token, is_seen_by_others, read_token
from infopursuit.terminal import Terminal
from infopursuit.threads import one_thread

SUMMARY = "answer over HTTP: a JSON API, and a page to draw digits and be asked"
EXAMPLES = (
    "infopursuit serve",
    "infopursuit serve animals --port 9000",
    "infopursuit serve flowers=models/iris --models-dir more-models --reload --log json",
    "infopursuit serve --host 0.0.0.0 --token-file token.txt",
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
    add("--reload", action="store_true", help=f"look every {EVERY:g} s for models saved anew (else on SIGHUP only)")
    add("--token-file", type=Path, metavar="FILE", help=f"what those who ask must show (or the variable {VARIABLE})")
    add("--open", action="store_true", help="let others in without a token, where --host is not this machine only")
    add("--log", choices=STYLES, default=QUIET, help="a line on stderr for each request (default: for errors only)")
    add("--max-body", type=_count, default=limits.body_bytes, metavar="BYTES", help="of a request (default: 1 MiB)")
    add("--max-history", type=_count, default=limits.history, metavar="N", help="answers (default: %(default)s)")
    add("--max-inputs", type=_count, default=limits.inputs, metavar="N", help="of one explain (default: %(default)s)")
    add("--max-waiting", type=_count, default=limits.waiting, metavar="N", help="for a model (default: %(default)s)")
    add(
        "--max-connections", type=_count, default=limits.connections, metavar="N", help="at once (default: %(default)s)"
    )
    add("--timeout", type=_seconds, default=limits.seconds, metavar="S", help="of a request (default: %(default)g)")
    add("--grace", type=_count, default=limits.stopping, metavar="S", help="of a stop (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted (Ctrl-C) or told to stop (SIGTERM)."""
    try:
        import uvicorn  # noqa: F401

        from infopursuit.server.app import create_app
        from infopursuit.server.connection import Server
    except ImportError as error:
        raise ImportError(f"serve needs {error.name}; pip install 'infopursuit[server]'") from None
    terminal = Terminal()
    text = read_token(args.token_file)
    check_who_may_come(args.host, has_token=text is not None, open_to_all=args.open)
    limits = Limits(
        body_bytes=args.max_body,
        bodies_bytes=max(Limits.bodies_bytes, 2 * args.max_body),
        history=args.max_history,
        inputs=args.max_inputs,
        waiting=args.max_waiting,
        waiting_in_all=max(Limits.waiting_in_all, args.max_waiting),
        seconds=args.timeout,
        connections=args.max_connections,
        stopping=args.grace,
    )
    with stopped_by_sigterm():
        shelf = open_shelf(args.models, args.models_dir)
        watch = Watch(shelf, always=args.reload)
        hosts = frozenset({*LOCAL, args.host}) if is_local(args.host) else None
        app = create_app(shelf, limits, hosts=hosts, token=None if text is None else Token(text), watch=watch)
        listener = listen(args.host, args.port, limits.sending)
        shown = f"[{args.host}]" if ":" in args.host else args.host
        terminal.say(
            f"models: {', '.join(shelf)}", f"open http://{shown}:{listener.getsockname()[1]}/ (Ctrl-C stops it)"
        )
        for line in _words(args, text is not None):
            terminal.say(line)
        with listener, one_thread(), logging_of_a_server(args.log):
            try:
                Server(app, limits).run(sockets=[listener])
            finally:
                _leave_behind(app.state.crowd)
    return 0


def _leave_behind(crowd: Crowd) -> None:
    """End at once where a model is still at work: a thread cannot be stopped, and nobody waits for it any more."""
    if crowd.waiting:
        log("left behind", logging.WARNING, waiting=crowd.waiting)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130 if isinstance(sys.exception(), KeyboardInterrupt) else 0)


def check_who_may_come(host: str, *, has_token: bool, open_to_all: bool) -> None:
    """`ValueError` where others could ask without anybody having said so."""
    if is_local(host) or has_token or open_to_all:
        return
    raise ValueError(
        f"--host {host} lets other machines in; give --token-file FILE (or the variable {VARIABLE}) so that only those "
        f"who have the token can ask, or say --open to let everybody"
    )


class Stopped(Exception):
    """The process was told to stop."""


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Within it SIGTERM is an orderly end. The server takes the signal itself while it runs, and raises it again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except Stopped:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def listen(host: str, port: int, sending: float) -> socket.socket:
    """A socket that is listening already, so that the address told is one that answers. Connections are closed where a
    client does not read its answer for ``sending`` seconds (on Linux)."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise ValueError(f"--host {host!r} is no address of this machine: {error.strerror}") from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sys.platform == "linux":
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * sending))
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


def _words(args: argparse.Namespace, has_token: bool) -> Iterator[str]:
    """What the operator should know about who can come."""
    if not is_local(args.host):
        who = "has the token" if has_token else "can reach this address"
        yield f"Whoever {who} can ask; there is no encryption{'' if has_token else ' and no token'}."
    if args.token_file is not None and is_seen_by_others(args.token_file):
        yield f"{args.token_file} can be read by other users of this machine; chmod 600 keeps it from them."


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
