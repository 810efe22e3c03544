"""Amortised querying: a classifier and a querier on histories, and how they are trained.

*Variational information pursuit* (Chattopadhyay et al., 2023): the querier picks the query whose answer makes the
classifier most accurate; gradients pass its choice straight through, by a softmax whose temperature falls. *Gains*
(Gadgil et al., 2024, who build on Covert et al., 2023): the second network estimates the mutual information of the
class and each answer, by regression on how far an answer moves the posterior. *Imitation*: both networks learn from the
choices and posteriors of another pursuit. Histories are random at first, then those of the network itself.

What is known of an input is a set of *units* (U of them): variables, or whole queries. A network sees F features of the
known units, and 0 where nothing is known.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from infopursuit.checks import number, whole_number
from infopursuit.models.architectures import ChannelsLast, Residual, initialise
from infopursuit.models.training import Epoch, Schedule, held_out_split, run_training
from infopursuit.types import UNKNOWN, FloatArray, IntArray

logger = logging.getLogger(__name__)

Objective = Literal["score", "nats"]
CONFIDENT, LEAVING = 0.995, 0.8
"""A training history above this confidence ends with this probability: few pursuits go on from there."""
MIN_STEPS = 1_500
"""Of the optimiser, where the number of epochs is not given."""
WEIGHT_DECAY = 0.01
TOLD = "loss {:.4f} training, {:.4f} validation, {:.2f} % right"
KEPT, LOOKED = torch.tensor((0.1, 0.4, 0.6)), torch.tensor((1.0, 0.5, 0.25))
"""Share of the histories with 0, 1 and more queries that is looked at in an epoch: the first ones are few and soon
learnt, and neighbouring ones of one input teach much the same. And the share of these on which gains are learnt."""
EXPLORED, N_TRIED = 0.15, 8
"""Share of random queries in the histories on which gains are learnt; and of how many queries they are in each."""


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
    found = network.eval()(torch.zeros(2, inputs.n_features))
    for name, output, n in zip(("classifier", "querier"), found, (n_classes, len(inputs.units)), strict=True):
        if output.shape != (2, n):
            raise ValueError(f"{name} gives shape {tuple(output.shape)} for 2 histories; expected (2, {n})")
    return network


def gains(logits: Tensor, outputs: Tensor) -> Tensor:
    """(H, Q) information gains: a share of the entropy of the class, between none and all of it."""
    log_p = torch.log_softmax(logits, dim=1)
    entropy = -(log_p.exp() * log_p).sum(1, keepdim=True)
    return entropy * torch.sigmoid(outputs)


def gain_loss(outputs: Tensor, tried: Tensor, before: Tensor, after: Tensor) -> Tensor:
    """(H, n) the loss of the gains of queries (H, n).

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


