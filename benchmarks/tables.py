"""``python -m benchmarks.tables``: our default classifier and its peers on 26 public tables, the same folds for all."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.datasets.files import data_folder
from benchmarks.experiment import Experiment
from benchmarks.machine import describe, write_result
from benchmarks.pages import plain_table, update_page
from benchmarks.program import add_out, positive, run_program, say
from benchmarks.table_measures import (
    AFTER,
    EACH,
    acquisition,
    claims,
    curves_of,
    differences,
    each_table,
    measure,
    overview,
    summary,
)
from benchmarks.table_peers import METHODS, Method, encoder, owners, pursuit
from infopursuit.support.files import write_atomically
from infopursuit.support.progress import Progress
from infopursuit.support.types import IntArray

NAME = "tables"
N_FOLDS = 5


@dataclass(frozen=True)
class Table:
    """The label of a table, and the columns that are no inputs because they leak or name the row."""

    target: str = "class"
    dropped: tuple[str, ...] = ()


TABLES = {
    "actg175": Table("cens", ("cd496", "pidnum", "days", "offtrt")),
    "adult": Table("income", ("split",)),
    "audiology": Table(),
    "balance_scale": Table(),
    "bank_full": Table("y", ("duration",)),  # of the call, known only after it
    "breast_w": Table("Class"),
    "car": Table(),
    "ckd": Table(),
    "credit_a": Table(),
    "credit_g": Table(),
    "dermatology": Table(),
    "heart_c": Table("num"),
    "hypothyroid": Table("Class"),
    "kr_vs_kp": Table(),
    "lymph": Table(),
    "mushroom": Table(),
    "nursery": Table(),
    "optdigits": Table(),
    "pendigits": Table(),
    "physionet2012": Table("Outcome"),
    "primary_tumor": Table(),
    "spam_gdfs": Table("Outcome"),
    "splice": Table("Class", ("Instance_name",)),
    "tic_tac_toe": Table("Class"),
    "vote": Table("Class"),
    "vowel": Table("Class"),
}


# ---- data -----------------------------------------------------------------------------------------------------------


def read_table(name: str, folder: Path | None = None) -> tuple[Any, Any]:
    """A data frame, numbers as floats and categories as strings or None, and the labels (N,) as strings."""
    import pandas as pd

    folder = folder or data_folder() / "tables"
    about = TABLES[name]
    types = json.loads((folder / "types.json").read_text())[name]
    text = {column: str for column, kind in types.items() if kind == "cat" or column == about.target}
    read = pd.read_csv(folder / f"{name}.csv.gz", na_values=["?", ""], keep_default_na=False, dtype=text)
    labels = read[about.target].to_numpy(dtype=str)
    frame = read.drop(columns=[about.target, *about.dropped])
    for column in frame.columns:
        if types[column] == "num":
            frame[column] = frame[column].astype(float)
        else:
            frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame, labels


def folds(labels: Any, seed: int = 0) -> list[tuple[IntArray, IntArray]]:
    """(rows to learn from, rows to test on) of each fold, the classes in equal shares where they can be."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # some have a single row
        return list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(labels, labels))


# ---- the run --------------------------------------------------------------------------------------------------------


def compare(
    tables: Sequence[str],
    methods: Sequence[str],
    n_folds: int,
    experiment: Experiment,
    again: Sequence[str] = (),
    n_assessed: int = N_FOLDS,
) -> dict[str, dict[str, list[Any]]]:
    """{table: {variant: [measures of each fold]}}; what an earlier run has finished is kept, but for ``again``.

    On the first ``n_assessed`` folds our classifier also measures itself, which takes several fits.
    """
    found: dict[str, dict[str, list[Any]]] = {table: {} for table in tables}
    data = {table: read_table(table) for table in tables}
    with Progress("comparing", len(tables) * len(methods) * n_folds, show=experiment.progress) as progress:
        for fold in range(n_folds):
            for method in methods:
                for table in tables:
                    part = f"{table}-{fold}-{method}"
                    if method in again:
                        experiment.file(f"{part}.json").unlink(missing_ok=True)
                    settings: list[Any] = [table, fold, method]
                    fit = METHODS[method]
                    if method == "ours" and fold >= n_assessed:
                        settings.append("not assessed")
                        fit = partial(pursuit, assess=False)
                    make = _part(fit, *data[table], fold, experiment.seed)
                    for variant, measured in experiment.part(part, settings, make).items():
                        found[table].setdefault(variant, []).append(measured)
                    progress.advance()
    return found


def _part(fit: Method, frame: Any, labels: Any, fold: int, seed: int) -> Callable[[], Any]:
    def make() -> dict[str, Any]:
        rows, held = folds(labels, seed)[fold]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rare classes and unknown categories; nothing that changes a result
            outcomes = fit(frame.iloc[rows], labels[rows], frame.iloc[held], seed + fold)
        classes = np.unique(labels)
        commit = describe()["commit"]
        return {v: {**measure(outcome, labels[held], classes), "commit": commit} for v, outcome in outcomes.items()}

    return make


