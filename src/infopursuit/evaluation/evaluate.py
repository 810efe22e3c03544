"""The paper's evaluation for any classifier and data: accuracy, lengths, calibration, baselines on the same queries."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infopursuit.checks import number, pursuit_of
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.evaluation import baselines as trees
from infopursuit.evaluation.calibration import Calibration, calibration
from infopursuit.evaluation.curve import Point, confidence_curve
from infopursuit.evaluation.map_using_q import map_using_q
from infopursuit.evaluation.table import Row, accuracy_interval, counted
from infopursuit.serialization import encode
from infopursuit.stopping import AnyOf, Confidence
from infopursuit.trace import Trace
from infopursuit.types import IntArray, Observed

logger = logging.getLogger(__name__)

PURSUIT, MAP, TREE, BLACK_BOX = "Information Pursuit", "MAP using Q", "decision tree on Q", "black box using Q"
N_POINTS, MIN_EPSILON = 10, 0.001
"""Points of the curve; and where it ends if the pursuit does not stop by confidence, or only when it is certain."""


@dataclass(frozen=True)
class Lengths:
    """How many questions were asked. error: standard error of the mean. q25, q75: the quartiles. p90: 90th percentile.
    counts: (length, inputs) of every length that occurs."""

    mean: float
    error: float
    q25: int
    median: int
    q75: int
    p90: int
    min: int
    max: int
    counts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Stop:
    """The inputs that stopped for one reason: how many, the share that was right with its interval, mean length."""

    reason: str
    n_inputs: int
    accuracy: float
    low: float
    high: float
    length: float


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` found; ``dataclasses.asdict`` of it is JSON data, ``print`` of it a table.

    rows: Information Pursuit first, then what it is compared with. curve: accuracy against length, from an epsilon at
    which nothing is asked to the pursuit's own, or to the one that was asked for. calibration: of the confidence at the
    stop. stopping: the rules as JSON data.
    """

    n_inputs: int
    n_queries: int
    n_classes: int
    stopping: dict[str, Any]
    patience: int
    exact_gains: bool
    rows: tuple[Row, ...]
    lengths: Lengths
    stops: tuple[Stop, ...]
    curve: tuple[Point, ...]
    calibration: Calibration
    seconds: float

    def __str__(self) -> str:
        from infopursuit.evaluation.text import to_text

        return to_text(self)


