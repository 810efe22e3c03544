"""How reliable answerers are, learnt from repeated answers to the same questions (Dawid and Skene 1979).

Nobody needs to know the true answers: where several answer the same question about the same item, who disagrees with
the others shows. With true answers at hand it is counting.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from infopursuit.answerers.reliability import Reliability
from infopursuit.types import UNKNOWN, FloatArray, IntArray

logger = logging.getLogger(__name__)

FIELDS = ("item", "query", "answerer", "answer")
MOST_CHOICES = 1_000
PREVALENCE = 0.1
"""True answers of each kind that every query is taken to have had before, so that none has a prevalence of 0. Little,
for where answers tell nothing, the tables are to be the prior's, not a compromise with even prevalences."""


@dataclass(frozen=True)
class Confusions:
    """What `learn_confusions` has learnt.

    tables: {answerer or query: (K, K)}, P(said | true), a row for each true answer. prevalence: {query: (K,)}, how
    frequent each true answer is. tasks: the (item, query) pairs that were answered; truth: (T, K) the posterior of
    their true answers. objective: the logarithm of the posterior density of tables and prevalences, up to a constant,
    before the first and after each iteration, and log_likelihood that of the answers alone; EM never lowers the former.
    n_answers: {answerer or query: answers used}. converged: False where ``most_iterations`` ended it.
    """

    tables: dict[Hashable, FloatArray]
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
        """How often each answerer is right where all true answers are equally frequent: the mean of the diagonal."""
        return {name: float(np.diag(table).mean()) for name, table in self.tables.items()}

    def reliability(self, answerer: Hashable = None, *, again: int = 1) -> Reliability:
        """What was learnt, as a pursuit or a session takes it: of one answerer, or of every query."""
        if self.by == "query":
            if answerer is not None:
                raise ValueError(f"answerer={answerer!r}: tables were learnt by query, for all answerers together")
            return Reliability(queries={str(query): table for query, table in self.tables.items()}, again=again)
        if answerer not in self.tables:
            some = ", ".join(repr(name) for name in list(self.tables)[:6])
            raise ValueError(f"answerer={answerer!r} is none of those who have answered: {some}")
        return Reliability(self.tables[answerer], again=again)

    def __repr__(self) -> str:
        what = {"answerer": ("answerer", "answerers"), "query": ("query", "queries")}[self.by][len(self.tables) != 1]
        return (
            f"<Confusions of {len(self.tables)} {what}: {sum(self.n_answers.values()):,} answers to "
            f"{len(self.tasks):,} questions, {self.n_iterations} iterations>"
        )


@dataclass(frozen=True)
class Answers:
    """R answers as numbers. task, unit, said: (R,). task_query: (T,). known: (T,) the true answer, -1 if not known."""

    task: IntArray
    unit: IntArray
    said: IntArray
    task_query: IntArray
    known: IntArray
    tasks: tuple[tuple[Hashable, Hashable], ...]
    units: tuple[Hashable, ...]
    queries: tuple[Hashable, ...]


def learn_confusions(
    records: Any,
    n_choices: int,
    *,
    truth: Any = None,
    by: Literal["answerer", "query"] = "answerer",
    right: float = 0.8,
    weight: float = 5.0,
    most_iterations: int = 2_000,
    tolerance: float = 1e-9,
) -> Confusions:
    """Confusion tables P(said | true) by expectation maximisation, for questions with the same number of choices.

    Parameters
    ----------
    records: a table or a mapping with the columns item, query, answerer and answer, or these four as a sequence. An
        answer is the index of the choice; rows whose answer is -1, NaN or None are left out.
    n_choices: K, the number of choices of every query.
    truth: true answers, as {(item, query): answer} or one for each record, -1, NaN or None where not known.
    by: "answerer" learns a table for each answerer, shared by the queries; "query" one for each query, shared by the
        answerers.
    right, weight: before any answer is seen every row of a table is taken to rest on ``weight`` answers, a share
        ``right`` of them right and the others alike. This tells a right answer from a wrong one (a relabelling of the
        true answers would fit as well), and keeps few answers from giving 0 or 1. ``right`` must be above 1 / K.
    most_iterations, tolerance: EM ends when an iteration adds less than ``tolerance`` for each answer.

    >>> answers = {
    ...     "item": [0, 0, 0, 1, 1, 1],
    ...     "query": ["flies"] * 6,
    ...     "answerer": ["Ann", "Bob", "Cem"] * 2,
    ...     "answer": [1, 1, 0, 0, 0, 1],
    ... }
    >>> {name: round(share, 2) for name, share in learn_confusions(answers, 2).accuracy().items()}
    {'Ann': 0.82, 'Bob': 0.82, 'Cem': 0.68}
    """
    _check_settings(n_choices, by, right, weight, most_iterations, tolerance)
    answers = _read(records, truth, n_choices, by)
    extra = _pseudo_counts(n_choices, right, weight)  # (K, K)
    tables = np.broadcast_to(extra / extra.sum(axis=1, keepdims=True), (len(answers.units), n_choices, n_choices))
    # Prevalences first, with the tables held: where answers cannot tell a wrong answerer from a rare truth, as with
    # one answerer alone, the tables are then where the prior wants them, and stay.
    prevalence = np.full((len(answers.queries), n_choices), 1 / n_choices)
    tables, prevalence, *_ = _climb(answers, tables, prevalence, extra, most_iterations, tolerance, hold=True)
    tables, prevalence, truths, objective, likelihood, converged = _climb(
        answers, tables, prevalence, extra, most_iterations, tolerance, hold=False
    )
    if not converged:
        logger.warning("not converged after %d iterations; raise most_iterations or tolerance", most_iterations)
    counts = np.bincount(answers.unit, minlength=len(answers.units)).tolist()
    return Confusions(
        tables=dict(zip(answers.units, tables, strict=True)),
        prevalence=dict(zip(answers.queries, prevalence, strict=True)),
        tasks=answers.tasks,
        truth=truths,
        objective=tuple(objective),
        log_likelihood=tuple(likelihood),
        n_answers=dict(zip(answers.units, counts, strict=True)),
        by=by,
        converged=converged,
    )


