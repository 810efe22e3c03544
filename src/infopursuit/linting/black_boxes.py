"""Black boxes for comparisons: rows to learn from and to test on, answers or inputs as numbers, the better of a few."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from infopursuit.datasets.dataset import fold_numbers
from infopursuit.linting.answers import Answers
from infopursuit.queries.tables import is_frame, read_table
from infopursuit.types import UNKNOWN, FloatArray, IntArray

MOST_TRAIN, MOST_TEST, ENOUGH = 4_000, 2_000, 600
"""Rows that black boxes learn from and are tested on; folds are added until there are enough to test on."""
LEAST_TEST = 30
"""With fewer rows than this nothing is measured."""
MOST_CATEGORIES = 50
N_FOLDS = 5


@dataclass(frozen=True)
class Split:
    """folds: positions among the rows of `Answers`, to learn from and to test on, once or several times. together: rows
    that are alike were kept on one side."""

    folds: tuple[tuple[IntArray, IntArray], ...]
    together: bool

    @cached_property
    def test(self) -> IntArray:
        """(T,) the rows that are tested on, of all folds."""
        return np.concatenate([test for _, test in self.folds])

    @property
    def train_rows(self) -> int:
        """How many rows are learnt from at a time."""
        return min(len(train) for train, _ in self.folds)


@dataclass(frozen=True)
class Gap:
    """How much more often one is right than another on the same rows, with the ends of the 99 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, right: Any, other: Any) -> Gap:
        """right, other: (B,) whether each row was named right.

        >>> Gap.of([True] * 50 + [False] * 50, [True] * 50 + [False] * 50)
        Gap(mean=0.0, low=-0.05, high=0.05)
        """
        difference = np.asarray(right, dtype=np.float64) - np.asarray(other, dtype=np.float64)
        n, mean = len(difference), float(difference.mean())
        # where no row differs, five in n may still differ elsewhere: (1 - 5 / n)**n is about 1 %
        half = max(2.58 * float(difference.std()) / n**0.5, 5 / n)
        return cls(mean, mean - half, mean + half)

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} points, 99 % interval {100 * self.low:+.1f} to {100 * self.high:+.1f}"


def split_rows(answers: Answers, *, together: bool, seed: int) -> Split | None:
    """A fifth of every class to test on, another fifth where that is too little, and so on; rows of a group stay
    together, and rows that are alike where that is wanted.

    None where too little would be left to test on.
    """
    groups = answers.groups if answers.groups is not None else answers.patterns if together else None
    n_groups = len(answers.y) if groups is None else len(np.unique(groups))
    if answers.is_facts or n_groups < 2 * N_FOLDS:
        return None
    numbers = fold_numbers(answers.y, groups, n=N_FOLDS, seed=seed)
    rng = np.random.default_rng((seed, 1))
    folds: list[tuple[IntArray, IntArray]] = []
    for fold in range(N_FOLDS):
        test = numbers == fold
        learnt = np.bincount(answers.y[~test], minlength=len(answers.classes)) > 0
        test &= learnt[answers.y]  # a class whose rows are all on one side cannot be tested
        train = np.sort(rng.permutation(np.flatnonzero(numbers != fold))[:MOST_TRAIN])
        folds.append((train, np.sort(rng.permutation(np.flatnonzero(test))[:MOST_TEST])))
        if sum(len(test) for _, test in folds) >= ENOUGH:
            break
    tested = sum(len(test) for _, test in folds)
    if tested < max(LEAST_TEST, 0.05 * min(len(answers.y), ENOUGH)):
        return None
    return Split(tuple(folds), together)


def answer_matrix(answers: Answers, subjects: Sequence[int] | None = None) -> Any:
    """(N, F) the answers about some subjects as numbers from 0 to 1, in single precision.

    An order is kept; categories are one-hot; unknown is a half and, where it is frequent, marked.
    """
    chosen = range(len(answers.subjects)) if subjects is None else subjects
    ordered = {
        int(answers.queries.query_atoms[answers.subjects[s].queries[0], 0]): answers.subjects[s].ordered
        for s in chosen
        if answers.queries.width == 1
    }
    asked = answers.queries.query_atoms[[q for s in chosen for q in answers.subjects[s].queries]]
    blocks = []
    for atom in np.unique(asked[asked >= 0]).tolist():
        column, size = answers.values[:, atom], answers.queries.atoms.sizes[atom]
        blocks.append(_numbers(column, size, ordered.get(atom, answers.queries.width > 1)))
    return np.concatenate(blocks, axis=1)


