"""Joint tables of all answers to a query about several atoms, by the split contraction.

Given the latent state the atoms of a patch are independent, so a pattern's probability is a product. The atoms are
split into two halves; each state has one vector of partial products for each half, and one matrix product over the
states gives all patterns at once: for nine pixels a 16-vector and a 32-vector instead of 512 products of nine
factors.
"""

from __future__ import annotations

import torch
from torch import Tensor


def pattern_joint(weights: Tensor, cells: list[Tensor], bounds: list[tuple[int, int]]) -> Tensor:
    """p(pattern, y) of some queries that have the same numbers of cells.

    weights: (M,) of the states, sorted by class. cells: for each atom of the query (Q, K_w, M), P(cell | state,
    history).
    bounds: the states of each class. Returns (Q, prod K_w, C), patterns in the order of `numpy.ravel_multi_index`.
    """
    half = _split([table.shape[1] for table in cells])
    left = partial_products(cells[:half]) * weights
    right = partial_products(cells[half:]) if half < len(cells) else torch.ones_like(left[:, :1])
    tables = [
        torch.bmm(left[:, :, a:b], right[:, :, a:b].transpose(1, 2)).flatten(1)
        if b > a
        else left.new_zeros((len(left), left.shape[1] * right.shape[1]))
        for a, b in bounds
    ]
    return torch.stack(tables, dim=-1)


def partial_products(cells: list[Tensor]) -> Tensor:
    """(Q, K_w, M) for each of several atoms -> (Q, prod K_w, M), the last atom running fastest."""
    table = cells[0]
    for more in cells[1:]:
        table = (table[:, :, None] * more[:, None]).flatten(1, 2)
    return table


def _split(sizes: list[int]) -> int:
    """Where to cut the atoms so that the two halves have about as many patterns."""
    total, best = torch.tensor(sizes).prod().item(), len(sizes)
    product, least = 1.0, float("inf")
    for cut, size in enumerate(sizes, start=1):
        product *= size
        if product + total / product < least:
            least, best = product + total / product, cut
    return best
