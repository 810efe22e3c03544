"""What was computed before. A strategy is a function of the history, so it is as good as new."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Memory(Generic[Thing]):
    """What was used last, up to so many bytes in all. Not for several threads.

    >>> memory: Memory[str] = Memory(10)
    >>> memory.keep("a", "first", 5), memory.keep("b", "second", 6), memory.find("a"), memory.find("b")
    (None, None, None, 'second')
    """

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._kept: OrderedDict[Hashable, tuple[Thing, int]] = OrderedDict()

    def find(self, key: Hashable) -> Thing | None:
        """What was kept under a key, None where it was not or is gone."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def keep(self, key: Hashable, thing: Thing, size: int) -> None:
        """Keep something of a size in bytes; what was not asked for longest gives way."""
        if key in self._kept:
            self.size -= self._kept.pop(key)[1]
        self._kept[key] = thing, size
        self.size += size
        while self.size > self.most:
            _, (_, gone) = self._kept.popitem(last=False)
            self.size -= gone
