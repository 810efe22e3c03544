"""Tables in files (csv, tsv, parquet) as people have them: byte-order marks, semicolons, gaps; read as data only."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infopursuit.datasets.guarded import MOST_BYTES, MOST_CELLS, MOST_COLUMNS, check_file, check_size, open_text

__all__ = ["CSV", "MOST_BYTES", "PARQUET", "check_size", "is_table_file", "open_csv", "read_frame"]

CSV, PARQUET = (".csv", ".csv.gz", ".tsv", ".tsv.gz"), (".parquet", ".pq")


def is_table_file(path: Path) -> bool:
    """Whether the name of a file ends as that of a table does."""
    return path.name.lower().endswith((*CSV, *PARQUET))


def read_frame(path: Path) -> Any:
    """The table of a file as a pandas frame whose columns are named by texts; empty cells are not known."""
    if not is_table_file(path):
        raise ValueError(f"{path} ends in {path.suffix!r}; give a .csv, .tsv or .parquet file")
    check_size(check_file(path), path.stat().st_size)
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(f"reading {path} needs pandas; pip install pandas pyarrow, or give an .npz file") from None
    frame = _read_parquet(path, pd) if path.name.lower().endswith(PARQUET) else _read_csv(path, pd)
    frame.columns = [str(name).strip() for name in frame.columns]
    _refuse_twice(frame.columns.tolist(), path)
    return frame


# ---- csv ------------------------------------------------------------------------------------------------------------


def _read_csv(path: Path, pd: Any) -> Any:
    with open_csv(path) as (stream, options):
        return pd.read_csv(stream, low_memory=False, **options)


@contextmanager
def open_csv(path: Path) -> Iterator[tuple[io.BufferedReader, dict[str, Any]]]:
    """A table of text, and how pandas has to be asked to read it; what goes wrong meanwhile is told with its name."""
    try:
        separator = _separator(path)
        _check_head(path, separator)
        with open_text(path) as stream:
            yield stream, {"sep": separator, "encoding": "utf-8-sig"}
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None
    except (ValueError, OSError, EOFError, csv.Error, OverflowError) as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path} cannot be read as a table: {' '.join(str(error).split())[:300]}") from None


def _check_head(path: Path, separator: str) -> None:
    """The names of the columns, before all of it is read: how many there are, and that they differ."""
    with open_text(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        records = csv.reader(text, delimiter=separator)
        names = next(records, [])
        first = next((record for record in records if record), [])
    if len(names) > MOST_COLUMNS:
        raise ValueError(f"{path} has {len(names)} columns, more than {MOST_COLUMNS:,}; give fewer")
    if len(first) > len(names) > 0:  # pandas would take the first column for names of rows
        raise ValueError(f"{path} has rows with more cells than its first line has names; give each column a name")
    _refuse_twice([name.strip() for name in names if name.strip()], path)


def _refuse_twice(names: list[str], path: Path) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{path} has the column {twice[0][:80]!r} more than once; rename one of them")


def _separator(path: Path) -> str:
    """Tabs where the name says so, else what the first line has: spreadsheets of many countries write semicolons."""
    if ".tsv" in path.name.lower():
        return "\t"
    with open_text(path) as file:
        first = file.readline(2**20)
    outside = b"".join(first.split(b'"')[::2])  # a comma in a quoted name separates nothing
    return ";" if outside.count(b";") > outside.count(b",") else ","


# ---- parquet --------------------------------------------------------------------------------------------------------


def _read_parquet(path: Path, pd: Any) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(f"reading {path} needs pyarrow; pip install pyarrow, or give a .csv ({error})") from None
    try:
        about = pq.read_metadata(path)
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        if about.num_columns > MOST_COLUMNS or not 0 <= about.num_rows * max(about.num_columns, 1) <= MOST_CELLS:
            raise ValueError(
                f"{path} claims {about.num_rows} rows of {about.num_columns} columns, more than {MOST_CELLS:,} cells; "
                f"give a part of it"
            )
        if sum(group.num_rows for group in groups) != about.num_rows:
            raise ValueError(f"{path} is damaged: it claims {about.num_rows} rows and has others")
        check_size(path, sum(max(group.total_byte_size, 0) for group in groups))
        return pd.read_parquet(path)
    except (pa.ArrowException, ValueError, OSError, LookupError, TypeError, AttributeError, RuntimeError) as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        raise ValueError(f"{path} cannot be read as a table: {' '.join(str(error).split())[:300]}") from None
