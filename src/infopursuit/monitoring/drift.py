"""`drift`: do new answers still look like those of training, and what is predicted from them?

Every atom's values and gaps are tested against training, the predicted classes against the prior, and, where a
reference is given, the pursuit itself. All p-values are corrected together, so that one level holds for the verdict:
where nothing has changed, it says "no drift" with a probability of at least 1 - level.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from infopursuit.answer_profile import AnswerProfile
from infopursuit.monitoring.homogeneity import BOUND, adjusted, chernoff
from infopursuit.monitoring.report import ANSWERS, CLASS, MISSING, Change, DriftReport
from infopursuit.monitoring.trace_drift import check_alike, compare_traces
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.queries.atom_words import AtomWords
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, FloatArray, IntArray

MOST_PURSUED = 1_000
"""Inputs that are pursued, evenly spread over all, where no other number is given."""
BIAS = 0.05
"""How far a model's mean posterior may be from the prior without any drift, since models are not perfect; at most half
of the prior."""
CHANCE = 3.0
"""Standard errors of a training share that are allowed for."""


def drift(
    model: Any,
    X: Any,
    *,
    reference: Any = None,
    level: float = 0.01,
    least: float = 0.01,
    most_pursued: int = MOST_PURSUED,
) -> DriftReport:
    """Compare the answers of new inputs, and what is predicted from them, with training.

    Parameters
    ----------
    model: a fitted classifier; a `Pursuit`, with a reference; or an `AnswerProfile`, with atom values as X.
    X: new inputs, or the trace of a pursuit of them; a trace is compared with a reference trace.
    reference: inputs like those of training that were not learnt from, or their trace. With it, predictions are
        compared with those for the reference, not with the prior, and the pursuit is compared too: answers to the
        first question, reasons to stop, lengths. A model without a profile takes its answers for those of training.
    level: the corrected p-value below which a change counts; also how often, at most, a check of inputs that have not
        changed at all says "drift".
    least: changes with a smaller total variation distance do not count, however certain they are.
    most_pursued: inputs that are pursued at most; 0 leaves out what is predicted.

    >>> import infopursuit as ip
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(2, size=(300, 3))
    >>> clf = ip.InformationPursuitClassifier(ip.queries.concepts(["wet", "cold", "dark"]), "table").fit(X, X[:, 0])
    >>> new = np.column_stack([X[:100, :2], np.ones(100)])
    >>> clf.drift(new).verdict
    'Drift: 1 of 3 questions is answered otherwise (dark).'
    """
    _check_settings(level, least, most_pursued)
    if isinstance(X, Trace):
        if not isinstance(reference, Trace):
            raise ValueError("X is a trace, but reference is none; give the trace of inputs like those of training")
        return _report(compare_traces(X, reference), len(X), len(reference), len(X), level, least, "the reference")
    if isinstance(model, AnswerProfile):
        if reference is not None:
            raise ValueError("reference needs a model that can be run; a profile alone cannot")
        values, words = _some(model.atoms.check(X, "X"), "X"), AtomWords(model.atoms, None)
        return _report(compare_answers(model, values, words), len(values), model.n_rows, 0, level, least, "training")
    pursuit, profile = _parts(model)
    values = _some(pursuit.queries.observe(X), "X")
    against, other = "training", None
    if reference is not None:
        other, profile, against = _reference(pursuit, profile, reference, most_pursued)
    if profile is None:
        raise ValueError(
            "the model has no profile of its training answers (it is a pursuit, or was saved by a version that kept "
            "none); give reference=, inputs like those of training, or fit it again"
        )
    words = AtomWords(pursuit.queries.atoms, pursuit.queries)
    changes = compare_answers(profile, values, words, _given_prior(profile, pursuit))
    if not most_pursued:
        return _report(changes, len(values), profile.n_rows, 0, level, least, against, words.nouns)
    trace = pursuit.run_values(_spread(values, most_pursued))
    changes += compare_traces(trace, other) if other is not None else compare_classes(trace, profile, pursuit)
    report = _report(changes, len(values), profile.n_rows, len(trace), level, least, against, words.nouns)
    return replace(report, unexplained=_unexplained(report, profile, values, words, trace))


def compare_answers(
    profile: AnswerProfile, values: IntArray, words: AtomWords, class_prior: FloatArray | None = None
) -> list[Change]:
    """The values of every atom among those known, then the gaps of every atom, against the profile.

    An atom that is asked about by yes/no questions, such as a number at its thresholds, is tested at each of these, and
    the smallest p-value counts, times their number; one that is asked whole is tested whole.
    """
    atoms = profile.atoms
    old, old_missing, n_old = profile.counts(class_prior)
    known = values != UNKNOWN
    new = np.bincount((values + atoms.offsets[:-1])[known], minlength=atoms.n_slots).astype(np.float64)
    new_missing, n_new = (~known).sum(axis=0).astype(np.float64), float(len(values))
    answers, gaps = [], []
    for atom in range(len(atoms)):
        slots = slice(atoms.offsets[atom], atoms.offsets[atom + 1])
        name, (example, before, now) = words.name(atom), words.example(atom, old[slots], new[slots])
        splits = words.splits(atom)
        answers.append(Change.of(ANSWERS, name, example, (before, now), old[slots], new[slots], splits))
        gap = np.array([old_missing[atom], n_old - old_missing[atom]])
        gap_now = np.array([new_missing[atom], n_new - new_missing[atom]])
        shares = (gap[0] / n_old, gap_now[0] / n_new)
        gaps.append(Change.of(MISSING, name, f"{name}: not known", shares, gap, gap_now))
    return answers + gaps


def compare_classes(trace: Trace, profile: AnswerProfile, pursuit: Pursuit) -> list[Change]:
    """The mean posterior of every class against the model's prior.

    A model that is right has a mean posterior equal to its prior; one that is not quite is allowed `BIAS`, and the
    prior its error of estimation. The p-value is a bound that holds for posteriors of any shape.
    """
    prior, mean = np.asarray(pursuit.model.class_prior), trace.posterior.mean(axis=0)
    slack = np.minimum(BIAS, prior / 2) + CHANCE * np.sqrt(prior * (1 - prior) / profile.n_rows)
    changes = []
    for c, label in enumerate(trace.classes):
        old, new = float(prior[c]), float(mean[c])
        p = chernoff(new, max(0.0, old - slack[c]), min(1.0, old + slack[c]), len(trace))
        before, now = profile.n_rows * np.array([old, 1 - old]), len(trace) * np.array([new, 1 - new])
        change = Change.of(CLASS, str(label), str(label), (old, new), before, now)
        changes.append(replace(change, p=p, corrected_p=p, test=BOUND))
    return changes


# ---- parts ----------------------------------------------------------------------------------------------------------


def _check_settings(level: float, least: float, most_pursued: int) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level={level!r}; expected a number between 0 and 1, such as 0.01")
    if not 0 <= least < 1:
        raise ValueError(f"least={least!r}; expected a distance from 0 up to 1, such as 0.01")
    if int(most_pursued) != most_pursued or most_pursued < 0:
        raise ValueError(f"most_pursued={most_pursued!r}; expected a whole number, 0 or more")


def _parts(model: Any) -> tuple[Pursuit, AnswerProfile | None]:
    if isinstance(model, Pursuit):
        return model, None
    if isinstance(model, InformationPursuitClassifier) and hasattr(model, "pursuit_"):
        return model.pursuit_, getattr(model, "profile_", None)
    raise TypeError(f"model is {type(model).__name__}; expected a fitted classifier, a Pursuit or an AnswerProfile")


def _reference(
    pursuit: Pursuit, profile: AnswerProfile | None, reference: Any, most_pursued: int
) -> tuple[Trace | None, AnswerProfile | None, str]:
    """The reference's trace, the profile to compare answers with, and whose it is."""
    if isinstance(reference, Trace):
        check_alike(pursuit.queries, pursuit.classes, reference)
        return reference, profile, "training"
    values = _some(pursuit.queries.observe(reference), "reference")
    trace = pursuit.run_values(_spread(values, most_pursued)) if most_pursued else None
    if profile is not None:
        return trace, profile, "training"
    return trace, AnswerProfile.of_values(pursuit.queries.atoms, values), "the reference"


