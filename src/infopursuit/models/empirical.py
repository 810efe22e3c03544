"""`EmpiricalModel`: every training example, at each of a few scales of smoothing, is one latent state.

An input that differs from an example in one place is expected to differ in others, since the scale is part of the
latent state. That heavy tail keeps the posterior from being overconfident.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from infopursuit.models.finite import Array, FiniteModel, log
from infopursuit.models.sample import Sample
from infopursuit.models.storing import (
    MAX_COUNT,
    Stored,
    check_array,
    check_class_prior,
    check_log_prior,
    check_probs,
    settings_from_spec,
)
from infopursuit.support.checks import whole_number
from infopursuit.support.threads import single_threaded
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Variables

MISSING = 255
"""How an unknown value is stored; variables of an empirical model have fewer values than this."""
CHUNK = 4096
"""Examples that are blurred at a time."""


# ---- smoothing ------------------------------------------------------------------------------------------------------


def _check_scales(name: str, values: tuple[float, ...], low: float, high: float) -> None:
    if not values or not all(low <= v <= high for v in values):
        raise ValueError(f"{name}={values} must be one or more numbers from {low:g} to {high:g}")


@dataclass(frozen=True)
class Blur(Stored):
    """Pixels of an image: lit with the probability that a Gaussian blur of the example gives, kept off 0 and 1.

    widths: standard deviation of the blur in pixels, one for each scale. floors: P(lit) where the blurred example is
    dark. gaps: P(dark) where it is lit; from 0.05 to 0.15 where nothing is given. Gaps are larger than floors: strokes
    get thinner or move, but ink far from any stroke is rare.
    shape: (rows, columns) of the image; filled in when the model is fitted.
    """

    widths: tuple[float, ...] = (0.7, 1.2)
    floors: tuple[float, ...] = (0.002, 0.005)
    gaps: tuple[float, ...] | None = None
    shape: tuple[int, int] | None = None

    kind: ClassVar[str] = "blur"

    def __post_init__(self) -> None:
        _check_scales("widths", self.widths, 0.0, 1000.0)
        _check_scales("floors", self.floors, 1e-6, 0.5)
        if self.gaps is None:
            gaps = np.linspace(0.05, 0.15, len(self.widths)).round(4)
            object.__setattr__(self, "gaps", tuple(gaps.tolist()))
        assert self.gaps is not None
        _check_scales("gaps", self.gaps, 1e-6, 0.5)
        if not len(self.floors) == len(self.gaps) == len(self.widths):
            wrong = f"widths, floors and gaps have {len(self.widths)}, {len(self.floors)} and {len(self.gaps)} entries"
            raise ValueError(f"{wrong}; give one of each for each scale")

    @property
    def n_scales(self) -> int:
        return len(self.widths)

    def lit(self, pixels: Array, scale: int) -> Array:
        """(A, N) pixels between 0 and 1, one column for each image -> (A, N) the probability that each is lit."""
        assert self.shape is not None
        assert self.gaps is not None
        rows, columns = self.shape
        down, across = (blur_matrix(n, self.widths[scale]).astype(pixels.dtype, copy=False) for n in self.shape)
        # images lie in the last axis, so that both directions are matrix products without a transposition
        found: Array = across @ (down @ pixels.reshape(rows, -1)).reshape(rows, columns, -1)
        found = np.clip(found, 0, 1, out=found).reshape(pixels.shape)
        found *= 1 - self.floors[scale] - self.gaps[scale]
        found += self.floors[scale]
        return found


@dataclass(frozen=True)
class Flip(Stored):
    """Any variable: the example's own value, or with probability ``rate`` a value drawn as in its class.

    rates: one for each scale. A rate of 1 is naive Bayes.
    """

    rates: tuple[float, ...] = (0.1, 0.5)

    kind: ClassVar[str] = "flip"

    def __post_init__(self) -> None:
        _check_scales("rates", self.rates, 1e-6, 1.0)

    @property
    def n_scales(self) -> int:
        return len(self.rates)


Smoothing = Blur | Flip
SMOOTHINGS = {cls.kind: cls for cls in (Blur, Flip)}

BLURS = (
    Blur((0.5, 0.9, 1.5), (0.01, 0.02, 0.05), (0.01, 0.02, 0.05)),
    Blur((0.7, 1.2), (0.002, 0.005)),
    Blur((0.5, 0.9), (0.005, 0.01)),
    Blur((0.35, 0.6), (0.01, 0.02)),
    Blur((0.2, 0.45), (0.02, 0.05)),
    Blur((1.0, 1.6), (0.002, 0.005)),
    Blur((0.6, 1.1), (0.01, 0.05)),
)
FLIPS = (Flip((0.02, 0.2)), Flip((0.05, 0.4)), Flip((0.1, 0.6)), Flip((0.2, 0.8)), Flip((0.4, 0.9)))
"""Smoothings to choose from on held-out data."""


@lru_cache(maxsize=64)
def blur_matrix(n: int, width: float) -> FloatArray:
    """(n, n) that blurs a line of n pixels; what lies outside counts as dark."""
    if width == 0:
        return np.eye(n)
    reach = int(np.ceil(10 * width))  # the whole Gaussian, however small the image
    total = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2).sum()
    matrix = np.exp(-0.5 * ((np.arange(n)[:, None] - np.arange(n)) / width) ** 2) / total
    # numbers that float32 holds only as subnormals would slow the product down twentyfold
    return np.where(matrix < 1e-9, 0.0, matrix)


# ---- the model ------------------------------------------------------------------------------------------------------


class EmpiricalModel(FiniteModel):
    """The training set itself, smoothed. **A saved one contains its training data.**

    Parameters
    ----------
    values: (N, A) variable values of the training examples, -1 for unknown.
    labels: (N,) their classes, 0 to C - 1.
    smoothing: `Blur` for images, `Flip` for anything else.
    weights: (N,) how much each example counts.
    sizes: values of each variable; 2 where nothing is given.

    >>> model = EmpiricalModel([[1, 0], [1, 1], [0, 0]], [0, 0, 1], Flip(rates=(0.1,)))
    >>> model.n_states, model.n_classes
    (3, 2)
    """

    kind = "empirical"
    contains_training_data = True

    def __init__(
        self,
        values: Any,
        labels: Any,
        smoothing: Smoothing | None = None,
        *,
        weights: Any = None,
        sizes: Any = None,
        n_classes: int | None = None,
        dtype: npt.DTypeLike = np.float32,
    ) -> None:
        values = np.asarray(values)
        variables = Variables(tuple(int(s) for s in sizes) if sizes is not None else (2,) * values.shape[-1])
        self._build(Sample.of(variables, values, labels, weights, n_classes), smoothing or Flip(), dtype)

    @classmethod
    def of(cls, sample: Sample, smoothing: Smoothing, dtype: npt.DTypeLike = np.float32, **tables: Any) -> Self:
        """From a sample; class_prior (C,) and marginals (C, L) P(value | class) are the sample's own by default."""
        model = object.__new__(cls)
        model._build(sample, smoothing, dtype, **tables)
        return model

    def _build(
        self,
        sample: Sample,
        smoothing: Smoothing,
        dtype: npt.DTypeLike,
        class_prior: FloatArray | None = None,
        marginals: FloatArray | None = None,
    ) -> None:
        variables, scales = sample.variables, smoothing.n_scales
        if max(variables.sizes) >= MISSING:
            raise ValueError(
                f"a variable has {max(variables.sizes)} values; an empirical model takes fewer than {MISSING}"
            )
        if isinstance(smoothing, Blur):
            if smoothing.shape is None or smoothing.shape[0] * smoothing.shape[1] != len(variables):
                wrong = f"smoothing has shape={smoothing.shape}, but there are {len(variables)} pixels"
                raise ValueError(f"{wrong}; give Blur(shape=(rows, columns))")
            if set(variables.sizes) != {2}:
                raise ValueError("only black and white pixels can be blurred; use Flip for variables with more values")
        self.sample, self.smoothing, self._dtype = sample, smoothing, np.dtype(dtype)
        self.marginals: FloatArray = sample.marginals() if marginals is None else marginals
        # (N, A) and (A, N): one for the values of some examples, one for some values of all examples
        self._values = np.where(sample.values == UNKNOWN, MISSING, sample.values).astype(np.uint8)
        self._columns = np.ascontiguousarray(self._values.T) if isinstance(smoothing, Flip) else self._values[:0]
        self._gaps = bool((sample.values == UNKNOWN).any())
        self._slot_value = (np.arange(variables.n_slots) - variables.offsets[variables.slot_variable]).astype(np.uint8)
        totals = sample.class_weights
        # a class without examples has no states, and its probability goes to the others
        prior = np.where(totals > 0, sample.class_prior if class_prior is None else class_prior, 0.0)
        share = log(prior / prior.sum())[sample.labels] + np.log(sample.weights / totals[sample.labels] / scales)
        counts = np.bincount(sample.labels, minlength=sample.n_classes)
        super().__init__(
            variables, np.repeat(share, scales), scales * np.concatenate([[0], np.cumsum(counts)]), self._lit_pixels()
        )

    @single_threaded()
    def _lit_pixels(self) -> Array:
        """(A, S) the probability that each pixel is lit in each state; empty where the smoothing is a `Flip`."""
        if not isinstance(self.smoothing, Blur):
            return np.empty((0, 0), dtype=self._dtype)
        scales, n = self.smoothing.n_scales, len(self.sample)
        table = np.empty((len(self.sample.variables), n * scales), dtype=self._dtype)
        for start in range(0, n, CHUNK):
            stop = min(start + CHUNK, n)
            pixels = self._pixels(slice(start, stop))
            for j in range(scales):
                table[:, start * scales + j : stop * scales : scales] = self.smoothing.lit(pixels, j)
        return table

    def _pixels(self, rows: Any) -> Array:
        """(A, n) pixels of some examples, unknown ones as frequent as in their class."""
        raw = self._values[rows].T
        pixels: Array = raw.astype(self._dtype, order="C")
        if self._gaps:
            usual = self.marginals[self.sample.labels[rows]][:, 1::2].T
            np.copyto(pixels, usual, where=raw == MISSING, casting="same_kind")
        return pixels

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def rows(self, slots: IntArray) -> Array:
        """(n,) -> (n, S) the probability of some variable values in all states."""
        slots = np.asarray(slots)
        variable, value = self.variables.slot_variable[slots], self._slot_value[slots]
        if isinstance(self.smoothing, Blur):
            table = np.take(self.probs, variable, axis=0)
            for i in np.flatnonzero(value == 0):
                np.subtract(1, table[i], out=table[i])
            return table
        here = np.take(self._columns, variable, axis=0)  # (n, N)
        usual = np.take(self.marginals.T[slots].astype(self._dtype), self.sample.labels, axis=1)
        own = (here == value[:, None]).astype(self._dtype)
        return self._flipped(own, usual, here)

    def masses(self, slots: IntArray, weights: Array) -> Array:
        """See `FiniteModel.masses`.

        A flip gives the own value or one drawn as in the class, so no sum over the values is needed in each state.
        """
        if isinstance(self.smoothing, Blur):
            return super().masses(slots, weights)
        here = np.take(self._columns, self.variables.slot_variable[slots[:, 0]], axis=0)  # (n, N)
        own = np.empty((*weights.shape[:2], here.shape[1]), dtype=weights.dtype)
        for i, values in enumerate(here):
            np.take(weights[i], values, axis=1, out=own[i], mode="clip")  # a missing value's own is not used
        usual = self.marginals.T[np.maximum(slots, 0)].astype(weights.dtype)  # (n, V, C)
        usual = np.take(np.matmul(weights, usual), self.sample.labels, axis=2)  # (n, J, N)
        return self._flipped(own, usual, here[:, None])

    def _flipped(self, own: Array, usual: Array, here: Array) -> Array:
        """(..., N) -> (..., S) at every scale: the own value, or one drawn as in the class; the latter where ``here``
        is missing."""
        assert isinstance(self.smoothing, Flip)
        found = np.empty((*own.shape, self.smoothing.n_scales), dtype=own.dtype)
        # one scale after the other: a broadcast inner loop over two scales would be several times slower
        for j, rate in enumerate(np.asarray(self.smoothing.rates, dtype=self._dtype).astype(own.dtype)):
            scale = np.multiply(usual, rate, out=found[..., j])
            scale += own * (1 - rate)
            if self._gaps:
                np.copyto(scale, usual, where=here == MISSING)
        return found.reshape(*own.shape[:-1], -1)

    def state_probs(self, states: IntArray) -> Array:
        """(M,) -> (L, M) the probability of all variable values in some states."""
        states = np.asarray(states)
        example, scale = np.divmod(states, self.smoothing.n_scales)
        table = np.empty((self.variables.n_slots, len(states)), dtype=self._dtype)
        if isinstance(self.smoothing, Blur):
            for j in range(self.smoothing.n_scales):
                mine = np.flatnonzero(scale == j)
                if len(mine):
                    table[1::2, mine] = self.smoothing.lit(self._pixels(example[mine]), j)
            np.subtract(1, table[1::2], out=table[::2])
            return table
        here = np.take(self._values[example], self.variables.slot_variable, axis=1).T  # (L, M)
        usual = self.marginals[self.sample.labels[example]].T.astype(self._dtype)
        rate = np.asarray(self.smoothing.rates, dtype=self._dtype)[scale]
        np.multiply(here == self._slot_value[:, None], 1 - rate, out=table)
        table += rate * usual
        if self._gaps:
            np.copyto(table, usual, where=here == MISSING)
        return table

    def to(self, *, dtype: npt.DTypeLike | None = None) -> Self:
        """The same model in another number type, as if it had been made in it."""
        other = self._copy()
        if dtype is not None and np.dtype(dtype) != self._dtype:
            other._dtype = np.dtype(dtype)
            other.probs = other._lit_pixels()
        return other

    @property
    def settings(self) -> str:
        """The smoothing in words."""
        return repr(self.smoothing)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `storing` keeps: settings and arrays."""
        sample = self.sample
        packed = bool(set(sample.variables.sizes) == {2} and (sample.values >= 0).all())
        values = np.packbits(sample.values.astype(np.uint8), axis=1) if packed else sample.values.astype(np.int16)
        return {"smoothing": self.smoothing.to_spec(), "n_examples": len(sample), "packed": packed}, {
            "log_prior": self.log_prior,
            "values": values,
            "labels": sample.labels.astype(np.int32),
            "weights": sample.weights,
            "class_prior": self.class_prior,
            "marginals": self.marginals,
        }

    @classmethod
    def from_parts(cls, spec: dict[str, Any], arrays: dict[str, Array], variables: Variables, n_classes: int) -> Self:
        """The model that `to_parts` took apart, everything checked."""
        n, packed = whole_number(spec["n_examples"], "n_examples", 1, MAX_COUNT), spec["packed"]
        n_bytes = (len(variables) + 7) // 8
        values = check_array(
            arrays, "values", (n, n_bytes if packed else len(variables)), np.uint8 if packed else np.int16
        )
        if packed:
            values = np.unpackbits(values, axis=1, count=len(variables))
        labels = check_array(arrays, "labels", (n,), np.int32).astype(np.int64)
        weights = check_array(arrays, "weights", (n,), np.float64)
        in_range = ((labels >= 0) & (labels < n_classes)).all() and ((weights > 0) & (weights < np.inf)).all()
        if not in_range or (np.diff(labels) < 0).any():
            raise ValueError("labels must be sorted class numbers and weights positive")
        marginals = check_array(arrays, "marginals", (n_classes, variables.n_slots), np.float64)
        check_probs(marginals.T, variables)
        model = cls.of(
            Sample(variables, variables.check(values.astype(np.int64)), labels, weights, n_classes),
            settings_from_spec(spec["smoothing"], SMOOTHINGS, "smoothing"),
            spec["dtype"],
            class_prior=check_class_prior(arrays, n_classes),
            marginals=marginals,
        )
        model.log_prior = check_log_prior(arrays, model.n_states)
        return model
