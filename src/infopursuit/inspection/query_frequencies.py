"""Which queries are asked first, how often, and for which class: counted over a trace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.display import Brief
from infopursuit.explanation import percent, short
from infopursuit.terminal import table
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, FloatArray, IntArray

FORMAT = "infopursuit.query_frequencies/2"
EARLY, MIN_WIDTH, MIN_SPREAD = 3, 22, 0.1
"""Early questions; columns of query names; difference between the shares of two classes that are named."""


@dataclass(frozen=True, repr=False)
class QueryFrequencies(Brief):
    """How often queries were asked about the inputs of a trace; the n queries that were asked, most frequent first.

    queries: (n,) indices; names: (n,). share: (n,) of the inputs that were asked. first: (n,) of the inputs whose first
    question it was. early: (n,) of the inputs that were asked it among their first `EARLY` questions. position: (n,)
    mean place in the order, from 1. by_class: (n, C) share of the inputs of each class, NaN for a class without inputs.
    class_sizes: (C,) inputs of each class. by: "label" or "prediction", whichever classes are.
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

    def to_text(self, *, max_rows: int = 15, width: int = 80) -> str:
        """A table of the most frequent queries, with the classes for which each is asked most and least often."""
        rows = [["", "asked", "first", f"by {EARLY}rd", "place", "most for", "least for"]]
        for i in range(min(max_rows, len(self))):
            shares = [percent(float(each[i])) for each in (self.share, self.first, self.early)]
            rows.append([self.names[i], *shares, f"{self.position[i]:.1f}", *self._extremes(i)])
        if _room(rows, width) < MIN_WIDTH:  # long class names: drop the last column
            rows = [row[:-1] for row in rows]
        room = max(MIN_WIDTH, _room(rows, width))
        rows = [[short(row[0], room), *row[1:]] for row in rows]
        lines = [
            f"{self.n_inputs:,} inputs, {self.mean_length:.1f} questions each on average; {len(self):,} of "
            f"{self.n_queries:,} queries are asked."
        ]
        lines += ["", *table(rows, gap=2)] if len(self) else []
        if len(self) > max_rows:
            rest, share = len(self) - max_rows, percent(float(self.share[max_rows]))
            lines.append(f"{rest:,} more {'is' if rest == 1 else 'are'} asked of {share} of the inputs or fewer.")
        return "\n".join(lines)

    def to_json(self) -> str:
        """Everything as JSON."""
        data = {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in vars(self).items()}
        data["by_class"] = np.where(np.isnan(self.by_class), None, self.by_class).tolist()  # type: ignore[call-overload]
        return json.dumps({"format": FORMAT, **data}, ensure_ascii=False, allow_nan=False)

    def _extremes(self, i: int) -> list[str]:
        """The classes for which a query is asked most and least often; of equal ones the first, and how many more."""
        there = np.flatnonzero(self.class_sizes > 0)
        shares = self.by_class[i, there]
        if not len(there) or np.ptp(shares) < MIN_SPREAD:
            return ["", ""]
        found = []
        for share in (shares.max(), shares.min()):
            same = there[np.isclose(shares, share)]
            more = f" + {len(same) - 1}" if len(same) > 1 else ""
            found.append(f"{short(str(self.classes[same[0]]), 14)}{more} ({percent(float(share))})")
        return found


def query_frequencies(trace: Trace, y: Any = None) -> QueryFrequencies:
    """Count which queries are asked, how often, how early, and for which class.

    trace: over a batch of inputs. y: their labels; None counts by predicted class.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.9], [0.05, 0.3]])
    >>> queries = ip.queries.concepts(["has wings", "is black"])
    >>> pursuit = ip.Pursuit.of(model, queries, stopping=ip.Confidence(0.06), classes=["crow", "cat"])
    >>> print(query_frequencies(pursuit.run([[1, 0], [0, 0], [0, 1], [1, 1]])))
    4 inputs, 1.5 questions each on average; 2 of 2 queries are asked.
    <BLANKLINE>
               asked  first  by 3rd  place    most for   least for
    has wings  100 %  100 %   100 %    1.0
    is black    50 %    0 %    50 %    2.0  cat (100 %)  crow (0 %)
    """
    n, n_queries, classes = len(trace), len(trace.query_set), np.asarray(trace.classes)
    if not n:
        raise ValueError("trace is over 0 inputs; give one over at least 1")
    labels = np.asarray(trace.predictions if y is None else y)
    if labels.shape != (n,):
        raise ValueError(f"y has shape {labels.shape}, but the trace has {n} inputs; give one label for each")
    members = labels[:, None] == classes[None]  # (B, C)
    if not members.any(axis=1).all():
        strange = labels[~members.any(axis=1)].tolist()[0]
        raise ValueError(f"y has {strange!r}, which is no class of the trace; the classes are {classes.tolist()[:10]}")
    # place: (B, Q) when each input was asked each query, from 1; 0 for never; the first of repeats
    rows, steps = np.nonzero(trace.queries != UNKNOWN)
    place = np.zeros((n, n_queries), dtype=np.int64)
    place[rows[::-1], trace.queries[rows, steps][::-1]] = steps[::-1] + 1
    asked = place > 0
    position = place.sum(axis=0) / np.maximum(asked.sum(axis=0), 1)
    share = asked.mean(axis=0)
    order = np.lexsort((position, -share))
    order = order[share[order] > 0]
    sizes = members.sum(axis=0)
    with np.errstate(invalid="ignore"):
        by_class = (asked[:, order].T.astype(np.float64) @ members) / sizes
    first, early = (place == 1).mean(axis=0), (asked & (place <= EARLY)).mean(axis=0)
    told = (tuple(trace.query_set.names[i] for i in order), share[order], first[order], early[order], position[order])
    by, mean = "prediction" if y is None else "label", float(trace.length.mean())
    return QueryFrequencies(order, *told, by_class, tuple(classes.tolist()), sizes, by, n, n_queries, mean)


def _room(rows: list[list[str]], width: int) -> int:
    return width - sum(2 + max(map(len, column)) for column in list(zip(*rows, strict=True))[1:])
