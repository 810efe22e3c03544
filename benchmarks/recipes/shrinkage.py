"""Naive Bayes for many classes with few rows each: a class borrows from what other classes teach about its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaln

from infopursuit.models.sample import Sample
from infopursuit.models.table import TableModel
from infopursuit.support.types import FloatArray

RANKS = (0, 5, 10, 20, 40)
STRENGTHS = np.array([0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1024])
"""Rows that an expectation may be worth."""
BINS, ROUNDS, FOLDS = 8, 100, 10
LEAST = 1e-4
"""No answer is expected more surely than this."""


@dataclass(frozen=True)
class Shrinkage:
    """Learns a `TableModel` of yes/no variables with one state a class.

    Every frequency is drawn towards what is expected from the other answers about the same class, as birds with webbed
    feet are expected to swim, see `expected`; how much such an expectation is worth is learnt too, see `drawn_towards`.
    rank: factors that answers have in common; 0 expects the frequency in all classes; None leaves it open.

    >>> from infopursuit.support.types import Variables
    >>> sample = Sample.of(Variables((2, 2)), [[1, 0], [1, 0], [0, 1], [0, 0]], [0, 0, 1, 1])
    >>> Shrinkage(rank=0).fit(sample).n_states
    2
    """

    rank: int | None = None

    def fit(self, sample: Sample, shape: tuple[int, int] | None = None, seed: int = 0) -> TableModel:
        """The model."""
        if set(sample.variables.sizes) != {2}:
            raise ValueError(
                "only frequencies of yes/no variables can be borrowed; use naive_bayes() for other variables"
            )
        counts = sample.value_weights()
        yes, total = counts[:, 1::2], counts[:, 0::2] + counts[:, 1::2]
        frequencies = drawn_towards(yes, total, expected(yes, total, 10 if self.rank is None else self.rank, seed))
        return TableModel(sample.class_prior, None, frequencies)

    def candidates(self, sample: Sample, shape: tuple[int, int] | None = None) -> Sequence[Shrinkage]:
        """One for each rank that so many classes allow."""
        if self.rank is not None:
            return [self]
        return [replace(self, rank=rank) for rank in RANKS if rank < min(sample.n_classes // 2, len(sample.variables))]


def expected(yes: FloatArray, total: FloatArray, rank: int, seed: int = 0) -> FloatArray:
    """(C, A) the frequency that is to be expected of each variable in each class without having looked at it there.

    The angle arcsin(sqrt(frequency)) has the same noise whatever the frequency. Angles of a class are taken to be
    normal, with `rank` factors in common and a spread of their own; the expectation of one given all the others of the
    class follows from the inverse of their covariance. Means and covariances come from classes other than those that
    they are used for, a tenth of the classes at a time.
    """
    n_classes, n_variables = yes.shape
    if not 0 <= rank < n_variables or int(rank) != rank:
        raise ValueError(
            f"rank={rank} must be a whole number from 0 to {n_variables - 1}, one less than there are variables"
        )
    if not rank:
        return np.broadcast_to((yes.sum(axis=0) + 0.5) / (total.sum(axis=0) + 1), yes.shape)
    angle = np.arcsin(np.sqrt((yes + 0.375) / (total + 0.75)))
    noise = 1 / (4 * total.mean() + 2)
    fold = np.random.default_rng(seed).permutation(n_classes) % min(FOLDS, n_classes)
    found = np.empty_like(angle)
    for number in np.unique(fold):
        here, others = angle[fold == number], angle[fold != number]
        mean, covariance = others.mean(axis=0), np.cov(others.T, bias=True)
        values, vectors = np.linalg.eigh(covariance)  # the smallest first
        shared = np.maximum(values[-rank:] - values[:-rank].mean(), 0)
        common = (vectors[:, -rank:] * shared) @ vectors[:, -rank:].T
        own = np.maximum(np.diag(covariance - common), noise / 2)
        inverse = np.linalg.inv(common + np.diag(own))
        # what an angle is above its expectation given all the others
        found[fold == number] = here - (here - mean) @ inverse / np.diag(inverse)
    return np.asarray(np.sin(found.clip(0, np.pi / 2)) ** 2)


def drawn_towards(yes: FloatArray, total: FloatArray, expectation: Any) -> FloatArray:
    """(C, A) the mean of each frequency after its answers, when before them it is a beta with that expectation.

    How many rows the expectation is worth is a mixture of `STRENGTHS`, fitted by EM to all classes and variables, one
    mixture for each of a few ranges of the expectation: what is expected never to be is so more often than not.
    """
    mean = np.clip(expectation, LEAST, 1 - LEAST)
    a, b = STRENGTHS * mean[..., None], STRENGTHS * (1 - mean[..., None])  # (C, A, J)
    fit = betaln(yes[..., None] + a, (total - yes)[..., None] + b) - betaln(a, b)
    fit = np.exp(fit - fit.max(axis=-1, keepdims=True))
    where = np.searchsorted(np.quantile(mean, np.linspace(0, 1, BINS + 1)[1:-1]), mean)  # (C, A)
    share = np.full((BINS, len(STRENGTHS)), 1 / len(STRENGTHS))
    for number in np.unique(where):
        mine = fit[where == number]  # (n, J)
        for _ in range(ROUNDS):
            each = mine * share[number]
            share[number] = (each / each.sum(axis=1, keepdims=True)).mean(axis=0)
    weight = fit * share[where]
    weight /= weight.sum(axis=-1, keepdims=True)
    return np.asarray((weight * (yes[..., None] + a) / (total[..., None] + STRENGTHS)).sum(axis=-1))
