"""Pruned enumeration: the posterior over very many latent states of yes/no variables, approximate and much faster.

States that resemble each other lie in one block. Each update prunes blocks whose weight is together at most `SHARE` of
the total; the mass stays with its class, which is what it is expected to keep. Soon most blocks are gone.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.linalg import eigh, qr

from infopursuit.models.finite import FiniteModel, log_sum_exp, segments
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.information import MutualInformation
from infopursuit.pursuit.protocols import Capabilities
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.exact import Exact, LatentBelief
from infopursuit.strategies.generative.gains import FiniteGains
from infopursuit.strategies.generative.kernels import FAINTEST, add_log_likelihood, check_numba, prune, reweigh
from infopursuit.support.threads import side_by_side
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray, Variables

if TYPE_CHECKING:
    from infopursuit.pursuit.noise import NoiseChannel

logger = logging.getLogger(__name__)

BLOCK = 96
"""States in a block, at the most."""
MANY = 16_384
"""Particles above which weights are kept this way."""
SHARE = 3e-4
"""The weight that one update may prune, of a total of one."""
DROP = 45.0
"""Nats by which the probability of a history may fall before its weights are computed anew: states that once weighed
nothing in a float32 might by then have come to weigh something."""
UNEXPECTED = float(-np.log(SHARE))
"""Nats for each variable of an answer from which on it is so unexpected that weights are computed anew too."""
AT_A_TIME = 16
"""Histories that one thread works on at a time."""
DECODED = 512
"""States whose probabilities are laid out at a time."""
WIDEST = 16
"""Variables of a query up to which the compiled kernels enumerate all patterns of answers."""
LEAST, MAX_BYTES = 1e-6, 8 * 2**30
"""Probabilities below which products of four are not safe in a float32; memory that the tables may take."""
SEARCHED, DIRECTIONS = 1500, 16
"""States of each class from which the directions are found in which states differ most, and how many of those."""


@dataclass(frozen=True)
class Pruned:
    """Pruned enumeration, for finite models of yes/no variables; there is nothing to set."""

    kind: ClassVar[str] = "pruned"

    def check(self, model: FiniteModel) -> None:
        """Nothing to refuse: there is nothing to set."""

    def build(self, model: FiniteModel, queries: QuerySet, seed: int = 0, *, noisy: bool = False) -> Any:
        """The belief; with noisy answers it is `Exact`."""
        return Exact(model, queries) if noisy else PrunedBelief.of(model, queries)


# ---- the states -----------------------------------------------------------------------------------------------------


class States(FiniteModel):
    """A finite model whose table is kept by state too.

    by_state: (S, L) the probability of each value in each state, or (S, A) P(yes) where all variables are yes/no.
    """

    kind = "states"

    def __init__(self, variables: Variables, log_prior: FloatArray, offsets: IntArray, by_state: Any) -> None:
        self.by_state = np.ascontiguousarray(by_state)
        self.binary = by_state.shape[1] == len(variables)
        super().__init__(variables, log_prior, offsets, np.ascontiguousarray(by_state.T))

    @classmethod
    def in_blocks(cls, model: FiniteModel, size: int, runs: IntArray | None = None) -> States:
        """The states of a model with yes/no variables, in such an order that blocks of ``size`` resemble each other;
        each class, or each of the given runs of states, stays where it is."""
        by_state = np.empty((model.n_states, len(model.variables)), dtype=np.float32)
        for start in range(0, model.n_states, DECODED):
            some = np.arange(start, min(start + DECODED, model.n_states))
            by_state[some] = model.state_probs(some)[1::2].T
        order = similar_order(by_state, model.offsets if runs is None else runs, size)
        return cls(model.variables, model.log_prior[order], model.offsets, by_state[order])

    def rows(self, slots: IntArray) -> Any:
        """(n, S) the probability of some values in all states."""
        if not self.binary:
            return self.probs[slots]
        # slot 2a is "no" and slot 2a + 1 is "yes": |p - 1| and |p - 0|
        return np.abs(self.probs[slots // 2] - (slots % 2 == 0)[:, None].astype(self.dtype))

    def block(self, slots: slice) -> Any:
        """(l, S) the probability of a run of values in all states; "no" and "yes" add up to one in float64."""
        if not self.binary or slots.start % 2 or slots.stop % 2:
            return super().block(slots)
        return _no_and_yes(self.probs[slots.start // 2 : slots.stop // 2].astype(np.float64))

    def state_probs(self, states: IntArray) -> Any:
        """(L, M) the probability of all values in some states; rows lie together, so that few bytes are read."""
        columns = np.ascontiguousarray(self.by_state[states].T)
        return _no_and_yes(columns) if self.binary else columns


def _no_and_yes(yes: Any) -> Any:
    return np.stack([1 - yes, yes], axis=1).reshape(-1, yes.shape[1])


def similar_order(by_state: Any, offsets: IntArray, size: int) -> IntArray:
    """(S,) the states in a new order, each class where it was, in which blocks of ``size`` resemble each other.

    by_state: (S, A) what each state looks like. A class is cut in two across the principal direction in which it is
    widest, and the halves again, down to blocks of that size. In float64, with the signs of directions fixed: the order
    is the same on every processor.
    """
    order = np.arange(len(by_state))
    for begin, end in segments(offsets):
        if end - begin > size:
            order[begin:end] = begin + _in_blocks(_principal_coordinates(by_state[begin:end]), size)
    return order


def _principal_coordinates(table: Any) -> FloatArray:
    """(n, A) -> (n, d) coordinates along the directions in which some of the rows differ most."""
    some = np.asarray(table[np.linspace(0, len(table) - 1, min(len(table), SEARCHED)).astype(np.int64)], np.float64)
    mean = some.mean(0)
    centred = some - mean
    n_directions = min(DIRECTIONS, *some.shape)
    # one round of a randomised search for the leading directions: they need not be exact
    random = np.random.default_rng(0).standard_normal((some.shape[1], n_directions))
    found, _ = qr(centred.T @ (centred @ random))
    _, turn = eigh(np.cov(centred @ found, rowvar=False).reshape(n_directions, n_directions))
    directions = found @ turn
    # an eigenvector has no sign of its own, LAPACK's depends on the processor: the first large entry shall be positive
    first = (np.abs(directions) > np.abs(directions).max(axis=0) / 2).argmax(axis=0)
    directions *= np.where(directions[first, np.arange(n_directions)] < 0, -1.0, 1.0)
    return np.asarray((table - mean) @ directions)


def _in_blocks(places: FloatArray, size: int) -> IntArray:
    """(n, d) -> (n,) an order in which blocks of ``size`` lie close together; by index within a block, so that rounding
    decides at a cut at the most, and there only between states that are equal to nine digits."""
    done, waiting = [], [np.arange(len(places))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= size:
            done.append(rows)
            continue
        cut = (-(-len(rows) // size) // 2) * size  # whole blocks to one side
        here = places[rows]
        half = np.argsort(here[:, np.argmax(here.var(axis=0))].round(9), kind="stable")
        waiting += [np.sort(rows[half[cut:]]), np.sort(rows[half[:cut]])]
    return np.concatenate(done)


# ---- the belief -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockWeights:
    """The weights of R histories.

    Row r has the blocks ``blocks[begin[r] : end[r]]``; the weights of the k-th of all begin at ``values[starts[k]]``
    and add up to ``sums[k]``. All weights of a row are up to one factor: totals (R,) is what they add up to,
    class_sums and class_squares (R, C) what they and their squares add up to in each class. pruned: (R, C) the share of
    each class in what was pruned, for a total of one that was not. log_total: (R,) log p(history); log_whole: the same
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
    pruned: FloatArray
    log_total: FloatArray
    log_whole: FloatArray


