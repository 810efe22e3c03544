"""Reading data files: tables (CSV, TSV, Parquet, Arrow, Feather, JSON lines), npz archives and texts.

Files are data and may come from strangers: nothing in them is executed, and size limits are checked before and while
they are read. Tables become Arrow tables; `read_frame` wraps these, and data frames of any library, with narwhals.
"""

from __future__ import annotations

import bisect
import csv
import gzip
import io
import lzma
import math
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, cast

import numpy as np

from infopursuit.files import replacing
from infopursuit.progress import Progress

MAX_BYTES = 8 * 2**30
"""Of a data file, unpacked."""
MAX_LINE = 64 * 2**20
"""Bytes of one line of a text."""
MAX_COLUMNS = 200_000
MAX_CELLS = 2**28
"""Rows times columns that a Parquet file may claim: run-length coding packs a billion rows into a few bytes."""

CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
NPZ = (".npz",)
GIVE = "give a .csv, .tsv, .parquet, .feather, .jsonl"

BLOCK, BATCH = 2**22, 2_048
"""Bytes of text that are parsed together, and rows that are decoded together."""
NULLS = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
]
"""Cells of a text table that are missing values, as in pandas."""
PATTERNS = {
    "bool": r"^(True|TRUE|true|False|FALSE|false)$",
    "int": r"^\s*[+-]?\d{1,18}\s*$",  # longer ones are identifiers, which floats would merge
    "float": r"^\s*[+-]?((\d{1,18}|\d+\.\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))\s*$",
}

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
        import pyarrow.json
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
        raise ValueError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None
    except (pa.ArrowException, csv.Error, ValueError, OSError, EOFError, LookupError, TypeError, AttributeError,
            OverflowError, RuntimeError) as error:  # fmt: skip
        own = isinstance(error, (ValueError, FileNotFoundError)) and not isinstance(error, pa.ArrowException)
        if own and str(path) in str(error):
            raise
        raise ValueError(f"{path} cannot be read as a table: {' '.join(str(error).split())[:300]}") from None


# ---- texts ----------------------------------------------------------------------------------------------------------


def open_text(path: Path) -> io.BufferedReader:
    """The bytes of a UTF-8 text, decompressed if its name ends in ``.gz``; the limits are checked while it is read."""
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
    return path.name.lower().endswith((*CSV, *PARQUET, *ARROW, *JSON_LINES))


def read_frame(source: Any) -> Any:
    """A table as a narwhals ``DataFrame`` whose columns are named by texts.

    source: a table file, a folder of Parquet files, or a pandas, polars, pyarrow or other data frame.
    """
    if isinstance(source, (str, Path)):
        source = _read_folder(Path(source).expanduser())
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
    """Some rows, by their positions, of a data frame of any library, a list or an array."""
    if isinstance(X, (list, tuple)):
        return [X[i] for i in rows]
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        return X[rows]
    return read_frame(X)[np.asarray(rows)].to_native()


def _read_folder(path: Path) -> Any:
    if not path.is_dir():
        return _read_file(path)
    files = parquet_files(path)
    if not files:
        raise ValueError(f"{path} is a folder without Parquet files; give a file")
    for file in files:
        _check_parquet(file)
    rows = TableRows(files)
    return rows.read(0, rows.n_rows)


def _read_file(path: Path) -> Any:
    if not is_table_file(path):
        raise ValueError(f"{path} ends in {path.suffix!r}; {GIVE} file")
    check_size(check_file(path), path.stat().st_size)
    pa, lower = import_arrow(), path.name.lower()
    with _naming(path):
        if lower.endswith(CSV):
            return _read_csv(path)
        if lower.endswith(JSON_LINES):
            with open_text(path) as stream:
                return _plain(pa.json.read_json(stream, read_options=pa.json.ReadOptions(use_threads=False)), path)
        if lower.endswith(ARROW):
            return _read_arrow(path)
        _check_parquet(path)
        # pre_buffer=False: a damaged footer may claim chunks of any size
        return _plain(pa.parquet.ParquetFile(path, pre_buffer=False).read(use_threads=False), path)


