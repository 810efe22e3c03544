"""Reading data files: tables (CSV, TSV, Parquet), npz archives and texts.

Files are data and may come from strangers: nothing in them is executed, and size limits are checked before and while
they are read. Tables become Arrow tables; `read_frame` wraps these, and data frames of any library, with narwhals.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, zip_longest
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, cast

import numpy as np

from infopursuit.queries.numbers import NO_NUMBER, NUMBER, read_dates, read_number
from infopursuit.support.types import FloatArray, IntArray

MAX_BYTES = 8 * 2**30
"""Of a data file, unpacked."""
MAX_LINE = 64 * 2**20
"""Bytes of one line of a text."""
MAX_COLUMNS = 200_000
MAX_CELLS = 2**28
"""Rows times columns that a Parquet file may claim: run-length coding packs a billion rows into a few bytes."""

CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")
NPZ = (".npz",)
GIVE = "give a .csv, .tsv, .parquet"

BLOCK = 2**22
"""Bytes of text that are parsed together."""
# fmt: off
NULLS = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",  # those of pandas
    "?", "n.a.", "N.A.", "k.A.", "k. A.",  # of public tables and people
    "#NV", "#DIV/0!", "#VALUE!", "#WERT!", "#REF!", "#BEZUG!", "#NUM!", "#ZAHL!", "#NAME?", "#NULL!",  # of spreadsheets
]
# fmt: on
"""Cells of a text table that are missing values."""
PATTERNS = {
    "date": r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?$",
    "written date": r"^\s*\d{1,2}[./-]\d{1,2}[./-]\d{4}([ T]\d{1,2}:\d{2}(:\d{2})?)?\s*$",
    "bool": r"^(True|TRUE|true|False|FALSE|false)$",
    "int": r"^\s*[+-]?\d{1,18}\s*$",  # longer ones are identifiers, which floats would merge
    "float": rf"^\s*({NUMBER.pattern})\s*$",
}

NUMBERS = 0.95
"""A column of texts is one of numbers where at least so many cells are; others are then missing."""

BAD_HEADER = (ValueError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError)
"""What numpy raises for a malformed array header."""
BAD_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)
BAD_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, lzma.LZMAError)
"""Raised for a zip file that is damaged, encrypted, or compressed by an unknown method."""


# ---- limits ---------------------------------------------------------------------------------------------------------


def check_file(path: Path) -> Path:
    """The path, if it is a regular file: opening a pipe blocks, and a device never ends."""
    if path.is_file():
        return path
    if not path.exists() and not path.is_symlink():
        raise FileNotFoundError(f"{path} does not exist; give a file")
    raise ValueError(f"{path} is no file but a folder, a pipe, a device or a link to nowhere; give a file")


def check_size(path: Path, n_bytes: int) -> None:
    """Refuse more than `MAX_BYTES`."""
    if n_bytes > MAX_BYTES:
        raise ValueError(f"{path} holds {n_bytes / 2**30:.1f} GiB, more than {MAX_BYTES / 2**30:g}; give a part of it")


def _check_names(names: Sequence[str], path: Path) -> None:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"{path} has {len(names)} columns, more than {MAX_COLUMNS:,}; give fewer")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{path} has the column {repeated[0][:80]!r} more than once; rename one of them")


def import_arrow() -> Any:
    """pyarrow with the parts that read files."""
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"tables are read with pyarrow; pip install 'infopursuit[tables]' ({error})") from None
    return pa


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn whatever a parser raises into one ValueError that names the file."""
    pa = import_arrow()
    try:
        yield
    except UnicodeDecodeError as error:
        remedy = 'save it as UTF-8 (in Excel "CSV UTF-8"), or: iconv -f cp1252 -t utf-8 FILE'
        raise ValueError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); {remedy}") from None
    except (pa.ArrowException, csv.Error, ValueError, OSError, EOFError, LookupError, TypeError, AttributeError,
            OverflowError, RuntimeError) as error:  # fmt: skip
        own = isinstance(error, (ValueError, FileNotFoundError)) and not isinstance(error, pa.ArrowException)
        if own and str(path) in str(error):
            raise
        raise ValueError(f"{path} cannot be read as a table: {' '.join(str(error).split())[:300]}") from None


# ---- texts ----------------------------------------------------------------------------------------------------------


def open_text(path: Path) -> io.BufferedReader:
    """The bytes of a text, decompressed if its name ends in ``.gz``; the limits are checked while it is read."""
    check_size(check_file(path), path.stat().st_size)
    packed = path.name.lower().endswith(".gz")
    stream = cast(BinaryIO, gzip.GzipFile(path, "rb")) if packed else path.open("rb")
    return io.BufferedReader(_Checked(stream, path), 2**16)


