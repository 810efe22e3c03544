"""Draws that resemble each other, next to each other: what is unlikely is then unlikely together."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import segments
from infopursuit.types import FloatArray, IntArray

LOOKED_AT, DIRECTIONS = 1500, 16
"""Draws of each class from which the directions are found in which draws differ most, and how many of those."""


def alike(by_state: Tensor, offsets: IntArray, size: int) -> IntArray:
    """(S,) the states in a new order, each class where it was: runs of ``size`` are alike.

    by_state: (S, A) what each draw looks like. A class is cut in two across the direction in which it is widest, and
    the halves again, down to runs of that size.
    """
    generator = torch.Generator().manual_seed(0)
    order = np.arange(len(by_state))
    for begin, end in segments(offsets):
        if end - begin > size:
            order[begin:end] = begin + _in_runs(_places(by_state[begin:end], generator), size)
    return order


def _places(table: Tensor, generator: torch.Generator) -> FloatArray:
    """(n, A) -> (n, d) coordinates along the directions in which some of the rows differ most."""
    some = table[torch.linspace(0, len(table) - 1, min(len(table), LOOKED_AT)).long()]
    mean = some.mean(0)
    n_directions = min(DIRECTIONS, *some.shape)
    # one round of a randomised search for the leading directions: they need not be exact
    random = torch.randn((some.shape[1], n_directions), generator=generator, dtype=torch.float32)
    found, _ = torch.linalg.qr((some - mean).T @ ((some - mean) @ random.to(table)))
    spread = ((some - mean) @ found).T.cov().reshape(n_directions, n_directions)  # of one direction it is a number
    _, turn = torch.linalg.eigh(spread)
    return np.asarray(((table - mean) @ (found @ turn)).cpu().numpy())


def _in_runs(places: FloatArray, size: int) -> IntArray:
    """(n, d) -> (n,) an order in which runs of ``size`` lie close together."""
    done, waiting = [], [np.arange(len(places))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= size:
            done.append(rows)
            continue
        cut = (-(-len(rows) // size) // 2) * size  # whole runs to one side
        here = places[rows]
        half = np.argpartition(here[:, np.argmax(here.var(axis=0))], cut)
        waiting += [rows[half[cut:]], rows[half[:cut]]]
    return np.concatenate(done)
