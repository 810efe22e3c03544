"""Optimal strategies in small worlds by dynamic programming over what may be known, and the exact value of any other.

What is known is a set of findings with their values, in whatever order they were asked. Values are sums over everything
that may be answered, so that none of them is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import xlogy

import infopursuit as ip
from benchmarks.exact_network import ExactBelief, Known
from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Acquisition, Budget, Estimate
from infopursuit.pursuit.state import Branches
from infopursuit.pursuit.stopping import SLACK
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

Value = Callable[[FloatArray], FloatArray]
"""(..., C, n) joint probabilities of class and evidence -> (..., n) what the evidence is worth."""


def right(joint: FloatArray) -> FloatArray:
    """The probability of the evidence and of a right guess."""
    return np.asarray(joint.max(axis=-2))


def minus_entropy(joint: FloatArray) -> FloatArray:
    """The probability of the evidence times the negative entropy of the class after it, in nats."""
    total = joint.sum(axis=-2)
    return np.asarray(xlogy(joint, joint).sum(axis=-2) - xlogy(total, total))


VALUES: dict[str, Value] = {"accuracy": right, "information": minus_entropy}


def each_question(belief: ExactBelief, known: Known) -> dict[str, FloatArray]:
    """By each value (H, Q) that of a single question after some evidence, times the evidence's probability; minus
    infinity for what is known already."""
    total = np.exp(belief.log_evidence(known))
    found = {name: np.zeros(known.evidence.shape) for name in VALUES}
    for rows in belief.portions(len(total)):
        joint = np.nan_to_num(known.joint(rows)) * total[rows, None, None]  # NaN: impossible evidence
        for name, value in VALUES.items():
            each = np.add.reduceat(value(joint), belief.starts, axis=1)
            found[name][rows] = np.where(known.evidence[rows] == UNKNOWN, each, -np.inf)
    return found


@dataclass(frozen=True)
class ExpectedAccuracy(Acquisition[Known]):
    """Acquisition function: the probability of a right guess after the answer, in a world that is known exactly."""

    belief: ExactBelief
    unit: ClassVar[Literal["score"]] = "score"

    def utilities(self, b: Known, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q)"""
        value = each_question(self.belief, b)["accuracy"] / np.exp(self.belief.log_evidence(b))[:, None]
        return Estimate.exact(np.where(allowed, value, np.nan))


def optimal(belief: ExactBelief, n_questions: int) -> dict[str, list[float]]:
    """By each value the expected value of the best strategy with a budget of 0, 1, ..., n_questions.

    With s findings known and r questions left, the value is the maximum over findings q of the sum over the answers of
    the value with s + 1 known and r - 1 left. The last question needs no enumeration of its answers.
    """
    sizes, n = belief.queries.variables.sizes, len(belief.queries)
    prior = belief.init().posterior[0][:, None]
    found = {name: [float(value(prior)[0])] for name, value in VALUES.items()}
    last = {name: dict[tuple[int, ...], FloatArray]() for name in VALUES}  # one question left, by the findings known
    for known in range(min(n_questions, n)):
        sets = list(combinations(range(n), known))
        for some in _portions(sets, sizes):
            values = each_question(belief, belief.given(np.concatenate([_evidence(each, sizes) for each in some])))
            ends = np.cumsum([np.prod([sizes[a] for a in each], dtype=int) for each in some])
            for name, told in values.items():
                for each, part in zip(some, np.split(told.max(axis=1), ends[:-1]), strict=True):
                    last[name][each] = part.reshape([sizes[a] for a in each])
        for name in VALUES:
            now = {each: last[name][each] for each in sets}
            for s in range(known - 1, -1, -1):
                now = {each: _maximum(each, now, n) for each in combinations(range(n), s)}
            found[name].append(float(now[()]))
    return found