class _Checked(io.RawIOBase):
    """A stream that limits total bytes and line length and refuses zero bytes and UTF-16."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream, self._path = stream, path
        self._total = self._line = 0

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._stream.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        path = self._path
        try:
            some = self._stream.read(len(buffer))
        except BAD_GZIP as error:
            raise ValueError(f"{path} is not a whole gzip file ({error}); fetch it again") from None
        if self._total == 0 and some.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError(f"{path} is not UTF-8 but UTF-16; save it as UTF-8")
        if b"\0" in some:
            at = self._total + some.index(b"\0")
            raise ValueError(f"{path} has a zero at byte {at}, which no text has; save it as UTF-8 text")
        self._total += len(some)
        check_size(path, self._total)
        lines = some.replace(b"\r", b"\n").split(b"\n")
        if max(self._line + len(lines[0]), *(len(line) for line in lines[1:]), 0) > MAX_LINE:
            raise ValueError(f"{path} has a line of more than {MAX_LINE // 2**20} MiB; it is not a table of rows")
        self._line = len(lines[-1]) + (self._line if len(lines) == 1 else 0)
        buffer[: len(some)] = some
        return len(some)


# ---- tables ---------------------------------------------------------------------------------------------------------


def is_table_file(path: Path) -> bool:
    """True for a file name that ends as that of a table does."""
    return path.name.lower().endswith((*CSV, *PARQUET))


def read_frame(source: Any, max_rows: int | None = None, seed: int = 0) -> Any:
    """A table as a narwhals ``DataFrame`` whose columns are named by texts.

    source: a table file, a folder of Parquet files, or a pandas, polars, pyarrow or other data frame. max_rows: of a
    file with more rows as many are drawn at random, in their order; the others are never in memory together.
    """
    if isinstance(source, (str, Path)):
        source = _read_files(Path(source).expanduser(), max_rows, np.random.default_rng(seed))
    try:
        import narwhals as nw
    except ImportError as error:
        raise ImportError(f"data frames need narwhals; pip install 'infopursuit[tables]' ({error})") from None
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        kind = type(source).__name__
        raise TypeError(f"table is a {kind}; give a file name, or a pandas, polars or pyarrow table") from None
    return frame.rename({name: str(name) for name in frame.columns if not isinstance(name, str)})


def take_rows(X: Any, rows: Any) -> Any:
    """Some rows, by their positions, of a frame or a column of pandas, polars or pyarrow, a list or an array."""
    if isinstance(X, (list, tuple)):
        return [X[i] for i in rows]
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[rows]
    if hasattr(X, "to_pylist"):  # pyarrow
        return X.take(rows)
    return X[rows]


def _read_files(path: Path, max_rows: int | None, rng: np.random.Generator) -> Any:
    files = [file for file in visible_files(path) if is_parquet(file)] if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{path} is a folder without Parquet files; give a file")
    if not path.is_dir() and not is_table_file(path):
        raise ValueError(f"{path} ends in {path.suffix!r}; {GIVE} file")
    for file in files:
        check_size(check_file(file), file.stat().st_size)
        if is_parquet(file):
            _check_parquet(file)
    with _naming(path):
        if not is_parquet(files[0]):
            return _read_csv(path, max_rows, rng)
        rows = TableRows(files)
        if max_rows is None or rows.n_rows <= max_rows:
            return rows.read(0, rows.n_rows)
        return rows.take(np.sort(rng.choice(rows.n_rows, max_rows, replace=False)))


def _plain(table: Any, path: Path) -> Any:
    """The table without the index that pandas stores beside the columns, and with trimmed names."""
    about = table.schema.pandas_metadata or {}
    index = [name for name in about.get("index_columns", ()) if isinstance(name, str) and name in table.column_names]
    table = table.drop_columns(index)
    names = [str(name).strip() for name in table.column_names]
    _check_names(names, path)
    return table.rename_columns(names).replace_schema_metadata(None)


def _check_parquet(path: Path) -> None:
    """Refuse a file whose footer claims more than fits."""
    with _naming(path):
        about = import_arrow().parquet.read_metadata(path)
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        if about.num_columns > MAX_COLUMNS or not 0 <= about.num_rows * max(about.num_columns, 1) <= MAX_CELLS:
            claim = f"{about.num_rows} rows of {about.num_columns} columns"
            raise ValueError(f"{path} claims {claim}, more than {MAX_CELLS:,} cells; give a part of it")
        if sum(group.num_rows for group in groups) != about.num_rows:
            raise ValueError(f"{path} is damaged: it claims {about.num_rows} rows and has others")
        check_size(path, sum(max(group.total_byte_size, 0) for group in groups))


# ---- csv ------------------------------------------------------------------------------------------------------------


def _read_csv(path: Path, max_rows: int | None, rng: np.random.Generator) -> Any:
    """Read a CSV file in UTF-8, or else in Windows-1252, as spreadsheets of western countries write it."""
    try:
        return _parse_csv(path, "utf-8-sig", max_rows, rng)
    except UnicodeDecodeError as error:
        not_utf8 = error

    try:
        table = _parse_csv(path, "cp1252", max_rows, rng)
    except (UnicodeDecodeError, import_arrow().ArrowException):
        raise not_utf8 from None
    warnings.warn(
        f"{path} is not UTF-8 and is read as Windows-1252; where letters look wrong, save it as UTF-8",
        stacklevel=2,
    )
    return table


def _parse_csv(path: Path, encoding: str, max_rows: int | None, rng: np.random.Generator) -> Any:
    """Read all cells as texts; then find the type of each column from all of its cells.

    Of a table with more than ``max_rows`` rows only the cells that were drawn are looked at.
    """
    pa = import_arrow()
    separator = _separator(path)
    names, n_skipped = _header(path, separator, encoding)
    try:
        with open_text(path) as stream:
            batches = _open_csv(stream, names, n_skipped, separator, encoding)
            texts = _drawn(batches, names, max_rows, rng)
    except pa.ArrowInvalid:  # such as rows with too few cells
        records = islice(_records(path, separator, encoding), n_skipped, None)
        texts = _drawn(_filled(filter(None, records), names, path), names, max_rows, rng)

    comma = separator == ";"  # who separates cells by semicolons writes decimal commas
    columns = [_typed(column, name, comma) for name, column in zip(names, texts.columns, strict=True)]
    return pa.table(columns, names)


def _separator(path: Path) -> str:
    """Find what separates cells: a tab in .tsv files, else what the first line has more of outside quotes."""
    if ".tsv" in path.name.lower():
        return "\t"

    with open_text(path) as stream:
        header = stream.readline(2**20)
    outside_quotes = b"".join(header.split(b'"')[::2])
    return ";" if outside_quotes.count(b";") > outside_quotes.count(b",") else ","


def _header(path: Path, separator: str, encoding: str) -> tuple[list[str], int]:
    """Read the names of the columns, and count the records up to them; empty lines may come first."""
    for n_records, cells in enumerate(_records(path, separator, encoding), start=1):
        if cells:
            names = [cell.strip() or f"Unnamed: {i}" for i, cell in enumerate(cells)]
            _check_names(names, path)
            return names, n_records
    raise ValueError(f"{path} cannot be read as a table: no columns in its first line")


def _open_csv(stream: BinaryIO, names: list[str], n_skipped: int, separator: str, encoding: str) -> Any:
    """Batches of rows, whose cells are texts or null."""
    pa = import_arrow()
    read = pa.csv.ReadOptions(
        column_names=names,
        skip_rows_after_names=n_skipped,
        block_size=BLOCK,
        use_threads=False,
        encoding=encoding.removesuffix("-sig"),
    )
    parse = pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=NULLS,
        strings_can_be_null=True,
    )
    return pa.csv.open_csv(stream, read, parse, convert)


def _records(path: Path, separator: str, encoding: str) -> Iterator[list[str]]:
    with open_text(path) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
        yield from csv.reader(text, delimiter=separator, strict=True)


def _drawn(batches: Iterable[Any], names: list[str], max_rows: int | None, rng: np.random.Generator) -> Any:
    """Join the rows of all batches, or ``max_rows`` of them drawn at random, to one table.

    Rows get random numbers while they are read, and those with the smallest numbers are kept.
    """
    pa = import_arrow()
    tables = [pa.schema([(name, pa.string()) for name in names]).empty_table()]
    if max_rows is None:
        return pa.concat_tables(tables + [pa.Table.from_batches([batch]) for batch in batches])

    keys = np.zeros(0)
    threshold = np.inf
    for batch in batches:
        new_keys = rng.random(batch.num_rows)
        candidates = np.flatnonzero(new_keys < threshold)
        tables.append(pa.Table.from_batches([batch.take(candidates)]))
        keys = np.concatenate([keys, new_keys[candidates]])
        if len(keys) > 2 * max_rows:
            tables, keys = _smallest(tables, keys, max_rows)
            threshold = float(keys.max())
    if len(keys) > max_rows:
        tables, _ = _smallest(tables, keys, max_rows)
    return pa.concat_tables(tables)


def _smallest(tables: list[Any], keys: FloatArray, n: int) -> tuple[list[Any], FloatArray]:
    """The n rows with the smallest keys, in their order, and their keys."""
    rows = np.sort(np.argpartition(keys, n - 1)[:n])
    table = import_arrow().concat_tables(tables).take(rows).combine_chunks()
    return [table], keys[rows]


def _filled(rows: Iterator[list[str]], names: list[str], path: Path) -> Iterator[Any]:
    """The rows as batches of texts; cells that are missing at the end of a row are null."""
    pa = import_arrow()
    width = len(names)
    nulls = set(NULLS)
    n_rows = max(1, min(20_000, 4_000_000 // width))
    while batch := list(islice(rows, n_rows)):
        longest = max(map(len, batch))
        if longest > width:
            raise ValueError(f"{path} has a row of {longest} cells, more cells than its first line has names ({width})")

        full_row = [""] * width  # so that there are as many columns as names
        columns = list(zip_longest(*batch, full_row, fillvalue=""))
        cells = [[None if cell in nulls else cell for cell in column[:-1]] for column in columns]
        yield pa.record_batch([pa.array(column, pa.string()) for column in cells], names=names)


def _typed(column: Any, name: str, comma: bool) -> Any:
    """Turn a column of texts into dates, booleans or numbers where all its cells are such; see also `_numbers`."""
    pa = import_arrow()
    kind = _kind(column)
    if kind == "bool":
        return pa.compute.equal(pa.compute.utf8_lower(column), "true")
    if kind in ("date", "written date"):
        return _dates(column, kind)

    trimmed = pa.compute.utf8_trim_whitespace(column)
    if kind == "text":
        empty = pa.compute.equal(trimmed, "")
        return _numbers(pa.compute.if_else(empty, pa.scalar(None, pa.string()), trimmed), name, comma)

    unsigned = pa.compute.utf8_ltrim(trimmed, "+")
    return unsigned.cast(pa.int64() if kind == "int" else pa.float64())


def _dates(column: Any, kind: str) -> Any:
    """Texts as moments; unchanged where one is not a date, or where day and month cannot be told apart."""
    pa = import_arrow()
    try:
        if kind == "date":
            return column.cast(pa.timestamp("us"))
        labels, codes = _dictionary(column)
        return pa.array(read_dates(labels), pa.timestamp("us")).take(codes)
    except ValueError:  # also pyarrow's, such as of the 31st of February
        return column


def _numbers(column: Any, name: str, comma: bool) -> Any:
    """Texts as numbers, where nearly all are as people write them: 1,234.5 or 12,5 (``comma``), with % or a currency.

    Words such as "unknown" are then missing. So are other cells, at most one in twenty; a warning names them.
    """
    pa = import_arrow()
    labels, codes = _dictionary(column)
    counts = np.bincount(codes.drop_null().to_numpy(), minlength=len(labels))
    values = [read_number(label, comma) for label in labels]
    is_number = np.array([value is not None for value in values], dtype=bool)
    strange = [i for i in np.flatnonzero(~is_number) if labels[i].lower() not in NO_NUMBER]

    share = counts[is_number].sum() / max(counts.sum(), 1)
    least_share = NUMBERS if strange else 0.5
    if not is_number.any() or share < least_share:
        return column

    if strange:
        example = labels[strange[0]]
        n_strange = int(counts[strange].sum())
        warnings.warn(
            f"column {name!r} is read as numbers: {n_strange} cells that are none, such as {example[:40]!r}, are "
            f"missing",
            stacklevel=2,
        )
    return pa.array(values, pa.float64()).take(codes)


def _dictionary(column: Any) -> tuple[list[str], Any]:
    """The different texts of a column, and for each cell the position of its text; null where it is missing."""
    encoded = column.dictionary_encode().combine_chunks()
    return encoded.dictionary.to_pylist(), encoded.indices


def _kind(column: Any) -> str:
    """Find what a column of texts holds: one of `PATTERNS`, or "text"."""
    if column.null_count == len(column):
        return "float"

    first_rows = column.slice(0, 100)  # they decide most columns
    for kind, pattern in PATTERNS.items():
        if _all_match(first_rows, pattern) and _all_match(column, pattern):
            return kind
    return "text"


def _all_match(column: Any, pattern: str) -> bool:
    """Whether all known cells match a pattern."""
    compute = import_arrow().compute
    matches = compute.all(compute.match_substring_regex(column, pattern)).as_py()
    return matches is not False  # None: no cell is known


# ---- ranges of rows -------------------------------------------------------------------------------------------------


def is_parquet(path: Path) -> bool:
    """True for a file name that ends as that of a Parquet file does."""
    return path.name.lower().endswith(PARQUET)


def visible_files(folder: Path) -> list[Path]:
    """The files in a folder and below, without hidden ones, in the order of their names."""
    return [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    ]


class TableRows:
    """The rows of Parquet files, one after the other as one table; a row group at a time is in memory."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files, self._groups = tuple(files), list[tuple[Path, Any, int]]()
        starts, parquet = [0], import_arrow().parquet
        schema: Any = None
        for path in files:
            with _naming(check_file(path)):
                file = parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)
                schema = file.schema_arrow if schema is None else schema
                if not file.schema_arrow.equals(schema, check_metadata=False):
                    raise ValueError(f"{path} has other columns than {files[0]}; give files of one form")
                for group in range(file.num_row_groups):
                    self._groups.append((path, file, group))
                    starts.append(starts[-1] + file.metadata.row_group(group).num_rows)
        self.n_rows, self._starts, self._empty = starts[-1], np.array(starts), schema.empty_table()
        self._last: tuple[int, Any] = (-1, None)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(_plain(self._empty, self._files[0]).column_names)

    def read(self, start: int, stop: int) -> Any:
        """Rows start to stop, without stop, as an Arrow table."""
        if not 0 <= start <= stop <= self.n_rows:
            raise ValueError(f"rows {start} to {stop} are not among the {self.n_rows} of {self._files[0]}")
        found = [self._empty]
        for i in np.flatnonzero((self._starts[:-1] < stop) & (self._starts[1:] > start)).tolist():
            first = max(start - int(self._starts[i]), 0)
            found.append(self._group(i).slice(first, stop - max(start, int(self._starts[i]))))
        with _naming(self._files[0]):
            table = import_arrow().concat_tables([part.cast(self._empty.schema) for part in found])
        return _plain(table, self._files[0])

    def take(self, rows: IntArray) -> Any:
        """Some rows, in increasing order, as an Arrow table."""
        parts = np.searchsorted(rows, self._starts)
        found = [self._empty]
        for i in np.flatnonzero(np.diff(parts)).tolist():
            mine = rows[parts[i] : parts[i + 1]] - self._starts[i]
            found.append(self._group(i).take(mine).cast(self._empty.schema))
        return _plain(import_arrow().concat_tables(found), self._files[0])

    def check(self) -> None:
        """Read everything once; `ValueError` names a file that is damaged."""
        for i in range(len(self._groups)):
            self._group(i)

    def _group(self, i: int) -> Any:
        """A row group; the last one is kept, since ranges mostly follow each other."""
        if self._last[0] != i:
            path, file, group = self._groups[i]
            with _naming(path):
                self._last = (i, file.read_row_group(group, use_threads=False))
        return self._last[1]


