"""``infopursuit monitor``: compare new inputs with the training data of a saved model."""

from __future__ import annotations

import argparse
from pathlib import Path

from infopursuit.checks import pursuit_of
from infopursuit.cli.main import share, write_text
from infopursuit.datasets.examples import read_examples
from infopursuit.monitoring import drift
from infopursuit.serialization import load_for_command
from infopursuit.terminal import Terminal

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
    add("--level", type=share, default=0.01, metavar="P", help="probability of a false alarm, at most (0.01)")
    add("--json", type=Path, metavar="FILE", help="write all comparisons as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, compare, print; 1 where drift was found."""
    terminal = Terminal()
    if args.json is not None and args.json.is_dir():
        raise ValueError(f"--json {args.json} is a folder; give a file such as drift.json")
    model = load_for_command(args.model)
    pursuit = pursuit_of(model)
    if args.reference is None and not hasattr(model, "profile_"):
        raise ValueError(f"{args.model} has no profile of its training answers; give --reference DATA, or fit it again")
    new, reference = (
        None if data is None else read_examples(data, pursuit, label=args.label, labelled=False).X
        for data in (args.data, args.reference)
    )
    report = drift(model, new, reference=reference, level=args.level)
    terminal.say(report.text(terminal.width))
    if args.json is not None:
        terminal.say("", f"written to {write_text(args.json, report.to_json())}")
    return 1 if report.found else 0
