"""The weights that histories give to one bank of draws, where all atoms are yes/no: kept small, updated fast.

Draws that resemble each other lie in one block. A block that has next to no weight left is let go; what weight it has
stays with its class, as its share, which is what it is expected to keep. After a few answers most blocks are gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from infopursuit.models.finite import segments
from infopursuit.posteriors import loops
from infopursuit.posteriors.states import States
from infopursuit.queries.queryset import QuerySet
from infopursuit.threads import side_by_side
from infopursuit.types import UNKNOWN, FloatArray, IntArray

BLOCK = 96
"""Draws in a block, at the most."""
MANY = 16_384
"""Draws above which weights are kept this way."""
SHARE = 3e-4
"""The weight that may be let go at each answer, of a total of one."""
DROP = 45.0
"""Nats by which the probability of a history may fall before its weights are computed anew: draws that once weighed
nothing in a float32 might by then have come to weigh something."""
UNEXPECTED = float(-np.log(SHARE))
"""Nats for each atom of an answer from which on it is so unexpected that weights are computed anew too."""
AT_A_TIME = 16
"""Histories that one thread works on at a time."""


@dataclass(frozen=True)
class Weights:
    """What R histories have in the way of weights.

    Row r has the blocks ``blocks[begin[r] : end[r]]``; the weights of the k-th of all begin at ``values[starts[k]]``
    and add up to ``sums[k]``. All weights of a row are up to one factor: totals (R,) is what they add up to,
    class_sums and class_squares (R, C) what they and their squares add up to in each class. lost: (R, C) the share of
    each class in what was let go, for a total of one that was not. log_total: (R,) log p(history); log_whole: the same
    when the weights were last computed from nothing.
    """

    values: Any
    begin: IntArray
    end: IntArray
    blocks: Any
    starts: IntArray
    sums: FloatArray
    totals: FloatArray
    class_sums: FloatArray
    class_squares: FloatArray
    lost: FloatArray
    log_total: FloatArray
    log_whole: FloatArray


@dataclass(frozen=True)
class Pool:
    """Draws from several models, each of which keeps its share of the weight whatever is answered.

    shares: (M,) of the models. runs: (R + 1,) where the draws of one class and one model begin. member: (R,) the model
    of each run.
    """

    shares: FloatArray
    runs: IntArray
    member: IntArray

    @classmethod
    def single(cls, offsets: IntArray) -> Pool:
        """One model, whose classes begin there."""
        return cls(np.ones(1), np.asarray(offsets), np.zeros(len(offsets) - 1, dtype=np.int64))


@dataclass(frozen=True)
class BankBelief:
    """What H histories say of the draws: ``row`` (H,) says which row of the weights is theirs.

    seen: (H, A) values of the atoms, -1 where unknown. bounds: (B + 1,) of the blocks.
    """

    soft: ClassVar[bool] = False
    row: IntArray
    weights: Weights
    seen: Any
    bounds: IntArray

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: Any) -> BankBelief:
        """Some of the histories; their weights stay where they are."""
        index = np.arange(len(self))[rows.cpu().numpy() if isinstance(rows, Tensor) else rows]
        return replace(self, row=self.row[index], seen=self.seen[index])

    @property
    def log_weights(self) -> Tensor:
        """(H, S) log p(y, z, history); -inf for draws that were let go."""
        w = self.weights
        found = np.zeros((len(self), int(self.bounds[-1])))
        for h, row in enumerate(self.row):
            for k in range(w.begin[row], w.end[row]):
                low, high = self.bounds[w.blocks[k]], self.bounds[w.blocks[k] + 1]
                found[h, low:high] = w.values[w.starts[k] : w.starts[k] + high - low]
        shift = w.log_total[self.row] - np.log(w.totals[self.row])
        return torch.as_tensor(found).log_() + torch.as_tensor(shift)[:, None]

    @property
    def evidence(self) -> Tensor:
        """(H, L) as in `Belief`: 0 where a value is still possible, -inf where it is excluded."""
        said = np.zeros((*self.seen.shape, 2))
        said[:, :, 0][self.seen == 1] = -np.inf
        said[:, :, 1][self.seen == 0] = -np.inf
        return torch.as_tensor(said.reshape(len(self), -1))


class BankPosterior:
    """p(z, y | history) on the draws of a cloud whose atoms are yes/no, for queries that reveal atoms whole.

    With a `Pool` it is the mean of what its models believe, each by itself.
    """

    def __init__(self, cloud: States, queries: QuerySet, pool: Pool | None = None) -> None:
        self.cloud, self.queries = cloud, queries
        self.pool = pool = pool if pool is not None else Pool.single(cloud.offsets)
        bounds, members = [np.zeros(1, dtype=np.int64)], []
        for (begin, end), member in zip(segments(pool.runs), pool.member, strict=True):
            ends = np.append(np.arange(begin + BLOCK, end, BLOCK), end) if end > begin else np.zeros(0, dtype=np.int64)
            bounds.append(ends)
            members.append(np.full(len(ends), member))
        self.bounds, self.block_member = np.concatenate(bounds), np.concatenate(members)
        self.block_class = np.searchsorted(cloud.offsets, self.bounds[:-1], side="right") - 1
        self._table = cloud.probs.numpy()

    @staticmethod
    def serves(cloud: States, queries: QuerySet) -> bool:
        """Whether it can stand for `ExactPosterior`, and is worth its rounding."""
        fits = cloud.binary and cloud.probs.dtype == torch.float32 and cloud.device.type == "cpu"
        return bool(fits and queries.parts.plain and cloud.n_states > MANY)

    @property
    def row_bytes(self) -> int:
        """What one history may take: a float32 for each draw, and that of its parent."""
        return 8 * self.cloud.n_states + 48 * len(self.block_class)

    def start(self) -> BankBelief:
        """The belief of the one empty history: the prior."""
        seen = np.full((1, len(self.cloud.atoms)), UNKNOWN, dtype=np.int8)
        return BankBelief(np.zeros(1, dtype=np.int64), self._whole(seen), seen, self.bounds)

    def update(self, belief: BankBelief, parents: IntArray, queries: IntArray, answers: IntArray) -> BankBelief:
        """Histories ``parents`` (rows of ``belief``), each longer by one answer (H, W)."""
        seen = belief.seen[parents]
        atoms = self.queries.query_atoms[queries]
        rows = np.arange(len(parents))[:, None]
        told = (answers != UNKNOWN) & (atoms >= 0)
        fresh = told & (seen[rows, atoms] == UNKNOWN)
        clash = (told & ~fresh & (seen[rows, atoms] != answers)).any(axis=1)
        slots = np.where(fresh, 2 * atoms + answers, UNKNOWN)
        where = fresh.nonzero()
        seen[where[0], atoms[where]] = answers[where]
        after = self._reweigh(belief.weights, belief.row[parents], slots, np.argsort(queries, kind="stable"))
        after.class_sums[clash], after.totals[clash], after.log_total[clash] = 0.0, 0.0, -np.inf
        # an answer that the kept draws hardly allow may be just what those that were let go would have said
        fell = belief.weights.log_total[belief.row[parents]] - after.log_total
        strange = (fell > UNEXPECTED * fresh.sum(axis=1)) & fresh.any(axis=1)
        stale = np.flatnonzero(((after.log_total < after.log_whole - DROP) | strange) & ~clash)
        if len(stale):
            after = self._mended(after, stale, seen[stale])
        return BankBelief(np.arange(len(parents)), after, seen, self.bounds)

    def _reweigh(self, before: Weights, parents: IntArray, slots: IntArray, order: IntArray) -> Weights:
        n, n_classes = len(parents), self.cloud.n_classes
        n_blocks = before.end[parents] - before.begin[parents]
        # a row has room for all that its parent has: one place more, where the next block would begin
        begin = np.concatenate([[0], np.cumsum(n_blocks + 1)])
        sizes = np.array([self._n_states(before, row) for row in parents], dtype=np.int64)
        firsts = np.concatenate([[0], np.cumsum(sizes)])
        starts = np.zeros(begin[-1], dtype=np.int64)
        starts[begin[:-1]] = firsts[:-1]
        end, blocks, sums = np.empty(n, dtype=np.int64), np.empty(begin[-1], dtype=np.int64), np.empty(begin[-1])
        squares = np.empty(begin[-1])
        values = np.empty(firsts[-1], dtype=np.float32)
        class_sums, class_squares = np.empty((2, n, n_classes))
        lost, fell = before.lost[parents], np.empty(n)

        def some(i: int) -> None:
            loops.reweigh(
                order[i * AT_A_TIME : (i + 1) * AT_A_TIME], parents, before.values, before.begin, before.end,
                before.blocks, before.starts, before.totals, self._table, slots, self.bounds, self.block_class,
                self.block_member, self.pool.shares, SHARE, values, begin, end, blocks, starts, sums, squares,
                class_sums, class_squares, lost, fell,
            )  # fmt: skip

        side_by_side(some, -(-n // AT_A_TIME))
        totals = class_sums.sum(axis=1)
        with np.errstate(divide="ignore"):
            log_total = before.log_total[parents] + np.log(totals)
            # what a model's own probability fell by may be more than what that of all together did
            below = (before.log_whole - before.log_total)[parents] + fell
        whole = before.log_whole[parents] if len(self.pool.shares) == 1 else log_total + below
        return Weights(
            values, begin[:-1], end, blocks, starts, sums, totals, class_sums, class_squares, lost, log_total, whole
        )

    def _n_states(self, weights: Weights, row: int) -> int:
        blocks = weights.blocks[weights.begin[row] : weights.end[row]]
        return int((self.bounds[blocks + 1] - self.bounds[blocks]).sum())

    def _mended(self, weights: Weights, rows: IntArray, seen: Any) -> Weights:
        """The weights with some rows computed from nothing but what was seen."""
        whole = self._whole(seen)
        n_blocks, n_values = len(weights.blocks), len(weights.values)
        begin, end = weights.begin.copy(), weights.end.copy()
        begin[rows], end[rows] = whole.begin + n_blocks, whole.end + n_blocks
        joined = {
            "values": np.concatenate([weights.values, whole.values]),
            "blocks": np.concatenate([weights.blocks, whole.blocks]),
            "starts": np.concatenate([weights.starts, whole.starts + n_values]),
            "sums": np.concatenate([weights.sums, whole.sums]),
        }
        for name in ("totals", "class_sums", "class_squares", "lost", "log_total", "log_whole"):
            joined[name] = getattr(weights, name).copy()
            joined[name][rows] = getattr(whole, name)
        return Weights(begin=begin, end=end, **joined)

    def whole(self, belief: BankBelief) -> BankBelief:
        """The same histories with the weights of all draws, those that were let go among them."""
        return BankBelief(np.arange(len(belief)), self._whole(belief.seen), belief.seen, self.bounds)

    def _whole(self, seen: Any) -> Weights:
        """The weights of some histories from nothing but what was seen; no block is let go."""
        n, n_states, n_blocks = len(seen), self.cloud.n_states, len(self.block_class)
        values, sums = np.empty((n, n_states), dtype=np.float32), np.empty((n, n_blocks))
        class_sums, class_squares = np.zeros((2, n, self.cloud.n_classes))
        log_total = np.empty(n)

        def one(h: int) -> None:
            log_weights = self.cloud.log_prior.clone()
            atoms = np.flatnonzero(seen[h] != UNKNOWN)
            loops.add_log_likelihood(self._table, 2 * atoms + seen[h, atoms], log_weights.numpy())
            log_total[h] = float(torch.logsumexp(log_weights, dim=0))
            self._hold_shares(log_weights, log_total[h])
            weights = (log_weights - log_total[h]).exp_().numpy()
            weights[weights <= loops.LEAST] = 0.0
            values[h] = weights
            sums[h] = np.add.reduceat(weights, self.bounds[:-1])
            np.add.at(class_sums[h], self.block_class, sums[h])
            np.add.at(class_squares[h], self.block_class, np.add.reduceat(weights**2, self.bounds[:-1]))

        side_by_side(one, n)
        begin = np.arange(n) * n_blocks
        starts = (np.arange(n)[:, None] * n_states + self.bounds[:-1]).ravel()
        return Weights(
            values.ravel(), begin, begin + n_blocks, np.tile(np.arange(n_blocks), n), starts, sums.ravel(),
            class_sums.sum(axis=1), class_sums, class_squares, np.zeros_like(class_sums), log_total, log_total.copy(),
        )  # fmt: skip

    def _hold_shares(self, log_weights: Tensor, log_total: float) -> None:
        """Give each model of the pool its share of the whole again, in place."""
        if len(self.pool.shares) == 1:
            return
        of = torch.as_tensor(np.repeat(self.pool.member, np.diff(self.pool.runs)))
        for m, share in enumerate(self.pool.shares):
            if share == 0:  # its weights are nothing already
                continue
            log_weights[of == m] += float(np.log(share)) + log_total - torch.logsumexp(log_weights[of == m], dim=0)

    def log_joint(self, belief: BankBelief) -> Tensor:
        """(H, C) log p(y, history)."""
        w, row = belief.weights, belief.row
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.log(w.class_sums[row] / w.totals[row, None] + w.lost[row])
        return torch.as_tensor(share + w.log_total[row, None])

    def class_ess(self, belief: BankBelief) -> FloatArray:
        """(H, C) effective number of draws in each class."""
        w, row = belief.weights, belief.row
        with np.errstate(divide="ignore", invalid="ignore"):
            ess = w.class_sums[row] ** 2 / w.class_squares[row]
        return np.asarray(np.nan_to_num(ess, nan=0.0, posinf=0.0))