class OwnHistories:
    """The histories of a network's own querier on labelled rows.

    known: (N, U) everything that may be revealed of each row. labels: (N,). objective: "score" trains a querier by
    variational information pursuit, "nats" a network of information gains.
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
    ) -> None:
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
        row, mask, asked = self._histories(features, share, EXPLORED if asks else 0.0, generator)
        logits, outputs = self.see(features[row], mask[:, :-1])
        loss = F.cross_entropy(logits, labels[row])
        looked = torch.rand(len(row), generator=generator) < LOOKED[asked.sum(1).clamp(max=2)]
        some = torch.nonzero(looked & ~asked.all(1))[:, 0]
        if asks and len(some):
            log_p = torch.log_softmax(logits.detach()[some], dim=1)
            loss = loss + self._gain_loss(features[row[some]], mask[some], asked[some], log_p, outputs[some], generator)
        return loss

    @torch.no_grad()
    def _histories(
        self, features: Tensor, share: float, explored: float, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Some histories of the network's own, a share ``explored`` of whose queries is random: (H,) of which input,
        (H, U + 1) what is known, (H, Q) what was asked."""
        mask, asked = self.start(len(features), share, generator)
        row, found = torch.arange(len(features)), list[tuple[Tensor, Tensor, Tensor]]()
        n_steps = 1 if share < self.how.random else self.n_steps
        for step in range(n_steps + 1):
            keeps = torch.rand(len(row), generator=generator) < KEPT[asked.sum(1).clamp(max=2)]
            keeps[:1] |= not found  # not nothing
            found.append((row[keeps], mask[keeps], asked[keeps]))
            if step == n_steps:
                break
            logits, outputs = self.see(features[row], mask[:, :-1])
            going = torch.nonzero(self._going(logits, generator) & ~asked.all(1))[:, 0]
            row, mask, asked, outputs = (each[going] for each in (row, mask, asked, outputs))
            query = outputs.masked_fill(asked, -torch.inf).argmax(1) if len(row) else row
            random = torch.rand(asked.shape, generator=generator).masked_fill(asked, -1.0).argmax(1)
            query = torch.where(torch.rand(len(row), generator=generator) < explored, random, query)
            mask, asked = reveal(mask, self.units, query[:, None]), asked.scatter(1, query[:, None], True)
        first, second, third = (torch.cat(each) for each in zip(*found, strict=True))
        return first, second, third

    def _gain_loss(
        self,
        features: Tensor,
        mask: Tensor,
        asked: Tensor,
        log_p: Tensor,
        outputs: Tensor,
        generator: torch.Generator,
    ) -> Tensor:
        """The loss of the gains of a few queries: of those that seem best, and of random ones, as what is never tried
        would not be learnt."""
        n = min(N_TRIED, asked.shape[1])
        best = outputs.detach().masked_fill(asked, -torch.inf).topk(n // 2, dim=1).indices
        draws = torch.rand(asked.shape, generator=generator).masked_fill(asked, -1.0).scatter(1, best, -1.0)
        tried = torch.cat([best, draws.topk(n - n // 2, dim=1).indices], dim=1)  # (H, n)
        with torch.no_grad():
            after = reveal(mask.repeat_interleave(n, 0), self.units, tried.reshape(-1, 1))
            logits, _ = self.see(features.repeat_interleave(n, 0), after[:, :-1])
            now = torch.log_softmax(logits, dim=1).reshape(len(mask), n, -1)
        return gain_loss(outputs, tried, log_p, now)[~asked.gather(1, tried)].mean()

    def _straight_through(self, features: Tensor, labels: Tensor, share: float, generator: torch.Generator) -> Tensor:
        """The loss of variational information pursuit: each choice is hard, and its gradient that of a soft one."""
        mask, asked = self.start(len(features), share, generator)
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

    def features(self, rows: IntArray, generator: torch.Generator) -> Tensor:
        """(B, F) the features of some rows, all of them known; augmented in training."""
        known = torch.as_tensor(self.known[rows])
        if self.how.augmentation is not None and self.network.training:
            known = self.how.augmentation.apply(known, self.inputs.shape, generator)  # type: ignore[arg-type]
        features = self.inputs.encode(known)
        return features.bfloat16() if self.how.bfloat16 and self.network.training else features

    def see(self, features: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """(H, C) class logits and (H, Q) utilities, of features (H, F) of which the units (H, U) are known."""
        low = self.how.bfloat16 and self.network.training
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            logits, outputs = self.network(features * self.inputs.spread(mask.to(features.dtype)))
        return logits.float(), outputs.float()

    def start(self, n: int, share: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(B, U + 1) and (B, Q): what is known and asked before. Random histories at first, of any length, as a network
        learns from long ones what it then needs for short ones; later few of them, so that what is known beforehand is
        no surprise."""
        n_queries, most = len(self.inputs.units), self.n_steps
        draws = torch.rand(n, generator=generator)
        if share < self.how.random:
            most = n_queries
            length = (n_queries + 1) ** draws - 1  # log-uniform
        else:
            length = draws**2 * (most + 1) * (torch.rand(n, generator=generator) < 0.1)
        order = torch.rand((n, n_queries), generator=generator).argsort(1)[:, :most]
        order = order.masked_fill(torch.arange(most) >= length.long()[:, None], UNKNOWN)
        asked = torch.zeros((n, n_queries + 1), dtype=torch.bool)
        asked = asked.scatter(1, order.where(order >= 0, torch.tensor(n_queries)), True)[:, :-1]
        return reveal(torch.zeros(n, self.inputs.n_units + 1), self.units, order), asked

    @torch.no_grad()
    def validate(self, rows: IntArray) -> tuple[float, float]:
        """Log loss after every query of the network's own histories, in nats, and accuracy at their end; for gains the
        loss of training."""
        log_p = self.rollout(rows)
        loss = F.nll_loss(log_p.flatten(0, 1), self.labels[rows].repeat_interleave(log_p.shape[1]))
        if self.objective == "nats":
            loss = self.loss(rows, 1.0, torch.Generator().manual_seed(0))
        return float(loss), float((log_p[:, -1].argmax(1) == self.labels[rows]).double().mean())

    @torch.no_grad()
    def rollout(self, rows: IntArray, at_a_time: int = 500) -> Tensor:
        """(B, K + 1, C) log p(y | history) after each query of the querier's own histories."""
        found = []
        for start in range(0, len(rows), at_a_time):
            features = self.inputs.encode(self.known[rows[start : start + at_a_time]])
            mask = torch.zeros(len(features), self.inputs.n_units + 1)
            asked = torch.zeros(len(features), len(self.inputs.units), dtype=torch.bool)
            steps = []
            for _ in range(self.n_steps + 1):
                logits, outputs = self.see(features, mask[:, :-1])
                query = outputs.masked_fill(asked, -torch.inf).argmax(1, keepdim=True)
                mask, asked = reveal(mask, self.units, query), asked.scatter(1, query, True)
                steps.append(torch.log_softmax(logits, dim=1))
            found.append(torch.stack(steps, dim=1))
        return torch.cat(found)


@dataclass(frozen=True)
class Demonstrations:
    """What another pursuit did about N inputs.

    queries: (N, K) what it asked, -1 after its end. posterior: (N, K + 1, C). top_queries, top_gains: (N, K, T) its T
    best queries at each step with their gains, -1 for none.
    """

    queries: IntArray
    posterior: FloatArray
    top_queries: IntArray
    top_gains: FloatArray


class Imitation:
    """A student of demonstrations: soft targets are softmax(gains / (temperature largest gain)), and the teacher's
    posterior, mixed with the labels. With labels the student also learns to classify from its own histories.

    label_weight: of the labels in what the posterior is to be. own_share: of the rows of which own histories are used.
    n_histories: of each row that are looked at in an epoch, on average; None is as `KEPT` has it. asks: whether what to
    ask is learnt, too. Augmentation moves what is known and what is not together, in half of the demonstrated
    histories, or in most of them where what to ask is not learnt.
    """

    scale, told = 1.0, TOLD

    def __init__(
        self,
        own: OwnHistories,
        demonstrations: Demonstrations,
        temperature: float,
        label_weight: float,
        own_share: float = 0.0,
        n_histories: float | None = None,
        asks: bool = True,
    ) -> None:
        self.own, self.shown, self.temperature, self.asks = own, demonstrations, temperature, asks
        self.label_weight, self.own_share, self.n_histories = label_weight, own_share, n_histories

    def fingerprint(self) -> bytes:
        """Of data and settings."""
        shown = self.shown.queries[:1000].tobytes() + self.shown.posterior[:1000].tobytes()
        settings = f"{self.temperature} {self.label_weight} {self.own_share} {self.n_histories} {self.asks}"
        return self.own.fingerprint() + shown + settings.encode()

    def loss(self, rows: IntArray, share: float, generator: torch.Generator) -> Tensor:
        """The loss of some rows, at this share of the training."""
        found = sum(self._parts(rows, generator)[:2])
        mine = rows[(torch.rand(len(rows), generator=generator) < self.own_share).numpy()]
        if len(mine):
            found = found + self.own.loss(mine, 1.0, generator, asks=False)
        return torch.as_tensor(found)

    def validate(self, rows: IntArray) -> tuple[float, float]:
        """Loss of the imitation, and the share of histories with the same label."""
        with torch.no_grad():
            parts = [self._parts(rows[i : i + 200]) for i in range(0, len(rows), 200)]
            sizes = torch.tensor([min(200, len(rows) - i) for i in range(0, len(rows), 200)], dtype=torch.float32)
        classes, queries, same = (torch.stack(each) @ sizes / sizes.sum() for each in zip(*parts, strict=True))
        return float(classes + queries), float(same)

    def _parts(self, rows: IntArray, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Loss of the posterior, loss of the queries, and the share of the same labels, over all histories; with a
        generator over some: neighbouring steps of one input teach much the same."""
        own, shown = self.own, self.shown
        queries = torch.as_tensor(shown.queries[rows], dtype=torch.int64)
        length = (queries >= 0).sum(1)
        masks = prefix_masks(own.inputs, queries)  # (B, K + 1, U)
        there = torch.arange(masks.shape[1]) <= length[:, None]
        if generator is not None:
            kept = KEPT[torch.arange(masks.shape[1]).clamp(max=2)].expand(len(rows), -1)
            if self.n_histories is not None:
                kept = kept * (self.n_histories / (kept * there).sum(1, keepdim=True))
            there &= torch.rand(there.shape, generator=generator) < kept
            there[0, 0] = True  # not nothing
        row, step = torch.nonzero(there, as_tuple=True)
        moved = torch.zeros(len(row), dtype=torch.bool)
        if generator is not None and own.how.augmentation is not None:
            moved = torch.rand(len(row), generator=generator) < (0.5 if self.asks else 0.8)
        logits, outputs = self._see(rows, row, masks[row, step], moved, generator)
        teacher = torch.as_tensor(shown.posterior[rows], dtype=torch.float32)[row, step]
        wanted = teacher
        if self.label_weight:
            truth = F.one_hot(own.labels[rows], logits.shape[1])[row]
            wanted = (1 - self.label_weight) * teacher + self.label_weight * truth
        classes = F.cross_entropy(logits, wanted)
        same = (logits.argmax(1) == teacher.argmax(1)).float().mean()
        if not self.asks:
            return classes, torch.zeros(()), same
        asks = torch.nonzero((step < length[row]) & ~moved)[:, 0]
        best = torch.as_tensor(shown.top_queries[rows], dtype=torch.int64)[row[asks], step[asks]]  # (H, T)
        gain = torch.as_tensor(shown.top_gains[rows], dtype=torch.float32)[row[asks], step[asks]]
        scale = self.temperature * gain.max(1, keepdim=True).values.clamp(min=1e-9)
        target = torch.softmax((gain / scale).masked_fill(best < 0, -torch.inf), dim=1)
        log_p = torch.log_softmax(outputs[asks], dim=1).gather(1, best.clamp(min=0))
        return classes, -(target * log_p).sum() / max(len(asks), 1), same

    def _see(
        self, rows: IntArray, row: Tensor, mask: Tensor, moved: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """What the network says after histories of some rows, of which (H,) some are augmented."""
        own = self.own
        if not moved.any():
            return own.see(own.inputs.encode(own.known[rows])[row], mask)
        known = torch.as_tensor(own.known[rows])[row].masked_fill(mask == 0, UNKNOWN)
        affine, shape = own.how.augmentation, own.inputs.shape
        known[moved] = affine.apply(known[moved], shape, generator, masked=True)  # type: ignore[union-attr, arg-type]
        features = own.inputs.encode(known)
        return own.see(features.bfloat16() if own.how.bfloat16 else features, torch.ones_like(mask))


# ---- training -------------------------------------------------------------------------------------------------------


def fit_network(
    network: nn.Module,
    lessons: OwnHistories | Imitation,
    n_rows: int,
    how: QuerierTraining,
    *,
    checkpoint: Any = None,
    progress: bool | None = None,
    say: Callable[[str], None] = logger.info,
) -> tuple[list[Epoch], IntArray]:
    """Train a network; returns what each epoch came to and the rows that were held out.

    checkpoint: a file from which training goes on if it is there, and which is written as it goes.
    """
    if n_rows < 2:
        raise ValueError(f"X has {n_rows} rows, too few to hold any out; give more rows")
    held_out, learn = rows = held_out_split(n_rows, how, 1)
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
