"""What is counted, against a naive count of the same."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.data_checks.checks import contingency, find_useless, in_training, leave_one_out_accuracy, read_answers


def test_leaving_each_row_out_is_what_it_says():
    """No ties here: then the naive loop has no choice either."""
    rng = np.random.default_rng(0)
    column, labels = rng.integers(0, 3, 400), rng.integers(0, 3, 400)
    labels = np.where(rng.random(400) < 0.5, column, labels)
    right = 0
    for i in range(400):
        others = np.flatnonzero((column == column[i]) & (np.arange(400) != i))
        right += np.bincount(labels[others], minlength=3).argmax() == labels[i]
    assert leave_one_out_accuracy(contingency(column, labels, 3)) == pytest.approx(right / 400)


def test_an_answer_that_occurs_once_is_no_leak():
    table = contingency(np.arange(100), np.arange(100) % 2, 2)
    assert leave_one_out_accuracy(table) == pytest.approx(0.5)


def test_the_share_of_test_rows_in_training_is_that_of_many_splits():
    rng = np.random.default_rng(2)
    rows = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    y = rows % 3
    n = len(rows)
    seen = []
    for _ in range(3000):
        mixed = rng.permutation(n)
        test, train = mixed[: round(0.2 * n)], mixed[round(0.2 * n) :]
        seen.append(np.isin(rows[test], rows[train]).mean())
    assert in_training(rows, y) == pytest.approx(np.mean(seen), abs=4 * np.std(seen) / 3000**0.5)


def test_answers_in_many_cells_are_compared_too():
    rng = np.random.default_rng(6)
    X = (rng.random((500, 4, 8)) < 0.5).astype(int)
    X[:, :, 4:] = X[:, :, :4]  # the right half repeats the left one
    report = ip.lint(ip.queries.patches((4, 8), size=(4, 4), stride=4), X, rng.integers(0, 2, 500))
    assert report.of_kind("redundant")[0].numbers["superfluous"] == 1


@pytest.mark.slow
def test_a_thousand_queries_and_tens_of_thousands_of_rows():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 30_000)
    X = rng.random((30_000, 1000)) < 0.1 + 0.1 * y[:, None]
    X[:, 5] = X[:, 6]
    answers = read_answers(ip.queries.concepts([f"q{i}" for i in range(1000)]), X, y)
    assert find_useless(answers)[0].numbers["clusters"] == [["q5", "q6"]]
