"""Strategies: beliefs p(y | history), and acquisition functions that say how useful each query is after a history.

Each name is imported when it is first used, since some need torch or numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infopursuit.pursuit.information import MutualInformation
from infopursuit.support.lazy import lazy_name

if TYPE_CHECKING:
    from infopursuit.strategies.amortized.belief import NetworkBelief
    from infopursuit.strategies.amortized.querier import NetworkGain, NetworkQuerier
    from infopursuit.strategies.generative.answer_tables import entropy, mutual_information
    from infopursuit.strategies.generative.exact import Exact
    from infopursuit.strategies.generative.particles import (
        SMC,
        Langevin,
        LangevinBelief,
        ParticleBelief,
        Particles,
        SMCBelief,
    )
    from infopursuit.strategies.generative.pruned import Pruned, PrunedBelief
    from infopursuit.strategies.look_ahead import FixedOrder, LookAhead, RandomOrder
    from infopursuit.strategies.opinion_pool import LogPool, OpinionPool
    from infopursuit.strategies.strategy import Strategy

__all__ = [
    "SMC",
    "Exact",
    "FixedOrder",
    "Langevin",
    "LangevinBelief",
    "LogPool",
    "LookAhead",
    "MutualInformation",
    "NetworkBelief",
    "NetworkGain",
    "NetworkQuerier",
    "OpinionPool",
    "ParticleBelief",
    "Particles",
    "Pruned",
    "PrunedBelief",
    "RandomOrder",
    "SMCBelief",
    "Strategy",
    "entropy",
    "mutual_information",
]

_PARTICLES = ("SMC", "SMCBelief", "Langevin", "LangevinBelief", "ParticleBelief", "Particles")
_MODULES = {
    "NetworkBelief": "amortized.belief",
    **dict.fromkeys(("NetworkGain", "NetworkQuerier"), "amortized.querier"),
    **dict.fromkeys(("entropy", "mutual_information"), "generative.answer_tables"),
    "Exact": "generative.exact",
    **dict.fromkeys(_PARTICLES, "generative.particles"),
    **dict.fromkeys(("Pruned", "PrunedBelief"), "generative.pruned"),
    **dict.fromkeys(("FixedOrder", "LookAhead", "RandomOrder"), "look_ahead"),
    **dict.fromkeys(("LogPool", "OpinionPool"), "opinion_pool"),
    "Strategy": "strategy",
}


def __getattr__(name: str) -> Any:
    return lazy_name(__name__, _MODULES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
