"""Acquisition functions that need nothing but the protocols: one-step look-ahead, a fixed order, a random order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from infopursuit.acquisition.ranking import ROUGH_TIE
from infopursuit.checks import whole_number
from infopursuit.history import BoolArray, Estimate, Histories
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.noise import NoiseChannel

NEGLIGIBLE = 1e-12
"""Answers below this probability are not looked at."""


@dataclass(frozen=True)
class LookAhead:
    """The expected information gain of a query by one-step look-ahead, for any belief that predicts answers:

    sum over answers of p(answer | history) KL(p(y | history, answer) || p(y | history)), in nats.

    Parameters
    ----------
    at_a_time: hypothetical histories that are updated in one call of the belief.
    """

    at_a_time: int = 20_000
    unit: ClassVar[Literal["nats"]] = "nats"
    kind: ClassVar[str] = "look_ahead"

    def __post_init__(self) -> None:
        whole_number(self.at_a_time, "at_a_time", 1)

    def bind(self, belief: Any, queries: QuerySet, costs: FloatArray | None, noise: NoiseChannel | None) -> Any:
        """The function to call for one belief."""
        if not hasattr(belief, "answer_distribution"):
            raise TypeError(
                f"belief is {type(belief).__name__}, which does not predict answers; look-ahead needs "
                f"belief.answer_distribution(b, query)"
            )
        if noise is None and hasattr(belief, "look_ahead"):
            return _OwnLookAhead(belief)
        return _BoundLookAhead(self, belief, queries, noise)

    def __call__(self, b: Any, h: Histories, allowed: BoolArray) -> Estimate:
        """Not callable by itself: `bind` says which belief looks ahead."""
        raise TypeError("LookAhead must be bound to a belief first: LookAhead().bind(belief, queries, None, None)")


class _OwnLookAhead:
    """The look-ahead of a belief that has a faster one, in float32."""

    unit: ClassVar[Literal["nats"]] = "nats"
    exact, tie = True, ROUGH_TIE

    def __init__(self, belief: Any) -> None:
        self.belief = belief

    def __call__(self, b: Any, h: Histories, allowed: BoolArray) -> Estimate:
        found: Estimate = self.belief.look_ahead(b, allowed)
        return found


class _BoundLookAhead:
    unit: ClassVar[Literal["nats"]] = "nats"
    exact = True

    def __init__(self, settings: LookAhead, belief: Any, queries: QuerySet, noise: NoiseChannel | None) -> None:
        self.settings, self.belief, self.queries, self.noise = settings, belief, queries, noise

    def __call__(self, b: Any, h: Histories, allowed: BoolArray) -> Estimate:
        """(H, Q) expected information gains."""
        now = np.exp(self.belief.log_posterior(b).value)  # (H, C)
        gains = np.where(allowed, 0.0, np.nan)
        row, query, answer, weight = self._hypotheses(b, allowed)
        for start in range(0, len(row), self.settings.at_a_time):
            some = slice(start, start + self.settings.at_a_time)
            cells = self._cells(query[some], answer[some])
            likelihood = None if self.noise is None else self.noise.log_likelihood(query[some], cells)
            new = h.extend(row[some], query[some], cells, log_likelihood=likelihood)
            then = np.exp(self.belief.log_posterior(self.belief.update(b, row[some], new)).value)  # (N, C)
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.where(then > 0, then * (np.log(then) - np.log(now[row[some]])), 0.0)
            divergence = np.nan_to_num(terms.sum(axis=1), nan=0.0, posinf=0.0)  # an impossible answer tells nothing
            np.add.at(gains, (row[some], query[some]), weight[some] * divergence)
        return Estimate.exact(np.where(allowed, np.maximum(gains, 0.0), np.nan))

    def _hypotheses(self, b: Any, allowed: BoolArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """(N,) the history, query, answer and probability of everything that may be answered next."""
        found: list[tuple[Any, Any, Any, Any]] = []
        for q in np.flatnonzero(allowed.any(axis=0)).tolist():
            said = np.asarray(self.belief.answer_distribution(b, q))  # (H, answers)
            if self.noise is not None:
                which = self.noise.which[q][self.queries.query_variables[q] >= 0]
                said = said @ reduce(np.kron, [self.noise.confusion_matrices[t] for t in which])
            rows, answers = np.nonzero((said > NEGLIGIBLE) & allowed[:, q, None])
            found.append((rows, np.full(len(rows), q), answers, said[rows, answers]))
        if not found:
            none = np.zeros(0, dtype=np.int64)
            return none, none, none, np.zeros(0)
        row, query, answer, weight = (np.concatenate(column) for column in zip(*found, strict=True))
        return row, query, answer, weight

    def _cells(self, queries: IntArray, answers: IntArray) -> IntArray:
        """(N, W) the cells of joint answers, given by their index."""
        sizes = np.where(self.queries.query_variables[queries] >= 0, self.queries.n_cells[queries], 1)  # (N, W)
        following = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1] // sizes
        cells = answers[:, None] // following % sizes
        return np.where(self.queries.query_variables[queries] >= 0, cells, UNKNOWN)


@dataclass(frozen=True)
class FixedOrder:
    """A baseline: the same order of queries for every input.

    Parameters
    ----------
    order: names or indices of queries, first to last; queries that it leaves out come after them in their own order.
    """

    order: tuple[Any, ...] = ()
    unit: ClassVar[Literal["score"]] = "score"
    kind: ClassVar[str] = "fixed_order"

    def __post_init__(self) -> None:
        given: Any = self.order
        if isinstance(given, str) or not all(isinstance(query, (str, int, np.integer)) for query in given):
            raise ValueError(f"order={given!r:.80}; expected names or indices of queries")
        object.__setattr__(self, "order", tuple(self.order))

    def __call__(self, b: Any, h: Histories, allowed: BoolArray) -> Estimate:
        """(H, Q) the later in the order, the lower the score."""
        names = list(h.query_set.names)
        index = [_index(query, names) for query in self.order]
        place = np.array([*index, *(q for q in range(len(names)) if q not in set(index))], dtype=np.int64)
        score = np.empty(len(names))
        score[place] = np.arange(len(names), 0, -1)
        return Estimate.exact(np.where(allowed, score, np.nan))


@dataclass(frozen=True)
class RandomOrder:
    """A baseline: queries at random; the draw depends on the seed and the history alone."""

    seed: int = 0
    unit: ClassVar[Literal["score"]] = "score"
    kind: ClassVar[str] = "random_order"

    def __post_init__(self) -> None:
        whole_number(self.seed, "seed")

    def __call__(self, b: Any, h: Histories, allowed: BoolArray) -> Estimate:
        """(H, Q) uniform scores."""
        score = np.full(allowed.shape, np.nan)
        for row in np.flatnonzero(allowed.any(axis=1)).tolist():
            score[row] = np.random.default_rng([self.seed, *h.key(row)]).random(allowed.shape[1])
        return Estimate.exact(np.where(allowed, score, np.nan))


def _index(query: Any, names: Sequence[str]) -> int:
    if isinstance(query, str):
        if query not in names:
            raise ValueError(f"order names the query {query!r}, which this query set does not have")
        return names.index(query)
    if not 0 <= int(query) < len(names):
        raise ValueError(f"order names query {query}; there are queries 0 to {len(names) - 1}")
    return int(query)
