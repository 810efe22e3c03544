"""Whether the queries suffice: a black box on the inputs against one on the answers, and that against the model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from infopursuit.engine import Pursuit
from infopursuit.linting.answers import Answers, take
from infopursuit.linting.black_boxes import Gap, Split, fit_and_predict, input_matrix, shares
from infopursuit.linting.finding import Finding, percent
from infopursuit.queries.concepts import Concepts
from infopursuit.types import IntArray

LEAST_GAP, LARGE_GAP = 0.01, 0.05
"""Gaps are told when the lower end of their interval is above the first, and serious above the second."""


def find_insufficient(
    answers: Answers, X: Any, split: Split | None, on_answers: Any, model: Any, *, seed: int = 0
) -> tuple[list[Finding], dict[str, Any]]:
    """The two gaps, and what was measured: accuracies on the same held-out rows.

    on_answers: (T,) whether a black box on all answers is right about each row of the split.
    """
    if split is None:
        return [], {}
    y = answers.y[split.test]
    measured: dict[str, Any] = {
        "train_rows": split.train_rows,
        "test_rows": len(y),
        "black box using Q": shares(on_answers).tolist(),
        "most frequent class": float((y == np.bincount(answers.y).argmax()).mean()),
    }
    found = []
    matrix, labels, here = (None, y, split) if isinstance(answers.queries, Concepts) else _inputs(answers, X, split)
    if matrix is not None:
        on_inputs = fit_and_predict(matrix, labels, here, seed=seed) == y
        gap = Gap.of(on_inputs, on_answers)
        measured |= {"black box on X": shares(on_inputs).tolist(), "gap of queries": [gap.mean, gap.low, gap.high]}
        found += _tell_queries(gap, measured)
    right, seen = _map_right(answers, X, split, model, seed)
    if right is not None:
        gap = Gap.of(on_answers[: len(right)], right)
        measured |= {
            "MAP using Q": shares(right).tolist(),
            "MAP rows": len(right),
            "black box using Q on these": float(on_answers[: len(right)].mean()),
            "gap of model": [gap.mean, gap.low, gap.high],
            "model may have seen the test rows": seen,
        }
        found += _tell_model(gap, measured)
    return found, measured


def sufficiency_text(measured: dict[str, Any]) -> str:
    """What was measured in a sentence or two; empty where nothing was."""
    if "black box using Q" not in measured:
        return ""
    parts = []
    for name, words in (("black box on X", "a black box on the inputs"), ("black box using Q", "one on the answers"),
                        ("MAP using Q", "the model after all answers")):  # fmt: skip
        if name in measured:
            p, error = measured[name]
            fewer = f" (of {measured['MAP rows']:,})" if name == "MAP using Q" and fewer_rows(measured) else ""
            parts.append(f"{words} {100 * p:.1f} ± {100 * error:.1f} %{fewer}")
    seen = " (the model may have learnt from these rows)" if measured.get("model may have seen the test rows") else ""
    if "black box on X" not in measured:
        parts[0] = parts[0].replace("one on", "a black box on")
    return (
        f"Right on {measured['test_rows']:,} held-out rows: {', '.join(parts)}{seen}; the most frequent label "
        f"{percent(measured['most frequent class'])}."
    )


def fewer_rows(measured: dict[str, Any]) -> bool:
    """Whether the model was tested on fewer rows than the black box."""
    return bool(measured["MAP rows"] < measured["test_rows"])


def _inputs(answers: Answers, X: Any, split: Split) -> tuple[Any, IntArray, Split]:
    """The inputs of the rows that are used as numbers, or None; their labels; and the split counted in these rows."""
    used = np.unique(np.concatenate([rows for fold in split.folds for rows in fold]))
    folds = tuple((np.searchsorted(used, train), np.searchsorted(used, test)) for train, test in split.folds)
    return input_matrix(take(X, answers.rows[used])), answers.y[used], Split(folds, split.together)


def _map_right(answers: Answers, X: Any, split: Split, model: Any, seed: int) -> tuple[Any, bool]:
    """(T',) whether the model's most probable class after all answers is right, of the first rows tested; whether it
    may have seen them."""
    from infopursuit.estimator import InformationPursuitClassifier
    from infopursuit.evaluation.map_using_q import map_using_q

    if model is False:
        return None, False
    given = model.pursuit_ if hasattr(model, "pursuit_") else model
    if isinstance(given, Pursuit):
        posterior = map_using_q(given, answers.values[split.test])
        labels = answers.classes[answers.y[split.test]][: len(posterior)]
        return given.classes[posterior.argmax(axis=1)] == labels, True
    train, test = split.folds[0]  # fitting a model takes longer than a black box: once
    clf = InformationPursuitClassifier(answers.queries, "auto" if model is None else model, random_state=seed)
    with warnings.catch_warnings():  # many classes are no fault here
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        clf.fit(take(X, answers.rows[train]), answers.classes[answers.y[train]])
    posterior = map_using_q(clf.pursuit_, answers.values[test])
    return clf.classes_[posterior.argmax(axis=1)] == answers.classes[answers.y[test]][: len(posterior)], False


def _tell_queries(gap: Gap, measured: dict[str, Any]) -> list[Finding]:
    if gap.low <= LEAST_GAP:
        return []
    on_x, on_q = measured["black box on X"][0], measured["black box using Q"][0]
    return [
        Finding(
            "queries lose information",
            "serious" if gap.low > LARGE_GAP else "warning",
            f"The queries lose part of what the inputs tell: a black box on the inputs is right in {percent(on_x)} of "
            f"{measured['test_rows']:,} held-out rows, one on the answers to all queries in {percent(on_q)} ({gap}).",
            "No model can make up for that. Ask more, or otherwise: finer thresholds (bins=), smaller or more patches, "
            "more words.",
            (),
            {"on_inputs": on_x, "on_answers": on_q, "gap": gap.mean, "gap_low": gap.low, "gap_high": gap.high},
        )
    ]


def _tell_model(gap: Gap, measured: dict[str, Any]) -> list[Finding]:
    if gap.low <= LEAST_GAP:
        return []
    on_q, by_map = measured["black box using Q on these"], measured["MAP using Q"][0]
    return [
        Finding(
            "model loses information",
            "warning",
            f"The model makes less of the answers than there is: after all answers its most probable label is right in "
            f"{percent(by_map)} of {measured['MAP rows']:,} held-out rows, a black box on the same answers in "
            f"{percent(on_q)} ({gap}).",
            "Other queries will not help; a better model will: hidden kinds within a class (model='table'), the rows "
            "themselves (model='empirical'), or for images model='vae'.",
            (),
            {"on_answers": on_q, "map": by_map, "gap": gap.mean, "gap_low": gap.low, "gap_high": gap.high},
        )
    ]
