"""Who answers, and how far they can be relied on."""

from infopursuit.answerers.reliability import Reliability
from infopursuit.answerers.simulated import Mistaken

__all__ = ["Mistaken", "Reliability"]
