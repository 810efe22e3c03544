"""Dawid-Skene: confusion matrices of annotators from repeated answers, without known true answers.

Where several annotators answer the same question about the same item, their agreement identifies their error rates
(Dawid and Skene, 1979). Known true answers, where there are some, are used as such.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import logsumexp

from infopursuit.checks import number, one_of, whole_number
from infopursuit.noise import AnswerNoise
from infopursuit.types import UNKNOWN, FloatArray, IntArray

logger = logging.getLogger(__name__)

FIELDS = ("item", "query", "annotator", "answer")
MAX_CHOICES = 1_000
PREVALENCE = 0.1
"""Dirichlet pseudo-count of each true answer of a query, so that no prevalence is 0. It is small, so that where the
answers carry no information the confusion matrices are the prior's, not a compromise with even prevalences."""


@dataclass(frozen=True)
class DawidSkene:
    """The fit of `dawid_skene`.

    confusion_matrices: {annotator or query: (K, K)}, P(given | true), a row for each true answer. prevalence: {query:
    (K,)}, P(true). tasks: the (item, query) pairs that were answered; truth: (T, K) the posterior of their true
    answers. objective: the log posterior density of matrices and prevalences, up to a constant, before the first and
    after each iteration, which EM never lowers; log_likelihood: that of the answers alone. n_answers: {annotator or
    query: answers used}. by: "annotator" or "query". converged: False where ``max_iterations`` ended it.
    """

    confusion_matrices: dict[Hashable, FloatArray]
    prevalence: dict[Hashable, FloatArray]
    tasks: tuple[tuple[Hashable, Hashable], ...]
    truth: FloatArray
    objective: tuple[float, ...]
    log_likelihood: tuple[float, ...]
    n_answers: dict[Hashable, int]
    by: str
    converged: bool

    @property
    def n_iterations(self) -> int:
        """Iterations of EM."""
        return len(self.objective) - 1

    def accuracy(self) -> dict[Hashable, float]:
        """Balanced accuracy of each annotator (or query): the mean of the diagonal of the confusion matrix."""
        return {name: float(np.diag(matrix).mean()) for name, matrix in self.confusion_matrices.items()}

    def noise(self, annotator: Hashable = None, *, max_repeats: int = 1) -> AnswerNoise:
        """The `AnswerNoise` of one annotator, or with by="query" that of every query."""
        if self.by == "query":
            if annotator is not None:
                raise ValueError(f"annotator={annotator!r}: matrices were fitted by query, for all annotators together")
            matrices = {str(query): matrix for query, matrix in self.confusion_matrices.items()}
            return AnswerNoise(queries=matrices, max_repeats=max_repeats)
        if annotator not in self.confusion_matrices:
            some = ", ".join(repr(name) for name in list(self.confusion_matrices)[:6])
            raise ValueError(f"annotator={annotator!r} is none of those who have answered: {some}")
        return AnswerNoise(self.confusion_matrices[annotator], max_repeats=max_repeats)

    def __repr__(self) -> str:
        what = {"annotator": "annotators", "query": "queries"}[self.by]
        return (
            f"<DawidSkene of {len(self.confusion_matrices)} {what}: {sum(self.n_answers.values()):,} answers to "
            f"{len(self.tasks):,} questions, {self.n_iterations} iterations>"
        )


class _Answers(NamedTuple):
    """R answers as numbers. task, unit, given: (R,). task_query: (T,). known: (T,) the true answer, -1 if not known."""

    task: IntArray
    unit: IntArray
    given: IntArray
    task_query: IntArray
    known: IntArray


