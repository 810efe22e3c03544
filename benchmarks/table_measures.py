"""What `benchmarks.tables` measures of each classifier, and the tables that it makes of that."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.metrics import roc_auc_score

from benchmarks.table_peers import Outcome
from infopursuit.evaluation.measures import LEVEL, accuracy_interval
from infopursuit.support.types import FloatArray, IntArray

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


# ---- measures -------------------------------------------------------------------------------------------------------


def calibration_errors(confidence: Any, right: Any, seed: int = 0) -> dict[str, float]:
    """Of the largest probability, in 15 bins of equal mass (fewer where a bin would have less than two rows, or where
    many rows have the same confidence).

    plain: mean over rows of |confidence - accuracy| of their bin, which is too large by chance alone.
    squared: mean of (confidence - accuracy)^2 - accuracy (1 - accuracy) / (n - 1), without bias (Bröcker 2012, Kumar
    et al. 2019); may be negative. debiased: its root, 0 where it is negative.
    excess: plain less its mean if every confidence were right, labels resampled from the confidences; may be negative.
    """
    confidence, right = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    n_bins = max(1, min(BINS, len(confidence) // 2))
    order = np.argsort(confidence, kind="stable")
    ranked = confidence[order]
    # rows of one confidence share a bin: their order in the file, such as by date, must not tell them apart
    firsts = np.searchsorted(ranked, ranked[np.arange(n_bins) * len(ranked) // n_bins] - 1e-9)
    bins = np.split(order, np.unique(firsts)[1:])
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
    assessed = [part for part in parts if "said" in part.get("details", {})]
    if assessed:
        said = np.array([part["details"]["said"] for part in assessed])
        accuracy = np.array([part["accuracy"] for part in assessed])
        lowest = np.array([part["details"]["low"] for part in assessed])
        highest = np.array([part["details"]["high"] for part in assessed])
        found["assessed_folds"] = len(assessed)
        found["said"] = float(said.mean())
        found["accuracy_assessed"] = float(accuracy.mean())
        found["in_interval"] = int(((lowest <= accuracy) & (accuracy <= highest)).sum())
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


def claims(measured: Mapping[str, Mapping[str, Any]], ours: str = "ours") -> list[dict[str, Any]]:
    """What `fit` said of its accuracy beside that on the test parts, a row for each table and one for their mean."""
    rows = []
    differences_of_tables = []
    for table, told in measured.items():
        part = told.get(ours, {})
        if "said" not in part:
            continue

        difference = 100 * (part["said"] - part["accuracy_assessed"])
        differences_of_tables.append(difference)
        rows.append({
            "table": table,
            "said, %": round(100 * part["said"], 1),
            "true, %": round(100 * part["accuracy_assessed"], 1),
            "said - true": round(difference, 1),
            "folds": part["assessed_folds"],
            "in the interval": part["in_interval"],
        })  # fmt: skip
    if rows:
        rows.append({
            "table": "mean",
            "said, %": round(float(np.mean([row["said, %"] for row in rows])), 2),
            "true, %": round(float(np.mean([row["true, %"] for row in rows])), 2),
            "said - true": round(float(np.mean(differences_of_tables)), 2),
            "folds": sum(row["folds"] for row in rows),
            "in the interval": sum(row["in the interval"] for row in rows),
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
    rows: list[dict[str, Any]] = []
    for other, accuracy in others.items() if ours in _variants(measured) else ():
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

    curves: {method: {table: (folds, K) scores in per cent}}; of each table the folds that all methods have. The
    standard error is that of the mean over folds, of each table and from there of the mean over tables.
    """
    tables = [table for table in ACQUIRED if curves and all(table in told for told in curves.values())]
    n = {table: min(len(told[table]) for told in curves.values()) for table in tables}
    common = {method: [told[table][: n[table]] for table in tables] for method, told in curves.items()}
    rows = []
    for method, each in common.items() if tables else ():
        rows.append(
            _row(method, n, [f"{value:.1f}" for value in np.mean([part.mean(axis=0) for part in each], axis=0)])
        )
    for method, each in common.items() if tables and ours in common else ():
        if method != ours:
            less = [mine - part for mine, part in zip(common[ours], each, strict=True)]  # (folds, K) of each table
            means = np.array([part.mean(axis=0) for part in less])
            mean = means.mean(axis=0)
            error = means.std(axis=0) / np.sqrt(max(len(tables) - 1, 1))  # of one fold: the spread over tables
            if min(n.values()) > 1:
                error = np.sqrt(np.sum([part.var(axis=0, ddof=1) / len(part) for part in less], axis=0)) / len(tables)
            told = [f"{d:+.1f} ± {e:.1f}" for d, e in zip(mean, error, strict=True)]
            rows.append(_row(f"{ours} less {method}", n, told))
    return rows


def curves_of(measured: Mapping[str, Mapping[str, Any]], folder: Path) -> dict[str, dict[str, Any]]:
    """{method: {table: (folds, K)}} of ours, and of the peers whose files are in the folder; per cent."""
    told = {"ours": {table: measured[table]["ours"]["after"] for table in measured if "ours" in measured[table]}}
    for name, file in PEERS.items():
        if (folder / f"{file}.json").is_file():
            told[name] = json.loads((folder / f"{file}.json").read_text())["after"]
    return {
        method: {table: _percent(after, "auc" if table in AREA else "accuracy") for table, after in each.items()}
        for method, each in told.items()
        if each
    }


def _percent(after: Sequence[Sequence[Mapping[str, float]]], score: str) -> FloatArray:
    """(folds, K)"""
    return 100 * np.array([[each[score] for each in fold] for fold in after])


def _row(name: str, n: Mapping[str, int], values: Sequence[str]) -> dict[str, Any]:
    numbered = {f"{k}": value for k, value in enumerate(values, start=1)}
    return {
        "columns": name,
        **numbered,
        "tables": len(n),
        "folds": " ".join(str(each) for each in sorted({*n.values()})),
    }


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
