"""Cards of HTML: a classifier, a pursuit, a trace, an explanation, a session and a query set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from infopursuit.calibration.temperature import TemperatureScaling
from infopursuit.presentation import case
from infopursuit.presentation.notebook.html import MAX_ROWS, Markup, bar, card, facts, table, tag
from infopursuit.presentation.performance import performance_of
from infopursuit.presentation.report.page import box, drawable, leading_classes, seen_png
from infopursuit.pursuit.explanation import Explanation, count, often, percent, short
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.protocols import Calibrator
from infopursuit.pursuit.session import Session
from infopursuit.pursuit.trace import Trace
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.messages import load
from infopursuit.support.types import Query

MAX_STEPS = 20
"""Steps of an explanation; of more, those with the most influence on the posterior."""
MAX_CLASSES = 6
"""Bars of a posterior; the other classes share one."""


def card_of(shown: object) -> str:
    """The card of any object that has one.

    Parameters
    ----------
    shown : Pursuit, Trace, Explanation, Session, QuerySet or InformationPursuitClassifier
        A classifier has been fitted.
    """
    if isinstance(shown, Explanation):
        return explanation_html(shown)
    if isinstance(shown, Trace):
        return trace_html(shown)
    if isinstance(shown, Session):
        return session_html(shown)
    if isinstance(shown, Pursuit):
        return pursuit_html(shown)
    if isinstance(shown, QuerySet):
        return queries_html(shown)
    return classifier_html(shown)


def classifier_html(clf: Any) -> Markup:
    """A fitted classifier: what it was fitted on, how it asks, and how it did on held-out rows."""
    tuning, pursuit, made = clf.tuning_, clf.pursuit_, clf.provenance_
    told = [
        ("fitted on", f"{made['rows']:,} inputs, {count(len(clf.queries_), 'query', 'queries')}: {clf.queries_.kind}"),
        ("classes", _classes(clf.classes_)),
        ("strategy", clf.strategy if tuning is None else _strategy(tuning)),
        ("stops when", pursuit.stopping.describe()),
        ("first question", _first_question(pursuit)),
    ]
    assessment = clf.assessment_
    if assessment is not None:
        interval = f"{100 * assessment.low:.1f} to {100 * assessment.high:.1f} % on {assessment.n_rows:,} held-out rows"
        told += [
            ("accuracy", bar(assessment.accuracy, f"{100 * assessment.accuracy:.1f} % ({interval})")),
            ("questions", f"{assessment.n_questions:.1f} on average"),
            ("calibration", f"expected error {100 * assessment.ece:.1f} % ({_temperature(pursuit.calibrator)})"),
        ]
        if assessment.by_class.auc is not None:
            told.append(("AUC", f"{assessment.by_class.auc:.3f}"))
    if hasattr(clf, "calibration_"):
        told.append(("calibrated", str(clf.calibration_)))
    if not pursuit.calibrated:
        told.append(("calibration", "none: probabilities are those of the learnt model; see calibrate(X, y)"))
    tables = _class_tables(clf)
    return card(
        type(clf).__name__, facts(told), tables, lead="Fitted: explain(X) explains inputs, session() asks questions."
    )


def _class_tables(clf: Any) -> Markup | str:
    """Recall and precision of each class and the confusion matrix, on demand; nothing where they were not measured."""
    performance, words = performance_of(clf), load()
    if performance is None or not performance.class_rows:
        return ""
    shown = (
        (performance.class_table(words, clf.pursuit_.label_name), words("performance.meaning")),
        (performance.confusion_table(words), words("performance.confusion")),
    )
    tables = [table(rows[0], rows[1:], caption) for rows, caption in shown if rows]
    return tag("details", tag("summary", words("performance.classes")), *tables)


def pursuit_html(pursuit: Pursuit[Any]) -> Markup:
    """A pursuit: its parts."""
    names = ("belief", "acquisition", "calibrator", "noise", "costs", "constraints", "novelty")
    parts = ((name, getattr(pursuit, name)) for name in names)
    told = [
        ("queries", repr(pursuit.queries).strip("<>")),
        ("classes", _classes(pursuit.classes)),
        ("stops when", pursuit.stopping.describe()),
        *((name, short(repr(part).strip("<>"), 160)) for name, part in parts if part is not None),
        ("patience", pursuit.patience or ""),
    ]
    return card("Pursuit", facts(told))


def trace_html(trace: Trace) -> Markup:
    """A trace: what its inputs have in common, and the first of them."""
    n = len(trace)
    if not n:
        return card("Trace", lead="No inputs.")
    reasons = Counter(load().reason(str(why)) for why in trace.stop_reason.tolist())
    told = [
        ("questions", f"{trace.length.mean():.1f} on average, {trace.length.max()} at most"),
        ("predictions", _shares(Counter(map(str, trace.predictions.tolist())), n)),
        ("stopped because", _shares(reasons, n)),
    ]
    rows = []
    for i in range(min(n, MAX_ROWS)):
        e = trace[i]
        asked: Any = "; ".join(short(f"{step.name}: {step.said}", 44) for step in e.steps[:4])
        asked = picture(e, len(e), 48) if drawable(e) else asked + (f"; {len(e) - 4} more" if len(e) > 4 else "")
        rows.append((i, e.prediction, bar(e.confidence, percent(e.confidence), width=60), len(e), asked))
    shown = table(
        ("input", "prediction", "confidence", "questions", "seen" if drawable(trace[0]) else "asked and answered"),
        rows,
        f"the first {len(rows)} of {n:,} inputs; trace[i] explains one, trace.to_frame() has all steps" * (n > 1),
    )
    return card("Trace", facts(told), shown, lead=f"{count(n, 'input')} explained.")


def explanation_html(e: Explanation) -> Markup:
    """An explanation: the prediction, and each question with its answer and the posterior after it."""
    image, classes = drawable(e), leading_classes(e)
    steps = e.shown_steps(MAX_STEPS) if len(e) else []
    before = (
        ("known", "; ".join(f"{step.name}: {step.said}" for step in e.known))
        if e.known
        else ("before any question", "")
    )
    rows: list[tuple[Any, ...]] = [("", *before, *_bars(e, classes, e.prior))]
    for k in steps:
        step = e.steps[k]
        answer = picture(e, k + 1, 64) if image and step.answer is not None else step.said
        rows.append((k + 1, step.sentence, answer, *_bars(e, classes, step.posterior)))
    headers = ("", "question", "seen so far" if image else "answer", *(short(e.classes[c], 24) for c in classes))
    left_out = f"{len(steps)} of {len(e)} questions: those with the most influence on the posterior, and the last"
    parts = [table(headers, rows, left_out if len(steps) < len(e) else "")]
    if image and len(e):
        parts.insert(0, tag("div", picture(e, len(e), 132), style="margin:6px 0"))
    if e.warning:
        parts.insert(0, tag("div", e.warning, role="alert", style="font-weight:600"))
    return card(f"{e.prediction}: {e.say_probability()}", *parts, lead=_summarized(e))


def session_html(session: Session) -> Markup:
    """A session: the question, the posterior, and the answers so far."""
    e, question = session.explanation, session.question
    title = f"{e.prediction}: {e.say_probability()}" if question is None else question.sentence
    lead = _summarized(e, session.pursuit.queries)
    if question is not None:
        lead = f"Answer with {answers_in_words(session.pursuit.queries, question)}."
    parts = [posterior_table(e)]
    if drawable(e):
        parts.insert(0, tag("div", picture(e, len(e), 132, framed(session)), style="margin:6px 0"))
    said = [("known", step.name, step.said) for step in e.known]
    said += [(str(k), step.sentence, step.said) for k, step in enumerate(e.steps, start=1)]
    if said:
        parts.append(table(("", "question", "answer"), said[-MAX_STEPS:]))
    return card(title, *parts, lead=lead)


def queries_html(queries: QuerySet) -> Markup:
    """A query set: what it asks, and what may be answered."""
    shown = [queries[q] for q in range(min(len(queries), MAX_ROWS))]
    rows = [(query.name, query.sentence, answers_in_words(queries, query)) for query in shown]
    n_queries = count(len(queries), "query", "queries")
    n_variables = count(len(queries.variables), "variable")
    caption = f"the first {len(rows)} of {len(queries):,}" if len(rows) < len(queries) else ""
    table_of_queries = table(("query", "question", "answers"), rows, caption)
    return card(type(queries).__name__, table_of_queries, lead=f"{n_queries} about {n_variables}")


def answers_in_words(queries: QuerySet, query: Query) -> str:
    """What a query may be answered with."""
    n = len(query.choices)
    if queries.scale(query.index) is not None or n > 2 * MAX_ROWS:
        return queries.hint(query.index) or f"{n:,} possible answers"

    more = ", …" if n > MAX_ROWS else ""
    return ", ".join(query.choices[:MAX_ROWS]) + more


def framed(session: Session) -> list[int]:
    """The variables that the question is about; none after the stop."""
    asked = None if session.question is None else session.pursuit.queries.query_variables[session.question.index]
    return [] if asked is None else [int(variable) for variable in asked if variable >= 0]


def posterior_table(e: Explanation) -> Markup:
    """The posterior now, most probable class first."""
    most = e.confidence
    rows = [(name, bar(p, words, best=p > most - 0.005, width=160)) for name, p, words in posterior_rows(e)]
    return table(("class", "probability"), rows)


def posterior_rows(e: Explanation) -> list[tuple[str, float, str]]:
    """(name, probability, in words) of the most probable classes, and of the others together."""
    p = e.posteriors[-1]
    order = np.argsort(-p, kind="stable")[: MAX_CLASSES + (len(p) == MAX_CLASSES + 1)]
    rows = [(str(e.classes[c]), float(p[c]), often(float(p[c]))) for c in order]
    n, rest = len(p) - len(order), max(0.0, 1.0 - float(p[order].sum()))
    return [*rows, (f"{n:,} others", rest, often(rest))] if n else rows


def picture(e: Explanation, upto: int, width: int, framed: Iterable[int] = ()) -> Markup:
    """What was seen of an image after ``upto`` questions, with a frame around the variables of the newest patch, or
    around others."""
    (rows, columns), (uri, n) = e.shape or (1, 1), seen_png(e, upto)
    label = f"seen after {count(upto, 'question')}: {n} of {rows * columns} pixels, the rest grey"
    drawn = [tag("image", href=uri, width=columns, height=rows, style="image-rendering:pixelated")]
    variables = list(framed) or (list(e.steps[upto - 1].variables) if upto else [])
    if variables:
        stroke: dict[str, Any] = {"fill": "none", "stroke": "#e8590c", "stroke_width": max(rows, columns) / 40}
        drawn.append(tag("rect", **box(e, variables), **stroke))
    size: dict[str, Any] = {"width": width, "height": round(width * rows / columns), "viewBox": f"0 0 {columns} {rows}"}
    return tag("svg", *drawn, **size, role="img", aria_label=label, style="display:block")


def _bars(e: Explanation, classes: list[int], posterior: Any) -> list[Markup]:
    most = max(posterior)
    return [bar(posterior[c], often(float(posterior[c])), best=posterior[c] > most - 0.005, width=54) for c in classes]


def _lead(e: Explanation) -> str:
    known = f", {len(e.known)} known beforehand" if e.known else ""
    return f"After {count(len(e), 'question')}{known}. {e.say_notes(load(), codes=False)[0]}"


def _summarized(e: Explanation, queries: QuerySet | None = None) -> str:
    """The outcome and what spoke for it, which an image shows by itself, and why it stopped."""
    return _lead(e) if drawable(e) else f"{case.summary(e, queries)} {_lead(e)}"


def _classes(classes: Any) -> str:
    names = [short(label, 24) for label in classes[:MAX_ROWS]]
    return f"{len(classes):,}: {', '.join(names)}{', …' if len(classes) > MAX_ROWS else ''}"


def _strategy(tuning: Any) -> str:
    others = ", ".join(f"{name} {loss:.3f}" for name, loss in tuning.candidates.items())
    return f"{tuning.strategy} (held-out log loss after partial histories, nats: {others})"


def _temperature(calibrator: Calibrator | None) -> str:
    if isinstance(calibrator, TemperatureScaling):
        return f"temperature scaling, {calibrator.temperature:.2f}"
    return type(calibrator).__name__


def _first_question(pursuit: Pursuit[Any]) -> str:
    """Asked for tables only: elsewhere the first question may take seconds to find."""
    if not pursuit.queries.tabular:
        return ""
    question = pursuit.session().question
    return "none" if question is None else question.sentence


def _shares(counts: Counter[str], n: int) -> str:
    told = [f"{short(name, 60)} ({percent(k / n)})" for name, k in counts.most_common(6)]
    return ", ".join(told) + (f", {len(counts) - 6} more" if len(counts) > 6 else "")
