"""Columns of a table: what is this number (or is it greater than a threshold), which category is it, yes or no."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from infopursuit.queries.data_checks import identifier, warn_of_excluded
from infopursuit.queries.frames import Column, Table, as_shares, is_missing, read_table, warn_of_numbers
from infopursuit.queries.numbers import NumberScale, choose_thresholds, format_number
from infopursuit.queries.queryset import (
    YES_NO,
    QuerySet,
    Recipe,
    check_spec,
    near,
    shown,
)
from infopursuit.queries.wording import reword
from infopursuit.support.checks import check_weights, one_of, whole_number
from infopursuit.support.progress import Progress
from infopursuit.support.types import UNKNOWN, Answer, FloatArray, IntArray, Number, Observed

DAY = 86_400_000_000  # microseconds
YES_NO_WORDS = ({"no", "yes"}, {"false", "true"}, {"n", "y"}, {"f", "t"})
"""Pairs of categories that answer the column's own name: "smoker?", "yes"."""
MISSING, BELOW = "missing", -1e29
"""The answer of a missing cell; and a threshold below all numbers, which single precision has."""
MAX_WHOLE = 8
"""A column of numbers with up to so many different ones, all of them whole, has them as its categories."""
MAX_LABEL = 10_000
"""Characters of a category at the most: it is shown in every question, explanation and file."""


