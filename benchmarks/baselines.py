"""Baselines on the answers to the same queries (Table 1 of the paper): a decision tree and a tuned scikit-learn model.

>>> import numpy as np
>>> from infopursuit.queries import concepts
>>> values = np.random.default_rng(0).integers(0, 2, size=(200, 3))
>>> labels = values[:, 1]
>>> result = decision_tree(concepts(["a", "b", "c"]), values, labels, values, labels)
>>> result.accuracy, result.details["depth"], result.details["questions"]
(1.0, 1, 1.0)
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from infopursuit.evaluation.measures import Point, Row, accuracy_interval
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.baselines import MAX_BOOSTED_CLASSES, answer_matrix, feature_queries
from infopursuit.support.progress import Progress
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

logger = logging.getLogger(__name__)

MAX_HELD_OUT = 5000
"""Held-out rows beyond which a choice hardly improves."""
AT_A_TIME = 2000
"""Rows that are checked, encoded or classified at a time."""


def check_rows(query_set: QuerySet, values: Any, labels: Any, which: str) -> tuple[Any, Any]:
    """Variable values (N, A), in the type that they came in, and labels (N,); refused where they do not fit."""
    values, labels = np.asarray(values), np.asarray(labels)
    if labels.ndim != 1 or len(values) != len(labels):
        raise ValueError(
            f"labels_{which} has shape {labels.shape} and values_{which} {values.shape}; give one label for each row"
        )
    if not len(labels):
        raise ValueError(f"values_{which} has no rows; give at least one")
    for start in range(0, len(values), AT_A_TIME):  # a few at a time: the check makes wide integers of narrow ones
        query_set.variables.check(values[start : start + AT_A_TIME], f"values_{which}")
    return values, labels


def check_training_rows(query_set: QuerySet, values: Any, labels: Any) -> tuple[Any, Any, IntArray]:
    """Values (N, A), the classes (C,), and the class of each row (N,) as a number."""
    values, labels = check_rows(query_set, values, labels, "train")
    classes, targets = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"labels_train holds the one class {classes.tolist()[0]!r}; give rows of two classes or more")
    return values, classes, targets.astype(np.int64)


def hold_out(targets: IntArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Rows to learn from and rows to choose on, the same share of each class; a class of one row is only learnt from.

    The same targets, share and seed give the same rows, so that choices of different baselines are made on the same.

    >>> learn, choose = hold_out(np.array([0] * 10 + [1] * 20), share=0.1, seed=0)
    >>> len(learn), len(choose), (choose < 10).sum().item()
    (27, 3, 1)
    """
    if not 0 < share < 1:
        raise ValueError(f"validation={share} must be a share of the rows above 0 and below 1")
    share = min(share, MAX_HELD_OUT / len(targets))
    generator = np.random.default_rng((seed, 0))
    picked = []
    for target in np.unique(targets):
        rows = generator.permutation(np.flatnonzero(targets == target))
        picked.append(rows[: min(max(round(share * len(rows)), 1), len(rows) - 1)])
    chosen = np.sort(np.concatenate(picked))
    if not len(chosen):
        raise ValueError("labels_train has one row of each class; give two rows or more, to choose on some")
    return np.setdiff1d(np.arange(len(targets)), chosen), chosen


@dataclass(frozen=True)
class BaselineResult:
    """One number of a table, with what is needed to judge it; ``dataclasses.asdict`` of it is JSON data.

    accuracy_error: its standard error. n_inputs: test inputs. seconds: what fitting took, choices included. details:
    what was chosen, on what grounds, and whatever else is worth telling.

    >>> result_of("guess", np.array([True, False, True, True]), seconds=0.1).accuracy
    0.75
    """

    name: str
    accuracy: float
    accuracy_error: float
    n_inputs: int
    seconds: float
    details: Mapping[str, Any] = field(default_factory=dict)


