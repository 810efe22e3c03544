"""Why a question is asked: what each answer to it would mean, before it is given."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch

from infopursuit.engine import Branches, Pursuit, State
from infopursuit.session import Session
from infopursuit.types import FloatArray, Query

MOST_ANSWERS = 512
"""Answers that are looked into: all patterns of a 3 x 3 patch."""


@dataclass(frozen=True)
class Outcome:
    """One answer: in words, how probable it is, and what would be believed after it.

    candidates: how many classes would be left, exp(entropy). leaders: those that would lead, with their posteriors.
    """

    said: str
    probability: float
    candidates: float
    leaders: tuple[tuple[Any, float], ...]


@dataclass(frozen=True)
class Why:
    """Why a question is asked.

    gain, left, runner_up_gain: bits; what it is expected to tell, what is not known yet, and what the next best
    question would tell. outcomes: the answers, the most probable ones first (all of few). n_answers: how many there are
    that can be given.
    """

    question: Query
    gain: float
    left: float
    outcomes: tuple[Outcome, ...]
    n_answers: int
    runner_up: Query | None
    runner_up_gain: float
    exact: bool
    costs: bool = False
    """Whether questions have costs, so that the best is the one that tells most for its own."""

    @property
    def halves(self) -> bool:
        """Whether there are two answers, both about as probable."""
        return self.n_answers == 2 and min(outcome.probability for outcome in self.outcomes) >= 0.35


def why(session: Session, *, most: int = 4, top: int = 3) -> Why | None:
    """Why the question of a session is asked; None after the stop."""
    question = session.question
    if question is None:
        return None
    gains = session.gains
    second = session.runner_up
    outcomes = foresee(session.pursuit, session.state, question.index, top=top)
    return Why(
        question=question,
        gain=_bits(gains[question.index]),
        left=_bits(entropy(session.posterior)),
        outcomes=tuple(outcomes[:most]),
        n_answers=len(outcomes),
        runner_up=second,
        runner_up_gain=float("nan") if second is None else _bits(gains[second.index]),
        exact=bool(session.pursuit.chooser.exact),
        costs=session.pursuit.query_costs is not None,
    )


def foresee(pursuit: Pursuit, state: State, query: int, *, top: int = 3) -> list[Outcome]:
    """What each possible answer would mean, the most probable first; empty where there are more than `MOST_ANSWERS`.

    p(answer | history) = p(history, answer) / p(history), both summed over the classes.
    """
    limits = [int(n) for n in pursuit.queries.n_cells[query]]
    if np.prod(limits, dtype=float) > MOST_ANSWERS:
        return []
    cells = np.array(list(product(*map(range, limits))), dtype=np.int64)  # padding has one cell
    cells[:, pursuit.queries.query_atoms[query] < 0] = -1
    n = len(cells)
    parents = np.zeros(n, dtype=np.int64)
    after = pursuit.absorb(state, Branches(parents, np.full(n, query), cells), state.watch)
    posterior: Any = pursuit.posterior
    before_total = torch.logsumexp(posterior.log_joint(state.belief)[0], dim=0)
    total = torch.logsumexp(posterior.log_joint(after.belief), dim=1)
    probability = np.where(after.impossible, 0.0, (total - before_total).exp().cpu().numpy())
    probability = probability / probability.sum()
    outcomes = []
    wide = int((pursuit.queries.query_atoms[query] >= 0).sum())
    for i in np.argsort(-probability, kind="stable"):
        if probability[i] <= 0:
            break
        said = pursuit.queries.say_answer(query, tuple(int(c) for c in cells[i, :wide]))
        believed = np.asarray(after.posterior[i])
        candidates = float(np.exp(entropy(believed)))
        outcomes.append(Outcome(said, float(probability[i]), candidates, leaders(pursuit, believed, top)))
    return outcomes


def leaders(pursuit: Pursuit, posterior: FloatArray, top: int) -> tuple[tuple[Any, float], ...]:
    """The most probable classes with their posteriors; those below half a percent are left out."""
    order = np.argsort(-posterior, kind="stable")[:top]
    return tuple((pursuit.classes[c], float(posterior[c])) for c in order if posterior[c] >= 0.005)


def entropy(p: FloatArray) -> float:
    """How much is not known, nats."""
    known = p[p > 0]
    return max(0.0, float(-(known * np.log(known)).sum()))


def _bits(nats: float) -> float:
    return max(float(nats), 0.0) / float(np.log(2))