def evaluate(
    classifier: InformationPursuitClassifier | Pursuit[Any],
    X: Any,
    y: Any,
    *,
    X_train: Any = None,
    y_train: Any = None,
    min_epsilon: float | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Evaluate a fitted classifier on inputs that it has not seen.

    Parameters
    ----------
    classifier: fitted, or a pursuit; what ``ip.load`` returns.
    X, y: inputs and their labels.
    X_train, y_train: what the baselines learn from; without them none is fitted. Give what the classifier was fitted
        on, and the comparison is fair.
    min_epsilon: how far the curve goes. Below the pursuit's own epsilon it is pursued again, without a limit on the
        number of questions; None ends the curve at its own.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> pursuit = ip.Pursuit.of(model, ip.queries.concepts(["has wings", "is red"]), stopping=ip.Confidence(0.1))
    >>> result = evaluate(pursuit, [[1, 0], [0, 0], [0, 1], [1, 1]], [0, 1, 1, 1])
    >>> result.rows[0].accuracy, result.rows[0].length, round(result.calibration.expected_calibration_error, 6)
    (0.75, 1.0, 0.15)
    """
    begin = time.perf_counter()
    pursuit: Pursuit[Any] = pursuit_of(classifier, "classifier")
    values, labels = _observed(pursuit, X, y, "")
    if (X_train is None) != (y_train is None):
        raise ValueError("X_train and y_train go together; give both or neither")
    train = None if X_train is None else _observed(pursuit, X_train, y_train, "_train")
    logger.info(f"asking about {len(labels):,} inputs")
    trace = pursuit.run_values(values, progress=progress)
    right = trace.predictions == labels
    rows = [counted(PURSUIT, right, length=trace.length, seconds=time.perf_counter() - begin)]
    logger.info(f"{100 * rows[0].accuracy:.2f} % right after {trace.length.mean():.2f} questions")
    curve = trade_off_curve(pursuit, trace, values, labels, min_epsilon, progress=progress)
    rows.append(_map_row(pursuit, values, labels, progress))
    logger.info(f"{MAP}: {100 * rows[-1].accuracy:.2f} % right")
    if train is not None:
        logger.info(f"fitting a decision tree and a black box to the answers of {len(train[1]):,} training inputs")
        rows += _baselines(pursuit, train, (values, labels))
    return Evaluation(
        n_inputs=len(labels),
        n_queries=len(pursuit.queries),
        n_classes=len(pursuit.classes),
        stopping=encode(pursuit.stopping, "stopping")[0],
        patience=pursuit.patience,
        exact_gains=bool(trace.exact_gains),
        rows=tuple(rows),
        lengths=lengths_of(trace.length),
        stops=stops_of(trace, right),
        curve=curve,
        calibration=calibration(trace.posterior, _numbers(pursuit, labels)),
        seconds=round(time.perf_counter() - begin, 1),
    )


def trade_off_curve(
    pursuit: Pursuit[Any],
    trace: Trace,
    values: Any,
    labels: Any,
    min_epsilon: float | None = None,
    *,
    progress: bool | None = None,
) -> tuple[Point, ...]:
    """Accuracy and length as epsilon falls, all other rules as they are; see `evaluate` for ``min_epsilon``."""
    if min_epsilon is not None:
        number(min_epsilon, "min_epsilon", least=0, below=1)
    own = next((rule for rule in pursuit.stopping.rules if isinstance(rule, Confidence)), None)
    patience = pursuit.patience if own is None or own.patience is None else own.patience
    last = min_epsilon if min_epsilon is not None else MIN_EPSILON if own is None else own.epsilon
    if own is not None and last < own.epsilon:
        others = tuple(rule for rule in pursuit.stopping.rules if rule is not own and not rule.budget)
        longer = replace(pursuit, stopping=AnyOf((Confidence(last, own.patience), *others)))
        trace = longer.run_values(values, progress=progress)
    grid = {*epsilons(last, len(pursuit.classes)), *([own.epsilon] if own is not None and own.epsilon > last else [])}
    return tuple(confidence_curve(trace, labels, sorted(grid, reverse=True), patience))


def epsilons(last: float, n_classes: int) -> list[float]:
    """From one at which nothing is asked, since some class always has 1 / C, down to the last, evenly in logarithms.

    >>> epsilons(0.01, 2)
    [0.5, 0.32, 0.21, 0.14, 0.088, 0.057, 0.037, 0.024, 0.015, 0.01]
    """
    first, end = 1 - 1 / n_classes, last if last > 0 else MIN_EPSILON
    if last >= first:
        return [last]
    inner = [float(f"{epsilon:.2g}") for epsilon in np.geomspace(first, end, N_POINTS)[1 : -1 if last else None]]
    return [first, *(epsilon for epsilon in dict.fromkeys(inner) if last < epsilon < first), last]


def lengths_of(length: IntArray) -> Lengths:
    """(B,) lengths in numbers that a reader wants."""
    # lengths that occur, not something between two
    q25, median, q75, p90 = (int(q) for q in np.quantile(length, (0.25, 0.5, 0.75, 0.9), method="inverted_cdf"))
    counts = tuple(zip(*(each.tolist() for each in np.unique(length, return_counts=True)), strict=True))
    error = float(length.std() / np.sqrt(len(length)))
    return Lengths(float(length.mean()), error, q25, median, q75, p90, int(length.min()), int(length.max()), counts)


def stops_of(trace: Trace, right: Any) -> tuple[Stop, ...]:
    """Why inputs stopped, the most frequent reason first."""
    found = []
    for reason in np.unique(trace.stop_reason):
        here = trace.stop_reason == reason
        low, high = accuracy_interval(int(right[here].sum()), int(here.sum()))
        share, length = float(right[here].mean()), float(trace.length[here].mean())
        found.append(Stop(str(reason), int(here.sum()), share, low, high, length))
    return tuple(sorted(found, key=lambda stop: (-stop.n_inputs, stop.reason)))


def _observed(pursuit: Pursuit[Any], X: Any, y: Any, which: str) -> tuple[Observed, Any]:
    """What is observed of B inputs, and labels (B,), refused where they do not fit the classifier or each other."""
    values, labels = pursuit.queries.read(X), np.asarray(y)
    if labels.shape != (len(values),):
        raise ValueError(
            f"y{which} has shape {labels.shape}; expected ({len(values)},), one label for each row of X{which}"
        )
    if not len(labels):
        raise ValueError(f"X{which} has no rows; give at least one input")
    strange = ~np.isin(labels, pursuit.classes)
    if strange.any():
        raise ValueError(
            f"y{which}[{int(strange.argmax())}] is {labels[strange].tolist()[0]!r}, which is no class of the "
            f"classifier; its classes are {', '.join(repr(c) for c in pursuit.classes.tolist()[:10])}"
        )
    return values, labels


def _map_row(pursuit: Pursuit[Any], values: Observed, labels: Any, progress: bool | None) -> Row:
    begin = time.perf_counter()
    posterior = map_using_q(pursuit, values, progress=progress)
    few = len(posterior)
    note = "" if few == len(labels) else f"on the first {few:,} inputs"
    right = pursuit.classes[posterior.argmax(axis=1)] == labels[:few]
    return counted(MAP, right, seconds=time.perf_counter() - begin, note=note)


def _baselines(pursuit: Pursuit[Any], train: tuple[Observed, Any], test: tuple[Observed, Any]) -> list[Row]:
    """The tree and the black box, in this order."""
    begin, n = time.perf_counter(), len(train[1])
    values = np.concatenate([train[0].values, test[0].values])
    y, rows = _numbers(pursuit, np.concatenate([train[1], test[1]])), np.arange(len(values))
    found = trees.on_answers(pursuit.queries, values, y, rows[:n], rows[n:], pursuit.seed)
    (tree, length), (box, _) = found.values()
    took = time.perf_counter() - begin  # of both together
    return [counted(TREE, tree, length=length, seconds=took), counted(BLACK_BOX, box, seconds=took)]


def _numbers(pursuit: Pursuit[Any], labels: Any) -> IntArray:
    """(B,) labels as the numbers of their classes."""
    return np.asarray(np.argmax(labels[:, None] == pursuit.classes, axis=1))
