"""What a request may cost, and how one that may not is told so."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any

SHOWN = 80
"""Characters of a refused value that are repeated to whoever sent it."""


@dataclass(frozen=True)
class Limits:
    """Bounds on what one request may ask for, on how many may wait, and on how long anything takes.

    body_bytes: of a request; bodies_bytes: of all that are held at once. history: answers in one; inputs: of one
    ``explain``. waiting: requests of one model that wait or are worked on; waiting_in_all: of all models together.
    seconds: for the head of a request, for its body, and for its work, each; sending: until an answer is taken.
    connections: requests that are processed at once, and half of the connections that may be open; idle: seconds until
    a connection without requests is closed. stopping: seconds for requests to finish when the server stops.
    """

    body_bytes: int = 2**20
    bodies_bytes: int = 64 * 2**20
    history: int = 256
    inputs: int = 64
    waiting: int = 256
    waiting_in_all: int = 384
    seconds: float = 10.0
    sending: float = 30.0
    connections: int = 512
    idle: int = 20
    stopping: int = 25


class Problem(Exception):
    """A request that is not served: the HTTP status, what is wrong with which field, and what to do about it."""

    def __init__(
        self,
        status: int,
        title: str,
        *,
        field: str | None = None,
        value: Any = None,
        remedy: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(title)
        self.status, self.title, self.field, self.remedy = status, title, field, remedy
        self.value, self.retry_after = value, retry_after

    def headers(self) -> dict[str, str]:
        """What an answer with this problem says in its head."""
        found = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        return {**found, "www-authenticate": 'Bearer realm="infopursuit"'} if self.status == 401 else found

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, in the form of RFC 9457."""
        found: dict[str, Any] = {"status": self.status, "title": self.title}
        if self.field is not None:
            found["field"], found["value"] = self.field, shorten(self.value)
        if self.remedy is not None:
            found["remedy"] = self.remedy
        return found


def shorten(value: Any) -> str:
    """A value as it is repeated in an answer: never long, whatever was sent.

    >>> shorten("a" * 100)[-6:], shorten(None)
    ('aaa...', 'null')
    """
    if value is None:
        return "null"
    text = value[: SHOWN + 1] if isinstance(value, str) else _SHORT.repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


_SHORT = reprlib.Repr()  # the whole of a deep or long value would take long, or more stack than there is
_SHORT.maxlevel, _SHORT.maxother = 4, SHOWN
_SHORT.maxlist = _SHORT.maxdict = _SHORT.maxstring = _SHORT.maxlong = SHOWN
