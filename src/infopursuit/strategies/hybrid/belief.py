"""`PredictorBelief`: p(y | history) by a predictor that copes with missing inputs, such as masked networks."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from infopursuit.models.networks.masked import AnswerNetwork, Encoding, Layers, MaskedClassifier
from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Belief, Capabilities, Estimate
from infopursuit.pursuit.ranking import ROUGH_TIE
from infopursuit.queries.columns import YesNoField
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.look_ahead import joint_cells
from infopursuit.support.checks import one_of, whole_number
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

MAX_ANSWERS = 64
"""A query with more joint answers is refused: each of them is looked at before the query is asked."""
NEGLIGIBLE = 4e-3
"""Answers below this probability are not looked at."""
WORK = 2**21
"""Entries of the answer vectors that one call of a predictor gets."""
FLOOR = 1e-9
"""Of a predicted probability: no answer makes a class impossible."""


class Predictor(Protocol):
    """p(y | answers). An *answer vector* has for each query its number, or the index of its answer; NaN where it is
    not known."""

    @property
    def n_classes(self) -> int:
        """C."""

    @property
    def n_members(self) -> int:
        """How many networks or trees vote; 1 for a single one."""

    def predict(self, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(H, Q) answer vectors -> (H, C) probabilities and their standard errors."""

    def predict_after(
        self, answers: FloatArray, rows: IntArray, places: IntArray, table: FloatArray, n_members: int
    ) -> FloatArray:
        """(N, C) probabilities after one more answer each, by the first members.

        Parameters
        ----------
        answers : (H, Q) array of float
            Answer vectors.
        rows, places : (N,) arrays of int
            The answer vectors that get one more answer, and which row of the table has it.
        table : (L, Q) array of float
            For each answer of each query an answer vector that has it alone.
        n_members : int
            How many members to use.
        """


