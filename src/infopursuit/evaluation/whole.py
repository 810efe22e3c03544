"""What a finite model says once every atom is known: one product of matrices for many inputs and all states."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from infopursuit.models.finite import FiniteModel, class_log_sums
from infopursuit.progress import Progress
from infopursuit.types import UNKNOWN, FloatArray

STATES, ROWS = 4096, 1024
"""States and inputs that are worked on at a time."""


def whole_log_joint(model: FiniteModel, values: Any, *, progress: bool | None = None) -> FloatArray:
    """(B, A) atom values -> (B, C) log p(y, values); those that are unknown play no part.

    >>> from infopursuit.models import TableModel
    >>> model = TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> np.exp(whole_log_joint(model, [[1, 0], [0, -1]])).round(6).tolist()
    [[0.225, 0.025], [0.05, 0.45]]
    """
    values = model.atoms.check(values)
    total = np.full((len(values), model.n_classes), -np.inf)
    # one: (B, L) 1 for the value that each atom has, in float32, which is exact for it
    rows, columns = np.nonzero(values != UNKNOWN)
    one = torch.zeros((len(values), model.atoms.n_slots), dtype=torch.float32)
    one[rows, model.atoms.offsets[columns] + values[rows, columns]] = 1.0
    n_states = model.n_states
    with Progress("all answers known", n_states, show=progress) as shown:
        for start in range(0, n_states, STATES):
            some = torch.arange(start, min(start + STATES, n_states), device=model.device)
            table = model.state_probs(some).to(torch.float32).log().clamp_(min=-1e30)  # (L, M); 0 * -inf is no number
            offsets = np.clip(model.offsets - start, 0, len(some))
            for low in range(0, len(values), ROWS):
                here = slice(low, low + ROWS)
                joint = (one[here] @ table.cpu()).to(torch.float64) + model.log_prior[some].cpu()
                joint[joint < -1e29] = -torch.inf
                total[here] = np.logaddexp(total[here], class_log_sums(joint, offsets).numpy())
            shown.advance(len(some))
    return total


def map_classes(model: FiniteModel, values: Any, *, progress: bool | None = None) -> Any:
    """(B,) the most probable class of each input, all atoms known."""
    return whole_log_joint(model, values, progress=progress).argmax(axis=1)
