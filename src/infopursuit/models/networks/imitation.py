"""Networks that learn from the histories of another pursuit: imitation of what it did, and its second opinion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from infopursuit.models.networks.amortized import KEPT, TOLD, OwnHistories, QuerierTraining, prefix_masks
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

MATTERS = 0.1
"""Nats of the teacher's largest gain from which on its choice is imitated in full; less counts in proportion."""


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
    n_histories: of each row that are looked at in an epoch, on average; None is as `KEPT` has it. Augmentation moves
    what is known and what is not together, in half of the demonstrated histories.
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
    ) -> None:
        self.own, self.shown, self.temperature = own, demonstrations, temperature
        self.label_weight, self.own_share, self.n_histories = label_weight, own_share, n_histories

    def fingerprint(self) -> bytes:
        """Of data and settings."""
        shown = self.shown.queries[:1000].tobytes() + self.shown.posterior[:1000].tobytes()
        settings = (
            f"{self.temperature} {self.label_weight} {self.own_share} {self.n_histories} {self.own.tutor is not None}"
        )
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
            moved = torch.rand(len(row), generator=generator) < 0.5
        logits, outputs = self._see(rows, row, masks[row, step], moved, generator)
        teacher = torch.as_tensor(shown.posterior[rows], dtype=torch.float32)[row, step]
        wanted = teacher
        if self.label_weight:
            truth = F.one_hot(own.labels[rows], logits.shape[1])[row]
            wanted = (1 - self.label_weight) * teacher + self.label_weight * truth
        classes = F.cross_entropy(logits, wanted)
        same = (logits.argmax(1) == teacher.argmax(1)).float().mean()
        asks = torch.nonzero((step < length[row]) & ~moved)[:, 0]
        best = torch.as_tensor(shown.top_queries[rows], dtype=torch.int64)[row[asks], step[asks]]  # (H, T)
        gain = torch.as_tensor(shown.top_gains[rows], dtype=torch.float32)[row[asks], step[asks]]
        largest = gain.max(1, keepdim=True).values.clamp(min=1e-9)
        target = torch.softmax((gain / (self.temperature * largest)).masked_fill(best < 0, -torch.inf), dim=1)
        log_p = torch.log_softmax(outputs[asks], dim=1).gather(1, best.clamp(min=0))
        weight = (largest / MATTERS).clamp(max=1)  # where nothing tells much, it does not matter what is asked
        return classes, -(weight * target * log_p).sum() / weight.sum().clamp(min=1e-9), same

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


class Followed(OwnHistories):
    """The histories of another querier, from which a network learns to classify. What to ask is not learnt.

    Inputs are augmented, and asked about, anew in every epoch. asker: the other querier's histories of the same rows.
    """

    def __init__(self, network: nn.Module, inputs: Any, known: Any, asker: OwnHistories, how: QuerierTraining) -> None:
        super().__init__(network, inputs, known, asker.labels.numpy(), how, "score")
        self.asker = asker

    def fingerprint(self) -> bytes:
        """Of data and of who asks."""
        return super().fingerprint() + next(self.asker.network.parameters()).detach().cpu().numpy().tobytes()

    def loss(self, rows: IntArray, share: float, generator: torch.Generator, *, asks: bool = False) -> Tensor:
        """The loss of some rows, at this share of the training."""
        values, begun = self.values(rows, generator), self.nothing(len(rows))
        with self._autocast():
            queries, _ = self.asker.ask(self.asker.encode(values), self.asker.nothing(len(rows)), generator)
        row, step = self._picked(begun, queries, generator)
        features = self.encode(values)
        logits, _ = self.heads(features, row, self.prefixes(features, begun, queries, row, step))
        return F.cross_entropy(logits, self.labels[rows][row])

    @torch.no_grad()
    def rollout(self, rows: IntArray, at_a_time: int = 100) -> Tensor:
        """(B, K + 1, C) log p(y | history) after each query of the other querier."""
        found = []
        for i in range(0, len(rows), at_a_time):
            values = self.values(rows[i : i + at_a_time])
            n, features = len(values), self.encode(values)
            queries, _ = self.asker.ask(self.asker.encode(values), self.asker.nothing(n))
            row, step = torch.arange(n), torch.arange(queries.shape[1] + 1)
            row, step = row.repeat_interleave(len(step)), step.repeat(n)
            known = self.prefixes(features, self.nothing(n), queries, row, step)
            logits, _ = self.heads(features, row, known)
            found.append(torch.log_softmax(logits, dim=1).reshape(n, -1, logits.shape[1]))
        return torch.cat(found)
