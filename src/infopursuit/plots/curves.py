"""Accuracy against the number of queries, and accuracy against confidence (a reliability diagram)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binomtest

from infopursuit.explanation import count
from infopursuit.plots import style
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SLACK = 1e-9
"""Of a confidence: rounding must not put 90 % below 90 %."""


def trade_off(
    curves: Mapping[str, Sequence[Any]],
    *,
    marks: Mapping[str, tuple[float, float]] | None = None,
    title: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Accuracy against the mean number of questions, one line for each curve.

    curves: for each name its points, as `evaluation.curve` has them; a band shows one standard error to both sides.
    marks: single points, name -> (questions, accuracy as a share), drawn as stars. axes: what to draw on; a new figure
    if None.
    """
    if not curves:
        raise ValueError("curves is empty; give at least one name with its points")
    axes = style.axes_of(axes, 6.4, 4.0)
    for i, (name, points) in enumerate(curves.items()):
        ordered = sorted(points, key=lambda p: p.length)
        columns = ([getattr(p, f) for p in ordered] for f in ("length", "accuracy", "accuracy_error"))
        length, accuracy, error = map(np.array, columns)
        colour, marker = style.COLOURS[i % len(style.COLOURS)], style.MARKERS[i % len(style.MARKERS)]
        axes.fill_between(length, accuracy - error, accuracy + error, color=colour, alpha=0.15, linewidth=0)
        label = f"{name} ({ordered[0].n_inputs:,} inputs)"
        axes.plot(length, accuracy, color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=label)
    for name, (asked, right) in (marks or {}).items():
        axes.plot([asked], [right], marker="*", markersize=11, color=style.INK, linestyle="none", label=name)
    style.plain(axes)
    style.write_title(axes, title)
    _name_axes(axes, x="questions asked, mean", y="accuracy")
    axes.legend(frameon=False, fontsize=style.NOTE, loc="lower right")
    return axes


def calibration(
    confidence: Any,
    right: Any,
    *,
    before: tuple[Any, Any] | None = None,
    bins: int | Sequence[float] = 10,
    axes: Axes | None = None,
    title: str = "",
) -> Axes:
    """Draw a reliability diagram: accuracy against confidence, bin by bin, and above it how many inputs there are.

    A bin below the dashed line is overconfident. Upright bars are Wilson's 95 % intervals. The expected calibration
    error is the mean over inputs of |confidence - accuracy| in their bin. Both scales begin where the data do.

    Parameters
    ----------
    confidence: (B,) the posterior of the prediction. right: (B,) whether it is right.
    before: both of the same inputs before calibration, drawn in grey behind; counts are those after it.
    bins: how many of equal width, or their edges, which rise from 0 to 1; a bin has its lower edge, not its upper one.
    axes: one axes to draw on; counts and words go above it. A new figure if None.
    title: above all.
    """
    edges = np.linspace(0, 1, bins + 1) if isinstance(bins, int) else np.asarray(bins, dtype=np.float64)
    if len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or not (np.diff(edges) > 0).all():
        raise ValueError(f"bins={bins!r} is neither a number of bins nor edges; give numbers that rise from 0 to 1")
    drawn = [("before", before, style.FAINT)] if before is not None else []
    drawn.append(("after", (confidence, right), style.COLOURS[0]))
    axes, lowest, words = style.axes_of(axes, 4.6, 5.2), 1.0, []
    for label, given, colour in drawn:
        p, hit = _checked(*given)
        mean, share, ends, counts = _binned(p, hit, edges)
        look: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 5, "linewidth": 1.4, "capsize": 2.5}
        axes.errorbar(mean, share, yerr=np.abs(ends.T - share), label=label, elinewidth=1, **look)
        lowest = min(lowest, float(edges[np.flatnonzero(counts)[0]]), float(ends.min()))
        error = (np.abs(mean - share) * counts[counts > 0]).sum() / len(p)
        when = f"{label}: " if before is not None else ""
        words.append(f"{when}expected calibration error {100 * error:.1f} %, accuracy {100 * hit.mean():.1f} %")
    axes.plot([0, 1], [0, 1], color=style.FAINT, linewidth=1, linestyle="--", zorder=0)
    axes.text(0.97, 0.04, "overconfident", fontsize=style.NOTE, color=style.FAINT, ha="right", style="italic",
              transform=axes.transAxes)  # fmt: skip
    low = np.floor(10 * lowest) / 10
    limits = (low - 0.02 * (1 - low), 1 + 0.02 * (1 - low))
    axes.set(xlim=limits, ylim=limits)
    style.plain(axes)
    _name_axes(axes, x="confidence", y="accuracy")
    if before is not None:
        axes.legend(loc="upper left", fontsize=style.NOTE, frameon=False)
    _draw_counts(axes, edges, counts, "\n".join([*([title] if title else []), *words, count(len(p), "input")]))
    return axes


def _name_axes(axes: Axes, *, x: str, y: str) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set_xlabel(x, loc="center", fontsize=style.SIZE, color=style.INK)
    axes.set_ylabel(y, fontsize=style.SIZE, color=style.INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    if x == "confidence":
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))


def _binned(
    confidence: FloatArray, right: FloatArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """(b,) mean confidence and accuracy of the bins that have inputs, its interval (b, 2); counts of all bins."""
    place = np.clip(np.searchsorted(edges, confidence + SLACK, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(place, minlength=len(edges) - 1)
    n = counts[counts > 0]
    mean, share = (np.bincount(place, values, minlength=len(counts))[counts > 0] / n for values in (confidence, right))
    tests = [binomtest(round(part * many), int(many)) for part, many in zip(share, n, strict=True)]
    return mean, share, np.array([test.proportion_ci(0.95, method="wilson") for test in tests]), counts


def _checked(confidence: Any, right: Any) -> tuple[FloatArray, FloatArray]:
    p, hit = np.asarray(confidence, dtype=np.float64), np.asarray(right)
    if p.ndim != 1 or hit.shape != p.shape or not len(p):
        raise ValueError(f"confidence has shape {p.shape} and right {hit.shape}; give (B,) and (B,), B from 1 on")
    for i in np.flatnonzero(~((p >= 0) & (p <= 1 + SLACK)))[:1]:
        raise ValueError(f"confidence[{i}] is {p[i]:g}; a confidence is a probability, from 0 to 1")
    for i in np.flatnonzero(~np.isin(hit, (0, 1)))[:1]:
        raise ValueError(f"right[{i}] is {hit[i]}; give True and False, such as predictions == labels")
    return p, hit.astype(np.float64)


def _draw_counts(axes: Axes, edges: FloatArray, counts: IntArray, words: str) -> None:
    """How many inputs each bin has: bars in a strip above the axes, the numbers above those, and words above all."""
    strip = axes.inset_axes((0, 1.02, 1, 0.12), sharex=axes)
    bars = strip.bar(edges[:-1], counts, width=np.diff(edges), align="edge", color=style.OTHERS, edgecolor="white")
    strip.bar_label(bars, [f"{n:,}" if n else "" for n in counts], fontsize=style.NOTE - 1, color=style.FAINT)
    strip.set_axis_off()
    strip.set_title(words, loc="left", fontsize=style.NOTE, color=style.INK, pad=14, parse_math=False)
