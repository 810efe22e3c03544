"""Yes/no concepts."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse

from infopursuit.queries import concepts

QS = concepts(["beak", "tail"])


@pytest.mark.parametrize(
    "X",
    [
        [[1, 0], [None, 1]],
        np.array([[1, 0], [np.nan, 1]]),
        torch.tensor([[1.0, 0.0], [float("nan"), 1.0]], requires_grad=True),
        pd.DataFrame({"tail": [0, 1], "beak": pd.array([True, None], dtype="boolean"), "more": [5, 5]}),
        pl.DataFrame({"tail": [0, 1], "beak": [True, None]}),
        pa.table({"tail": [0, 1], "beak": [1, None]}),
        pd.DataFrame({0: [1, None], 1: [0, 1]}),
        sparse.csr_array([[1, 0], [np.nan, 7]]),
    ],
    ids=["list", "numpy", "torch", "pandas", "polars", "pyarrow", "other names", "sparse"],
)
def test_all_kinds_of_matrices_say_the_same(X):
    assert QS.observe(X).tolist() == [[1, 0], [-1, 1]]


def test_a_sparse_matrix_adds_up_what_is_stored_twice():
    X = sparse.coo_array(([1, -1, 1], ([0, 0, 0], [0, 0, 1])), shape=(1, 2))
    assert QS.observe(X).tolist() == [[0, 1]]


def test_one_input_may_come_alone():
    assert QS.observe([1, 0]).tolist() == [[1, 0]]


def test_other_numbers_and_shapes_are_refused():
    with pytest.raises(ValueError, match=r"X\[1, 0\] is 2.*'beak'"):
        QS.observe([[0, 1], [2, 1]])
    with pytest.raises(ValueError, match=r"X has shape \(1, 3\)"):
        QS.observe([[0, 1, 1]])
    with pytest.raises(ValueError, match="X must hold"):
        QS.observe([["yes", "no"]])


def test_duplicate_names_and_a_text_for_names_are_refused():
    with pytest.raises(ValueError, match="names must differ, but 'beak'"):
        concepts(["beak", "beak"])
    with pytest.raises(ValueError, match="names is"):
        concepts("beak")
