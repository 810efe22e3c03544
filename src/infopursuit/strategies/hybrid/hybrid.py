"""The hybrid strategy: a discriminative predictor believes, a model of the answers looks ahead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from infopursuit.calibration.held_out import MAX_QUESTIONS, held_out_rows, n_pursued, strict_epsilon
from infopursuit.models.networks.masked import (
    AnswerNetwork,
    Encoding,
    MaskedClassifier,
    Rows,
    Training,
    fit_answers,
    fit_classifier,
)
from infopursuit.models.sample import Sample
from infopursuit.pursuit.histories import BoolArray
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.hybrid.belief import OwnPredictor, PredictorBelief, answer_vectors, check_queries
from infopursuit.strategies.look_ahead import LookAhead
from infopursuit.strategies.strategy import Strategy
from infopursuit.support.checks import instance, one_of, whole_number
from infopursuit.support.progress import Progress
from infopursuit.support.threads import side_by_side, single_threaded
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

FEW_ROWS = 1_000
"""Distinct rows below which more networks are trained: that is cheap, and each leaves fewer rows out."""
MAX_STEPS_FEW = 2_000
MAX_CHECKS_FEW = 5
"""Training steps, and looks at the held-out loss without improvement, at most, where there are few rows: more did not
make the networks better there."""


@dataclass(frozen=True)
class Hybrid(Strategy):
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
        instance(self.training, "training", Training, "infopursuit.models.networks.masked.Training(max_steps=1000)")
        if not hasattr(self.predictor, "predict_proba"):
            one_of(self.predictor, "predictor", ("network",))

    @property
    def refittable(self) -> bool:
        """Whether it can be fitted again on some of the rows; a predictor of your own has seen all of them."""
        return not hasattr(self.predictor, "predict_proba")

    @single_threaded()
    def build(self, sample: Sample, queries: QuerySet, seed: int) -> tuple[PredictorBelief, LookAhead]:
        """Train the networks on a sample.

        Parameters
        ----------
        sample : Sample
            Labelled rows, with their numbers.
        queries : QuerySet
            Each with few answers, see `check_queries`.
        seed : int

        Returns
        -------
        belief : PredictorBelief
        acquisition : LookAhead
        """
        check_queries(queries)
        answers, cells = answer_vectors(queries, sample.values, sample.numbers)
        encoding = Encoding.fit(answers, _numeric(queries), queries.n_answers, sample.weights)
        held_out = self.held_out(sample)
        weights = sample.weights - held_out
        no_rows = np.zeros(0, np.int64)
        no_paths = np.zeros((0, 1), np.int64)
        rows = Rows(encoding, answers, sample.labels, weights, no_rows, no_paths, held_out)
        first_member = replace(rows, weights=weights[:1], held_out=held_out[:1])

        how = self._training(sample)
        pursued = held_out_rows(sample, held_out, n_pursued(queries, sample.n_classes))
        n_steps = int(2.5 * how.max_steps) + sum(len(fold_rows) for fold_rows, _ in pursued)
        # The two kinds of networks are trained side by side, each with a generator of its own.
        class_generator = np.random.default_rng((seed, 0))
        answer_generator = np.random.default_rng((seed, 1))

        with Progress("training", n_steps, show=self.progress) as shown:

            def train_answers() -> AnswerNetwork:
                return fit_answers(first_member, cells, queries.n_answers, how, answer_generator, shown)

            def train_classifier() -> MaskedClassifier:
                return fit_classifier(rows, sample.n_classes, how, class_generator, shown)

            if hasattr(self.predictor, "predict_proba"):
                own = OwnPredictor(self.predictor, queries, sample.n_classes)
                return PredictorBelief(own, train_answers(), queries), self.acquisition

            tasks: list[Callable[[], Any]] = [train_answers, train_classifier]
            answer_model, predictor = side_by_side(lambda i: tasks[i](), 2)

            # Train again, also on the histories of the networks' own pursuits.
            belief = PredictorBelief(predictor, answer_model, queries)
            path_rows = [fold_rows for fold_rows, _ in pursued]
            paths = self._paths(belief, sample, path_rows, seed, shown)
            rows = replace(rows, path_rows=np.concatenate(path_rows), paths=paths)
            shorter = replace(how, max_steps=how.max_steps // 2)
            predictor = fit_classifier(rows, sample.n_classes, shorter, class_generator, shown, start=predictor)
            return PredictorBelief(predictor, answer_model, queries), self.acquisition

    def held_out(self, sample: Sample) -> FloatArray:
        """(M, N) the weight of each row that each network leaves out; fewer networks where classes have few rows."""
        if self.n_members is not None:
            sizes: tuple[int, ...] = (self.n_members,)
        elif len(sample) < FEW_ROWS:
            sizes = (8, 4, 2)
        else:
            sizes = (4, 2)

        for n in sizes:
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
        return [(PredictorBelief(member, belief.answers, belief.queries), self.acquisition) for member in members]

    def _training(self, sample: Sample) -> Training:
        """The settings for so many rows: few rows are learnt in few steps, and overfitted soon after."""
        if len(sample) >= FEW_ROWS:
            return self.training
        return replace(
            self.training,
            check=min(self.training.check, max(25, len(sample) // 20)),
            max_steps=min(self.training.max_steps, MAX_STEPS_FEW),
            patience=min(self.training.patience, MAX_CHECKS_FEW),
        )

    def _paths(
        self,
        belief: PredictorBelief,
        sample: Sample,
        rows_of_fold: list[IntArray],
        seed: int,
        shown: Progress,
    ) -> IntArray:
        """(R, K) the queries that a pursuit asks about some rows of each fold, by the network that did not see it."""
        n = min(MAX_QUESTIONS, len(belief.queries))
        rule = Confidence(strict_epsilon(sample)) | MaxQueries(n)
        paths = []
        for (member, _), rows in zip(self.folds(belief) or (), rows_of_fold, strict=True):
            pursuit = Pursuit(belief.queries, member, LookAhead(), rule, seed=seed)
            asked = pursuit.run_values(sample.observed(rows), progress=shown).queries
            paths.append(np.pad(asked, ((0, 0), (0, n - asked.shape[1])), constant_values=UNKNOWN))
        return np.concatenate(paths)


def _numeric(queries: QuerySet) -> BoolArray:
    """(Q,) which queries are answered by numbers."""
    if queries.representatives is None:
        return np.zeros(len(queries), dtype=bool)
    return ~np.isnan(queries.representatives[:, 0])
