"""Checks when the pages are built that none of them loads anything from another host.

A link that somebody may follow is no such thing; a script, a style, a font, a picture or a frame is.
"""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ELSEWHERE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
STYLE = re.compile(r"@import\s+(?:url\()?\s*['\"]?([^'\")\s;]+)|url\(\s*['\"]?([^'\")]+)", re.IGNORECASE)
LOADING = {
    ("audio", "src"), ("embed", "src"), ("iframe", "src"), ("image", "href"), ("img", "src"), ("img", "srcset"),
    ("input", "src"), ("link", "href"), ("object", "data"), ("script", "src"), ("source", "src"), ("source", "srcset"),
    ("track", "src"), ("use", "href"), ("video", "poster"), ("video", "src"),
}  # fmt: skip
NAMED_ONLY = {"author", "canonical", "license", "next", "prev"}
"""Of a ``link``: it names a page and loads nothing."""


def on_post_build(config: Any, **_: Any) -> None:
    """Called by mkdocs when the site is written."""
    found = loaded_from_elsewhere(Path(config["site_dir"]))
    if found:
        raise PluginError("the pages load from another host: " + "; ".join(found[:10]))


def loaded_from_elsewhere(site: Path) -> list[str]:
    """``file: address`` of all that pages and styles below a folder load from another host."""
    found = []
    for file in sorted(site.rglob("*")):
        if file.suffix == ".html":
            finder = _Finder()
            finder.feed(file.read_text(encoding="utf-8"))
            addresses = finder.found
        elif file.suffix == ".css":
            addresses = _in_style(file.read_text(encoding="utf-8"))
        else:
            continue
        found += [f"{file.relative_to(site)}: {address}" for address in addresses]
    return found


class _Finder(HTMLParser):
    """Collects the addresses in a page that a browser would load from another host."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        self.found += _in_style(values.get("style", ""))
        if tag == "link" and set(values.get("rel", "").split()) <= NAMED_ONLY:
            return
        for name, value in values.items():
            if (tag, name.removeprefix("xlink:")) in LOADING and ELSEWHERE.match(value):
                self.found.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.found += _in_style(data)


def _in_style(text: str) -> list[str]:
    return [address for pair in STYLE.findall(text) for address in pair if ELSEWHERE.match(address)]
