"""``python -m benchmarks.promises``: every statistical promise of the package, simulated where the truth is known.

A world of four classes and ten yes/no questions has 1,024 possible inputs, so that the pursuit of each is run once and
what a calibration promises is computed exactly for all future inputs. Answers depend on each other within a class and
the model is naive Bayes: it is wrong and overconfident, as models are. Each replication draws new held-out inputs.
A promise is kept where what was measured is no worse than promised, but for two standard errors of the simulation.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks.experiment import Experiment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, positive, run_program, say
from infopursuit.calibration.novelty import NoveltyReference
from infopursuit.calibration.risk_control import NotGuaranteed
from infopursuit.calibration.temperature import HeldOutRuns, calibrate
from infopursuit.models import TableModel
from infopursuit.support.types import IntArray

NAME = "promises"
N_CLASSES, N_QUESTIONS, N_LATENT = 4, 10, 2
N_HELD_OUT, N_REFERENCE = 600, 199
TARGETS, DELTA, COVERAGE = (0.88, 0.92, 0.95), 0.1, 0.9
ALPHAS = (0.01, 0.05, 0.1)
Promise = Callable[[int], list["Measured"]]


class Measured:
    """One number for each replication, and what its mean must be at least or at most."""

    def __init__(self, name: str, values: Any, *, least: float | None = None, most: float | None = None) -> None:
        self.name, self.values, self.least, self.most = name, np.asarray(values, dtype=np.float64), least, most

    def row(self) -> dict[str, Any]:
        """A row of the table."""
        mean, error = self.values.mean(), self.values.std(ddof=1) / np.sqrt(len(self.values))
        kept = (self.least is None or mean + 2 * error >= self.least) and (
            self.most is None or mean - 2 * error <= self.most
        )
        bounds = ((self.least, "at least"), (self.most, "at most"))
        promised = ", ".join(f"{word} {bound:g}" for bound, word in bounds if bound is not None)
        return {
            "promise": self.name, "promised": promised, "measured": f"{mean:.4f}", "standard error": f"{error:.4f}",
            "replications": len(self.values), "": "kept" if kept else "**broken**",
        }  # fmt: skip


class World:
    """The truth, a wrong model of it, and the pursuits of all possible inputs."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.prior = np.array([0.4, 0.3, 0.2, 0.1])
        latent = np.full((N_CLASSES, N_LATENT), 1 / N_LATENT)
        probs = rng.beta(0.3, 0.3, (N_CLASSES, N_LATENT, N_QUESTIONS)).clip(0.03, 0.97)
        self.inputs = (np.arange(2**N_QUESTIONS)[:, None] >> np.arange(N_QUESTIONS)) & 1  # (X, A)
        each = np.where(self.inputs[:, None, None] == 1, probs, 1 - probs).prod(axis=3)  # (X, C, Z)
        self.joint = (each * latent).sum(axis=2) * self.prior  # (X, C) p(x, y)
        self.model = TableModel(self.prior, None, (probs * latent[..., None]).sum(axis=1))
        self.queries = ip.queries.concepts([f"q{i}" for i in range(N_QUESTIONS)])
        self.pursuit = ip.generative_pursuit(self.model, self.queries, stopping=ip.MaxQueries(N_QUESTIONS))

    @cached_property
    def runs(self) -> HeldOutRuns:
        """The pursuits of all inputs to their end."""
        trace = self.pursuit.run_values(self.inputs)
        return HeldOutRuns.of([trace], np.zeros(len(self.inputs)), trace.queries.shape[1], 1e-9)

    def draw(self, rng: np.random.Generator, n: int) -> tuple[IntArray, IntArray]:
        """(n,) inputs, as rows of ``inputs``, and their classes."""
        found = rng.choice(self.joint.size, n, p=self.joint.ravel())
        return found // N_CLASSES, found % N_CLASSES


def generators(n: int, seed: int) -> Iterator[np.random.Generator]:
    """One for each replication."""
    return (np.random.default_rng((seed, i)) for i in range(n))


# ---- calibrated stopping, prediction sets ---------------------------------------------------------------------------


def calibrated_stopping(n: int) -> list[Measured]:
    """Learn then Test: fewer than ``target`` of the stopped inputs right in at most delta of all calibrations."""
    world, found = World(), []
    for target in TARGETS:
        below, refused = [], 0
        for rng in generators(n, 1):
            rows, labels = world.draw(rng, N_HELD_OUT)
            runs, seed = replace(world.runs.take(rows), labels=labels), int(rng.integers(2**31))
            try:
                report = calibrate(runs, target=target, delta=DELTA, coverage=(), max_queries=N_QUESTIONS, seed=seed)
            except NotGuaranteed:  # which promises nothing
                below.append(0.0)
                refused += 1
                continue
            future = world.runs.scaled(report.calibrator)
            stop = future.stopping_times([1 - report.epsilon])[:, 0]
            said = future.log_posterior[np.arange(len(stop)), np.maximum(stop, 0)].argmax(axis=1)
            right = world.joint[np.arange(len(said)), said]
            below.append(float(right[stop >= 0].sum() / world.joint[stop >= 0].sum() < target))
        name = f"calibrated stopping: accuracy of the stopped below {target:g} (refused: {100 * refused / n:.0f} %)"
        found.append(Measured(name, below, most=DELTA))
    return found


