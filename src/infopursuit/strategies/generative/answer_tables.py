"""Joint tables of answers and classes, and the mutual information in them.

One variable at a time, for many histories, by matrix products; several variables at a time by the split contraction:
given the latent state the variables of a query are independent, so that the probability of a pattern is a product. The
variables are split into two halves; each state has one vector of partial products for each half, and one matrix product
over the states gives all patterns at once: for nine pixels a 16-vector and a 32-vector instead of 512 products of nine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.models.finite import FAINT, FiniteModel, segments, softmax
from infopursuit.queries.choices import MAX_ANSWERS
from infopursuit.queries.queryset import Parts, check_joint_answers
from infopursuit.support.types import FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.pursuit.noise import NoiseChannel

CHUNK = 2**27
"""Bytes of weights that are worked on at a time."""
LOWEST = -1e308
"""Stands for the largest log-weight where all values are excluded."""
TINY = 1e-300
"""Added to nothing: probabilities are not below this in a logarithm, which they are then multiplied by."""


def xlogx(p: FloatArray) -> FloatArray:
    """p log p, 0 for 0."""
    logs = np.log(np.maximum(p, TINY))
    logs *= p
    return logs


def entropy(p: FloatArray, axis: int = -1) -> FloatArray:
    """H(p) = -sum p log p over one axis, in nats.

    >>> round(float(entropy(np.array([0.5, 0.5]))), 4)
    0.6931
    """
    return np.asarray(-xlogx(np.asarray(p)).sum(axis))


def mutual_information(joint: FloatArray) -> FloatArray:
    """I(answer; Y) from p(answer, y), eq. 18: (..., K, C) -> (...). The table need not be normalised.

    >>> round(float(mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]]))), 4)
    0.6931
    """
    joint = joint / joint.sum(axis=(-1, -2), keepdims=True)
    terms = xlogx(joint).sum(axis=(-1, -2)) + entropy(joint.sum(-1)) + entropy(joint.sum(-2))
    return np.asarray(np.maximum(terms, 0.0))


# ---- one variable at a time, many histories -------------------------------------------------------------------------


def value_joint(weights: FloatArray, probs: FloatArray, offsets: IntArray) -> FloatArray:
    """(H, S) normalised weights, (L, S) probabilities of values -> (H, L, C) p(variable = value, y | history) of
    variables of which nothing is known."""
    n_classes, per_class = len(offsets) - 1, int(offsets[1] - offsets[0])
    if n_classes * per_class == weights.shape[1] and (np.diff(offsets) == per_class).all():
        if per_class == 1:
            return np.asarray(weights[:, None, :] * probs[None])
        # equal classes: one batched product, (C, H, Z) x (C, Z, L)
        left = weights.reshape(len(weights), n_classes, per_class).transpose(1, 0, 2)
        right = probs.reshape(len(probs), n_classes, per_class).transpose(1, 2, 0)
        return np.asarray(np.matmul(left, right).transpose(1, 2, 0))
    return np.stack([weights[:, a:b] @ probs[:, a:b].T for a, b in segments(offsets)], axis=-1)


def see_evidence(
    joint: FloatArray, weights: FloatArray, evidence: FloatArray, model: FiniteModel, slots: slice, wanted: Any = None
) -> FloatArray:
    """Correct the rows of `value_joint` whose variables there is evidence on, in place: one that is known becomes
    an indicator; one that is known in part (an earlier threshold on the same column) is conditioned on what is left of
    it, unless ``wanted`` (H, A) says that no query looks at it."""
    said = evidence[:, slots]
    changed = said != 0
    if not changed.any():
        return joint
    slot_variable = model.variables.slot_variable[slots]
    first = int(slot_variable[0])
    starts = model.variables.offsets[first : slot_variable[-1] + 1] - slots.start
    touched = np.logical_or.reduceat(changed, starts, axis=1)  # (H, a)
    known = touched & (np.add.reduceat(np.isfinite(said), starts, axis=1, dtype=np.int64) == 1)
    mass = np.stack([weights[:, a:b].sum(1) for a, b in segments(model.offsets)], axis=-1)  # (H, C)
    row, column = known[:, slot_variable - first].nonzero()
    joint[row, column] = np.where(np.isfinite(said[row, column, None]), mass[row], 0.0)
    partly = touched & ~known
    if wanted is not None:
        partly &= wanted[:, first : first + partly.shape[1]]
    for variable in np.flatnonzero(partly.any(axis=0)).tolist():
        begin, end = int(model.variables.offsets[first + variable]), int(model.variables.offsets[first + variable + 1])
        probs = model.block(slice(begin, end)).astype(np.float64, copy=False)  # (V, S)
        histories = np.flatnonzero(partly[:, variable])
        size = max(1, CHUNK // (24 * model.n_states))
        for start in range(0, len(histories), size):
            some = histories[start : start + size]
            here = slice(begin - slots.start, end - slots.start)
            left = rescaled(evidence[some, begin:end])  # (n, V)
            # P(value | state, evidence) = left P / sum(left P): the sum divides the weights, the rest is a product
            total = left @ probs  # (n, S)
            freed = np.where(total > 0, weights[some] / np.maximum(total, FAINT), 0.0)
            joint[some, here] = value_joint(freed, probs, model.offsets) * left[:, :, None]
            # states may rest on what is nearly excluded
            for h in some[((total < FAINT) & (weights[some] > 0)).any(axis=1)].tolist():
                given = condition(probs, evidence[h, begin:end])
                joint[h, here] = value_joint(weights[h, None], given, model.offsets)[0]
    return joint


def condition(probs: FloatArray, evidence: FloatArray) -> FloatArray:
    """(V, S) P(value | state) of one variable -> P(value | state, evidence), 0 in states that it excludes."""
    weighted = probs * rescaled(evidence)[:, None]
    total = weighted.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(total > 0, weighted / total, 0.0)
        faint = np.flatnonzero(total < FAINT)
        if len(faint):
            logs = np.log(probs[:, faint]) + evidence[:, None]
            found[:, faint] = np.nan_to_num(softmax(logs, axis=0), nan=0.0)  # of states that are excluded
    return found


def rescaled(evidence: FloatArray) -> FloatArray:
    """(..., V) log-weights of a variable's values as weights, of which the largest is 1, or all are 0: many noisy
    answers leave weights that no float64 holds."""
    return np.asarray(np.exp(evidence - np.maximum(evidence.max(axis=-1, keepdims=True), LOWEST)))


def cell_joint(values: FloatArray, parts: Parts, entries: slice, cells: slice, first_slot: int) -> FloatArray:
    """(H, l, C) joint tables of values -> (H, cells, C) of the cells that some parts put these values in."""
    slots, index = parts.entry_slot[entries] - first_slot, parts.entry_cell[entries] - cells.start
    return _summed(values[:, slots], index, cells.stop - cells.start, axis=1)


def _summed(values: FloatArray, index: IntArray, n: int, axis: int) -> FloatArray:
    """Sums of the entries of one axis that share an index, 0 for an index that none has."""
    order = np.argsort(index, kind="stable")
    used, starts = np.unique(index[order], return_index=True)
    sums = np.add.reduceat(np.take(values, order, axis=axis), starts, axis=axis)
    if len(used) == n:
        return sums
    found = np.zeros((*values.shape[:axis], n, *values.shape[axis + 1 :]))
    found[(slice(None),) * axis + (used,)] = sums
    return found


def part_gains(joint: FloatArray, sizes: IntArray) -> FloatArray:
    """(H, cells, C) tables of several parts end to end -> (H, P) the mutual information of each part."""
    total = joint[:, : int(sizes[0])].sum(axis=(1, 2))  # the same for every part: it is the weight of the history
    joint = joint / total[:, None, None]
    per_cell = xlogx(joint).sum(2) - xlogx(joint.sum(2))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    label = joint[:, : int(sizes[0])].sum(1)  # (H, C)
    return np.asarray(np.maximum(np.add.reduceat(per_cell, starts, axis=1) + entropy(label)[:, None], 0.0))


def noisy_cells(cells: FloatArray, noise: NoiseChannel, begin: int = 0, end: int | None = None) -> FloatArray:
    """P(said) from P(true), for the parts ``begin`` to ``end``: sum over true cells of P(said | true) P(true).

    cells: (cells of these parts, M), any M; the same shape comes out.
    """
    parts = noise.parts
    end = len(parts.variable) if end is None else end
    said = np.empty_like(cells)
    first = int(parts.offsets[begin])
    for kind in np.unique(parts.kind[begin:end]):
        table = noise.confusion_matrices[kind]  # (true, said)
        mine = begin + np.flatnonzero(parts.kind[begin:end] == kind)
        index = parts.offsets[mine, None] - first + np.arange(len(table))
        said[index.ravel()] = np.matmul(table.T, cells[index]).reshape(index.size, -1)
    return said


# ---- several variables at a time, one history -----------------------------------------------------------------------


def pattern_joint(weights: FloatArray, cells: list[FloatArray], bounds: list[tuple[int, int]]) -> FloatArray:
    """p(pattern, y) of some queries that have the same numbers of cells.

    weights: (M,) of the states, sorted by class. cells: for each variable of the query (Q, K_w, M), P(cell | state,
    history). bounds: the states of each class. Returns (Q, prod K_w, C), patterns in the order of
    `numpy.ravel_multi_index`.
    """
    half = _split([table.shape[1] for table in cells])
    left = partial_products(cells[:half]) * weights
    right = partial_products(cells[half:]) if half < len(cells) else np.ones_like(left[:, :1])
    tables = [np.matmul(left[:, :, a:b], right[:, :, a:b].transpose(0, 2, 1)).reshape(len(left), -1) for a, b in bounds]
    return np.stack(tables, axis=-1)


def partial_products(cells: list[FloatArray]) -> FloatArray:
    """(Q, K_w, M) for each of several variables -> (Q, prod K_w, M), the last variable running fastest."""
    table = cells[0]
    for more in cells[1:]:
        table = (table[:, :, None] * more[:, None]).reshape(len(table), -1, table.shape[2])
    return table


def _split(sizes: list[int]) -> int:
    """Where to cut the variables so that the two halves have about as many patterns."""
    left = np.cumprod(np.asarray(sizes, dtype=np.float64))
    return int(np.argmin(left + left[-1] / left)) + 1


def conditioned(table: FloatArray, model: FiniteModel, evidence: FloatArray) -> FloatArray:
    """(L, M) P(value | state) -> P(value | state, evidence); may change the table in place."""
    changed = np.flatnonzero(evidence != 0)
    if not len(changed):
        return table
    variables, possible = model.variables, np.isfinite(evidence)
    touched = np.unique(variables.slot_variable[changed])
    n_possible = np.add.reduceat(possible.astype(np.int64), variables.offsets[:-1])[touched]
    known = np.isin(variables.slot_variable, touched[n_possible == 1])
    table[known] = possible[known, None]
    for variable in touched[n_possible > 1].tolist():
        here = slice(int(variables.offsets[variable]), int(variables.offsets[variable + 1]))
        table[here] = condition(table[here], evidence[here])
    return table


def part_cells(table: FloatArray, parts: Parts) -> FloatArray:
    """(L, M) probabilities of values -> (cells of all parts, M)."""
    if parts.plain:  # variables that no query asks about may follow those that one does
        return table[: int(parts.offsets[-1])]
    return _summed(table[parts.entry_slot], parts.entry_cell, int(parts.offsets[-1]), axis=0)


def query_tables(queries: IntArray, sizes: tuple[int, ...], cells: FloatArray, parts: Parts) -> list[FloatArray]:
    """For each variable of some like queries (Q, K_w, M): P(cell | state, history)."""
    first = parts.offsets[parts.query_part[queries]]  # (Q, W)
    return [cells[first[:, w, None] + np.arange(size)] for w, size in enumerate(sizes)]


def answer_distribution(belief: Any, b: Any, query: int) -> FloatArray:
    """(H, answers) p(answer | history) of one query, on the latent states of a belief; NaN where the history is
    impossible."""
    queries, found, sizes = belief.queries, [], belief.queries.cell_counts(query)
    if queries.n_answers[query] > MAX_ANSWERS:
        check_joint_answers(queries, "their distribution has an entry for each")
    for h in range(len(b)):
        model, log_weights, evidence = belief.latent_states(b, h)
        weights = softmax(log_weights)
        states = np.flatnonzero(weights > 0)
        if not len(states):
            found.append(np.full(int(np.prod(sizes)), np.nan))
            continue
        cells = part_cells(conditioned(model.state_probs(states).astype(np.float64), model, evidence), queries.parts)
        of_query = query_tables(np.array([query]), sizes, cells, queries.parts)
        found.append(pattern_joint(weights[states], of_query, [(0, len(states))])[0, :, 0])
    return np.stack(found)
