"""The joint answers of queries about several variables, computed when they are looked at: there may be many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from infopursuit.support.types import UNKNOWN

MAX_ANSWERS = 2**16
"""Information gains are computed for queries with at most so many joint answers, which are looked at one by one."""
MAX_COUNT = 2**40
"""Joint answers are counted up to here: so many cannot be looked at, and the sum of many such counts is still exact."""


def count_answers(limits: Sequence[int]) -> int:
    """The number of joint answers of variables with so many cells each, `MAX_COUNT` where there are more.

    >>> count_answers((2, 3)), count_answers((16,) * 27) == MAX_COUNT
    (6, True)
    """
    return min(math.prod(limits), MAX_COUNT)


def join_cells(cells: Sequence[Any], limits: Sequence[int]) -> int:
    """The index of a joint answer; in Python's whole numbers, which do not overflow.

    >>> join_cells((1, 2), (2, 3)), split_index(5, (2, 3))
    (5, (1, 2))
    """
    index = 0
    for cell, limit in zip(cells, limits, strict=True):
        index = index * limit + int(cell)
    return index


def split_index(index: int, limits: Sequence[int]) -> tuple[int, ...]:
    """The cells of the joint answer with this index."""
    cells = []
    for limit in reversed(limits):
        index, cell = divmod(int(index), limit)
        cells.append(cell)
    return tuple(reversed(cells))


class JointChoices(Sequence[str]):
    """All joint answers to a query about several variables, computed when they are looked at.

    Cells are written side by side, with dashes between them where a cell can take two digits.

    >>> choices = JointChoices((2, 2, 2))
    >>> len(choices), choices[3], choices.index("011"), "012" in choices, JointChoices((4, 12)).say((3, 11))
    (8, '011', 3, False, '3-11')
    """

    def __init__(self, limits: tuple[int, ...]) -> None:
        self.limits, self.dash = limits, "" if max(limits) <= 10 else "-"

    def __len__(self) -> int:
        return count_answers(self.limits)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"choice {index} of {len(self)}")
        return self.say(split_index(index % len(self), self.limits))

    def __iter__(self) -> Iterator[str]:
        return (self.say(cells) for cells in product(*map(range, self.limits)))

    def __contains__(self, value: object) -> bool:
        try:
            self.index(value)
        except ValueError:
            return False
        return True

    def say(self, cells: Sequence[Any]) -> str:
        """One joint answer in words."""
        return self.dash.join("?" if cell == UNKNOWN else str(cell) for cell in cells)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The index of a joint answer in words."""
        written = (value.split("-") if self.dash else value) if isinstance(value, str) else []
        if len(written) == len(self.limits) and all(cell.isascii() and cell.isdigit() for cell in written):
            cells = [int(cell) for cell in written]
            if all(cell < limit for cell, limit in zip(cells, self.limits, strict=True)):
                return join_cells(cells, self.limits)
        raise ValueError(f"{value!r} is not among the {len(self)} choices")
