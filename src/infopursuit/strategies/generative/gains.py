"""Mutual information I(answer; Y | history) of all queries: exactly where that is affordable, else on fewer states."""

from __future__ import annotations

import logging
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from infopursuit.models.finite import FiniteModel, segments, softmax
from infopursuit.pursuit.histories import BoolArray, Histories, uniform_of
from infopursuit.pursuit.information import MutualInformation
from infopursuit.pursuit.protocols import Acquisition, Budget, Estimate
from infopursuit.pursuit.ranking import ROUGH_TIE, Ranking, largest, resample
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative import answer_tables as tables
from infopursuit.support.threads import side_by_side
from infopursuit.support.types import TIE, UNKNOWN, FloatArray, IntArray

if TYPE_CHECKING:
    from infopursuit.pursuit.noise import NoiseChannel
    from infopursuit.strategies.generative.exact import StateWeights

logger = logging.getLogger(__name__)

AFFORDABLE = 5e7
"""Multiplications for the gains of one history up to which they are computed exactly where nothing else is said."""
NOTHING = 1e-16
"""A state below this share of the weight is left out of exact gains."""
CACHE = 2**24
"""Bytes of partial products that are worked on at a time: they should stay in the cache."""
ABREAST, AT_A_TIME = 4, 64
"""Products that are worked on at the same time, at the most, and histories in each of them."""


