"""The classifiers that `benchmarks.tables` compares: each is fitted on one part and judged on another."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import infopursuit as ip
from infopursuit.support.types import FloatArray, IntArray

BATCH = 1_000
"""Rows that are explained, or predicted, at a time."""
MAX_COLUMNS = 10
"""Accuracy is measured after 1, ..., so many columns."""
MAX_ALPHAS = 60
"""Values of ccp_alpha that are compared, spread over the pruning path so that the number of leaves is geometric."""


@dataclass(frozen=True)
class Outcome:
    """What a fitted classifier says of the test part.

    probabilities (B, C), columns as classes (C,). questions (B,): splits on the path or questions asked; columns (B,):
    distinct columns among them; both None where all columns are used. after: the probabilities (B, C) after 1, ..., K
    columns, where they were acquired one by one.
    """

    classes: Any
    probabilities: FloatArray
    fit_seconds: float
    predict_seconds: float
    questions: Any = None
    columns: Any = None
    after: tuple[FloatArray, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


Method = Callable[[Any, Any, Any, int], dict[str, Outcome]]
"""(training frame, training labels, test frame, seed) -> what each variant of the method says."""


def encoder(frame: Any, *, scaled: bool = False) -> Any:
    """Numbers with the median for what is missing; categories one-hot, missing a category of its own.

    scaled: numbers standardised, each with an indicator of what was missing.
    """
    numeric = [name for name in frame.columns if frame[name].dtype.kind == "f"]
    categorical = [name for name in frame.columns if name not in numeric]
    median = SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=scaled)
    onehot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (make_pipeline(median, StandardScaler()) if scaled else median, numeric),
        (
            make_pipeline(SimpleImputer(strategy="constant", fill_value="missing", missing_values=None), onehot),
            categorical,
        ),
        verbose_feature_names_out=False,
    )


def owners(fitted: Any, frame: Any) -> IntArray:
    """(F,) the column of the frame that each encoded feature is made from."""
    found: list[str] = []
    for _, transformer, names in fitted.transformers_:
        if transformer == "drop" or not len(names):
            continue
        last = transformer.steps[-1][1] if hasattr(transformer, "steps") else transformer
        if isinstance(last, OneHotEncoder):
            found += [name for name, values in zip(names, last.categories_, strict=True) for _ in values]
        else:
            imputer = transformer.steps[0][1] if hasattr(transformer, "steps") else transformer
            indicated = imputer.indicator_.features_ if imputer.add_indicator else []
            found += [*names, *(names[i] for i in indicated)]
    return np.array([list(frame.columns).index(name) for name in found])


def cart(frame: Any, labels: Any, test: Any, seed: int) -> dict[str, Outcome]:
    """A decision tree pruned by cost-complexity, its strength chosen in 5 folds of the training part.

    By the one-standard-error rule (the standard error of a share, as in Breiman et al.), and by the best accuracy.
    """
    begin = time.perf_counter()
    encoding = encoder(frame).fit(frame)
    owner = owners(encoding, frame)
    X = encoding.transform(frame)
    grown = DecisionTreeClassifier(random_state=seed).fit(X, labels)
    path = np.unique(np.maximum(grown.cost_complexity_pruning_path(X, labels).ccp_alphas, 0.0))
    kept = np.unique(len(path) - np.geomspace(1, len(path), MAX_ALPHAS).astype(int))
    middle = np.sqrt(path * np.append(path[1:], path[-1]))  # geometric means, as in Breiman et al.
    alphas = middle[kept]
    right = np.zeros((len(labels), len(alphas)), dtype=bool)
    for inner, held in _folds(labels, seed):
        tree = DecisionTreeClassifier(random_state=seed).fit(X[inner], labels[inner])
        for a, alpha in enumerate(alphas):
            right[held, a] = pruned(tree, alpha).predict(X[held]) == labels[held]
    best, simple = one_standard_error(right)
    fitted = {"CART": pruned(grown, alphas[simple]), "CART, best alpha": pruned(grown, alphas[best])}
    seconds = time.perf_counter() - begin
    found = {}
    for name, tree in fitted.items():
        begin = time.perf_counter()
        encoded = encoding.transform(test)
        probabilities = tree.predict_proba(encoded)
        took = time.perf_counter() - begin
        splits, columns = path_lengths(tree, encoded, owner)
        alpha = alphas[simple if name == "CART" else best]
        details = {"ccp_alpha": float(alpha), "leaves": int(tree.get_n_leaves())}
        found[name] = Outcome(tree.classes_, probabilities, seconds, took, splits, columns, details=details)
    return found


def one_standard_error(right: Any) -> tuple[int, int]:
    """(N, A) which rows were right at each of A rising alphas -> the best one, and the last within a standard error."""
    share = right.mean(axis=0)
    best = int(np.flatnonzero(share == share.max())[-1])
    error = np.sqrt(share[best] * (1 - share[best]) / len(right))
    return best, int(np.flatnonzero(share >= share[best] - error)[-1])


def pruned(tree: Any, alpha: float) -> Any:
    """A grown tree pruned at ccp_alpha, without growing it again."""
    found = copy.copy(tree)
    found.ccp_alpha = alpha
    found._prune_tree()
    return found


def path_lengths(tree: Any, X: FloatArray, owner: IntArray) -> tuple[IntArray, IntArray]:
    """(B,) splits on the way to each row's leaf, and (B,) the distinct columns that they look at."""
    inner = tree.tree_
    splits, columns = np.zeros((2, inner.node_count), dtype=np.int64)
    waiting: list[tuple[int, int, frozenset[int]]] = [(0, 0, frozenset())]  # a node, its depth, the columns seen there
    while waiting:
        node, splits[node], seen = waiting.pop()
        columns[node] = len(seen)
        if inner.children_left[node] >= 0:
            after = seen | {int(owner[inner.feature[node]])}
            for child in (inner.children_left[node], inner.children_right[node]):
                waiting.append((int(child), int(splits[node]) + 1, after))
    leaf = tree.apply(X)
    return splits[leaf], columns[leaf]


