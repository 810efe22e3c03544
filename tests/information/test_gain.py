"""Entropy, divergence and gain of tables, against sums written out term by term."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import enumerator
from infopursuit.acquisition import entropy, gain, kl_divergence

WEIGHTS = st.one_of(st.just(0.0), st.floats(1e-12, 1.0), st.sampled_from([1e-300, 1e-30, 1.0]))


@st.composite
def tables(draw):
    """P(answer, y) with zeros, tiny and large entries, not all of them zero."""
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 5)))
    table = draw(arrays(np.float64, shape, elements=WEIGHTS))
    assume(table.sum() > 1e-6)
    return table


@given(tables())
def test_gain_is_the_mutual_information(table):
    truth = enumerator.mutual_information(table / table.sum())
    assert float(gain(torch.tensor(table))) == pytest.approx(truth, abs=1e-12)


@given(tables())
def test_gain_lies_between_zero_and_both_entropies(table):
    p = table / table.sum()
    found = float(gain(torch.tensor(table)))
    assert found >= 0
    assert found <= min(enumerator.entropy(p.sum(0)), enumerator.entropy(p.sum(1))) + 1e-12


@given(tables(), st.randoms(use_true_random=False))
def test_gain_does_not_care_about_names_or_scale(table, random):
    rows, columns = list(range(table.shape[0])), list(range(table.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    found = float(gain(torch.tensor(table)))
    assert float(gain(torch.tensor(table[rows][:, columns]))) == pytest.approx(found, abs=1e-12)
    assert float(gain(torch.tensor(7 * table))) == pytest.approx(found, abs=1e-12)
    assert float(gain(torch.tensor(table.T.copy()))) == pytest.approx(found, abs=1e-12)


@given(tables())
def test_joining_answers_never_gains(table):
    """Data processing: an answer that tells less apart tells no more."""
    assume(len(table) > 1)
    coarse = np.concatenate([table[:1] + table[1:2], table[2:]])
    assert float(gain(torch.tensor(coarse))) <= float(gain(torch.tensor(table))) + 1e-12


def test_gain_of_independent_and_of_determined_answers():
    assert float(gain(torch.tensor([[0.1, 0.3], [0.15, 0.45]]))) == pytest.approx(0, abs=1e-15)
    assert float(gain(torch.eye(4, dtype=torch.float64))) == pytest.approx(math.log(4))
    batch = torch.stack([torch.eye(2), torch.ones(2, 2)]).to(torch.float64)
    np.testing.assert_allclose(gain(batch), [math.log(2), 0], atol=1e-15)


@given(arrays(np.float64, st.integers(1, 6), elements=WEIGHTS))
def test_entropy(p):
    assume(p.sum() > 1e-6)
    p = p / p.sum()
    found = float(entropy(torch.tensor(p)))
    assert found == pytest.approx(enumerator.entropy(p), abs=1e-12)
    assert found <= math.log(len(p)) + 1e-12


def test_kl_divergence():
    p, q = torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]]), torch.tensor([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    np.testing.assert_allclose(kl_divergence(p, q), [0, math.log(4), math.inf], atol=1e-6)
