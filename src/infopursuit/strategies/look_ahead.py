"""Acquisition functions that need nothing but the protocols: look-ahead, a fixed order, a random order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Acquisition, Belief, Budget, Estimate
from infopursuit.pursuit.ranking import ROUGH_TIE
from infopursuit.queries.queryset import QuerySet, check_joint_answers
from infopursuit.support.checks import whole_number
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.pursuit.noise import NoiseChannel

NEGLIGIBLE = 1e-12
"""Answers below this probability are not looked at."""
WORK_BYTES = 2**25
"""Memory of the hypothetical histories that are looked ahead from at a time."""


@dataclass(frozen=True)
class LookAhead(Acquisition[Any]):
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

    def bind(
        self,
        belief: Belief[Any],
        queries: QuerySet,
        costs: FloatArray | None,
        noise: NoiseChannel | None,
    ) -> Acquisition[Any]:
        """Return the function for one belief."""
        if not belief.capabilities.answers:
            raise TypeError(
                f"belief is {type(belief).__name__}, which does not predict answers; look-ahead needs "
                f"belief.answer_distribution(b, query), declared by Capabilities(answers=True)"
            )
        if self.depth > 1 and costs is not None:
            raise ValueError("depth=2 does not weigh the cost of the second query; use LookAhead(), or costs=None")
        plain = _BoundLookAhead(self, belief, queries, noise)
        own = noise is None and belief.capabilities.look_ahead
        one: Acquisition[Any] = _OwnLookAhead(belief) if own else plain
        if self.depth > 1 or not own:
            check_joint_answers(queries, "look-ahead goes through all of them")
        return one if self.depth == 1 else _TwoSteps(plain, one)

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """Not computed by the settings themselves: `bind` says which belief looks ahead."""
        raise TypeError("LookAhead must be bound to a belief first: LookAhead().bind(belief, queries, None, None)")


class _OwnLookAhead(Acquisition[Any]):
    """The look-ahead of a belief that has a faster one, in float32."""

    unit: ClassVar[Literal["nats"]] = "nats"
    tie = ROUGH_TIE

    def __init__(self, belief: Belief[Any]) -> None:
        self.belief = belief

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) expected information gains."""
        return self.belief.look_ahead(b, allowed)


class _BoundLookAhead(Acquisition[Any]):
    """The look-ahead for any belief that predicts answers."""

    unit: ClassVar[Literal["nats"]] = "nats"

    def __init__(self, settings: LookAhead, belief: Belief[Any], queries: QuerySet, noise: NoiseChannel | None) -> None:
        self.settings = settings
        self.belief = belief
        self.queries = queries
        self.noise = noise

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) expected information gains."""
        now = np.exp(self.belief.log_posterior(b).value)  # (H, C)
        gains = np.where(allowed, 0.0, np.nan)
        row, query, answer, weight = self.hypotheses(b, allowed)
        for start in range(0, len(row), self.settings.at_a_time):
            some = slice(start, start + self.settings.at_a_time)
            then = np.exp(
                self.belief.log_posterior(self.after(b, histories, row[some], query[some], answer[some])[0]).value
            )
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


class _TwoSteps(Acquisition[Any]):
    """What two questions tell together: the gain of the first, and that of the best second on average."""

    unit: ClassVar[Literal["nats"]] = "nats"

    def __init__(self, plain: _BoundLookAhead, one: Acquisition[Any]) -> None:
        self.plain = plain
        self.one = one
        self.tie = one.tie
        capabilities = plain.belief.capabilities
        self._hypotheses = plain.belief.hypotheses if capabilities.look_ahead else plain.hypotheses
        n_affordable = WORK_BYTES // capabilities.bytes_per_history
        self._at_a_time = max(1, min(plain.settings.at_a_time, n_affordable))

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) the gain of two questions for the candidates, of one for the others, which is less."""
        first = self.one.utilities(b, histories, allowed, budget).value
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
            b_then, h_then = self.plain.after(b, histories, rows, asked, answer[start : start + self._at_a_time])
            left = allowed[rows]
            left[np.arange(len(rows)), asked] = False
            later = Budget(budget.questions - 1, budget.cost[rows])
            best = np.nan_to_num(self.one.utilities(b_then, h_then, left, later).value).max(axis=1)
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
class FixedOrder(Acquisition[Any]):
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

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) the later in the order, the lower the score."""
        first = [index for query in self.order for index in histories.query_set.find(query, "order")]
        place = list(dict.fromkeys([*first, *range(len(histories.query_set))]))
        score = np.empty(len(place))
        score[place] = np.arange(len(place), 0, -1)
        return Estimate.exact(np.where(allowed, score, np.nan))


@dataclass(frozen=True)
class RandomOrder(Acquisition[Any]):
    """A baseline: queries at random; the draw depends on the seed and the history alone."""

    seed: int = 0
    unit: ClassVar[Literal["score"]] = "score"
    kind: ClassVar[str] = "random_order"

    def __post_init__(self) -> None:
        whole_number(self.seed, "seed")

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) uniform scores."""
        score = np.full(allowed.shape, np.nan)
        for row in np.flatnonzero(allowed.any(axis=1)).tolist():
            score[row] = np.random.default_rng([self.seed, *histories.key(row)]).random(allowed.shape[1])
        return Estimate.exact(np.where(allowed, score, np.nan))
