"""The hybrid strategy: a discriminative predictor believes, a model of the answers looks ahead."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from infopursuit.acquisition.look_ahead import LookAhead
from infopursuit.beliefs.predictor import OwnPredictor, PredictorBelief, answer_vectors, check_queries
from infopursuit.checks import instance, one_of, whole_number
from infopursuit.engine import Pursuit
from infopursuit.models.masked import Encoding, Rows, Training, fit_answers, fit_classifier
from infopursuit.models.sample import Sample
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.stopping import Confidence, MaxQueries
from infopursuit.threads import side_by_side, single_threaded
from infopursuit.tuning import CONFIDENT, MAX_QUESTIONS, held_out_rows, n_pursued
from infopursuit.types import UNKNOWN, FloatArray, IntArray

FEW_ROWS = 1_000
"""Distinct rows below which more networks are trained: that is cheap, and each leaves fewer rows out."""


@dataclass(frozen=True)
class Hybrid:
    """Belief by masked networks, which see numbers as numbers; acquisition by one-step look-ahead over predicted
    answers.

    The networks are trained twice: on random histories, then also on the histories of their own pursuits. Each leaves
    one fold of the rows out, on which it is tested, calibrated and pursued; together they are an ensemble.

    Parameters
    ----------
    n_members: networks of the ensemble, and folds; None is 8 for fewer than 1,000 distinct rows, else 4.
    training: how they are trained.
    progress: show it even where no terminal is.
    predictor: "network", or an object of your own with ``predict_proba`` that accepts NaN, fitted on the training
        table, see `OwnPredictor`. Of your own nothing can be tuned, and it cannot be saved.
    acquisition: ``LookAhead(depth=2)`` looks two questions ahead.

    >>> import infopursuit as ip
    >>> clf = ip.InformationPursuitClassifier(strategy=ip.Hybrid(n_members=2))
    """

    kind: ClassVar[str] = "hybrid"
    n_members: int | None = None
    training: Training = field(default_factory=Training)
    progress: bool | None = None
    predictor: Any = "network"
    acquisition: LookAhead = field(default_factory=LookAhead)

    def __post_init__(self) -> None:
        if self.n_members is not None:
            whole_number(self.n_members, "n_members", 2)
        instance(self.training, "training", Training, "infopursuit.models.masked.Training(max_steps=1000)")
        if not hasattr(self.predictor, "predict_proba"):
            one_of(self.predictor, "predictor", ("network",))

    @single_threaded()
    def build(self, sample: Sample, queries: QuerySet, seed: int) -> tuple[PredictorBelief, LookAhead]:
        """The belief and the acquisition function."""
        check_queries(queries)
        rng, other = (np.random.default_rng((seed, part)) for part in range(2))  # trained side by side
        answers, cells = answer_vectors(queries, sample.values, sample.numbers)
        held_out = self._held_out(sample)
        weights = sample.weights - held_out
        table = queries.representatives
        numeric = np.zeros(len(queries), bool) if table is None else ~np.isnan(table[:, 0])
        encoding = Encoding.fit(answers, numeric, queries.n_answers, sample.labels, sample.weights)
        none = np.zeros(0, np.int64)
        rows = Rows(encoding, answers, sample.labels, weights, none, none.reshape(0, 1), held_out)
        # few rows are learnt in few steps, and overfitted soon after
        how = replace(self.training, check=min(self.training.check, max(25, len(sample) // 20)))
        one = replace(rows, weights=weights[:1], held_out=held_out[:1])
        pursued = held_out_rows(held_out, n_pursued(queries, sample.n_classes))
        with Progress("training", int(2.5 * how.max_steps) + sum(map(len, pursued)), show=self.progress) as shown:
            if hasattr(self.predictor, "predict_proba"):
                own = OwnPredictor(self.predictor, queries, sample.n_classes)
                predicted = fit_answers(one, cells, queries.n_answers, how, other, shown)
                return PredictorBelief(own, predicted, queries), self.acquisition
            tasks: list[Any] = [
                lambda: fit_answers(one, cells, queries.n_answers, how, other, shown),
                lambda: fit_classifier(rows, sample.n_classes, how, rng, shown),
            ]
            predicted, predictor = side_by_side(lambda i: tasks[i](), 2)
            paths = self._paths(PredictorBelief(predictor, predicted, queries), sample, pursued, seed, shown)
            rows = replace(rows, path_rows=np.concatenate(pursued), paths=paths)
            shorter = replace(how, max_steps=how.max_steps // 2)
            predictor = fit_classifier(rows, sample.n_classes, shorter, rng, shown, start=predictor)
            return PredictorBelief(predictor, predicted, queries), self.acquisition

    def _held_out(self, sample: Sample) -> FloatArray:
        """(M, N) the weight of each row that each network leaves out; fewer networks where classes have few rows."""
        sizes = (8, 4, 2) if len(sample) < FEW_ROWS else (4, 2)
        for n in sizes if self.n_members is None else (self.n_members,):
            held_out = sample.folds(n)
            if held_out.any(axis=1).all():
                return held_out
        raise ValueError(
            f"X has {sample.weights.sum():g} rows of {sample.n_classes} classes, too few to hold any out for "
            f"strategy='hybrid'; give more rows of each class, fewer n_members, or use strategy='table'"
        )

    def folds(self, belief: PredictorBelief) -> list[tuple[PredictorBelief, LookAhead]] | None:
        """For each fold of the sample the belief of the member that was not trained on it; None where there is none."""
        if isinstance(belief.predictor, OwnPredictor):
            return None
        members = (belief.predictor.member(m) for m in range(belief.predictor.n_members))
        return [(PredictorBelief(each, belief.answers, belief.queries), self.acquisition) for each in members]

    def _paths(
        self, belief: PredictorBelief, sample: Sample, pursued: list[IntArray], seed: int, shown: Progress
    ) -> IntArray:
        """(R, K) the queries that a pursuit asks about some rows of each fold, by the network that did not see it."""
        n = min(MAX_QUESTIONS, len(belief.queries))
        paths = []
        for (member, _), index in zip(self.folds(belief) or (), pursued, strict=True):
            pursuit = Pursuit(belief.queries, member, LookAhead(), Confidence(CONFIDENT) | MaxQueries(n), seed=seed)
            asked = pursuit.run_values(sample.observed(index), progress=shown).queries
            paths.append(np.pad(asked, ((0, 0), (0, n - asked.shape[1])), constant_values=UNKNOWN))
        return np.concatenate(paths)
