"""Proposition 2: asked about any set of labels, a pursuit is a prefix code within one bit of H(Y)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infopursuit.models.finite import check_prior
from infopursuit.models.table import TableModel
from infopursuit.pursuit.stopping import Confidence
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.answer_tables import entropy
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.support.types import FloatArray, IntArray
from theory.strategy import expected_length, pursuit_tree
from theory.world import World, enumerate_world

MAX_CLASSES = 12
"""There are 2 ** (C - 1) - 1 binary functions of C classes."""


class BinaryFunctions(QuerySet):
    """Whether Y is one of some classes, for every set of classes up to complement. The one variable is the label
    itself."""

    kind = "binary functions"

    def __init__(self, n_classes: int) -> None:
        if not 2 <= n_classes <= MAX_CLASSES:
            raise ValueError(
                f"n_classes={n_classes} must lie between 2 and {MAX_CLASSES}; "
                f"C classes have 2 ** (C - 1) - 1 binary functions"
            )
        # Class 0 always says "no": a function and its negation are one query. (Q, C)
        cells = np.arange(1, 2 ** (n_classes - 1))[:, None] >> np.arange(-1, n_classes - 1).clip(0) & 1
        cells[:, 0] = 0
        names = ["Y in {" + ", ".join(map(str, np.flatnonzero(row))) + "}" for row in cells]
        super().__init__(names, [n_classes], np.zeros((len(cells), 1), dtype=np.int64), cells[:, None, :])

    def observe(self, X: Any) -> IntArray:
        """(B, 1) from labels (B,) or (B, 1)."""
        return self.variables.check(np.asarray(X).reshape(len(X), -1), "X")

    def to_spec(self) -> dict[str, Any]:
        return {"n_classes": self.variables.sizes[0]}

    @classmethod
    def from_spec(cls, spec: dict[str, Any], functions: Any = None) -> BinaryFunctions:
        return cls(spec["n_classes"])


def all_binary_functions(n_classes: int) -> BinaryFunctions:
    """The query set of Proposition 2: all binary q with H(q(X) | Y) = 0, in a world whose input is its label.

    A binary function is a two-cell partition of the classes; constants tell nothing and are left out.

    >>> all_binary_functions(3).names
    ('Y in {1}', 'Y in {2}', 'Y in {1, 2}')
    """
    return BinaryFunctions(n_classes)


def label_world(prior: Sequence[float] | FloatArray) -> World:
    """The world in which X = Y, so that H(Y | X) = 0, with all binary functions as queries.

    Any world with H(Y | X) = 0 and these queries is this one as far as queries can see.

    >>> label_world([0.5, 0.25, 0.25])
    <World of 3 inputs, 3 classes and 3 queries>
    """
    probs = check_prior(prior, np.asarray(prior).size, "prior")
    queries = all_binary_functions(len(probs))
    # (C, Z, A, V) with Z = A = 1: the variable is the class
    model = TableModel(probs, None, np.eye(len(probs))[:, None, None, :])
    return enumerate_world(model, queries)


def huffman_length(prior: Sequence[float] | FloatArray) -> float:
    """E[length] of Huffman's code in bits: the smallest of all prefix codes, so of all strategies of Proposition 2.

    Classes of probability zero get no code word.

    >>> huffman_length([0.5, 0.25, 0.25]), huffman_length([1.0, 0.0])
    (1.5, 0.0)
    """
    probs = check_prior(prior, np.asarray(prior).size, "prior")
    heap = sorted(probs[probs > 0].tolist())
    total = 0.0
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        total += merged  # every class below this node is one question further away
        heapq.heappush(heap, merged)
    return total


@dataclass(frozen=True)
class CodeLengths:
    """The numbers of Proposition 2 for one prior, all in bits (a yes/no question is one bit)."""

    entropy: float
    huffman: float
    pursuit: float

    @property
    def holds(self) -> bool:
        """H(Y) <= E[length of IP] <= H(Y) + 1, and IP asks at most one question more than the optimum."""
        rounding = 1e-9
        bounded = self.entropy - rounding <= self.pursuit <= self.entropy + 1 + rounding
        return bounded and self.huffman - rounding <= self.pursuit <= self.huffman + 1 + rounding


def proposition_2(prior: Sequence[float] | FloatArray) -> CodeLengths:
    """Entropy, optimal length and length of the pursuit that stops as soon as Y is determined.

    The step that the paper calls intuitively clear: a class that is not alone after k questions has p(y) < 2 ** -k,
    so that its length is at most ceil(-log2 p(y)). Proof: let S be what is left, y in S, and a the smallest other
    probability in S; then P(S) - a < 2 ** -k by induction. For if the larger cell A of the most balanced split holds
    y and others, moving the smallest of them (a' >= a) to the other cell does not balance better, so P(A) - P(S - A)
    <= a', and P(A) - a' <= (P(S) - a') / 2 <= (P(S) - a) / 2; for the smaller cell this is plain. Last, p(y) <= P(S)
    - a. (The paper's sum is then sum p ceil(-log2 p), at most H(Y) + 1; its "= 1 - log p" should read "<=".)

    >>> proposition_2([0.5, 0.25, 0.25])
    CodeLengths(entropy=1.5, huffman=1.5, pursuit=1.5)
    """
    world = label_world(prior)
    pursuit = generative_pursuit(world.model, world.queries, stopping=Confidence(0), exact_gains=True)
    nats = float(entropy(world.probabilities))
    return CodeLengths(nats / float(np.log(2)), huffman_length(prior), expected_length(pursuit_tree(pursuit, world)))
