"""The files of the page, read once at the start: what is asked for is looked up by name, never on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import Request, Response

TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Page:
    """A file and its type."""

    content: bytes
    media_type: str
    tag: str

    def response(self, request: Request) -> Response:
        """As an answer; browsers ask each time whether it is still the newest, so that an update is seen at once."""
        from fastapi import Response

        headers = {"cache-control": "no-cache", "etag": self.tag}
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


def read_pages() -> dict[str, Page]:
    """All files of the page by name."""
    found = {}
    for file in resources.files("infopursuit.server").joinpath("page").iterdir():
        ending = file.name.rsplit(".", 1)[-1]
        if ending in TYPES:
            content = file.read_bytes()
            found[file.name] = Page(content, TYPES[ending], f'"{sha256(content).hexdigest()[:16]}"')
    return found