class Columns(QuerySet):
    """Queries about the columns of a table; every column that is asked about is one variable. Use `columns`.

    columns: the names of all columns of the training table, in its order. fields: what is asked about those that carry
    a question. named: True finds columns by name, as the training table had names; False finds them by position.
    """

    kind = "columns"
    spec: ClassVar = {"columns": "texts", "fields": "any", "named": "flag", "sentences": "texts"}
    tabular = True

    def __init__(
        self, columns: Sequence[str], fields: Sequence[Field], *, named: bool, sentences: Sequence[str] | None = None
    ) -> None:
        self.columns, self.fields, self.named = tuple(columns), tuple(fields), named
        asked = [(variable, query) for variable, field in enumerate(self.fields) for query in field.queries()]
        sizes = [field.size for field in self.fields]
        cells = np.full((len(asked), 1, max(sizes)), UNKNOWN)
        for index, (_, query) in enumerate(asked):
            cells[index, 0, : len(query.cells)] = query.cells
        super().__init__(
            names=[query.name for _, query in asked],
            sizes=sizes,
            variables=np.array([variable for variable, _ in asked])[:, None],
            cells=cells,
            sentences=sentences if sentences is not None else [query.sentence for _, query in asked],
            choices=[query.choices for _, query in asked],
        )
        self._asked_fields = [self.fields[variable] for variable, _ in asked]  # of each query
        self.number_labels = {
            query: field.categories
            for query, field in enumerate(self._asked_fields)
            if isinstance(field, CategoryField) and field.numbers and not field.yes_no
        }

    @cached_property
    def _scales(self) -> tuple[NumberScale | None, ...]:
        return tuple(f if isinstance(f, NumberField) and f.representatives else None for f in self._asked_fields)

    def scale(self, query: int) -> NumberScale | None:
        """The numbers that a column asked whole is answered with."""
        return self._scales[query]

    def read(self, X: Any) -> Observed:
        """(B, A) the bin or category of each column, -1 where it is missing or a category new since training; and the
        numbers of the columns that are asked whole.

        Frames are matched by name, whatever the order of their columns; arrays by position.
        """
        table = read_table(X)
        positions = self._positions(table)
        values = np.empty((table.n_rows, len(self.fields)), dtype=np.int64)
        numbers = np.full(values.shape, np.nan) if any(scale is not None for scale in self._scales) else None
        for variable, field in enumerate(self.fields):
            column = table.column(positions[field.name])
            values[:, variable] = field.encode(column)
            if numbers is not None and isinstance(field, NumberField) and field.representatives:
                numbers[:, variable] = field.numbers(column)
        return Observed(values, numbers)

    def unseen(self, X: Any) -> dict[str, tuple[int, str]]:
        """How many cells of each column hold a category that training did not have, and the first of these."""
        table, found = read_table(X), dict[str, tuple[int, str]]()
        positions = self._positions(table)
        for field in self.fields:
            if isinstance(field, CategoryField) and not (field.numbers or isinstance(field, YesNoField)):
                column = table.column(positions[field.name])
                codes, labels = column.text()
                new = np.flatnonzero((field.encode(column) == UNKNOWN) & (codes != UNKNOWN))
                if len(new):
                    found[field.name] = len(new), labels[codes[new[0]]]
        return found

    def known_answers(self, key: str | int, value: Any) -> list[tuple[int, Answer | Number]]:
        """The answers to all queries about a column, from a value of it; or those of one query."""
        queries, name = self.find(key, "known"), key if isinstance(key, str) else ""
        field = next((field for field in self.fields if field.name == name), None)
        if field is None or is_missing(value):
            return super().known_answers(key, value)
        try:
            column = read_table(np.array([[value]], dtype=object), [name]).column(0)
            cell, numeric = int(field.encode(column)[0]), isinstance(field, NumberField) and bool(field.representatives)
        except (TypeError, ValueError):
            cell, numeric = UNKNOWN, False
        if numeric or (cell == UNKNOWN and len(queries) == 1):
            # which has the number, or refuses the value: in a table 1 is a category named 1, not the index of one
            said = value if numeric or not isinstance(value, (int, np.integer)) else str(value)
            return [(queries[0], self.to_answer(queries[0], said))]
        if cell == UNKNOWN:
            raise ValueError(f"known[{key!r}] is {value!r:.80}, which is no value of this column; leave it out")
        return [(query, (int(self.query_cells[query, 0, cell]),)) for query in queries]

    @property
    def topics(self) -> list[tuple[str, str]]:
        """For each query its column, and the threshold or category that it asks for."""
        return [(field.name, query.shown) for field in self.fields for query in field.queries()]

    def to_spec(self) -> dict[str, Any]:
        return {**super().to_spec(), "fields": [field_to_spec(field) for field in self.fields]}

    @classmethod
    def from_spec(cls, spec: dict[str, Any], functions: Any = None) -> Self:
        found = check_spec(spec, cls.spec)
        fields = [field_from_spec(field) for field in found.pop("fields")]
        strange = [field.name for field in fields if field.name not in found["columns"]]
        if strange or not fields:
            raise ValueError(f"fields has {strange[:1]!r:.80}; expected one or more, each called like a column")
        return cls(fields=fields, **found)

    def _positions(self, table: Table) -> dict[str, int]:
        """Where each column of the training table lies in this one."""
        missing = [field.name for field in self.fields if field.name not in table.names]
        if table.named and not missing:
            return {name: position for position, name in enumerate(table.names)}
        if table.named and self.named:
            wrong = f"X has no column {missing[0]!r}; its columns are {shown(table.names, 10)}."
            raise ValueError(f"{wrong} Give a table with the columns of the training table")
        if len(table.names) != len(self.columns):
            wrong = f"X has {len(table.names)} columns"
            raise ValueError(f"{wrong}; expected {len(self.columns)} as in training: {shown(self.columns, 10)}")
        return {name: position for position, name in enumerate(self.columns)}


