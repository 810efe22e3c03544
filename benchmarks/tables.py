"""``python -m benchmarks.tables``: our default classifier and its peers on 26 public tables, the same folds for all."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.experiment import Experiment
from benchmarks.machine import describe, write_result
from benchmarks.pages import plain_table, update_page
from benchmarks.program import add_out, positive, run_program, say
from benchmarks.table_peers import METHODS, Outcome, encoder, owners
from infopursuit.datasets.catalog import data_folder
from infopursuit.evaluation.table import LEVEL, accuracy_interval
from infopursuit.files import write_atomically
from infopursuit.progress import Progress
from infopursuit.types import FloatArray, IntArray

NAME = "tables"
N_FOLDS = 5
BINS = 15
LEAST = 1e-6
"""The least probability that a log loss is taken of; trees give 0 to classes that they have not seen in a leaf."""
DRAWS = 200
"""Resamplings of the calibration error of a classifier that is perfectly calibrated."""
AREA = ("physionet2012", "actg175", "bank_full")
"""Tables on which the area under the curve is reported after k columns, not accuracy."""
ACQUIRED = ("spam_gdfs", "bank_full", "adult", "physionet2012", "actg175", "ckd", "pendigits")
"""Tables on which the classifiers that acquire columns one by one are compared."""
PEERS = {"GDFS": "tables-gdfs", "DIME": "tables-dime"}
"""Files of results of those that were trained outside, by their own code."""
AFTER = (
    "Per cent right after so many columns, the area under the curve for physionet2012, actg175 and bank_full; "
    f"mean over {', '.join(ACQUIRED)}"
)
EACH = "Each table: per cent right (95 % interval) at so many questions; debiased calibration error in points"


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


# ---- measures -------------------------------------------------------------------------------------------------------


def calibration_errors(confidence: Any, right: Any, seed: int = 0) -> dict[str, float]:
    """Of the largest probability, in 15 bins of equal mass (fewer where a bin would have less than two rows).

    plain: mean over rows of |confidence - accuracy| of their bin, which is too large by chance alone.
    squared: mean of (confidence - accuracy)^2 - accuracy (1 - accuracy) / (n - 1), without bias (Bröcker 2012, Kumar
    et al. 2019); may be negative. debiased: its root, 0 where it is negative.
    excess: plain less its mean if every confidence were right, labels resampled from the confidences; may be negative.
    """
    confidence, right = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    n_bins = max(1, min(BINS, len(confidence) // 2))
    bins = np.array_split(np.argsort(confidence, kind="stable"), n_bins)
    n = np.array([len(rows) for rows in bins])

    def means(values: Any) -> FloatArray:
        return np.stack([values[..., rows].mean(axis=-1) for rows in bins], axis=-1)  # (..., bins)

    said, was = means(confidence), means(right)
    drawn = means((np.random.default_rng(seed).random((DRAWS, len(confidence))) < confidence).astype(np.float64))
    plain, expected = (float((np.abs(said - share) @ n).mean() / n.sum()) for share in (was, drawn))
    squared = float(((said - was) ** 2 - was * (1 - was) / np.maximum(n - 1, 1)) @ n / n.sum())
    return {"plain": plain, "squared": squared, "debiased": max(squared, 0.0) ** 0.5, "excess": plain - expected}


def measure(outcome: Outcome, labels: Any, classes: Any) -> dict[str, Any]:
    """All measures of one variant on one fold, as JSON data; also each row's confidence and whether it was right."""
    probabilities = _aligned(outcome.probabilities, outcome.classes, classes)
    truth = np.searchsorted(classes, labels)
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    found = {
        **_scores(probabilities, truth),
        "log_loss": float(-np.log(np.clip(probabilities[np.arange(len(truth)), truth], LEAST, 1)).mean()),
        "calibration": calibration_errors(confidence, right),
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "details": outcome.details,
        "confidence": confidence.round(5).tolist(),
        "right": right.astype(int).tolist(),
    }
    for name in ("questions", "columns"):
        value = getattr(outcome, name)
        found[name] = None if value is None else {"mean": float(np.mean(value)), "max": int(np.max(value))}
    if outcome.after:
        found["after"] = [_scores(_aligned(p, outcome.classes, classes), truth) for p in outcome.after]
    return found


def _scores(probabilities: FloatArray, truth: IntArray) -> dict[str, float]:
    found = {"accuracy": float((probabilities.argmax(axis=1) == truth).mean())}
    if probabilities.shape[1] == 2:
        found["auc"] = float(roc_auc_score(truth, probabilities[:, 1]))
    return found


def _aligned(probabilities: Any, some: Any, classes: Any) -> FloatArray:
    """(B, C) for all classes of the table, also those that the training part lacks."""
    found = np.zeros((len(probabilities), len(classes)))
    found[:, np.searchsorted(classes, some)] = probabilities
    return found


# ---- the run --------------------------------------------------------------------------------------------------------


