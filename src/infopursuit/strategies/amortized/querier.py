"""Acquisition by a network that says, in one pass, how useful every query is; the belief holds the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Estimate
from infopursuit.pursuit.ranking import ROUGH_TIE
from infopursuit.support.types import FloatArray

UNITS = ("score", "nats")
"""Of the utilities of a network."""


@dataclass(frozen=True)
class NetworkQuerier:
    """The scores of a querier network: variational information pursuit, or the choices of a teacher."""

    unit: ClassVar[Literal["nats", "score"]] = "score"
    kind: ClassVar[str] = "network_querier"
    exact: ClassVar[bool] = False
    tie: ClassVar[float] = ROUGH_TIE

    def bind(self, belief: Any, queries: Any, costs: FloatArray | None, noise: Any) -> Any:
        """The function to call for one belief."""
        if getattr(belief, "unit", None) != self.unit:
            raise TypeError(
                f"belief is {type(belief).__name__} with unit {getattr(belief, 'unit', None)!r}; "
                f"{type(self).__name__} needs a NetworkBelief, or a pool with one, with unit {self.unit!r}"
            )
        return self

    def __call__(self, b: Any, h: Histories, allowed: BoolArray) -> Estimate:
        """(H, Q) the utilities that the network gave."""
        return Estimate.exact(np.where(allowed, b.utilities, np.nan))


@dataclass(frozen=True)
class NetworkGain(NetworkQuerier):
    """Information gains that a network estimates, in nats: never negative, and never above the entropy of the class."""

    unit: ClassVar[Literal["nats", "score"]] = "nats"
    kind: ClassVar[str] = "network_gain"


def acquisition_for(belief: Any) -> NetworkQuerier:
    """The acquisition function that reads the utilities of a network."""
    return NetworkGain() if belief.unit == "nats" else NetworkQuerier()
