"""Baseline classifiers on held-out rows: do the queries keep what the inputs tell, and the model what answers tell?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.data_checks.answers import AnswerTable, take
from infopursuit.data_checks.report import Finding, Severity, percent
from infopursuit.datasets.dataset import fold_numbers
from infopursuit.engine import Pursuit
from infopursuit.queries.concepts import Concepts
from infopursuit.queries.tables import is_frame, read_table
from infopursuit.types import UNKNOWN, IntArray

N_FOLDS = 5
MAX_TRAIN, MAX_TEST, ENOUGH = 4_000, 2_000, 600
"""Rows that baselines are fitted and tested on; folds are added until there are enough test rows."""
MIN_TEST = 30
MAX_CATEGORIES = 50
MIN_GAP, LARGE_GAP = 0.01, 0.05
"""A gap is reported when the lower end of its interval is above the first, and serious above the second."""


@dataclass(frozen=True)
class Split:
    """folds: (train, test) positions among the rows of an `AnswerTable`. grouped: equal rows were kept together."""

    folds: tuple[tuple[IntArray, IntArray], ...]
    grouped: bool

    @cached_property
    def test(self) -> IntArray:
        """(T,) the test rows of all folds."""
        return np.concatenate([test for _, test in self.folds])


@dataclass(frozen=True)
class Gap:
    """The difference of two accuracies on the same rows, with its 99 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, right: Any, other: Any) -> Gap:
        """right, other: (B,) whether each row was classified correctly.

        >>> Gap.of([True] * 50 + [False] * 50, [True] * 50 + [False] * 50)
        Gap(mean=0.0, low=-0.05, high=0.05)
        """
        difference = np.asarray(right, dtype=np.float64) - np.asarray(other, dtype=np.float64)
        n, mean = len(difference), float(difference.mean())
        # where no row differs, five in n may still differ elsewhere: (1 - 5 / n)**n is about 1 %
        half = max(2.58 * float(difference.std()) / n**0.5, 5 / n)
        return cls(mean, mean - half, mean + half)

    def to_data(self) -> dict[str, float]:
        """The numbers of a finding."""
        return {"gap": self.mean, "gap_low": self.low, "gap_high": self.high}


def split_rows(table: AnswerTable, *, grouped: bool, seed: int) -> Split | None:
    """Stratified folds, as many as give enough test rows; groups (or, if ``grouped``, equal rows) stay together.

    None where too few rows would be left to test on.
    """
    groups = table.groups if table.groups is not None else table.patterns if grouped else None
    n_groups = len(table.y) if groups is None else len(np.unique(groups))
    if table.states_facts or n_groups < 2 * N_FOLDS:
        return None
    numbers = fold_numbers(table.y, groups, n=N_FOLDS, seed=seed)
    rng = np.random.default_rng((seed, 1))
    folds: list[tuple[IntArray, IntArray]] = []
    for fold in range(N_FOLDS):
        test = numbers == fold
        test &= np.isin(table.y, table.y[~test])  # a class whose rows are all in the fold cannot be tested
        train = np.sort(rng.permutation(np.flatnonzero(numbers != fold))[:MAX_TRAIN])
        folds.append((train, np.sort(rng.permutation(np.flatnonzero(test))[:MAX_TEST])))
        n_test = sum(len(test) for _, test in folds)
        if n_test >= ENOUGH:
            break
    return Split(tuple(folds), grouped) if n_test >= max(MIN_TEST, 0.05 * min(len(table.y), ENOUGH)) else None


