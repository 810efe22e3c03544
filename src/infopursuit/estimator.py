"""`InformationPursuitClassifier`: the whole of it behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from infopursuit import queries as query_builders
from infopursuit.answer_profile import AnswerProfile, effective_rows
from infopursuit.answerers.reliability import Reliability
from infopursuit.engine import Pursuit, check_count
from infopursuit.information.work import Work, check_seconds
from infopursuit.models import VAE, FiniteModel, Learner, Sample, empirical, latent_classes, naive_bayes, vae
from infopursuit.models.finite import check_prior
from infopursuit.models.learning import Empirical, LatentClasses, NaiveBayes
from infopursuit.models.storing import DTYPES
from infopursuit.models.vae_learner import VAELearner
from infopursuit.posteriors import SMC, Bank, Langevin
from infopursuit.queries import QuerySet
from infopursuit.queries.missing import is_missing
from infopursuit.queries.tables import read_table
from infopursuit.selection import select_model
from infopursuit.session import Session
from infopursuit.stopping import Confidence, MaxQueries, Rule
from infopursuit.terms import Terms
from infopursuit.trace import Trace
from infopursuit.trust import reference as references
from infopursuit.trust.abstaining import label_or
from infopursuit.trust.calibrate import Calibration, calibrate, check_size, run_strictly
from infopursuit.types import FloatArray
from infopursuit.versions import made_with

if TYPE_CHECKING:
    from infopursuit.monitoring.drift import DriftReport

MOST_CLASSES = 5_000
FINITE = (FiniteModel, NaiveBayes, LatentClasses, Empirical)
"""Models with an exact posterior, and the learners that make them."""
BUDGET = 50
"""Questions at the most after calibration, where neither it nor the stopping rule says how many."""


class InformationPursuitClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that explains itself by asking.

    Parameters
    ----------
    queries: what may be asked: a query set, or a builder that is fitted on the training data, such as
    ``ip.queries.words()``.
        None makes patches for image stacks, words for strings, and columns for anything else.
    model: "auto" chooses among the finite models on held-out data; "table" among naive Bayes and mixtures;
    "empirical" takes the
        training examples themselves; "vae" trains the paper's autoencoder, which "auto" never does, for it takes long;
        or a learner such as ``ip.models.naive_bayes()`` or ``ip.models.vae(latent_dim=5)``, or a model that is ready.
    posterior: "auto" is "exact" for finite models, which may have "bank" instead where atoms are yes/no (not exact, but
        many times faster with tens of thousands of examples), and "smc" for a VAE, which may have "langevin" instead;
        or settings such as ``ip.posteriors.SMC(n_draws=4000)``.
    stopping: when to stop asking; ``ip.Confidence(0.01)`` where nothing is given.
    patience: a stopping rule must hold this many more times in a row.
    checks: questions that are asked after the stop, where the model is surest of the answer: whether the input is like
        those of training. See `unlike`.
    random_state: seed of the few things that are drawn; None is 0, so that fitting twice gives the same classifier.
    device: where to compute, such as "cuda"; the processor where nothing is given.
    dtype: "float32" or "float64" for the model's tables or networks; chosen by their size where nothing is given.
    exact_gains: True computes every gain exactly however long it takes; None while that is affordable.
    verbose: show progress even where no terminal is.
    reliability: how often those are right who will answer, such as ``ip.Reliability(0.9)``; None takes every answer as
        it is. What is learnt from X is taken as it is in any case.
    terms: what queries cost, what must be known before they are asked, and which are never asked; see ``ip.Terms``.
    seconds: how long choosing a query may take; work is reduced until it fits, see `Pursuit`.

    Attributes
    ---------- classes_, queries_, model_, pursuit_, selection_ (the models compared, best first), profile_ (what the
    answers looked like in training), n_features_in_, feature_names_in_; after calibrate also calibration_.

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
        model: Any = "auto",
        posterior: Any = "auto",
        stopping: Rule | None = None,
        patience: int = 0,
        random_state: Any = None,
        device: Any = None,
        dtype: str | None = None,
        exact_gains: bool | None = None,
        verbose: bool | None = None,
        reliability: Reliability | None = None,
        terms: Terms | None = None,
        seconds: float | None = None,
        checks: int = 0,
    ) -> None:
        self.queries = queries
        self.model = model
        self.posterior = posterior
        self.stopping = stopping
        self.patience = patience
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.exact_gains = exact_gains
        self.verbose = verbose
        self.reliability = reliability
        self.terms = terms
        self.seconds = seconds
        self.checks = checks

    def fit(self, X: Any, y: Any, sample_weight: Any = None, class_prior: Any = None) -> InformationPursuitClassifier:
        """Learn from inputs X with labels y.

        ``sample_weight`` (N,): a row of weight 2 counts like two rows. ``class_prior``: how frequent each class is
        where the classifier will be used, as an array in the order of the sorted labels or as {label: probability};
        from the data where not given.
        """
        device, seed = self._torch_device(), self._seed()
        learners = self._learners(device)
        self._check_posterior(learners)
        X = self._check_input(X, reset=True)
        y = self._check_labels(X, y)
        weights = (
            None if sample_weight is None else _check_sample_weight(sample_weight, _Rows(X), ensure_non_negative=True)
        )
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_[0]!r}; a classifier needs at least two classes")
        if len(self.classes_) > MOST_CLASSES:
            raise ValueError(
                f"y has {len(self.classes_)} classes, more than {MOST_CLASSES}; is it an identifier or a number? "
                f"Group it into classes first"
            )
        self.queries_: QuerySet = self._builder(X).fit(X, y, weights)
        if self.terms is not None:
            self.terms.bind(self.queries_)  # what it names is looked for before anything is learnt
        sample = Sample.of(self.queries_.atoms, self.queries_.observe(X), labels, weights, len(self.classes_))
        self.profile_ = AnswerProfile.of(sample, effective_rows(weights, len(labels)))
        self.selection_: list[Any] = []
        if isinstance(learners, (FiniteModel, VAE)):
            model = learners
            if model.n_classes != len(self.classes_):
                raise ValueError(
                    f"model has {model.n_classes} classes, but y has {len(self.classes_)}; they must be the same"
                )
        else:
            model, self.selection_ = select_model(learners, sample, self.queries_, seed=seed, progress=self.verbose)
        if device is not None or self.dtype is not None:
            model = model.to(device, self._torch_dtype())
        if class_prior is not None:
            model = model.with_class_prior(self._prior(class_prior))
        self.model_ = model
        threads = torch.get_num_threads() if isinstance(model, VAE) else None
        self.made_with_ = made_with(seed, len(labels), threads)
        self.pursuit_ = self._pursuit(model, seed, self.posterior)
        self.__dict__.pop("calibration_", None)  # that of an earlier fit is not about this one
        return self

    def calibrate(
        self,
        X: Any,
        y: Any,
        target: float = 0.97,
        delta: float = 0.05,
        *,
        budget: int | None = None,
        coverage: float | Sequence[float] = 0.95,
        by_class: bool = False,
    ) -> InformationPursuitClassifier:
        """Choose how sure to be and when to stop, on inputs X with labels y that were held out from fit.

        Afterwards, of the inputs that stop by confidence at least ``target`` are right, with probability 1 - ``delta``
        over the draw of X (see `infopursuit.trust.guarantee`), the posterior is as often right as it says, and
        `predict_set` has sets of each ``coverage``, in each class with ``by_class``. ``budget``: questions at the most,
        those of a `MaxQueries` in ``stopping`` or else 50. What was chosen is in ``calibration_``; fit clears it.

        Raises `NotGuaranteed`, a ValueError that names the highest target that can be reached.
        """
        check_is_fitted(self)
        levels = [coverage] if isinstance(coverage, (int, float)) else list(coverage)
        limits = [rule.n for rule in self.pursuit_.stopping.rules if isinstance(rule, MaxQueries)]
        most: Any = min(limits, default=BUDGET) if budget is None else budget
        if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
            raise ValueError(f"budget={budget!r}; expected a whole number of questions, 1 or more")
        most = min(int(most), len(self.queries_))
        X = self._check_input(X, reset=False)
        y = self._check_labels(X, y)
        strange = sorted({str(label) for label in y[~np.isin(y, self.classes_)]})
        if strange:
            raise ValueError(f"y has labels that fit did not see, such as {strange[:3]}; leave their rows out")
        check_size(len(y), target, delta, levels)
        settings: dict[str, Any] = {"budget": most, "target": target, "delta": delta}
        settings |= {"patience": self.pursuit_.patience, "seed": self.pursuit_.seed}
        pursued = run_strictly(
            self.pursuit_,
            self.queries_.observe(X),
            np.searchsorted(self.classes_, y),
            **settings,
            progress=self.verbose,
        )
        found = calibrate(pursued, **settings, coverage=levels, by_class=by_class)
        rule = Confidence(found.epsilon) | MaxQueries(most)
        self.pursuit_ = self.pursuit_.with_temper(found.temper).with_stopping(rule, found.patience)
        self.calibration_: Calibration = found
        return self

    def explain(self, X: Any, *, class_prior: Any = None) -> Trace:
        """Pursue every input: which questions were asked, what the answers were, what was believed after each."""
        check_is_fitted(self)
        values = self.queries_.observe(self._check_input(X, reset=False))
        return self._pursuit_with(class_prior).run_values(values, progress=self.verbose)

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> FloatArray:
        """(B, C) the posterior after the last answer."""
        return self.explain(X, class_prior=class_prior).posterior

    def predict(self, X: Any, *, class_prior: Any = None, abstain: Any = None, alpha: float = 0.05) -> Any:
        """(B,) the most probable class after the last answer.

        ``abstain``: what to say instead where the input is unlike those of training (`unlike` below ``alpha``) or the
        questions ended before the stopping rule's confidence was reached; where nothing is given, every input gets a
        class, as scikit-learn wants it.
        """
        if abstain is None:
            return self.explain(X, class_prior=class_prior).predictions
        if class_prior is not None:
            raise ValueError("abstain and class_prior do not go together: p-values are those of the fitted prior")
        self._know_something()
        return label_or(self.explain(X), self.pursuit_.stopping, abstain, alpha)

    def know(self, X: Any = None, *, n: int = references.N_DRAWS) -> InformationPursuitClassifier:
        """Learn what is usual, so that `unlike` can say what is not: how unexpected the answers of some inputs are.

        X: inputs like those that will come, which the classifier was not fitted on. Of such a share alpha at the most
        is then called unlike them at level alpha. Where nothing is given, ``n`` inputs are drawn from the model itself.
        """
        check_is_fitted(self)
        if X is None:
            found = references.from_model(self.pursuit_, n, seed=self.pursuit_.seed, progress=self.verbose)
        else:
            values = self.queries_.observe(self._check_input(X, reset=False))
            found = references.from_values(self.pursuit_, values, progress=self.verbose)
        self.pursuit_ = self.pursuit_.with_reference(found)
        return self

    def unlike(self, X: Any) -> FloatArray:
        """(B,) p-values of inputs, or of a trace of them: how probable it is that the answers of an input like those of
        training are as unexpected as these. Small ones say that the label should not be trusted.

        Like what, `know` says; where it was not called, it is called without inputs. ``checks`` after the stop make the
        answer much surer.
        """
        check_is_fitted(self)
        reference = self._know_something()
        return reference.p_values((X if isinstance(X, Trace) else self.explain(X)).surprise)

    def _know_something(self) -> references.Reference:
        check_is_fitted(self)
        if self.pursuit_.reference is None:
            self.know()
        reference = self.pursuit_.reference
        assert isinstance(reference, references.Reference)
        return reference

    def predict_set(self, X: Any, coverage: float | None = None, *, anytime: bool = False) -> Any:
        """(B, C) whether each class is in the prediction set at the stop, in the order of ``classes_``.

        The right class is in it with a probability of ``coverage``, one that was calibrated, the first of them where
        nothing is given. ``anytime``: the set belongs to a row of sets that cover after every answer at once.
        """
        rule = self._calibrated().rule(coverage)
        trace = self.explain(X)
        return rule.sets(trace.posterior, trace.length, anytime=True) if anytime else rule.at_the_stop(trace.posterior)

    def sets(self, trace: Trace, coverage: float | None = None, *, anytime: bool = False) -> Any:
        """(B, K + 1, C) whether each class is in the prediction set after each question of a trace of this classifier.

        An input that has stopped keeps what it ended with; see `infopursuit.trust.sets` for what each kind guarantees.
        """
        rule = self._calibrated().rule(coverage)
        steps = np.broadcast_to(np.arange(trace.posteriors.shape[1]), trace.posteriors.shape[:2])
        if anytime:
            steps = np.minimum(steps, trace.length[:, None])
        return rule.sets(trace.posteriors, steps, anytime=anytime)

    def likely_classes(self, session: Session, coverage: float | None = None) -> list[Any]:
        """The classes in the anytime prediction set of a session of this classifier, the most probable first."""
        inside = self._calibrated().rule(coverage).sets(session.posterior, len(session.history), anytime=True)
        order = np.argsort(-session.posterior, kind="stable")
        return [self.classes_[c] for c in order if inside[c]]

    def session(self, history: Iterable[tuple[Any, Any]] = (), *, class_prior: Any = None) -> Session:
        """One input whose answers come from outside."""
        check_is_fitted(self)
        return self._pursuit_with(class_prior).session(history)

    def drift(self, X: Any, *, reference: Any = None, level: float = 0.01) -> DriftReport:
        """Compare the answers of new inputs, and the predictions from them, with training; see `infopursuit.drift`.

        reference: held-out inputs like those of training, or their trace.
        """
        from infopursuit.monitoring.drift import drift

        check_is_fitted(self)
        return drift(self, X, reference=reference, level=level)

    def model_card(self) -> str:
        """A model card in Markdown: what the model is, its training data, its queries, its limits."""
        from infopursuit.model_card import write_model_card

        check_is_fitted(self)
        return write_model_card(self)

    def save(self, path: Any) -> None:
        """Write the fitted classifier to a folder; `infopursuit.load` reads it."""
        from infopursuit.storage import save

        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.three_d_array = True
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
        if _is_frame(X):
            read_table(X)  # scikit-learn's own complaint about names that occur twice says less
            validate_data(self, X, skip_check_array=True, reset=reset) if hasattr(X, "iloc") else None
            if not len(X):
                raise ValueError("X has no rows (0 sample(s)); give at least one")
            return X
        if hasattr(X, "tocsr"):
            return validate_data(self, X, accept_sparse="csr", dtype=None, reset=reset)
        if self._own_kind(reset) or _is_text(X) or _n_dimensions(X) > 2:
            if not len(X):
                raise ValueError("X is empty (0 sample(s)); give at least one input")
            return X
        return validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)

    def _own_kind(self, reset: bool) -> str | None:
        """The kind of the query set where it takes inputs that are no tables: images, texts, anything."""
        kind = getattr(self.queries if reset else self.queries_, "kind", None)
        return kind if kind in ("functions", "patches", "words") else None

    def _check_labels(self, X: Any, y: Any) -> Any:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if len(y) != n:
            raise ValueError(
                f"X has {n} rows and y has {len(y)} labels (inconsistent numbers of samples); "
                f"give one label for each row"
            )
        missing = [i for i, label in enumerate(y) if is_missing(label)]
        if missing:
            raise ValueError(f"y[{missing[0]}] is NaN or None: every row needs a label; leave rows without one out")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("y holds an infinite value; labels must be finite numbers or strings")
        # many different words are no numbers: a table of facts has one row for each class
        if not all(isinstance(label, str) for label in y):
            check_classification_targets(y)
        return y

    def _learners(self, device: torch.device | None) -> Sequence[Learner] | FiniteModel | VAE:
        """What the model comes from; settings are checked before anything is learnt."""
        if self.stopping is not None and not isinstance(self.stopping, Rule):
            raise ValueError(
                f"stopping={self.stopping!r}; expected a rule such as ip.Confidence(0.01) | ip.MaxQueries(20)"
            )
        if self.reliability is not None and not isinstance(self.reliability, Reliability):
            raise ValueError(f"reliability={self.reliability!r:.80}; expected ip.Reliability(0.9), or None")
        if self.exact_gains not in (None, True, False):
            raise ValueError(
                f"exact_gains={self.exact_gains!r}; expected True, False, or None to decide by what is affordable"
            )
        if self.terms is not None and not isinstance(self.terms, Terms):
            raise ValueError(f"terms={self.terms!r}; expected ip.Terms(cost=..., requires=..., forbidden=...)")
        check_seconds(self.seconds, self.exact_gains)
        patience: Any = self.patience
        if not isinstance(patience, (int, np.integer)) or patience < 0:
            raise ValueError(f"patience={self.patience!r}; expected a whole number, 0 or more")
        check_count(self.checks)
        self._torch_dtype()
        named: dict[str, Sequence[Learner]] = {
            "auto": (naive_bayes(), latent_classes(), empirical()),
            "table": (naive_bayes(), latent_classes()),
            "empirical": (empirical(),),
            "vae": (vae(device=device, progress=self.verbose),),
        }
        if isinstance(self.model, str):
            if self.model not in named:
                raise ValueError(f"model={self.model!r}; expected one of {sorted(named)}, a learner or a model")
            return named[self.model]
        if isinstance(self.model, (FiniteModel, VAE)):
            return self.model
        if isinstance(self.model, VAELearner):
            learner = self.model
            return (
                replace(
                    learner,
                    device=device if learner.device is None else learner.device,
                    progress=self.verbose if learner.progress is None else learner.progress,
                ),
            )
        if hasattr(self.model, "fit") and hasattr(self.model, "candidates"):
            return (self.model,)
        raise ValueError(f"model={self.model!r}; expected 'auto', 'table', 'empirical', 'vae', a learner or a model")

    def _check_posterior(self, learners: Sequence[Learner] | FiniteModel | VAE) -> None:
        """Refuse a posterior that does not suit the model before a long training; `Pursuit` looks again."""
        posterior: Any = self.posterior
        named = isinstance(posterior, str) and posterior in ("auto", "exact", "bank", "smc", "langevin")
        if not named and not isinstance(posterior, (Bank, SMC, Langevin)):
            raise ValueError(
                f"posterior={posterior!r}; expected 'auto', 'exact', 'bank', 'smc', 'langevin', or settings such as "
                f"ip.posteriors.SMC(n_draws=4000)"
            )
        kinds = learners if isinstance(learners, Sequence) else (learners,)
        finite = _finite_name(posterior)
        if finite is not None and any(isinstance(kind, (VAE, VAELearner)) for kind in kinds):
            raise ValueError(
                f"posterior={finite!r} does not suit a VAE, whose latent is continuous; use 'auto', 'smc' or "
                f"'langevin', or a finite model such as model='auto'"
            )
        if finite is None and posterior != "auto" and all(isinstance(kind, FINITE) for kind in kinds):
            raise ValueError(
                f"posterior={posterior!r} does not suit finite models; use 'auto', 'exact' or 'bank', or model='vae'"
            )

    def _builder(self, X: Any) -> Any:
        if self.queries is None:
            return query_builders.guess(X)
        if not hasattr(self.queries, "fit"):
            raise ValueError(f"queries={self.queries!r}; expected a query set such as ip.queries.columns()")
        return self.queries

    def _seed(self) -> int:
        """The seed; a generator is drawn from, so that this is called once in each fit."""
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, (int, np.integer)) and self.random_state >= 0:
            return int(self.random_state)
        if isinstance(self.random_state, np.random.RandomState):
            return int(self.random_state.randint(2**31 - 1))
        if isinstance(self.random_state, np.random.Generator):
            return int(self.random_state.integers(2**31 - 1))
        raise ValueError(
            f"random_state={self.random_state!r}; expected None, a whole number from 0 on, or a numpy generator"
        )

    def _torch_device(self) -> torch.device | None:
        if self.device is None:
            return None
        try:
            return torch.empty(0, device=self.device).device
        except (RuntimeError, AssertionError, TypeError) as error:
            raise ValueError(f"device={self.device!r} cannot be used; 'cpu' always can ({error})") from None

    def _torch_dtype(self) -> torch.dtype | None:
        if self.dtype is None:
            return None
        if str(self.dtype).removeprefix("torch.") not in DTYPES:
            raise ValueError(f"dtype={self.dtype!r}; expected 'float32' or 'float64'")
        return DTYPES[str(self.dtype).removeprefix("torch.")]

    def _prior(self, class_prior: Any) -> FloatArray:
        if isinstance(class_prior, Mapping):
            labels = self.classes_.tolist()
            strange = [label for label in class_prior if label not in labels]
            absent = [label for label in labels if label not in class_prior]
            if strange or absent:
                raise ValueError(
                    f"class_prior names {strange[:3]} that are no classes and leaves out {absent[:3]}; "
                    f"give one entry for each class"
                )
            class_prior = [class_prior[label] for label in labels]
        return check_prior(class_prior, len(self.classes_), "class_prior")

    def _pursuit(self, model: FiniteModel | VAE, seed: int, posterior: Any, work: Work | None = None) -> Pursuit:
        """``work``: what a limit of time has left of it already."""
        limits = {"seconds": self.seconds, "exact_gains": self.exact_gains} if work is None else asdict(work)
        return Pursuit(
            model,
            self.queries_,
            posterior,
            stopping=self.stopping,
            patience=self.patience,
            seed=seed,
            classes=self.classes_,
            reliability=self.reliability,
            checks=self.checks,
            terms=self.terms,
            **limits,
        )

    def _pursuit_with(self, class_prior: Any) -> Pursuit:
        if class_prior is None:
            return self.pursuit_
        model = self.model_.with_class_prior(self._prior(class_prior))
        before = self.pursuit_
        work = None if before.seconds is None else before.work
        pursuit = self._pursuit(model, before.seed, before.posterior_settings, work)
        return pursuit.with_temper(before.temper).with_stopping(before.stopping, before.patience)

    def _calibrated(self) -> Calibration:
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise ValueError("prediction sets need calibrate(X, y) first, with inputs that were held out from fit")
        return self.calibration_


def _finite_name(posterior: Any) -> str | None:
    """The name of a posterior that finite models have, None for any other."""
    name = posterior.kind if isinstance(posterior, Bank) else posterior
    return name if isinstance(name, str) and name in ("exact", Bank.kind) else None


class _Rows:
    """Something with as many rows as X, for checks that only count them."""

    def __init__(self, X: Any) -> None:
        self.shape = (X.shape[0] if hasattr(X, "shape") else len(X),)
        self.dtype = np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]


def _is_frame(X: Any) -> bool:
    """pandas, polars and Arrow tables."""
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "schema"))


def _n_dimensions(X: Any) -> int:
    if hasattr(X, "ndim"):
        return int(X.ndim)
    return np.ndim(X) if isinstance(X, (list, tuple)) else 1


def _is_text(X: Any) -> bool:
    """One-dimensional strings; lists of long texts are not made into an array, which would be huge."""
    if hasattr(X, "ndim"):
        return X.ndim == 1 and any(isinstance(item, str) for item in X[:50])
    entries = X[:50].to_pylist() if hasattr(X, "to_pylist") else list(X)[:50]
    return any(isinstance(item, str) for item in entries)
