"""`NumberScale`: the numbers that answer a query about a column of numbers or dates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from infopursuit.display import brief
from infopursuit.queries.thresholds import format_date, format_number
from infopursuit.types import Number


@dataclass(frozen=True)
class NumberScale:
    """The numbers that a query is answered with, and the cells that they lie in. Dates are microseconds since 1970.

    thresholds: between the cells, each part of the cell below it. representatives: a number for each cell, the median
    of the training numbers in it. low, high: the range in training. whole: whether all training numbers were whole.
    missing: whether the first cell stands for no number at all.

    >>> scale = NumberScale((99.0, 117.0), (85.0, 108.0, 140.0), 44.0, 199.0, "mg/dl", whole=True)
    >>> scale.choices
    ('up to 99', '99 to 117', 'above 117')
    >>> scale.read("148 mg/dl"), scale.say(148.0), scale.hint
    (Number(value=148.0, cells=(2,)), '148 mg/dl', 'a number in mg/dl, 44 to 199 in training')
    """

    thresholds: tuple[float, ...]
    representatives: tuple[float, ...]
    low: float
    high: float
    unit: str = ""
    whole: bool = False
    date: bool = False
    time_of_day: bool = False
    missing: bool = False

    __repr__ = brief

    @property
    def choices(self) -> tuple[str, ...]:
        """The cells in words."""
        if self.missing:
            return ("missing", *replace(self, thresholds=self.thresholds[1:], missing=False).choices)
        shown = [self.write(threshold) for threshold in self.thresholds]
        between = (f"{low} to {high}" for low, high in pairwise(shown))
        return (f"up to {shown[0]}", *between, f"{'after' if self.date else 'above'} {shown[-1]}")

    @property
    def hint(self) -> str:
        """What to answer with, in words."""
        what = "a date" if self.date else f"a number in {self.unit}" if self.unit else "a number"
        return f"{what}, {self.write(self.low)} to {self.write(self.high)} in training"

    def describe(self) -> dict[str, Any]:
        """The scale as JSON data, for forms; dates as text."""
        ends = [self.write(end) if self.date else end for end in (self.low, self.high)]
        return {"low": ends[0], "high": ends[1], "unit": self.unit, "whole": self.whole, "date": self.date}

    def write(self, number: float) -> str:
        """A number as text, without its unit."""
        return format_date(number, time_of_day=self.time_of_day) if self.date else format_number(number)

    def say(self, number: float) -> str:
        """A number with its unit."""
        return f"{self.write(number)} {self.unit}".rstrip()

    def read(self, value: Any) -> Number | None:
        """The number that a value stands for, None where it is not known (NaN); a ValueError where it is none."""
        number = self._parse(value)
        if np.isnan(number):
            return None
        if np.isinf(number):
            raise ValueError(f"{value!r} is not finite")
        return Number(number, (int(np.searchsorted(self.thresholds, number, side="left")),))

    def _parse(self, value: Any) -> float:
        if isinstance(value, Number):
            return value.value
        text = " ".join(value.split()) if isinstance(value, str) else None
        if self.date and (text or isinstance(value, (date, np.datetime64))):
            moment = np.datetime64(value if text is None else text, "us")
            return float("nan") if np.isnat(moment) else float(moment.astype(np.int64))
        if text is not None and not self.date:
            if self.unit and text.lower().endswith(self.unit.lower()):
                text = text[: len(text) - len(self.unit)]
            return float(text)
        real = isinstance(value, (int, float, Decimal, np.integer, np.floating)) and not isinstance(value, bool)
        if real and (not self.date or value != value):
            return float(value)
        raise ValueError(f"{value!r} is no {'date' if self.date else 'number'}")
