"""Made-up pursuits whose true risks are known, and a classifier that is too sure."""

import numpy as np

import infopursuit as ip
from infopursuit.calibration.temperature import HeldOutRuns

N_STEPS, N_CLASSES = 12, 4


def pursuits(n, seed, sharpness=1.0):
    """Pursuits with posteriors that are exactly right, or ``sharpness`` times too sure in log-odds.

    Every step reveals the label through noise that is independent given the label, so that Bayes' rule is right.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(N_CLASSES, size=n)
    hard = rng.random(n) < 0.3  # known from the first answer on: hard inputs tell little
    strength = np.where(hard, 0.5, 1.6)
    seen = rng.normal(size=(n, N_STEPS, N_CLASSES))
    seen[np.arange(n), :, labels] += strength[:, None]
    log_odds = np.concatenate([np.zeros((n, 1, N_CLASSES)), (seen * strength[:, None, None]).cumsum(axis=1)], axis=1)
    log_odds = sharpness * log_odds
    top = log_odds.max(axis=2, keepdims=True)
    log_posterior = log_odds - top - np.log(np.exp(log_odds - top).sum(axis=2, keepdims=True))
    gains, n_answers = np.zeros((n, N_STEPS + 1)), np.tile(np.arange(N_STEPS + 1), (n, 1))
    return HeldOutRuns(log_posterior, gains, n_answers, np.full(n, N_STEPS), labels, 1e-12)


def repeated_answers(n, seed):
    """Four traits, each asked about four times: a model of independent answers counts each four times."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    traits = rng.random((n, 4)) < np.array([[0.85, 0.2, 0.3, 0.7], [0.2, 0.85, 0.3, 0.3], [0.3, 0.3, 0.85, 0.6]])[y]
    return np.repeat(traits, 4, axis=1) ^ (rng.random((n, 16)) < 0.08), np.array(["a", "b", "c"])[y]


def too_sure(**options):
    """A classifier of those, fitted."""
    queries = ip.queries.concepts([f"question {i}" for i in range(16)])
    clf = ip.InformationPursuitClassifier(queries=queries, strategy=ip.models.naive_bayes(), **options)
    return clf.fit(*repeated_answers(500, seed=0))
