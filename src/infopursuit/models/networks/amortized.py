"""Amortised querying: a classifier and a querier on histories, and how they are trained.

*Variational information pursuit* (Chattopadhyay et al., 2023): the querier picks the query whose answer makes the
classifier most accurate; gradients pass its choice straight through, by a softmax whose temperature falls. *Gains*
(Gadgil et al., 2024, who build on Covert et al., 2023): the second network estimates the mutual information of the
class and each answer, by regression on how far an answer moves the posterior. Histories are random at first, then those
of the network itself. `infopursuit.models.networks.imitation` has networks that learn from another pursuit.

What is known of an input is a set of *units* (U of them): variables, or whole queries. A network sees F features of the
known units, and 0 where nothing is known.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from infopursuit.models.networks.architectures import ChannelsLast, Residual, initialise
from infopursuit.models.networks.training import Epoch, Lessons, Schedule, held_out_split, run_training
from infopursuit.support.checks import number, whole_number
from infopursuit.support.types import UNKNOWN, IntArray

logger = logging.getLogger(__name__)

Objective = Literal["score", "nats"]
CONFIDENT, LEAVING = 0.995, 0.8
"""A training history above this confidence ends with this probability: few pursuits go on from there."""
MIN_STEPS = 1_500
"""Of the optimiser, where the number of epochs is not given."""
WEIGHT_DECAY = 0.01
TOLD = "loss {:.4f} training, {:.4f} validation, {:.2f} % right"
KEPT, N_KEPT = torch.tensor((0.1, 0.4, 0.6)), 4
"""Share of the histories with 0, 1 and more queries that is looked at in an epoch, and of how many of one input at the
most, on average: the first ones are few and soon learnt, and neighbouring ones of one input teach much the same."""
EXPLORED, LOOKED, N_TRIED = 0.15, torch.tensor((1.0, 0.5, 0.25)), 4
"""Share of drawn queries in the histories on which gains are learnt; share of these histories in which other queries
than the one asked are tried, and how many."""


# ---- networks -------------------------------------------------------------------------------------------------------


class Inputs(Protocol):
    """How what is known goes into a network."""

    @property
    def shape(self) -> tuple[int, int] | None:
        """(rows, columns) where features are the planes of an image."""

    @property
    def units(self) -> IntArray:
        """(Q, W) the units that each query reveals, padded with -1."""

    @property
    def n_units(self) -> int:
        """U."""

    @property
    def n_features(self) -> int:
        """F."""

    def encode(self, known: Any) -> Tensor:
        """(H, U) what is known -> (H, F) features."""

    def spread(self, mask: Tensor) -> Tensor:
        """(H, U) -> (H, F): the unit of each feature."""


@dataclass(frozen=True)
class Trunk:
    """The layers that classifier and querier share.

    channels: of convolutions with stride 2, for images; () for anything else. hidden: widths of the layers after them.
    answer: widths of layers that encode one answer, the same for every query (`DeepSets`), instead of convolutions; for
    unit="nats". blocks: residual blocks of two 3 x 3 convolutions, after those with stride 2.
    """

    channels: tuple[int, ...] = ()
    hidden: tuple[int, ...] = (256, 128)
    answer: tuple[int, ...] = ()
    blocks: int = 0

    def __post_init__(self) -> None:
        whole_number(self.blocks, "blocks", 0)
        if self.blocks and not self.channels:
            raise ValueError(f"blocks={self.blocks} need channels, such as channels=(32, 64); use blocks=0")
        for name in ("channels", "hidden", "answer"):
            object.__setattr__(self, name, tuple(whole_number(n, name, 1) for n in getattr(self, name)))
        if not self.hidden:
            raise ValueError("hidden=(); give at least one width, such as (256,)")
        if self.answer and self.channels:
            raise ValueError(f"channels={self.channels} and answer={self.answer}; give one of them")

    def build(self, inputs: Inputs) -> nn.Sequential:
        """The layers, without weights that mean anything."""
        if self.answer:
            raise ValueError(
                f"answer={self.answer} is for ip.Amortized(unit='nats') without modules of your own; use ()"
            )
        layers: list[nn.Module] = []
        width = inputs.n_features
        if self.channels:
            if inputs.shape is None:
                raise ValueError(f"channels={self.channels} need images, and these queries have no shape; use ()")
            rows, columns = inputs.shape
            planes = width // (rows * columns)
            for before, after in pairwise((planes, *self.channels)):
                layers += [nn.Conv2d(before, after, 4, stride=2, padding=1), nn.ReLU()]
                rows, columns = rows // 2, columns // 2
            layers += [Residual(after) for _ in range(self.blocks)]
            layers = [nn.Unflatten(1, (planes, *inputs.shape)), ChannelsLast(), *layers, nn.Flatten()]
            width = after * rows * columns
            if not width:
                raise ValueError(f"channels={self.channels} halve an image of {inputs.shape} to nothing; use fewer")
        for before, after in pairwise((width, *self.hidden)):
            layers += [nn.Linear(before, after), nn.ReLU()]
        return nn.Sequential(*layers)


class TwoHeads(nn.Module):
    """One trunk for both: (H, F) -> (H, C) class logits and (H, Q) utilities of the queries."""

    def __init__(self, trunk: Trunk, inputs: Inputs, n_classes: int) -> None:
        super().__init__()
        self.settings = trunk
        self.trunk = trunk.build(inputs)
        self.classify = nn.Linear(trunk.hidden[-1], n_classes)
        self.query = nn.Linear(trunk.hidden[-1], len(inputs.units))

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        seen = self.trunk(features)
        return self.classify(seen), self.query(seen)


class Separate(nn.Module):
    """Two modules of somebody's own; those for images get (H, planes, rows, columns)."""

    def __init__(self, classifier: nn.Module, querier: nn.Module, shape: tuple[int, int] | None) -> None:
        super().__init__()
        self.classifier, self.querier, self.shape = classifier, querier, shape

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        seen = features if self.shape is None else features.reshape(len(features), -1, *self.shape)
        return self.classifier(seen), self.querier(seen)