@dataclass(frozen=True)
class PrunedState:
    """The state of H histories: ``row`` (H,) says which row of the weights is theirs.

    seen: (H, A) values of the variables, -1 where unknown. bounds: (B + 1,) of the blocks.
    """

    soft: ClassVar[bool] = False
    row: IntArray
    weights: BlockWeights
    seen: Any
    bounds: IntArray

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: Any) -> PrunedState:
        """Some of the histories; their weights stay where they are."""
        return replace(self, row=self.row[rows], seen=self.seen[rows])

    @property
    def log_weights(self) -> FloatArray:
        """(H, S) log p(y, z, history); -inf for states that were pruned."""
        w = self.weights
        found = np.zeros((len(self), int(self.bounds[-1])))
        for h, row in enumerate(self.row):
            for k in range(w.begin[row], w.end[row]):
                low, high = self.bounds[w.blocks[k]], self.bounds[w.blocks[k] + 1]
                found[h, low:high] = w.values[w.starts[k] : w.starts[k] + high - low]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(found) + (w.log_total[self.row] - np.log(w.totals[self.row]))[:, None])

    @property
    def evidence(self) -> FloatArray:
        """(H, L) 0 where a value is still possible, -inf where it is excluded."""
        excluded = np.stack([self.seen == 1, self.seen == 0], axis=2)
        return np.where(excluded, -np.inf, 0.0).reshape(len(self), -1)


