"""Message catalogues: the texts of the page, of reports and of `ask`, in several languages.

A catalogue is a JSON file, ``messages/<language>.json``: {key: text}. A text has {fields}; a key ``x`` with a number
``n`` may have the forms ``x.one`` and ``x.other``. What a catalogue lacks is taken from English. The page reads the
same files, so that a text is translated once.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

ENGLISH, PSEUDO = "en", "ar-XB"
"""The language that is always complete; and a pseudo-locale that is written from right to left, for tests."""
LANGUAGES = ("en", "de", "es", "fr", "zh")
RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")
NAMES = {"threshold": "{name} > {value}", "later": "{name} > {value}", "is": "{name} is {value}"}
"""{question: what its query is called} of the questions that builders word; others are called by the {name} alone."""
WHOLE_SENTENCES = ("patch", "word")
"""Questions that are known by their sentence, not by the name of the query."""
QUESTIONS = ("number", "date", "category", "yes_no", *NAMES, *WHOLE_SENTENCES)
CELLS = ("up_to", "between", "above", "after", "missing", "other")
LEAST = 1e-6
"""Smaller probabilities are not written out."""
NUMBER = re.compile(r"[-+]?\d[\d.:e-]*( \S+){0,2}")
"""A number or a date with its unit."""
DECIMAL = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?( \S+){0,2}")
"""A number with its unit."""


class Asked(Protocol):
    """A question: a `Query` or an `ExplanationStep`."""

    @property
    def name(self) -> str: ...
    @property
    def sentence(self) -> str: ...


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
        return re.sub(r"(?<=\d)\.(?=\d)", self.texts["decimal"], str(text))

    def whole(self, n: int) -> str:
        """A whole number with its thousands apart.

        >>> load("en").whole(12345), load("de").whole(12345)
        ('12,345', '12.345')
        """
        return f"{n:,}".replace(",", self.texts["thousands"])

    def percent(self, p: float) -> str:
        """A probability; one that is short of one is never called 100 %."""
        shown = f"{min(100 * p, 99.9):.1f}" if 0.99 < p < 1 else f"{100 * p:.0f}"
        return self("percent", p=self.number(shown))

    def precise_percent(self, p: float) -> str:
        """A probability with two digits of it, or of what it is short of one.

        >>> english = load("en")
        >>> english.precise_percent(0.0003), english.precise_percent(0.9997), english.precise_percent(0.0512)
        ('0.03 %', '99.97 %', '5.1 %')
        """
        if 0 < p < LEAST:
            return self("less_than", p=self.precise_percent(LEAST))

        p = 1 - LEAST if 1 - LEAST < p < 1 else p
        exponent = int(f"{100 * min(p, 1 - p):.1e}".partition("e")[2])
        shown = f"{100 * p:.{max(0, 1 - exponent)}f}"
        if "." in shown:
            shown = shown.rstrip("0").rstrip(".")
        return self("percent", p=self.number(shown))

    def ways(self, word: str) -> tuple[str, ...]:
        """How a word of `ask` may be said: in this language, the first as it is shown, and in English."""
        mine, english = (texts[f"word.{word}"].split("|") for texts in (self.texts, _read(ENGLISH)))
        return tuple(dict.fromkeys([*mine, *english]))

    def join(self, parts: Sequence[str]) -> str:
        """A list in words: a, b and c."""
        return self("and", a=self.texts["comma"].join(parts[:-1]), b=parts[-1]) if len(parts) > 1 else "".join(parts)

    def question(self, asked: Asked) -> str:
        """The sentence of a question; one that somebody worded stays as it is.

        >>> from infopursuit.support.types import Query
        >>> age, custom = Query(0, "age", "What is age?", ()), Query(0, "age", "How old are you?", ())
        >>> load("de").question(age), load("de").question(custom)
        ('Welchen Wert hat age?', 'How old are you?')
        """
        found = None if self.language == ENGLISH else _kind(asked.name, asked.sentence)
        if found is None:
            return asked.sentence
        kind, fields = found
        return self(f"question.{kind}", **{key: self._number(text) for key, text in fields.items()})

    def name(self, asked: Asked) -> str:
        """What a query is called; names of columns stay as they are."""
        kind, fields = ("", {}) if self.language == ENGLISH else _kind(asked.name, asked.sentence) or ("", {})
        return self("name.patch", **fields) if kind == "patch" else asked.name

    def answer(self, asked: Asked, said: str) -> str:
        """An answer to a question: yes and no, numbers and their cells, and what is no answer; else as it is."""
        if self.language == ENGLISH:
            return said
        if soft := _fields("answer.soft", said):
            percent = self.percent(float(soft["p"].split()[0]) / 100)
            return self("answer.soft", answer=self.answer(asked, soft["answer"]), p=percent)
        kind = (_kind(asked.name, asked.sentence) or ("",))[0]
        if said.lower() in ("no", "yes") and kind != "category":
            translated = self(f"answer.{said.lower()}")
            return translated.capitalize() if said[0].isupper() else translated
        if said == "not applicable":  # as `NonAnswer` has it
            return self("answer.not_applicable")
        for key in ("answer.missing", "answer.not_applicable", *(f"cell.{cell}" for cell in CELLS)):
            fields = _fields(key, said)
            if fields is not None and all(NUMBER.fullmatch(text) for text in fields.values()):
                return self(key, **{name: self.number(text) for name, text in fields.items()})
        return self._number(said)

    def hint(self, scale: Any) -> str:
        """What a `NumberScale` is answered with."""
        kind = "date" if scale.date else "number_unit" if scale.unit else "number"
        ends = {"low": self.number(scale.write(scale.low)), "high": self.number(scale.write(scale.high))}
        return self(f"hint.{kind}", **ends, unit=scale.unit)

    def reason(self, stop_reason: str) -> str:
        """A stop reason; of rules that were combined with ``&``, all of them.

        >>> load().reason("exhausted"), load().reason("confidence and mine")
        ('no question is left', 'the confidence is high enough and mine')
        """
        return self.join([self.texts.get(f"stop.{each}", each) for each in stop_reason.split(" and ")])

    def _number(self, text: str) -> str:
        return self.number(text) if DECIMAL.fullmatch(text) else text


def _kind(name: str, sentence: str) -> tuple[str, dict[str, str]] | None:
    """Which of the builders' questions a sentence is, and its fields; None where somebody worded it."""
    english = _read(ENGLISH)
    for kind in QUESTIONS:
        template = f"question.{kind}"
        fields = _fields(template, sentence) if kind in WHOLE_SENTENCES else _fields(NAMES.get(kind, "{name}"), name)
        if fields is not None and english[template].format_map(fields) == sentence:
            return kind, fields
    return None


