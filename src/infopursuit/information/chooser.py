"""Which query to ask next: the gains of all queries after each history, exactly where that is affordable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.information.gain import gain
from infopursuit.information.noise import hear
from infopursuit.information.one_state import OneState
from infopursuit.information.patterns import partial_products, pattern_joint
from infopursuit.information.prices import Prices
from infopursuit.information.singles import (
    AT_A_TIME,
    AT_LEAST,
    cell_joint,
    condition,
    filled,
    part_gains,
    see_evidence,
    value_joint,
)
from infopursuit.information.subset import resample, uniform_of
from infopursuit.models.finite import FiniteModel
from infopursuit.noise import NoiseChannel
from infopursuit.posteriors.cloud import Cloud
from infopursuit.posteriors.exact import Belief
from infopursuit.queries.queryset import QuerySet
from infopursuit.threads import side_by_side
from infopursuit.types import UNKNOWN, FloatArray, IntArray

AFFORDABLE = 5e7
"""Multiplications for the gains of one history up to which they are computed exactly where nothing else is said."""

NOTHING = 1e-16
"""A state below this share of the weight is left out of exact gains."""

CACHE = 2**24
"""Bytes of partial products that are worked on at a time: they should stay in the cache."""

ABREAST = 4
"""Products of many histories that are worked on at the same time, at the most: each has a share of the budget."""


@dataclass(frozen=True)
class Proposal:
    """The best query after each of H histories.

    query: (H,) its index, -1 where none is left. gain: (H,) nats. error: (H,) standard error of that gain, 0 where
    exact. runner_up: (H,) the second best query, -1 where there is none. tie: (H,) whether the lead over it is within
    two standard errors of the difference (the draws are the same for both), or nothing where gains are exact.
    gains: (H, Q) of all queries, NaN for those that may not be asked and for those that screening left out. largest:
    (H,) the largest of them, 0 where there is none; where queries have costs, the best need not have it.
    """

    query: IntArray
    gain: FloatArray
    error: FloatArray
    runner_up: IntArray
    tie: Any
    gains: FloatArray
    largest: FloatArray


class Chooser:
    """Computes gains on a finite model.

    Parameters
    ----------
    exact_gains: True computes every gain on every state; False on ``n_states`` drawn states and ``n_screened``
    queries; None
        (the default) is exact while one history's gains take no more than `AFFORDABLE` multiplications.
    n_states: how many states stand for all of them where gains are not exact.
    n_screened: how many queries about several atoms get their full gain, those with the largest sum of one-atom gains.
    budget: bytes that the tables of one step may take.
    sampled: the model's states are themselves draws, so that a gain has a standard error even on all of them.
    channel: how reliably queries are answered; a gain is then that of what is said, which may be wrong.
    costs: (Q,) what each query costs; the best is the one with the largest gain per cost. All alike if not given.
    """

    def __init__(
        self,
        model: FiniteModel,
        queries: QuerySet,
        *,
        exact_gains: bool | None = None,
        n_states: int = 1024,
        n_screened: int = 64,
        budget: int = 2**29,
        seed: int = 0,
        sampled: bool = False,
        channel: NoiseChannel | None = None,
        costs: Any = None,
    ) -> None:
        self.prices = Prices.of(np.ones(len(queries)) if costs is None else costs)
        self.model, self.queries, self.sampled, self.channel = model, queries, sampled, channel
        self.parts = queries.parts if channel is None else channel.parts
        self.n_states, self.n_screened, self.budget, self.seed = n_states, n_screened, budget, seed
        self._table: Tensor | None = None
        joint_answers = int(queries.n_answers[self._wide].sum())
        self.operations = float(model.n_states) * (model.atoms.n_slots + joint_answers)
        self.exact = self.operations <= AFFORDABLE if exact_gains is None else bool(exact_gains)

    @cached_property
    def _wide(self) -> IntArray:
        """The queries that reveal several atoms."""
        return np.flatnonzero((self.queries.query_atoms >= 0).sum(axis=1) > 1)

    @cached_property
    def _narrow(self) -> IntArray:
        """The queries that reveal one atom."""
        return np.flatnonzero((self.queries.query_atoms >= 0).sum(axis=1) == 1)

    @cached_property
    def _signatures(self) -> tuple[list[tuple[int, ...]], IntArray]:
        """The distinct numbers of cells that queries about several atoms have, and which of them each query has."""
        real = self.queries.query_atoms >= 0
        keys = [tuple(int(n) for n in self.queries.n_cells[q][real[q]]) for q in self._wide]
        found = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        which = np.full(len(self.queries), UNKNOWN)
        which[self._wide] = [found[key] for key in keys]
        return list(found), which

    @cached_property
    def _one_state(self) -> OneState | None:
        """The short way to gains, where there is one."""
        serves = self.channel is None and OneState.serves(self.model, self.queries)
        return OneState(self.model) if serves else None

    def choose(
        self, belief: Belief, asked: IntArray, keys: Sequence[bytes], model: FiniteModel | None = None
    ) -> Proposal:
        """The best query after each history; ``asked`` (H, Q) may not be asked (again), ``keys`` name the histories.

        ``model``: where the belief is not one on the chooser's own model, but on draws that a history has to itself.
        """
        model = model or self.model
        n = len(belief)
        gains, seconds = np.full((n, len(self.queries)), np.nan), [Second()] * n
        if self.exact and len(self._narrow):
            wanted = self._wanted(asked) if belief.soft else None
            alone = self.part_gains(belief, model, wanted)
            gains[:, self._narrow] = alone[:, self.parts.query_part[self._narrow, 0]]
        if not self.exact or len(self._wide) or self.sampled:
            each = side_by_side(
                lambda h: self._history_gains(model, belief.take(slice(h, h + 1)), asked[h], keys[h], gains[h]), n
            )
            for h, (found, second) in enumerate(each):
                gains[h], seconds[h] = found, second
        gains = np.where(asked, np.nan, gains)
        return _best(gains, seconds, self.prices)

    # ---- many histories at once: one atom at a time ----------------------------------------------------------------

    def promise(self, belief: Belief) -> FloatArray:
        """(H, Q) the sum of the gains of each query's atoms on all states: its own gain where it is about one."""
        parts = self.parts
        return np.asarray(
            np.where(parts.query_part >= 0, self.part_gains(belief, self.model)[:, parts.query_part], 0.0).sum(axis=2)
        )

    def _wanted(self, asked: IntArray) -> Any:
        """(H, A) whether a query that may still be asked looks at an atom: where answers may be wrong, all that were
        asked about are known in part only, and to work out what is left of them takes long."""
        n_atoms = len(self.queries.atoms)
        wanted = np.zeros((len(asked), n_atoms), dtype=bool)
        for row, still in zip(wanted, ~np.asarray(asked, dtype=bool), strict=True):
            atoms = self.queries.query_atoms[still]
            row[atoms[atoms >= 0]] = True
        return torch.as_tensor(wanted)

    def part_gains(self, belief: Belief, model: FiniteModel, wanted: Any = None) -> FloatArray:
        """(H, P) the gain of each part alone, on all states; of atoms that are not ``wanted`` (H, A) it may be off."""
        parts = self.parts
        if model is self.model and not belief.soft and self._one_state is not None:
            weights = torch.softmax(belief.log_weights, dim=1)
            return np.asarray(self._one_state.gains(weights, belief.evidence).cpu().numpy()[:, parts.atom])
        rows = int(np.clip(self.budget // (16 * ABREAST * model.n_states), 1, AT_A_TIME))
        gains = np.empty((len(belief), len(parts.atom)))
        blocks, least = self._part_blocks(rows), min(AT_LEAST, rows)

        def some(i: int) -> None:
            mine = slice(i * rows, (i + 1) * rows)
            here = belief.take(mine)
            n = len(here)
            weights, evidence = torch.softmax(here.log_weights, dim=1), here.evidence
            asked = None if wanted is None else wanted[mine].to(weights.device)
            weights, evidence = (filled(each, least) for each in (weights, evidence))
            asked = None if asked is None else filled(asked, least)
            for begin, end in blocks:
                found = self._block_gains(model, weights, evidence, begin, end, asked)
                gains[mine, begin:end] = found[:n].cpu().numpy()

        side_by_side(some, -(-len(belief) // rows), most=ABREAST)
        return gains

    def _part_blocks(self, n_histories: int) -> list[tuple[int, int]]:
        """Runs of parts whose tables fit the budget together; an atom's parts stay together."""
        parts = self.parts
        # for each slot its joint tables, and its probabilities in all states, once as they are and once in float64
        each = 48 * n_histories * self.model.n_classes + 16 * self.model.n_states
        most = max(1, int(self.budget // (2 * ABREAST * each)))
        blocks, begin = [], 0
        starts = np.flatnonzero(np.diff(parts.atom, prepend=-1))
        stops = np.append(starts[1:], len(parts.atom))
        for stop, following in zip(stops, np.append(stops[1:], UNKNOWN), strict=True):
            if following == UNKNOWN or parts.offsets[following] - parts.offsets[begin] > most:
                blocks.append((int(begin), int(stop)))
                begin = stop
        return blocks

    def _block_gains(
        self, model: FiniteModel, weights: Tensor, evidence: Tensor, begin: int, end: int, wanted: Tensor | None = None
    ) -> Tensor:
        """(H, parts) gains of the parts ``begin`` to ``end``."""
        parts, atoms = self.parts, model.atoms
        slots = slice(int(atoms.offsets[parts.atom[begin]]), int(atoms.offsets[parts.atom[end - 1] + 1]))
        joint = value_joint(weights, model.block(slots), model.offsets)
        joint = see_evidence(joint, weights, evidence, model, slots, wanted)
        if not parts.plain:
            cells = slice(int(parts.offsets[begin]), int(parts.offsets[end]))
            owner = np.searchsorted(parts.offsets, parts.entry_cell, side="right") - 1
            entries = slice(*(int(i) for i in np.searchsorted(owner, [begin, end])))
            joint = cell_joint(joint, parts, entries, cells, slots.start)
        if self.channel is not None:
            n, _, n_classes = joint.shape
            flat = hear(joint.transpose(0, 1).reshape(joint.shape[1], -1), self.channel, begin, end)
            joint = flat.reshape(-1, n, n_classes).transpose(0, 1)
        return part_gains(joint, parts.sizes[begin:end])

    # ---- one history at a time: queries about several atoms, and models too large for all states --------------------

    def _history_gains(
        self, model: FiniteModel, belief: Belief, asked: IntArray, key: bytes, narrow: FloatArray
    ) -> tuple[FloatArray, Second]:
        """(Q,) gains after one history, and how sure the choice of the best one is."""
        parts = self.parts
        weights = torch.softmax(belief.log_weights[0], dim=0)
        if self.exact:
            # states that weigh nothing within rounding say nothing: what is left out moves no gain by as much as a tie
            states = torch.nonzero(weights > NOTHING)[:, 0]
            drawn = torch.full((len(states),), self.sampled, device=states.device)
            weights, table = weights[states], self._whole_table(model)[:, states]
            offsets = np.searchsorted(states.cpu().numpy(), model.offsets)
        else:
            states, weights, drawn = resample(weights, self.n_states, uniform_of(self.seed, key))
            drawn = drawn | self.sampled
            table = model.state_probs(states)
            counts = torch.bincount(model.state_class[states], minlength=model.n_classes).cpu().numpy()
            offsets = np.concatenate([[0], np.cumsum(counts)])
        weights = weights.to(table.dtype)
        table = self._given(table, belief.evidence[0])
        # atoms that no query asks about may follow those that one does
        cells = table[: int(parts.offsets[-1])] if parts.plain else self._cells(table)
        if self.channel is not None:
            cells = hear(cells, self.channel)
        gains = narrow.copy()
        candidates = self._wide
        if not self.exact:
            alone = part_gains(value_joint(weights[None], cells, offsets), parts.sizes)[0].cpu().numpy()
            gains[self._narrow] = alone[parts.query_part[self._narrow, 0]]
            promise = np.where(parts.query_part >= 0, alone[parts.query_part], 0).sum(axis=1)
            candidates = self._screen(np.where(asked, -1.0, promise))
        gains[candidates] = self._wide_gains(candidates, cells, weights, offsets)
        if not bool(drawn.any()):
            return gains, Second()
        scores, per_nat = self.prices.scores(np.where(asked, np.nan, gains)), self.prices.weights
        best, second = _leaders(scores[None], self.prices.near)
        first = None if best[0] == UNKNOWN else self._influence(int(best[0]), cells, weights, offsets, drawn)
        if first is None:
            return gains, Second()

        def variance(influence: Tensor) -> float:
            if isinstance(model, Cloud):
                mass = weights.to(torch.float64)
                return model.variance_of(states, mass * (influence - (mass * influence).sum() / mass.sum()))
            return _variance(influence, weights, drawn)

        error = float((variance(first.each) + first.bias**2) ** 0.5)
        if second[0] == UNKNOWN:
            return gains, Second(error)
        other = self._influence(int(second[0]), cells, weights, offsets, drawn)
        apart = variance(first.each * per_nat[best[0]] - other.each * per_nat[second[0]]) ** 0.5
        return gains, Second(error, bool(scores[best[0]] - scores[second[0]] <= 2 * apart))

    def _screen(self, promise: FloatArray) -> IntArray:
        """The queries about several atoms that promise most for their cost, and the one that promises most at all: a
        rule that looks at the largest gain left should not overlook what is dear."""
        found = _largest(self.prices.scores(promise), self._wide, self.n_screened)
        return np.union1d(found, _largest(promise, self._wide, min(self.n_screened, 1)))

    def _whole_table(self, model: FiniteModel) -> Tensor:
        """(L, S) the probabilities of all atom values in all states; that of the own model is kept while it is small,
        since every history needs it."""
        if self._table is not None and model is self.model:
            return self._table
        table = model.block(slice(0, model.atoms.n_slots)).to(torch.float64)
        if model is self.model and table.numel() * table.element_size() <= self.budget:
            self._table = table
        return table

    def _given(self, table: Tensor, evidence: Tensor) -> Tensor:
        """(L, M) P(value | state) -> P(value | state, evidence)."""
        changed = torch.nonzero(evidence != 0)[:, 0].cpu().numpy()
        if not len(changed):
            return table
        atoms = self.model.atoms
        # the table holds some of the states only, so it is this history's own
        possible = evidence.isfinite()
        touched = np.unique(atoms.slot_atom[changed])
        n_possible = np.add.reduceat(possible.cpu().numpy().astype(np.int64), atoms.offsets[:-1])[touched]
        known = torch.as_tensor(np.isin(atoms.slot_atom, touched[n_possible == 1]), device=table.device)
        table[known] = possible[known, None].to(table.dtype)
        for atom in touched[n_possible > 1].tolist():
            begin, end = int(atoms.offsets[atom]), int(atoms.offsets[atom + 1])
            table[begin:end] = condition(table[begin:end], evidence[begin:end])
        return table

    def _cells(self, table: Tensor) -> Tensor:
        """(L, M) -> (cells of all parts, M)."""
        parts = self.parts
        cells = torch.zeros((int(parts.offsets[-1]), table.shape[1]), dtype=table.dtype, device=table.device)
        slots, index = (torch.as_tensor(i, device=table.device) for i in (parts.entry_slot, parts.entry_cell))
        return cells.index_add_(0, index, table[slots])

    def _wide_gains(self, queries: IntArray, cells: Tensor, weights: Tensor, offsets: IntArray) -> FloatArray:
        """Gains of some queries about several atoms."""
        bounds = list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
        signatures, which = self._signatures
        gains = np.zeros(len(queries))
        for index, signature in enumerate(signatures):
            mine = np.flatnonzero(which[queries] == index)
            n_answers, halves = int(np.prod(signature)), 2 * int(np.sqrt(np.prod(signature))) + 1
            each = (3 * n_answers * len(bounds) + 3 * halves * len(weights)) * cells.element_size()
            size = max(1, int(min(self.budget, CACHE) // each))
            for start in range(0, len(mine), size):
                some = mine[start : start + size]
                joint = pattern_joint(weights, self._tables(queries[some], signature, cells), bounds)
                gains[some] = gain(joint).cpu().numpy()
        return gains

    def _tables(self, queries: IntArray, signature: tuple[int, ...], cells: Tensor) -> list[Tensor]:
        """For each atom of some like queries (Q, K_w, M): P(cell | state, history)."""
        parts = self.parts
        first = parts.offsets[parts.query_part[queries]]  # (Q, W)
        return [
            cells[torch.as_tensor(first[:, w, None] + np.arange(size), device=cells.device)]
            for w, size in enumerate(signature)
        ]

    def _influence(self, query: int, cells: Tensor, weights: Tensor, offsets: IntArray, drawn: Tensor) -> Influence:
        """What each state adds to one gain, and how much too large the gain is on average (delta method).

        To first order a state adds its weight times E[log p(answer | y) / p(answer)], the expectation over its own
        answers. To second order fewer states look more alike within a class than they are, which makes gains too
        large: by half of sum Var p(answer, y) (1 / p(answer, y) - 1 / p(answer)), several first-order errors where a
        query has many answers.
        """
        real = int((self.queries.query_atoms[query] >= 0).sum())
        signature = tuple(int(n) for n in self.queries.n_cells[query][:real])
        tables = self._tables(np.array([query]), signature, cells)
        bounds = list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
        joint = pattern_joint(weights, tables, bounds)[0].to(torch.float64)  # (answers, C)
        joint = joint / joint.sum()
        ratio = torch.where(joint > 0, joint.log() - joint.sum(1, keepdim=True).log() - joint.sum(0).log(), 0.0)
        half = len(tables) // 2 or 1
        left = partial_products(tables[:half])[0].to(torch.float64)
        right = (
            partial_products(tables[half:])[0].to(torch.float64) if half < len(tables) else torch.ones_like(left[:1])
        )
        influence = torch.cat(
            [
                torch.einsum("im,ij,jm->m", left[:, a:b], ratio[:, c].reshape(len(left), len(right)), right[:, a:b])
                for c, (a, b) in enumerate(bounds)
            ]
        )
        return Influence(influence, self._bias(joint, tables, bounds, weights * drawn))

    def _bias(self, joint: Tensor, tables: list[Tensor], bounds: list[tuple[int, int]], light: Tensor) -> float:
        """How much too large a gain is on average; the draws are stratified by class, since states are sorted by it.

        light: (M,) the weights of the drawn states, 0 for those that are kept.
        """
        square = light.square()
        counts = torch.stack([(light[a:b] > 0).sum() for a, b in bounds]).to(torch.float64)
        total = torch.stack([light[a:b].sum() for a, b in bounds]).to(torch.float64)
        spread = torch.stack([square[a:b].sum() for a, b in bounds]).to(torch.float64)
        mean = pattern_joint(light, tables, bounds)[0].to(torch.float64) / total.clamp(min=1e-300)  # (answers, C)
        squares = pattern_joint(square, [table.square() for table in tables], bounds)[0].to(torch.float64)
        crossed = pattern_joint(square, tables, bounds)[0].to(torch.float64)
        variance = (squares - 2 * mean * crossed + mean.square() * spread).clamp(min=0)
        # a single draw has no spread of its own: its square stands for it
        variance = torch.where(counts > 1, variance * counts / (counts - 1).clamp(min=1), squares)
        terms = torch.where(joint > 0, variance / joint - variance / joint.sum(1, keepdim=True), 0.0)
        return float(terms.sum() / 2)


@dataclass(frozen=True)
class Second:
    """How sure a choice is: the standard error of the best gain, and whether its lead is within noise."""

    error: float = 0.0
    tie: bool = False


@dataclass(frozen=True)
class Influence:
    """each: (M,) what a state adds to a gain for its weight. bias: how much too large the gain is on average."""

    each: Tensor
    bias: float


def _variance(influence: Tensor, weights: Tensor, drawn: Tensor) -> float:
    """Variance of a weighted mean over states of which some were drawn."""
    mass, light = weights[drawn].to(torch.float64), influence[drawn]
    n = len(light)
    centre = (mass * light).sum() / mass.sum()
    if n < 2:  # a single draw has no spread of its own: its distance from the mean of all stands for it
        whole = (weights.to(torch.float64) * influence).sum() / weights.to(torch.float64).sum()
        return float((mass * (light - whole)).square().sum())
    return float((mass * (light - centre)).square().sum() * n / (n - 1))


def _largest(scores: FloatArray, among: IntArray, n: int) -> IntArray:
    """The n indices among some with the largest scores, ties to the lowest, in order of index."""
    order = among[np.argsort(-scores[among], kind="stable")]
    return np.sort(order[:n])


def _leaders(scores: FloatArray, near: FloatArray) -> tuple[IntArray, IntArray]:
    """(H,) the best query of each row and the second best, -1 where there is none; scores that are as good as the best
    but for ``near`` (Q,) of that one go to the lowest index."""
    known = np.where(np.isnan(scores), -np.inf, scores)
    rows = np.arange(len(known))
    found = []
    for _ in range(2):
        top = known.max(axis=1, keepdims=True)
        query = np.argmax(known >= top - near[known.argmax(axis=1)][:, None], axis=1)
        found.append(np.where(np.isneginf(top[:, 0]), UNKNOWN, query))
        known = known.copy()
        known[rows, query] = -np.inf
    return found[0], found[1]


def _best(gains: FloatArray, seconds: Sequence[Second], prices: Prices) -> Proposal:
    """The best query of each row, with how sure that is."""
    scores, rows = prices.scores(gains), np.arange(len(gains))
    query, runner_up = _leaders(scores, prices.near)
    none = query == UNKNOWN
    best = np.where(none, 0.0, gains[rows, query])
    lead = np.where(runner_up == UNKNOWN, np.inf, scores[rows, query] - scores[rows, runner_up])
    tie = np.array([one.tie for one in seconds], dtype=bool) | (lead <= prices.near[query])
    error = np.array([one.error for one in seconds])
    return Proposal(query, best, error, runner_up, tie & ~none, gains, largest_of(gains))


def largest_of(gains: FloatArray) -> FloatArray:
    """(H,) the largest gain of each row, 0 where none is known."""
    return np.asarray(np.where(np.isnan(gains), 0.0, gains).max(axis=1, initial=0.0))
