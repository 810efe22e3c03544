"""Pictures of explanations: `text_trace` with characters, `image_trace` with matplotlib (``infopursuit[plots]``)."""

from infopursuit.plots.images import image_trace
from infopursuit.plots.text import text_trace

__all__ = ["image_trace", "text_trace"]
