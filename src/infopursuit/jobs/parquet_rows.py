"""Any range of rows of Parquet files, in the memory of a few thousand rows however large the files are."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

AT_ONCE = 2_048
"""Rows that are decoded together."""


def import_parquet() -> tuple[Any, Any]:
    """pyarrow and its Parquet part."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(f"Parquet files need pyarrow; pip install 'infopursuit[tables]' ({error})") from None
    return pa, pq


class ParquetRows:
    """The rows of some files, one after the other, as if they were one table."""

    def __init__(self, files: Sequence[Path]) -> None:
        pa, pq = import_parquet()
        self.files = tuple(files)
        self._starts: list[int] = []  # first row of each group, with where it is
        self._groups: list[tuple[int, int]] = []
        self._open: tuple[int, Any] | None = None
        self._cursor: tuple[int, int, Iterator[Any], Any] | None = None
        schema: Any = None
        self.n_rows, holes = 0, set[str]()
        for number, path in enumerate(self.files):
            try:
                file = pq.ParquetFile(path)
            except (pa.ArrowException, OSError) as error:
                raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
            with file:
                if schema is not None and not file.schema_arrow.equals(schema, check_metadata=False):
                    raise ValueError(f"{path} has other columns than {self.files[0]}; give files of one form")
                schema = file.schema_arrow if schema is None else schema
                for group in range(file.metadata.num_row_groups):
                    facts = file.metadata.row_group(group)
                    self._starts.append(self.n_rows)
                    self._groups.append((number, group))
                    self.n_rows += facts.num_rows
                    holes |= _holes(facts)
        self.schema = schema
        # pandas makes floats of whole numbers with gaps; a part must not depend on where the gaps are
        self._floats = [f.name for f in schema or () if pa.types.is_integer(f.type) and f.name in holes]

    def frame(self, start: int, stop: int) -> Any:
        """Rows start to stop, without stop, as a pandas frame, of the kinds that the whole would have."""
        pa, _ = import_parquet()
        if not 0 <= start <= stop <= self.n_rows:
            raise ValueError(f"rows {start} to {stop} are not among the {self.n_rows} of {self.files[0]}")
        found, at = [], start
        while at < stop:
            group = bisect.bisect_right(self._starts, at) - 1
            end = self._starts[group + 1] if group + 1 < len(self._starts) else self.n_rows
            found.append(self._within(group, at - self._starts[group], min(stop, end) - at))
            at = min(stop, end)
        table = pa.concat_tables(found) if found else self.schema.empty_table()
        for name in self._floats:
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table.column(place).cast(pa.float64(), safe=False))
        frame = table.to_pandas()
        frame.columns = [str(name).strip() for name in frame.columns]
        return frame

    def _within(self, group: int, skip: int, n: int) -> Any:
        """n rows of a group after the first ``skip``. Where the last call left off it goes on: groups are decoded from
        their first row, and ranges mostly follow each other."""
        pa, pq = import_parquet()
        number, inside = self._groups[group]
        if self._open is None or self._open[0] != number:
            self._open = number, pq.ParquetFile(self.files[number], pre_buffer=False)
            self._cursor = None
        if self._cursor is None or self._cursor[0] != group or self._cursor[1] > skip:
            batches = self._open[1].iter_batches(batch_size=AT_ONCE, row_groups=[inside], use_threads=False)
            self._cursor = group, 0, batches, None
        _, at, batches, batch = self._cursor
        taken = []
        try:
            while n:
                if batch is None or not batch.num_rows:
                    batch = next(batches)
                if at + batch.num_rows <= skip:
                    at, batch = at + batch.num_rows, None
                    continue
                batch = batch.slice(max(skip - at, 0))
                at = max(at, skip)
                some = batch.slice(0, n)
                taken.append(some)
                batch, at, n = batch.slice(some.num_rows), at + some.num_rows, n - some.num_rows
        except StopIteration:
            raise ValueError(f"{self.files[number]} has fewer rows than it says; it is damaged") from None
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{self.files[number]} is damaged: {error}") from None
        self._cursor = group, at, batches, batch
        return pa.Table.from_batches(taken, self._open[1].schema_arrow)


def _holes(group: Any) -> set[str]:
    """Columns of a group that may have empty cells; those that do not say count as such."""
    found = set()
    for i in range(group.num_columns):
        column = group.column(i)
        known = column.is_stats_set and column.statistics.has_null_count
        if not known or column.statistics.null_count:
            found.add(column.path_in_schema)
    return found
