"""The language of a request, and the catalogue that the page reads."""

from __future__ import annotations

from typing import Any

from infopursuit.support import messages
from infopursuit.support.messages import Messages


def words_for(language: str) -> Messages:
    """The catalogue for what a client asked for, English where there is none: never more catalogues than there are."""
    known = language if language == messages.PSEUDO else language[:2].lower()
    return messages.load(known if known in (*messages.LANGUAGES, messages.PSEUDO) else messages.ENGLISH)


def catalogue(language: str) -> dict[str, Any]:
    """What the page needs of a language: its texts, the direction of its script, and which others there are."""
    words = words_for(language)
    about = {"language": words.language, "direction": words.direction, "languages": messages.names()}
    return {**about, "texts": dict(words.texts)}
