"""``python -m benchmarks.opinion_pool mnist``: the pursuit of the VAE, its belief pooled with a network's.

The generative pursuit demonstrates its questions on training images; a masked convolutional network learns to classify
from what they reveal, with the true labels; the log opinion pool of both (`infopursuit.pool`) is the belief of a new
pursuit. Weights of the pool and the stopping rule are chosen on held-out training images; the test images are looked at
in the end. Whoever interrupts it and calls it again goes on where it stopped. Where the trained network is among the
stored weights, it is taken from there; ``--train`` trains it anew.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import safe_open

import infopursuit as ip
from benchmarks import WEIGHTS
from benchmarks.choose_stopping import choose_stopping, longest_within, told
from benchmarks.machine import write_result
from benchmarks.program import add_out, run_program, say
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from infopursuit import plots
from infopursuit.beliefs.network import NetworkBelief, inputs_for
from infopursuit.beliefs.opinion_pool import OpinionPool
from infopursuit.calibration import expected_calibration_error
from infopursuit.engine import Pursuit
from infopursuit.evaluation.measures import Point, accuracy_interval, confidence_curve, stops_at
from infopursuit.files import write_atomically
from infopursuit.models.amortized import (
    Demonstrations,
    Imitation,
    OwnHistories,
    QuerierTraining,
    Trunk,
    build_network,
    fit_network,
)
from infopursuit.models.training import RandomAffine
from infopursuit.stopping import Confidence, MaxQueries
from infopursuit.trace import Trace
from infopursuit.types import IntArray

PARTS = ".parts/opinion_pool"
"""Folder, in that of the results, of demonstrations and checkpoints."""


@dataclass(frozen=True)
class Recipe:
    """How the network of an image set is trained, and what it is pooled with.

    n_shown: training images that the generative pursuit demonstrates its questions on, max_queries of each. folds: 1
    demonstrates them with a model whose prior is the aggregate posterior of the same images; 2 with that of the other
    half, so that no image is in the model that it is demonstrated with. n_moved: demonstrations of images that random
    affine augmentation has moved. n_draws: of each class, in the model that demonstrates; None is as many as in
    the pursuit itself. n_histories: of each image that are looked at in an epoch. generative: which pursuit of
    `ImageTask`. most_queries, least: of any image, and the smallest epsilon that is tried.
    """

    trunk: Trunk
    training: QuerierTraining
    n_shown: int
    max_queries: int
    folds: int = 1
    n_moved: int = 0
    n_draws: int | None = None
    n_histories: float = 1.6
    generative: str = "with_vae"
    most_queries: int = 20
    least: float = 0.01

    @property
    def epsilons(self) -> tuple[float, ...]:
        """What is tried, down to the least: a pooled posterior is less confident than a generative one."""
        return tuple(np.geomspace(0.3, self.least, 120).round(5).tolist())


FIRST = QuerierTraining(
    epochs=16, learning_rate=3e-3, batch_size=256, random=0.0, validation=0.02, patience=99, bfloat16=True,
    augmentation=RandomAffine(1.0, 8.0, 0.06),
)  # fmt: skip
RECIPES = {
    "mnist": Recipe(
        Trunk((32, 64), (192,), blocks=1), replace(FIRST, epochs=30), n_shown=57_000, max_queries=10, n_histories=2.0
    ),
    "kmnist": Recipe(
        Trunk((32, 64), (192,), blocks=1),
        replace(FIRST, epochs=24, validation=0.04, augmentation=RandomAffine(2.0, 15.0, 0.15)),
        n_shown=6_310, max_queries=18, folds=2, n_draws=6_000, n_histories=2.4,
    ),
    "fashion": Recipe(
        Trunk((32, 64), (192,), blocks=1),
        replace(FIRST, epochs=24, augmentation=RandomAffine(1.0, 4.0, 0.05)),
        n_shown=20_000, max_queries=16, n_draws=6_000,
    ),
}  # fmt: skip
MIN_QUERIES = 3
"""Of the histories on which the weights of the pool are fitted."""
CERTAIN = {"mnist": 1e-3, "kmnist": 1e-5, "fashion": 1e-3}
"""A demonstration ends where the generative posterior leaves less than this."""


def network_file(name: str) -> Path:
    """Where the trained network of an image set is stored."""
    return WEIGHTS / f"{name}-network.safetensors"


def save_belief(belief: NetworkBelief, file: Path) -> None:
    """Write a network to one file, in half precision, without what it says about queries: the pool does not use it."""
    spec, arrays = belief.to_parts()
    kept = {name: each.astype(np.float16) for name, each in arrays.items() if not name.startswith("network.query.")}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, safetensors.numpy.save(kept, metadata={"infopursuit": json.dumps(spec)}))


def load_belief(file: Path, queries: Any) -> NetworkBelief:
    """Read what `save_belief` wrote."""
    with safe_open(str(file), framework="np") as stored:
        spec = json.loads(stored.metadata()["infopursuit"])
        arrays = {name: stored.get_tensor(name).astype(np.float32) for name in stored.keys()}  # noqa: SIM118
    width = spec["hidden"][-1]
    nothing = {"network.query.weight": (len(queries), width), "network.query.bias": (len(queries),)}
    arrays |= {name: np.zeros(shape, np.float32) for name, shape in nothing.items()}
    return NetworkBelief.from_parts(spec, arrays, queries)


class Run:
    """One run: the images, and a folder for what is finished."""

    def __init__(self, name: str, out: Path) -> None:
        self.name, self.recipe, self.task = name, RECIPES[name], ImageTask(IMAGE_SETS[name])
        self.folder = out / PARTS / name
        self.folder.mkdir(parents=True, exist_ok=True)

    def generative(self, rows: IntArray | None = None) -> Pursuit[Any]:
        """The generative pursuit, its model that of some training images."""
        make = getattr(self.task, self.recipe.generative)
        found: Pursuit[Any] = make(self.task.rest if rows is None else rows, 0.01)
        return found

    def demonstrator(self, rows: IntArray) -> Pursuit[Any]:
        """The pursuit that demonstrates."""
        images, n = self.task.images, self.recipe.n_draws
        if n is None:
            return self.generative(rows)
        task = copy.copy(self.task)
        task.images = replace(images, sampler=replace(images.sampler, n_draws=n))
        found: Pursuit[Any] = task.with_vae(rows, 0.01)
        return found

    # ---- the network -------------------------------------------------------------------------------------------------

    def demonstrations(self) -> list[Path]:
        """What the generative pursuit asks about training images, file by file."""
        task, recipe = self.task, self.recipe
        rows = np.random.default_rng(1).permutation(task.rest)[: recipe.n_shown]
        parts = np.array_split(rows, recipe.folds)
        files = []
        for i, mine in enumerate(parts):
            others = task.rest if recipe.folds == 1 else np.setdiff1d(task.rest, mine)
            names = [self.folder / f"demonstrations-{i}-{j}.npz" for j in range(recipe.n_moved + 1)]
            files += names
            if all(file.exists() for file in names):
                continue
            rule = Confidence(CERTAIN[self.name]) | MaxQueries(recipe.max_queries)
            pursuit = replace(self.demonstrator(others), stopping=rule, patience=0)
            for j, file in enumerate(names):
                if not file.exists():
                    self._demonstrate(pursuit, np.sort(mine), self._moved(np.sort(mine), (i, j)), file)
        return files

    def _moved(self, rows: IntArray, seeds: tuple[int, int]) -> Any:
        """The values of some images, moved by random affine augmentation but for the first time."""
        import torch

        values, augmentation = self.task.values[rows], self.recipe.training.augmentation
        if not seeds[1] or augmentation is None:
            return values
        generator = torch.Generator().manual_seed(100 * seeds[0] + seeds[1])
        shape: Any = self.task.query_set.shape
        return augmentation.apply(torch.as_tensor(values), shape, generator).numpy().astype(np.int8)

    def _demonstrate(self, pursuit: Pursuit[Any], rows: IntArray, values: Any, file: Path) -> None:
        trace = pursuit.run_values(values.astype(np.int64))
        part = file.with_suffix(".part.npz")
        np.savez_compressed(part, rows=rows, values=values, queries=trace.queries.astype(np.int16))
        part.rename(file)
        say(f"{file.name}: {len(rows)} images, {trace.length.mean():.2f} questions")

    def network(self) -> NetworkBelief:
        """The network, trained on what the demonstrations reveal."""
        recipe, task = self.recipe, self.task
        shown = [np.load(file) for file in self.demonstrations()]
        n = max(each["queries"].shape[1] for each in shown)
        queries = np.concatenate(
            [np.pad(x["queries"], ((0, 0), (0, n - x["queries"].shape[1])), constant_values=-1) for x in shown]
        ).astype(np.int64)
        values = np.concatenate([each["values"] for each in shown])
        labels = task.labels[np.concatenate([each["rows"] for each in shown])]
        inputs = inputs_for(task.query_set)
        network = build_network(inputs, task.n_classes, recipe.trunk)
        how = replace(recipe.training, max_queries=n)
        own = OwnHistories(network, inputs, values, labels, how, "score")
        nothing: Any = np.zeros((len(labels), n + 1, task.n_classes), np.float32)
        asked = Demonstrations(queries, nothing, queries[:, :, None], nothing[:, :n, :1])
        lessons = Imitation(own, asked, 1.0, 1.0, n_histories=recipe.n_histories, asks=False)
        fit_network(network, lessons, len(labels), how, checkpoint=self.folder / "network.checkpoint", say=say)
        return NetworkBelief(network, inputs, task.n_classes, "score")

    # ---- the pool ----------------------------------------------------------------------------------------------------

    def pursuit(self, network: NetworkBelief) -> Pursuit[Any]:
        """The pursuit with the pool, its weights fitted on held-out training images."""
        rows = self.task.held_out
        X, y = self.task.data.x_train[rows], self.task.labels[rows]
        return ip.pool(self.generative(), network, X, y, max_queries=self.recipe.max_queries, min_queries=MIN_QUERIES)

    def measure(self, pursuit: Pursuit[Any], x_test: Any, y_test: Any) -> dict[str, Any]:
        """The stopping rule on held-out training images; on test images accuracy, curve and calibration."""
        task, images, recipe, belief = self.task, self.task.images, self.recipe, pursuit.belief
        assert isinstance(belief, OpinionPool)
        say(f"weights of the pool: {belief.weights}")
        y = task.labels[task.held_out]
        longest = replace(pursuit, stopping=Confidence(recipe.least) | MaxQueries(recipe.most_queries), patience=0)
        trial = longest.run_values(task.values[task.held_out].astype(np.int64))
        if images.one_standard_error:
            chosen = choose_stopping(trial, y, recipe.epsilons, (0,), images.length, one_standard_error=True).point
        else:
            chosen = longest_within(confidence_curve(trial, y, recipe.epsilons), images.length)
        say(f"held-out images: epsilon {chosen.epsilon}, {told(chosen)}")
        trace = longest.run_values(np.asarray(x_test, dtype=np.int64))
        point = confidence_curve(trace, y_test, [chosen.epsilon])[0]
        say(f"test images: {told(point)}")
        low, high = accuracy_interval(round(point.accuracy * point.n_inputs), point.n_inputs)
        right = trace.posteriors.argmax(axis=2) == np.asarray(y_test)[:, None]
        return {
            "accuracy_after": {str(k): float(right[:, k].mean()) for k in range(1, min(12, right.shape[1] - 1) + 1)},
            "weights": belief.weights,
            "held_out": asdict(chosen),
            "held_out_calibration_error": calibration_error(trial, y, chosen.epsilon),
            "test": {**asdict(point), "low": low, "high": high},
            "test_curve": [asdict(each) for each in confidence_curve(trace, y_test, recipe.epsilons)],
            "expected_calibration_error": calibration_error(trace, y_test, chosen.epsilon),
        }


def calibration_error(trace: Trace, y: Any, epsilon: float) -> float:
    """Expected calibration error where pursuits stop at a posterior of 1 - epsilon."""
    posterior = trace.posteriors[np.arange(len(trace)), stops_at(trace, epsilon)]
    return float(expected_calibration_error(posterior.max(axis=1), posterior.argmax(axis=1) == y))


SHOWN = 3
"""Mean questions from which on a curve is drawn."""


def draw(name: str, out: Path) -> None:
    """Accuracy against questions of what is measured of an image set: the generative pursuit (`benchmarks.reproduce`),
    the pool, the student (`benchmarks.amortized`)."""
    wanted = {
        "generative, VAE": (name, ("parts", "pursuits", "VAE")),
        "pooled with a network": (f"opinion-pool-{name}", ("pool",)),
        "student, one network": (f"amortized-{name}", ("student",)),
    }
    curves = {}
    for label, (file, path) in wanted.items():
        if (out / f"{file}.json").exists():
            found = json.loads((out / f"{file}.json").read_text())
            for key in path:
                found = found[key]
            points = [Point(**each) for each in found.get("test_curve", ())]
            curves[label] = [each for each in points if each.length >= SHOWN]
    curves = {label: points for label, points in curves.items() if points}
    if not curves:
        return
    low, high = (
        outer(inner(each.length for each in points) for points in curves.values())
        for outer, inner in ((max, min), (min, max))
    )  # where all of them are
    cut = {label: [each for each in points if low <= each.length <= high] for label, points in curves.items()}
    title = f"{name.upper()}, patches of {IMAGE_SETS[name].size} x {IMAGE_SETS[name].size}"
    plots.save(plots.trade_off(cut, title=title), out / f"opinion-pool-{name}.png")


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.opinion_pool", description=__doc__)
    parser.add_argument("images", choices=RECIPES)
    parser.add_argument("--train", action="store_true", help="train the network anew and store it")
    add_out(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Train what is missing, and measure."""
    import torch

    torch.set_num_threads(1)
    here, file = Run(args.images, args.out), network_file(args.images)
    if args.train or not file.exists():
        save_belief(here.network(), file)
    network = load_belief(file, here.task.query_set)
    found = here.measure(here.pursuit(network), here.task.x_test, here.task.y_test)
    found = {"recipe": asdict(here.recipe), "pool": found}
    command = f"python -m benchmarks.opinion_pool {args.images}"
    say(f"written to {write_result(args.out, f'opinion-pool-{args.images}', command, found)}")
    draw(args.images, args.out)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(build_parser(), run, argv)


if __name__ == "__main__":
    sys.exit(main())
