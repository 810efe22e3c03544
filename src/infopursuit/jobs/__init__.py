"""Jobs: many inputs, or many settings, on one process or on a cluster; what was stopped goes on where it was."""

from infopursuit.jobs.engines import Engine
from infopursuit.jobs.explain_job import Explained, explain
from infopursuit.jobs.sweep import Sweep, Swept, sweep

__all__ = ["Engine", "Explained", "Sweep", "Swept", "explain", "sweep"]
