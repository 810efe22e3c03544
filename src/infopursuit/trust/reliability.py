"""The expected calibration error: how far what was said lies from what was right."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.stopping import SLACK
from infopursuit.types import IntArray

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)
"""Of the bins. A pursuit asks until it is sure, so that most confidences lie close to one: bins are narrow there."""


def places(confidence: Any, edges: tuple[float, ...] = EDGES) -> IntArray:
    """(B,) the bin of each confidence; a bin has its lower edge, not its upper one."""
    # rounding must not put 90 % below 90 %
    found = np.searchsorted(edges, np.asarray(confidence) + SLACK, side="right") - 1
    return np.asarray(np.clip(found, 0, len(edges) - 2), dtype=np.int64)


def expected_error(confidence: Any, right: Any, edges: tuple[float, ...] = EDGES) -> float:
    """Mean over inputs of |mean confidence - share that was right| of their bin.

    >>> round(expected_error([0.8, 0.75, 0.75], [True, True, False]), 6)
    0.233333
    """
    confidence, right = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if not len(confidence):
        return 0.0
    place = places(confidence, edges)
    gaps = np.bincount(place, confidence, len(edges) - 1) - np.bincount(place, right, len(edges) - 1)
    return float(np.abs(gaps).sum() / len(confidence))
