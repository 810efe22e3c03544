"""Model selection: the model with the lowest log loss on held-out rows after *partial* histories.

A pursuit stops after a few answers, so what counts is the posterior given some answers, not given all: a model that is
accurate with everything observed may be overconfident half-way. The histories are those of a pursuit with naive Bayes,
the same for all candidates, and the loss is averaged over the lengths 1, 2, 4, ... Random queries would not do: most
have little information gain, and overconfidence after the informative ones would not show.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from infopursuit.models.empirical import Flip
from infopursuit.models.finite import FiniteModel
from infopursuit.models.learning import Empirical, Learner, NaiveBayes
from infopursuit.models.sample import Sample
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.information import MutualInformation
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.exact import Exact
from infopursuit.strategies.generative.gains import FiniteGains
from infopursuit.support.progress import Progress
from infopursuit.support.types import FloatArray, IntArray

logger = logging.getLogger(__name__)

FINALISTS = 6
"""Candidates that go through more than the first fold."""
IMPOSSIBLE = 30.0
"""The log loss at the most, and that of an answer that the model calls impossible."""


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
    shape = queries.shape
    seen = sample.without_numbers()
    options = [option for learner in learners for option in learner.candidates(seen, shape)]
    if not options:
        about = f"{len(sample.variables)} variables with up to {max(sample.variables.sizes)} values"
        wrong = f"none of {list(learners)} can be fitted on {len(sample)} distinct rows of {about} within the memory"
        raise ValueError(f"strategy: {wrong}; use strategy='table', fewer rows, or fewer values")
    if len(options) == 1:
        return options[0], []
    rounds = _rounds(sample, wide=queries.width > 1)
    if not rounds:
        # one row for each class: a table of facts, whose answers are taken for nearly certain
        facts = [o for o in options if isinstance(o, Empirical) and isinstance(o.smoothing, Flip)]
        return (facts or options)[0], []
    losses = np.zeros(len(options))
    left = np.arange(len(options))
    with Progress("choosing a model", len(options) + FINALISTS * (len(rounds) - 1), show=progress) as shown:
        for n, (train, held_out) in enumerate(rounds):
            orders = partial_orders(train, held_out, queries)
            for i in left:
                model = options[i].fit(train, shape, seed)
                if not isinstance(model, FiniteModel):
                    raise TypeError(
                        f"a {type(model).__name__} cannot be compared with other models; give its learner alone"
                    )
                losses[i] += (partial_log_loss(model, queries, held_out, orders) - losses[i]) / (n + 1)
                shown.advance()
            # the first round sorts out the hopeless; only the best go through the others
            left = left[np.argsort(losses[left], kind="stable")[:FINALISTS]]
    others = np.setdiff1d(np.arange(len(options)), left)
    order = np.concatenate([left, others[np.argsort(losses[others], kind="stable")]])
    for i in order[:3]:
        logger.info("held-out log loss %.4f nats: %s", losses[i], options[i])
    return options[order[0]], [Candidate(options[i], float(losses[i])) for i in order]


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
    # queries about several variables tell more, so fewer are asked
    for _ in range(min(8 if queries.width > 1 else 32, len(queries))):
        alone = gains.part_gains(b, model)[parents]
        promise = np.where(parts.query_part >= 0, alone[:, parts.query_part], 0.0).sum(axis=2)
        query = np.where(asked, -1.0, promise).argmax(axis=1)
        asked[rows, query] = True
        histories = histories.extend(parents, query, queries.answers_of(held_out.values, query))
        b, parents = belief.update(b, parents, histories), rows
    return histories.queries


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
        histories = histories.extend(parents, orders[:, k], queries.answers_of(held_out.values, orders[:, k]))
        b, parents = belief.update(b, parents, histories), np.arange(n)
        if k + 1 in checkpoints:
            loss = -belief.log_posterior(b).value[parents, held_out.labels]
            total += np.minimum(np.nan_to_num(loss, nan=IMPOSSIBLE, posinf=IMPOSSIBLE), IMPOSSIBLE)
            checks += 1
    return np.asarray(total / checks)


def _rounds(sample: Sample, *, wide: bool) -> list[tuple[Sample, Sample]]:
    """Training and held-out parts: three folds of a small sample, one when there is plenty of data; none where no class
    can spare a row. ``wide``: queries about several variables; images want more rows to learn from."""
    if len(sample) < 2_000:
        n_folds = 5
        n_rounds = 3
    elif len(sample) < 8_000:
        n_folds = 10
        n_rounds = 2
    else:
        n_folds = 20
        n_rounds = 1
    max_trained = 10_000 if wide else 4_000
    max_tested = 300 if wide else 200

    def limited(part: Sample, n_rows: int) -> Sample:
        """At most so many rows, chosen by their content, as a finite model sees them."""
        if len(part) > n_rows:
            part = part.take(np.sort(np.argsort(part.keys, kind="stable")[:n_rows]))
        return part.without_numbers()

    return [
        (
            limited(sample.part(sample.weights - held_out), max_trained),
            limited(sample.part(held_out), max_tested),
        )
        for held_out in sample.folds(n_folds)[:n_rounds]
        if held_out.any()
    ]
