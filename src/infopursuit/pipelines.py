"""Scikit-learn pipelines: a classifier behind scalers that asks in the units of the original table."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infopursuit.beliefs.predictor import PredictorBelief
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.models.masked import Encoding, MaskedClassifier
from infopursuit.queries.columns import CategoryField, Columns, Field, YesNoField
from infopursuit.queries.numbers import format_number

SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
INSTEAD = "leave it out of the pipeline: the classifier needs no scaling, and reads categories and missing cells itself"


@dataclass(frozen=True)
class _Scaled:
    """A column of a scaled table: the original number is offset + slope x."""

    name: str
    slope: float = 1.0
    offset: float = 0.0

    def original(self, numbers: Any, span: float | None = None) -> Any:
        """Numbers in the original unit; rounded where the ``span`` of the original numbers is given."""
        found = self.offset + self.slope * np.asarray(numbers, dtype=np.float64)
        if span is None or (self.slope, self.offset) == (1.0, 0.0):
            return found
        return np.round(found, max(0, 6 - int(np.floor(np.log10(span)))))  # far finer than thresholds are chosen


def original_units(pipeline: Any) -> InformationPursuitClassifier:
    """The fitted classifier at the end of a scikit-learn pipeline, for tables as they are before the pipeline.

    It asks about the columns by their original names, in their original units, and takes such answers and tables; its
    predictions are those of the pipeline. Before it there may be scalers that shift and stretch each column
    (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler) and a ColumnTransformer of such scalers, "passthrough"
    and "drop"; anything else is refused.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> scaled = make_pipeline(StandardScaler(), InformationPursuitClassifier(strategy="table")).fit(X, y)
    >>> print(original_units(scaled).session().question)
    What is petal width (cm)?
    """
    if not hasattr(pipeline, "steps"):
        raise TypeError(f"pipeline is {type(pipeline).__name__}; expected a fitted sklearn.pipeline.Pipeline")
    *steps, (_, clf) = pipeline.steps
    queries = getattr(clf, "queries_", None)
    if not isinstance(clf, InformationPursuitClassifier) or not isinstance(queries, Columns):
        raise ValueError(f"pipeline ends with {clf!r:.80}; expected a fitted classifier that asks about columns")
    names = getattr(pipeline, "feature_names_in_", None) if steps else None
    listed = queries.columns if not steps else [f"x{j}" for j in range(pipeline.n_features_in_)]
    inputs = [str(name) for name in (listed if names is None else names)]
    scaled = [_Scaled(name) for name in inputs]
    for name, step in steps:
        scaled = _through(step, scaled, f"step {name!r} of the pipeline")
    of = dict(zip(queries.columns, scaled, strict=True))
    fields = [_original_field(field, of[field.name]) for field in queries.fields]
    found = Columns(inputs, fields, named=queries.named if names is None else True)
    found = found.with_words({q: (queries.sentences[q], queries.choices(q)) for q in queries.worded})
    before: Pursuit[Any] = clf.pursuit_
    if isinstance(before.belief, PredictorBelief):
        belief: Any = _original_belief(before.belief, found, [of[field.name] for field in queries._asked_fields])
    else:
        settings = getattr(before.belief, "settings", "auto")
        belief = Pursuit.of(clf.model_, found, settings, seed=before.seed, noise=before.noise).belief
    result = copy.copy(clf)
    result.queries = result.queries_ = found
    result.pursuit_ = replace(before, queries=found, belief=belief, bindings=type(before.bindings)())
    result.n_features_in_ = len(inputs)
    result.__dict__.pop("feature_names_in_", None)
    if names is not None:
        result.feature_names_in_ = np.asarray(names, dtype=object)
    return result


def _through(step: Any, columns: Sequence[_Scaled], where: str) -> list[_Scaled]:
    """The columns after a step."""
    kind = type(step).__name__
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return list(columns)
    if kind == "ColumnTransformer":
        after: dict[int, _Scaled] = {}
        names = [str(name) for name in getattr(step, "feature_names_in_", [column.name for column in columns])]
        for name, inner, chosen in step.transformers_:
            if isinstance(inner, str) and inner == "drop":
                continue
            places = np.arange(len(columns))[chosen] if isinstance(chosen, slice) else np.atleast_1d(np.array(chosen))
            places = np.flatnonzero(places) if places.dtype.kind == "b" else places
            at = [names.index(str(p)) if isinstance(p, str) else int(p) for p in places.tolist()]
            found = _through(inner, [columns[p] for p in at], f"{name!r} in {where}")
            after |= dict(enumerate(found, start=step.output_indices_[name].start))
        return [after[place] for place in sorted(after)]
    if kind == "FunctionTransformer" and step.func is None:
        return list(columns)
    if kind not in SCALERS or getattr(step, "clip", False):
        raise ValueError(f"{where} is {step!r:.80}, whose questions have no original unit; {INSTEAD}")
    zero, one = (np.asarray(step.inverse_transform(np.full((1, len(columns)), x)))[0] for x in (0.0, 1.0))
    return [
        _Scaled(column.name, column.slope * (one[j] - zero[j]), column.offset + column.slope * zero[j])
        for j, column in enumerate(columns)
    ]


def _original_field(field: Field, scaled: _Scaled) -> Field:
    if (scaled.slope, scaled.offset) == (1.0, 0.0):
        return replace(field, name=scaled.name)
    if isinstance(field, YesNoField):
        field = CategoryField(field.name, ("0", "1"), numbers=True, missing=field.missing)
    if isinstance(field, CategoryField):
        numbers = scaled.original([float(label) for label in field.categories], 1.0)
        return replace(field, name=scaled.name, categories=tuple(map(format_number, numbers.tolist())))
    span = scaled.slope * max(field.high - field.low, 1e-9) if field.representatives else 1.0
    low, high, *others = scaled.original([field.low, field.high, *field.thresholds, *field.representatives], span)
    n, found = len(field.thresholds), tuple(map(float, others))
    about: dict[str, Any] = {"low": float(low), "high": float(high), "whole": False}
    return replace(field, name=scaled.name, thresholds=found[:n], representatives=found[n:], **about)


def _original_belief(belief: PredictorBelief, queries: Columns, scaled: Sequence[_Scaled]) -> PredictorBelief:
    """The same networks: what they see of a number does not change when it and the ends of its piece are scaled."""
    if not isinstance(belief.predictor, MaskedClassifier):
        raise ValueError(f"the predictor {belief.predictor!r:.80} sees scaled numbers; {INSTEAD}")

    def original(encoding: Encoding) -> Encoding:
        pieces = encoding.pieces.copy()
        slope, offset = np.array([(s.slope, s.offset) for s in scaled]).T[:, pieces[:, 0].astype(np.int64), None]
        pieces[:, 1:3] = offset + slope * pieces[:, 1:3]
        return replace(encoding, pieces=pieces)

    encoding = original(belief.predictor.encoding)
    predictor, answers = (replace(part, encoding=encoding) for part in (belief.predictor, belief.answers))
    return PredictorBelief(predictor, answers, queries, belief.n_screened)