def columns(
    X: Any = None,
    *,
    numbers: Literal["values", "thresholds"] = "values",
    bins: int = 10,
    yes_no: bool = False,
    names: Sequence[str] | None = None,
    max_categories: int = 50,
    sentences: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    missing: Literal["unknown", "answer"] = "unknown",
    sample_weight: Any = None,
) -> Any:
    """Queries about the columns of a table: numbers and dates, categories, yes or no for 0 and 1.

    Missing values (NaN, None, empty text) are not known. A column with fewer than two different known values carries no
    question and is left out with a warning; so are identifiers: texts that hardly repeat, and row numbers.

    Parameters
    ----------
    X: the training table (2-D array, or a frame of pandas, polars or pyarrow); None waits for it.
    numbers: "values" asks for a number once, "What is age?"; its variable says in which bin the number lies, and the
        number itself is kept beside it. Up to 8 different whole numbers are categories. "thresholds" asks yes/no
        questions, "Is age greater than 50?".
    bins: a column of numbers gets at most ``bins - 1`` thresholds, at weighted quantiles, rounded to few digits.
    yes_no: True asks about each category by itself: "bill shape is dagger".
    names: what the columns of an array are called; by default ``x0``, ``x1``, ...
    max_categories: with more categories than this the rarest share the answer "other".
    sentences: another wording by name of a query or of a column; ``{}`` stands for the threshold or category.
    units: {column: unit} of the columns of numbers, such as {"glucose": "mg/dl"}; shown with the numbers.
    keep: columns to ask about although they look like identifiers.
    missing: "answer" gives each column with missing cells one more answer, "missing": that nobody measured something
        may say much. A missing cell then is that answer, and not unknown; who is asked may still not know.
    sample_weight: (B,) how often each row counts for the thresholds and the frequent categories.

    Returns
    -------
    `Columns`; without X a `Recipe`, which ``fit`` turns into one.

    >>> X = np.array([["male", 31], ["female", 54.5], ["female", 48], ["male", 54.5]], dtype=object)
    >>> qs = columns(X, names=["sex", "age"], units={"age": "years"})
    >>> qs[0].sentence, qs[0].choices, qs[1].sentence, qs[1].choices
    ('Which sex?', ('female', 'male'), 'What is age?', ('up to 40', '40 to 50', 'above 50'))
    >>> qs.observe([["female", 60], [None, 45]]).tolist()
    [[0, 2], [-1, 1]]
    >>> qs.to_answer(1, 45), qs.say(1, qs.to_answer(1, 45))
    (Number(value=45.0, cells=(1,)), 'age: 45 years')
    >>> columns(X, names=["sex", "age"], numbers="thresholds").names
    ('sex', 'age > 40', 'age > 50')
    """
    options: dict[str, Any] = {
        "bins": bins, "yes_no": yes_no, "names": names, "max_categories": max_categories, "sentences": sentences,
        "numbers": numbers, "units": units, "keep": keep,
        "missing": missing,
    }  # fmt: skip
    one_of(numbers, "numbers", ("values", "thresholds"))
    one_of(missing, "missing", ("unknown", "answer"))
    if missing == "answer" and numbers == "thresholds":
        raise ValueError("missing='answer' needs numbers='values': a missing number is above no threshold, nor below")
    for name in ("bins", "max_categories"):
        whole_number(options[name], name, 2)
    if X is None:
        return Recipe(columns, options)
    table = read_table(X, names)
    shape = (table.n_rows, len(table.names))
    if 0 in shape:  # worded as scikit-learn does, whose checks read it
        what = "sample" if shape[0] == 0 else "feature"
        raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
    weights = check_weights(sample_weight, table.n_rows)
    how: dict[str, Any] = {"bins": int(bins), "yes_no": yes_no, "max_categories": int(max_categories)}
    how |= {"numbers": numbers, "missing": missing == "answer"}
    for argument, given in (("units", units or ()), ("keep", keep)):
        strange = [name for name in given if name not in table.names]
        if strange:
            raise ValueError(f"{argument} names {strange[0]!r}, which is no column; {near(strange[0], table.names)}")
    fields: list[Field] = []
    constant, identifiers = [], []
    with Progress("choosing questions", len(table.names)) as progress:
        for j, name in enumerate(table.names):
            column = table.column(j)
            found = choose_field(column, weights, **how, unit=str((units or {}).get(name, "")))
            if found is None:
                constant.append(name)
            elif name not in keep and identifier(column):
                identifiers.append(name)
            elif (longest := max(map(len, column.labels), default=0)) > MAX_LABEL:
                wrong = (
                    f"column {name!r} has a text of {longest:,} characters; a category has {MAX_LABEL:,} at the most"
                )
                raise ValueError(
                    f"{wrong}. Ask about the words of such texts (ip.queries.words), or leave the column out"
                )
            else:
                fields.append(found)
            progress.advance()
    if not fields:
        wrong = f"none of its columns ({shown(table.names, 10)}) has two different known values"
        if identifiers:
            wrong = f"its columns {shown(identifiers, 10)} look like identifiers (name them in keep= if they are none)"
        raise ValueError(f"X has n_samples = {table.n_rows}, but {wrong}, so there is nothing to ask")
    warn_of_excluded(constant, identifiers)
    built = Columns(table.names, fields, named=table.named)
    # A column that was left out, or a threshold that another fold of the data would have, is no mistake.
    known, other = {*built.names, *table.names}, tuple(f"{n} {verb} " for n in table.names for verb in (">", "is"))
    absent = {
        key
        for key in sentences or ()
        if key in (*constant, *identifiers) or (key not in known and key.startswith(other))
    }
    worded = {key: words for key, words in (sentences or {}).items() if key not in absent}
    built.sentences = reword(built, worded, argument="sentences").sentences
    return built


