"""Acquisition by a network that says, in one pass, how useful every query is; the belief holds the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.noise import NoiseChannel
from infopursuit.pursuit.protocols import Acquisition, Belief, Budget, Estimate
from infopursuit.pursuit.ranking import ROUGH_TIE
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import FloatArray

UNITS = ("score", "nats")
"""Of the utilities of a network."""


@dataclass(frozen=True)
class NetworkQuerier(Acquisition[Any]):
    """The scores of a querier network: variational information pursuit, or the choices of a teacher."""

    unit: ClassVar[Literal["nats", "score"]] = "score"
    kind: ClassVar[str] = "network_querier"
    is_exact = False
    tie = ROUGH_TIE

    def bind(
        self,
        belief: Belief[Any],
        queries: QuerySet,
        costs: FloatArray | None,
        noise: NoiseChannel | None,
    ) -> NetworkQuerier:
        """Return itself for a belief whose states have utilities in the same unit."""
        unit = belief.capabilities.utilities
        if unit != self.unit:
            raise TypeError(
                f"belief is {type(belief).__name__} with unit {unit!r}; "
                f"{type(self).__name__} needs a NetworkBelief, or a pool with one, with unit {self.unit!r}"
            )
        return self

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) the utilities that the network gave."""
        return Estimate.exact(np.where(allowed, b.utilities, np.nan))


@dataclass(frozen=True)
class NetworkGain(NetworkQuerier):
    """Information gains that a network estimates, in nats: never negative, and never above the entropy of the class."""

    unit: ClassVar[Literal["nats", "score"]] = "nats"
    kind: ClassVar[str] = "network_gain"


def acquisition_for(belief: Belief[Any]) -> NetworkQuerier:
    """The acquisition function that reads the utilities of a network."""
    return NetworkGain() if belief.capabilities.utilities == "nats" else NetworkQuerier()