def boosting(frame: Any, labels: Any, test: Any, seed: int) -> dict[str, Outcome]:
    """Histogram boosting; categories as such, missing values as such.

    With its defaults, which diverge on tables with rare classes (nursery, hypothyroid), and with a little shrinkage.
    """
    frame, test = _with_values(frame, test)
    dtypes = {name: frame[name].astype("category").dtype for name in frame.columns if frame[name].dtype.kind != "f"}
    common: dict[str, Any] = {"categorical_features": "from_dtype", "random_state": seed}
    if np.unique(labels, return_counts=True)[1].min() < 2:  # its early stopping needs two rows of each class
        common["early_stopping"] = False
    found = {}
    for name, options in {"boosting": common, "boosting, l2 = 1": {**common, "l2_regularization": 1.0}}.items():
        model = HistGradientBoostingClassifier(**options)
        found[name] = _fitted(model, frame.astype(dtypes), labels, test.astype(dtypes), options)
    return found


def additive(frame: Any, labels: Any, test: Any, seed: int) -> dict[str, Outcome]:
    """The explainable boosting machine of the package interpret, with its defaults."""
    try:
        from interpret.glassbox import ExplainableBoostingClassifier
    except ImportError as error:
        raise ImportError(f"{error}; install infopursuit[benchmarks], or leave ebm out of --methods") from None
    frame, test = _with_values(frame, test)
    return {"EBM": _fitted(ExplainableBoostingClassifier(random_state=seed), frame, labels, test, {})}


def pursuit(frame: Any, labels: Any, test: Any, _seed: int, *, assess: bool = True) -> dict[str, Outcome]:
    """Our classifier with its defaults, explaining in batches; and after 1, ..., 10 questions."""
    begin = time.perf_counter()
    clf = ip.InformationPursuitClassifier(assess=assess).fit(frame, labels)
    fitted = time.perf_counter() - begin
    begin = time.perf_counter()
    traces = [clf.explain(part) for part in _batches(test)]
    took = time.perf_counter() - begin
    budget = replace(clf.pursuit_, stopping=ip.MaxQueries(MAX_COLUMNS))
    posteriors: list[list[Any]] = [[] for _ in range(MAX_COLUMNS)]
    for part in _batches(test):
        trace = budget.run(part)
        for k, kept in enumerate(posteriors, start=1):
            kept.append(trace.posteriors[np.arange(len(part)), np.minimum(k, trace.length)])
    return {
        "ours": Outcome(
            clf.classes_,
            np.concatenate([trace.posterior for trace in traces]),
            fitted,
            took,
            np.concatenate([trace.length for trace in traces]),
            after=tuple(np.concatenate(kept) for kept in posteriors),
            details=_claims(clf),
        )
    }


def _claims(clf: ip.InformationPursuitClassifier) -> dict[str, float]:
    """What our classifier says of its own accuracy, with the 95 % interval; nothing where it says nothing."""
    assessment = clf.assessment_
    if assessment is None:
        return {}
    return {"said": assessment.accuracy, "low": assessment.low, "high": assessment.high}


METHODS: dict[str, Method] = {"cart": cart, "boosting": boosting, "ebm": additive, "ours": pursuit}


def _fitted(model: Any, frame: Any, labels: Any, test: Any, details: dict[str, Any]) -> Outcome:
    begin = time.perf_counter()
    model.fit(frame, labels)
    fitted = time.perf_counter() - begin
    begin = time.perf_counter()
    probabilities = np.concatenate([model.predict_proba(part) for part in _batches(test)])
    return Outcome(model.classes_, probabilities, fitted, time.perf_counter() - begin, details=details)


def _with_values(frame: Any, test: Any) -> tuple[Any, Any]:
    """Without the columns that are missing in every training row, at which boosting raises an error."""
    kept = frame.columns[frame.notna().any()]
    return frame[kept], test[kept]


def _batches(frame: Any) -> Iterator[Any]:
    return (frame.iloc[start : start + BATCH] for start in range(0, len(frame), BATCH))


def _folds(labels: Any, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        yield from StratifiedKFold(5, shuffle=True, random_state=seed).split(labels, labels)
