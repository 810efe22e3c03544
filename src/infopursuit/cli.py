"""The command line. Each command is one row of `COMMANDS`, and lives in a module of its own."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from infopursuit import __version__, ask, demo
from infopursuit.data_checks import command as lint_command
from infopursuit.evaluation import bench_command, evaluate_command
from infopursuit.evaluation import commands as measure
from infopursuit.fitting import fit_command
from infopursuit.inspection import command as inspect_command
from infopursuit.jobs import explain_command, sweep_command
from infopursuit.monitoring import command as monitor_command
from infopursuit.server import command as serve

EXPECTED = (ValueError, OSError, ImportError, MemoryError)
"""What a user can cause: said in one line, without a traceback."""

FAILED, INTERRUPTED, CLOSED = 2, 130, 141
"""Exit codes: something was wrong; Ctrl-C (128 + SIGINT); nobody reads the output any more (128 + SIGPIPE)."""


@dataclass(frozen=True)
class Command:
    """A command: what it is for in a few words, how its options are declared, what it does (returns the exit code)."""

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    examples: tuple[str, ...] = ()


COMMANDS: tuple[Command, ...] = (
    # in the order of the help text
    Command("demo", demo.SUMMARY, demo.add_arguments, demo.run, demo.EXAMPLES),
    Command("ask", ask.SUMMARY, ask.add_arguments, ask.run, ask.EXAMPLES),
    Command("fit", fit_command.SUMMARY, fit_command.add_arguments, fit_command.run, fit_command.EXAMPLES),
    Command(
        "explain", explain_command.SUMMARY, explain_command.add_arguments, explain_command.run, explain_command.EXAMPLES
    ),
    Command(
        "evaluate",
        evaluate_command.SUMMARY,
        evaluate_command.add_arguments,
        evaluate_command.run,
        evaluate_command.EXAMPLES,
    ),
    Command("sweep", sweep_command.SUMMARY, sweep_command.add_arguments, sweep_command.run, sweep_command.EXAMPLES),
    Command(
        "monitor", monitor_command.SUMMARY, monitor_command.add_arguments, monitor_command.run, monitor_command.EXAMPLES
    ),
    Command(
        "inspect", inspect_command.SUMMARY, inspect_command.add_arguments, inspect_command.run, inspect_command.EXAMPLES
    ),
    Command("lint", lint_command.SUMMARY, lint_command.add_arguments, lint_command.run, lint_command.EXAMPLES),
    Command("serve", serve.SUMMARY, serve.add_arguments, serve.run, serve.EXAMPLES),
    Command(
        "reproduce",
        measure.REPRODUCE_SUMMARY,
        measure.add_reproduce_arguments,
        measure.run_reproduce,
        measure.REPRODUCE_EXAMPLES,
    ),
    Command("train", measure.TRAIN_SUMMARY, measure.add_train_arguments, measure.run_train, measure.TRAIN_EXAMPLES),
    Command("bench", bench_command.SUMMARY, bench_command.add_arguments, bench_command.run, bench_command.EXAMPLES),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; never raises what a user can cause."""
    parser = build_parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as end:  # --help, --version, or a mistake that argparse has told about
        return end.code if isinstance(end.code, int) else FAILED
    if args.command is None:
        parser.print_help()
        return FAILED
    command = next(command for command in COMMANDS if command.name == args.command)
    with logging_to_stderr(args.verbose):
        try:
            code = command.run(args)
            sys.stdout.flush()
            return code
        except KeyboardInterrupt:
            print("\ninfopursuit: stopped", file=sys.stderr)
            return INTERRUPTED
        except BrokenPipeError:
            _forget_stdout()
            return CLOSED
        except EXPECTED as error:
            if args.debug:
                traceback.print_exc()
            else:
                print(f"infopursuit {args.command}: error: {_one_line(error)}", file=sys.stderr)
            return FAILED


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="infopursuit",
        description="A classifier that explains itself by asking: Information Pursuit.",
        epilog=_examples("infopursuit demo", "infopursuit demo --help"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"infopursuit {__version__}")
    _add_common(parser, verbose=0, debug=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS:
        child = commands.add_parser(
            command.name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=_examples(*command.examples) if command.examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(child)
        # the same options after the command; left out there, those before it stay as they are
        _add_common(child, verbose=argparse.SUPPRESS, debug=argparse.SUPPRESS)
    return parser


@contextlib.contextmanager
def logging_to_stderr(verbose: int) -> Iterator[None]:
    """Show what the package logs: warnings, with -v what it does, with -vv everything; afterwards as before."""
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


def _add_common(parser: argparse.ArgumentParser, *, verbose: object, debug: object) -> None:
    parser.add_argument("-v", "--verbose", action="count", default=verbose, help="log to stderr; -vv logs more")
    parser.add_argument("--debug", action="store_true", default=debug, help="show the traceback of an error")


def _examples(*lines: str) -> str:
    return "\n  ".join(["examples:", *lines])


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
