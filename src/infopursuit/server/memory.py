"""Answers that were given before. A strategy is a function of the history, so they are as good as new."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable


class Memory:
    """The answers used last, as the bytes that were sent, up to so many bytes in all.

    >>> memory = Memory(10)
    >>> memory.keep("a", b"12345"), memory.keep("b", b"123456"), memory.find("a"), memory.find("b")
    (None, None, None, b'123456')
    """

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()

    def find(self, key: Hashable) -> bytes | None:
        """What was kept under a key, None where it was not or is gone."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: Hashable, content: bytes) -> None:
        """Keep an answer; those that were not asked for longest give way."""
        self.size += len(content) - len(self._kept.pop(key, b""))
        self._kept[key] = content
        while self.size > self.most:
            _, gone = self._kept.popitem(last=False)
            self.size -= len(gone)
