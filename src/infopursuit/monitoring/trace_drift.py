"""Two traces of the same pursuit: are first questions answered alike, does it stop alike, predict alike?

What is asked later depends on earlier answers, so that later answers cannot be compared question by question. The first
question is the same for everybody; so are the rule that stops, the number of questions and the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infopursuit.monitoring.report import CLASS, FIRST, LENGTH, STOP, Change
from infopursuit.explanation import REASONS
from infopursuit.queries.queryset import QuerySet
from infopursuit.trace import Trace
from infopursuit.types import IntArray

GROUPS = (0.2, 0.4, 0.6, 0.8)
"""Quantiles of all lengths together that divide them into groups."""


def check_alike(queries: QuerySet, classes: Any, reference: Trace) -> None:
    """Refuse a reference that another pursuit made."""
    if reference.query_set.names != queries.names or list(reference.classes) != list(classes):
        raise ValueError(
            "reference is a trace of other queries or classes; give one that the same model made, on inputs like those "
            "of training"
        )
    if not len(reference):
        raise ValueError("reference is a trace of 0 inputs; give at least one")


def compare_traces(trace: Trace, reference: Trace) -> list[Change]:
    """Predicted classes, answers to the first question, reasons to stop and lengths, against a reference."""
    check_alike(trace.query_set, trace.classes, reference)
    if not len(trace):
        raise ValueError("X is a trace of 0 inputs; give at least one")
    changes = []
    predicted = [np.asarray(t.posterior.argmax(axis=1)) for t in (reference, trace)]
    for c, label in enumerate(trace.classes):
        counts = [np.array([(p == c).sum(), (p != c).sum()]) for p in predicted]
        shares = (counts[0][0] / len(reference), counts[1][0] / len(trace))
        changes.append(Change.of(CLASS, str(label), str(label), shares, *counts))
    queries = {int(t.queries[0, 0]) for t in (reference, trace) if t.queries.shape[1]}
    if len(queries) == 1:
        changes.append(_first_answers(trace, reference, queries.pop()))
    elif queries:
        raise ValueError("reference begins with another question than X; give a trace of the same model")
    reasons = sorted({*reference.stopped_because.tolist(), *trace.stopped_because.tolist()})
    stops = [np.array([(t.stopped_because == reason).sum() for reason in reasons]) for t in (reference, trace)]
    changes.append(_most_changed(STOP, "why it stops", [REASONS.get(reason, reason) for reason in reasons], *stops))
    changes.append(_lengths(trace.length, reference.length))
    return changes


def _first_answers(trace: Trace, reference: Trace, query: int) -> Change:
    answers = [first_answers(t) for t in (reference, trace)]
    kinds = sorted({*answers[0], *answers[1]})
    counts = [np.array([found.count(kind) for kind in kinds]) for found in answers]
    said = [trace.query_set.say(query, kind) for kind in kinds]
    return _most_changed(FIRST, trace.query_set.names[query], said, *counts)


def first_answers(trace: Trace) -> list[tuple[int, ...]]:
    """The cells of the first answer of every input that was asked something; nothing but -1 where it is not known."""
    wide = int((trace.query_set.query_atoms[trace.queries[0, 0]] >= 0).sum()) if trace.queries.shape[1] else 0
    return [tuple(answer) for answer in trace.answers[trace.length > 0][:, 0, :wide].tolist()] if wide else []


def _lengths(now: IntArray, before: IntArray) -> Change:
    """Lengths in groups of about the same size, tested at the edges between them, since they have an order."""
    edges = np.unique(np.quantile(np.concatenate([before, now]), GROUPS, method="inverted_cdf"))
    old, new = (np.bincount(np.searchsorted(edges, some), minlength=len(edges) + 1) for some in (before, now))
    above = np.array([[(some > edge).mean() for edge in edges] for some in (before, now)])  # (2, edges)
    most = int(np.abs(above[1] - above[0]).argmax())
    words = f"more than {edges[most]} question{'' if edges[most] == 1 else 's'}"
    splits = (np.arange(len(edges) + 1) > np.arange(len(edges))[:, None]).astype(np.float64)
    return Change.of(LENGTH, "how much it asks", words, (above[0, most], above[1, most]), old, new, splits)


def _most_changed(kind: str, name: str, words: Sequence[str], old: IntArray, new: IntArray) -> Change:
    """Counts of several kinds, with the kind whose share changed most as the example."""
    p, q = old / max(old.sum(), 1), new / max(new.sum(), 1)
    most = len(p) - 1 - int(np.abs(q - p)[::-1].round(12).argmax())  # of two, "yes" is more telling than "no"
    return Change.of(kind, name, words[most], (float(p[most]), float(q[most])), old, new)
