"""Validation that the whole package shares: a check returns the value, or raises an error that names the argument."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


def whole_number(value: Any, name: str, least: int = 0, most: int | None = None) -> int:
    """A whole number of 64 bits, not below ``least`` and not above ``most``.

    >>> whole_number(np.int32(3), "patience")
    3
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= value < 2**63 or (most is not None and value > most):
        limits = f"{least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}={value!r:.80}; expected a whole number, {limits}")
    return int(value)


def number(
    value: Any,
    name: str,
    *,
    least: float = -np.inf,
    above: float = -np.inf,
    below: float = np.inf,
    most: float = np.inf,
) -> float:
    """A finite number, not less than ``least``, greater than ``above``, less than ``below``, not more than ``most``.

    >>> number(0.5, "epsilon", least=0, below=1)
    0.5
    """
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or not (least <= value <= most and above < value < below):
        limits = {
            f"{least:g} or more": least,
            f"above {above:g}": above,
            f"below {below:g}": below,
            f"up to {most:g}": most,
        }
        expected = ", ".join(["a number", *(text for text, limit in limits.items() if np.isfinite(limit))])
        raise ValueError(f"{name}={value!r:.80}; expected {expected}")
    return float(value)


def one_of(value: Any, name: str, options: Iterable[Any]) -> Any:
    """One of some values."""
    allowed = list(options)
    if not any(value is option or (type(value) is type(option) and value == option) for option in allowed):
        raise ValueError(f"{name}={value!r:.80}; expected {' or '.join(map(repr, allowed))}")
    return value


def instance(value: Any, name: str, kind: Any, expected: str, *, error: Any = TypeError) -> Any:
    """An instance of a class, or of one of several; ``expected`` says which in words."""
    if not isinstance(value, kind):
        raise error(f"{name}={value!r:.80}; expected {expected}")
    return value


def check_weights(sample_weight: Any, n_inputs: int) -> npt.NDArray[np.float64]:
    """(B,) sample weights as floats, by default ones; refused when negative, not finite or all zero.

    >>> check_weights(None, 2).tolist(), check_weights([0, 3], 2).tolist()
    ([1.0, 1.0], [0.0, 3.0])
    """
    if sample_weight is None:
        return np.ones(n_inputs)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_inputs,):
        raise ValueError(f"sample_weight has shape {weights.shape}; expected ({n_inputs},), one weight for each input")
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"sample_weight[{row}] is {weights[row]:g}; weights are finite and not negative")
    if n_inputs and not weights.any():
        raise ValueError("sample_weight is zero everywhere; give at least one input a weight above zero")
    return weights


def pursuit_of(model: Any, name: str = "model") -> Any:
    """The pursuit of a fitted classifier, or a pursuit itself."""
    found = getattr(model, "pursuit_", model)
    if not hasattr(found, "run_values"):
        if hasattr(model, "fit"):
            raise ValueError(f"{name} is not fitted yet; call fit first")
        raise TypeError(f"{name} is {type(model).__name__}; expected a fitted classifier or a Pursuit")
    return found
