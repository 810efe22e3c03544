"""Message catalogues: the texts of the page, of reports and of `ask`, in several languages.

A catalogue is a JSON file, ``messages/<language>.json``: {key: text}. A text has {fields}; a key ``x`` with a number
``n`` may have the forms ``x.one`` and ``x.other``. What a catalogue lacks is taken from English. The page reads the
same files, so that a text is translated once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

ENGLISH, PSEUDO = "en", "ar-XB"
"""The language that is always complete; and a pseudo-locale that is written from right to left, for tests."""
LANGUAGES = ("en", "de", "es", "fr", "zh")
RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")


@dataclass(frozen=True)
class Messages:
    """The texts of one language.

    >>> english = load("en")
    >>> english("questions", n=1), english("questions", n=3), english.percent(0.914)
    ('1 question', '3 questions', '91 %')
    >>> load("de-AT").percent(0.9942), load("de")("answer.unknown")
    ('99,4 %', 'weiß nicht')
    """

    language: str
    texts: Mapping[str, str]

    @property
    def direction(self) -> str:
        """ "rtl" for languages that are written from right to left, else "ltr"."""
        return "rtl" if self.language.split("-")[0] in RIGHT_TO_LEFT else "ltr"

    def __call__(self, key: str, **values: Any) -> str:
        """A text with its fields filled in; with a number ``n`` in the form that the language has for it."""
        n = values.get("n")
        if n is not None and f"{key}.other" in self.texts:
            key = f"{key}.one" if self._is_one(n) and f"{key}.one" in self.texts else f"{key}.other"
        return self.texts[key].format_map(values)

    def __contains__(self, key: str) -> bool:
        return key in self.texts

    def _is_one(self, n: Any) -> bool:
        return bool(n <= 1 if self.language.startswith("fr") else n == 1)

    def number(self, text: Any) -> str:
        """A number that is written with a decimal point, as the language writes it."""
        return str(text).replace(".", self.texts["decimal"])

    def percent(self, p: float) -> str:
        """A probability; one that is short of one is never called 100 %."""
        shown = f"{min(100 * p, 99.9):.1f}" if 0.99 < p < 1 else f"{100 * p:.0f}"
        return self("percent", p=self.number(shown))

    def join(self, parts: Sequence[str]) -> str:
        """A list in words: a, b and c."""
        return self("and", a=self.texts["comma"].join(parts[:-1]), b=parts[-1]) if len(parts) > 1 else "".join(parts)


@cache
def load(language: str | None = None) -> Messages:
    """The catalogue of a language such as "de" or "de-AT"; English where there is none. `names` has those there are.

    "ar-XB" is a pseudo-locale: English texts between brackets, written from right to left.
    """
    wanted = (language or ENGLISH).replace("_", "-").split(".")[0]
    english = _read(ENGLISH)
    if wanted == PSEUDO:
        plain = {"decimal", "comma"}
        return Messages(
            PSEUDO, {key: text if key in plain else f"\u2067⟦{text}⟧\u2069" for key, text in english.items()}
        )
    found = wanted.split("-")[0].lower()
    found = found if found in LANGUAGES else ENGLISH
    return Messages(found, {**english, **_read(found)})


def names() -> dict[str, str]:
    """{language: what it calls itself}."""
    return {language: load(language)("language") for language in LANGUAGES}


def _read(language: str) -> dict[str, str]:
    content: dict[str, str] = json.loads(files(__name__).joinpath(f"{language}.json").read_text(encoding="utf-8"))
    return content
