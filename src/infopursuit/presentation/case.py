"""A case in words: a summary sentence, why not another class, and how many more questions to expect.

What the page, reports, notebooks and `ask` say about one input beyond its questions and answers. Everything is computed
from the pursuit and the answers, so that it can be checked: a change of answers that `why_not` names leads to the
posterior that it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from infopursuit.presentation.performance import Performance, performance_of
from infopursuit.presentation.verdict import compared_class, say_verdict
from infopursuit.pursuit.driver import Answers, drive
from infopursuit.pursuit.explanation import Explanation, ExplanationStep
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.protocols import Belief
from infopursuit.pursuit.session import Session
from infopursuit.pursuit.state import Branches, State, Step
from infopursuit.queries.queryset import YES_NO, QuerySet
from infopursuit.strategies.look_ahead import joint_cells
from infopursuit.support import messages as catalogues
from infopursuit.support.messages import Messages
from infopursuit.support.types import UNKNOWN, FloatArray, History, IntArray, Number, Said, cells_of

MAX_REASONS = 3
"""Answers that a summary names."""
LOW, HIGH = 0.25, 0.75
"""A number is low in the lowest quarter of the training distribution, and high in the highest."""
MAX_CHANGES = 3
"""Answers that a counterfactual changes at the most."""
MAX_ALTERNATIVES = 64
"""Queries with more answers than this are left as they are in counterfactuals."""
N_CONTINUATIONS = 128
COVERAGE = 0.8


# ---- questions in the chosen language -------------------------------------------------------------------------------


def choices(queries: QuerySet, query: int, words: Messages | None = None) -> tuple[str, ...]:
    """The answers to a question of one variable, in the order of their indices: yes and no, cells of numbers."""
    words, asked = words or catalogues.load(), queries[query]
    return tuple(words.answer(asked, choice) for choice in asked.choices)


# ---- summary --------------------------------------------------------------------------------------------------------


def title(pursuit: Pursuit[Any], words: Messages | None = None) -> str:
    """What is to be decided: "diagnosis: negative or positive?"."""
    words, classes = words or catalogues.load(), [str(label) for label in pursuit.classes]
    name = pursuit.label_name or words("label")
    if len(classes) > 4:
        return words("case.title_many", label=name, n=len(classes))
    return words(
        "case.title", label=name, classes=words("case.or", a=words.texts["comma"].join(classes[:-1]), b=classes[-1])
    )


def summary(explanation: Explanation, queries: QuerySet | None, words: Messages | None = None) -> str:
    """The outcome and what spoke for it most, in one sentence.

    "Probably negative (91 %): glucose is low (85 mg/dl) and BMI is low (22.1)". A class that is rare among all cases is
    compared with its share of them: "No (92 %), but 8 % of such cases are yes, against 0.5 % of all: pressure is high
    (131)"; the answers that are named are then those that spoke for the rare class. An answer speaks for a class by the
    change of its log odds; at most `MAX_REASONS` answers are named, the strongest first, and none that is less than a
    tenth of the strongest. Where nothing was asked, what was known beforehand is named. Without ``queries`` no number
    is called low or high.
    """
    words = words or catalogues.load()
    verdict = say_verdict(explanation, words)
    if not explanation.calibrated and explanation.informed:
        verdict = words("summary.uncalibrated", verdict=verdict)

    reasons = [reason(step, queries, words) for step in _strongest(explanation)]
    if reasons and explanation.shape is None:  # patches of an image are shown, not told
        verdict = words("summary.because", verdict=verdict, reasons=words.join(reasons))
    return verdict + words("full_stop")


def _strongest(explanation: Explanation) -> list[ExplanationStep]:
    """The answers that spoke most for what the verdict reports."""
    compared = compared_class(explanation)
    if compared is None:
        return []

    weights = np.diff(log_odds(explanation.posteriors[:, compared]))
    order = np.argsort(-weights, kind="stable")[:MAX_REASONS].tolist()
    order = [k for k in order if weights[k] > 0 and weights[k] >= 0.1 * weights[order[0]]]
    steps = [explanation.steps[k] for k in order] or list(explanation.known[:MAX_REASONS])
    return [step for step in steps if step.answer is not None]


def reason(step: ExplanationStep, queries: QuerySet | None, words: Messages) -> str:
    """An answer as a part of a sentence: a number is called low or high where it is, in training."""
    name, scale = words.name(step), None if queries is None else queries.scale(step.query)
    if scale is not None and step.number is not None:
        share = (np.searchsorted(scale.thresholds, step.number, side="left") + 0.5) / (len(scale.thresholds) + 1)
        kind = "low" if share <= LOW else "high" if share >= HIGH else "value"
        return words(f"reason.{kind}", name=name, value=words.number(scale.say(step.number)))
    said = words.answer(step, step.said)
    if step.worded:
        return words("reason.other", name=step.sentence.rstrip("?"), value=said)
    if step.answer in ((0,), (1,)) and step.said in YES_NO:
        return words("reason.yes" if step.answer == (1,) else "reason.no", name=name)
    kind = "value" if len(step.answer or ()) == 1 and "=" not in name else "other"
    return words(f"reason.{kind}", name=name, value=said)


def log_odds(p: FloatArray) -> FloatArray:
    """log p / (1 - p), finite also where p is 0 or 1."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(p) - np.log1p(-p))


