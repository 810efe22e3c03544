"""The names of the package, saved query sets, and what is asked when nobody says."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse

from infopursuit import queries
from infopursuit.queries import Concepts, Recipe, from_spec, guess

TEXTS = ["a text", None, "another"]
TABLE = {"a": [1, 2], "b": ["x", "y"]}


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
    with pytest.raises(ValueError, match="kind is 'sounds'; the kinds of query sets are columns, concepts, functions"):
        from_spec("sounds", {})