def dawid_skene(
    records: Any,
    n_choices: int,
    *,
    truth: Any = None,
    by: Literal["annotator", "query"] = "annotator",
    prior_accuracy: float = 0.8,
    prior_weight: float = 5.0,
    max_iterations: int = 2_000,
    tolerance: float = 1e-9,
) -> DawidSkene:
    """Fit confusion matrices P(given | true) by expectation maximisation, for queries with K choices each.

    E step: P(true = k | answers) is proportional to prevalence[k] prod_r P(given_r | true = k). M step: expected counts
    plus the pseudo-counts of the prior, normalised (maximum a posteriori).

    Parameters
    ----------
    records: a table or a mapping with the columns item, query, annotator and answer, or these four as a sequence. An
        answer is the index of the choice; rows whose answer is -1, NaN or None are left out.
    n_choices: K, the number of choices of every query.
    truth: true answers, as {(item, query): answer} or one for each record, -1, NaN or None where not known.
    by: "annotator" fits a matrix for each annotator, shared by the queries; "query" one for each query, shared by the
        annotators.
    prior_accuracy, prior_weight: Dirichlet prior of each row: ``prior_weight`` pseudo-answers, a share
        ``prior_accuracy`` of them right. It fixes the labelling of the true answers and keeps few answers from giving
        0 or 1. It must be above 1 / K.
    max_iterations, tolerance: EM ends when an iteration adds less than ``tolerance`` for each answer.

    >>> answers = {
    ...     "item": [0, 0, 0, 1, 1, 1],
    ...     "query": ["flies"] * 6,
    ...     "annotator": ["Ann", "Bob", "Cem"] * 2,
    ...     "answer": [1, 1, 0, 0, 0, 1],
    ... }
    >>> {name: round(share, 2) for name, share in dawid_skene(answers, 2).accuracy().items()}
    {'Ann': 0.82, 'Bob': 0.82, 'Cem': 0.68}
    """
    whole_number(n_choices, "n_choices", 2, MAX_CHOICES)
    whole_number(max_iterations, "max_iterations", 1)
    one_of(by, "by", ("annotator", "query"))
    if not 1 / n_choices < prior_accuracy < 1:
        raise ValueError(f"prior_accuracy={prior_accuracy!r}; expected a share above 1 / {n_choices} (guessing)")
    number(prior_weight, "prior_weight", above=0)
    number(tolerance, "tolerance", least=0)
    answers, tasks, units, queries = _read(records, truth, n_choices, by)
    wrong = (1 - prior_accuracy) / (n_choices - 1)
    pseudo = prior_weight * np.where(np.eye(n_choices, dtype=bool), prior_accuracy, wrong)  # (K, K)
    matrices = np.broadcast_to(pseudo / pseudo.sum(axis=1, keepdims=True), (len(units), n_choices, n_choices))
    prevalence = np.full((len(queries), n_choices), 1 / n_choices)
    # Prevalences first, with the matrices held: where answers cannot tell a wrong annotator from a rare truth, as with
    # one annotator alone, the matrices are then where the prior wants them, and stay.
    posterior = np.empty((0, n_choices))
    for hold in (True, False):
        objective: list[float] = []
        likelihoods: list[float] = []
        converged = False
        while not converged and len(objective) <= max_iterations:
            if objective:
                new_matrices, prevalence = _m_step(answers, posterior, pseudo, len(units), len(queries))
                matrices = matrices if hold else new_matrices
            posterior, likelihood = _e_step(answers, matrices, prevalence)
            log_prior = float((pseudo * np.log(matrices)).sum() + PREVALENCE * np.log(prevalence).sum())
            objective.append(likelihood + log_prior)
            likelihoods.append(likelihood)
            converged = len(objective) > 1 and objective[-1] - objective[-2] <= tolerance * len(answers.given)
    if not converged:
        logger.warning("not converged after %d iterations; raise max_iterations or tolerance", max_iterations)
    return DawidSkene(
        confusion_matrices=dict(zip(units, matrices, strict=True)),
        prevalence=dict(zip(queries, prevalence, strict=True)),
        tasks=tuple(tasks),
        truth=posterior,
        objective=tuple(objective),
        log_likelihood=tuple(likelihoods),
        n_answers=dict(zip(units, np.bincount(answers.unit).tolist(), strict=True)),
        by=by,
        converged=converged,
    )


def _e_step(answers: _Answers, matrices: FloatArray, prevalence: FloatArray) -> tuple[FloatArray, float]:
    """(T, K) the posterior of every true answer, and the log likelihood of all answers (and of known truths)."""
    with np.errstate(divide="ignore"):
        joint = np.log(prevalence)[answers.task_query]  # (T, K)
        np.add.at(joint, answers.task, np.log(matrices)[answers.unit, :, answers.given])
    others = np.arange(joint.shape[1]) != answers.known[:, None]
    joint[(answers.known != UNKNOWN)[:, None] & others] = -np.inf
    total = logsumexp(joint, axis=1, keepdims=True)
    return np.exp(joint - total), float(total.sum())


