"""Models with finitely many latent states: everything about them can be computed exactly."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from infopursuit.types import Atoms, FloatArray, IntArray

SMALL_TABLE = 64 * 2**20
"""Tables up to this many bytes are kept in float64, larger ones in float32, where no dtype is given."""


FAINT = 1e-290
"""Sums of products below this have lost digits, or all of them: a float64 ends at 1e-308."""


class FiniteModel:
    """p(atoms | z, y) p(z | y) p(y) over S latent states, each of which belongs to one class.

    States of one class lie next to each other: class ``c`` owns the states ``offsets[c]`` to ``offsets[c + 1]``.

    Parameters
    ----------
    atoms: how many values each atom has.
    log_prior: (S,) log p(y, z).
    offsets: (C + 1,) where the states of each class begin.
    probs: (L, S) the probability of each atom value in each state.
    """

    kind: ClassVar[str]

    def __init__(self, atoms: Atoms, log_prior: Tensor, offsets: IntArray, probs: Tensor) -> None:
        self.atoms = atoms
        self.log_prior = log_prior.to(torch.float64)
        self.offsets = np.asarray(offsets, dtype=np.int64)
        self.probs = probs
        self.state_class = torch.repeat_interleave(
            torch.arange(self.n_classes, device=probs.device),
            torch.as_tensor(np.diff(self.offsets), device=probs.device),
        )

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.offsets) - 1

    @property
    def n_states(self) -> int:
        """S."""
        return int(self.offsets[-1])

    @property
    def device(self) -> torch.device:
        """Where the tables live."""
        return self.probs.device

    @property
    def dtype(self) -> torch.dtype:
        """The number type of the tables."""
        return self.probs.dtype

    @property
    def class_prior(self) -> FloatArray:
        """(C,) p(y)."""
        return np.asarray(class_log_sums(self.log_prior[None], self.offsets)[0].exp().cpu().numpy(), dtype=np.float64)

    def rows(self, slots: Tensor) -> Tensor:
        """(n, S) the probability of some atom values in all states."""
        return self.probs[slots]

    def log_product(self, slots: Tensor) -> Tensor:
        """(n,) values of different atoms -> (S,) log of the product of their probabilities."""
        return self.rows(slots).log_().sum(0, dtype=torch.float64)

    def masses(self, slots: Tensor, weights: Tensor) -> Tensor:
        """The weighted sum of the probabilities of an atom's values in every state.

        slots: (n, V) of one atom in each row, -1 for padding. weights: (n, J, V). Returns (n, J, S).
        """
        n, n_values = slots.shape
        table = self.rows(slots.clamp(min=0).flatten()).to(weights.dtype).reshape(n, n_values, -1)
        return torch.bmm(weights, table)

    def log_masses(self, slots: Tensor, log_weights: Tensor) -> Tensor:
        """Log of `masses` with weights exp(log_weights), however small or large: (n, V), (n, J, V) -> (n, J, S).

        Many answers that may be wrong leave weights that no float64 holds, all of them or some beside others. The
        largest is taken out; where a state still rests on what is too small, its sum is taken in log space.
        """
        top = log_weights.amax(dim=2, keepdim=True)
        top = torch.where(top.isfinite(), top, 0.0)
        scaled = log_weights - top
        mass = self.masses(slots, scaled.exp())
        found = mass.log() + top
        faint = (((scaled < 0) & scaled.isfinite()).any(2) & (mass < FAINT).any(2)).any(1)
        for i in torch.nonzero(faint)[:, 0].tolist():
            table = self.rows(slots[i].clamp(min=0)).to(scaled.dtype).log()  # (V, S)
            for j in range(scaled.shape[1]):
                found[i, j] = torch.logsumexp(table + scaled[i, j, :, None], dim=0) + top[i, j]
        return found

    def block(self, slots: slice) -> Tensor:
        """(l, S) the probability of a run of atom values in all states."""
        return self.rows(torch.arange(slots.start, slots.stop, device=self.device))

    def state_probs(self, states: Tensor) -> Tensor:
        """(L, M) the probability of all atom values in some states."""
        return self.probs[:, states]

    def with_class_prior(self, class_prior: Any) -> FiniteModel:
        """The same model with another p(y): prevalence differs from place to place."""
        prior = check_prior(class_prior, self.n_classes, "class_prior")
        now = class_log_sums(self.log_prior[None], self.offsets)[0]
        unheard = np.flatnonzero((prior > 0) & ~np.isfinite(now.cpu().numpy()))
        if len(unheard):
            raise ValueError(
                f"class_prior[{unheard[0]}] is {prior[unheard[0]]:g}, but this model was made with probability 0 for "
                f"that class and has not kept its latent states; make the model anew with a prior above 0"
            )
        given = torch.as_tensor(prior, device=self.device)
        shift = torch.where(given > 0, given.log() - now, -torch.inf)
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.log_prior = self.log_prior + shift[self.state_class]
        return other

    def to(self, device: Any = None, dtype: torch.dtype | None = None) -> FiniteModel:
        """The same model on another device or in another number type."""
        other = object.__new__(type(self))
        other.__dict__.update({k: v.to(device) if isinstance(v, Tensor) else v for k, v in self.__dict__.items()})
        other.probs = rounded(self.probs.to(device), dtype)
        return other


def rounded(probs: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Probabilities in another number type; what is possible stays so, also where it is less than the type holds."""
    if dtype is None or dtype == probs.dtype:
        return probs
    return torch.where(probs > 0, probs.to(dtype).clamp(min=torch.finfo(dtype).tiny), 0.0)


def class_log_sums(log_weights: Tensor, offsets: IntArray) -> Tensor:
    """(H, S) -> (H, C): log of the sum over the states of each class, -inf where a class has no weight."""
    n_states, n_classes = int(offsets[-1]), len(offsets) - 1
    if (
        n_states == n_classes * (int(offsets[1]) - int(offsets[0]))
        and (np.diff(offsets) == offsets[1] - offsets[0]).all()
    ):
        return torch.logsumexp(log_weights.reshape(len(log_weights), n_classes, -1), dim=-1)
    return torch.stack([torch.logsumexp(log_weights[:, a:b], dim=-1) for a, b in segments(offsets)], dim=-1)


def segments(offsets: IntArray) -> list[tuple[int, int]]:
    """The states of each class as (first, past the last)."""
    return [(int(a), int(b)) for a, b in pairwise(offsets)]


def check_prior(prior: Any, n_classes: int, name: str) -> FloatArray:
    """Class probabilities as an array that sums to one, refused where they cannot be that."""
    try:
        array = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} is {prior!r:.80}; expected one probability for each of the {n_classes} classes"
        ) from None
    if array.shape != (n_classes,):
        raise ValueError(
            f"{name} has shape {array.shape}; expected one probability for each of the {n_classes} classes"
        )
    if not np.isfinite(array).all() or (array < 0).any() or not np.isclose(array.sum(), 1, atol=1e-6):
        raise ValueError(f"{name} must be probabilities that sum to 1; got {array.tolist()[:10]} (sum {array.sum():g})")
    return np.asarray(array / array.sum())