def _maximum(known: tuple[int, ...], then: dict[tuple[int, ...], FloatArray], n: int) -> FloatArray:
    """The value of the best question, from the values after each."""
    best: Any = -np.inf
    for q in set(range(n)) - set(known):
        after = tuple(sorted((*known, q)))
        best = np.maximum(best, then[after].sum(axis=after.index(q)))
    return np.asarray(best)


def _evidence(known: tuple[int, ...], sizes: Any) -> IntArray:
    """(H, A) all values that some findings may have."""
    values = np.array(list(product(*(range(sizes[a]) for a in known))), dtype=np.int64)
    found = np.full((len(values), len(sizes)), UNKNOWN)
    found[:, known] = values
    return found


def _portions(sets: list[tuple[int, ...]], sizes: Any, rows: int = 20_000) -> list[list[tuple[int, ...]]]:
    """Sets of findings with about so many values together."""
    ends = np.cumsum([np.prod([sizes[a] for a in each], dtype=int) for each in sets])
    found: list[list[tuple[int, ...]]] = [[] for _ in range(int(ends[-1]) // rows + 1)]
    for each, end in zip(sets, ends, strict=True):
        found[int(end - 1) // rows].append(each)
    return [some for some in found if some]


def fewest_questions(belief: ExactBelief, epsilon: float) -> float:
    """The least expected number of questions until some class has a posterior of 1 - epsilon or all were asked."""
    sizes, n = belief.queries.variables.sizes, len(belief.queries)
    then: dict[tuple[int, ...], FloatArray] = {}  # expected questions that are left, times the evidence's probability
    for s in range(n, -1, -1):
        now = {}
        for each in combinations(range(n), s):
            known = belief.given(_evidence(each, sizes))
            total = np.exp(belief.log_evidence(known)).reshape([sizes[a] for a in each])
            sure = np.nan_to_num(known.posterior.max(axis=1), nan=1.0).reshape(total.shape) >= 1 - epsilon - SLACK
            left = np.zeros(total.shape)
            if s < n:
                left = total - _maximum(each, {after: -value for after, value in then.items()}, n)
            now[each] = np.where(sure, 0.0, left)
        then = now
    return float(then[()])


@dataclass(frozen=True)
class Leaves:
    """Where a strategy may be: joint: (C, H) p(class, history); n_asked: (H,)."""

    joint: FloatArray
    n_asked: IntArray

    def value(self, name: str) -> float:
        """The expected value."""
        return float(VALUES[name](self.joint).sum())

    @property
    def length(self) -> float:
        """The expected number of questions."""
        return float(self.joint.sum(axis=0) @ self.n_asked)


def follow(pursuit: ip.Pursuit[Any], last: ip.Pursuit[Any] | None = None, n_questions: int | None = None) -> Leaves:
    """All histories of a pursuit on a world, with everything that may be answered.

    n_questions: a budget in the place of the stopping rule. last: the pursuit that asks the last question of it.
    """
    if n_questions is not None:
        pursuit = replace(pursuit, stopping=ip.MaxQueries(n_questions))
    belief: Any = pursuit.belief
    step, joints, lengths = pursuit.propose(pursuit.start()), [], []
    while True:
        state = step.state
        query = step.choice.query
        n_asked = state.histories.n_asked
        if last is not None and n_asked + 1 == n_questions:
            query = replace(last, stopping=ip.MaxQueries(n_asked + 1)).propose(state).choice.query
        stopped = query == UNKNOWN
        joints.append(np.exp(state.belief.log_joint[stopped].T))
        lengths.append(np.full(int(stopped.sum()), n_asked))
        if stopped.all():
            return Leaves(np.concatenate(joints, axis=1), np.concatenate(lengths))
        parents: list[int] = []
        answers: list[int] = []
        for q in np.unique(query[~stopped]):
            rows = np.flatnonzero(query == q)
            row, answer = np.nonzero(belief.answer_distribution(state.belief, int(q))[rows] > 0)
            parents += rows[row].tolist()
            answers += answer.tolist()
        asked = query[parents]
        step = pursuit.advance(step, Branches(np.array(parents), asked, np.array(answers)[:, None]))
