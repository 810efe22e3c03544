"""``python -m benchmarks.student mnist``: one network that imitates the pursuit of the VAE, and its figures.

The teacher demonstrates its pursuits of the training images, and a network imitates it (`infopursuit.distill`), in
rounds: each goes on from the one before, at another learning rate, and after the first one the teacher is asked about
the student's own histories; the weights of all rounds are averaged. Where the trained network is among the stored
weights, it is taken from there; ``--train`` trains it anew. Whoever interrupts it and calls it again goes on where it
stopped. Everything is chosen on training images; the test images are looked at in the end.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks.amortized import calibration_error, load_belief, network_file, save_belief
from benchmarks.choose_stopping import longest_within, told
from benchmarks.machine import write_result
from benchmarks.program import image_parser, run_program, say
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from benchmarks.step_times import step_ratios
from infopursuit.beliefs.network import NetworkBelief
from infopursuit.distillation import agreement, demonstrate, student_of
from infopursuit.engine import Pursuit
from infopursuit.evaluation.measures import confidence_curve, stops_at
from infopursuit.models.amortized import QuerierTraining, Trunk
from infopursuit.models.imitation import Demonstrations
from infopursuit.models.training import RandomAffine
from infopursuit.stopping import Confidence, MaxQueries

PARTS = ".parts/student"
"""Folder, in that of the results, of demonstrations, checkpoints and trained networks."""
N_AGREE, N_CURVE = 1_000, 10


@dataclass(frozen=True)
class Recipe:
    """How the network of an image set is trained; see `infopursuit.distill`. epsilon: of the teacher. rounds: the last
    one on images much as they are."""

    trunk: Trunk
    rounds: tuple[QuerierTraining, ...]
    epsilon: float
    temperature: float = 0.03
    label_weight: float = 0.7
    own_share: float = 0.5
    n_histories: float = 3.0
    max_queries: int = 10
    most_queries: int = 20


FIRST = QuerierTraining(
    epochs=24, batch_size=256, learning_rate=2e-3, random=0.0, validation=0.03, patience=99, bfloat16=True,
    augmentation=RandomAffine(1.0, 8.0, 0.06),
)  # fmt: skip
RECIPES = {
    "mnist": Recipe(
        Trunk((32, 64), (192,), blocks=1),
        (
            FIRST,
            replace(FIRST, epochs=12, learning_rate=1.5e-3),
            replace(FIRST, epochs=6, learning_rate=1e-3, augmentation=RandomAffine(0.4, 3.0, 0.02)),
        ),
        epsilon=0.00966,
    )
}


class Run:
    """One run: the images, the teacher, and a folder for what is finished."""

    def __init__(self, name: str, out: Path) -> None:
        self.name, self.recipe, self.task = name, RECIPES[name], ImageTask(IMAGE_SETS[name])
        self.folder = out / PARTS / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.teacher = self.task.with_vae(self.task.rest, self.recipe.epsilon)

    def demonstrations(self, round_: int, student: Pursuit[Any] | None) -> Demonstrations:
        """What the teacher does about the training images that are not held out; after the first round, what it would
        do after the histories of the student."""
        file, values = self.folder / f"demonstrations-{round_}.npz", self.task.values[self.task.rest]
        if not file.exists():
            n, follow = self.recipe.max_queries, None
            if student is not None:
                asks = replace(student, stopping=Confidence(min(self.task.images.epsilons)) | MaxQueries(n))
                follow = asks.run_values(values.astype(np.int64)).queries
            found = demonstrate(self.teacher, values, n, follow=follow, progress=True)
            np.savez_compressed(file.with_suffix(".part.npz"), **vars(found))
            file.with_suffix(".part.npz").rename(file)
        with np.load(file) as stored:
            return Demonstrations(**{name: stored[name] for name in stored.files})

    def network(self, *, train: bool = False) -> NetworkBelief:
        """The trained network, from its file where there is one."""
        recipe, rest, file = self.recipe, self.task.rest, network_file(self.name)
        if file.exists() and not train:
            return load_belief(file, self.task.query_set)
        pursuit: Pursuit[Any] | None = None
        students: list[NetworkBelief] = []
        for i, training in enumerate(recipe.rounds, start=1):
            folder = self.folder / f"student-{i}"
            if not folder.exists():
                found, _ = ip.distill(
                    self.teacher,
                    self.task.data.x_train[rest],
                    self.task.labels[rest],
                    temperature=recipe.temperature,
                    label_weight=recipe.label_weight,
                    own_share=recipe.own_share,
                    n_histories=recipe.n_histories,
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
            students.append(pursuit.belief)  # type: ignore[arg-type]
        save_belief(average(students), file)
        return load_belief(file, self.task.query_set)

    def pursuit(self, network: NetworkBelief) -> Pursuit[Any]:
        """That of the trained network."""
        return student_of(self.teacher, network, self.recipe.most_queries, calibrated=True)

    def measure(self, pursuit: Pursuit[Any]) -> dict[str, Any]:
        """The threshold on held-out training images; on test images accuracy, curve, calibration, time; agreement."""
        task, images = self.task, self.task.images
        longest = replace(
            pursuit,
            stopping=Confidence(min(images.epsilons)) | MaxQueries(self.recipe.most_queries),
        )
        trial = longest.run_values(task.values[task.held_out].astype(np.int64))
        points = confidence_curve(trial, task.labels[task.held_out], images.epsilons)
        chosen = longest_within(points, images.length)
        trace = longest.run_values(task.x_test)
        point = confidence_curve(trace, task.y_test, [chosen.epsilon])[0]
        stop = stops_at(trace, chosen.epsilon)
        posterior = trace.posteriors[np.arange(len(trace)), stop]
        to_the_end = replace(longest, stopping=MaxQueries(N_CURVE)).run_values(task.x_test).posteriors
        stopped = replace(pursuit, stopping=Confidence(chosen.epsilon) | MaxQueries(self.recipe.most_queries))
        agrees = agreement(self.teacher, stopped, task.values[task.held_out[:N_AGREE]].astype(np.int64))
        say(f"held-out images: {told(chosen)}; test images: {told(point)}; {agrees}")
        return {
            "held_out": asdict(chosen),
            "test": asdict(point),
            "test_curve": [asdict(each) for each in confidence_curve(trace, task.y_test, images.epsilons)],
            "expected_calibration_error": calibration_error(posterior, task.y_test),
            "accuracy_after": {
                str(k): float((to_the_end[:, k].argmax(axis=1) == task.y_test).mean()) for k in range(1, N_CURVE + 1)
            },
            "agreement": asdict(agrees),
            "belief": pursuit.belief.describe(),  # type: ignore[attr-defined]
            **step_ratios(pursuit, task.x_test),
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
