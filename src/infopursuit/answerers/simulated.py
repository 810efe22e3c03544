"""Answerers that make errors, to find out what errors cost before people make them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from infopursuit.answerers.reliability import Channel, Reliability
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, IntArray


class Answerer(Protocol):
    """Somebody who is asked about the inputs of a batch."""

    def answer(self, inputs: IntArray, queries: IntArray, answers: IntArray, step: int) -> IntArray:
        """(n, W) what is said about some inputs (n,), asked one query each (n,) at a step; ``answers`` (n, W) hold."""


@dataclass(frozen=True)
class Mistaken:
    """Answers by chance, as often right as a `Reliability` says.

    fresh: whether somebody who is asked the same again may answer otherwise; else an error is made again, as by a table
    with a wrong entry. What is said depends on the seed, the input, the query, and with ``fresh`` the step: not on
    which inputs are pursued together.
    """

    query_set: QuerySet
    reliability: Reliability
    seed: int = 0
    fresh: bool = False
    channel: Channel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "channel", self.reliability.bind(self.query_set))

    def answer(self, inputs: IntArray, queries: IntArray, answers: IntArray, step: int) -> IntArray:
        """See `Answerer.answer`."""
        said = np.asarray(answers).copy()
        wide = said.shape[1]
        for w in range(wide):
            known = np.flatnonzero(said[:, w] != UNKNOWN)
            places = queries[known] * wide + w
            chance = _uniform(self.seed, inputs[known], places, step if self.fresh else 0)
            which = self.channel.which[queries[known], w]
            for t in np.unique(which):
                mine = known[which == t]
                cumulative = np.cumsum(self.channel.tables[t][said[mine, w]], axis=1)
                drawn = (chance[which == t, None] >= cumulative / cumulative[:, -1:]).sum(axis=1)
                said[mine, w] = np.minimum(drawn, cumulative.shape[1] - 1)
        return said


def _uniform(*numbers: Any) -> Any:
    """A number from 0 to 1 for each row of some whole numbers, the same for the same ones everywhere (splitmix64)."""
    mixed: Any = np.uint64(0)
    with np.errstate(over="ignore"):
        for number in numbers:
            mixed = (mixed ^ np.asarray(number).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