def build_network(
    inputs: Inputs, n_classes: int, trunk: Trunk, classifier: Any = None, querier: Any = None, seed: int = 0
) -> nn.Module:
    """The default network, or that of given modules; where one is missing, the default takes its place."""
    found = TwoHeads(trunk, inputs, n_classes)
    initialise(found, torch.Generator().manual_seed(seed))
    with torch.no_grad():  # at first every query is as good as any
        found.query.weight.mul_(0.1)
        for each in found.modules():
            if isinstance(each, Residual):
                each.second.weight.zero_()
    if classifier is None and querier is None:
        return found
    flat = nn.Flatten()
    parts = (nn.Sequential(flat, found.trunk, head) for head in (found.classify, found.query))
    first, second = (given or part for given, part in zip((classifier, querier), parts, strict=True))
    return check_network(Separate(first, second, inputs.shape), inputs, n_classes)


@torch.no_grad()
def check_network(network: nn.Module, inputs: Inputs, n_classes: int) -> nn.Module:
    """The network, refused where its outputs have other shapes than classes and queries."""
    found = network.eval()(torch.zeros(2, inputs.n_features, device=device_of(network)))
    for name, output, n in zip(("classifier", "querier"), found, (n_classes, len(inputs.units)), strict=True):
        if output.shape != (2, n):
            raise ValueError(f"{name} gives shape {tuple(output.shape)} for 2 histories; expected (2, {n})")
    return network


def device_of(network: nn.Module) -> torch.device:
    """Where a network is computed. Histories are kept, and all random numbers are drawn, on the processor."""
    return next((each.device for each in network.parameters()), torch.device("cpu"))


def gain_loss(outputs: Tensor, tried: Tensor, before: Tensor, after: Tensor) -> Tensor:
    """(H, n) the loss of the gains of queries (H, n): a gain is the entropy of the class times sigmoid(output).

    before, after: log p(y | history), (H, C), and that with the answer to each query, (H, n, C). Its gradient is
    gain - divergence, so that the gain becomes the mean divergence, without the flat ends of a sigmoid.
    """
    moved = (after.exp() * (after - before[:, None])).sum(2)  # KL(p(y | history, answer) || p(y | history))
    entropy, output = -(before.exp() * before).sum(1, keepdim=True), outputs.gather(1, tried)
    return entropy * F.softplus(output) - moved * output


