"""`drift`: do the answers of new inputs, and the predictions from them, still look like those of training?

Values and missingness of each variable are tested against training, predicted classes against the prior or, where a
reference is given, predictions and lengths for both against each other. All p-values are corrected together
(Benjamini-Hochberg): where nothing has changed, the verdict is "no drift" with probability 1 - level or more.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy.stats import false_discovery_control

from infopursuit.answer_profile import AnswerProfile
from infopursuit.checks import number, pursuit_of, whole_number
from infopursuit.engine import Pursuit
from infopursuit.explanation import count
from infopursuit.monitoring.statistics import (
    BOUND,
    chernoff,
    same_distribution,
    same_splits,
    total_variation,
)
from infopursuit.queries.wording import VariableWords
from infopursuit.terminal import table
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, FloatArray, IntArray, Observed

Rows = TypeVar("Rows", IntArray, Observed)
FORMAT = "infopursuit.drift/3"
ANSWERS, MISSING, CLASS, LENGTH = "answers", "missing", "class", "length"
HEADINGS = {
    ANSWERS: "Distribution of answers",
    MISSING: "Share of missing answers",
    CLASS: "Predicted classes",
    LENGTH: "Numbers of questions",
}
MAX_PURSUED = 1_000
BIAS, N_ERRORS = 0.05, 3.0
"""How far a mean posterior may be from the prior without drift: the bias of an imperfect model (at most half of the
prior), plus so many standard errors of the prior."""
QUANTILES = (0.2, 0.4, 0.6, 0.8)
"""Of all lengths together, that divide them into groups."""
FEW, SHOWN, MAX_LINES = 30, 3, 10
"""Inputs below which "no drift" says little; names in a sentence; lines below a heading."""


@dataclass(frozen=True)
class Change:
    """One comparison.

    kind: "answers" and "missing" of a variable, "class" predicted, "length" of the pursuit.
    example: what changed most; before, now: its shares. distance: total variation. p, corrected_p: before and after
    correction. test: "exact", "chi-square" or "bound". drifted: whether it counts.
    """

    kind: str
    name: str
    example: str
    before: float
    now: float
    distance: float
    p: float
    corrected_p: float
    test: str
    n_before: float
    n_now: float
    drifted: bool = False

    @classmethod
    def of(
        cls, kind: str, name: str, example: str, shares: Any, old: Any, new: Any, splits: FloatArray | None = None
    ) -> Change:
        """Compare two rows of counts (V,), or their yes/no ``splits`` (n, V); not corrected yet."""
        p, test = same_distribution(old, new) if splits is None else same_splits(old, new, splits)
        before, now, n_before, n_now = float(shares[0]), float(shares[1]), float(np.sum(old)), float(np.sum(new))
        return cls(kind, name, example, before, now, total_variation(old, new), p, p, test, n_before, n_now)


@dataclass(frozen=True)
class DriftReport:
    """New inputs against training; ``print(report)`` gives a page, `verdict` a sentence.

    changes: all comparisons. level, min_distance: a change counts when its corrected p-value is at most the first and
    its distance at least the second. n_pursued: inputs that were pursued. unexplained: where predicted classes have
    shifted, the drifted variables that would differ even if training had had the classes' present shares; None where
    that was not tested. variables: what one variable is called, and several. against: what it was compared with.
    """

    n_inputs: int
    n_before: float
    n_pursued: int
    level: float
    min_distance: float
    changes: tuple[Change, ...]
    unexplained: tuple[str, ...] | None = None
    variables: tuple[str, str] = ("question", "questions")
    against: str = "training"

    @property
    def found(self) -> bool:
        """Whether anything has drifted."""
        return any(change.drifted for change in self.changes)

    def drifted(self, kind: str | None = None) -> tuple[Change, ...]:
        """What has drifted, of one kind or of all, the largest distance first."""
        mine = (c for c in self.changes if c.drifted and kind in (None, c.kind))
        return tuple(sorted(mine, key=lambda change: -change.distance))

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if self.found:
            return f"Drift: {'; '.join(self._findings())}."
        few = " With so few inputs only a large change would show." if self.n_inputs < FEW else ""
        p = [c.corrected_p for c in self.changes]
        n = count(len(p), "comparison")
        if significant := sum(each <= self.level for each in p):
            return (
                f"No relevant drift: of {n} {significant} {'is' if significant == 1 else 'are'} significant, but no "
                f"distance is as large as {self.min_distance:g}.{few}"
            )
        return (
            f"No drift: none of {n} of {count(self.n_inputs, 'input')} with {self.against} is significant (smallest "
            f"corrected p-value {format_pvalue(min(p, default=1.0))}, level {self.level:g}).{few}"
        )

    def to_json(self) -> str:
        """The whole report as JSON."""
        data = {"format": FORMAT, "found": self.found, "verdict": self.verdict, **asdict(self)}
        return json.dumps(data, ensure_ascii=False, allow_nan=False)

    def text(self, width: int = 80) -> str:
        """The report in lines of at most ``width`` columns."""
        nearest = sorted(self.changes, key=lambda c: (c.corrected_p, -c.distance))[:3]
        sections = {heading: self.drifted(kind) for kind, heading in HEADINGS.items()}
        lines = textwrap.wrap(self.verdict, width - 1)
        for heading, some in sections.items() if self.found else [("Smallest p-values", nearest)]:
            if some:
                lines += ["", f"── {heading} ".ljust(width - 1, "─"), *_table(some[:MAX_LINES])]
                lines += [f"and {len(some) - MAX_LINES} more"] if len(some) > MAX_LINES else []
        notes = []
        if self.drifted(MISSING):
            notes.append("An answer that training never had counts as missing.")
        if self.unexplained is not None:
            n, left = count(len(self.drifted(ANSWERS)), *self.variables), len(self.unexplained)
            still = f"{left} would still differ {_names(self.unexplained)}" if left else "none would differ"
            notes.append(f"Of {n} that drifted, {still} if training had had the classes' present shares.")
        pursued = f", {self.n_pursued:,} of them pursued" if 0 < self.n_pursued < self.n_inputs else ""
        notes.append(
            f"{count(self.n_inputs, 'new input')}{pursued}, against {self.n_before:,.0f} rows of {self.against}; "
            f"{count(len(self.changes), 'comparison')}. The probability of a false alarm is at most {self.level:g}."
        )
        return "\n".join([*lines, "", *(line for note in notes for line in textwrap.wrap(note, width - 1))])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<DriftReport: {len(self.drifted())} of {len(self.changes)} comparisons have drifted>"

    def _findings(self) -> list[str]:
        found = []
        if answers := self.drifted(ANSWERS):
            n = count(sum(c.kind == ANSWERS for c in self.changes), *self.variables)
            found.append(f"answers to {len(answers)} of {n} have changed {_names(c.name for c in answers)}")
        for more in (True, False):
            if some := [c.name for c in self.drifted(MISSING) if (c.now > c.before) == more]:
                how = f"{'is' if len(some) == 1 else 'are'} missing {'more' if more else 'less'} often"
                found.append(f"{count(len(some), *self.variables)} {how} {_names(some)}")
        if classes := self.drifted(CLASS):
            shares = [f"{c.name} {100 * c.before:.1f} % to {100 * c.now:.1f} %" for c in classes]
            found.append(f"predicted shares have changed {_names(shares)}")
        return found + [f"it asks {'more' if c.now > c.before else 'less'}" for c in self.drifted(LENGTH)]


def drift(
    model: Any,
    X: Any,
    *,
    reference: Any = None,
    level: float = 0.01,
    min_distance: float = 0.01,
    max_pursued: int = MAX_PURSUED,
) -> DriftReport:
    """Compare the answers of new inputs, and the predictions from them, with training.

    Parameters
    ----------
    model: a fitted classifier; a `Pursuit`, with a reference; or an `AnswerProfile`, with variable values as X.
    X: new inputs.
    reference: held-out inputs like those of training. With it, predictions are compared with those for the reference
        instead of the prior, and so are lengths. For a model without a profile its answers stand for those of training.
    level: the corrected p-value up to which a change counts; also the probability of a false alarm, at most.
    min_distance: changes with a smaller total variation distance do not count.
    max_pursued: inputs that are pursued at most, evenly spread; 0 compares no predictions.

    >>> import infopursuit as ip
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(2, size=(300, 3))
    >>> clf = ip.InformationPursuitClassifier(ip.queries.concepts(["wet", "cold", "dark"]), "table").fit(X, X[:, 0])
    >>> new = np.column_stack([X[:100, :2], np.ones(100)])
    >>> clf.drift(new).verdict
    'Drift: answers to 1 of 3 questions have changed (dark).'
    """
    limits = (number(level, "level", above=0, below=1), number(min_distance, "min_distance", least=0, below=1))
    whole_number(max_pursued, "max_pursued")
    if isinstance(model, AnswerProfile):
        if reference is not None:
            raise ValueError("reference needs a model that can be run, not an AnswerProfile")
        values, words = _not_empty(model.variables.check(X, "X"), "X"), VariableWords(model.variables, None)
        return _report(compare_answers(model, values, words), (len(values), model.n_rows, 0), limits)
    pursuit, profile = pursuit_of(model), getattr(model, "profile_", None)
    observed = _not_empty(pursuit.queries.read(X), "X")
    values = observed.values
    against, other = "training", None
    if reference is not None:
        known = _not_empty(pursuit.queries.read(reference), "reference")
        other = pursuit.run_values(_spread(known, max_pursued)) if max_pursued else None
        if profile is None:
            profile, against = AnswerProfile.of_values(pursuit.queries.variables, known.values), "the reference"
    if profile is None:
        raise ValueError("model has no profile of its training answers; give reference=, or fit it again")
    words = VariableWords(pursuit.queries.variables, pursuit.queries)
    changes = compare_answers(profile, values, words, _given_prior(profile, pursuit))
    told: dict[str, Any] = {"variables": words.nouns, "against": against}
    if not max_pursued:
        return _report(changes, (len(values), profile.n_rows, 0), limits, **told)
    trace = pursuit.run_values(_spread(observed, max_pursued))
    changes += compare_traces(trace, other) if other is not None else compare_classes(trace, profile, pursuit)
    report = _report(changes, (len(values), profile.n_rows, len(trace)), limits, **told)
    shares = trace.posterior.mean(axis=0)
    if not (report.drifted(CLASS) and report.drifted(ANSWERS) and _fits(profile, shares)):
        return report
    again = _report(compare_answers(profile, values, words, shares), (len(values), profile.n_rows, 0), limits)
    left = {change.name for change in again.drifted(ANSWERS)}
    return replace(report, unexplained=tuple(c.name for c in report.drifted(ANSWERS) if c.name in left))


# ---- comparisons ----------------------------------------------------------------------------------------------------


def compare_answers(
    profile: AnswerProfile, values: IntArray, words: VariableWords, class_prior: FloatArray | None = None
) -> list[Change]:
    """The known values of every variable, then the missingness of every variable, against the profile.

    A variable that only yes/no queries ask about, such as a number at thresholds, is tested at each of these.
    """
    variables = profile.variables
    old, old_missing, n_old = profile.counts(class_prior)
    known = values != UNKNOWN
    new = np.bincount((values + variables.offsets[:-1])[known], minlength=variables.n_slots).astype(np.float64)
    answers, gaps = [], []
    for variable in range(len(variables)):
        slots = slice(variables.offsets[variable], variables.offsets[variable + 1])
        name, (example, *shares) = words.name(variable), words.example(variable, old[slots], new[slots])
        answers.append(Change.of(ANSWERS, name, example, shares, old[slots], new[slots], words.splits(variable)))
        n, n_new = float(old_missing[variable]), float((~known[:, variable]).sum())
        gap, gap_now = np.array([n, n_old - n]), np.array([n_new, len(values) - n_new])
        gaps.append(Change.of(MISSING, name, f"{name}: missing", (n / n_old, n_new / len(values)), gap, gap_now))
    return answers + gaps


def compare_classes(trace: Trace, profile: AnswerProfile, pursuit: Pursuit[Any]) -> list[Change]:
    """The mean posterior of every class against the prior, which it equals in expectation if the model is right.

    `BIAS` and the error of the prior are allowed for. The p-value is a bound that holds for posteriors of any shape.
    """
    prior, mean = _class_prior(pursuit), trace.posterior.mean(axis=0)
    slack = np.minimum(BIAS, prior / 2) + N_ERRORS * np.sqrt(prior * (1 - prior) / profile.n_rows)
    changes = []
    for c, label in enumerate(trace.classes):
        old, new = float(prior[c]), float(mean[c])
        p = chernoff(new, max(0.0, old - slack[c]), min(1.0, old + slack[c]), len(trace))
        before, now = profile.n_rows * np.array([old, 1 - old]), len(trace) * np.array([new, 1 - new])
        change = Change.of(CLASS, str(label), f"predicted {label}", (old, new), before, now)
        changes.append(replace(change, p=p, test=BOUND))
    return changes


def compare_traces(trace: Trace, reference: Trace) -> list[Change]:
    """Predicted classes and lengths, against a reference of the same pursuit."""
    both, changes = (reference, trace), []
    predicted = [t.posterior.argmax(axis=1) for t in both]
    for c, label in enumerate(trace.classes):
        counts = [np.array([(p == c).sum(), (p != c).sum()]) for p in predicted]
        shares = [n[0] / n.sum() for n in counts]
        changes.append(Change.of(CLASS, str(label), f"predicted {label}", shares, *counts))
    return [*changes, _compare_lengths(reference.length, trace.length)]


def _compare_lengths(before: IntArray, now: IntArray) -> Change:
    """Lengths in groups of about equal size, tested at the edges between them, since they are ordered."""
    edges = np.unique(np.quantile(np.concatenate([before, now]), QUANTILES, method="inverted_cdf"))
    old, new = (np.bincount(np.searchsorted(edges, some), minlength=len(edges) + 1) for some in (before, now))
    above = np.array([[(some > edge).mean() for edge in edges] for some in (before, now)])  # (2, edges)
    most = int(np.abs(above[1] - above[0]).argmax())
    splits = (np.arange(len(edges) + 1) > np.arange(len(edges))[:, None]).astype(np.float64)
    example = f"more than {count(int(edges[most]), 'question')}"
    return Change.of(LENGTH, "number of questions", example, above[:, most], old, new, splits)


def _given_prior(profile: AnswerProfile, pursuit: Pursuit[Any]) -> FloatArray | None:
    """The model's class prior where it is not that of the training rows, as with `fit(class_prior=...)`."""
    prior, smoothed = _class_prior(pursuit), profile.class_weights + 0.5
    if not _fits(profile, prior) or np.allclose(prior, smoothed / smoothed.sum(), atol=1e-6):
        return None
    return prior


