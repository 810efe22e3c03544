"""Monitoring of a model in use: drift of its answers and predictions."""
