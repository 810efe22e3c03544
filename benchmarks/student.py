"""``python -m benchmarks.student mnist``: one network that imitates a generative pursuit, and its figures.

The teacher demonstrates its pursuits of training images, and a network imitates it (`infopursuit.distill`), in rounds:
each goes on from the one before. Where the recipe has tutors, their posteriors after the student's own histories are
learnt from the second round on. Where the trained network is among the stored weights, it is taken from there;
``--train`` trains it anew. Whoever interrupts it and calls it again goes on where it stopped. Everything is chosen on
training images; the test images are looked at in the end.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks import opinion_pool
from benchmarks.amortized import calibration_error, load_belief, network_file, save_belief
from benchmarks.choose_stopping import longest_within, told
from benchmarks.machine import write_result
from benchmarks.program import image_parser, run_program, say
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from benchmarks.step_times import step_ratios
from infopursuit.evaluation.measures import confidence_curve, stops_at
from infopursuit.models.networks.amortized import QuerierTraining, Trunk
from infopursuit.models.networks.augmentation import RandomAffine
from infopursuit.models.networks.imitation import Demonstrations
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.strategies import LogPool
from infopursuit.strategies.amortized.belief import NetworkBelief
from infopursuit.strategies.amortized.distillation import agreement, demonstrate, student_of
from infopursuit.support.types import IntArray

PARTS = ".parts/student"
"""Folder, in that of the results, of demonstrations, checkpoints and trained networks."""
N_AGREE, N_CURVE = 1_000, 10


@dataclass(frozen=True)
class Recipe:
    """How the network of an image set is trained; see `infopursuit.distill`.

    rounds: of training; the weights of the last n_averaged are averaged. teacher: which pursuit of `ImageTask`;
    "pooled" is that of `benchmarks.opinion_pool`. epsilon: where the teacher stops when both are compared. n_shown:
    training images of each half that are demonstrated by a teacher of the other half, so that none is in the model that
    it is demonstrated by; 0 is all of them, by a teacher of all. n_copies: augmented copies of each image that are
    demonstrated beside it. tutors: stored networks that are pooled with the student of the round before. max_queries,
    most_queries: of a demonstration, and of any image.
    """

    trunk: Trunk
    rounds: tuple[QuerierTraining, ...]
    n_averaged: int = 1
    epsilon: float = 0.01
    teacher: str = "with_vae"
    n_shown: int = 0
    n_copies: int = 0
    tutors: tuple[str, ...] = ()
    temperature: float = 0.03
    label_weight: float = 0.8
    own_share: float = 0.5
    n_histories: float = 2.0
    max_queries: int = 16
    most_queries: int = 20


FIRST = QuerierTraining(
    epochs=24, batch_size=256, learning_rate=2e-3, random=0.0, validation=0.03, patience=99, bfloat16=True,
    augmentation=RandomAffine(1.0, 8.0, 0.06),
)  # fmt: skip
RECIPES = {
    "mnist": Recipe(
        Trunk((32, 64), (192,), blocks=1),
        (FIRST, *(replace(FIRST, epochs=8, learning_rate=8e-4, seed=seed) for seed in (0, 7))),
        n_averaged=2,
        epsilon=0.0394,
        teacher="pooled",
        tutors=("mnist-histories",),
        label_weight=0.3,
        own_share=0.6,
        n_histories=1.5,
    ),
    "kmnist": Recipe(
        Trunk((24, 48), (192,), blocks=1),
        (replace(FIRST, learning_rate=2.5e-3, validation=0.02, augmentation=RandomAffine(2.0, 12.0, 0.12, 0.6)),),
        n_copies=4,
        max_queries=20,
        most_queries=30,
    ),
    "fashion": Recipe(
        Trunk((32, 64), (192,), blocks=1),
        (
            replace(FIRST, epochs=12, validation=0.02, augmentation=RandomAffine(1.0, 4.0, 0.05, 0.3)),
            replace(FIRST, epochs=8, validation=0.02, learning_rate=1e-3, augmentation=RandomAffine(0.5, 2.0, 0.02)),
        ),
        teacher="with_pool",
        n_shown=20_000,
        n_histories=3.0,
    ),
}


class Run:
    """One run: the images, and a folder for what is finished."""

    def __init__(self, name: str, out: Path) -> None:
        self.name, self.recipe, self.task, self.out = name, RECIPES[name], ImageTask(IMAGE_SETS[name]), out
        self.folder = out / PARTS / name
        self.folder.mkdir(parents=True, exist_ok=True)

    def teacher(self, rows: IntArray) -> Pursuit[Any]:
        """The pursuit that is imitated, of a model of some training images."""
        if self.recipe.teacher == "pooled":
            found = replace(opinion_pool.Run(self.name, self.out).pursuit(), patience=0)
            return replace(found, stopping=Confidence(self.recipe.epsilon) | MaxQueries(self.recipe.most_queries))
        found = getattr(self.task, self.recipe.teacher)(rows, self.recipe.epsilon)
        return found  # type: ignore[no-any-return]

    @cached_property
    def whole_teacher(self) -> Pursuit[Any]:
        """That of all training images that are not held out."""
        return self.teacher(self.task.rest)

    def shown(self) -> tuple[Any, IntArray, Demonstrations]:
        """Images, their labels, and what the teacher does about them."""
        task, recipe = self.task, self.recipe
        halves = np.array_split(np.random.default_rng(0).permutation(task.rest), 2)
        parts = [(task.rest, task.rest)]
        if recipe.n_shown:
            parts = [(one[: recipe.n_shown], np.sort(other)) for one, other in (halves, halves[::-1])]
        found = list[tuple[Any, IntArray, Demonstrations]]()
        for i, (rows, model) in enumerate(parts, start=1):
            X, y, file = task.data.x_train[rows], task.labels[rows], self.folder / f"demonstrations-{i}.npz"
            if recipe.rounds[0].augmentation is not None:
                X = recipe.rounds[0].augmentation.copies(X, recipe.n_copies)
            if not file.exists():
                made = demonstrate(self.teacher(model), task.query_set.observe(X), recipe.max_queries, progress=True)
                np.savez_compressed(file.with_suffix(".part.npz"), **vars(made))
                file.with_suffix(".part.npz").rename(file)
            with np.load(file) as stored:
                taught = Demonstrations(**{name: stored[name] for name in stored.files})
            found.append((X, np.tile(y, recipe.n_copies + 1), taught))
        X, y = (np.concatenate(each) for each in ([part[0] for part in found], [part[1] for part in found]))
        names = vars(found[0][2])
        return X, y, Demonstrations(**{n: np.concatenate([getattr(part[2], n) for part in found]) for n in names})

    def network(self, *, train: bool = False) -> NetworkBelief:
        """The trained network, from its file where there is one."""
        recipe, file = self.recipe, network_file(self.name)
        if file.exists() and not train:
            return load_belief(file, self.task.query_set)
        X, y, shown = self.shown()
        belief: NetworkBelief | None = None
        students: list[NetworkBelief] = []
        for i, training in enumerate(recipe.rounds, start=1):
            kept = self.folder / f"student-{i}.safetensors"
            if not kept.exists():
                found, _ = ip.distill(
                    self.whole_teacher,
                    X,
                    y,
                    temperature=recipe.temperature,
                    label_weight=recipe.label_weight,
                    own_share=recipe.own_share,
                    n_histories=recipe.n_histories,
                    max_queries=recipe.max_queries,
                    trunk=recipe.trunk,
                    training=training,
                    demonstrations=shown,
                    start=belief,
                    tutor=None if belief is None else self.tutor(belief),
                    checkpoint=kept.with_suffix(".checkpoint"),
                    say=say,
                )
                save_belief(found.belief, kept)  # type: ignore[arg-type]
            belief = load_belief(kept, self.task.query_set)
            students.append(belief)
        save_belief(average(students[-recipe.n_averaged :]), file)
        return load_belief(file, self.task.query_set)

    def tutor(self, student: NetworkBelief) -> NetworkBelief | LogPool | None:
        """The student of the round before, pooled with the tutors; None where there are none."""
        found: NetworkBelief | LogPool | None = student if self.recipe.tutors else None
        for name in self.recipe.tutors:
            assert found is not None
            found = LogPool(found, load_belief(network_file(name), self.task.query_set))
        return found

    def pursuit(self, network: NetworkBelief) -> Pursuit[Any]:
        """That of the trained network."""
        return student_of(self.whole_teacher, network, self.recipe.most_queries, calibrated=True)

    def measure(self, pursuit: Pursuit[Any]) -> dict[str, Any]:
        """The threshold on held-out training images; on test images accuracy, curve, calibration, time; agreement."""
        task, images = self.task, self.task.images
        least, most = min(images.epsilons), self.recipe.most_queries
        longest = replace(pursuit, stopping=Confidence(least) | MaxQueries(most), patience=0)
        trial = longest.run_values(task.values[task.held_out].astype(np.int64))
        points = confidence_curve(trial, task.labels[task.held_out], images.epsilons)
        chosen = longest_within(points, images.length)
        trace = longest.run_values(task.x_test)
        point = confidence_curve(trace, task.y_test, [chosen.epsilon])[0]
        stop = stops_at(trace, chosen.epsilon)
        posterior = trace.posteriors[np.arange(len(trace)), stop]
        to_the_end = replace(longest, stopping=MaxQueries(N_CURVE)).run_values(task.x_test).posteriors
        stopped = replace(pursuit, stopping=Confidence(chosen.epsilon) | MaxQueries(most))
        shown = task.values[task.held_out[:N_AGREE]].astype(np.int64)
        agrees = agreement(self.whole_teacher, stopped, shown)
        say(f"held-out images: {told(chosen)}; test images: {told(point)}; {agrees}")
        return {
            "held_out": asdict(chosen),
            "test": asdict(point),
            "test_curve": [asdict(each) for each in confidence_curve(trace, task.y_test, images.epsilons)],
            "expected_calibration_error": calibration_error(posterior, task.y_test),
            "accuracy_after": {
                str(k): float((to_the_end[:, k].argmax(axis=1) == task.y_test).mean()) for k in range(1, N_CURVE + 1)
            },
            "agreement": asdict(agrees) | same_labels(self.whole_teacher, stopped, shown, self.recipe.max_queries),
            "belief": pursuit.belief.describe(),
            **step_ratios(pursuit, task.x_test),
        }


def same_labels(teacher: Pursuit[Any], student: Pursuit[Any], values: IntArray, n: int) -> dict[str, Any]:
    """Share of inputs with the same label: after 1 ... n questions of each, and after all of the teacher's questions
    until it stops, which the student is told the answers of."""
    one, two = (
        replace(each, stopping=MaxQueries(n), patience=0).run_values(values).posteriors.argmax(axis=2)
        for each in (teacher, student)
    )
    trace = teacher.run_values(values)
    followed = demonstrate(student, values, trace.queries.shape[1], follow=trace.queries)
    label = followed.posterior[np.arange(len(trace)), trace.length].argmax(axis=1)
    return {
        "label_after": {str(k): float((one[:, k] == two[:, k]).mean()) for k in range(1, n + 1)},
        "label_after_the_same_questions": float((label == trace.posterior.argmax(axis=1)).mean()),
    }


def average(students: Sequence[NetworkBelief]) -> NetworkBelief:
    """The network with the mean weights of several that go on from one another (Wortsman et al., 2022: model soups)."""
    found = copy.deepcopy(students[-1])
    states = [each.network.state_dict() for each in students]
    found.network.load_state_dict({name: sum(each[name] for each in states) / len(states) for name in states[0]})
    found.temperature = float(np.mean([each.temperature for each in students]))
    return found


def run(args: argparse.Namespace) -> int:
    """Train what is missing, and measure."""
    import torch

    torch.set_num_threads(1)
    here = Run(args.images, args.out)
    found = {"recipe": asdict(here.recipe), "student": here.measure(here.pursuit(here.network(train=args.train)))}
    file = write_result(args.out, f"student-{args.images}", f"python -m benchmarks.student {args.images}", found)
    say(f"written to {file}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(image_parser("benchmarks.student", __doc__, RECIPES), run, argv)


if __name__ == "__main__":
    sys.exit(main())
