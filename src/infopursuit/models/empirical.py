"""`EmpiricalModel`: every training example, at each of a few scales of smoothing, is one latent state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import FiniteModel
from infopursuit.models.sample import Sample
from infopursuit.models.smoothing import Blur, Flip, Smoothing
from infopursuit.threads import steady
from infopursuit.types import UNKNOWN, Atoms, FloatArray

MISSING = 255
"""How an unknown value is stored; atoms of an empirical model have fewer values than this."""


class EmpiricalModel(FiniteModel):
    """The training set itself, smoothed. **A saved one contains its training data.**

    Parameters
    ----------
    values: (N, A) atom values of the training examples, -1 for unknown.
    labels: (N,) their classes, 0 to C - 1.
    smoothing: `Blur` for images, `Flip` for anything else.
    weights: (N,) how much each example counts.
    sizes: values of each atom; 2 where nothing is given.

    >>> model = EmpiricalModel([[1, 0], [1, 1], [0, 0]], [0, 0, 1], Flip(rates=(0.1,)))
    >>> model.n_states, model.n_classes
    (3, 2)
    """

    kind = "empirical"

    def __init__(
        self,
        values: Any,
        labels: Any,
        smoothing: Smoothing | None = None,
        *,
        weights: Any = None,
        sizes: Any = None,
        n_classes: int | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        values = np.asarray(values)
        atoms = Atoms(tuple(int(s) for s in sizes) if sizes is not None else (2,) * values.shape[-1])
        sample = Sample.of(atoms, values, labels, weights, n_classes)
        self._build(sample, Flip() if smoothing is None else smoothing, sample.class_prior, sample.marginals(), dtype)

    @classmethod
    def of(cls, sample: Sample, smoothing: Smoothing, dtype: torch.dtype = torch.float32) -> EmpiricalModel:
        """From a sample."""
        model = object.__new__(cls)
        model._build(sample, smoothing, sample.class_prior, sample.marginals(), dtype)
        return model

    @classmethod
    def from_parts(
        cls, sample: Sample, smoothing: Smoothing, class_prior: FloatArray, marginals: FloatArray, dtype: torch.dtype
    ) -> EmpiricalModel:
        """From what `storage` keeps."""
        model = object.__new__(cls)
        model._build(sample, smoothing, class_prior, marginals, dtype)
        return model

    def _build(
        self, sample: Sample, smoothing: Smoothing, class_prior: FloatArray, marginals: FloatArray, dtype: torch.dtype
    ) -> None:
        if max(sample.atoms.sizes) >= MISSING:
            raise ValueError(
                f"an atom has {max(sample.atoms.sizes)} values; an empirical model takes fewer than {MISSING}"
            )
        if isinstance(smoothing, Blur):
            if smoothing.shape is None or smoothing.shape[0] * smoothing.shape[1] != len(sample.atoms):
                raise ValueError(
                    f"smoothing has shape={smoothing.shape}, but there are {len(sample.atoms)} pixels; "
                    f"give Blur(shape=(rows, columns))"
                )
            if set(sample.atoms.sizes) != {2}:
                raise ValueError("only black and white pixels can be blurred; use Flip for atoms with more values")
        self.sample, self.smoothing, self._dtype = sample, smoothing, dtype
        self.marginals = torch.as_tensor(marginals)
        # (N, A) and (A, N): one for the values of some examples, one for some values of all examples
        self._values = torch.as_tensor(np.where(sample.values == UNKNOWN, MISSING, sample.values).astype(np.uint8))
        self._gaps = bool((sample.values == UNKNOWN).any())
        self._columns = self._values.T.contiguous() if isinstance(smoothing, Flip) else self._values[:0]
        self._labels = torch.as_tensor(sample.labels)
        slot_atom = sample.atoms.slot_atom
        self._slot_atom = torch.as_tensor(slot_atom)
        self._slot_value = torch.as_tensor(
            (np.arange(len(slot_atom)) - sample.atoms.offsets[slot_atom]).astype(np.uint8)
        )
        scales = smoothing.n_scales
        counts = np.bincount(sample.labels, minlength=sample.n_classes)
        totals = sample.class_weights
        # a class without examples has no states, and its probability goes to the others
        class_prior = np.where(totals > 0, class_prior, 0.0)
        class_prior = class_prior / class_prior.sum()
        with np.errstate(divide="ignore"):
            share = np.log(class_prior)[sample.labels] + np.log(sample.weights / totals[sample.labels]) - np.log(scales)
        probs = self._blurred(dtype) if isinstance(smoothing, Blur) else torch.empty((0, 0), dtype=dtype)
        super().__init__(
            sample.atoms,
            torch.as_tensor(np.repeat(share, scales)),
            scales * np.concatenate([[0], np.cumsum(counts)]),
            probs,
        )

    @steady()
    def _blurred(self, dtype: torch.dtype) -> Tensor:
        """(A, S) the probability that each pixel is lit in each state; the other value is what is left of one."""
        assert isinstance(self.smoothing, Blur)
        scales = self.smoothing.n_scales
        table = torch.empty((len(self.sample.atoms), len(self.sample) * scales), dtype=dtype)
        for start in range(0, len(self.sample), 4096):
            rows = slice(start, min(start + 4096, len(self.sample)))
            pixels = self._pixels(rows, dtype)
            for j in range(scales):
                table[:, start * scales + j : rows.stop * scales : scales] = self.smoothing.lit(pixels, j)
        return table

    def _pixels(self, rows: Any, dtype: torch.dtype) -> Tensor:
        """(A, n) pixels of some examples, those not known as frequent as in their class."""
        raw = self._values[rows].T.contiguous()
        if not self._gaps:
            return raw.to(dtype)
        usual = self.marginals[self._labels[rows]][:, 1::2].T.to(dtype)
        return torch.where(raw == MISSING, usual, raw.to(dtype))

    @property
    def dtype(self) -> torch.dtype:
        return self._dtype

    def rows(self, slots: Tensor) -> Tensor:
        """(n, S) the probability of some atom values in all states."""
        atom, value = self._slot_atom[slots], self._slot_value[slots]
        if isinstance(self.smoothing, Blur):
            # |p - 1| is the probability of the dark pixel, |p - 0| that of the lit one
            return self.probs[atom].sub_((value == 0)[:, None].to(self._dtype)).abs_()
        here = self._columns[atom]  # (n, N)
        usual = self.marginals.T[slots].to(self._dtype)[:, self._labels]  # (n, N)
        return self._flipped(here == value[:, None], here == MISSING, usual).flatten(1)

    def masses(self, slots: Tensor, weights: Tensor) -> Tensor:
        """See `FiniteModel.masses`.

        A flip gives the own value or one drawn as in the class, so no sum over the values is needed in each state.
        """
        if isinstance(self.smoothing, Blur):
            return super().masses(slots, weights)
        here = self._columns[self._slot_atom[slots[:, 0]]]  # (n, N)
        missing = here == MISSING
        index = torch.where(missing, 0, here).to(torch.int64)[:, None].expand(-1, weights.shape[1], -1)
        own = torch.gather(weights, 2, index)  # (n, J, N)
        usual = self.marginals.T[slots.clamp(min=0)].to(weights.dtype)  # (n, V, C)
        usual = torch.bmm(weights, usual)[:, :, self._labels]
        rates = torch.as_tensor(self.smoothing.rates, dtype=self._dtype, device=slots.device).to(weights.dtype)
        mixed = (1 - rates) * own[..., None] + rates * usual[..., None]  # (n, J, N, scales)
        if self._gaps:
            mixed = torch.where(missing[:, None, :, None], usual[..., None], mixed)
        return mixed.flatten(2)

    def state_probs(self, states: Tensor) -> Tensor:
        """(L, M) the probability of all atom values in some states."""
        scales = self.smoothing.n_scales
        example, scale = states // scales, states % scales
        if isinstance(self.smoothing, Blur):
            mine = [torch.nonzero(scale == j)[:, 0] for j in range(scales)]
            lit = torch.cat(
                [self.smoothing.lit(self._pixels(example[some], self._dtype), j) for j, some in enumerate(mine)], dim=1
            ).index_select(1, torch.argsort(torch.cat(mine)))
            return torch.stack([1 - lit, lit], dim=1).flatten(0, 1)
        here = self._values[example][:, self._slot_atom]
        usual = self.marginals[self._labels[example]].to(self._dtype)
        every = self._flipped(here == self._slot_value, here == MISSING, usual)  # (M, L, scales)
        return torch.take_along_dim(every, scale[:, None, None], dim=2)[..., 0].T.contiguous()

    def _flipped(self, same: Tensor, missing: Tensor, usual: Tensor) -> Tensor:
        """P(value) at every scale: the own value, or one drawn as in the class; only that where none is known."""
        assert isinstance(self.smoothing, Flip)
        rates = torch.as_tensor(self.smoothing.rates, dtype=usual.dtype, device=usual.device)
        rates = torch.where(missing[..., None], 1.0, rates)
        return (1 - rates) * same[..., None].to(usual.dtype) + rates * usual[..., None]

    def to(self, device: Any = None, dtype: torch.dtype | None = None) -> FiniteModel:
        other = super().to(device, dtype)
        assert isinstance(other, EmpiricalModel)
        other._dtype = dtype or self._dtype
        if isinstance(self.smoothing, Blur) and other._dtype != self._dtype:
            # as a model made in that type has it, not rounded twice
            other.probs = self._blurred(other._dtype).to(device)
        return other

    @property
    def settings(self) -> str:
        """The smoothing in words."""
        return repr(replace(self.smoothing))
