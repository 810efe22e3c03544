"""Validation that the whole package shares: a check returns the value, or raises an error that names the argument."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def whole_number(value: Any, name: str, least: int = 0, most: int | None = None, *, error: Any = ValueError) -> int:
    """A whole number of 64 bits, not below ``least`` and not above ``most``.

    >>> whole_number(np.int32(3), "patience")
    3
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= value < 2**63 or (most is not None and value > most):
        limits = f"{least} or more" if most is None else f"from {least} to {most}"
        raise error(f"{name}={value!r:.80}; expected a whole number, {limits}")
    return int(value)


def number(value: Any, name: str, low: float, high: float, *, least: bool = True, error: Any = ValueError) -> float:
    """A finite number from ``low`` to ``high``; ``least``: whether ``low`` itself will do."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not real or not low <= value <= high or not np.isfinite(value) or (value == low and not least):
        limits = f"from {low:g} to {high:g}" if least else f"above {low:g}, up to {high:g}"
        raise error(f"{name}={value!r:.80}; expected a number {limits}")
    return float(value)


def one_of(value: Any, name: str, options: Iterable[Any], *, error: Any = ValueError) -> Any:
    """One of some values."""
    allowed = list(options)
    if not any(value is option or (type(value) is type(option) and value == option) for option in allowed):
        raise error(f"{name}={value!r:.80}; expected {' or '.join(map(repr, allowed))}")
    return value


def instance(value: Any, name: str, kind: Any, expected: str, *, error: Any = TypeError) -> Any:
    """An instance of a class, or of one of several; ``expected`` says which in words."""
    if not isinstance(value, kind):
        raise error(f"{name}={value!r:.80}; expected {expected}")
    return value
