"""`UnionModel`: the states of several finite models together, as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import FiniteModel, check_prior
from infopursuit.types import IntArray


class UnionModel(FiniteModel):
    """p(atoms, z, y) = sum over models of share times theirs: which model an input is from is part of its latent state.

    Models that are wrong in different ways are less often wrong together, and less sure where they disagree.

    Parameters
    ----------
    models: finite models of the same atoms with the same classes.
    shares: how probable each is; the same for all where nothing is given.

    >>> from infopursuit.models import TableModel
    >>> sure, unsure = (TableModel([0.5, 0.5], None, [[p], [1 - p]]) for p in (0.9, 0.6))
    >>> UnionModel([sure, unsure]).n_states
    4
    """

    kind = "union"

    def __init__(self, models: Sequence[FiniteModel], shares: Any = None) -> None:
        if not models:
            raise ValueError("models is empty; give one or more finite models")
        first = models[0]
        for i, model in enumerate(models):
            if not isinstance(model, FiniteModel):
                raise TypeError(f"models[{i}] is {type(model).__name__}; expected a finite model such as a TableModel")
            if model.atoms != first.atoms or model.n_classes != first.n_classes or model.device != first.device:
                raise ValueError(
                    f"models[{i}] has {len(model.atoms)} atoms and {model.n_classes} classes on {model.device}, and "
                    f"models[0] has {len(first.atoms)} and {first.n_classes} on {first.device}; they must be the same"
                )
        if shares is not None and np.shape(shares) != (len(models),):
            raise ValueError(f"shares={shares!r} must be {len(models)} numbers, one for each model")
        if shares is None:
            shares = np.full(len(models), 1 / len(models))
        weights = check_prior(shares, len(models), "shares")
        self.models, self.shares = tuple(models), weights
        # states lie class by class, and in a class model by model; _order: (S,) their places among all of theirs
        starts = np.concatenate([[0], np.cumsum([model.n_states for model in models])])
        order = [
            np.arange(model.offsets[c], model.offsets[c + 1]) + start
            for c in range(first.n_classes)
            for model, start in zip(models, starts[:-1], strict=True)
        ]
        self._starts = starts
        self._order = torch.as_tensor(np.concatenate(order), device=first.device)
        offsets = np.sum([model.offsets for model in models], axis=0)
        with np.errstate(divide="ignore"):
            logs = [model.log_prior + float(np.log(w)) for model, w in zip(models, weights, strict=True)]
        nothing = torch.empty((0, 0), dtype=first.dtype, device=first.device)  # the tables stay with the models
        super().__init__(first.atoms, torch.cat(logs)[self._order], offsets, nothing)

    def runs(self) -> tuple[IntArray, IntArray]:
        """(R + 1,) where the states of one class and one model begin, and (R,) which model that is."""
        sizes = np.array([np.diff(model.offsets) for model in self.models])  # (M, C)
        ends = np.cumsum(sizes.T.ravel())
        return np.concatenate([[0], ends]), np.tile(np.arange(len(self.models)), self.n_classes)

    def rows(self, slots: Tensor) -> Tensor:
        """(n, S) the probability of some atom values in all states."""
        return torch.cat([model.rows(slots).to(self.dtype) for model in self.models], dim=1)[:, self._order]

    def state_probs(self, states: Tensor) -> Tensor:
        """(L, M) the probability of all atom values in some states."""
        theirs = self._order[states]
        table = torch.empty((self.atoms.n_slots, len(states)), dtype=self.dtype, device=self.device)
        for model, start in zip(self.models, self._starts[:-1], strict=True):
            mine = torch.nonzero((theirs >= int(start)) & (theirs < int(start) + model.n_states))[:, 0]
            if len(mine):
                table[:, mine] = model.state_probs(theirs[mine] - int(start)).to(self.dtype)
        return table

    def to(self, device: Any = None, dtype: torch.dtype | None = None) -> FiniteModel:
        """The same model on another device or in another number type."""
        return UnionModel([model.to(device, dtype) for model in self.models], self.shares)
