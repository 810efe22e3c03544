"""What a finite model says once every atom is known: one product of matrices for many inputs and all states."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from infopursuit.models.finite import FiniteModel, class_log_sums
from infopursuit.progress import Progress
from infopursuit.types import UNKNOWN, FloatArray, IntArray

MOST, BYTES = 4096, 2**28
"""States and inputs that are worked on at a time, and what the values of either may take."""
NEVER = 1e30
"""Stands for the infinite cost of a value that cannot be."""


def whole_log_joint(model: FiniteModel, values: Any, *, progress: bool | None = None) -> FloatArray:
    """(B, A) atom values -> (B, C) log p(y, values); those that are unknown play no part.

    >>> from infopursuit.models import TableModel
    >>> model = TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> np.exp(whole_log_joint(model, [[1, 0], [0, -1]])).round(6).tolist()
    [[0.225, 0.025], [0.05, 0.45]]
    """
    values = model.atoms.check(values)
    found = [np.empty((0, model.n_classes))]
    size = max(1, min(MOST, BYTES // (8 * model.atoms.n_slots)))
    with Progress("all answers known", len(values), show=progress) as shown:
        for start in range(0, len(values), size):
            found.append(_some(model, values[start : start + size], size))
            shown.advance(len(found[-1]))
    return np.concatenate(found)


def _some(model: FiniteModel, values: IntArray, size: int) -> FloatArray:
    """The same for some inputs, ``size`` states at a time, in the number type of the model's tables."""
    total = np.full((len(values), model.n_classes), -np.inf)
    rows, columns = np.nonzero(values != UNKNOWN)
    # has: (B, L) 1 for the value that each atom has
    has = torch.zeros((len(values), model.atoms.n_slots), dtype=model.dtype)
    has[rows, model.atoms.offsets[columns] + values[rows, columns]] = 1.0
    for start in range(0, model.n_states, size):
        some = torch.arange(start, min(start + size, model.n_states), device=model.device)
        table = model.state_probs(some).to(model.dtype).log().clamp_(min=-NEVER).cpu()  # 0 * -inf is no number
        joint = (has @ table).to(torch.float64) + model.log_prior[some].cpu()
        joint[joint < -NEVER / 2] = -torch.inf
        offsets = np.clip(model.offsets - start, 0, len(some))
        total = np.logaddexp(total, class_log_sums(joint, offsets).numpy())
    return total


def map_classes(model: FiniteModel, values: Any, *, progress: bool | None = None) -> Any:
    """(B,) the most probable class of each input, all atoms known."""
    return whole_log_joint(model, values, progress=progress).argmax(axis=1)
