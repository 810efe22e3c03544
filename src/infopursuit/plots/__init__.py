"""Pictures: `text_trace` with characters; `image_trace` and `trade_off` with matplotlib (``infopursuit[plots]``)."""

from infopursuit.plots.curves import trade_off
from infopursuit.plots.images import image_trace
from infopursuit.plots.text import text_trace

__all__ = ["image_trace", "text_trace", "trade_off"]
