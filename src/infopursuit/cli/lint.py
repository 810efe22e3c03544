"""``infopursuit lint``: check a table, a data set or the queries of a saved model."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit import datasets
from infopursuit import queries as builders
from infopursuit.cli.main import whole, write_text
from infopursuit.data_checks import LintReport, excluded_findings, lint
from infopursuit.data_checks.report import in_order
from infopursuit.datasets.dataset import is_dataset
from infopursuit.datasets.examples import read_examples
from infopursuit.datasets.labelled import label_table
from infopursuit.serialization import load_pursuit
from infopursuit.tabular import read_facts
from infopursuit.terminal import Terminal

EXAMPLES = (
    "infopursuit lint patients.csv --label disease",
    "infopursuit lint patients.csv --label disease --model triage --json found.json",
    "infopursuit lint breast_cancer",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``lint``."""
    parser.description = (
        "Check the queries of a table, and its rows.\n"
        "Exit code 0: nothing serious was found; 1: something serious was; 2: an error."
    )
    add = parser.add_argument
    add("data", metavar="TABLE", help=".csv, .tsv or .parquet file, or the name of a data set")
    add("--label", metavar="COLUMN", help="the column that holds the labels")
    add("--model", type=Path, metavar="DIR", help="a saved model, whose queries are checked")
    add("--facts", action=argparse.BooleanOptionalAction, help="a row states what is true of its label, as for fit")
    add("--queries", choices=("columns", "yes-no"), default="columns", help="yes-no: each category by itself")
    add("--drop", nargs="+", default=[], metavar="COLUMN", help="columns that are not asked about")
    add("--keep", nargs="+", default=[], metavar="COLUMN", help="ask about these although they look like names")
    add("--json", type=Path, metavar="FILE", help="write the findings as JSON")
    add("--seed", type=whole, default=0, metavar="N", help="of the rows that are sampled and held out (0)")


def run(args: argparse.Namespace) -> int:
    """Read, check, print; 1 where something serious was found."""
    terminal = Terminal()
    report = _lint(args)
    lines = report.text(terminal.width - 1).split("\n")
    terminal.say(*(terminal.paint(line, "bold") if line.startswith("── ") else line for line in lines))
    if args.json is not None:
        terminal.say("", f"written to {write_text(args.json, report.to_json())}")
    return 1 if report.serious else 0


def _lint(args: argparse.Namespace) -> LintReport:
    path = Path(args.data).expanduser()
    if args.model is not None:
        pursuit = load_pursuit(args.model)
        data = read_examples(args.data, pursuit, label=args.label)
        return lint(pursuit.queries, data.X, data.y, source=data.source, seed=args.seed)
    if path.is_file():
        return _lint_table(args, path)
    if is_dataset(args.data):
        return _lint_dataset(args.data, args.seed)
    raise FileNotFoundError(
        f"{args.data!r} is neither a file nor a data set; give a .csv, .tsv or .parquet file, or one of "
        f"{', '.join(datasets.NAMES)}"
    )


def _lint_table(args: argparse.Namespace, path: Path) -> LintReport:
    if args.label is None:
        raise ValueError(f"say which column of {path} holds the labels with --label COLUMN")
    table = label_table(path, args.label, facts=args.facts, drop=args.drop, keep=args.keep)
    X, yes_no = table.X, args.queries == "yes-no"
    if table.facts:
        queries: Any = read_facts(X, table.y, len(table.classes), yes_no=yes_no).queries
    else:
        queries = builders.columns(yes_no=yes_no)
    report = lint(queries, X, table.labels, source=str(path), seed=args.seed)
    return replace(report, findings=in_order([*report.findings, *excluded_findings(table.left_out)]))


def _lint_dataset(name: str, seed: int) -> LintReport:
    data = datasets.load(name)
    X = np.concatenate([data.x_train, data.x_test])
    y = np.array(data.class_names)[np.concatenate([data.y_train, data.y_test])]
    queries: Any = None
    if X.ndim == 3:
        queries = builders.patches(X.shape[1:], threshold=(float(X.max()) + 1) // 2)
    elif data.feature_names is not None:
        queries = builders.columns(names=data.feature_names)
    return lint(queries, X, y, source=f"{data.name} (both parts)", seed=seed)
