"""A discriminative belief about yes/no answers: a network that reads histories, beside naive Bayes that made them.

Naive Bayes counts words that always come together as independent evidence, and is soon far too sure. What it says is
one input of the network; the others are the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import log_softmax, softmax

from infopursuit.models.table import TableModel
from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Acquisition, Budget, Estimate
from infopursuit.support.types import FloatArray, IntArray

AT_A_TIME = 500
"""Rows whose utilities are computed together."""


@dataclass(frozen=True)
class Training:
    """hidden: units of the one hidden layer. share: of histories that are random subsets of the answers, and of those
    with all answers. patience: checks without a lower held-out loss before it ends; epochs: at the most."""

    hidden: int = 128
    share: float = 0.15
    dropout: float = 0.3
    rate: float = 1e-3
    decay: float = 0.02
    batch: int = 256
    epochs: int = 60
    patience: int = 8
    held_out: float = 0.1


@dataclass(frozen=True)
class HistoryNetwork:
    """(H, Q) answers 0, 1 and NaN -> (H, C) class probabilities; what `PredictorBelief` calls a predictor.

    model: naive Bayes, whose log-posterior the network sees. weights: of the layers, see `predict`.
    """

    model: TableModel
    weights: tuple[Any, ...]

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.model.tables()[0])

    @cached_property
    def _bayes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return log_tables(self.model)

    def predict(self, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities, without standard errors."""
        yes, no = answers == 1, answers == 0
        bayes = log_posterior(*self._bayes, yes, no)
        w1, b1, w2, scale, bias = self.weights
        n = answers.shape[1]
        hidden = yes.astype(np.float32) @ w1[:n] + no.astype(np.float32) @ w1[n : 2 * n] + squash(bayes) @ w1[2 * n :]
        logits = np.maximum(hidden + b1, 0) @ w2 + bayes * scale + bias
        p = softmax(logits.astype(np.float64), axis=1)
        return p, np.zeros_like(p)


def log_tables(model: TableModel) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(C,) log p(y), (Q, C) log p(yes | y) and log p(no | y)."""
    prior, _, tables = model.tables()
    yes = tables[:, 0, 1::2].T
    return np.log(prior), np.log(yes), np.log1p(-yes)


def log_posterior(prior: FloatArray, log_yes: FloatArray, log_no: FloatArray, yes: Any, no: Any) -> FloatArray:
    """(H, C) of naive Bayes from (H, Q) what was answered with yes and with no."""
    joint = yes.astype(np.float32) @ log_yes.astype(np.float32) + no.astype(np.float32) @ log_no.astype(np.float32)
    return np.asarray(log_softmax(prior + joint, axis=1))


def squash(bayes: FloatArray) -> FloatArray:
    """Log-probabilities as inputs of a layer."""
    return np.asarray(np.maximum(bayes, -20.0) / 5.0, dtype=np.float32)


@dataclass(frozen=True)
class ClassGain(Acquisition[Any]):
    """The mutual information of class and answer where the belief says p(y | history) and naive Bayes p(answer | y)."""

    belief: Any
    model: TableModel
    unit: ClassVar[Literal["nats"]] = "nats"
    tie = 2e-6

    @cached_property
    def _tables(self) -> tuple[Any, Any]:
        """(C, Q) p(yes | y), and its entropy."""
        yes = self.model.tables()[2][:, 0, 1::2].astype(np.float32)
        return yes, binary_entropy(yes)

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) information gains."""
        p = np.exp(self.belief.log_posterior(b).value).astype(np.float32)
        yes, entropy = self._tables
        gains = np.full(allowed.shape, np.nan)
        rows = np.flatnonzero(allowed.any(axis=1))
        for start in range(0, len(rows), AT_A_TIME):
            some = rows[start : start + AT_A_TIME]
            gains[some] = np.maximum(binary_entropy(p[some] @ yes) - p[some] @ entropy, 0.0)
        return Estimate.exact(np.where(allowed, gains, np.nan))


def demonstrate(model: TableModel, values: IntArray, n: int) -> IntArray:
    """(N, n) the queries that a pursuit with `ClassGain` and the exact belief asks of rows (N, Q) before it stops.

    Training histories need nothing else of a trace, and this takes a third of the time.
    """
    prior, log_yes, log_no = (table.astype(np.float32) for table in log_tables(model))
    yes = np.exp(log_yes).T
    entropy = binary_entropy(yes)
    paths = np.empty((len(values), n), dtype=np.int64)
    for start in range(0, len(values), AT_A_TIME):
        some = values[start : start + AT_A_TIME]
        joint, index = np.tile(prior, (len(some), 1)), np.arange(len(some))
        asked = np.zeros(some.shape, dtype=bool)
        for k in range(n):
            p = softmax(joint, axis=1)
            gains = binary_entropy(p @ yes) - p @ entropy
            gains[asked] = -np.inf
            query = gains.argmax(axis=1)
            paths[start : start + AT_A_TIME, k] = query
            asked[index, query] = True
            joint += np.where(some[index, query, None] == 1, log_yes[query], log_no[query])
    return paths


