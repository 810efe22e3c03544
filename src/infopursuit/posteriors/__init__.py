"""Posteriors: what is known of the latent state after a history."""

from infopursuit.posteriors.exact import Belief, ExactPosterior
from infopursuit.posteriors.langevin import Langevin, LangevinPosterior
from infopursuit.posteriors.smc import SMC, SMCPosterior

__all__ = ["SMC", "Belief", "ExactPosterior", "Langevin", "LangevinPosterior", "SMCPosterior"]
