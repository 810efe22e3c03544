"""Who answers, and how far they can be relied on."""

from infopursuit.answerers.learning import Confusions, learn_confusions
from infopursuit.answerers.reliability import Reliability
from infopursuit.answerers.simulated import Mistaken

__all__ = ["Confusions", "Mistaken", "Reliability", "learn_confusions"]
