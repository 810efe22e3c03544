"""Recipes: an experiment in one command, from the data to a JSON file with what came out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit import datasets, queries
from infopursuit.engine import Pursuit
from infopursuit.evaluation.curve import confidence_curve, longest_within, summary, told
from infopursuit.evaluation.machine import write_result
from infopursuit.models.empirical import EmpiricalModel
from infopursuit.models.sample import Sample
from infopursuit.models.smoothing import Blur
from infopursuit.stopping import Confidence, MaxQueries, Rule

logger = logging.getLogger(__name__)

EPSILONS = (0.2, 0.15, 0.12, 0.1, 0.09, 0.08, 0.075, 0.07, 0.065, 0.06, 0.055, 0.05, 0.045, 0.04, 0.035, 0.03, 0.02)

SMOOTHING = Blur((0.5, 0.9, 1.5), (0.01, 0.02, 0.05), (0.01, 0.02, 0.05))


@dataclass(frozen=True)
class PatchRecipe:
    """Patch queries on a set of binarised images, with the training images themselves as the model.

    threshold: a pixel above it is lit. smoothing: chosen by pursuits of held-out training images (see RESULTS.md).
    length: mean number of queries to aim at on held-out training images, where epsilon is chosen.
    """

    name: str
    threshold: float
    length: float
    smoothing: Blur = SMOOTHING
    patience: int = 1
    size: int = 3
    held_out: int = 1000
    most_queries: int = 12
    n_states: int = 1024
    n_screened: int = 64

    def stopping(self, epsilon: float) -> Rule:
        """When to stop."""
        return Confidence(epsilon) | MaxQueries(self.most_queries)


RECIPES = {
    "mnist": PatchRecipe("mnist", threshold=127.5, length=5.4),
    "fashion": PatchRecipe("fashion_mnist", threshold=25.5, length=11.5, most_queries=40),
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
    smoothing = replace(recipe.smoothing, shape=query_set.shape)
    values = query_set.observe(data.x_train).astype(np.int16)
    classes, labels = np.unique(data.y_train, return_inverse=True)

    def pursuit(rows: Any, epsilon: float) -> Pursuit:
        sample = Sample.of(query_set.atoms, values[rows], labels[rows], n_classes=len(classes))
        return Pursuit(
            EmpiricalModel.of(sample, smoothing),
            query_set,
            stopping=recipe.stopping(epsilon),
            patience=recipe.patience,
            classes=classes,
            n_states=recipe.n_states,
            n_screened=recipe.n_screened,
        )

    # epsilon is chosen on training images that the model has not seen; the test set is touched once, at the end
    order = np.random.default_rng(0).permutation(len(values))
    held_out, train = order[: recipe.held_out], order[recipe.held_out :]
    trial = pursuit(train, min(EPSILONS)).run_values(values[held_out], progress=progress)
    curve = confidence_curve(trial, classes[labels[held_out]], EPSILONS, recipe.patience)
    chosen = longest_within(curve, recipe.length)
    say(f"on {len(held_out)} held-out images, epsilon {chosen.epsilon:g}: {told(chosen)}")

    start = time.perf_counter()
    final = pursuit(slice(None), chosen.epsilon)
    fitted = time.perf_counter() - start
    say(f"fitted on all {len(values)} images in {fitted:.0f} s; now the test images")
    x_test, y_test = data.x_test[:n_inputs], data.y_test[:n_inputs]
    start = time.perf_counter()
    trace = final.run(x_test, progress=progress)
    seconds = time.perf_counter() - start
    point = summary(trace, y_test, chosen.epsilon)
    each = seconds / max(int(trace.length.sum()), 1)
    reasons, counts = np.unique(trace.stopped_because, return_counts=True)
    result: dict[str, Any] = {
        "experiment": name,
        "test": asdict(point),
        "patience": recipe.patience,
        "n_states": final.chooser.n_states,
        "n_screened": final.chooser.n_screened,
        "seconds": round(seconds, 1),
        "seconds_per_input_step": each,
        "fit_seconds": round(fitted, 1),
        "pixels_seen": float(np.mean([(explanation.revealed() >= 0).mean() for explanation in trace])),
        "stopped_because": dict(zip(reasons.tolist(), counts.tolist(), strict=True)),
        "largest_gain_error": float(trace.gain_errors.max(initial=0.0)),
        "test_curve": [
            asdict(p)
            for p in confidence_curve(trace, y_test, [e for e in EPSILONS if e >= chosen.epsilon], recipe.patience)
        ],
        "held_out": {"chosen": asdict(chosen), "curve": [asdict(p) for p in curve], "smoothing": smoothing.to_spec()},
    }
    file = write_result(folder, f"{name}-empirical", f"infopursuit reproduce {name}", result)
    say(f"{len(trace)} test images: {told(point)}, {1000 * each:.1f} ms for each question")
    say(f"written to {file}")
    return result
