"""`UnionModel`: the states of several finite models together, as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from infopursuit.models.finite import Array, FiniteModel, check_prior, log, segments
from infopursuit.types import IntArray


class UnionModel(FiniteModel):
    """p(variables, z, y) = sum over models of share times theirs: the model is part of the latent state.

    Models that are wrong in different ways are less often wrong together, and less confident where they disagree.

    Parameters
    ----------
    models: finite models of the same variables with the same classes.
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
            if model.variables != first.variables or model.n_classes != first.n_classes:
                one, two = (f"{len(m.variables)} variables and {m.n_classes} classes" for m in (model, first))
                raise ValueError(f"models[{i}] has {one}, and models[0] has {two}; they must be the same")
        shares = np.full(len(models), 1 / len(models)) if shares is None else shares
        if np.shape(shares) != (len(models),):
            raise ValueError(f"shares={shares!r} must be {len(models)} numbers, one for each model")
        self.models, self.shares = tuple(models), check_prior(shares, len(models), "shares")
        # states lie class by class, and in a class model by model; _order: (S,) their places among all of theirs
        self._starts = np.concatenate([[0], np.cumsum([model.n_states for model in models])])
        order = [
            np.arange(model.offsets[c], model.offsets[c + 1]) + start
            for c in range(first.n_classes)
            for model, start in zip(models, self._starts[:-1], strict=True)
        ]
        self._order: IntArray = np.concatenate(order)
        logs = [model.log_prior + share for model, share in zip(models, log(self.shares), strict=True)]
        offsets = np.sum([model.offsets for model in models], axis=0)
        nothing = np.empty((0, 0), dtype=first.dtype)  # the tables stay with the models
        super().__init__(first.variables, np.concatenate(logs)[self._order], offsets, nothing)
        self.contains_training_data = any(model.contains_training_data for model in models)

    def runs(self) -> tuple[IntArray, IntArray]:
        """(R + 1,) where the states of one class and one model begin, and (R,) which model that is."""
        sizes = np.array([np.diff(model.offsets) for model in self.models])  # (M, C)
        ends = np.cumsum(sizes.T.ravel())
        return np.concatenate([[0], ends]), np.tile(np.arange(len(self.models)), self.n_classes)

    def rows(self, slots: IntArray) -> Array:
        """(n,) -> (n, S) the probability of some variable values in all states."""
        table = np.empty((len(slots), self.n_states), dtype=self.dtype)
        starts, n_models = self.runs()[0][:-1], len(self.models)
        for m, model in enumerate(self.models):
            part = model.rows(slots)
            for (a, b), start in zip(segments(model.offsets), starts[m::n_models], strict=True):
                table[:, start : start + b - a] = part[:, a:b]
        return table

    def state_probs(self, states: IntArray) -> Array:
        """(M,) -> (L, M) the probability of all variable values in some states."""
        theirs = self._order[states]
        table = np.empty((self.variables.n_slots, len(states)), dtype=self.dtype)
        for model, start in zip(self.models, self._starts[:-1], strict=True):
            mine = np.flatnonzero((theirs >= start) & (theirs < start + model.n_states))
            if len(mine):
                table[:, mine] = model.state_probs(theirs[mine] - start)
        return table

    def to(self, *, dtype: npt.DTypeLike | None = None) -> Self:
        """The same model in another number type."""
        other = super().to(dtype=dtype)
        other.models = tuple(model.to(dtype=dtype) for model in self.models)
        return other
