"""Words of a text: is "trailer", in any of its forms, in the text?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.recipe import Recipe
from infopursuit.queries.stated import flag, rows_of_texts, texts
from infopursuit.queries.tokens import StopWords, check_stop_words, read_texts, stemmer, stop_word_test, tokens
from infopursuit.queries.weights import check_weights
from infopursuit.types import UNKNOWN, IntArray

FORMS_KEPT = 4
MAX_REMEMBERED = 1_000_000
"""Words whose stem is remembered between calls; a server that sees ever new words must not grow for ever."""


class Words(QuerySet):
    """One yes/no query for each stem of a vocabulary.

    Parameters
    ----------
    stems: the vocabulary; words themselves when ``stem`` is False.
    forms: for each stem the words that it stood for in training, most frequent first; the first names the query.
    stem: whether words are reduced to their stem before they are looked up.
    stop_words: words that are passed over.
    """

    kind = "words"

    def __init__(
        self,
        stems: Sequence[str],
        forms: Sequence[Sequence[str]],
        *,
        stem: bool = True,
        stop_words: StopWords = "english",
    ) -> None:
        self.stems = tuple(stems)
        self.forms = tuple(tuple(words) for words in forms)
        self.stem = stem
        self.stop_words = check_stop_words(stop_words)
        # A word has one stem, so the most frequent words of two stems cannot be the same.
        super().__init__(
            names=[words[0] for words in self.forms],
            sizes=[2] * len(self.stems),
            atoms=np.arange(len(self.stems))[:, None],
            sentences=[_ask(words) for words in self.forms],
        )
        self._atom_of_stem = {word: atom for atom, word in enumerate(self.stems)}
        self._atom_of_word: dict[str, int] = {}

    def observe(self, X: Any) -> IntArray:
        """(B, A) 1 where a word with that stem is in the text, 0 where none is, -1 for a missing text (None, NaN)."""
        texts = read_texts(X)
        is_stop_word, stem = stop_word_test(self.stop_words), stemmer(self.stem)
        atom_of = self._atom_of_word
        if len(atom_of) > MAX_REMEMBERED:
            atom_of.clear()
        rows: list[int] = []
        atoms: list[int] = []
        for row, text in enumerate(texts):
            for word in set(tokens(text)) if text is not None else ():
                atom = atom_of.get(word)
                if atom is None:
                    atom = UNKNOWN if is_stop_word(word) else self._atom_of_stem.get(stem(word), UNKNOWN)
                    atom_of[word] = atom
                if atom != UNKNOWN:
                    rows.append(row)
                    atoms.append(atom)
        values = np.zeros((len(texts), len(self.stems)), dtype=np.int64)
        values[rows, atoms] = 1
        values[[row for row, text in enumerate(texts) if text is None]] = UNKNOWN
        return values

    def remember(self, forms: Mapping[str, Sequence[str]]) -> None:
        """Spare the stemming of words whose stem is known already; changes no answer."""
        for stemmed, known in forms.items():
            self._atom_of_word.update(dict.fromkeys(known, self._atom_of_stem.get(stemmed, UNKNOWN)))

    def to_spec(self) -> dict[str, Any]:
        listed = self.stop_words is not None and not isinstance(self.stop_words, str)
        return {
            "stems": list(self.stems),
            "forms": [list(words) for words in self.forms],
            "stem": self.stem,
            "stop_words": sorted(self.stop_words or ()) if listed else self.stop_words,
        }

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Words:
        stems, forms, passed = texts(spec, "stems", different=True), rows_of_texts(spec, "forms"), spec["stop_words"]
        if len(forms) != len(stems) or not all(forms):
            raise ValueError(f"forms has {len(forms)} entries for {len(stems)} stems; expected one or more of each")
        stop_words = texts(spec, "stop_words") if isinstance(passed, list) else passed
        return cls(stems, forms, stem=flag(spec, "stem"), stop_words=stop_words)


@overload
def words(
    texts: None = None,
    size: int = ...,
    *,
    stem: bool = ...,
    stop_words: StopWords = ...,
    min_count: float = ...,
    sample_weight: Any = ...,
) -> Recipe: ...
@overload
def words(
    texts: Any,
    size: int = ...,
    *,
    stem: bool = ...,
    stop_words: StopWords = ...,
    min_count: float = ...,
    sample_weight: Any = ...,
) -> Words: ...
def words(
    texts: Any = None,
    size: int = 1000,
    *,
    stem: bool = True,
    stop_words: StopWords = "english",
    min_count: float = 2,
    sample_weight: Any = None,
) -> Words | Recipe:
    """A query for each of the most frequent stems of these texts.

    Parameters
    ----------
    texts: the training texts, from which alone the vocabulary is chosen; None waits for them.
    size: how many stems, those that the most texts have; ties go by the alphabet.
    stem: True counts all words with one (English, Porter's) stem as the same; needs ``pip install infopursuit[text]``.
    stop_words: ``"english"`` passes over scikit-learn's English stop words, a collection over the words in it, None
        over none. Single letters are never asked about.
    min_count: in how many texts a stem must occur; a word of one text only tells nothing about others.
    sample_weight: (B,) how often each text counts.

    >>> qs = words(["Trailers leak", "New trailer leaked!", "Senate votes", "The senate voted"])
    >>> qs.names
    ('leak', 'senate', 'trailer', 'voted')
    >>> qs[2].sentence
    'Is "trailer" (or "trailers") in the text?'
    >>> qs.observe(["A TRAILER", None]).tolist()
    [[0, 0, 1, 0], [-1, -1, -1, -1]]
    """
    if size < 1 or size != int(size):
        raise ValueError(f"size is {size!r}; give a whole number of at least 1")
    stop_words = check_stop_words(stop_words)
    if texts is None:
        return Recipe(words, {"size": size, "stem": stem, "stop_words": stop_words, "min_count": min_count})
    known = read_texts(texts)
    weights = check_weights(sample_weight, len(known)).tolist()
    stem_count, word_count, forms = _count(known, weights, stem, stop_words)
    frequent = [s for s in sorted(stem_count, key=lambda s: (-stem_count[s], s)) if stem_count[s] >= min_count][:size]
    if not frequent:
        raise ValueError(
            f"no word occurs in min_count={min_count:g} of the {len(known)} texts (stop words do not count); "
            f"give more texts, or say min_count=1"
        )
    ranked = [sorted(forms[s], key=lambda word: (-word_count[word], len(word), word))[:FORMS_KEPT] for s in frequent]
    built = Words(frequent, ranked, stem=stem, stop_words=stop_words)
    built.remember(forms)
    return built


def _count(
    texts: Sequence[str | None], weights: Sequence[float], stem: bool, stop_words: StopWords
) -> tuple[dict[str, float], dict[str, float], dict[str, list[str]]]:
    """The weight of the texts that have each stem and each word, and the words of each stem."""
    is_stop_word, reduce = stop_word_test(stop_words), stemmer(stem)
    stem_of: dict[str, str] = {}
    stem_count: defaultdict[str, float] = defaultdict(float)
    word_count: defaultdict[str, float] = defaultdict(float)
    for text, weight in zip(texts, weights, strict=True):
        if text is None or weight == 0:
            continue
        found = {word for word in tokens(text) if not is_stop_word(word)}
        for word in found:
            word_count[word] += weight
            if word not in stem_of:
                stem_of[word] = reduce(word)
        for stemmed in {stem_of[word] for word in found}:
            stem_count[stemmed] += weight
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for word, stemmed in stem_of.items():
        forms[stemmed].append(word)
    # Rounded, since sums of the same weights in another order differ in the last digit and must not decide a tie.
    return {s: round(n, 9) for s, n in stem_count.items()}, {w: round(n, 9) for w, n in word_count.items()}, forms


def _ask(forms: Sequence[str]) -> str:
    """``Is "vote" (or "votes", "voted", ...) in the text?``"""
    others = ", ".join(f'"{word}"' for word in forms[1:3]) + (", ..." if len(forms) > 3 else "")
    return f'Is "{forms[0]}"' + (f" (or {others})" if others else "") + " in the text?"