def compare(
    tables: Sequence[str], methods: Sequence[str], n_folds: int, experiment: Experiment, again: Sequence[str] = ()
) -> dict[str, dict[str, list[Any]]]:
    """{table: {variant: [measures of each fold]}}; what an earlier run has finished is kept, but for ``again``."""
    found: dict[str, dict[str, list[Any]]] = {table: {} for table in tables}
    data = {table: read_table(table) for table in tables}
    with Progress("comparing", len(tables) * len(methods) * n_folds, show=experiment.progress) as progress:
        for fold in range(n_folds):
            for method in methods:
                for table in tables:
                    part = f"{table}-{fold}-{method}"
                    if method in again:
                        experiment.file(f"{part}.json").unlink(missing_ok=True)
                    make = _part(method, *data[table], fold, experiment.seed)
                    for variant, measured in experiment.part(part, [table, fold, method], make).items():
                        found[table].setdefault(variant, []).append(measured)
                    progress.advance()
    return found


def _part(method: str, frame: Any, labels: Any, fold: int, seed: int) -> Callable[[], Any]:
    def make() -> dict[str, Any]:
        rows, held = folds(labels, seed)[fold]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rare classes and unknown categories; nothing that changes a result
            outcomes = METHODS[method](frame.iloc[rows], labels[rows], frame.iloc[held], seed + fold)
        classes = np.unique(labels)
        commit = describe()["commit"]
        return {v: {**measure(outcome, labels[held], classes), "commit": commit} for v, outcome in outcomes.items()}

    return make


# ---- summaries ------------------------------------------------------------------------------------------------------


