"""Words of a text: is "trailer", in any of its forms, in the text?"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from infopursuit.queries.frames import is_missing, read_table
from infopursuit.queries.queryset import QuerySet, Recipe
from infopursuit.support.checks import check_weights, whole_number
from infopursuit.support.progress import Progress
from infopursuit.support.types import UNKNOWN, IntArray

StopWords = str | Collection[str] | None

FORMS_KEPT = 4
ASCII = re.compile(r"\w+(?:'\w+)*")
CLITICS = ("'s", "'ll", "'ve", "'re", "'d", "'m")
"""What English hangs on a word: "senate's" is the senate, "we'll" is we."""


class Words(QuerySet):
    """One yes/no query for each stem of a vocabulary. Use `words`.

    forms: for each stem the words that it stood for in training, most frequent first; the first names the query.
    """

    kind = "words"
    spec: ClassVar = {"stems": "texts", "forms": "rows", "stem": "flag", "stop_words": "any"}

    def __init__(
        self,
        stems: Sequence[str],
        forms: Sequence[Sequence[str]],
        *,
        stem: bool = True,
        stop_words: StopWords = "english",
    ) -> None:
        self.stems, self.forms = tuple(stems), tuple(tuple(words) for words in forms)
        self.stem, self.stop_words = stem, check_stop_words(stop_words)
        if len(set(self.stems)) < len(self.forms) or len(self.forms) != len(self.stems) or not all(self.forms):
            raise ValueError("stems and forms do not fit; expected different stems, and one or more forms of each")
        # A word has one stem, so the most frequent words of two stems cannot be the same.
        super().__init__(
            names=[words[0] for words in self.forms],
            sizes=[2] * len(self.stems),
            variables=np.arange(len(self.stems))[:, None],
            sentences=[_sentence(words) for words in self.forms],
        )

    def observe(self, X: Any) -> IntArray:
        """(B, A) 1 where a word with that stem is in the text, 0 where none is, -1 for a missing text (None, NaN)."""
        texts, stems_of = read_texts(X), _stemming(self.stem, self.stop_words)
        variable_of = {stem: variable for variable, stem in enumerate(self.stems)}
        values = np.zeros((len(texts), len(self.stems)), dtype=np.int64)
        with Progress("reading texts", len(texts)) as shown:
            for row, text in enumerate(texts):
                if text is None:
                    values[row] = UNKNOWN
                else:
                    values[row, [variable_of[stem] for stem in stems_of(text).values() if stem in variable_of]] = 1
                shown.advance()
        return values


def words(
    texts: Any = None,
    size: int = 1000,
    *,
    stem: bool = True,
    stop_words: StopWords = "english",
    min_count: float = 2,
    sample_weight: Any = None,
) -> Any:
    """A yes/no query for each of the most frequent word stems of these texts.

    Parameters
    ----------
    texts: the training texts, from which alone the vocabulary is chosen; None waits for them.
    size: how many stems, those that the most texts have; ties go by the alphabet.
    stem: True counts all words with one (English, Porter's) stem as the same; needs ``pip install infopursuit[text]``.
    stop_words: ``"english"`` ignores scikit-learn's English stop words, a collection the words in it, None none. Single
        letters are never asked about.
    min_count: in how many texts a stem must occur; a word of one text only tells nothing about others.
    sample_weight: (B,) how often each text counts.

    Returns
    -------
    `Words`; without texts a `Recipe`, which ``fit`` turns into one.

    >>> qs = words(["Trailers leak", "New trailer leaked!", "Senate votes", "The senate voted"])
    >>> qs.names
    ('leak', 'senate', 'trailer', 'voted')
    >>> qs[2].sentence
    'Is "trailer" (or "trailers") in the text?'
    >>> qs.observe(["A TRAILER", None]).tolist()
    [[0, 0, 1, 0], [-1, -1, -1, -1]]
    """
    whole_number(size, "size", 1)
    stop_words = check_stop_words(stop_words)
    if texts is None:
        return Recipe(words, {"size": size, "stem": stem, "stop_words": stop_words, "min_count": min_count})
    known, stems_of = read_texts(texts), _stemming(stem, stop_words)
    stem_weight: defaultdict[str, float] = defaultdict(float)
    word_weight: defaultdict[str, float] = defaultdict(float)
    forms: defaultdict[str, set[str]] = defaultdict(set)
    with Progress("choosing words", len(known)) as shown:
        for text, weight in zip(known, check_weights(sample_weight, len(known)).tolist(), strict=True):
            found = stems_of(text) if text is not None and weight > 0 else {}
            for word, stemmed in found.items():
                word_weight[word] += weight
                forms[stemmed].add(word)
            for stemmed in set(found.values()):
                stem_weight[stemmed] += weight
            shown.advance()
    # Rounded, since sums of the same weights in another order differ in the last digit and must not decide a tie.
    count = {stemmed: round(weight, 9) for stemmed, weight in stem_weight.items()}
    frequent = [s for s in sorted(count, key=lambda s: (-count[s], s)) if count[s] >= min_count][:size]
    if not frequent:
        wrong = f"no word occurs in min_count={min_count:g} of the {len(known)} texts (stop words do not count)"
        raise ValueError(f"{wrong}; give more texts, or say min_count=1")
    ranked = [sorted(forms[s], key=lambda w: (-round(word_weight[w], 9), len(w), w))[:FORMS_KEPT] for s in frequent]
    return Words(frequent, ranked, stem=stem, stop_words=stop_words)


def _sentence(forms: Sequence[str]) -> str:
    """``Is "vote" (or "votes", "voted", ...) in the text?``"""
    others = ", ".join(f'"{word}"' for word in forms[1:3]) + (", ..." if len(forms) > 3 else "")
    return f'Is "{forms[0]}"' + (f" (or {others})" if others else "") + " in the text?"


# ---- texts as words -------------------------------------------------------------------------------------------------


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
    texts = [None if is_missing(text) else text for text in X]
    for row, text in enumerate(texts):
        if text is not None and not isinstance(text, str):
            raise ValueError(
                f"X[{row}] is {text!r} ({type(text).__name__}); expected a text (str), or None where it is not known"
            )
    return texts


def tokens(text: str) -> list[str]:
    """The words of a text, case-folded, without clitics; single letters are left out.

    >>> tokens("The Senate’s trailer, I'm told: O'Brien DON'T... Straße 2016")
    ['the', 'senate', 'trailer', 'told', "o'brien", "don't", 'strasse', '2016']
    """
    return _kept(_runs(text))


def _runs(text: str) -> list[str]:
    """Runs of letters, digits and apostrophes."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("_", " ")
    found: list[str] = (ASCII if text.isascii() else _any_script()).findall(text)
    return found


def _kept(runs: Iterable[str]) -> list[str]:
    words = (_without_clitic(word) if "'" in word else word for word in runs)
    # One character is a word in Chinese, but a leftover in scripts that know upper and lower case.
    return [word for word in words if len(word) > 1 or not (word.isdigit() or word.upper() != word)]


def check_stop_words(stop_words: StopWords) -> StopWords:
    """The words to ignore: "english", None, or sorted case-folded words."""
    if stop_words is None or stop_words == "english":
        return stop_words
    given: Any = stop_words
    if isinstance(given, str) or not isinstance(given, Collection) or not all(isinstance(word, str) for word in given):
        raise ValueError(f'stop_words is {stop_words!r}; give "english", None, or a list of words')
    return tuple(sorted({word.casefold() for word in stop_words}))


def _stemming(stem: bool, stop_words: StopWords) -> Callable[[str], dict[str, str]]:
    """A function from a text to its words without stop words, each with its stem.

    >>> _stemming(True, "english")("We don't vote on the votes")
    {'vote': 'vote', 'votes': 'vote'}
    """
    ignored, endings = frozenset(stop_words or ()), tuple[str, ...]()
    if stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        # It lists whole words only; "don't", "isn't", "won't" are all auxiliary verbs.
        ignored, endings = frozenset(ENGLISH_STOP_WORDS), ("n't",)
    try:
        reduce = _porter() if stem else str
    except ImportError as error:
        raise ImportError(
            "stem=True needs the package snowballstemmer; run `pip install infopursuit[text]`, or say stem=False"
        ) from error
    # each word once: a long text repeats most of its words
    return lambda text: {
        w: reduce(w) for w in _kept(dict.fromkeys(_runs(text))) if w not in ignored and not w.endswith(endings)
    }


def _porter() -> Callable[[str], str]:
    import snowballstemmer

    # A new one for each use: it keeps its working state in itself, so two threads must not share one.
    return cache(snowballstemmer.stemmer("porter").stemWord)


def _without_clitic(word: str) -> str:
    return next((word[: -len(clitic)] for clitic in CLITICS if word.endswith(clitic)), word)


@cache
def _any_script() -> re.Pattern[str]:
    """Letters, digits and the marks that belong to them: without the marks, words of Hindi or Thai fall to pieces."""
    marks = "".join(chr(c) for c in range(0x300, 0x20000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
    return re.compile(rf"[\w{marks}]+(?:'[\w{marks}]+)*")
