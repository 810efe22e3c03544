"""Jobs: many inputs, in this process or on a cluster; a job that was stopped goes on where it was."""

from infopursuit.app.jobs.engines import Engine
from infopursuit.app.jobs.job import Explained, explain

__all__ = ["Engine", "Explained", "explain"]
