"""Dawid-Skene: confusion matrices of annotators from repeated answers, without known true answers.

Where several annotators answer the same question about the same item, their agreement identifies their error rates
(Dawid and Skene, 1979). Known true answers, where there are some, are used as such.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from infopursuit.checks import number, whole_number
from infopursuit.display import Brief
from infopursuit.noise import AnswerNoise
from infopursuit.types import UNKNOWN, FloatArray, IntArray

logger = logging.getLogger(__name__)

FIELDS = ("item", "query", "annotator", "answer")
PREVALENCE = 0.1
"""Dirichlet pseudo-count of each true answer of a query, so that no prevalence is 0. It is small, so that where the
answers carry no information the confusion matrices are the prior's, not a compromise with even prevalences."""
MAX_ITERATIONS, TOLERANCE = 2_000, 1e-9
"""EM ends when an iteration adds less than the tolerance for each answer to the log posterior density."""


@dataclass(frozen=True, repr=False)
class DawidSkene(Brief):
    """The fit of `dawid_skene`.

    confusion_matrices: {annotator: (K, K)}, P(given | true), a row for each true answer. prevalence: {query: (K,)},
    P(true). tasks: the (item, query) pairs that were answered; truth: (T, K) the posterior of their true answers.
    objective: the log posterior density of matrices and prevalences, up to a constant, before the first and after each
    iteration, which EM never lowers.
    """

    confusion_matrices: dict[Hashable, FloatArray]
    prevalence: dict[Hashable, FloatArray]
    tasks: tuple[tuple[Hashable, Hashable], ...]
    truth: FloatArray
    objective: tuple[float, ...]

    def accuracy(self) -> dict[Hashable, float]:
        """Balanced accuracy of each annotator: the mean of the diagonal of the confusion matrix."""
        return {name: float(np.diag(matrix).mean()) for name, matrix in self.confusion_matrices.items()}

    def noise(self, annotator: Hashable, *, max_repeats: int = 1) -> AnswerNoise:
        """The `AnswerNoise` of one annotator."""
        if annotator not in self.confusion_matrices:
            some = ", ".join(repr(name) for name in list(self.confusion_matrices)[:6])
            raise ValueError(f"annotator={annotator!r} is none of those who have answered: {some}")
        return AnswerNoise(self.confusion_matrices[annotator], max_repeats=max_repeats)


