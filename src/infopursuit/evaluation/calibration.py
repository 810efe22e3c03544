"""Calibration of the confidence at the stop: reliability bins, expected calibration error, Brier score, log loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.calibration import BIN_EDGES, confidence_bins, expected_calibration_error
from infopursuit.evaluation.table import accuracy_interval

MIN_PROBABILITY = float(np.finfo(np.float64).tiny)
"""The least probability that a log loss is taken of; a class that the model excludes would make it infinite."""


@dataclass(frozen=True)
class Bin:
    """The inputs with a confidence from low to high, high left out: its mean, the share that was right with the 95 %
    interval from right_low to right_high, how many they are."""

    low: float
    high: float
    confidence: float
    accuracy: float
    right_low: float
    right_high: float
    n_inputs: int


@dataclass(frozen=True)
class Calibration:
    """How well confidences agree with what was right; ``dataclasses.asdict`` of it is JSON data.

    bins: those that have inputs. expected_calibration_error: mean over inputs of |confidence - accuracy| of their bin.
    confidence: mean of the largest posterior. accuracy: share that was right. brier: mean over inputs of the sum over
    classes of (posterior - 1[right class])^2, from 0 to 2. log_loss: mean of -log p(right class), nats.
    """

    bins: tuple[Bin, ...]
    expected_calibration_error: float
    confidence: float
    accuracy: float
    brier: float
    log_loss: float


def calibration(posterior: Any, labels: Any) -> Calibration:
    """Compare posteriors (B, C) with the right classes (B,), given as numbers 0 to C - 1.

    >>> found = calibration([[0.8, 0.2], [0.25, 0.75], [0.25, 0.75]], [0, 1, 0])
    >>> [(bin.low, bin.n_inputs, bin.confidence, bin.accuracy) for bin in found.bins]
    [(0.7, 2, 0.75, 0.5), (0.8, 1, 0.8, 1.0)]
    >>> round(found.expected_calibration_error, 6), round(found.brier, 4)
    (0.233333, 0.4433)
    """
    posterior, labels = np.asarray(posterior, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    if posterior.ndim != 2 or labels.shape != posterior.shape[:1] or not len(labels):
        raise ValueError(
            f"posterior has shape {posterior.shape} and labels {labels.shape}; give (B, C) and (B,), B from 1 on"
        )
    confidence, right = posterior.max(axis=1), posterior.argmax(axis=1) == labels
    place = confidence_bins(confidence)
    bins = tuple(_bin(b, confidence[place == b], right[place == b]) for b in np.unique(place))
    truth = np.arange(posterior.shape[1]) == labels[:, None]  # (B, C)
    return Calibration(
        bins=bins,
        expected_calibration_error=expected_calibration_error(confidence, right),
        confidence=float(confidence.mean()),
        accuracy=float(right.mean()),
        brier=float(((posterior - truth) ** 2).sum(axis=1).mean()),
        log_loss=float(-np.log(np.maximum(posterior[truth], MIN_PROBABILITY)).mean()),
    )


def _bin(b: int, confidence: Any, right: Any) -> Bin:
    interval = accuracy_interval(int(right.sum()), len(right))
    return Bin(BIN_EDGES[b], BIN_EDGES[b + 1], float(confidence.mean()), float(right.mean()), *interval, len(right))