def gumbel(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Gumbel noise: the largest of scores with it is a draw from their softmax."""
    return -torch.log(-torch.log(torch.rand(shape, generator=generator).clamp(min=1e-9)))


# ---- histories ------------------------------------------------------------------------------------------------------


def reveal(mask: Tensor, units: Tensor, queries: Tensor) -> Tensor:
    """(H, U + 1) masks after the queries (H, K), -1 for none; units: (Q + 1, W), U and the last row for none."""
    return mask.scatter(1, units[queries].flatten(1), 1.0)


def padded_units(inputs: Inputs) -> Tensor:
    """(Q + 1, W) the units of each query; the last row, which -1 picks, has none."""
    units = np.where(inputs.units < 0, inputs.n_units, inputs.units)
    return torch.as_tensor(np.concatenate([units, np.full((1, units.shape[1]), inputs.n_units)]))


def prefix_masks(inputs: Inputs, queries: Tensor) -> Tensor:
    """(B, K) queries, -1 for none -> (B, K + 1, U) what is revealed after the first 0, 1, ..., K of them."""
    n, k = queries.shape
    units = padded_units(inputs)[queries]  # (B, K, W)
    step = torch.arange(k).repeat_interleave(units.shape[2]).expand(n, -1)
    when = torch.full((n, inputs.n_units + 1), k, dtype=torch.int64)
    when = when.scatter_reduce(1, units.flatten(1), step, "amin")[:, :-1]
    return (when[:, None] < torch.arange(k + 1)[:, None]).to(torch.float32)


def asked_before(queries: Tensor, n: int) -> Tensor:
    """(H, K) queries, -1 for none -> (H, n) which of n queries they are."""
    asked = torch.zeros((len(queries), n + 1), dtype=torch.bool)
    return asked.scatter(1, queries.where(queries >= 0, torch.tensor(n)), True)[:, :-1]


@dataclass(frozen=True)
class QuerierTraining(Schedule):
    """How networks on histories are trained.

    epochs: None is 30, or as many as make 1,500 steps. learning_rate: the highest; it rises over the first tenth and
    falls to nothing at the end. max_queries: of a training history. random: share of the training on random histories.
    temperature: of the softmax that is passed straight through, at the beginning and the end. validation: share of the
    rows that are held out: for early stopping, and to calibrate the posterior. patience: epochs without a better
    validation loss before it stops. augmentation: of images, anew in every epoch. bfloat16: mixed precision in
    training, about twice as fast on processors that have it. checkpoint_every: seconds.
    """

    epochs: int | None = None
    learning_rate: float = 1e-3
    validation: float = 0.1
    max_queries: int = 12
    random: float = 0.3
    temperature: tuple[float, float] = (1.0, 0.2)
    bfloat16: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.max_queries, "max_queries", 1)
        for value in self.temperature:
            number(value, "temperature", above=0)
        number(self.random, "random", least=0, most=1)
        number(self.validation, "validation", above=0, below=1)

    def n_epochs(self, n_rows: int) -> int:
        """How many there are for so many rows."""
        if self.epochs is not None:
            return self.epochs
        return max(30, math.ceil(MIN_STEPS / math.ceil(n_rows / self.batch_size)))


@dataclass(frozen=True)
class Begun:
    """What is known of B inputs when their histories begin, (B, ...), and (B, Q) which queries count as asked; how many
    queries follow, and the share of them that is drawn instead of the best."""

    known: Tensor
    asked: Tensor
    n_steps: int
    explored: float = 0.0


class OwnHistories:
    """The histories of a network's own querier on labelled rows.

    known: (N, U) everything that may be revealed of each row. labels: (N,). objective: "score" trains a querier by
    variational information pursuit, "nats" a network of information gains. tutor: (H, F) features -> (H, C) class
    probabilities of other networks after the same histories, which are learnt beside the labels, whose share is
    label_weight (knowledge distillation on augmented inputs; Beyer et al., 2022).
    """

    scale, told = 1.0, TOLD

    def __init__(
        self,
        network: nn.Module,
        inputs: Inputs,
        known: Any,
        labels: IntArray,
        how: QuerierTraining,
        objective: Objective,
        tutor: Callable[[Tensor], Tensor] | None = None,
        label_weight: float = 1.0,
    ) -> None:
        self.tutor, self.label_weight = tutor, label_weight
        self.network, self.inputs, self.how, self.objective = network, inputs, how, objective
        self.known, self.labels = known, torch.as_tensor(labels)
        self.units = padded_units(inputs)
        self.n_steps = min(how.max_queries, len(inputs.units))
        dense = torch.zeros(len(self.units), inputs.n_units + 1).scatter_(1, self.units, 1.0)
        self._revealed = dense[:-1, :-1]  # (Q, U)

    def fingerprint(self) -> bytes:
        """Of data and objective."""
        some = np.linspace(0, len(self.known) - 1, min(len(self.known), 1000)).astype(int)
        return (
            np.ascontiguousarray(self.known[some]).tobytes() + self.labels.numpy().tobytes() + self.objective.encode()
        )

    def loss(self, rows: IntArray, share: float, generator: torch.Generator, *, asks: bool = True) -> Tensor:
        """The loss of some rows, at this share of the training; ``asks``: whether the choice of queries is trained."""
        features, labels = self.features(rows, generator), self.labels[rows]
        if asks and self.objective == "score":
            return self._straight_through(features, labels, share, generator)
        begun = self.start(len(features), share, generator)
        queries, log_p = self.ask(features, begun if asks else replace(begun, explored=0.0), generator)
        row, step = self._picked(begun, queries, generator)
        known = self.prefixes(features, begun, queries, row, step)
        logits, outputs = self.heads(features, row, known)
        loss = F.cross_entropy(logits, self.targets(features, row, known, labels[row]))
        goes = torch.nonzero(step < (queries >= 0).sum(1)[row])[:, 0]
        if not asks or not len(goes):
            return loss
        # the gain of the query that was asked next comes free: the posterior after it is known
        row, step, known, outputs = row[goes], step[goes], known.detach()[goes], outputs[goes]
        now = log_p[row, step]
        found = [gain_loss(outputs, queries[row, step, None], now, log_p[row, step + 1][:, None]).flatten()]
        earlier = queries[row].masked_fill(torch.arange(begun.n_steps) >= step[:, None], UNKNOWN)
        asked = begun.asked[row] | asked_before(earlier, begun.asked.shape[1])
        share_tried = LOOKED[asked.sum(1).clamp(max=2)]
        some = torch.nonzero(torch.rand(len(row), generator=generator) < share_tried)[:, 0]
        n = min(N_TRIED, asked.shape[1])
        if len(some):  # and of others that are drawn, as what is never tried would not be learnt
            row, known, asked, outputs, now = (each[some] for each in (row, known, asked, outputs, now))
            draws = outputs.detach() + gumbel(outputs.shape, generator)
            tried = draws.masked_fill(asked, -torch.inf).topk(n, dim=1).indices  # (H, n)
            with torch.no_grad():
                row, known = row.repeat_interleave(n), known.repeat_interleave(n, 0)
                logits, _ = self.heads(features, row, self.answered(features, row, known, tried.flatten()))
            then = torch.log_softmax(logits, dim=1).reshape(*tried.shape, -1)
            found.append(gain_loss(outputs, tried, now, then)[~asked.gather(1, tried)])
        return loss + torch.cat(found).mean()

    @torch.no_grad()
    def targets(self, features: Tensor, row: Tensor, known: Tensor, labels: Tensor) -> Tensor:
        """(H,) the labels, or (H, C) class probabilities: theirs and the tutor's, mixed."""
        if self.tutor is None:
            return labels
        with self._autocast():
            found = self.tutor(self._shown(features[row], known[:, :-1]))
        return torch.lerp(found, F.one_hot(labels, found.shape[1]).to(found.dtype), self.label_weight)

    @staticmethod
    def _picked(begun: Begun, queries: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Prefixes of histories that are learnt from: (H,) of which input, and how many of its queries (B, K)."""
        steps = torch.arange(queries.shape[1] + 1)
        there = steps <= (queries >= 0).sum(1, keepdim=True)
        kept = KEPT[(begun.asked.sum(1, keepdim=True) + steps).clamp(max=2)] * there
        kept = kept * (N_KEPT / kept.sum(1, keepdim=True)).clamp(max=1)
        picks = torch.rand(there.shape, generator=generator) < kept
        picks[0, 0] = True  # not nothing
        row, step = torch.nonzero(picks, as_tuple=True)
        return row, step

    @torch.no_grad()
    def ask(self, features: Tensor, begun: Begun, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Histories of the network's own: (B, K) queries, -1 after the end, and (B, K + 1, C) log p(y | history).

        Drawn queries are drawn from softmax(outputs). With a generator, most of those that are confident end; without
        one, all go on, and nothing is drawn.
        """
        row, known, asked = torch.arange(len(features)), begun.known, begun.asked
        queries, found = torch.full((len(row), begun.n_steps), UNKNOWN), list[Tensor]()
        for step in range(begun.n_steps + 1):
            logits, outputs = self.heads(features, row, known)
            found.append(torch.zeros(len(features), logits.shape[1]))
            found[-1][row] = torch.log_softmax(logits, dim=1)
            if step == begun.n_steps:
                break
            going = ~asked.all(1)
            if generator is not None:
                going &= self._going(logits, generator)
            row, known, asked, outputs = (each[going] for each in (row, known, asked, outputs))
            if generator is not None:
                draws = torch.nonzero(torch.rand(len(row), generator=generator) < begun.explored)[:, 0]
                outputs[draws] += gumbel(outputs[draws].shape, generator)
            query = outputs.masked_fill(asked, -torch.inf).argmax(1) if len(row) else row
            queries[row, step] = query
            known, asked = self.answered(features, row, known, query), asked.scatter(1, query[:, None], True)
        return queries, torch.stack(found, dim=1)

    # ---- what is known of an input: here the mask of its units

    def answered(self, features: Tensor, row: Tensor, known: Tensor, query: Tensor) -> Tensor:
        """What is known of inputs ``row`` after one more query of each, (H,)."""
        return reveal(known, self.units, query[:, None])

    def heads(self, features: Tensor, row: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """(H, C) class logits and (H, Q) utilities of inputs ``row``, of which (H, U + 1) is known."""
        return self.see(features[row], known[:, :-1])

    def prefixes(self, features: Tensor, begun: Begun, queries: Tensor, row: Tensor, step: Tensor) -> Tensor:
        """What is known of inputs ``row`` after the first ``step`` queries of each, (H,)."""
        return torch.maximum(begun.known[row], F.pad(prefix_masks(self.inputs, queries)[row, step], (0, 1)))

    def _straight_through(self, features: Tensor, labels: Tensor, share: float, generator: torch.Generator) -> Tensor:
        """The loss of variational information pursuit: each choice is hard, and its gradient that of a soft one."""
        begun = self.start(len(features), share, generator)
        mask, asked = begun.known, begun.asked
        hot, cold = self.how.temperature
        tau = hot * (cold / hot) ** share
        logits, outputs = self.see(features, mask[:, :-1])
        total, n = F.cross_entropy(logits, labels, reduction="sum"), len(features)
        for _ in range(1 if share < self.how.random else self.n_steps):
            left = torch.nonzero(self._going(logits.detach(), generator) & ~asked.all(1))[:, 0]
            if not len(left):
                break
            features, labels, mask, asked = (each[left] for each in (features, labels, mask, asked))
            scores = outputs[left].masked_fill(asked, -torch.inf)
            scores = scores + tau * gumbel(scores.shape, generator)  # a draw from softmax(scores / tau)
            query = scores.argmax(1, keepdim=True)
            p = torch.softmax(scores / tau, dim=1)
            after = reveal(mask, self.units, query)
            seen = after[:, :-1] + (1 - mask[:, :-1]) * ((p - p.detach()) @ self._revealed)
            logits, outputs = self.see(features, seen)
            total = total + F.cross_entropy(logits, labels, reduction="sum")
            n += len(left)
            mask, asked = after, asked.scatter(1, query, True)
        return total / n

    def _going(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """(H,) the histories that go on: few of those that are confident."""
        sure = torch.softmax(logits, dim=1).amax(1) > CONFIDENT
        return ~(sure & (torch.rand(len(logits), generator=generator) < LEAVING))

    def features(self, rows: IntArray, generator: torch.Generator | None = None) -> Tensor:
        """(B, F) the features of some rows, all of them known; augmented in training."""
        return self.encode(self.values(rows, generator))

    def values(self, rows: IntArray, generator: torch.Generator | None = None) -> Tensor:
        """(B, U) everything that may be revealed of some rows; augmented in training."""
        values = torch.as_tensor(self.known[rows])
        if self.how.augmentation is None or generator is None or not self.network.training:
            return values
        return self.how.augmentation.apply(values, self.inputs.shape, generator)  # type: ignore[arg-type]

    def encode(self, values: Tensor) -> Tensor:
        """(B, U) -> (B, F)."""
        features = self.inputs.encode(values)
        return features.bfloat16() if self.how.bfloat16 and self.network.training else features

    def see(self, features: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """(H, C) class logits and (H, Q) utilities, of features (H, F) of which the units (H, U) are known."""
        with self._autocast():
            logits, outputs = self.network(self._shown(features, mask))
        return logits.float().cpu(), outputs.float().cpu()

    def _shown(self, features: Tensor, mask: Tensor) -> Tensor:
        return (features * self.inputs.spread(mask.to(features.dtype))).to(device_of(self.network))

    def _autocast(self) -> Any:
        device = device_of(self.network).type
        low = self.how.bfloat16 and (self.network.training or torch.is_autocast_enabled(device))
        return torch.autocast(device, torch.bfloat16, enabled=low)

    def start(self, n: int, share: float, generator: torch.Generator) -> Begun:
        """Random histories at first, of any length, as a network learns from long ones what it then needs for short
        ones; later few of them, so that what is known beforehand is no surprise."""
        n_queries, most = len(self.inputs.units), self.n_steps
        draws = torch.rand(n, generator=generator)
        if share < self.how.random:
            most = n_queries
            length = (n_queries + 1) ** draws - 1  # log-uniform
        else:
            length = draws**2 * (most + 1) * (torch.rand(n, generator=generator) < 0.1)
        order = torch.rand((n, n_queries), generator=generator).argsort(1)[:, :most]
        order = order.masked_fill(torch.arange(most) >= length.long()[:, None], UNKNOWN)
        known = reveal(self.nothing(n).known, self.units, order)
        n_steps = 1 if share < self.how.random else self.n_steps
        return Begun(known, asked_before(order, n_queries), n_steps, EXPLORED)

    def nothing(self, n: int) -> Begun:
        """Nothing is known."""
        asked = torch.zeros(n, len(self.inputs.units), dtype=torch.bool)
        return Begun(torch.zeros(n, self.inputs.n_units + 1), asked, self.n_steps)

    @torch.no_grad()
    def validate(self, rows: IntArray) -> tuple[float, float]:
        """Log loss after every query of the network's own histories, in nats, and accuracy at their end. None of them
        ends early: the loss of training is that of the histories that go on, which are the harder the better it is."""
        log_p = self.rollout(rows)
        loss = F.nll_loss(log_p.flatten(0, 1), self.labels[rows].repeat_interleave(log_p.shape[1]))
        return float(loss), float((log_p[:, -1].argmax(1) == self.labels[rows]).double().mean())

    def rollout(self, rows: IntArray, at_a_time: int = 500) -> Tensor:
        """(B, K + 1, C) log p(y | history) after each query of the querier's own histories."""
        parts = (self.features(rows[i : i + at_a_time]) for i in range(0, len(rows), at_a_time))
        return torch.cat([self.ask(each, self.nothing(len(each)))[1] for each in parts])


# ---- training -------------------------------------------------------------------------------------------------------


def fit_network(
    network: nn.Module,
    lessons: Lessons,
    n_rows: int,
    how: QuerierTraining,
    *,
    groups: IntArray | None = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> tuple[list[Epoch], IntArray]:
    """Train a network; returns what each epoch came to and the rows that were held out.

    groups: (n_rows,) rows of the same group are held out together, see `held_out_split`. checkpoint: a file from which
    training goes on if it is there, and which is written as it goes.
    """
    if n_rows < 2:
        raise ValueError(f"X has {n_rows} rows, too few to hold any out; give more rows")
    held_out, learn = rows = held_out_split(n_rows, how, 1, groups)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=how.learning_rate, betas=(0.9, 0.99), weight_decay=WEIGHT_DECAY, fused=True
    )
    history = run_training(
        network,
        optimizer,
        lessons,
        rows,
        how,
        how.n_epochs(len(learn)),
        settled=how.random,
        checkpoint=checkpoint,
        progress=progress,
        say=say,
    )
    return history, held_out
