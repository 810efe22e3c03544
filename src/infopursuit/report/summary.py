"""What a batch of explanations has in common, added up piece by piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from infopursuit.explanation import UNLIKE
from infopursuit.queries.queryset import QuerySet
from infopursuit.trace import Trace

MOST_COLUMNS = 24
"""Of a histogram of lengths; more different lengths share columns."""

COUNTERS = ("lengths", "predictions", "asked", "first", "reasons")


@dataclass
class Summary:
    """Counts over inputs. n_right is None while no truth is known, n_unlike while no p-values are.
    asked, first: inputs by the question's words."""

    n_inputs: int = 0
    n_right: int | None = None
    n_unlike: int | None = None
    lengths: Counter[int] = field(default_factory=Counter)
    predictions: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    first: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, trace: Trace, truth: Any = None) -> Summary:
        """Count a trace, with its true classes where they are known."""
        self.n_inputs += len(trace)
        self.lengths.update(trace.length.tolist())
        self.predictions.update(str(label) for label in trace.predictions.tolist())
        self.reasons.update(str(reason) for reason in trace.stopped_because)
        words = words_of(trace.query_set)
        # a question that is asked again counts once for its input
        pairs = {(b, q) for b, row in enumerate(trace.queries.tolist()) for q in row if q >= 0}
        self.asked.update(words(q) for _, q in pairs)
        if trace.queries.shape[1]:
            self.first.update(words(q) for q in trace.queries[:, 0].tolist() if q >= 0)
        if trace.p_values is not None:
            self.n_unlike = (self.n_unlike or 0) + int((trace.p_values <= UNLIKE).sum())
        if truth is not None:
            pairs_of_labels = zip(trace.predictions.tolist(), np.asarray(truth).tolist(), strict=True)
            right = sum(same_class(predicted, true) for predicted, true in pairs_of_labels)
            self.n_right = (self.n_right or 0) + right
        return self

    def merge(self, other: Summary) -> Summary:
        """Count the inputs of another one too."""
        self.n_inputs += other.n_inputs
        for name in ("n_right", "n_unlike"):
            if getattr(other, name) is not None:
                setattr(self, name, (getattr(self, name) or 0) + getattr(other, name))
        for name in COUNTERS:
            getattr(self, name).update(getattr(other, name))
        return self

    def to_spec(self) -> dict[str, Any]:
        """As JSON data."""
        counted = {name: sorted(getattr(self, name).items()) for name in COUNTERS}
        return {"n_inputs": self.n_inputs, "n_right": self.n_right, "n_unlike": self.n_unlike, **counted}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Summary:
        """What `to_spec` has written.

        >>> Summary.from_spec(Summary(2, lengths=Counter({3: 2})).to_spec()).lengths
        Counter({3: 2})
        """
        return cls(**{**spec, **{name: Counter(dict(map(tuple, spec[name]))) for name in COUNTERS}})

    @property
    def mean_length(self) -> float:
        """Questions on average."""
        return sum(n * count for n, count in self.lengths.items()) / max(self.n_inputs, 1)

    @property
    def longest(self) -> int:
        """The most questions that an input took."""
        return max(self.lengths, default=0)

    def length_columns(self) -> list[tuple[str, int]]:
        """The histogram of lengths: (length or range of lengths, inputs).

        >>> Summary(lengths=Counter({3: 2, 5: 1})).length_columns()
        [('3', 2), ('4', 0), ('5', 1)]
        """
        if not self.lengths:
            return []
        low, high = min(self.lengths), max(self.lengths)
        step = -(-(high - low + 1) // MOST_COLUMNS)
        columns = []
        for start in range(low, high + 1, step):
            name = str(start) if step == 1 else f"{start}+"
            columns.append((name, sum(self.lengths[n] for n in range(start, start + step))))
        return columns


def most_common(counts: Counter[str], n: int) -> tuple[list[tuple[str, int]], int, int]:
    """The n most frequent, ties by name; and how many more there are, and how often those occur together."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = ordered[n:]
    return ordered[:n], len(rest), sum(count for _, count in rest)


def words_of(queries: QuerySet) -> Callable[[int], str]:
    """What a question is called in lists: its name, or its own words where somebody gave it some."""
    return lambda q: queries.sentences[q] if q in queries.worded else queries.names[q]


def same_class(prediction: Any, truth: Any) -> bool:
    """Whether a label is the true one, also where one of them was read from a file as text."""
    return bool(prediction == truth) or str(prediction) == str(truth)
