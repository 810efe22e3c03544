"""The words that all other modules share: variables, answers, histories.

Axes, in this order, in every signature and comment: ``B`` inputs, ``H`` histories, ``C`` classes, ``S`` latent states
of all classes together, ``A`` variables, ``L`` variable values laid end to end ("slots"), ``Q`` queries, ``W``
variables of a query, ``V`` values of a variable, ``K`` steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from infopursuit.support.display import Brief

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

UNKNOWN = -1
"""The answer "not known", the value of a variable that was not seen, and the padding of every integer array."""

TIE = 1e-9
"""Gains closer than this (nats) are a tie, and the lowest index wins."""


class ImpossibleAnswer(ValueError):
    """An answer that has probability zero under the model, whatever the class."""


class ModelFormatError(ValueError):
    """A saved model that is incomplete, was altered, or has another format."""


class Rows(Brief):
    """A dataclass whose arrays have a row for each of several inputs or histories."""

    def take(self, rows: Any) -> Self:
        """Some of the rows."""
        told = ((each.name, getattr(self, each.name)) for each in fields(cast(Any, self)))
        mine = {name: array[rows] for name, array in told if isinstance(array, np.ndarray)}
        return replace(cast(Any, self), **mine)  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class Variables(Brief):
    """How many values each variable has, and where its values lie in an array of all values end to end.

    A *slot* is one value of one variable; slot ``offsets[a] + v`` is value ``v`` of variable ``a``.

    >>> variables = Variables((2, 3))
    >>> len(variables), variables.n_slots, variables.offsets.tolist(), variables.slot_variable.tolist()
    (2, 5, [0, 2, 5], [0, 0, 1, 1, 1])
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        for variable, size in enumerate(self.sizes):
            if size < 2:
                raise ValueError(f"sizes[{variable}] is {size}; a variable needs at least two values")

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def offsets(self) -> IntArray:
        """(A + 1,) where each variable's slots begin; the last entry is L."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @property
    def n_slots(self) -> int:
        """L, the number of values of all variables together."""
        return int(self.offsets[-1])

    @cached_property
    def slot_variable(self) -> IntArray:
        """(L,) the variable that each slot belongs to."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def slots(self) -> IntArray:
        """(A, V) the slots of each variable, padded with -1."""
        width = max(self.sizes, default=0)
        slots = self.offsets[:-1, None] + np.arange(width)
        return np.where(np.arange(width) < np.array(self.sizes, dtype=np.int64)[:, None], slots, UNKNOWN)

    def one_hot(self, values: IntArray) -> FloatArray:
        """(B, A) values -> (B, L) 1 at each value, 0 at the others of its variable; NaN where it is not known.

        >>> Variables((2, 3)).one_hot(np.array([[1, -1]])).tolist()
        [[0.0, 1.0, nan, nan, nan]]
        """
        value = np.arange(self.n_slots) - self.offsets[self.slot_variable]
        mine = values[:, self.slot_variable]
        return np.where(mine == UNKNOWN, np.nan, mine == value)

    def check(self, values: Any, name: str = "values") -> IntArray:
        """Values of all variables as a (B, A) integer array, refused when one is out of range."""
        array = np.asarray(values)
        if array.ndim != 2 or array.shape[1] != len(self):
            raise ValueError(f"{name} has shape {array.shape}; expected (B, {len(self)}), one column for each variable")
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), UNKNOWN, array)
        whole = array.astype(np.int64)
        if not np.array_equal(whole, array):
            raise ValueError(f"{name} holds numbers that are not whole; variables take 0, 1, ... and -1 for unknown")
        bad = (whole < UNKNOWN) | (whole >= np.array(self.sizes, dtype=np.int64))
        if bad.any():
            row, variable = np.argwhere(bad)[0]
            raise ValueError(
                f"{name}[{row}, {variable}] is {whole[row, variable]}; variable {variable} takes the values 0 to "
                f"{self.sizes[variable] - 1}, or -1 for unknown"
            )
        return whole


@dataclass(frozen=True, repr=False)
class Query(Brief):
    """One question: what it is called, how it is asked, and what may be answered."""

    index: int
    name: str
    sentence: str
    choices: Sequence[str]

    def __str__(self) -> str:
        return self.sentence


Answer = tuple[int, ...] | None
"""The cell that holds for each variable of a query, or None where it is not known."""


@dataclass(frozen=True)
class SoftAnswer:
    """An answer that is not certain: how probable it was to be given, were each cell the one that holds.

    weights: for each variable of the query P(this answer | cell) of each of its cells, up to a factor.

    >>> SoftAnswer(((0.2, 0.8),)).cells, SoftAnswer(((0.2, 0.8),)).share
    ((1,), 0.8)
    """

    weights: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        for variable, cells in enumerate(self.weights):
            if not all(0 <= weight < np.inf for weight in cells) or not any(weight > 0 for weight in cells):
                raise ValueError(
                    f"weights[{variable}] is {list(cells)}; give a number from 0 on for each cell, one of them above 0"
                )

    @property
    def cells(self) -> tuple[int, ...]:
        """The most probable cell of each variable, -1 where all are equal."""
        return tuple(UNKNOWN if min(w) == max(w) else int(np.argmax(w)) for w in self.weights)

    @property
    def share(self) -> float:
        """The probability of the most probable cell, of the variable where it is smallest."""
        return min((max(w) / sum(w) for w in self.weights if min(w) != max(w)), default=0.0)


@dataclass(frozen=True)
class Number:
    """A number that was answered, and the cells (of the one variable) that it lies in; ``-0.0`` is 0.

    >>> Number(148, (3,))
    Number(value=148.0, cells=(3,))
    """

    value: float
    cells: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value) + 0.0)
        if not np.isfinite(self.value):
            raise ValueError(f"value is {self.value}; give a finite number, or None for not known")


class NonAnswer(Enum):
    """What may be said instead of an answer: that it is not known, that the question does not apply, or that it should
    be asked later."""

    NOT_KNOWN = "not known"
    NOT_APPLICABLE = "not applicable"
    LATER = "later"


NOT_APPLICABLE, LATER = NonAnswer.NOT_APPLICABLE, NonAnswer.LATER

Said = Answer | SoftAnswer | Number
"""An answer: cells, a soft answer, or a number with its cell."""


SoftAnswers = tuple[SoftAnswer | None, ...]
"""For each of some inputs or histories its soft answer, None where it is certain; () where all are."""


def cells_of(said: Said) -> Answer:
    """The cells of an answer; of a soft one the most probable."""
    return said.cells if isinstance(said, (SoftAnswer, Number)) else said


@dataclass(frozen=True, repr=False)
class Observed(Rows):
    """What a query set reads off B inputs.

    values: (B, A) the value of every variable, -1 where it is not known. numbers: (B, A) the number behind the value,
    NaN where the variable is not numeric or not known; None where no variable is numeric. soft: (B, L) the probability
    of each value of each variable where it is not certain, 0 and 1 where it is, NaN where it is not known; None where
    everything is certain.
    """

    values: IntArray
    numbers: FloatArray | None = None
    soft: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.numbers is not None and np.shape(self.numbers) != np.shape(self.values):
            raise ValueError(
                f"numbers has shape {np.shape(self.numbers)}; expected that of values, {self.values.shape}"
            )

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, values: Any) -> Observed:
        """Values alone as what was observed, without numbers."""
        return values if isinstance(values, cls) else cls(np.asarray(values))


History = tuple[tuple[int, Said], ...]
"""Queries in the order in which they were asked, each with its answer."""