def _plain(table: Any, path: Path) -> Any:
    """The table without the index that pandas stores beside the columns, and with trimmed names."""
    pa, about = import_arrow(), table.schema.pandas_metadata or {}
    index = [name for name in about.get("index_columns", ()) if isinstance(name, str) and name in table.column_names]
    table = table.drop_columns(index)
    nested = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    if nested and path.name.lower().endswith(JSON_LINES):
        raise ValueError(f"{path} has the column {nested[0]!r} of lists or objects; give plain values")
    names = [str(name).strip() for name in table.column_names]
    _check_names(names, path)
    return table.rename_columns(names).replace_schema_metadata(None)


def _read_arrow(path: Path) -> Any:
    pa, size = import_arrow(), 0
    with pa.OSFile(str(path)) as stream:
        try:
            reader = pa.ipc.open_file(stream)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        except pa.ArrowInvalid:  # not a file but a stream
            stream.seek(0)
            batches = reader = pa.ipc.open_stream(stream)
        kept = []
        for batch in batches:
            size += batch.nbytes
            check_size(path, size)
            kept.append(batch)
        return _plain(pa.Table.from_batches(kept, reader.schema), path)


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


def _read_csv(path: Path) -> Any:
    """A CSV file with the type of a column inferred from all of its cells."""
    pa, head = import_arrow(), _CsvHead(path)
    batches = list(head.batches())
    schema = head.schema(batches)
    return pa.Table.from_batches([_convert(batch, schema) for batch in batches], schema)


def stage_csv(path: Path, file: Path, *, progress: bool | None = None) -> None:
    """Write a CSV file as Parquet, of which any part can be read, in bounded memory; types as in `read_frame`.

    The text is read twice: whether a column holds numbers is only known at its end.
    """
    pa = import_arrow()
    with _naming(path):
        head = _CsvHead(path)
        with Progress(f"looking through {path.name}, rows", 0, show=progress) as shown:
            schema = head.schema(head.batches(shown))
        with (
            Progress(f"preparing {path.name}, rows", 0, show=progress) as shown,
            replacing(file) as beside,
            beside.open("wb") as stream,
            pa.parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
        ):
            for batch in head.batches(shown):
                writer.write_batch(_convert(batch, schema))


