"""Yes/no questions about texts: words, and what else a program can see, such as phrases, beginnings and length."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import infopursuit as ip
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import IntArray

TOKEN = re.compile(r"\w+")
MIN_COUNT = 5
"""Texts that a phrase or a beginning must occur in."""


def words(texts: Any, size: int) -> QuerySet:
    """The most frequent stems; stop words are kept, since "who" and "how" tell what a question is about."""
    found: QuerySet = ip.queries.words(texts, size, stop_words=None, min_count=2)
    return found


def with_phrases(texts: Any, labels: IntArray, size: int, n_bigrams: int = 500, n_starts: int = 60) -> QuerySet:
    """Words, and further: two words in a row, the first one, two or three words, and more words than so many.

    Bigrams are those with the most information about the class, beginnings the most frequent; lengths are deciles. All
    are taken from these texts.
    """
    base = words(texts, size)
    tokens = [_tokens(text) for text in texts]
    bigrams = _informative([_bigrams(each) for each in tokens], labels, n_bigrams)
    count = Counter(start for each in tokens for start in _starts(each))
    starts = [start for start, n in sorted(count.items(), key=lambda s: (-s[1], s[0])) if n >= MIN_COUNT][:n_starts]
    limits = sorted({int(q) for q in np.quantile([len(each) for each in tokens], np.arange(1, 10) / 10)})

    def told(batch: Any) -> IntArray:
        found = [base.observe(batch)]
        for text in batch:
            mine = _tokens(text)
            pairs, begins = _bigrams(mine), _starts(mine)
            rest = [b in pairs for b in bigrams] + [s in begins for s in starts] + [len(mine) > n for n in limits]
            found.append(np.array(rest, dtype=np.int64)[None])
        return np.concatenate([found[0], np.concatenate(found[1:])], axis=1)

    names = [f'"{b}"' for b in bigrams] + [f"begins: {s}" for s in starts] + [f"more than {n} words" for n in limits]
    asked = [f'Does the text contain "{b}"?' for b in bigrams]
    asked += [f'Does the text begin with "{s}"?' for s in starts]
    asked += [f"Has the text more than {n} words?" for n in limits]
    return ip.queries.functions(told, names=[*base.names, *names], sentences=[*base.sentences, *asked])


def _tokens(text: str) -> list[str]:
    return TOKEN.findall(text.lower())


def _bigrams(tokens: Sequence[str]) -> set[str]:
    return {f"{a} {b}" for a, b in pairwise(tokens)}


def _starts(tokens: Sequence[str]) -> set[str]:
    return {" ".join(tokens[:n]) for n in (1, 2, 3) if len(tokens) >= n}


def _informative(sets: Iterable[set[str]], labels: IntArray, n: int) -> list[str]:
    """The phrases whose presence has the most information about the class."""
    n_classes = int(labels.max()) + 1
    counts: dict[str, Any] = {}
    for phrases, label in zip(sets, labels.tolist(), strict=True):
        for phrase in phrases:
            counts.setdefault(phrase, np.zeros(n_classes, dtype=np.int64))[label] += 1
    names = sorted(phrase for phrase, count in counts.items() if count.sum() >= MIN_COUNT)
    there = np.array([counts[name] for name in names]).reshape(len(names), n_classes)  # (phrases, C)
    total = np.bincount(labels, minlength=n_classes)
    joint = np.stack([there, total - there], axis=1) / total.sum()  # (phrases, 2, C)
    apart = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)
    gain = (joint * np.log(ratio)).sum(axis=(1, 2))
    return [names[i] for i in np.argsort(-gain, kind="stable")[:n]]
