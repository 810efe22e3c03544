"""The state of the loop: histories with all that follows from them, and the records of one turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from infopursuit.pursuit.histories import BoolArray, Histories, number_bits
from infopursuit.pursuit.protocols import B
from infopursuit.pursuit.stopping import Watch
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.display import Brief
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Number, Said, SoftAnswer, SoftAnswers, cells_of


@dataclass(frozen=True, repr=False)
class State(Brief, Generic[B]):
    """H histories side by side, and all that follows from them."""

    histories: Histories
    belief: B  # the state of the belief
    posterior: FloatArray  # (H, C)
    posterior_error: FloatArray  # (H, C) its standard error, 0 where exact
    log_evidence: FloatArray  # (H,) log p(answers), NaN where the belief does not say
    closed: BoolArray  # (H, Q) not to be asked (again)
    possible: BoolArray | None  # (H, L) what is left, see `everything_possible`; None: each variable is asked once
    watch: Watch
    skipped: BoolArray  # (H,) the last query was not answered
    impossible: BoolArray  # (H,) the last answer is impossible

    def __len__(self) -> int:
        return len(self.histories)


@dataclass(frozen=True, repr=False)
class Choice(Brief):
    """The best query after each of H histories."""

    query: IntArray  # (H,) its index, -1 where none is left
    gain: FloatArray  # (H,) its utility
    error: FloatArray  # (H,) the standard error of that
    runner_up: IntArray  # (H,) the second best, -1 where there is none
    tie: BoolArray  # (H,) whether the lead over it is within two standard errors of the difference
    largest: FloatArray  # (H,) the largest utility of any allowed query, which the best need not have with costs


@dataclass(frozen=True, repr=False)
class Step(Brief, Generic[B]):
    """One turn of the loop for H histories, before the answers are known.

    choice: what to ask, with query -1 where the pursuit has stopped. reason: why it stopped, "" where it goes on.
    settled: (H,) how many queries had been asked when the rule that stopped it began to hold. watch: the patience after
    this check; the state still has the one before, so that a loop begun anew at the state takes the same step.
    """

    state: State[B]
    watch: Watch
    choice: Choice
    reason: list[str]
    settled: IntArray


@dataclass(frozen=True, repr=False)
class Branches(Brief):
    """Which histories go on (rows of the step), with which query and answer: (H',), (H',) and (H', W).

    soft: for each of them the soft answer, or None where the answer is certain; () where all are. numbers: (H',) the
    numbers that were answered, NaN where none was; None where none was at all.
    """

    parents: IntArray
    queries: IntArray
    answers: IntArray
    soft: SoftAnswers = ()
    numbers: FloatArray | None = None

    @classmethod
    def of(cls, queries: QuerySet, steps: Sequence[tuple[int, Said]], parents: IntArray) -> Branches:
        """Each history of ``parents`` (H',), longer by one query and its answer."""
        cells = np.full((len(steps), queries.width), UNKNOWN)
        for row, (_, said) in zip(cells, steps, strict=True):
            known = cells_of(said) or ()
            row[: len(known)] = known
        soft = tuple(said if isinstance(said, SoftAnswer) else None for _, said in steps)
        numbers = np.array([said.value if isinstance(said, Number) else np.nan for _, said in steps])
        asked = np.array([query for query, _ in steps], dtype=np.int64)
        return cls(parents, asked, cells, soft if any(soft) else (), None if np.isnan(numbers).all() else numbers)

    @classmethod
    def together(
        cls, place: IntArray, queries: IntArray, answers: IntArray, numbers: FloatArray | None, soft: SoftAnswers
    ) -> tuple[Branches, IntArray]:
        """The histories that inputs (n,) in histories ``place`` go on to with their answers (n, W), numbers (n,) and
        soft answers: each once; and (n,) which of them is whose."""
        rows = [place[:, None], answers, *([] if numbers is None else [number_bits(numbers)[:, None]])]
        if any(soft):
            codes = {said: code for code, said in enumerate(dict.fromkeys(soft))}
            rows.append(np.array([[codes[said]] for said in soft]))
        _, first, mine = np.unique(np.concatenate(rows, axis=1), axis=0, return_index=True, return_inverse=True)
        some = tuple(soft[i] for i in first) if any(soft) else ()
        told = None if numbers is None else numbers[first]
        return cls(place[first], queries[first], answers[first], some, told), mine.ravel()
