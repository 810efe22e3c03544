"""The loop on histories: protocols, state, stopping rules, costs, noise, sessions and traces."""

from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.protocols import Acquisition, Belief, Budget, Capabilities, Estimate

__all__ = ["Acquisition", "Belief", "Budget", "Capabilities", "Estimate", "Histories"]
