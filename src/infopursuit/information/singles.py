"""Joint tables of one atom and the label, for all atoms and many histories at once, by matrix products."""

from __future__ import annotations

import torch
from torch import Tensor

from infopursuit.models.finite import FAINT, FiniteModel, segments
from infopursuit.queries.queryset import Parts
from infopursuit.types import IntArray

CHUNK = 2**27
"""Bytes of weights that are worked on at a time."""
AT_LEAST, AT_A_TIME = 8, 64
"""Histories whose gains are one product. One of fewer rows, or of hundreds, adds up in another order: the last digit of
a gain would depend on the batch."""


def filled(rows: Tensor, least: int = AT_LEAST) -> Tensor:
    """(H, ...) with at least so many rows, the last one repeated."""
    lacking = least - len(rows)
    return rows if lacking <= 0 else torch.cat([rows, rows[-1:].expand(lacking, *rows.shape[1:])])


def value_joint(weights: Tensor, probs: Tensor, offsets: IntArray) -> Tensor:
    """(H, S) normalised weights, (L, S) atom probabilities -> (H, L, C) p(atom = value, y | history) of atoms not yet
    seen."""
    n_classes, per_class = len(offsets) - 1, int(offsets[1] - offsets[0])
    probs = probs.to(weights.dtype)
    if n_classes * per_class == weights.shape[1] and (offsets[1:] - offsets[:-1] == per_class).all():
        # equal classes: one batched product, (C, H, Z) x (C, Z, L)
        left = weights.reshape(len(weights), n_classes, per_class).transpose(0, 1)
        right = probs.reshape(len(probs), n_classes, per_class).permute(1, 2, 0)
        return torch.bmm(left, right).permute(1, 2, 0)
    return torch.stack([weights[:, a:b] @ probs[:, a:b].T for a, b in segments(offsets)], dim=-1)


def see_evidence(
    joint: Tensor,
    weights: Tensor,
    evidence: Tensor,
    model: FiniteModel,
    slots: slice | None = None,
    wanted: Tensor | None = None,
) -> Tensor:
    """Mend the rows of `value_joint` whose atoms the history has something to say about.

    The weights hold P(what is known of the atom | state) already. An atom that is known becomes an indicator; one
    that is known in part (an earlier threshold on the same column) is conditioned on what is left of it, unless
    ``wanted`` (H, A) says that nobody will look at it.
    """
    span = slots or slice(0, model.atoms.n_slots)
    said = evidence[:, span]
    slot_atom = torch.as_tensor(model.atoms.slot_atom[span], device=joint.device)
    first = int(slot_atom[0])
    n_atoms = int(slot_atom[-1]) - first + 1
    touched = torch.zeros((len(joint), n_atoms), dtype=torch.bool, device=joint.device)
    changed = said != 0
    if not changed.any():
        return joint
    rows, columns = changed.nonzero(as_tuple=True)
    touched[rows, slot_atom[columns] - first] = True
    possible = torch.zeros((len(joint), n_atoms), dtype=torch.int64, device=joint.device)
    possible.index_add_(1, slot_atom - first, said.isfinite().to(torch.int64))
    known = touched & (possible == 1)
    mass = torch.stack([weights[:, a:b].sum(1) for a, b in segments(model.offsets)], dim=-1)  # (H, C)
    row, column = known[:, slot_atom - first].nonzero(as_tuple=True)
    joint = joint.clone()
    joint[row, column] = torch.where(said[row, column, None].isfinite(), mass[row], 0.0)
    partly = touched & ~known
    if wanted is not None:
        partly &= wanted[:, first : first + n_atoms]
    for atom in torch.nonzero(partly.any(dim=0))[:, 0].tolist():
        begin, end = int(model.atoms.offsets[first + atom]), int(model.atoms.offsets[first + atom + 1])
        probs = model.block(slice(begin, end)).to(weights.dtype)  # (V, S)
        histories = torch.nonzero(partly[:, atom])[:, 0]
        size = max(1, CHUNK // (24 * model.n_states))
        for start in range(0, len(histories), size):
            some = histories[start : start + size]
            here = slice(begin - span.start, end - span.start)
            left = rescaled(evidence[some, begin:end])  # (n, V)
            # P(value | state, evidence) = left P / sum(left P): the sum divides the weights, the rest is a product
            total = left @ probs  # (n, S)
            freed = torch.where(total > 0, weights[some] / total.clamp(min=FAINT), 0.0)
            found = value_joint(filled(freed), probs, model.offsets)[: len(some)]
            joint[some, here] = found * left[:, :, None]
            # states may rest on what is nearly excluded
            faint = ((total < FAINT) & (weights[some] > 0)).any(dim=1)
            for h in some[faint].tolist():
                given = condition(probs, evidence[h, begin:end])
                joint[h, here] = value_joint(weights[h, None], given, model.offsets)[0]
    return joint


def condition(probs: Tensor, evidence: Tensor) -> Tensor:
    """(V, S) P(value | state) of one atom -> P(value | state, evidence), 0 in states that the evidence excludes."""
    weighted = probs.to(evidence.dtype) * rescaled(evidence)[:, None]
    total = weighted.sum(0)
    found = torch.where(total > 0, weighted / total, 0.0)
    faint = torch.nonzero(total < FAINT)[:, 0]
    if len(faint):
        logs = probs[:, faint].to(evidence.dtype).log() + evidence[:, None]
        found[:, faint] = torch.softmax(logs, dim=0).nan_to_num(nan=0.0)  # of states that are excluded
    return found.to(probs.dtype)


def rescaled(evidence: Tensor) -> Tensor:
    """(..., V) log-weights of an atom's values as weights, of which the largest is 1: many answers that may be wrong
    leave weights that no float64 holds."""
    return (evidence - evidence.amax(dim=-1, keepdim=True)).exp()


def cell_joint(values: Tensor, parts: Parts, entries: slice, cells: slice, first_slot: int) -> Tensor:
    """(H, l, C) joint tables of values -> (H, cells, C) of the cells that some parts put these values in."""
    slots = torch.as_tensor(parts.entry_slot[entries] - first_slot, device=values.device)
    index = torch.as_tensor(parts.entry_cell[entries] - cells.start, device=values.device)
    joint = torch.zeros(
        (len(values), cells.stop - cells.start, values.shape[2]), dtype=values.dtype, device=values.device
    )
    return joint.index_add_(1, index, values[:, slots])


def part_gains(joint: Tensor, sizes: IntArray) -> Tensor:
    """(H, cells, C) tables of several parts end to end -> (H, P) the gain of each part."""
    total = joint[:, : int(sizes[0])].sum((1, 2))  # the same for every part: it is the weight of the history
    joint = joint / total[:, None, None]
    per_cell = torch.xlogy(joint, joint).sum(2)
    answer = joint.sum(2)
    per_cell = per_cell - torch.xlogy(answer, answer)
    owner = torch.repeat_interleave(
        torch.arange(len(sizes), device=joint.device), torch.as_tensor(sizes, device=joint.device)
    )
    summed = torch.zeros((len(joint), len(sizes)), dtype=joint.dtype, device=joint.device).index_add_(
        1, owner, per_cell
    )
    label = joint[:, : int(sizes[0])].sum(1)  # (H, C)
    return (summed - torch.xlogy(label, label).sum(1, keepdim=True)).clamp(min=0)
