"""``infopursuit monitor``: compare new inputs with the training data of a saved model."""

from __future__ import annotations

import argparse
from pathlib import Path

from infopursuit.datasets.examples import read_examples
from infopursuit.engine import Pursuit
from infopursuit.files import write_atomically
from infopursuit.monitoring.drift import MAX_PURSUED, drift
from infopursuit.serialization import load_for_command
from infopursuit.terminal import Terminal

SUMMARY = "detect drift: compare answers and predictions with training"
EXAMPLES = (
    "infopursuit monitor new.csv --model my-model --json drift.json",
    "infopursuit monitor new.csv --model my-model --reference held-out.csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``monitor``."""
    parser.description = (
        "Detect drift: compare the answers of new data, and the predictions from them, with training.\n"
        "Exit code 0: no drift; 1: drift was found; 2: an error."
    )
    add = parser.add_argument
    add("data", metavar="DATA", help=".csv, .tsv, .parquet or .npz file, or the name of a data set")
    add("--model", required=True, type=Path, metavar="DIR", help="folder of a saved model")
    add("--reference", metavar="DATA", help="held-out inputs like those of training")
    add("--label", metavar="COLUMN", help="the column of a table that holds labels, if any; it is not compared")
    add("--level", type=_share, default=0.01, metavar="P", help="probability of a false alarm, at most (0.01)")
    add("--min-distance", type=_share, default=0.01, metavar="D", help="smallest distance that counts (0.01)")
    add("--max-pursued", type=_count, default=MAX_PURSUED, metavar="N", help=f"inputs pursued at most ({MAX_PURSUED})")
    add("--json", type=Path, metavar="FILE", help="write all comparisons as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, compare, print; 1 where drift was found."""
    terminal = Terminal()
    if args.json is not None and args.json.is_dir():
        raise ValueError(f"--json {args.json} is a folder; give a file such as drift.json")
    call = f"ip.load({str(args.model)!r}, functions=...).drift(X)"
    model = load_for_command(args.model, f"compare from Python: {call}")
    pursuit = model if isinstance(model, Pursuit) else model.pursuit_
    if args.reference is None and not hasattr(model, "profile_"):
        raise ValueError(f"{args.model} has no profile of its training answers; give --reference DATA, or fit it again")
    new, reference = (
        None if data is None else read_examples(data, pursuit, label=args.label, labelled=False).X
        for data in (args.data, args.reference)
    )
    limits = {"level": args.level, "min_distance": args.min_distance, "max_pursued": args.max_pursued}
    report = drift(model, new, reference=reference, **limits)
    terminal.say(report.text(terminal.width))
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(args.json, f"{report.to_json()}\n".encode())
        terminal.say("", f"written to {args.json}")
    return 1 if report.found else 0


def _share(text: str) -> float:
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
