"""What is asked about one column of a table: yes or no, thresholds, or categories. One field is one atom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from infopursuit.queries import stated
from infopursuit.queries.choices import YES_NO
from infopursuit.queries.tables import Column
from infopursuit.queries.thresholds import choose_thresholds, format_date, format_number
from infopursuit.types import UNKNOWN, FloatArray, IntArray

DAY = 86_400_000_000
YES_NO_WORDS = ({"no", "yes"}, {"false", "true"}, {"n", "y"}, {"f", "t"})
"""Pairs of categories that answer the column's own name: "smoker?", "yes"."""


SHARES = {"no": 0.0, "false": 0.0, "n": 0.0, "f": 0.0, "yes": 1.0, "true": 1.0, "y": 1.0, "t": 1.0, "sometimes": 0.5}
"""How often a yes/no question is answered with yes, in words."""


class FieldQuery(NamedTuple):
    """One query about a field."""

    name: str
    sentence: str
    shown: str  # the threshold or category that it asks about
    choices: Sequence[str]
    cells: Sequence[int]  # the cell that each value of the atom falls into


@dataclass(frozen=True)
class YesNoField:
    """A column of 0 and 1, asked by its name."""

    name: str

    @property
    def size(self) -> int:
        return 2

    def encode(self, column: Column) -> IntArray:
        """(B,) 0, 1, and -1 where the column has something else, which training never saw; "yes" and "no" will do."""
        numbers = as_shares(column)
        numbers = column.numbers() if numbers is None else numbers
        return np.where(numbers == 1, 1, np.where(numbers == 0, 0, UNKNOWN))

    def queries(self) -> list[FieldQuery]:
        return [FieldQuery(self.name, f"{self.name}?", "", YES_NO, (0, 1))]


@dataclass(frozen=True)
class NumberField:
    """A column of numbers, cut at thresholds; value v of its atom says that v of them lie below the number."""

    name: str
    thresholds: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.thresholds) + 1

    def encode(self, column: Column) -> IntArray:
        """(B,) how many thresholds lie below each number."""
        return self._encode(column.numbers())

    def queries(self) -> list[FieldQuery]:
        """One query for each threshold, all of them about the same atom."""
        shown = [self.show(threshold) for threshold in self.thresholds]
        values = np.arange(self.size)
        return [
            FieldQuery(f"{self.name} > {t}", self.ask(t), t, YES_NO, (values > i).astype(int).tolist())
            for i, t in enumerate(shown)
        ]

    def show(self, threshold: float) -> str:
        return format_number(threshold)

    def ask(self, shown: str) -> str:
        return f"Is {self.name} greater than {shown}?"

    def _encode(self, numbers: FloatArray) -> IntArray:
        below = np.searchsorted(np.array(self.thresholds), numbers, side="left")
        return np.where(np.isnan(numbers), UNKNOWN, below)


@dataclass(frozen=True)
class DateField(NumberField):
    """A column of dates, cut like numbers and shown as dates."""

    time_of_day: bool

    def encode(self, column: Column) -> IntArray:
        """(B,) how many thresholds lie before each date."""
        return self._encode(column.dates())

    def show(self, threshold: float) -> str:
        return format_date(threshold, time_of_day=self.time_of_day)

    def ask(self, shown: str) -> str:
        return f"Is {self.name} later than {shown}?"


@dataclass(frozen=True)
class CategoryField:
    """A column of categories, asked whole, or with ``yes_no`` each category by itself."""

    name: str
    categories: tuple[str, ...]
    rest: tuple[str, ...] = ()  # rare categories, which share the last value of the atom
    yes_no: bool = False

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def values(self) -> tuple[str, ...]:
        """What the values of the atom are called."""
        if not self.rest:
            return self.categories
        other = next(word for word in ("other", "all others", "none of these") if word not in self.categories)
        return (*self.categories, other)

    def encode(self, column: Column) -> IntArray:
        """(B,) the category of each row, -1 for one that training did not have."""
        codes, labels = column.text()
        place = {label: value for value, label in enumerate(self.categories)} | dict.fromkeys(self.rest, self.size - 1)
        return np.array([*(place.get(label, UNKNOWN) for label in labels), UNKNOWN], dtype=np.int64)[codes]

    def queries(self) -> list[FieldQuery]:
        words = self.values
        plain = {word.lower() for word in words} in YES_NO_WORDS
        if plain or not self.yes_no:
            sentence = f"{self.name}?" if plain else f"Which {self.name}?"
            return [FieldQuery(self.name, sentence, "", words, range(self.size))]
        # Of two categories the second is asked about: its "no" already says the first.
        asked = range(self.size) if self.size > 2 else (1,)
        return [
            FieldQuery(f"{self.name} is {words[v]}", f"Is {self.name} {words[v]}?", words[v], YES_NO, cells.tolist())
            for v, cells in enumerate(np.eye(self.size, dtype=int))
            if v in asked
        ]


