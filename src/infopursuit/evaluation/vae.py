"""The paper's generative model on MNIST: how it is trained, and what pursuits with it come to."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit import datasets, queries
from infopursuit.engine import Pursuit
from infopursuit.evaluation.curve import confidence_curve, longest_within, summary, told
from infopursuit.evaluation.machine import write_result
from infopursuit.models.aggregate import aggregate
from infopursuit.models.augmentation import Moves
from infopursuit.models.bodies import ConvBody
from infopursuit.models.smoothing import Blur
from infopursuit.models.soften import soften
from infopursuit.models.training import Training, train
from infopursuit.models.vae import VAE, log_evidence
from infopursuit.models.weights import load_vae, save_vae
from infopursuit.posteriors import SMC
from infopursuit.queries import QuerySet
from infopursuit.stopping import Confidence, MaxQueries

logger = logging.getLogger(__name__)

THRESHOLD, SIZE = 127.5, 3
HELD_OUT, TRIED = 0.05, 3000
"""Share of the training images that training holds out, and how many of those epsilon is chosen on."""
EPSILONS = tuple(np.geomspace(0.2, 0.005, 60).round(4).tolist())
PATIENCE, MOST_QUERIES, LENGTH = 0, 12, 5.2
SCALES = Blur((0.0, 0.35, 0.7), (0.01, 0.02, 0.05), (0.01, 0.02, 0.05))
N_STATES, N_SCREENED = 256, 16
SAMPLER = SMC(n_draws=18_000, least_ess=0.0)

TRAINING = Training(epochs=30, learning_rate=2e-3, validation=HELD_OUT, moves=Moves(1.0, 8.0, 0.05))
LOOSENING = tuple(replace(TRAINING, epochs=epochs, learning_rate=1e-3, beta=4.0, patience=99) for epochs in (7, 10))
"""Two more rounds with the same network, the divergence weighing four times as much: one latent then stands for many
like images, and what is decoded from it is as soft as that."""


def weights_file() -> Path:
    """Where the trained weights lie that come with the package."""
    return Path(str(files("infopursuit").joinpath("weights", "mnist-vae.safetensors")))


def train_mnist(out: Path, *, say: Callable[[str], None] = logger.info, progress: bool | None = None) -> VAE:
    """Train the VAE of the MNIST experiments in three rounds and write it to a file, with those of the first two beside
    it; killed and called again, it goes on."""
    data = datasets.load("mnist")
    query_set = queries.patches(data.x_train.shape[1:], size=SIZE, threshold=THRESHOLD)
    values = query_set.observe(data.x_train).astype(np.int8)
    labels = np.asarray(data.y_train, dtype=np.int64)
    counts = np.bincount(labels) + 0.5
    model = VAE(query_set.atoms.sizes, counts / counts.sum(), ConvBody((28, 28)), latent_dim=20)
    names = (out.with_stem(f"{out.stem}-first"), out.with_stem(f"{out.stem}-second"), out)
    for training, file in zip((TRAINING, *LOOSENING), names, strict=True):
        checkpoint = file.with_suffix(".checkpoint")
        model, _ = train(model, values, labels, training, checkpoint=checkpoint, progress=progress, say=say)
        save_vae(model, file)
        say(f"written to {file}")
    return model


def mnist_pursuit(epsilon: float) -> tuple[Pursuit, Any]:
    """The pursuit of the experiment with all training images, and the atoms of the test images."""
    data = datasets.load("mnist")
    query_set = queries.patches(data.x_train.shape[1:], size=SIZE, threshold=THRESHOLD)
    values, labels = query_set.observe(data.x_train), np.asarray(data.y_train, dtype=np.int64)
    return _pursuit(load_vae(weights_file()), query_set, values, labels, epsilon), query_set.observe(data.x_test)


def _pursuit(vae: VAE, query_set: QuerySet, values: Any, labels: Any, epsilon: float) -> Pursuit:
    model = soften(aggregate(vae, values, labels), SCALES)
    stopping = Confidence(epsilon) | MaxQueries(MOST_QUERIES)
    return Pursuit(model, query_set, SAMPLER, stopping, PATIENCE, n_states=N_STATES, n_screened=N_SCREENED)


def reproduce_vae(
    *,
    folder: Path,
    n_inputs: int | None = None,
    weights: Path | None = None,
    say: Callable[[str], None] = logger.info,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Pursuits of the MNIST test images with the trained VAE, and its accuracy with all pixels seen."""
    data = datasets.load("mnist")
    query_set = queries.patches(data.x_train.shape[1:], size=SIZE, threshold=THRESHOLD)
    values, labels = query_set.observe(data.x_train), np.asarray(data.y_train, dtype=np.int64)
    x_test, y_test = query_set.observe(data.x_test[:n_inputs]), np.asarray(data.y_test[:n_inputs])
    vae = load_vae(weights or weights_file())

    def pursuit(rows: Any, epsilon: float) -> Pursuit:
        return _pursuit(vae, query_set, values[rows], labels[rows], epsilon)

    # epsilon is chosen on images that training has held out, with the other examples as the aggregate
    order = np.random.default_rng((TRAINING.seed, 0)).permutation(len(values))
    n_held_out = round(HELD_OUT * len(values))
    held_out, rest = order[:TRIED], np.sort(order[n_held_out:])
    trial = pursuit(rest, min(EPSILONS)).run_values(values[held_out], progress=progress)
    curve = confidence_curve(trial, labels[held_out], EPSILONS, PATIENCE)
    chosen = longest_within(curve, LENGTH)
    say(f"on {len(held_out)} held-out images, epsilon {chosen.epsilon:g}: {told(chosen)}")
    final = pursuit(slice(None), chosen.epsilon)
    start = time.perf_counter()
    trace = final.run_values(x_test, progress=progress)
    seconds = time.perf_counter() - start
    point = summary(trace, y_test, chosen.epsilon)
    each = seconds / max(int(trace.length.sum()), 1)
    say(f"{len(trace)} test images: {told(point)}, {1000 * each:.1f} ms for each question")
    whole = log_evidence(vae, x_test, n_draws=16)
    accuracy = float((whole.argmax(axis=1) == y_test).mean())
    say(f"with all pixels seen (MAP using Q): {100 * accuracy:.2f} %")
    result = {
        "experiment": "mnist-vae",
        "test": asdict(point),
        "map_accuracy": accuracy,
        "patience": PATIENCE,
        "sampler": asdict(SAMPLER),
        "scales": SCALES.to_spec(),
        "n_states": final.chooser.n_states,
        "n_screened": final.chooser.n_screened,
        "seconds_per_input_step": each,
        "ties": float(trace.ties.sum() / max(int(trace.length.sum()), 1)),
        "mean_gain_error": float(trace.gain_errors.sum() / max(int(trace.length.sum()), 1)),
        "test_curve": [
            asdict(p) for p in confidence_curve(trace, y_test, [e for e in EPSILONS if e >= chosen.epsilon], PATIENCE)
        ],
        "held_out": {"chosen": asdict(chosen), "curve": [asdict(p) for p in curve]},
    }
    file = write_result(folder, "mnist-vae", "infopursuit reproduce mnist-vae", result)
    say(f"written to {file}")
    return result
