"""``infopursuit lint``: a table, a data set or a saved model's queries looked through for faults."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit import datasets
from infopursuit import queries as query_builders
from infopursuit.datasets.examples import is_dataset, read_examples
from infopursuit.datasets.tables import read_frame
from infopursuit.files import write_atomically
from infopursuit.fitting.labelled import label_table
from infopursuit.linting.finding import in_order
from infopursuit.linting.lint import left_out_findings, lint
from infopursuit.linting.lint_report import HEADS, LintReport
from infopursuit.storage import load_pursuit
from infopursuit.tabular import read_facts
from infopursuit.terminal import Terminal

SUMMARY = "find faults of queries and rows: leaks, useless queries, repeats"
EXAMPLES = (
    "infopursuit lint patients.csv --label disease",
    "infopursuit lint patients.csv --label disease --model triage --json found.json",
    "infopursuit lint breast_cancer",
)
FOUND = 1
"""The exit code where something serious was found."""
GREY = 128
"""Pixels from here on are white, where a data set has grey ones."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``lint``."""
    parser.description = (
        "Look for what is wrong with the questions of a table, and with its rows.\n"
        "Exit code 0: nothing serious was found; 1: something serious was; 2: an error."
    )
    add = parser.add_argument
    add("data", metavar="TABLE", help=".csv, .tsv or .parquet file, or the name of a data set")
    add("--label", metavar="COLUMN", help="the column to be found out")
    add("--model", type=Path, metavar="DIR", help="a saved model: its queries, and what it makes of the answers")
    add("--facts", action=argparse.BooleanOptionalAction, help="a row states what is true of its label, as for fit")
    add("--queries", choices=("columns", "yes-no"), default="columns", help="yes-no: each category by itself")
    add("--groups", metavar="COLUMN", help="rows with the same value belong together, such as visits of a patient")
    add("--drop", nargs="+", default=[], metavar="COLUMN", help="columns that are not asked about")
    add("--keep", nargs="+", default=[], metavar="COLUMN", help="ask about these although they look like names")
    add("--no-model", action="store_true", help="fit no model; only black boxes are compared")
    add("--json", type=Path, metavar="FILE", help="write the findings as JSON")
    add("--seed", type=int, default=0, metavar="N", help="which rows are drawn and held out (0)")


def run(args: argparse.Namespace) -> int:
    """Read, look, tell."""
    terminal = Terminal()
    report = _look(args)
    lines = report.text(terminal.width - 1).split("\n")
    heads = tuple(f"── {head} " for head in (*HEADS.values(), "What this rests on"))
    terminal.say(*(terminal.paint(line, "bold") if line.startswith(heads) else line for line in lines))
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(args.json, report.to_json().encode())
        terminal.say("", f"written to {args.json}")
    return FOUND if report.serious else 0


def _look(args: argparse.Namespace) -> LintReport:
    model: Any = False if args.no_model else None
    options: dict[str, Any] = {"seed": args.seed, "progress": None}
    if args.model is not None:
        if args.groups is not None:
            raise ValueError("--groups goes with a table; leave it out beside --model")
        call = f"ip.lint(model.queries, X, y, model=ip.load({str(args.model)!r}, functions=...))"
        pursuit = load_pursuit(args.model, f"lint it from Python: {call}")
        data = read_examples(args.data, pursuit, label=args.label)
        return lint(
            pursuit.queries, data.X, data.y, model=model if args.no_model else pursuit, source=data.source, **options
        )
    path = Path(args.data).expanduser()
    if path.is_file():
        return _look_at_table(args, path, model, options)
    if is_dataset(args.data):
        return _look_at_dataset(args.data, model, options)
    raise FileNotFoundError(
        f"{args.data!r} is neither a file nor a data set; give a .csv, .tsv or .parquet file, or one of "
        f"{', '.join(datasets.NAMES)}"
    )


def _look_at_table(args: argparse.Namespace, path: Path, model: Any, options: dict[str, Any]) -> LintReport:
    if args.label is None:
        raise ValueError(f"say which column of {path} is to be found out with --label COLUMN")
    keep = [*args.keep, *([args.groups] if args.groups is not None else [])]
    table = label_table(path, args.label, facts=args.facts, drop=args.drop, keep=keep)
    X, groups = table.X, None
    if args.groups is not None:
        frame = read_frame(X)
        if args.groups not in frame.columns:
            raise ValueError(f"--groups {args.groups} is dropped or the same in every row; name another column")
        groups = np.array([str(group) for group in frame[args.groups].to_list()])
        X = frame.drop(args.groups).to_native()
        if not X.shape[1]:
            raise ValueError(f"no column is left to ask about beside --groups {args.groups}")
    if table.facts:
        asked: Any = read_facts(X, table.y, len(table.classes), yes_no=args.queries == "yes-no").queries
    else:
        asked = query_builders.columns(yes_no=args.queries == "yes-no")
    report = lint(asked, X, table.labels, groups=groups, model=model, source=str(path), **options)
    return replace(report, findings=in_order([*report.findings, *left_out_findings(table.left_out)]))


def _look_at_dataset(name: str, model: Any, options: dict[str, Any]) -> LintReport:
    """Both parts of a data set together."""
    data = datasets.load(name)
    X = np.concatenate([data.x_train, data.x_test])
    y = np.array(data.class_names, dtype=object)[np.concatenate([data.y_train, data.y_test])]
    groups = None if data.groups_train is None else np.concatenate([data.groups_train, data.groups_test])
    asked: Any = None
    if X.ndim == 3:
        asked = query_builders.patches(X.shape[1:], threshold=_threshold(X))
    elif data.feature_names is not None:
        asked = query_builders.columns(names=data.feature_names)
    both = f"{data.name} (both parts{', answers simulated' if data.simulated else ''})"
    return lint(asked, X, y.astype(str), groups=groups, model=model, source=both, **options)


def _threshold(X: Any) -> float | None:
    """Where grey pixels are cut; None for black and white ones."""
    return None if set(np.unique(X[:100]).tolist()) <= {0, 1} else GREY if X.max() > 16 else float(X.max()) / 2
