"""Rows of result tables: intervals against numbers worked out elsewhere, and how they are written."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.baselines import BaselineResult, row_of
from benchmarks.paired import Difference, paired
from infopursuit.evaluation.measures import Point, Row, accuracy_interval, counted


@pytest.mark.parametrize(
    ("n_right", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe (1998), table I, the score method without continuity correction
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval_against_published_numbers(n_right, n, low, high):
    assert accuracy_interval(n_right, n) == pytest.approx((low, high), abs=5e-5)


def test_a_counted_row():
    row = counted("tree", [1, 1, 0, 1], length=[2, 4, 4, 6], seconds=1.26, note="depth 3")
    low, high = accuracy_interval(3, 4)
    assert row == Row("tree", 0.75, low, high, 4.0, pytest.approx(np.sqrt(2) / 2), 4, 1.3, "depth 3")
    assert counted("tree", np.array([True, False])) == Row("tree", 0.5, *accuracy_interval(1, 2), n_inputs=2)
    assert json.loads(json.dumps(asdict(row))) == asdict(row)


def test_rows_from_points_and_from_baselines():
    point = Point(epsilon=0.1, accuracy=0.9, accuracy_error=0.03, length=5.5, length_error=0.2, n_inputs=100)
    low, high = accuracy_interval(90, 100)
    assert row_of("ours", point, seconds=3.0) == Row("ours", 0.9, low, high, 5.5, 0.2, 100, 3.0)
    result = BaselineResult("network", accuracy=0.9, accuracy_error=0.03, n_inputs=100, seconds=12.5)
    assert row_of("theirs", result, note="two layers") == Row(
        "theirs", 0.9, low, high, None, None, 100, 12.5, "two layers"
    )


def test_the_count_behind_an_accuracy_is_found_again():
    """29 % of 100 is 28.999999999999996."""
    point = Point(0.1, 0.29, 0.0, 1.0, 0.0, 100)
    assert (row_of("", point).low, row_of("", point).high) == accuracy_interval(29, 100)


def test_a_paired_difference_by_hand():
    """Differences 1, 1, 0, -1, 0: mean 0.2, variance (0.64 + 0.64 + 0.04 + 1.44 + 0.04) / 4 = 0.7, half 0.7334."""
    found = paired("a - b", [1, 1, 1, 0, 0], [0, 0, 1, 1, 0])
    half = 1.959964 * np.sqrt(0.7 / 5)
    assert half == pytest.approx(0.73335, abs=1e-5)
    assert found == Difference("a - b", pytest.approx(0.2), pytest.approx(0.2 - half), pytest.approx(0.2 + half), 5)


def test_the_other_way_round_is_the_opposite():
    ours, theirs = np.random.default_rng(0).integers(0, 2, (2, 50))
    one, other = paired("", ours, theirs), paired("", theirs, ours)
    assert (one.mean, one.low, one.high) == pytest.approx((-other.mean, -other.high, -other.low))


def test_a_spread_between_folds_that_is_larger_counts():
    """Means of the folds 1, 0, 0.5: standard deviation 0.5, t of two degrees of freedom 4.3027, half 1.2421."""
    found = paired("", [1, 1, 0, 0, 1, 0], [0] * 6, fold=[0, 0, 1, 1, 2, 2])
    assert found.mean == pytest.approx(0.5)
    assert found.high - found.mean == pytest.approx(4.302653 * 0.5 / np.sqrt(3))
    assert found.mean - found.low == pytest.approx(4.302653 * 0.5 / np.sqrt(3))
    # from inputs alone: 1.96 * sqrt(0.3 / 6)
    assert paired("", [1, 1, 0, 0, 1, 0], [0] * 6).high == pytest.approx(0.5 + 1.959964 * np.sqrt(0.3 / 6))


def test_folds_that_agree_leave_the_interval_from_inputs():
    ours, theirs = [1, 0, 1, 0, 1, 0], [0] * 6
    assert paired("", ours, theirs, fold=[0, 0, 1, 1, 2, 2]) == paired("", ours, theirs)
    assert paired("", ours, theirs, fold=[4] * 6) == paired("", ours, theirs)


def test_the_names_of_folds_do_not_matter():
    ours, theirs = [1, 1, 0, 0, 1, 0], [0] * 6
    told = [paired("", ours, theirs, fold=fold) for fold in ([0, 0, 1, 1, 2, 2], list("zzbbaa"))]
    assert told[0].mean == told[1].mean
    assert told[0].high == pytest.approx(told[1].high)


def test_one_input_tells_nothing_of_the_spread():
    assert paired("", [1], [0]) == Difference("", 1.0, -np.inf, np.inf, 1)


@pytest.mark.parametrize("given", [([1, 0], [1]), ([1, 0], 1), ([1, 0], [1, 0], [0])])
def test_answers_about_different_inputs_are_refused(given):
    with pytest.raises(ValueError, match="must be about the same inputs"):
        paired("", *given)
