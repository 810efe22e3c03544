"""What pursuits with the same parts share: the bound acquisition function, and a cache of its utilities."""

from __future__ import annotations

import hashlib
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from cachetools import LRUCache

from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Acquisition, Belief, Budget, Estimate

if TYPE_CHECKING:
    from infopursuit.pursuit.loop import Pursuit

MAX_BYTES = 64 * 2**20
"""Memory that the utilities of one acquisition function may take; the least recently used are dropped."""
ROW_BYTES = 640
"""What a remembered row takes beside its numbers: three arrays, a key, and its places in the cache."""


class Cached:
    """An acquisition function that remembers what it returned, by history, allowed queries and, if used, budget."""

    def __init__(self, function: Acquisition[Any], max_bytes: int = MAX_BYTES) -> None:
        self.function = function
        self.unit = function.unit
        self.is_exact = function.is_exact
        self.tie = function.tie
        self._lock = Lock()
        self._rows: LRUCache[bytes, tuple[Any, ...]] = LRUCache(max_bytes, getsizeof=_size)

    def __len__(self) -> int:
        return len(self._rows)

    def clear(self, max_bytes: int | None = None) -> None:
        """Forget everything. max_bytes: what may be remembered from now on, as before where it is left out."""
        with self._lock:
            self._rows = LRUCache(self._rows.maxsize if max_bytes is None else max_bytes, getsizeof=_size)

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) utilities, computed where they are not known yet."""
        wanted = np.flatnonzero(allowed.any(axis=1)).tolist()
        names = self._names(wanted, histories, allowed, budget)
        with self._lock:
            known: dict[int, Any] = {row: self._rows.get(name) for row, name in names.items()}
        missing = [row for row in wanted if known[row] is None]
        if not missing:
            value, error = np.full(allowed.shape, np.nan), np.zeros(allowed.shape)
            tie = np.zeros(len(allowed), dtype=bool)
        else:
            only = allowed
            if len(missing) < len(wanted):
                only = np.zeros_like(allowed)
                only[missing] = allowed[missing]
            found = self.function.utilities(b, histories, only, budget)
            value, error = found.value.copy(), found.error.copy()
            tie = np.zeros(len(allowed), dtype=bool) if found.tie is None else found.tie.copy()
            with self._lock:
                for row in missing:
                    at = np.flatnonzero(error[row])  # few: those of sampled utilities that may be the best
                    kept = (value[row].copy(), at, error[row, at], bool(tie[row]))
                    if _size(kept) <= self._rows.maxsize:
                        self._rows[names[row]] = kept
        for row, kept in known.items():
            if kept is not None:
                value[row], tie[row] = kept[0], kept[3]
                error[row, kept[1]] = kept[2]
        return Estimate(value, error, tie)

    def _names(self, rows: list[int], histories: Histories, allowed: BoolArray, budget: Budget) -> dict[int, bytes]:
        """The name of what is remembered of each row."""
        packed = np.packbits(allowed, axis=1)
        names = {}
        for row in rows:
            told = histories.key(row) + b"|" + packed[row].tobytes()
            if self.function.uses_budget:
                told += np.array([budget.questions, budget.cost[row]]).tobytes()
            names[row] = hashlib.blake2b(told, digest_size=16).digest()
        return names


def _size(row: tuple[Any, ...]) -> int:
    """Bytes that a remembered row takes."""
    value, at, error, _ = row
    return int(ROW_BYTES + value.nbytes + at.nbytes + error.nbytes)


class Bindings:
    """The belief for noisy answers and the bound acquisition function of pursuits with the same parts:
    ``dataclasses.replace(pursuit, stopping=...)`` passes them on, so that nothing is computed twice."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[Belief[Any], Cached, tuple[Any, ...]]] = {}

    def __reduce__(self) -> Any:
        return Bindings, ()  # a copy in another process computes its own

    def bind(self, pursuit: Pursuit[Any]) -> tuple[Belief[Any], Cached]:
        """The belief to use, and the acquisition function."""
        parts = (pursuit.queries, pursuit.belief, pursuit.acquisition, pursuit.costs, pursuit.noise)
        key = tuple(map(id, parts))
        if key not in self._known:
            belief = pursuit.belief
            if pursuit.channel is not None:
                belief = belief.for_noise(pursuit.channel)
                if not belief.capabilities.noise:
                    raise ValueError(
                        f"noise={pursuit.noise!r:.60} does not suit belief {type(belief).__name__}, which takes every "
                        f"answer as certain; use strategy='table', another belief that declares noise, or noise=None"
                    )

            costs = pursuit.query_costs if pursuit.costs else None
            function = pursuit.acquisition.bind(belief, pursuit.queries, costs, pursuit.channel)
            self._known[key] = (belief, Cached(function), parts)  # the parts too, so that no id is used again

        belief, cached, _ = self._known[key]
        return belief, cached
