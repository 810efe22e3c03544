"""`InformationPursuitClassifier`: the whole of it behind scikit-learn's interface."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from infopursuit import queries as query_builders
from infopursuit.calibration.conformal import PredictionSets
from infopursuit.calibration.held_out import MAX_QUESTIONS
from infopursuit.calibration.novelty import N_SAMPLES, NoveltyReference, predict_or_abstain
from infopursuit.calibration.temperature import CalibrationReport, calibrate, check_sample_size, run_held_out
from infopursuit.estimator.assessment import ENOUGH_ROWS, Assessment, Measured, assessment_of, held_out_parts
from infopursuit.estimator.candidates import MAX_EMPIRICAL, N_FOLDS, Candidate, FitSettings, Option, read_strategy
from infopursuit.estimator.labels import check_labels, read_class_weight, read_prior
from infopursuit.estimator.saving import write_folder
from infopursuit.estimator.training_table import TrainingTable
from infopursuit.estimator.tuning import Tuning, tune
from infopursuit.models import Sample
from infopursuit.models.folds import row_groups
from infopursuit.models.storing import DTYPES
from infopursuit.pursuit.costs import Constraints, Costs
from infopursuit.pursuit.costs import bind as bind_costs
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.noise import AnswerNoise
from infopursuit.pursuit.session import Session
from infopursuit.pursuit.stopping import Confidence, MaxQueries, Rule
from infopursuit.pursuit.trace import Trace
from infopursuit.queries import QuerySet
from infopursuit.queries.data_checks import warn_of_leaks
from infopursuit.queries.frames import is_frame, read_table
from infopursuit.queries.queryset import check_joint_answers
from infopursuit.saving.provenance import provenance
from infopursuit.strategies.generative.build import BELIEFS, generative_pursuit
from infopursuit.strategies.hybrid.belief import MAX_ANSWERS
from infopursuit.support.cards import draw_card
from infopursuit.support.checks import instance, whole_number
from infopursuit.support.progress import Progress
from infopursuit.support.threads import n_threads, side_by_side, thread_limit
from infopursuit.support.types import FloatArray, IntArray

logger = logging.getLogger(__name__)

MIN_ROWS_HYBRID, MAX_QUERIES_HYBRID = 80, 1_000
"""For which tables "auto" tries the hybrid strategy."""
MAX_ROWS = 200_000
"""Training rows of a table at the most: networks are trained on fewer before they stop."""
MAX_CLASSES = 5_000
MAX_QUERIES = 50
"""Queries at the most after calibration, where neither it nor the stopping rule says how many."""


class InformationPursuitClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that explains itself by asking.

    Parameters
    ----------
    queries: what may be asked: a query set, or a builder that is fitted on the training data, such as
        ``ip.queries.words()``. None makes patches for image stacks, words for strings, and columns for anything else.
    strategy: "auto" chooses on held-out data among the finite models and, for tables, the hybrid strategy; "hybrid"
        takes masked networks, which see numbers as numbers (see `Hybrid`); "amortized" trains one network to believe
        and to ask, for many examples and fast steps (see `Amortized`); "table" chooses among naive Bayes and
        mixtures; "empirical" takes the training examples themselves; "vae" trains the paper's autoencoder, which "auto"
        never does, for it takes long; or a learner such as ``ip.models.naive_bayes()`` or
        ``ip.models.vae(latent_dim=5)``, a model that is ready, or a `Strategy` of your own.
    belief: "auto" is "exact" for finite models, which may have "pruned" instead where variables are yes/no (not exact,
        but many times faster with tens of thousands of examples), and "smc" for a VAE, which may have "langevin"
        instead; or settings such as ``ip.strategies.SMC(n_draws=4000)``.
    stopping: when to stop asking: a rule such as ``ip.Confidence(0.05)``. "auto" chooses it for tables, on held-out
        rows: the shortest rule whose accuracy is within one standard error of the best one's; elsewhere it is
        ``ip.Confidence(0.01)``.
    max_questions: questions at the most; "auto" asks 12 at the most where nothing is given.
    max_rows: training rows of a table at the most, drawn at random where there are more; None takes all.
    n_jobs: threads at the most; None is as many as there are cores, or OMP_NUM_THREADS.
    patience: a stopping rule must hold this many more times in a row.
    random_state: seed of the few things that are drawn; None is 0, so that fitting twice gives the same classifier.
    device: where networks are computed, such as "cuda"; the processor where nothing is given.
    dtype: "float32" or "float64" for the model's tables or networks; chosen by their size where nothing is given.
    exact_gains: True computes every gain exactly however long it takes; None while that is affordable.
    verbose: show progress even where no terminal is.
    noise: the answer noise of those who will answer, such as ``ip.AnswerNoise(0.9)``; None takes every answer as
        certain. Training data are taken as they are in any case.
    costs, constraints: what queries cost, prerequisites, and which are never asked; see ``ip.Costs`` and
        ``ip.Constraints``.
    class_weight: "balanced" weights rows so that all classes are equally frequent; {label: weight} multiplies the
        weight of the rows of each class. Posteriors and figures are then those of classes as frequent as that.
    assess: whether `fit` measures itself: it fits everything again on parts of the rows and measures on the others.
        False saves that time where you measure it yourself, as in cross-validation.

    Attributes
    ----------
    classes_, queries_, model_, pursuit_, selection_ (the models compared, best first), class_count_ ((C,), the weight
    of the training rows of each class), tuning_ (what was chosen on held-out rows; None where nothing was),
    assessment_ (accuracy and more on rows on which nothing was chosen; None where it was not measured),
    held_out_posterior_ ((B, C), of each training row the posterior by a classifier that was fitted without it, NaN for
    rows that were not held out),
    provenance_, n_features_in_, feature_names_in_; after `calibrate` also calibration_.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = InformationPursuitClassifier().fit(X, y)
    >>> bool(clf.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        queries: Any = None,
        strategy: Any = "auto",
        belief: Any = "auto",
        stopping: Any = "auto",
        max_questions: int | None = None,
        max_rows: int | None = MAX_ROWS,
        n_jobs: int | None = None,
        patience: int = 0,
        random_state: Any = None,
        device: Any = None,
        dtype: Any = None,
        exact_gains: bool | None = None,
        verbose: bool | None = None,
        noise: AnswerNoise | None = None,
        costs: Costs | None = None,
        constraints: Constraints | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        assess: bool = True,
    ) -> None:
        self.queries = queries
        self.strategy = strategy
        self.belief = belief
        self.stopping = stopping
        self.max_questions = max_questions
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.patience = patience
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.exact_gains = exact_gains
        self.verbose = verbose
        self.noise = noise
        self.costs = costs
        self.constraints = constraints
        self.class_weight = class_weight
        self.assess = assess

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """As in scikit-learn; those of the stopping rule are ``stopping__epsilon`` and the like."""
        rule = self.stopping.params() if deep and isinstance(self.stopping, Rule) else {}
        return {**super().get_params(deep), **{f"stopping__{name}": value for name, value in rule.items()}}

    def set_params(self, **params: Any) -> InformationPursuitClassifier:
        """As in scikit-learn."""
        nested = {name.removeprefix("stopping__"): params.pop(name) for name in [*params] if name[:10] == "stopping__"}
        super().set_params(**params)
        if nested:
            self.stopping = instance(self.stopping, "stopping", Rule, "a rule such as ip.Confidence(0.1)").with_params(
                **nested
            )
        return self

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        class_prior: Any = None,
        groups: Any = None,
    ) -> InformationPursuitClassifier:
        """Learn from inputs with labels, and measure how well that works on rows that were held out.

        Parameters
        ----------
        X : table, list of texts or stack of images
            B inputs.
        y : (B,) array-like
            Their labels.
        sample_weight : (B,) array-like of float, optional
            A row of weight 2 counts like two rows. It is never trained on and tested on.
        class_prior : (C,) array-like of float or dict, optional
            How frequent each class is where the classifier will be used, in the order of the sorted
            labels or as {label: probability}. By default as in the data.
        groups : (B,) array-like, optional
            Rows with the same value belong together, such as those of one patient, and are held out
            together. By default these are rows that agree in every column.

        Returns
        -------
        self
        """
        with self._threads():
            return self._fit(X, y, sample_weight, class_prior, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, class_prior: Any, groups: Any) -> InformationPursuitClassifier:
        seed = self._seed()
        options = self._options()
        table = self._read_training(X, y, sample_weight, groups, options)
        n_rows = len(table)
        table = self._drawn(table, seed)
        table = self._with_class_weight(table)
        self._class_shares = self._stated_class_shares(table)
        self.__dict__.pop("calibration_", None)  # that of an earlier fit is not about this one
        self.assessment_: Assessment | None = None
        self.held_out_posterior_: FloatArray | None = None
        self._assessed_rows: list[IntArray] = []

        measured: list[Measured] = []
        if self.assess and len(table) >= ENOUGH_ROWS:
            measured = self._learn_and_measure(table, class_prior, seed, options)
        else:
            self._learn(table, class_prior, seed, options)
            if self.assess and self._is_assessable(self.queries_, options):
                measured = self._assess(table, class_prior, seed, options)
        if measured:
            self._set_assessment(measured, n_rows)

        if self.tuning_ is not None and self.tuning_.tells_nothing and isinstance(self.stopping, str):
            warnings.warn(
                f"no column tells anything about the label on held-out rows (permutation test, p = "
                f"{self.tuning_.p_value:.2g}): nothing is asked, and every row gets the frequencies of the classes; "
                f"for questions anyway say stopping=ip.MaxQueries(5)",
                stacklevel=3,
            )
        sampled = self.model_ is not None and "smc" in self.model_.beliefs
        used = n_threads() if sampled else None
        self.provenance_ = provenance(seed, n_rows, used)
        return self

    def _read_training(self, X: Any, y: Any, sample_weight: Any, groups: Any, options: list[Option]) -> TrainingTable:
        """Check inputs, labels, weights and groups."""
        X = self._check_input(X, reset=True)
        name = str(getattr(y, "name", None) or "")  # of a column of pandas or polars
        stated = not any(option.learns for option in options)
        y = check_labels(X, y, facts=stated)
        weights = None
        if sample_weight is not None:  # of X only the number of rows is looked at
            weights = _check_sample_weight(sample_weight, np.zeros((len(y), 1)), ensure_non_negative=True)

        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes[0]!r}; a classifier needs at least two classes")
        if len(classes) > MAX_CLASSES:
            raise ValueError(
                f"y has {len(classes)} classes, more than {MAX_CLASSES}; is it an identifier or a number? Group it "
                f"into classes first"
            )
        return TrainingTable.of(X, y, labels, weights, groups, name)

    def _drawn(self, table: TrainingTable, seed: int) -> TrainingTable:
        """At most ``max_rows`` rows of a table, drawn at random."""
        tabular = is_frame(table.X) or getattr(table.X, "ndim", 1) == 2
        if self.max_rows is None or len(table) <= self.max_rows or not tabular:
            return table
        rows = np.random.default_rng(seed).choice(len(table), self.max_rows, replace=False)
        drawn = table.take(np.sort(rows))
        return replace(drawn, labels=np.unique(drawn.y, return_inverse=True)[1])

    def _learn(
        self,
        table: TrainingTable,
        class_prior: Any,
        seed: int,
        options: list[Option],
        compares: bool | None = None,
    ) -> None:
        """Learn from all rows of a table.

        Parameters
        ----------
        table : TrainingTable
        class_prior : array-like or dict, optional
        seed : int
        options : list of Option
            What may be learnt.
        compares : bool, optional
            Whether the hybrid strategy is compared with the generative one; by default where it
            suits the table.
        """
        self.classes_, labels = np.unique(table.y, return_inverse=True)
        if self._class_shares is not None:
            table = table.with_class_shares(self._class_shares)
        self.queries_: QuerySet = self._fit_queries(table)
        bind_costs(self.costs, self.constraints, self.queries_)  # what they name is looked for before learning
        if any(option.is_generative for option in options):
            check_joint_answers(self.queries_, "its mutual information is a sum over all of them")

        observed = self.queries_.read(table.X)
        columns = self.queries_.ungrouped  # columns that are asked in groups are columns
        if columns.tabular:
            warn_of_leaks(columns, observed.values, labels)
        prior = None if class_prior is None else read_prior(class_prior, self.classes_)
        self._prior_factors = np.ones(len(self.classes_))
        if prior is not None:
            self._prior_factors = prior / np.bincount(labels, weights=table.row_weights) * table.row_weights.sum()

        # Networks need importance weights for a prior; finite models are given the prior itself.
        weights = table.row_weights
        if self._has_hybrid(options):
            weights = weights * self._prior_factors[labels]
        sample = Sample.of(
            self.queries_.variables,
            observed.values,
            labels,
            weights,
            len(self.classes_),
            observed.numbers,
            table.groups,
            cases=table.cases,
        )
        self.class_count_ = np.bincount(labels, weights=table.weights, minlength=len(self.classes_)).astype(np.float64)

        if compares is None:
            compares = len(options) > 1 and self._suits_hybrid(sample)
        self._compares = compares
        candidates = self._candidates(table, sample, prior, seed, options, compares)
        self._choose(candidates, seed)
        self.model_ = self.pursuit_.model

    def _candidates(
        self,
        table: TrainingTable,
        sample: Sample,
        prior: FloatArray | None,
        seed: int,
        options: list[Option],
        compares: bool,
    ) -> list[Candidate]:
        """The strategies among which one is chosen, fitted on a sample."""
        settings = FitSettings(
            queries=self.queries_,
            classes=self.classes_,
            seed=seed,
            parts={
                "classes": self.classes_,
                "patience": self.patience,
                "noise": self.noise,
                "costs": self.costs,
                "constraints": self.constraints,
                "learnt": any(option.learns for option in options),
                "label_name": "" if table.name in ("target", "y") else table.name,
            },
            options={"belief": self.belief, "exact_gains": self.exact_gains},
            prepare=partial(self._prepared, prior=prior),
            class_factors=None if self._has_hybrid(options) else self._prior_factors,
            progress=self.verbose,
        )
        small = len(sample) <= MAX_EMPIRICAL or not compares
        candidates = []
        for option in options:
            if not option.is_generative:
                if len(options) > 1 and not compares:
                    continue
                if prior is not None and option.name != "hybrid":
                    raise ValueError("class_prior needs a generative model or the hybrid; use strategy='auto'")
            candidates.append(option.fit(settings, sample, small))
        self.selection_ = settings.compared
        return candidates

    @staticmethod
    def _has_hybrid(options: list[Option]) -> bool:
        return any(option.name == "hybrid" for option in options)

    def _choose(self, candidates: list[Candidate], seed: int) -> None:
        """Choose among candidates on held-out rows, where all of them can be tested so."""
        rule = None if isinstance(self.stopping, str) else self._limited(self.stopping)  # None: it is to be chosen
        n = min(self.max_questions or MAX_QUESTIONS, len(self.queries_))
        testable = all(candidate.folds is not None for candidate in candidates)
        open_choice = len(candidates) > 1 or rule is None or candidates[0].name == "hybrid"
        self.tuning_: Tuning | None = None
        if not (testable and open_choice):
            self.pursuit_: Pursuit[Any] = replace(candidates[0].pursuit, stopping=rule or self._limited(Confidence()))
            return

        runs = {candidate.name: candidate.run(n, self.verbose) for candidate in candidates}
        self.tuning_ = tune(runs, n, rule, seed)
        chosen = next(candidate for candidate in candidates if candidate.name == self.tuning_.strategy)
        self.pursuit_ = replace(chosen.pursuit, stopping=self.tuning_.rule, calibrator=self.tuning_.calibrator)

    def _with_class_weight(self, table: TrainingTable) -> TrainingTable:
        """The table with the weight of each row multiplied by that of its class."""
        mass = np.bincount(table.labels, weights=table.row_weights).astype(np.float64)
        factors = read_class_weight(self.class_weight, np.unique(table.y), mass)
        if self.class_weight is None:
            return table
        return replace(table, weights=table.row_weights * factors[table.labels])

    def _stated_class_shares(self, table: TrainingTable) -> FloatArray | None:
        """(C,) the shares that weights give the classes, where they depend on the class alone; None elsewhere.

        Such weights were computed from how often each class occurs in all rows. A part of the rows has other shares by
        chance, and is weighted to have these: with the same numbers it would lack what the other rows have too much of.
        """
        if self.class_weight is None and not table.weighted_by_class:
            return None
        mass = np.bincount(table.labels, weights=table.row_weights)
        return np.asarray(mass / mass.sum())

    def _fit_queries(self, table: TrainingTable) -> QuerySet:
        """What may be asked about the rows of a table."""
        builder = query_builders.guess(table.X) if self.queries is None else self.queries
        if not hasattr(builder, "fit"):
            raise ValueError(f"queries={self.queries!r}; expected a query set such as ip.queries.columns()")
        queries: QuerySet = builder.fit(table.X, table.y, table.weights)
        return queries

    # ---- how well it works -------------------------------------------------------------------------------------------

    def _learn_and_measure(
        self, table: TrainingTable, class_prior: Any, seed: int, options: list[Option]
    ) -> list[Measured]:
        """Learn from most rows of a large table, and measure on the others."""
        queries = self._fit_queries(table)
        parts: list[IntArray] = []
        if self._is_assessable(queries, options):
            groups, table = self._groups(table, queries)
            parts = held_out_parts(groups, seed)

        rest = table.without(parts[0]) if parts else table
        if not parts or len(np.unique(rest.y)) < len(np.unique(table.y)):
            self._learn(table, class_prior, seed, options)
            return []

        self._learn(rest, class_prior, seed, options)
        held_out = table.take(parts[0])
        return [self._measure(held_out, groups[parts[0]], self.classes_, self._prior_factors, len(rest))]

    def _assess(self, table: TrainingTable, class_prior: Any, seed: int, options: list[Option]) -> list[Measured]:
        """Fit everything again without each part of the rows in turn, and measure on that part.

        Nothing is returned where the rows are too few for that.
        """
        groups, table = self._groups(table, self.queries_)
        parts = held_out_parts(groups, seed)

        def measure_part(i: int) -> Measured | None:
            part = copy.copy(self)
            part.verbose = False
            rest = table.without(parts[i])
            if class_prior is not None and len(np.unique(rest.y)) < len(self.classes_):
                return None  # there is no row to which the prior of that class could be given
            try:
                part._learn(rest, class_prior, seed, part._options(), self._compares)
            except ValueError as error:  # too few rows of some class
                logger.info("not measured on held-out rows: %s", error)
                return None
            held_out = table.take(parts[i])
            measured = part._measure(held_out, groups[parts[i]], self.classes_, self._prior_factors, len(rest))
            progress.advance()
            return measured

        shown = Progress("measuring on held-out rows", len(parts), show=self.verbose)
        with shown as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # such as: a column is constant in this part
            outcomes = side_by_side(measure_part, len(parts))
        measured = [outcome for outcome in outcomes if outcome is not None]
        return measured if len(measured) == len(parts) else []

    def _measure(
        self, table: TrainingTable, groups: IntArray, classes: Any, factors: FloatArray, n_trained: int
    ) -> Measured:
        """Ask about rows that nothing was learnt from.

        Parameters
        ----------
        table : TrainingTable
            B rows.
        groups : (B,) array of int
        classes : (C,) array
            All classes; some may be missing among those that were learnt.
        factors : (C,) array of float
            By what a class prior multiplies the weight of the rows of each class: the same for all parts.
        n_trained : int
            How many rows it was learnt from.
        """
        labels = np.searchsorted(classes, table.y)
        own_class = np.searchsorted(classes, self.classes_)  # where each class that was learnt is among all
        trace = self.pursuit_.run_values(self.queries_.read(table.X), progress=self.verbose)
        posterior = np.zeros((len(table), len(classes)))
        posterior[:, own_class] = trace.posterior
        return Measured(
            rows=table.rows,
            posterior=posterior,
            labels=labels,
            weights=table.row_weights * factors[labels],
            groups=groups,
            lengths=trace.length,
            n_trained=n_trained,
            costs=None if trace.query_costs is None else trace.cost,
        )

    def _set_assessment(self, measured: list[Measured], n_rows: int) -> None:
        """Put together what was measured on the parts of a table of n_rows rows."""
        self.assessment_ = assessment_of(measured)
        if self.tuning_ is not None:
            self.tuning_ = replace(self.tuning_, assessment=self.assessment_)

        self._assessed_rows = [part.rows for part in measured]
        self.held_out_posterior_ = np.full((n_rows, len(self.classes_)), np.nan)
        for part in measured:
            self.held_out_posterior_[part.rows] = part.posterior

    @staticmethod
    def _groups(table: TrainingTable, queries: QuerySet) -> tuple[IntArray, TrainingTable]:
        """(B,) the groups of rows that are held out together; and the table, which knows what repeats are."""
        if table.groups is not None:
            return table.groups, table
        groups, cases = row_groups(queries.read(table.X), table.labels)
        return groups, replace(table, cases=cases)

    def _is_assessable(self, queries: QuerySet, options: list[Option]) -> bool:
        """Whether everything can be fitted again on parts of the rows: of a table, where something is learnt.

        Not a model that is ready, networks that were trained elsewhere, and VAEs, which take too long.
        """
        of_table = queries.ungrouped.tabular  # columns that are asked in groups are columns
        return bool(of_table and all(option.refittable for option in options))

    def _threads(self) -> Any:
        return thread_limit(None if self.n_jobs in (None, -1) else whole_number(self.n_jobs, "n_jobs", 1))

    def _prepared(self, model: Any, prior: Any) -> Any:
        """A model with the number format, the device and the class prior that were asked for."""
        if self.dtype is not None:
            model = model.to(dtype=self._dtype())
        if self.device is not None and "smc" in model.beliefs:
            model = model.to(self.device)
        return model if prior is None else model.with_class_prior(prior)

    def _suits_hybrid(self, sample: Sample) -> bool:
        """Whether "auto" tries the hybrid strategy: on tables with enough rows, and where nothing was asked for that
        only a generative model does."""
        few = len(self.queries_) <= MAX_QUERIES_HYBRID and int(self.queries_.n_answers.max()) <= MAX_ANSWERS
        plain = self.noise is None and not self.exact_gains
        enough = sample.n_groups >= MIN_ROWS_HYBRID and sample.folds(N_FOLDS).any(axis=1).all()
        return bool(self.queries_.tabular and few and plain and enough and self.belief == "auto")

    def _limited(self, rule: Rule) -> Rule:
        return rule if self.max_questions is None else rule | MaxQueries(self.max_questions)

    def calibrate(
        self,
        X: Any,
        y: Any,
        target: float = 0.97,
        delta: float = 0.05,
        *,
        max_queries: int | None = None,
        coverage: float | Sequence[float] = 0.95,
        by_class: bool = False,
    ) -> InformationPursuitClassifier:
        """Fit temperature scaling and a stopping threshold, on inputs X with labels y that were held out from fit.

        Afterwards, of the inputs that stop by confidence at least ``target`` are right, with probability 1 - ``delta``
        over the draw of X (see `infopursuit.calibration.temperature`), the posterior is calibrated, and `predict_set`
        has conformal
        prediction sets of each ``coverage``, in each class with ``by_class``. ``max_queries``: the budget, that of a
        `MaxQueries` in ``stopping`` or else 50. What was chosen is in ``calibration_``; fit clears it.

        Raises `NotGuaranteed`, a ValueError that names the highest target that can be reached.
        """
        check_is_fitted(self)
        levels = [coverage] if isinstance(coverage, (int, float)) else list(coverage)
        limits = [rule.n for rule in self.pursuit_.stopping.rules if isinstance(rule, MaxQueries)]
        most = min(limits, default=MAX_QUERIES) if max_queries is None else max_queries
        most = min(whole_number(most, "max_queries", 1), len(self.queries_))
        X = self._check_input(X, reset=False)
        y = check_labels(X, y)
        strange = sorted({str(label) for label in y[~np.isin(y, self.classes_)]})
        if strange:
            raise ValueError(f"y has labels that fit did not see, such as {strange[:3]}; leave their rows out")
        check_sample_size(len(y), target, delta, levels)
        settings: dict[str, Any] = {"max_queries": most, "target": target, "delta": delta}
        observed, labels = self.queries_.read(X), np.searchsorted(self.classes_, y)
        runs = run_held_out(self.pursuit_, observed, labels, **settings, progress=self.verbose)
        found = calibrate(runs, **settings, coverage=levels, by_class=by_class, seed=self.pursuit_.seed)
        self.pursuit_ = replace(
            self.pursuit_,
            calibrator=found.calibrator,
            stopping=Confidence(found.epsilon) | MaxQueries(most),
            patience=found.patience,
            novelty=None,  # a reference is that of one stopping rule
        )
        self.calibration_: CalibrationReport = found
        return self

    def explain(self, X: Any, *, class_prior: Any = None, known: Iterable[str | int] = ()) -> Trace:
        """Pursue every input: which questions were asked, what the answers were, what was believed after each.

        known: columns or queries whose answers are known beforehand, see `Pursuit.run`.
        """
        check_is_fitted(self)
        observed = self.queries_.read(self._check_input(X, reset=False))
        with self._threads():
            return self._pursuit_with(class_prior).run_values(observed, known=known, progress=self.verbose)

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """(B, C) the posterior after the last answer."""
        return self.explain(X, class_prior=class_prior).posterior

    def predict(self, X: Any, *, class_prior: Any = None, abstain: Any = None, alpha: float = 0.05) -> Any:
        """(B,) the most probable class after the last answer.

        ``abstain``: what to return instead where the input is out of distribution (`novelty_pvalues` up to ``alpha``)
        or the queries ended before the stopping rule's confidence was reached; where nothing is given, every input gets
        a class, as scikit-learn wants it.
        """
        if abstain is None:
            return self.explain(X, class_prior=class_prior).predictions
        if class_prior is not None:
            raise ValueError("abstain and class_prior do not go together: p-values are those of the fitted prior")
        self._novelty_reference()
        return predict_or_abstain(self.explain(X), self.pursuit_.stopping, abstain, alpha)

    def fit_novelty(self, X: Any = None, *, n: int = N_SAMPLES) -> InformationPursuitClassifier:
        """Fit the reference distribution for novelty p-values: the surprisals of the answers of some inputs.

        X: inputs like those that will come, which the classifier was not fitted on; at most a share alpha of such
        inputs has a p-value up to alpha. Where nothing is given, ``n`` inputs are sampled from the model itself.
        """
        check_is_fitted(self)
        if X is None:
            found = NoveltyReference.from_model(self.pursuit_, n, seed=self.pursuit_.seed, progress=self.verbose)
        else:
            observed = self.queries_.read(self._check_input(X, reset=False))
            found = NoveltyReference.from_values(self.pursuit_, observed, progress=self.verbose)
        self.pursuit_ = replace(self.pursuit_, novelty=found)
        return self

    def novelty_pvalues(self, X: Any) -> FloatArray:
        """(B,) p-values for out-of-distribution detection, of inputs or of a trace of them: how probable answers as
        surprising as these are for an input of the reference distribution. Do not trust the label of a small one.

        `fit_novelty` sets the reference; where it was not called, it is called without inputs.
        """
        reference = self._novelty_reference()
        return reference.pvalues((X if isinstance(X, Trace) else self.explain(X)).surprisal)

    def _novelty_reference(self) -> NoveltyReference:
        check_is_fitted(self)
        if self.pursuit_.novelty is None:
            self.fit_novelty()
        return cast("NoveltyReference", self.pursuit_.novelty)

    def predict_set(self, X: Any, coverage: float | None = None, *, anytime: bool = False) -> Any:
        """(B, C) whether each class is in the conformal prediction set at the stop, in the order of ``classes_``.

        The right class is in it with a probability of ``coverage``, one that was calibrated, the first of them by
        default. It needs `calibrate`, whose inputs nothing else was chosen on. ``anytime``: the set belongs to a
        sequence of sets that cover after every answer at once.
        """
        sets, trace = self._sets(coverage), self.explain(X)
        return sets.contains(trace.posterior, trace.length, anytime=True) if anytime else sets.at_stop(trace.posterior)

    def prediction_sets(self, trace: Trace, coverage: float | None = None, *, anytime: bool = False) -> Any:
        """(B, K + 1, C) whether each class is in the prediction set after each query of a trace of this classifier.

        An input that has stopped keeps what it ended with; see `infopursuit.calibration.conformal` for what each kind
        guarantees.
        """
        steps = np.broadcast_to(np.arange(trace.posteriors.shape[1]), trace.posteriors.shape[:2])
        if anytime:
            steps = np.minimum(steps, trace.length[:, None])
        return self._sets(coverage).contains(trace.posteriors, steps, anytime=anytime)

    def session_set(self, session: Session, coverage: float | None = None) -> list[Any]:
        """The classes in the anytime prediction set of a session of this classifier, the most probable first."""
        sets = self._sets(coverage)
        inside = sets.contains(session.posterior, len(session.history), anytime=True)
        order = np.argsort(-session.posterior, kind="stable")
        return [self.classes_[c] for c in order if inside[c]]

    def session(
        self, history: Iterable[tuple[Any, Any]] = (), *, class_prior: Any = None, known: Any = None
    ) -> Session:
        """One input whose answers come from outside; known: {column: value} known beforehand, see `Pursuit.session`."""
        check_is_fitted(self)
        return self._pursuit_with(class_prior).session(history, known=known)

    def model_card(self) -> str:
        """A model card in Markdown: what it is, what it was trained on, what it asks, how it was evaluated."""
        from infopursuit.estimator.card import write_model_card

        check_is_fitted(self)
        return write_model_card(self)

    def save(self, path: Any) -> None:
        """Write the fitted classifier to a folder; `infopursuit.load` reads it."""
        if not hasattr(self, "pursuit_"):
            raise ValueError("the classifier is not fitted yet; call fit before save")
        write_folder(path, self.pursuit_, self)

    def _repr_html_(self) -> str:
        if not hasattr(self, "pursuit_"):
            return str(super()._repr_html_())
        return draw_card(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # without HTML where scikit-learn is set to text
        return {kind: self._repr_html_() if kind == "text/html" else text for kind, text in bundle.items()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for name in ("allow_nan", "sparse", "string", "categorical", "three_d_array"):
            setattr(tags.input_tags, name, True)
        return tags

    # ---- checks -----------------------------------------------------------------------------------------------------

    def _check_input(self, X: Any, *, reset: bool) -> Any:
        """X as the query set takes it; tables of numbers are checked as scikit-learn does."""
        if reset:  # texts and images set neither, and what an earlier fit has set is no longer true
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        if not hasattr(X, "__len__") and hasattr(X, "__array__"):
            X = np.asarray(X)
        if not hasattr(X, "shape") and (not hasattr(X, "__len__") or isinstance(X, (str, bytes, Mapping))):
            raise ValueError(f"X is {X!r:.80}; give a batch of inputs: a table, a list of texts, or a stack of images")
        if is_frame(X):
            read_table(X)  # scikit-learn's own complaint about names that occur twice says less
            validate_data(self, X, skip_check_array=True, reset=reset) if reset or hasattr(X, "iloc") else None
            if not len(X):
                raise ValueError("X has no rows (0 sample(s)); give at least one")
            return X
        if hasattr(X, "tocsr"):
            return validate_data(self, X, accept_sparse="csr", dtype=None, reset=reset)
        kind = getattr(self.queries if reset else self.queries_, "kind", None)
        if kind not in ("functions", "patches", "words") and _is_table(X):
            return validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)
        if not len(X):
            raise ValueError("X is empty (0 sample(s)); give at least one input")
        return X

    def _options(self) -> list[Option]:
        """What may be learnt; settings are checked before anything is."""
        self._check_settings()
        options = read_strategy(self.strategy, self.device, self.verbose)
        for option in options:
            if option.is_generative:
                self._check_belief(option)
        return options

    def _check_settings(self) -> None:
        """Refuse settings that are no such settings, before anything is learnt."""
        if not (isinstance(self.stopping, str) and self.stopping == "auto"):
            example = "'auto', or a rule such as ip.Confidence(0.01) | ip.MaxQueries(20)"
            instance(self.stopping, "stopping", Rule, example, error=ValueError)
        for name, kind, example in (
            ("noise", AnswerNoise, "ip.AnswerNoise(0.9), or None"),
            ("costs", Costs, "ip.Costs({query: cost}), or None"),
            ("constraints", Constraints, "ip.Constraints(prerequisites=..., forbidden=...), or None"),
            ("exact_gains", bool, "True, False, or None to decide by what is affordable"),
        ):
            instance(getattr(self, name), name, (kind, type(None)), example, error=ValueError)

        whole_number(self.patience, "patience")
        self._dtype()
        for name, least in (("max_questions", 1), ("max_rows", 100)):
            if getattr(self, name) is not None:
                whole_number(getattr(self, name), name, least)

    def _check_belief(self, option: Option) -> None:
        """Refuse a belief that does not suit the model before a long training; `build_belief` looks again."""
        belief: Any = self.belief
        kind = None
        if isinstance(belief, str):
            kind = belief
        elif not isinstance(belief, type):
            kind = getattr(belief, "kind", None)
        if kind not in ("auto", *BELIEFS):
            names = ", ".join(map(repr, BELIEFS))
            raise ValueError(
                f"belief={belief!r}; expected 'auto', {names}, or settings such as ip.strategies.SMC(n_draws=9)"
            )

        for suitable in option.beliefs:
            if kind != "auto" and suitable and kind not in suitable:
                use = " or ".join(map(repr, ("auto", *suitable)))
                raise ValueError(f"belief={belief!r} does not suit strategy={self.strategy!r:.60}; use {use}")

    def _seed(self) -> int:
        """The seed; a generator is drawn from, so that this is called once in each fit."""
        given = self.random_state
        if given is None or (isinstance(given, (int, np.integer)) and given >= 0):
            return int(given or 0)
        if isinstance(given, np.random.RandomState):
            return int(given.randint(2**31 - 1))
        if isinstance(given, np.random.Generator):
            return int(given.integers(2**31 - 1))
        raise ValueError(f"random_state={given!r}; expected None, a whole number from 0 on, or a numpy generator")

    def _dtype(self) -> str | None:
        if self.dtype is None:
            return None
        name = str(getattr(self.dtype, "__name__", self.dtype)).removeprefix("torch.")
        if name not in DTYPES:
            raise ValueError(f"dtype={self.dtype!r}; expected 'float32' or 'float64'")
        return name

    def _pursuit_with(self, class_prior: Any) -> Pursuit[Any]:
        if class_prior is None:
            return self.pursuit_
        if self.model_ is None:
            raise ValueError("class_prior needs a generative model; use strategy='table' or 'empirical'")
        before: Any = self.pursuit_
        model = self.model_.with_class_prior(read_prior(class_prior, self.classes_))
        settings = before.belief.settings or "auto"
        other = generative_pursuit(model, self.queries_, settings, seed=before.seed, noise=before.noise)
        return replace(before, belief=other.belief, novelty=None, bindings=type(before.bindings)())

    def _sets(self, coverage: float | None) -> PredictionSets:
        """The prediction sets of `calibrate`."""
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise ValueError("prediction sets need calibrate(X, y) first, with inputs that were held out from fit")
        return self.calibration_.prediction_sets(coverage)


def _is_table(X: Any) -> bool:
    """Whether scikit-learn may look at it: neither texts nor images. Lists of long texts are not made into an array."""
    entries = X[:50].to_pylist() if hasattr(X, "to_pylist") else list(X[:50])
    if any(isinstance(entry, str) for entry in entries):
        return False
    return int(X.ndim if hasattr(X, "ndim") else np.ndim(X) if isinstance(X, (list, tuple)) else 1) <= 2