class _CsvHead:
    """The separator and the column names of a CSV file; its rows as batches of texts."""

    def __init__(self, path: Path) -> None:
        self.path, self.separator = path, "\t"
        if ".tsv" not in path.name.lower():  # spreadsheets of many countries write semicolons
            with open_text(path) as stream:
                outside = b"".join(stream.readline(2**20).split(b'"')[::2])
            self.separator = ";" if outside.count(b";") > outside.count(b",") else ","
        self.skipped, names = 0, list[str]()
        for names in self._records():
            self.skipped += 1
            if names:
                break
        if not names:
            raise ValueError(f"{path} cannot be read as a table: no columns in its first line")
        self.names = [name.strip() or f"Unnamed: {i}" for i, name in enumerate(names)]
        _check_names(self.names, path)

    def batches(self, progress: Progress | None = None) -> Iterator[Any]:
        """Rows as texts, by pyarrow; what it refuses, such as short rows, by Python's csv module."""
        pa, n_rows = import_arrow(), 0
        read = pa.csv.ReadOptions(
            column_names=self.names, skip_rows_after_names=self.skipped, block_size=BLOCK, use_threads=False
        )
        parse = pa.csv.ParseOptions(delimiter=self.separator, newlines_in_values=True)
        convert = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(self.names, pa.string()), null_values=NULLS, strings_can_be_null=True
        )
        try:
            with open_text(self.path) as stream:
                for batch in pa.csv.open_csv(stream, read, parse, convert):
                    n_rows += batch.num_rows
                    yield batch
                    if progress is not None:
                        progress.advance(batch.num_rows)
        except pa.ArrowInvalid:
            yield from self._slow_batches(n_rows)

    def _slow_batches(self, n_before: int) -> Iterator[Any]:
        pa, width, nulls = import_arrow(), len(self.names), set(NULLS)
        records = self._records()
        rows = islice((row for row in islice(records, self.skipped, None) if row), n_before, None)
        while some := list(islice(rows, max(1, min(20_000, 4_000_000 // width)))):
            for row in some:
                if len(row) > width:
                    raise ValueError(
                        f"{self.path} has a row of {len(row)} cells, more cells than its first line has names ({width})"
                    )
                row.extend([""] * (width - len(row)))
            columns = ([None if cell in nulls else cell for cell in column] for column in zip(*some, strict=True))
            yield pa.record_batch([pa.array(column, pa.string()) for column in columns], names=self.names)

    def _records(self) -> Iterator[list[str]]:
        with open_text(self.path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
            yield from csv.reader(text, delimiter=self.separator, strict=True)

    def schema(self, batches: Any) -> Any:
        """The types of the columns: the narrowest that holds every cell of all batches."""
        pa = import_arrow()
        kinds: list[set[str]] = [set() for _ in self.names]
        for batch in batches:
            for found, column in zip(kinds, batch.columns, strict=True):
                if "text" not in found and column.null_count < len(column):
                    found.add(_kind(column))
        types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "text": pa.string()}
        chosen = [
            ("int" if found == {"int"} else "float") if found <= {"int", "float"} else found.pop() if len(found) == 1
            else "text"
            for found in kinds
        ]  # fmt: skip
        return pa.schema([(name, types[kind]) for name, kind in zip(self.names, chosen, strict=True)])


def _kind(column: Any) -> str:
    """What a column of texts holds: "bool", "int", "float" or "text"."""
    compute = import_arrow().compute
    for kind, pattern in PATTERNS.items():
        first = compute.match_substring_regex(column.slice(0, 100), pattern)
        if (
            compute.all(first).as_py() is not False
            and compute.all(compute.match_substring_regex(column, pattern)).as_py()
        ):
            return kind
    return "text"


def _convert(batch: Any, schema: Any) -> Any:
    pa = import_arrow()
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        if pa.types.is_boolean(field.type):
            column = pa.compute.equal(pa.compute.utf8_lower(column), "true")
        elif not pa.types.is_string(field.type):
            column = pa.compute.utf8_ltrim(pa.compute.utf8_trim_whitespace(column), "+").cast(field.type)
        columns.append(column)
    return pa.record_batch(columns, schema=schema)


# ---- ranges of rows -------------------------------------------------------------------------------------------------


def has_ranges(path: Path) -> bool:
    """Whether `TableRows` reads a file: Parquet and Arrow files, but no Arrow streams."""
    if not path.name.lower().endswith(ARROW):
        return path.name.lower().endswith(PARQUET)
    with path.open("rb") as stream:
        return stream.read(6) == b"ARROW1"


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files in a folder and below, without hidden ones."""
    return [file for file in visible_files(folder) if file.name.lower().endswith(PARQUET)]


def visible_files(folder: Path) -> list[Path]:
    """The files in a folder and below, without hidden ones, in the order of their names."""
    return [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    ]


class TableRows:
    """The rows of Parquet or Arrow files, one after the other as one table; any range is read in bounded memory."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files, self._starts, self._groups = tuple(files), list[int](), list[tuple[Path, int]]()
        self.n_rows, self.schema = 0, None
        for file in files:
            with _naming(check_file(file)):
                found, sizes = self._open(file)[:2]
                self.schema = found if self.schema is None else self.schema
                if not found.equals(self.schema, check_metadata=False):
                    raise ValueError(f"{file} has other columns than {files[0]}; give files of one form")
                for group, size in enumerate(sizes):
                    self._starts.append(self.n_rows)
                    self._groups.append((file, group))
                    self.n_rows += size
        self._stream: Iterator[tuple[int, Any]] = iter(())
        self._at, self._batch = self.n_rows, None  # the batch that was read last, and its first row

    @staticmethod
    def _open(file: Path) -> tuple[Any, list[int], Callable[[int], Iterable[Any]]]:
        """The schema, the rows of each group, and a function that reads a group in batches."""
        pa = import_arrow()
        if file.name.lower().endswith(PARQUET):
            # a scanner of pyarrow.dataset would hold whole row groups
            parquet = pa.parquet.ParquetFile(file, pre_buffer=False, buffer_size=2**16)
            sizes = [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)]
            options = {"batch_size": BATCH, "use_threads": False}
            return parquet.schema_arrow, sizes, lambda i: parquet.iter_batches(row_groups=[i], **options)
        arrow = pa.ipc.open_file(pa.memory_map(str(file)))
        sizes = [arrow.get_batch(i).num_rows for i in range(arrow.num_record_batches)]
        return arrow.schema, sizes, lambda i: [arrow.get_batch(i)]

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._table([]).column_names)

    def read(self, start: int, stop: int) -> Any:
        """Rows start to stop, without stop, as an Arrow table. Consecutive ranges decode every row once."""
        if not 0 <= start <= stop <= self.n_rows:
            raise ValueError(f"rows {start} to {stop} are not among the {self.n_rows} of {self._files[0]}")
        if self._batch is None or not self._at <= start <= self._at + self._batch.num_rows:
            self._stream, self._batch = self._batches(start), None
        found: list[Any] = []
        with _naming(self._files[0]):
            while start < stop:
                if self._batch is None or self._at + self._batch.num_rows <= start:
                    try:
                        self._at, self._batch = next(self._stream)
                    except StopIteration:
                        raise ValueError(f"{self._files[0]} has fewer rows than it says; it is damaged") from None
                    continue
                found.append(self._batch.slice(start - self._at, stop - start))
                start += found[-1].num_rows
        return self._table(found)

    def _batches(self, start: int) -> Iterator[tuple[int, Any]]:
        """Batches with their first rows, from the row group of a row on."""
        opened = None
        for i in range(max(bisect.bisect_right(self._starts, start) - 1, 0), len(self._groups)):
            (file, group), at = self._groups[i], self._starts[i]
            if file != opened:
                opened, read = file, self._open(file)[2]
            for batch in read(group):
                yield at, batch
                at += batch.num_rows

    def _table(self, batches: list[Any]) -> Any:
        return _plain(import_arrow().Table.from_batches(batches, self.schema), self._files[0])


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
    try:
        sizes = array_sizes(path)
        absent = [key for key in needed if key not in sizes]
        if absent:
            raise ValueError(
                f"{path} has no array {' and no '.join(map(repr, absent))}; expected {', '.join(needed)}, found "
                f"{', '.join(sizes) or 'nothing'}"
            )
        wanted = [*needed, *(key for key in optional if key in sizes)]
        with zipfile.ZipFile(path) as archive:
            for key in wanted:
                _check_array(path, archive, key)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
            return {key: content[key] for key in wanted}
    except (*BAD_ZIP, OSError, KeyError) as error:
        raise ValueError(f"{path} is not a readable npz file ({error}); fetch it again") from None
    except ValueError as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path} is damaged ({error}); fetch it again") from None


def _check_array(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Refuse an array that claims more bytes than the file has, or holds Python objects."""
    entry = archive.getinfo(f"{name}.npy")
    with archive.open(entry) as stream:
        try:
            version = np.lib.format.read_magic(stream)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
            shape, _, dtype = read(stream)
        except BAD_HEADER as error:
            raise ValueError(f"{path} holds {name!r} in a form that is not read ({str(error)[:200]})") from None
        if dtype.hasobject:
            what = "objects of Python's may be code; save numbers or texts"
            raise ValueError(f"{path} holds {name!r} in a form that is not read: {what}")
        claimed, size = math.prod(int(n) for n in shape) * dtype.itemsize, entry.file_size
        if min((int(n) for n in shape), default=0) < 0 or claimed > size - stream.tell():
            shown = str(shape)[:80]
            raise ValueError(f"{path} is damaged: {name!r} claims {claimed} bytes in the shape {shown}, but has {size}")


def stage_array(path: Path, name: str, file: Path) -> None:
    """Write an array of an npz file as a file of its own, of which any part can be read."""
    with zipfile.ZipFile(path) as archive:
        _check_array(path, archive, name)
        with archive.open(f"{name}.npy") as packed, replacing(file) as beside, beside.open("wb") as stream:
            shutil.copyfileobj(packed, stream, 2**20)
