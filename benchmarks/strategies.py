"""``python -m benchmarks.strategies pendigits``: every strategy on one data set, accuracy after k = 1 ... 10 questions.

Training and choosing see the training rows only. Times are those of the processor, on one thread. On MNIST and
Fashion-MNIST the VAE and the networks pooled with it, or distilled from it, are the stored ones. Each run also draws
anew the figure of all data sets that were measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import infopursuit as ip
from benchmarks import opinion_pool, student
from benchmarks.amortized import SETS
from benchmarks.datasets.files import data_folder
from benchmarks.experiment import Experiment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, run_program, say
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from benchmarks.tables import folds, read_table
from infopursuit import plots
from infopursuit.evaluation.measures import Point
from infopursuit.presentation.plots import style
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import MaxQueries

STEP_BATCH = 1_000
TRAINED = {
    "mnist": {"generative": 2_300, "hybrid": 3_300, "student": 8_900},
    "fashion": {"generative": 1_600, "hybrid": 7_200, "student": 4_400},
}
"""Seconds that the training of what is stored takes on a free core, about, teachers and demonstrations included."""


@dataclass(frozen=True)
class Data:
    """Training and test inputs. queries: what may be asked, None for the columns of a table. generative: the strategy
    of that name, hybrid: whether the queries allow it. stored: pursuits that are trained. trunk: of a network of gains.
    """

    x_train: Any
    y_train: Any
    x_test: Any
    y_test: Any
    queries: Any
    generative: dict[str, Any] | None = None
    hybrid: bool = False
    stored: dict[str, Callable[[], Pursuit[Any]]] | None = None
    trunk: ip.Trunk | None = None
    n_questions: int = 10


def pendigits() -> Data:
    """The first of the five folds of `benchmarks.tables`."""
    frame, labels = read_table("pendigits")
    rows, held = folds(labels)[0]
    generative = {"strategy": "table"}
    return Data(frame.iloc[rows], labels[rows], frame.iloc[held], labels[held], None, generative, hybrid=True)


def ocr_letters() -> Data:
    """Letters of handwritten words, 16 x 8 black and white pixels, 26 classes; the first of ten folds by words."""
    with np.load(data_folder() / "ocr_letters.npz") as stored:
        x, y, held = stored["x"], stored["y"], stored["fold"] == 0
    images = np.unpackbits(x, axis=1)[:, :128].reshape(-1, 16, 8) if x.shape[1] == 16 else x.reshape(-1, 16, 8)
    queries = ip.queries.patches((16, 8), size=3)
    generative = {"strategy": "empirical", "belief": "pruned"}
    return Data(images[~held], y[~held], images[held], y[held], queries, generative)


def image_set(name: str, n_questions: int, out: Path) -> Data:
    """Black and white images; the hybrid strategy is the VAE, or the pool of finite models, pooled with a network."""
    task = ImageTask(IMAGE_SETS[name])

    def imitating() -> Pursuit[Any]:
        run = student.Run(name, out)
        return run.pursuit(run.network())

    stored = {
        "generative": lambda: task.with_vae(task.rest, 0.01),
        "hybrid": lambda: opinion_pool.Run(name, out).pursuit(),
        "student": imitating,
    }
    x, y = task.data.x_train[task.rest], task.labels[task.rest]
    given = (x, y, task.data.x_test, task.y_test, task.query_set)
    return Data(*given, stored=stored, trunk=SETS, n_questions=n_questions)


DATA: dict[str, Callable[[Path], Data]] = {
    "mnist": partial(image_set, "mnist", 10),
    "fashion": partial(image_set, "fashion", 12),
    "ocr_letters": lambda out: ocr_letters(),
    "pendigits": lambda out: pendigits(),
}
TITLES = {
    "mnist": "MNIST, 3 x 3 patches",
    "fashion": "Fashion-MNIST, 3 x 3 patches",
    "ocr_letters": "ocr_letters, 3 x 3 patches",
    "pendigits": "pendigits, 16 columns",
}


def strategies(data: Data, epochs: int) -> dict[str, Callable[[], Pursuit[Any]]]:
    """How the pursuit of each strategy is fitted."""
    n = data.n_questions
    training = ip.QuerierTraining(epochs=epochs, max_queries=n, learning_rate=2e-3, bfloat16=True)

    def fitted(**settings: Any) -> Pursuit[Any]:
        clf = ip.InformationPursuitClassifier(data.queries, random_state=0, **settings)
        return clf.fit(data.x_train, data.y_train).pursuit_

    def imitating() -> Pursuit[Any]:
        teacher = fitted(**({"strategy": "hybrid"} if data.hybrid else data.generative or {}))
        return ip.distill(teacher, data.x_train, data.y_train, max_queries=n, training=training)[0]

    found = dict(data.stored or {})
    if data.generative is not None:
        found["generative"] = partial(fitted, **data.generative)
    if data.hybrid:
        found["hybrid"] = partial(fitted, strategy="hybrid")
    for name, unit, trunk in (("amortised, V-IP", "score", None), ("amortised, gains", "nats", data.trunk)):
        found[name] = partial(fitted, strategy=ip.Amortized(unit=unit, trunk=trunk, training=training, say=say))
    found.setdefault("student", imitating)
    return {name: found[name] for name in ORDER if name in found}


ORDER = ("generative", "hybrid", "amortised, V-IP", "amortised, gains", "student")


def measure(fit: Callable[[], Pursuit[Any]], data: Data) -> dict[str, Any]:
    """Fit and pursue to the end."""
    start = time.process_time()
    pursuit = fit()
    fitted = time.process_time() - start
    pursuit = replace(pursuit, stopping=MaxQueries(data.n_questions), patience=0)
    pursuit.run(data.x_test[:10])  # what is compiled at its first use
    pursuit.clear_cache()
    start = time.process_time()
    some = pursuit.run(data.x_test[:STEP_BATCH])
    step = (time.process_time() - start) / max(some.queries.shape[1], 1)
    posteriors = pursuit.run(data.x_test).posteriors
    right = pursuit.classes[posteriors.argmax(axis=2)] == np.asarray(data.y_test)[:, None]
    return {
        "fit_seconds": round(fitted, 1),
        "step_ms": 1e3 * step,
        "accuracy_after": right.mean(axis=0)[1:].tolist(),
        "n_test": len(right),
    }


def run(args: argparse.Namespace) -> int:
    """Measure each strategy, print, draw and write."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    experiment, data = Experiment(f"strategies-{args.data}", args.out, say=say), DATA[args.data](args.out)
    found = {}
    for name, fit in strategies(data, args.epochs).items():
        found[name] = experiment.part(name.replace(",", ""), [name, args.epochs], partial(measure, fit, data))
        if data.stored and name in data.stored:
            found[name]["fit_seconds"] = TRAINED[args.data][name]
        say(f"{name}: {found[name]}")
    rows = [
        {
            "strategy": name,
            **{str(k): f"{100 * share:.1f}" for k, share in enumerate(told["accuracy_after"], start=1)},
            "a step of 1,000, ms": f"{told['step_ms']:.0f}",
            "training, s": f"{told['fit_seconds']:.0f}",
        }
        for name, told in found.items()
    ]
    say("", plain_table(rows))
    drawn = plots.trade_off(curves_of(found))
    figure = experiment.figure(drawn, f"strategies-{args.data}.png", "Accuracy after k questions")
    command = f"python -m benchmarks.strategies {args.data} --epochs {args.epochs}"
    result: dict[str, Any] = {"experiment": experiment.name, "seed": 0, "seconds": round(experiment.seconds, 1)}
    result |= {"strategies": found, "tables": {"Accuracy": rows}, "figures": [figure]}
    say("", f"written to {write_result(args.out, f'strategies-{args.data}', command, result)}")
    draw_all(args.out)
    return 0


