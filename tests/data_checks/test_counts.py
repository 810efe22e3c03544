"""What is counted, against a naive count of the same."""

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

import infopursuit as ip
from infopursuit.data_checks.answers import (
    coarse,
    compare_pairs,
    contingency,
    leave_one_out_accuracy,
    mutual_information,
    pair_counts,
    read_answers,
)
from infopursuit.data_checks.queries import find_constant, find_redundant, independence_pvalues
from infopursuit.data_checks.rows import in_training


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


def test_counts_of_pairs_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    codes, labels = rng.integers(-1, 3, (200, 5)), rng.integers(0, 2, 200)
    seen = []
    for block, counts in pair_counts(codes, labels, 2, 3, most=100):
        seen += block
        for i, a in enumerate(block):
            for b in range(5):
                for u, v, c in np.ndindex(3, 3, 2):
                    naive = ((codes[:, a] == u) & (codes[:, b] == v) & (labels == c)).sum()
                    assert counts[i, u, b, v, c] == naive
    assert seen == list(range(5))


def test_statistics_of_pairs_are_those_of_scikit_learn_and_scipy():
    rng = np.random.default_rng(8)
    X = rng.integers(0, 3, (300, 4)).astype(float)
    X[:, 1] = np.where(rng.random(300) < 0.2, X[:, 1], X[:, 0])
    X[:, 3] = X[:, 0] > 0
    y = np.where(rng.random(300) < 0.5, X[:, 2] > 1, X[:, 0] > 1)
    names = [f"c{i}" for i in range(4)]
    text = np.array(["x", "y", "z"])[X.astype(int)]
    table = read_answers(ip.queries.columns(names=names).fit(text), text, y)
    pairs = compare_pairs(table, range(4), by_class=True)
    assert pairs.known.min() == 300
    assert pairs.follows.tolist() == [[False] * 4] * 3 + [[True, False, False, False]]
    for a in range(4):
        for b in range(4):
            one, two = table.codes[:, a], table.codes[:, b]
            nmi = normalized_mutual_info_score(one, two, average_method="max")
            assert pairs.nmi[a, b] == pytest.approx(nmi, abs=1e-5)
            both = contingency(one * 3 + two, table.labels, 2)
            assert pairs.accuracy[a, b] == pytest.approx(both.max(axis=1).sum() / 300)
            parts = [contingency(one[two == v], table.labels[two == v], 2) for v in np.unique(two)]
            parts = [part[part.any(axis=1)] for part in parts]
            free = sum((part.shape[0] - 1) * (part.any(axis=0).sum() - 1) for part in parts)
            g = sum(2 * part.sum() * mutual_information(part) for part in parts)
            assert pairs.excess[a, b] == pytest.approx((g - free) / np.sqrt(2 * max(free, 1)), abs=1e-3)


def test_groups_of_answers_keep_the_order_and_the_unknown():
    column = np.array([5, 0, -1, 3, 1, 4, 2, 0])
    small = coarse(column, 3, ordered=True)
    assert small.max() == 2
    assert small[2] == -1
    known = column >= 0
    assert (np.diff(small[known][np.argsort(column[known])]) >= 0).all()


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


def test_chance_is_called_chance_as_often_as_it_should_be():
    """Under shuffled labels the probabilities are spread evenly, also with rare answers and many classes."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 2, (500, 100)), rng.random((500, 100)) < 0.02])
    y = rng.integers(0, 12, 500)
    answers = read_answers(ip.queries.concepts([f"q{i}" for i in range(200)]), X, y)
    kept = [s for s in range(200) if s not in find_constant(answers)[0]]
    p = independence_pvalues(answers, kept, seed=0)
    assert (p < 0.05).mean() < 0.12
    assert (p < 0.001).mean() < 0.02
    assert np.median(p) > 0.3


def test_information_is_never_negative():
    assert mutual_information(np.array([[1.0, 1.0], [1.0, 1.0]])) == pytest.approx(0.0, abs=1e-12)
    assert mutual_information(np.zeros((2, 2))) == 0.0


def test_two_hundred_near_copies_are_one_sentence():
    rng = np.random.default_rng(4)
    first = rng.random((2000, 1)) < 0.5
    X = np.column_stack([first ^ (rng.random((2000, 200)) < 0.004), rng.random((2000, 20)) < 0.5])
    answers = read_answers(ip.queries.concepts([f"q{i}" for i in range(220)]), X.astype(int), rng.integers(0, 2, 2000))
    findings = find_redundant(answers, [])
    assert len(findings) == 1
    assert len(findings[0].numbers["clusters"]) == 1
    assert len(findings[0].queries) == 200
    assert len(findings[0].sentence) < 400


def test_what_follows_from_a_more_detailed_answer_is_told():
    rng = np.random.default_rng(5)
    kind = rng.choice(["eagle", "hen", "cow", "bat"], 300)
    X = np.stack([kind, np.where(np.isin(kind, ["eagle", "hen"]), "bird", "other")], axis=1)
    report = ip.lint(ip.queries.columns(names=["kind", "bird"]), X, rng.integers(0, 2, 300), model=False)
    assert report.of_kind("redundant")[0].numbers["pairs"] == [["bird", "kind"]]


def test_answers_in_many_cells_are_compared_too():
    """Patches have up to 512 answers: pairs are screened in few cells and then counted whole."""
    rng = np.random.default_rng(6)
    X = (rng.random((500, 4, 8)) < 0.5).astype(int)
    X[:, :, 4:] = X[:, :, :4]  # the right half repeats the left one
    report = ip.lint(ip.queries.patches((4, 8), size=(4, 4), stride=4), X, rng.integers(0, 2, 500), model=False)
    assert report.of_kind("redundant")[0].numbers["superfluous"] == 1


@pytest.mark.slow
def test_a_thousand_queries_and_tens_of_thousands_of_rows():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 30_000)
    X = rng.random((30_000, 1000)) < 0.1 + 0.1 * y[:, None]
    X[:, 5] = X[:, 6]
    answers = read_answers(ip.queries.concepts([f"q{i}" for i in range(1000)]), X, y)
    assert find_redundant(answers, [])[0].numbers["clusters"] == [["q5", "q6"]]
    assert len(compare_pairs(answers, range(1000), by_class=True).features) == 1000
