"""Recipes: an experiment in one command, from the data to a JSON file with what came out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit import datasets, queries
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.evaluation.curve import Point, confidence_curve, longest_within, summary
from infopursuit.evaluation.machine import write_result
from infopursuit.models.learning import empirical
from infopursuit.models.sample import Sample
from infopursuit.selection import Candidate, select_model
from infopursuit.stopping import Confidence, MaxQueries

logger = logging.getLogger(__name__)

EPSILONS = (0.1, 0.07, 0.05, 0.04, 0.03, 0.025, 0.02, 0.0175, 0.015, 0.0125, 0.01, 0.0075, 0.005)


@dataclass(frozen=True)
class PatchRecipe:
    """Patch queries on a set of binarised images, with the training images themselves as the model.

    threshold: a pixel above it is lit. length: mean number of queries to aim at on held-out training images; epsilon
    is chosen there.
    """

    name: str
    threshold: float
    length: float
    size: int = 3
    held_out: int = 1000
    most_queries: int = 40


RECIPES = {
    "mnist": PatchRecipe("mnist", threshold=127.5, length=5.3),
    "fashion": PatchRecipe("fashion_mnist", threshold=25.5, length=11.5),
}


def reproduce(
    name: str,
    *,
    folder: Path,
    n_inputs: int | None = None,
    say: Callable[[str], None] = logger.info,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Run one recipe and write its result to ``folder``; returns the result."""
    if name not in RECIPES:
        raise ValueError(f"there is no experiment {name!r}; choose one of {', '.join(sorted(RECIPES))}")
    recipe = RECIPES[name]
    data = datasets.load(recipe.name)
    query_set = queries.patches(data.x_train.shape[1:], size=recipe.size, threshold=recipe.threshold)
    say(f"{len(data.x_train)} training images, {len(query_set)} queries of {recipe.size} x {recipe.size} pixels")

    # smoothing and epsilon are chosen on training images that the model has not seen; the test set is touched once,
    # at the end
    train, held_out = len(data.x_train) - recipe.held_out, recipe.held_out
    values = query_set.observe(data.x_train)
    classes, labels = np.unique(data.y_train, return_inverse=True)
    first = Sample.of(query_set.atoms, values[:train], labels[:train], n_classes=len(classes))
    model, compared = select_model([empirical()], first, query_set, progress=progress)
    say(f"smoothing chosen on held-out images: {compared[0].learner}")
    probing = Pursuit(
        model, query_set, stopping=Confidence(min(EPSILONS)) | MaxQueries(recipe.most_queries), classes=classes
    )
    trial = probing.run_values(values[train:], progress=progress)
    curve = confidence_curve(trial, data.y_train[train:], EPSILONS)
    chosen = longest_within(curve, recipe.length)
    say(f"on {held_out} held-out images, epsilon {chosen.epsilon:g}: {_percent(chosen)} at {chosen.length:.2f} queries")
    del model, probing, first

    stopping = Confidence(chosen.epsilon) | MaxQueries(recipe.most_queries)
    classifier = InformationPursuitClassifier(query_set, model=compared[0].learner, stopping=stopping, verbose=progress)
    start = time.perf_counter()
    classifier.fit(data.x_train, data.y_train)
    fitted = time.perf_counter() - start
    say(f"fitted on all {len(data.x_train)} images in {fitted:.0f} s; now the test images")
    x_test, y_test = data.x_test[:n_inputs], data.y_test[:n_inputs]
    start = time.perf_counter()
    trace = classifier.explain(x_test)
    seconds = time.perf_counter() - start
    point = summary(trace, y_test, chosen.epsilon)
    result: dict[str, Any] = {
        "experiment": name,
        "test": asdict(point),
        "seconds": round(seconds, 1),
        "seconds_per_input_step": seconds / max(int(trace.length.sum()), 1),
        "fit_seconds": round(fitted, 1),
        "pixels_seen": float(np.mean([(explanation.revealed() >= 0).mean() for explanation in trace])),
        "stopped_because": {
            reason: int(n) for reason, n in zip(*np.unique(trace.stopped_because, return_counts=True), strict=True)
        },
        "largest_gain_error": float(trace.gain_errors.max(initial=0.0)),
        "test_curve": [
            asdict(p) for p in confidence_curve(trace, y_test, [e for e in EPSILONS if e >= chosen.epsilon])
        ],
        "held_out": {
            "chosen": asdict(chosen),
            "curve": [asdict(p) for p in curve],
            "smoothing": [_row(c) for c in compared],
        },
    }
    file = write_result(folder, f"{name}-empirical", f"infopursuit reproduce {name}", result)
    say(
        f"{_percent(point)} at {point.length:.2f} queries on {len(trace)} test images, "
        f"{1000 * result['seconds_per_input_step']:.1f} ms for each question"
    )
    say(f"written to {file}")
    return result


def _percent(point: Point) -> str:
    return f"{100 * point.accuracy:.2f} % (standard error {100 * point.accuracy_error:.2f})"


def _row(candidate: Candidate) -> dict[str, Any]:
    return {"learner": str(candidate.learner), "loss": candidate.loss}
