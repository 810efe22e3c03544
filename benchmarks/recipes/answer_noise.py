"""What wrong answers cost: one answer in ten is turned round, and the engine knows it or does not.

Three tables: the animals that come along, Zoo, and the diseases. *As they are*: the engine takes every answer as it
is. *Weighed*: it knows how often answers are wrong (`AnswerNoise`). Both are compared at the same mean number of
questions, twice: at that after which the first is sure by itself, and at that after which the second is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.datasets import folds, load
from benchmarks.experiment import Experiment
from infopursuit.app.shipped import load_animals, read_animals
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.evaluation.measures import accuracy_interval, stops_at
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.noise import AnswerNoise, NoisyAnnotator
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.support.types import IntArray

ERRORS = 0.1
"""The share of answers that are wrong."""
EPSILON = 0.01
"""Both engines stop at a posterior of 1 - epsilon where they are sure by themselves."""
EPSILONS = tuple(np.geomspace(0.7, 1e-7, 240).tolist())
"""From which the one is taken that makes both ask equally many questions."""


@dataclass(frozen=True)
class Table:
    """One data set. most: questions to an input. repeats: how often each input is asked about, with other errors."""

    name: str
    most: int
    repeats: int
    n_folds: int = 5


@dataclass(frozen=True)
class Errors:
    """How errors come about. again: how many times the engine that knows of errors may ask a query.

    fresh: asked again, an annotator may answer otherwise; else an error stays, and asking again would tell nothing.
    """

    name: str
    fresh: bool
    again: int


TABLES = (Table("animals", 80, 8), Table("zoo", 40, 6), Table("diseases", 80, 3))
KINDS = (Errors("made anew each time", True, 4), Errors("that stay", False, 1))
ASKED = ("true answers", "as they are", "weighed")


def answer_noise(experiment: Experiment) -> dict[str, Any]:
    """Each table with errors of each kind."""
    found: dict[str, Any] = {}
    rows = []
    for table in TABLES:
        for errors in KINDS:
            name = f"{table.name}, errors {errors.name}"
            settings = [asdict(table), asdict(errors), ERRORS, EPSILON, len(EPSILONS)]
            found[name] = experiment.part(name, settings, partial(_one, table, errors, experiment))
            rows += _rows(name, found[name])
            for row in rows[-2:]:
                experiment.say(f"{name}: {row}")
    title = f"One answer in ten wrong; each engine stops at {1 - EPSILON:g} where it is sure by itself"
    return experiment.finish({"data": {"errors": ERRORS, "epsilon": EPSILON}, "tables": {title: rows}, "parts": found})


def _one(table: Table, errors: Errors, experiment: Experiment) -> dict[str, Any]:
    """(accuracy, mean length) of each engine for every epsilon, over all inputs."""
    stops: dict[str, list[IntArray]] = {name: [] for name in ASKED}
    right: dict[str, list[Any]] = {name: [] for name in ASKED}
    for n, (pursuit, values, labels) in enumerate(_tasks(table, experiment.seed)):
        strict = Confidence(EPSILONS[-1]) | MaxQueries(table.most)
        plain = replace(pursuit, stopping=strict)
        weighing = generative_pursuit(
            pursuit.model,
            pursuit.queries,
            stopping=strict,
            classes=pursuit.classes,
            noise=AnswerNoise(1 - ERRORS, max_repeats=errors.again),
        )
        somebody = NoisyAnnotator(pursuit.queries, AnswerNoise(1 - ERRORS), experiment.seed + n, errors.fresh)
        for name, engine, annotator in zip(ASKED, (plain, plain, weighing), (None, somebody, somebody), strict=True):
            trace = engine.run_values(values, annotator=annotator, progress=experiment.progress)
            each = np.stack([stops_at(trace, epsilon) for epsilon in EPSILONS], axis=1)  # (B, epsilons)
            guess = trace.posteriors[np.arange(len(trace))[:, None], each].argmax(axis=2)
            stops[name].append(each)
            right[name].append(pursuit.classes[guess] == np.asarray(labels)[:, None])
    return {
        name: {
            "n_inputs": sum(len(part) for part in stops[name]),
            "length": np.concatenate(stops[name]).mean(axis=0).tolist(),
            "accuracy": np.concatenate(right[name]).mean(axis=0).tolist(),
        }
        for name in ASKED
    }


def _tasks(table: Table, seed: int) -> Iterator[tuple[Pursuit[Any], Any, Any]]:
    """A pursuit, values of the variables, and labels: the animals once for each repeat, else every fold."""
    if table.name == "animals":
        facts, pursuit = read_animals(), load_animals()
        for repeat in range(table.repeats):
            drawn = np.random.default_rng([seed, repeat]).random(facts.cells.shape) < facts.cells
            yield pursuit, pursuit.queries.observe(drawn.astype(float)), np.array(facts.animals)
        return
    for fold in folds(load(table.name), table.n_folds, seed=seed):
        clf = InformationPursuitClassifier(random_state=seed).fit(fold.x_train, fold.y_train)
        for _ in range(table.repeats):
            yield clf.pursuit_, clf.queries_.observe(fold.x_test), fold.y_test


def _rows(name: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    """What wrong answers cost at the mean length of one engine and of the other."""
    own = int(np.argmin(np.abs(np.array(EPSILONS) - EPSILON)))
    true = found["true answers"]
    rows = []
    for whose in ASKED[1:]:
        length = found[whose]["length"][own]
        plain, weighed = (_at(found[engine], length) for engine in ASKED[1:])
        lost = [true["accuracy"][own] - point["accuracy"] for point in (plain, weighed)]
        rows.append(
            {
                "": name,
                "inputs": true["n_inputs"],
                "questions": round(length, 2),
                "which is when": f"{whose} is sure",
                "true answers, %": _share(true["accuracy"][own], true["n_inputs"]),
                "as they are, %": _share(plain["accuracy"], true["n_inputs"]),
                "weighed, %": _share(weighed["accuracy"], true["n_inputs"]),
                "loss left, share": round(lost[1] / lost[0], 2) if lost[0] > 0 else None,
            }
        )
    return rows


def _at(found: dict[str, Any], length: float) -> dict[str, float]:
    """The point whose mean length is nearest to a given one without being above it; the shortest where all are."""
    lengths = np.array(found["length"])
    fitting = np.flatnonzero(lengths <= length + 1e-9)
    best = fitting[lengths[fitting].argmax()] if len(fitting) else lengths.argmin()
    return {"length": float(lengths[best]), "accuracy": float(found["accuracy"][best])}


def _share(accuracy: float, n: int) -> str:
    low, high = accuracy_interval(round(accuracy * n), n)
    return f"{100 * accuracy:.1f} ({100 * low:.1f} to {100 * high:.1f})"
