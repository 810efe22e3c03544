"""MAP using Q of Table 1: the posterior of a pursuit's own model after the answers to all queries."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from infopursuit.engine import Pursuit
from infopursuit.models.finite import FiniteModel, class_log_sums, log
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, FloatArray, IntArray, Observed

WORK, MIN_INPUTS = 1e11, 100
"""At most so many multiplications, about a minute on one core; but always this many inputs."""
AT_A_TIME, BYTES = 4096, 2**28
"""States and inputs of one matrix product, and the memory of either factor."""
IMPOSSIBLE = 1e30
"""Stands for the infinite cost of an impossible value: 0 * inf is no number."""


def map_using_q(pursuit: Pursuit[Any], values: Any, *, progress: bool | None = None) -> FloatArray:
    """(B', C) the posterior after the answers to all queries, of the first B' inputs; of all where that is affordable.

    values: (B, A) as ``queries.observe(X)`` gives them, or ``queries.read(X)``. Finite models: exact; where the answers
    together cannot be, it is the prior. A VAE: by importance sampling with its encoder.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> pursuit = ip.Pursuit.of(model, ip.queries.concepts(["has wings", "is red"]))
    >>> map_using_q(pursuit, [[1, 0], [0, 1]])[:, 0].round(6).tolist()
    [0.9, 0.1]
    """
    observed = Observed.of(values).take(slice(_affordable(pursuit)))
    values = pursuit.queries.variables.check(observed.values)
    told = told_variables(pursuit.queries)
    if (told == PARTLY).any() or pursuit.model is None or observed.soft is not None:
        return _one_by_one(pursuit, replace(observed, values=values), progress)
    seen = np.where(told == WHOLLY, values, UNKNOWN)
    if hasattr(pursuit.model, "state_probs"):
        memory = min(BYTES, pursuit.memory_limit)
        joint = log_joint(pursuit.model, seen, dtype=np.float64, memory=memory, progress=progress)
        impossible = np.isneginf(joint).all(axis=1)
        joint[impossible] = 0.0
        posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        posterior[impossible] = pursuit.model.class_prior
        return np.asarray(posterior)
    from infopursuit.models.autoencoder import log_evidence

    joint = log_evidence(pursuit.model, seen, seed=pursuit.seed)
    return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))


NEVER, PARTLY, WHOLLY = 0, 1, 2


def told_variables(query_set: QuerySet) -> IntArray:
    """(A,) how much all answers together tell of each variable: nothing, which group of values it has, or its value.

    >>> from infopursuit.queries import patches
    >>> told_variables(patches((1, 3), size=(1, 2), stride=2)).tolist()
    [2, 2, 0]
    """
    sizes = query_set.variables.sizes
    told = np.zeros(len(sizes), dtype=np.int64)
    cells: dict[int, list[IntArray]] = {}
    for query, wide in zip(*np.nonzero(query_set.query_variables >= 0), strict=True):
        variable = int(query_set.query_variables[query, wide])
        cells.setdefault(variable, []).append(query_set.query_cells[query, wide, : sizes[variable]])
    for variable, partitions in cells.items():
        groups = np.unique(np.stack(partitions, axis=1), axis=0)  # values that no answer tells apart are one
        told[variable] = WHOLLY if len(groups) == sizes[variable] else PARTLY
    return told


def _affordable(pursuit: Pursuit[Any]) -> int:
    """How many inputs can be looked at."""
    states = pursuit.model.n_states if hasattr(pursuit.model, "state_probs") else 1
    return max(MIN_INPUTS, int(WORK // (states * pursuit.queries.variables.n_slots)))


def log_joint(
    model: FiniteModel, values: Any, *, dtype: Any = None, memory: int = BYTES, progress: bool | None = None
) -> FloatArray:
    """(B, A) values -> (B, C) log p(y, values) of a finite model, by matrix products; unknown values are left out.

    dtype: of the products; the model's own by default.

    >>> from infopursuit.models import TableModel
    >>> model = TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> np.exp(log_joint(model, [[1, 0], [0, -1]])).round(6).tolist()
    [[0.225, 0.025], [0.05, 0.45]]
    """
    values, dtype = model.variables.check(values), dtype or model.dtype
    found = np.empty((len(values), model.n_classes))
    size = max(1, min(AT_A_TIME, memory // (8 * model.variables.n_slots), math.isqrt(memory // 8)))
    with Progress("all answers known", len(values), show=progress) as shown:
        for start in range(0, len(values), size):
            some = values[start : start + size]
            found[start : start + size] = _log_joint(model, some, size, dtype)
            shown.advance(len(some))
    return found


def _log_joint(model: FiniteModel, values: IntArray, size: int, dtype: Any) -> FloatArray:
    """The same for a few inputs, ``size`` states at a time."""
    total = np.full((len(values), model.n_classes), -np.inf)
    rows, columns = np.nonzero(values != UNKNOWN)
    has = np.zeros((len(values), model.variables.n_slots), dtype=dtype)  # (B, L) 1 for the value of each variable
    has[rows, model.variables.offsets[columns] + values[rows, columns]] = 1.0
    for start in range(0, model.n_states, size):
        some = np.arange(start, min(start + size, model.n_states))
        table = np.maximum(log(model.state_probs(some).astype(dtype)), -IMPOSSIBLE)  # (L, M)
        joint = (has @ table).astype(np.float64) + model.log_prior[some]
        joint[joint < -IMPOSSIBLE / 2] = -np.inf
        offsets = np.clip(model.offsets - start, 0, len(some))
        total = np.logaddexp(total, class_log_sums(joint, offsets))
    return total


def _one_by_one(pursuit: Pursuit[Any], values: Observed, progress: bool | None) -> FloatArray:
    """The same by asking every query in turn, up to an impossible answer: what tells of variables in part has no
    shorter way."""
    found, rows = np.empty((len(values), pursuit.belief.n_classes)), pursuit.rows_at_a_time()
    with Progress("all answers known", len(values), show=progress) as shown:
        for start in range(0, len(values), rows):
            some = values.take(slice(start, start + rows))
            state, place = pursuit.start(), np.zeros(len(some), dtype=np.int64)  # the history that each input is in
            for query in range(len(pursuit.queries)):
                asked = np.full(len(some), query)
                branches, place = pursuit.together(place, asked, *pursuit.queries.told(some, asked))
                state = pursuit.absorb(state, branches, state.watch)
            found[start : start + rows] = state.posterior[place]
            shown.advance(len(some))
    return found
