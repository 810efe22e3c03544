"""Labelled inputs from a file or a data set, in the form that a saved model takes: files are data, nothing is run."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from infopursuit import datasets
from infopursuit.datasets.catalog import ALIASES, NAMES
from infopursuit.datasets.files import read_arrays
from infopursuit.datasets.table_files import MOST_BYTES, check_size, is_table_file, read_frame
from infopursuit.engine import Pursuit
from infopursuit.queries.columns import Columns
from infopursuit.queries.patches import Patches
from infopursuit.queries.tables import is_missing
from infopursuit.queries.words import Words

Part = Literal["test", "train"]

NPZ = (".npz",)
LABELS, TEXTS = ("label", "y", "target", "class"), ("text", "texts", "headline", "x")
"""What the column of labels, and that of texts, is called where nobody says."""


@dataclass(frozen=True)
class Examples:
    """Inputs with labels, y, or None where there are none. source: where they come from, in a few words."""

    X: Any
    y: Any
    source: str

    def first(self, n: int | None) -> Examples:
        """The first n of them, all where n is None."""
        return self if n is None else Examples(self.X[:n], None if self.y is None else self.y[:n], self.source)


def read_examples(
    source: str, pursuit: Pursuit, *, label: str | None = None, part: Part = "test", labelled: bool = True
) -> Examples:
    """The inputs and labels of a table (csv, tsv, parquet), of an npz file, or of a data set by its name.

    A table has a column of labels, ``label``, and is matched with the model by the names of its columns, or by their
    order where the model knows no names. An npz file has ``x`` and ``y``, or ``x_test`` and ``y_test`` beside
    ``x_train`` and ``y_train``. ``labelled=False`` also takes files without labels; y is then None.
    """
    path = Path(source).expanduser()
    if path.is_file():
        if path.name.lower().endswith(NPZ):
            return _from_npz(path, pursuit, part, labelled)
        if is_table_file(path):
            return _from_table(path, pursuit, label, labelled)
        raise ValueError(f"{path} ends in {path.suffix!r}; give a .csv, .tsv, .parquet or .npz file")
    if is_dataset(source):
        return _from_dataset(source, pursuit, part)
    raise FileNotFoundError(
        f"{source!r} is neither a file nor a data set; give a .csv, .tsv, .parquet or .npz file, or one of "
        f"{', '.join(NAMES)}"
    )


def has_training_part(source: str) -> bool:
    """Whether what `read_examples` reads comes with a training part of its own."""
    path = Path(source).expanduser()
    if not path.is_file():
        return is_dataset(source)
    return path.name.lower().endswith(NPZ) and {"x_train", "y_train"} <= set(npz_sizes(path))


def is_dataset(name: str) -> bool:
    """Whether `infopursuit.datasets.load` knows the name."""
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    return plain in NAMES or plain in ALIASES


# ---- the three sources ----------------------------------------------------------------------------------------------


def _from_dataset(name: str, pursuit: Pursuit, part: Part) -> Examples:
    data = datasets.load(name)
    y = getattr(data, f"y_{part}")
    if set(pursuit.classes.tolist()) <= set(data.class_names):
        y = np.array(data.class_names, dtype=object)[y]
    source = f"the {'test' if part == 'test' else 'training'} part of {data.name}"
    return Examples(getattr(data, f"x_{part}"), as_classes(y, pursuit.classes, source), source)


def _from_npz(path: Path, pursuit: Pursuit, part: Part, labelled: bool) -> Examples:
    found = npz_arrays(path, part, labelled)
    arrays = read_arrays(path, found)
    if len(found) == 1:
        return Examples(arrays[found[0]], None, str(path))
    x, y = arrays[found[0]], arrays[found[1]]
    if y.ndim != 1 or x.ndim < 1 or len(x) != len(y):
        raise ValueError(
            f"{found[0]} of {path} has shape {x.shape} and {found[1]} {y.shape}; give one label for each input"
        )
    return Examples(x, as_classes(y, pursuit.classes, f"{found[1]} of {path}"), str(path))


def npz_arrays(path: Path, part: Part, labelled: bool) -> tuple[str, ...]:
    """The names of the arrays of inputs and of labels; of the inputs alone where there are none and none are needed."""
    names = list(npz_sizes(path))
    pairs = ((f"x_{part}", f"y_{part}"), ("x", "y"), ("X", "y"))
    found = next((pair for pair in pairs if set(pair) <= set(names)), None)
    alone = next((x for x, _ in pairs if x in names), None)
    if found is None and alone is not None and not labelled:
        return (alone,)
    if found is None:
        raise ValueError(
            f"{path} has {', '.join(names) or 'nothing'}; expected the arrays x_{part} and y_{part}, or x and y"
        )
    return found


def _from_table(path: Path, pursuit: Pursuit, label: str | None, labelled: bool) -> Examples:
    frame = read_frame(path)
    names: list[str] = frame.columns.tolist()
    if label is None and not labelled and not likely_labels(names, pursuit):
        return Examples(as_inputs(frame, pursuit, path), None, str(path))
    label = label_column(names, label, pursuit, path)
    y = as_classes(frame[label].to_numpy(dtype=object), pursuit.classes, f"column {label!r} of {path}")
    return Examples(as_inputs(frame.drop(columns=label), pursuit, path), y, str(path))


# ---- what the model takes -------------------------------------------------------------------------------------------


def as_inputs(frame: Any, pursuit: Pursuit, path: Path) -> Any:
    """The columns beside the label as the model's queries take them."""
    queries, names = pursuit.queries, frame.columns.tolist()
    if isinstance(queries, Words):
        known = names if len(names) == 1 else [name for name in TEXTS if name in names]
        if not known:
            raise ValueError(f"{path} has the columns {_shown(names)}; name that of the texts {TEXTS[0]!r}")
        return frame[known[0]].to_list()
    if isinstance(queries, Patches):
        rows, columns = queries.shape
        if len(names) != rows * columns:
            raise ValueError(
                f"{path} has {len(names)} columns beside the label; expected {rows * columns}, a pixel in each of an "
                f"image of {rows} x {columns}, row by row"
            )
        try:
            return frame.to_numpy(dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} has pixels that are no numbers: {error}") from None
    wanted = _columns(pursuit)
    missing = [name for name in wanted if name not in names]
    if missing and (len(missing) < len(wanted) or getattr(queries, "named", False)):
        raise ValueError(
            f"{path} has no column {missing[0]!r}; the model asks about {_shown(wanted)}, the table has {_shown(names)}"
        )
    width = len(queries.columns if isinstance(queries, Columns) else wanted)
    if missing and len(names) != width:  # the model knows no names, or others: columns are taken in their order
        raise ValueError(
            f"{path} has {len(names)} columns beside the label; expected {width}, those that the model was fitted on"
        )
    return frame


