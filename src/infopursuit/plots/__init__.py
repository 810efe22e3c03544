"""Pictures with matplotlib, which ``pip install infopursuit[plots]`` brings, and one with characters.

| what to see | function |
| --- | --- |
| one image's pursuit: where it looked, what it saw, the posterior | `image_trace` |
| one pursuit over any questions, as a table of posteriors | `heatmap` |
| two pursuits of one input, and where they part | `compare` |
| which queries are asked first and how often | `first_queries` |
| which queries are asked about which class | `asked_by_class` |
| the first questions of a strategy as a tree | `strategy_tree` |
| accuracy against number of questions | `trade_off` |
| accuracy against confidence: a reliability diagram | `calibration` |
| one image's pursuit in a terminal | `text_trace` |

Those that need one axes take ``axes=`` to draw on, make a new figure of the right size without, and return the axes;
those that need several (`image_trace`, `compare`) return a new figure. `save` writes either to a file. None
opens a window or touches pyplot. Colours are told apart with every kind of colour vision, and nothing rests on colour
alone.
"""

from infopursuit.plots.curves import calibration, trade_off
from infopursuit.plots.heatmap import asked_by_class, compare, heatmap
from infopursuit.plots.images import image_trace, text_trace
from infopursuit.plots.strategy import first_queries, strategy_tree
from infopursuit.plots.style import save

# fmt: off
__all__ = [
    "asked_by_class", "calibration", "compare", "first_queries", "heatmap", "image_trace", "save",
    "strategy_tree", "text_trace", "trade_off",
]
# fmt: on
