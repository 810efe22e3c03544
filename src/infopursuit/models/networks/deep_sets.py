"""A network on the set of answers (deep sets, Zaheer et al., 2017), and how it learns information gains.

Each answer is encoded alone, by layers that all queries share, and multiplied with the matrix of its query; the sum
over answers goes through further layers. A history has few answers, so that a pass costs little however many queries
there are, one more answer is one more term, and all prefixes of a history are one cumulative sum.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from infopursuit.models.networks.amortized import EXPLORED, Begun, Inputs, OwnHistories, Trunk
from infopursuit.models.networks.architectures import initialise

SETTLED = 0.08
"""Share of the training in which the share of drawn queries, instead of the best, falls from all to EXPLORED."""
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

    def terms(self, values: Tensor, row: Tensor, query: Tensor) -> Tensor:
        """(T, D) what the answers of inputs ``row`` to ``query`` add; values: (H, at least U)."""
        device = self.units.device
        values, row, query = values.to(device), row.to(device), query.to(device)
        query, order = query.sort()  # one product for each query
        units, top, there = self.units[query], self.tops[query], self.there[query]  # (T, W)
        value = values[row[order, None], units]
        planes = torch.stack([2 * value / top - 1, (value == 0).float(), (value == top).float()], dim=2)
        encoded = self.answer((planes * there[..., None]).flatten(1)).float()
        which, counts = torch.unique_consecutive(query, return_counts=True)
        with torch.autocast(device.type, enabled=False):  # many small products of many shapes are slow in bfloat16
            groups = zip(encoded.split(counts.tolist()), which.tolist(), strict=True)
            matrices = self.weight.unbind(0)
            parts = [part @ matrices[i] for part, i in groups]
        back = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=device))
        return torch.cat([*parts, encoded.new_zeros(0, self.weight.shape[2])])[back]

    def heads(self, sums: Tensor) -> tuple[Tensor, Tensor]:
        """(H, C) and (H, Q), of sums (H, D)."""
        seen = self.layers(sums)
        return self.classify(seen).float(), self.query(seen).float()

    def forward(self, known: Tensor) -> tuple[Tensor, Tensor]:
        row, query = torch.nonzero(known[:, self.n_units :] > 0, as_tuple=True)
        sums = self.bias.expand(len(known), -1)
        return self.heads(sums.index_add(0, row, self.terms(known, row, query)))


class AnswerSets(OwnHistories):
    """The histories of a `DeepSets`' own querier, from which it learns classes and information gains; what is known of
    an input is the sum of its answers' terms."""

    network: DeepSets

    def __init__(self, network: DeepSets, inputs: Inputs, known: Any, *given: Any) -> None:
        super().__init__(network, inputs, known[:, : inputs.n_units], *given)

    def start(self, n: int, share: float, generator: torch.Generator) -> Begun:
        """Nothing is known, and at first all queries are drawn."""
        return replace(self.nothing(n), explored=max(EXPLORED, 1 - share / SETTLED))

    def nothing(self, n: int) -> Begun:
        """Nothing is known."""
        asked = torch.zeros(n, len(self.inputs.units), dtype=torch.bool)
        return Begun(self.network.bias.expand(n, -1), asked, self.n_steps)

    def answered(self, features: Tensor, row: Tensor, known: Tensor, query: Tensor) -> Tensor:
        """(H, D) the sums of inputs ``row`` after one more query of each, (H,)."""
        with self._autocast():
            return known + self.network.terms(features, row, query)

    def heads(self, features: Tensor, row: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """(H, C) class logits and (H, Q) utilities, of sums (H, D)."""
        with self._autocast():
            logits, outputs = self.network.heads(known)
        return logits.cpu(), outputs.cpu()

    def prefixes(self, features: Tensor, begun: Begun, queries: Tensor, row: Tensor, step: Tensor) -> Tensor:
        """(H, D) the sums of inputs ``row`` after the first ``step`` queries of each: all prefixes are one cumulative
        sum."""
        n, k = queries.shape
        asked, place = torch.nonzero(queries >= 0, as_tuple=True)
        with self._autocast():
            found = self.network.terms(features, asked, queries[asked, place])
        where = (asked * k + place).to(found.device)
        terms = found.new_zeros(n * k, found.shape[1]).index_copy(0, where, found).reshape(n, k, -1)
        return (F.pad(terms.cumsum(1), (0, 0, 1, 0)) + begun.known[:, None])[row, step]

    def encode(self, values: Tensor) -> Tensor:
        """(B, U) as they are."""
        return values


def _layers(*widths: int) -> nn.Sequential:
    """Each followed by a ReLU."""
    pairs = ((nn.Linear(before, after), nn.ReLU()) for before, after in pairwise(widths))
    return nn.Sequential(*(each for pair in pairs for each in pair))
