"""``infopursuit drift``: do new inputs still look like those that a saved model has learnt from?"""

from __future__ import annotations

import argparse
from pathlib import Path

from infopursuit.monitoring.drift import MOST_PURSUED, drift
from infopursuit.monitoring.drift_text import tell
from infopursuit.engine import Pursuit
from infopursuit.evaluation.data_files import read_examples
from infopursuit.files import write_atomically
from infopursuit.storage import load_for_command
from infopursuit.terminal import Terminal

SUMMARY = "compare new data with training: answers, gaps, predictions"
EXAMPLES = (
    "infopursuit drift new.csv --model my-model --json drift.json",
    "infopursuit drift new.csv --model my-model --reference held-out.csv",
)
FOUND = 1
"""The exit code where drift was found, so that a script can act on it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``drift``."""
    parser.description = (
        "Compare new data with training: answers, gaps, predictions.\n"
        "Exit code 0: no drift; 1: drift was found; 2: something was wrong."
    )
    add = parser.add_argument
    add("data", metavar="DATA", help=".csv, .tsv, .parquet or .npz file, or the name of a data set")
    add("--model", required=True, type=Path, metavar="DIR", help="folder of a saved model")
    add("--reference", metavar="DATA", help="inputs like those of training that it did not learn from")
    add("--label", metavar="COLUMN", help="the column of a table that holds labels, if any; it is not compared")
    add("--level", type=_between, default=0.01, metavar="P", help="false alarms at most, as a share (0.01)")
    add("--least", type=_between, default=0.01, metavar="D", help="smallest distance that counts, 0 to 1 (0.01)")
    add("--pursue", type=_count, default=MOST_PURSUED, metavar="N", help="inputs pursued for what is predicted, at "
        f"most ({MOST_PURSUED})")  # fmt: skip
    add("--json", type=Path, metavar="FILE", help="write everything that was compared as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, compare, tell."""
    terminal = Terminal()
    if args.json is not None and args.json.is_dir():
        raise ValueError(f"--json {args.json} is a folder; give a file such as drift.json")
    call = f"ip.load({str(args.model)!r}, functions=...).drift(X)"
    thing = load_for_command(args.model, f"compare from Python: {call}")
    pursuit = thing if isinstance(thing, Pursuit) else thing.pursuit_
    if args.reference is None and not hasattr(thing, "profile_"):
        raise ValueError(
            f"{args.model} has no profile of its training answers; say --reference DATA, inputs like those of "
            f"training, or fit and save it again"
        )
    data = read_examples(args.data, pursuit, label=args.label, labelled=False)
    reference = None
    if args.reference is not None:
        reference = read_examples(args.reference, pursuit, label=args.label, labelled=False).X
    report = drift(thing, data.X, reference=reference, level=args.level, least=args.least, most_pursued=args.pursue)
    tell(report, terminal)
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(args.json, f"{report.to_json()}\n".encode())
        terminal.say("", f"written to {args.json}")
    return FOUND if report.found else 0


def _between(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1, such as 0.01")
    return value


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)