class PrunedBelief(LatentBelief[PrunedState]):
    """p(z, y | history) with float32 weights in blocks of states; blocks with next to no weight are pruned.

    states: yes/no variables only. runs: (R + 1,) where runs of states begin that no block crosses, by default those of
    the classes.
    """

    kind = "pruned"
    settings = Pruned()

    def __init__(
        self, states: States, queries: QuerySet, model: FiniteModel | None = None, runs: IntArray | None = None
    ) -> None:
        check_numba()
        self.states = states
        self.queries = queries
        self.model = states if model is None else model
        self.n_classes = states.n_classes
        starts = [np.arange(a, b, BLOCK) for a, b in segments(states.offsets if runs is None else runs)]
        self.bounds = np.append(np.concatenate(starts), states.n_states)
        self.block_class = np.searchsorted(states.offsets, self.bounds[:-1], side="right") - 1
        # of one history: a float32 for each state, and that of its parent
        self.capabilities = Capabilities(
            evidence=True,
            answers=True,
            gains=True,
            contains_training_data=self.model.contains_training_data,
            bytes_per_history=8 * states.n_states + 48 * len(self.block_class),
        )

    @classmethod
    def of(cls, model: FiniteModel, queries: QuerySet, runs: IntArray | None = None) -> Self:
        """For a finite model, refused where it cannot be pruned."""
        check_numba()
        if set(model.variables.sizes) != {2} or not queries.parts.plain:
            raise ValueError("belief='pruned' needs yes/no variables and queries that reveal them; use 'exact'")
        size = 8 * model.n_states * len(model.variables)
        if size > MAX_BYTES:
            raise ValueError(
                f"belief='pruned' would take {size / 2**30:.3g} GiB for {model.n_states} states of "
                f"{len(model.variables)} variables, more than {MAX_BYTES / 2**30:g}; use 'exact', or fewer examples"
            )
        states = States.in_blocks(model, BLOCK, runs)
        low, high = float(states.by_state.min()), float(states.by_state.max())
        if low < LEAST / 2 or high > 1 - LEAST / 2:
            raise ValueError(
                f"belief='pruned' needs probabilities from {LEAST:g} to 1 - {LEAST:g}, and the model has "
                f"{min(low, 1 - high):.1g}; use 'exact', or more smoothing"
            )
        # a model that is nothing but its states is not kept a second time in its old order
        return cls(states, queries, None if type(model) is States else model, runs)

    @staticmethod
    def serves(states: States, queries: QuerySet) -> bool:
        """Whether it can stand for `Exact`, and is worth its rounding."""
        fits = states.binary and states.dtype == np.float32
        return bool(fits and queries.parts.plain and states.n_states > MANY)

    def describe(self) -> str:
        """How the posterior is computed."""
        return f"pruned enumeration (`{self.settings}`)"

    def for_noise(self, channel: NoiseChannel) -> Exact:
        """Noisy answers need weights of all states: the exact belief."""
        return Exact(self.model, self.queries)

    def init(self) -> PrunedState:
        """The prior."""
        seen = np.full((1, len(self.states.variables)), UNKNOWN, dtype=np.int8)
        return PrunedState(np.zeros(1, dtype=np.int64), self._whole(seen), seen, self.bounds)

    def update(self, b: PrunedState, parents: IntArray, new: Histories) -> PrunedState:
        """One more answer for each history, taken as certain."""
        queries, answers = new.queries[:, -1], new.answers[:, -1]
        seen = b.seen[parents]
        variables = self.queries.query_variables[queries]
        rows = np.arange(len(parents))[:, None]
        told = (answers != UNKNOWN) & (variables >= 0)
        fresh = told & (seen[rows, variables] == UNKNOWN)
        clash = (told & ~fresh & (seen[rows, variables] != answers)).any(axis=1)
        slots = np.where(fresh, 2 * variables + answers, UNKNOWN)
        where = fresh.nonzero()
        seen[where[0], variables[where]] = answers[where]
        after = self._reweigh(b.weights, b.row[parents], slots, np.argsort(queries, kind="stable"))
        after.class_sums[clash], after.totals[clash], after.log_total[clash] = 0.0, 0.0, -np.inf
        # an answer that the kept states hardly allow may be just what those that were pruned would have said
        fell = b.weights.log_total[b.row[parents]] - after.log_total
        strange = (fell > UNEXPECTED * fresh.sum(axis=1)) & fresh.any(axis=1)
        stale = np.flatnonzero(((after.log_total < after.log_whole - DROP) | strange) & ~clash)
        if len(stale):
            after = self._restored(after, stale, seen[stale])
        return PrunedState(np.arange(len(parents)), after, seen, self.bounds)

    def log_joint(self, b: PrunedState) -> FloatArray:
        """(H, C) log p(y, history)."""
        w, row = b.weights, b.row
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.log(w.class_sums[row] / w.totals[row, None] + w.pruned[row])
        return np.asarray(share + w.log_total[row, None])

    def class_ess(self, b: PrunedState) -> FloatArray:
        """(H, C) effective sample size of the states of each class."""
        w, row = b.weights, b.row
        with np.errstate(divide="ignore", invalid="ignore"):
            ess = w.class_sums[row] ** 2 / w.class_squares[row]
        return np.asarray(np.nan_to_num(ess, nan=0.0, posinf=0.0))

    def reweighed(self, b: PrunedState, shift: FloatArray, rows: list[int]) -> PrunedState:
        """See `Exact.reweighed`; of a class none of whose blocks is left, what was pruned is all that there is."""
        w, some = b.weights, np.asarray(rows, dtype=np.int64)
        mine, first = np.unique(b.row[some], return_index=True)  # a row that histories share is reweighted once
        scale = np.exp(shift - shift.max(axis=1, keepdims=True))[some[first]]
        new = {name: getattr(w, name).copy() for name in ("values", "sums", "totals", "class_sums", "pruned")}
        for row, factors in zip(mine.tolist(), scale, strict=True):
            kept = slice(w.begin[row], w.end[row])
            sizes, each = np.diff(self.bounds)[w.blocks[kept]], factors[self.block_class[w.blocks[kept]]]
            within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            new["values"][np.repeat(w.starts[kept], sizes) + within] *= np.repeat(each, sizes).astype(np.float32)
            new["sums"][kept] *= each
        new["class_sums"][mine] *= scale
        new["totals"][mine] = new["class_sums"][mine].sum(axis=1)
        new["pruned"][mine] *= scale * (w.totals[mine] / new["totals"][mine])[:, None]
        return replace(b, weights=replace(w, **new))

    def latent_states(self, b: PrunedState, h: int) -> tuple[FiniteModel, FloatArray, FloatArray]:
        """The states that history h gives weight to, their log-weights (S,), and its evidence (L,)."""
        one = b.take(slice(h, h + 1))
        return self.states, one.log_weights[0], one.evidence[0]

    def gains(self, settings: MutualInformation, costs: FloatArray | None, noise: NoiseChannel | None) -> Any:
        """The mutual information of queries under this belief, by compiled kernels."""
        from infopursuit.strategies.generative.pruned_gains import PrunedGains

        if settings.exact:
            raise ValueError("exact gains do not suit belief='pruned', which is not exact; use belief='exact'")
        if self.queries.width > WIDEST:
            return FiniteGains(self.states, self.queries, replace(settings, exact=False), costs=costs)
        return PrunedGains(self, settings, costs)

    def whole(self, b: PrunedState) -> PrunedState:
        """The same histories with the weights of all states, those that were pruned among them."""
        return PrunedState(np.arange(len(b)), self._whole(b.seen), b.seen, self.bounds)

    def _reweigh(self, before: BlockWeights, parents: IntArray, slots: IntArray, order: IntArray) -> BlockWeights:
        n, n_classes = len(parents), self.states.n_classes
        n_blocks = before.end[parents] - before.begin[parents]
        # a row has room for all that its parent has: one place more, where the next block would begin
        begin = np.concatenate([[0], np.cumsum(n_blocks + 1)])
        kept = [before.blocks[a:b] for a, b in zip(before.begin[parents], before.end[parents], strict=True)]
        sizes = [int((self.bounds[mine + 1] - self.bounds[mine]).sum()) for mine in kept]
        firsts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        starts = np.zeros(begin[-1], dtype=np.int64)
        starts[begin[:-1]] = firsts[:-1]
        end, blocks = np.empty(n, dtype=np.int64), np.empty(begin[-1], dtype=np.int64)
        (sums, squares), values = np.empty((2, begin[-1])), np.empty(firsts[-1], dtype=np.float32)
        class_sums, class_squares = np.empty((2, n, n_classes))
        after = BlockWeights(
            values, begin[:-1], end, blocks, starts, sums, np.empty(n), class_sums, class_squares,
            before.pruned[parents], np.empty(n), before.log_whole[parents],
        )  # fmt: skip

        def some(i: int) -> None:
            rows = order[i * AT_A_TIME : (i + 1) * AT_A_TIME]
            self._multiply(rows, before, parents, slots, after, squares)
            prune(
                rows, SHARE, after.begin, end, blocks, starts, sums, squares, self.block_class, class_sums,
                class_squares, after.pruned,
            )  # fmt: skip

        side_by_side(some, -(-n // AT_A_TIME))
        totals = class_sums.sum(axis=1)
        with np.errstate(divide="ignore"):
            return replace(after, totals=totals, log_total=before.log_total[parents] + np.log(totals))

    def _multiply(
        self, rows: IntArray, before: BlockWeights, parents: IntArray, slots: Any, after: BlockWeights, squares: Any
    ) -> None:
        """Fill in the weights of some histories after their answers; squares: (blocks,) sums of their squares."""
        reweigh(
            rows, parents, before.values, before.begin, before.end, before.blocks, before.starts, before.totals,
            self.states.probs, slots, self.bounds, self.block_class, after.values, after.begin, after.end, after.blocks,
            after.starts, after.sums, squares, after.class_sums, after.class_squares,
        )  # fmt: skip

    def _restored(self, weights: BlockWeights, rows: IntArray, seen: Any) -> BlockWeights:
        """The weights with some rows computed from nothing but what was seen."""
        whole = self._whole(seen)
        n_blocks, n_values = len(weights.blocks), len(weights.values)
        begin, end = weights.begin.copy(), weights.end.copy()
        begin[rows], end[rows] = whole.begin + n_blocks, whole.end + n_blocks
        whole = replace(whole, starts=whole.starts + n_values)
        pairs = {
            name: (getattr(weights, name), getattr(whole, name)) for name in ("values", "blocks", "starts", "sums")
        }
        joined = {name: np.concatenate(pair) for name, pair in pairs.items()}
        for name in ("totals", "class_sums", "class_squares", "pruned", "log_total", "log_whole"):
            joined[name] = getattr(weights, name).copy()
            joined[name][rows] = getattr(whole, name)
        return BlockWeights(begin=begin, end=end, **joined)

    def _whole(self, seen: Any) -> BlockWeights:
        """The weights of some histories from nothing but what was seen; no block is pruned."""
        n, n_states, n_blocks = len(seen), self.states.n_states, len(self.block_class)
        values, sums = np.empty((n, n_states), dtype=np.float32), np.empty((n, n_blocks))
        class_sums, class_squares = np.zeros((2, n, self.states.n_classes))
        log_total = np.empty(n)

        def one(h: int) -> None:
            log_weights, log_total[h] = self._log_weights(seen[h])
            weights = np.exp(log_weights - log_total[h])
            weights[weights <= FAINTEST] = 0.0
            values[h] = weights
            sums[h] = np.add.reduceat(weights, self.bounds[:-1])
            np.add.at(class_sums[h], self.block_class, sums[h])
            np.add.at(class_squares[h], self.block_class, np.add.reduceat(weights**2, self.bounds[:-1]))

        side_by_side(one, n)
        begin = np.arange(n) * n_blocks
        starts = (np.arange(n)[:, None] * n_states + self.bounds[:-1]).ravel()
        return BlockWeights(
            values.ravel(), begin, begin + n_blocks, np.tile(np.arange(n_blocks), n), starts, sums.ravel(),
            class_sums.sum(axis=1), class_sums, class_squares, np.zeros_like(class_sums), log_total, log_total.copy(),
        )  # fmt: skip

    def _log_weights(self, seen: Any) -> tuple[FloatArray, float]:
        """(S,) log p(y, z, history) of one history, and log p(history)."""
        log_weights, variables = self.states.log_prior.copy(), np.flatnonzero(seen != UNKNOWN)
        add_log_likelihood(self.states.probs, 2 * variables + seen[variables], log_weights)
        return log_weights, float(log_sum_exp(log_weights[None])[0])
