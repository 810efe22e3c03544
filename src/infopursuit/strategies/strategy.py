"""`Strategy`: what to believe and how to choose, learnt from a sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from infopursuit.models.sample import Sample
from infopursuit.pursuit.protocols import Acquisition, Belief
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import FloatArray

__all__ = ["Strategy"]


class Strategy(ABC):
    """A strategy that `InformationPursuitClassifier` learns: ``strategy=MyStrategy()``.

    A subclass has `build`. With `held_out` and `folds` it is tested on rows that it was not trained on, calibrated
    there, and compared with other strategies.

    Attributes
    ----------
    kind : str
        What it is called in reports; by default the name of the class.
    """

    kind: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return self.kind or type(self).__name__

    @property
    def refittable(self) -> bool:
        """Whether `build` learns from its sample alone.

        `fit` then builds it again on parts of the rows, and measures it on the others.
        """
        return False

    @abstractmethod
    def build(self, sample: Sample, queries: QuerySet, seed: int) -> tuple[Belief[Any], Acquisition[Any]]:
        """Learn the belief and the acquisition function from a sample."""

    def held_out(self, sample: Sample) -> FloatArray:
        """(F, N) the weight of each row that each of F folds holds out; none by default."""
        return np.zeros((0, len(sample)))

    def folds(self, belief: Any) -> list[tuple[Any, Any]] | None:
        """For each fold a belief and an acquisition function that were not trained on it.

        None, the default, where the strategy cannot be tested so.
        """
        return None
