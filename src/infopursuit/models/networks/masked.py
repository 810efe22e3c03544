"""Masked networks: classify an input from any subset of its answers. A small ensemble, in numpy.

An input is an *answer vector* (Q,): for each query its number, or the index of its answer, and NaN where it was not
asked or not answered. The networks are trained on training rows of which most answers are hidden, as they are during a
pursuit. A second kind of network predicts the hidden answers themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from infopursuit.support.display import Brief
from infopursuit.support.progress import Progress
from infopursuit.support.threads import side_by_side
from infopursuit.support.types import FloatArray, IntArray

Float32 = npt.NDArray[np.float32]

MIN_PIECES = 3
MAX_PIECES = 8
"""Pieces of the encoding of a number, at least and at most."""
MAX_TOTAL_PIECES = 600
"""Pieces of all numbers together, as long as each has `MIN_PIECES`."""
MIN_ROWS_TAIL = 10
MAX_HALVINGS = 5
"""The first and the last piece of a number are halved while so many rows remain beyond, and at most so often."""
RARE_CLASS = 0.25
"""A class is drawn for training at least this often, relative to an equal share of all classes."""
KEPT_BYTES = 2**28
"""Memory that encoded training rows may take; where it is not enough each batch is encoded anew."""
BLOCK = 2**12
"""Rows that are encoded together."""
N_TESTS = 4
"""Batches on which the held-out loss is computed."""
PATH_SHARE = 0.6
"""Of the rows of a batch: histories of pursuits, where there are some."""
MIN_ROWS_SHIFTED = 10
"""Rows of a rare class from which on networks are shifted to begin with its share; fewer do not say what it is."""
TINY = 1e-6
"""The least probability of which a logarithm is taken."""
WORK_BYTES = 2**22
"""Memory of one block of hypothetical answers."""


@dataclass(frozen=True, repr=False)
class Encoding(Brief):
    """Answer vectors as inputs of a network; 0 where nothing is known.

    A number is encoded piecewise linearly between quantiles (Gorishniy, Rubachev and Babenko, 2022), which are close
    to each other where the smallest and the largest numbers are; another answer one-hot; and every query has one
    input that says whether it was answered. The encoding does not depend on labels.

    Parameters
    ----------
    n_queries : int
        Q.
    pieces : (P, 4) array of float
        Query, lower end, upper end and mean of each piece. Ends that are equal make a threshold.
    categories : (G, 2) array of int
        Query and index of each answer that is not a number.
    """

    n_queries: int
    pieces: FloatArray
    categories: IntArray

    @classmethod
    def fit(cls, answers: FloatArray, numeric: Any, n_answers: IntArray, weights: FloatArray) -> Encoding:
        """Place the pieces of the numeric queries at quantiles of the training rows.

        Parameters
        ----------
        answers : (N, Q) array of float
            Answer vectors of the training rows.
        numeric : (Q,) array of bool
            Which queries are answered by numbers.
        n_answers : (Q,) array of int
            How many answers each query has.
        weights : (N,) array of float
            The weight of each row.
        """
        n_numeric = max(int(np.sum(numeric)), 1)
        n_pieces = int(np.clip(MAX_TOTAL_PIECES // n_numeric, MIN_PIECES, MAX_PIECES))

        pieces: list[tuple[float, float, float, float]] = []
        for query in np.flatnonzero(numeric).tolist():
            known = ~np.isnan(answers[:, query])
            numbers = answers[known, query]
            mass = weights[known]
            for low, high in pairwise(_quantiles(numbers, mass, n_pieces)):
                mean = np.average(_pieces(numbers, np.float64(low), np.float64(high)), weights=mass)
                pieces.append((query, low, high, float(mean)))

        categorical = np.flatnonzero(~np.asarray(numeric)).tolist()
        categories = [(query, index) for query in categorical for index in range(int(n_answers[query]))]
        return cls(
            answers.shape[1],
            np.array(pieces).reshape(-1, 4),
            np.array(categories, np.int64).reshape(-1, 2),
        )

    @property
    def n_inputs(self) -> int:
        """How many inputs a network has."""
        return len(self.pieces) + len(self.categories) + self.n_queries

    @cached_property
    def query(self) -> IntArray:
        """The query of each input."""
        numbers = self.pieces[:, 0].astype(np.int64)
        return np.concatenate([numbers, self.categories[:, 0], np.arange(self.n_queries)])

    def __call__(self, answers: FloatArray) -> Float32:
        """(..., Q) answer vectors -> (..., n_inputs)."""
        query, low, high, mean = self.pieces.T
        numbers = answers[..., query.astype(np.int64)]
        pieces = np.where(np.isnan(numbers), 0, _pieces(numbers, low, high) - mean)
        same = answers[..., self.categories[:, 0]] == self.categories[:, 1]
        return np.concatenate([pieces, same, ~np.isnan(answers)], axis=-1, dtype=np.float32, casting="unsafe")


def _pieces(x: FloatArray, low: Any, high: Any) -> FloatArray:
    """How far x is from the lower to the upper end, 0 to 1; where both are equal, whether it is above."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(high > low, np.clip((x - low) / (high - low), 0, 1), x > low))


