"""The one driver of the loop: inputs that are pursued together, turn by turn.

Batches, demonstrations, pools, simulated continuations and posteriors after all answers drain `drive`. Inputs with the
same answers so far share one history, until their answers differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from infopursuit.pursuit.histories import BoolArray
from infopursuit.pursuit.noise import Annotator
from infopursuit.pursuit.state import Step
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Observed, SoftAnswers

if TYPE_CHECKING:
    from infopursuit.pursuit.loop import Pursuit

__all__ = ["Answers", "ObservedAnswers", "Source", "Turn", "drive"]


@dataclass(frozen=True)
class Answers:
    """The answers of n inputs, each to one query.

    Parameters
    ----------
    cells : (n, W) array of int
        The cells of the variables of each query, -1 where one is not known.
    numbers : (n,) array of float, optional
        The numbers that were answered, NaN where none was.
    soft : tuple
        The soft answer of each input, None where it is certain; empty where all are.
    """

    cells: IntArray
    numbers: FloatArray | None = None
    soft: SoftAnswers = ()


@dataclass(frozen=True)
class Turn:
    """One turn of the loop for n inputs that are pursued together.

    Parameters
    ----------
    inputs : (n,) array of int
        The inputs that had not stopped before.
    place : (n,) array of int
        The history of each input, a row of the step.
    step : Step
        The histories, and what is asked next.
    query : (n,) array of int
        The query of each input, -1 where it stops now.
    answers : Answers, optional
        Of the inputs that continue; None where none does.
    """

    inputs: IntArray
    place: IntArray
    step: Step[Any]
    query: IntArray
    answers: Answers | None

    @property
    def continues(self) -> BoolArray:
        """(n,) whether an input is asked another query."""
        return np.not_equal(self.query, UNKNOWN)


class Source(Protocol):
    """Where answers come from."""

    def __call__(self, inputs: IntArray, query: IntArray, step: Step[Any], place: IntArray) -> Answers:
        """Answer one query (n,) for each input (n,), which is in history ``place`` (n,) of the step."""


@dataclass(frozen=True)
class ObservedAnswers:
    """Answers that are read off the inputs, or given by an annotator who knows them."""

    queries: QuerySet
    observed: Observed
    annotator: Annotator | None = None

    def __call__(self, inputs: IntArray, query: IntArray, step: Step[Any], place: IntArray) -> Answers:
        """See `Source`."""
        true = self.read(inputs, query)
        if self.annotator is None:
            return true

        cells = self.annotator.answer(inputs, query, true.cells, step.state.histories.n_steps)
        if true.numbers is None:
            return Answers(cells)

        # the number behind another answer is not known
        same = (cells == true.cells).all(axis=1)
        return Answers(cells, np.where(same, true.numbers, np.nan))

    def read(self, inputs: IntArray, query: IntArray) -> Answers:
        """The true answers."""
        return Answers(*self.queries.told(self.observed.take(inputs), query))


def start_with(pursuit: Pursuit[Any], source: ObservedAnswers, inputs: IntArray, known: Sequence[int]) -> Any:
    """Return the state of some inputs before the first question, and the history of each input.

    Parameters
    ----------
    pursuit : Pursuit
    source : ObservedAnswers
    inputs : (n,) array of int
    known : sequence of int
        Queries whose answers are known beforehand, absorbed in this order.
    """
    state = pursuit.start()
    place = np.zeros(len(inputs), dtype=np.int64)
    for query in known:
        asked = np.full(len(inputs), query)
        answers = source.read(inputs, asked)
        branches, place = pursuit.together(place, asked, answers.cells, answers.numbers, answers.soft)
        state = pursuit.know(state, branches)
    return state, place


def drive(
    pursuit: Pursuit[Any],
    source: Source,
    inputs: IntArray,
    step: Step[Any],
    place: IntArray,
    choose: Callable[[IntArray, IntArray, int], IntArray] | None = None,
) -> Iterator[Turn]:
    """Pursue some inputs together until all have stopped.

    Parameters
    ----------
    pursuit : Pursuit
    source : Source
        Answers the queries.
    inputs : (n,) array of int
        Handed to the source.
    step : Step
        From where they are pursued.
    place : (n,) array of int
        The history of each input, a row of the step.
    choose : callable, optional
        ``choose(inputs, query, k)`` returns the queries that are asked at turn k instead of those
        that the pursuit chose.

    Yields
    ------
    Turn
        The last one has no answers: all inputs that are left stop at it.
    """
    k = 0
    while True:
        query = step.choice.query[place]
        continues = query != UNKNOWN
        if choose is not None:
            query[continues] = choose(inputs[continues], query[continues], k)
        if not continues.any():
            yield Turn(inputs, place, step, query, None)
            return

        asked = query[continues]
        answers = source(inputs[continues], asked, step, place[continues])
        yield Turn(inputs, place, step, query, answers)

        inputs = inputs[continues]
        branches, place = pursuit.together(place[continues], asked, answers.cells, answers.numbers, answers.soft)
        step = pursuit.advance(step, branches)
        k += 1
