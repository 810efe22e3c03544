"""Which queries are asked first, and how often, over all inputs of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.explanation import count, percent
from infopursuit.plots import style
from infopursuit.plots.style import Word, short
from infopursuit.trace import Trace
from infopursuit.types import UNKNOWN, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LATER = "#D3D7DD"
"""Asked after the positions that have a colour of their own."""
BARS, PANEL, GAP = 3.6, 1.35, 0.16
"""Inches: width of the bars, and of a map; between two maps, as a share of one."""


def first_queries(trace: Trace, *, axes: Any = None, positions: int = 4, max_queries: int = 12) -> Axes:
    """Draw which queries are asked first and how often.

    Over patches of images: a map for each of the first positions, and one for all. A pixel is the darker the more of
    the inputs that got so far were asked about it there; the patch asked most often is framed, and below stands how
    often, and how many others were asked instead. Over other queries: a bar for each of the queries asked most, as
    long as the share of inputs that were asked it, in pieces by its position.

    Parameters
    ----------
    trace: over a batch of inputs.
    axes: one axes to draw on; words go to the left of it and above. A new figure if None.
    positions: how many of the first positions are told apart.
    max_queries: how many queries get a bar.
    """
    style.check_axes(axes)
    style.at_least_one(positions=positions, max_queries=max_queries)
    if not len(trace):
        raise ValueError("trace is over 0 inputs; give one over at least 1")
    # (K, Q) how many inputs were asked each query at each position
    asked = np.zeros((trace.queries.shape[1], len(trace.query_set)), dtype=np.int64)
    for k, column in enumerate(trace.queries.T):
        asked[k] = np.bincount(column[column != UNKNOWN], minlength=asked.shape[1])
    mean = f"{trace.length.mean():.1f}".removesuffix(".0")
    about = f"{count(len(trace), 'input')}; {mean} questions each on average, out of {len(trace.query_set):,}"
    said = (
        Word("Which questions are asked, and when", style.INK, True, style.HEAD),
        Word(about, style.FAINT, False, style.NOTE),
    )
    if getattr(trace.query_set, "shape", None) is None:
        return _draw_bars(axes, trace, asked, positions, max_queries, said)
    return _draw_maps(axes, trace, asked, positions, said)


# ---- bars ------------------------------------------------------------------------------------------------------------


def _draw_bars(
    axes: Any, trace: Trace, asked: IntArray, positions: int, max_queries: int, said: tuple[Word, Word]
) -> Axes:
    share = asked / len(trace)
    # queries asked equally often: the one asked earlier comes first
    early = (asked * np.arange(len(asked))[:, None]).sum(axis=0)
    order = np.lexsort((early, -asked.sum(axis=0)))
    rows = [q for q in order.tolist() if asked[:, q].sum()][:max_queries]
    names = [Word(short(trace.query_set.names[q], 40)) for q in rows]
    if axes is None:
        left = max((name.width for name in names), default=0.0) / 72 + 0.25
        axes = style.new_axes((BARS, style.ROW * max(len(names), 1)), said, left=left, right=0.55, above=0.5)
    legend = _legend(len(share), positions)
    start: FloatArray = np.zeros(len(rows))
    for piece, (colour, label) in zip([*share[:positions], share[positions:].sum(axis=0)], legend, strict=False):
        look = {"color": colour, "label": label, "edgecolor": "white", "linewidth": 0.6}
        axes.barh(np.arange(len(rows)) + 0.5, piece[rows], left=start, height=0.72, **look)
        start = start + piece[rows]
    for row, (name, end) in enumerate(zip(names, start.tolist(), strict=True)):
        style.write(axes, name, (0, row + 0.5), (-6, 0), axes.get_yaxis_transform(), ha="right", va="center_baseline")
        number = Word(percent(end), style.FAINT, size=style.NOTE)
        style.write(axes, number, (end, row + 0.5), (4, 0), "data", ha="left", va="center_baseline")
    axes.set(xlim=(0, 1), ylim=(max(len(rows), 1), 0), xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_visible(False)
    if legend:
        axes.legend(
            frameon=False, fontsize=style.NOTE, ncols=len(legend), loc="lower left", bbox_to_anchor=(0, 1), borderpad=0,
            handlelength=1, handleheight=1, handletextpad=0.4, columnspacing=1.1, labelcolor=style.INK,
            title="asked as the", title_fontsize=style.NOTE, alignment="left",
        )  # fmt: skip
        axes.get_legend().get_title().set_color(style.FAINT)
    return axes  # type: ignore[no-any-return]


def _legend(n_steps: int, positions: int) -> list[tuple[str, str]]:
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    n = min(positions, n_steps)
    shades = LinearSegmentedColormap.from_list("positions", style.SHADES[:0:-1])
    found = [(to_hex(shades(k / max(positions - 1, 1))), _ordinal(k + 1)) for k in range(n)]
    return [*found, *([(LATER, "later")] if n_steps > positions else [])]


def _ordinal(k: int) -> str:
    ending = "th" if 10 <= k % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{ending}"


# ---- maps ------------------------------------------------------------------------------------------------------------


def _draw_maps(axes: Any, trace: Trace, asked: IntArray, positions: int, said: tuple[Word, Word]) -> Axes:
    """A map of the image for each of the first positions, and one of all that was looked at, side by side."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    patches: Any = trace.query_set
    rows, columns = patches.shape
    first = min(positions, len(asked))
    maps = [*((_ordinal(k + 1), _seen_at(trace, asked[k])) for k in range(first)), ("at any time", _seen(trace))]
    if axes is None:
        size = PANEL * (len(maps) + (len(maps) - 1) * GAP), PANEL * rows / columns
        axes = style.new_axes(size, said, foot=0.48, above=0.34, min_width=3.4)
    step = columns * (1 + GAP)
    shades = LinearSegmentedColormap.from_list("seen", style.SHADES)
    for place, (title, seen) in enumerate(maps):
        start = place * step
        extent = (start, start + columns, rows, 0.0)
        axes.imshow(seen.reshape(rows, columns), cmap=shades, vmin=0, vmax=1, extent=extent, interpolation="nearest")
        axes.add_patch(Rectangle((start, 0), columns, rows, fill=False, edgecolor=style.UNSEEN, linewidth=0.6))
        style.write(axes, Word(title, style.INK, True), (start, 0), (0, 5), "data", ha="left", va="baseline")
        if place < first:
            n, best, others = asked[place].sum(), int(asked[place].argmax()), int((asked[place] > 0).sum()) - 1
            at = np.divmod([a for a in trace.query_set.query_variables[best].tolist() if a != UNKNOWN], columns)
            corner, size = (start + at[1].min(), at[0].min()), (np.ptp(at[1]) + 1, np.ptp(at[0]) + 1)
            axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=style.NOW, linewidth=1.8))
            below = f"in the frame: {percent(asked[place].max() / max(int(n), 1))}"
            note = f"{others:,} other patch{'' if others == 1 else 'es'}" if others else "the same for all"
        else:
            below, note = f"{percent(float(seen.mean()))} of the image", "is looked at"
        for line, word in enumerate((Word(below, size=style.NOTE), Word(note, style.FAINT, size=style.NOTE))):
            style.write(axes, word, (start, rows), (0, -12 - 11 * line), "data", ha="left", va="baseline")
    axes.set_xlim(0, (len(maps) - 1) * step + columns)
    axes.set_ylim(rows, 0)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return axes  # type: ignore[no-any-return]


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