# ---- expectation maximisation ---------------------------------------------------------------------------------------


def _climb(
    answers: Answers,
    tables: FloatArray,
    prevalence: FloatArray,
    extra: FloatArray,
    most: int,
    tolerance: float,
    *,
    hold: bool,
) -> tuple[FloatArray, FloatArray, FloatArray, list[float], list[float], bool]:
    """EM from these tables (U, K, K) and prevalences (Q, K) until it gains next to nothing; ``hold`` keeps the
    tables."""
    least = tolerance * max(len(answers.said), 1)
    truths, likelihood = expect(answers, tables, prevalence)
    objective, likelihoods = [likelihood + _log_prior(tables, prevalence, extra)], [likelihood]
    for _ in range(most):
        new_tables, prevalence = maximise(answers, truths, extra, len(tables))
        tables = tables if hold else new_tables
        truths, likelihood = expect(answers, tables, prevalence)
        objective.append(likelihood + _log_prior(tables, prevalence, extra))
        likelihoods.append(likelihood)
        if objective[-1] - objective[-2] <= least:
            return tables, prevalence, truths, objective, likelihoods, True
    return tables, prevalence, truths, objective, likelihoods, False


def expect(answers: Answers, tables: FloatArray, prevalence: FloatArray) -> tuple[FloatArray, float]:
    """(T, K) the posterior of every true answer, and the log likelihood of all answers (and of known truths).

    P(true = k | answers) is proportional to prevalence[k] times the product of P(said | true = k).
    """
    with np.errstate(divide="ignore"):
        joint = np.log(prevalence)[answers.task_query]  # (T, K)
        np.add.at(joint, answers.task, np.log(tables)[answers.unit, :, answers.said])
    told = answers.known != UNKNOWN
    others = np.arange(joint.shape[1]) != answers.known[:, None]
    joint[told[:, None] & others] = -np.inf
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    total = weights.sum(axis=1, keepdims=True)
    return weights / total, float((top + np.log(total)).sum())


def maximise(answers: Answers, truths: FloatArray, extra: FloatArray, n_units: int) -> tuple[FloatArray, FloatArray]:
    """Tables (U, K, K) and prevalences (Q, K) from the posterior of the truths: expected counts and the prior's."""
    n_choices = truths.shape[1]
    counts = np.zeros((n_units, n_choices, n_choices))  # (U, said, true)
    np.add.at(counts, (answers.unit, answers.said), truths[answers.task])
    tables = counts.transpose(0, 2, 1) + extra
    shares = np.full((len(answers.queries), n_choices), PREVALENCE)
    np.add.at(shares, answers.task_query, truths)
    return tables / tables.sum(axis=2, keepdims=True), shares / shares.sum(axis=1, keepdims=True)


def _log_prior(tables: FloatArray, prevalence: FloatArray, extra: FloatArray) -> float:
    """log of the Dirichlet densities, without their constants."""
    return float((extra * np.log(tables)).sum() + PREVALENCE * np.log(prevalence).sum())


def _pseudo_counts(n_choices: int, right: float, weight: float) -> FloatArray:
    """(K, K) answers that every table is taken to have had before."""
    wrong = (1 - right) / (n_choices - 1)
    return weight * np.where(np.eye(n_choices, dtype=bool), right, wrong)


