"""Calibration in numbers that can be checked by hand."""

import numpy as np
import pytest

from infopursuit.calibration.temperature import BIN_EDGES
from infopursuit.evaluation.measures import accuracy_interval, calibration

POSTERIOR = [[0.55, 0.45, 0.0], [0.1, 0.9, 0.0], [0.92, 0.04, 0.04], [0.0, 0.0, 1.0], [0.3, 0.35, 0.35]]
LABELS = [1, 1, 0, 2, 0]


def test_bins_by_hand():
    found = calibration(POSTERIOR, LABELS)
    shown = [(b.low, b.high, round(b.confidence, 12), b.accuracy, b.n_inputs) for b in found.bins]
    assert shown == [
        (0.0, 0.5, 0.35, 0.0, 1),
        (0.5, 0.6, 0.55, 0.0, 1),
        (0.9, 0.95, 0.91, 1.0, 2),
        (0.999, 1.0, 1.0, 1.0, 1),
    ]
    assert (found.bins[2].right_low, found.bins[2].right_high) == accuracy_interval(2, 2)


def test_scores_by_hand():
    found = calibration(POSTERIOR, LABELS)
    assert found.expected_calibration_error == pytest.approx((0.35 + 0.55 + 2 * 0.09 + 0.0) / 5)
    assert found.confidence == pytest.approx((0.55 + 0.9 + 0.92 + 1 + 0.35) / 5)
    assert found.accuracy == 0.6
    each = [0.55**2 + 0.55**2, 0.1**2 + 0.1**2, 0.08**2 + 2 * 0.04**2, 0.0, 0.7**2 + 2 * 0.35**2]
    assert found.brier == pytest.approx(sum(each) / 5)
    assert found.log_loss == pytest.approx(-np.log([0.45, 0.9, 0.92, 1.0, 0.3]).mean())


@pytest.mark.parametrize("edge", BIN_EDGES[1:-1])
def test_an_edge_belongs_to_the_bin_above_it_also_after_rounding(edge):
    for p in (edge, edge * (1 + 1e-15), edge * (1 - 1e-15)):
        assert calibration([[p, 1 - p] if p >= 0.5 else [1 - p, p]], [0]).bins[0].low == edge


def test_a_calibrated_classifier_has_a_small_error_and_a_boastful_one_a_large_one():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, size=20_000)
    labels = (rng.random(len(p)) >= p).astype(int)
    assert calibration(np.stack([p, 1 - p], axis=1), labels).expected_calibration_error < 0.02
    boast = np.sqrt(p)
    assert calibration(np.stack([boast, 1 - boast], axis=1), labels).expected_calibration_error > 0.08


def test_the_scores_are_those_of_scikit_learn():
    from sklearn.metrics import brier_score_loss, log_loss

    rng = np.random.default_rng(1)
    p, labels = rng.dirichlet([0.3, 0.4, 0.5], size=200), rng.integers(0, 3, 200)
    found = calibration(p, labels)
    assert found.log_loss == pytest.approx(log_loss(labels, p, labels=[0, 1, 2]))
    assert found.brier == pytest.approx(brier_score_loss(labels, p, labels=[0, 1, 2], scale_by_half=False))


def test_a_class_that_is_excluded_has_a_finite_loss():
    assert 700 < calibration([[1.0, 0.0]], [1]).log_loss < np.inf


@pytest.mark.parametrize(("posterior", "labels"), [([[0.5, 0.5]], [0, 1]), ([0.5, 0.5], [0]), (np.zeros((0, 2)), [])])
def test_what_does_not_fit_is_refused(posterior, labels):
    with pytest.raises(ValueError, match=r"posterior has shape .* and labels"):
        calibration(posterior, labels)
