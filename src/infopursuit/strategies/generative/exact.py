"""`Exact`: the posterior of a finite model, one log-weight for each latent state, updated answer by answer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.models.finite import FiniteModel, class_log_sums, log_sum_exp, segments
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.information import MutualInformation
from infopursuit.pursuit.protocols import B, Belief, Capabilities, Estimate
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative import answer_tables as tables
from infopursuit.strategies.generative.gains import FiniteGains
from infopursuit.support.threads import side_by_side
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Rows

if TYPE_CHECKING:
    from infopursuit.pursuit.noise import NoiseChannel

CACHE, CHUNK = 2**20, 2**26
"""Bytes of probabilities that are gathered at a time: where they should stay in the cache, and where they need not."""


@dataclass(frozen=True, repr=False)
class StateWeights(Rows):
    """The state of H histories.

    log_weights: (H, S) log p(y, z, history). evidence: (H, L) log-weight of each value of each variable: 0 where it is
    possible, -inf where it is excluded, in between where an answer may be wrong. log_joint: (H, C) log p(y, history).
    soft: whether an answer may be wrong.
    """

    log_weights: FloatArray
    evidence: FloatArray
    log_joint: FloatArray
    soft: bool = False

    def __len__(self) -> int:
        return len(self.log_weights)


def class_entropy(log_p: FloatArray) -> FloatArray:
    """(H,) the entropy of (H, C) log-probabilities, in nats."""
    return np.asarray(-(np.exp(log_p) * np.maximum(log_p, np.log(1e-300))).sum(axis=1))


def log_normalised(log_joint: FloatArray) -> FloatArray:
    """(H, C) log p(y, history) -> log p(y | history), eq. 17; NaN where the history is impossible."""
    with np.errstate(invalid="ignore"):
        return np.asarray(log_joint - log_sum_exp(log_joint)[:, None])


def weight_ess(log_weights: FloatArray) -> FloatArray:
    """Effective sample size of weighted draws, (sum w)^2 / sum w^2 over the last axis; 0 where all weights are 0 or one
    is not a number."""
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
        return np.asarray(np.nan_to_num(weights.sum(axis=-1) ** 2 / (weights**2).sum(axis=-1), nan=0.0))


class LatentBelief(Belief[B]):
    """What beliefs about latent states share."""

    queries: QuerySet
    seed: int = 0
    """Of the latent states, where they are drawn."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def log_joint(self, b: Any) -> FloatArray:
        """(H, C) log p(y, history)."""
        return np.asarray(b.log_joint)

    def log_posterior(self, b: Any) -> Estimate:
        """(H, C) log p(y | history), without error."""
        return Estimate.exact(log_normalised(self.log_joint(b)))

    def log_evidence(self, b: Any) -> FloatArray:
        """(H,) log p(answers so far)."""
        return log_sum_exp(self.log_joint(b))

    def answer_distribution(self, b: Any, query: int) -> FloatArray:
        """(H, answers) p(answer | history) of one query, on the latent states that have weight."""
        return tables.answer_distribution(self, b, query)

    @abstractmethod
    def latent_states(self, b: B, h: int) -> tuple[FiniteModel, FloatArray, FloatArray]:
        """The states that history h gives weight to, their log-weights (S,), and its evidence (L,)."""

    @abstractmethod
    def reweighed(self, b: B, shift: FloatArray, rows: list[int]) -> B:
        """The same state with the log weights of each class (H, C) shifted; ``rows``: the histories that matter."""


