"""Posteriors: what is known of the latent state after a history."""

from infopursuit.posteriors.exact import Belief, ExactPosterior

__all__ = ["Belief", "ExactPosterior"]
