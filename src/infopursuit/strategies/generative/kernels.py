"""Compiled loops over blocks of states: what an answer does to their weights."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import numpy as np

from infopursuit.support.lazy import is_installed
from infopursuit.support.types import UNKNOWN

logger = logging.getLogger(__name__)


def check_numba() -> None:
    """`ImportError` where the compiler of the kernels is not installed."""
    if not is_installed("numba"):
        raise ImportError(
            "pruned enumeration (belief='pruned', and sampling with many particles) needs numba; "
            "pip install 'infopursuit[images]'"
        )


def compiled(function: Any) -> Any:
    """Compile a function when it is first used, and keep the code for the next process where that is possible.

    Sums may be added up in any order, so that they use the whole width of the processor; not-a-number stays what it is.
    Without Python's lock: histories are worked on side by side. Without numba the function stays as it is, and is never
    called, because `PrunedBelief` refuses to be built.
    """
    try:
        from numba import njit
    except ModuleNotFoundError:
        return function

    options: Any = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz", "arcp"}}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # numba's word for: neither beside the source, nor in the home folder, nor in NUMBA_CACHE_DIR
        not_kept()
        return njit(**options)(function)


@cache
def not_kept() -> None:
    """Say once that compiled code is lost with the process."""
    logger.warning("compiled code cannot be kept, and each start compiles it anew, which takes half a minute: "
                   "set NUMBA_CACHE_DIR to a folder that can be written to")  # fmt: skip


FAINTEST = 1e-37
"""Weights below this, of a total of one before the answer, are nothing: a float32 can hardly tell them from it."""
SPAN = 16
"""Blocks of states that are worked on for one history before the next one's turn."""
FACTORS = 5
"""Probabilities whose product a float32 holds, none of which is below 1e-6."""
DOUBLES, TOGETHER = 40, 2048
"""The same for a float64; and states whose products stay in the cache."""
ONE = np.float32(1)


@compiled
def reweigh(
    rows, parents, before, before_begin, before_end, before_blocks, before_starts, totals, table, slots, bounds,
    block_class, after, begin, end, blocks, starts, sums, squares, class_sums, class_squares,
):  # fmt: skip
    """Multiply the weights of each history by the probabilities of the values that it has seen last.

    rows: the histories to work on, best with those next to each other that have seen the same variables. parents: (H,)
    rows of the weights before. table: (A, S) P(yes). slots: (H, N) 2 a for "no" to variable a, 2 a + 1 for "yes", else
    -1. bounds: (B + 1,) of the blocks. See `BlockWeights`.
    """
    n_rows = len(rows)
    at = np.empty(n_rows, np.int64)
    for i in range(n_rows):
        h = rows[i]
        at[i] = before_begin[parents[h]]
        class_sums[h] = 0.0
        class_squares[h] = 0.0
        end[h] = begin[h]
    longest = (bounds[1:] - bounds[:-1]).max()
    space, product = np.empty(longest, np.float32), np.empty(longest, np.float64)
    for span in range(0, len(block_class), SPAN):
        for i in range(n_rows):  # some states for all histories: what is read of the table stays in the cache
            h = rows[i]
            parent = parents[h]
            scale = 1.0 / totals[parent]
            while at[i] < before_end[parent] and before_blocks[at[i]] < span + SPAN:
                block, start = before_blocks[at[i]], before_starts[at[i]]
                low, high = bounds[block], bounds[block + 1]
                n, place = high - low, end[h]
                here, there = np.uintp(start), np.uintp(starts[place])
                for j in range(np.uintp(n)):
                    product[j] = scale * before[here + j]
                _times(product, space, table, slots[h], low, high)
                total, square = 0.0, 0.0
                for j in range(np.uintp(n)):
                    v = product[j] if product[j] > FAINTEST else 0.0
                    after[there + j] = np.float32(v)
                    total += v
                    square += v * v
                blocks[place], sums[place], squares[place] = block, total, square
                class_sums[h, block_class[block]] += total
                class_squares[h, block_class[block]] += square
                starts[place + 1] = starts[place] + n
                end[h] = place + 1
                at[i] += 1


@compiled
def _times(product, space, table, slots, low, high):
    """Multiply by the probabilities of some values."""
    # indices without a sign are never taken from the end: only then do the loops use the width of the processor
    first, n = np.uintp(low), np.uintp(high - low)
    for k in range(len(slots)):
        slot = slots[k]
        # the factor is P(yes), 1 - P(yes), or 1 for nothing
        base, sign = np.float32(1 - slot % 2), np.float32(2 * (slot % 2) - 1)
        if slot == UNKNOWN:
            base, sign, slot = np.float32(1), np.float32(0), 0
        row = np.uintp(slot // 2)
        if k % FACTORS == 0:
            for j in range(n):
                space[j] = base + sign * table[row, first + j]
        else:
            for j in range(n):
                space[j] *= base + sign * table[row, first + j]
        if k % FACTORS == FACTORS - 1 or k + 1 == len(slots):
            for j in range(n):
                product[j] *= space[j]


@compiled
def prune(rows, share, begin, end, blocks, starts, sums, squares, block_class, class_sums, class_squares, pruned):
    """Drop the lightest blocks of each history, which have at most some share of its weight together; it stays with
    their classes."""
    for h in rows:
        total = class_sums[h].sum()
        cut = 16 * share * total / max(end[h] - begin[h], 1)
        while True:
            gone = 0.0
            for k in range(begin[h], end[h]):
                if sums[k] < cut:
                    gone += sums[k]
            if gone <= share * total:
                break
            cut /= 4
        kept = begin[h]
        class_sums[h], class_squares[h] = 0.0, 0.0  # added up anew: what rounding leaves of a difference is no weight
        for k in range(begin[h], end[h]):
            c = block_class[blocks[k]]
            if sums[k] < cut:
                pruned[h, c] += sums[k] / total
            else:
                class_sums[h, c] += sums[k]
                class_squares[h, c] += squares[k]
                blocks[kept], starts[kept], sums[kept] = blocks[k], starts[k], sums[k]
                kept += 1
        end[h] = kept


@compiled
def add_log_likelihood(table, slots, into):
    """Add to (S,) log-weights the logarithms of the probabilities of some values, see `reweigh`; many to a logarithm,
    which a float64 holds since none is below 1e-6."""
    n_states = np.uintp(len(into))
    space = np.empty(TOGETHER, np.float64)
    for start in range(np.uintp(0), n_states, np.uintp(TOGETHER)):
        n = min(np.uintp(TOGETHER), n_states - start)
        for i in range(n):
            space[i] = 1.0
        for k in range(len(slots)):
            variable, yes = np.uintp(slots[k] // 2), slots[k] % 2 == 1
            for i in range(n):
                p = table[variable, start + i]
                space[i] *= p if yes else ONE - p
            if (k + 1) % DOUBLES == 0 or k + 1 == len(slots):
                for i in range(n):
                    into[start + i] += np.log(space[i])
                    space[i] = 1.0
