"""The hybrid strategy: a discriminative predictor believes, a model of the answers looks ahead."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from infopursuit.acquisition.look_ahead import LookAhead
from infopursuit.beliefs.predictor import PredictorBelief, answer_vectors, check_queries
from infopursuit.engine import Pursuit
from infopursuit.models.masked import Encoding, Rows, Training, fit_answers, fit_classifier
from infopursuit.models.sample import Sample
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.stopping import Confidence, MaxQueries
from infopursuit.types import FloatArray, IntArray, Observed

MAX_PATHS = 4_000
"""Training rows that are pursued to learn from the histories of the strategy itself."""
MAX_LENGTH = 12


@dataclass(frozen=True)
class Hybrid:
    n_members: int = 4
    training: Training = field(default_factory=Training)
    progress: bool | None = None

    def build(self, sample: Sample, queries: QuerySet, seed: int) -> tuple[PredictorBelief, LookAhead]:
        check_queries(queries)
        rng = np.random.default_rng(seed)
        answers, cells = answer_vectors(queries, sample.values, sample.numbers)
        held_out = sample.folds(self.n_members)
        weights = sample.weights - held_out
        numeric = (
            np.zeros(len(queries), bool)
            if queries.representatives is None
            else ~np.isnan(queries.representatives[:, 0])
        )
        encoding = Encoding.fit(answers, numeric, queries.n_answers, sample.labels, sample.weights)
        none = np.zeros(0, np.int64)
        rows = Rows(answers, sample.labels, weights, none, none.reshape(0, 1), held_out)
        with Progress("training", 3 * self.training.max_steps, show=self.progress) as shown:
            predicted = fit_answers(
                encoding,
                replace(rows, weights=weights[:1], held_out=held_out[:1]),
                cells,
                queries.n_answers,
                self.training,
                rng,
                shown,
            )
            network = fit_classifier(encoding, rows, sample.n_classes, self.training, rng, shown)
            belief = PredictorBelief(network, predicted, queries)
            which, paths = self.paths(belief, sample, held_out)
            rows = replace(rows, path_rows=which, paths=paths)
            how = replace(self.training, max_steps=self.training.max_steps // 2)
            network = fit_classifier(encoding, rows, sample.n_classes, how, rng, shown, network)
        return PredictorBelief(network, predicted, queries), LookAhead()

    def paths(self, belief: PredictorBelief, sample: Sample, held_out: FloatArray) -> tuple[IntArray, IntArray]:
        length = min(MAX_LENGTH, len(belief.queries))
        found = []
        for m, rows in enumerate(held_out_rows(held_out, MAX_PATHS)):
            trace = held_out_pursuit(belief, m, length).run_values(taken(sample, rows), progress=False)
            paths = np.full((len(rows), length), -1)
            paths[:, : trace.queries.shape[1]] = trace.queries
            found.append((rows, paths))
        return tuple(np.concatenate(each) for each in zip(*found, strict=True))


def held_out_pursuit(belief: PredictorBelief, m: int, length: int) -> Pursuit[Any]:
    member = PredictorBelief(belief.predictor.member(m), belief.answers, belief.queries)
    return Pursuit(belief.queries, member, LookAhead(), Confidence(1e-3) | MaxQueries(length))


def taken(sample: Sample, rows: IntArray) -> Observed:
    return Observed(sample.values[rows].astype(np.int64), None if sample.numbers is None else sample.numbers[rows])


def held_out_rows(held_out: FloatArray, n: int) -> list[IntArray]:
    """For each fold, rows in proportion to their held-out weight; n in all at the most."""
    each = n // len(held_out)
    found = []
    for weights in held_out:
        total = np.cumsum(weights)
        size = int(min(each, np.ceil(total[-1])))
        at = (np.arange(size) + 0.5) / size * total[-1]
        found.append(np.searchsorted(total, at))
    return found