def _class_prior(pursuit: Pursuit[Any]) -> FloatArray:
    return np.asarray(pursuit.start().posterior[0] if pursuit.model is None else pursuit.model.class_prior)


def _fits(profile: AnswerProfile, shares: FloatArray) -> bool:
    return profile.by_class and len(shares) == len(profile.class_weights)


def _not_empty(values: Rows, name: str) -> Rows:
    if not len(values):
        raise ValueError(f"{name} has no rows; give at least one input")
    return values


def _spread(observed: Observed, most: int) -> Observed:
    n = len(observed)
    return observed if n <= most else observed.take(np.linspace(0, n - 1, most).round().astype(np.int64))


def _report(changes: list[Change], n: tuple[int, float, int], limits: tuple[float, float], **words: Any) -> DriftReport:
    """n: inputs, rows before, inputs pursued. limits: the level and the least distance. words: see `DriftReport`."""
    corrected = false_discovery_control([change.p for change in changes]).tolist()
    judged = tuple(
        replace(change, corrected_p=p, drifted=p <= limits[0] and change.distance >= limits[1])
        for change, p in zip(changes, corrected, strict=True)
    )
    return DriftReport(n[0], float(n[1]), n[2], *limits, judged, **words)


# ---- words ----------------------------------------------------------------------------------------------------------


def _table(changes: Sequence[Change]) -> list[str]:
    rows = [["", "before", "now", "distance", "corrected p"]]
    for c in changes:
        shares = (f"{100 * c.before:.1f} %", f"{100 * c.now:.1f} %")
        example = textwrap.shorten(c.example, 34, placeholder=" ...")
        rows.append([example, *shares, f"{c.distance:.2f}", format_pvalue(c.corrected_p)])
    return table(rows)


def _names(names: Any) -> str:
    shown = list(names)
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return f"({', '.join(shown[:SHOWN])}{more})"


def format_pvalue(p: float) -> str:
    """A p-value in words.

    >>> format_pvalue(0.2), format_pvalue(1e-9)
    ('0.2', '< 0.0001')
    """
    return f"{p:.2g}" if p >= 0.0001 else "< 0.0001"
