"""What a tuning reports about the rule that it chose."""

import numpy as np
import pytest

from infopursuit.calibration import HeldOutRuns
from infopursuit.tuning import tune

N, K = 60, 6


def runs(seed):
    """Made-up runs that are overconfident at first, so that another temperature fits where they stop."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=N)
    evidence = rng.normal((2 * labels - 1)[:, None] * 0.8, 1.0, (N, K)).cumsum(axis=1)
    logit = np.concatenate([np.zeros((N, 1)), evidence * np.linspace(6, 0.7, K)], axis=1)
    gains = np.concatenate([np.full((N, K), 0.1), np.zeros((N, 1))], axis=1)
    log_posterior = -np.logaddexp(0, np.stack([logit, -logit], axis=2))
    return HeldOutRuns(log_posterior, gains, np.tile(np.arange(K + 1), (N, 1)), np.full(N, K), labels)


@pytest.mark.parametrize("seed", range(4))
def test_no_rule_is_more_accurate_than_the_most_accurate(seed):
    found = tune({"made up": runs(seed)}, K)
    assert found.accuracy <= found.best_accuracy
