"""`PredictorBelief`: p(y | history) by a predictor that copes with missing inputs, such as masked networks."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from infopursuit.acquisition.ranking import ROUGH_TIE
from infopursuit.checks import one_of, whole_number
from infopursuit.history import BoolArray, Estimate, Histories
from infopursuit.models.answers import RowAnswers
from infopursuit.models.boosting import Averaged, MaskedTrees
from infopursuit.models.masked import AnswerNetwork, Encoding, Layers, MaskedClassifier
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, FloatArray, IntArray

MAX_ANSWERS = 64
"""A query with more joint answers is refused: each of them is looked at before the query is asked."""
NEGLIGIBLE = 4e-3
"""Answers below this probability are not looked at."""
FLOOR = 1e-9
"""Of a predicted probability: no answer makes a class impossible."""


class Predictor(Protocol):
    """p(y | answers). An *answer vector* has for each query its number, or the index of its answer; NaN where it is
    not known.

    It may further have ``predict_after(answers, rows, places, table, n)``, a faster way to `predict` after one more
    answer, and ``n_members``, of which ``n`` then are used.
    """

    @property
    def n_classes(self) -> int:
        """C."""

    def predict(self, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(H, Q) answer vectors -> (H, C) probabilities and their standard errors."""


class AnswerModel(Protocol):
    """p(next answer | answers so far)."""

    offsets: IntArray
    """(Q + 1,) where the outputs of each query begin: its answers, and if there is one more, "no answer"."""

    def predict(self, answers: FloatArray) -> FloatArray:
        """(H, Q) answer vectors -> (H, outputs)."""


