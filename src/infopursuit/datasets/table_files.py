"""Tables in files (csv, tsv, parquet) as people have them: byte-order marks, semicolons, gaps; read as data only."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

CSV, PARQUET = (".csv", ".csv.gz", ".tsv", ".tsv.gz"), (".parquet", ".pq")
MOST_BYTES = 8 * 2**30
"""Files that would take more than this in memory are refused before they are read."""


def is_table_file(path: Path) -> bool:
    """Whether the name of a file ends as that of a table does."""
    return path.name.lower().endswith((*CSV, *PARQUET))


def read_frame(path: Path) -> Any:
    """The table of a file as a pandas frame whose columns are named by texts; empty cells are not known."""
    if not is_table_file(path):
        raise ValueError(f"{path} ends in {path.suffix!r}; give a .csv, .tsv or .parquet file")
    check_size(path, path.stat().st_size)
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(f"reading {path} needs pandas; pip install pandas pyarrow, or give an .npz file") from None
    try:
        if path.name.lower().endswith(PARQUET):
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_csv(path, low_memory=False, **csv_options(path))
    except ImportError as error:
        raise ImportError(f"reading {path} needs pyarrow; pip install pyarrow, or give a .csv ({error})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as a table: {error}") from None
    frame.columns = [str(name).strip() for name in frame.columns]
    return frame


def check_size(path: Path, n_bytes: int, most: int = MOST_BYTES) -> None:
    """Refuse what would not fit."""
    if n_bytes > most:
        raise ValueError(f"{path} holds {n_bytes / 2**30:.1f} GiB, more than {most / 2**30:g}; give a part of it")


def csv_options(path: Path) -> dict[str, Any]:
    """How pandas has to be asked to read a table of text."""
    return {"sep": _separator(path), "encoding": "utf-8-sig"}


def _separator(path: Path) -> str:
    """Tabs where the name says so, else what the first line has: spreadsheets of many countries write semicolons."""
    name = path.name.lower()
    if ".tsv" in name:
        return "\t"
    with gzip.open(path, "rb") if name.endswith(".gz") else path.open("rb") as file:
        first = file.readline(2**20)
    outside = b"".join(first.split(b'"')[::2])  # a comma in a quoted name separates nothing
    return ";" if outside.count(b";") > outside.count(b",") else ","
