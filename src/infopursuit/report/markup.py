"""Small pieces of HTML and SVG; every word that comes from outside goes through `text`."""

from __future__ import annotations

import base64
import html
import re
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def text(value: Any) -> str:
    """Anything as text of a page, also inside of quotes: nothing in it is markup, and none of it is a control code.

    >>> text("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return html.escape(_CONTROL.sub("\ufffd", str(value)), quote=True)


def foreign(value: Any) -> str:
    """The same for words whose language is not known: their direction does not disturb what stands around them."""
    return f"<bdi>{text(value)}</bdi>"


def bar(share: float, kind: str = "rest") -> str:
    """A bar on a track; the number stands beside it, so that it is hidden from screen readers.

    >>> bar(0.25)
    '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" \
width="100" height="10"/><rect class="rest" width="25" height="10"/></svg>'
    """
    width = f"{100 * max(0.0, min(float(share), 1.0)):.4g}"
    return (
        f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="10"/><rect class="{kind}" width="{width}" height="10"/></svg>'
    )


def bars(rows: Sequence[tuple[str, float, str, str]]) -> str:
    """A list of names, each with a bar: (name as markup, share from 0 to 1, what is written, kind of the bar)."""
    lines = (
        f'<li><span class="name">{name}</span>{bar(share, kind)}<span class="number">{text(said)}</span></li>'
        for name, share, said, kind in rows
    )
    return f'<ul class="bars">{"".join(lines)}</ul>'


def histogram(counts: Sequence[tuple[str, int]], label: str) -> str:
    """Columns with their counts above and names below, as one picture with a description."""
    wide, high, top, bottom = 480, 170, 18, 20
    n, most = max(len(counts), 1), max((count for _, count in counts), default=0) or 1
    step = wide / max(n, 8)
    every = 1 if step >= 26 else 2  # names need room, also in the larger letters of a phone
    narrow = any(step < 10 * len(str(count)) for _, count in counts)  # then only the highest has its number
    parts = []
    for i, (name, count) in enumerate(counts):
        size = (high - top - bottom) * count / most
        x, y = i * step, high - bottom - size
        parts.append(f'<rect class="rest" x="{x + 0.1 * step:.1f}" y="{y:.1f}" width="{0.8 * step:.1f}" '
                     f'height="{size:.1f}"/>')  # fmt: skip
        middle = f"{x + step / 2:.1f}"
        if count and (count == most or not narrow):
            parts.append(f'<text x="{middle}" y="{y - 4:.1f}">{count}</text>')
        if i % every == 0:
            parts.append(f'<text x="{middle}" y="{high - 5}">{text(name)}</text>')
    said = f"{label}: " + ", ".join(f"{name}: {count}" for name, count in counts)
    return (
        f'<svg class="histogram" viewBox="0 0 {wide} {high}" role="img" aria-label="{text(said)}">'
        f'{"".join(parts)}<line x1="0" x2="{wide}" y1="{high - bottom}" y2="{high - bottom}"/></svg>'
    )


def png(pixels: Any) -> str:
    """(rows, columns) grey or (rows, columns, 4) colour bytes as a data URI.

    >>> png(np.zeros((1, 1), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """
    array = np.ascontiguousarray(pixels, dtype=np.uint8)
    rows, columns = array.shape[:2]
    kind = 6 if array.ndim == 3 else 0
    lines = b"".join(b"\x00" + line.tobytes() for line in array)  # each line begins with its filter, none
    head = struct.pack(">IIBBBBB", columns, rows, 8, kind, 0, 0, 0)
    content = (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")
    )
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