class PredictorBelief:
    """p(y | history) by a predictor; the state of H histories are their answer vectors (H, Q).

    Parameters
    ----------
    predictor: see `Predictor`.
    answers: see `AnswerModel`.
    queries: each about one variable or with few joint answers.
    n_screened: with more queries than this, and a predictor with several members, all gains are first computed with
        one member, and those of the ``n_screened`` best queries with all.
    """

    uses_numbers = True

    def __init__(self, predictor: Any, answers: Any, queries: QuerySet, n_screened: int = 12) -> None:
        self.predictor, self.answers, self.queries, self.n_screened = predictor, answers, queries, n_screened
        check_queries(queries)

    @property
    def n_classes(self) -> int:
        """C."""
        return int(self.predictor.n_classes)

    @property
    def contains_training_data(self) -> bool:
        """Whether answers are predicted by training rows."""
        return bool(getattr(self.answers, "contains_training_data", False))

    @property
    def row_bytes(self) -> int:
        """The memory of one history."""
        return 64 * len(self.queries) + (24 + 24 * self.n_classes) * len(self._table)

    def init(self) -> FloatArray:
        """Nothing is known."""
        return np.full((1, len(self.queries)), np.nan)

    def update(self, b: FloatArray, parents: IntArray, new: Histories) -> FloatArray:
        """One more answer."""
        found = b[parents]
        query, cells = new.queries[:, -1], new.answers[:, -1]
        numbers = None if new.numbers is None else new.numbers[:, -1]
        value = answer_values(self.queries, query, cells, numbers)
        rows = np.flatnonzero(~np.isnan(value))
        found[rows, query[rows]] = value[rows]
        return found

    def log_posterior(self, b: FloatArray) -> Estimate:
        """(H, C) log p(y | history); the standard error is that of a mean over the members of an ensemble."""
        p, error = self.predictor.predict(b)
        p = np.maximum(p, FLOOR)
        return Estimate(np.log(p / p.sum(axis=1, keepdims=True)), error)

    def answer_distribution(self, b: FloatArray, query: int) -> FloatArray:
        """(H, answers) p(answer | history), given that there is one."""
        start = int(self.answers.offsets[query])
        p = np.asarray(self.answers.predict(b)[:, start : start + int(self.queries.n_answers[query])], np.float64)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def unanswered(self, b: FloatArray, query: int) -> FloatArray:
        """(H,) the probability that a query gets no answer, as often as in training."""
        start = int(self.answers.offsets[query])
        mass = self.answers.predict(b)[:, start : start + int(self.queries.n_answers[query])]
        return np.asarray(np.clip(1.0 - np.asarray(mass, np.float64).sum(axis=1), 0.0, 1.0))

    # ---- look-ahead --------------------------------------------------------------------------------------------------

    @cached_property
    def _table(self) -> FloatArray:
        """(L, Q) for every answer of every query an answer vector that has it alone."""
        query = self._answer_query
        index = np.arange(len(query)) - self._starts[query]
        cells = np.stack(
            [np.array(np.unravel_index(i, self.queries.n_cells[q])) for q, i in zip(query, index, strict=True)]
        )
        cells = np.where(self.queries.query_variables[query] >= 0, cells, UNKNOWN)
        table = np.full((len(query), len(self.queries)), np.nan)
        table[np.arange(len(query)), query] = answer_values(self.queries, query, cells, None)
        return table

    @cached_property
    def _starts(self) -> IntArray:
        """(Q,) where the answers of each query begin among all answers."""
        return np.asarray(np.cumsum(self.queries.n_answers) - self.queries.n_answers)

    @cached_property
    def _answer_query(self) -> IntArray:
        """(L,) the query of each answer."""
        return np.repeat(np.arange(len(self.queries)), self.queries.n_answers)

    @cached_property
    def _answer_output(self) -> IntArray:
        """(L,) the output of the answer model for each answer."""
        shift = self.answers.offsets[:-1] - self._starts
        return np.asarray(np.arange(len(self._answer_query)) + shift[self._answer_query])

    def look_ahead(self, b: FloatArray, allowed: BoolArray) -> Estimate:
        """(H, Q) the expected information gain of each allowed query, in nats: the entropy of the mean posterior after
        its answer, less the mean entropy, times the probability that there is an answer. It is never negative."""
        mass = np.asarray(self.answers.predict(b)[:, self._answer_output], dtype=np.float64)  # (H, L)
        members = getattr(self.predictor, "n_members", 1)
        screened = members > 1 and int(allowed.sum(axis=1).max(initial=0)) > self.n_screened
        gains = self._gains(b, allowed, mass, 1 if screened else members)
        if screened:
            rank = np.argsort(np.argsort(-np.nan_to_num(gains, nan=-1.0), axis=1, kind="stable"), axis=1)
            best = allowed & (rank < self.n_screened)
            full = self._gains(b, best, mass, members)
            # what was screened out must not overtake the best, nor tie with it
            limit = np.nanmax(np.where(best, full, np.nan), axis=1, initial=0.0)[:, None] - 2 * ROUGH_TIE
            gains = np.where(best, full, np.clip(gains, 0.0, np.maximum(limit, 0.0)))
        return Estimate.exact(np.where(allowed, gains, np.nan))

    def hypotheses(self, b: FloatArray, allowed: BoolArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """(N,) the history, query, answer and probability of what may be answered next; what is missing from a sum of 1
        is the probability that there is no answer."""
        mass = np.asarray(self.answers.predict(b)[:, self._answer_output], dtype=np.float64)  # (H, L)
        rows, places = np.nonzero(allowed[:, self._answer_query] & (mass > NEGLIGIBLE))
        query = self._answer_query[places]
        index = places - self._starts[query]
        return rows, query, index, mass[rows, places]

    def _gains(self, b: FloatArray, allowed: BoolArray, mass: FloatArray, n_members: int) -> FloatArray:
        rows, places = np.nonzero(allowed[:, self._answer_query] & (mass > NEGLIGIBLE))
        gains = np.where(allowed, 0.0, np.nan)
        if not len(rows):
            return gains
        then = np.asarray(self._predict_after(b, rows, places, n_members), dtype=np.float64)  # (N, C)
        weight, query = mass[rows, places], self._answer_query[places]
        group = rows * len(self.queries) + query
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        answered = np.add.reduceat(weight, starts)
        mean = np.add.reduceat(weight[:, None] * then, starts, axis=0) / answered[:, None]
        gain = answered * _entropy(mean) - np.add.reduceat(weight * _entropy(then), starts)
        gains[rows[starts], query[starts]] = np.maximum(gain, 0.0)
        return gains

    def _predict_after(self, b: FloatArray, rows: IntArray, places: IntArray, n_members: int) -> Any:
        if hasattr(self.predictor, "predict_after"):
            return self.predictor.predict_after(b, rows, places, self._table, n_members)
        found = []
        at_a_time = max(1, 2**21 // len(self.queries))
        for start in range(0, len(rows), at_a_time):
            some = slice(start, start + at_a_time)
            answers, query = b[rows[some]], self._answer_query[places[some]]
            answers[np.arange(len(answers)), query] = self._table[places[some], query]
            found.append(self.predictor.predict(answers)[0])
        return np.concatenate(found)

    def consistency_gap(self, b: FloatArray) -> FloatArray:
        """(H, Q) how far the mean posterior after the answer to a query is from the posterior before it: half the sum
        of absolute differences (total variation), 0 for a belief that is consistent."""
        mass = np.asarray(self.answers.predict(b)[:, self._answer_output], dtype=np.float64)
        rows, places = np.nonzero(mass > -1)
        n = getattr(self.predictor, "n_members", 1)
        then = np.asarray(self._predict_after(b, rows, places, n)).reshape(len(b), -1, self.n_classes)
        total = np.add.reduceat(mass, self._starts, axis=1)
        mean = np.add.reduceat(mass[..., None] * then, self._starts, axis=1) / total[..., None]
        return np.asarray(0.5 * np.abs(mean - self.predictor.predict(b)[0][:, None]).sum(axis=2))

    # ---- files -------------------------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """JSON data and arrays; an object of somebody else's cannot be saved."""
        spec: dict[str, Any] = {"n_screened": self.n_screened}
        arrays: dict[str, Any] = {"offsets": self.answers.offsets}
        if isinstance(self.answers, AnswerNetwork):
            arrays |= {f"answer_{name}": array for name, array in vars(self.answers.layers).items()}
        elif isinstance(self.answers, RowAnswers):
            spec["answers"] = "rows"
            arrays |= self.answers.to_arrays()
        else:
            raise TypeError(f"answers is a {type(self.answers).__name__}, which cannot be saved")
        parts = self.predictor.parts if isinstance(self.predictor, Averaged) else (self.predictor,)
        for part in parts:
            if isinstance(part, MaskedClassifier):
                arrays |= {f"class_{name}": array for name, array in vars(part.layers).items()}
            elif isinstance(part, MaskedTrees):
                arrays |= part.to_arrays()
            else:
                own = type(getattr(part, "predictor", part)).__name__
                raise TypeError(
                    f"predictor is a {own}, which cannot be saved without pickle; fit with predictor='network', "
                    f"'trees' or 'both' to save"
                )
        if len(parts) > 1 or isinstance(parts[0], MaskedTrees):
            spec["predictor"] = "trees" if len(parts) == 1 else "both"
        encoding = next((part.encoding for part in (*parts, self.answers) if hasattr(part, "encoding")), None)
        if encoding is not None:
            arrays |= {"pieces": encoding.pieces, "categories": encoding.categories}
        return spec, arrays

    @classmethod
    def from_parts(cls, spec: dict[str, Any], arrays: dict[str, Any], queries: QuerySet) -> PredictorBelief:
        """What `to_parts` took apart; refused where shapes do not fit."""
        n, n_answers = len(queries), queries.n_answers
        offsets = np.asarray(arrays["offsets"])
        kind = one_of(spec.get("predictor", "network"), "predictor", ("network", "trees", "both"))
        answer_kind = one_of(spec.get("answers", "network"), "answers", ("network", "rows"))
        fits = offsets.shape == (n + 1,)
        if not fits or offsets[0] != 0 or not np.isin(np.diff(offsets) - n_answers, (0, 1)).all():
            raise ValueError(f"offsets has shape {offsets.shape} or steps that do not fit the {n} queries")
        offsets = offsets.astype(np.int64)
        if "network" in (kind, answer_kind) or kind == "both":
            encoding = encoding_from(arrays, n)
        answers: Any
        if answer_kind == "network":
            answers = AnswerNetwork(encoding, _layers_from(arrays, "answer", encoding, int(offsets[-1])), offsets)
        else:
            answers = RowAnswers.from_arrays(arrays, queries, offsets)
        parts: list[Any] = []
        if kind != "trees":
            parts.append(MaskedClassifier(encoding, _layers_from(arrays, "class", encoding, None)))
        if kind != "network":
            parts.append(MaskedTrees.from_arrays(arrays, n))
        if len({(part.n_members, part.n_classes) for part in parts}) > 1:
            raise ValueError("the networks and the trees have other numbers of members or classes")
        n_screened = whole_number(spec["n_screened"], "n_screened", 1)
        return cls(parts[0] if len(parts) == 1 else Averaged(tuple(parts)), answers, queries, n_screened)


def encoding_from(arrays: dict[str, Any], n: int) -> Encoding:
    """The encoding in the arrays of a file; refused where it does not fit n queries."""
    pieces, categories = (np.asarray(arrays[name]) for name in ("pieces", "categories"))
    for name, array, width in (("pieces", pieces, 4), ("categories", categories, 2)):
        inside = array.ndim == 2 and array.shape[1] == width and np.isfinite(array).all()
        if not inside or ((array[:, 0] < 0) | (array[:, 0] >= n)).any():
            raise ValueError(f"{name} has shape {array.shape} or names a query that is not there")
    return Encoding(n, pieces.astype(np.float64), categories.astype(np.int64))


def _layers_from(arrays: dict[str, Any], kind: str, encoding: Encoding, n_outputs: int | None) -> Layers:
    found = Layers(*(np.asarray(arrays[f"{kind}_{name}"], np.float32) for name in Layers.__dataclass_fields__))
    found.check(encoding.n_inputs, n_outputs, kind)
    return found


def answer_values(queries: QuerySet, query: IntArray, cells: IntArray, numbers: FloatArray | None) -> FloatArray:
    """(N,) the entry of an answer vector for one query (N,) with its answer, (N, W) cells and (N,) numbers: the number,
    or the one that stands for the cell, or the index of the joint answer; NaN where it is not fully known."""
    n_cells, used = queries.n_cells[query], queries.query_variables[query] >= 0
    known = (used & (cells != UNKNOWN)).sum(axis=1) == used.sum(axis=1)
    index = np.zeros(len(query), dtype=np.int64)
    for w in range(queries.width):
        index = index * n_cells[:, w] + np.where(used[:, w], np.maximum(cells[:, w], 0), 0)
    value = index.astype(np.float64)
    if queries.representatives is not None:
        stands = queries.representatives[query, np.maximum(cells[:, 0], 0)]
        value = np.where(np.isnan(stands), value, stands)
        if numbers is not None:
            value = np.where(np.isnan(stands) | np.isnan(numbers), value, numbers)
    return np.where(known, value, np.nan)


def answer_vectors(queries: QuerySet, values: IntArray, numbers: FloatArray | None) -> tuple[FloatArray, IntArray]:
    """(B, Q) answer vectors, and the indices of the joint answers, -1 where unknown, of rows with these values."""
    vectors = np.empty((len(values), len(queries)))
    cells = np.empty((len(values), len(queries)), dtype=np.int64)
    for q in range(len(queries)):
        query = np.full(len(values), q)
        mine = queries.answers_of(values, query)
        vectors[:, q] = answer_values(queries, query, mine, queries.numbers_of(numbers, query))
        used = int((queries.query_variables[q] >= 0).sum())
        index = np.ravel_multi_index(tuple(np.maximum(mine[:, :used], 0).T), tuple(queries.n_cells[q, :used]))
        cells[:, q] = np.where(np.isnan(vectors[:, q]), UNKNOWN, index)
    return vectors, cells


def check_queries(queries: QuerySet) -> None:
    """Refuse queries with too many answers."""
    worst = int(np.argmax(queries.n_answers))
    if queries.n_answers[worst] > MAX_ANSWERS:
        raise ValueError(
            f"query {queries.names[worst]!r} has {queries.n_answers[worst]} answers, and the hybrid strategy looks at "
            f"each, {MAX_ANSWERS} at the most; use smaller patches, max_categories={MAX_ANSWERS}, or strategy='table'"
        )


def _entropy(p: FloatArray) -> FloatArray:
    return np.asarray(-(p * np.log(np.maximum(p, 1e-12))).sum(axis=1))