class FiniteGains(Acquisition[Any]):
    """Mutual information on the states of a finite model.

    sampled: the model's states are themselves draws, so that a gain has a standard error even on all of them.
    """

    unit: ClassVar[Literal["nats"]] = "nats"

    def __init__(
        self,
        model: FiniteModel,
        queries: QuerySet,
        settings: MutualInformation,
        *,
        costs: FloatArray | None = None,
        noise: NoiseChannel | None = None,
        sampled: bool = False,
    ) -> None:
        self.model, self.queries, self.settings, self.sampled, self.noise = model, queries, settings, sampled, noise
        self.tie = ROUGH_TIE if sampled else TIE  # particles are decoded in float32
        self.ranking = Ranking.of(np.ones(len(queries)) if costs is None else costs, self.tie)
        self.parts = queries.parts if noise is None else noise.parts
        n_variables = (queries.query_variables >= 0).sum(axis=1)
        self._wide, self._narrow = np.flatnonzero(n_variables > 1), np.flatnonzero(n_variables == 1)
        self.operations = float(model.n_states) * (model.variables.n_slots + int(queries.n_answers[self._wide].sum()))
        self.on_all_states = self.operations <= AFFORDABLE if settings.exact is None else bool(settings.exact)
        self.is_exact = self.on_all_states and not sampled
        self._table: FloatArray | None = None

    @cached_property
    def _signatures(self) -> tuple[list[tuple[int, ...]], IntArray]:
        """The distinct numbers of cells that queries about several variables have, and which of them each query has."""
        keys = [self.queries.cell_counts(int(q)) for q in self._wide]
        found = list(dict.fromkeys(keys))
        which = np.full(len(self.queries), UNKNOWN)
        which[self._wide] = [found.index(key) for key in keys]
        return found, which

    def utilities(self, b: StateWeights, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) gains."""
        return self.on_states(b, histories, allowed, self.model)

    def on_states(self, b: StateWeights, h: Histories, allowed: BoolArray, model: FiniteModel) -> Estimate:
        """(H, Q) gains where the weights are on the states of ``model``, such as the particles of one history."""
        rows = np.flatnonzero(allowed.any(axis=1))
        gains, errors = np.full(allowed.shape, np.nan), np.zeros(allowed.shape)
        tie = np.zeros(len(allowed), dtype=bool)
        some = b if len(rows) == len(b) else b.take(rows)
        if len(rows) and self.on_all_states and len(self._narrow):
            # with noisy answers what is left of a variable takes long to work out: only where a query looks at it
            alone = self.part_gains(some, model, allowed[rows] @ self._looks_at > 0 if b.soft else None)
            gains[rows[:, None], self._narrow] = alone[:, self.parts.query_part[self._narrow, 0]]
        if not len(rows) or (self.on_all_states and not len(self._wide) and not self.sampled):
            return Estimate(np.where(allowed, gains, np.nan), errors, tie)
        log_weights, evidence = some.log_weights, some.evidence

        def one(i: int) -> None:
            row = int(rows[i])
            found = self._history_gains(model, log_weights[i], evidence[i], allowed[row], h.key(row), gains[row])
            gains[row], leader, error, tie[row] = found
            if leader != UNKNOWN:
                errors[row, leader] = error

        side_by_side(one, len(rows), short=True)
        return Estimate(np.where(allowed, gains, np.nan), errors, tie)

    # ---- many histories at once: one variable at a time --------------------------------------------------------------

    @cached_property
    def _looks_at(self) -> Any:
        """(Q, A) 1 where a query is about a variable."""
        found = np.zeros((len(self.queries), len(self.queries.variables) + 1), dtype=np.float32)
        np.put_along_axis(found, self.queries.query_variables, 1, axis=1)  # padding goes to the last column
        return found[:, :-1]

    def part_gains(self, b: StateWeights, model: FiniteModel, wanted: BoolArray | None = None) -> FloatArray:
        """(H, P) the gain of each part alone, on all states; of variables that are not ``wanted`` (H, A) it may be
        off."""
        if model is self.model and not b.soft and self._one_state is not None:
            return self._one_state_gains(softmax(b.log_weights), b.evidence)[:, self.parts.variable]
        rows = int(np.clip(self.settings.memory_limit // (16 * ABREAST * model.n_states), 1, AT_A_TIME))
        gains = np.empty((len(b), len(self.parts.variable)))
        blocks = self._part_blocks(rows)

        def some(i: int) -> None:
            mine = slice(i * rows, (i + 1) * rows)
            weights, evidence = softmax(b.log_weights[mine]), b.evidence[mine]
            asked = None if wanted is None else wanted[mine]
            for begin, end in blocks:
                gains[mine, begin:end] = self._block_gains(model, weights, evidence, begin, end, asked)

        side_by_side(some, -(-len(b) // rows), max_threads=ABREAST)
        return gains

    def _part_blocks(self, n_histories: int) -> list[tuple[int, int]]:
        """Runs of parts whose tables fit the memory limit together; a variable's parts stay together."""
        parts = self.parts
        # for each slot its joint tables, and its probabilities in all states, once as they are and once in float64
        each = 48 * n_histories * self.model.n_classes + 16 * self.model.n_states
        most = max(1, int(self.settings.memory_limit // (2 * ABREAST * each)))
        ends = np.append(np.flatnonzero(np.diff(parts.variable)) + 1, len(parts.variable))  # of each variable's parts
        bounds = [0]
        for end, following in pairwise(ends.tolist()):
            if parts.offsets[following] - parts.offsets[bounds[-1]] > most:
                bounds.append(end)
        return list(pairwise([*bounds, len(parts.variable)]))

    def _block_gains(
        self, model: FiniteModel, weights: FloatArray, evidence: FloatArray, begin: int, end: int, wanted: Any
    ) -> FloatArray:
        """(H, parts) gains of the parts ``begin`` to ``end``."""
        parts, variables = self.parts, model.variables
        first, last = parts.variable[begin], parts.variable[end - 1]
        slots = slice(int(variables.offsets[first]), int(variables.offsets[last + 1]))
        joint = tables.value_joint(weights, model.block(slots).astype(np.float64, copy=False), model.offsets)
        joint = tables.see_evidence(joint, weights, evidence, model, slots, wanted)
        if not parts.plain:
            cells = slice(int(parts.offsets[begin]), int(parts.offsets[end]))
            owner = np.searchsorted(parts.offsets, parts.entry_cell, side="right") - 1
            entries = slice(*(int(i) for i in np.searchsorted(owner, [begin, end])))
            joint = tables.cell_joint(joint, parts, entries, cells, slots.start)
        if self.noise is not None:
            by_cell = joint.transpose(1, 0, 2)
            said = tables.noisy_cells(by_cell.reshape(len(by_cell), -1), self.noise, begin, end)
            joint = said.reshape(by_cell.shape).transpose(1, 0, 2)
        return tables.part_gains(joint, parts.sizes[begin:end])

    @cached_property
    def _one_state(self) -> tuple[FloatArray, FloatArray] | None:
        """(C, A) P(yes | y) and H(answer | y), where each class is one latent state and all variables are yes/no, asked
        as they are: then I = H(answer) - sum over y of p(y) H(answer | y), two products and one entropy."""
        model = self.model
        one = model.n_states == model.n_classes and bool((np.diff(model.offsets) == 1).all())
        if self.noise is not None or not one or not self.parts.plain or set(model.variables.sizes) != {2}:
            return None
        yes = np.ascontiguousarray(model.state_probs(np.arange(model.n_states))[1::2].T, dtype=np.float64)
        return yes, _binary_entropy(yes)

    def _one_state_gains(self, weights: FloatArray, evidence: FloatArray) -> FloatArray:
        """(H, A) the gain of each variable, 0 for one that is known. weights: (H, C)."""
        assert self._one_state is not None
        yes, entropies = self._one_state
        gains = _binary_entropy(np.clip(weights @ yes, 0, 1)) - weights @ entropies
        known = (evidence[:, 0::2] != 0) | (evidence[:, 1::2] != 0)
        return np.where(known, 0.0, np.maximum(gains, 0.0))

    # ---- one history at a time: queries about several variables, and models too large for all states -----------------

    def _history_gains(
        self,
        model: FiniteModel,
        log_weights: FloatArray,
        evidence: FloatArray,
        allowed: BoolArray,
        key: bytes,
        narrow: FloatArray,
    ) -> tuple[FloatArray, int, float, bool]:
        """(Q,) gains after one history, the best query, the standard error of its gain, and whether its lead is within
        noise."""
        parts, settings = self.parts, self.settings
        weights = softmax(log_weights)
        if self.on_all_states:
            # states that weigh nothing within rounding say nothing: what is left out moves no gain by as much as a tie
            states = np.flatnonzero(weights > NOTHING)
            weights, table = weights[states], self._whole_table(model)[:, states]
            drawn = np.full(len(states), self.sampled)
        else:
            states, weights, drawn = resample(weights, settings.n_states, uniform_of(settings.seed, key))
            table, drawn = model.state_probs(states).astype(np.float64), drawn | self.sampled
        offsets = np.searchsorted(states, model.offsets)
        cells = tables.part_cells(tables.conditioned(table, model, evidence), parts)
        if self.noise is not None:
            cells = tables.noisy_cells(cells, self.noise)
        gains, candidates = narrow.copy(), self._wide
        if not self.on_all_states:
            alone = tables.part_gains(tables.value_joint(weights[None], cells, offsets), parts.sizes)[0]
            gains[self._narrow] = alone[parts.query_part[self._narrow, 0]]
            promise = np.where(parts.query_part >= 0, alone[parts.query_part], 0).sum(axis=1)
            candidates = self._screen(np.where(allowed, promise, -1.0))
        bounds = segments(offsets)
        gains[candidates] = self._wide_gains(candidates, cells, weights, bounds)
        scores, per_nat = self.ranking.scores(np.where(allowed, gains, np.nan)), self.ranking.weights
        best, second = (int(leader[0]) for leader in self.ranking.leaders(scores[None]))
        if best == UNKNOWN or not drawn.any():
            return gains, UNKNOWN, 0.0, False
        first, bias = self._influence(best, cells, weights, bounds, drawn)

        def variance(influence: FloatArray) -> float:
            if hasattr(model, "variance_of"):  # particles know which of them depend on each other
                return float(model.variance_of(states, weights * (influence - weights @ influence / weights.sum())))
            return _variance(influence, weights, drawn)

        error = float((variance(first) + bias**2) ** 0.5)
        if second == UNKNOWN:
            return gains, best, error, False
        other, _ = self._influence(second, cells, weights, bounds, drawn)
        apart = variance(first * per_nat[best] - other * per_nat[second]) ** 0.5
        return gains, best, error, bool(scores[best] - scores[second] <= 2 * apart)

    def _screen(self, promise: FloatArray) -> IntArray:
        """The queries about several variables that promise most for their cost, and the one that promises most at all:
        a rule that looks at the largest gain left should not overlook an expensive one."""
        n = self.settings.n_screened
        found = largest(self.ranking.scores(promise), self._wide, n)
        return np.union1d(found, largest(promise, self._wide, min(n, 1)))

    def _whole_table(self, model: FiniteModel) -> FloatArray:
        """(L, S) the probabilities of all values in all states; that of the own model is kept while it is small, since
        every history needs it."""
        if self._table is not None and model is self.model:
            return self._table
        table = model.block(slice(0, model.variables.n_slots)).astype(np.float64, copy=False)
        if model is self.model and table.nbytes <= self.settings.memory_limit:
            self._table = table
        return table

    def _wide_gains(
        self, queries: IntArray, cells: FloatArray, weights: FloatArray, bounds: list[tuple[int, int]]
    ) -> FloatArray:
        """Gains of some queries about several variables."""
        signatures, which = self._signatures
        gains = np.zeros(len(queries))
        for index, signature in enumerate(signatures):
            mine = np.flatnonzero(which[queries] == index)
            n_answers, halves = int(np.prod(signature)), 2 * int(np.sqrt(np.prod(signature))) + 1
            each = (3 * n_answers * len(bounds) + 3 * halves * len(weights)) * cells.itemsize
            size = max(1, int(min(self.settings.memory_limit, CACHE) // each))
            for start in range(0, len(mine), size):
                some = mine[start : start + size]
                of_query = tables.query_tables(queries[some], signature, cells, self.parts)
                gains[some] = tables.mutual_information(tables.pattern_joint(weights, of_query, bounds))
        return gains

    def _influence(
        self, query: int, cells: FloatArray, weights: FloatArray, bounds: list[tuple[int, int]], drawn: BoolArray
    ) -> tuple[FloatArray, float]:
        """(M,) what each state adds to one gain, and how much too large the gain is on average (delta method).

        To first order a state adds its weight times E[log p(answer | y) / p(answer)], the expectation over its own
        answers. To second order fewer states look more alike within a class than they are, which makes gains too
        large: by half of sum Var p(answer, y) (1 / p(answer, y) - 1 / p(answer)), several first-order errors where a
        query has many answers.
        """
        of_query = tables.query_tables(np.array([query]), self.queries.cell_counts(query), cells, self.parts)
        joint = tables.pattern_joint(weights, of_query, bounds)[0]  # (answers, C)
        joint = joint / joint.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(joint > 0, np.log(joint) - np.log(joint.sum(1, keepdims=True)) - np.log(joint.sum(0)), 0.0)
        half = len(of_query) // 2 or 1
        left = tables.partial_products(of_query[:half])[0]
        right = tables.partial_products(of_query[half:])[0] if half < len(of_query) else np.ones_like(left[:1])
        by_halves = ratio.T.reshape(len(bounds), len(left), len(right))
        each = [((r @ right[:, a:b]) * left[:, a:b]).sum(axis=0) for r, (a, b) in zip(by_halves, bounds, strict=True)]
        return np.concatenate(each), _bias(joint, of_query, bounds, weights * drawn)


def _binary_entropy(yes: FloatArray) -> FloatArray:
    """The entropy of a yes/no answer with these probabilities of yes, nats.

    >>> np.abs(_binary_entropy(np.array([0.0, 0.5, 1.0]))).round(4).tolist()
    [0.0, 0.6931, 0.0]
    """
    return np.asarray(-(tables.xlogx(yes) + tables.xlogx(1 - yes)))


def _bias(joint: FloatArray, of_query: list[FloatArray], bounds: list[tuple[int, int]], light: FloatArray) -> float:
    """How much too large a gain is on average; the draws are stratified by class, since states are sorted by it.

    light: (M,) the weights of the drawn states, 0 for those that are kept.
    """
    square = light**2
    counts, total, spread = (np.array([x[a:b].sum() for a, b in bounds]) for x in (light > 0, light, square))
    mean = tables.pattern_joint(light, of_query, bounds)[0] / np.maximum(total, 1e-300)  # (answers, C)
    squares = tables.pattern_joint(square, [table**2 for table in of_query], bounds)[0]
    crossed = tables.pattern_joint(square, of_query, bounds)[0]
    variance = np.maximum(squares - 2 * mean * crossed + mean**2 * spread, 0)
    # a single draw has no spread of its own: its square stands for it
    variance = np.where(counts > 1, variance * counts / np.maximum(counts - 1, 1), squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0, variance / joint - variance / joint.sum(1, keepdims=True), 0.0)
    return float(terms.sum() / 2)


def _variance(influence: FloatArray, weights: FloatArray, drawn: BoolArray) -> float:
    """Variance of a weighted mean over states of which some were drawn."""
    mass, light = weights[drawn], influence[drawn]
    n = len(light)
    if n < 2:  # a single draw has no spread of its own: its distance from the mean of all stands for it
        whole = (weights * influence).sum() / weights.sum()
        return float(((mass * (light - whole)) ** 2).sum())
    centre = (mass * light).sum() / mass.sum()
    return float(((mass * (light - centre)) ** 2).sum() * n / (n - 1))
