"""A network on the set of answers (deep sets, Zaheer et al., 2017), and how it learns information gains.

Each answer is encoded alone, by layers that all queries share, and multiplied with the matrix of its query; the sum
over answers goes through further layers. A history has few answers, so that a pass costs little however many queries
there are, one more answer is one more term, and all prefixes of a history are one cumulative sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from infopursuit.models.amortized import EXPLORED, Inputs, OwnHistories, Trunk, gain_loss, gumbel
from infopursuit.models.architectures import initialise
from infopursuit.types import IntArray

SETTLED = 0.08
"""Share of the training in which the share of drawn queries, instead of the best, falls from all to EXPLORED."""
FIRST, N_KEPT, LOOKED, N_TRIED = 0.2, 5, 0.4, 2
"""Share of the empty histories that are learnt from, and how many of the longer prefixes of a history, on average:
neighbours teach much the same. Share of these in which other queries than the one asked are tried, and how many."""
N_PLANES = 3


class DeepSets(nn.Module):
    """(H, U + Q) the values of the variables, and 1 for each query that was answered -> (H, C) class logits and (H, Q)
    utilities. A value goes in as a number from -1 to 1, and whether it is the least or the largest there is."""

    units: Tensor
    tops: Tensor
    there: Tensor

    def __init__(self, trunk: Trunk, inputs: Inputs, n_classes: int) -> None:
        super().__init__()
        self.settings = trunk
        n, width = inputs.units.shape
        sizes = np.asarray(inputs.queries.variables.sizes)  # type: ignore[attr-defined]
        self.register_buffer("units", torch.as_tensor(inputs.units).clamp(min=0), persistent=False)
        self.register_buffer("tops", torch.as_tensor(sizes - 1)[self.units], persistent=False)
        self.register_buffer("there", torch.as_tensor(inputs.units >= 0), persistent=False)
        self.n_units = inputs.n_units
        self.answer = _layers(N_PLANES * width, *trunk.answer)[:-1]
        self.weight = nn.Parameter(torch.zeros(n, trunk.answer[-1], trunk.hidden[0]))
        self.bias = nn.Parameter(torch.zeros(trunk.hidden[0]))
        self.layers = nn.Sequential(nn.ReLU(), *_layers(*trunk.hidden))
        self.classify = nn.Linear(trunk.hidden[-1], n_classes)
        self.query = nn.Linear(trunk.hidden[-1], n)

    def initialised(self, seed: int) -> DeepSets:
        """The same with fresh weights; those of the queries are for sums of ten answers."""
        generator = torch.Generator().manual_seed(seed)
        initialise(self, generator)
        with torch.no_grad():
            self.weight.normal_(0, math.sqrt(2 / (10 * self.weight.shape[1])), generator=generator)
            self.query.weight.mul_(0.1)  # at first every query is as good as any
        return self

    def matrices(self) -> Sequence[Tensor]:
        """(Q) x (E, D)."""
        return self.weight.unbind(0)

    def terms(self, values: Tensor, row: Tensor, query: Tensor, matrices: Sequence[Tensor]) -> Tensor:
        """(T, D) what the answers of inputs ``row`` to ``query`` add; values: (H, at least U)."""
        query, order = query.sort()  # one product for each query
        units, top, there = self.units[query], self.tops[query], self.there[query]  # (T, W)
        value = values[row[order, None], units]
        planes = torch.stack([2 * value / top - 1, (value == 0).float(), (value == top).float()], dim=2)
        encoded = self.answer((planes * there[..., None]).flatten(1)).float()
        which, counts = torch.unique_consecutive(query, return_counts=True)
        with torch.autocast("cpu", enabled=False):  # many small products of many shapes are slow in bfloat16
            groups = zip(encoded.split(counts.tolist()), which.tolist(), strict=True)
            parts = [part @ matrices[i] for part, i in groups]
        back = torch.empty_like(order).scatter_(0, order, torch.arange(len(order)))
        return torch.cat([*parts, encoded.new_zeros(0, self.weight.shape[2])])[back]

    def heads(self, sums: Tensor) -> tuple[Tensor, Tensor]:
        """(H, C) and (H, Q), of sums (H, D)."""
        seen = self.layers(sums)
        return self.classify(seen).float(), self.query(seen).float()

    def forward(self, known: Tensor) -> tuple[Tensor, Tensor]:
        row, query = torch.nonzero(known[:, self.n_units :] > 0, as_tuple=True)
        sums = self.bias.expand(len(known), -1)
        return self.heads(sums.index_add(0, row, self.terms(known, row, query, self.matrices())))


class AnswerSets(OwnHistories):
    """The histories of a `DeepSets`' own querier, from which it learns classes and information gains.

    Histories are asked without gradients; then some of their prefixes are learnt from. The gain of the next query that
    was asked comes with the history, as the posterior after it is known; those of a few others are tried.
    """

    network: DeepSets

    def loss(self, rows: IntArray, share: float, generator: torch.Generator, *, asks: bool = True) -> Tensor:
        """The loss of some rows, at this share of the training; ``asks``: whether the choice of queries is trained."""
        values, labels, network = self.features(rows, generator), self.labels[rows], self.network
        n, k = len(values), self.n_steps
        with torch.autocast("cpu", torch.bfloat16, enabled=self.how.bfloat16 and network.training):
            queries, log_p, asked = self._ask(values, max(EXPLORED, 1 - share / SETTLED), generator)
            matrices = network.matrices()
            # terms: (B, K, D); sums: (B, K + 1, D)
            terms = network.terms(values, torch.arange(n).repeat_interleave(k), queries.flatten(), matrices)
            sums = F.pad(terms.reshape(n, k, -1).cumsum(1), (0, 0, 1, 0)) + network.bias
            kept = torch.tensor([FIRST] + k * [N_KEPT / k])
            picks = torch.rand((n, k + 1), generator=generator) < kept
            picks[0, 0] = True  # not nothing
            row, step = torch.nonzero(picks, as_tuple=True)
            sums = sums[row, step]
            logits, outputs = network.heads(sums)
            loss = F.cross_entropy(logits, labels[row])
            goes = torch.nonzero(step < k)[:, 0]
            if not asks or not len(goes):
                return loss
            row, step, sums, outputs = row[goes], step[goes], sums.detach()[goes], outputs[goes]
            now, after = log_p[row, step], log_p[row, step + 1]
            found = [gain_loss(outputs, queries[row, step, None], now, after[:, None])]
            some = torch.nonzero(torch.rand(len(row), generator=generator) < LOOKED)[:, 0]
            m = min(N_TRIED, len(matrices) - k)
            if m > 0 and len(some):
                row, sums, outputs, now = row[some], sums[some], outputs[some], now[some]
                draws = outputs.detach() + gumbel(outputs.shape, generator)
                tried = draws.masked_fill(asked[row, step[some]], -torch.inf).topk(m, dim=1).indices  # (H, m)
                with torch.no_grad():
                    more = network.terms(values, row.repeat_interleave(m), tried.flatten(), matrices)
                    logits, _ = network.heads(sums.repeat_interleave(m, 0) + more)
                    after = torch.log_softmax(logits, dim=1).reshape(len(row), m, -1)
                found.append(gain_loss(outputs, tried, now, after))
        return loss + torch.cat([each.flatten() for each in found]).mean()

    @torch.no_grad()
    def _ask(self, values: Tensor, explored: float, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Histories of the network's own, a share ``explored`` of whose queries is drawn: (B, K) queries, (B, K + 1, C)
        log p(y | history), (B, K + 1, Q) what was asked before."""
        n, network, matrices = len(values), self.network, self.network.matrices()
        here, sums = torch.arange(n), network.bias.expand(n, -1)
        asked = torch.zeros(n, self.n_steps + 1, len(matrices), dtype=torch.bool)
        queries, found = torch.empty(n, self.n_steps, dtype=torch.int64), list[Tensor]()
        for step in range(self.n_steps + 1):
            logits, outputs = network.heads(sums)
            found.append(torch.log_softmax(logits, dim=1))
            if step == self.n_steps:
                break
            draws = torch.nonzero(torch.rand(n, generator=generator) < explored)[:, 0]
            if len(draws):
                outputs[draws] += gumbel(outputs[draws].shape, generator)
            query = outputs.masked_fill(asked[:, step], -torch.inf).argmax(1)
            queries[:, step], asked[:, step + 1] = query, asked[:, step].scatter(1, query[:, None], True)
            sums = sums + network.terms(values, here, query, matrices)
        return queries, torch.stack(found, dim=1), asked

    def features(self, rows: IntArray, generator: torch.Generator) -> Tensor:
        """(B, U) the values of some rows; augmented in training."""
        values = torch.as_tensor(self.known[rows][:, : self.inputs.n_units])
        if self.how.augmentation is not None and self.network.training:
            values = self.how.augmentation.apply(values, self.inputs.shape, generator)  # type: ignore[arg-type]
        return values

    @torch.no_grad()
    def rollout(self, rows: IntArray, at_a_time: int = 500) -> Tensor:
        """(B, K + 1, C) log p(y | history) after each query of the querier's own histories."""
        parts = [rows[start : start + at_a_time] for start in range(0, len(rows), at_a_time)]
        generator = torch.Generator()
        return torch.cat([self._ask(self.features(part, generator), 0.0, generator)[1] for part in parts])


def _layers(*widths: int) -> nn.Sequential:
    """Each followed by a ReLU."""
    pairs = ((nn.Linear(before, after), nn.ReLU()) for before, after in pairwise(widths))
    return nn.Sequential(*(each for pair in pairs for each in pair))
