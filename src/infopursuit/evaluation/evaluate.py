"""The paper's evaluation for any classifier and data: accuracy, lengths, calibration, baselines on the same queries."""

from __future__ import annotations

import io
import logging
import textwrap
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from infopursuit.estimator.class_figures import ClassFigures, class_figures
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.evaluation.measures import Bin, Calibration, Point, Row, Z, calibration, confidence_curve, counted
from infopursuit.pursuit.driver import ObservedAnswers, start_with
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence
from infopursuit.pursuit.trace import Trace
from infopursuit.saving.registry import encode
from infopursuit.strategies import baselines as trees
from infopursuit.support.checks import pursuit_of
from infopursuit.support.messages import load
from infopursuit.support.progress import Progress, bar
from infopursuit.support.terminal import Terminal, table
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Observed

logger = logging.getLogger(__name__)

PURSUIT, MAP, TREE, BLACK_BOX = "Information Pursuit", "MAP using Q", "decision tree on Q", "black box using Q"
N_POINTS, MIN_EPSILON = 10, 0.001
"""Points of the curve; and where it ends if the pursuit does not stop by confidence, or only when it is certain."""
WORK, MIN_INPUTS = 1e11, 100
"""MAP using Q takes at most so many multiplications, about a minute on one core; but always this many inputs."""
MAX_CLASSES_TOLD = 8
"""Classes up to which recall, precision and the confusion matrix are printed."""
FEW = 20
"""Inputs of a bin below which its calibration is not worth a remark."""


