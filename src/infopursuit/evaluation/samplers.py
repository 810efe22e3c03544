"""Accuracy against length for every way to a posterior, on the same MNIST test images and with the same trained VAE."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit import datasets, queries
from infopursuit.engine import Pursuit
from infopursuit.evaluation.curve import Point, confidence_curve
from infopursuit.evaluation.machine import write_result
from infopursuit.evaluation.reproduce import SMOOTHING
from infopursuit.evaluation.vae import (
    N_SCREENED,
    N_STATES,
    PATIENCE,
    SAMPLER,
    SCALES,
    SIZE,
    THRESHOLD,
    weights_file,
)
from infopursuit.models.aggregate import aggregate
from infopursuit.models.empirical import EmpiricalModel
from infopursuit.models.sample import Sample
from infopursuit.models.soften import soften
from infopursuit.models.weights import load_vae
from infopursuit.plots.curves import trade_off
from infopursuit.posteriors import SMC, Langevin
from infopursuit.stopping import Confidence, MaxQueries

logger = logging.getLogger(__name__)

EPSILONS = tuple(np.geomspace(0.5, 0.01, 28).round(4).tolist())
PAPER = (5.2, 0.9678)
RENEWED = SMC(n_draws=18_000, least_ess=8.0, n_own=24, n_moves=3)
CHAINS = Langevin(n_chains=16, n_steps=6, burn_in=4)
"""Chains for every history are what costs: settings that run on two cores, far from the paper's 256 chains."""


def reproduce_samplers(
    *,
    folder: Path,
    n_inputs: int | None = None,
    say: Callable[[str], None] = logger.info,
    progress: bool | None = None,
) -> dict[str, Any]:
    """One curve for each sampler, as JSON and as a picture. Samplers that draw for every history are given fewer
    images, the first ones."""
    data = datasets.load("mnist")
    query_set = queries.patches(data.x_train.shape[1:], size=SIZE, threshold=THRESHOLD)
    values, labels = query_set.observe(data.x_train), np.asarray(data.y_train, dtype=np.int64)
    x_test, y_test = query_set.observe(data.x_test), np.asarray(data.y_test)
    soft = soften(aggregate(load_vae(weights_file()), values, labels), SCALES)
    examples = Sample.of(query_set.atoms, values, labels, n_classes=soft.n_classes)
    blur = replace(SMOOTHING, shape=query_set.shape)
    ways: dict[str, tuple[Callable[[], Any], Any, int]] = {
        "smc, one bank": (lambda: soft, SAMPLER, 10_000),
        "smc, draws renewed": (lambda: soft, RENEWED, 40),
        "langevin (mala)": (lambda: soft, CHAINS, 16),
        "examples, exact": (lambda: EmpiricalModel.of(examples, blur), "exact", 500),
    }
    curves: dict[str, list[Point]] = {}
    seconds = {}
    for name, (make, posterior, most) in ways.items():
        n = min(most, n_inputs or most)
        stopping = Confidence(min(EPSILONS)) | MaxQueries(12)
        model = make()
        pursuit = Pursuit(model, query_set, posterior, stopping, PATIENCE, n_states=N_STATES, n_screened=N_SCREENED)
        start = time.perf_counter()
        trace = pursuit.run_values(x_test[:n], progress=progress)
        seconds[name] = (time.perf_counter() - start) / max(int(trace.length.sum()), 1)
        curves[name] = confidence_curve(trace, y_test[:n], EPSILONS, PATIENCE)
        say(f"{name}, {n} test images, {1000 * seconds[name]:.1f} ms for each question: {_around(curves[name], 5.2)}")
    result = {
        "experiment": "mnist-samplers",
        "curves": {name: [asdict(point) for point in curve] for name, curve in curves.items()},
        "seconds_per_input_step": seconds,
        "settings": {name: str(posterior) for name, (_, posterior, _) in ways.items()},
    }
    file = write_result(folder, "mnist-samplers", "infopursuit reproduce mnist-samplers", result)
    picture = folder / "mnist-samplers.png"
    trade_off(curves, marks={"the paper's figure": PAPER}, title="MNIST, patches of 3 x 3").savefig(picture)
    say(f"written to {file} and {picture}")
    return result


def _around(curve: list[Point], length: float) -> str:
    nearest = min(curve, key=lambda point: abs(point.length - length))
    return f"{100 * nearest.accuracy:.2f} % after {nearest.length:.2f} questions"