def _given_prior(profile: AnswerProfile, pursuit: Pursuit) -> FloatArray | None:
    """The model's class prior where it is another than that of the training rows, as `fit(class_prior=...)` makes."""
    prior = np.asarray(pursuit.model.class_prior)
    if not profile.by_class or len(prior) != len(profile.class_weights):
        return None
    smoothed = profile.class_weights + 0.5
    return None if np.allclose(prior, smoothed / smoothed.sum(), atol=1e-6) else prior


def _some(values: IntArray, name: str) -> IntArray:
    if not len(values):
        raise ValueError(f"{name} has no rows; give at least one input")
    return values


def _spread(values: IntArray, most: int) -> IntArray:
    """At most so many rows, evenly spread over all."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)]


def _report(
    changes: list[Change],
    n_inputs: int,
    n_before: float,
    n_pursued: int,
    level: float,
    least: float,
    against: str,
    nouns: tuple[str, str] = ("question", "questions"),
) -> DriftReport:
    corrected = adjusted([change.p for change in changes]).tolist()
    judged = tuple(
        replace(change, corrected_p=q, drifted=q <= level and change.distance >= least)
        for change, q in zip(changes, corrected, strict=True)
    )
    return DriftReport(n_inputs, float(n_before), n_pursued, level, least, judged, atoms=nouns, against=against)


def _unexplained(
    report: DriftReport, profile: AnswerProfile, values: IntArray, words: AtomWords, trace: Trace
) -> tuple[str, ...] | None:
    """Drifted atoms that would differ from training even if its classes had been as frequent as they are now."""
    if not (report.drifted(CLASS) and report.drifted(ANSWERS) and profile.by_class):
        return None
    if len(profile.class_weights) != trace.posterior.shape[1]:
        return None
    again = compare_answers(profile, values, words, trace.posterior.mean(axis=0))
    left = _report(again, report.n_inputs, report.n_before, 0, report.level, report.least, "")
    before = {change.name for change in report.drifted(ANSWERS)}
    return tuple(change.name for change in left.drifted(ANSWERS) if change.name in before)
