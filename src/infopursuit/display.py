"""How objects show themselves: one-line reprs, and cards of HTML for notebooks.

Styles are inline, text is escaped, and colours follow the text around them, on light and dark themes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, cast

import numpy as np

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff\ufffe\uffff]")
"""What no name needs: control characters, overrides of the direction of text, and what is no character."""
STEERING = re.compile(rf"\x1b(?!\[[\d;]*m)|(?!\x1b){CONTROL.pattern}")
MAX_SHOWN = 44
"""Characters of a value in a repr."""
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


class Brief:
    """A dataclass, made with ``repr=False``, in one line: arrays by their shape, long values cut, nothing empty.

    >>> from infopursuit.types import Observed
    >>> Observed(np.zeros((20, 3), int))
    Observed(values=<20 x 3 int64>)
    """

    def __repr__(self) -> str:
        told = ((each.name, getattr(self, each.name)) for each in fields(cast(Any, self)) if each.repr)
        given = ((name, value) for name, value in told if not any(value is nothing for nothing in (None, False, ())))
        shown = (f"{name}={_short(value)}" for name, value in given)
        return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        small = value.size <= 6
        return _short(value.tolist()) if small else f"<{' x '.join(map(str, value.shape))} {value.dtype}>"
    if isinstance(value, (tuple, list, dict)) and len(value) > 6:
        return f"<{len(value):,} entries>"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if type(value) in (tuple, list):
        text = ", ".join(map(_short, value))
        text = f"({text})" if isinstance(value, tuple) else f"[{text}]"
    elif type(value) is dict:
        text = f"{{{', '.join(f'{key!r}: {_short(each)}' for key, each in value.items())}}}"
    else:
        text = " ".join(repr(value).split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def printable(text: str) -> str:
    """Text for a terminal: names, labels and cells of a table must not steer it, so that only new lines, tabs and
    colours stay of what is no character.

    >>> printable("a\\x1b[2Jb")
    'a�[2Jb'
    """
    return STEERING.sub("\ufffd", text)


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


def queries_html(queries: Any) -> Markup:
    """A query set: what it asks, and what may be answered."""
    some = [queries[q] for q in range(min(len(queries), MAX_ROWS))]
    rows = [(each.name, each.sentence, answers_in_words(queries, each)) for each in some]
    lead = f"{_many(len(queries), 'query', 'queries')} about {_many(len(queries.variables), 'variable')}"
    more = f"the first {len(rows)} of {len(queries):,}" if len(rows) < len(queries) else ""
    return card(type(queries).__name__, table(("query", "question", "answers"), rows, more), lead=lead)


def _many(n: int, noun: str, several: str = "") -> str:
    return f"{n:,} {noun if n == 1 else several or f'{noun}s'}"


def answers_in_words(queries: Any, query: Any) -> str:
    """What a query may be answered with."""
    n = len(query.choices)
    if queries.scale(query.index) is not None or n > 2 * MAX_ROWS:
        return queries.hint(query.index) or f"{n:,} possible answers"
    return ", ".join(map(str, query.choices[:MAX_ROWS])) + (", …" if n > MAX_ROWS else "")
