"""The sufficiency audit: how well a label can be told from an explanation alone, ours or somebody else's.

An explanation is a list of queries. The audit gives their answers, and nothing else, to one generative model, and looks
whether its most probable class is the right one. What was not in the explanation cannot help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.engine import Pursuit
from infopursuit.evaluation.calibration import MIN_PROBABILITY
from infopursuit.evaluation.map_using_q import padded, posteriors_after
from infopursuit.types import UNKNOWN


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
    >>> pursuit = ip.Pursuit.of(model, ip.queries.concepts(["has wings", "is red"]))
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
