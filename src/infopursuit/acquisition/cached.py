"""A cache of utilities: batches and sessions share their first steps, and with them the work of choosing."""

from __future__ import annotations

import hashlib
from threading import Lock
from typing import Any

import numpy as np
from cachetools import LRUCache

from infopursuit.history import BoolArray, Estimate, Histories
from infopursuit.types import TIE

MAX_BYTES = 64 * 2**20
"""Memory that the utilities of one acquisition function may take; the least recently used are dropped."""


class Cached:
    """An acquisition function that remembers what it returned, by history and allowed queries.

    function: the acquisition function. max_bytes: the memory that may be used.
    """

    def __init__(self, function: Any, max_bytes: int = MAX_BYTES) -> None:
        self.function, self.unit = function, function.unit
        self.exact: bool = getattr(function, "exact", True)
        self.tie: float = getattr(function, "tie", TIE)
        self._lock = Lock()
        self._rows: LRUCache[bytes, tuple[Any, ...]] = LRUCache(max_bytes, getsizeof=lambda row: 200 + row[0].nbytes)

    def __len__(self) -> int:
        return len(self._rows)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._rows.clear()

    def __call__(self, b: Any, h: Histories, allowed: BoolArray) -> Estimate:
        """(H, Q) utilities, computed where they are not known yet."""
        value, error = np.full(allowed.shape, np.nan), np.zeros(allowed.shape)
        tie = np.zeros(len(allowed), dtype=bool)
        wanted = np.flatnonzero(allowed.any(axis=1)).tolist()
        names = {row: _name(h.key(row), allowed[row]) for row in wanted}
        with self._lock:
            known: dict[int, Any] = {row: self._rows.get(name) for row, name in names.items()}
        missing = [row for row in wanted if known[row] is None]
        if missing:
            only = np.zeros_like(allowed)
            only[missing] = allowed[missing]
            found = self.function(b, h, only)
            found_tie = np.zeros(len(allowed), dtype=bool) if found.tie is None else found.tie
            with self._lock:
                for row in missing:
                    at = np.flatnonzero(found.error[row])
                    known[row] = (found.value[row].copy(), at, found.error[row, at], bool(found_tie[row]))
                    if self._rows.getsizeof(known[row]) <= self._rows.maxsize:
                        self._rows[names[row]] = known[row]
        for row, (values, at, errors, tied) in known.items():
            value[row], tie[row], error[row, at] = values, tied, errors
        return Estimate(value, error, tie)


def _name(key: bytes, allowed: BoolArray) -> bytes:
    return hashlib.blake2b(key + b"|" + np.packbits(allowed).tobytes(), digest_size=16).digest()