def input_matrix(X: Any) -> Any:
    """(N, F) the inputs themselves as numbers; None where it is not known how."""
    if hasattr(X, "tocsr"):
        return X.tocsr().astype(np.float32)
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], str):
        X = np.array(X, dtype=object)
    if is_frame(X):
        return _columns(X)
    array = np.asarray(X.detach() if hasattr(X, "detach") else X)
    if array.ndim == 1 and array.dtype.kind in "OU" and isinstance(array[0], str):
        return _texts(array)
    if array.ndim == 2 and array.dtype.kind in "OU":
        return _columns(array)
    if array.ndim >= 2 and array.dtype.kind in "biuf":
        flat = array.reshape(len(array), -1).astype(np.float32)
        unknown = np.isnan(flat)
        if array.ndim == 2 and unknown.any():
            return _columns(array)
        scale = np.nanmax(np.abs(flat)) if array.ndim > 2 else 1.0
        return np.where(unknown, 0.0, flat / max(float(scale), 1e-12)).astype(np.float32)
    return None


def fit_and_predict(matrix: Any, y: IntArray, split: Split, *, seed: int = 0) -> IntArray:
    """(T,) what a vote of some learners says about the test rows of all folds.

    A vote, not the best of them on a few rows: that choice is noise, and would show as a gap between two black boxes.
    """
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    said = []
    learners = _learners(hasattr(matrix, "tocsr"), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for train, test in split.folds:
            fitted = [clone(learner).fit(matrix[train], y[train]) for learner in learners]
            votes = sum(learner.predict_proba(matrix[test]) for learner in fitted)
            said.append(fitted[0].classes_[np.argmax(votes, axis=1)])
    return np.concatenate(said)


def _learners(sparse: bool, seed: int) -> list[Any]:
    """Logistic regression and a forest of randomised trees; for texts, logistic regression and naive Bayes."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import ComplementNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if sparse:
        return [LogisticRegression(C=5.0, max_iter=50), ComplementNB()]
    return [
        make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=100)),
        ExtraTreesClassifier(50, random_state=seed),
    ]


def _numbers(column: Any, size: int, ordered: bool) -> Any:
    """(N, f) a column of answers."""
    known = column != UNKNOWN
    parts = []
    if size <= 2 or ordered or size > MOST_CATEGORIES:
        parts.append(np.where(known, column / (size - 1), 0.5))
    else:
        parts += [column == value for value in range(size)]
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
        if column.values is not None and column.kind != "yes_no":
            values = np.asarray(column.values, dtype=np.float64)
            places = np.searchsorted(np.unique(values[~np.isnan(values)]), values).astype(np.int64)
            codes = np.where(np.isnan(values), UNKNOWN, places)
            blocks.append(_numbers(codes, max(int(codes.max()) + 1, 2), True))
            continue
        if len(labels) > MOST_CATEGORIES:  # the most frequent ones; the others are one
            counts = np.bincount(codes[codes >= 0], minlength=len(labels))
            place = np.empty(len(labels), dtype=np.int64)
            place[np.argsort(-counts, kind="stable")] = np.arange(len(labels))
            codes = np.where(codes < 0, UNKNOWN, np.minimum(place[codes], MOST_CATEGORIES - 1))
        blocks.append(_numbers(codes, max(min(len(labels), MOST_CATEGORIES), 2), False))
    return np.concatenate(blocks, axis=1)


def _texts(texts: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    known = [text if isinstance(text, str) else "" for text in texts.tolist()]
    try:
        return TfidfVectorizer(min_df=2, ngram_range=(1, 2), max_features=100_000, sublinear_tf=True).fit_transform(
            known
        )
    except ValueError:  # no word occurs twice
        return None


def shares(right: Any) -> FloatArray:
    """(2,) the share of rows named right and its standard error."""
    p = float(np.mean(right))
    return np.array([p, (p * (1 - p) / len(right)) ** 0.5])
