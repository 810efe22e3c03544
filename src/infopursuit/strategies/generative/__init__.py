"""Strategies on a generative model: beliefs and the information gains that they allow."""
