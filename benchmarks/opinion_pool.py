"""``python -m benchmarks.opinion_pool mnist``: a generative pursuit, its belief pooled with a network's.

The belief is the log opinion pool (`infopursuit.pool`) of a generative model and of stored networks: the student of
`benchmarks.student`, or a second one that classifies after the student's questions and is trained where it is not
stored. Weights of the pool and the stopping rule are chosen on held-out training images; the test images are looked at
in the end.
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

import infopursuit as ip
from benchmarks.amortized import Second, accuracies, calibration_error, load_belief, network_file, second_network
from benchmarks.choose_stopping import longest_within, told
from benchmarks.machine import write_result
from benchmarks.program import add_out, run_program, say
from benchmarks.recipes.image_sets import IMAGE_SETS, STROKES, ImageTask
from infopursuit import plots
from infopursuit.evaluation.measures import Point, accuracy_interval, confidence_curve, stops_at
from infopursuit.models.networks.amortized import QuerierTraining, Trunk
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.pursuit.trace import Trace
from infopursuit.strategies.amortized.belief import NetworkBelief
from infopursuit.strategies.amortized.querier import acquisition_for
from infopursuit.strategies.opinion_pool import LogPool, OpinionPool
from infopursuit.support.types import IntArray

PARTS = ".parts/opinion-pool"
"""Folder, in that of the results, of checkpoints."""


@dataclass(frozen=True)
class Recipe:
    """What the network of an image set is pooled with.

    generative: which pursuit of `ImageTask`. stored: names of networks among the stored weights. second: how those are
    trained that are not there, see `second_network`. reweight: where gains are those under the pooled classes, see
    `infopursuit.pool`. min_queries, max_queries: of the histories on which the weights of the pool are fitted.
    most_queries, least: of any image, and the smallest epsilon that is tried. n_styles: of writing in each class,
    clusters of its images; some are held out whole, where test images are known to be of other styles. refit: the
    networks that are pooled in the end, with the generative model of all training images; none are as chosen. n_copies:
    see `ImageSet`.
    """

    stored: tuple[str, ...]
    generative: str = "with_vae"
    reweight: bool | float = 0.1
    min_queries: int = 3
    max_queries: int = 12
    most_queries: int = 20
    least: float = 0.01
    n_styles: int = 0
    n_copies: int = 0
    refit: tuple[str, ...] = ()
    second: Second | None = None

    @property
    def epsilons(self) -> tuple[float, ...]:
        """What is tried, down to the least: a pooled posterior is less confident than a generative one."""
        return tuple(np.geomspace(0.3, self.least, 120).round(5).tolist())


CLOTHES = QuerierTraining(
    epochs=12, batch_size=256, learning_rate=2e-3, max_queries=18, random=0.0, validation=0.02, patience=99,
    bfloat16=True, augmentation=RandomAffine(1.0, 4.0, 0.05, 0.3), seed=3,
)  # fmt: skip
MILD = replace(CLOTHES, epochs=7, learning_rate=1e-3, augmentation=RandomAffine(0.5, 2.0, 0.02), seed=4)
LETTERS = replace(CLOTHES, epochs=70, learning_rate=2.5e-3, max_queries=24, patience=999, augmentation=STROKES, seed=0)
BLOCKS = Trunk((32, 64), (256,), blocks=2)
N_STYLES, STYLE_BLUR = 6, 1.0
"""One of so many styles is held out; and the blur, in pixels, of the images that are put in clusters."""

RECIPES = {
    "mnist": Recipe(("mnist-histories",), max_queries=10),
    "kmnist": Recipe(
        ("kmnist-styles",),
        "with_pool",
        reweight=True,
        max_queries=20,
        most_queries=26,
        least=3e-3,
        n_styles=48,
        n_copies=20,
        refit=("kmnist-second",),
        second=(BLOCKS, (LETTERS,)),
    ),
    "fashion": Recipe(
        ("fashion-second",),
        "with_pool",
        reweight=False,
        max_queries=20,
        refit=("fashion-second",),
        second=(BLOCKS, (CLOTHES, MILD)),
    ),
}


class Run:
    """One run: the images, the network and its pool."""

    def __init__(self, name: str, out: Path) -> None:
        self.name, self.out, self.recipe = name, out, RECIPES[name]
        self.task = task = ImageTask(replace(IMAGE_SETS[name], n_copies=self.recipe.n_copies))
        self.rest, self.held_out = task.rest, task.held_out
        if self.recipe.n_styles:
            self.rest, self.held_out = split_by_style(task, self.recipe.n_styles)
        self.x_held_out, self.y_held_out = task.data.x_train[self.held_out], task.labels[self.held_out]

    def network(self, names: Sequence[str], rows: Any) -> Any:
        """The belief of a network, or of several pooled evenly; where one is not stored, it is trained on some
        training images."""
        first, *others = (self._trained(name, rows) for name in names)
        found: Any = first
        for i, each in enumerate(others, start=2):
            found = LogPool(found, each, (1 - 1 / i, 1 / i))
        return found

    def _trained(self, name: str, rows: Any) -> NetworkBelief:
        file, queries = network_file(name), self.task.query_set
        if file.exists() or self.recipe.second is None:
            return load_belief(file, queries)
        network = load_belief(network_file(self.name), queries)
        asker: Pursuit[Any] = Pursuit(queries, network, acquisition_for(network), MaxQueries(self.recipe.most_queries))
        X, y = self.task.data.x_train[rows], self.task.labels[rows]
        return second_network(file, asker, X, y, self.recipe.second, self.out / PARTS)

    def pursuit(self) -> Pursuit[Any]:
        """The pursuit with the pool, its weights fitted on held-out training images."""
        how, held_out = self.recipe, (self.x_held_out, self.y_held_out)
        generative, network = self.generative(self.rest), self.network(how.stored, self.rest)
        return ip.pool(
            generative,
            network,
            *held_out,
            reweight=how.reweight,
            min_queries=how.min_queries,
            max_queries=how.max_queries,
        )

    def generative(self, rows: Any) -> Pursuit[Any]:
        """That of a model of some training images."""
        found: Pursuit[Any] = getattr(self.task, self.recipe.generative)(rows, 0.01)
        return found

    def refitted(self, pursuit: Pursuit[Any]) -> Pursuit[Any]:
        """The same with models of all training images, where the recipe says so."""
        how, everything = self.recipe, slice(None)
        if not how.refit:
            return pursuit
        belief: Any = pursuit.belief
        generative, network = self.generative(everything), self.network(how.refit, everything)
        latent: Any = generative.belief
        pooled = OpinionPool(latent, network, belief.weights, reweight=belief.reweight)
        return replace(generative, belief=pooled)

    def longest(self, pursuit: Pursuit[Any]) -> Pursuit[Any]:
        """The same that goes on for as long as any rule that is tried."""
        stopping = Confidence(self.recipe.least) | MaxQueries(self.recipe.most_queries)
        return replace(pursuit, stopping=stopping, patience=0)

    def trial(self, pursuit: Pursuit[Any]) -> tuple[Point, Trace]:
        """On held-out training images: what the threshold comes to that is chosen there, and the trace."""
        trace = self.longest(pursuit).run(self.x_held_out)
        points = confidence_curve(trace, self.y_held_out, self.recipe.epsilons)
        return longest_within(points, self.task.images.length), trace

    def measure(self, pursuit: Pursuit[Any], x_test: Any, y_test: Any) -> dict[str, Any]:
        """The stopping rule on held-out training images; on test images accuracy, curve and calibration."""
        belief, y = pursuit.belief, self.y_held_out
        assert isinstance(belief, OpinionPool)
        say(f"weights of the pool: {belief.weights}")
        chosen, trial = self.trial(pursuit)
        say(f"held-out images: epsilon {chosen.epsilon}, {told(chosen)}")
        trace = self.longest(self.refitted(pursuit)).run_values(np.asarray(x_test, dtype=np.int64))
        point = confidence_curve(trace, y_test, [chosen.epsilon])[0]
        say(f"test images: {told(point)}")
        low, high = accuracy_interval(round(point.accuracy * point.n_inputs), point.n_inputs)
        return {
            "accuracy_after": accuracies(trace, y_test)[:12],
            "weights": belief.weights,
            "held_out": asdict(chosen),
            "held_out_calibration_error": calibration_error(posterior_at(trial, chosen.epsilon), y),
            "test": {**asdict(point), "low": low, "high": high},
            "test_curve": [asdict(each) for each in confidence_curve(trace, y_test, self.recipe.epsilons)],
            "expected_calibration_error": calibration_error(posterior_at(trace, chosen.epsilon), y_test),
        }


def split_by_style(task: ImageTask, n_styles: int) -> tuple[IntArray, IntArray]:
    """Rows of the training images, and of those that are held out: whole styles, clusters of the images of a class."""
    from scipy.ndimage import gaussian_filter
    from sklearn.cluster import KMeans

    rng, held_out = np.random.default_rng(0), np.zeros(len(task.labels), dtype=bool)
    smooth = gaussian_filter(task.data.x_train / 255, (0, STYLE_BLUR, STYLE_BLUR)).reshape(len(held_out), -1)
    for c in range(task.n_classes):
        rows = np.flatnonzero(task.labels == c)
        style = KMeans(n_styles, n_init=2, random_state=0).fit_predict(smooth[rows])
        held_out[rows[np.isin(style, rng.choice(n_styles, n_styles // N_STYLES, replace=False))]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def posterior_at(trace: Trace, epsilon: float) -> Any:
    """(B, C) the posteriors where pursuits stop at a confidence of 1 - epsilon."""
    return trace.posteriors[np.arange(len(trace)), stops_at(trace, epsilon)]


SHOWN = 3
"""Mean questions from which on a curve is drawn."""


def draw(name: str, out: Path) -> None:
    """Accuracy against questions of what is measured of an image set: the generative pursuit (`benchmarks.reproduce`),
    networks alone (`benchmarks.amortized`, `benchmarks.student`), the pool."""
    wanted = {
        "generative, VAE": (name, ("parts", "pursuits", "VAE")),
        "networks of gains": (f"amortized-{name}", ("gains",)),
        "student, one network": (f"student-{name}", ("student",)),
        "pooled": (f"opinion-pool-{name}", ("pool",)),
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
    called = {"fashion": "Fashion-MNIST"}.get(name, name.upper())
    title = f"{called}, patches of {IMAGE_SETS[name].size} x {IMAGE_SETS[name].size}"
    plots.save(plots.trade_off(cut, title=title), out / f"opinion-pool-{name}.png")


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.opinion_pool", description=__doc__)
    parser.add_argument("images", choices=RECIPES)
    add_out(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Train what is missing, and measure."""
    import torch

    torch.set_num_threads(1)
    here = Run(args.images, args.out)
    found = here.measure(here.pursuit(), here.task.x_test, here.task.y_test)
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