# ---- reading --------------------------------------------------------------------------------------------------------


def _check_settings(n_choices: Any, by: Any, right: float, weight: float, most: Any, tolerance: float) -> None:
    whole = isinstance(n_choices, (int, np.integer)) and not isinstance(n_choices, bool)
    if not whole or not 2 <= n_choices <= MOST_CHOICES:
        raise ValueError(f"n_choices={n_choices!r}; expected a whole number from 2 to {MOST_CHOICES}")
    if by not in ("answerer", "query"):
        raise ValueError(f"by={by!r}; expected 'answerer' or 'query'")
    if not 1 / n_choices < right < 1:
        raise ValueError(f"right={right!r}; expected a share above 1 / {n_choices} (guessing) and below 1, such as 0.8")
    if not 0 < weight < np.inf:
        raise ValueError(f"weight={weight!r}; expected a positive number, such as 5")
    if not isinstance(most, (int, np.integer)) or most < 1:
        raise ValueError(f"most_iterations={most!r}; expected a whole number from 1 on")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance={tolerance!r}; expected 0 or a small positive number")


def _read(records: Any, truth: Any, n_choices: int, by: str) -> Answers:
    columns = _columns(records)
    said = _choices(columns["answer"], n_choices, "answer")
    given = None if truth is None or isinstance(truth, Mapping) else _choices(truth, n_choices, "truth")
    if given is not None and len(given) != len(said):
        raise ValueError(f"truth has {len(given)} entries for {len(said)} records; give one for each, or a mapping")
    tasks: dict[tuple[Hashable, Hashable], int] = {}
    units: dict[Hashable, int] = {}
    queries: dict[Hashable, int] = {}
    rows: list[tuple[int, int, int]] = []
    task_query: list[int] = []
    known: dict[int, int] = {}
    named = _named_truth(truth, n_choices) if isinstance(truth, Mapping) else {}
    for row, answer in enumerate(said.tolist()):
        if answer == UNKNOWN:
            continue
        item, query, answerer = (columns[name][row] for name in FIELDS[:3])
        task = tasks.setdefault((item, query), len(tasks))
        if task == len(task_query):
            task_query.append(queries.setdefault(query, len(queries)))
        unit = units.setdefault(answerer if by == "answerer" else query, len(units))
        rows.append((task, unit, answer))
        true = named.get((item, query), UNKNOWN) if given is None else int(given[row])
        if true != UNKNOWN and known.setdefault(task, true) != true:
            raise ValueError(
                f"truth of item {item!r}, query {query!r} is {known[task]} in one record and {true} in another; "
                f"give one true answer"
            )
    if not rows:
        raise ValueError("records hold no answer; give at least one that is not missing")
    told = np.full(len(tasks), UNKNOWN)
    told[list(known)] = list(known.values())
    task, unit, answered = np.array(rows, dtype=np.int64).T
    return Answers(
        task, unit, answered, np.array(task_query, dtype=np.int64), told, tuple(tasks), tuple(units), tuple(queries)
    )


def _columns(records: Any) -> dict[str, list[Any]]:
    """The four columns as lists of the same length."""
    if isinstance(records, Mapping) or hasattr(records, "columns"):
        names = list(records) if isinstance(records, Mapping) else list(records.columns)
        absent = [name for name in FIELDS if name not in names]
        if absent:
            raise ValueError(f"records has no column {absent[0]!r}; expected item, query, answerer and answer")
        found = {name: _plain(records[name]) for name in FIELDS}
    else:
        columns = list(records)
        if len(columns) != len(FIELDS):
            raise ValueError(
                f"records has {len(columns)} entries; expected four arrays: item, query, answerer and answer"
            )
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


def _choices(column: Any, n_choices: int, name: str) -> IntArray:
    """(R,) indices of choices, -1 where missing."""
    return np.array([_choice(entry, n_choices, f"{name}[{i}]") for i, entry in enumerate(_plain(column))], dtype=int)


def _named_truth(truth: Mapping[Any, Any], n_choices: int) -> dict[Any, int]:
    return {task: _choice(entry, n_choices, f"truth[{task!r}]") for task, entry in truth.items()}


def _choice(entry: Any, n_choices: int, name: str) -> int:
    if entry is None or entry != entry:  # NaN is not equal to itself
        return UNKNOWN
    try:
        whole = int(entry)
        fits = whole == entry and UNKNOWN <= whole < n_choices
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise ValueError(
            f"{name} is {entry!r}; expected the index of a choice, 0 to {n_choices - 1}, or -1 where not known"
        )
    return whole
