"""Numbers as answers: `NumberScale`, and thresholds that a person would choose, written with few digits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from infopursuit.support.display import Brief
from infopursuit.support.types import FloatArray, Number

TOLERANCE = 0.25
"""How far from its quantile a rounder threshold may lie, in bins."""
NO_NUMBER = frozenset(
    ("", "-", "--", ".", "..", "n.a.", "n/a", "na", "nil", "none", "null", "unk", "missing", "unknown", "no data",
     "not available", "not known", "k.a.", "unbekannt", "keine angabe", "inconnu", "desconocido", "s/d", "未知")
)  # fmt: skip
"""What stands for a missing number among numbers, in small letters."""
NUMBER = re.compile(r"[+-]?((\d{1,18}|\d+\.\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))")
GROUPED = re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f]\d{3})+(\.\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}([. '\u00a0\u202f]\d{3})+|\d+)(,\d+)?")
DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[ T](\d{1,2}:\d{2}(?::\d{2})?))?")


@dataclass(frozen=True, repr=False)
class NumberScale(Brief):
    """The numbers that a query is answered with, and the cells that they lie in. Dates are microseconds since 1970.

    thresholds: between the cells, each part of the cell below it. representatives: a number for each cell, the median
    of the training numbers in it. low, high: the range in training. whole: whether all training numbers were whole.
    missing: whether the first cell stands for no number at all.

    >>> scale = NumberScale((99.0, 117.0), (85.0, 108.0, 140.0), 44.0, 199.0, "mg/dl", whole=True)
    >>> scale.choices
    ('up to 99', '99 to 117', 'above 117')
    >>> scale.read("148 mg/dl"), scale.say(148.0)
    (Number(value=148.0, cells=(2,)), '148 mg/dl')
    """

    thresholds: tuple[float, ...]
    representatives: tuple[float, ...] = ()
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    whole: bool = False
    date: bool = False
    time_of_day: bool = False
    missing: bool = False

    @property
    def choices(self) -> tuple[str, ...]:
        """The cells in words."""
        shown = [self.write(threshold) for threshold in self.thresholds[self.missing :]]
        between = (f"{low} to {high}" for low, high in pairwise(shown))
        cells = (f"up to {shown[0]}", *between, f"{'after' if self.date else 'above'} {shown[-1]}")
        return ("missing", *cells) if self.missing else cells

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
            moment = np.datetime64(value, "us") if text is None else read_dates([text])[0]
            return float("nan") if np.isnat(moment) else float(moment.astype(np.int64))
        if text is not None and not self.date:
            if self.unit and text.lower().endswith(self.unit.lower()):
                text = text[: len(text) - len(self.unit)]
            found = read_number(text)
            return float(text) if found is None else found
        real = isinstance(value, (int, float, Decimal, np.integer, np.floating)) and not isinstance(value, bool)
        if real and (not self.date or value != value):
            return float(value)
        raise ValueError(f"{value!r} is no {'date' if self.date else 'number'}")


def choose_thresholds(values: FloatArray, weights: FloatArray, bins: int, *, dates: bool = False) -> tuple[float, ...]:
    """At most ``bins - 1`` increasing thresholds t, for questions "is the value greater than t?".

    A threshold lies between two neighbouring distinct values, so no cell is empty on this data. With few distinct
    values there is one between every two neighbours. Otherwise they lie at the quantiles 1/bins, 2/bins, ... of the
    weights, moved by at most a quarter of a bin to the number with the fewest digits. A value that alone weighs more
    than a bin counts as one bin, so that a column which is mostly 0 still has its other values told apart.

    Parameters
    ----------
    values: (B,) finite numbers; for dates microseconds since 1970.
    weights: (B,) positive; a weight of two is the same as the row given twice.

    >>> ages = np.arange(18, 91.0)
    >>> choose_thresholds(ages, np.ones(73), bins=4)
    (35.0, 50.0, 70.0)
    >>> choose_thresholds(np.array([0.0, 2, 4, 2, 8]), np.ones(5), bins=10)
    (0.0, 2.0, 4.0)
    """
    distinct, place = np.unique(values, return_inverse=True)
    mass: FloatArray = np.bincount(place, weights=weights).astype(np.float64)
    if len(distinct) <= bins:
        rank = np.arange(1.0, len(distinct))  # (gaps,) gap g lies between distinct[g] and distinct[g + 1]
        windows = [(gap, gap, gap + 1) for gap in range(len(distinct) - 1)]
    else:
        capped = _cap(mass, bins)
        # Rounded, since sums of the same weights in another order differ in the last digit and must not matter.
        rank = np.round(bins * np.cumsum(capped)[:-1] / capped.sum(), 9)
        windows = [_window(rank, target) for target in range(1, bins)]
    whole = not dates and bool(np.all(distinct == np.floor(distinct)))
    chosen: dict[int, float] = {}
    for first, last, target in windows:
        low, high = float(distinct[first]), float(distinct[last + 1])
        candidates = np.array(_simplest_dates(low, high) if dates else simplest_numbers(low, high, whole=whole))
        gaps = np.searchsorted(distinct, candidates, side="right") - 1
        # Whole numbers split just above a value that occurs ("legs > 2"), others in the middle of the gap.
        off = candidates if whole else np.abs(candidates - (distinct[gaps] / 2 + distinct[gaps + 1] / 2))
        best = np.lexsort((candidates, off, np.abs(rank[gaps] - target)))[0]
        chosen.setdefault(int(gaps[best]), float(candidates[best]))
    return tuple(chosen[gap] for gap in sorted(chosen))


def simplest_numbers(low: float, high: float, *, whole: bool = False) -> list[float]:
    """The numbers t with low <= t < high that take the fewest significant digits to write, in increasing order.

    >>> simplest_numbers(49.2, 61), simplest_numbers(1.234, 1.252), simplest_numbers(-3, 4)
    ([50.0, 60.0], [1.24, 1.25], [0.0])
    >>> simplest_numbers(2, 4, whole=True)
    [2.0, 3.0]
    """
    if low <= 0 < high:
        return [0.0]
    sign = 1 if low > 0 else -1
    near, far = sorted((Decimal(abs(low)), Decimal(abs(high))))
    top = far.adjusted()  # the power of ten of the leading digit
    bottom = near.adjusted() if near else top - 3  # towards 0 there is no end; a few decades are enough
    for digits in range(1, 18):  # 17 digits write every double, so the last round finds `low` itself
        found = set()
        for exponent in range(max(bottom, 0) if whole else bottom, top + 1):
            power = max(exponent - digits + 1, 0) if whole else exponent - digits + 1
            start = max(near, Decimal(1).scaleb(exponent)).scaleb(-power)
            stop = min(far, Decimal(1).scaleb(exponent + 1)).scaleb(-power)
            decade = 10 ** (exponent - power)
            for leading in range(max(int(start), decade), min(int(stop) + 1, 10 * decade) + 1):
                number = float(f"{sign * leading}e{power}")
                if low <= number < high:
                    found.add(number)
        if found:
            return sorted(found)
    return [low]


def read_number(text: str, comma: bool | None = None) -> float | None:
    """A number as people write it, also with % or a currency; None where it is none.

    comma: whether decimals follow a comma, None where that is not known.

    >>> [read_number(text) for text in ("37.5", "37,5", "1,234.5", "1.234,5", "12 %", "high")]
    [37.5, 37.5, 1234.5, 1234.5, 12.0, None]
    >>> [read_number("1,234", comma) for comma in (None, True)]
    [1234.0, 1.234]
    """
    bare = text.strip().strip("$€£¥").removesuffix("%").strip()
    if NUMBER.fullmatch(bare):
        return float(bare)
    forms = {None: (GROUPED, DECIMAL_COMMA), True: (DECIMAL_COMMA, GROUPED), False: (GROUPED,)}[comma]
    form = next((form for form in forms if form.fullmatch(bare)), None)
    if form is None:
        return None
    plain = re.sub(r"[. '\u00a0\u202f]" if form is DECIMAL_COMMA else r"[,' \u00a0\u202f]", "", bare)
    return float(plain.replace(",", "."))


def read_dates(texts: Sequence[str]) -> list[Any]:
    """Dates as people write them, as moments of numpy; a ValueError where one is none.

    31/3/2024 and 3/31/2024 are read where some of them has a number above 12, which says what is the day.

    >>> [str(moment)[:10] for moment in read_dates(["2024-03-31", "31.3.2024", "3/31/2024", "4/1/2024"])]
    ['2024-03-31', '2024-03-31', '2024-03-31', '2024-04-01']
    """
    found = [(text, DATE.fullmatch(text.strip())) for text in texts]
    slashed = [match for _, match in found if match is not None and match[2] != "."]
    day_first = any(int(match[1]) > 12 for match in slashed)
    if slashed and day_first == any(int(match[3]) > 12 for match in slashed):
        raise ValueError(f"{slashed[0][0]!r} may have the day or the month first; write dates as 2024-03-31")
    moments = []
    for text, match in found:
        if match is None:
            moments.append(np.datetime64(text, "us"))
            continue
        day, month = (match[1], match[3]) if match[2] == "." or day_first else (match[3], match[1])
        time = f"T{match[5].zfill(5 if match[5].count(':') == 1 else 8)}" if match[5] else ""
        moments.append(np.datetime64(f"{match[4]}-{month.zfill(2)}-{day.zfill(2)}{time}", "us"))
    return moments


def format_number(number: float) -> str:
    """The shortest text that reads back as the same number.

    >>> [format_number(x) for x in (50.0, -0.25, 2500000.0, 1e-9, 3e12)]
    ['50', '-0.25', '2500000', '1e-9', '3e12']
    """
    if number == 0 or 1e-4 <= abs(number) < 1e10:
        return np.format_float_positional(number + 0.0, trim="-")  # + 0.0 turns -0.0 into 0.0
    return np.format_float_scientific(number, trim="-", exp_digits=1).replace("e+", "e")


def format_date(microseconds: float, *, time_of_day: bool) -> str:
    """A date, with the time of day where the column has one.

    >>> format_date(1.5e15, time_of_day=False), format_date(1.5e15, time_of_day=True)
    ('2017-07-14', '2017-07-14 02:40')
    """
    moment = np.datetime64(round(microseconds), "us")
    if not time_of_day:
        return str(np.datetime_as_string(moment, unit="D"))
    unit: Any = next((u for u in ("m", "s") if moment.astype(f"M8[{u}]") == moment), "us")
    return str(np.datetime_as_string(moment, unit=unit)).replace("T", " ")


def _simplest_dates(low: float, high: float) -> list[float]:
    """The starts of years in [low, high), else those of months, days, hours, minutes or seconds."""
    first, last = np.datetime64(round(low), "us"), np.datetime64(round(high), "us")
    for unit in ("Y", "M", "D", "h", "m", "s"):
        steps = np.arange(first.astype(f"M8[{unit}]"), last.astype(f"M8[{unit}]") + 1).astype("M8[us]")
        steps = steps[(steps >= first) & (steps < last)]
        if len(steps):
            return [float(step) for step in steps.astype(np.int64)]
    return [low]


def _cap(mass: FloatArray, bins: int) -> FloatArray:
    """Mass with every value cut to one bin: the cap solves cap = sum(min(mass, cap)) / bins."""
    heaviest = np.sort(mass)[::-1]
    rest = float(mass.sum())
    cap = rest / bins
    for taken in range(bins - 1):
        if heaviest[taken] <= cap:
            break
        rest -= float(heaviest[taken])
        cap = rest / (bins - taken - 1)
    return np.minimum(mass, cap)


def _window(rank: FloatArray, target: int) -> tuple[int, int, int]:
    """The first and last gap near enough to a quantile, or the nearest one, and the quantile."""
    near = np.flatnonzero(np.abs(rank - target) <= TOLERANCE)
    if not len(near):
        near = np.array([np.abs(rank - target).argmin()])
    return int(near[0]), int(near[-1]), target
