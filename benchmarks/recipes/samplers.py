"""Accuracy against length for every way to a posterior, on the same MNIST test images and with the same trained VAE."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from benchmarks.experiment import Experiment
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from infopursuit.evaluation.measures import Point, confidence_curve
from infopursuit.models.empirical import EmpiricalModel
from infopursuit.models.networks.aggregate import aggregate
from infopursuit.models.networks.softened import soften
from infopursuit.models.sample import Sample
from infopursuit.presentation.plots import trade_off
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.strategies import SMC, Langevin
from infopursuit.strategies.generative.build import generative_pursuit

EPSILONS = tuple(np.geomspace(0.5, 0.01, 28).round(4).tolist())
RENEWED = SMC(n_draws=18_000, min_ess=8.0, n_own=24, n_moves=3)
CHAINS = Langevin(n_chains=16, n_steps=6, burn_in=4)
"""Chains for every history are what costs: settings that run on two cores, far from the paper's 256 chains."""


def samplers(experiment: Experiment) -> dict[str, Any]:
    """One curve for each sampler. Samplers that draw for every history are given fewer images, the first ones."""
    images = IMAGE_SETS["mnist"]
    task = ImageTask(images)
    soft = soften(aggregate(task.vae, task.values, task.labels), images.decoded)
    sample = Sample.of(task.query_set.variables, task.values, task.labels, n_classes=task.n_classes)
    blur = replace(images.examples, shape=task.query_set.shape)
    ways: dict[str, tuple[Callable[[], Any], Any, int]] = {
        "smc, one bank": (lambda: soft, images.sampler, 10_000),
        "smc, draws renewed": (lambda: soft, RENEWED, 40),
        "langevin (mala)": (lambda: soft, CHAINS, 16),
        "examples, exact": (lambda: EmpiricalModel.of(sample, blur), "exact", 500),
    }

    def one(make: Callable[[], Any], belief: Any, most: int) -> dict[str, Any]:
        n = min(most, experiment.n_inputs or most)
        stopping = Confidence(min(EPSILONS)) | MaxQueries(images.most_queries)
        pursuit = generative_pursuit(
            make(), task.query_set, belief, stopping, n_states=images.n_states, n_screened=images.n_screened
        )
        start = time.perf_counter()
        trace = pursuit.run_values(task.x_test[:n], progress=experiment.progress)
        each = (time.perf_counter() - start) / max(int(trace.length.sum()), 1)
        curve = confidence_curve(trace, task.y_test[:n], EPSILONS)
        return {"curve": [asdict(point) for point in curve], "seconds_per_question": each}

    parts, curves, table = {}, {}, []
    for name, (make, belief, most) in ways.items():
        found = experiment.part(
            name,
            [str(belief), most],
            lambda m=make, p=belief, n=most: one(m, p, n),  # type: ignore[misc]
        )
        parts[name], curves[name] = found, [Point(**point) for point in found["curve"]]
        each, around = 1000 * found["seconds_per_question"], _around(curves[name], 5.2)
        experiment.say(f"{name}, {curves[name][0].n_inputs} test images, {each:.1f} ms for each question: {around}")
        table.append(
            {"sampler": name, "test images": curves[name][0].n_inputs, "ms a question": round(each, 1), "": around}
        )
    paper = images.paper[0]
    marks = {"the paper": (paper.length or 0.0, paper.accuracy)}
    axes = trade_off(curves, marks=marks, title="MNIST, patches of 3 x 3")
    about = "accuracy against questions for each sampler"
    return experiment.finish(
        {
            "parts": parts,
            "tables": {"Accuracy at about 5.2 questions, or at the longest": table},
            "settings": {name: str(belief) for name, (_, belief, _) in ways.items()},
            "figures": [experiment.figure(axes, "mnist-samplers.png", about)],
        }
    )


def _around(curve: list[Point], length: float) -> str:
    nearest = min(curve, key=lambda point: abs(point.length - length))
    return f"{100 * nearest.accuracy:.2f} % after {nearest.length:.2f} questions"
