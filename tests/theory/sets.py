"""Sets of inputs as whole numbers, one bit for each input: keys of dynamic programming, split with one ``&``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from infopursuit.support.types import IntArray
from theory.world import World

MAX_WORK = 2**25
"""So many intersections of a set with an answer (of 512 inputs each) are made before a world counts as too large.

Half a minute or so; eleven yes/no variables are within reach."""

MAX_BITS = 2**30
"""So many bits may the sets of all answers to all queries take."""

MAX_DEPTH = 200
"""The longest history that is followed; Python recurses about twice as deep."""


class Sets:
    """The sets of inputs that histories can leave in one world."""

    def __init__(self, world: World) -> None:
        n_inputs, n_queries = world.answers.shape
        bits = n_inputs * int((world.answers.max(axis=0) + 1).sum())
        if bits > MAX_BITS or min(n_inputs, n_queries) > MAX_DEPTH:
            raise self._too_large(world)
        self.world = world
        self.everything = (1 << n_inputs) - 1
        self._work = 0
        self._cells = [
            [_pack(world.answers[:, query] == answer) for answer in range(int(world.answers[:, query].max()) + 1)]
            for query in range(n_queries)
        ]
        self._each = sum(map(len, self._cells)) * (1 + n_inputs // 512)

    def of(self, inputs: IntArray) -> int:
        """(n,) rows of the world as a set."""
        member = np.zeros(len(self.world), dtype=bool)
        member[inputs] = True
        return _pack(member)

    def rows(self, some: int) -> IntArray:
        """(n,) the rows of the world in a set, in order."""
        n_inputs = len(self.world)
        raw = np.frombuffer(some.to_bytes((n_inputs + 7) // 8, "little"), dtype=np.uint8)
        return np.flatnonzero(np.unpackbits(raw, bitorder="little", count=n_inputs))

    def splits(self, some: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Each query that tells inputs of a set apart, with the parts; of those that split it alike the first."""
        self._work += self._each
        if self._work > MAX_WORK:
            raise self._too_large(self.world)
        seen = set()
        for query, cells in enumerate(self._cells):
            parts = tuple(part for part in (some & cell for cell in cells) if part)
            if len(parts) > 1 and (key := frozenset(parts)) not in seen:
                seen.add(key)
                yield query, parts

    @staticmethod
    def _too_large(world: World) -> ValueError:
        return ValueError(
            f"world is too large for an exact search: {len(world)} inputs, {world.answers.shape[1]} queries; every "
            f"set of inputs that some history leaves is looked at; give fewer variables (about ten, if "
            f"they are yes/no) or fewer queries"
        )


def _pack(member: npt.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(member, bitorder="little").tobytes(), "little")
