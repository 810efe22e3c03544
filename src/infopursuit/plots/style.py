"""How all pictures look: one set of colours, told apart with every kind of colour vision, and plain axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FAINT, UNSEEN, OTHERS, EDGE, GRID, EMPTY = (
    "#1F2328", "#6B7280", "#8F959E", "#BDC3CB", "#C6CBD1", "#E5E7EB", "#F1F3F5"
)  # fmt: skip
"""From the darkest grey to the lightest: what is said, what is said aside, what was not seen, and so on."""

# Okabe and Ito's palette, and a marker each: told apart with every kind of colour vision, and in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", INK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

# The same green, vermilion and purple, darker so that words in them are read easily. Nothing rests on colour alone:
# the answer stands beside its question, yes is bold, and the true class says that it is.
YES, NO, NOT_KNOWN = "#007A59", "#B34700", FAINT
RIGHT, WRONG = YES, "#A0447A"
SHADES = (EMPTY, "#9CC7E8", "#2F83BE", "#0B3C66")
"""From 0 to 1, ever darker."""
GREY_SHADES = (EMPTY, "#B4BAC2", "#5B626B")
"""The same for what several classes share."""

SIZE, NOTE, HEAD = 9.0, 8.0, 12.0
"""Points of words beside a picture, of notes, and of the headline."""


def need_matplotlib() -> None:
    """Say how to get it where it is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib, which is not installed; pip install infopursuit[plots]") from error


def check_axes(axes: Any) -> None:
    """None or one axes, and nothing else."""
    if axes is not None and not hasattr(axes, "inset_axes"):
        raise TypeError(f"axes is of type {type(axes).__name__}; give one matplotlib axes, or None for a new figure")


def plain(axes: Axes, grid: str = "both") -> None:
    """Faint numbers and lines, so that what is drawn stands out; ``grid`` as matplotlib's ``axis``."""
    axes.grid(axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=SIZE)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(EDGE)