def _fields(template: str, text: str) -> dict[str, str] | None:
    """What stands for the {fields} of an English text, or of a template, in another; None where it is another text."""
    found = _pattern(_read(ENGLISH).get(template, template)).fullmatch(text)
    return None if found is None else found.groupdict()


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(f"(?P<{part}>.+)" if k % 2 else re.escape(part) for k, part in enumerate(parts)))


@cache
def load(language: str | None = None) -> Messages:
    """The catalogue of a language such as "de" or "de-AT"; English where there is none. `names` has those there are.

    "ar-XB" is a pseudo-locale: English texts between brackets, written from right to left.
    """
    wanted = (language or ENGLISH).replace("_", "-").split(".")[0]
    english = _read(ENGLISH)
    if wanted == PSEUDO:
        plain = ("decimal", "comma", "semicolon", "thousands", "word.")
        bracketed = {key: f"\u2067⟦{text}⟧\u2069" for key, text in english.items() if not key.startswith(plain)}
        return Messages(PSEUDO, {**english, **bracketed})
    found = wanted.split("-")[0].lower()
    found = found if found in LANGUAGES else ENGLISH
    return Messages(found, {**english, **_read(found)})


def of_environment(environment: Mapping[str, str] = os.environ) -> str | None:
    """The language of the terminal: LC_ALL, LC_MESSAGES or LANG."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(name):
            return environment[name]

    return None


def names() -> dict[str, str]:
    """{language: what it calls itself}."""
    return {language: load(language)("language") for language in LANGUAGES}


@cache
def _read(language: str) -> dict[str, str]:
    content: dict[str, str] = json.loads(files(__name__).joinpath(f"{language}.json").read_text(encoding="utf-8"))
    return content
