"""How many inputs of each kind are detected as novel, against the number of novelty queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from infopursuit.presentation.plots.style import COLOURS, FAINT, INK, MARKERS, need_matplotlib, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def novelty_rates(
    counts: Sequence[int], curves: Mapping[str, Mapping[str, Sequence[float]]], *, alpha: float
) -> Figure:
    """One panel for each model, one line for each kind of input: shares after each of ``counts`` novelty queries.

    alpha: the level, drawn as a dotted line; that of inputs like the reference should lie on it.
    """
    need_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    if not curves:
        raise ValueError("curves is empty; give at least one model with its lines")
    figure = Figure(figsize=(max(4.4 * len(curves) + 0.4, 6.4), 4.6), layout="constrained", dpi=150)
    subplots = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for axes, (name, lines) in zip(subplots, curves.items(), strict=True):
        for i, (kind, shares) in enumerate(lines.items()):
            colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
            axes.plot(counts, shares, color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=kind)
        axes.axhline(alpha, color=FAINT, linewidth=1.0, linestyle=":")
        axes.set_ylim(-0.02, 1.04)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_xlabel("novelty queries after the stop", color=INK)
        axes.set_title(name, fontsize=11, color=INK, loc="left")
        plain(axes)
    subplots[0].set_ylabel("detected as novel", color=INK)
    handles, labels = subplots[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8.5)
    return figure
