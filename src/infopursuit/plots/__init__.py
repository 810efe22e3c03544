"""Pictures: `text_trace` with characters; `calibration`, `heatmap`, `image_trace` and `trade_off` with matplotlib.

Those need ``pip install infopursuit[plots]``.
"""

from infopursuit.plots.calibration import calibration
from infopursuit.plots.curves import trade_off
from infopursuit.plots.heatmap import heatmap
from infopursuit.plots.images import image_trace
from infopursuit.plots.text import text_trace

__all__ = ["calibration", "heatmap", "image_trace", "text_trace", "trade_off"]