@dataclass(frozen=True)
class Lengths:
    """How many questions were asked. q25, q75: the quartiles. p90: 90th percentile. counts: (length, inputs) of every
    length that occurs."""

    mean: float
    q25: int
    median: int
    q75: int
    p90: int
    min: int
    max: int
    counts: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` found; ``dataclasses.asdict`` of it is JSON data, ``print`` of it a table.

    rows: Information Pursuit first, then what it is compared with. stops: a row for each stop reason. curve: accuracy
    against length, from an epsilon at which nothing is asked to the pursuit's own. calibration: of the confidence at
    the stop. by_class: area under the ROC curve, recall, precision and confusion matrix; classes: what the classes are
    called. stopping: the rules as JSON data.
    """

    n_inputs: int
    n_queries: int
    n_classes: int
    stopping: dict[str, Any]
    patience: int
    exact_gains: bool
    rows: tuple[Row, ...]
    lengths: Lengths
    stops: tuple[Row, ...]
    curve: tuple[Point, ...]
    calibration: Calibration
    by_class: ClassFigures
    classes: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        stream = io.StringIO()
        tell(self, Terminal(stream, width=80, colour=False))
        return stream.getvalue().strip("\n")


def evaluate(
    classifier: InformationPursuitClassifier | Pursuit[Any],
    X: Any,
    y: Any,
    *,
    X_train: Any = None,
    y_train: Any = None,
    progress: bool | None = None,
) -> Evaluation:
    """Evaluate a fitted classifier on inputs that it has not seen.

    Parameters
    ----------
    classifier: fitted, or a pursuit; what ``ip.load`` returns.
    X, y: inputs and their labels.
    X_train, y_train: what the baselines learn from; without them none is fitted. Give what the classifier was fitted
        on, and the comparison is fair.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> pursuit = ip.generative_pursuit(
    ...     model, ip.queries.concepts(["has wings", "is red"]), stopping=ip.Confidence(0.1)
    ... )
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
    start, posterior = time.perf_counter(), map_using_q(pursuit, values, progress=progress)
    few = len(posterior)
    note = "" if few == len(labels) else f"on the first {few:,} inputs"
    right_map = pursuit.classes[posterior.argmax(axis=1)] == labels[:few]
    rows.append(counted(MAP, right_map, seconds=time.perf_counter() - start, note=note))
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
        curve=_curve(pursuit, trace, labels),
        calibration=calibration(trace.posterior, _numbers(pursuit, labels)),
        by_class=class_figures(trace.posterior, _numbers(pursuit, labels)),
        classes=tuple(str(label) for label in pursuit.classes),
        seconds=round(time.perf_counter() - begin, 1),
    )


def _curve(pursuit: Pursuit[Any], trace: Trace, labels: Any) -> tuple[Point, ...]:
    """Accuracy and length as epsilon falls, all other rules as they are."""
    own = next((rule for rule in pursuit.stopping.rules if isinstance(rule, Confidence)), None)
    patience = pursuit.patience if own is None or own.patience is None else own.patience
    grid = epsilons(MIN_EPSILON if own is None else own.epsilon, len(pursuit.classes))
    return tuple(confidence_curve(trace, labels, grid, patience))


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
    return Lengths(float(length.mean()), q25, median, q75, p90, int(length.min()), int(length.max()), counts)


def stops_of(trace: Trace, right: Any) -> tuple[Row, ...]:
    """A row for each reason to stop, the most frequent first."""
    reasons, n = np.unique(trace.stop_reason, return_counts=True)
    some = [(reason, trace.stop_reason == reason) for reason in reasons[np.argsort(-n, kind="stable")]]
    return tuple(counted(str(reason), right[here], length=trace.length[here]) for reason, here in some)


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


def _numbers(pursuit: Pursuit[Any], labels: Any) -> IntArray:
    """(B,) labels as the numbers of their classes."""
    return np.asarray(np.argmax(labels[:, None] == pursuit.classes, axis=1))


# ---- what it is compared with ---------------------------------------------------------------------------------------


def map_using_q(pursuit: Pursuit[Any], values: Any, *, progress: bool | None = None) -> FloatArray:
    """MAP using Q of Table 1: (B', C) the posterior after the answers to all queries, of the first B' inputs; of all
    where that is affordable.

    values: (B, A) as ``queries.observe(X)`` gives them, or ``queries.read(X)``. Where the answers together cannot be,
    it is the prior. A VAE: by importance sampling with its encoder.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> pursuit = ip.generative_pursuit(model, ip.queries.concepts(["has wings", "is red"]))
    >>> map_using_q(pursuit, [[1, 0], [0, 1]])[:, 0].round(6).tolist()
    [0.9, 0.1]
    """
    revealed = pursuit.queries.query_variables[pursuit.queries.query_variables >= 0]
    affordable = WORK // (getattr(pursuit.model, "n_states", 1) * len(revealed))
    observed = Observed.of(values).take(slice(max(MIN_INPUTS, int(affordable))))
    if hasattr(pursuit.model, "latent_dim") and observed.soft is None:
        from infopursuit.models.networks.autoencoder import log_evidence

        hidden = np.isin(np.arange(observed.values.shape[1]), revealed, invert=True)
        seen = np.where(hidden, UNKNOWN, observed.values)
        return np.asarray(softmax(log_evidence(pursuit.model, seen, seed=pursuit.seed), axis=1))
    prior = pursuit.start().posterior
    source = ObservedAnswers(pursuit.queries, observed)
    rows = pursuit.rows_at_a_time()
    posteriors = []
    with Progress("all answers known", len(observed), show=progress) as shown:
        for start in range(0, len(observed), rows):
            inputs = np.arange(start, min(start + rows, len(observed)))
            state, place = start_with(pursuit, source, inputs, range(len(pursuit.queries)))
            impossible = state.impossible[place]
            posteriors.append(np.where(impossible[:, None], prior, state.posterior[place]))
            shown.advance(len(inputs))
    return np.concatenate(posteriors)


def _baselines(pursuit: Pursuit[Any], train: tuple[Observed, Any], test: tuple[Observed, Any]) -> list[Row]:
    """The tree and the black box, in this order."""
    begin, n = time.perf_counter(), len(train[1])
    values = np.concatenate([train[0].values, test[0].values])
    y, rows = _numbers(pursuit, np.concatenate([train[1], test[1]])), np.arange(len(values))
    found = trees.on_answers(pursuit.queries, values, y, rows[:n], rows[n:], pursuit.seed)
    (tree, length), (box, _) = found.values()
    took = time.perf_counter() - begin  # of both together
    return [counted(TREE, tree, length=length, seconds=took), counted(BLACK_BOX, box, seconds=took)]


# ---- words ----------------------------------------------------------------------------------------------------------


def tell(found: Evaluation, terminal: Terminal) -> None:
    """Write an evaluation to a terminal as a page."""
    terminal.head("Accuracy and number of questions")
    lines = [["", "accuracy", "95 % interval", "questions"]]
    for row in found.rows:
        asked = f"all {found.n_queries:,}" if row.length is None else f"{row.length:.2f}"
        asked += "" if row.length_error is None else f" ± {Z * row.length_error:.2f}"
        name = f"{row.name}*" if row.note else row.name
        lines.append([name, _share(row.accuracy, 2), _interval(row.low, row.high), asked])
    terminal.say(*table(lines))
    notes = [f"* {row.name}: {row.note}" for row in found.rows if row.note]
    notes += [] if found.exact_gains else ["Gains were estimated on a part of the states and queries."]
    for note in notes:
        terminal.say(terminal.paint(note, "faint"))
    _tell_classes(found, terminal)
    terminal.head("Number of questions")
    terminal.tell(_lengths(found))
    lines = [["stop reason", "inputs", "accuracy", "questions"]]
    for stop in found.stops:
        why, n = textwrap.shorten(load().reason(stop.name), 44, placeholder=" ..."), stop.n_inputs or 0
        lines.append([why, _share(n / found.n_inputs, 1), _share(stop.accuracy, 1), f"{stop.length:.1f}"])
    terminal.say("", *table(lines))
    terminal.head("Accuracy at other confidence thresholds")
    lines = [["confidence", "questions", "accuracy", "", ""]]
    own = [rule["epsilon"] for rule in _rules(found.stopping) if rule["kind"] == "confidence"]
    for point in found.curve:
        mark = "as it is" if point.epsilon in own[:1] else ""
        right = [_share(point.accuracy, 2), bar(point.accuracy, 20)]
        lines.append([f"{100 * (1 - point.epsilon):.5g} %", f"{point.length:.2f}", *right, mark])
    terminal.say(*table(lines))
    terminal.head("Calibration")
    lines = [["confidence", "inputs", "mean", "accuracy", "95 % interval", ""]]
    for b in found.calibration.bins:
        said, shares = f"{100 * b.low:g} to {100 * b.high:g} %", [_share(b.confidence, 2), _share(b.accuracy, 2)]
        lines.append([said, f"{b.n_inputs:,}", *shares, _interval(b.right_low, b.right_high), _judged(b)])
    terminal.say(*table(lines, gap=2), "")
    terminal.tell(_verdict(found.calibration))


def _tell_classes(found: Evaluation, terminal: Terminal) -> None:
    """The area under the ROC curve, and recall, precision and confusions where the classes are few."""
    figures = found.by_class
    terminal.head("Classes")
    if figures.auc is not None:
        kind = "" if found.n_classes == 2 else ", mean over classes of one against the rest"
        terminal.tell(f"Area under the ROC curve {figures.auc:.3f}{kind}.")
    if found.n_classes > MAX_CLASSES_TOLD:
        recalls = [recall for recall in figures.recall if recall is not None]
        terminal.tell(f"Recall of a class {_share(min(recalls), 1)} to {_share(max(recalls), 1)}.")
        return
    terminal.say(*figures.lines(found.classes, terminal.width))


def _share(share: float, digits: int) -> str:
    return f"{100 * share:.{digits}f} %"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f} %"


def _lengths(evaluation: Evaluation) -> str:
    found = evaluation.lengths
    if found.min == found.max:
        asked = f"{found.max} question{'s' if found.max != 1 else ''}"
        return f"{asked} for every input, out of {evaluation.n_queries:,} that it may ask."
    half = f"{found.q25:g} to {found.q75:g}" if found.q25 < found.q75 else f"{found.q25:g}"
    return (
        f"Of {evaluation.n_queries:,} questions it asks {found.mean:.1f} on average: {half} for the middle half of the "
        f"inputs, more than {found.p90:g} for one in ten or fewer, {found.max} at the most."
    )


def _rules(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [rule for member in spec["members"] for rule in _rules(member)] if "members" in spec else [spec]


def _judged(found: Bin) -> str:
    """Whether the interval leaves out what was said, where there are inputs enough to tell."""
    if found.n_inputs < FEW or found.right_low <= found.confidence <= found.right_high:
        return ""
    return "overconfident" if found.confidence > found.right_high else "underconfident"


def _verdict(found: Calibration) -> str:
    gap = 100 * (found.confidence - found.accuracy)
    direction = "overconfident" if gap > 0 else "underconfident"
    error = 100 * found.expected_calibration_error
    return (
        f"Mean confidence {100 * found.confidence:.1f} %, accuracy {100 * found.accuracy:.1f} %: "
        f"{abs(gap):.1f} points {direction}. Expected calibration error {error:.1f} points, Brier "
        f"score {found.brier:.3f} (0 to 2, 0 is best), log loss {found.log_loss:.3f} nats."
    )
