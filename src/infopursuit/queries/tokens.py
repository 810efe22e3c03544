"""Texts as words: reading them, cutting them, passing over stop words, stemming."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any

from infopursuit.queries.missing import is_missing
from infopursuit.queries.tables import read_table

StopWords = str | Collection[str] | None

ASCII = re.compile(r"\w+(?:'\w+)*")
CLITICS = ("'s", "'ll", "'ve", "'re", "'d", "'m")
"""What English hangs on a word: "senate's" is the senate, "we'll" is we."""


def read_texts(X: Any) -> list[str | None]:
    """The texts of a list, array, Series or pyarrow array; None where one is missing. One text alone is a list of one.

    >>> read_texts(["a", None, float("nan")])
    ['a', None, None]
    """
    if isinstance(X, str):
        return [X]
    shape: tuple[int, ...] = getattr(X, "shape", (0,))
    if len(shape) == 2 and shape[1] == 1:  # a table of one column
        X, shape = read_table(X).raw(0), shape[:1]
    if len(shape) != 1 or not isinstance(X, Iterable):
        found = f"has shape {shape}" if len(shape) != 1 else f"is {X!r}"
        raise ValueError(f"X {found}; expected one text for each input, such as one column of a table")
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow, polars and pandas, numpy
        if hasattr(X, method):
            X = getattr(X, method)()
            break
    texts = list(X)
    for row, text in enumerate(texts):
        if isinstance(text, str):
            continue
        if is_missing(text):
            texts[row] = None
        else:
            raise ValueError(
                f"X[{row}] is {text!r} ({type(text).__name__}); expected a text (str), or None where it is not known"
            )
    return texts


def tokens(text: str) -> list[str]:
    """The words of a text, case-folded, without what hangs on them; single letters are left out.

    >>> tokens("The Senate’s trailer, I'm told: O'Brien DON'T... Straße 2016")
    ['the', 'senate', 'trailer', 'told', "o'brien", "don't", 'strasse', '2016']
    """
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("_", " ")
    found = (ASCII if text.isascii() else _any_script()).findall(text)
    words = (_without_clitic(word) if "'" in word else word for word in found)
    # One character is a word in Chinese, but a leftover in scripts that know upper and lower case.
    return [word for word in words if len(word) > 1 or not (word.isdigit() or word.upper() != word)]


def check_stop_words(stop_words: StopWords) -> StopWords:
    """The words to pass over: "english", None, or a set of case-folded words."""
    if stop_words is None or stop_words == "english":
        return stop_words
    if isinstance(stop_words, str) or not all(isinstance(word, str) for word in stop_words):
        raise ValueError(f'stop_words is {stop_words!r}; give "english", None, or a list of words')
    return frozenset(word.casefold() for word in stop_words)


def stop_word_test(stop_words: StopWords) -> Callable[[str], bool]:
    """A function that tells whether a word is passed over.

    >>> [word for word in tokens("We don't vote on the ones") if not stop_word_test("english")(word)]
    ['vote', 'ones']
    """
    if stop_words != "english":
        listed = frozenset(stop_words or ())
        return listed.__contains__
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    # scikit-learn lists whole words only; "don't", "isn't", "won't" are all auxiliary verbs.
    return lambda word: word in ENGLISH_STOP_WORDS or word.endswith("n't")


def stemmer(stem: bool) -> Callable[[str], str]:
    """A function from a word to its stem: Porter's algorithm, or the word itself."""
    if not stem:
        return str
    try:
        import snowballstemmer
    except ImportError as error:
        raise ImportError(
            "stem=True needs the package snowballstemmer; run `pip install infopursuit[text]`, or say stem=False"
        ) from error
    # A new one for each use: it keeps its working state in itself, so two threads must not share one.
    porter: Callable[[str], str] = snowballstemmer.stemmer("porter").stemWord
    return porter


def _without_clitic(word: str) -> str:
    return next((word[: -len(clitic)] for clitic in CLITICS if word.endswith(clitic)), word)


@cache
def _any_script() -> re.Pattern[str]:
    """Letters, digits and the marks that belong to them: without the marks, words of Hindi or Thai fall to pieces."""
    marks = "".join(chr(c) for c in range(0x300, 0x20000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
    return re.compile(rf"[\w{marks}]+(?:'[\w{marks}]+)*")