def result_of(name: str, right: Any, seconds: float, details: Mapping[str, Any] | None = None) -> BaselineResult:
    """A result from which inputs were classified rightly (B,)."""
    if not len(right):
        raise ValueError("values_test has no rows; give at least one test input")
    accuracy = float(np.mean(right))
    error = float(np.sqrt(accuracy * (1 - accuracy) / len(right)))
    return BaselineResult(name, accuracy, error, len(right), round(float(seconds), 1), dict(details or {}))


def row_of(name: str, found: Point | BaselineResult, *, seconds: float | None = None, note: str = "") -> Row:
    """A row from a point of a curve or from a baseline's result."""
    low, high = accuracy_interval(round(found.accuracy * found.n_inputs), found.n_inputs)
    if isinstance(found, Point):
        return Row(name, found.accuracy, low, high, found.length, found.length_error, found.n_inputs, seconds, note)
    return Row(name, found.accuracy, low, high, n_inputs=found.n_inputs, seconds=found.seconds, note=note)


def score(fitted: Any, values: Any, labels: Any) -> BaselineResult:
    """A fitted baseline, such as `Tree` or `Tuned`, on test inputs."""
    right = fitted.predict(values) == np.asarray(labels)
    return result_of(fitted.name, right, fitted.seconds, fitted.details)


@dataclass(frozen=True)
class Tree:
    """A fitted tree. questions: (nodes,) how many questions have been asked on the way to each node."""

    query_set: QuerySet
    classes: Any
    estimator: Any
    questions: IntArray
    depth: int
    validation_accuracy: float
    seconds: float
    name: str = "decision tree"

    @property
    def details(self) -> dict[str, Any]:
        """The depth that was chosen, and how large the tree is."""
        leaves = int(self.estimator.get_n_leaves())
        return {"depth": self.depth, "leaves": leaves, "validation_accuracy": self.validation_accuracy}

    def predict(self, values: Any) -> Any:
        """(B, A) variable values -> (B,) labels."""
        return self.classes[self._guesses(self.nodes(values)[:, -1])]

    def nodes(self, values: Any) -> IntArray:
        """(B, depth + 1) where each input is after 0, 1, ... splits; it stays where it has come to a leaf."""
        return node_paths(self.estimator, answer_matrix(self.query_set, values))

    def _guesses(self, nodes: IntArray) -> IntArray:
        return np.asarray(self.estimator.tree_.value[nodes, 0].argmax(axis=-1))


def decision_tree(
    query_set: QuerySet,
    values_train: Any,
    labels_train: Any,
    values_test: Any,
    labels_test: Any,
    *,
    validation: float = 0.1,
    seed: int = 0,
) -> BaselineResult:
    """The decision tree of Table 1 on the test inputs.

    Its details have the depth, the mean number of questions and of splits on a path, and both accuracy and questions of
    the tree cut off at smaller depths, to be drawn beside the trade-off of a pursuit.
    """
    values_test, labels_test = check_rows(query_set, values_test, labels_test, "test")
    tree = fit_tree(query_set, values_train, labels_train, validation=validation, seed=seed)
    nodes = tree.nodes(values_test)
    right, questions = tree.classes[tree._guesses(nodes)] == labels_test[:, None], tree.questions[nodes]
    details = tree.details | {
        "questions": float(questions[:, -1].mean()),
        "splits": float((np.diff(nodes, axis=1) != 0).sum(axis=1).mean()),
        "by_depth": [
            {"depth": d, "accuracy": float(right[:, d].mean()), "questions": float(questions[:, d].mean())}
            for d in _some_depths(nodes.shape[1] - 1)
        ],
    }
    return result_of(tree.name, right[:, -1], tree.seconds, details)


