"""Jobs: many inputs, or many settings, in this process or on a cluster; a job that was stopped goes on where it was."""

from infopursuit.app.jobs.engines import Engine
from infopursuit.app.jobs.job import Explained, explain
from infopursuit.app.jobs.sweep import Sweep, Swept, sweep

__all__ = ["Engine", "Explained", "Sweep", "Swept", "explain", "sweep"]