def curves_of(found: dict[str, Any]) -> dict[str, list[Point]]:
    """Accuracy after each number of questions, for each strategy."""
    return {
        name: [
            Point(0.0, p, float(np.sqrt(p * (1 - p) / told["n_test"])), k, 0.0, told["n_test"])
            for k, p in enumerate(told["accuracy_after"], start=1)
        ]
        for name, told in found.items()
    }


def draw_all(out: Path) -> None:
    """All data sets that were measured, side by side: the error rate after each number of questions."""
    found = {}
    for name in DATA:
        if (out / f"strategies-{name}.json").exists():
            found[name] = json.loads((out / f"strategies-{name}.json").read_text())["strategies"]
    figure = Figure(figsize=(9.6, 3.7 * -(-len(found) // 2)), dpi=120, facecolor="white", layout="constrained")
    places = list(figure.subplots(-(-len(found) // 2), 2, squeeze=False).flat)
    for axes, (name, told) in zip(places, found.items(), strict=False):
        for i, each in enumerate(ORDER):
            if each in told:
                wrong = 100 * (1 - np.array(told[each]["accuracy_after"]))
                line = {"color": style.COLOURS[i], "marker": style.MARKERS[i], "markersize": 3.5, "linewidth": 1.4}
                axes.plot(np.arange(1, len(wrong) + 1), wrong, label=each, **line)
        style.plain(axes)
        style.write_title(axes, TITLES[name])
        axes.set_yscale("log")
        ticks = [tick for tick in (2, 3, 5, 10, 15, 20, 30, 50, 70) if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
        axes.set_yticks(ticks, [f"{tick} %" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("questions asked", fontsize=style.SIZE, color=style.INK)
        axes.set_ylabel("error rate, logarithmic", fontsize=style.SIZE, color=style.INK)
        axes.legend(frameon=False, fontsize=style.NOTE, loc="lower left")
    for axes in places[len(found) :]:
        axes.set_visible(False)
    plots.save(figure, out / "strategies.png")


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strategies", description=__doc__)
    parser.add_argument("data", choices=DATA)
    parser.add_argument("--epochs", type=int, default=30, help="of amortised networks (30)")
    add_out(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(build_parser(), run, argv)


if __name__ == "__main__":
    sys.exit(main())
