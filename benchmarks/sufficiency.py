"""The sufficiency audit: how well a label can be told from an explanation alone, ours or somebody else's.

An explanation is a list of queries. The audit gives their answers, and nothing else, to one generative model, and looks
whether its most probable class is the right one. What was not in the explanation cannot help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.evaluation.measures import MIN_PROBABILITY
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.state import Branches
from infopursuit.support.progress import Progress
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray


@dataclass(frozen=True)
class Audit:
    """How sufficient the explanations of some inputs are under one model.

    accuracy: of the most probable class; accuracy_error its standard error. log_loss: mean of -log p(label), nats.
    confidence: mean of the largest posterior. n_queries: mean length of an explanation. n_impossible: inputs with an
    answer that the model holds to be impossible, judged by what came before it.
    """

    accuracy: float
    accuracy_error: float
    log_loss: float
    confidence: float
    n_queries: float
    n_inputs: int
    n_impossible: int


def audit(pursuit: Pursuit[Any], values: Any, queries: Any, labels: Any, *, progress: bool | None = None) -> Audit:
    """Judge explanations by the labels that follow from them.

    Parameters
    ----------
    pursuit: has the model, the queries and the posterior; its stopping rule plays no part.
    values: (B, A) the inputs' variables, as ``queries.observe(X)`` gives them.
    queries: for each input the indices of its queries: a list of lists, or (B, K) padded with -1 as in a trace.
    labels: (B,) the right labels; give a black box's predictions to audit explanations as explanations of *it*.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> pursuit = ip.generative_pursuit(model, ip.queries.concepts(["has wings", "is red"]))
    >>> round(audit(pursuit, [[1, 0], [0, 0]], [[0], [0]], [0, 1]).confidence, 6)
    0.9
    >>> audit(pursuit, [[1, 0], [0, 0]], [[1], [1]], [0, 1]).accuracy
    0.5
    """
    posterior, impossible = posteriors_after(pursuit, values, queries, progress=progress)
    labels = np.asarray(labels)
    if labels.shape != (len(posterior),):
        raise ValueError(f"labels has shape {labels.shape}; expected ({len(posterior)},), one for each input")
    if not len(labels):
        raise ValueError("values has no rows; give at least one input")
    strange = ~np.isin(labels, pursuit.classes)
    if strange.any():
        raise ValueError(
            f"labels holds {labels[strange].tolist()[0]!r}, which is no class of the model; its classes are "
            f"{', '.join(repr(c) for c in pursuit.classes.tolist()[:10])}"
        )
    # p: (B,) the posterior of the right label
    p = posterior[np.arange(len(labels)), np.argmax(labels[:, None] == pursuit.classes, axis=1)]
    accuracy = float((pursuit.classes[posterior.argmax(axis=1)] == labels).mean())
    return Audit(
        accuracy=accuracy,
        accuracy_error=float(np.sqrt(accuracy * (1 - accuracy) / len(labels))),
        log_loss=float(-np.log(np.maximum(p, MIN_PROBABILITY)).mean()),
        confidence=float(posterior.max(axis=1).mean()),
        n_queries=float((padded(queries, len(labels), len(pursuit.queries)) != UNKNOWN).sum(axis=1).mean()),
        n_inputs=len(labels),
        n_impossible=int(impossible.sum()),
    )


def posteriors_after(
    pursuit: Pursuit[Any], values: Any, queries: Any, *, progress: bool | None = None
) -> tuple[FloatArray, Any]:
    """(B, C) the posterior of each input after the answers to its own queries, in the order given, and (B,) whether one
    of them was impossible; then it is the posterior of the answers before.

    Inputs with the same answers to the same queries share a history, as in a pursuit; for its own queries this gives
    its own posterior, draws included. As many at a time as the memory limit allows.
    """
    values = pursuit.queries.variables.check(values)
    asked = padded(queries, len(values), len(pursuit.queries))
    found = np.empty((len(values), pursuit.belief.n_classes))
    impossible = np.zeros(len(values), dtype=bool)
    rows = pursuit.rows_at_a_time()
    # inputs that begin with the same queries lie together, and share more
    order = np.lexsort(asked.T[::-1]) if asked.shape[1] else np.arange(len(asked))
    with Progress("auditing", len(values), show=progress) as shown:
        for start in range(0, len(values), rows):
            some = order[start : start + rows]
            found[some], impossible[some] = _some_posteriors(pursuit, values[some], asked[some])
            shown.advance(len(some))
    return found, impossible


def _some_posteriors(pursuit: Pursuit[Any], values: IntArray, asked: IntArray) -> tuple[FloatArray, Any]:
    state = pursuit.start()
    inputs, place = np.arange(len(values)), np.zeros(len(values), dtype=np.int64)  # the history that each input is in
    found = np.empty((len(values), pursuit.belief.n_classes))
    impossible = np.zeros(len(values), dtype=bool)
    length = (asked != UNKNOWN).sum(axis=1)
    for k in range(asked.shape[1] + 1):
        found[inputs], impossible[inputs] = state.posterior[place], state.impossible[place]
        going = (length[inputs] > k) & ~impossible[inputs]
        inputs, place = inputs[going], place[going]
        if not len(inputs):
            break
        query = asked[inputs, k]
        answers = pursuit.queries.answers_of(values[inputs], query)
        steps = np.concatenate([place[:, None], query[:, None], answers], axis=1)
        together, place = np.unique(steps, axis=0, return_inverse=True)
        place = place.ravel()
        state = pursuit.absorb(state, Branches(together[:, 0], together[:, 1], together[:, 2:]), state.watch)
    return found, impossible


def padded(queries: Any, n_inputs: int, n_queries: int) -> IntArray:
    """(B, K) query indices, padded with -1 at the end."""
    lists: Sequence[Any] = [np.asarray(row, dtype=np.int64).ravel() for row in queries]
    if len(lists) != n_inputs:
        raise ValueError(f"queries has {len(lists)} rows for {n_inputs} inputs; give a list of queries for each input")
    padded = np.full((n_inputs, max((len(row) for row in lists), default=0)), UNKNOWN, dtype=np.int64)
    for i, row in enumerate(lists):
        padded[i, : len(row)] = row
    bad = (padded < UNKNOWN) | (padded >= n_queries)
    if bad.any():
        i, k = np.argwhere(bad)[0]
        raise ValueError(f"queries[{i}][{k}] is {padded[i, k]}; queries are numbered 0 to {n_queries - 1}")
    gaps = (padded[:, :-1] == UNKNOWN) & (padded[:, 1:] != UNKNOWN)
    if gaps.any():
        i, k = np.argwhere(gaps)[0]
        raise ValueError(f"queries[{i}][{k}] is -1 with a query after it; padding must come last")
    return padded
