"""Information gain: what a query is expected to tell about the label."""

from infopursuit.information.chooser import Chooser, Proposal
from infopursuit.information.gain import entropy, gain, kl_divergence

__all__ = ["Chooser", "Proposal", "entropy", "gain", "kl_divergence"]
