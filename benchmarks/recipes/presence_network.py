"""The paper's black box on words: plain layers that are told what is there and nothing about what is not."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier

from benchmarks.baselines import AT_A_TIME, check_training_rows, hold_out
from infopursuit.queries.queryset import QuerySet


@dataclass(frozen=True)
class PresenceNetwork:
    """A fitted network; see `fit_presence_network`."""

    classes: Any
    estimator: Any
    epochs: int
    validation_accuracy: float
    seconds: float
    name: str = "network of plain layers"

    def predict(self, values: Any) -> Any:
        """(B, A) yes/no answers -> (B,) labels."""
        starts = range(0, len(values), AT_A_TIME)
        return self.classes[np.concatenate([self.estimator.predict(values[i : i + AT_A_TIME]) for i in starts])]


def fit_presence_network(
    query_set: QuerySet, values: Any, labels: Any, *, epochs: int = 8, validation: float = 0.1, seed: int = 0
) -> PresenceNetwork:
    """Layers of 100 and 25 neurons on answers told as 0 and 1, for as many epochs as are best on held-out rows.

    `baselines.fit_network` tells a no as -1. Of a thousand words a headline has four; 996 times -1 is a push so large
    that the first steps switch all neurons off, and it does not learn.
    """
    begin = time.perf_counter()
    values, classes, targets = check_training_rows(query_set, values, labels)
    learn, choose = hold_out(targets, validation, seed)
    network, right = _network(seed), []
    for _ in range(epochs):
        network.partial_fit(values[learn], targets[learn], classes=np.arange(len(classes)))
        right.append(float((network.predict(values[choose]) == targets[choose]).mean()))
    best = int(np.argmax(right)) + 1
    network = _network(seed)
    for _ in range(best):
        network.partial_fit(values, targets, classes=np.arange(len(classes)))
    return PresenceNetwork(classes, network, best, max(right), time.perf_counter() - begin)


def _network(seed: int) -> Any:
    return MLPClassifier((100, 25), batch_size=64, random_state=seed)
