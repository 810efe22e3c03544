"""log p(y, values) of a finite model, for *MAP using Q* of large test sets: by matrix products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from infopursuit.models.finite import FiniteModel, class_log_sums, log
from infopursuit.support.progress import Progress
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

AT_A_TIME, BYTES = 4096, 2**28
"""States and inputs of one matrix product, and the memory of either factor."""
IMPOSSIBLE = 1e30
"""Stands for the infinite cost of an impossible value: 0 * inf is no number."""


def log_joint(model: FiniteModel, values: Any, *, progress: bool | None = None) -> FloatArray:
    """(B, A) values -> (B, C) log p(y, values) of a finite model, by matrix products; unknown values are left out.

    >>> from infopursuit.models import TableModel
    >>> model = TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> np.exp(log_joint(model, [[1, 0], [0, -1]])).round(6).tolist()
    [[0.225, 0.025], [0.05, 0.45]]
    """
    values = model.variables.check(values)
    found = np.empty((len(values), model.n_classes))
    size = max(1, min(AT_A_TIME, BYTES // (8 * model.variables.n_slots), math.isqrt(BYTES // 8)))
    with Progress("all answers known", len(values), show=progress) as shown:
        for start in range(0, len(values), size):
            some = values[start : start + size]
            found[start : start + size] = _log_joint(model, some, size)
            shown.advance(len(some))
    return found


def _log_joint(model: FiniteModel, values: IntArray, size: int) -> FloatArray:
    """The same for a few inputs, ``size`` states at a time."""
    total = np.full((len(values), model.n_classes), -np.inf)
    rows, columns = np.nonzero(values != UNKNOWN)
    has = np.zeros((len(values), model.variables.n_slots), dtype=model.dtype)  # (B, L) 1 for the value of each variable
    has[rows, model.variables.offsets[columns] + values[rows, columns]] = 1.0
    for start in range(0, model.n_states, size):
        some = np.arange(start, min(start + size, model.n_states))
        table = np.maximum(log(model.state_probs(some).astype(model.dtype)), -IMPOSSIBLE)  # (L, M)
        joint = (has @ table).astype(np.float64) + model.log_prior[some]
        joint[joint < -IMPOSSIBLE / 2] = -np.inf
        offsets = np.clip(model.offsets - start, 0, len(some))
        total = np.logaddexp(total, class_log_sums(joint, offsets))
    return total
