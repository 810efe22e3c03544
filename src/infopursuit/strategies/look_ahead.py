"""Acquisition functions that need nothing but the protocols: look-ahead, a fixed order, a random order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Estimate
from infopursuit.pursuit.ranking import ROUGH_TIE
from infopursuit.queries.queryset import QuerySet, check_joint_answers
from infopursuit.support.checks import whole_number
from infopursuit.support.types import TIE, UNKNOWN, FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.pursuit.noise import NoiseChannel

NEGLIGIBLE = 1e-12
"""Answers below this probability are not looked at."""
WORK_BYTES = 2**25
"""Memory of the hypothetical histories that are looked ahead from at a time."""


@dataclass(frozen=True)
class LookAhead:
    """The expected information gain of a query by one-step look-ahead, for any belief that predicts answers:

    sum over answers of p(answer | history) KL(p(y | history, answer) || p(y | history)), in nats.

    Parameters
    ----------
    at_a_time: hypothetical histories that are updated in one call of the belief.
    depth: 2 adds the expected gain of the best query after the answer: what two questions tell together. It pays where
        a query tells nothing by itself but says which one to ask next, and takes as many times longer as
        ``n_candidates`` queries have answers. Costs do not go with it. It does not know when the pursuit ends, and may
        ask last what only prepares another question: with few questions, compare it with depth 1 (docs, results).
    n_candidates: with depth 2, the queries with the largest one-step gains, which are looked at.
    """

    at_a_time: int = 20_000
    depth: int = 1
    n_candidates: int = 16
    unit: ClassVar[Literal["nats"]] = "nats"
    kind: ClassVar[str] = "look_ahead"

    def __post_init__(self) -> None:
        for name in ("at_a_time", "depth", "n_candidates"):
            whole_number(getattr(self, name), name, 1)
        if self.depth > 2:
            raise ValueError(f"depth={self.depth}; expected 1 or 2 questions")

    def bind(self, belief: Any, queries: QuerySet, costs: FloatArray | None, noise: NoiseChannel | None) -> Any:
        """The function to call for one belief."""
        if not hasattr(belief, "answer_distribution"):
            raise TypeError(
                f"belief is {type(belief).__name__}, which does not predict answers; look-ahead needs "
                f"belief.answer_distribution(b, query)"
            )
        if self.depth > 1 and costs is not None:
            raise ValueError("depth=2 does not weigh the cost of the second query; use LookAhead(), or costs=None")
        plain = _BoundLookAhead(self, belief, queries, noise)
        one = _OwnLookAhead(belief) if noise is None and hasattr(belief, "look_ahead") else plain
        if self.depth > 1 or one is plain:
            check_joint_answers(queries, "look-ahead goes through all of them")
        return one if self.depth == 1 else _TwoSteps(plain, one)

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
        row, query, answer, weight = self.hypotheses(b, allowed)
        for start in range(0, len(row), self.settings.at_a_time):
            some = slice(start, start + self.settings.at_a_time)
            then = np.exp(self.belief.log_posterior(self.after(b, h, row[some], query[some], answer[some])[0]).value)
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.where(then > 0, then * (np.log(then) - np.log(now[row[some]])), 0.0)
            divergence = np.nan_to_num(terms.sum(axis=1), nan=0.0, posinf=0.0)  # an impossible answer tells nothing
            np.add.at(gains, (row[some], query[some]), weight[some] * divergence)
        return Estimate.exact(np.where(allowed, np.maximum(gains, 0.0), np.nan))

    def after(self, b: Any, h: Histories, row: IntArray, query: IntArray, answer: IntArray) -> tuple[Any, Histories]:
        """The state and the histories after some answers (N,)."""
        cells = joint_cells(self.queries, query, answer)
        likelihood = None if self.noise is None else self.noise.log_likelihood(query, cells)
        new = h.extend(row, query, cells, log_likelihood=likelihood)
        return self.belief.update(b, row, new), new

    def hypotheses(self, b: Any, allowed: BoolArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
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


def joint_cells(queries: QuerySet, query: IntArray, answers: IntArray) -> IntArray:
    """(N, W) the cells of joint answers (N,), given by their index."""
    used = queries.query_variables[query] >= 0
    sizes = np.where(used, queries.n_cells[query], 1)  # (N, W)
    following = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1] // sizes
    return np.where(used, answers[:, None] // following % sizes, UNKNOWN)


class _TwoSteps:
    """What two questions tell together: the gain of the first, and that of the best second on average."""

    unit: ClassVar[Literal["nats"]] = "nats"
    exact = True

    def __init__(self, plain: _BoundLookAhead, one: Any) -> None:
        self.plain, self.one, self.tie = plain, one, getattr(one, "tie", TIE)
        belief, settings = plain.belief, plain.settings
        self._hypotheses = getattr(belief, "hypotheses", plain.hypotheses)
        self._at_a_time = max(1, min(settings.at_a_time, WORK_BYTES // getattr(belief, "row_bytes", 2**14)))

    def __call__(self, b: Any, h: Histories, allowed: BoolArray) -> Estimate:
        """(H, Q) the gain of two questions for the candidates, of one for the others, which is less."""
        first = self.one(b, h, allowed).value
        rounded = np.where(allowed, np.round(first / (2 * self.tie)), -1.0)  # rounding errors must not decide
        order = np.argsort(-rounded, axis=1, kind="stable")
        chosen = np.zeros_like(allowed)
        np.put_along_axis(chosen, order[:, : self.plain.settings.n_candidates], True, axis=1)
        chosen &= allowed
        row, query, answer, weight = self._hypotheses(b, chosen)
        second, answered = np.zeros(first.shape), np.zeros(first.shape)
        np.add.at(answered, (row, query), weight)
        for start in range(0, len(row), self._at_a_time):
            rows, asked = row[start : start + self._at_a_time], query[start : start + self._at_a_time]
            b_then, h_then = self.plain.after(b, h, rows, asked, answer[start : start + self._at_a_time])
            left = allowed[rows]
            left[np.arange(len(rows)), asked] = False
            best = np.nan_to_num(self.one(b_then, h_then, left).value).max(axis=1)
            np.add.at(second, (rows, asked), weight[start : start + self._at_a_time] * best)
        # where there is no answer, the best of the other queries is asked with what is known now
        top = np.take_along_axis(first, order[:, :1], axis=1)
        other = np.take_along_axis(first, order[:, 1:2], axis=1) if first.shape[1] > 1 else np.zeros_like(top)
        instead = np.nan_to_num(np.where(np.arange(first.shape[1]) == order[:, :1], other, top))
        value = np.where(chosen, first + second + np.maximum(1 - answered, 0.0) * instead, first)
        return Estimate.exact(self._untied(value, first))

    def _untied(self, value: FloatArray, first: FloatArray) -> FloatArray:
        """Of pairs that tell the same in either order, the query with the larger gain comes first."""
        best = np.nan_to_num(value).max(axis=1, keepdims=True)
        tied = np.nan_to_num(value, nan=-1.0) >= best - self.tie
        leads = np.where(tied, first, -1.0).max(axis=1, keepdims=True)
        later = tied & (first < leads - self.tie)
        return np.asarray(np.where(later, np.maximum(best - 2 * self.tie, 0.0), value))


@dataclass(frozen=True)
class FixedOrder:
    """A baseline: the same order of queries for every input.

    Parameters
    ----------
    order: names or indices of queries, or names of columns, first to last; queries that it leaves out come after them
        in their own order.
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
        first = [index for query in self.order for index in h.query_set.find(query, "order")]
        place = list(dict.fromkeys([*first, *range(len(h.query_set))]))
        score = np.empty(len(place))
        score[place] = np.arange(len(place), 0, -1)
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
