"""What the answers to a query are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

YES_NO = ("no", "yes")


def write_cells(cells: Sequence[str], limits: tuple[int, ...]) -> str:
    """The cells of several atoms side by side, with dashes between them where a cell can take two digits.

    >>> write_cells(["0", "1", "?"], (2, 2, 2)), write_cells(["3", "11"], (4, 12))
    ('01?', '3-11')
    """
    return ("" if max(limits) <= 10 else "-").join(cells)


class JointChoices(Sequence[str]):
    """All joint answers to a query about several atoms, made when they are looked at.

    >>> choices = JointChoices((2, 2, 2))
    >>> len(choices), choices[3], choices.index("011"), "012" in choices
    (8, '011', 3, False)
    """

    def __init__(self, limits: tuple[int, ...]) -> None:
        self.limits = limits

    def __len__(self) -> int:
        return int(np.prod(self.limits))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"choice {index} of {len(self)}")
        return self.say(np.unravel_index(index % len(self), self.limits))

    def __iter__(self) -> Iterator[str]:
        return (self.say(cells) for cells in product(*map(range, self.limits)))

    def say(self, cells: Sequence[Any]) -> str:
        """One joint answer in words."""
        return write_cells([str(cell) for cell in cells], self.limits)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        written = (value if max(self.limits) <= 10 else value.split("-")) if isinstance(value, str) else []
        if len(written) == len(self.limits) and all(cell.isascii() and cell.isdigit() for cell in written):
            cells = [int(cell) for cell in written]
            if all(cell < limit for cell, limit in zip(cells, self.limits, strict=True)):
                return int(np.ravel_multi_index(cells, self.limits))
        raise ValueError(f"{value!r} is not among the {len(self)} choices")

    def __contains__(self, value: object) -> bool:
        try:
            self.index(value)
        except ValueError:
            return False
        return True
