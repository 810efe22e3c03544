"""What a baseline came to on the test inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True)
class BaselineResult:
    """One number of a table, with what is needed to judge it; ``dataclasses.asdict`` of it is JSON data.

    accuracy_error: its standard error. n_inputs: test inputs. seconds: what fitting took, choices included. details:
    what was chosen, on what grounds, and whatever else is worth telling.

    >>> result_of("guess", np.array([True, False, True, True]), seconds=0.1).accuracy
    0.75
    """

    name: str
    accuracy: float
    accuracy_error: float
    n_inputs: int
    seconds: float
    details: Mapping[str, Any] = field(default_factory=dict)


class Fitted(Protocol):
    """A baseline that has been fitted: the tree, the network, the tuned model."""

    @property
    def name(self) -> str:
        """What it is."""

    @property
    def validation_accuracy(self) -> float:
        """Of what was fitted on the other rows, on those that were held out."""

    @property
    def seconds(self) -> float:
        """What fitting took."""

    @property
    def details(self) -> dict[str, Any]:
        """What was chosen, as JSON data."""

    def predict(self, values: Any) -> Any:
        """(B, A) atom values -> (B,) labels."""


def result_of(name: str, right: Any, seconds: float, details: Mapping[str, Any] | None = None) -> BaselineResult:
    """A result from which inputs were classified rightly (B,)."""
    if not len(right):
        raise ValueError("values_test has no rows; give at least one test input")
    accuracy = float(np.mean(right))
    error = float(np.sqrt(accuracy * (1 - accuracy) / len(right)))
    return BaselineResult(name, accuracy, error, len(right), round(float(seconds), 1), dict(details or {}))


def score(fitted: Fitted, values: Any, labels: Any) -> BaselineResult:
    """A fitted baseline on test inputs."""
    right = fitted.predict(values) == np.asarray(labels)
    return result_of(fitted.name, right, fitted.seconds, fitted.details)
