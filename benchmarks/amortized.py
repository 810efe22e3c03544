"""``python -m benchmarks.amortized mnist-grey``: a network that learns the gains of grey patches end to end, without a
teacher; ``fashion-grey``: two networks.

Deep sets ask; where the recipe has a second network, convolutions classify from what was asked, and the belief is the
log opinion pool of both. Where the trained networks are among the stored weights, they are taken from there;
``--train`` trains them anew. Whoever interrupts the training and calls it again goes on where it stopped. Everything is
chosen on training images; the test images are looked at in the end.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from matplotlib.figure import Figure
from safetensors import safe_open

import infopursuit as ip
from benchmarks import WEIGHTS
from benchmarks.choose_stopping import longest_within, told
from benchmarks.machine import write_result
from benchmarks.program import image_parser, run_program, say
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from benchmarks.step_times import step_ratios
from infopursuit import plots
from infopursuit.calibration.temperature import expected_calibration_error
from infopursuit.evaluation.measures import Point, confidence_curve, stops_at
from infopursuit.models.networks.amortized import QuerierTraining, Trunk
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.models.sample import Sample
from infopursuit.presentation.plots import style
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import MaxQueries
from infopursuit.strategies.amortized.belief import NetworkBelief
from infopursuit.strategies.amortized.querier import acquisition_for
from infopursuit.support.files import write_atomically

PARTS = ".parts/amortized"
"""Folder, in that of the results, of checkpoints and trained networks."""
N_CURVE, MIN_QUERIES = 10, 3
"""Questions of a curve; and of the histories on which weights of a pool are fitted, at the least."""


Second = tuple[Trunk, tuple[QuerierTraining, ...]]
"""Layers and rounds of a network that classifies after the questions of another one."""


@dataclass(frozen=True)
class Recipe:
    """How a network is trained on patches of an image set.

    rounds: trainings, each of which goes on from the one before. second: None for no second network. levels: of grey;
    None is black and white. most_queries: of any image. published: accuracy after k = 1 ... 10 of greedy dynamic
    feature selection (Covert et al., 2023) on the test images.
    """

    images: str
    trunk: Trunk
    rounds: tuple[QuerierTraining, ...]
    second: Second | None = None
    size: int = 3
    stride: int = 1
    levels: int | None = None
    most_queries: int = N_CURVE
    published: tuple[float, ...] = ()


SETS = Trunk((), (512, 256), (64, 32))
FIRST = QuerierTraining(
    epochs=24, batch_size=512, learning_rate=2e-3, max_queries=N_CURVE, validation=0.03, patience=99, bfloat16=True
)
LONGER = replace(FIRST, max_queries=20)
CLOTHES = RandomAffine(1.0, 4.0, 0.05, 0.3)
MILD: dict[str, Any] = {"learning_rate": 1e-3, "augmentation": RandomAffine(0.5, 2.0, 0.02), "seed": 1}
"""Of a last round: images much as they are."""


def with_second(
    augmentation: RandomAffine, epochs: Sequence[int], second_epochs: Sequence[int], most_queries: int
) -> dict[str, Any]:
    """Both networks, trained on images that are augmented in this way, and in a last round hardly."""

    def rounds(first: QuerierTraining, numbers: Sequence[int]) -> tuple[QuerierTraining, ...]:
        return (replace(first, epochs=numbers[0]), *(replace(first, epochs=n, **MILD) for n in numbers[1:]))

    first = replace(LONGER, augmentation=augmentation)
    second = rounds(replace(first, batch_size=256, random=0.0), second_epochs)
    trunks = {"trunk": SETS, "second": (Trunk((32, 64), (256,), blocks=1), second)}
    return {**trunks, "rounds": rounds(first, epochs), "most_queries": most_queries}


RECIPES = {
    "fashion-grey": Recipe("fashion", **with_second(CLOTHES, (40, 12), (16, 9), 20), stride=2, levels=64),
    "mnist-grey": Recipe(
        "mnist",
        SETS,
        (FIRST,),
        size=2,
        stride=2,
        levels=64,
        published=(0.371, 0.578, 0.732, 0.825, 0.879, 0.907, 0.926, 0.938, 0.946, 0.953),
    ),
}


def network_file(name: str) -> Path:
    """Where the trained network of a recipe is stored."""
    return WEIGHTS / f"{name}-network.safetensors"


def save_belief(belief: NetworkBelief, file: Path) -> None:
    """Write a network to one file, in half precision."""
    spec, arrays = belief.to_parts()
    file.parent.mkdir(parents=True, exist_ok=True)
    half = {name: each.astype(np.float16) for name, each in arrays.items()}
    write_atomically(file, safetensors.numpy.save(half, metadata={"infopursuit": json.dumps(spec)}))


def load_belief(file: Path, queries: Any) -> NetworkBelief:
    """Read what `save_belief` wrote."""
    with safe_open(str(file), framework="np") as stored:
        spec = json.loads(stored.metadata()["infopursuit"])
        arrays = {name: stored.get_tensor(name).astype(np.float32) for name in stored.keys()}  # noqa: SIM118
    return NetworkBelief.from_parts(spec, arrays, queries)


def second_network(
    file: Path, asker: Pursuit[Any], X: Any, y: Any, how: Second, folder: Path, *, train: bool = False
) -> NetworkBelief:
    """The trained network that classifies after the questions of another one, from its file where there is one."""
    trunk, rounds = how
    if train or not file.exists():
        found = None
        for i, training in enumerate(rounds, start=1):
            checkpoint = folder / f"{file.stem}-{i}.checkpoint"
            found = ip.history_classifier(
                asker, X, y, trunk=trunk, training=training, start=found, checkpoint=checkpoint, say=say
            )
        assert found is not None
        save_belief(found, file)
    return load_belief(file, asker.queries)


class Run:
    """One run: the images, and a folder for what is finished."""

    def __init__(self, name: str, out: Path) -> None:
        self.name, self.recipe = name, RECIPES[name]
        self.task = ImageTask(IMAGE_SETS[self.recipe.images])
        how = {"levels": self.recipe.levels} if self.recipe.levels else {"threshold": self.task.images.threshold}
        shape = self.task.query_set.shape
        self.queries = ip.queries.patches(shape, size=self.recipe.size, stride=self.recipe.stride, **how)
        self.folder = out / PARTS / name
        self.folder.mkdir(parents=True, exist_ok=True)

    def network(self, *, train: bool = False) -> NetworkBelief:
        """The trained network that asks, from its file where there is one."""
        task, recipe, file = self.task, self.recipe, network_file(self.name)
        if train or not file.exists():
            values, found = self.queries.observe(task.data.x_train[task.rest]), None
            sample = Sample.of(self.queries.variables, values, task.labels[task.rest], n_classes=task.n_classes)
            for i, training in enumerate(recipe.rounds, start=1):
                checkpoint = self.folder / f"network-{i}.checkpoint"
                how = ip.Amortized("nats", recipe.trunk, training=training, start=found, checkpoint=checkpoint, say=say)
                found = how.build(sample, self.queries, 1)[0]
            assert found is not None
            save_belief(found, file)
        return load_belief(file, self.queries)

    def pursuit(self, *, train: bool = False) -> Pursuit[Any]:
        """That of the trained network, pooled with the second one; weights of the pool from held-out images."""
        task, network = self.task, self.network(train=train)
        first: Pursuit[Any] = Pursuit(
            self.queries, network, acquisition_for(network), MaxQueries(self.recipe.most_queries)
        )
        if self.recipe.second is None:
            return first
        X, y, file = task.data.x_train, task.labels, network_file(f"{self.name}-second")
        learn, held_out, n = task.rest, task.held_out, self.recipe.rounds[0].max_queries
        second = second_network(file, first, X[learn], y[learn], self.recipe.second, self.folder, train=train)
        return ip.pool(first, second, X[held_out], y[held_out], min_queries=MIN_QUERIES, max_queries=n)

    def trial(self, pursuit: Pursuit[Any]) -> tuple[Point, Any]:
        """On held-out training images: what the threshold comes to that is chosen there, and the trace."""
        task = self.task
        trace = pursuit.run(task.data.x_train[task.held_out])
        points = confidence_curve(trace, task.labels[task.held_out], task.images.epsilons)
        return longest_within(points, task.images.length), trace

    def measure(self, pursuit: Pursuit[Any]) -> dict[str, Any]:
        """On held-out training images, on which the threshold is chosen, and on test images."""
        task = self.task
        chosen, trial = self.trial(pursuit)
        held_out = accuracies(trial, task.labels[task.held_out])
        say(f"held-out images: {told(chosen)}; after 1, 2, ...: {held_out}")
        trace = pursuit.run(task.data.x_test)
        point = confidence_curve(trace, task.y_test, [chosen.epsilon])[0]
        posterior = trace.posteriors[np.arange(len(trace)), stops_at(trace, chosen.epsilon)]
        found = np.array(accuracies(trace, task.y_test))
        say(f"test images: {told(point)}; after 1, 2, ...: {found.tolist()}")
        return {
            "held_out": asdict(chosen) | {"accuracy_after": held_out},
            "test": asdict(point),
            "test_curve": [asdict(each) for each in confidence_curve(trace, task.y_test, task.images.epsilons)],
            "accuracy_after": found.tolist(),
            "standard_error": np.sqrt(found * (1 - found) / len(task.y_test)).tolist(),
            "published": self.recipe.published,
            "expected_calibration_error": calibration_error(posterior, task.y_test),
            "expected_calibration_error_after": [
                calibration_error(trace.posteriors[:, k], task.y_test) for k in range(1, len(found) + 1)
            ],
            "belief": pursuit.belief.describe(),
            "n_test": len(task.y_test),
            **step_ratios(pursuit, self.queries.observe(task.data.x_test)),
        }

    def draw(self, found: dict[str, Any]) -> Any:
        """Accuracy against questions, and how far it is above the published one."""
        n, recipe = found["n_test"], self.recipe
        lines = {"amortised, grey patches": found["accuracy_after"], "GDFS, as published": recipe.published}
        curves = {
            name: [Point(0.0, p, float(np.sqrt(p * (1 - p) / n)), k, 0.0, n) for k, p in enumerate(line, start=1)]
            for name, line in lines.items()
        }
        figure = Figure(figsize=(9.6, 4.0), dpi=120, facecolor="white", layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        plots.trade_off(curves, axes=left)
        above = 100 * (np.array(found["accuracy_after"]) - recipe.published[: len(found["accuracy_after"])])
        error = 100 * np.array(found["standard_error"])
        right.errorbar(np.arange(1, len(above) + 1), above, error, fmt="o", color=style.COLOURS[0], markersize=4)
        right.axhline(0, color=style.COLOURS[1], linewidth=1.4)
        right.set_ylabel("points above GDFS, one standard error", fontsize=style.SIZE, color=style.INK)
        for axes in (left, right):
            style.plain(axes)
            axes.set_xlabel("questions asked", fontsize=style.SIZE, color=style.INK)
            axes.set_xticks(range(1, len(above) + 1))
        return figure


def accuracies(trace: Any, y: Any) -> list[float]:
    """After 1, 2, ... questions."""
    return [float(each) for each in (trace.posteriors.argmax(axis=2) == np.asarray(y)[:, None]).mean(axis=0)[1:]]


def calibration_error(posterior: Any, y: Any) -> float:
    """The expected calibration error of (B, C) posteriors."""
    return expected_calibration_error(posterior.max(axis=1), posterior.argmax(axis=1) == y)


def run(args: argparse.Namespace) -> int:
    """Train what is missing, and measure."""
    import torch

    torch.set_num_threads(1)
    here = Run(args.images, args.out)
    found = here.measure(here.pursuit(train=args.train))
    if here.recipe.published:
        plots.save(here.draw(found), args.out / f"amortized-{args.images}.png")
    command = f"python -m benchmarks.amortized {args.images}"
    found = {"recipe": asdict(here.recipe), "gains": found}
    say(f"written to {write_result(args.out, f'amortized-{args.images}', command, found)}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(image_parser("benchmarks.amortized", __doc__, RECIPES), run, argv)


if __name__ == "__main__":
    sys.exit(main())
