"""Table 1 of an experiment: who was how often right, after how many questions, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

LEVEL = 0.95
"""Of all intervals."""
Z = 1.959964


@dataclass(frozen=True)
class Row:
    """One line of the table; ``dataclasses.asdict`` of it is JSON data.

    accuracy: with the interval from low to high. length: mean number of questions, None where all are asked;
    length_error its standard error. n_inputs: test inputs, None for what is quoted. seconds: what it took. note: what
    else a reader must know.
    """

    name: str
    accuracy: float
    low: float | None = None
    high: float | None = None
    length: float | None = None
    length_error: float | None = None
    n_inputs: int | None = None
    seconds: float | None = None
    note: str = ""


def counted(name: str, right: Any, *, length: Any = None, seconds: float | None = None, note: str = "") -> Row:
    """A row from which inputs were classified rightly (B,), and after how many questions (B,).

    The interval is Wilson's.

    >>> row = counted("guess", np.array([True, True, False, True]))
    >>> row.accuracy, round(row.low, 3), round(row.high, 3)
    (0.75, 0.301, 0.954)
    """
    right = np.asarray(right, dtype=bool)
    low, high = accuracy_interval(int(right.sum()), len(right))
    mean, error = None, None
    if length is not None:
        mean, error = float(np.mean(length)), float(np.std(length) / np.sqrt(len(right)))
    took = None if seconds is None else round(seconds, 1)
    return Row(name, float(right.mean()), low, high, mean, error, len(right), took, note)


def accuracy_interval(n_right: int, n: int) -> tuple[float, float]:
    """Wilson's interval of a share."""
    found = binomtest(n_right, n).proportion_ci(LEVEL, method="wilson")
    return float(found.low), float(found.high)
