"""From what holds to what is said: answers that may be wrong."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from infopursuit.noise import NoiseChannel


def hear(cells: Tensor, channel: NoiseChannel, begin: int = 0, end: int | None = None) -> Tensor:
    """P(said) from P(holds), for the parts ``begin`` to ``end``: sum over true cells of P(said | true) P(true).

    cells: (cells of these parts, M), any M; the same shape comes out.
    """
    parts = channel.parts
    end = len(parts.atom) if end is None else end
    said = torch.empty_like(cells)
    first = int(parts.offsets[begin])
    for kind in np.unique(parts.kind[begin:end]):
        table = torch.as_tensor(channel.confusion_matrices[kind], dtype=cells.dtype, device=cells.device)
        mine = begin + np.flatnonzero(parts.kind[begin:end] == kind)
        index = torch.as_tensor(parts.offsets[mine, None] - first + np.arange(len(table)), device=cells.device)
        said[index.flatten()] = torch.einsum("pkm,kr->prm", cells[index], table).flatten(0, 1)
    return said
