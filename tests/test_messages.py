"""The message catalogues: complete in every language, and used for questions, answers and reports."""

import json
import re
from importlib.resources import files
from string import Formatter

import numpy as np
import pytest

import infopursuit as ip
from infopursuit import case
from infopursuit.app.conversation import Command, Word, command, understand
from infopursuit.support import messages

TEXTS = {
    language: json.loads(files(messages).joinpath(f"{language}.json").read_text(encoding="utf-8"))
    for language in messages.LANGUAGES
}
OTHERS = [language for language in messages.LANGUAGES if language != "en"]


def fields(text):
    return sorted({name for _, name, _, _ in Formatter().parse(text) if name is not None})


@pytest.mark.parametrize("language", OTHERS)
def test_every_catalogue_has_the_same_keys_and_fields(language):
    english, other = TEXTS["en"], TEXTS[language]
    assert other.keys() == english.keys()
    assert [key for key in english if fields(english[key]) != fields(other[key])] == []
    plain = {key for key, text in english.items() if re.fullmatch(r"(\W|\{\w+\})*", text)}  # nothing to translate
    alike = [key for key in english if other[key] == english[key] and key not in plain and len(english[key]) > 20]
    assert alike == []


def test_plural_forms_come_in_pairs():
    for key in TEXTS["en"]:
        if key.endswith(".one"):
            assert key.removesuffix("one") + "other" in TEXTS["en"], key


def test_every_stop_reason_has_words():
    for name in ("confidence", "information_gain", "max_queries", "max_cost", "exhausted", "impossible", "open"):
        for language in messages.LANGUAGES:
            assert f"stop.{name}" in messages.load(language)


@pytest.mark.parametrize("language", OTHERS)
def test_words_that_are_typed_mean_one_thing(language):
    words = messages.load(language)
    ways = [way for word in Word for way in words.ways(word.value)]
    assert len(ways) == len(set(ways))
    assert all(way == way.lower() for way in ways)


ROWS = np.array([["male", 31, 1], ["female", 54.5, 0], ["female", 48.5, 0], ["male", 60.5, 1]], dtype=object)
QUERIES = ip.queries.columns(ROWS, names=["sex", "age", "smoker"], units={"age": "years"})


@pytest.mark.parametrize("language", OTHERS)
def test_questions_of_the_builders_are_translated(language):
    words = messages.load(language)
    for asked in (QUERIES, ip.queries.columns(ROWS, numbers="thresholds", yes_no=True)):
        for q in range(len(asked)):
            assert words.question(asked[q]) != asked.sentences[q] or asked.sentences[q] == f"{asked.names[q]}?"
    assert case.choices(QUERIES, 0, words) == ("female", "male")  # the table's own words
    assert case.choices(QUERIES, 2, words) == (words("answer.no"), words("answer.yes"))
    assert not set(case.choices(QUERIES, 1, words)) & set(QUERIES.choices(1))
    assert QUERIES.hint(1, words).count("years") == 1
    assert words.question(ip.queries.patches((4, 4), 2)[3]) != ip.queries.patches((4, 4), 2).sentences[3]


def test_custom_wording_stays_as_it_is():
    asked = QUERIES.with_words({1: ("How old?", None), 2: ("Raucht er?", ["nein", "ja"])})
    for q, sentence in ((1, "How old?"), (2, "Raucht er?")):
        assert messages.load("fr").question(asked[q]) == sentence
    assert case.choices(asked, 2, messages.load("fr")) == ("nein", "ja")


@pytest.mark.parametrize(
    ("language", "said", "query", "meant"),
    [
        ("de", "ja", 2, (1,)), ("de", "N", 2, (0,)), ("de", "yes", 2, (1,)), ("de", "weiß nicht", 2, Word.UNKNOWN),
        ("de", "zurück", 2, Word.BACK), ("de", "back", 2, Word.BACK), ("fr", "oui", 2, (1,)), ("zh", "是", 2, (1,)),
        ("zh", "不知道", 0, Word.UNKNOWN), ("es", "sí", 2, (1,)), ("de", "warum", 0, Word.WHY),
        ("de", "warum nicht krank?", 0, Command(Word.WHY_NOT, "krank")),
        ("es", "known age=3", 0, Command(Word.KNOWN, "age=3")),
    ],
)  # fmt: skip
def test_what_is_typed_is_understood_in_both_languages(language, said, query, meant):
    assert understand(said, QUERIES, query, messages.load(language)) == meant


def test_numbers_and_soft_answers_are_typed_as_the_language_writes_them():
    german = messages.load("de")
    assert understand("54,5", QUERIES, 1, german).value == 54.5
    assert understand("wahrscheinlich ja", QUERIES, 2, german).share == pytest.approx(0.8)
    assert understand("也许是", QUERIES, 2, messages.load("zh")).share == pytest.approx(0.65)
    assert command("age", german) is None
    with pytest.raises(ValueError, match="meinten Sie female"):
        understand("femal3", QUERIES, 0, german)


def test_the_pseudo_locale_is_written_from_right_to_left():
    words = messages.load("ar-XB")
    assert words.direction == "rtl"
    assert all(
        "⟦" in words.texts[key]
        for key in TEXTS["en"]
        if not key.startswith(("decimal", "comma", "semicolon", "thousands", "word."))
    )
    assert messages.load("de").direction == "ltr"


def test_the_language_of_the_environment():
    assert messages.of_environment({}) is None

    french = {"LANG": "fr_CA.UTF-8"}
    assert messages.load(messages.of_environment(french)).language == "fr"
    assert messages.load(messages.of_environment({**french, "LC_ALL": "C"})).language == "en"