def summary(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One variant on one table: means over its folds; the calibration error and the interval from all rows at once."""
    confidence, right = (np.concatenate([part[name] for part in parts]) for name in ("confidence", "right"))
    low, high = accuracy_interval(int(right.sum()), len(right))
    found: dict[str, Any] = {"inputs": len(right), "folds": len(parts), "low": low, "high": high}
    for name in ("accuracy", "auc", "log_loss", "fit_seconds"):
        found[name] = float(np.mean([part[name] for part in parts])) if name in parts[0] else None
    found["ms_a_row"] = 1000 * sum(part["predict_seconds"] for part in parts) / len(right)
    found["confidence"] = float(confidence.mean())
    found["calibration"] = calibration_errors(confidence, right)
    for name in ("questions", "columns"):
        told = [part[name] for part in parts if part[name] is not None]
        found[name] = float(np.mean([each["mean"] for each in told])) if told else None
        found[f"max_{name}"] = max((each["max"] for each in told), default=None)
    if "after" in parts[0]:
        found["after"] = [part["after"] for part in parts]
    found["commits"] = sorted({part["commit"] for part in parts})
    return found


def overview(measured: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each variant: means over the tables that all variants have."""
    variants = _variants(measured)
    rows = []
    for variant in variants:
        told = [measured[table][variant] for table in measured if len(measured[table]) == len(variants)]
        asked = [each["questions"] for each in told if each["questions"] is not None]
        columns = [each["columns"] for each in told if each["columns"] is not None]
        rows.append({
            "mean over tables": variant,
            "accuracy, %": _mean([100 * each["accuracy"] for each in told], 2),
            "questions": _mean(asked, 2) if asked else "all",
            "most on a table": round(max(asked), 1) if asked else None,
            "columns": _mean(columns, 2) if columns else None,
            "calibration error, debiased": _mean([100 * each["calibration"]["debiased"] for each in told], 2),
            "excess": _mean([100 * each["calibration"]["excess"] for each in told], 2),
            "log loss": _mean([each["log_loss"] for each in told], 3),
            "fit, s in all": round(sum(each["fit_seconds"] for each in told), 1),
            "ms a row": _mean([each["ms_a_row"] for each in told], 3),
            "tables": len(told),
        })  # fmt: skip
    return rows


def differences(measured: Mapping[str, Mapping[str, Any]], ours: str = "ours") -> list[dict[str, Any]]:
    """Ours less each other in points of accuracy: mean over tables, t interval from their spread, and the worst."""
    whole = {table: told for table, told in measured.items() if len(told) == len(_variants(measured))}
    others = {
        v: {table: told[v]["accuracy"] for table, told in whole.items()} for v in _variants(measured) if v != ours
    }
    if {"boosting", "EBM"} <= others.keys():
        better = {table: max(others["boosting"][table], others["EBM"][table]) for table in whole}
        others["the better of boosting and EBM on each table"] = better
    rows = []
    for other, accuracy in others.items():
        each = {table: 100 * (told[ours]["accuracy"] - accuracy[table]) for table, told in whole.items()}
        worst = min(each, key=each.__getitem__)
        low, high = _interval(list(each.values()))
        rows.append({
            "ours less": other,
            "points (95 % interval)": f"{_mean(each.values(), 2):+} ({low:+.2f} to {high:+.2f})",
            "worst table": f"{worst} ({each[worst]:+.1f})",
            "tables": len(each),
        })  # fmt: skip
    return rows


def each_table(measured: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each table: its size, and accuracy, questions and calibration error of each variant."""
    rows = []
    for table, told in measured.items():
        row: dict[str, Any] = {"table": table, "inputs": next(iter(told.values()))["inputs"]}
        for variant in _variants(measured):
            row[variant] = _told(told[variant]) if variant in told else None
        rows.append(row)
    return rows


def _told(each: Mapping[str, Any]) -> str:
    asked = "" if each["questions"] is None else f" at {each['questions']:.1f}"
    interval = f"{100 * each['low']:.1f} to {100 * each['high']:.1f}"
    return f"{100 * each['accuracy']:.1f} ({interval}){asked}; {100 * each['calibration']['debiased']:.1f}"


def acquisition(curves: Mapping[str, Mapping[str, Any]], ours: str = "ours") -> list[dict[str, Any]]:
    """Rows of means over tables after 1, ..., 10 columns, and of our difference to each peer with its standard error.

    curves: {method: {table: (folds, K) scores in per cent}}. The standard error is that of the means of the folds.
    """
    tables = [table for table in ACQUIRED if all(table in told for told in curves.values())]
    means = {
        method: np.mean([told[table] for table in tables], axis=0) for method, told in curves.items()
    }  # (folds, K)
    rows = [_row(method, [f"{value:.1f}" for value in each.mean(axis=0)]) for method, each in means.items()]
    for method in means:
        if method != ours and ours in means:
            n = min(len(means[ours]), len(means[method]))
            each = means[ours][:n] - means[method][:n]
            error = each.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(each.shape[1], np.nan)
            told = [f"{d:+.1f} ± {e:.1f}" for d, e in zip(each.mean(axis=0), error, strict=True)]
            rows.append(_row(f"{ours} less {method}", told))
    return rows


def curves_of(measured: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, dict[str, Any]]:
    """{method: {table: (folds, K)}} of ours, and of the peers whose files are in the folder; per cent."""
    told = {table: measured[table]["ours"]["after"] for table in ACQUIRED if "ours" in measured.get(table, {})}
    for name, file in PEERS.items():
        if (folder / f"{file}.json").is_file():
            theirs = json.loads((folder / f"{file}.json").read_text())["after"]
            told |= {(name, table): after for table, after in theirs.items()}
    found: dict[str, dict[str, Any]] = {}
    for key, after in told.items():
        method, table = key if isinstance(key, tuple) else ("ours", key)
        score = "auc" if table in AREA else "accuracy"
        found.setdefault(method, {})[table] = 100 * np.array([[each[score] for each in fold] for fold in after])
    return found


def _row(name: str, values: Sequence[str]) -> dict[str, Any]:
    return {"columns": name, **{f"{k}": value for k, value in enumerate(values, start=1)}}


def _variants(measured: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(variant for told in measured.values() for variant in told))


def _mean(values: Any, digits: int) -> float:
    return round(float(np.mean(list(values))), digits)


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """The t interval of a mean."""
    half = np.inf
    if len(values) > 1:
        half = float(t.ppf((1 + LEVEL) / 2, len(values) - 1)) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return float(np.mean(values)) - half, float(np.mean(values)) + half


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
        epilog="examples:\n  python -m benchmarks.tables --page RESULTS.md\n"
        "  python -m benchmarks.tables --tables heart_c,vote --methods cart,ours\n"
        "  python -m benchmarks.tables --methods ours --again ours",
    )
    add = parser.add_argument
    add("--tables", type=_chosen(TABLES), default=list(TABLES), metavar="A,B", help="only these tables")
    add("--methods", type=_chosen(METHODS), default=list(METHODS), metavar="A,B", help=f"of {', '.join(METHODS)}")
    add("--again", type=_chosen(METHODS), default=[], metavar="A,B", help="methods to measure anew")
    add("--folds", type=positive, default=N_FOLDS, metavar="N", help=f"only the first N of {N_FOLDS}")
    add("--export", type=Path, metavar="DIR", help="only write the folds there, encoded as numbers")
    add("--page", type=Path, metavar="FILE", help="a page whose tables are written anew")
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
    parts = compare(args.tables, args.methods, min(args.folds, N_FOLDS), experiment, args.again)
    measured = {table: {v: summary(told) for v, told in found.items()} for table, found in parts.items()}
    tables = {"Means": overview(measured)}
    if "ours" in _variants(measured) and len(_variants(measured)) > 1:
        tables["Differences"] = differences(measured)
    if curves := curves_of(measured, args.out):
        tables[AFTER] = acquisition(curves)
    tables[EACH] = each_table(measured)
    chosen = [f" --{name} {','.join(getattr(args, name))}" for name, all_ in (("tables", TABLES), ("methods", METHODS))
              if getattr(args, name) != list(all_)]  # fmt: skip
    command = f"python -m benchmarks.tables{''.join(chosen)}" + (
        "" if args.folds >= N_FOLDS else f" --folds {args.folds}"
    )
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