# ---- npz ------------------------------------------------------------------------------------------------------------


def array_sizes(path: Path) -> dict[str, int]:
    """The arrays of an npz file and their bytes, read from its directory alone."""
    try:
        with zipfile.ZipFile(check_file(path)) as archive:
            sizes = {entry.filename.removesuffix(".npy"): entry.file_size for entry in archive.infolist()}
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is not a readable npz file ({error})") from None
    check_size(path, sum(sizes.values()))
    return sizes


def read_arrays(path: Path, needed: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """Some arrays of an npz file; object arrays, damaged files and missing arrays are refused by name."""
    if not zipfile.is_zipfile(check_file(path)):
        raise ValueError(f"{path} is not an npz file with {', '.join(needed)}; fetch it again")
    sizes, arrays = array_sizes(path), dict[str, Any]()
    absent = [key for key in needed if key not in sizes]
    if absent:
        raise ValueError(
            f"{path} has no array {' and no '.join(map(repr, absent))}; expected {', '.join(needed)}, found "
            f"{', '.join(sizes) or 'nothing'}"
        )
    for key in (*needed, *(key for key in optional if key in sizes)):
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
                arrays[key] = content[key]
        except (*BAD_ZIP, *BAD_HEADER, OSError) as error:
            raise ValueError(f"{path} holds {key!r} in a form that is not read ({error}); fetch it again") from None
        if not isinstance(arrays[key], np.ndarray):
            raise ValueError(f"{path} holds {key!r}, which is no array; fetch it again")
    return arrays
