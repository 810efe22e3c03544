"""Accuracy against the number of queries, and accuracy against confidence (a reliability diagram)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.calibration.temperature import expected_calibration_error
from infopursuit.evaluation.measures import reliability_bins
from infopursuit.presentation.plots import style
from infopursuit.pursuit.explanation import count
from infopursuit.support.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trade_off(
    curves: Mapping[str, Sequence[Any]],
    *,
    marks: Mapping[str, tuple[float, float]] | None = None,
    title: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Accuracy against the mean number of questions, one line for each curve.

    curves: for each name its points, as `evaluation.measures` has them; a band shows one standard error to both sides.
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
    confidence: Any, right: Any, *, before: tuple[Any, Any] | None = None, axes: Axes | None = None, title: str = ""
) -> Axes:
    """Draw a reliability diagram: accuracy against confidence, bin by bin, and below each how many inputs it has.

    A bin below the dashed line is overconfident. Upright bars are Wilson's 95 % intervals. The expected calibration
    error is the mean over inputs of |confidence - accuracy| in their bin. Both scales begin where the data do.

    Parameters
    ----------
    confidence: (B,) the posterior of the prediction. right: (B,) whether it is right.
    before: both of the same inputs before calibration, drawn in grey behind.
    axes: one axes to draw on. A new figure if None.
    title: above all.
    """
    drawn = [("before", before, style.FAINT)] if before is not None else []
    drawn.append(("after", (confidence, right), style.COLOURS[0]))
    axes, lowest, words = style.axes_of(axes, 4.6, 4.8), 1.0, [title] if title else []
    for label, given, colour in drawn:
        p, hit = _checked(*given)
        bins = reliability_bins(p, hit)
        mean, share = (np.array([getattr(b, name) for b in bins]) for name in ("confidence", "accuracy"))
        ends = np.array([(b.right_low, b.right_high) for b in bins])
        look: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 5, "linewidth": 1.4, "capsize": 2.5}
        axes.errorbar(mean, share, yerr=np.abs(ends.T - share), label=label, elinewidth=1, **look)
        lowest = min(lowest, bins[0].low, float(ends.min()))
        when = f"{label}: " if before is not None else ""
        error = 100 * expected_calibration_error(p, hit)
        words.append(f"{when}expected calibration error {error:.1f} %, accuracy {100 * hit.mean():.1f} %")
    note: dict[str, Any] = {"fontsize": style.NOTE - 1, "color": style.FAINT, "ha": "center", "va": "top"}
    for b in bins:
        axes.annotate(f"{b.n_inputs:,}", (b.confidence, b.right_low), (0, -3), textcoords="offset points", **note)
    axes.plot([0, 1], [0, 1], color=style.FAINT, linewidth=1, linestyle="--", zorder=0)
    low = np.floor(10 * lowest) / 10
    limits = (low - 0.02 * (1 - low), 1 + 0.02 * (1 - low))
    axes.set(xlim=limits, ylim=limits)
    style.plain(axes)
    _name_axes(axes, x="confidence", y="accuracy")
    if before is not None:
        axes.legend(loc="upper left", fontsize=style.NOTE, frameon=False)
    said = "\n".join([*words, count(len(p), "input")])
    axes.set_title(said, loc="left", fontsize=style.NOTE, color=style.INK, parse_math=False)
    return axes


def _name_axes(axes: Axes, *, x: str, y: str) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set_xlabel(x, loc="center", fontsize=style.SIZE, color=style.INK)
    axes.set_ylabel(y, fontsize=style.SIZE, color=style.INK)
    for axis in (axes.yaxis, *([axes.xaxis] if x == "confidence" else [])):
        axis.set_major_formatter(PercentFormatter(1.0))


def _checked(confidence: Any, right: Any) -> tuple[FloatArray, FloatArray]:
    p, hit = np.asarray(confidence, dtype=np.float64), np.asarray(right)
    if p.ndim != 1 or hit.shape != p.shape or not len(p):
        raise ValueError(f"confidence has shape {p.shape} and right {hit.shape}; give (B,) and (B,), B from 1 on")
    for i in np.flatnonzero(~((p >= 0) & (p <= 1 + 1e-9)))[:1]:
        raise ValueError(f"confidence[{i}] is {p[i]:g}; a confidence is a probability, from 0 to 1")
    for i in np.flatnonzero(~np.isin(hit, (0, 1)))[:1]:
        raise ValueError(f"right[{i}] is {hit[i]}; give True and False, such as predictions == labels")
    return p, hit.astype(np.float64)
