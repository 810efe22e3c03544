"""A tuned model of scikit-learn on the answers to all queries: what a careful person would try without a network."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC

from infopursuit.evaluation.baselines.inputs import Inputs
from infopursuit.evaluation.baselines.rows import AT_A_TIME, check_training_rows, hold_out
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet

logger = logging.getLogger(__name__)

MOST_CLASSES = 20
"""Boosting grows a tree for each class in each round; with more classes than this it is left out."""


@dataclass(frozen=True)
class Tuned:
    """The model that was best on the held-out rows. tried: accuracy there of every candidate, fitted on fewer rows."""

    name: str
    inputs: Inputs
    classes: Any
    estimator: Any
    validation_accuracy: float
    tried: dict[str, float]
    seconds: float

    @property
    def details(self) -> dict[str, Any]:
        """What was tried."""
        return {"validation_accuracy": self.validation_accuracy, "tried": self.tried}

    def predict(self, values: Any) -> Any:
        """(B, A) atom values -> (B,) labels."""
        parts = [
            self.estimator.predict(self.inputs.matrix(values[start : start + AT_A_TIME]))
            for start in range(0, len(values), AT_A_TIME)
        ]
        return self.classes[np.concatenate(parts)]


def candidates(n_classes: int, seed: int) -> dict[str, Any]:
    """What is tried, by name: naive Bayes, logistic regression, a linear SVM, gradient boosting."""
    found: dict[str, Any] = {}
    for alpha in (0.01, 0.1, 1.0):
        found[f"naive Bayes, alpha={alpha:g}"] = BernoulliNB(alpha=alpha, binarize=0.75)  # unknown counts as no
    for strength in (0.01, 0.1, 1.0):
        found[f"logistic regression, C={strength:g}"] = LogisticRegression(C=strength, max_iter=200)
    for strength in (0.001, 0.01, 0.1):
        found[f"linear SVM, C={strength:g}"] = LinearSVC(C=strength, dual=False, max_iter=200, random_state=seed)
    if n_classes <= MOST_CLASSES:
        # one setting only: it takes longer than all others together
        found["gradient boosting"] = HistGradientBoostingClassifier(early_stopping=False, random_state=seed)
    return found


def fit_tuned(
    query_set: QuerySet,
    values: Any,
    labels: Any,
    *,
    validation: float = 0.1,
    most_rows: int = 10_000,
    refit: bool = True,
    without: Collection[str] = (),
    seed: int = 0,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> Tuned:
    """Try the candidates on at most ``most_rows`` rows; the best on the held-out rows is fitted on all others, which
    gives its validation accuracy, and with ``refit`` once more on all rows. without: names of candidates that are
    not tried."""
    if most_rows < 1:
        raise ValueError(f"most_rows={most_rows} must be 1 or more")
    begin = time.perf_counter()
    values, classes, targets = check_training_rows(query_set, values, labels)
    inputs = Inputs(query_set)
    learn, choose = hold_out(targets, validation, seed)
    matrix = inputs.matrix(values)
    few = np.sort(np.random.default_rng((seed, 3)).permutation(learn)[:most_rows])
    tried: dict[str, float] = {}
    fitted: dict[str, Any] = {}
    options = {name: option for name, option in candidates(len(classes), seed).items() if name not in without}
    with Progress("tuning", len(options) + 1 + refit, show=progress) as shown:
        for name, option in options.items():
            fitted[name] = _fit(option, matrix[few], targets[few])
            tried[name] = float((fitted[name].predict(matrix[choose]) == targets[choose]).mean())
            say(f"{name}: {100 * tried[name]:.2f} % right on {len(choose)} held-out rows")
            shown.advance()
        best = max(tried, key=lambda name: tried[name])
        final = fitted[best] if len(few) == len(learn) else _fit(options[best], matrix[learn], targets[learn])
        accuracy = float((final.predict(matrix[choose]) == targets[choose]).mean())
        shown.advance()
        if refit:
            final = _fit(options[best], matrix, targets)
            shown.advance()
    return Tuned(best, inputs, classes, final, accuracy, tried, time.perf_counter() - begin)


def _fit(option: Any, matrix: Any, targets: Any) -> Any:
    with warnings.catch_warnings():
        # iterations are bounded so that time is; what was reached is judged on held-out rows like everything else
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(option).fit(matrix, targets)
