"""What a job reads: tables, arrays, folders of images and data sets by name, of which any range can be had."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from infopursuit.datasets.table_files import CSV, PARQUET, read_frame
from infopursuit.engine import Pursuit
from infopursuit.evaluation.data_files import (
    NPZ,
    Examples,
    as_classes,
    as_inputs,
    is_dataset,
    label_column,
    likely_labels,
    npz_arrays,
    npz_sizes,
    read_examples,
)
from infopursuit.jobs.image_folder import label_of, list_images, read_image
from infopursuit.jobs.parquet_rows import ParquetRows
from infopursuit.jobs.staging import stage_array, stage_table
from infopursuit.queries.patches import Patches

SMALL = 2**26
"""Files up to this many bytes are read whole, by every worker; larger ones a part at a time."""


@dataclass(frozen=True)
class Rows:
    """Some inputs of a source: with labels y, or None, and what each is called, or None."""

    X: Any
    y: Any
    names: Sequence[str] | None


class Source(Protocol):
    """Inputs in an order. n_inputs: how many. about: where they come from, in a few words."""

    n_inputs: int
    about: str

    def read(self, start: int, stop: int) -> Rows:
        """Those from start to stop, without stop."""


@dataclass(frozen=True)
class Place:
    """Where the inputs are, as text and JSON data, so that any process can open them.

    data: a file, a folder, or the name of a data set. label, name: columns of a table that hold the labels, and what
    the inputs are called. folder: for what has to be prepared; it must be one that all workers see.
    """

    data: str
    label: str | None
    name: str | None
    folder: str
    base: str = field(default_factory=os.getcwd)
    """Where names of files begin: workers may be elsewhere."""

    def prepare(self, *, progress: bool | None = None) -> None:
        """Turn a large file into one of which any part can be read, unless that has been done."""
        path, staged = self.path, self.staged
        if staged is None or staged.exists():
            return
        staged.parent.mkdir(parents=True, exist_ok=True)
        if path.name.lower().endswith(NPZ):
            names = npz_arrays(path, "test", labelled=False)
            for name, file in zip(names, (staged, staged.with_name("y.npy")), strict=False):
                if file != staged:
                    stage_array(path, name, file)
            stage_array(path, names[0], staged)  # last: when it is there, all is
        else:
            stage_table(path, staged, progress=progress)

    def open(self, pursuit: Pursuit) -> Source:
        """The inputs, in the form that a model takes."""
        path = self.path
        if path.is_dir():
            files = [file for file in _files(path) if file.name.lower().endswith(PARQUET)]
            return Table(files, self, pursuit) if files else Images(path, self, pursuit)
        lower = path.name.lower()
        if path.is_file() and lower.endswith(NPZ) and self.staged is not None:
            return Arrays(self.staged, self, pursuit)
        if path.is_file() and lower.endswith((*PARQUET, *CSV)) and (lower.endswith(PARQUET) or self.staged is not None):
            return Table([self.staged or path], self, pursuit)
        return Whole(self, pursuit)

    @property
    def path(self) -> Path:
        """As a file, whether it is one or not."""
        return Path(self.base) / Path(self.data).expanduser()

    @property
    def staged(self) -> Path | None:
        """The file that is read instead, for a large one that can only be read from its beginning."""
        path, lower = self.path, self.path.name.lower()
        if not path.is_file():
            return None
        if lower.endswith(NPZ):
            return Path(self.folder) / "x.npy" if sum(npz_sizes(path).values()) > SMALL else None
        large = path.stat().st_size > SMALL // (10 if lower.endswith(".gz") else 1)
        possible = lower.endswith(CSV) and importlib.util.find_spec("pyarrow") is not None
        return Path(self.folder) / "inputs.parquet" if large and possible else None

    def identity(self) -> list[Any]:
        """What the inputs are, for a later run to see that they are the same: sizes, times and ends of files."""
        path = self.path
        files = _files(path) if path.is_dir() else [path] if path.is_file() else []
        if not files and not is_dataset(self.data):
            raise FileNotFoundError(
                f"{self.data!r} is neither a file nor a data set, nor a folder with files; give a .csv, .tsv, .parquet "
                f"or .npz file, a folder of Parquet files or of images, or the name of a data set"
            )
        digest = hashlib.sha256()
        for file in files:
            facts = file.stat()
            digest.update(f"{file.relative_to(path)} {facts.st_size} {facts.st_mtime_ns}\n".encode())
            if len(files) == 1:
                digest.update(_ends(file, facts.st_size))
        known = path.name if files else self.data
        return [known, len(files), digest.hexdigest()]


class Table:
    """Parquet files."""

    def __init__(self, files: Sequence[Path], place: Place, pursuit: Pursuit) -> None:
        self._rows, self._place, self._pursuit = ParquetRows(files), place, pursuit
        self.n_inputs, self.about = self._rows.n_rows, place.data
        self._label = _label(self._rows.frame(0, 0).columns.tolist(), place, pursuit)

    def read(self, start: int, stop: int) -> Rows:
        """A range of rows."""
        return _from_frame(self._rows.frame(start, stop), self._label, self._place, self._pursuit, start)


class Arrays:
    """A large npz file."""

    def __init__(self, x: Path, place: Place, pursuit: Pursuit) -> None:
        self._x = np.load(x, mmap_mode="r", allow_pickle=False)
        labels = x.with_name("y.npy")
        self._y = np.load(labels, mmap_mode="r", allow_pickle=False) if labels.exists() else None
        self.n_inputs, self.about, self._classes = len(self._x), place.data, pursuit.classes
        if self._y is not None and len(self._y) != self.n_inputs:
            raise ValueError(f"{place.data} has {self.n_inputs} inputs and {len(self._y)} labels; give one for each")

    def read(self, start: int, stop: int) -> Rows:
        """A range of rows."""
        y = None if self._y is None else as_classes(self._y[start:stop], self._classes, self.about, start)
        return Rows(np.array(self._x[start:stop]), y, None)


class Images:
    """A folder of images."""

    def __init__(self, folder: Path, place: Place, pursuit: Pursuit) -> None:
        if not isinstance(pursuit.queries, Patches):
            raise ValueError(f"{folder} is a folder, and the model asks about no images; give a table")
        self._folder, self._queries, self._classes = folder, pursuit.queries, pursuit.classes
        self._names = list_images(folder)
        self.n_inputs, self.about = len(self._names), place.data
        if not self._names:
            raise ValueError(f"{folder} has no images and no Parquet files")
        labels = [label_of(name) for name in self._names]
        self._labelled = all(label is not None for label in labels)
        if not self._labelled and any(label is not None for label in labels):
            raise ValueError(f"{folder} has images with a folder of their class and others without; give either")

    def read(self, start: int, stop: int) -> Rows:
        """A range of files."""
        names = self._names[start:stop]
        images = [read_image(self._folder / name, self._queries) for name in names]
        y = np.array([label_of(name) for name in names], dtype=object) if self._labelled else None
        if y is not None:
            y = as_classes(y, self._classes, f"the folders of {self._folder}", start)
        return Rows(np.stack(images) if images else np.zeros((0, *self._queries.shape)), y, names)


class Whole:
    """What is small enough to be in memory: small files, and data sets by name."""

    def __init__(self, place: Place, pursuit: Pursuit) -> None:
        path = place.path
        if path.is_file() and path.name.lower().endswith(CSV):
            frame = read_frame(path)
            label = _label(frame.columns.tolist(), place, pursuit)
            self._rows = _from_frame(frame, label, place, pursuit, 0)
            self.about = place.data
        else:
            if place.name is not None:
                raise ValueError(f"name={place.name!r} is a column of a table, and {place.data} is none")
            where = str(path) if path.is_file() else place.data
            found: Examples = read_examples(where, pursuit, label=place.label, labelled=False)
            self._rows, self.about = Rows(found.X, found.y, None), found.source
        self.n_inputs = len(self._rows.X)

    def read(self, start: int, stop: int) -> Rows:
        """A range of them."""
        X, y, names = self._rows.X, self._rows.y, self._rows.names
        return Rows(X[start:stop], None if y is None else y[start:stop], None if names is None else names[start:stop])


# ---- tables ---------------------------------------------------------------------------------------------------------


def _label(names: Sequence[str], place: Place, pursuit: Pursuit) -> str | None:
    """The column of labels, where there is one."""
    others = [name for name in names if name != place.name]
    if place.name is not None and place.name not in names:
        raise ValueError(f"{place.data} has no column {place.name!r} for name; it has {', '.join(names[:8])}")
    if place.label is None and not likely_labels(others, pursuit):
        return None
    return label_column(others, place.label, pursuit, place.path)


def _from_frame(frame: Any, label: str | None, place: Place, pursuit: Pursuit, first: int) -> Rows:
    names = None if place.name is None else [str(name) for name in frame[place.name].tolist()]
    y = None
    if label is not None:
        where = f"column {label!r} of {place.data}"
        y = as_classes(frame[label].to_numpy(dtype=object), pursuit.classes, where, first)
    rest = frame.drop(columns=[column for column in (label, place.name) if column is not None])
    return Rows(as_inputs(rest, pursuit, place.path), y, names)


def _files(folder: Path) -> list[Path]:
    """The files in a folder and in those below, but for hidden ones, which programs keep for themselves."""
    return [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    ]


def _ends(file: Path, size: int) -> bytes:
    """The first and the last 64 kB of a file."""
    with file.open("rb") as stream:
        first = stream.read(2**16)
        stream.seek(max(0, size - 2**16))
        return first + stream.read(2**16)
