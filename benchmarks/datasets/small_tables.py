"""Small tables: animals and their traits, diseases and their symptoms."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets.files import check_array, data_folder, find_file, not_found, read_lines, read_names
from benchmarks.datasets.grouped import GroupedDataset
from infopursuit.app.datasets.dataset import SPLIT_SEED, fold_numbers, parts
from infopursuit.estimator.table_files import read_arrays
from infopursuit.models.folds import number_keys

TRAITS = (
    *("hair", "feathers", "eggs", "milk", "airborne", "aquatic", "predator", "toothed", "backbone", "breathes"),
    *("venomous", "fins", "legs", "tail", "domestic", "catsize"),
)
LEGS = TRAITS.index("legs")
ANIMALS = ("mammal", "bird", "reptile", "fish", "amphibian", "insect", "invertebrate")
ORDINALS = ("second", "third", "fourth", "fifth")


def zoo() -> GroupedDataset:
    """UCI Zoo: 101 animals of 7 kinds with 16 traits, 15 of them 0 or 1 and ``legs``, a category ("0", "2", "4", ...).

    From the official ``zoo.data``, or else from ``zoo.npz``. x is an array of objects, as `queries.columns` likes it.
    ``ids_train`` and ``ids_test`` name the animals. There are two frogs, one of them venomous. Animals with the same
    traits are one group and in one part: of 101 rows only 59 are different.
    """
    text, npz = find_file("zoo.data", ("", "zoo")), find_file("zoo.npz")
    if text is not None:
        path, animals, traits, kinds = text, *_zoo_from_text(text)
    elif npz is not None:
        arrays = read_arrays(npz, ("x", "y", "animal_names", "feature_names"))
        path, animals = npz, read_names(arrays["animal_names"], f"animal_names of {npz}")
        names = read_names(arrays["feature_names"], f"feature_names of {npz}")
        if names != TRAITS:
            raise ValueError(f"feature_names of {npz} is {', '.join(names)}; expected {', '.join(TRAITS)}")
        traits = check_array(arrays["x"], (len(animals), len(TRAITS)), "iu", f"x of {npz}")
        kinds = check_array(arrays["y"], (len(animals),), "iu", f"y of {npz}")
    else:
        raise not_found(
            "zoo.npz",
            f"Or put the official zoo.data into {data_folder()}; it is at https://archive.ics.uci.edu/dataset/111/zoo.",
        )
    _check_yes_no(np.delete(traits, LEGS, axis=1), f"{path} (all traits but legs)")
    x = traits.astype(object)
    x[:, LEGS] = [str(legs) for legs in traits[:, LEGS]]
    labels, groups = kinds.astype(np.int64) - 1, number_keys(map(tuple, traits.tolist()))
    return _split(
        path,
        "zoo",
        {"x": x, "y": labels, "groups": groups, "ids": np.array(distinct(animals), dtype=object)},
        class_names=ANIMALS,
        description=f"Animals of seven kinds with 16 traits: {len(x)} rows, {len(set(groups.tolist()))} of them "
        "different, among them two frogs, one venomous. Legs is a category. The split is fixed, stratified and random; "
        "animals with the same traits are in one part.",
        licence="CC BY 4.0 (UCI, Zoo)",
        feature_names=TRAITS,
    )


def diseases() -> GroupedDataset:
    """Symptoms and diseases: 132 yes/no symptoms, 41 diseases, 304 rows; treat it as made up.

    From the official ``Training.csv`` in ``disease_symptoms`` of the data folder, or else from
    ``disease_symptoms.npz``. The source has 120 rows for each disease, nearly all of them repeats; these are removed,
    so that no row is in both parts. Its second column called fluid_overload is named ``fluid_overload (second)``; the
    first is never 1.
    """
    text, npz = find_file("Training.csv", ("disease_symptoms",)), find_file("disease_symptoms.npz")
    if text is not None:
        path, symptoms, names, labels, x = text, *_diseases_from_text(text)
    elif npz is not None:
        arrays = read_arrays(npz, ("x", "y", "n_symptoms", "symptom_names", "class_names"))
        path, symptoms = npz, read_names(arrays["symptom_names"], f"symptom_names of {npz}")
        names = read_names(arrays["class_names"], f"class_names of {npz}")
        packed = check_array(arrays["x"], (None, -(-len(symptoms) // 8)), "iu", f"x of {npz}")
        n_symptoms = check_array(arrays["n_symptoms"], (), "iu", f"n_symptoms of {npz}")
        if packed.dtype != np.uint8 or n_symptoms != len(symptoms):
            raise ValueError(f"{npz} is not packed as bits of {len(symptoms)} symptoms, which it names")
        x = np.unpackbits(packed, axis=1)[:, : len(symptoms)]
        labels = check_array(arrays["y"], (len(x),), "iu", f"y of {npz}").astype(np.int64)
    else:
        raise not_found(
            "disease_symptoms.npz",
            f"Or put the official Training.csv into {data_folder() / 'disease_symptoms'}; it is at "
            "https://www.kaggle.com/datasets/kaushil268/disease-prediction-using-machine-learning.",
        )
    kept = np.sort(np.unique(np.column_stack([x, labels]), axis=0, return_index=True)[1])
    n_all, x, labels = len(x), x[kept], labels[kept]
    return _split(
        path,
        "diseases",
        {"x": x, "y": labels, "groups": number_keys(map(bytes, x))},
        class_names=names,
        description=f"{len(symptoms)} yes/no symptoms of {len(names)} diseases. Of {n_all:,} rows only {len(x):,} are "
        "different, and only these are here. How the table was made is not documented; treat it as made up, not as "
        "medicine. The split is fixed, stratified and random.",
        licence="unclear",
        feature_names=distinct(symptoms),
    )


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, told apart where one occurs again.

    >>> distinct(["frog", "newt", "frog"])
    ('frog', 'newt', 'frog (second)')
    """
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        again = seen[name]
        told.append(f"{name} ({ORDINALS[again - 1] if again <= len(ORDINALS) else again + 1})" if again else name)
        seen[name] += 1
    return tuple(told)


