"""`drift`: do the answers of new inputs, and the predictions from them, still look like those of training?

Values and missingness of each variable are tested against training, predicted classes against the prior or, where a
reference is given, against those of the reference. All p-values are corrected together (Benjamini-Hochberg): where
nothing has changed, the verdict is "no drift" with probability 1 - level or more.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import rel_entr
from scipy.stats import chi2_contingency, false_discovery_control, fisher_exact

from infopursuit.answer_profile import AnswerProfile
from infopursuit.checks import number, pursuit_of
from infopursuit.engine import Pursuit
from infopursuit.explanation import count
from infopursuit.queries.wording import VariableWords
from infopursuit.terminal import table
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, FloatArray, IntArray, Observed

__all__ = ["Change", "DriftReport", "drift"]

FORMAT = "infopursuit.drift/4"
ANSWERS, MISSING, CLASS = "answers", "missing", "class"
HEADINGS = {
    ANSWERS: "Distribution of answers",
    MISSING: "Share of missing answers",
    CLASS: "Predicted classes",
}
MAX_PURSUED, MIN_DISTANCE = 1_000, 0.01
"""Inputs that are pursued at most, evenly spread; total variation distance below which a change does not count."""
BIAS, N_ERRORS = 0.05, 3.0
"""How far a mean posterior may be from the prior without drift: the bias of an imperfect model (at most half of the
prior), plus so many standard errors of the prior."""
FEW, SHOWN, MAX_LINES = 30, 3, 10
"""Inputs below which "no drift" says little; names in a sentence; lines below a heading."""
ENOUGH, LARGEST_EXACT = 10.0, 20_000
"""Expected counts from which the chi-square approximation holds, also far out in the tail, where many tests look; and
counts up to which two values are tested exactly."""


@dataclass(frozen=True)
class Change:
    """One comparison.

    kind: "answers" and "missing" of a variable, "class" predicted. example: what changed most; before, now: its shares.
    distance: total variation. p, corrected_p: before and after correction. drifted: whether it counts.
    """

    kind: str
    name: str
    example: str
    before: float
    now: float
    distance: float
    p: float
    corrected_p: float = 1.0
    drifted: bool = False


@dataclass(frozen=True)
class DriftReport:
    """New inputs against training; ``print(report)`` gives a page, `verdict` a sentence.

    changes: all comparisons. level: a change counts when its corrected p-value is at most this and its distance at
    least `MIN_DISTANCE`. n_pursued: inputs that were pursued. unexplained: where predicted classes have shifted, the
    drifted variables that would differ even if training had had the classes' present shares; None where that was not
    tested. variables: what one variable is called, and several. against: what it was compared with.
    """

    n_inputs: int
    n_before: float
    n_pursued: int
    level: float
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
        p = [c.corrected_p for c in self.changes if c.distance >= MIN_DISTANCE]
        return (
            f"No drift: none of {count(len(self.changes), 'comparison')} of {count(self.n_inputs, 'input')} with "
            f"{self.against} is significant (smallest corrected p-value {format_pvalue(min(p, default=1.0))}, level "
            f"{self.level:g}).{few}"
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
        pursued = f", {self.n_pursued:,} of them pursued" if self.n_pursued < self.n_inputs else ""
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
        return found


def drift(model: Any, X: Any, *, reference: Any = None, level: float = 0.01) -> DriftReport:
    """Compare the answers of new inputs, and the predictions from them, with training.

    Parameters
    ----------
    model: a fitted classifier; or a `Pursuit`, with a reference.
    X: new inputs.
    reference: held-out inputs like those of training. With it, predictions are compared with those for the reference
        instead of the prior. For a model without a profile its answers stand for those of training.
    level: the corrected p-value up to which a change counts; also the probability of a false alarm, at most.

    >>> import infopursuit as ip
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(2, size=(300, 3))
    >>> clf = ip.InformationPursuitClassifier(ip.queries.concepts(["wet", "cold", "dark"]), "table").fit(X, X[:, 0])
    >>> new = np.column_stack([X[:100, :2], np.ones(100)])
    >>> clf.drift(new).verdict
    'Drift: answers to 1 of 3 questions have changed (dark).'
    """
    number(level, "level", above=0, below=1)
    pursuit, profile = pursuit_of(model), getattr(model, "profile_", None)
    observed, against, other = _read(pursuit, X, "X"), "training", None
    if reference is not None:
        known = _read(pursuit, reference, "reference")
        other = pursuit.run_values(_spread(known))
        if profile is None:
            profile, against = AnswerProfile.of_values(pursuit.queries.variables, known.values), "the reference"
    if profile is None:
        raise ValueError("model has no profile of its training answers; give reference=, or fit it again")
    words, values = VariableWords(pursuit.queries.variables, pursuit.queries), observed.values
    changes = compare_answers(profile, values, words, _given_prior(profile, pursuit))
    trace = pursuit.run_values(_spread(observed))
    changes += compare_classes(trace, profile, pursuit) if other is None else compare_traces(trace, other)
    report = DriftReport(
        n_inputs=len(values),
        n_before=float(profile.n_rows),
        n_pursued=len(trace),
        level=level,
        changes=judged(changes, level),
        variables=words.nouns,
        against=against,
    )
    shares = trace.posterior.mean(axis=0)
    if not (report.drifted(CLASS) and report.drifted(ANSWERS) and _fits(profile, shares)):
        return report
    again = judged(compare_answers(profile, values, words, shares), level)
    left = {change.name for change in again if change.drifted and change.kind == ANSWERS}
    return replace(report, unexplained=tuple(c.name for c in report.drifted(ANSWERS) if c.name in left))


def judged(changes: Sequence[Change], level: float) -> tuple[Change, ...]:
    """Correct the p-values of all comparisons, and say which count."""
    corrected = false_discovery_control([change.p for change in changes]).tolist()
    return tuple(
        replace(change, corrected_p=p, drifted=p <= level and change.distance >= MIN_DISTANCE)
        for change, p in zip(changes, corrected, strict=True)
    )


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
        name, (example, before, now) = words.name(variable), words.example(variable, old[slots], new[slots])
        distance, p = total_variation(old[slots], new[slots]), pvalue(old[slots], new[slots], words.splits(variable))
        answers.append(Change(ANSWERS, name, example, before, now, distance, p))
        n, n_new = float(old_missing[variable]), float((~known[:, variable]).sum())
        gaps.append(_compare_share(MISSING, name, f"{name}: missing", (n, n_old), (n_new, len(values))))
    return answers + gaps


def compare_classes(trace: Trace, profile: AnswerProfile, pursuit: Pursuit[Any]) -> list[Change]:
    """The mean posterior of every class against the prior, which it equals in expectation if the model is right.

    `BIAS` and the error of the prior are allowed for. The p-value is a bound that holds for posteriors of any shape.
    """
    prior, mean = _class_prior(pursuit), trace.posterior.mean(axis=0)
    slack = np.minimum(BIAS, prior / 2) + N_ERRORS * np.sqrt(prior * (1 - prior) / profile.n_rows)
    p = [
        chernoff(m, max(0.0, old - e), min(1.0, old + e), len(trace))
        for m, old, e in zip(mean, prior, slack, strict=True)
    ]
    told = zip(trace.classes, prior.tolist(), mean.tolist(), p, strict=True)
    return [Change(CLASS, str(c), f"predicted {c}", old, new, abs(new - old), each) for c, old, new, each in told]


def compare_traces(trace: Trace, reference: Trace) -> list[Change]:
    """Predicted classes, against a reference of the same pursuit."""
    now, before = (np.bincount(t.posterior.argmax(axis=1), minlength=len(t.classes)) for t in (trace, reference))
    return [
        _compare_share(CLASS, str(label), f"predicted {label}", (before[c], len(reference)), (now[c], len(trace)))
        for c, label in enumerate(trace.classes)
    ]


def _compare_share(kind: str, name: str, example: str, before: tuple[float, float], now: tuple[float, float]) -> Change:
    """Two shares, each as how many of how many."""
    p = pvalue(*(np.array([n, total - n]) for n, total in (before, now)))
    old, new = (float(n / total) for n, total in (before, now))
    return Change(kind, name, example, old, new, abs(new - old), p)


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


def _read(pursuit: Pursuit[Any], X: Any, name: str) -> Observed:
    observed = pursuit.queries.read(X)
    if not len(observed):
        raise ValueError(f"{name} has no rows; give at least one input")
    return observed


def _spread(observed: Observed) -> Observed:
    n = len(observed)
    return observed if n <= MAX_PURSUED else observed.take(np.linspace(0, n - 1, MAX_PURSUED).round().astype(np.int64))


# ---- statistics -----------------------------------------------------------------------------------------------------


def pvalue(before: Any, now: Any, splits: FloatArray | None = None) -> float:
    """The p-value of two rows of counts (V,) under one distribution.

    Two values: Fisher's exact test. More: the chi-square test of homogeneity or, where expected counts are small,
    Fisher's exact test of each value against the others with Bonferroni's correction. Weights are rounded to counts.
    With yes/no ``splits`` (n, V) of ordered values, only these are tested, with Bonferroni's correction: that sees a
    shift that many small cells would hide.

    >>> f"{pvalue([10, 0], [0, 10]):.3g}"
    '1.08e-05'
    """
    if splits is not None:
        yes = zip(splits @ before, splits @ now, strict=True)
        tables = [((np.sum(before) - a, a), (np.sum(now) - b, b)) for a, b in yes]
        return min(1.0, len(tables) * min(pvalue(*each) for each in tables))
    counts = np.round(np.asarray([before, now], dtype=np.float64))
    counts = counts[:, counts.any(axis=0)]
    sizes, total = counts.sum(axis=1), counts.sum(axis=0)
    if counts.shape[1] < 2 or not sizes.all():
        return 1.0
    smallest = total.min() * sizes.min() / sizes.sum()  # expected count
    two = len(total) == 2
    if smallest >= ENOUGH and not (two and total.min() <= LARGEST_EXACT):
        return float(chi2_contingency(counts, correction=False).pvalue)
    columns = counts.T[:1] if two else counts.T
    p = [fisher_exact(np.stack([column, sizes - column]).astype(np.int64)).pvalue for column in columns]
    return min(1.0, len(p) * float(min(p)))


def chernoff(mean: float, low: float, high: float, n: int) -> float:
    """A bound on the p-value of the mean of n independent numbers in [0, 1] whose expectation is in [low, high].

    P(mean >= x) <= exp(-n KL(x || high)) for x above ``high``, alike below ``low`` (Hoeffding 1963); doubled for two
    sides.

    >>> round(chernoff(0.7, 0.45, 0.55, 100), 4)
    0.0179
    """
    if low <= mean <= high:
        return 1.0
    edge = high if mean > high else low
    divergence = rel_entr([mean, 1 - mean], [edge, 1 - edge]).sum()
    return min(1.0, 2 * float(np.exp(-n * divergence)))


def total_variation(before: Any, now: Any) -> float:
    """Total variation distance of the shares, 0 to 1; 0 where either has no counts.

    >>> round(total_variation([5, 5], [8, 2]), 12)
    0.3
    """
    before, now = np.asarray(before, dtype=np.float64), np.asarray(now, dtype=np.float64)
    if not before.sum() or not now.sum():
        return 0.0
    return float(np.abs(before / before.sum() - now / now.sum()).sum() / 2)


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
