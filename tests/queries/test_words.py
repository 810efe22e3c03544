"""Words of texts."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.queries import Words, words
from infopursuit.queries.words import tokens
from isolated import run_alone

TEXTS = ["Trailers for the film leak", "The film's TRAILER leaked", "Senate votes", "A senator voted in the senate"]


def test_a_query_is_named_by_the_most_frequent_form_of_its_stem():
    qs = words(["votes vote", "votes", "voting voted"], min_count=1)
    assert qs.names == ("votes",)
    assert qs.stems == ("vote",)
    assert qs[0].sentence == 'Is "votes" (or "vote", "voted", ...) in the text?'


def test_trap_10_vocabulary_comes_from_training_texts_only():
    qs = words().fit(TEXTS)
    before = qs.to_spec()
    answers = qs.answers(["budget budget budget", "the trailer"])
    assert qs.to_spec() == before
    assert "budget" not in qs.names
    assert answers[0].sum() == 0
    assert answers[1].sum() == 1


def test_the_most_frequent_stems_are_taken_and_ties_go_by_the_alphabet():
    texts = ["pear apple fig", "pear apple", "pear fig", "kiwi"]
    assert words(texts, 2, min_count=1).names == ("pear", "apple")
    assert words(texts, min_count=1).names == ("pear", "apple", "fig", "kiwi")
    assert words(["pear pear pear", "fig", "fig"], 1).names == ("fig",)  # in two texts, though it occurs less often


def test_stop_words_are_passed_over_when_read_as_when_counted():
    qs = words(["the ones", "ones on it"])
    assert qs.stems == ("on",)  # Porter's stem of "ones"
    assert qs.observe(["on and on", "ones"]).tolist() == [[0], [1]]
    assert words(["we don't", "we don't"], stop_words=None).names == ("don't", "we")
    assert words(["Le chat", "le chien et le chat"], stop_words=["LE"]).names == ("chat",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Naïve CAFÉ cafe\u0301", ["naïve", "café", "café"]),
        ("foo_bar x 7 42", ["foo", "bar", "42"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("猫 и Дом", ["猫", "дом"]),
        ("rock'n'roll we've it’s", ["rock'n'roll", "we", "it"]),
        ("", []),
    ],
)
def test_words_of_many_scripts(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        lambda t: np.array(t, dtype=object),
        pd.Series,
        pl.Series,
        pa.array,
        lambda t: pa.chunked_array([t]),
    ],
)
def test_texts_may_come_in_any_container(make):
    qs = words(make(TEXTS))
    assert qs.names == words(TEXTS).names
    np.testing.assert_array_equal(qs.observe(make(TEXTS)), qs.observe(TEXTS))


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_text_is_unknown(missing):
    qs = words([*TEXTS, missing])
    assert (qs.observe([missing, ""]) == [[-1] * len(qs), [0] * len(qs)]).all()


def test_a_single_text_and_no_text_at_all():
    qs = words(TEXTS)
    assert qs.observe("a trailer").tolist() == qs.observe(["a trailer"]).tolist()
    assert qs.observe([]).shape == (0, len(qs))


@pytest.mark.parametrize("bad", [5, b"bytes", ["a", "b"]])
def test_what_is_no_text_is_refused_with_its_place(bad):
    with pytest.raises(ValueError, match=r"X\[1\] is "):
        words(TEXTS).observe(["fine", bad])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda data: np.array(data["text"])[:, None]])
def test_a_table_of_one_column_is_a_list_of_texts(make):
    np.testing.assert_array_equal(words(TEXTS).observe(make({"text": TEXTS})), words(TEXTS).observe(TEXTS))


def test_a_table_and_a_number_are_refused():
    with pytest.raises(ValueError, match="X is 7"):
        words(7)
    with pytest.raises(ValueError, match=r"X has shape \(2, 2\)"):
        words(pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size=0"),
        ({"stop_words": "german"}, "stop_words is 'german'"),
        ({"min_count": 9}, "min_count=9"),
        ({"sample_weight": [1, 1]}, r"sample_weight has shape \(2,\)"),
        ({"sample_weight": [0, 0, 0, 0]}, "sample_weight is zero"),
        ({"sample_weight": [1, -1, 1, 1]}, r"sample_weight\[1\] is -1"),
    ],
)
def test_what_cannot_work_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        words(TEXTS, **options)


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4).filter(lambda n: sum(n) > 1), st.integers(1, 4))
def test_a_weight_is_the_same_as_a_repetition(counts, size):
    repeated = [text for text, n in zip(TEXTS, counts, strict=True) for _ in range(n)]
    weighted = words(TEXTS, size, sample_weight=counts, min_count=1)
    assert weighted.to_spec() == words(repeated, size, min_count=1).to_spec()


def test_saved_words_read_texts_as_before():
    qs = words(TEXTS)
    again = Words.from_spec(qs.to_spec())
    np.testing.assert_array_equal(again.observe(TEXTS), qs.observe(TEXTS))


def test_without_the_stemmer_the_remedy_is_said():
    code = """
import json, sys
from infopursuit.queries import words

texts = json.loads(sys.argv[1])
try:
    words(texts)
except ImportError as error:
    print(error)
print(words(texts, stem=False).names)
"""
    told = run_alone(code, json.dumps(list(TEXTS)), without=["snowballstemmer"]).splitlines()
    assert re.search(r"pip install infopursuit\[text\].*stem=False", told[0])
    assert told[1] == "('film', 'senate')"