def dawid_skene(
    records: Any,
    n_choices: int,
    *,
    truth: Mapping[tuple[Hashable, Hashable], int] | None = None,
    prior_accuracy: float = 0.8,
    prior_weight: float = 5.0,
) -> DawidSkene:
    """Fit confusion matrices P(given | true) by expectation maximisation, for queries with K choices each.

    E step: P(true = k | answers) is proportional to prevalence[k] prod_r P(given_r | true = k). M step: expected counts
    plus the pseudo-counts of the prior, normalised (maximum a posteriori).

    Parameters
    ----------
    records: a data frame or a mapping with the columns item, query, annotator and answer. An answer is the index of the
        choice; rows whose answer is -1, NaN or None are left out.
    n_choices: K, the number of choices of every query.
    truth: true answers that are known, as {(item, query): answer}.
    prior_accuracy, prior_weight: Dirichlet prior of each row: ``prior_weight`` pseudo-answers, a share
        ``prior_accuracy`` of them right. It fixes the labelling of the true answers and keeps few answers from giving
        0 or 1. It must be above 1 / K.

    >>> answers = {
    ...     "item": [0, 0, 0, 1, 1, 1],
    ...     "query": ["flies"] * 6,
    ...     "annotator": ["Ann", "Bob", "Cem"] * 2,
    ...     "answer": [1, 1, 0, 0, 0, 1],
    ... }
    >>> {name: round(share, 2) for name, share in dawid_skene(answers, 2).accuracy().items()}
    {'Ann': 0.82, 'Bob': 0.82, 'Cem': 0.68}
    """
    whole_number(n_choices, "n_choices", 2)
    if not 1 / n_choices < prior_accuracy < 1:
        raise ValueError(f"prior_accuracy={prior_accuracy!r}; expected a share above 1 / {n_choices} (guessing)")
    number(prior_weight, "prior_weight", above=0)
    absent = [name for name in FIELDS if name not in records]
    if absent:
        raise ValueError(f"records has no column {absent[0]!r}; expected {', '.join(FIELDS)}")
    items, asked, said_by, said = (list(records[name]) for name in FIELDS)
    rows = [
        (task, name, choice)
        for *task, name, entry in zip(items, asked, said_by, said, strict=True)
        if (choice := _choice(entry, n_choices, "answer")) != UNKNOWN
    ]
    if not rows:
        raise ValueError("records hold no answer; give at least one that is not missing")
    task, tasks = _codes([tuple(task) for task, _, _ in rows])  # (R,) of each answer
    unit, annotators = _codes([name for _, name, _ in rows])
    given = np.array([choice for _, _, choice in rows])
    task_query, queries = _codes([query for _, query in tasks])  # (T,)
    named = {key: _choice(entry, n_choices, f"truth[{key!r}]") for key, entry in (truth or {}).items()}
    known = np.array([named.get(key, UNKNOWN) for key in tasks])  # (T,)
    excluded = (known != UNKNOWN)[:, None] & (np.arange(n_choices) != known[:, None])

    wrong = (1 - prior_accuracy) / (n_choices - 1)
    pseudo = prior_weight * np.where(np.eye(n_choices, dtype=bool), prior_accuracy, wrong)  # (K, K)
    matrices = np.tile(pseudo / pseudo.sum(axis=1, keepdims=True), (len(annotators), 1, 1))
    prevalence, posterior = np.full((len(queries), n_choices), 1 / n_choices), np.empty((len(tasks), n_choices))
    # Prevalences first, with the matrices held: where answers cannot tell a wrong annotator from a rare truth, as with
    # one annotator alone, the matrices are then where the prior wants them, and stay.
    for hold in (True, False):
        objective: list[float] = []
        while len(objective) <= MAX_ITERATIONS:
            if objective:
                shares = np.full(prevalence.shape, PREVALENCE)
                np.add.at(shares, task_query, posterior)
                prevalence = shares / shares.sum(axis=1, keepdims=True)
            if objective and not hold:
                counts = np.zeros(matrices.shape)  # (U, given, true)
                np.add.at(counts, (unit, given), posterior[task])
                matrices = counts.transpose(0, 2, 1) + pseudo
                matrices /= matrices.sum(axis=2, keepdims=True)
            joint = np.log(prevalence)[task_query]  # (T, K)
            np.add.at(joint, task, np.log(matrices)[unit, :, given])
            joint[excluded] = -np.inf
            total = logsumexp(joint, axis=1, keepdims=True)
            posterior = np.exp(joint - total)
            log_prior = (pseudo * np.log(matrices)).sum() + PREVALENCE * np.log(prevalence).sum()
            objective.append(float(total.sum() + log_prior))
            if len(objective) > 1 and objective[-1] - objective[-2] <= TOLERANCE * len(given):
                break
        else:
            logger.warning("not converged after %d iterations", MAX_ITERATIONS)
    return DawidSkene(
        confusion_matrices=dict(zip(annotators, matrices, strict=True)),
        prevalence=dict(zip(queries, prevalence, strict=True)),
        tasks=tuple(tasks),
        truth=posterior,
        objective=tuple(objective),
    )


def _codes(column: list[Any]) -> tuple[IntArray, list[Any]]:
    """A column as numbers 0, 1, ..., and the distinct entries in the order of their first occurrence."""
    codes = {name: i for i, name in enumerate(dict.fromkeys(column))}
    return np.array([codes[name] for name in column], dtype=np.int64), list(codes)


def _choice(entry: Any, n_choices: int, name: str) -> int:
    """The index of a choice, -1 where missing."""
    if entry is None or entry != entry:  # NaN is not equal to itself
        return UNKNOWN
    if not isinstance(entry, (int, float, np.number)) or entry not in range(UNKNOWN, n_choices):
        raise ValueError(f"{name} is {entry!r}; expected the index of a choice, 0 to {n_choices - 1}, or -1")
    return int(entry)