class SinglePredictor:
    """A predictor of one member that predicts after one more answer by `predict`."""

    n_members = 1

    def predict(self, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(H, Q) answer vectors -> (H, C) probabilities and their standard errors."""
        raise NotImplementedError

    def predict_after(
        self, answers: FloatArray, rows: IntArray, places: IntArray, table: FloatArray, n_members: int
    ) -> FloatArray:
        """(N, C) probabilities after one more answer each, see `Predictor`."""
        at_a_time = max(1, WORK // answers.shape[1])
        probabilities = []
        for start in range(0, len(rows), at_a_time):
            part = slice(start, start + at_a_time)
            new = table[places[part]]
            after = np.where(np.isnan(new), answers[rows[part]], new)
            probabilities.append(self.predict(after)[0])
        return np.concatenate(probabilities)


class AnswerModel(Protocol):
    """p(next answer | answers so far)."""

    offsets: IntArray
    """(Q + 1,) where the outputs of each query begin: its answers, and if there is one more, "no answer"."""

    def predict(self, answers: FloatArray) -> FloatArray:
        """(H, Q) answer vectors -> (H, outputs)."""


class PredictorBelief(Belief[FloatArray]):
    """p(y | history) by a predictor; the state of H histories are their answer vectors (H, Q).

    Parameters
    ----------
    predictor: see `Predictor`.
    answers: see `AnswerModel`.
    queries: each about one variable or with few joint answers.
    n_screened: with more queries than this, and a predictor with several members, all gains are first computed with
        one member, and those of the ``n_screened`` best queries with all.
    """

    def __init__(self, predictor: Any, answers: Any, queries: QuerySet, n_screened: int = 12) -> None:
        self.predictor = predictor
        self.answers = answers
        self.queries = queries
        self.n_screened = n_screened
        self.n_classes = int(predictor.n_classes)
        check_queries(queries)

        numbers_of_answer = 3 + 3 * self.n_classes
        n_answers = int(queries.n_answers.sum())
        self.capabilities = Capabilities(
            numbers=True,
            answers=answers is not None,
            look_ahead=answers is not None,
            bytes_per_history=64 * len(queries) + 8 * numbers_of_answer * n_answers,
        )

    def __repr__(self) -> str:
        return f"PredictorBelief({self.predictor!r:.70}, answers by {type(self.answers).__name__})"

    def describe(self) -> str:
        """The belief in words."""
        return f"that of a `{type(self).__name__}` with {self.predictor.n_members} `{type(self.predictor).__name__}`"

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
        cells = joint_cells(self.queries, query, np.arange(len(query)) - self._starts[query])
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
        members = self.predictor.n_members
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
        # then: (N, C)
        then = np.asarray(self.predictor.predict_after(b, rows, places, self._table, n_members), dtype=np.float64)
        weight, query = mass[rows, places], self._answer_query[places]
        group = rows * len(self.queries) + query
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        answered = np.add.reduceat(weight, starts)
        mean = np.add.reduceat(weight[:, None] * then, starts, axis=0) / answered[:, None]
        gain = answered * _entropy(mean) - np.add.reduceat(weight * _entropy(then), starts)
        gains[rows[starts], query[starts]] = np.maximum(gain, 0.0)
        return gains

    # ---- files -------------------------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """JSON data and arrays; an object of somebody else's cannot be saved."""
        for name, kind in (("predictor", MaskedClassifier), ("answers", AnswerNetwork)):
            part = getattr(self, name)
            if not isinstance(part, kind):
                own = type(getattr(part, "predictor", part)).__name__
                raise TypeError(f"{name} is a {own}, which cannot be saved without pickle; fit ip.Hybrid() to save")
        encoding, networks = self.predictor.encoding, {"class": self.predictor, "answer": self.answers}
        weights = {f"{kind}_{name}": array for kind, n in networks.items() for name, array in vars(n.layers).items()}
        arrays = {"offsets": self.answers.offsets, "pieces": encoding.pieces, "categories": encoding.categories}
        return {"n_screened": self.n_screened}, arrays | weights

    @classmethod
    def from_parts(cls, spec: dict[str, Any], arrays: dict[str, Any], queries: QuerySet) -> PredictorBelief:
        """What `to_parts` took apart; refused where shapes do not fit."""
        n, n_answers = len(queries), queries.n_answers
        offsets = np.asarray(arrays["offsets"])
        for name in ("predictor", "answers"):  # there were others, which are gone
            one_of(spec.get(name, "network"), name, ("network",))
        fits = offsets.shape == (n + 1,)
        if not fits or offsets[0] != 0 or not np.isin(np.diff(offsets) - n_answers, (0, 1)).all():
            raise ValueError(f"offsets has shape {offsets.shape} or steps that do not fit the {n} queries")
        offsets = offsets.astype(np.int64)
        encoding = encoding_from(arrays, n)
        answers = AnswerNetwork(encoding, _layers_from(arrays, "answer", encoding, int(offsets[-1])), offsets)
        predictor = MaskedClassifier(encoding, _layers_from(arrays, "class", encoding, None))
        return cls(predictor, answers, queries, whole_number(spec["n_screened"], "n_screened", 1))


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
    used = queries.query_variables[query] >= 0
    known = (used & (cells != UNKNOWN)).sum(axis=1) == used.sum(axis=1)
    value = joint_answers(queries, query, cells).astype(np.float64)
    if queries.representatives is not None:
        stands = queries.representatives[query, np.maximum(cells[:, 0], 0)]
        value = np.where(np.isnan(stands), value, stands)
        if numbers is not None:
            value = np.where(np.isnan(stands) | np.isnan(numbers), value, numbers)
    return np.where(known, value, np.nan)


def joint_answers(queries: QuerySet, query: IntArray, cells: IntArray) -> IntArray:
    """(N,) the index of each joint answer, (N, W) cells."""
    index = np.zeros(len(query), dtype=np.int64)
    for w in range(queries.width):
        used = queries.query_variables[query, w] >= 0
        index = index * queries.n_cells[query, w] + np.where(used, np.maximum(cells[:, w], 0), 0)
    return index


def answer_vectors(queries: QuerySet, values: IntArray, numbers: FloatArray | None) -> tuple[FloatArray, IntArray]:
    """(B, Q) answer vectors, and the indices of the joint answers, -1 where unknown, of rows with these values."""
    vectors = np.empty((len(values), len(queries)))
    cells = np.empty((len(values), len(queries)), dtype=np.int64)
    for q in range(len(queries)):
        query = np.full(len(values), q)
        mine = queries.answers_of(values, query)
        vectors[:, q] = answer_values(queries, query, mine, queries.numbers_of(numbers, query))
        cells[:, q] = np.where(np.isnan(vectors[:, q]), UNKNOWN, joint_answers(queries, query, mine))
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


# ---- predictors from elsewhere --------------------------------------------------------------------------------------


class OwnPredictor(SinglePredictor):
    """A fitted object with ``predict_proba`` that accepts NaN, which stands for what was not asked.

    Where it has ``feature_names_in_`` it gets a pandas frame with these columns: numbers, and the labels of categories
    as a categorical column; a column that no query is about is empty. Else it gets a matrix with the columns of the
    training table: numbers, and for other categories than numbers their index among the choices of the query.

    Parameters
    ----------
    predictor: the fitted object; its classes are those of y, in sorted order.
    queries: ``ip.queries.columns``, each column asked whole.
    n_classes: C.
    """

    def __init__(self, predictor: Any, queries: QuerySet, n_classes: int) -> None:
        self.predictor, self.queries, self.n_classes = predictor, queries, n_classes
        columns = list(getattr(queries, "columns", ()))
        strange = [name for name, _ in queries.topics if name not in columns]
        if strange or len({name for name, _ in queries.topics}) < len(queries):
            raise ValueError("predictor needs one query for each column; use ip.queries.columns(), without thresholds")
        classes = getattr(predictor, "classes_", None)
        if classes is not None and len(classes) != n_classes:
            raise ValueError(f"predictor knows {len(classes)} classes, but y has {n_classes}; fit it on the same y")
        names = getattr(predictor, "feature_names_in_", None)
        self._names = None if names is None else [str(name) for name in names]
        absent = [name for name, _ in queries.topics if self._names is not None and name not in self._names]
        if absent:
            raise ValueError(f"predictor was not fitted on column {absent[0]!r}; fit it on the same table")
        width = getattr(predictor, "n_features_in_", None)
        if self._names is None and width is not None and width != len(columns):
            raise ValueError(f"predictor was fitted on {width} columns, but the table has {len(columns)}")
        self._columns = columns

    def predict(self, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(H, Q) answer vectors -> (H, C) probabilities, without standard errors."""
        p = np.asarray(self.predictor.predict_proba(self._table(answers)), np.float64)
        if p.shape != (len(answers), self.n_classes):
            raise ValueError(f"predictor.predict_proba gave shape {p.shape}; expected {(len(answers), self.n_classes)}")
        return p, np.zeros_like(p)

    def _table(self, answers: FloatArray) -> Any:
        """What the object was fitted on."""
        if self._names is None:
            matrix = np.full((len(answers), len(self._columns)), np.nan)
            for query, (name, _) in enumerate(self.queries.topics):
                matrix[:, self._columns.index(name)] = self._numbers(query, answers[:, query])
            return matrix
        import pandas as pd

        frame = dict.fromkeys(self._names, np.full(len(answers), np.nan))
        for query, (name, _) in enumerate(self.queries.topics):
            frame[name] = self._column(query, answers[:, query])
        return pd.DataFrame(frame)

    def _numbers(self, query: int, entries: FloatArray) -> FloatArray:
        """The entries of answer vectors, categories that are numbers as these."""
        labels = self.queries.number_labels.get(query)
        if labels is None:
            return entries
        known = np.where(np.isnan(entries), UNKNOWN, entries).astype(np.int64)
        return np.array([*map(float, labels), np.nan])[known]

    def _column(self, query: int, entries: FloatArray) -> Any:
        """The entries of answer vectors as they are in a frame."""
        import pandas as pd

        scale, field = self.queries.scale(query), self.queries.fields[query]  # type: ignore[attr-defined]
        if scale is not None and scale.date:
            return pd.to_datetime(entries, unit="us")
        if scale is not None or query in self.queries.number_labels or isinstance(field, YesNoField):
            return self._numbers(query, entries)
        known = np.where(np.isnan(entries), UNKNOWN, entries).astype(np.int64)
        # rare categories share an answer, which no other table knows
        known = np.where(known < len(field.categories), known, UNKNOWN)
        return pd.Categorical.from_codes(known, list(field.categories))