# ---- what a report says besides -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class About:
    """What a report of one case says besides its questions and answers; `about` fills it in.

    name: of the case. date: of the report. model, version: what was asked, and its checksum. calibration: whether
    probabilities are calibrated. summary: the outcome in a sentence. why_not: a heading and sentences, or nothing.
    performance: how often the model is right, None where it was not learnt from the rows of a table.
    """

    name: str = ""
    date: str = ""
    model: str = ""
    version: str = ""
    calibration: str = ""
    summary: str = ""
    why_not: tuple[str, ...] = ()
    performance: Performance | None = None


def about(
    session: Session, words: Messages | None = None, *, classifier: Any = None, name: str = "", model: str = "",
    version: str = "",
) -> About:  # fmt: skip
    """What a report of a session says: ``report.write(session.explanation, about=about(session))``.

    classifier: the fitted one, which knows on what it was calibrated and how often it is right. Of the classes that are
    not predicted the most probable one is explained.
    """
    words, explanation = words or catalogues.load(), session.explanation
    sentences: tuple[str, ...] = ()
    if len(explanation.classes) > 1 and (session.history or session.known):
        other = explanation.classes[int(np.argsort(-session.posterior, kind="stable")[1])]
        sentences = (words("whynot.title", **{"class": other}), *say_why_not(why_not(session, other), session, words))
    return About(
        name=name,
        date=date.today().isoformat(),
        model=model,
        version=version,
        calibration=say_calibration(session.pursuit, classifier, words),
        summary=summary(explanation, session.pursuit.queries, words),
        why_not=sentences,
        performance=performance_of(classifier),
    )


def say_calibration(pursuit: Pursuit[Any], classifier: Any = None, words: Messages | None = None) -> str:
    """Whether probabilities are calibrated, and how well, on which rows; ``classifier`` knows that."""
    words = words or catalogues.load()
    if not pursuit.calibrated:
        return words("calibration.none")

    report = getattr(classifier, "calibration_", None)
    assessment = getattr(classifier, "assessment_", None)
    if report is not None:
        n_rows = report.n_inputs
        error = report.ece_after
    elif assessment is not None:
        n_rows = assessment.n_rows
        error = assessment.ece
    else:
        return words("calibration.yes" if pursuit.learnt else "calibration.stated")
    shown = words("percent", p=words.number(f"{100 * error:.1f}"))
    return words("calibration.held_out", rows=words.whole(n_rows), error=shown)


