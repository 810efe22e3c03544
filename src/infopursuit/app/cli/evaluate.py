"""``infopursuit evaluate``: a saved model on labelled data, as a page in the terminal and as JSON."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from infopursuit.app.cli.main import positive, write_text
from infopursuit.app.datasets.examples import Examples, has_training_part, read_examples
from infopursuit.estimator.storage import load_pursuit
from infopursuit.evaluation.evaluate import PURSUIT, TREE, Evaluation, evaluate, tell
from infopursuit.presentation.plots import trade_off
from infopursuit.presentation.plots.style import need_matplotlib
from infopursuit.pursuit.loop import Pursuit
from infopursuit.saving.provenance import provenance
from infopursuit.support.terminal import Terminal

EXAMPLES = (
    "infopursuit evaluate my-model test.csv --label species --train train.csv",
    "infopursuit evaluate my-model digits --out digits.json --curve digits.png",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``evaluate``."""
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help="folder of a saved model")
    add("data", metavar="DATA", help=".csv, .tsv, .parquet or .npz file, or the name of a data set")
    add("--label", metavar="COLUMN", help="the column of a table that holds the labels")
    add("--train", metavar="DATA", help="training data, which the baselines learn from")
    add("--no-baselines", action="store_true", help="do not fit a decision tree and a black box")
    add("--inputs", type=positive, metavar="N", help="only the first N inputs")
    add("--out", type=Path, metavar="PATH", help="write the results as JSON: FILE.json, or a folder")
    add("--curve", type=Path, metavar="PNG", help="draw accuracy against number of queries")


def _kind(pursuit: Pursuit[Any]) -> str:
    return f"belief {type(pursuit.belief).__name__}" if pursuit.model is None else f"{pursuit.model.kind} model"


def run(args: argparse.Namespace) -> int:
    """Read, evaluate, tell."""
    terminal = Terminal()
    if args.curve is not None:
        need_matplotlib()  # rather now than after the work
    pursuit = load_pursuit(args.model)
    data = read_examples(args.data, pursuit, label=args.label).between(0, args.inputs)
    train = None if args.no_baselines else _training(args, pursuit)
    queries = pursuit.queries
    patience = f" (patience {pursuit.patience})" if pursuit.patience else ""
    terminal.tell(
        f"{args.model}: {len(pursuit.classes)} classes, {len(queries):,} queries ({queries.kind}), "
        f"{_kind(pursuit)}. It stops when {pursuit.stopping.describe()}{patience}."
    )
    terminal.tell(f"Evaluated on {len(data.y):,} inputs: {data.source}.")
    if train is not None:
        terminal.tell(f"Baselines learn from {len(train.y):,} inputs: {train.source}.")
    X_train, y_train = (None, None) if train is None else (train.X, train.y)
    result = evaluate(pursuit, data.X, data.y, X_train=X_train, y_train=y_train)
    tell(result, terminal)
    if train is None and not args.no_baselines:
        terminal.say("", "--train DATA adds a decision tree and a black box on the same queries.")
    written = []
    if args.out is not None:
        file = args.out if args.out.suffix == ".json" else args.out / "evaluation.json"
        about = {"model": str(args.model), "data": data.source, "train": None if train is None else train.source}
        content = {"command": args.line, "provenance": provenance(), **about, **asdict(result)}
        written.append(write_text(file, f"{json.dumps(content, indent=1)}\n"))
    if args.curve is not None:
        args.curve.parent.mkdir(parents=True, exist_ok=True)
        draw(result).savefig(args.curve)
        written.append(args.curve)
    if written:
        terminal.say("", *(f"written to {file}" for file in written))
    return 0


def draw(result: Evaluation) -> Any:
    """Accuracy against number of queries as a figure: the pursuit's curve, where it stops, and the tree."""
    names = {PURSUIT: "as it stops now", TREE: TREE}
    marks = {names[row.name]: (row.length or 0.0, row.accuracy) for row in result.rows if row.name in names}
    return trade_off({PURSUIT: result.curve}, marks=marks).figure


def _training(args: argparse.Namespace, pursuit: Pursuit[Any]) -> Examples | None:
    if args.train is not None:
        return read_examples(args.train, pursuit, label=args.label, part="train")
    return read_examples(args.data, pursuit, part="train") if has_training_part(args.data) else None
