"""Trade-off curves: how often a pursuit is right against how much it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.plots.style import COLOURS, INK, MARKERS, check_axes, need_matplotlib, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trade_off(
    curves: Mapping[str, Sequence[Any]],
    *,
    marks: Mapping[str, tuple[float, float]] | None = None,
    title: str = "",
    axes: Any = None,
) -> Axes:
    """Accuracy against the mean number of questions, one line for each curve.

    curves: for each name its points, as `evaluation.curve` has them; a band shows one standard error to both sides.
    marks: single points, name -> (questions, accuracy as a share), drawn as stars. axes: what to draw on; a new figure
    if None.

    Returns the axes; ``save(axes, "curve.png")`` writes it. No window is opened and pyplot is left alone.
    """
    need_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    if not curves:
        raise ValueError("curves is empty; give at least one name with its points")
    check_axes(axes)
    if axes is None:
        axes = Figure(figsize=(6.4, 4.0), layout="constrained", dpi=150).add_subplot()
    for i, (name, points) in enumerate(curves.items()):
        ordered = sorted(points, key=lambda p: p.length)
        length = np.array([p.length for p in ordered])
        accuracy, error = (np.array([getattr(p, f) for p in ordered]) for f in ("accuracy", "accuracy_error"))
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        axes.fill_between(length, accuracy - error, accuracy + error, color=colour, alpha=0.15, linewidth=0)
        n = f"{ordered[0].n_inputs:,} inputs"
        axes.plot(
            length, accuracy, color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=f"{name} ({n})"
        )  # fmt: skip
    for name, (asked, right) in (marks or {}).items():
        axes.plot([asked], [right], marker="*", markersize=11, color=INK, linestyle="none", label=name)
    axes.set_xlabel("questions asked, mean", color=INK)
    axes.set_ylabel("right", color=INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    plain(axes)
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")
    if title:
        axes.set_title(title, fontsize=11, color=INK, loc="left")
    drawn: Axes = axes
    return drawn
