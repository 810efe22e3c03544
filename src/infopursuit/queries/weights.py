"""Sample weights: how often each training input counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.types import FloatArray


def check_weights(sample_weight: Any, n_inputs: int) -> FloatArray:
    """(B,) weights as floats, ones where nothing is given; refused when negative, not finite or all zero.

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