def _quantiles(x: FloatArray, weights: FloatArray, n: int) -> list[float]:
    """Ends of at most about n pieces: every value that is frequent, and quantiles of the others, close at the tails."""
    values, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    if len(values) <= n + 1:
        return [float(v) for v in values]

    mass = np.bincount(which.ravel(), weights=weights)
    frequent = mass > mass.sum() / n
    rest = values[~frequent]
    below = np.cumsum(mass[~frequent])
    n_pieces = max(3, n - int(frequent.sum()))
    at = below[-1] * _quantile_levels(n_pieces, int(counts[~frequent].sum()))
    cut = rest[np.minimum(np.searchsorted(below, at * (1 - 1e-12)), len(rest) - 1)]
    return [float(v) for v in np.unique(np.concatenate([values[frequent], cut]))]


def _quantile_levels(n_pieces: int, n_rows: int) -> FloatArray:
    """The shares of the rows below the ends of the pieces: equal pieces, the outer ones halved towards the tails.

    What tells a rare class is often far out, such as the highest hundredth of a laboratory value.
    """
    levels = np.linspace(0, 1, n_pieces + 1)
    share = 1 / n_pieces
    tail: list[float] = []
    while len(tail) < MAX_HALVINGS and share / 2 * n_rows >= MIN_ROWS_TAIL:
        share /= 2
        tail.append(share)
    low = np.array(tail)
    return np.unique(np.concatenate([levels, low, 1 - low]))


