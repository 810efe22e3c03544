"""Large files in forms that can only be read from their beginning, turned once into forms of which any part can be
read: tables of text into Parquet, arrays in archives into plain arrays. Memory stays that of a few thousand rows."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infopursuit.datasets.guarded import check_npy
from infopursuit.datasets.table_files import open_csv
from infopursuit.files import replacing
from infopursuit.jobs.parquet_rows import import_parquet
from infopursuit.progress import Progress

CHUNK = 20_000
"""Rows of a table that are in memory at once; fewer where the table is wide."""
CELLS = 4_000_000


def stage_table(path: Path, file: Path, *, progress: bool | None = None) -> None:
    """A csv or tsv file as Parquet, with the kinds of columns that reading all of it at once would have found.

    It is read twice: whether a column holds numbers is only known at its end.
    """
    pa, pq = import_parquet()
    names, kinds, n_rows = list[str](), dict[str, set[str]](), 0
    with Progress(f"looking through {path.name}, rows", 0, show=progress) as shown:
        for frame in _chunks(path, {}, shown):
            names, n_rows = [str(name) for name in frame.columns], n_rows + len(frame)
            for name, kind in zip(names, (_kind(frame[column]) for column in frame.columns), strict=True):
                kinds.setdefault(name, set()).add(kind)
    chosen = {name: _common(found) for name, found in kinds.items()}
    forms = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "text": pa.string(), "none": pa.float64()}
    schema = pa.schema([(name, forms[chosen[name]]) for name in names])
    texts: dict[str, type] = {name: str for name, kind in chosen.items() if kind == "text"}
    with (
        Progress(f"preparing {path.name}, rows", n_rows, show=progress) as shown,
        replacing(file) as beside,
        beside.open("wb") as stream,
        pq.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        for frame in _chunks(path, texts, shown):
            for name in names:
                if chosen[name] in ("float", "none"):
                    frame[name] = frame[name].astype("float64")
            writer.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))


def stage_array(path: Path, name: str, file: Path) -> None:
    """An array of an npz file as a file of its own, which need not be read whole."""
    with zipfile.ZipFile(path) as archive:
        check_npy(path, archive, name)
    with (
        zipfile.ZipFile(path) as archive,
        archive.open(f"{name}.npy") as packed,
        replacing(file) as beside,
        beside.open("wb") as stream,
    ):
        shutil.copyfileobj(packed, stream, 2**20)


def _chunks(path: Path, texts: dict[str, type], shown: Progress) -> Iterator[Any]:
    """The table, some rows at a time; columns in ``texts`` as they are written."""
    import pandas as pd

    with open_csv(path) as (stream, options):
        wide = max(1, len(pd.read_csv(stream, nrows=0, **options).columns))
    with open_csv(path) as (stream, options):
        rows = max(1, min(CHUNK, CELLS // wide))
        with pd.read_csv(stream, chunksize=rows, low_memory=False, dtype=texts, **options) as reader:
            for frame in reader:
                yield frame
                shown.advance(len(frame))


def _kind(column: Any) -> str:
    """What a part of a column holds."""
    if column.isna().all():
        return "none"
    if column.dtype.kind in "iu":
        return "int"
    if column.dtype.kind == "f":
        return "float"
    if column.dtype.kind == "b" or set(column.dropna().unique()) <= {True, False}:
        return "bool" if not column.isna().any() else "bool with gaps"
    return "text"


def _common(kinds: set[str]) -> str:
    """What the whole column holds, as pandas would find."""
    seen = kinds - {"none"}
    if not seen:
        return "none"
    if seen <= {"bool", "bool with gaps"}:
        return "bool"
    if seen == {"int"} and "none" not in kinds:
        return "int"
    return "float" if seen <= {"int", "float"} else "text"
