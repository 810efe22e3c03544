"""Which queries are asked first, and how often, over all inputs of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.checks import whole_number
from infopursuit.explanation import count, percent, short
from infopursuit.plots import style
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LATER = "#D3D7DD"
"""Asked after the positions that have a colour of their own."""
BARS, PANEL, GAP = 3.6, 1.35, 0.16
"""Inches: width of the bars, and of a map; between two maps, as a share of one."""
TITLE = "Which questions are asked, and when"


def first_queries(trace: Trace, *, axes: Axes | None = None, positions: int = 4, max_queries: int = 12) -> Axes:
    """Draw which queries are asked first and how often.

    Over patches of images: a map for each of the first positions, and one for all. A pixel is the darker the more of
    the inputs that got so far were asked about it there; the patch asked most often is framed, and below stands how
    often, and how many others were asked instead. Over other queries: a bar for each of the queries asked most, as
    long as the share of inputs that were asked it, in pieces by its position.

    Parameters
    ----------
    trace: over a batch of inputs.
    axes: one axes to draw on. A new figure if None.
    positions: how many of the first positions are told apart.
    max_queries: how many queries get a bar.
    """
    whole_number(positions, "positions", 1)
    whole_number(max_queries, "max_queries", 1)
    if not len(trace):
        raise ValueError("trace is over 0 inputs; give one over at least 1")
    # (K, Q) how many inputs were asked each query at each position
    asked = np.zeros((trace.queries.shape[1], len(trace.query_set)), dtype=np.int64)
    for k, column in enumerate(trace.queries.T):
        asked[k] = np.bincount(column[column != UNKNOWN], minlength=asked.shape[1])
    if getattr(trace.query_set, "shape", None) is None:
        axes = _draw_bars(axes, trace, asked, positions, max_queries)
    else:
        axes = _draw_maps(axes, trace, asked, positions)
    mean = f"{trace.length.mean():.1f}".removesuffix(".0")
    about = f"{count(len(trace), 'input')}; {mean} questions each on average, out of {len(trace.query_set):,}"
    style.write_title(axes, TITLE, about)
    return axes


def _draw_bars(axes: Axes | None, trace: Trace, asked: IntArray, positions: int, max_queries: int) -> Axes:
    # queries asked equally often: the one asked earlier comes first
    early = (asked * np.arange(len(asked))[:, None]).sum(axis=0)
    order = np.lexsort((early, -asked.sum(axis=0)))
    rows = [q for q in order.tolist() if asked[:, q].sum()][:max_queries]
    names = [short(trace.query_set.names[q], 40) for q in rows]
    beside = style.LETTER * max(map(len, names), default=0)
    axes = style.axes_of(axes, beside + BARS + 1, style.ROW * max(len(names), 1) + 1)
    from matplotlib.colors import LinearSegmentedColormap

    share = asked / len(trace)
    shades: Any = LinearSegmentedColormap.from_list("positions", style.SHADES[:0:-1])
    pieces = [(f"asked as the {_ordinal(k + 1)}", p, shades(k / positions)) for k, p in enumerate(share[:positions])]
    pieces += [("later", share[positions:].sum(axis=0), LATER)] if len(share) > positions else []
    start: FloatArray = np.zeros(len(rows))
    for label, piece, colour in pieces:
        bars = axes.barh(range(len(rows)), piece[rows], left=start, height=0.72, color=colour, label=label)
        start = start + piece[rows]
    if pieces:
        axes.bar_label(bars, [percent(end) for end in start.tolist()], padding=4, fontsize=style.NOTE)
        axes.legend(frameon=False, fontsize=style.NOTE, loc="lower right")
    axes.set(xlim=(0, 1.1), ylim=(max(len(rows), 1) - 0.5, -0.5), xticks=[])
    axes.set_yticks(range(len(rows)), names, parse_math=False)
    style.bare(axes)
    return axes


def _ordinal(k: int) -> str:
    ending = "th" if 10 <= k % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{ending}"


def _draw_maps(axes: Axes | None, trace: Trace, asked: IntArray, positions: int) -> Axes:
    """A map of the image for each of the first positions, and one of all that was looked at, side by side."""
    patches: Any = trace.query_set
    rows, columns = patches.shape
    first = min(positions, len(asked))
    maps = [*((_ordinal(k + 1), _seen_at(trace, asked[k])) for k in range(first)), ("at any time", _seen(trace))]
    wide = PANEL * (len(maps) + (len(maps) - 1) * GAP)
    axes = style.axes_of(axes, max(wide, 3.2) + 0.2, PANEL * rows / columns + 1.2)
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    step, shades = columns * (1 + GAP), LinearSegmentedColormap.from_list("seen", style.SHADES)
    for place, (title, seen) in enumerate(maps):
        start = place * step
        extent = (start, start + columns, rows, 0.0)
        seen = seen[:: patches.channels]  # a patch reveals all channels of a pixel
        axes.imshow(seen.reshape(rows, columns), cmap=shades, vmin=0, vmax=1, extent=extent, interpolation="nearest")
        axes.add_patch(Rectangle((start, 0), columns, rows, fill=False, edgecolor=style.UNSEEN, linewidth=0.6))
        below = f"{title}\n{percent(float(seen.mean()))} of the image\nis looked at"
        if place < first:
            best, others = int(asked[place].argmax()), int((asked[place] > 0).sum()) - 1
            variables = np.array([a for a in patches.query_variables[best].tolist() if a != UNKNOWN])
            at = np.divmod(variables // patches.channels, columns)
            corner, size = (start + at[1].min(), at[0].min()), (np.ptp(at[1]) + 1, np.ptp(at[0]) + 1)
            axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=style.NOW, linewidth=1.8))
            share = percent(asked[place].max() / max(int(asked[place].sum()), 1))
            note = f"{others:,} other patch{'' if others == 1 else 'es'}" if others else "the same for all"
            below = f"{title}\nin the frame: {share}\n{note}"
        axes.text(start, 1.06 * rows, below, ha="left", va="top", fontsize=style.NOTE, color=style.INK)
    axes.set(xlim=(0, (len(maps) - 1) * step + columns), ylim=(rows, 0), aspect="equal", xticks=[], yticks=[])
    style.bare(axes)
    axes.xaxis.labelpad = 44
    return axes


def _seen_at(trace: Trace, asked: IntArray) -> FloatArray:
    """(A,) share of the inputs asked at one position whose query was about each variable."""
    seen = np.zeros(len(trace.query_set.variables))
    for q in np.flatnonzero(asked).tolist():
        variables = trace.query_set.query_variables[q]
        seen[variables[variables != UNKNOWN]] += asked[q]
    return np.asarray(seen / max(int(asked.sum()), 1))


def _seen(trace: Trace) -> FloatArray:
    """(A,) share of the inputs that were asked about each variable at any time; one under two patches counts once."""
    seen = np.zeros(len(trace.query_set.variables))
    for queries in trace.queries:
        variables = np.unique(trace.query_set.query_variables[queries[queries != UNKNOWN]])
        seen[variables[variables != UNKNOWN]] += 1
    return np.asarray(seen / len(trace))
