"""Texts with labels and an official split: R8 (Reuters, eight classes) and TREC (questions, six classes)."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

from benchmarks.datasets.files import find_file, not_found, read_lines
from infopursuit.app.datasets.dataset import Dataset

NAMES = {
    "r8": "Reuters-21578, texts of one label, eight classes; stop words and numbers were removed",
    "trec": "TREC questions by what is asked for: abbreviation, description, entity, human, location, number",
}


def texts(name: str) -> Dataset:
    """One of `NAMES` from ``text/NAME.csv.gz``: columns split (train or test), label, text."""
    path = find_file(f"{name}.csv", ("text", ""), (".gz", ""))
    if path is None:
        raise not_found(f"text/{name}.csv.gz", "It is made from the files of yao8839836/text_gcn on GitHub.")
    rows = list(csv.DictReader(read_lines(path), strict=True))
    names = tuple(sorted({row["label"] for row in rows}))
    found: dict[str, Any] = {}
    for split in ("train", "test"):
        mine = [row for row in rows if row["split"] == split]
        found[f"x_{split}"] = np.array([row["text"] for row in mine], dtype=object)
        found[f"y_{split}"] = np.array([names.index(row["label"]) for row in mine])
    return Dataset(name, **found, class_names=names, description=NAMES[name], licence="research use")
