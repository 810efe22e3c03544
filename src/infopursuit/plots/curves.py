"""Accuracy against the number of queries, and accuracy against confidence (a reliability diagram)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
FEW = 10
"""Inputs of a bin below which two lines leave it out."""
SMALL, SIZE, TITLE, LINE = 7.5, 8.5, 11.0, 9.0
"""Points: size of the counts, of other words and of the title, and from one line of counts to the next."""


def trade_off(
    curves: Mapping[str, Sequence[Any]], *, marks: Mapping[str, tuple[float, float]] | None = None, title: str = "",
    axes: Any = None,
) -> Axes:  # fmt: skip
    """Accuracy against the mean number of questions, one line for each curve.

    curves: for each name its points, as `evaluation.curve` has them; a band shows one standard error to both sides.
    marks: single points, name -> (questions, accuracy as a share), drawn as stars. axes: what to draw on; a new figure
    if None.
    """
    style.check_axes(axes)
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    if not curves:
        raise ValueError("curves is empty; give at least one name with its points")
    if axes is None:
        axes = Figure(figsize=(6.4, 4.0), layout="constrained", dpi=150).add_subplot()
    for i, (name, points) in enumerate(curves.items()):
        ordered = sorted(points, key=lambda p: p.length)
        length, accuracy, error = (
            np.array([getattr(p, f) for p in ordered]) for f in ("length", "accuracy", "accuracy_error")
        )
        colour, marker = style.COLOURS[i % len(style.COLOURS)], style.MARKERS[i % len(style.MARKERS)]
        axes.fill_between(length, accuracy - error, accuracy + error, color=colour, alpha=0.15, linewidth=0)
        label = f"{name} ({ordered[0].n_inputs:,} inputs)"
        axes.plot(length, accuracy, color=colour, marker=marker, markersize=3.5, linewidth=1.4, label=label)
    for name, (asked, right) in (marks or {}).items():
        axes.plot([asked], [right], marker="*", markersize=11, color=style.INK, linestyle="none", label=name)
    axes.set_xlabel("questions asked, mean", color=style.INK)
    axes.set_ylabel("accuracy", color=style.INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    style.plain(axes)
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")
    if title:
        axes.set_title(title, fontsize=11, color=style.INK, loc="left")
    return axes  # type: ignore[no-any-return]


def calibration(
    confidence: Any, right: Any, *, before: tuple[Any, Any] | None = None, bins: int | Sequence[float] = 10,
    axes: Any = None, title: str | None = None,
) -> Axes:  # fmt: skip
    """Draw a reliability diagram: accuracy against confidence, bin by bin, and above it how many inputs there are.

    A bin below the dashed line is overconfident. Upright bars are Wilson's 95 % intervals. The expected calibration
    error is the mean over inputs of |confidence - accuracy| in their bin. Both scales begin where the data do.

    Parameters
    ----------
    confidence: (B,) the posterior of each prediction.
    right: (B,) whether it was right.
    before: both of the same inputs before calibration, drawn in grey behind; counts are those after it. Bins with fewer
        than 10 inputs, whose intervals say nothing, are then left out of both lines, not out of the error.
    bins: how many of equal width, or their edges, which rise from 0 to 1; a bin has its lower edge, not its upper one.
    axes: one axes to draw on; counts and words go above it. A new figure if None.
    title: above all.
    """
    style.check_axes(axes)
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    confidence, right = _checked(confidence, right)
    edges = _edges(bins)
    if axes is None:
        axes = Figure(figsize=(4.6, 5.2), layout=ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.1), dpi=150).add_subplot()
    earlier = None if before is None else _binned(*_checked(*before, "before: "), edges, FEW)
    found = _binned(confidence, right, edges, 1 if earlier is None else FEW)
    both = [(found, style.COLOURS[0], None if earlier is None else "after")]
    if earlier is not None:
        both.insert(0, (earlier, style.FAINT, "before"))
    for drawn_bins, colour, label in both:
        axes.errorbar(
            drawn_bins.confidence, drawn_bins.share, yerr=np.abs(drawn_bins.ends.T - drawn_bins.share), color=colour,
            marker="o", markersize=5, linewidth=1.4, elinewidth=1, capsize=2.5, label=label,
        )  # fmt: skip
    _dress(axes, min(each.lowest for each, _, _ in both))
    many = count(len(right), "input")
    words = [
        f"expected calibration error {100 * found.error:.1f} % over {many}",
        f"accuracy {100 * right.mean():.1f} %, confidence {100 * confidence.mean():.1f} % on average",
    ]
    if earlier is not None:
        words[0] = words[0].replace(" over", f", {100 * earlier.error:.1f} % before, over")
        words[1] += f"; before {100 * earlier.right:.1f} %, {100 * earlier.mean:.1f} %"
        axes.legend(loc="upper left", fontsize=SIZE, frameon=False, labelcolor=style.INK)
    hidden = int(found.counts[_hidden(edges[1:], axes.get_xlim()[0])].sum())
    if hidden or earlier is not None:  # a line of their own, for which there is no room in the first
        words[0] = words[0].removesuffix(f" over {many}").rstrip(",")
        words.append(many + (f", {hidden:,} of them below the scale" if hidden else ""))
    _draw_counts(axes, edges, found.counts, "\n".join(words), title)
    return axes  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Bins:
    """Bins that are drawn: (b,) mean confidence, accuracy, its interval (b, 2); counts of all bins; the expected
    calibration error; the lower edge of the first; mean accuracy and confidence of all."""

    confidence: FloatArray
    share: FloatArray
    ends: FloatArray
    counts: IntArray
    error: float
    lowest: float
    right: float
    mean: float


def _binned(confidence: FloatArray, right: FloatArray, edges: FloatArray, fewest: int) -> _Bins:
    place = np.clip(np.searchsorted(edges, confidence + SLACK, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(place, minlength=len(edges) - 1)
    filled = np.flatnonzero(counts)
    n = counts[filled]
    mean, share = (np.bincount(place, values)[filled] / n for values in (confidence, right))
    tests = [binomtest(round(part * many), int(many)) for part, many in zip(share, n, strict=True)]
    ends = np.array([test.proportion_ci(0.95, method="wilson") for test in tests])  # (bins, 2)
    error = float((np.abs(mean - share) * n).sum() / n.sum())
    drawn = n >= min(fewest, n.max())
    lowest = float(min(edges[filled[drawn][0]], ends[drawn].min()))
    means = float(right.mean()), float(confidence.mean())
    return _Bins(mean[drawn], share[drawn], ends[drawn], counts, error, lowest, *means)


def _checked(confidence: Any, right: Any, name: str = "") -> tuple[FloatArray, FloatArray]:
    p, hit = np.asarray(confidence, dtype=np.float64), np.asarray(right)
    if p.ndim != 1 or hit.shape != p.shape or not len(p):
        raise ValueError(f"{name}confidence has shape {p.shape} and right {hit.shape}; give (B,) and (B,), B from 1 on")
    for i in np.flatnonzero(~((p >= 0) & (p <= 1 + SLACK)))[:1]:
        raise ValueError(f"{name}confidence[{i}] is {p[i]:g}; a confidence is a probability, from 0 to 1")
    for i in np.flatnonzero(~np.isin(hit, (0, 1)))[:1]:
        raise ValueError(f"{name}right[{i}] is {hit[i]}; give True and False, such as predictions == labels")
    return p, hit.astype(np.float64)


def _edges(bins: int | Sequence[float]) -> FloatArray:
    if isinstance(bins, int | np.integer):
        if bins < 1:
            raise ValueError(f"bins={bins} must be at least 1, or the edges of bins, from 0 to 1")
        return np.linspace(0, 1, int(bins) + 1)
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or not (np.diff(edges) > 0).all():
        raise ValueError(f"bins={bins!r} is neither a whole number nor edges; give numbers that rise from 0 to 1")
    return edges


def _dress(axes: Axes, lowest: float) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.plot([0, 1], [0, 1], color=style.FAINT, linewidth=1, linestyle="--", zorder=0)
    place: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "style": "italic"}
    axes.text(0.97, 0.04, "overconfident", fontsize=SIZE, color=style.FAINT, **place)
    low = np.floor(10 * lowest) / 10
    limits = (low - 0.02 * (1 - low), 1 + 0.02 * (1 - low))
    axes.set(xlim=limits, ylim=limits)
    axes.set_xlabel("confidence", color=style.INK)
    axes.set_ylabel("accuracy", color=style.INK)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(color=style.EMPTY, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=style.FAINT, labelsize=9)
    for spine in axes.spines.values():
        spine.set_color(style.EDGE)


def _draw_counts(axes: Axes, edges: FloatArray, counts: IntArray, words: str, title: str | None) -> None:
    """How many inputs each bin has: bars in a strip above, the numbers above those, and words above all."""
    strip = axes.inset_axes((0, 1.02, 1, 0.12))
    strip.bar(
        edges[:-1], counts, width=np.diff(edges), align="edge", color=style.OTHERS, edgecolor="white", linewidth=0.8
    )
    strip.set(xlim=axes.get_xlim(), ylim=(0, counts.max()))
    strip.set_axis_off()
    high = 8 + LINE * _write_counts(strip, edges, counts, 72 * axes.bbox.width / axes.figure.dpi)
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    strip.annotate(words, (0, 1), xytext=(0, high), fontsize=SIZE, color=style.FAINT, linespacing=1.3, **place)
    if title:
        look: dict[str, Any] = {"fontsize": TITLE, "fontweight": "bold", "color": style.INK, "parse_math": False}
        above = high + (1.5 * (words.count("\n") + 1)) * SIZE + 3
        strip.annotate(title, (0, 1), xytext=(0, above), **look, **place)


def _hidden(edge: Any, low: float) -> Any:
    """Whether a bin with this upper edge lies to the left of a scale that begins at ``low``, but for its margin."""
    return np.asarray(edge) <= low + 0.03 * (1 - low)


def _write_counts(strip: Axes, edges: FloatArray, counts: IntArray, width: float) -> int:
    """A number above each bar of a strip of so many points, a line higher where it would touch the one before; returns
    how many lines."""
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
            text, (centre, 1), xytext=(0, 3 + line * LINE), xycoords=strip.get_xaxis_transform(),
            textcoords="offset points", ha="center", fontsize=SMALL, color=style.FAINT, annotation_clip=False,
        )  # fmt: skip
    return len(ends)
