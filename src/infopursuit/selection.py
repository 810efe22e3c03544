"""Model selection: the model with the lowest log loss on held-out rows after *partial* histories.

A pursuit stops after a few answers, so what counts is the posterior given some answers, not given all: a model that is
accurate with everything observed may be overconfident half-way. The histories are those of a pursuit with naive Bayes,
the same for all candidates, and the loss is averaged over the lengths 1, 2, 4, ... Random queries would not do: most
have little information gain, and overconfidence after the informative ones would not show.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infopursuit.acquisition.mutual_information import FiniteGains, MutualInformation
from infopursuit.beliefs.exact import Exact, StateWeights
from infopursuit.history import Histories
from infopursuit.models.empirical import Flip
from infopursuit.models.finite import FiniteModel
from infopursuit.models.learning import Empirical, Learner, NaiveBayes
from infopursuit.models.sample import Sample
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import FloatArray, IntArray

logger = logging.getLogger(__name__)

FINALISTS = 6


@dataclass(frozen=True)
class Effort:
    """How much is tried: rows to learn from, rows held out, answers in a partial history."""

    training: int
    held_out: int
    longest: int

    @classmethod
    def of(cls, queries: QuerySet) -> Effort:
        """Queries about several variables tell more, so fewer are asked; images want more rows to learn from."""
        wide = queries.width > 1
        return cls(10_000 if wide else 4_000, 300 if wide else 200, min(8 if wide else 32, len(queries)))


@dataclass(frozen=True)
class Candidate:
    """A learner without open settings and its mean held-out log loss after partial histories, nats.

    Those that did not reach the final rounds have the loss of the first.
    """

    learner: Learner
    loss: float


def select_learner(
    learners: Sequence[Learner], sample: Sample, queries: QuerySet, *, seed: int = 0, progress: bool | None = None
) -> tuple[Learner, list[Candidate]]:
    """The best of some learners, without open settings; also returns what was compared, best first.

    Where there is nothing to choose nothing is compared. A `VAE` comes in this way only: training one for each fold
    would take too long, so that it is never compared.
    """
    shape = getattr(queries, "shape", None)
    options = [option for learner in learners for option in learner.candidates(sample, shape)]
    if not options:
        about = f"{len(sample.variables)} variables with up to {max(sample.variables.sizes)} values"
        wrong = f"none of {list(learners)} can be fitted on {len(sample)} distinct rows of {about} within the memory"
        raise ValueError(f"strategy: {wrong}; use strategy='table', fewer rows, or fewer values")
    folds = sample.folds(_n_folds(len(sample)))
    if len(options) == 1:
        return options[0], []
    if not folds.any():
        # one row for each class: a table of facts, whose answers are taken for nearly certain
        facts = [o for o in options if isinstance(o, Empirical) and isinstance(o.smoothing, Flip)]
        return (facts or options)[0], []
    rounds = _rounds(sample, folds, Effort.of(queries))
    losses = np.zeros(len(options))
    left = np.arange(len(options))
    with Progress("choosing a model", len(options) + FINALISTS * (len(rounds) - 1), show=progress) as shown:
        for n, (train, held_out) in enumerate(rounds):
            orders = partial_orders(train, held_out, queries)
            for i in left:
                loss = partial_log_loss(_finite(options[i].fit(train, shape, seed)), queries, held_out, orders)
                losses[i] += (loss - losses[i]) / (n + 1)
                shown.advance()
            # the first round sorts out the hopeless; only the best go through the others
            left = left[np.argsort(losses[left], kind="stable")[:FINALISTS]]
    others = np.setdiff1d(np.arange(len(options)), left)
    order = np.concatenate([left, others[np.argsort(losses[others], kind="stable")]])
    for i in order[:3]:
        logger.info("held-out log loss %.4f nats: %s", losses[i], options[i])
    return options[order[0]], [Candidate(options[i], float(losses[i])) for i in order]


def _finite(model: Any) -> FiniteModel:
    if "exact" not in model.beliefs:
        raise TypeError(f"a {type(model).__name__} cannot be compared with other models; give its learner alone")
    found: FiniteModel = model
    return found


def partial_orders(train: Sample, held_out: Sample, queries: QuerySet) -> IntArray:
    """(N, K) for each held-out row which queries to answer, in order: those that a pursuit with naive Bayes asks.

    Queries about several variables are ranked by the sum of their variables' gains, which is much cheaper than their
    own and as good here.
    """
    model = NaiveBayes().fit(train)
    belief, gains = Exact(model, queries), FiniteGains(model, queries, MutualInformation())
    b, histories, parents = belief.init(), Histories.empty(queries), np.zeros(len(held_out), dtype=np.int64)
    rows, parts = np.arange(len(held_out)), queries.parts
    asked = np.zeros((len(held_out), len(queries)), dtype=bool)
    for _ in range(Effort.of(queries).longest):
        alone = gains.part_gains(b, model)[parents]
        promise = np.where(parts.query_part >= 0, alone[:, parts.query_part], 0.0).sum(axis=2)
        query = np.where(asked, -1.0, promise).argmax(axis=1)
        asked[rows, query] = True
        b, histories = _answered(belief, b, histories, parents, query, held_out)
        parents = rows
    return histories.queries


def _answered(
    belief: Exact, b: StateWeights, histories: Histories, parents: IntArray, query: IntArray, held_out: Sample
) -> tuple[StateWeights, Histories]:
    """One more query for each held-out row."""
    new = histories.extend(parents, query, belief.queries.answers_of(held_out.values, query))
    return belief.update(b, parents, new), new


def partial_log_loss(model: FiniteModel, queries: QuerySet, held_out: Sample, orders: IntArray) -> float:
    """Mean of -log p(true class) after 1, 2, 4, ... answers, weighted like the rows."""
    losses = []
    rows = max(1, int(2**28 // (16 * model.n_states)))
    for start in range(0, len(held_out), rows):
        losses.append(_losses(model, queries, held_out.take(slice(start, start + rows)), orders[start : start + rows]))
    return float(np.average(np.concatenate(losses), weights=held_out.weights))


def _losses(model: FiniteModel, queries: QuerySet, held_out: Sample, orders: IntArray) -> FloatArray:
    belief, n = Exact(model, queries), len(held_out)
    b, histories, parents = belief.init(), Histories.empty(queries), np.zeros(n, dtype=np.int64)
    checkpoints = {2**i for i in range(8)} | {orders.shape[1]}
    total, checks = np.zeros(n), 0
    for k in range(orders.shape[1]):
        b, histories = _answered(belief, b, histories, parents, orders[:, k], held_out)
        parents = np.arange(n)
        if k + 1 in checkpoints:
            log_class = belief.log_posterior(b).value
            # an answer that the model calls impossible leaves no posterior: as bad as it gets
            loss = np.nan_to_num(-log_class[parents, held_out.labels], nan=30.0, posinf=30.0)
            total, checks = total + np.minimum(loss, 30.0), checks + 1
    return np.asarray(total / checks)


def _n_folds(n: int) -> int:
    return 5 if n < 2_000 else 10 if n < 8_000 else 20


def _rounds(sample: Sample, folds: FloatArray, effort: Effort) -> list[tuple[Sample, Sample]]:
    """Training and held-out parts: three folds of a small sample, one when there is plenty of data."""
    n_rounds = 3 if len(sample) < 2_000 else 2 if len(sample) < 8_000 else 1
    rounds = []
    for held_out in folds[:n_rounds]:
        parts = ((sample.weights - held_out, effort.training), (held_out, effort.held_out))
        train, test = (_part(sample, weights, most) for weights, most in parts)
        if len(test):
            rounds.append((train, test))
    return rounds


def _part(sample: Sample, weights: FloatArray, most: int) -> Sample:
    """The rows that have weight left, with that weight; at most so many, chosen by their content."""
    rows = _some(np.flatnonzero(weights > 1e-9), sample, most)
    return replace(sample.take(rows), weights=weights[rows])


def _some(rows: IntArray, sample: Sample, most: int) -> IntArray:
    """At most so many rows, chosen by their content, in their order."""
    if len(rows) <= most:
        return rows
    return np.sort(rows[np.argsort(sample.keys[rows], kind="stable")[:most]])
