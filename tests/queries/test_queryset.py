"""What every query set does with its variables, cells and words, on hand-made sets; and what is asked by default."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from infopursuit import queries
from infopursuit.queries import Concepts, Recipe, from_spec, guess
from infopursuit.queries.choices import JointChoices
from infopursuit.queries.queryset import QuerySet

TEXTS = ["a text", None, "another"]
TABLE = {"a": [1, 2], "b": ["x", "y"]}


class Plain(QuerySet):
    """Variable values are given as they are."""

    kind = "plain"

    def observe(self, X):
        return self.variables.check(X)

    def to_spec(self):
        return {}


def mixed() -> Plain:
    """A threshold and a whole variable of the same variable, and a query about two variables."""
    cells = [[[0, 0, 1], [-1] * 3], [[0, 1, 2], [-1] * 3], [[0, 1, -1], [0, 1, 2]]]
    return Plain(["a > 1", "a", "b and a"], sizes=[3, 2], variables=[[0, -1], [0, -1], [1, 0]], cells=cells)


def test_answers_are_cells_padded_with_unknown():
    assert mixed().answers([[2, 1], [0, -1]]).tolist() == [
        [[1, -1], [2, -1], [1, 2]],
        [[0, -1], [0, -1], [-1, 0]],
    ]


def test_an_answer_is_said_with_and_without_padding():
    qs = mixed()
    assert qs.say(0, (1,)) == qs.say(0, (1, -1)) == "a > 1: yes"
    assert qs.say_answer(2, (1, 2)) == "12"
    assert qs.say_answer(2, (-1, 2)) == "?2"
    assert qs.say_answer(2, None) == qs.say_answer(2, (-1, -1)) == "not known"


@pytest.mark.parametrize("value", ["perhaps", 3, -2, 0.5, True, np.True_, [0, 0], [3], [[1], [0, 2]], {"a": 1}, object])
def test_nonsense_is_refused_by_name(value):
    qs = Plain(["bill shape"], sizes=[3], variables=[[0]], choices=[["dagger", "cone", "hooked"]])
    with pytest.raises(ValueError, match=r"is no answer to 'bill shape'.*'dagger', 'cone', 'hooked'"):
        qs.to_answer(0, value)


def test_to_answer_reads_what_people_write():
    qs = mixed()
    assert (
        qs.to_answer(0, "YES") == qs.to_answer(0, True) == qs.to_answer(0, 1) == qs.to_answer(0, np.array([1])) == (1,)
    )
    assert qs.to_answer(0, [1, -1]) == (1,)  # as a trace has it
    assert qs.to_answer(2, "12") == qs.to_answer(2, 5) == qs.to_answer(2, [[1], [2]]) == (1, 2)
    assert qs.to_answer(2, (-1, 2)) == (-1, 2)
    assert qs.to_answer(1, None) is qs.to_answer(1, np.float32("nan")) is qs.to_answer(1, -1) is None


def test_choices_of_many_cells_are_told_apart():
    qs = Plain(["one", "two"], sizes=[12, 12], variables=[[0, -1], [0, 1]])
    for query in (0, 1):
        for index, choice in enumerate(qs.choices(query)):
            assert qs.choices(query)[qs.choices(query).index(choice)] == choice
            assert qs.to_answer(query, choice) == qs.to_answer(query, index)


@given(st.lists(st.integers(2, 13), min_size=2, max_size=3).map(tuple))
def test_joint_choices_are_a_sequence_of_different_texts(limits):
    choices = JointChoices(limits)
    assert list(choices) == [choices[i] for i in range(len(choices))]
    assert [choices.index(choice) for choice in choices] == list(range(len(choices)))
    assert "0" * len(limits) + "0" not in choices


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": [], "sizes": [2], "variables": []}, "empty"),
        ({"names": ["a", "a"], "sizes": [2], "variables": [[0], [0]]}, "names must differ, but 'a'"),
        ({"names": ["a"], "sizes": [1], "variables": [[0]]}, "at least two values"),
        ({"names": ["a"], "sizes": [2], "variables": [[1]]}, "must lie in 0..0"),
        ({"names": ["a"], "sizes": [2, 2], "variables": [[-1, 1]]}, "padding of -1 must come last"),
        ({"names": ["a"], "sizes": [2, 2], "variables": [[1, 1]]}, "same variable twice"),
        ({"names": ["a"], "sizes": [3], "variables": [[0]], "cells": [[[0, 1, -1]]]}, "cells must give"),
        ({"names": ["a"], "sizes": [3], "variables": [[0]], "cells": [[[0, 1]]]}, "cells must give"),
        ({"names": ["a"], "sizes": [2], "variables": [[0]], "sentences": ["?", "!"]}, "sentences has 2 entries"),
        ({"names": ["a"], "sizes": [2], "variables": [[0]], "choices": []}, "choices has 0 entries"),
        ({"names": ["a"], "sizes": [2], "variables": [[0]], "choices": [["x"]]}, "names 1 answers"),
        ({"names": ["a"], "sizes": [2], "variables": [[0]], "choices": [["x", "x"]]}, "an answer twice"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Plain(**arguments)


def test_a_query_can_be_picked_from_the_end():
    assert mixed()[-1].index == 2
    assert [query.name for query in mixed()] == ["a > 1", "a", "b and a"]


# ---- the package ----


def test_public_names_are_sorted_and_exist():
    assert queries.__all__ == sorted(queries.__all__)
    assert all(hasattr(queries, name) for name in queries.__all__)


@pytest.mark.parametrize(
    ("X", "builder"),
    [
        (np.zeros((5, 8, 8)), "patches"),
        (np.zeros((5, 8, 8, 1)), "patches"),
        (torch.zeros((5, 1, 8, 8)), "patches"),
        (np.zeros((5, 8, 8)).tolist(), "patches"),
        (TEXTS, "words"),
        (np.array(["a", "b"]), "words"),
        (pd.Series([None, pd.NA, "a"], dtype=object), "words"),
        (pl.Series(TEXTS), "words"),
        (pa.array(TEXTS), "words"),
        (np.zeros((5, 3)), "columns"),
        (np.zeros((5, 8, 8, 3)), "columns"),
        ([["a", 1], ["b", 2]], "columns"),
        ([[1], [1, 2]], "columns"),
        (pd.DataFrame(TABLE), "columns"),
        (pl.DataFrame(TABLE), "columns"),
        (pa.table(TABLE), "columns"),
        (np.zeros(5), "columns"),
        (5, "columns"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_guess_goes_by_the_data(X, builder):
    recipe = guess(X)
    assert isinstance(recipe, Recipe)
    assert recipe.build.__name__ == builder


def test_a_sparse_matrix_is_a_set_of_concepts():
    qs = guess(sparse.csr_matrix([[0, 3], [1, 0]]))
    assert isinstance(qs, Concepts)
    assert qs.names == ("feature 0", "feature 1")


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match=r"kind is 'sounds'.* columns, concepts, functions"):
        from_spec("sounds", {})