def fit_tree(query_set: QuerySet, values: Any, labels: Any, *, validation: float = 0.1, seed: int = 0) -> Tree:
    """Grow a tree on all rows, to the depth at which one grown without the held-out rows is best on them.

    Splits are made on the answer to one query: is a yes/no answer yes; is an answer with more choices this one; and
    for a query about several variables, such as a patch, does its answer come after a given one in the order of all its
    answers (a 3 x 3 patch has 512, ordered as binary numbers). The paper does not say how its trees read patches.
    This way a tree on all of MNIST gets 90.1 % right, the paper's 90.2 %; one that is shown single pixels gets
    86.5 %, and would pay for a patch to look at a ninth of it.

    A *question* on a path is a split on a query that shows something new: asking once shows the whole answer, so that
    further splits on it are free, and so is a patch whose pixels were all seen under others. Lengths then compare with
    those of a pursuit.
    """
    begin = time.perf_counter()
    values, classes, targets = check_training_rows(query_set, values, labels)
    matrix, owner = answer_matrix(query_set, values), feature_queries(query_set)
    learn, choose = hold_out(targets, validation, seed)
    trial = DecisionTreeClassifier(random_state=seed).fit(matrix[learn], targets[learn])
    nodes = node_paths(trial, matrix[choose])  # (N, depth + 1)
    guesses = trial.classes_[trial.tree_.value[:, 0].argmax(axis=1)]  # (nodes,)
    accuracy = (guesses[nodes] == targets[choose, None]).mean(axis=0)
    depth = int(accuracy.argmax())  # the smallest of the best
    final = DecisionTreeClassifier(random_state=seed, max_depth=max(depth, 1)).fit(matrix, targets)
    questions, seconds = questions_by_node(final, owner, query_set), time.perf_counter() - begin
    return Tree(query_set, classes, final, questions, int(final.get_depth()), float(accuracy[depth]), seconds)


def node_paths(estimator: Any, matrix: FloatArray) -> IntArray:
    """(B, depth + 1) where each row is after 0, 1, ... splits."""
    found = []
    for start in range(0, len(matrix), AT_A_TIME):
        path = estimator.decision_path(matrix[start : start + AT_A_TIME]).sorted_indices()
        # nodes are numbered from above to below, so that those of a row lie in the order in which it meets them
        last = np.diff(path.indptr) - 1
        steps = np.minimum(np.arange(estimator.get_depth() + 1), last[:, None])
        found.append(path.indices[path.indptr[:-1, None] + steps])
    return np.concatenate(found).astype(np.int64)


def questions_by_node(estimator: Any, owner: IntArray, query_set: QuerySet) -> IntArray:
    """(nodes,) how many questions that show something new have been asked on the way to each node."""
    tree, query_part = estimator.tree_, query_set.parts.query_part
    asked = np.zeros(tree.node_count, dtype=np.int64)
    waiting: list[tuple[int, frozenset[int]]] = [(0, frozenset())]  # a node, and the parts that have been seen there
    while waiting:
        node, seen = waiting.pop()
        if tree.children_left[node] < 0:
            continue
        shown = query_part[owner[tree.feature[node]]]
        after = seen | frozenset(shown[shown != UNKNOWN].tolist())
        for child in (tree.children_left[node], tree.children_right[node]):
            asked[child] = asked[node] + (len(after) > len(seen))
            waiting.append((int(child), after))
    return asked


def _some_depths(deepest: int) -> list[int]:
    """Depths 0 to 10, and from there on ever fewer, to the deepest."""
    depths = [*range(11), *(round(10 * 1.25**k) for k in range(1, 40))]
    return [depth for depth in depths if depth < deepest] + [deepest]


def encode_answers(query_set: QuerySet, values: Any) -> Any:
    """(B, A) values -> (B, F) all answers as numbers from 0 to 1, each distinct part of them once: a yes/no part as 0,
    1/2 (unknown) or 1, another one-hot (zeros where unknown).

    >>> from infopursuit.queries import concepts
    >>> encode_answers(concepts(["can fly", "is red"]), np.array([[1, 0], [-1, 1]])).tolist()
    [[1.0, 0.0], [0.5, 1.0]]
    """
    parts, variables = query_set.parts, query_set.variables
    first, two = parts.offsets[:-1], parts.sizes == 2
    told = np.ones(int(parts.offsets[-1]), dtype=bool)  # "no" follows from "yes"; a single cell says nothing
    told[first[parts.sizes <= 2]] = False
    if not told.any():
        raise ValueError("query_set has queries with one possible answer only; nothing can be learnt from them")
    cell_of = np.full((len(parts.variable), max(variables.sizes) + 1), UNKNOWN)  # the last is that of a value of -1
    owner = np.searchsorted(parts.offsets, parts.entry_cell, side="right") - 1  # (E,) the part of each entry
    cell_of[owner, parts.entry_slot - variables.offsets[variables.slot_variable[parts.entry_slot]]] = parts.entry_cell
    found = np.empty((len(values), int(told.sum())), dtype=np.float32)
    for start in range(0, len(values), AT_A_TIME):
        some = np.asarray(values[start : start + AT_A_TIME], dtype=np.int64)[:, parts.variable]
        cells = cell_of[np.arange(len(parts.variable)), some]  # (b, P)
        matrix = np.zeros((len(some), len(told)), dtype=np.float32)
        rows, known = np.nonzero(cells != UNKNOWN)
        matrix[rows, cells[rows, known]] = 1
        matrix[:, first[two] + 1] += 0.5 * (cells[:, two] == UNKNOWN)
        found[start : start + AT_A_TIME] = matrix[:, told]
    return found