def _columns(pursuit: Pursuit) -> list[str]:
    """The names of the columns that the model asks about."""
    queries = pursuit.queries
    return [field.name for field in queries.fields] if isinstance(queries, Columns) else list(queries.names)


def label_column(names: Sequence[str], label: str | None, pursuit: Pursuit, path: Path) -> str:
    if label is not None:
        if label not in names:
            raise ValueError(f"{path} has no column {label!r}; its columns are {_shown(names)}")
        return label
    likely = likely_labels(names, pursuit)
    if len(likely) != 1:
        what = f"has {' and '.join(map(repr, likely))}" if likely else f"has the columns {_shown(names)}"
        raise ValueError(f"{path} {what}; say which one holds the labels with --label COLUMN")
    return likely[0]


def likely_labels(names: Sequence[str], pursuit: Pursuit) -> list[str]:
    """Columns whose name says that they hold labels."""
    return [name for name in names if name.lower() in LABELS and name not in _columns(pursuit)]


def as_classes(y: Any, classes: Any, source: str, first: int = 0) -> Any:
    """Labels as the model's classes, also where a file has 1 for "1" or 1.0 for 1; others are refused by name.

    first: rows of the source that come before these.

    >>> as_classes(np.array([1.0, 0.0]), np.array([0, 1]), "y").tolist()
    [1, 0]
    """
    known: dict[Any, Any] = {written: c for c in classes.tolist() for written in (str(c), c)}
    entries = y.tolist()
    try:
        found = [known[entry] if entry in known else known[_written(entry)] for entry in entries]
    except (KeyError, TypeError):
        strange = next(i for i, entry in enumerate(entries) if entry not in known and _written(entry) not in known)
        what = "missing" if is_missing(entries[strange]) else f"{entries[strange]!r}, which is no class of the model"
        raise ValueError(
            f"{source}, row {first + strange}, is {what}; the classes are {_shown([repr(c) for c in classes.tolist()])}"
        ) from None
    return np.array(found, dtype=classes.dtype)


def _written(entry: Any) -> str:
    whole = isinstance(entry, float) and entry.is_integer()
    return str(int(entry)) if whole else str(entry).strip()


# ---- bounds ---------------------------------------------------------------------------------------------------------


def npz_sizes(path: Path) -> dict[str, int]:
    """The arrays of an npz file and their bytes; those are looked at before anything is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {entry.filename.removesuffix(".npy"): entry.file_size for entry in archive.infolist()}
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is not a readable npz file ({error})") from None
    check_size(path, sum(sizes.values()), MOST_BYTES)
    return sizes


def _shown(names: Sequence[Any], most: int = 8) -> str:
    return ", ".join(str(name) for name in names[:most]) + (f", ... ({len(names)})" if len(names) > most else "")