def set_coverage(n: int) -> list[Measured]:
    """Prediction sets at the stop, after every number of questions, after all of them at once, and in each class."""
    world, found = World(), dict[str, list[float]]()
    steps = np.arange(N_QUESTIONS + 1)
    for rng in generators(n, 9):
        rows, labels = world.draw(rng, N_HELD_OUT)
        runs, seed = replace(world.runs.take(rows), labels=labels), int(rng.integers(2**31))
        settings: dict[str, Any] = {"target": TARGETS[0], "delta": DELTA, "coverage": (COVERAGE,), "seed": seed}
        try:
            report, each_class = (
                calibrate(runs, max_queries=N_QUESTIONS, by_class=by_class, **settings) for by_class in (False, True)
            )
        except NotGuaranteed:
            continue
        future, sets = world.runs.scaled(report.calibrator), report.prediction_sets()
        at = np.minimum(steps, future.ends(1 - report.epsilon)[:, None])  # (X, K + 1)
        posterior = np.take_along_axis(future.posterior, at[..., None], axis=1)  # (X, K + 1, C)
        asked = np.broadcast_to(steps, at.shape)
        after = (sets.contains(posterior, asked) * world.joint[:, None]).sum(axis=(0, 2))
        anytime = sets.contains(posterior, asked, anytime=True).all(axis=1)
        in_class = each_class.prediction_sets().at_stop(posterior[:, -1]) * world.joint
        now = {
            "prediction set at the stop": float((sets.at_stop(posterior[:, -1]) * world.joint).sum()),
            **{f"prediction set after question {k}": float(after[k]) for k in (1, 2, 3, 4)},
            "anytime set, after all numbers of questions at once,": float((anytime * world.joint).sum()),
            **{f"set of class {c}": float(in_class[:, c].sum() / world.prior[c]) for c in range(N_CLASSES)},
        }
        for name, value in now.items():
            found.setdefault(name, []).append(value)
    return [Measured(f"{name} covers", values, least=COVERAGE) for name, values in found.items()]


# ---- novelty --------------------------------------------------------------------------------------------------------


def novelty_pvalues(n: int) -> list[Measured]:
    """P(p <= alpha) <= alpha for inputs like the reference."""
    world, rates = World(), []
    mass = world.joint.sum(axis=1)
    pursuit = replace(world.pursuit, stopping=ip.Confidence(0.2) | ip.MaxQueries(6))
    surprisal = pursuit.run_values(world.inputs).surprisal

    for rng in generators(n, 2):
        reference = NoveltyReference(np.sort(surprisal[world.draw(rng, N_REFERENCE)[0]]), "inputs")
        p = reference.pvalues(surprisal)
        rates.append([(mass * (p <= alpha)).sum() for alpha in ALPHAS])

    return [
        Measured(f"novelty p-value up to {alpha:g}", rate, most=alpha)
        for alpha, rate in zip(ALPHAS, np.array(rates).T, strict=True)
    ]


# ---- gains -----------------------------------------------------------------------------------------------------------


def gain_errors(n: int) -> list[Measured]:
    """Gains on 256 of 3,000 states: whether the true gain of the chosen query is within two standard errors."""
    rng = np.random.default_rng(7)
    probs = rng.beta(0.5, 0.5, (3, 1000, 12)).clip(0.02, 0.98)
    model = TableModel([0.5, 0.3, 0.2], np.full((3, 1000), 1e-3), probs)
    queries = ip.queries.concepts([f"q{i}" for i in range(12)])
    whole = ip.generative_pursuit(model, queries, exact_gains=True)
    inside = []
    for i, rng in enumerate(generators(n, 8)):
        part = ip.generative_pursuit(model, queries, exact_gains=False, n_states=256, seed=i)
        asked = rng.choice(12, int(rng.integers(0, 5)), replace=False)
        history = tuple((int(query), (int(rng.integers(2)),)) for query in asked)
        found, true = (each.utilities(each.at(history)) for each in (part, whole))
        best = int(np.nanargmax(found.value[0]))
        inside.append(abs(found.value[0, best] - true.value[0, best]) <= 2 * found.error[0, best])
    return [Measured("gain of the chosen query is within two standard errors", inside, least=0.95)]


PROMISES: dict[str, Promise] = {
    "stopping": calibrated_stopping,
    "sets": set_coverage,
    "novelty": novelty_pvalues,
    "gains": gain_errors,
}


def _rows(promise: Promise, n: int) -> list[dict[str, Any]]:
    return [measured.row() for measured in promise(n)]


def run(args: argparse.Namespace) -> int:
    """Simulate, print and write."""
    warnings.simplefilter("ignore")
    experiment, rows = Experiment(NAME, args.out, args.number, say=say), []
    for name in [args.only] if args.only else PROMISES:
        rows += experiment.part(name, [args.number], partial(_rows, PROMISES[name], args.number))
        say(f"{name}: done after {experiment.seconds:.0f} s")
    say("", plain_table(rows))
    broken = [row["promise"] for row in rows if row[""] != "kept"]
    if args.only is None:
        command = f"python -m benchmarks.promises --number {args.number}"
        result = {"experiment": NAME, "seed": 0, "seconds": round(experiment.seconds, 1), "tables": {"Promises": rows}}
        say(f"written to {write_result(args.out, NAME, command, result)}")
    return 1 if broken else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.promises", description=__doc__)
    parser.add_argument("--number", type=positive, default=1000, metavar="N", help="replications of each (1,000)")
    parser.add_argument("--only", choices=PROMISES, help="only this one, and nothing is written")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
