"""A query set that is still to be fitted: it waits for the training data, so that cross-validation does not leak."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infopursuit.queries.queryset import QuerySet


@dataclass(frozen=True)
class Recipe:
    """A builder with its options; ``fit`` makes the query set from the training data."""

    build: Callable[..., Any]  # called with data it returns a QuerySet, called without it a recipe like this one
    options: Mapping[str, Any]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> QuerySet:
        """The query set that the builder makes from this data."""
        built: QuerySet = self.build(X, sample_weight=sample_weight, **self.options)
        return built

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"<{self.build.__name__}({options}), not fitted yet>"
