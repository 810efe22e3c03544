"""What stands for "not known" in other people's data."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

MISSING_TYPES = ("NoneType", "NAType", "NaTType")
"""The types of None, pandas.NA and NaT; by name, since pandas need not be installed."""


def is_missing(value: Any) -> bool:
    """True for None, NaN, NaT and pandas.NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing(0)
    (True, True, False, False)
    """
    if type(value).__name__ in MISSING_TYPES:
        return True
    return isinstance(value, (float, np.floating, Decimal, np.datetime64)) and bool(value != value)
