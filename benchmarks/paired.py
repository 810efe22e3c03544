"""Two classifiers on the same inputs: how much more often one is right, with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t

from infopursuit.evaluation.measures import LEVEL, Z


@dataclass(frozen=True)
class Difference:
    """How much more often one is right than another on the same inputs, with an interval; shares, not points."""

    what: str
    mean: float
    low: float
    high: float
    n_inputs: int


def paired(what: str, ours: Any, theirs: Any, fold: Any = None) -> Difference:
    """The mean of ours - theirs (B,), right or not, on the same inputs, with a normal interval.

    fold: (B,) which part each input was tested in; then the spread between parts counts too: the larger of the
    interval from inputs and the t interval from the means of the parts.

    >>> paired("a - b", [1, 1, 0, 1], [1, 0, 0, 1]).mean
    0.25
    """
    shapes = [np.shape(a) for a in (ours, theirs, ours if fold is None else fold)]
    if len(set(shapes)) > 1:
        raise ValueError(f"ours, theirs and fold have shapes {shapes}; they must be about the same inputs")
    each = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    half = Z * float(each.std(ddof=1)) / np.sqrt(len(each)) if len(each) > 1 else np.inf
    if fold is not None and len(np.unique(fold)) > 1:
        means = np.array([each[np.asarray(fold) == f].mean() for f in np.unique(fold)])
        spread = float(means.std(ddof=1)) / np.sqrt(len(means))
        half = max(half, float(t.ppf((1 + LEVEL) / 2, len(means) - 1)) * spread)
    mean = float(each.mean())
    return Difference(what, mean, mean - half, mean + half, len(each))
