"""MAP using Q of Table 1: the posterior of the pursuit's own model after the answers to all queries."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.engine import Pursuit
from infopursuit.evaluation.sufficiency import posteriors_after
from infopursuit.models.autoencoder import log_evidence
from infopursuit.models.finite import FiniteModel, class_log_sums
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, FloatArray, IntArray

WORK, FEWEST = 1e11, 100
"""Products that are taken at the most, about a minute on one core; and of how many inputs always."""
AT_A_TIME = 2**22
"""Probabilities that are looked at together."""


def map_using_q(pursuit: Pursuit, values: Any, *, progress: bool | None = None) -> FloatArray:
    """(B', C) the posterior after the answers to all queries, of the first B' inputs; of all where that is affordable.

    values: (B, A) as ``queries.observe(X)`` gives them. Finite models: exact; where the answers together cannot be, it
    is the prior. A VAE: by importance sampling with its encoder.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> pursuit = ip.Pursuit(model, ip.queries.concepts(["has wings", "is red"]))
    >>> map_using_q(pursuit, [[1, 0], [0, 1]])[:, 0].round(6).tolist()
    [0.9, 0.1]
    """
    values = pursuit.queries.atoms.check(values)[: _affordable(pursuit)]
    told = told_atoms(pursuit.queries)
    if (told == PARTLY).any():
        every = np.broadcast_to(np.arange(len(pursuit.queries)), (len(values), len(pursuit.queries)))
        return posteriors_after(pursuit, values, every, progress=progress)[0]
    seen = np.where(told == WHOLLY, values, UNKNOWN)
    if isinstance(pursuit.model, FiniteModel):
        return _finite(pursuit.model, seen, pursuit.budget, progress)
    joint = log_evidence(pursuit.model, seen, seed=pursuit.seed)
    return np.asarray(np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)))


NEVER, PARTLY, WHOLLY = 0, 1, 2


def told_atoms(query_set: QuerySet) -> IntArray:
    """(A,) how much all answers together tell of each atom: nothing, which group of values it has, or its value.

    >>> from infopursuit.queries import patches
    >>> told_atoms(patches((1, 3), size=(1, 2), stride=2)).tolist()
    [2, 2, 0]
    """
    sizes = query_set.atoms.sizes
    told = np.zeros(len(sizes), dtype=np.int64)
    cells: dict[int, list[IntArray]] = {}
    for query, wide in zip(*np.nonzero(query_set.query_atoms >= 0), strict=True):
        atom = int(query_set.query_atoms[query, wide])
        cells.setdefault(atom, []).append(query_set.query_cells[query, wide, : sizes[atom]])
    for atom, partitions in cells.items():
        groups = np.unique(np.stack(partitions, axis=1), axis=0)  # values that no answer tells apart are one
        told[atom] = WHOLLY if len(groups) == sizes[atom] else PARTLY
    return told


def _affordable(pursuit: Pursuit) -> int:
    """How many inputs can be looked at."""
    states = pursuit.model.n_states if isinstance(pursuit.model, FiniteModel) else 1
    return max(FEWEST, int(WORK // (states * pursuit.queries.atoms.n_slots)))


def _finite(model: FiniteModel, values: IntArray, budget: int, progress: bool | None) -> FloatArray:
    found = np.empty((len(values), model.n_classes))
    rows = max(1, budget // (16 * model.n_states))
    with Progress("asking all", len(values), show=progress) as shown:
        for start in range(0, len(values), rows):
            some = values[start : start + rows]
            joint = class_log_sums(_log_weights(model, some), model.offsets)
            found[start : start + rows] = (joint - torch.logsumexp(joint, dim=1, keepdim=True)).exp().cpu().numpy()
            shown.advance(len(some))
    impossible = np.isnan(found).any(axis=1)
    found[impossible] = model.class_prior
    return found


def _log_weights(model: FiniteModel, values: IntArray) -> Tensor:
    """(B, S) log p(y, z, the known values) as products of matrices: which value each input has, and its log."""
    atoms = model.atoms
    weights = model.log_prior.expand(len(values), -1).clone()
    step = max(1, AT_A_TIME // model.n_states)
    for start in range(0, atoms.n_slots, step):
        slots = np.arange(start, min(start + step, atoms.n_slots))
        owner = atoms.slot_atom[slots]
        has = torch.as_tensor(values[:, owner] == slots - atoms.offsets[owner], device=model.device)  # (B, l)
        logs = model.block(slice(start, int(slots[-1]) + 1)).to(torch.float64).log()  # (l, S)
        never = logs == -torch.inf
        weights += has.to(torch.float64) @ logs.masked_fill_(never, 0.0)
        if never.any():
            weights[(has.to(torch.float64) @ never.to(torch.float64)) > 0] = -torch.inf
    return weights