def _m_step(
    answers: _Answers, truth: FloatArray, pseudo: FloatArray, n_units: int, n_queries: int
) -> tuple[FloatArray, FloatArray]:
    """Matrices (U, K, K) and prevalences (Q, K): expected counts plus pseudo-counts, normalised."""
    n_choices = truth.shape[1]
    counts = np.zeros((n_units, n_choices, n_choices))  # (U, given, true)
    np.add.at(counts, (answers.unit, answers.given), truth[answers.task])
    matrices = counts.transpose(0, 2, 1) + pseudo
    shares = np.full((n_queries, n_choices), PREVALENCE)
    np.add.at(shares, answers.task_query, truth)
    return matrices / matrices.sum(axis=2, keepdims=True), shares / shares.sum(axis=1, keepdims=True)


def _read(records: Any, truth: Any, n_choices: int, by: str) -> tuple[_Answers, list[Any], list[Any], list[Any]]:
    """The answers as numbers, and the names of tasks, units (annotators or queries) and queries."""
    columns = _columns(records)
    given = [_choice(entry, n_choices, f"answer[{i}]") for i, entry in enumerate(columns["answer"])]
    rows = [i for i, answer in enumerate(given) if answer != UNKNOWN]
    if not rows:
        raise ValueError("records hold no answer; give at least one that is not missing")
    asked = list(zip(columns["item"], columns["query"], strict=True))
    task, tasks = _codes([asked[i] for i in rows])
    unit, units = _codes([columns[by][i] for i in rows])
    task_query, queries = _codes([query for _, query in tasks])
    if truth is None or isinstance(truth, Mapping):
        named = {key: _choice(entry, n_choices, f"truth[{key!r}]") for key, entry in (truth or {}).items()}
        true = [named.get(key, UNKNOWN) for key in asked]
    else:
        true = [_choice(entry, n_choices, f"truth[{i}]") for i, entry in enumerate(_plain(truth))]
        if len(true) != len(given):
            raise ValueError(f"truth has {len(true)} entries for {len(given)} records; give one each, or a mapping")
    known = np.full(len(tasks), UNKNOWN)
    for t, i in zip(task, rows, strict=True):
        if known[t] not in (UNKNOWN, true[i]) and true[i] != UNKNOWN:
            raise ValueError(
                f"truth of item {asked[i][0]!r}, query {asked[i][1]!r} is {known[t]} in one record and "
                f"{true[i]} in another; give one true answer"
            )
        known[t] = known[t] if true[i] == UNKNOWN else true[i]
    answers = _Answers(task, unit, np.array([given[i] for i in rows]), task_query, known)
    return answers, tasks, units, queries


def _codes(column: list[Any]) -> tuple[IntArray, list[Any]]:
    """A column as numbers 0, 1, ..., and the distinct entries in the order of their first occurrence."""
    codes = {name: i for i, name in enumerate(dict.fromkeys(column))}
    return np.array([codes[name] for name in column], dtype=np.int64), list(codes)


def _columns(records: Any) -> dict[str, list[Any]]:
    """The four columns as lists of the same length."""
    if isinstance(records, Mapping) or hasattr(records, "columns"):
        absent = [name for name in FIELDS if name not in (records if isinstance(records, Mapping) else records.columns)]
        if absent:
            raise ValueError(f"records has no column {absent[0]!r}; expected {', '.join(FIELDS)}")
        columns = [records[name] for name in FIELDS]
    else:
        columns = list(records)
        if len(columns) != len(FIELDS):
            raise ValueError(f"records has {len(columns)} entries; expected four arrays: {', '.join(FIELDS)}")
    found = {name: _plain(column) for name, column in zip(FIELDS, columns, strict=True)}
    lengths = {name: len(column) for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns of records have different lengths: {lengths}")
    return found


def _plain(column: Any) -> list[Any]:
    """A column as a list of Python objects."""
    for method in ("to_list", "tolist", "to_pylist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _choice(entry: Any, n_choices: int, name: str) -> int:
    """The index of a choice, -1 where missing."""
    if entry is None or entry != entry:  # NaN is not equal to itself
        return UNKNOWN
    if not isinstance(entry, (int, float, np.number)) or entry not in range(UNKNOWN, n_choices):
        raise ValueError(
            f"{name} is {entry!r}; expected the index of a choice, 0 to {n_choices - 1}, or -1 where not known"
        )
    return int(entry)
