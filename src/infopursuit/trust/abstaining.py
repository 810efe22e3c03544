"""No label where none can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.stopping import SLACK, Confidence, Rule
from infopursuit.trace import Trace


def doubtful(trace: Trace, stopping: Rule, alpha: float) -> Any:
    """(B,) which labels not to trust: those of inputs with p-values up to alpha, of impossible answers, and of pursuits
    that ended before the confidence that was asked for was reached."""
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha={alpha!r}; expected a probability, such as 0.05")
    wanted = [1 - rule.epsilon for rule in stopping.rules if isinstance(rule, Confidence)]
    unsure = trace.posterior.max(axis=1) < min(wanted, default=0.0) - SLACK
    unlike = np.zeros(len(trace), dtype=bool) if trace.p_values is None else trace.p_values <= alpha
    return unsure | unlike | (trace.stopped_because == "impossible")


def label_or(trace: Trace, stopping: Rule, abstain: Any, alpha: float) -> Any:
    """(B,) the predictions, and ``abstain`` in the place of doubtful ones."""
    labels = np.asarray(trace.predictions)
    same = np.asarray(abstain).dtype.kind == labels.dtype.kind
    found = labels.astype(np.result_type(labels, np.asarray(abstain))) if same else labels.astype(object)
    found[doubtful(trace, stopping, alpha)] = abstain
    return found