def binary_entropy(p: Any) -> Any:
    """Of yes/no answers, in nats; several times faster than `scipy.special.xlogy`."""
    p = np.clip(p, 0.0, 1.0)  # quotients of products may come out as 1 + 1e-16
    other, tiny = 1 - p, np.finfo(p.dtype).tiny
    return np.asarray(-p * np.log(np.maximum(p, tiny)) - other * np.log(np.maximum(other, tiny)))


@dataclass(frozen=True)
class Demonstrations:
    """Training rows with what was asked about each, by a model that was not fitted on it.

    values: (N, Q) yes/no answers, labels: (N,), paths: (N, K) the queries in order, -1 after the last, fold: (N,) which
    of ``models`` asked.
    """

    values: IntArray
    labels: IntArray
    paths: IntArray
    fold: IntArray
    models: tuple[TableModel, ...]

    @cached_property
    def _tables(self) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        return [log_tables(model) for model in self.models]

    def cut(self, rows: IntArray, share: float, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """(H, Q) what is known to be yes and to be no after beginnings of the paths, as float32, and (H, C) the
        log-posterior of naive Bayes. A share has random answers instead, and half as many have all."""
        n_queries, longest = self.values.shape[1], self.paths.shape[1]
        asked = np.zeros((len(rows), n_queries + 1), dtype=bool)
        length = np.where(rng.random(len(rows)) < 0.5, rng.integers(0, longest + 1, len(rows)),
                          (longest + 1) ** rng.random(len(rows)) - 1)  # fmt: skip
        seen = np.where(np.arange(longest) < length[:, None].astype(np.int64), self.paths[rows], -1)
        asked[np.arange(len(rows))[:, None], seen] = True  # the last column is for -1
        asked = asked[:, :-1]
        kind = rng.random(len(rows))
        some = np.flatnonzero(kind < share)
        asked[some] = rng.random((len(some), n_queries)) < rng.random((len(some), 1)) ** 3
        asked[(kind >= share) & (kind < 1.5 * share)] = True
        values = self.values[rows] == 1
        yes, no = (asked & values).astype(np.float32), (asked & ~values).astype(np.float32)
        bayes = np.zeros((len(rows), len(self._tables[0][0])), dtype=np.float32)
        for number, tables in enumerate(self._tables):
            mine = self.fold[rows] == number
            bayes[mine] = log_posterior(*tables, yes[mine], no[mine])
        return yes, no, bayes


def fit_network(
    model: TableModel,
    shown: Demonstrations,
    training: Training | None = None,
    *,
    seed: int = 0,
    say: Callable[[str], None] = print,
) -> HistoryNetwork:
    """Train on histories that are cut anywhere; early stopping on rows held out. model: for use, fitted on all rows."""
    import torch

    how, rng = training or Training(), np.random.default_rng((seed, 7))
    generator = torch.Generator().manual_seed(seed)
    order = rng.permutation(len(shown.labels))
    n_test = round(how.held_out * len(order))
    test, learn = order[:n_test], order[n_test:]
    n_queries, n_classes = shown.values.shape[1], len(model.tables()[0])
    n_inputs = 2 * n_queries + n_classes

    def drawn(*shape: int) -> Any:
        weights = torch.rand(shape, generator=generator) * 2 - 1
        return torch.nn.Parameter(weights / shape[0] ** 0.5)

    w1, b1, w2 = drawn(n_inputs, how.hidden), torch.nn.Parameter(torch.zeros(how.hidden)), drawn(how.hidden, n_classes)
    scale, bias = torch.nn.Parameter(torch.tensor(0.5)), torch.nn.Parameter(torch.zeros(n_classes))
    parts = [w1, b1, w2, scale, bias]
    optimiser = torch.optim.AdamW(parts, lr=how.rate, weight_decay=how.decay)

    def loss_of(cut: tuple[Any, Any, FloatArray], labels: IntArray, dropout: float = 0.0) -> Any:
        yes, no, bayes = cut
        inputs = torch.from_numpy(np.concatenate([yes, no, squash(bayes)], axis=1))
        hidden = torch.relu(inputs @ w1 + b1)
        if dropout:
            hidden = hidden * (torch.rand(hidden.shape, generator=generator) >= dropout) / (1 - dropout)
        logits = hidden @ w2 + scale * torch.from_numpy(bayes) + bias
        return torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels))

    tests = [(shown.cut(test, how.share, rng), shown.labels[test]) for _ in range(4)]
    best, kept, waited = np.inf, [p.detach().clone() for p in parts], 0
    for _ in range(how.epochs):
        for rows in np.array_split(rng.permutation(learn), max(1, len(learn) // how.batch)):
            optimiser.zero_grad()
            loss_of(shown.cut(rows, how.share, rng), shown.labels[rows], how.dropout).backward()
            optimiser.step()
        with torch.no_grad():
            now = float(np.mean([loss_of(*each).item() for each in tests]))
        waited = 0 if now < best else waited + 1
        if now < best:
            best, kept = now, [p.detach().clone() for p in parts]
        if waited >= how.patience:
            break
    say(f"network: held-out loss {best:.4f}, weight of naive Bayes {kept[3].item():.2f}")
    return HistoryNetwork(model, tuple(p.numpy() for p in kept))
