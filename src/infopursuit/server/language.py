"""What a client reads in its language: questions that a builder worded, answers, and why it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from infopursuit import messages
from infopursuit.messages import Messages
from infopursuit.queries.numbers import NumberScale
from infopursuit.queries.queryset import YES_NO, QuerySet

QUESTIONS = (
    "question.number", "question.category", "question.yes_no", "question.threshold", "page.question.date",
    "page.question.later", "page.question.is",
)  # fmt: skip
"""How builders word questions about columns."""


def words_for(language: str) -> Messages:
    """The catalogue for what a client asked for, English where there is none: never more catalogues than there are."""
    known = language if language == messages.PSEUDO else language[:2].lower()
    return messages.load(known if known in (*messages.LANGUAGES, messages.PSEUDO) else messages.ENGLISH)


def sentence(queries: QuerySet, query: int, topic: tuple[str, str], words: Messages) -> str:
    """A question; one that the builder worded in the language of the words, any other as somebody worded it."""
    worded, english = queries.sentences[query], messages.load()
    for key in QUESTIONS if words is not english else ():
        if english(key, name=topic[0], value=topic[1]) == worded:
            return words(key, name=topic[0], value=words.number(topic[1]))
    return worded


def labels(choices: Sequence[str], scale: NumberScale | None, words: Messages) -> list[str]:
    """The choices of a question as they are shown."""
    if scale is None or tuple(choices) != scale.choices:
        plain = {"no": words("answer.no"), "yes": words("answer.yes")} if set(YES_NO) <= set(choices) else {}
        return [plain.get(choice, choice) for choice in choices]
    shown = [words.number(scale.write(threshold)) for threshold in scale.thresholds]
    between = (words("cell.between", low=low, high=high) for low, high in pairwise(shown))
    last = words("cell.after" if scale.date else "cell.above", low=shown[-1])
    return [words("cell.up_to", high=shown[0]), *between, last]


def stop_reason(reason: str, words: Messages) -> str:
    """Why it stopped; of rules that were combined with ``&``, all of them."""
    each = [words(f"stop.{one}") if f"stop.{one}" in words else one for one in reason.split(" and ")]
    return words.join(each)


def catalogue(language: str) -> dict[str, Any]:
    """What the page needs of a language: its texts, the direction of its script, and which others there are."""
    words = words_for(language)
    return {
        "language": words.language, "direction": words.direction, "languages": messages.names(),
        "texts": dict(words.texts),
    }  # fmt: skip
