"""A reliability diagram: how often a classifier is right when it says how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binomtest

from infopursuit.plots.style import COLOURS, EDGE, EMPTY, FAINT, INK, OTHERS, check_axes, need_matplotlib
from infopursuit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SLACK = 1e-9
"""Of a confidence: rounding must not put 90 % below 90 %."""
LEVEL = 0.95
"""Of the intervals."""
FEW = 10
"""Inputs of a bin below which two lines leave it out."""
SMALL, SIZE, TITLE, LINE = 7.5, 8.5, 11.0, 9.0
"""Points: size of the counts, of other words and of the title, and from one line of counts to the next."""


def calibration(
    confidence: Any,
    right: Any,
    *,
    before: tuple[Any, Any] | None = None,
    bins: int | Sequence[float] = 10,
    axes: Any = None,
    title: str | None = None,
) -> Axes:
    """Draw the share of right predictions against the confidence in them, bin by bin, and above it how many there are.

    A bin on the dashed line is as often right as it was sure; one below it was too sure. Upright bars are Wilson's 95 %
    intervals. The expected calibration error is the mean over inputs of |confidence - share that was right| in their
    bin. Both scales begin where the data do.

    Parameters
    ----------
    confidence: (B,) the posterior of each prediction.
    right: (B,) whether it was right.
    before: both of the same inputs before calibration, drawn in grey behind; counts are those after it. Bins with fewer
        than 10 inputs, whose intervals say nothing, are then left out of both lines, not out of the error.
    bins: how many of equal width, or their edges, which rise from 0 to 1; a bin has its lower edge, not its upper one.
    axes: one axes to draw on; counts and words go above it. A new figure if None.
    title: above all.

    Returns the axes; ``save(axes, "sure.png")`` writes it. No window is opened and pyplot is left alone.
    """
    need_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    confidence, right = _checked(confidence, right)
    edges = _edges(bins)
    check_axes(axes)
    if axes is None:
        axes = Figure(figsize=(4.6, 5.2), layout=ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.1), dpi=150).add_subplot()
    earlier = None if before is None else _binned(*_checked(*before, "before: "), edges, FEW)
    found = _binned(confidence, right, edges, 1 if earlier is None else FEW)
    lowest = min(each.lowest for each in (found, earlier) if each is not None)
    if earlier is not None:
        _draw_points(axes, earlier, "before", FAINT)
    _draw_points(axes, found, None if earlier is None else "after", COLOURS[0])
    _dress(axes, lowest)
    many = f"{len(right):,} input{'' if len(right) == 1 else 's'}"
    words = [
        f"expected calibration error {100 * found.error:.1f} % over {many}",
        f"right {100 * right.mean():.1f} %, sure {100 * confidence.mean():.1f} % on average",
    ]
    if earlier is not None:
        words[0] = words[0].replace(" over", f", {100 * earlier.error:.1f} % before, over")
        words[1] += f"; before {100 * earlier.right:.1f} %, {100 * earlier.sure:.1f} %"
        axes.legend(loc="upper left", fontsize=SIZE, frameon=False, labelcolor=INK)
    counts = found.counts
    hidden = int(counts[_hidden(edges[1:], axes.get_xlim()[0])].sum())
    if hidden or earlier is not None:  # a line of their own, for which there is no room in the first
        words[0] = words[0].removesuffix(f" over {many}").rstrip(",")
        words.append(many + (f", {hidden:,} of them less sure than is drawn" if hidden else ""))
    _draw_counts(axes, edges, counts, "\n".join(words), title)
    drawn: Axes = axes
    return drawn


@dataclass(frozen=True)
class _Bins:
    """Bins that are drawn: (b,) mean confidence, share right, its interval (b, 2), inputs; counts of all bins; the
    expected calibration error; the lower edge of the first; mean accuracy and confidence."""

    confidence: FloatArray
    share: FloatArray
    ends: FloatArray
    counts: IntArray
    error: float
    lowest: float
    right: float
    sure: float


def _binned(confidence: FloatArray, right: FloatArray, edges: FloatArray, fewest: int) -> _Bins:
    place = np.clip(np.searchsorted(edges, confidence + SLACK, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(place, minlength=len(edges) - 1)
    filled = np.flatnonzero(counts)
    n = counts[filled]
    sure, share = (np.bincount(place, values)[filled] / n for values in (confidence, right))
    tests = [binomtest(round(part * many), int(many)) for part, many in zip(share, n, strict=True)]
    ends = np.array([test.proportion_ci(LEVEL, method="wilson") for test in tests])  # (bins, 2)
    error = float((np.abs(sure - share) * n).sum() / n.sum())
    drawn = n >= min(fewest, n.max())
    lowest = float(min(edges[filled[drawn][0]], ends[drawn].min()))
    means = float(right.mean()), float(confidence.mean())
    return _Bins(sure[drawn], share[drawn], ends[drawn], counts, error, lowest, *means)


def _checked(confidence: Any, right: Any, name: str = "") -> tuple[FloatArray, FloatArray]:
    """Both as numbers (B,)."""
    sure, hit = np.asarray(confidence, dtype=np.float64), np.asarray(right)
    if sure.ndim != 1 or hit.shape != sure.shape or not len(sure):
        raise ValueError(
            f"{name}confidence has shape {sure.shape} and right {hit.shape}; give (B,) and (B,), B from 1 on"
        )
    for i in np.flatnonzero(~((sure >= 0) & (sure <= 1 + SLACK)))[:1]:
        raise ValueError(f"{name}confidence[{i}] is {sure[i]:g}; a confidence is a probability, from 0 to 1")
    for i in np.flatnonzero(~np.isin(hit, (0, 1)))[:1]:
        raise ValueError(f"{name}right[{i}] is {hit[i]}; give True and False, such as predictions == labels")
    return sure, hit.astype(np.float64)


def _edges(bins: int | Sequence[float]) -> FloatArray:
    """Of the bins, from 0 to 1."""
    if isinstance(bins, int | np.integer):
        if bins < 1:
            raise ValueError(f"bins={bins} must be at least 1, or the edges of bins, from 0 to 1")
        return np.linspace(0, 1, int(bins) + 1)
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or not (np.diff(edges) > 0).all():
        raise ValueError(f"bins={bins!r} is neither a whole number nor edges; give numbers that rise from 0 to 1")
    return edges


def _draw_points(axes: Axes, bins: _Bins, label: str | None, colour: str) -> None:
    """A point with its interval for each bin that has inputs."""
    axes.errorbar(
        bins.confidence,
        bins.share,
        yerr=np.abs(bins.ends.T - bins.share),
        color=colour,
        marker="o",
        markersize=5,
        linewidth=1.4,
        elinewidth=1,
        capsize=2.5,
        label=label,
    )


def _dress(axes: Axes, lowest: float) -> None:
    """The line on which all points should lie, and the scales."""
    from matplotlib.ticker import PercentFormatter

    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, linestyle="--", zorder=0)
    axes.text(0.97, 0.04, "too sure", transform=axes.transAxes, ha="right", fontsize=SIZE, color=FAINT, style="italic")
    low = np.floor(10 * lowest) / 10
    limits = (low - 0.02 * (1 - low), 1 + 0.02 * (1 - low))
    axes.set(xlim=limits, ylim=limits)
    axes.set_xlabel("confidence", color=INK)
    axes.set_ylabel("right", color=INK)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(color=EMPTY, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=9)
    for spine in axes.spines.values():
        spine.set_color(EDGE)


def _draw_counts(axes: Axes, edges: FloatArray, counts: IntArray, words: str, title: str | None) -> None:
    """How many inputs each bin has: bars in a strip above, the numbers above those, and words above all."""
    strip = axes.inset_axes((0, 1.02, 1, 0.12))
    strip.bar(edges[:-1], counts, width=np.diff(edges), align="edge", color=OTHERS, edgecolor="white", linewidth=0.8)
    strip.set(xlim=axes.get_xlim(), ylim=(0, counts.max()))
    strip.set_axis_off()
    high = 8 + LINE * _write_counts(strip, edges, counts, 72 * axes.bbox.width / axes.figure.dpi)
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    strip.annotate(words, (0, 1), xytext=(0, high), fontsize=SIZE, color=FAINT, linespacing=1.3, **place)
    if title:
        style: dict[str, Any] = {"fontsize": TITLE, "fontweight": "bold", "color": INK, "parse_math": False}
        above = high + (1.5 * (words.count("\n") + 1)) * SIZE + 3
        strip.annotate(title, (0, 1), xytext=(0, above), **style, **place)


def _hidden(edge: Any, low: float) -> Any:
    """Whether a bin with this upper edge lies to the left of a scale that begins at ``low``, but for its margin."""
    return np.asarray(edge) <= low + 0.03 * (1 - low)


def _write_counts(strip: Axes, edges: FloatArray, counts: IntArray, width: float) -> int:
    """A number above each bar, a line higher where it would touch the one before; returns how many lines.

    width: of the strip, in points.
    """
    low, high = strip.get_xlim()
    ends: list[float] = []  # of the last number of each line, in points
    for b in np.flatnonzero(counts).tolist():
        text = f"{counts[b]:,}"
        if _hidden(edges[b + 1], low):  # a number that far to the left would be outside the picture
            continue
        centre = (max(edges[b], low) + edges[b + 1]) / 2
        at, half = width * (centre - low) / (high - low), 0.32 * SMALL * len(text)
        line = next((i for i, end in enumerate(ends) if at - half > end + 2), len(ends))
        ends[line : line + 1] = [at + half]
        strip.annotate(
            text,
            (centre, 1),
            xytext=(0, 3 + line * LINE),
            xycoords=strip.get_xaxis_transform(),
            textcoords="offset points",
            ha="center",
            fontsize=SMALL,
            color=FAINT,
            annotation_clip=False,
        )
    return len(ends)
