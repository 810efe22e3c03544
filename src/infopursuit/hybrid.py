"""The hybrid strategy: a discriminative predictor believes, a model of the answers looks ahead."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from infopursuit.acquisition.look_ahead import LookAhead
from infopursuit.beliefs.predictor import PredictorBelief, answer_vectors, check_queries
from infopursuit.engine import Pursuit
from infopursuit.models.masked import Encoding, Rows, Training, fit_answers, fit_classifier
from infopursuit.models.sample import Sample
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.stopping import Confidence, MaxQueries
from infopursuit.threads import single_threaded
from infopursuit.tuning import CONFIDENT, MAX_QUESTIONS, held_out_rows
from infopursuit.types import UNKNOWN, IntArray

MAX_PATHS = 4_000
"""Training rows that are pursued to learn from the histories of the strategy itself."""


@dataclass(frozen=True)
class Hybrid:
    """Belief by masked networks, which see numbers as numbers; acquisition by one-step look-ahead over predicted
    answers.

    The networks are trained twice: on random histories, then also on the histories of their own pursuits. Each leaves
    one fold of the rows out, on which it is tested, calibrated and pursued; together they are an ensemble.

    Parameters
    ----------
    n_members: networks of the ensemble, and folds.
    training: how they are trained.
    progress: show it even where no terminal is.

    >>> import infopursuit as ip
    >>> clf = ip.InformationPursuitClassifier(strategy=ip.Hybrid(n_members=2))
    """

    kind: ClassVar[str] = "hybrid"
    n_members: int = 4
    training: Training = field(default_factory=Training)
    progress: bool | None = None

    @single_threaded()
    def build(self, sample: Sample, queries: QuerySet, seed: int) -> tuple[PredictorBelief, LookAhead]:
        """The belief and the acquisition function."""
        check_queries(queries)
        rng = np.random.default_rng(seed)
        answers, cells = answer_vectors(queries, sample.values, sample.numbers)
        held_out = sample.folds(self.n_members)
        weights = sample.weights - held_out
        table = queries.representatives
        numeric = np.zeros(len(queries), bool) if table is None else ~np.isnan(table[:, 0])
        encoding = Encoding.fit(answers, numeric, queries.n_answers, sample.labels, sample.weights)
        none = np.zeros(0, np.int64)
        rows = Rows(encoding, answers, sample.labels, weights, none, none.reshape(0, 1), held_out)
        with Progress("training", 3 * self.training.max_steps, show=self.progress) as shown:
            one = replace(rows, weights=weights[:1], held_out=held_out[:1])
            predicted = fit_answers(one, cells, queries.n_answers, self.training, rng, shown)
            network = fit_classifier(rows, sample.n_classes, self.training, rng, shown)
            belief = PredictorBelief(network, predicted, queries)
            which, paths = self._paths(belief, sample, seed)
            rows = replace(rows, path_rows=which, paths=paths)
            how = replace(self.training, max_steps=self.training.max_steps // 2)
            network = fit_classifier(rows, sample.n_classes, how, rng, shown, network)
        return PredictorBelief(network, predicted, queries), LookAhead()

    def folds(self, belief: PredictorBelief) -> list[tuple[PredictorBelief, LookAhead]]:
        """For each fold of the sample the belief of the network that was not trained on it."""
        members = (belief.predictor.member(m) for m in range(belief.predictor.n_members))
        return [(PredictorBelief(each, belief.answers, belief.queries), LookAhead()) for each in members]

    def _paths(self, belief: PredictorBelief, sample: Sample, seed: int) -> tuple[IntArray, IntArray]:
        """(R,) some rows, and (R, K) the queries that a pursuit asks about each, by a network that did not see it."""
        n = min(MAX_QUESTIONS, len(belief.queries))
        rows = held_out_rows(sample.folds(self.n_members), MAX_PATHS)
        paths = []
        for (member, acquisition), index in zip(self.folds(belief), rows, strict=True):
            pursuit = Pursuit(belief.queries, member, acquisition, Confidence(CONFIDENT) | MaxQueries(n), seed=seed)
            asked = pursuit.run_values(sample.observed(index), progress=False).queries
            paths.append(np.pad(asked, ((0, 0), (0, n - asked.shape[1])), constant_values=UNKNOWN))
        return np.concatenate(rows), np.concatenate(paths)