# ---- fields: what is asked about one column -------------------------------------------------------------------------


class FieldQuery(NamedTuple):
    """One query about a field."""

    name: str
    sentence: str
    shown: str  # the threshold or category that it asks about
    choices: Sequence[str]
    cells: Sequence[int]  # the cell that each value of the variable falls into


@dataclass(frozen=True, repr=False)
class NumberField(NumberScale):
    """A column of numbers or dates, cut at thresholds; value v of its variable says that v of them lie below.

    representatives: () where each threshold is asked by itself. missing: value 0 stands for a missing cell; its
    representative, and the threshold above it, are below any number.
    """

    _: KW_ONLY
    name: str

    def __post_init__(self) -> None:
        if any(low >= high for low, high in pairwise(self.thresholds)):
            raise ValueError(f"thresholds of {self.name!r:.80} are not in ascending order")
        if self.representatives and (len(self.representatives) != self.size or self.low > self.high):
            raise ValueError(f"representatives of {self.name!r:.80} must be {self.size}, and low at most high")

    @property
    def size(self) -> int:
        return len(self.thresholds) + 1

    def encode(self, column: Column) -> IntArray:
        """(B,) how many thresholds lie below each number."""
        numbers = self.numbers(column)
        cells = np.searchsorted(np.array(self.thresholds), numbers, side="left")
        return np.where(np.isnan(numbers), 0 if self.missing else UNKNOWN, cells)

    def numbers(self, column: Column) -> FloatArray:
        """(B,) the numbers of a column, NaN where one is missing."""
        return column.dates() if self.date else column.numbers()

    def queries(self) -> list[FieldQuery]:
        """One query about the number; or one for each threshold, all of them about the same variable."""
        name, values = self.name, np.arange(self.size)
        if self.representatives:
            sentence = f"When is {name}?" if self.date else f"What is {name}?"
            return [FieldQuery(name, sentence, "", self.choices, values.tolist())]
        more = "later" if self.date else "greater"
        return [
            FieldQuery(f"{name} > {t}", f"Is {name} {more} than {t}?", t, YES_NO, (values > i).astype(int).tolist())
            for i, t in enumerate(map(self.write, self.thresholds))
        ]


