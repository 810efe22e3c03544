"""``python -m benchmarks.amortized mnist``: a network that imitates the pursuit of the VAE, and its figures;
``mnist-grey``, ``fashion-grey``: one that learns the gains of grey patches without a teacher.

The teacher demonstrates its pursuits of the training images, and a network imitates it (`infopursuit.distill`), in
rounds: each goes on from the one before, at another learning rate, and after the first one the teacher is asked about
the student's own histories. Whoever interrupts it and calls it again goes on where it stopped. Everything is chosen on
training images; the test images are looked at in the end.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import infopursuit as ip
from benchmarks.choose_stopping import longest_within, told
from benchmarks.machine import write_result
from benchmarks.program import add_out, run_program, say
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from benchmarks.step_times import forward_seconds, step_seconds
from infopursuit import plots
from infopursuit.calibration import expected_calibration_error
from infopursuit.distillation import agreement, demonstrate
from infopursuit.engine import Pursuit
from infopursuit.evaluation.measures import Point, confidence_curve, stops_at
from infopursuit.models.amortized import Demonstrations, QuerierTraining, Trunk
from infopursuit.models.sample import Sample
from infopursuit.models.training import RandomAffine
from infopursuit.plots import style
from infopursuit.stopping import Confidence, MaxQueries

PARTS = ".parts/amortized"
"""Folder, in that of the results, of demonstrations, checkpoints and trained networks."""
STEP_BATCH, TIMES, N_AGREE, N_CURVE = 1_000, 7, 1_000, 10


@dataclass(frozen=True)
class Recipe:
    """How the network of an image set is trained."""

    trunk: Trunk
    rounds: tuple[tuple[QuerierTraining, float], ...]
    """Training, and the share of the images of which the student's own histories are looked at in an epoch."""
    temperature: float
    label_weight: float
    max_queries: int
    epsilon: float
    """Of the teacher."""


FIRST = QuerierTraining(
    epochs=16,
    learning_rate=2e-3,
    max_queries=10,
    random=0.0,
    validation=0.03,
    augmentation=RandomAffine(1.0, 8.0, 0.05),
    bfloat16=True,
)
RECIPES = {
    "mnist": Recipe(
        trunk=Trunk((32, 64), (384,)),
        rounds=(
            (FIRST, 0.5),
            (replace(FIRST, epochs=6, learning_rate=1.5e-3), 0.5),
        ),
        temperature=0.01,
        label_weight=0.5,
        max_queries=10,
        epsilon=0.00966,
    )
}


@dataclass(frozen=True)
class GreyRecipe:
    """Patches in grey levels, of which a network learns the gains end to end, without a teacher.

    published: accuracy after k = 1 ... 10 of greedy dynamic feature selection (Covert et al., 2023) on the test images.
    """

    images: str
    size: int
    stride: int
    trunk: Trunk
    training: QuerierTraining
    published: tuple[float, ...] = ()


GREY = QuerierTraining(
    epochs=24, batch_size=512, learning_rate=2e-3, max_queries=N_CURVE, validation=0.03, patience=99, bfloat16=True
)
GREY_RECIPES = {
    "mnist-grey": GreyRecipe(
        "mnist",
        size=2,
        stride=2,
        trunk=Trunk((), (512, 256), (64, 32)),
        training=GREY,
        published=(0.371, 0.578, 0.732, 0.825, 0.879, 0.907, 0.926, 0.938, 0.946, 0.953),
    ),
    "fashion-grey": GreyRecipe(
        "fashion",
        size=3,
        stride=2,
        trunk=Trunk((), (512, 256), (64, 32)),
        training=replace(GREY, epochs=12, max_queries=20),
    ),
}


