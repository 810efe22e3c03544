"""How large a patch should be: questions and pixels on MNIST with patches of 1 x 1 to 4 x 4 pixels."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.choose_stopping import told
from benchmarks.experiment import Experiment
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from benchmarks.recipes.images import pixels_seen
from infopursuit.evaluation.measures import Point, confidence_curve, stops_at
from infopursuit.presentation.plots import trade_off
from infopursuit.pursuit.stopping import Confidence, MaxQueries


@dataclass(frozen=True)
class Size:
    """Patches of size x size pixels.

    most_queries: of any image. n_inputs: test images, the first; the gain of a patch of 4 x 4 goes over 65,536 patterns
    and takes 128 times as long as that of 3 x 3. paper: its questions and pixels.
    """

    size: int
    most_queries: int
    n_inputs: int
    paper: tuple[float, float]


SIZES = (
    Size(1, 120, 10_000, (21.1, 21.1)),
    Size(2, 40, 10_000, (9.6, 32.8)),
    Size(3, 20, 10_000, (5.2, 44.7)),
    Size(4, 12, 1_000, (4.6, 54.7)),
)
EPSILON = 0.01
"""The paper's, for every size."""


def patch_sizes(experiment: Experiment) -> dict[str, Any]:
    """One set of pursuits for each size, with the same VAE and the same stopping rule."""
    found = {
        size: experiment.part(f"{size.size} x {size.size}", size, partial(_one, size, experiment)) for size in SIZES
    }
    n_pixels = 28 * 28
    table = [
        {
            "patch": f"{size.size} x {size.size}",
            "test images": each["test"]["n_inputs"],
            "right, %": round(100 * each["test"]["accuracy"], 2),
            "questions": round(each["test"]["length"], 2),
            "the paper's": size.paper[0],
            "pixels": round(each["pixels"], 1),
            "the paper's pixels": size.paper[1],
            "share of all pixels, %": round(100 * each["pixels"] / n_pixels, 1),
            "ms a question": round(1000 * each["seconds_per_question"], 2),
        }
        for size, each in found.items()
    ]
    curves = {f"{size.size} x {size.size}": [Point(**p) for p in each["test_curve"]] for size, each in found.items()}
    axes = trade_off(curves, title="MNIST, patches of several sizes")
    about = "accuracy against questions for patches of several sizes"
    return experiment.finish(
        {
            "data": {"name": "mnist", "epsilon": EPSILON, "patience": 0},
            "tables": {f"Stopping at a posterior of {1 - EPSILON:g}, no patience, whatever the size": table},
            "parts": {f"{size.size}": each for size, each in found.items()},
            "figures": [experiment.figure(axes, "patch-sizes.png", about)],
        }
    )


def _one(size: Size, experiment: Experiment) -> dict[str, Any]:
    n_inputs = min(size.n_inputs, experiment.n_inputs or size.n_inputs)
    task = ImageTask(IMAGE_SETS["mnist"], n_inputs, size.size)
    stopping = Confidence(EPSILON) | MaxQueries(size.most_queries)
    pursuit = replace(task.with_vae(slice(None), EPSILON), stopping=stopping)
    start = time.perf_counter()
    trace = pursuit.run_values(task.x_test, progress=experiment.progress)
    each = (time.perf_counter() - start) / max(int(trace.length.sum()), 1)
    curve = confidence_curve(trace, task.y_test, [e for e in task.images.epsilons if e > EPSILON] + [EPSILON])
    experiment.say(f"patches of {size.size} x {size.size}: {told(curve[-1])}, {1000 * each:.1f} ms a question")
    return {
        "test": asdict(curve[-1]),
        "test_curve": [asdict(point) for point in curve],
        "pixels": float(np.mean(pixels_seen(trace, stops_at(trace, EPSILON)))),
        "seconds_per_question": each,
    }
