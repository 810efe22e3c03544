"""Thresholds: where they lie, and how they are written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from infopursuit.queries.thresholds import choose_thresholds, format_number, simplest_numbers

finite = st.floats(allow_nan=False, allow_infinity=False)
rounded = st.integers(-40, 40).map(float) | st.integers(-400, 400).map(lambda n: n / 8)
columns = hnp.arrays(np.float64, st.integers(2, 60), elements=finite | rounded).filter(lambda v: v.min() < v.max())


def choose(values, bins=10, weights=None):
    values = np.asarray(values, dtype=float)
    return choose_thresholds(values, np.ones(len(values)) if weights is None else np.asarray(weights, float), bins)


@given(columns, st.integers(2, 12))
def test_thresholds_never_make_an_empty_cell(values, bins):
    thresholds = choose(values, bins)
    cells = np.bincount(np.searchsorted(thresholds, values), minlength=len(thresholds) + 1)
    assert 1 <= len(thresholds) <= bins - 1
    assert (cells > 0).all()
    if len(np.unique(values)) <= bins:
        assert len(thresholds) == len(np.unique(values)) - 1


@given(st.data(), columns, st.integers(2, 12))
def test_a_weight_is_the_same_as_a_repetition(data, values, bins):
    counts = data.draw(hnp.arrays(np.int64, len(values), elements=st.integers(1, 5)))
    assert choose(values, bins, weights=counts) == choose(np.repeat(values, counts), bins)
    assert choose(values, bins, weights=counts / 10) == choose(
        values, bins, weights=counts
    )  # their scale does not matter


@given(columns, st.integers(2, 12), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values, bins, random):
    weights = np.linspace(0.1, 0.7, len(values))
    order = list(range(len(values)))
    random.shuffle(order)
    assert choose(values, bins, weights) == choose(values[order], bins, weights[order])


@given(finite, finite)
def test_the_simplest_number_lies_in_the_interval_and_has_no_simpler_one(a, b):
    low, high = sorted((a, b))
    if low == high:
        return
    found = simplest_numbers(low, high)
    assert all(low <= t < high for t in found)
    digits = len(format_number(abs(found[0])).split("e")[0].replace(".", "").strip("0"))
    middle = low / 2 + high / 2
    if digits > 1 and low <= middle < high:  # rounding a number of the interval to fewer digits leaves the interval
        shorter = float(f"{middle:.{digits - 2}e}")
        assert not low <= shorter < high


@given(finite)
def test_a_number_is_written_so_that_it_reads_back(number):
    assert float(format_number(number)) == number


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2, 4, 2, 4, 8], ["2", "4"]),  # legs > 2
        ([1.4, 4.7, 5.1], ["3", "5"]),
        ([-1, 1], ["0"]),
        ([1, 2], ["1"]),
        ([1e-9, 2.5e-9], ["2e-9"]),
        ([1e12, 3.2e12], ["1e12"]),
        ([0.1, 0.2, 0.3], ["0.1", "0.2"]),
        ([1, 1 + 2**-52], ["1"]),
    ],
)
def test_few_values_are_split_between_neighbours(values, expected):
    assert [format_number(t) for t in choose(values)] == expected


def test_thresholds_are_round_and_near_their_quantile():
    ages = np.random.default_rng(0).normal(49.8731, 15, size=5000)
    thresholds = choose(ages)
    ranks = [(ages <= t).mean() for t in thresholds]
    np.testing.assert_allclose(ranks, np.arange(1, 10) / 10, atol=0.025)
    assert all(len(format_number(t)) == 2 for t in thresholds)


def test_a_value_that_most_rows_have_leaves_thresholds_for_the_others():
    gains = np.concatenate([np.zeros(920), np.arange(1, 81) * 100])
    assert choose(gains)[0] == 0
    assert len(choose(gains)) == 9


def test_numbers_of_any_size_get_the_same_kind_of_thresholds():
    values = np.random.default_rng(1).lognormal(size=500)
    small, large = choose(values * 1e-9), choose(values * 1e12)
    np.testing.assert_allclose(np.array(small) * 1e21, large, rtol=0.2)
    assert max(len(format_number(t)) for t in (*small, *large)) <= 7
