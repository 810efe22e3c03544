"""`FiniteModel`: a model with finitely many latent states, about which everything can be computed exactly."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from infopursuit.support.types import FloatArray, IntArray, Variables

Array = npt.NDArray[Any]
FAINT = 1e-290
"""A float64 sum or product below this may have lost digits: the smallest normal number is 2e-308."""
PRODUCT = 16
"""Probabilities that `FiniteModel.log_product` multiplies before it takes one logarithm."""


class FiniteModel:
    """p(variables | z, y) p(z | y) p(y) over S latent states, each of which belongs to one class.

    States of one class lie next to each other: class ``c`` owns the states ``offsets[c]`` to ``offsets[c + 1]``.

    Parameters
    ----------
    variables: how many values each variable has.
    log_prior: (S,) log p(y, z).
    offsets: (C + 1,) where the states of each class begin.
    probs: (L, S) the probability of each variable value in each state, float32 or float64.
    """

    kind: ClassVar[str]
    beliefs: ClassVar[tuple[str, ...]] = ("exact", "pruned")
    contains_training_data: bool = False

    def __init__(self, variables: Variables, log_prior: Array, offsets: IntArray, probs: Array) -> None:
        self.variables = variables
        self.log_prior: FloatArray = np.asarray(log_prior, dtype=np.float64)
        self.offsets: IntArray = np.asarray(offsets, dtype=np.int64)
        self.probs = probs
        self.n_classes, self.n_states = len(self.offsets) - 1, int(self.offsets[-1])
        self.state_class: IntArray = np.repeat(np.arange(self.n_classes), np.diff(self.offsets))

    def __repr__(self) -> str:
        size = f"{self.n_classes} classes, {len(self.variables)} variables, {self.n_states:,} latent states"
        return f"<{type(self).__name__}: {size}>"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The number type of the tables."""
        return self.probs.dtype

    @property
    def class_prior(self) -> FloatArray:
        """(C,) p(y)."""
        return np.asarray(np.exp(class_log_sums(self.log_prior[None], self.offsets)[0]))

    def rows(self, slots: IntArray) -> Array:
        """(n,) -> (n, S) the probability of some variable values in all states, a new array."""
        return np.take(self.probs, slots, axis=0)

    def log_product(self, slots: IntArray) -> FloatArray:
        """(n,) values of different variables -> (S,) log of the product of their probabilities."""
        total = np.zeros(self.n_states)
        for start in range(0, len(slots), PRODUCT):
            table = self.rows(slots[start : start + PRODUCT])
            product = table[0].astype(np.float64)
            for row in table[1:]:
                product *= row
            tiny = np.flatnonzero(product < FAINT)
            log(product, out=product)
            if len(tiny):
                product[tiny] = log(table[:, tiny].astype(np.float64)).sum(axis=0)
            total += product
        return total

    def masses(self, slots: IntArray, weights: Array) -> Array:
        """The weighted sum of the probabilities of a variable's values in every state.

        slots: (n, V) of one variable in each row, -1 for padding. weights: (n, J, V). Returns (n, J, S).
        """
        n, n_values = slots.shape
        table = self.rows(np.maximum(slots, 0).ravel()).astype(weights.dtype, copy=False)
        return np.asarray(np.matmul(weights, table.reshape(n, n_values, -1)))

    def log_masses(self, slots: IntArray, log_weights: Array) -> Array:
        """Log of `masses` with weights exp(log_weights), however small or large: (n, V), (n, J, V) -> (n, J, S).

        The largest weight is factored out; where the sum of a state still underflows it is computed in log space.
        """
        top = log_weights.max(axis=2, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        scaled = log_weights - top
        mass = self.masses(slots, np.exp(scaled))
        tiny = (((scaled < 0) & np.isfinite(scaled)).any(axis=2) & (mass < FAINT).any(axis=2)).any(axis=1)
        found = log(mass, out=mass)
        found += top
        for i in np.flatnonzero(tiny):
            table = log(self.rows(np.maximum(slots[i], 0)).astype(scaled.dtype, copy=False))  # (V, S)
            for j in range(scaled.shape[1]):
                found[i, j] = log_sum_exp(table + scaled[i, j, :, None], axis=0) + top[i, j]
        return found

    def block(self, slots: slice) -> Array:
        """(l, S) the probability of a run of variable values in all states, a new array."""
        return self.rows(np.arange(slots.start, slots.stop))

    def state_probs(self, states: IntArray) -> Array:
        """(M,) -> (L, M) the probability of all variable values in some states, a new array."""
        return np.take(self.probs, states, axis=1)

    def with_class_prior(self, class_prior: Any) -> Self:
        """The same model with another p(y): prevalence differs from place to place."""
        prior = check_prior(class_prior, self.n_classes, "class_prior")
        now = class_log_sums(self.log_prior[None], self.offsets)[0]
        stateless = np.flatnonzero((prior > 0) & ~np.isfinite(now))
        if len(stateless):
            raise ValueError(
                f"class_prior[{stateless[0]}] is {prior[stateless[0]]:g}, but the model was made with probability 0 "
                f"for that class and has no latent states of it; make it anew with a prior above 0"
            )
        shift = np.where(prior > 0, log(prior) - np.where(prior > 0, now, 0.0), -np.inf)
        other = self._copy()
        other.log_prior = self.log_prior + shift[self.state_class]
        return other

    def to(self, *, dtype: npt.DTypeLike | None = None) -> Self:
        """The same model in another number type."""
        other = self._copy()
        other.probs = rounded(self.probs, dtype)
        return other

    def _copy(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other


def log(x: Array, out: Array | None = None) -> Array:
    """log x, and -inf without a warning where x is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x, out=out))


def log_sum_exp(x: Array, axis: int = -1) -> Array:
    """log of the sum of exp(x) along an axis; -inf where all are -inf or there are none."""
    top = x.max(axis=axis, keepdims=True, initial=-np.inf)
    top[~np.isfinite(top)] = 0
    shifted = x - top
    total = np.exp(shifted, out=shifted).sum(axis=axis)
    return np.asarray(log(total) + top.squeeze(axis))


def softmax(x: Array, axis: int = -1) -> Array:
    """exp(x) / sum exp(x) over one axis; NaN where all are -inf."""
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.exp(x - x.max(axis=axis, keepdims=True))
        weights /= weights.sum(axis=axis, keepdims=True)
    return np.asarray(weights)


def class_log_sums(log_weights: Array, offsets: IntArray) -> Array:
    """(H, S) -> (H, C): log of the sum over the states of each class, -inf where a class has no weight."""
    sizes = np.diff(offsets)
    if len(sizes) and (sizes == sizes[0]).all():
        return log_sum_exp(log_weights.reshape(len(log_weights), len(sizes), -1))
    return np.stack([log_sum_exp(log_weights[:, a:b]) for a, b in segments(offsets)], axis=-1)


def segments(offsets: IntArray) -> list[tuple[int, int]]:
    """The states of each class as (first, past the last)."""
    return [(int(a), int(b)) for a, b in pairwise(offsets)]


def rounded(probs: Array, dtype: npt.DTypeLike | None) -> Array:
    """Probabilities in another number type; a positive one stays positive, also where the type cannot hold it."""
    if dtype is None or np.dtype(dtype) == probs.dtype:
        return probs
    return np.where(probs > 0, np.maximum(probs.astype(dtype), np.finfo(dtype).tiny), 0).astype(dtype, copy=False)


def check_prior(prior: Any, n_classes: int, name: str) -> FloatArray:
    """Class probabilities as an array that sums to one, refused where they cannot be that."""
    expected = f"expected one probability for each of the {n_classes} classes"
    try:
        array = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {prior!r:.80}; {expected}") from None
    if array.shape != (n_classes,):
        raise ValueError(f"{name} has shape {array.shape}; {expected}")
    if not np.isfinite(array).all() or (array < 0).any() or not np.isclose(array.sum(), 1, atol=1e-6):
        raise ValueError(f"{name} must be probabilities that sum to 1; got {array.tolist()[:10]} (sum {array.sum():g})")
    return np.asarray(array / array.sum())
