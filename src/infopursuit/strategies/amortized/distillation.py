"""Distillation: a network that imitates a pursuit of another kind, and is many times faster."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.networks.amortized import (
    OwnHistories,
    QuerierTraining,
    Trunk,
    build_network,
    check_network,
    device_of,
    fit_network,
)
from infopursuit.models.networks.deep_sets import AnswerSets, DeepSets
from infopursuit.models.networks.imitation import Demonstrations, Followed, Imitation
from infopursuit.models.sample import Sample
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.protocols import Belief
from infopursuit.pursuit.stopping import AnyOf, Confidence, MaxQueries
from infopursuit.strategies.amortized.amortized import default_training, default_trunk, fit_temperature
from infopursuit.strategies.amortized.belief import AnswerSetInputs, NetworkBelief, VariableInputs, inputs_for
from infopursuit.strategies.amortized.querier import acquisition_for
from infopursuit.strategies.opinion_pool import LogPool
from infopursuit.support.checks import instance, number, whole_number
from infopursuit.support.progress import Progress
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Observed

logger = logging.getLogger(__name__)

N_TOP = 16
"""Queries of which a student learns the teacher's gain at each step: the best."""
CERTAIN = 2e-3
"""A demonstration ends where the teacher's posterior leaves less than this to all other classes."""


@dataclass(frozen=True)
class Agreement:
    """How well a student agrees with its teacher, on inputs that were held out from the student's training.

    first_queries: share of inputs with the same first three queries. label: of the same predicted class.
    posterior_difference: mean absolute difference of the posteriors, over classes, at the end. n_inputs: how many.
    """

    first_queries: float
    label: float
    posterior_difference: float
    n_inputs: int

    def __str__(self) -> str:
        return (
            f"on {self.n_inputs:,} held-out inputs: the same first three queries for {100 * self.first_queries:.1f} %, "
            f"the same label for {100 * self.label:.1f} %, posteriors {self.posterior_difference:.4f} apart on average"
        )