# ---- why not another class ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """One answer as it is and as it would have to be. place: where it is in what was known and then asked.

    other: as `Session.answer` takes it.
    """

    place: int
    query: int
    name: str
    said: str
    other: Said
    other_said: str


@dataclass(frozen=True)
class WhyNot:
    """Why a class is not predicted.

    label, probability: the class, and its posterior. prediction: what is predicted instead. against: places of the
    answers that count against it, the strongest first, each with its weight: by how much it lowered log p(label) / p(
    prediction), nats; an answer's weight is what its absence would change. changes: the fewest answers whose change
    makes the class the most probable one, all other answers as they are; empty where `MAX_CHANGES` changes do not.
    then: the posterior (C,) after these changes.
    """

    label: Any
    probability: float
    prediction: Any
    against: tuple[tuple[int, float], ...]
    changes: tuple[Change, ...]
    then: tuple[float, ...]


def why_not(session: Session, label: Any) -> WhyNot:
    """Why a session does not predict a class: which answers count against it, and which changes would lead to it.

    Changes are searched for one at a time: among those of one answer that suffice the smallest is taken (a number moves
    by as few cells as possible); where none suffices, the one that helps most is kept, and another is looked for.
    """
    pursuit, history = session.pursuit, (*session.known, *session.history)
    names = [str(each) for each in pursuit.classes]
    if str(label) not in names:
        raise ValueError(f"label={label!r:.80} is no class of this pursuit; the classes are {', '.join(names[:8])}")
    c, now = names.index(str(label)), session.posterior
    best = int(now.argmax())
    found: tuple[Change, ...] = ()
    then = now
    if c != best:
        found, then = _counterfactual(pursuit, history, c)
    return WhyNot(
        pursuit.classes[c], float(now[c]), pursuit.classes[best], _against(pursuit, history, c, best), found,
        tuple(then.tolist()) if found else (),
    )  # fmt: skip


def say_why_not(found: WhyNot, session: Session, words: Messages | None = None) -> list[str]:
    """`why_not` in sentences."""
    words, steps = words or catalogues.load(), (*session.explanation.known, *session.explanation.steps)
    label: dict[str, Any] = {"class": found.label}
    if found.label == found.prediction:
        return [words("whynot.is", **label, p=words.percent(found.probability))]
    against = [reason(steps[place], session.pursuit.queries, words) for place, _ in found.against[:MAX_REASONS]]
    lines = [words("whynot.nothing_against", **label, prediction=found.prediction)]
    if against:
        p = found.probability
        shown = {"p": words.percent(p) if p >= 0.01 else words.precise_percent(p), "reasons": words.join(against)}
        lines = [words("whynot.against", **label, **shown)]
    if not found.changes:
        return [*lines, words("whynot.no_change", **label, n=MAX_CHANGES)]
    asked = [(each, session.pursuit.queries[each.query]) for each in found.changes]
    changes = [
        words("change", name=each.name, other=words.answer(query, each.other_said), said=words.answer(query, each.said))
        for each, query in asked
    ]
    p = found.then[list(session.pursuit.classes).index(found.label)]
    return [*lines, words("whynot.change", **label, p=words.percent(p), changes=words.join(changes))]


def _against(pursuit: Pursuit[Any], history: History, c: int, best: int) -> tuple[tuple[int, float], ...]:
    """The places of answers that lower log p(c) / p(best), with the amount, the strongest first."""
    told = [place for place, (_, said) in enumerate(history) if said is not None]
    if c == best or not told:
        return ()
    without = [tuple((q, None if k == place else said) for k, (q, said) in enumerate(history)) for place in told]
    p, _ = posteriors_after(pursuit, [history, *without])
    ratio = np.log(np.maximum(p[:, c], 1e-12)) - np.log(np.maximum(p[:, best], 1e-12))
    weight = ratio[1:] - ratio[0]  # what the answer took away
    order = np.argsort(-weight, kind="stable")
    return tuple((told[i], float(weight[i])) for i in order if weight[i] > 1e-9)


def _counterfactual(pursuit: Pursuit[Any], history: History, c: int) -> tuple[tuple[Change, ...], FloatArray]:
    """The fewest changes that make class c the most probable one, and the posterior after them."""
    queries, changed, changes = pursuit.queries, history, list[Change]()
    for _ in range(min(MAX_CHANGES, len(history))):
        taken = {each.place for each in changes}
        tries = [
            (place, other, far)
            for place, (query, said) in enumerate(history)
            if said is not None and place not in taken
            for other, far in _alternatives(queries, query, said)
        ]
        if not tries:
            break
        others = [tuple((q, other if k == place else said) for k, (q, said) in enumerate(changed))
                  for place, other, _ in tries]  # fmt: skip
        p, possible = posteriors_after(pursuit, others)
        ratio = np.log(np.maximum(p[:, c], 1e-12)) - np.log(np.maximum(np.delete(p, c, axis=1).max(axis=1), 1e-12))
        ratio[~possible] = -np.inf
        flips = np.flatnonzero(ratio > 1e-9)
        far = np.array([each for _, _, each in tries])
        # of those that suffice the nearest, of equally near ones the surest; where none does, what helps most
        i = int(flips[np.lexsort((-ratio[flips], far[flips]))[0]]) if len(flips) else int(ratio.argmax())
        if not np.isfinite(ratio[i]):
            break
        place, other, _ = tries[i]
        query, said = history[place]
        shown = [queries.say_answer(query, each) for each in (said, other)]
        changes.append(Change(place, query, queries.names[query], shown[0], other, shown[1]))
        changed = others[i]
        if len(flips):
            return tuple(changes), p[i]
    return (), np.empty(0)


def _alternatives(queries: QuerySet, query: int, said: Said) -> list[tuple[Said, int]]:
    """Other answers to a query, each with how far it is from the one that was given."""
    n, scale = int(queries.n_answers[query]), queries.scale(query)
    cells = cells_of(said)
    if n > MAX_ALTERNATIVES or cells is None or len(cells) != 1:
        return []
    (now,) = cells
    found: list[tuple[Said, int]] = []
    for cell in range(n):
        if cell == now or (scale is not None and scale.missing and cell == 0):
            continue
        other: Said = (cell,) if scale is None else Number(float(scale.representatives[cell]), (cell,))
        found.append((other, 1 if scale is None else abs(cell - now)))
    return found


def posteriors_after(pursuit: Pursuit[Any], histories: Sequence[History]) -> tuple[FloatArray, Any]:
    """(H, C) the posterior after each of some histories with the same queries, and (H,) whether each is possible."""
    n, state = len(histories), pursuit.start()
    possible, parents = np.ones(n, dtype=bool), np.zeros(n, dtype=np.int64)
    for k in range(len(histories[0])):
        branches = Branches.of(pursuit.queries, [each[k] for each in histories], parents)
        state = pursuit.absorb(state, branches, state.watch)
        possible &= ~state.impossible
        parents = np.arange(n)
    return (state.posterior if histories[0] else np.repeat(state.posterior, n, axis=0)), possible


# ---- how many more questions ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Remaining:
    """How many more questions to expect: the median, and an interval that holds 80 % of the continuations."""

    median: int
    low: int
    high: int


def remaining(session: Session, n: int = N_CONTINUATIONS) -> Remaining | None:
    """How many more questions a session will take: from continuations whose answers are drawn from what the belief
    predicts, with as many "don't know" as in training. None where it predicts no answers, 0 after the stop.

    The interval is the shortest one whose share of the continuations is nearest to 80 %: lengths are whole numbers, so
    that one with exactly 80 % seldom exists.
    """
    return remaining_after(session.pursuit, session._step, n)


def remaining_after(pursuit: Pursuit[Any], step: Step[Any], n: int = N_CONTINUATIONS) -> Remaining | None:
    """`remaining` of a step of one history."""
    if int(step.choice.query[0]) == UNKNOWN:
        return Remaining(0, 0, 0)
    lengths = continuations(pursuit, step, n)
    return None if lengths is None else _interval(lengths)


def say_remaining(found: Remaining, words: Messages | None = None) -> str:
    """`remaining` in words."""
    words = words or catalogues.load()
    if found.low == found.high:
        return words("remaining.exact", n=found.median)
    return words("remaining.range", n=found.median, low=found.low, high=found.high)


def continuations(pursuit: Pursuit[Any], step: Step[Any], n: int) -> IntArray | None:
    """(n,) how many more questions are asked from a step of one history on, with answers drawn from the belief."""
    belief = pursuit.bound_belief
    if not belief.capabilities.answers:
        return None
    key = np.frombuffer(step.state.histories.key(0), dtype=np.uint8)
    source = _DrawnAnswers(pursuit, np.random.default_rng([pursuit.seed, *key.tolist()]))

    lengths = np.zeros(n, dtype=np.int64)
    for turn in drive(pursuit, source, np.arange(n), step, np.zeros(n, dtype=np.int64)):
        lengths[turn.inputs[turn.continues]] += 1
    return lengths


@dataclass(frozen=True)
class _DrawnAnswers:
    """Answers that are drawn from the predictions of the belief."""

    pursuit: Pursuit[Any]
    generator: np.random.Generator

    def __call__(self, inputs: IntArray, query: IntArray, step: Step[Any], place: IntArray) -> Answers:
        """See `infopursuit.pursuit.driver.Source`."""
        belief = self.pursuit.bound_belief
        return Answers(*_drawn(self.pursuit, belief, step.state, place, query, self.generator))


def _drawn(
    pursuit: Pursuit[Any], belief: Belief[Any], state: State[Any], place: IntArray, query: IntArray, rng: Any
) -> tuple[IntArray, FloatArray | None]:
    """An answer for each of n continuations in histories ``place``: (n, W) cells, and (n,) numbers.

    A number lies in its cell: half of them below the median of the training numbers in the cell, half above it.
    """
    queries = pursuit.queries
    answers = np.full((len(place), queries.width), UNKNOWN, dtype=np.int64)
    numbers = np.full(len(place), np.nan)
    for q in np.unique(query).tolist():
        rows, scale = np.flatnonzero(query == q), queries.scale(q)
        p = np.asarray(belief.answer_distribution(state.belief, q))[place[rows]]  # (rows, answers)
        index = (rng.random((len(rows), 1)) * p.sum(axis=1, keepdims=True) >= np.cumsum(p, axis=1)).sum(axis=1)
        index = np.minimum(index, p.shape[1] - 1)
        answers[rows] = joint_cells(queries, np.full(len(rows), q), index)
        if scale is not None:
            ends = np.array([scale.low, *scale.thresholds, scale.high])
            low, middle, high = ends[index], np.array(scale.representatives)[index], ends[index + 1]
            at = 2 * rng.random(len(rows)) - 1
            numbers[rows] = middle + np.where(at < 0, at * (middle - low), at * (high - middle))
            if scale.whole:
                numbers[rows] = np.clip(np.round(numbers[rows]), np.floor(low) + 1, np.maximum(high, np.floor(low) + 1))
            if scale.missing:
                numbers[rows[index == 0]] = np.nan
        unanswered = belief.unanswered(state.belief, q)[place[rows]]
        if unanswered.any():
            silent = rows[rng.random(len(rows)) < unanswered]
            answers[silent] = UNKNOWN
            numbers[silent] = np.nan
    return answers, None if np.isnan(numbers).all() else numbers


def _interval(lengths: IntArray) -> Remaining:
    values, counts = np.unique(lengths, return_counts=True)
    shares = np.cumsum(np.concatenate([[0], counts])) / len(lengths)
    best = min(
        ((abs(shares[j + 1] - shares[i] - COVERAGE), values[j] - values[i], i, j)
         for i in range(len(values)) for j in range(i, len(values))),
    )  # fmt: skip
    return Remaining(int(np.median(lengths)), int(values[best[2]]), int(values[best[3]]))
