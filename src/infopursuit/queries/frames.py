"""Tables of numpy, pandas, polars and pyarrow, read as named columns of numbers, dates or labels."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np

from infopursuit.queries.numbers import NO_NUMBER, format_number, read_dates, read_number
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

Kind = Literal["number", "yes_no", "date", "text"]
MISSING_TYPES = ("NoneType", "NAType", "NaTType")
"""The types of None, pandas.NA and NaT; by name, since pandas need not be installed."""
SHARES = {"no": 0.0, "false": 0.0, "n": 0.0, "f": 0.0, "yes": 1.0, "true": 1.0, "y": 1.0, "t": 1.0, "sometimes": 0.5}
"""How often a yes/no question is answered with yes, in words."""
MOSTLY = 0.9
"""Share of numbers among the cells of a column of texts from which on it was probably meant to be one of numbers."""


def is_missing(value: Any) -> bool:
    """True for None, NaN, NaT and pandas.NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing(0)
    (True, True, False, False)
    """
    if type(value).__name__ in MISSING_TYPES:
        return True
    return isinstance(value, (float, np.floating, Decimal, np.datetime64)) and bool(value != value)


@dataclass(frozen=True)
class Column:
    """One column: numbers with NaN where one is missing, or a label for each row. Dates are microseconds since 1970."""

    name: str
    kind: Kind
    values: FloatArray | None = None  # (B,) of numbers, yes/no as 1 and 0, and dates
    codes: IntArray | None = None  # (B,) of text: a position in labels, -1 where it is missing
    labels: tuple[str, ...] = ()
    ordered: bool = False  # True: the labels came with an order of their own

    def numbers(self) -> FloatArray:
        """(B,) the column as finite numbers; text is parsed."""
        if self.kind == "date":
            raise ValueError(f"column {self.name!r} holds dates; it held numbers in training")
        numbers = self._parsed(_parse_number, "a number") if self.values is None else self.values
        infinite = np.isinf(numbers)
        if infinite.any():
            row = int(infinite.argmax())
            raise ValueError(f"column {self.name!r}, row {row} is {numbers[row]}; give finite numbers, or NaN")
        return numbers

    def dates(self) -> FloatArray:
        """(B,) the column as microseconds since 1970; text is parsed."""
        if self.values is None:
            return self._parsed(lambda label: float(_microseconds(np.array(read_dates([label])))[0]), "an ISO date")
        if self.kind != "date" and not np.isnan(self.values).all():
            raise ValueError(f"column {self.name!r} holds numbers; it held dates in training")
        return self.values

    def text(self) -> tuple[IntArray, tuple[str, ...]]:
        """(B,) codes, -1 where it is missing, and the labels that they stand for; numbers are written out."""
        if self.codes is not None:
            return self.codes, self.labels
        codes, distinct = self.coded()
        write: Callable[[float], str] = (lambda v: str(v == 1)) if self.kind == "yes_no" else format_number
        return codes, tuple(write(float(v)) for v in distinct)

    def coded(self) -> tuple[IntArray, Any]:
        """As `text`, with numbers as they are: to write them out takes longer than all else that is done with them."""
        if self.codes is not None:
            return self.codes, self.labels
        assert self.values is not None
        distinct, codes = np.unique(self.values, return_inverse=True)
        return np.where(np.isnan(self.values), UNKNOWN, codes), distinct

    def _parsed(self, parse: Callable[[str], float], what: str) -> FloatArray:
        assert self.codes is not None
        numbers = np.full(len(self.labels) + 1, np.nan)  # the last one is where code -1 points
        for code, label in enumerate(self.labels):
            try:
                numbers[code] = parse(label)
            except ValueError:
                rows = np.flatnonzero(self.codes == code)
                if len(rows):  # a label may be declared and never occur
                    where = f"column {self.name!r}, row {rows[0]}"
                    raise ValueError(f"{where} is {label!r}; expected {what}, or None for not known") from None
        return np.asarray(numbers[self.codes])


@dataclass(frozen=True)
class Table:
    """The columns of a table, read one at a time when they are asked for."""

    names: tuple[str, ...]
    named: bool  # False: an array, whose columns are known by their position only
    n_rows: int
    raw: Callable[[int], Any]  # position -> a narwhals Series, or an array (B,)

    def column(self, position: int) -> Column:
        """The column at a position."""
        name, raw = self.names[position], self.raw(position)
        if not isinstance(raw, np.ndarray):
            return _from_series(name, raw)
        column = _from_array(name, raw)
        # In an array of strings, numbers became text only because a neighbouring column is text.
        if raw.dtype.kind in "US" and _all_parse(column.labels):
            return Column(name, "number", column.numbers())
        return column


def as_shares(column: Column) -> FloatArray | None:
    """(B,) how often the answer is yes, by words such as "no", "yes" and "sometimes" or by numbers from 0 to 1; NaN
    where it is not known, None when the column has anything else.

    >>> as_shares(Column("fur", "text", None, np.array([0, 1, 2, -1]), ("0.7", "No", "sometimes"))).tolist()
    [0.7, 0.0, 0.5, nan]
    """
    if column.kind == "date":
        return None
    if column.values is not None:
        shares = column.values
    else:
        codes, labels = column.text()
        try:
            known = [SHARES[w] if (w := label.strip().lower()) in SHARES else float(w) for label in labels]
        except ValueError:
            return None
        shares = np.array([*known, np.nan])[codes]
    inside = np.isnan(shares) | ((shares >= 0) & (shares <= 1))
    return np.asarray(shares, dtype=np.float64) if inside.all() else None


def is_frame(X: Any) -> bool:
    """True for a table whose columns have names: pandas, polars, pyarrow."""
    return hasattr(type(X), "columns") or hasattr(type(X), "column_names")


def read_table(X: Any, names: Sequence[str] | None = None) -> Table:
    """A table from anything with rows and columns. names: of the columns of an array; a frame has its own.

    >>> table = read_table(np.array([[1.0, np.nan], [2.0, 3.0]]))
    >>> table.names, table.column(1).numbers().tolist()
    (('x0', 'x1'), [nan, 3.0])
    """
    if hasattr(X, "tocsr"):
        raise TypeError("X is a sparse matrix; use ip.queries.concepts for yes/no columns, or give columns X.toarray()")
    if hasattr(type(X), "collect"):
        raise TypeError("X is a lazy frame; give X.collect()")
    if is_frame(X):
        if names is not None:
            raise ValueError("names is for arrays; this table has names of its own, rename its columns instead")
        labels = _check_names(X.column_names if hasattr(X, "column_names") else X.columns, "X")
        try:
            import narwhals as nw
        except ImportError:
            raise ImportError(f"X is a {type(X).__name__}; to read it, run `pip install infopursuit[tables]`") from None
        frame = nw.from_native(X, eager_only=True)
        return Table(labels, True, len(frame), lambda j: frame[:, j])
    try:
        array = np.asarray(X.detach() if hasattr(X, "detach") else X)
    except ValueError as error:
        raise ValueError(f"X must have rows of equal length; {error}") from None
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        array = np.array(X, dtype=object)  # a list of mixed rows, whose numbers numpy would turn into text
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has complex numbers; give real ones")
    if array.ndim != 2:
        raise ValueError(
            f"X has shape {array.shape}; expected 2 dimensions, (inputs, columns). Reshape your data with "
            f"X.reshape(-1, 1) for one column, or use ip.queries.patches for images and ip.queries.words for texts"
        )
    if names is not None and len(names) != array.shape[1]:
        raise ValueError(f"names has {len(names)} entries, but X has {array.shape[1]} columns; give one for each")
    labels = _check_names([f"x{j}" for j in range(array.shape[1])] if names is None else names, "names")
    return Table(labels, False, len(array), lambda j: array[:, j])


def _check_names(names: Sequence[Any], where: str) -> tuple[str, ...]:
    labels = tuple(str(name) for name in names)
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    if repeated:
        raise ValueError(f"{where} has more than one column {repeated[0]!r}; column names must differ, rename one")
    return labels


def _from_series(name: str, series: Any) -> Column:
    """A column of a data frame, by its type."""
    import narwhals as nw

    dtype, native = series.dtype, series.to_native()
    if dtype.is_integer() or dtype.is_float():  # not cast, as pyarrow refuses integers beyond 2**53
        return Column(name, "number", _doubled(series.to_numpy()))
    if dtype in (nw.Boolean, nw.Decimal):
        return Column(name, "yes_no" if dtype == nw.Boolean else "number", series.cast(nw.Float64).to_numpy())
    if dtype in (nw.Date, nw.Datetime):
        return Column(name, "date", series.dt.timestamp("us").cast(nw.Float64).to_numpy())
    if dtype == nw.Duration:
        raise TypeError(f"column {name!r} has dtype {dtype}; give durations as a number of seconds or days")
    if dtype == nw.Enum:  # categories with an order, as pandas and polars have them
        return _from_labels(name, series.to_list(), dtype.categories)
    if dtype == nw.Categorical:
        ordered = getattr(getattr(native, "type", None), "ordered", False)  # pyarrow
        return _from_labels(name, series.to_list(), native.combine_chunks().dictionary.to_pylist() if ordered else None)
    return _from_objects(name, series.to_list())


def _from_array(name: str, array: Any) -> Column:
    """A column of an array, by its type."""
    kind = array.dtype.kind
    if kind in "biuf":
        return Column(name, "yes_no" if kind == "b" else "number", _doubled(array))
    if kind == "M":
        return Column(name, "date", _microseconds(array))
    if kind not in "OUST":
        raise TypeError(f"column {name!r} has dtype {array.dtype}; give numbers, yes/no values, dates or text")
    return _from_objects(name, array.tolist())


def _from_objects(name: str, items: list[Any]) -> Column:
    """A column of Python objects, by what they are."""
    sorts = {kind: _sort(kind) for kind in set(map(type, items))}
    present = set(sorts.values()) - {"missing"}
    if "number" in present and len(present) > 1 and all(x != x for x in items if sorts[type(x)] == "number"):
        present.discard("number")  # NaN among texts is only their gap
    if "" in present:
        row = next(i for i, x in enumerate(items) if not sorts[type(x)])
        wrong = f"column {name!r}, row {row} is {items[row]!r} ({type(items[row]).__name__})"
        expected = "a string, a number, a date, True, False or None"
        raise TypeError(f"{wrong}; every value of this argument must be {expected}")  # as scikit-learn has it
    if present <= {"number", "yes_no"}:
        numbers = [np.nan if sorts[type(x)] == "missing" else float(x) for x in items]
        return Column(name, "yes_no" if present == {"yes_no"} else "number", np.array(numbers, dtype=np.float64))
    if present == {"date"}:
        return Column(name, "date", _microseconds(np.array([_naive(x) for x in items], dtype="datetime64[us]")))
    if "date" in present:
        raise TypeError(f"column {name!r} mixes dates with other values; give dates only, or text only")
    return _from_labels(name, items)


def _from_labels(name: str, items: list[Any], order: Sequence[Any] | None = None) -> Column:
    """A column of categories. order: all of them in their own order, where they have one."""
    written = {item: _label(item) for item in set(items)}
    known = {label for label in written.values() if label is not None}
    labels = sorted(known) if order is None else [label for each in order if (label := _label(each)) is not None]
    place = {label: code for code, label in enumerate(labels)}
    code_of = {item: UNKNOWN if label is None else place[label] for item, label in written.items()}
    codes = np.fromiter(map(code_of.__getitem__, items), np.int64, len(items))
    return Column(name, "text", None, codes, tuple(labels), order is not None)


def _sort(kind: type) -> str:
    if kind.__name__ in MISSING_TYPES:
        return "missing"
    if issubclass(kind, (bool, np.bool_)):
        return "yes_no"
    if issubclass(kind, (Real, Decimal)):
        return "number"
    if issubclass(kind, (str, bytes)):
        return "text"
    return "date" if issubclass(kind, (date, np.datetime64)) else ""


def _label(item: Any) -> str | None:
    """How a category is called; None where nothing is there (an empty cell of a text file is an empty string)."""
    if is_missing(item):
        return None
    if _sort(type(item)) == "number":
        return format_number(float(item))
    text = item.decode() if isinstance(item, bytes) else str(item)
    return text if text.strip() else None


def warn_of_numbers(column: Column, few: int) -> None:
    """Warn where nearly all cells of a column of texts are numbers, more than ``few`` different ones: cells that are
    none make categories of it."""
    codes, labels = column.text()
    numeric = np.array([_all_parse([label]) for label in labels], dtype=bool)
    cells = np.bincount(codes[codes >= 0], minlength=len(labels))
    share = cells[numeric].sum() / max(cells.sum(), 1)
    if MOSTLY <= share < 1 and numeric.sum() > few:
        other = labels[int(np.where(numeric, -1, cells).argmax())]
        warnings.warn(
            f"column {column.name!r} is asked about as categories, although {cells[numeric].sum():,} of "
            f"{cells.sum():,} cells are numbers: others are such as {other[:40]!r}; make those missing (None, NaN) to "
            f"ask for the number",
            stacklevel=2,
        )


def _parse_number(label: str) -> float:
    found = np.nan if label.strip().lower() in NO_NUMBER else read_number(label)
    return float(label) if found is None else found


def _all_parse(labels: Sequence[str]) -> bool:
    try:
        return all(np.isfinite(float(label)) or label.strip().lower() == "nan" for label in labels)
    except ValueError:
        return False


def _doubled(array: Any) -> FloatArray:
    """Numbers in double precision; single ones as the shortest decimal that stands for them: 33.6, not 33.59999847."""
    found = array.astype(np.float64)
    if array.dtype != np.float32:
        return np.asarray(found)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        power = 10.0 ** np.clip(6 - np.floor(np.log10(np.abs(found))), -300, 300)
        short = np.round(found * power) / power
        return np.asarray(np.where(short.astype(np.float32) == array, short, found))


def _microseconds(moments: Any) -> FloatArray:
    exact = moments.astype("datetime64[us]")
    return np.where(np.isnat(exact), np.nan, exact.astype(np.int64).astype(np.float64))


def _naive(moment: Any) -> Any:
    """A moment without its time zone, in UTC: numpy knows no zones."""
    if is_missing(moment):
        return np.datetime64("NaT")
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return moment.astimezone(UTC).replace(tzinfo=None)
    return moment