def _split(path: Path, name: str, columns: dict[str, Any], **fields: Any) -> GroupedDataset:
    try:
        is_test = fold_numbers(columns["y"], columns["groups"], seed=SPLIT_SEED) == 0
        return GroupedDataset(name, **parts(is_test, **columns), **fields)
    except ValueError as error:
        raise ValueError(f"{path} does not fit together: {error}") from None


def _zoo_from_text(path: Path) -> tuple[tuple[str, ...], Any, Any]:
    """Names, (B, 16) traits, (B,) kinds from 1 to 7."""
    rows = _rows(path)
    for number, row in rows:
        if len(row) != len(TRAITS) + 2 or not all(word.isdecimal() for word in row[1:]):
            raise ValueError(
                f"line {number} of {path} is {','.join(row)!r}; expected a name, {len(TRAITS)} traits and the kind"
            )
    numbers = np.array([[int(word) for word in row[1:]] for _, row in rows]).reshape(-1, len(TRAITS) + 1)
    return tuple(row[0] for _, row in rows), numbers[:, :-1], numbers[:, -1]


def _diseases_from_text(path: Path) -> tuple[tuple[str, ...], tuple[str, ...], Any, Any]:
    """Symptoms, diseases by the alphabet, (B,) labels, (B, A) answers."""
    (_, header), *rows = _rows(path) or [(0, [])]
    if header.count("prognosis") != 1:
        raise ValueError(
            f"{path} has no column 'prognosis' in its first line, or two; found {', '.join(header[:5])} ..."
        )
    label = header.index("prognosis")
    columns = [
        i for i, name in enumerate(header) if name and i != label
    ]  # each line ends in a comma: a nameless column
    for number, row in rows:
        if len(row) != len(header) or not all(row[i] in ("0", "1") for i in columns):
            raise ValueError(
                f"line {number} of {path} has not 0 or 1 for each of {len(columns)} symptoms and a disease"
            )
    names = tuple(sorted({row[label] for _, row in rows}))
    labels = np.array([names.index(row[label]) for _, row in rows], dtype=np.int64)
    x = np.array([[int(row[i]) for i in columns] for _, row in rows], dtype=np.uint8).reshape(-1, len(columns))
    return tuple(header[i] for i in columns), names, labels, x


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Line numbers and fields of a CSV file, blanks evened out; empty lines are left out."""
    reader = csv.reader(read_lines(path), strict=True)
    try:
        return [(reader.line_num, [" ".join(word.split()) for word in row]) for row in reader if row]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of {path} is not CSV ({error})") from None


def _check_yes_no(values: Any, what: str) -> None:
    if not np.isin(values, (0, 1)).all():
        raise ValueError(f"{what} has {values.max()}; expected 0 and 1 only")
