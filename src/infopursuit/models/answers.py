"""An answer model beside the network: p(next answer | answers so far) by weighted training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from infopursuit.display import brief
from infopursuit.models.finite import softmax
from infopursuit.models.masked import AnswerLoss, Rows, Training, offsets_of
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, FloatArray, IntArray

MAX_ROWS = 4_000
"""Training rows that `RowAnswers` keeps."""
DISTANCE, OTHER, MISSING = 0.9, 0.08, 0.3
"""What an answer multiplies the weight of a row by: exp(-DISTANCE) for each cell between two numbers, OTHER for another
category, MISSING where the row has no answer."""
MARGINAL = 0.05
"""How much of the prediction by rows is the same for all histories."""
WORK_BYTES = 2**25


def cells_of(queries: QuerySet, answers: FloatArray) -> IntArray:
    """(H, Q) answer vectors -> the index of each answer, -1 where it is not known."""
    found = np.where(np.isnan(answers), UNKNOWN, answers).astype(np.int64)
    table = queries.representatives
    for q in [] if table is None else np.flatnonzero(~np.isnan(table[:, 0])).tolist():
        scale = queries.scale(q)
        assert scale is not None
        cell = np.searchsorted(scale.thresholds, answers[:, q], side="left")
        found[:, q] = np.where(np.isnan(answers[:, q]), UNKNOWN, cell)
    return found


@dataclass(frozen=True)
class RowAnswers:
    """Weighted training rows: each answer multiplies a row's weight by how near the row's own answer is.

    queries: what the answers are about. cells: (R, Q) the rows. weights: (R,). offsets: see `offsets_of`.
    """

    queries: QuerySet
    cells: IntArray
    weights: FloatArray
    offsets: IntArray
    contains_training_data: ClassVar[bool] = True

    __repr__ = brief

    @classmethod
    def fit(cls, queries: QuerySet, cells: IntArray, weights: FloatArray) -> RowAnswers:
        """Keep `MAX_ROWS` rows (N, Q) at the most, in proportion to their weights (N,)."""
        offsets, total = offsets_of(cells, queries.n_answers), np.cumsum(weights)
        used = np.flatnonzero(weights > 0)
        if len(used) > MAX_ROWS:
            used = np.searchsorted(total, (np.arange(MAX_ROWS) + 0.5) / MAX_ROWS * total[-1])
            weights = np.ones(len(weights))
        return cls(queries, cells[used].astype(np.int16), np.asarray(weights[used], np.float64), offsets)

    @cached_property
    def _one_hot(self) -> Any:
        """(outputs, R) which output each row has."""
        from scipy.sparse import csr_matrix

        place = np.where(self.cells < 0, self.offsets[1:] - 1, self.offsets[:-1] + self.cells)
        ends = np.arange(len(place) + 1) * place.shape[1]
        shape = (len(place), int(self.offsets[-1]))
        return csr_matrix((np.ones(place.size, np.float32), place.ravel(), ends), shape).T.tocsr()

    @cached_property
    def _marginal(self) -> Any:
        found = self._one_hot @ (self.weights / self.weights.sum())
        starts, sizes = self.offsets[:-1], np.diff(self.offsets)
        found = found + 1 / self.weights.sum()
        return found / np.repeat(np.add.reduceat(found, starts), sizes)

    def _log_factors(self, query: int) -> Any:
        """(answers, answers + 1) what an answer adds to the log-weight of a row with this answer, or without any."""
        n = int(self.queries.n_answers[query])
        apart = np.abs(np.arange(n)[:, None] - np.arange(n))
        known = -DISTANCE * apart if self.queries.scale(query) is not None else np.log(OTHER) * (apart > 0)
        return np.concatenate([known, np.full((n, 1), np.log(MISSING))], axis=1).astype(np.float32)

    def predict(self, answers: FloatArray) -> FloatArray:
        """(H, Q) answer vectors -> (H, outputs)."""
        asked, found = cells_of(self.queries, answers), []
        size = max(1, WORK_BYTES // (8 * len(self.cells)))
        for start in range(0, len(asked), size):
            some = asked[start : start + size]
            log_weights = np.tile(np.log(self.weights).astype(np.float32), (len(some), 1))
            for q in np.flatnonzero((some != UNKNOWN).any(axis=0)).tolist():
                rows = np.flatnonzero(some[:, q] != UNKNOWN)
                log_weights[rows] += self._log_factors(q)[:, self.cells[:, q]][some[rows, q]]
            found.append((self._one_hot @ softmax(log_weights).T).T)
        return np.asarray((1 - MARGINAL) * np.concatenate(found) + MARGINAL * self._marginal)

    def to_arrays(self) -> dict[str, Any]:
        """The rows, to be saved."""
        return {"row_cells": self.cells, "row_weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], queries: QuerySet, offsets: IntArray) -> RowAnswers:
        """What `to_arrays` took apart, checked."""
        cells, weights = np.asarray(arrays["row_cells"]), np.asarray(arrays["row_weights"], np.float64)
        if cells.ndim != 2 or cells.shape[1] != len(queries) or weights.shape != (len(cells),):
            raise ValueError(f"row_cells has shape {cells.shape}, which does not fit queries and weights")
        least = np.where(np.diff(offsets) > queries.n_answers, UNKNOWN, 0)
        if not ((cells >= least) & (cells < queries.n_answers)).all():
            raise ValueError("row_cells has an answer that its query does not have")
        if not len(weights) or not np.isfinite(weights).all() or (weights <= 0).any():
            raise ValueError("row_weights must be positive numbers")
        return cls(queries, cells.astype(np.int16), weights, offsets)


def held_out_losses(
    models: Sequence[Any], rows: Rows, cells: IntArray, how: Training, rng: Any, n: int = 8
) -> FloatArray:
    """The mean cross-entropy of a hidden answer of held-out rows, in nats, for each answer model: n batches of
    histories, the same for all."""
    loss = AnswerLoss(models[0].offsets)
    place = np.where(cells < 0, loss.offsets[1:] - 1, loss.offsets[:-1] + cells)
    found = []
    for _ in range(n):
        index, visible = (each[0] for each in rows.draw(rng, how, "held_out"))
        answers = np.where(visible, rows.answers[index], np.nan)
        target = (place[index], ~visible)
        found.append([loss.value(np.log(np.maximum(m.predict(answers), 1e-12)), target) for m in models])
    return np.asarray(np.mean(found, axis=0))
