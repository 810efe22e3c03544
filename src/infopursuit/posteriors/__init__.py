"""Posteriors: what is known of the latent state after a history."""

from infopursuit.posteriors.exact import Belief, ExactPosterior
from infopursuit.posteriors.finite_bank import Bank, FiniteBank
from infopursuit.posteriors.langevin import Langevin, LangevinPosterior
from infopursuit.posteriors.smc import SMC, SMCPosterior

__all__ = ["SMC", "Bank", "Belief", "ExactPosterior", "FiniteBank", "Langevin", "LangevinPosterior", "SMCPosterior"]
