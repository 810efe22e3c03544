"""The amortised strategy: networks that have learnt what to ask. One pass of a network is a step of the pursuit."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from infopursuit.calibration.temperature import TemperatureScaling
from infopursuit.models.networks.amortized import (
    CONFIDENT,
    OwnHistories,
    QuerierTraining,
    Trunk,
    build_network,
    check_network,
    fit_network,
)
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.models.networks.deep_sets import AnswerSets, DeepSets
from infopursuit.models.networks.training import MIN_SIDE, repeat_by_weight
from infopursuit.models.sample import Sample
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.amortized.belief import (
    AnswerInputs,
    AnswerSetInputs,
    NetworkBelief,
    VariableInputs,
    inputs_for,
)
from infopursuit.strategies.amortized.querier import UNITS, NetworkQuerier, acquisition_for
from infopursuit.strategies.strategy import Strategy
from infopursuit.support.checks import instance, one_of
from infopursuit.support.types import IntArray

logger = logging.getLogger(__name__)

MANY_FEATURES = 1_000
"""More features of a history get wider layers."""


@dataclass(frozen=True)
class Amortized(Strategy):
    """Belief and choice of queries by one network on histories, trained end to end; needs the extra ``networks``.

    A step takes one pass of the network, however many queries and answers there are. It pays where other strategies are
    too slow, and where there are many training examples: small tables are better asked about by `Hybrid`. Posteriors
    are calibrated by temperature scaling on held-out rows.

    Parameters
    ----------
    unit: "score" trains a querier by variational information pursuit (Chattopadhyay et al., 2023); "nats" a network of
        information gains (Gadgil et al., 2024), with which `InformationGain` rules and costs work.
    trunk: the layers, ``ip.Trunk(channels=(32, 64), hidden=(256,))``; None takes deep sets for the gains of grey and
        colour patches, convolutions for other images and two layers for anything else.
    classifier, querier: torch modules of your own, (H, features) -> (H, classes) and (H, queries); those for images get
        (H, planes, rows, columns): values from -1 to 1, what is known, and with grey levels what is darkest and what
        is lightest. They cannot be saved.
    training: a `QuerierTraining`; None takes the defaults, with random affine augmentation of black and white images.
    start: a belief of such a network to go on from, such as that of a student (`distill`).
    checkpoint: a file from which an interrupted training goes on.
    device: where the network is trained and computed, such as "cuda"; the processor where nothing is given.
    progress: show it even where no terminal is. say: what is told about each epoch.

    >>> import infopursuit as ip
    >>> clf = ip.InformationPursuitClassifier(strategy=ip.Amortized(unit="nats"))
    """

    kind: ClassVar[str] = "amortized"
    unit: str = "score"
    trunk: Trunk | None = None
    classifier: Any = None
    querier: Any = None
    training: QuerierTraining | None = None
    start: NetworkBelief | None = None
    checkpoint: Any = None
    device: Any = None
    progress: bool | None = None
    say: Callable[[str], None] = logger.info

    def __post_init__(self) -> None:
        one_of(self.unit, "unit", UNITS)
        none = type(None)
        instance(self.trunk, "trunk", (Trunk, none), "ip.Trunk(hidden=(256, 128)), or None")
        instance(self.training, "training", (QuerierTraining, none), "ip.QuerierTraining(epochs=30), or None")
        instance(self.start, "start", (NetworkBelief, none), "the belief of an amortised pursuit, or None")

    @property
    def refittable(self) -> bool:
        """Whether it can be fitted again on some of the rows; not from weights that have seen others."""
        return self.checkpoint is None and self.start is None

    def build(self, sample: Sample, queries: QuerySet, seed: int) -> tuple[NetworkBelief, NetworkQuerier]:
        """The belief and the acquisition function."""
        inputs = inputs_for(queries, sample) if self.start is None else self.start.inputs
        network, inputs = self._network(inputs, sample.n_classes, seed)
        network = network.to(self.device)
        rows = repeat_by_weight(sample.weights, seed)
        how = self.training or default_training(inputs)
        how = replace(how, seed=how.seed + seed)
        known = inputs.everything(sample.values, sample.numbers)[rows]
        lessons = AnswerSets if isinstance(network, DeepSets) else OwnHistories
        own = lessons(network, inputs, known, sample.labels[rows], how, self.unit)  # type: ignore[arg-type]
        _, held_out = fit_network(
            network,
            own,
            len(rows),
            how,
            groups=sample.groups_of(rows),
            checkpoint=self.checkpoint,
            progress=self.progress,
            say=self.say,
        )
        belief = NetworkBelief(network, inputs, sample.n_classes, self.unit, fit_temperature(own, held_out))
        return belief, acquisition_for(belief)

    def _network(self, inputs: VariableInputs | AnswerInputs, n_classes: int, seed: int) -> tuple[Any, Any]:
        """The network, and its inputs."""
        if self.start is not None:
            if isinstance(self.start.network, DeepSets) and self.unit != "nats":
                raise ValueError(f"unit={self.unit!r}, and start has a network of gains; use unit='nats'")
            return check_network(copy.deepcopy(self.start.network), inputs, n_classes), inputs
        own = (copy.deepcopy(self.classifier), copy.deepcopy(self.querier))  # the given ones stay as they are
        gains = self.unit == "nats" and own == (None, None) and isinstance(inputs, VariableInputs)
        trunk = self.trunk or default_trunk(inputs, sets=gains)
        if gains and trunk.answer:
            sets = AnswerSetInputs(inputs.queries)
            return DeepSets(trunk, sets, n_classes).initialised(seed), sets
        return build_network(inputs, n_classes, trunk, *own, seed), inputs


def default_trunk(inputs: VariableInputs | AnswerInputs, *, sets: bool = False) -> Trunk:
    """Convolutions for images, two layers for anything else; sets: answers in grey and colour may be encoded alone."""
    if sets and inputs.shape is not None and max(inputs.queries.variables.sizes) > 2:
        return Trunk((), (512, 256), (64, 32))
    if inputs.shape is not None and min(inputs.shape) >= MIN_SIDE:
        return Trunk((32, 64), (256,))
    return Trunk((), (512, 256) if inputs.n_features > MANY_FEATURES else (256, 128))


def default_training(inputs: VariableInputs | AnswerInputs) -> QuerierTraining:
    """Random affine augmentation for black and white images; nothing special for anything else."""
    if inputs.shape is None or set(inputs.queries.variables.sizes) != {2}:
        return QuerierTraining()
    return QuerierTraining(augmentation=RandomAffine(shift=min(1.0, min(inputs.shape) / 14)))


def fit_temperature(own: OwnHistories, rows: IntArray) -> float:
    """The temperature that suits the own histories of some rows best, up to where hardly any pursuit goes on."""
    log_p = own.rollout(rows).double().numpy()
    going = np.cumsum(log_p.max(axis=2) > math.log(CONFIDENT), axis=1) <= 1
    going[:, 0] = False
    labels = np.broadcast_to(own.labels.numpy()[rows][:, None], going.shape)
    return float(TemperatureScaling.fit(log_p[going], labels[going]).temperature)
