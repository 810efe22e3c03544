"""The linear opinion pool of finite models: their states together as one model, and the belief that keeps their shares.

With Bayes' rule for all states together the model that made the answers likeliest is soon the only one that counts. In
a pool (Stone 1961) the belief is the mean of what each model believes by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from infopursuit.models.finite import Array, FiniteModel, check_prior, log, log_sum_exp, segments
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.exact import Exact
from infopursuit.strategies.generative.kernels import compiled
from infopursuit.strategies.generative.pruned import BlockWeights, Pruned, PrunedBelief, States
from infopursuit.support.types import FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.pursuit.noise import NoiseChannel


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


@dataclass(frozen=True)
class Pooled(Pruned):
    """Pruned enumeration of the states of a `UnionModel`, whose models keep their shares whatever is answered."""

    def build(self, model: FiniteModel, queries: QuerySet, seed: int = 0, *, noisy: bool = False) -> Any:
        """The belief."""
        if not isinstance(model, UnionModel):
            raise ValueError(f"belief=Pooled() needs a UnionModel, and the model is {type(model).__name__}")
        return PooledBelief.of(model, queries, model.runs()[0])


class PooledBelief(PrunedBelief):
    """The mean of what the models of a union believe, each by itself."""

    settings = Pooled()
    model: UnionModel

    def __init__(self, states: States, queries: QuerySet, model: Any = None, runs: IntArray | None = None) -> None:
        super().__init__(states, queries, model, runs)
        runs, member = self.model.runs()
        self.state_member = np.repeat(member, np.diff(runs))  # (S,)
        self.block_member = self.state_member[self.bounds[:-1]]

    def for_noise(self, channel: NoiseChannel) -> Exact:
        """Refused: noisy answers need weights of all states."""
        raise ValueError("noise=... does not suit belief=Pooled(); use belief='exact'")

    def _multiply(
        self, rows: IntArray, before: BlockWeights, parents: IntArray, slots: Any, after: BlockWeights, squares: Any
    ) -> None:
        super()._multiply(rows, before, parents, slots, after, squares)
        hold_shares(
            rows, after.values, after.begin, after.end, after.blocks, after.starts, after.sums, squares, self.bounds,
            self.block_class, self.block_member, self.model.shares, after.class_sums, after.class_squares,
            after.log_whole,
        )  # fmt: skip

    def _log_weights(self, seen: Any) -> tuple[FloatArray, float]:
        log_weights, log_total = super()._log_weights(seen)
        for m, share in enumerate(self.model.shares):
            if share > 0:  # else its weights are nothing already
                mine = self.state_member == m
                log_weights[mine] += np.log(share) + log_total - log_sum_exp(log_weights[None, mine])[0]
        return log_weights, log_total


@compiled
def hold_shares(  # type: ignore[no-untyped-def]
    rows, after, begin, end, blocks, starts, sums, squares, bounds, block_class, block_member, shares, class_sums,
    class_squares, log_whole,
):  # fmt: skip
    """Give each model its share of the weight of each history again.

    What a model's own probability falls by may be more than what that of all together does: log_whole rises by the
    difference for the model where it is largest.
    """
    weight = np.empty(len(shares))
    for h in rows:
        total = class_sums[h].sum()
        if total == 0.0:
            continue
        weight[:] = 0.0
        for k in range(begin[h], end[h]):
            weight[block_member[blocks[k]]] += sums[k]
        alive, worst = 0.0, 0.0
        for m in range(len(shares)):
            if weight[m] > 0.0:
                alive += shares[m]
                worst = max(worst, np.log(shares[m] / weight[m]))
            elif shares[m] > 0.0:
                worst = np.inf  # less than a float32 holds: its weights are computed anew
        log_whole[h] += worst + np.log(total)
        class_sums[h], class_squares[h] = 0.0, 0.0
        for k in range(begin[h], end[h]):
            m, c = block_member[blocks[k]], block_class[blocks[k]]
            factor = shares[m] / alive * total / weight[m] if weight[m] > 0.0 else 0.0
            first, n = np.uintp(starts[k]), bounds[blocks[k] + 1] - bounds[blocks[k]]
            for j in range(np.uintp(n)):
                after[first + j] *= np.float32(factor)
            sums[k] *= factor
            squares[k] *= factor * factor
            class_sums[h, c] += sums[k]
            class_squares[h, c] += squares[k]