def distill(
    pursuit: Pursuit[Any],
    X: Any,
    y: Any = None,
    *,
    temperature: float = 0.02,
    label_weight: float = 0.5,
    own_share: float = 0.5,
    n_histories: float | None = None,
    max_queries: int = 12,
    trunk: Trunk | None = None,
    training: QuerierTraining | None = None,
    demonstrations: Demonstrations | None = None,
    start: NetworkBelief | None = None,
    tutor: NetworkBelief | LogPool | None = None,
    checkpoint: Any = None,
    device: Any = None,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> tuple[Pursuit[Any], Agreement]:
    """A student of a pursuit: one network for its posterior and its choice of queries, and how well they agree.

    Soft targets (Hinton, Vinyals and Dean, 2015): at every step of the teacher's pursuits of X its posterior, and the
    softmax of its gains, divided by ``temperature`` and the largest of them. The student stops by the teacher's rule,
    but for gains, which it does not have.

    Parameters
    ----------
    pursuit: the teacher.
    X: inputs that it demonstrates its choices on.
    y: their labels, where known: mixed into the posteriors with a share of ``label_weight``; the student then learns
        to classify from histories of its own, too, those of a share ``own_share`` of the inputs in each epoch.
    temperature: a share of the largest gain; the higher, the more the queries count that are nearly as good.
    n_histories: of each input that are looked at in an epoch, on average; None is 60 % of them.
    max_queries: of a demonstration.
    trunk, training: of the network, as in `Amortized`.
    demonstrations: those of `demonstrate`, where they were made before. start: the belief of an earlier student.
    tutor: a network, or a `LogPool` of networks, whose posterior after the student's own histories, of augmented
        inputs too, is mixed into the labels there; where the teacher is too slow to be asked at every step.
    checkpoint: a file from which an interrupted training goes on. device: where the network is trained and computed,
        such as "cuda". say: what is told about each epoch.

    >>> import infopursuit as ip
    >>> queries = ip.queries.concepts(["has wings", "is red"])
    >>> teacher = ip.generative_pursuit(ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]]), queries)
    >>> X = np.random.default_rng(0).integers(2, size=(64, 2))
    >>> student, agreement = ip.distill(teacher, X, training=ip.QuerierTraining(epochs=2))
    >>> student.belief.student_of
    'Exact, MutualInformation'
    """
    instance(pursuit, "pursuit", Pursuit, "an ip.Pursuit, such as clf.pursuit_")
    temperature = number(temperature, "temperature", above=0)
    label_weight, own_share = (
        0.0 if y is None else number(value, name, least=0, most=1)
        for name, value in (("label_weight", label_weight), ("own_share", own_share))
    )
    n = min(whole_number(max_queries, "max_queries", 1), len(pursuit.queries))
    observed = pursuit.queries.read(X)
    shown = demonstrations or demonstrate(pursuit, observed, n, progress=progress)
    taught = shown.posterior[:, -1].argmax(axis=1) if y is None else labels_of(y, pursuit.classes, len(X))
    sample = Sample(
        pursuit.queries.variables,
        observed.values,
        taught,
        np.ones(len(taught)),
        pursuit.belief.n_classes,
        observed.numbers,
    )
    if start is None:
        inputs = inputs_for(pursuit.queries, sample)
        network = build_network(inputs, sample.n_classes, trunk or default_trunk(inputs), seed=pursuit.seed)
    elif isinstance(start.inputs, AnswerSetInputs):
        raise ValueError("start has a network of gains on whole answers (`DeepSets`); give that of an earlier student")
    else:
        inputs, network = start.inputs, check_network(copy.deepcopy(start.network), start.inputs, sample.n_classes)
    network = network.to(device)
    how = training or replace(default_training(inputs), random=0.0)
    how = replace(how, max_queries=n)
    known = inputs.everything(observed.values, observed.numbers)
    helps = None if tutor is None else class_probabilities(tutor, inputs)
    own = OwnHistories(network, inputs, known, taught, how, "score", helps, label_weight)
    lessons = Imitation(own, shown, temperature, label_weight, own_share, n_histories)
    _, held_out = fit_network(network, lessons, len(taught), how, checkpoint=checkpoint, progress=progress, say=say)
    name = f"{type(pursuit.belief).__name__}, {type(pursuit.acquisition).__name__}"
    calibrated = 1.0 if y is None else fit_temperature(own, held_out)
    belief = NetworkBelief(network, inputs, sample.n_classes, "score", calibrated, name)
    student = student_of(pursuit, belief, n, calibrated=y is not None)
    return student, agreement(pursuit, student, observed.take(held_out[:1000]), progress=progress)


def class_probabilities(belief: Belief[Any], inputs: Any) -> Callable[[Tensor], Tensor]:
    """(H, F) features of histories -> (H, C) p(y | history) of a network, or a pool of networks, with such inputs."""
    if isinstance(belief, LogPool):
        one, two = (class_probabilities(each, inputs) for each in (belief.generative, belief.other))
        a, b = belief.weights
        return lambda features: torch.softmax(a * one(features).log() + b * two(features).log(), dim=1)
    if not isinstance(belief, NetworkBelief) or belief.inputs != inputs:
        raise ValueError(f"tutor is {belief!r}; give a network on histories of the same queries, or a LogPool of them")

    def found(features: Tensor) -> Tensor:
        logits = belief.network(features.to(device_of(belief.network)))[0].float().cpu()
        return torch.softmax(logits / belief.temperature, dim=1)

    return found


def history_classifier(
    pursuit: Pursuit[Any],
    X: Any,
    y: Any,
    *,
    trunk: Trunk | None = None,
    training: QuerierTraining | None = None,
    start: NetworkBelief | None = None,
    checkpoint: Any = None,
    device: Any = None,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> NetworkBelief:
    """A second network that classifies after the histories of an amortised pursuit: for `pool`.

    One small network asks quickly; another, such as a convolutional one, may classify better from what the first has
    asked for. Inputs are augmented, and asked about by the pursuit, anew in every epoch. It has not learnt what to ask.

    Parameters
    ----------
    pursuit: one of `Amortized` about variables, such as the pixels of patches.
    X, y: labelled inputs.
    trunk, training: of the second network, as in `Amortized`. start: an earlier one to go on from.
    checkpoint: a file from which an interrupted training goes on. device: where the network is trained and computed,
        such as "cuda". say: what is told about each epoch.
    """
    instance(pursuit, "pursuit", Pursuit, "an ip.Pursuit of ip.Amortized")
    first: Any = pursuit.belief
    if not isinstance(first, NetworkBelief) or not isinstance(first.inputs, VariableInputs):
        raise ValueError(f"pursuit believes by {first!r}; give one of ip.Amortized about variables, such as patches")
    observed, labels = pursuit.queries.read(X), labels_of(y, pursuit.classes, len(X))
    inputs = VariableInputs(pursuit.queries)
    if start is None:
        network = build_network(inputs, first.n_classes, trunk or default_trunk(inputs), seed=pursuit.seed)
    else:
        network = check_network(copy.deepcopy(start.network), inputs, first.n_classes)
    network = network.to(device)
    how = training or default_training(inputs)
    asker = AnswerSets if isinstance(first.network, DeepSets) else OwnHistories
    values = inputs.everything(observed.values)
    asked = asker(first.network, first.inputs, values, labels, how, "nats")  # type: ignore[arg-type]
    lessons = Followed(network, inputs, values, asked, how)
    _, held_out = fit_network(network, lessons, len(labels), how, checkpoint=checkpoint, progress=progress, say=say)
    return NetworkBelief(network, inputs, first.n_classes, "score", fit_temperature(lessons, held_out))


def student_of(pursuit: Pursuit[Any], belief: NetworkBelief, max_queries: int, *, calibrated: bool) -> Pursuit[Any]:
    """The pursuit of a student: the parts of the teacher's, but for what needs its model."""
    rule = pursuit.stopping
    if any(each.needs_gain for each in rule.rules):  # scores are no gains
        confident = [each for each in rule.rules if isinstance(each, Confidence)] if isinstance(rule, AnyOf) else []
        rule = (confident[0] if confident else Confidence()) | MaxQueries(max_queries)
    return replace(
        pursuit,
        belief=belief,
        acquisition=acquisition_for(belief),
        stopping=rule,
        noise=None,
        calibrator=None if calibrated else pursuit.calibrator,
        novelty=None,
        learnt=not calibrated,
        bindings=type(pursuit.bindings)(),
    )


def demonstrate(
    pursuit: Pursuit[Any],
    values: Any,
    max_queries: int,
    *,
    follow: IntArray | None = None,
    n_top: int = N_TOP,
    progress: bool | None = None,
) -> Demonstrations:
    """What a pursuit asks about inputs with these values, (N, A) or `Observed`, with its best gains at each step.

    follow: (N, K) queries that are asked instead, -1 for the pursuit's own: those of a student, whose histories are
    others than its teacher's (DAgger; Ross, Gordon and Bagnell, 2011).
    """
    observed, n = Observed.of(values), min(max_queries, len(pursuit.queries))
    teacher = replace(pursuit, stopping=Confidence(CERTAIN) | MaxQueries(n), patience=0)
    n_top = min(n_top, len(pursuit.queries))
    found = Demonstrations(
        np.full((len(observed), n), UNKNOWN, np.int64),
        np.zeros((len(observed), n + 1, pursuit.belief.n_classes), np.float32),
        np.full((len(observed), n, n_top), UNKNOWN, np.int64),
        np.zeros((len(observed), n, n_top), np.float32),
    )
    rows = teacher.rows_at_a_time()
    with Progress("demonstrating", len(observed), show=progress) as shown:
        for start in range(0, len(observed), rows):
            _demonstrate_some(teacher, np.arange(start, min(start + rows, len(observed))), observed, found, follow)
            shown.advance(min(rows, len(observed) - start))
    return found


def _demonstrate_some(
    teacher: Pursuit[Any],
    inputs: IntArray,
    observed: Observed,
    demonstrations: Demonstrations,
    follow: IntArray | None,
) -> None:
    """Pursue some inputs together, and note what was believed and chosen."""
    n_top = demonstrations.top_gains.shape[2]

    def followed(rows: IntArray, query: IntArray, k: int) -> IntArray:
        if follow is None or k >= follow.shape[1]:
            return query
        return np.where(follow[rows, k] == UNKNOWN, query, follow[rows, k])

    for k, turn in enumerate(teacher.steps(observed, inputs=inputs, choose=followed)):
        state = turn.step.state
        demonstrations.posterior[turn.inputs, k:] = state.posterior[turn.place][:, None]
        if not turn.continues.any():
            return

        rows = turn.inputs[turn.continues]
        place = turn.place[turn.continues]
        gains, best = _best(teacher.utilities(state, turn.step.choice.query != UNKNOWN).value, n_top)
        demonstrations.queries[rows, k] = turn.query[turn.continues]
        demonstrations.top_queries[rows, k] = best[place]
        demonstrations.top_gains[rows, k] = gains[place]


def _best(utilities: FloatArray, n: int) -> tuple[FloatArray, IntArray]:
    """(H, Q) -> (H, n) the largest utilities, and of which query they are; -1 for one that has none."""
    known = np.where(np.isnan(utilities), -np.inf, utilities)
    best = np.argpartition(-known, n - 1, axis=1)[:, :n]
    largest = np.take_along_axis(known, best, axis=1)
    none = np.isneginf(largest)
    return np.where(none, 0.0, largest), np.where(none, UNKNOWN, best)


def agreement(
    teacher: Pursuit[Any], student: Pursuit[Any], values: Any, *, n_first: int = 3, progress: bool | None = None
) -> Agreement:
    """How well a student agrees with its teacher about some inputs; each stops by its own rule."""
    one, two = (each.run_values(values, progress=progress) for each in (teacher, student))
    same = np.ones(len(one), dtype=bool)
    for k in range(n_first):
        asked = [t.queries[:, k] if k < t.queries.shape[1] else np.full(len(t), UNKNOWN) for t in (one, two)]
        same &= asked[0] == asked[1]
    label = (one.posterior.argmax(axis=1) == two.posterior.argmax(axis=1)).mean()
    apart = np.abs(one.posterior - two.posterior).mean()
    return Agreement(float(same.mean()), float(label), float(apart), len(one))


def labels_of(y: Any, classes: Any, n: int) -> IntArray:
    """(n,) the indices of some labels among the classes; refused where one is none of them."""
    given = np.asarray(y)
    if given.shape != (n,):
        raise ValueError(f"y has shape {given.shape}; expected one label for each of {n} inputs")
    order = np.argsort(classes, kind="stable")
    found = order[np.minimum(np.searchsorted(classes[order], given), len(classes) - 1)]
    strange = classes[found] != given
    if strange.any():
        raise ValueError(f"y has the label {given[strange][0]!r}, which the pursuit does not know; leave its rows out")
    return np.asarray(found)