# ---- networks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Layers(Brief):
    """The weights of M networks side by side: two hidden layers of rectified units.

    w1: (M, n_inputs, U), b1: (M, 1, U), w2: (M, U, U), b2: (M, 1, U), w3: (M, U, outputs), b3: (M, 1, outputs).
    """

    w1: Any
    b1: Any
    w2: Any
    b2: Any
    w3: Any
    b3: Any

    @classmethod
    def draw(cls, rng: np.random.Generator, n_members: int, n_inputs: int, n_units: int, n_outputs: int) -> Layers:
        """Initial weights; the first layer's are larger, since few inputs are not 0."""

        def normal(rows: int, columns: int, fan_in: float, scale: float = 1.0) -> Float32:
            drawn = rng.standard_normal((n_members, rows, columns), dtype=np.float32)
            return drawn * np.float32(scale * np.sqrt(2 / fan_in))

        def zeros(columns: int) -> Float32:
            return np.zeros((n_members, 1, columns), np.float32)

        first = normal(n_inputs, n_units, min(n_inputs, 48))
        second, third = normal(n_units, n_units, n_units), normal(n_units, n_outputs, n_units, 0.3)
        return cls(first, zeros(n_units), second, zeros(n_units), third, zeros(n_outputs))

    def check(self, n_inputs: int, n_outputs: int | None, name: str) -> None:
        """Refuse weights whose shapes do not fit."""
        m, _, u = self.w1.shape if self.w1.ndim == 3 else (0, 0, 0)
        out = self.w3.shape[-1] if n_outputs is None else n_outputs
        fits = [(m, n_inputs, u), (m, 1, u), (m, u, u), (m, 1, u), (m, u, out), (m, 1, out)]
        if not m or not u or [array.shape for array in self.arrays] != fits:
            raise ValueError(
                f"{name} networks have weights of shapes {[array.shape for array in self.arrays]}; expected {fits}"
            )
        if not all(np.isfinite(array).all() for array in self.arrays):
            raise ValueError(f"{name} networks have weights that are not finite")

    @property
    def arrays(self) -> list[Any]:
        """All weights, in order."""
        return [getattr(self, field.name) for field in fields(self)]

    def take(self, members: Any) -> Layers:
        """Some of the networks."""
        return Layers(*(array[members] for array in self.arrays))

    def astype(self, dtype: Any) -> Layers:
        """The same weights in another precision."""
        return Layers(*(array.astype(dtype) for array in self.arrays))

    def __call__(self, inputs: Any) -> Any:
        """(N, n_inputs) -> (M, N, outputs), before any softmax."""
        hidden = np.maximum(inputs @ self.w1 + self.b1, 0)
        hidden = np.maximum(hidden @ self.w2 + self.b2, 0)
        return hidden @ self.w3 + self.b3


@dataclass(frozen=True)
class Training:
    """How networks are trained: AdamW on batches with fresh masks, moving averages of the weights, early stopping.

    max_steps: batches at the most. batch: rows of each network in a batch. rate: the highest learning rate. n_answers:
    answers that are shown, on average. check: steps between two looks at the held-out loss. patience: looks without
    improvement before training ends.
    """

    n_units: int = 128
    max_steps: int = 4000
    batch: int = 128
    rate: float = 3e-3
    weight_decay: float = 0.02
    dropout: float = 0.2
    n_answers: float = 5.0
    check: int = 100
    patience: int = 8


AVERAGE, EVERY = 0.98, 4
"""Of the moving average of the weights: what stays of it at each step, and the steps between two updates."""

Batch = Callable[[np.random.Generator], tuple[Float32, Any]]
"""Draws (M, b, n_inputs) encoded answer vectors with most answers hidden, and what is to be predicted from each."""
Loss = Callable[[Any, Any], Any]
"""(M, b, outputs) and what is to be predicted -> the gradient of the mean loss by the outputs."""


def train(
    layers: Layers,
    draw: Batch,
    loss: Loss,
    held_out: Callable[[Layers], float],
    how: Training,
    rng: Any,
    shown: Progress,
) -> Layers:
    """Train networks (in place); returns the moving average of their weights when ``held_out`` of it was least."""
    weights = layers.arrays
    first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    average = Layers(*(w.copy() for w in weights))
    best, least, since = average, np.inf, 0
    for step in range(1, how.max_steps + 1):
        inputs, target = draw(rng)
        gradient = _gradient(layers, inputs, target, loss, how.dropout, rng)
        rate = how.rate * min(step / 100, 1) * 0.5 * (1 + np.cos(np.pi * step / how.max_steps))
        decay, rate = rate * how.weight_decay, rate * np.sqrt(1 - 0.99**step) / (1 - 0.9**step)
        for i, (w, g, m, v) in enumerate(zip(weights, gradient, first, second, strict=True)):
            m *= np.float32(0.9)
            m += np.float32(0.1) * g
            v *= np.float32(0.99)
            g *= g
            g *= np.float32(0.01)
            v += g
            np.sqrt(v, out=g)
            g += np.float32(1e-8)
            np.divide(m, g, out=g)
            g *= np.float32(rate)
            if i % 2 == 0:  # weights decay, biases do not
                w *= np.float32(1 - decay)
            w -= g
        if step % EVERY == 0:
            keep = min(AVERAGE, step / (step + 10)) ** EVERY
            for w, a in zip(weights, average.arrays, strict=True):
                a += np.float32(1 - keep) * (w - a)
        shown.advance()
        if step % how.check == 0 or step == how.max_steps:
            now = held_out(average)
            if now < least:
                best, least, since = Layers(*(a.copy() for a in average.arrays)), now, 0
            else:
                since += 1
                if since >= how.patience:
                    shown.advance(how.max_steps - step)
                    break
    return best


