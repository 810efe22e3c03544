"""Black boxes for comparisons: rows to learn from and to test on, answers or inputs as numbers, the better of a few."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.datasets.folds import fold_numbers
from infopursuit.linting.answers import Answers
from infopursuit.queries.tables import is_frame, read_table
from infopursuit.types import UNKNOWN, FloatArray, IntArray

MOST_TRAIN, MOST_TEST = 4_000, 2_000
"""Rows that black boxes learn from and are tested on."""
LEAST_TEST = 30
"""With fewer rows than this nothing is measured."""
MOST_CATEGORIES = 50
N_FOLDS = 5


@dataclass(frozen=True)
class Split:
    """Positions among the rows of `Answers`: to learn from, and to test on. together: rows that are alike were kept on
    one side."""

    train: IntArray
    test: IntArray
    together: bool


@dataclass(frozen=True)
class Gap:
    """How much more often one is right than another on the same rows, with the ends of the 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, right: Any, other: Any) -> Gap:
        """right, other: (B,) whether each row was named right.

        >>> Gap.of([True] * 50 + [False] * 50, [True] * 50 + [False] * 50)
        Gap(mean=0.0, low=-0.03, high=0.03)
        """
        difference = np.asarray(right, dtype=np.float64) - np.asarray(other, dtype=np.float64)
        n, mean = len(difference), float(difference.mean())
        # where no row differs, three in n may still differ elsewhere (the rule of three)
        half = max(1.96 * float(difference.std()) / n**0.5, 3 / n if not difference.any() else 0.0)
        return cls(mean, mean - half, mean + half)

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} points, 95 % interval {100 * self.low:+.1f} to {100 * self.high:+.1f}"


def split_rows(answers: Answers, *, together: bool, seed: int) -> Split | None:
    """A fifth of every class to test on; rows of a group stay together, and rows that are alike where that is wanted.

    None where too little would be left to test on.
    """
    groups = answers.groups if answers.groups is not None else answers.patterns if together else None
    n_groups = len(answers.y) if groups is None else len(np.unique(groups))
    if answers.is_facts or n_groups < 2 * N_FOLDS:
        return None
    test = fold_numbers(answers.y, groups, n=N_FOLDS, seed=seed) == 0
    learnt = np.bincount(answers.y[~test], minlength=len(answers.classes)) > 0
    test &= learnt[answers.y]  # a class whose rows are all on one side cannot be tested
    rng = np.random.default_rng((seed, 1))
    learn, judge = (
        np.sort(rng.permutation(np.flatnonzero(mask))[:most]) for mask, most in ((~test, MOST_TRAIN), (test, MOST_TEST))
    )
    if len(judge) < LEAST_TEST or len(judge) < 0.05 * min(len(answers.y), MOST_TEST):
        return None
    return Split(learn, judge, together)


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


def fit_and_predict(matrix: Any, y: IntArray, split: Split, *, seed: int = 0) -> tuple[str, IntArray]:
    """The name of the best candidate, and (T,) what it says about the test rows.

    The best is chosen on a fifth of the rows to learn from, and fitted again on all of them.
    """
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    train, targets = matrix[split.train], y[split.train]
    rng = np.random.default_rng((seed, 2))
    choose = np.zeros(len(train), dtype=bool)
    choose[rng.permutation(len(train))[: max(len(train) // 5, 1)]] = True
    options = _candidates(train.shape[1], len(np.unique(targets)), hasattr(train, "tocsr"), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = {}
        for name, option in options.items():
            fitted = clone(option).fit(train[~choose], targets[~choose])
            scores[name] = float((fitted.predict(train[choose]) == targets[choose]).mean())
        best = max(scores, key=lambda name: scores[name])
        return best, np.asarray(clone(options[best]).fit(train, targets).predict(matrix[split.test]))


def _candidates(n_features: int, n_classes: int, sparse: bool, seed: int) -> dict[str, Any]:
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    if sparse:
        return {
            "a linear SVM (C = 0.1)": LinearSVC(C=0.1, dual="auto", random_state=seed),
            "a linear SVM (C = 1)": LinearSVC(C=1.0, dual="auto", random_state=seed),
        }
    found: dict[str, Any] = {
        "a forest of randomised trees": ExtraTreesClassifier(150, random_state=seed),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=100)),
    }
    if n_features * n_classes <= 200:
        found["gradient boosting"] = HistGradientBoostingClassifier(max_iter=60, random_state=seed)
    return found


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
        return TfidfVectorizer(min_df=2, ngram_range=(1, 2), max_features=100_000, sublinear_tf=True).fit_transform(known)
    except ValueError:  # no word occurs twice
        return None


def shares(right: Any) -> FloatArray:
    """(2,) the share of rows named right and its standard error."""
    p = float(np.mean(right))
    return np.array([p, (p * (1 - p) / len(right)) ** 0.5])