class Exact(LatentBelief[StateWeights]):
    """p(z, y | history) by the paper's recursion (eq. 17) over all latent states: nothing is approximated.

    Parameters
    ----------
    model: a model with finitely many latent states.
    queries: the queries about its variables.

    >>> import infopursuit as ip
    >>> queries = ip.queries.concepts(["has wings", "is red"])
    >>> belief = Exact(ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]]), queries)
    >>> new = Histories.empty(queries).extend(np.zeros(1, int), np.zeros(1, int), np.ones((1, 1), int))
    >>> np.exp(belief.log_posterior(belief.update(belief.init(), np.zeros(1, int), new)).value).round(3).tolist()
    [[0.9, 0.1]]
    """

    kind = "exact"

    def __init__(self, model: FiniteModel, queries: QuerySet) -> None:
        self.model = model
        self.queries = queries
        self.n_classes = model.n_classes
        # of one history: a weight for each state, that of its parent, and one to work on
        self.capabilities = Capabilities(
            noise=True,
            evidence=True,
            answers=True,
            gains=True,
            contains_training_data=model.contains_training_data,
            bytes_per_history=24 * model.n_states + 16 * model.variables.n_slots,
        )

    def describe(self) -> str:
        """How the posterior is computed."""
        return "exact"

    def init(self) -> StateWeights:
        """The prior."""
        return self.of(self.model.log_prior[None], np.zeros((1, self.model.variables.n_slots)))

    def of(self, log_weights: FloatArray, evidence: FloatArray, soft: bool = False) -> StateWeights:
        """The state with these weights."""
        return StateWeights(log_weights, evidence, class_log_sums(log_weights, self.model.offsets), soft)

    def update(self, b: StateWeights, parents: IntArray, new: Histories) -> StateWeights:
        """Each state's weight is multiplied by P(what is left of the variable) / P(what was left before)."""
        asked, cells, said = new.queries[:, -1], new.answers[:, -1], new.log_likelihood
        log_weights, evidence = b.log_weights[parents], b.evidence[parents]  # copies, changed in place below
        seen = np.full_like(cells, UNKNOWN)  # (H, W) the slot of a variable that is now known, and nothing was before
        with np.errstate(divide="ignore", invalid="ignore"):
            for w in range(cells.shape[1]):
                known = np.flatnonzero(cells[:, w] != UNKNOWN)
                if len(known):
                    slots = self.model.variables.slots[self.queries.query_variables[asked[known], w]]  # (n, V)
                    own = self.queries.query_cells[asked[known], w, : slots.shape[1]]  # (n, V) the cell of each value
                    if said is None:
                        shift = np.where(own == cells[known, w, None], 0.0, -np.inf)
                    else:
                        shift = np.take_along_axis(said[known, w], np.maximum(own, 0), axis=1)
                    self._absorb(log_weights, evidence, known, slots, shift, seen[:, w])
            rows = np.flatnonzero((seen != UNKNOWN).any(axis=1))
            if cells.shape[1] == 1:
                self._multiply(log_weights, rows, seen[:, 0])
            else:

                def one(row: Any) -> None:
                    log_weights[row] += self.model.log_product(seen[row][seen[row] != UNKNOWN])

                side_by_side(lambda i: one(rows[i]), len(rows), short=True)
        return self.of(log_weights, evidence, b.soft or said is not None)

    def reweighed(self, b: StateWeights, shift: FloatArray, rows: list[int]) -> StateWeights:
        """The same state with the log weights of each class (H, C) shifted; ``rows``: the histories that matter."""
        shifted = b.log_weights + np.repeat(shift, np.diff(self.model.offsets), axis=1)
        return self.of(shifted, b.evidence, b.soft)

    def class_ess(self, b: StateWeights) -> FloatArray:
        """(H, C) effective sample size of the states of each class, (sum w)^2 / sum w^2."""
        return np.stack([weight_ess(b.log_weights[:, a:c]) for a, c in segments(self.model.offsets)], axis=1)

    def latent_states(self, b: StateWeights, h: int) -> tuple[FiniteModel, FloatArray, FloatArray]:
        """The states that history h gives weight to, their log-weights (S,), and its evidence (L,)."""
        return self.model, b.log_weights[h], b.evidence[h]

    def gains(self, settings: MutualInformation, costs: FloatArray | None, noise: NoiseChannel | None) -> FiniteGains:
        """The mutual information of queries under this belief."""
        return FiniteGains(self.model, self.queries, settings, costs=costs, noise=noise)

    def _multiply(self, log_weights: FloatArray, rows: IntArray, slots: IntArray) -> None:
        """Multiply the weights of histories that have seen one value each by its probability, in place."""
        # a few rows at a time, so that what is gathered is still in the cache when it is added
        size = max(1, CACHE // (8 * self.model.n_states))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            log_weights[some] += np.log(self.model.rows(slots[some]), dtype=np.float64)

    def _absorb(
        self,
        log_weights: FloatArray,
        evidence: FloatArray,
        rows: IntArray,
        slots: IntArray,
        shift: FloatArray,
        seen: Any,
    ) -> None:
        """Weigh the values of one variable by how well they agree with its answer, in place: ``shift`` (n, V) is 0 for
        those that do, -inf for those that are excluded. A variable of which nothing was known, and one value is left,
        is only noted in ``seen``. A pixel under an earlier patch is multiplied by 1: nothing is counted twice."""
        before = np.where(slots >= 0, evidence[rows[:, None], np.maximum(slots, 0)], -np.inf)  # (n, V)
        after = before + shift
        changed = (after != before).any(axis=1)
        if not changed.any():
            return
        rows, slots, before, after = rows[changed], slots[changed], before[changed], after[changed]
        real = slots >= 0
        fresh = ((before == 0) | ~real).all(axis=1)
        single = fresh & (np.isfinite(after).sum(axis=1) == 1) & (after.max(axis=1) == 0)
        seen[rows[single]] = np.take_along_axis(slots[single], after[single].argmax(axis=1)[:, None], axis=1)[:, 0]
        mixed = np.flatnonzero(~single)
        size = max(1, CHUNK // (8 * slots.shape[1] * self.model.n_states))
        for start in range(0, len(mixed), size):
            some = mixed[start : start + size]
            masses = self.model.log_masses(slots[some], np.stack([after[some], before[some]], axis=1))  # (n, 2, S)
            left, was = masses[:, 0], masses[:, 1]
            log_weights[rows[some]] += np.where(left > -np.inf, left - was, -np.inf)
        row, value = real.nonzero()
        evidence[rows[row], slots[row, value]] = after[row, value]