def _gradient(layers: Layers, inputs: Float32, target: Any, loss: Loss, dropout: float, rng: Any) -> list[Any]:
    """Back-propagation through two layers with dropout."""
    keep = np.float32(1 - dropout)

    def hidden(before: Any, w: Any, b: Any) -> Any:
        active = before @ w
        active += b
        active *= (active > 0) & (rng.random(active.shape, dtype=np.float32) < keep)
        active /= keep
        return active

    h1 = hidden(inputs, layers.w1, layers.b1)
    h2 = hidden(h1, layers.w2, layers.b2)
    g3 = loss(h2 @ layers.w3 + layers.b3, target)
    g2 = (g3 @ layers.w3.swapaxes(1, 2)) * (h2 > 0) / keep
    g1 = (g2 @ layers.w2.swapaxes(1, 2)) * (h1 > 0) / keep
    found = []
    for before, g in ((inputs, g1), (h1, g2), (h2, g3)):
        found += [before.swapaxes(1, 2) @ g, g.sum(axis=1, keepdims=True)]
    return found


def softmax(outputs: Any) -> Any:
    """Over the last axis, in place."""
    outputs -= outputs.max(axis=-1, keepdims=True)
    np.exp(outputs, out=outputs)
    outputs /= outputs.sum(axis=-1, keepdims=True)
    return outputs


def class_loss(outputs: Any, labels: IntArray) -> Any:
    """The gradient of the cross-entropy of (M, b) labels."""
    p = softmax(outputs)
    np.put_along_axis(p, labels[..., None], np.take_along_axis(p, labels[..., None], -1) - 1, -1)
    p /= np.float32(p.shape[1])
    return p


