"""Monitoring of a model in use: drift of its answers and predictions."""

from infopursuit.monitoring.drift import Change, DriftReport, drift

__all__ = ["Change", "DriftReport", "drift"]
