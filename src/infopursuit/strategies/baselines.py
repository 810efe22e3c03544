"""Baselines to compare with: a decision tree and boosted trees, on the columns of a table or on the answers to queries.

>>> import numpy as np
>>> from infopursuit.queries import concepts
>>> values = np.random.default_rng(0).integers(0, 2, size=(200, 3))
>>> learn, test = np.arange(150), np.arange(150, 200)
>>> right, length = on_answers(concepts(["a", "b", "c"]), values, values[:, 1], learn, test)[TREE]
>>> right.mean().item(), length.mean().item()
(1.0, 1.0)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from infopursuit.queries.choices import MAX_ANSWERS
from infopursuit.queries.frames import read_table
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

TREE, BOOSTED, FOREST = "decision tree", "boosted trees, all columns", "random forest, all columns"
MAX_BOOSTED_CLASSES = 20
"""Boosting grows a tree for each class in each round; with more classes than this a random forest is grown instead."""
MAX_ONE_HOT = 20
"""Categories of a column that a tree may ask about one by one; the codes of more are numbers to it."""
CCP_ALPHAS = (0.0, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 0.016, 0.032)
MANY = 10_000
"""Rows beyond which the pruning of a tree is chosen on some of them, split once."""
AT_A_TIME = 2000
"""Rows that are encoded at a time."""

Found = dict[str, tuple[Any, Any]]
"""By name, the tree first: (B,) whether it is right on each test row, and (B,) how many columns or queries it looks at
there."""


def on_columns(X: Any, y: Any, learn: Any, test: Any, seed: int = 0) -> Found:
    """Baselines on the columns of a table, with labels y (B,) as numbers, fitted on the rows ``learn``."""
    matrix, one_hot, owner = column_matrix(X)
    return _fit(one_hot, owner, matrix, y, learn, test, seed)


def on_answers(queries: QuerySet, values: Any, y: Any, learn: Any, test: Any, seed: int = 0) -> Found:
    """Baselines on the answers to queries about (B, A) variable values: the tree splits on the answer to one query, the
    black box sees all variables that queries reveal."""
    asked = np.unique(queries.query_variables[queries.query_variables >= 0])
    seen = np.where(values[:, asked] == UNKNOWN, np.nan, values[:, asked])
    return _fit(answer_matrix(queries, values), feature_queries(queries), seen, y, learn, test, seed)


def _fit(one: FloatArray, owner: IntArray, other: FloatArray, y: Any, learn: Any, test: Any, seed: int) -> Found:
    """The tree on the features ``one``, and boosted trees on the features ``other``.

    The tree is pruned by cost-complexity, chosen on held-out rows. A question on its path is a split on something new:
    owner: (F,) the query or column that each of its features is about.
    """
    tree: Any = DecisionTreeClassifier(random_state=seed)
    if (smallest := int(np.bincount(y[learn])[np.unique(y[learn])].min())) > 1:
        folds: Any = StratifiedKFold(min(5, smallest), shuffle=True, random_state=seed)
        if len(learn) > MANY:
            folds = StratifiedShuffleSplit(1, train_size=MANY // 2, test_size=MANY // 2, random_state=seed)
        tree = GridSearchCV(tree, {"ccp_alpha": CCP_ALPHAS}, cv=folds)
    tree.fit(one[learn], y[learn])
    grown = getattr(tree, "best_estimator_", tree)
    nodes, path = grown.tree_, grown.decision_path(one[test])
    split = np.flatnonzero(nodes.children_left >= 0)
    about = csr_matrix((np.ones(len(split)), (split, owner[nodes.feature[split]])), (nodes.node_count, owner.max() + 1))
    found = {TREE: (tree.predict(one[test]) == y[test], np.diff((path @ about).indptr))}
    few = len(np.unique(y[learn])) <= MAX_BOOSTED_CLASSES
    box: Any = (HistGradientBoostingClassifier if few else RandomForestClassifier)(random_state=seed)
    box.fit(other[learn], y[learn])
    found[BOOSTED if few else FOREST] = (box.predict(other[test]) == y[test], np.full(len(test), owner.max() + 1))
    return found


def answer_matrix(query_set: QuerySet, values: Any) -> FloatArray:
    """(B, F) answers as a tree reads them, NaN where they are not known, in single precision as CART wants it.

    One column for a query with two answers or about several variables: the index of its answer. One column for each
    answer of any other, 1 where it is that one.

    >>> from infopursuit.queries import patches
    >>> answer_matrix(patches((1, 3), size=(1, 2)), np.array([[0, 1, 1], [1, 0, -1]])).tolist()
    [[1.0, 3.0], [2.0, nan]]
    """
    owner = feature_queries(query_set)
    whole = _as_index(query_set)[owner]
    first = np.concatenate([[True], owner[1:] != owner[:-1]])
    answer = np.arange(len(owner)) - np.flatnonzero(first)[np.cumsum(first) - 1]  # (F,) the answer that a column is for
    limits = np.where(query_set.query_variables >= 0, query_set.n_cells, 1)
    # place: (Q, W) what one step of a variable's cell adds to the index of the joint answer
    place = np.cumprod(np.concatenate([np.ones((len(limits), 1)), limits[:, :0:-1]], axis=1), axis=1)[:, ::-1]
    place = place / np.maximum(place[:, :1] / MAX_ANSWERS, 1)  # in range for single precision, in the same order
    rows = max(1, AT_A_TIME * 4096 // query_set.query_variables.size)
    matrix = np.empty((len(values), len(owner)), dtype=np.float32)
    for start in range(0, len(values), rows):
        cells = query_set.answers_of(np.asarray(values[start : start + rows], dtype=np.int64))  # (B, Q, W)
        unknown = ((cells == UNKNOWN) & (query_set.query_variables >= 0)).any(axis=2)
        index = (np.maximum(cells, 0) * place).sum(axis=2)[:, owner]  # (B, F)
        found = np.where(whole, index, index == answer)
        matrix[start : start + rows] = np.where(unknown[:, owner], np.nan, found)
    return matrix  # type: ignore[return-value]


def feature_queries(query_set: QuerySet) -> IntArray:
    """(F,) the query that each column of `answer_matrix` is about."""
    columns = np.where(_as_index(query_set), 1, query_set.n_answers)
    return np.repeat(np.arange(len(query_set)), columns)


def _as_index(query_set: QuerySet) -> Any:
    """(Q,) whether the answers of a query are told as one number."""
    several = (query_set.query_variables >= 0).sum(axis=1) > 1
    return several | (query_set.n_answers <= 2)


def column_matrix(X: Any) -> tuple[FloatArray, FloatArray, IntArray]:
    """(B, columns) the columns of a table as numbers, categories as codes, NaN where missing; (B, F) the same with
    categories one-hot; and (F,) the column of each of those."""
    table = read_table(X)
    plain: list[Any] = []
    wide: list[Any] = []
    owner: list[int] = []
    for position in range(len(table.names)):
        column = table.column(position)
        codes, labels = column.text() if column.values is None else (None, ())
        values = column.values if codes is None else np.where(codes == UNKNOWN, np.nan, codes)
        plain.append(values)
        few = codes is not None and 2 < len(labels) <= MAX_ONE_HOT
        wide += [codes == c for c in range(len(labels))] if few else [values]
        owner += [position] * (len(wide) - len(owner))
    return np.stack(plain, axis=1).astype(np.float64), np.stack(wide, axis=1).astype(np.float64), np.array(owner)
