"""The program ``infopursuit``. A command is a row of `COMMANDS`; its module is imported when it is chosen."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import math
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

EXPECTED = (ValueError, OSError, ImportError, MemoryError)
"""Errors that a user can cause: one line, without a traceback."""

FAILED, INTERRUPTED, CLOSED = 2, 130, 141
"""Exit codes: something was wrong; Ctrl-C (128 + SIGINT); nobody reads the output any more (128 + SIGPIPE)."""


@dataclass(frozen=True)
class Command:
    """A command; the module of its name has ``add_arguments(parser)``, ``run(args) -> exit code``, and ``EXAMPLES``."""

    name: str
    summary: str
    module: str = ""

    def load(self) -> Any:
        """Import the module."""
        return importlib.import_module(self.module or f"infopursuit.app.cli.{self.name}")


COMMANDS = (  # in the order of the help text
    Command("demo", "classify handwritten digits, with an explanation for each"),
    Command("fit", "fit a classifier to a table: csv or parquet in, model out"),
    Command("ask", "answer questions in the terminal and get a prediction"),
    Command("explain", "predict and explain many inputs, on one or many workers"),
    Command("evaluate", "accuracy, queries, calibration and baselines of a model"),
    Command("serve", "serve models over HTTP, with a page to answer questions"),
    Command("inspect", "show a strategy tree, query frequencies, model card"),
)


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Warnings are notes to the user, each once and without a place in the code."""
    seen = set[str]()

    def show(message: Any, *place: Any, **more: Any) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            _complain(f"note: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def main(argv: Sequence[str] | None = None, *, stdin: TextIO | None = None) -> int:
    """Run a command and return its exit code; never raises what a user can cause.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after ``infopursuit``; by default those of the process.
    stdin : TextIO, optional
        What a command reads answers from; by default the standard input of the process.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    chosen = next((word for word in argv if not word.startswith("-")), None)  # options before it take no values
    command = next((command for command in COMMANDS if command.name == chosen), None)
    # The stream of the process stays out: `serve` sends the arguments to other processes.
    context = argparse.Namespace(line=shlex.join(["infopursuit", *argv]), stdin=stdin)
    try:
        parser = build_parser(command)
        args = parser.parse_args(argv, context)
    except SystemExit as end:  # --help, --version, or a mistake that argparse has told about
        return end.code if isinstance(end.code, int) else FAILED
    if command is None:
        parser.print_help()
        return FAILED
    with logging_to_stderr(args.verbose), warnings_as_notes():
        return reported(command.name, args.debug, lambda: command.load().run(args))


def reported(command: str, debug: bool, act: Callable[[], int]) -> int:
    """The exit code of what a command does; errors that a user can cause are told in one line."""
    try:
        code = act()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("\ninfopursuit: stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return CLOSED
    except EXPECTED as error:
        if debug:
            traceback.print_exc()
        else:
            _complain(f"infopursuit {command}: error: {_one_line(error)}")
        return FAILED


def _complain(text: str) -> None:
    from infopursuit.support.display import printable

    print(printable(text), file=sys.stderr)


def build_parser(chosen: Command | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, with the options of the chosen one."""
    parser = argparse.ArgumentParser(
        prog="infopursuit",
        description="A classifier that explains itself by asking: Information Pursuit.",
        epilog=_examples("infopursuit demo", "infopursuit demo --help"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="show versions and extras, and exit")
    _add_common(parser, verbose=0, debug=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS:
        child = commands.add_parser(
            command.name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if command is chosen:
            module = command.load()
            child.epilog = _examples(*getattr(module, "EXAMPLES", ())) or None
            module.add_arguments(child)
        # the same options after the command; left out there, those before it stay as they are
        _add_common(child, verbose=argparse.SUPPRESS, debug=argparse.SUPPRESS)
    return parser


class _ShowVersion(argparse.Action):
    """Look at what is installed only where somebody asks for it."""

    def __call__(self, parser: argparse.ArgumentParser, *args: object) -> None:
        from infopursuit.app.cli.installation import describe_installation

        print(describe_installation())
        parser.exit()


@contextlib.contextmanager
def logging_to_stderr(verbose: int) -> Iterator[None]:
    """Show what the package logs: warnings, with -v information, with -vv everything; afterwards as before."""
    logger = logging.getLogger("infopursuit")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel({0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG))
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


# ---- types of options -----------------------------------------------------------------------------------------------


def number(kind: type[float], low: float = 0, high: float = math.inf, *, below: bool = False) -> Callable[[str], Any]:
    """A type of option: a whole number (int) or any (float) from ``low`` to ``high``, with ``below`` less than that."""

    def parse(text: str) -> float:
        with contextlib.suppress(ValueError):
            value = kind(text)
            if low <= value <= high and not (below and value == high):
                return value
        upper = "on" if high == math.inf else f"{'up ' if below else ''}to {high:g}"
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a {'whole ' if kind is int else ''}number from {low:g} {upper}"
        )

    return parse


whole, positive, amount, share = number(int), number(int, 1), number(float), number(float, 0, 1, below=True)


def add_language(parser: argparse.ArgumentParser, default: str) -> None:
    """The option ``--lang``."""
    from infopursuit.support.messages import LANGUAGES, PSEUDO

    def parse(text: str) -> str:
        if text != PSEUDO and text.replace("_", "-").split("-")[0].lower() not in LANGUAGES:
            raise argparse.ArgumentTypeError(f"{text!r} is not translated; there are {', '.join(LANGUAGES)}")
        return text

    parser.add_argument("--lang", type=parse, metavar="LANG", help=f"{', '.join(LANGUAGES)} ({default})")


# ---- files that commands write --------------------------------------------------------------------------------------


def write_text(path: Path, text: str) -> Path:
    """Write a file and the folders above it; returns it."""
    from infopursuit.support.files import write_atomically

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
    return path


def _add_common(parser: argparse.ArgumentParser, *, verbose: object, debug: object) -> None:
    parser.add_argument("-v", "--verbose", action="count", default=verbose, help="log to stderr; -vv logs more")
    parser.add_argument("--debug", action="store_true", default=debug, help="show the traceback of an error")


def _examples(*lines: str) -> str:
    return "\n  ".join(["examples:", *lines]) if lines else ""


def _one_line(error: BaseException) -> str:
    """An error in one line; a bare one by its name."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _forget_stdout() -> None:
    """Let nothing be written to a closed pipe again, as Python would on its way out."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