Field = YesNoField | NumberField | DateField | CategoryField
FIELDS: dict[str, type[Any]] = {
    "yes_no": YesNoField,
    "number": NumberField,
    "date": DateField,
    "category": CategoryField,
}


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


def choose_field(column: Column, weights: FloatArray, *, bins: int, yes_no: bool, max_categories: int) -> Field | None:
    """What to ask about a column; None when it has fewer than two different known values.

    >>> column = Column("legs", "number", np.array([0.0, 2.0, 4.0, 2.0]))
    >>> choose_field(column, np.ones(4), bins=10, yes_no=False, max_categories=50)
    NumberField(name='legs', thresholds=(0.0, 2.0))
    """
    if column.kind == "text":
        return _choose_categories(column, weights, yes_no, max_categories)
    numbers = column.dates() if column.kind == "date" else column.numbers()
    known = (weights > 0) & ~np.isnan(numbers)
    numbers, weights = numbers[known], weights[known]
    if not len(numbers) or numbers.min() == numbers.max():
        return None
    if column.kind == "date":
        thresholds = choose_thresholds(numbers, weights, bins, dates=True)
        return DateField(column.name, thresholds, bool((numbers % DAY).any()))
    if np.isin(numbers, (0, 1)).all():
        return YesNoField(column.name)
    return NumberField(column.name, choose_thresholds(numbers, weights, bins))


def field_to_spec(field: Field) -> dict[str, Any]:
    """A field as JSON data."""
    kind = next(kind for kind, cls in FIELDS.items() if type(field) is cls)
    return {"kind": kind, **{key: list(v) if isinstance(v, tuple) else v for key, v in asdict(field).items()}}


def field_from_spec(spec: dict[str, Any]) -> Field:
    """The field that ``field_to_spec`` wrote, checked as if a stranger had written it."""
    name, kind = stated.text(spec, "name"), stated.text(spec, "kind")
    if kind == "yes_no":
        return YesNoField(name)
    if kind == "category":
        categories = stated.texts(spec, "categories", different=True)
        rest = stated.texts(spec, "rest", different=True)
        return CategoryField(name, tuple(categories), tuple(rest), stated.flag(spec, "yes_no"))
    thresholds = spec["thresholds"]
    if not isinstance(thresholds, list) or not all(type(t) in (int, float) and math.isfinite(t) for t in thresholds):
        raise ValueError(f"thresholds of {name!r:.80} is {thresholds!r:.80}; expected a list of numbers")
    if any(low >= high for low, high in pairwise(thresholds)):
        raise ValueError(f"thresholds of {name!r:.80} are not in ascending order")
    if kind == "date":
        return DateField(name, tuple(thresholds), stated.flag(spec, "time_of_day"))
    if kind == "number":
        return NumberField(name, tuple(thresholds))
    raise ValueError(f"kind is {kind!r:.80}; the kinds of fields are {', '.join(FIELDS)}")


def _choose_categories(column: Column, weights: FloatArray, yes_no: bool, max_categories: int) -> CategoryField | None:
    codes, labels = column.text()
    known = (weights > 0) & (codes != UNKNOWN)
    mass = np.bincount(codes[known], weights=weights[known], minlength=len(labels))
    seen = [code for code in range(len(labels)) if mass[code] > 0]
    if len(seen) < 2:
        return None
    if not column.ordered:
        seen.sort(key=_natural([labels[code] for code in seen], labels))
    if len(seen) <= max_categories:
        return CategoryField(column.name, tuple(labels[code] for code in seen), yes_no=yes_no)
    # Rounded like ranks of thresholds: the order in which weights are added up must not decide a tie.
    ranked = sorted(seen, key=lambda code: (-round(float(mass[code] / mass.sum()), 9), labels[code]))
    kept = set(ranked[: max_categories - 1])
    return CategoryField(
        column.name,
        tuple(labels[code] for code in seen if code in kept),
        rest=tuple(sorted(labels[code] for code in seen if code not in kept)),
        yes_no=yes_no,
    )


def _natural(present: Sequence[str], labels: Sequence[str]) -> Any:
    """A sort key for codes: by number when every category is one ("2" before "10"), else by letters."""
    try:
        numbers = {label: float(label) for label in present}
    except ValueError:
        return lambda code: labels[code]
    return lambda code: (numbers[labels[code]], labels[code])
