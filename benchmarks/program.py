"""What the programs of this package share: options, and errors in one line."""

from __future__ import annotations

import argparse
import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks import RESULTS

EXPECTED = (ValueError, OSError, ImportError, MemoryError)
FAILED, INTERRUPTED = 2, 130


def run_program(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int], argv: Sequence[str] | None
) -> int:
    """Parse, run, and return the exit code; an error that a user can cause is one line, or with --debug a traceback."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("-v", "--verbose", action="store_true", help="log to stderr")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    try:
        args = parser.parse_args(argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    if args.verbose:
        logging.basicConfig(level=logging.INFO)
    try:
        return run(args)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return INTERRUPTED
    except EXPECTED as error:
        if args.debug:
            traceback.print_exc()
        else:
            print(f"{parser.prog}: error: {' '.join(str(error).split()) or type(error).__name__}", file=sys.stderr)
        return FAILED


def say(*lines: str) -> None:
    """Write lines at once, also into a pipe."""
    print(*lines, sep="\n", flush=True)


def add_out(parser: argparse.ArgumentParser) -> None:
    """Where results go."""
    parser.add_argument(
        "--out", type=Path, default=RESULTS, metavar="DIR", help="where the JSON goes (default: benchmarks/results)"
    )


def image_parser(prog: str, doc: str | None, images: Iterable[str]) -> argparse.ArgumentParser:
    """The options of a program whose trained networks are stored."""
    parser = argparse.ArgumentParser(prog=f"python -m {prog}", description=doc)
    parser.add_argument("images", choices=tuple(images))
    parser.add_argument("--train", action="store_true", help="train the networks anew and store them")
    add_out(parser)
    return parser


def positive(text: str) -> int:
    """A count given as an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)