# ---- for peers that run elsewhere -----------------------------------------------------------------------------------


def export(tables: Sequence[str], folder: Path, seed: int = 0) -> None:
    """Write each fold as NAME-FOLD.npz for code outside: x_train, y_train, x_test, y_test as numbers, and group (F,).

    Numbers are standardised, categories one-hot, missing values imputed and indicated; group is a feature's column.
    """
    import io

    folder.mkdir(parents=True, exist_ok=True)
    for name in tables:
        frame, labels = read_table(name)
        y = np.unique(labels, return_inverse=True)[1]
        for fold, (rows, held) in enumerate(folds(labels, seed)):
            encoding = encoder(frame, scaled=True).fit(frame.iloc[rows])
            x_train, x_test = (encoding.transform(frame.iloc[part]).astype(np.float32) for part in (rows, held))
            content = io.BytesIO()
            arrays = {"x_train": x_train, "y_train": y[rows], "x_test": x_test, "y_test": y[held]}
            np.savez_compressed(content, **arrays, group=owners(encoding, frame))
            write_atomically(folder / f"{name}-{fold}.npz", content.getvalue())
        say(f"{name}: {N_FOLDS} folds in {folder}")


# ---- the command ----------------------------------------------------------------------------------------------------


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables",
        description="Compare the default classifier with its peers on public tables, those of the folder tables/ in "
        "the one that INFOPURSUIT_DATA names. What an earlier run has finished is kept.",
        epilog="examples:\n  python -m benchmarks.tables --page docs/results\n"
        "  python -m benchmarks.tables --tables heart_c,vote --methods cart,ours\n"
        "  python -m benchmarks.tables --methods ours --again ours",
    )
    add = parser.add_argument
    add("--tables", type=_chosen(TABLES), default=list(TABLES), metavar="A,B", help="only these tables")
    add("--methods", type=_chosen(METHODS), default=list(METHODS), metavar="A,B", help=f"of {', '.join(METHODS)}")
    add("--again", type=_chosen(METHODS), default=[], metavar="A,B", help="methods to measure anew")
    add("--folds", type=positive, default=N_FOLDS, metavar="N", help=f"only the first N of {N_FOLDS}")
    add(
        "--assessed",
        type=positive,
        default=N_FOLDS,
        metavar="N",
        help="our classifier measures itself on the first N folds",
    )
    add("--export", type=Path, metavar="DIR", help="only write the folds there, encoded as numbers")
    add("--page", type=Path, metavar="FILE", help="a page, or a folder of pages, whose tables are written anew")
    add_out(parser)
    return parser


def _chosen(known: Mapping[str, Any]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        found = text.split(",")
        if wrong := [name for name in found if name not in known]:
            raise argparse.ArgumentTypeError(f"{wrong[0]!r} is none of {', '.join(known)}")
        return found

    return names


def run(args: argparse.Namespace) -> int:
    """Compare, print and write."""
    if args.export is not None:
        export(args.tables, args.export)
        return 0
    experiment = Experiment(NAME, args.out, say=lambda _: None, progress=True)
    parts = compare(args.tables, args.methods, min(args.folds, N_FOLDS), experiment, args.again, args.assessed)
    measured = {table: {v: summary(told) for v, told in found.items()} for table, found in parts.items()}
    tables = {"Means": overview(measured)}
    if less := differences(measured):
        tables["Differences"] = less
    if said := claims(measured):
        tables["Said and true"] = said
    if after := acquisition(curves_of(measured, args.out)):
        tables[AFTER] = after
    tables[EACH] = each_table(measured)
    chosen = [f" --{name} {','.join(getattr(args, name))}" for name, all_ in (("tables", TABLES), ("methods", METHODS))
              if getattr(args, name) != list(all_)]  # fmt: skip
    for name in ("folds", "assessed"):
        number = getattr(args, name)
        if number < N_FOLDS:
            chosen.append(f" --{name} {number}")
    command = f"python -m benchmarks.tables{''.join(chosen)}"
    for title, rows in tables.items():
        say("", title, "", plain_table(rows))
    result = {
        "experiment": NAME, "seed": 0, "seconds": round(experiment.seconds, 1),
        "threads": os.environ.get("OMP_NUM_THREADS"), "measured": measured, "tables": tables,
    }  # fmt: skip
    say("", f"written to {write_result(args.out, NAME, command, result)}")
    if args.page is not None:
        say(f"{args.page}: {', '.join(update_page(args.page, args.out)) or 'nothing to write'}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(build_parser(), run, argv)


if __name__ == "__main__":
    sys.exit(main())
