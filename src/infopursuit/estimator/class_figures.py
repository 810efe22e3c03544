"""`ClassFigures`: area under the ROC curve, recall and precision of each class, and the confusion matrix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.support.checks import number
from infopursuit.support.terminal import seen_width, table
from infopursuit.support.types import FloatArray, IntArray

MAX_CONFUSION = 50
"""Classes up to which a confusion matrix is kept."""

__all__ = ["ClassFigures", "area_under_curve", "class_figures"]


@dataclass(frozen=True)
class ClassFigures:
    """How well each class is told from the others.

    Parameters
    ----------
    auc : float, optional
        The area under the ROC curve; of more than two classes the mean over classes of one against
        the rest. None where fewer than two classes occur.
    recall : tuple of float or None
        The share of the inputs of each class that were predicted so; None where it does not occur.
    precision : tuple of float or None
        The share of the predictions of each class that were right; None where it was not predicted.
    confusion : tuple of tuples of float
        The weight of the inputs of each true class (row) for which each class (column) was
        predicted. Empty where there are more than `MAX_CONFUSION` classes.
    """

    auc: float | None
    recall: tuple[float | None, ...]
    precision: tuple[float | None, ...]
    confusion: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        for name, shares in (("auc", (self.auc,)), ("recall", self.recall), ("precision", self.precision)):
            for share in shares:
                if share is not None:
                    number(share, name, least=0, most=1)
        for row in self.confusion:
            for weight in row:
                number(weight, "confusion", least=0)
        if len({len(self.recall), len(self.precision), *map(len, self.confusion)}) > 1:
            raise ValueError("recall, precision and confusion are about different numbers of classes")

    def table(self, classes: Iterable[Any]) -> list[list[str]]:
        """Inputs, recall and precision of each class, as rows of a table below a header."""
        masses = [_weight(sum(weights)) for weights in self.confusion] or [""] * len(self.recall)
        rows = [["class", "rows", "recall", "precision"]]
        for label, mass, recall, precision in zip(classes, masses, self.recall, self.precision, strict=True):
            rows.append([str(label), mass, _percent(recall), _percent(precision)])
        return rows

    def confusion_table(self, classes: Iterable[Any]) -> list[list[str]]:
        """The confusion matrix as rows of a table below a header: true classes down, predictions across."""
        names = [str(label) for label in classes]
        rows = [["true class", *(f"predicted {name}" for name in names)]]
        for name, weights in zip(names, self.confusion, strict=True):
            rows.append([name, *map(_weight, weights)])
        return rows

    def lines(self, classes: Iterable[Any], width: int) -> list[str]:
        """Both tables for a terminal of so many columns, one below the other."""
        names = [str(label) for label in classes]
        confusion = self.confusion_table(names)
        lines = table(confusion)
        if max(map(seen_width, lines)) > width:
            confusion[0] = ["true class, predicted as", *names]
            lines = table(confusion)
        return ["", *table(self.table(names)), "", *lines]

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> ClassFigures:
        """What ``dataclasses.asdict`` described; refused where a number cannot be."""
        confusion = tuple(tuple(row) for row in spec["confusion"])
        return cls(spec["auc"], tuple(spec["recall"]), tuple(spec["precision"]), confusion)


def class_figures(posterior: FloatArray, labels: IntArray, weights: FloatArray | None = None) -> ClassFigures:
    """Compare predictions with the true classes.

    Parameters
    ----------
    posterior : (B, C) array of float
    labels : (B,) array of int
        The true classes.
    weights : (B,) array of float, optional
        1 by default.

    Examples
    --------
    >>> figures = class_figures(np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]]), np.array([0, 1, 0]))
    >>> figures.auc, figures.recall, figures.confusion
    (1.0, (1.0, 0.0), ((2.0, 0.0), (1.0, 0.0)))
    """
    weights = np.ones(len(labels)) if weights is None else weights
    n_classes = posterior.shape[1]
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (labels, posterior.argmax(axis=1)), weights)
    right = np.diag(confusion)
    return ClassFigures(
        auc=area_under_curve(posterior, labels, weights),
        recall=_shares(right, confusion.sum(axis=1)),
        precision=_shares(right, confusion.sum(axis=0)),
        confusion=tuple(map(tuple, confusion.tolist())) if n_classes <= MAX_CONFUSION else (),
    )


def area_under_curve(posterior: FloatArray, labels: IntArray, weights: FloatArray | None = None) -> float | None:
    """The area under the ROC curve, of several classes the mean of one against the rest; None of fewer than two."""
    from sklearn.metrics import roc_auc_score

    occurring = np.unique(labels)
    if len(occurring) < 2:
        return None
    scored = occurring[-1:] if posterior.shape[1] == 2 else occurring
    areas = [roc_auc_score(labels == c, posterior[:, c], sample_weight=weights) for c in scored]
    return float(np.clip(np.mean(areas), 0.0, 1.0))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _weight(weight: float) -> str:
    """The weight of some inputs: their number where all weights are 1."""
    return f"{weight:,.0f}" if weight == round(weight) else f"{weight:,.1f}"


def _shares(parts: FloatArray, wholes: FloatArray) -> tuple[float | None, ...]:
    """Each part as a share of its whole, None where the whole is nothing."""
    return tuple(
        min(1.0, float(part / whole)) if whole > 0 else None for part, whole in zip(parts, wholes, strict=True)
    )
