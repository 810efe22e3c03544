"""Counts over a batch of explanations, added up part by part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from infopursuit.pursuit.explanation import NOVELTY_LEVEL
from infopursuit.pursuit.trace import Trace

MAX_GROUPS = 10  # of lengths; more lengths share a group
COUNTERS = ("lengths", "predictions", "asked", "first", "reasons")


@dataclass
class Summary:
    """Counts over inputs. n_right: correct predictions, None without labels. n_novel: inputs out of distribution, None
    without p-values. asked, first: number of inputs by question."""

    n_inputs: int = 0
    n_right: int | None = None
    n_novel: int | None = None
    lengths: Counter[int] = field(default_factory=Counter)
    predictions: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    first: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, trace: Trace, truth: Any = None) -> Summary:
        """Count a trace, with its true classes where they are known."""
        queries = trace.query_set

        def words(q: int) -> str:
            return queries.sentences[q] if q in queries.worded else queries.names[q]

        asked = [[q for q in row if q >= 0] for row in trace.queries.tolist()]
        one = Summary(
            len(trace),
            lengths=Counter(trace.length.tolist()),
            predictions=Counter(map(str, trace.predictions.tolist())),
            asked=Counter(words(q) for row in asked for q in set(row)),  # one that is asked again counts once
            first=Counter(words(row[0]) for row in asked if row),
            reasons=Counter(map(str, trace.stop_reason)),
        )
        if trace.p_values is not None:
            one.n_novel = int((trace.p_values <= NOVELTY_LEVEL).sum())
        if truth is not None:
            one.n_right = sum(map(same_class, trace.predictions.tolist(), np.asarray(truth).tolist()))
        return self.merge(one)

    def merge(self, other: Summary) -> Summary:
        """Count the inputs of another summary too."""
        self.n_inputs += other.n_inputs
        for name in ("n_right", "n_novel"):
            if getattr(other, name) is not None:
                setattr(self, name, (getattr(self, name) or 0) + getattr(other, name))
        for name in COUNTERS:
            getattr(self, name).update(getattr(other, name))
        return self

    def to_spec(self) -> dict[str, Any]:
        """As JSON data."""
        counted = {name: sorted(getattr(self, name).items()) for name in COUNTERS}
        return {"n_inputs": self.n_inputs, "n_right": self.n_right, "n_novel": self.n_novel, **counted}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Summary:
        """The inverse of `to_spec`."""
        return cls(**{**spec, **{name: Counter(dict(map(tuple, spec[name]))) for name in COUNTERS}})

    @property
    def mean_length(self) -> float:
        """Questions on average."""
        return sum(n * count for n, count in self.lengths.items()) / max(self.n_inputs, 1)

    @property
    def longest(self) -> int:
        """The most questions that an input took."""
        return max(self.lengths, default=0)

    def length_groups(self) -> list[tuple[str, int]]:
        """The histogram of lengths: (length or range of lengths, inputs).

        >>> Summary(lengths=Counter({3: 2, 5: 1})).length_groups()
        [('3', 2), ('4', 0), ('5', 1)]
        """
        low, high = min(self.lengths, default=0), max(self.lengths, default=-1)
        step = -(-(high - low + 1) // MAX_GROUPS)
        return [
            (f"{start}" if step == 1 else f"{start}+", sum(self.lengths[n] for n in range(start, start + step)))
            for start in range(low, high + 1, max(step, 1))
        ]


def most_common(counts: Counter[str], n: int) -> tuple[list[tuple[str, int]], int, int]:
    """The n most frequent, ties by name; how many more there are, and how often those occur together."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ordered[:n], len(ordered[n:]), sum(count for _, count in ordered[n:])


def same_class(prediction: Any, truth: Any) -> bool:
    """Whether a label is the true one, also where one of them was read from a file as text."""
    return bool(prediction == truth) or str(prediction) == str(truth)
