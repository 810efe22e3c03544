"""Inputs in the form that a saved model takes: from tables, npz files and data sets by name.

`read_examples` reads all of them. `Source` opens them for reading any range, in any process; Parquet files
are read as they are needed, other files as a whole.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from infopursuit.app.datasets.dataset import NAMES, is_dataset, load
from infopursuit.estimator import table_files as tables
from infopursuit.pursuit.loop import Pursuit
from infopursuit.queries.columns import Columns
from infopursuit.queries.frames import is_missing
from infopursuit.queries.patches import Patches
from infopursuit.queries.words import Words

Part = Literal["test", "train"]

LABELS, TEXTS = ("label", "y", "target", "class"), ("text", "texts", "headline", "x")
"""What the column of labels, and that of texts, is called where nobody says."""


@dataclass(frozen=True)
class Examples:
    """Inputs X; labels y, or None; where they come from, in a few words; what each is called, or None."""

    X: Any
    y: Any
    source: str
    names: Sequence[str] | None = None

    def between(self, start: int, stop: int | None) -> Examples:
        """Those from start to stop, without stop."""
        some = slice(start, stop)
        y, names = (None if part is None else part[some] for part in (self.y, self.names))
        return Examples(self.X[some], y, self.source, names)


def read_examples(
    source: str, pursuit: Pursuit[Any], *, label: str | None = None, part: Part = "test", labelled: bool = True
) -> Examples:
    """The inputs and labels of a table file, of an npz file, or of a data set by its name.

    A table has a column of labels, ``label``, and is matched with the model by the names of its columns, or by their
    order where the model knows no names. An npz file has ``x`` and ``y``, or ``x_test`` and ``y_test`` beside
    ``x_train`` and ``y_train``. ``labelled=False`` also takes files without labels; y is then None.
    """
    return Source(source, label).read(pursuit, part=part, labelled=labelled)


def has_training_part(source: str) -> bool:
    """Whether what `read_examples` reads comes with a training part of its own."""
    path = Path(source).expanduser()
    if not path.is_file():
        return is_dataset(source)
    return path.name.lower().endswith(tables.NPZ) and {"x_train", "y_train"} <= set(tables.array_sizes(path))


# ---- data sets and npz files ----------------------------------------------------------------------------------------


def _from_dataset(name: str, pursuit: Pursuit[Any], part: Part) -> Examples:
    data = load(name)
    y = getattr(data, f"y_{part}")
    if set(pursuit.classes.tolist()) <= set(data.class_names):
        y = np.array(data.class_names, dtype=object)[y]
    source = f"the {'test' if part == 'test' else 'training'} part of {data.name}"
    return Examples(getattr(data, f"x_{part}"), as_classes(y, pursuit.classes, source), source)


def _from_npz(path: Path, pursuit: Pursuit[Any], part: Part, labelled: bool) -> Examples:
    """Labels are left out where there are none and none are needed."""
    names = list(tables.array_sizes(path))
    pairs = ((f"x_{part}", f"y_{part}"), ("x", "y"), ("X", "y"))
    found: Any = next((pair for pair in pairs if set(pair) <= set(names)), None)
    alone = next((x for x, _ in pairs if x in names), None)
    if found is None and alone is not None and not labelled:
        return Examples(tables.read_arrays(path, (alone,))[alone], None, str(path))
    if found is None:
        raise ValueError(
            f"{path} has {', '.join(names) or 'nothing'}; expected the arrays x_{part} and y_{part}, or x and y"
        )
    arrays = tables.read_arrays(path, found)
    x, y = arrays[found[0]], arrays[found[1]]
    if y.ndim != 1 or x.ndim < 1 or len(x) != len(y):
        raise ValueError(
            f"{found[0]} of {path} has shape {x.shape} and {found[1]} {y.shape}; give one label for each input"
        )
    return Examples(x, as_classes(y, pursuit.classes, f"{found[1]} of {path}"), str(path))


# ---- tables ---------------------------------------------------------------------------------------------------------


def as_inputs(frame: Any, pursuit: Pursuit[Any], source: str) -> Any:
    """The columns of a narwhals frame as the model's queries take them."""
    queries, names = pursuit.queries, frame.columns
    if isinstance(queries, Words):
        known = names if len(names) == 1 else [name for name in TEXTS if name in names]
        if not known:
            raise ValueError(f"{source} has the columns {_shown(names)}; name that of the texts {TEXTS[0]!r}")
        return frame[known[0]].to_list()
    if isinstance(queries, Patches):
        rows, columns = queries.shape
        n = len(queries.variables)
        if len(names) != n:
            each = "a pixel" if queries.channels == 1 else "a channel of a pixel"
            raise ValueError(
                f"{source} has {len(names)} columns beside the label; expected {n}, {each} in each of an image of "
                f"{rows} x {columns}, row by row"
            )
        try:
            pixels = frame.to_numpy()
            return pixels if pixels.dtype.kind in "iu" else np.asarray(pixels, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{source} has pixels that are no numbers: {error}") from None
    wanted = _asked(pursuit)
    missing = [name for name in wanted if name not in names]
    if missing and (len(missing) < len(wanted) or getattr(queries, "named", False)):
        raise ValueError(
            f"{source} has no column {missing[0]!r}; the model asks about {_shown(wanted)}, the table has "
            f"{_shown(names)}"
        )
    width = len(queries.columns if isinstance(queries, Columns) else wanted)
    if missing and len(names) != width:  # the model knows no names, or others: columns are taken in their order
        raise ValueError(
            f"{source} has {len(names)} columns beside the label; expected {width}, those that the model was fitted on"
        )
    return frame.to_native()


def _asked(pursuit: Pursuit[Any]) -> list[str]:
    queries = pursuit.queries
    return [field.name for field in queries.fields] if isinstance(queries, Columns) else list(queries.names)


def as_classes(y: Any, classes: Any, source: str, first: int = 0) -> Any:
    """Labels as the model's classes, also where a file has 1 for "1" or 1.0 for 1; others are refused by name.

    first: rows of the source that come before these.

    >>> as_classes(np.array([1.0, 0.0]), np.array([0, 1]), "y").tolist()
    [1, 0]
    """
    known: dict[Any, Any] = {written: c for c in classes.tolist() for written in (str(c), c)}
    entries = list(y) if isinstance(y, (list, tuple)) else y.tolist()
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


def _shown(names: Sequence[Any], most: int = 8) -> str:
    return ", ".join(str(name) for name in names[:most]) + (f", ... ({len(names)})" if len(names) > most else "")


# ---- any range of inputs --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inputs:
    """Inputs in an order. about: where they come from. read: those from start to stop, without stop."""

    n_inputs: int
    about: str
    read: Callable[[int, int], Examples]


@dataclass(frozen=True)
class Source:
    """Where inputs are, as texts, so that any process can open them.

    data: a file, a folder of Parquet files, or the name of a data set. label, name: columns of a table
    that hold the labels, and what the inputs are called. base: where relative paths begin; workers may run elsewhere.
    skipped: Parquet files of the folder that are left out.
    """

    data: str
    label: str | None = None
    name: str | None = None
    base: str = field(default_factory=os.getcwd)
    skipped: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """As a file, whether it is one or not."""
        return Path(self.base) / Path(self.data).expanduser()

    def read(self, pursuit: Pursuit[Any], *, part: Part = "test", labelled: bool = False) -> Examples:
        """All inputs of a file or a data set, in the form that a model takes; see `read_examples`."""
        path = self.path
        if path.is_file() and tables.is_table_file(path):
            frame = tables.read_frame(path)
            return self._examples(frame, self._label_of(frame.columns, pursuit, labelled), pursuit)
        if self.name is not None:
            raise ValueError(f"name={self.name!r} is a column of a table, and {self.data} is none")
        if path.is_file():
            if not path.name.lower().endswith(tables.NPZ):
                raise ValueError(f"{path} ends in {path.suffix!r}; {tables.GIVE} or .npz file")
            return _from_npz(path, pursuit, part, labelled)
        if not is_dataset(self.data):
            raise self._nowhere()
        return _from_dataset(self.data, pursuit, part)

    def open(self, pursuit: Pursuit[Any]) -> Inputs:
        """Any range of the inputs; Parquet files are read as they are needed."""
        files = self._parquet_files() if self.path.is_dir() else [self.path]
        if not files:
            raise ValueError(f"{self.path} has no Parquet files that can be read; give a folder that has, or a file")
        if not tables.is_parquet(files[0]) or not files[0].is_file():
            held = self.read(pursuit)
            return Inputs(len(held.X), held.source, held.between)
        rows = tables.TableRows(files)
        label = self._label_of(rows.names, pursuit, False)

        def read(start: int, stop: int) -> Examples:
            return self._examples(tables.read_frame(rows.read(start, stop)), label, pursuit, start)

        return Inputs(rows.n_rows, self.data, read)

    def without_damaged(self) -> Source:
        """The same without those Parquet files of a folder that cannot be read from one end to the other."""
        bad = list[str]()
        for file in self._parquet_files() if self.path.is_dir() else ():
            try:
                tables.TableRows([file]).check()
            except ValueError:
                bad.append(file.relative_to(self.path).as_posix())
        return replace(self, skipped=(*self.skipped, *bad))

    def _parquet_files(self) -> list[Path]:
        path = self.path
        found = [file for file in tables.visible_files(path) if tables.is_parquet(file)]
        return [file for file in found if file.relative_to(path).as_posix() not in self.skipped]

    def identity(self) -> list[Any]:
        """What the inputs are, for a later run to see that they are the same: sizes, times and ends of files."""
        path = self.path
        files = tables.visible_files(path) if path.is_dir() else [path] if path.is_file() else []
        if not files and not is_dataset(self.data):
            raise self._nowhere()
        digest = hashlib.sha256()
        for file in files:
            facts = file.stat()
            digest.update(f"{file.relative_to(path)} {facts.st_size} {facts.st_mtime_ns}\n".encode())
            if len(files) == 1:
                with file.open("rb") as stream:
                    digest.update(stream.read(2**16))
                    stream.seek(max(0, facts.st_size - 2**16))
                    digest.update(stream.read(2**16))
        return [path.name if files else self.data, len(files), digest.hexdigest()]

    def _nowhere(self) -> FileNotFoundError:
        return FileNotFoundError(
            f"{self.data!r} is neither a file nor a data set, nor a folder with files; {tables.GIVE} or .npz file, a "
            f"folder of Parquet files, or one of {', '.join(NAMES)}"
        )

    def _label_of(self, names: Sequence[str], pursuit: Pursuit[Any], labelled: bool) -> str | None:
        """The column of labels among some; None where there is none and none is needed."""
        if self.name is not None and self.name not in names:
            raise ValueError(f"{self.data} has no column {self.name!r} for name; it has {_shown(names)}")
        if self.label is not None:
            if self.label not in names or self.label == self.name:
                raise ValueError(f"{self.data} has no column {self.label!r}; its columns are {_shown(names)}")
            return self.label
        asked = _asked(pursuit)
        likely = [name for name in names if name.lower() in LABELS and name not in asked and name != self.name]
        if not likely and not labelled:
            return None
        if len(likely) != 1:
            what = f"has {' and '.join(map(repr, likely))}" if likely else f"has the columns {_shown(names)}"
            raise ValueError(f"{self.data} {what}; say which one holds the labels with --label COLUMN")
        return likely[0]

    def _examples(self, frame: Any, label: str | None, pursuit: Pursuit[Any], first: int = 0) -> Examples:
        """Rows of the table, a narwhals frame, of which ``first`` come before these."""
        names = y = None
        if self.name is not None:
            names = [str(name) for name in frame[self.name].to_list()]
        if label is not None:
            y = as_classes(frame[label].to_list(), pursuit.classes, f"column {label!r} of {self.data}", first)
        rest = frame.drop([column for column in (label, self.name) if column is not None])
        return Examples(as_inputs(rest, pursuit, self.data), y, self.data, names)
