"""What a classifier may learn: the options that ``strategy=`` stands for, and the candidates that are fitted from them.

An `Option` is a model that somebody states, learners that are compared, or a strategy that builds its own belief. Each
fits a `Candidate`, and candidates are compared on held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from infopursuit import models
from infopursuit.calibration.held_out import held_out_rows, n_pursued, strict_epsilon
from infopursuit.calibration.temperature import HeldOutRuns
from infopursuit.estimator.selection import select_learner
from infopursuit.models.learning import Empirical, LatentClasses, NaiveBayes
from infopursuit.models.sample import Sample
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.strategies.hybrid.hybrid import Hybrid
from infopursuit.strategies.strategy import Strategy
from infopursuit.support.lazy import lazy_name
from infopursuit.support.progress import Progress
from infopursuit.support.types import FloatArray

LEARNERS = {
    "auto": ("naive_bayes", "latent_classes", "empirical"),
    "table": ("naive_bayes", "latent_classes"),
    "empirical": ("empirical",),
    "vae": ("vae",),
    "hybrid": (),
    "amortized": (),
}
"""The learners of each strategy that has a name."""
N_FOLDS = 4
"""Folds of the rows on which finite models are tested."""
MIN_GROUPS_TUNED = 16
"""Groups of rows below which nothing is chosen on held-out rows: they would not tell one rule from another."""
FINITE_LEARNERS = (NaiveBayes, LatentClasses, Empirical)
"""Learners that are fast enough to be fitted again on parts of the rows."""
MAX_EMPIRICAL = 2_000
"""Distinct rows up to which the training rows themselves compete with the hybrid strategy; more cost too much."""


@dataclass(frozen=True)
class Candidate:
    """A strategy that may be taken.

    Parameters
    ----------
    name : str
        What it is called in reports.
    pursuit : Pursuit
        Fitted on the whole sample.
    sample : Sample
        What it was fitted on.
    held_out : (F, N) array of float
        The weight of each row that each of F folds holds out.
    folds : callable, optional
        Returns for each fold a belief and an acquisition function that were not trained on it. None
        for strategies that cannot be tested so.
    class_factors : (C,) array of float, optional
        By what the weight of the held-out rows of each class is multiplied, where it is as frequent
        in use as a class prior says and the sample is not weighted so.
    """

    name: str
    pursuit: Pursuit[Any]
    sample: Sample
    held_out: FloatArray
    folds: Callable[[], list[tuple[Any, Any]]] | None
    class_factors: FloatArray | None = None

    def run(self, n: int, progress: bool | None = None) -> HeldOutRuns:
        """Pursue held-out rows, with n queries at most."""
        assert self.folds is not None
        sample = self.sample
        n_rows = n_pursued(self.pursuit.queries, sample.n_classes)
        pursued = held_out_rows(sample, self.held_out, n_rows)
        epsilon = strict_epsilon(sample)
        rule = Confidence(epsilon) | MaxQueries(n)

        traces = []
        with Progress("held-out rows", sum(len(rows) for rows, _ in pursued), show=progress) as shown:
            for (belief, acquisition), (rows, _) in zip(self.folds(), pursued, strict=True):
                pursuit = replace(
                    self.pursuit,
                    belief=belief,
                    acquisition=acquisition,
                    bindings=type(self.pursuit.bindings)(),
                    stopping=rule,
                    patience=0,
                )
                traces.append(pursuit.run_values(sample.observed(rows), progress=shown))

        labels = sample.labels[np.concatenate([rows for rows, _ in pursued])]
        weights = np.concatenate([row_weights for _, row_weights in pursued])
        if self.class_factors is not None:
            weights = weights * self.class_factors[labels]
        return HeldOutRuns.of(traces, labels, n, epsilon, weights=weights)


@dataclass
class FitSettings:
    """What all candidates of one fit share.

    Parameters
    ----------
    queries : QuerySet
        What may be asked.
    classes : (C,) array
        The labels.
    seed : int
    parts : dict
        Fields of every pursuit.
    options : dict
        Options of `generative_pursuit`.
    prepare : callable
        Model -> the model that is used.
    class_factors : (C,) array of float, optional
        See `Candidate`.
    progress : bool, optional
    compared : list
        The finite models that were compared, best first.
    """

    queries: QuerySet
    classes: Any
    seed: int
    parts: dict[str, Any]
    options: dict[str, Any]
    prepare: Callable[[Any], Any]
    class_factors: FloatArray | None = None
    progress: bool | None = None
    compared: list[Any] = field(default_factory=list)

    def pursuit_of(self, model: Any) -> Pursuit[Any]:
        """The pursuit on a generative model."""
        return generative_pursuit(self.prepare(model), self.queries, seed=self.seed, **self.options, **self.parts)


class Option(Protocol):
    """One thing that a classifier may learn."""

    @property
    def name(self) -> str:
        """What it is called in reports."""

    @property
    def learns(self) -> bool:
        """Whether anything is learnt from the rows."""

    @property
    def is_generative(self) -> bool:
        """Whether its belief is about a generative model."""

    @property
    def refittable(self) -> bool:
        """Whether it can be fitted again on parts of the rows, to be measured on the others."""

    @property
    def beliefs(self) -> list[tuple[str, ...]]:
        """The names of the beliefs that suit each of its models."""

    def fit(self, settings: FitSettings, sample: Sample, small: bool) -> Candidate:
        """Fit the candidate on a sample; ``small``: the training rows themselves may be the model."""


@dataclass(frozen=True)
class StatedModel:
    """A model that somebody states, from which nothing is learnt."""

    model: Any
    name: str = "model"
    learns: ClassVar[bool] = False
    is_generative: ClassVar[bool] = True
    refittable: ClassVar[bool] = False

    @property
    def beliefs(self) -> list[tuple[str, ...]]:
        """See `Option`."""
        return [tuple(self.model.beliefs)]

    def fit(self, settings: FitSettings, sample: Sample, small: bool) -> Candidate:
        """See `Option`."""
        n_classes = len(settings.classes)
        if self.model.n_classes != n_classes:
            raise ValueError(f"strategy is a model of {self.model.n_classes} classes, but y has {n_classes}")
        return Candidate(self.name, settings.pursuit_of(self.model), sample, sample.folds(N_FOLDS), None)


@dataclass(frozen=True)
class LearntModel:
    """The best of some learners of generative models."""

    learners: tuple[Any, ...]
    name: str = "model"
    learns: ClassVar[bool] = True
    is_generative: ClassVar[bool] = True

    @property
    def refittable(self) -> bool:
        """See `Option`."""
        return all(isinstance(learner, FINITE_LEARNERS) for learner in self.learners)

    @property
    def beliefs(self) -> list[tuple[str, ...]]:
        """See `Option`."""
        return [tuple(getattr(learner, "beliefs", ())) for learner in self.learners]

    def fit(self, settings: FitSettings, sample: Sample, small: bool) -> Candidate:
        """See `Option`."""
        queries = settings.queries
        learners = [learner for learner in self.learners if small or not isinstance(learner, Empirical)]
        best, settings.compared = select_learner(
            learners, sample, queries, seed=settings.seed, progress=settings.progress
        )
        shape = queries.shape

        def fitted(part: Sample) -> Pursuit[Any]:
            return settings.pursuit_of(best.fit(part.without_numbers(), shape, settings.seed))

        held_out = sample.folds(N_FOLDS)

        def folds() -> list[tuple[Any, Any]]:
            pursuits = (fitted(sample.part(sample.weights - held)) for held in held_out)
            return [(pursuit.belief, pursuit.acquisition) for pursuit in pursuits]

        pursuit = fitted(sample)
        finite = "exact" in pursuit.model.beliefs  # a network is not trained once more for each fold
        enough = sample.n_groups >= MIN_GROUPS_TUNED and bool(held_out.any(axis=1).all())
        testable = finite and queries.tabular and enough
        return Candidate(self.name, pursuit, sample, held_out, folds if testable else None, settings.class_factors)


@dataclass(frozen=True)
class BuiltStrategy:
    """A strategy that builds its own belief; it sees the numbers."""

    strategy: Strategy
    learns: ClassVar[bool] = True
    is_generative: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """See `Option`."""
        return self.strategy.name

    @property
    def refittable(self) -> bool:
        """See `Option`."""
        return self.strategy.refittable

    @property
    def beliefs(self) -> list[tuple[str, ...]]:
        """See `Option`."""
        return []

    def fit(self, settings: FitSettings, sample: Sample, small: bool) -> Candidate:
        """See `Option`."""
        belief, acquisition = self.strategy.build(sample, settings.queries, settings.seed)
        parts = {**settings.parts, "learnt": not belief.capabilities.calibrated}  # it may have calibrated itself
        pursuit: Pursuit[Any] = Pursuit(settings.queries, belief, acquisition, seed=settings.seed, **parts)
        folds = self.strategy.folds(belief)
        if folds is None:
            return Candidate(self.name, pursuit, sample, np.zeros((0, len(sample))), None)
        return Candidate(self.name, pursuit, sample, self.strategy.held_out(sample), lambda: folds)


def read_strategy(strategy: Any, device: Any, progress: bool | None) -> list[Option]:
    """Return the options that ``strategy=`` stands for.

    Parameters
    ----------
    strategy : str, Strategy, learner or model
        One of `LEARNERS`, a strategy, a learner of models, or a model that is ready.
    device : str, optional
        Where networks are computed.
    progress : bool, optional
    """
    if isinstance(strategy, str) and strategy in LEARNERS:
        return _named(strategy, device, progress)
    if isinstance(strategy, Strategy):
        return [BuiltStrategy(strategy)]
    if not isinstance(strategy, (str, type)):
        if hasattr(strategy, "beliefs") and hasattr(strategy, "variables"):
            return [StatedModel(strategy)]
        if hasattr(strategy, "fit") and hasattr(strategy, "candidates"):
            return [LearntModel((_with_defaults(strategy, device, progress),))]

    names = ", ".join(map(repr, LEARNERS))
    raise ValueError(
        f"strategy={strategy!r}; expected {names}, a learner, a model or a subclass of ip.strategies.Strategy"
    )


def _named(name: str, device: Any, progress: bool | None) -> list[Option]:
    """The options of a strategy that has a name."""
    if name == "amortized":
        amortized = lazy_name("infopursuit", {"Amortized": "strategies.amortized.amortized"}, "Amortized")
        return [BuiltStrategy(amortized(device=device, progress=progress))]

    options: list[Option] = []
    learners = tuple(_with_defaults(getattr(models, learner)(), device, progress) for learner in LEARNERS[name])
    if learners:
        options.append(LearntModel(learners, "generative" if name == "auto" else name))
    if name in ("auto", "hybrid"):
        options.append(BuiltStrategy(Hybrid(progress=progress)))
    return options


def _with_defaults(learner: Any, device: Any, progress: bool | None) -> Any:
    """A learner of networks, with the device and the progress of the classifier."""
    if isinstance(learner, FINITE_LEARNERS) or not hasattr(learner, "with_defaults"):
        return learner
    return learner.with_defaults(device=device, progress=progress)