@dataclass(frozen=True)
class AnswerLoss:
    """The gradient of the cross-entropy of all hidden answers.

    offsets: (Q + 1,) where the outputs of each query begin; a query that training rows leave unanswered has one output
    more than it has answers, the last.
    """

    offsets: IntArray

    @cached_property
    def query(self) -> IntArray:
        """The query of each output."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def probabilities(self, outputs: Any) -> Any:
        """(..., outputs) -> softmax over those of each query, in place."""
        outputs -= np.maximum.reduceat(outputs, self.offsets[:-1], axis=-1)[..., self.query]
        np.exp(outputs, out=outputs)
        outputs /= np.add.reduceat(outputs, self.offsets[:-1], axis=-1)[..., self.query]
        return outputs

    def value(self, outputs: Any, target: Any) -> float:
        """The mean cross-entropy of a hidden answer, in nats."""
        place, hidden = target
        p = np.take_along_axis(self.probabilities(outputs), place, -1)
        return float(-(np.log(np.maximum(p, 1e-6)) * hidden).sum() / max(hidden.sum(), 1))

    def __call__(self, outputs: Any, target: Any) -> Any:
        place, hidden = target  # (M, b, Q) the output that is right, and which answers were hidden
        p = self.probabilities(outputs)
        np.put_along_axis(p, place, np.take_along_axis(p, place, -1) - 1, -1)
        p *= hidden[..., self.query] / np.float32(p.shape[1] * np.sqrt(len(self.offsets) - 1))
        return p


@dataclass(frozen=True)
class MaskedClassifier:
    """p(y | answers), the mean of M networks."""

    encoding: Encoding
    layers: Layers

    def __repr__(self) -> str:
        return f"<MaskedClassifier: {self.n_members} networks, {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """C."""
        return int(self.layers.w3.shape[2])

    @property
    def n_members(self) -> int:
        """M."""
        return len(self.layers.w1)

    @cached_property
    def _exact(self) -> Layers:
        return self.layers.astype(np.float64)

    def member(self, m: int) -> MaskedClassifier:
        """One network by itself."""
        return MaskedClassifier(self.encoding, self.layers.take([m]))

    def predict(self, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(H, Q) answer vectors -> (H, C) probabilities and their standard errors, from the spread of the networks."""
        each = softmax(self._exact(self.encoding(answers)))  # (M, H, C)
        error = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.zeros(each.shape[1:])
        return each.mean(axis=0), error

    def predict_after(self, answers: FloatArray, rows: IntArray, places: IntArray, table: FloatArray, n: int) -> Any:
        """(N, C) probabilities by the first n networks after one more answer: row ``rows[i]`` of (H, Q) answer vectors
        with answer ``places[i]`` of ``table`` (L, Q), whose rows have one answer each.

        One more answer changes the first layer by a constant, so that the rest of the network is all the work.
        """
        layers, total = self.layers, np.zeros((len(rows), self.n_classes), np.float32)
        before, change = self.encoding(answers), self._change(table)
        at_a_time = max(1, WORK_BYTES // (8 * layers.w1.shape[2]))
        blocks = [slice(start, start + at_a_time) for start in range(0, len(rows), at_a_time)]
        for m in range(n):
            base = before @ layers.w1[m] + layers.b1[m]

            def work(i: int, m: int = m, base: Any = base) -> None:
                some = blocks[i]
                hidden = base[rows[some]]
                hidden += change[m][places[some]]
                np.maximum(hidden, 0, out=hidden)
                hidden = hidden @ layers.w2[m]
                hidden += layers.b2[m]
                np.maximum(hidden, 0, out=hidden)
                total[some] += softmax(hidden @ layers.w3[m] + layers.b3[m])

            side_by_side(work, len(blocks))
        return total / np.float32(n)

    def _change(self, table: FloatArray) -> Any:
        """(M, L, U) what each answer adds to the first layer."""
        known = self.__dict__.get("_known_change")
        if known is None or known[0] is not table:
            found = np.concatenate(
                [self.encoding(table[i : i + 256]) @ self.layers.w1 for i in range(0, len(table), 256)], axis=1
            )
            known = (table, found)
            object.__setattr__(self, "_known_change", known)
        return known[1]


@dataclass(frozen=True, repr=False)
class AnswerNetwork(Brief):
    """p(next answer | answers so far) of every query, by one network."""

    encoding: Encoding
    layers: Layers
    offsets: IntArray
    """(Q + 1,) as in `AnswerLoss`."""

    @cached_property
    def _exact(self) -> Layers:
        return self.layers.astype(np.float64)

    def predict(self, answers: FloatArray) -> FloatArray:
        """(H, Q) answer vectors -> (H, outputs); the probabilities of each query's outputs sum to 1."""
        return np.asarray(AnswerLoss(self.offsets).probabilities(self._exact(self.encoding(answers))[0]))


# ---- fitting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Training rows as answer vectors.

    encoding: of the networks. answers: (N, Q). labels: (N,). weights: (M, N) how often each network sees each row.
    paths: (R, K) queries in the order in which pursuits asked them about rows ``path_rows`` (R,), -1 where a path has
    ended; none at first. held_out: (M, N) the weight of each row that each network is tested on, not in ``weights``.
    """

    encoding: Encoding
    answers: FloatArray
    labels: IntArray
    weights: FloatArray
    path_rows: IntArray
    paths: IntArray
    held_out: FloatArray

    @cached_property
    def _sums(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Cumulative weights of all rows, and of the rows with a path."""
        both = {"weights": self.weights, "held_out": self.held_out}
        return {name: (w.cumsum(axis=1), w[:, self.path_rows].cumsum(axis=1)) for name, w in both.items()}

    @cached_property
    def _encoded(self) -> Float32 | None:
        if 4 * len(self.answers) * self.encoding.n_inputs > KEPT_BYTES:
            return None
        found = np.empty((len(self.answers), self.encoding.n_inputs), np.float32)
        for start in range(0, len(found), BLOCK):
            found[start : start + BLOCK] = self.encoding(self.answers[start : start + BLOCK])
        return found

    def inputs(self, rows: IntArray, visible: Any) -> Float32:
        """(M, b, n_inputs) encoded rows of which some answers (M, b, Q) are shown."""
        if self._encoded is None:
            return self.encoding(np.where(visible, self.answers[rows], np.nan))
        found = self._encoded[rows]
        found *= visible[..., self.encoding.query]
        return found

    def draw(self, rng: np.random.Generator, how: Training, name: str = "weights") -> tuple[IntArray, Any]:
        """(M, b) rows for each network, and (M, b, Q) which of their answers are shown: those of the beginning of a
        path for a share of the rows, random ones for the others."""
        n_members, n_queries = len(self.weights), self.answers.shape[1]
        sums, path_sums = self._sums[name]
        rows = _pick(sums, rng.random((n_members, how.batch)))
        kind, few = rng.random(rows.shape), rng.geometric(1 / (1 + how.n_answers), rows.shape) - 1
        most, next_to_none = rng.integers(0, n_queries + 1, rows.shape), rng.integers(0, 3, rows.shape)
        count = np.where(kind < 0.25, next_to_none, np.where(kind < 0.75, few, most))
        shown = rng.random((*rows.shape, n_queries), dtype=np.float32) * n_queries < count[..., None]
        n_own = int(PATH_SHARE * how.batch) if len(self.paths) else 0
        if n_own:
            which = _pick(path_sums, rng.random((n_members, n_own)))
            length = rng.integers(0, self.paths.shape[1] + 1, which.shape)
            path = np.where(np.arange(self.paths.shape[1]) < length[..., None], self.paths[which], -1)
            own = np.zeros((n_members, n_own, n_queries + 1), dtype=bool)
            np.put_along_axis(own, path, True, axis=-1)  # -1 is the last column, which is cut off
            # and one answer more, whatever it is about: this is what a look-ahead asks for
            one = np.where(rng.random(which.shape) < 0.5, rng.integers(0, n_queries, which.shape), n_queries)
            np.put_along_axis(own, one[..., None], True, axis=-1)
            rows[:, :n_own], shown[:, :n_own] = self.path_rows[which], own[..., :-1]
        return rows, shown


def _pick(cumulative: FloatArray, uniform: FloatArray) -> IntArray:
    """(M, b) indices drawn in proportion to the weights whose sums are given, (M, N)."""
    picked = [np.searchsorted(row, u * row[-1], side="right") for row, u in zip(cumulative, uniform, strict=True)]
    return np.asarray(np.minimum(np.stack(picked), cumulative.shape[1] - 1))


def class_rates(labels: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """How many times more often than in the data each class is drawn for training.

    Rare classes are drawn more often, or a network would hardly meet them.

    Parameters
    ----------
    labels : (N,) array of int
    weights : (N,) array of float
    n_classes : int
        C.

    Returns
    -------
    (C,) array of float
        1 for classes that are frequent enough.

    Examples
    --------
    >>> class_rates(np.array([0, 0, 1]), np.array([90.0, 9.0, 1.0]), 2).round(2).tolist()
    [1.0, 12.5]
    """
    share = np.bincount(labels, weights=weights, minlength=n_classes) / weights.sum()
    least = RARE_CLASS / n_classes
    return np.asarray(np.maximum(share, least) / np.where(share > 0, share, least))


def fit_classifier(
    rows: Rows,
    n_classes: int,
    how: Training,
    rng: Any,
    shown: Progress,
    start: MaskedClassifier | None = None,
) -> MaskedClassifier:
    """Train one network for each row of ``rows.weights``.

    Rare classes are drawn more often than they occur. The loss adds the logarithm of their rate to
    the outputs (logit adjustment; Menon et al., 2021), so that the outputs themselves are those of
    classes as frequent as in the data.

    Parameters
    ----------
    rows : Rows
        What the networks are trained and tested on.
    n_classes : int
        C.
    how : Training
        Settings of the training.
    rng : numpy.random.Generator
        Draws weights, batches and masks.
    shown : Progress
        Advances with each step.
    start : MaskedClassifier, optional
        The classifier to continue from.
    """
    rates = class_rates(rows.labels, rows.weights[0] + rows.held_out[0], n_classes)
    log_rates = np.log(rates).astype(np.float32)
    row_rates = rates[rows.labels]
    drawn = replace(rows, weights=rows.weights * row_rates, held_out=rows.held_out * row_rates)

    def draw(rng: Any, name: str = "weights") -> tuple[Float32, IntArray]:
        index, visible = drawn.draw(rng, how, name)
        return drawn.inputs(index, visible), drawn.labels[index]

    def loss(outputs: Any, labels: IntArray) -> Any:
        return class_loss(outputs + log_rates, labels)

    tests = [draw(rng, "held_out") for _ in range(N_TESTS)]

    def held_out(layers: Layers) -> float:
        p = [np.take_along_axis(softmax(layers(inputs) + log_rates), labels[..., None], -1) for inputs, labels in tests]
        return float(-np.log(np.maximum(p, 1e-6)).mean())

    if start is None:
        layers = Layers.draw(rng, len(rows.weights), rows.encoding.n_inputs, how.n_units, n_classes)
    else:
        layers = Layers(*(w.copy() for w in start.layers.arrays))
    trained = train(layers, draw, loss, held_out, how, rng, shown)
    mass = np.bincount(rows.labels, weights=rows.weights[0] + rows.held_out[0], minlength=n_classes)
    if ((rates > 1) & (mass >= MIN_ROWS_SHIFTED)).any():
        trained = _begin_with(mass / mass.sum(), trained, rows.encoding)
    return MaskedClassifier(rows.encoding, trained)


def _begin_with(shares: FloatArray, layers: Layers, encoding: Encoding) -> Layers:
    """Shift the outputs so that each network predicts the shares of the classes (C,) where nothing is known.

    Classes that were drawn more often than they occur end up a little too probable after any answers. On simulated
    tables with one positive in two hundred the shift saved a tenth of the log loss.
    """
    nothing = encoding(np.full((1, encoding.n_queries), np.nan))
    predicted = softmax(layers.astype(np.float64)(nothing))  # (M, 1, C)
    occurs = shares > 0
    shift = np.zeros_like(predicted)
    shift[..., occurs] = np.log(shares[occurs]) - np.log(np.maximum(predicted[..., occurs], TINY))
    return replace(layers, b3=(layers.b3 + shift).astype(np.float32))


def fit_answers(
    rows: Rows, cells: IntArray, n_answers: IntArray, how: Training, rng: Any, shown: Progress
) -> AnswerNetwork:
    """Train a network that predicts the hidden answers. cells: (N, Q) the index of each answer, -1 where there is
    none."""
    # the outputs of each query are its answers, and "no answer" where training rows have it
    offsets = np.concatenate([[0], np.cumsum(n_answers + (cells < 0).any(axis=0))])
    place = np.where(cells < 0, offsets[1:] - 1, offsets[:-1] + cells)
    loss = AnswerLoss(offsets)

    def draw(rng: Any, name: str = "weights") -> tuple[Float32, Any]:
        index, visible = rows.draw(rng, how, name)
        return rows.inputs(index, visible), (place[index], ~visible)

    tests = [draw(rng, "held_out") for _ in range(N_TESTS)]

    def held_out(layers: Layers) -> float:
        return float(np.mean([loss.value(layers(inputs), target) for inputs, target in tests]))

    layers = Layers.draw(rng, len(rows.weights), rows.encoding.n_inputs, how.n_units, int(offsets[-1]))
    return AnswerNetwork(rows.encoding, train(layers, draw, loss, held_out, how, rng, shown), offsets)
