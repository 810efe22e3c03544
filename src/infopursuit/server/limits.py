"""What a request may cost, and how one that may not is told so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SHOWN = 80
"""Characters of a refused value that are repeated to whoever sent it."""


@dataclass(frozen=True)
class Limits:
    """Bounds on what one request may ask for, and on how many may wait.

    body_bytes: of a request. history: answers in one. inputs: of one ``explain``. waiting: requests of one model
    that wait or are worked on. seconds: until a request is given up.
    """

    body_bytes: int = 2**20
    history: int = 256
    inputs: int = 64
    waiting: int = 256
    seconds: float = 10.0


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
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