@dataclass(frozen=True)
class Tuned:
    """The model that was best on the held-out rows. tried: accuracy there of every candidate, fitted on fewer rows."""

    name: str
    query_set: QuerySet
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
        """(B, A) variable values -> (B,) labels."""
        return self.classes[self.estimator.predict(encode_answers(self.query_set, values))]


def candidates(n_classes: int, seed: int) -> dict[str, Any]:
    """What is tried, by name: naive Bayes, logistic regression, a linear SVM, gradient boosting."""
    found: dict[str, Any] = {}
    for alpha in (0.01, 0.1, 1.0):
        found[f"naive Bayes, alpha={alpha:g}"] = BernoulliNB(alpha=alpha, binarize=0.75)  # unknown counts as no
    for strength in (0.01, 0.1, 1.0):
        found[f"logistic regression, C={strength:g}"] = LogisticRegression(C=strength, max_iter=200)
    for strength in (0.001, 0.01, 0.1):
        found[f"linear SVM, C={strength:g}"] = LinearSVC(C=strength, dual=False, max_iter=200, random_state=seed)
    if n_classes <= MAX_BOOSTED_CLASSES:
        # one setting only: it takes longer than all others together
        found["gradient boosting"] = HistGradientBoostingClassifier(early_stopping=False, random_state=seed)
    return found


def fit_tuned(
    query_set: QuerySet,
    values: Any,
    labels: Any,
    *,
    validation: float = 0.1,
    max_rows: int = 10_000,
    refit: bool = True,
    without: Collection[str] = (),
    seed: int = 0,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> Tuned:
    """Try the candidates on at most ``max_rows`` rows; the best on the held-out rows is fitted on all others, which
    gives its validation accuracy, and with ``refit`` once more on all rows. without: names of candidates that are
    not tried."""
    if max_rows < 1:
        raise ValueError(f"max_rows={max_rows} must be 1 or more")
    begin = time.perf_counter()
    values, classes, targets = check_training_rows(query_set, values, labels)
    learn, choose = hold_out(targets, validation, seed)
    matrix = encode_answers(query_set, values)
    few = np.sort(np.random.default_rng((seed, 3)).permutation(learn)[:max_rows])
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
    return Tuned(best, query_set, classes, final, accuracy, tried, time.perf_counter() - begin)


def black_box(
    query_set: QuerySet,
    values_train: Any,
    labels_train: Any,
    values_test: Any,
    labels_test: Any,
    *,
    seed: int = 0,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> BaselineResult:
    """The black box of Table 1 on the test inputs: the tuned model; its details name the one that was chosen."""
    values_test, labels_test = check_rows(query_set, values_test, labels_test, "test")
    tuned = fit_tuned(query_set, values_train, labels_train, seed=seed, progress=progress, say=say)
    found = score(tuned, values_test, labels_test)
    return replace(found, name="black box using Q", details={"chosen": tuned.name, **found.details})


def _fit(option: Any, matrix: Any, targets: Any) -> Any:
    with warnings.catch_warnings():
        # iterations are bounded so that time is; what was reached is judged on held-out rows like everything else
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(option).fit(matrix, targets)
