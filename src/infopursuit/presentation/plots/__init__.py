"""Pictures with matplotlib, which ``pip install infopursuit[plots]`` brings, and one with characters.

| what to see | function |
| --- | --- |
| one image's pursuit: where it looked, what it saw, the posterior | `image_trace` |
| one pursuit over any questions, as a table of posteriors | `heatmap` |
| how often each query is asked, in all and about each class | `asked_by_class` |
| the first questions of a strategy as a tree | `strategy_tree` |
| accuracy against number of questions | `trade_off` |
| accuracy against confidence: a reliability diagram | `calibration` |
| one image's pursuit in a terminal | `text_trace` |

Those that need one axes take ``axes=`` to draw on, make a new figure of the right size without, and return the axes;
`image_trace` needs several and returns a new figure. `save` writes either to a file. None opens a window or touches
pyplot. Colours are told apart with every kind of colour vision, and nothing rests on colour alone.
"""

from infopursuit.presentation.plots.curves import calibration, trade_off
from infopursuit.presentation.plots.heatmap import asked_by_class, heatmap
from infopursuit.presentation.plots.images import image_trace, text_trace
from infopursuit.presentation.plots.strategy import strategy_tree
from infopursuit.presentation.plots.style import save

__all__ = [
    "asked_by_class",
    "calibration",
    "heatmap",
    "image_trace",
    "save",
    "strategy_tree",
    "text_trace",
    "trade_off",
]
