"""`TrainingTable`: inputs with labels, weights and groups, of which parts can be taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infopursuit.estimator.table_files import take_rows
from infopursuit.models.folds import number_keys
from infopursuit.support.types import FloatArray, IntArray

__all__ = ["TrainingTable"]


@dataclass(frozen=True)
class TrainingTable:
    """B labelled inputs to learn from.

    Parameters
    ----------
    X : table, list of texts or stack of images
    y : (B,) array
        The labels as they were given.
    labels : (B,) array of int
        Their numbers among the sorted labels of the whole table.
    weights : (B,) array of float, optional
    groups : (B,) array of int, optional
        Rows of the same group are held out together, where the user said which these are.
    rows : (B,) array of int
        Where each input stands in what `fit` was given.
    name : str
        What the labels are called.
    cases : bool, optional
        Whether rows that repeat each other are separate cases, see `Sample`; None: not known yet.
    """

    X: Any
    y: Any
    labels: IntArray
    weights: FloatArray | None
    groups: IntArray | None
    rows: IntArray
    name: str
    cases: bool | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        labels: IntArray,
        weights: FloatArray | None,
        groups: Any,
        name: str,
    ) -> TrainingTable:
        """Number the groups that were given."""
        rows = np.arange(len(labels))
        if groups is None:
            return cls(X, y, labels, weights, None, rows, name)

        keys = list(groups)
        if len(keys) != len(labels):
            raise ValueError(f"groups has {len(keys)} entries and X has {len(labels)} rows; give one for each row")
        return cls(X, y, labels, weights, number_keys(keys), rows, name)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def row_weights(self) -> FloatArray:
        """(B,) the weights, 1 by default."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @property
    def weighted_by_class(self) -> bool:
        """Whether the weights of rows differ, and depend on their class alone."""
        weights = self.row_weights
        _, first = np.unique(self.labels, return_index=True)
        of_class = np.zeros(self.labels.max() + 1)
        of_class[self.labels[first]] = weights[first]
        return bool(np.ptp(weights) > 0 and np.allclose(weights, of_class[self.labels], rtol=1e-9, atol=0))

    def with_class_shares(self, shares: FloatArray) -> TrainingTable:
        """The same rows, weighted so that each class has its share (C,) of those that occur."""
        mass = np.bincount(self.labels, weights=self.row_weights, minlength=len(shares))
        wanted = np.where(mass > 0, shares, 0.0)
        factors = np.divide(wanted * mass.sum(), wanted.sum() * mass, out=np.ones(len(shares)), where=mass > 0)
        return replace(self, weights=self.row_weights * factors[self.labels])

    def take(self, rows: IntArray) -> TrainingTable:
        """Some of the rows."""
        return TrainingTable(
            take_rows(self.X, rows),
            self.y[rows],
            self.labels[rows],
            None if self.weights is None else self.weights[rows],
            None if self.groups is None else self.groups[rows],
            self.rows[rows],
            self.name,
            self.cases,
        )

    def without(self, rows: IntArray) -> TrainingTable:
        """The other rows."""
        return self.take(np.setdiff1d(np.arange(len(self)), rows))
