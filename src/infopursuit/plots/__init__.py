"""Pictures of explanations. They need matplotlib: ``pip install infopursuit[plots]``."""

from infopursuit.plots.images import image_trace

__all__ = ["image_trace"]
