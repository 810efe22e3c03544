"""``python -m benchmarks.strategies pendigits``: every strategy on one data set, accuracy after k = 1 ... 10 questions.

Training and choosing see the training rows only. Times are those of the processor, on one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks.datasets.files import data_folder
from benchmarks.experiment import Experiment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, run_program, say
from benchmarks.tables import folds, read_table
from infopursuit import plots
from infopursuit.engine import Pursuit
from infopursuit.evaluation.measures import Point
from infopursuit.stopping import MaxQueries

N_QUESTIONS, STEP_BATCH = 10, 1_000


@dataclass(frozen=True)
class Data:
    """Training and test inputs. queries: what may be asked, None for the columns of a table. generative: the strategy
    of that name, hybrid: whether the queries allow it."""

    x_train: Any
    y_train: Any
    x_test: Any
    y_test: Any
    queries: Any
    generative: dict[str, Any]
    hybrid: bool


def pendigits() -> Data:
    """The first of the five folds of `benchmarks.tables`."""
    frame, labels = read_table("pendigits")
    rows, held = folds(labels)[0]
    return Data(frame.iloc[rows], labels[rows], frame.iloc[held], labels[held], None, {"strategy": "table"}, True)


def ocr_letters() -> Data:
    """Letters of handwritten words, 16 x 8 black and white pixels, 26 classes; the first of ten folds by words."""
    with np.load(data_folder() / "ocr_letters.npz") as stored:
        x, y, held = stored["x"], stored["y"], stored["fold"] == 0
    images = np.unpackbits(x, axis=1)[:, :128].reshape(-1, 16, 8) if x.shape[1] == 16 else x.reshape(-1, 16, 8)
    queries = ip.queries.patches((16, 8), size=3)
    generative = {"strategy": "empirical", "belief": "pruned"}
    return Data(images[~held], y[~held], images[held], y[held], queries, generative, False)


DATA: dict[str, Callable[[], Data]] = {"pendigits": pendigits, "ocr_letters": ocr_letters}


def strategies(data: Data, epochs: int) -> dict[str, Callable[[], Pursuit[Any]]]:
    """How the pursuit of each strategy is fitted."""
    training = ip.QuerierTraining(epochs=epochs, max_queries=N_QUESTIONS, learning_rate=2e-3, bfloat16=True)

    def fitted(**settings: Any) -> Pursuit[Any]:
        clf = ip.InformationPursuitClassifier(data.queries, random_state=0, **settings)
        return clf.fit(data.x_train, data.y_train).pursuit_

    def student() -> Pursuit[Any]:
        teacher = fitted(**({"strategy": "hybrid"} if data.hybrid else data.generative))
        return ip.distill(teacher, data.x_train, data.y_train, max_queries=N_QUESTIONS, training=training)[0]

    found: dict[str, Callable[[], Pursuit[Any]]] = {"generative": partial(fitted, **data.generative)}
    if data.hybrid:
        found["hybrid"] = partial(fitted, strategy="hybrid")
    for name, unit in (("amortised, V-IP", "score"), ("amortised, gains", "nats")):
        found[name] = partial(fitted, strategy=ip.Amortized(unit=unit, training=training))
    return {**found, "student": student}


def measure(fit: Callable[[], Pursuit[Any]], data: Data) -> dict[str, Any]:
    """Fit and pursue to the end."""
    start = time.process_time()
    pursuit = fit()
    fitted = time.process_time() - start
    pursuit = replace(pursuit, stopping=MaxQueries(N_QUESTIONS), patience=0)
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
    experiment, data = Experiment(f"strategies-{args.data}", args.out, say=say), DATA[args.data]()
    found = {}
    for name, fit in strategies(data, args.epochs).items():
        found[name] = experiment.part(name.replace(",", ""), [name, args.epochs], partial(measure, fit, data))
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
    curves = {
        name: [
            Point(0.0, p, float(np.sqrt(p * (1 - p) / told["n_test"])), k, 0.0, told["n_test"])
            for k, p in enumerate(told["accuracy_after"], start=1)
        ]
        for name, told in found.items()
    }
    figure = experiment.figure(plots.trade_off(curves), f"strategies-{args.data}.png", "Accuracy after k questions")
    command = f"python -m benchmarks.strategies {args.data} --epochs {args.epochs}"
    result: dict[str, Any] = {"experiment": experiment.name, "seed": 0, "seconds": round(experiment.seconds, 1)}
    result |= {"strategies": found, "tables": {"Accuracy": rows}, "figures": [figure]}
    say("", f"written to {write_result(args.out, f'strategies-{args.data}', command, result)}")
    return 0


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
