"""The stopping rule is chosen on the traces that are given, and on nothing else."""

import numpy as np
import pytest

import infopursuit as ip
from benchmarks.choose_stopping import choose_stopping, longest_within
from infopursuit.evaluation.measures import Point

EPSILONS = (0.5, 0.3, 0.1, 0.05, 0.02)


@pytest.fixture(scope="module")
def traced():
    rng = np.random.default_rng(0)
    model = ip.models.TableModel([0.5, 0.5], None, [[0.7] * 8, [0.3] * 8])
    labels = rng.integers(0, 2, 400)
    values = (rng.random((400, 8)) < np.where(labels == 0, 0.7, 0.3)[:, None]).astype(int)
    stopping = ip.Confidence(min(EPSILONS))
    pursuit = ip.generative_pursuit(
        model, ip.queries.concepts([f"q{i}" for i in range(8)]), stopping=stopping, patience=1
    )
    return pursuit.run_values(values), labels


def test_the_longest_that_is_short_enough(traced):
    choice = choose_stopping(*traced, EPSILONS, (0,), 4.0)
    assert choice.point.length <= 4.0
    assert choice.point.length == max(p.length for p in choice.curves[0] if p.length <= 4.0)


def test_the_shortest_within_one_standard_error_of_the_best(traced):
    choice = choose_stopping(*traced, EPSILONS, (0, 1), 7.0, one_standard_error=True)
    every = [(patience, p) for patience, points in choice.curves.items() for p in points if p.length <= 7.0]
    best = max((p for _, p in every), key=lambda p: p.accuracy)
    assert choice.point.accuracy >= best.accuracy - best.accuracy_error
    for _, p in every:
        assert p.length >= choice.point.length or p.accuracy < best.accuracy - best.accuracy_error
    assert (choice.patience, choice.point) in every


def test_where_nothing_is_short_enough_the_shortest_is_taken(traced):
    for one in (False, True):
        choice = choose_stopping(*traced, (0.1, 0.05), (0,), 0.5, one_standard_error=one)
        assert choice.epsilon == 0.1


def test_the_longest_point_within_a_length():
    points = [Point(0.1, 0.5, 0.0, length, 0.0, 40) for length in (3.0, 1.0, 2.0)]
    assert longest_within(points, 3.0).length == 3.0
    assert longest_within(points, 2.5).length == 2.0
    assert longest_within(points, 0.5).length == 1.0
