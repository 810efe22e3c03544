"""`OwnPredictor`: p(y | answers) by a fitted classifier from elsewhere that accepts missing values."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, FloatArray


class OwnPredictor:
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
        if scale is not None or query in self.queries.number_labels or not hasattr(field, "categories"):
            return self._numbers(query, entries)
        known = np.where(np.isnan(entries), UNKNOWN, entries).astype(np.int64)
        # rare categories share an answer, which no other table knows
        known = np.where(known < len(field.categories), known, UNKNOWN)
        return pd.Categorical.from_codes(known, list(field.categories))
