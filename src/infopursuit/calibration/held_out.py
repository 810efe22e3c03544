"""Which held-out rows are pursued, and how far, when something is chosen on them."""

from __future__ import annotations

import numpy as np

from infopursuit.models.sample import Sample
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import FloatArray, IntArray

MAX_QUESTIONS = 12
"""Questions at most, by default."""
MIN_PURSUED = 400
MAX_PURSUED = 2_500
"""Held-out rows that are pursued, at least and at most."""
MAX_ANSWERS_SEEN = 1_500_000
"""Answers that a step looks at for all pursued rows together."""
MANY_CLASSES = 32
"""From so many classes on fewer rows are pursued: a posterior of all classes is computed after each answer."""
MAX_POSTERIOR_ERROR = 1e-3
"""Held-out pursuits end once the posterior exceeds 1 - this, where classes are about equally frequent."""


def n_pursued(queries: QuerySet, n_classes: int) -> int:
    """How many held-out rows are pursued at most: fewer where each step looks at many answers or classes."""
    work = int(queries.n_answers.sum()) * max(1.0, n_classes / MANY_CLASSES)
    return int(np.clip(MAX_ANSWERS_SEEN // work, MIN_PURSUED, MAX_PURSUED))


def held_out_rows(sample: Sample, held_out: FloatArray, n: int) -> list[tuple[IntArray, FloatArray]]:
    """The rows of each fold that are pursued, and their weights; n rows in all at most.

    Where a fold has more rows, some of each class are drawn, and weighted so that each class keeps
    its share: half of them for all classes alike, so that a rare class is among them.

    Parameters
    ----------
    sample : Sample
    held_out : (F, N) array of float
        The weight of each row that each fold holds out.
    n : int

    Returns
    -------
    list of F pairs of arrays, (R,) int and (R,) float
    """
    limit = max(1, n // len(held_out))
    pursued = []
    for held in held_out:
        rows = np.flatnonzero(held > 0)
        weights = held[rows]
        if len(rows) > limit:
            labels = sample.labels[rows]
            kept = np.sort(_drawn_by_class(labels, sample.keys[rows], limit))
            whole = np.bincount(labels, weights=weights, minlength=sample.n_classes)
            part = np.bincount(labels[kept], weights=weights[kept], minlength=sample.n_classes)
            weights = weights[kept] * (whole[labels[kept]] / part[labels[kept]])
            rows = rows[kept]
        pursued.append((rows, weights))
    return pursued


def _drawn_by_class(labels: IntArray, keys: IntArray, n: int) -> IntArray:
    """The places of n rows, half of them in equal shares from all classes, the others as they come by their keys."""
    by_key = np.argsort(keys, kind="stable")
    ordered = labels[by_key]
    # place: (rows,) how many rows of the same class come before
    by_class = np.argsort(ordered, kind="stable")
    starts = np.searchsorted(ordered[by_class], ordered[by_class])
    place = np.empty(len(labels), dtype=np.int64)
    place[by_class] = np.arange(len(labels)) - starts

    n_classes = len(np.unique(labels))
    assured = place < max(1, n // (2 * n_classes))
    order = np.argsort(~assured, kind="stable")
    return by_key[order[:n]]


def strict_epsilon(sample: Sample) -> float:
    """1 - the posterior at which held-out pursuits end: smaller where one class is much more frequent."""
    return MAX_POSTERIOR_ERROR * relative_doubt(float(sample.class_prior.max()))


def relative_doubt(largest_share: float) -> float:
    """How uncertain the class is before the first answer: 1 unless a class has more than three quarters of the rows.

    >>> relative_doubt(0.5), round(relative_doubt(0.99), 9)
    (1.0, 0.04)
    """
    return min(1.0, 4 * (1 - largest_share))
