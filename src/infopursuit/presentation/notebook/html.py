"""Cards of HTML: a title, facts, tables and bars.

Styles are inline, text is escaped, and colours follow the text around them, on light and dark themes.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from infopursuit.support.display import CONTROL

MAX_ROWS = 8
"""Of a table in a card."""
ACCENT = "#12946d"  # at least 3 : 1 on white and on black
LINE, TRACK = "rgba(127,127,127,.35)", "rgba(127,127,127,.22)"
CARD = (
    f"border:1px solid {LINE};border-radius:8px;padding:12px 16px;margin:2px 0;max-width:860px;overflow-x:auto;"
    "font:13px/1.45 system-ui,-apple-system,'Segoe UI',sans-serif;color:inherit;background:transparent"
)
CELL = "padding:4px 14px 4px 0;text-align:left;vertical-align:middle;border:0;background:transparent;color:inherit"
ROW = "border:0;background:transparent"
HEAD = f"{CELL};font-weight:600;white-space:nowrap;border-bottom:1px solid {LINE}"


class Markup(str):
    """Text that is HTML already."""


def escape(value: Any) -> Markup:
    """A value as HTML; control characters, which are none, are replaced."""
    return value if isinstance(value, Markup) else Markup(html.escape(CONTROL.sub("\ufffd", str(value))))


def tag(name: str, *content: Any, style: str = "", **attributes: Any) -> Markup:
    """An element; content that is no `Markup` is escaped."""
    attributes = {"style": style, **attributes} if style else attributes
    given = "".join(f' {key.replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{given}>{''.join(map(escape, content))}</{name}>")


def card(title: Any, *parts: Any, lead: Any = "") -> Markup:
    """A framed card: a title, a sentence, and what follows."""
    head = tag("div", tag("strong", title, style="font-size:15px"))
    words = tag("div", lead, style="margin:2px 0 6px") if lead else ""
    return tag("div", head, words, *parts, style=CARD)


def table(headers: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str = "") -> Markup:
    """A table with a header for each column."""
    top = tag("thead", tag("tr", *(tag("th", each, style=HEAD, scope="col") for each in headers), style=ROW))
    body = (tag("tr", *(tag("td", each, style=CELL) for each in row), style=ROW) for row in rows)
    words = (
        tag("caption", caption, style="text-align:left;caption-side:top;opacity:.75;padding:2px 0") if caption else ""
    )
    return tag("table", words, top, tag("tbody", *body), style="border-collapse:collapse;margin:8px 0 2px;border:0")


def facts(told: Iterable[tuple[str, Any]]) -> Markup:
    """Names with values, those without a value left out."""
    name = f"{CELL};font-weight:400;opacity:.75;white-space:nowrap"
    rows = (
        tag("tr", tag("th", each, style=name, scope="row"), tag("td", value, style=CELL), style=ROW)
        for each, value in told
        if value not in (None, "")
    )
    return tag("table", tag("tbody", *rows), style="border-collapse:collapse;margin:4px 0;border:0")


def bar(share: float, words: Any, *, best: bool = True, width: int = 90) -> Markup:
    """A share as a bar, and in words beside it."""
    part = f"width:{100 * min(max(share, 0.0), 1.0):.4g}%;height:100%;background:{ACCENT};opacity:{1 if best else 0.45}"
    track = f"display:inline-block;width:{width}px;height:9px;border-radius:5px;overflow:hidden;background:{TRACK}"
    number = tag("span", words, style=f"margin-left:7px;font-variant-numeric:tabular-nums;{'font-weight:600' * best}")
    inner = tag("span", style=f"display:block;{part}")
    return tag("span", tag("span", inner, style=track, aria_hidden="true"), number, style="white-space:nowrap")