def fit_and_predict(matrix: Any, y: IntArray, split: Split, *, seed: int = 0) -> IntArray:
    """(T,) predictions for the test rows of all folds: two learners vote with their probabilities.

    A vote, since choosing the better of the two on a few rows adds noise to the gap between two baselines.
    """
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import ComplementNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    found = []
    for train, test in split.folds:
        if hasattr(matrix, "tocsr"):
            learners: list[Any] = [LogisticRegression(C=5.0, max_iter=50), ComplementNB()]
        else:
            linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=100))
            learners = [linear, ExtraTreesClassifier(50, random_state=seed)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            votes = sum(learner.fit(matrix[train], y[train]).predict_proba(matrix[test]) for learner in learners)
        found.append(learners[0].classes_[np.argmax(votes, axis=1)])
    return np.concatenate(found)


def is_right(table: AnswerTable, split: Split | None, features: Sequence[int] | None = None, *, seed: int = 0) -> Any:
    """(T,) whether a baseline on the answers about some features classifies each test row correctly; None unsplit."""
    if split is None:
        return None
    return fit_and_predict(answer_matrix(table, features), table.y, split, seed=seed) == table.y[split.test]


# ---- design matrices ------------------------------------------------------------------------------------------------


def answer_matrix(table: AnswerTable, features: Sequence[int] | None = None) -> Any:
    """(N, F) the answers about some features: ordered ones from 0 to 1, categories one-hot, see `_numbers`."""
    queries = table.queries
    chosen = [table.features[f] for f in (range(len(table.features)) if features is None else features)]
    ordered = {int(queries.query_variables[f.queries[0], 0]): f.ordered for f in chosen if queries.width == 1}
    variables = queries.query_variables[[q for f in chosen for q in f.queries]]
    blocks = [
        _numbers(table.values[:, variable], queries.variables.sizes[variable], ordered.get(variable, queries.width > 1))
        for variable in np.unique(variables[variables >= 0]).tolist()
    ]
    return np.concatenate(blocks, axis=1)


def input_matrix(X: Any) -> Any:
    """(N, F) the inputs themselves as numbers; None for inputs of an unknown kind."""
    if hasattr(X, "tocsr"):
        return X.tocsr().astype(np.float32)
    if is_frame(X):
        return _columns(X)
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], str):
        X = np.array(X, dtype=object)
    array = np.asarray(X.detach() if hasattr(X, "detach") else X)
    if array.dtype.kind in "OU" and array.ndim <= 2:
        return _columns(array) if array.ndim == 2 else _texts(array) if isinstance(array[0], str) else None
    if array.ndim < 2 or array.dtype.kind not in "biuf":
        return None
    flat = array.reshape(len(array), -1).astype(np.float32)
    if array.ndim == 2:
        return _columns(array) if np.isnan(flat).any() else flat
    return np.nan_to_num(flat / max(float(np.nanmax(np.abs(flat))), 1e-12)).astype(np.float32)


def _numbers(column: Any, size: int, ordered: bool) -> Any:
    """(N, f) a column of answers in single precision; unknown is a half and, where it is frequent, has an indicator."""
    known = column != UNKNOWN
    if size <= 2 or ordered or size > MAX_CATEGORIES:
        parts = [np.where(known, column / (size - 1), 0.5)]
    else:
        parts = [column == value for value in range(size)]
    if (~known).mean() > 0.01:
        parts.append(~known)
    return np.stack(parts, axis=1).astype(np.float32)


def _columns(X: Any) -> Any:
    """(N, F) the columns of a table: numbers and dates as ranks from 0 to 1, categories one-hot."""
    table = read_table(X)
    blocks = []
    for position in range(len(table.names)):
        column = table.column(position)
        codes, labels = column.text()
        numeric = column.values is not None and column.kind != "yes_no"
        if numeric:
            values = np.asarray(column.values, dtype=np.float64)
            ranks = np.searchsorted(np.unique(values[~np.isnan(values)]), values)
            codes = np.where(np.isnan(values), UNKNOWN, ranks)
            size = int(codes.max()) + 1
        else:  # the rarest categories are one
            order = np.argsort(-np.bincount(codes[codes >= 0], minlength=len(labels)), kind="stable")
            rank = np.minimum(np.argsort(order, kind="stable"), MAX_CATEGORIES - 1)
            size = min(len(labels), MAX_CATEGORIES)
            codes = np.where(codes < 0, UNKNOWN, rank[np.maximum(codes, 0)]) if len(labels) > MAX_CATEGORIES else codes
        blocks.append(_numbers(codes, max(size, 2), numeric))
    return np.concatenate(blocks, axis=1)