class GreyRun:
    """One run: the images, and a folder for what is finished."""

    def __init__(self, name: str, out: Path) -> None:
        self.recipe = GREY_RECIPES[name]
        self.task = ImageTask(IMAGE_SETS[self.recipe.images])
        shape = self.task.query_set.shape
        self.queries = ip.queries.patches(shape, size=self.recipe.size, stride=self.recipe.stride, levels=64)
        self.folder = out / PARTS / name
        self.folder.mkdir(parents=True, exist_ok=True)

    def pursuit(self) -> Pursuit[Any]:
        """That of the trained network; it asks as many questions as the histories of its training had."""
        task, recipe, folder = self.task, self.recipe, self.folder / "network"
        if not folder.exists():
            values = self.queries.observe(task.data.x_train[task.rest])
            sample = Sample.of(self.queries.variables, values, task.labels[task.rest], n_classes=task.n_classes)
            checkpoint = folder.with_suffix(".checkpoint")
            how = ip.Amortized("nats", recipe.trunk, training=recipe.training, checkpoint=checkpoint, say=say)
            belief, acquisition = how.build(sample, self.queries, 1)
            ip.save(Pursuit(self.queries, belief, acquisition, MaxQueries(recipe.training.max_queries)), folder)
        found: Pursuit[Any] = ip.load(folder)
        return found

    def measure(self) -> dict[str, Any]:
        """On held-out training images, on which the threshold is chosen, and on test images."""
        task, pursuit = self.task, self.pursuit()
        labels = task.labels[task.held_out]
        trial = pursuit.run(task.data.x_train[task.held_out])
        chosen = longest_within(confidence_curve(trial, labels, task.images.epsilons), task.images.length)
        say(f"held-out images: {told(chosen)}; after 1, 2, ...: {accuracies(trial, labels)}")
        trace = pursuit.run(task.data.x_test)
        point = confidence_curve(trace, task.y_test, [chosen.epsilon])[0]
        posterior = trace.posteriors[np.arange(len(trace)), stops_at(trace, chosen.epsilon)]
        found = np.array(accuracies(trace, task.y_test))
        say(f"test images: {told(point)}; after 1, 2, ...: {found.tolist()}")
        return {
            "held_out": asdict(chosen) | {"accuracy_after": accuracies(trial, labels)},
            "test": asdict(point),
            "accuracy_after": found.tolist(),
            "standard_error": np.sqrt(found * (1 - found) / len(task.y_test)).tolist(),
            "published": self.recipe.published,
            "expected_calibration_error": calibration_error(posterior, task.y_test),
            "expected_calibration_error_after": [
                calibration_error(trace.posteriors[:, k], task.y_test) for k in range(1, len(found) + 1)
            ],
            "temperature": pursuit.belief.temperature,  # type: ignore[attr-defined]
            "n_test": len(task.y_test),
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
    return [float((trace.posteriors[:, k].argmax(axis=1) == y).mean()) for k in range(1, trace.posteriors.shape[1])]


def calibration_error(posterior: Any, y: Any) -> float:
    """The expected calibration error of (B, C) posteriors."""
    return expected_calibration_error(posterior.max(axis=1), posterior.argmax(axis=1) == y)


class Run:
    """One run: the images, and a folder for what is finished."""

    def __init__(self, name: str, out: Path) -> None:
        self.recipe, self.task = RECIPES[name], ImageTask(IMAGE_SETS[name])
        self.folder = out / PARTS / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.teacher = self.task.with_vae(self.task.rest, self.recipe.epsilon)

    def demonstrations(self, round_: int, student: Pursuit[Any] | None) -> Demonstrations:
        """What the teacher does about the training images that it was not held back from; after the first round, what
        it would do after the histories of the student."""
        file, values = self.folder / f"demonstrations-{round_}.npz", self.task.values[self.task.rest]
        n = self.recipe.max_queries
        if not file.exists():
            follow = None
            if student is not None:
                asks = replace(student, stopping=Confidence(min(self.task.images.epsilons)) | MaxQueries(n))
                follow = asks.run_values(values.astype(np.int64)).queries
            found = demonstrate(self.teacher, values, n, follow=follow, n_top=12, progress=True)
            np.savez_compressed(file.with_suffix(".part.npz"), **vars(found))
            file.with_suffix(".part.npz").rename(file)
        with np.load(file) as stored:
            return Demonstrations(**{name: stored[name] for name in stored.files})

    def student(self) -> Pursuit[Any]:
        """The network that imitates the teacher, after the last round."""
        recipe, rest = self.recipe, self.task.rest
        pursuit: Pursuit[Any] | None = None
        for i, (training, own_share) in enumerate(recipe.rounds, start=1):
            folder = self.folder / f"student-{i}"
            if not folder.exists():
                found, _ = ip.distill(
                    self.teacher,
                    self.task.data.x_train[rest],
                    self.task.labels[rest],
                    temperature=recipe.temperature,
                    label_weight=recipe.label_weight,
                    own_share=own_share,
                    max_queries=recipe.max_queries,
                    trunk=recipe.trunk,
                    training=training,
                    demonstrations=self.demonstrations(i, pursuit),
                    start=None if pursuit is None else pursuit.belief,  # type: ignore[arg-type]
                    checkpoint=folder.with_suffix(".checkpoint"),
                    say=say,
                )
                ip.save(found, folder)
            pursuit = ip.load(folder)
        assert pursuit is not None
        return pursuit

    def measure(self, pursuit: Pursuit[Any]) -> dict[str, Any]:
        """The threshold on held-out training images; on test images accuracy, curve, calibration, time; agreement."""
        task, images = self.task, self.task.images
        longest = replace(
            pursuit,
            stopping=Confidence(min(images.epsilons)) | MaxQueries(images.most_queries),
        )
        trial = longest.run_values(task.values[task.held_out].astype(np.int64))
        points = confidence_curve(trial, task.labels[task.held_out], images.epsilons)
        chosen = longest_within(points, images.length)
        trace = longest.run_values(task.x_test)
        point = confidence_curve(trace, task.y_test, [chosen.epsilon])[0]
        stop = stops_at(trace, chosen.epsilon)
        posterior = trace.posteriors[np.arange(len(trace)), stop]
        right = posterior.argmax(axis=1) == task.y_test
        to_the_end = replace(longest, stopping=MaxQueries(N_CURVE)).run_values(task.x_test).posteriors
        stopped = replace(pursuit, stopping=Confidence(chosen.epsilon) | MaxQueries(images.most_queries))
        agrees = agreement(self.teacher, stopped, task.values[task.held_out[:N_AGREE]].astype(np.int64))
        timed = [(step_seconds(pursuit, task.x_test[:STEP_BATCH]), forward_seconds(STEP_BATCH)) for _ in range(TIMES)]
        say(f"held-out images: {told(chosen)}; test images: {told(point)}; {agrees}")
        return {
            "held_out": asdict(chosen),
            "test": asdict(point),
            "test_curve": [asdict(each) for each in confidence_curve(trace, task.y_test, images.epsilons)],
            "expected_calibration_error": expected_calibration_error(posterior.max(axis=1), right),
            "accuracy_after": {
                str(k): float((to_the_end[:, k].argmax(axis=1) == task.y_test).mean()) for k in range(1, N_CURVE + 1)
            },
            "agreement": asdict(agrees),
            "temperature": pursuit.belief.temperature,  # type: ignore[attr-defined]
            # the first step is that of one history; a later one is compared with two networks of 1568-1000-500 units
            "step_seconds": [float(np.mean(steps[1:])) for steps, _ in timed],
            "yardstick_seconds": [forward for _, forward in timed],
            "step_to_yardstick": [float(np.mean(steps[1:]) / forward) for steps, forward in timed],
        }


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.amortized", description=__doc__)
    parser.add_argument("images", choices=(*RECIPES, *GREY_RECIPES))
    add_out(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Train what is missing, and measure."""
    import torch

    torch.set_num_threads(1)
    if args.images in GREY_RECIPES:
        grey = GreyRun(args.images, args.out)
        found = {"recipe": asdict(grey.recipe), "gains": grey.measure()}
        if grey.recipe.published:
            plots.save(grey.draw(found["gains"]), args.out / f"amortized-{args.images}.png")
    else:
        here = Run(args.images, args.out)
        found = {"recipe": asdict(here.recipe), "student": here.measure(here.student())}
    file = write_result(args.out, f"amortized-{args.images}", f"python -m benchmarks.amortized {args.images}", found)
    say(f"written to {file}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(build_parser(), run, argv)


if __name__ == "__main__":
    sys.exit(main())