@dataclass(frozen=True)
class CategoryField:
    """A column of categories, asked whole, or with ``yes_no`` each category by itself."""

    name: str
    categories: tuple[str, ...]
    rest: tuple[str, ...] = ()  # rare categories, which share the last value of the variable
    yes_no: bool = False
    numbers: bool = False  # the categories are whole numbers
    missing: bool = False  # a missing cell is the last value of the variable

    def __post_init__(self) -> None:
        if len({*self.categories, *self.rest}) < len(self.categories) + len(self.rest):
            raise ValueError(f"categories of {self.name!r:.80} has a text twice; expected different ones")
        if self.numbers and not all(_is_number(label) for label in self.categories):
            raise ValueError(f"categories of {self.name!r:.80} are not all numbers")

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the values of the variable."""
        free = (word for word in ("other", "all others", "none of these") if word not in self.categories)
        gone = (word for word in (MISSING, "not there", "no entry") if word not in self.categories)
        return (*self.categories, *([next(free)] if self.rest else []), *([next(gone)] if self.missing else []))

    def encode(self, column: Column) -> IntArray:
        """(B,) the category of each row, -1 for one that training did not have; capitals decide only between two that
        differ in nothing else."""
        if self.numbers:  # also of text that is a number: "2.0" is 2
            numbers = column.numbers()
            column = Column(self.name, "number", numbers)
        codes, labels = column.text()
        place = dict.fromkeys(self.rest, len(self.categories))
        place |= {label: value for value, label in enumerate(self.categories)}
        once = Counter(map(_folded, place))
        folded = {_folded(label): value for label, value in place.items() if once[_folded(label)] == 1}
        found = [place.get(label, folded.get(_folded(label), UNKNOWN)) for label in labels]
        return np.array([*found, self.size - 1 if self.missing else UNKNOWN], dtype=np.int64)[codes]

    def queries(self) -> list[FieldQuery]:
        words = self.values
        plain = {word.lower() for word in words[: self.size - self.missing]} in YES_NO_WORDS
        if plain or not self.yes_no:
            sentence = f"{self.name}?" if plain else f"{'What is' if self.numbers else 'Which'} {self.name}?"
            return [FieldQuery(self.name, sentence, "", words, range(self.size))]
        # Of two categories the second is asked about: its "no" already says the first.
        asked = range(self.size) if self.size > 2 else (1,)
        cells = np.eye(self.size, dtype=int).tolist()
        return [
            FieldQuery(f"{self.name} is {words[v]}", f"Is {self.name} {words[v]}?", words[v], YES_NO, cells[v])
            for v in asked
        ]


@dataclass(frozen=True)
class YesNoField(CategoryField):
    """A column of 0 and 1, asked by its name."""

    categories: tuple[str, ...] = YES_NO

    def encode(self, column: Column) -> IntArray:
        """(B,) 0 and 1, or -1 where the column has something else, which training never saw; "yes" and "no" will do."""
        numbers = as_shares(column)
        numbers = column.numbers() if numbers is None else numbers
        other = np.where(np.isnan(numbers), 2, UNKNOWN) if self.missing else UNKNOWN
        return np.where(numbers == 1, 1, np.where(numbers == 0, 0, other))


Field = NumberField | CategoryField


def choose_field(
    column: Column, weights: FloatArray, *, bins: int, yes_no: bool, max_categories: int, numbers: str = "values",
    unit: str = "", missing: bool = False,
) -> Field | None:  # fmt: skip
    """What to ask about a column; None when it has fewer than two different known values, or with ``missing`` fewer
    than two different answers.

    >>> column = Column("legs", "number", np.array([0.0, 2.0, 4.0, 2.0]))
    >>> choose_field(column, np.ones(4), bins=10, yes_no=False, max_categories=50).categories
    ('0', '2', '4')
    """
    whole_column = numbers == "values"
    if column.kind == "text":
        warn_of_numbers(column, MAX_WHOLE)
        return _choose_categories(column, weights, yes_no, max_categories, missing)
    dates = column.kind == "date"
    found = column.dates() if dates else column.numbers()
    known = (weights > 0) & ~np.isnan(found)
    missing = missing and bool((~known & (weights > 0)).any())
    found, weights = found[known] + 0.0, weights[known]  # + 0.0 turns -0.0 into 0.0
    if not len(found) or (found.min() == found.max() and (dates or not missing)):
        return None
    if found.min() == found.max():
        return CategoryField(column.name, (format_number(float(found[0])),), numbers=True, missing=True)
    if not dates and np.isin(found, (0, 1)).all():
        return YesNoField(column.name, missing=missing)
    whole = not dates and bool((found == np.floor(found)).all())
    distinct = np.unique(found)
    if whole_column and whole and len(distinct) <= MAX_WHOLE:
        labels = tuple(map(format_number, distinct.tolist()))
        return CategoryField(column.name, labels, (), yes_no, numbers=True, missing=missing)
    thresholds = choose_thresholds(found, weights, bins, dates=dates)
    about: dict[str, Any] = {}
    if whole_column:
        cells, cell = np.searchsorted(thresholds, found, side="left"), range(len(thresholds) + 1)
        middle = tuple(_median(found[cells == c], weights[cells == c]) for c in cell)
        about = {"representatives": middle, "low": float(found.min()), "high": float(found.max())}
        about |= {"unit": unit, "whole": whole}
    if missing:
        thresholds = (BELOW, *thresholds)
        about |= {"representatives": (10 * BELOW, *about["representatives"]), "missing": True}
    about |= {"date": dates, "time_of_day": dates and bool((found % DAY).any())}
    return NumberField(thresholds, name=column.name, **about)


def _median(numbers: FloatArray, weights: FloatArray) -> float:
    """The weighted median: the smallest number with half of the weight at or below it."""
    order = np.argsort(numbers, kind="stable")
    mass = np.cumsum(weights[order])
    # Rounded down a little: the order in which weights are added up must not decide.
    return float(numbers[order][np.searchsorted(mass, mass[-1] / 2 * (1 - 1e-9))])


def _choose_categories(
    column: Column, weights: FloatArray, yes_no: bool, max_categories: int, missing: bool
) -> CategoryField | None:
    codes, labels = column.text()
    known = (weights > 0) & (codes != UNKNOWN)
    mass = np.bincount(codes[known], weights=weights[known], minlength=len(labels))
    # Rounded: the order in which weights are added up must not decide a tie.
    share = {labels[code]: round(float(mass[code] / mass.sum()), 9) for code in np.flatnonzero(mass)}
    missing = missing and bool((~known & (weights > 0)).any())
    if len(share) < (1 if missing else 2):
        return None
    seen = list(share) if column.ordered else _sorted(share)
    ranked = sorted(seen, key=lambda label: (-share[label], label))
    kept = set(seen if len(seen) <= max_categories else ranked[: max_categories - 1])
    rest = tuple(sorted(label for label in seen if label not in kept))
    return CategoryField(column.name, tuple(label for label in seen if label in kept), rest, yes_no, missing=missing)


def _folded(label: str) -> str:
    return label.strip().casefold()


def _is_number(label: str) -> bool:
    try:
        return format_number(float(label)) == label
    except ValueError:
        return False


def _sorted(labels: Iterable[str]) -> list[str]:
    """By number when every label is one ("2" before "10"), else by letters."""
    try:
        return sorted(labels, key=lambda label: (float(label), label))
    except ValueError:
        return sorted(labels)


NUMBERS = {"name": "text", "thresholds": "numbers", "representatives": "numbers?", "low": "number?", "high": "number?"}
NUMBERS |= {"unit": "text?", "whole": "flag?", "time_of_day": "flag?", "missing": "flag?"}
SPECS: dict[str, tuple[Any, dict[str, str]]] = {
    "yes_no": (YesNoField, {"name": "text", "missing": "flag?"}),
    "category": (
        CategoryField,
        {"name": "text", "categories": "texts", "rest": "texts", "yes_no": "flag", "numbers": "flag?"}
        | {"missing": "flag?"},
    ),
    "number": (NumberField, NUMBERS),
    "date": (partial(NumberField, date=True), NUMBERS),
}
"""The kinds of fields in a saved model, with the forms of their entries."""


def field_to_spec(field: Field) -> dict[str, Any]:
    """A field as JSON data; what is as it is by default is left out."""
    kind = next(kind for kind, (cls, _) in SPECS.items() if type(field) is cls)
    given = {
        each.name: getattr(field, each.name) for each in fields(field) if getattr(field, each.name) != each.default
    }
    if given.pop("date", False):
        kind = "date"
    required: Any = {"category": {"rest": [], "yes_no": False}, "date": {"time_of_day": False}}.get(kind, {})
    return {"kind": kind, **required, **{key: list(v) if isinstance(v, tuple) else v for key, v in given.items()}}


def field_from_spec(spec: dict[str, Any]) -> Field:
    """The field that `field_to_spec` wrote."""
    if spec["kind"] not in SPECS:
        raise ValueError(f"kind is {spec['kind']!r:.80}; the kinds of fields are {', '.join(SPECS)}")
    cls, forms = SPECS[spec["kind"]]
    given = check_spec(spec, forms, f"field {spec['name']!r:.80}: ")
    found: Field = cls(**{key: tuple(v) if isinstance(v, list) else v for key, v in given.items()})
    return found