def _texts(texts: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    tfidf = TfidfVectorizer(min_df=2, ngram_range=(1, 2), max_features=100_000, sublinear_tf=True)
    try:
        return tfidf.fit_transform([text if isinstance(text, str) else "" for text in texts.tolist()])
    except ValueError:  # no word occurs twice
        return None


# ---- do the queries, and the model, suffice? ------------------------------------------------------------------------


def find_insufficient(
    table: AnswerTable, X: Any, split: Split | None, on_answers: Any, model: Any, *, seed: int = 0
) -> tuple[list[Finding], dict[str, Any]]:
    """The gap between baselines on inputs and on answers, and between the latter and the model; and all accuracies.

    on_answers: (T,) whether a baseline on all answers is right about each test row.
    """
    if split is None:
        return [], {}
    y = table.y[split.test]
    measured: dict[str, Any] = {
        "train_rows": min(len(train) for train, _ in split.folds),
        "test_rows": len(y),
        "baseline_on_answers": _accuracy(on_answers),
        "most_frequent": float((y == np.bincount(table.y).argmax()).mean()),
    }
    found = []
    matrix = None
    if not isinstance(table.queries, Concepts):  # whose inputs are the answers
        used = np.unique(np.concatenate([rows for fold in split.folds for rows in fold]))
        matrix = input_matrix(take(X, table.rows[used]))
    if matrix is not None:
        folds = tuple((np.searchsorted(used, train), np.searchsorted(used, test)) for train, test in split.folds)
        on_inputs = fit_and_predict(matrix, table.y[used], Split(folds, split.grouped), seed=seed) == y
        gap = Gap.of(on_inputs, on_answers)
        measured |= {"baseline_on_inputs": _accuracy(on_inputs), "query_gap": [gap.mean, gap.low, gap.high]}
        if gap.low > MIN_GAP:
            numbers = {"on_inputs": float(on_inputs.mean()), "on_answers": float(on_answers.mean()), **gap.to_data()}
            severity: Severity = "serious" if gap.low > LARGE_GAP else "warning"
            found.append(Finding.of("insufficient queries", severity, (), numbers))
    right, seen = _model_right(table, X, split, model, seed)
    if right is not None:
        same = on_answers[: len(right)]
        gap = Gap.of(same, right)
        measured |= {
            "model_on_answers": _accuracy(right),
            "model_rows": len(right),
            "model_gap": [gap.mean, gap.low, gap.high],
            "model_saw_test_rows": seen,
        }
        if gap.low > MIN_GAP:
            numbers = {"on_answers": float(same.mean()), "model": float(right.mean()), **gap.to_data()}
            found.append(Finding.of("insufficient model", "warning", (), numbers))
    return found, measured


def sufficiency_text(measured: dict[str, Any]) -> str:
    """All accuracies in a sentence."""
    if not measured:
        return "No baselines were fitted: too few rows could be held out."
    parts = []
    for key in ("baseline_on_inputs", "baseline_on_answers", "model_on_answers"):
        if key in measured:
            parts.append("{} {:.1f} ± {:.1f} %".format(key.replace("_", " "), *(100 * p for p in measured[key])))
    if measured.get("model_saw_test_rows"):
        parts[-1] += " (it may have been trained on these rows)"
    parts.append(f"most frequent label {percent(measured['most_frequent'])}")
    return f"Accuracy on {measured['test_rows']:,} held-out rows: {', '.join(parts)}."


def _accuracy(right: Any) -> list[float]:
    p = float(np.mean(right))
    return [p, (p * (1 - p) / len(right)) ** 0.5]


def _model_right(table: AnswerTable, X: Any, split: Split, model: Any, seed: int) -> tuple[Any, bool]:
    """(T',) whether the most probable class after all answers is right, of the first test rows; and whether the model
    may have been trained on them."""
    from infopursuit.estimator import InformationPursuitClassifier
    from infopursuit.evaluation.map_using_q import map_using_q

    if model is False:
        return None, False
    given = getattr(model, "pursuit_", model)
    seen, test = isinstance(given, Pursuit), split.test
    if not seen:
        train, test = split.folds[0]  # once, since fitting a model takes longer than fitting a baseline
        clf = InformationPursuitClassifier(table.queries, "auto" if model is None else model, random_state=seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            given = clf.fit(take(X, table.rows[train]), table.classes[table.y[train]]).pursuit_
    posterior = map_using_q(given, table.values[test])
    return given.classes[posterior.argmax(axis=1)] == table.classes[table.y[test]][: len(posterior)], seen
