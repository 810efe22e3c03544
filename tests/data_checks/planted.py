"""A table without faults, and one with a fault of each kind planted into it."""

import numpy as np
import pandas as pd

LABELS = np.array(["flu", "cold", "measles"])
THROATS = np.array(["red", "sore", "clear"])


def clean(n=600, seed=0, labels=LABELS):
    """Nine columns that tell something about the label, none of them much; every row is different."""
    rng = np.random.default_rng(seed)
    c = rng.integers(0, len(labels), n)
    frame = pd.DataFrame(
        {
            "fever": rng.normal(37 + 0.8 * c, 0.8).round(2),
            "age": rng.normal(30 + 8 * (c == 1), 9).round(1),
            "pulse": rng.normal(70 + 6 * (c == 2), 7).round(1),
            "weight": rng.normal(70 + 5 * (c == 0), 8).round(1),
            "rash": rng.random(n) < np.array([0.2, 0.3, 0.7])[c],
            "cough": rng.random(n) < np.array([0.7, 0.5, 0.2])[c],
            "aches": rng.random(n) < np.array([0.6, 0.3, 0.5])[c],
            "throat": THROATS[np.where(rng.random(n) < 0.6, c, rng.integers(0, 3, n))],
            "contact": rng.random(n) < np.array([0.5, 0.3, 0.7])[c],
        }
    )
    return frame, labels[c]


def plant(fault, n=600, seed=0):
    """The clean table with one fault, or with "all" of them that go together."""
    frame, y = clean(n, seed)
    rng = np.random.default_rng((seed, 1))
    for name in FAULTS if fault == "all" else (fault,):
        frame, y = FAULTS[name](frame, y, rng)
    return frame, y


def _leak(frame, y, rng):
    code = np.select([y == "flu", y == "cold"], ["J10", "J00"], "B05")
    wrong = rng.random(len(y)) < 0.005
    return frame.assign(billing=np.where(wrong, rng.permutation(code), code)), y


def _identifier(frame, y, rng):
    return frame.assign(number=1000 + rng.permutation(len(y))), y


def _duplicates(frame, y, rng):
    return frame.assign(**{"no cough": ~frame["cough"], "copy of rash": frame["rash"]}), y


def _missing(frame, y, rng):
    return frame.assign(biopsy=np.where(rng.random(len(y)) < 0.95, np.nan, rng.normal(size=len(y)).round(3))), y


def _telling_gap(frame, y, rng):
    gone = rng.random(len(y)) < np.where(y == "measles", 0.05, 0.85)
    return frame.assign(titre=np.where(gone, np.nan, rng.normal(size=len(y)).round(3))), y


def _repeats(frame, y, rng):
    rows = np.concatenate([np.arange(len(y))] * 3)
    return frame.iloc[rows].reset_index(drop=True), y[rows]


def _contradictions(frame, y, rng):
    twice = np.flatnonzero(y != "measles")[:10]  # the same again with the other label
    rows = np.concatenate([np.arange(len(y)), twice])
    return frame.iloc[rows].reset_index(drop=True), np.concatenate([y, np.where(y[twice] == "flu", "cold", "flu")])


FAULTS = {
    "leak": _leak,
    "redundant": _duplicates,
    "mostly missing": _missing,
    "informative missingness": _telling_gap,
    "conflicting labels": _contradictions,
    "duplicate rows": _repeats,
    "identifier": _identifier,
}
CONCERNED = {
    "leak": {"billing"},
    "identifier": {"number"},
    "redundant": {"cough", "no cough", "rash", "copy of rash"},
    "mostly missing": {"biopsy"},
    "informative missingness": {"titre"},
}
"""The columns that a fault is about."""
