"""Which queries are asked first, how often, and for which class: counted over a trace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.explanation import percent
from infopursuit.terminal import table
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, FloatArray, IntArray

FORMAT = "infopursuit.asked/1"
EARLY = 3
"""Questions that count as early."""
NARROW = 22
"""Columns that names have at the least."""
APART = 0.1
"""How far shares of two classes must lie apart for the classes to be named."""


@dataclass(frozen=True)
class Asked:
    """Which queries were asked about the inputs of a trace; those asked most often first, n of them asked at all.

    queries: (n,) indices; names: (n,). share: (n,) of the inputs that were asked. first: (n,) of the inputs whose first
    question it was. early: (n,) of the inputs that were asked it among their first `EARLY` questions. position: (n,)
    mean place in the order, 1 is the first. by_class: (n, C) the share of the inputs of each class that were asked, NaN
    where a class has none. class_sizes: (C,) inputs of each class. by: whether classes are the true "label" or the
    "prediction". n_inputs, n_queries, mean_length: of all.
    """

    queries: IntArray
    names: tuple[str, ...]
    share: FloatArray
    first: FloatArray
    early: FloatArray
    position: FloatArray
    by_class: FloatArray
    classes: tuple[Any, ...]
    class_sizes: IntArray
    by: str
    n_inputs: int
    n_queries: int
    mean_length: float

    def __len__(self) -> int:
        return len(self.queries)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, most: int = 15, width: int = 80) -> str:
        """A table of the queries asked most: how often, how often first, at which place, for which class most and
        least; a class is named only where its share and the least lie apart."""
        rows = [["", "asked", "first", f"by {EARLY}rd", "place", "most for", "least for"]]
        shown = range(min(most, len(self)))
        for i in shown:
            high, low = self._extremes(i)
            place = f"{self.position[i]:.1f}"
            shares = [percent(float(each[i])) for each in (self.share, self.first, self.early)]
            rows.append([self.names[i], *shares, place, high, low])
        room = _room(rows, width)
        if room < NARROW:  # classes with long names: the one that it is asked for most is enough
            rows = [row[:-1] for row in rows]
            room = max(NARROW, _room(rows, width))
        for row in rows[1:]:
            row[0] = row[0] if len(row[0]) <= room else f"{row[0][: room - 1]}…"
        lines = [f"{self.n_inputs:,} inputs, {self.mean_length:.1f} questions each on average; {len(self):,} of"]
        lines[0] += f" {self.n_queries:,} queries are asked."
        if len(self):
            lines += ["", *table(rows, gap=2)]
        if len(self) > most:
            rest, share = len(self) - most, percent(float(self.share[most]))
            lines.append(f"{rest:,} more {'is' if rest == 1 else 'are'} asked of {share} of the inputs or fewer.")
        return "\n".join(lines)

    def to_json(self) -> str:
        """Everything as JSON."""
        shares = [
            {str(c): None if np.isnan(p) else p for c, p in zip(self.classes, row, strict=True)}
            for row in self.by_class.tolist()
        ]
        rows = zip(
            self.queries.tolist(), self.names, self.share, self.first, self.early, self.position, shares, strict=True
        )
        data = {
            "format": FORMAT,
            "n_inputs": self.n_inputs,
            "n_queries": self.n_queries,
            "mean_length": self.mean_length,
            "by": self.by,
            "class_sizes": {str(c): int(n) for c, n in zip(self.classes, self.class_sizes, strict=True)},
            "queries": [
                {
                    "query": q,
                    "name": name,
                    "asked": float(share),
                    "first": float(first),
                    f"in_first_{EARLY}": float(early),
                    "mean_position": float(position),
                    "by_class": each,
                }
                for q, name, share, first, early, position, each in rows
            ],
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    def _extremes(self, i: int) -> tuple[str, str]:
        """The classes that a query is asked for most and least."""
        there = np.flatnonzero(self.class_sizes > 0)
        shares = self.by_class[i, there]
        if not len(there) or shares.max() - shares.min() < APART:
            return "", ""
        return self._named(there, shares, float(shares.max())), self._named(there, shares, float(shares.min()))

    def _named(self, there: IntArray, shares: FloatArray, share: float) -> str:
        """The first class with a share, and how many others have the same."""
        same = there[np.isclose(shares, share)]
        name = str(self.classes[same[0]])
        name = name if len(name) <= 14 else f"{name[:13]}…"
        return f"{name}{f' + {len(same) - 1}' if len(same) > 1 else ''} ({percent(share)})"


def asked(trace: Trace, y: Any = None) -> Asked:
    """Which queries are asked, how often, how early, and for which class.

    trace: over a batch of inputs. y: their true labels; where nobody gives them, classes are those predicted.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.9], [0.05, 0.3]])
    >>> queries = ip.queries.concepts(["has wings", "is black"])
    >>> pursuit = ip.Pursuit(model, queries, stopping=ip.Confidence(0.06), classes=["crow", "cat"])
    >>> print(asked(pursuit.run([[1, 0], [0, 0], [0, 1], [1, 1]])))
    4 inputs, 1.5 questions each on average; 2 of 2 queries are asked.
    <BLANKLINE>
               asked  first  by 3rd  place    most for   least for
    has wings  100 %  100 %   100 %    1.0
    is black    50 %    0 %    50 %    2.0  cat (100 %)  crow (0 %)
    """
    if not len(trace):
        raise ValueError("trace is over 0 inputs; give one over at least 1")
    labels = np.asarray(trace.predictions if y is None else y)
    if labels.shape != (len(trace),):
        raise ValueError(f"y has shape {labels.shape}, but the trace has {len(trace)} inputs; give one label for each")
    n, n_queries, classes = len(trace), len(trace.query_set), np.asarray(trace.classes)
    was = was_asked(trace)  # (B, Q)
    step, place = np.nonzero(trace.queries != UNKNOWN)
    q = trace.queries[step, place]
    counts = np.bincount(q, minlength=n_queries)
    position = np.bincount(q, weights=place + 1.0, minlength=n_queries) / np.maximum(counts, 1)
    opened = trace.queries[:, 0] if trace.queries.shape[1] else np.full(n, UNKNOWN)
    first = np.bincount(opened[opened != UNKNOWN], minlength=n_queries) / n
    mine = labels[:, None] == classes[None]  # (B, C)
    if not mine.any(axis=1).all():
        strange = labels[~mine.any(axis=1)].tolist()[0]
        raise ValueError(f"y has {strange!r}, which is no class of the trace; the classes are {classes.tolist()[:10]}")
    sizes = mine.sum(axis=0)
    share = was.mean(axis=0)
    order = np.lexsort((position, -share))
    order = order[counts[order] > 0]
    with np.errstate(invalid="ignore"):
        by_class = (was[:, order].T.astype(np.float64) @ mine) / sizes
    return Asked(
        queries=order,
        names=tuple(trace.query_set.names[i] for i in order),
        share=share[order],
        first=first[order],
        early=was_asked(trace, EARLY).mean(axis=0)[order],
        position=position[order],
        by_class=by_class,
        classes=tuple(classes.tolist()),
        class_sizes=sizes,
        by="prediction" if y is None else "label",
        n_inputs=n,
        n_queries=n_queries,
        mean_length=float(trace.length.mean()),
    )


def _room(rows: list[list[str]], width: int) -> int:
    """Columns that are left for the first cell of each row."""
    wide = [max(len(row[c]) for row in rows) for c in range(1, len(rows[0]))]
    return width - sum(wide) - 2 * len(wide)


def was_asked(trace: Trace, upto: int | None = None) -> Any:
    """(B, Q) bool: whether each input was asked each query among its first ``upto`` questions, all where None."""
    was = np.zeros((len(trace), len(trace.query_set)), dtype=bool)
    rows, places = np.nonzero(trace.queries[:, :upto] != UNKNOWN)
    was[rows, trace.queries[rows, places]] = True
    return was
